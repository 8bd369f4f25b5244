"""Which private rows and which ledger a command means: that beside them, or one that is named."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from genie_dp.errors import GenieError, Problem
from genie_dp.texts import read_text

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
    from genie_dp.private.ledger.book import ledger_of

    if ledger is not None:
        return ledger
    if private is None:
        raise click.UsageError("name the file of private rows, or give --ledger")
    # Whoever names the ledger itself means it.
    return private if private.name.endswith(".ledger.json") else ledger_of(private)


def check_is_there(private: Path | None) -> None:
    """Refuse private rows that are not there: a budget for a misspelt name protects nobody."""
    if private is not None and not private.exists():
        hint = "check the name; to set a budget before there are rows, give --ledger"
        raise GenieError(Problem("B028", f"there is no file {private}", hint=hint))


def open_ledger(private: Path | None, ledger: Path | None) -> "Ledger":
    """Return the ledger of private rows, or the one that is named."""
    from genie_dp.private.ledger.book import Ledger

    return Ledger.open(ledger_path(private, ledger))


def ledger_to_spend(private: Path, ledger: Path | None) -> Path:
    """Return the ledger that is to know what is done to private rows.

    Raises:
        GenieError: there is one beside the rows, and another is named (B030): what the one does not
            know of would break its promise.
    """
    from genie_dp.private.ledger.book import ledger_of

    beside = ledger_of(private)
    if ledger is None:
        return beside
    if beside.exists() and not (ledger.exists() and ledger.samefile(beside)):
        message = f"{private} has the ledger {beside}, and {ledger} is another one"
        hint = "leave --ledger out: what is promised for rows is promised once"
        raise GenieError(Problem("B030", message, hint=hint))
    return ledger


def refuse_private(files: Iterable[str | Path], private: Path | None, *, code: str) -> None:
    """Refuse files that are said to be public and are not: what is read of them is released.

    Args:
        files: what is to be read without noise.
        private: the private rows, where they are known.
        code: of the error.

    Raises:
        GenieError: one is the private file itself, or has a ledger beside it.
    """
    from genie_dp.private.ledger.book import ledger_of

    for file in files:
        path = Path(file)
        is_same = private is not None and path.exists() and path.samefile(private)
        if is_same or (path.name and ledger_of(path).exists()):
            why = "it is the private file itself" if is_same else "it has a ledger"
            hint = "give rows of synthesize, or others that may be published"
            raise GenieError(Problem(code, f"{file} is not public: {why}", hint=hint))


def refuse_learned(parser: Path | None, private: Path | None, *, code: str) -> None:
    """Refuse a parser that learned of private rows: what it writes tells of them, without noise.

    Args:
        parser: a folder of genie-dp train, whose manifest has the files that it learned of.
        private: the private rows, where they are known.
        code: of the error.

    Raises:
        GenieError: one of these files has a ledger beside it, or holds what the private file holds;
            or the manifest is broken.
    """
    from genie_dp.cli.private.train_files import digest_of
    from genie_dp.private.ledger.book import ledger_of

    manifest = None if parser is None else parser / "manifest.json"
    if manifest is None or not manifest.is_file():
        return
    learned = _inputs_of(manifest, code)
    digest = None if private is None else digest_of(str(private))
    for file, known in learned.items():
        if known == digest or (Path(file).name and ledger_of(Path(file)).exists()):
            message = f"{parser} has learned of private rows, without noise: of {file}"
            hint = "give a parser of rows that may be published, or of those that a generator drew"
            raise GenieError(Problem(code, message, hint=hint))


def _inputs_of(manifest: Path, code: str) -> dict[str, str]:
    """Return the files that a manifest names, with their digests."""
    try:
        found = json.loads(read_text(manifest, code=code))
    except ValueError:
        found = None
    inputs = found.get("inputs", {}) if isinstance(found, dict) else None
    if not isinstance(inputs, dict):
        message = f"{manifest} is broken: it does not tell what the parser has learned of"
        raise GenieError(Problem(code, message, hint="train the parser again"))
    return inputs
