"""`genie-dp grammar editor`: a language server for skills and templates."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from genie_dp.serve.editor.sources import ProjectPlaces


@click.command("editor")
@click.option(
    "--tcp",
    type=click.IntRange(1, 65_535),
    metavar="PORT",
    help="Listen at a port of this machine instead, to look into what is said.",
)
def command(tcp: int | None) -> None:
    """Answer an editor: mistakes, completion, hover, definitions, renaming, layout.

    Your editor starts it for .genie and .tt files and speaks the Language Server Protocol with it
    over standard input and output. docs/editors.md shows the setup of VS Code, Neovim and Emacs.
    """
    from genie_dp.serve.editor.server import run

    run(_project_of, tcp=tcp)


def _project_of(folder: Path) -> "ProjectPlaces | None":
    """Return the places in the genie.yaml above a folder, as commands that run there take them."""
    from genie_dp.errors import GenieError
    from genie_dp.project_file import find_project, read_places
    from genie_dp.serve.editor.sources import ProjectPlaces

    found = find_project(folder)
    if found is None:
        return None
    file = Path(os.path.abspath(folder.resolve() / found))
    try:
        places = read_places(file)
    except GenieError as error:
        return ProjectPlaces(file, problems=error.problems)
    return ProjectPlaces(file, places.skills, places.grammar)
