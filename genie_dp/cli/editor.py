"""`genie-dp editor`: a language server, for editors in which skills and templates are written."""

from pathlib import Path

import click

from genie_dp.texts import Paths


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
    over standard input and output. docs/editors.md says how to set up VS Code, Neovim and Emacs.
    """
    from genie_dp.serve.editor.server import run

    run(_read_project, tcp=tcp)


def _read_project(file: Path) -> tuple[Paths, Paths]:
    """Return the skills and the grammar that a genie.yaml names."""
    from genie_dp.project_file import read_project

    project = read_project(file)
    return project.skills, project.grammar
