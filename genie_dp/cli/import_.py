"""`genie-dp grammar import`: skills and templates from tools, servers and assistants."""

import json
from pathlib import Path

import click

from genie_dp.locale import DEFAULT


@click.command("import")
@click.argument("source")
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write; a new one.",
)
@click.option("--kind", metavar="KIND", help="What the source is [what it looks like].")
@click.option(
    "--locale",
    default=DEFAULT,
    show_default=True,
    metavar="LANG",
    help="Language of what people say, where the source has several.",
)
@click.option("--skip-broken", is_flag=True, help="Leave parts with mistakes out, and name them.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help='Take these tools or intents alone; "todo_*" are all that begin so. May be repeated.',
)
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="Leave these tools or intents out. May be repeated.",
)
def command(
    source: str,
    *,
    output: Path,
    kind: str | None,
    locale: str,
    skip_broken: bool,
    only: tuple[str, ...],
    without: tuple[str, ...],
) -> None:
    """Make a project of tools or intents that are described elsewhere.

    SOURCE is a file, a folder, a URL or a command. The project is a start, to be edited: the
    library, first templates, genie.yaml, and REVIEW.md, which lists all guesses and parts left
    out.

    \b
    genie-dp grammar import tools.json --output home
    genie-dp grammar import openapi.yaml --output shop
    genie-dp grammar import "python server.py" --output notes --only "note_*"
    genie-dp grammar import skill-alarm --locale de --output alarm
    """
    from genie_dp.cli.output import show
    from genie_dp.importers.project import run
    from genie_dp.importers.source import ImportSource
    from genie_dp.project_file import schema

    files = {"genie.schema.json": json.dumps(schema(), indent=1) + "\n"}
    asked = ImportSource(source, locale, skip_broken, only, without)
    show(run(asked, output, kind=kind, files=files))
