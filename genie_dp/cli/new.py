"""`genie-dp new`: skeletons of a project, a skill, a grammar that work at once."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import CommandEntry

STEPS: Mapping[str, CommandEntry] = {
    "project": CommandEntry(
        f"{__name__}:project",
        "Write a project on the shipped grammar: a skill, genie.yaml, a README with the commands.",
    ),
    "skill": CommandEntry(
        f"{__name__}:skill",
        "Write a skill: its class, templates and values; NAME is that of the class.",
    ),
    "grammar": CommandEntry(
        f"{__name__}:grammar", "Write a grammar: a root category and a few construct templates."
    ),
}


@click.group("new", cls=LazyGroup, table=STEPS)
def command() -> None:
    """Write the skeleton of a project, a skill or a grammar."""


def _folder_option(default: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add --in, the folder of the output."""
    return click.option(
        "--in",
        "folder",
        type=click.Path(file_okay=False, path_type=Path),
        default=default,
        show_default=True,
        help=f"{what} to put it in.",
    )


@click.command("project")
@click.argument("name")
@_folder_option(".", "Folder")
@click.option(
    "--functions",
    metavar="NAME,..",
    help="What your skill can do, such as loans,fines,renew_loan [a diary, as an example].",
)
def project(name: str, folder: Path, functions: str | None) -> None:
    """Write a project on the shipped grammar: a skill, genie.yaml, a README with the commands.

    \b
    genie-dp new project mine
    genie-dp new project library --functions loans,fines,events,renew_loan
    """
    # Imported late: reading classes needs the parser, `genie-dp new --help` does not.
    from genie_dp.importers.skeletons import new_project
    from genie_dp.project_file import schema

    files = {"genie.schema.json": json.dumps(schema(), indent=1) + "\n"}
    named = [one.strip() for one in functions.split(",")] if functions is not None else []
    click.echo(new_project(name, folder, functions=named, files=files))


@click.command("skill")
@click.argument("name")
@_folder_option("thingpedia", "Folder of skills")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Tables that become queries: SQLite, CSV, TSV, Parquet, a JSON sample, or schema.org's"
    " JSON-LD with --table TYPE.",
)
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Only this table. May be repeated."
)
@click.option(
    "--values",
    multiple=True,
    metavar="COLUMN|all|none",
    help="Columns whose values are copied to lists [names and short texts]. May be repeated.",
)
def skill(
    name: str, folder: Path, source: Path | None, tables: tuple[str, ...], values: tuple[str, ...]
) -> None:
    """Write a skill: its class, templates and values; NAME is that of the class.

    \b
    genie-dp new skill com.example.lamp
    genie-dp new skill com.example.clinic --from clinic.sqlite --table patients
    """
    from genie_dp.importers.skeletons import new_skill, new_table_skill

    if source is not None:
        click.echo(new_table_skill(name, source, folder, tables=tables, values=values))
        return
    if tables or values:
        raise click.UsageError("--table and --values are about the tables of --from FILE.")
    click.echo(new_skill(name, folder))


@click.command("grammar")
@click.argument("name")
@_folder_option("grammars", "Folder of grammars")
def grammar(name: str, folder: Path) -> None:
    """Write a grammar: a root category and a few construct templates."""
    from genie_dp.importers.skeletons import new_grammar

    click.echo(new_grammar(name, folder))
