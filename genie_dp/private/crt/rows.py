"""Redacted rows: private and public ones, their masked words, and the rows for each method.

A row is public if its field `part` is "public" and nothing in it was masked; every other row is
private, also one without the field. So a file that nobody marked is private as a whole, which is
the paper's way without a conservative policy; and <MASK> never comes into the public part, where
the one world would be trained without noise and the other with it (appendix A.6, 5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.private.crt.config import Method
from genie_dp.private.crt.statements import Apart
from genie_dp.private.generators.rows import label_private_rows
from genie_dp.private.generators.stages import Kind, LabelledRow, needs_programs
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Units
from genie_dp.private.redact.provenance import manifest_beside, redaction_of
from genie_dp.private.source import PrivateRow, PrivateSource

MASK = "<MASK>"
PART, PUBLIC = "part", "public"


def is_public(row: Mapping[str, Any]) -> bool:
    """Return whether a row may be learned from without noise.

    >>> is_public({"utterance": "hello", "part": "public"}), is_public({"utterance": "hello"})
    (True, False)
    >>> is_public({"utterance": "I am <MASK>", "part": "public"})
    False
    """
    is_masked = MASK in str(row.get("utterance")) or MASK in str(row.get("program"))
    return row.get(PART) == PUBLIC and not is_masked


def is_private(row: Mapping[str, Any]) -> bool:
    """Return whether noise is needed to learn from a row."""
    return not is_public(row)


# ------------------------------------------------------------------------- two parts of a text


@dataclass(frozen=True, slots=True, repr=False)
class RedactedRows:
    """A redacted text in its two parts; it shows nothing of either.

    Attributes:
        private: rows by unit.
        public: rows.
    """

    private: Units[tuple[PrivateRow, ...]] = field(repr=False)
    public: tuple[PrivateRow, ...] = field(repr=False)

    def __repr__(self) -> str:
        return "RedactedRows(..)"


def open_redacted(
    path: Path,
    *,
    language: str,
    budget: Budget | None = None,
    all_private: bool = False,
    said_apart: bool = False,
) -> RedactedRows:
    """Return the two parts of a redacted file; <MASK> stands as a word of its own in both.

    Args:
        path, language: as for `PrivateSource.open`.
        budget: whose units are those of the private part; each row by itself without.
        all_private: whether marks are not looked at: then the unit holds for all rows.
        said_apart: as for `check_units_apart`, which is asked where there is a budget.

    Raises:
        GenieError: those of `PrivateSource.open` and `check_units_apart`.
    """
    if budget is not None:
        check_units_apart(path, budget, all_private=all_private, said_apart=said_apart)
    where = None if all_private else is_private
    read = partial(PrivateSource.promised, budget=budget) if budget else PrivateSource.open
    private = read(path, language=language, where=where).units.each(
        lambda unit: tuple(replace(row, utterance=separate_mask(row.utterance)) for row in unit)
    )
    if all_private:
        return RedactedRows(private, ())
    public = PrivateSource.open(path, language=language, where=is_public)
    return RedactedRows(private, tuple(row for unit in public.units for row in unit))


def separate_mask(text: str) -> str:
    """Return a text in which <MASK> is a word of its own.

    >>> separate_mask("I'm <MASK>, hi")
    "I'm <MASK> , hi"
    """
    return " ".join(text.replace(MASK, f" {MASK} ").split()) if MASK in text else text


def check_units_apart(
    path: Path, budget: Budget, *, all_private: bool = False, said_apart: bool = False
) -> Apart:
    """Return how it is known that no unit of a redacted file follows from another's rows.

    Otherwise adding one unit would replace all units whose rows it changed
    (docs/research/crt.md).

    Args:
        path: the redacted rows.
        budget: whose unit is claimed.
        all_private: whether training makes all rows private.
        said_apart: whether the owner declares so for rows that have no manifest.

    Raises:
        GenieError: there is no manifest of these rows, and no declaration (O016), or rows of
            several units were compared (O017).
    """
    redaction = redaction_of(path, budget)
    if redaction is None:
        if said_apart:
            return "said"
        message = f"expected the manifest of these rows of redaction in {manifest_beside(path)}"
        hint = "redact again with genie-dp private redact, or say with --redacted-apart that no "
        hint += f"{budget.unit} was made from another {budget.unit}'s rows"
        raise GenieError(Problem("O016", message, hint=hint))
    if not redaction.are_compared or redaction.near is None:
        return "recorded"
    if all_private or redaction.is_all_private:
        return "near"
    message = f"alike rows of {path} were compared: one may be public because of another's secret"
    hint = "redact again without --near, or without --conservative; or take --method dp"
    raise GenieError(Problem("O017", message, hint=hint))


# --------------------------------------------------------------------------- what a method sees


@dataclass(frozen=True, slots=True)
class MethodRows:
    """The rows to learn from; it shows nothing of them.

    Attributes:
        private: rows by unit.
        public: rows.
    """

    private: Units[Sequence[LabelledRow]] = field(default=Units(()), repr=False)
    public: Sequence[LabelledRow] = field(default=(), repr=False)


def arrange_rows(
    method: Method, private: Units[Sequence[LabelledRow]], public: Sequence[LabelledRow]
) -> MethodRows:
    """Return the parts as a method sees them.

    "dp" takes each public row for a unit of its own. The baselines take all for public.
    """
    match method:
        case "crt":
            return MethodRows(private, public)
        case "dp":
            return MethodRows(Units((*private, *((row,) for row in public)), private.file), ())
        case _:
            all_rows = (*(row for unit in private for row in unit), *public)
            return MethodRows(Units((), private.file), all_rows)


def read_method_rows(
    method: Method,
    kind: Kind,
    rows: Path,
    language: Language,
    budget: Budget | None,
    more: Sequence[LabelledRow],
    *,
    said_apart: bool = False,
) -> tuple[MethodRows, Sequence[LabelledRow]]:
    """Return the rows as the method sees them, and those that the vocabulary is made of.

    The vocabulary of "crt" is that of the public part; "dp" has it of public files alone,
    and the other baselines of all that they learn from.

    Args:
        method: by which it is learned.
        kind: which stages there are.
        rows: the redacted rows.
        language: of their programs.
        budget: as for `open_redacted`.
        more: rows of public files.
        said_apart: as for `check_units_apart`.

    Raises:
        GenieError: those of `PrivateSource.open`; rows are masked, or are not, against the
            definition of the baseline (O013).
    """
    parts = open_redacted(
        rows,
        language=language.name,
        budget=budget,
        # A person's rows are one unit, wherever redaction put them.
        all_private=method == "dp",
        said_apart=said_apart,
    )
    _check_masks(method, (*(row for unit in parts.private for row in unit), *parts.public))
    private, (public,) = (
        label_private_rows(units, language, with_programs=needs_programs(kind))
        for units in (parts.private, Units((parts.public,)))
    )
    arranged = arrange_rows(method, private, public)
    if method == "dp":
        return arranged, more
    arranged = replace(arranged, public=(*arranged.public, *more))
    return arranged, arranged.public


def _check_masks(method: str, rows: Sequence[PrivateRow]) -> None:
    has_masks = any(MASK in row.utterance for row in rows)
    if method == "non-private" and has_masks:
        message = f"expected rows before redaction for non-private, got rows with {MASK}"
        hint = "give the original rows, or --method masked"
        raise GenieError(Problem("O013", message, hint=hint))
    if method == "masked" and not has_masks:
        message = f"expected redacted rows for {method}, got none with {MASK}"
        raise GenieError(Problem("O013", message, hint="give rows of genie-dp private redact"))
