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
    """Add --resume and --overwrite."""
    again = "Replace the output, and start an interrupted run again."
    command = click.option("--overwrite", is_flag=True, help=again)(command)
    return click.option("--resume", is_flag=True, help="Go on with an interrupted run.")(command)


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
