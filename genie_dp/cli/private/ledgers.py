"""Which private rows and which ledger a command means: that beside them, or one that is named."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from genie_dp.errors import GenieError, Problem

if TYPE_CHECKING:
    from genie_dp.private.ledger.book import Ledger

Command = TypeVar("Command", bound=Callable[..., Any])


def ledger_option(command: Command) -> Command:
    """Add --ledger, as `ledger`."""
    return click.option(
        "--ledger",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The ledger [beside the private rows: rows.jsonl has rows.ledger.json].",
    )(command)


def private_argument(command: Command) -> Command:
    """Add the file of private rows, as `private`; it is not opened, and --ledger stands for it."""
    return click.argument(
        "private",
        type=click.Path(dir_okay=False, path_type=Path),
        required=False,
        metavar="[PRIVATE]",
    )(command)


def ledger_path(private: Path | None, ledger: Path | None) -> Path:
    """Return where the ledger is.

    Raises:
        click.UsageError: neither the private rows nor a ledger are named.
    """
    from genie_dp.private.ledger.marks import ledger_by_name
    from genie_dp.run.manifest import ledger_of

    if ledger is not None:
        return ledger
    if private is None:
        raise click.UsageError("name the file of private rows, or give --ledger")
    # Whoever names the ledger itself means it.
    if private.name.endswith(".ledger.json"):
        return private
    return ledger_by_name(private) or ledger_of(private)


def check_is_there(private: Path | None) -> None:
    """Refuse private rows that are not there: a budget for a misspelt name protects nobody."""
    if private is not None and not private.exists():
        hint = "check the name; to set a budget before there are rows, give --ledger"
        raise GenieError(Problem("B028", f"there is no file {private}", hint=hint))


def open_ledger(private: Path | None, ledger: Path | None) -> "Ledger":
    """Return the ledger of private rows, or the one that is named."""
    from genie_dp.private.ledger.book import Ledger

    return Ledger.open(ledger_path(private, ledger))
