"""What `genie-dp private train crt` learns from, and how well it was redacted."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genie_dp.cli.private.train_files import rows_in
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.private.crt.course import Rows, rows_of
from genie_dp.private.crt.marked import MASK, apart_of, open_marked, sensitive_words
from genie_dp.private.crt.statements import (
    NOTHING_PUBLIC,
    UNMEASURED,
    MissRate,
    Redaction,
    id_of,
)
from genie_dp.private.generators.programs import private_rows, public_rows
from genie_dp.private.generators.stages import Labelled, needs_programs
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Units
from genie_dp.private.source import PrivateRow, PrivateSource

_REPORT = ("gamma", "missed_by_both")
# Of the intervals, as statements say.
LEVEL = 0.95


def public_files(names: Sequence[str], language: Language) -> tuple[Labelled, ...]:
    """Return the rows of public files."""
    return tuple(
        row for name in names for row in public_rows(tuple(rows_in(name, language)), language)
    )


def rows_for(
    options: Mapping[str, Any],
    language: Language,
    budget: Budget | None,
    more: Sequence[Labelled],
) -> tuple[Rows, Sequence[Labelled]]:
    """Return the rows as the method sees them, and those that the vocabulary is made of.

    The vocabulary of "crt" is that of the public part; "dp" and "s-dp" have it of public files
    alone, and the other baselines of all that they learn from.

    Raises:
        GenieError: those of `PrivateSource.open`; the two files of s-dp differ in length (O012);
            rows are masked, or are not, against what the baseline is (O013).
    """
    method = options["method"]
    parts = open_marked(
        options["rows"],
        language=language.name,
        budget=budget,
        # A person's rows are one unit, wherever redaction put them.
        all_private=method == "dp",
        said_apart=options["redacted_apart"],
    )
    _check_masks(method, (*(row for unit in parts.private for row in unit), *parts.public))
    wanted = needs_programs(options["kind"])
    private, (public,) = (
        private_rows(units, language, with_programs=wanted)
        for units in (parts.private, Units((parts.public,)))
    )
    if method == "s-dp":
        unpaid = Units[tuple[Labelled, ...]]((), options["rows"])
        return Rows(unpaid, words=_marked_words(options, language)), (*public, *more)
    found = rows_of(method, private, public)
    found = Rows(found.private, found.public if method == "dp" else (*found.public, *more))
    return found, more if method == "dp" else found.public


def _check_masks(method: str, rows: Sequence[PrivateRow]) -> None:
    has_masks = any(MASK in row.utterance for row in rows)
    if method == "non-private" and has_masks:
        message = f"expected rows before redaction for non-private, got rows with {MASK}"
        raise GenieError(
            Problem("O013", message, hint="give the original rows, or --method masked")
        )
    if method in ("masked", "s-dp") and not has_masks:
        message = f"expected redacted rows for {method}, got none with {MASK}"
        raise GenieError(Problem("O013", message, hint="give rows of genie-dp private redact"))


def _marked_words(
    options: Mapping[str, Any], language: Language
) -> list[tuple[tuple[str, bool], ...]]:
    """Return the original words of each row, with those that redaction masked."""
    redacted, original = (
        [unit[0] for unit in PrivateSource.open(path, language=language.name).units]
        for path in (options["rows"], options["original"])
    )
    if len(redacted) != len(original):
        message = "expected as many rows before redaction as after it"
        hint = "give with --original the file that was redacted"
        raise GenieError(Problem("O012", message, hint=hint))
    return [
        sensitive_words(one.utterance, other.utterance)
        for one, other in zip(redacted, original, strict=True)
    ]


def shares_of(options: Mapping[str, Any], budget: Budget) -> Redaction:
    """Return the redaction of the rows: what is not measured is taken to be missed.

    Raises:
        GenieError: a share is none (O001), the report has none (O011), or the rows were not
            redacted by the budget's unit (O016, O017).
    """
    where = options["measured_on"] or ""
    if options["report"]:
        gamma, both = _report(options["report"])
    else:
        gamma = _share(options["gamma"], where) if options["gamma"] else UNMEASURED
        both = _share(options["delta_2"], where) if options["delta_2"] else UNMEASURED
    is_dp = options["method"] == "dp"
    if is_dp:
        both = NOTHING_PUBLIC
    said = options["redacted_apart"]
    apart = apart_of(options["rows"], budget, all_private=is_dp, said_apart=said)
    return Redaction(id_of(options["rows"]), gamma, both, apart)


def _share(text: str, where: str) -> MissRate:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    match found:
        case [share]:
            # Without an interval nothing is known of how sure it is: a number that was decided.
            return MissRate(share, share, share, where)
        case [share, low, high]:
            return MissRate(share, low, high, where)
    message = f"expected a share, or share,low,high, got {text!r}"
    raise GenieError(Problem("O001", message, hint="such as 0.1,0.06,0.15"))


def _measured(facts: Any) -> MissRate:
    if not isinstance(facts, dict):
        raise ValueError(f"a share without bounds: {facts!r}")
    where = str(facts.get("measured_on") or f"{facts['of']} labelled secrets")
    estimate: Any = facts.get("estimate", facts.get("value"))
    return MissRate(estimate, facts["low"], facts["high"], where)


def _report(path: Path) -> tuple[MissRate, MissRate]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        gamma, both = (_measured(facts[name]) for name in _REPORT)
        if facts.get("level", LEVEL) < LEVEL:
            raise ValueError(f"intervals of {facts['level']:.0%}, not {LEVEL:.0%}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"expected the shares {' and '.join(_REPORT)} in {path}, got: {error}"
        hint = 'each as {"estimate": .., "low": .., "high": .., "measured_on": ".."}'
        raise GenieError(Problem("O011", message, hint=hint)) from None
    return gamma, both
