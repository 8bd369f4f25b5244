"""`genie-dp import`: a library and templates from tools, documents, servers and assistants."""

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
def command(source: str, *, output: Path, kind: str | None, locale: str, skip_broken: bool) -> None:
    """Make a project of tools or intents that are described elsewhere.

    SOURCE is a file, a folder, a URL or a command. What is written is to be edited: the library,
    templates to begin with, genie.yaml, and REVIEW.md, which lists all that was guessed or left
    out.

    \b
    genie-dp import tools.json --output home
    genie-dp import openapi.yaml --output shop
    genie-dp import "python server.py" --output notes
    genie-dp import skill-alarm --locale de --output alarm
    """
    from genie_dp.cli.output import show
    from genie_dp.project_file import schema
    from genie_dp.templates.imports import Source, run

    files = {"genie.schema.json": json.dumps(schema(), indent=1) + "\n"}
    asked = Source(source, locale, skip_broken)
    show(run(asked, output, kind=kind, files=files))
