"""Rows that a generator drew: known by what they hold, and by the run that the ledger has."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.book import Ledger
from genie_dp.records import Example, Spent
from genie_dp.rows import read_rows
from genie_dp.run.manifest import manifest_of

COMMAND = "private sample"
_HINT = "give the file as genie-dp private sample wrote it; to draw rows again costs nothing"


class Fingerprint:
    """A hash of the sentences and programs of rows, in their order, in whatever format they lie."""

    def __init__(self) -> None:
        """Begin without rows."""
        self._digest = hashlib.sha256()

    def over(self, rows: Iterable[Example]) -> Iterator[Example]:
        """Yield the rows, and take each one up."""
        for row in rows:
            self._digest.update(json.dumps([row.utterance, row.program]).encode() + b"\n")
            yield row

    def text(self) -> str:
        """Return the hash of all rows so far, in hexadecimal digits."""
        return self._digest.hexdigest()


def drawn_rows(path: Path, spent: Spent, ledger: Ledger) -> tuple[Example, ...]:
    """Return the rows of a generator that was trained with a ledger.

    Args:
        path: of the rows; their manifest lies beside them.
        spent: the guarantee that is said to be theirs.
        ledger: of the private rows.

    Raises:
        GenieError: F010, they are not as a generator of this ledger drew them.
    """
    told = _manifest(path)
    if told["spent"] != json.loads(json.dumps(asdict(spent))):
        raise _other(f"{path} was drawn with another guarantee than that of --spent")
    if told["run"] not in (entry.run for entry in ledger.entries):
        hint = "give rows of a generator that was trained on this private file, with this ledger"
        raise _other(f"{ledger.path} knows nothing of the generator that {path} is of", hint)
    fingerprint = Fingerprint()
    rows = tuple(fingerprint.over(read_rows(str(path))))
    if fingerprint.text() != told["content"]:
        raise _other(f"{path} holds other rows, or in another order, than were drawn")
    return rows


def _manifest(path: Path) -> Mapping[str, Any]:
    file = Path(manifest_of(str(path)))
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise _other(f"there is no manifest {file}, which says what was drawn") from None
    names = ("spent", "run", "content")
    if (
        not isinstance(told, dict)
        or told.get("command") != COMMAND
        or not all(map(told.get, names))
    ):
        raise _other(f"{file} is no manifest of rows that were drawn")
    return told


def _other(message: str, hint: str = _HINT) -> GenieError:
    return GenieError(Problem("F010", message, hint=hint))
