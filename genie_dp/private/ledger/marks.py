"""Which ledger knows of rows, whatever file they are in: marks, and fingerprints of sentences.

A mark lies beside rows from which something was learned: `.private.ledger.rows`. It names their
ledger, and has fingerprints of their sentences by a key of its own. A list of all marks lies in a
folder of the user's (`GENIE_DP_STATE`). So rows are known again after `mv`, `convert`, `split`, or
by a hard link. That helps against accidents, not against people: who deletes marks is not seen.

Fingerprints are as private as the rows: their number is that of the sentences, and anybody who has
the key can try sentences out. They are never in a ledger, which is shown around.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.run.files import UNREADABLE, named_trouble, unreadable
from genie_dp.run.manifest import ledger_of

STATE = "GENIE_DP_STATE"
_FORMAT = "genie-dp rows 1"
# The lowest fingerprints of a file are kept, so many: all, where it has no more sentences.
_MOST = 4096
# Fewer sentences in common say nothing, unless they are all that both files have.
_FEWEST = 5
_BYTES = 8

Sketch = frozenset[str]
"""Fingerprints of sentences, each of 16 hexadecimal digits."""


@dataclass(frozen=True, slots=True, repr=False)
class Mark:
    """The record of rows that something was learned from.

    Attributes:
        path: where the mark lies.
        ledger: where their ledger was when something was last learned.
        id: of the ledger, wherever it lies now.
        key: of the fingerprints.
        sketch: fingerprints of all that was ever learned from.
        files: device and number of the files that held the rows.
    """

    path: Path
    ledger: Path
    id: str
    key: bytes
    sketch: Sketch
    files: tuple[tuple[int, int], ...]

    def __repr__(self) -> str:
        return f"Mark({self.ledger})"

    def text(self) -> str:
        """Return the content of the file."""
        facts = {
            "format": _FORMAT,
            "keep": "as private as the rows: show it to nobody",
            "ledger": str(self.ledger),
            "id": self.id,
            "key": self.key.hex(),
            "files": [list(file) for file in self.files],
            "sketch": sorted(self.sketch),
        }
        return json.dumps(facts) + "\n"


# ------------------------------------------------------------------------------ fingerprints


def said_in(rows: Path) -> frozenset[bytes]:
    """Return the sentences of a file of rows: letters and digits alone, in lower case.

    So neither the format nor spaces, punctuation or the order of rows matter. Lines that are no
    rows count as they are: rows are validated elsewhere.

    Raises:
        GenieError: the file cannot be read (Q001).
    """
    import smart_open

    try:
        is_table = ".tsv" in rows.suffixes[-2:]
        with smart_open.open(str(rows), "rb") as lines:
            sentences = {_plain(_utterance(line, is_table=is_table)) for line in lines}
    except UNREADABLE as error:
        raise GenieError(unreadable(str(rows), error, code="Q001")) from None
    return frozenset(text.encode() for text in sentences if text)


def _utterance(line: bytes, *, is_table: bool) -> str:
    text = line.decode("utf-8-sig", "replace")
    if is_table:
        return text.split("\t")[1] if "\t" in text else text
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return text
    utterance = row.get("utterance") if isinstance(row, dict) else None
    return utterance if isinstance(utterance, str) else text


def _plain(text: str) -> str:
    """Return the letters and digits of a sentence, in lower case.

    >>> _plain("What's up?"), _plain("what 's  up")
    ('whatsup', 'whatsup')
    """
    return "".join(filter(str.isalnum, text.casefold()))


def sketch_of(said: frozenset[bytes], key: bytes) -> Sketch:
    """Return the lowest fingerprints of sentences, by a key."""
    fingerprints = sorted(
        hashlib.blake2b(sentence, key=key, digest_size=_BYTES).hexdigest() for sentence in said
    )
    return frozenset(fingerprints[:_MOST])


def is_same_data(one: Sketch, other: Sketch) -> bool:
    """Return whether one of two files has half of its sentences from the other.

    Of more sentences than a sketch has, those with the lowest fingerprints are compared: they are
    a random part, the same of both files.
    """
    least = min((max(x) for x in (one, other) if len(x) >= _MOST), default="g")
    mine, yours = ({x for x in of if x <= least} for of in (one, other))
    common = len(mine & yours)
    if common < _FEWEST:
        return bool(mine) and mine == yours
    return 2 * common >= min(len(mine), len(yours))


def fingerprint(said: frozenset[bytes], key: bytes) -> str:
    """Return a keyed fingerprint of all sentences, for a ledger: equal rows have equal ones."""
    joined = b"\n".join(sorted(said))
    return hashlib.blake2b(joined, key=key, digest_size=_BYTES).hexdigest()


# ------------------------------------------------------------------------------------- marks


def mark_of(rows: Path) -> Path:
    """Return where the mark of a file of rows lies, if it has one and its folder can be written.

    >>> mark_of(Path("data/private.jsonl.gz")).as_posix()
    'data/.private.ledger.rows'
    """
    ledger = ledger_of(rows)
    return ledger.with_name(f".{ledger.stem}.rows")


def state() -> Path:
    """Return the user's folder of marks: GENIE_DP_STATE, or that for state of the system."""
    named = os.environ.get(STATE)
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "genie_dp"


def _path_in_list(mark: Path) -> Path:
    """Return where the user's list has a mark."""
    name = hashlib.sha256(str(mark.resolve()).encode()).hexdigest()[:16]
    return state() / "rows" / name


def marks_near(rows: Path) -> Iterator[Mark]:
    """Yield the marks in the folder of a file, and those of the user's list, each once."""
    seen: set[Path] = set()
    listed = state() / "rows"
    for folder, pattern in ((rows.resolve().parent, ".*.ledger.rows"), (listed, "*")):
        try:
            paths = sorted(path.resolve() for path in folder.glob(pattern))
        except OSError:  # a folder that may not be read has none for us
            continue
        for path in paths:
            if path not in seen and (mark := read_mark(path)):
                yield mark
            seen.add(path)


def read_mark(path: Path) -> Mark | None:
    """Return the mark of a file; None where there is none, or it is another user's.

    Raises:
        GenieError: it is broken (B034).
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        text = ""
    try:
        facts: Any = json.loads(text)
        if facts["format"] != _FORMAT:
            raise ValueError(facts["format"])
        return Mark(
            path,
            Path(facts["ledger"]),
            str(facts["id"]),
            bytes.fromhex(facts["key"]),
            frozenset(map(str, facts["sketch"])),
            tuple((int(device), int(number)) for device, number in facts["files"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"{path} is no mark of rows that something was learned from"
        hint = "restore it from a copy; without it rows are known by the name of their file alone"
        raise GenieError(Problem("B034", message, hint=hint)) from None


def known_as(rows: Path, said: Callable[[], frozenset[bytes]]) -> Iterator[Mark]:
    """Yield the marks that know rows, by their file or by their sentences.

    Args:
        rows: the file.
        said: reads their sentences; not called where there is no mark.
    """
    number = _number(rows)
    for mark in marks_near(rows):
        if number in mark.files or is_same_data(mark.sketch, sketch_of(said(), mark.key)):
            yield mark


def _number(rows: Path) -> tuple[int, int] | None:
    try:
        status = rows.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def ledger_beside(rows: Path) -> Path | None:
    """Return the ledger beside a file, or beside another name of it in its folder."""
    if ledger_of(rows).exists():
        return ledger_of(rows)
    ledgers = map(ledger_of, _hard_links(rows))
    return next((ledger for ledger in ledgers if ledger.exists()), None)


def ledger_by_name(rows: Path) -> Path | None:
    """Return the ledger of a file by its name, its links and its marks; it is not opened."""
    if not rows.name:
        return None
    number = _number(rows)
    marked = (mark.ledger for mark in marks_near(rows) if number in mark.files)
    return ledger_beside(rows) or next(marked, None)


def _hard_links(rows: Path) -> Iterator[Path]:
    """Yield the other names that a file has in its folder."""
    rows = rows.resolve()
    if not rows.is_file() or rows.stat().st_nlink < 2:
        return
    for name in sorted(rows.parent.iterdir()):
        if name != rows and not name.is_symlink() and name.is_file() and name.samefile(rows):
            yield name


def mark_rows(rows: Path, said: frozenset[bytes], ledger: Path, id: str) -> Mark:
    """Return the mark of rows once something is learned from them; it is not written yet."""
    mark = _find_mark(rows, id)
    if mark is None:
        path = mark_of(rows).resolve()
        if not os.access(path.parent, os.W_OK):
            path = _path_in_list(path)
        mark = Mark(path, ledger, id, secrets.token_bytes(32), frozenset(), ())
    number = _number(rows)
    fingerprints = sorted(mark.sketch | sketch_of(said, mark.key))
    files = dict.fromkeys((*mark.files, *([number] if number else ())))
    return replace(
        mark, ledger=ledger.resolve(), sketch=frozenset(fingerprints[:_MOST]), files=tuple(files)
    )


def _find_mark(rows: Path, id: str) -> Mark | None:
    """Return the mark that rows have for a ledger."""
    path = mark_of(rows).resolve()
    marks = (read_mark(file) for file in (path, _path_in_list(path)))
    return next((mark for mark in marks if mark is not None and mark.id == id), None)


def keep(mark: Mark) -> None:
    """Write a mark, and put it into the user's list.

    Raises:
        GenieError: it cannot be written (B034).
    """
    try:
        if read_mark(mark.path) != mark:
            _write(mark.path, mark.text())
        _list(mark.path)
    except OSError as error:
        message = f"it cannot be noted which ledger knows of the rows: {error}"
        hint = f"name a folder for such notes that can be written: {STATE}=DIR"
        raise GenieError(Problem("B034", message, hint=hint)) from None


def _write(path: Path, text: str) -> None:
    """Write a file that its owner alone can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with named_trouble(path), os.fdopen(number, "w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _list(mark: Path) -> None:
    """Put a mark into the user's list."""
    place = _path_in_list(mark)
    if mark == place or (place.is_symlink() and place.resolve() == mark):
        return
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = place.with_name(f"{place.name}.{secrets.token_hex(4)}")
    partial.symlink_to(mark)
    partial.replace(place)
