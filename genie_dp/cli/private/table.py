"""`genie-dp private table`: what private rows are like, as metadata, released once with noise."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    POSITIVE,
    library_options,
    paid_resume_options,
    seed_option,
    settings_options,
)
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.private.tables.config import MOST_VALUES, TableConfig, needs_library

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_TABLE = click.argument("table", type=_FILE)
_COLUMNS = "Columns: function, functions, skill, filters, length, form, slots, or field:NAME."
_public = click.option(
    "--public", multiple=True, metavar="FILE",
    help="Rows that may be published, JSONL: values of columns are taken from them. May be "
    "repeated.",
)  # fmt: skip


@click.group("table")
def group() -> None:
    """Count metadata of private rows together, with noise, and draw records from the counts."""


@group.command("schema")
@click.option("--columns", required=True, metavar="A,B,..", help=_COLUMNS)
@_public
@settings_options(
    TableConfig,
    leave_out=("epsilon", "method"),
)  # fmt: skip
@library_options
@click.option("--output", "-o", default="-", metavar="FILE", help="Where it goes [to the screen].")
def schema(
    *,
    columns: str,
    public: tuple[str, ...],
    settings: Mapping[str, Any],
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    output: str,
) -> None:
    """Write a schema of what is publicly known: columns with their values, to look at and change.

    No private row is read. Functions and skills are those of the library; other values come from
    --public rows.

    \b
    genie-dp private table schema --columns function,length,form -o schema.json
    """
    from genie_dp.private.ledger.guard import refuse_private
    from genie_dp.private.tables.extract import read_public_schema
    from genie_dp.run.files import check_output, open_text

    names = _split(columns)
    check_output(output)
    refuse_private(public, None, code="T509")
    library = _library(names, language, skills, skip_broken=skip_broken)
    limit = settings.get("most", MOST_VALUES)
    schema = read_public_schema(names, library, public, language=language, most=limit)
    with open_text(output) as out:
        out.write(json.dumps(schema.as_dict(), indent=2, ensure_ascii=False) + "\n")
    size = f"{len(schema.columns)} columns, {schema.cells:,} different records"
    click.echo(f"{size} -> {output}", err=True)


@group.command("release")
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, metavar="FILE", help="Where the table goes, as JSON."
)
@click.option(
    "--epsilon", required=True, type=POSITIVE,
    help="What this release costs by itself, at the budget's delta.",
)  # fmt: skip
@click.option(
    "--schema", type=_FILE, metavar="FILE",
    help="The columns with their values; or name columns with --columns.",
)  # fmt: skip
@click.option("--columns", metavar="A,B,..", help=_COLUMNS)
@_public
@ledger_option
@library_options
@settings_options(TableConfig, leave_out=("epsilon",))
@paid_resume_options
def release(
    *,
    private: Path,
    output: str,
    epsilon: float,
    schema: Path | None,
    columns: str | None,
    public: tuple[str, ...],
    ledger: Path | None,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    settings: Mapping[str, Any],
    resume: bool,
    overwrite: bool,
) -> None:
    """Count the metadata of PRIVATE rows with noise, and write a table that may be sampled from.

    PRIVATE is JSONL or TSV. The release is recorded in the ledger before anything is counted, and
    refused if the budget does not allow it. A user or dialogue counts for one record.

    \b
    genie-dp private table release private.jsonl --schema schema.json --epsilon 1 -o table.json
    """
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.guard import ledger_to_spend
    from genie_dp.private.tables.run import run
    from genie_dp.run.stage import Output

    if (schema is None) == (not columns):
        raise click.UsageError("give either --schema or --columns")
    names = _split(columns or "")
    config = TableConfig(epsilon=epsilon, columns=names, **settings)
    book = Ledger.open(ledger_to_spend(private, ledger))
    library = _library(names, language, skills, skip_broken=skip_broken)
    result = run(
        config, private, book, library, Output(output, resume=resume, overwrite=overwrite),
        language=language, schema=schema, public=public,
    )  # fmt: skip
    *report, written = result.lines()
    for line in report:
        click.echo(line)
    click.echo(written, err=True)


@group.command("show")
@_TABLE
@click.option("--values", type=click.IntRange(1), default=8, show_default=True, metavar="N",
              help="Values of a column that are shown, the most frequent ones.")  # fmt: skip
def show(table: Path, values: int) -> None:
    """Say what a TABLE tells: its guarantee, the shares of values, and what goes together."""
    from genie_dp.private.tables.table import describe_table, load_table

    for line in describe_table(load_table(table), values=values):
        click.echo(line)


@group.command("sample")
@_TABLE
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True, metavar="N",
              help="Records that are wanted; any number costs nothing.")  # fmt: skip
@seed_option
@click.option("--output", "-o", default="-", metavar="FILE", help="Where they go [to the screen].")
def sample(table: Path, rows: int, seed: int, output: str) -> None:
    """Draw records from a TABLE: JSON, one a line, column -> value."""
    from genie_dp.private.tables.table import load_table
    from genie_dp.rng import stream
    from genie_dp.run.files import check_output, open_text

    check_output(output)
    released = load_table(table)
    with open_text(output) as out:
        for record in released.sample(rows, stream(seed, "table", "sample")):
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    click.echo(f"{rows:,} records -> {output}", err=True)


def _split(columns: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in columns.split(",") if name.strip())


def _library(
    names: tuple[str, ...], language: str, skills: tuple[Path, ...], *, skip_broken: bool
) -> Any:
    """Return the library where columns need it, else None."""
    from genie_dp.cli.inputs import load_library_of

    if not needs_library(names):
        return None
    return load_library_of(language, skills, skip_broken=skip_broken)
