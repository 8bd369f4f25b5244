"""`genie-dp private table`: properties of private rows, as metadata, released once with noise."""

import json
from collections.abc import Mapping
from pathlib import Path

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import CommandEntry
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.options import FILE, library_options
from genie_dp.private.tables.extract import (
    MOST_VALUES,
    names_of,
    needs_library,
    read_public_schema,
)
from genie_dp.private.tables.run import COLUMNS, PUBLIC, Table
from genie_dp.private.tables.table import describe_table, load_table
from genie_dp.recipe import settings_of
from genie_dp.rng import stream
from genie_dp.run.files import check_output, open_text

_TABLE = click.argument("table", type=FILE)
STEPS: Mapping[str, CommandEntry] = {
    "schema": CommandEntry(
        "genie_dp.cli.private.table:schema",
        "Write a schema of public knowledge: columns with their values, to review and edit.",
        "columns public output",
    ),
    "release": CommandEntry(
        "genie_dp.private.tables.run:Table",
        "Count the metadata of PRIVATE rows with noise, and write a table that may be sampled "
        "from.",
        "epsilon columns public",
    ),
    "show": CommandEntry(
        "genie_dp.cli.private.table:show",
        "Show the guarantee of a TABLE, the shares of its values, and its correlations.",
    ),
    "sample": CommandEntry(
        "genie_dp.cli.private.table:sample",
        "Draw records from a TABLE: JSON, one a line, column -> value.",
    ),
}


@click.group("table", cls=LazyGroup, table=STEPS)
def group() -> None:
    """Count metadata of private rows together, with noise, and draw records from the counts."""


@click.command("schema")
@click.option("--columns", required=True, metavar="A,B,..", help=COLUMNS)
@click.option("--public", multiple=True, metavar="FILE", help=f"{PUBLIC} May be repeated.")
@click.option("--most", type=click.IntRange(1, 999), default=MOST_VALUES, show_default=True,
              metavar="N", help=settings_of(Table)["most"].help)  # fmt: skip
@library_options
@click.option("--output", "-o", default="-", metavar="FILE", help="Where it goes [to the screen].")
def schema(
    *,
    columns: str,
    public: tuple[str, ...],
    most: int,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    output: str,
) -> None:
    """Write a schema of public knowledge: columns with their values, to review and edit.

    No private row is read. Functions and skills are those of the library; other values come from
    --public rows.

    \b
    genie-dp private table schema --columns function,length,form -o schema.json
    """
    from genie_dp.private.ledger.guard import refuse_private

    names = names_of(columns)
    check_output(output)
    refuse_private(public, None, code="T509")
    library = None
    if needs_library(names):
        library = load_library_of(language, skills, skip_broken=skip_broken)
    schema = read_public_schema(names, library, public, language=language, most=most)
    with open_text(output) as out:
        out.write(json.dumps(schema.as_dict(), indent=2, ensure_ascii=False) + "\n")
    size = f"{len(schema.columns)} columns, {schema.cells:,} different records"
    click.echo(f"{size} -> {output}", err=True)


@click.command("show")
@_TABLE
@click.option("--values", type=click.IntRange(1), default=8, show_default=True, metavar="N",
              help="Values of a column that are shown, the most frequent ones.")  # fmt: skip
def show(table: Path, values: int) -> None:
    """Show the guarantee of a TABLE, the shares of its values, and its correlations."""
    for line in describe_table(load_table(table), values=values):
        click.echo(line)


@click.command("sample")
@_TABLE
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True, metavar="N",
              help="Records that are wanted; any number costs nothing.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True,
              help="The same inputs and seed give the same bytes.")  # fmt: skip
@click.option("--output", "-o", default="-", metavar="FILE", help="Where they go [to the screen].")
def sample(table: Path, rows: int, seed: int, output: str) -> None:
    """Draw records from a TABLE: JSON, one a line, column -> value."""
    check_output(output)
    released = load_table(table)
    with open_text(output) as out:
        for record in released.sample(rows, stream(seed, "table", "sample")):
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    click.echo(f"{rows:,} records -> {output}", err=True)
