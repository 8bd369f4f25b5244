"""`genie-dp private table`: what private rows are like, as metadata, released once with noise."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, library_options, paid_resume_options, seed_option
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.cli.private.table_asked import asking_options, check_asking

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_TABLE = click.argument("table", type=_FILE)
_columns = click.option(
    "--columns", metavar="A,B,..",
    help="Columns: function, functions, skill, filters, length, form, slots, or field:NAME.",
)  # fmt: skip
_public = click.option(
    "--public", multiple=True, metavar="FILE",
    help="Rows that may be published, JSONL: values of columns are taken from them. May be "
    "repeated.",
)  # fmt: skip
_most = click.option(
    "--most", type=click.IntRange(1, 999), default=100, show_default=True, metavar="N",
    help="Values of a column, at most; the others are one more, <other>.",
)  # fmt: skip


@click.group("table")
def group() -> None:
    """Count metadata of private rows together, with noise, and draw records from the counts."""


@group.command("schema")
@_columns
@_public
@_most
@library_options
@click.option("--output", "-o", default="-", metavar="FILE", help="Where it goes [to the screen].")
def schema(**options: Any) -> None:
    """Write a schema of what is publicly known: columns with their values, to look at and change.

    No private row is read. Functions and skills are those of the library; other values come from
    --public rows.

    \b
    genie-dp private table schema --columns function,length,form -o schema.json
    """
    from genie_dp.cli.private.table_job import write_schema

    if not options["columns"]:
        raise click.UsageError("--columns says which ones")
    write_schema(options)


@group.command("release")
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE", help="Where the table goes, as JSON.",
)  # fmt: skip
@click.option(
    "--epsilon", required=True, type=POSITIVE,
    help="What this release costs by itself, at the budget's delta.",
)  # fmt: skip
@click.option(
    "--schema", "schema_", type=_FILE, metavar="FILE",
    help="The columns with their values; or name columns with --columns.",
)  # fmt: skip
@_columns
@_public
@_most
@ledger_option
@library_options
@click.option(
    "--method", type=click.Choice(["aim", "independent"]), default="aim", show_default=True,
    help="aim keeps what goes together; independent measures every column by itself.",
)  # fmt: skip
@click.option(
    "--backend", type=click.Choice(["numpy", "mbi"]), default="numpy", show_default=True,
    help="What fits the distribution; mbi is an extra.",
)  # fmt: skip
@asking_options
@paid_resume_options
def release(**options: Any) -> None:
    """Count the metadata of PRIVATE rows with noise, and write a table that may be sampled from.

    PRIVATE is JSONL or TSV. The release is recorded in the ledger before anything is counted, and
    refused if the budget does not allow it. A user or dialogue counts for one record.

    \b
    genie-dp private table release private.jsonl --schema schema.json --epsilon 1 -o table.json
    """
    from genie_dp.cli.private.table_job import run

    if bool(options["schema_"]) == bool(options["columns"]):
        raise click.UsageError("give either --schema or --columns")
    check_asking(options)
    run(options)


@group.command("show")
@_TABLE
@click.option("--values", type=click.IntRange(1), default=8, show_default=True, metavar="N",
              help="Values of a column that are shown, the most frequent ones.")  # fmt: skip
def show(table: Path, values: int) -> None:
    """Say what a TABLE tells: its guarantee, the shares of values, and what goes together."""
    from genie_dp.private.tables.report import lines
    from genie_dp.private.tables.table import load_table

    for line in lines(load_table(table), values=values):
        click.echo(line)


@group.command("sample")
@_TABLE
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True, metavar="N",
              help="Records that are wanted; any number costs nothing.")  # fmt: skip
@seed_option
@click.option("--output", "-o", default="-", metavar="FILE", help="Where they go [to the screen].")
def sample(table: Path, rows: int, seed: int, output: str) -> None:
    """Draw records from a TABLE: JSON, one a line, column -> value."""
    from genie_dp.cli.private.table_job import write_sample

    write_sample(table, rows, seed, output)
