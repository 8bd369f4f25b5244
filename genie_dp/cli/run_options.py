"""Options of the commands that make rows in a run: seed, processes, going on, output."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


def seed_option(command: Command) -> Command:
    """Add --seed."""
    return click.option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        help="The same inputs and seed give the same bytes.",
    )(command)


def jobs_option(command: Command) -> Command:
    """Add --jobs."""
    return click.option(
        "--jobs",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Processes; the bytes do not depend on it.",
    )(command)


def resume_options(command: Command) -> Command:
    """Add --resume and --overwrite, which exclude each other."""
    again = "Replace the output, and start an interrupted run again."
    return _resume_options(command, "Go on with an interrupted run.", again)


def paid_resume_options(command: Command) -> Command:
    """Add --resume and --overwrite of a run that has its cost in a ledger."""
    once = "Go on with an interrupted run: what it did costs once."
    again = "Replace the output, and forget an interrupted run: what it cost stays spent."
    return _resume_options(command, once, again)


def _resume_options(command: Command, once: str, again: str) -> Command:
    for name, other, text in (("overwrite", "resume", again), ("resume", "overwrite", once)):
        command = click.option(f"--{name}", is_flag=True, help=text, callback=_without(other))(
            command
        )
    return command


def _without(other: str) -> Callable[[click.Context, click.Parameter, bool], bool]:
    """Return what refuses a flag beside another one; the later of the two finds the earlier."""

    def checked(context: click.Context, _: click.Parameter, value: bool) -> bool:
        if value and context.params.get(other):
            raise click.UsageError("--resume and --overwrite exclude each other")
        return value

    return checked


def format_option(command: Command) -> Command:
    """Add --format, as `format_`."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["jsonl", "tsv", "parquet"]),
        help="Format of the rows [by the output's name].",
    )(command)


def on_error_option(trouble: str) -> Decorator:
    """Add --on-error, whose help begins with "What to do" and the trouble."""
    return click.option(
        "--on-error",
        type=click.Choice(["stop", "skip"]),
        default="stop",
        show_default=True,
        help=f"What to do {trouble}.",
    )


def output_option(what: str) -> Decorator:
    """Add --output, whose help says what goes there."""
    return click.option(
        "--output",
        "-o",
        default="-",
        show_default=True,
        metavar="FILE|URL|-",
        help=what,
    )


rows_output = output_option("Where the rows go; .gz, .bz2 and .xz compress.")
