"""Rows of `genie-dp private redact`: which are private, which public, and where words were masked.

A row is public if its field `part` says so and nothing in it was masked; every other row is
private, also one without the field. So a file that nobody marked is private as a whole, which is
the paper's way without a conservative policy; and <MASK> never comes into the public part, where
the one world would be trained without noise and the other with it (appendix A.6, 5).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Units
from genie_dp.private.redact.provenance import manifest_beside, redaction_of
from genie_dp.private.source import PrivateRow, PrivateSource

MASK = "<MASK>"
PART, PUBLIC = "part", "public"
# How it is known that no unit's rows were changed because of another's: by the manifest of
# redaction, where alike rows of a unit may have been compared ("near"), or by the owner's word.
Apart = Literal["recorded", "near", "said"]


def is_public(row: Mapping[str, Any]) -> bool:
    """Tell whether a row may be learned from without noise.

    >>> is_public({"utterance": "hello", "part": "public"}), is_public({"utterance": "hello"})
    (True, False)
    >>> is_public({"utterance": "I am <MASK>", "part": "public"})
    False
    """
    masked = MASK in str(row.get("utterance")) or MASK in str(row.get("program"))
    return row.get(PART) == PUBLIC and not masked


def is_private(row: Mapping[str, Any]) -> bool:
    """Tell the opposite."""
    return not is_public(row)


@dataclass(frozen=True, slots=True, repr=False)
class Marked:
    """A redacted text in its two parts; it shows nothing of either.

    Attributes:
        private: rows by unit.
        public: rows.
    """

    private: Units[tuple[PrivateRow, ...]] = field(repr=False)
    public: tuple[PrivateRow, ...] = field(repr=False)

    def __repr__(self) -> str:
        return "Marked(..)"


def open_marked(
    path: Path,
    *,
    language: str,
    budget: Budget | None = None,
    all_private: bool = False,
    said_apart: bool = False,
) -> Marked:
    """Return the two parts of a redacted file; <MASK> stands as a word of its own in both.

    Args:
        path, language: as for `PrivateSource.open`.
        budget: whose units are those of the private part; each row by itself without.
        all_private: whether marks are not looked at: then the unit holds for all rows.
        said_apart: as for `apart_of`, which is asked where there is a budget.

    Raises:
        GenieError: those of `PrivateSource.open` and `apart_of`.
    """
    if budget is not None:
        apart_of(path, budget, all_private=all_private, said_apart=said_apart)
    where = None if all_private else is_private
    opened = partial(PrivateSource.promised, budget=budget) if budget else PrivateSource.open
    private = opened(path, language=language, where=where)
    if all_private:
        return Marked(private.units.each(_all_apart), ())
    public = PrivateSource.open(path, language=language, where=is_public)
    return Marked(
        private.units.each(_all_apart),
        tuple(row for rows in public.units for row in rows),
    )


def apart_of(
    path: Path, budget: Budget, *, all_private: bool = False, said_apart: bool = False
) -> Apart:
    """Return how it is known that no unit of a redacted file follows from another's rows.

    Else a unit more or less would be as many units replaced as it has changed (docs/crt.md).

    Args:
        path: the redacted rows.
        budget: whose unit is claimed.
        all_private: whether training makes all rows private.
        said_apart: whether the owner says so of rows that have no manifest.

    Raises:
        GenieError: there is no manifest of these rows, and nobody says so (O016), or rows of
            several units were compared (O017).
    """
    made = redaction_of(path, budget)
    if made is None:
        if said_apart:
            return "said"
        message = f"expected the manifest of these rows of redaction in {manifest_beside(path)}"
        hint = "redact again with genie-dp private redact, or say with --redacted-apart that no "
        hint += f"{budget.unit} was made from another {budget.unit}'s rows"
        raise GenieError(Problem("O016", message, hint=hint))
    if not made.are_compared or made.near is None:
        return "recorded"
    if all_private or made.is_all_private:
        return "near"
    message = f"alike rows of {path} were compared: one may be public because of another's secret"
    hint = "redact again without --near, or without --conservative; or take --method dp"
    raise GenieError(Problem("O017", message, hint=hint))


def _all_apart(rows: tuple[PrivateRow, ...]) -> tuple[PrivateRow, ...]:
    return tuple(map(_apart, rows))


def mask_apart(text: str) -> str:
    """Return a text in which <MASK> is a word of its own.

    >>> mask_apart("I'm <MASK>, hi")
    "I'm <MASK> , hi"
    """
    return " ".join(text.replace(MASK, f" {MASK} ").split())


def _apart(row: PrivateRow) -> PrivateRow:
    if MASK not in row.utterance:
        return row
    return replace(row, utterance=mask_apart(row.utterance))


def sensitive_words(redacted: str, original: str) -> tuple[tuple[str, bool], ...]:
    """Return the words of a text, and whether redaction masked each.

    What stands around the masks says what they stand for; where it does not (the texts are not of
    one row), every word counts as masked.

    >>> sensitive_words("I am <MASK> !", "I am Ann Lee !")
    (('I', False), ('am', False), ('Ann', True), ('Lee', True), ('!', False))
    """
    pieces = [" ".join(piece.split()) for piece in redacted.split(MASK)]
    plain = " ".join(original.split())
    spans = _between(pieces, plain)
    if spans is None:
        return tuple((word, True) for word in plain.split())
    places = ((m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", plain))
    return tuple(
        (word, any(a < end and start < b for a, b in spans)) for word, start, end in places
    )


def _between(pieces: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Return what stands between pieces of a text, each taken where it first comes.

    None where they are not all of it, in this order. A pattern with as many gaps could take years
    to tell that.
    """
    if len(pieces) == 1:
        return [] if text == pieces[0] else None
    first, *others, last = pieces
    at, end = len(first), len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return None
    found = []
    for piece in others:
        start = text.find(piece, at, end)
        if start < 0:
            return None
        found.append((at, start))
        at = start + len(piece)
    return [*found, (at, end)]
