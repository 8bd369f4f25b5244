"""The two sides of a membership test: rows that were trained on, and others like them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.marked import is_private, mask_apart
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.run.files import UNREADABLE, unreadable

# Fewer rows of a side prove nothing.
LEAST = 10


@dataclass(frozen=True, slots=True, repr=False)
class Sides:
    """Rows of both sides, each different row once, none on both.

    Attributes:
        members, others: the rows.
        left: rows that were left out, by why.
    """

    members: tuple[PrivateRow, ...] = field(repr=False)
    others: tuple[PrivateRow, ...] = field(repr=False)
    left: Mapping[str, int]

    def __repr__(self) -> str:
        return f"Sides(left={self.left!r}, ..)"


def rows_of(path: Path, language: str, *, private_only: bool = False) -> list[PrivateRow]:
    """Return the rows of a file: lines of a .txt, else those of `PrivateSource`.

    Args:
        path: JSONL, TSV by its suffix, or .txt.
        language: of the programs.
        private_only: whether rows that are marked public are left out.

    Raises:
        GenieError: those of `PrivateSource.open`, told without text.
    """
    if ".txt" in path.suffixes[-2:]:
        # What is no UTF-8 is replaced: a message about it would show the line.
        text = _bytes(path).decode("utf-8-sig", errors="replace")
        lines = (" ".join(line.split()) for line in text.splitlines())
        return [PrivateRow(mask_apart(line)) for line in lines if line]
    where = is_private if private_only else None
    read = PrivateSource.open(path, language=language, where=where)
    return [
        PrivateRow(mask_apart(row.utterance), row.program)
        for unit in read.units
        for row in unit
        if row.utterance.strip()
    ]


def _bytes(path: Path) -> bytes:
    import smart_open

    try:
        with smart_open.open(path, "rb") as file:
            found: bytes = file.read()
    except UNREADABLE as error:
        raise GenieError(unreadable(str(path), error, code="Q001")) from None
    return found


def sides_of(
    members: Sequence[PrivateRow], others: Sequence[PrivateRow], *, with_programs: bool = False
) -> Sides:
    """Return rows that can be told apart.

    A row that comes several times is left out: guarantees are for one of it, and what is said often
    is likelier, so that neither side may keep more of it. So is a row that is on both sides.

    Args:
        members: rows that were trained on.
        others: rows that were not.
        with_programs: whether rows with one utterance and two programs are different ones.

    Raises:
        GenieError: too few are left of a side (N058).
    """

    def key(row: PrivateRow) -> Any:
        return row if with_programs else row.utterance

    rows = {key(row): row for row in members}
    counts, counts_there = Counter(map(key, members)), Counter(map(key, others))
    there = {key(row): row for row in others}
    once = [name for name, count in counts.items() if count == 1]
    chosen = tuple(rows[name] for name in once if name not in there)
    left = {
        "members that come several times": len(counts) - len(once),
        "others that come several times": sum(count > 1 for count in counts_there.values()),
        "rows on both sides": len(once) - len(chosen),
    }
    rest = tuple(
        row for name, row in there.items() if counts_there[name] == 1 and name not in counts
    )
    if min(len(chosen), len(rest)) < LEAST:
        message = f"expected {LEAST} different rows of each side or more, that are on one side only"
        hint = "members were trained on, each once; the others are like them and were not"
        raise GenieError(Problem("N058", message, hint=hint))
    return Sides(chosen, rest, left)


def as_counts(sides: Sides) -> dict[str, Any]:
    """Return how many rows there are, for JSON."""
    return {"members": len(sides.members), "others": len(sides.others), "left": dict(sides.left)}
