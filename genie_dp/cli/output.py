"""The output of commands: problems, progress, results."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import click

from genie_dp.errors import Problem, problems_as_json, render_problem
from genie_dp.languages.library import Library
from genie_dp.run.stage import Result

Format = Literal["text", "json"]


def show_problems(
    problems: Iterable[Problem],
    sources: Mapping[str, str] | None = None,
    *,
    format: Format = "text",
) -> None:
    """Print problems for a person on stderr, or as one JSON array on stdout."""
    if format == "json":
        click.echo(problems_as_json(problems))
        return
    for problem in problems:
        click.echo(render_problem(problem, sources), err=True)


def show(result: Result) -> None:
    """Print the lines of a stage's result on stderr, for standard output may hold rows."""
    for line in result.lines():
        click.echo(line, err=True)


def show_skipped(library: Library) -> None:
    """Print the skills that were left out since they are broken, and why."""
    for skipped in library.skipped:
        for line in skipped.lines():
            click.echo(line, err=True)


def note_private(names: Iterable[str | Path | None]) -> dict[str, list[str]]:
    """Return the manifest fields of the private rows among these (`guard.private_inputs`).

    Its warnings are written to stderr.
    """
    from genie_dp.private.ledger.guard import private_inputs

    private = private_inputs(names)
    for line in private.lines():
        click.echo(line, err=True)
    return private.fields()
