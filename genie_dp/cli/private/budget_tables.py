"""A ledger as tables for people and as JSON for programs."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from genie_dp.private.ledger.accounting import ACCOUNTANTS, Accountant, epsilon_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Mechanism, from_dict, told

Facts = Mapping[str, Any]


def promised(budget: Budget) -> str:
    """Return the promise in one line.

    >>> promised(Budget(3.0, 1e-6, "user", cap=20))
    'epsilon 3 at delta 1e-06 for adding or removing one user of at most 20 rows; pld decides'
    """
    field = f" named by {budget.unit_field!r}" if budget.unit_field else ""
    rows = "" if budget.unit == "utterance" else f" of at most {budget.cap:,} rows"
    promise = f"epsilon {budget.epsilon:g} at delta {budget.delta:g}"
    unit = f"adding or removing one {budget.unit}{field}{rows}"
    return f"{promise} for {unit}; {budget.accountant} decides"


def facts_of(ledger: Ledger) -> Facts:
    """Return everything that `show` tells."""
    budget = ledger.budget
    by_purpose: dict[str, list[Mechanism]] = {}
    for entry in ledger.entries:
        by_purpose.setdefault(entry.purpose, []).extend(entry.mechanisms)
    total = epsilons(ledger.mechanisms, budget.delta)
    return {
        "ledger": str(ledger.path),
        "head": ledger.head,
        "promise": promised(budget),
        "budget": budget.as_dict(),
        "entries": [
            {key: value for key, value in entry.as_dict().items() if key not in _LINKS}
            for entry in ledger.links
        ],
        "purposes": [
            {"purpose": name, "epsilon": epsilons(spent, budget.delta)}
            for name, spent in by_purpose.items()
        ],
        "total": total,
        "left": {name: max(0.0, budget.epsilon - spent) for name, spent in total.items()},
        "reading": budget.reading,
        "not_covered": budget.not_covered(),
    }


_LINKS = ("previous", "hash")


def epsilons(mechanisms: Sequence[Mechanism], delta: float) -> dict[Accountant, float]:
    """Return epsilon by each accountant."""
    return {name: epsilon_of(mechanisms, delta, name) for name in ACCOUNTANTS}


def as_json(facts: Facts) -> str:
    """Return facts as JSON; what is not finite is null."""
    return json.dumps(_finite(facts), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _finite(one) for name, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case float() if not math.isfinite(value):
            return None
    return value


def tables(facts: Facts) -> Iterator[str]:
    """Yield the lines of `show`."""
    yield f"ledger   {facts['ledger']}"
    yield f"promise  {facts['promise']}"
    yield f"head     {facts['head']}"
    yield ""
    if facts["entries"]:
        yield from _entries(facts["entries"])
        yield ""
    yield from _sums(facts)
    if facts["entries"]:
        yield f"{facts['reading'][0].upper()}{facts['reading'][1:]}."
    yield ""
    yield "Not covered by the promise:"
    yield from (f"- {what}" for what in facts["not_covered"])


def _entries(entries: Sequence[Facts]) -> Iterator[str]:
    rows = [("entry", "recorded (UTC)", "purpose", "run", "what was done to the rows")]
    for entry in entries:
        done = [told(from_dict(one)) for one in entry["mechanisms"]]
        done = done or [f"nothing more: the result is {entry['released'][:12]}.."]
        when = entry["recorded"][:16].replace("T", " ")
        facts = (str(entry["number"]), when, entry["purpose"], entry["run"])
        rows.append((*facts, done[0]))
        rows += [("", "", "", "", more) for more in done[1:]]
    yield from _aligned(rows)


def _sums(facts: Facts) -> Iterator[str]:
    decides = facts["budget"]["accountant"]
    names = [f"{name} (decides)" if name == decides else name for name in ACCOUNTANTS]
    rows = [(f"epsilon at delta {facts['budget']['delta']:g}", *names)]
    rows += [(row["purpose"], *_figures(row["epsilon"])) for row in facts["purposes"]]
    rows.append(("spent so far", *_figures(facts["total"])))
    rows.append((f"left of {facts['budget']['epsilon']:g}", *_figures(facts["left"])))
    yield from _aligned(rows, numbers=True)
    if len(facts["purposes"]) > 1:
        yield "The lines do not add up: spends together cost less than one by one."


def _figures(found: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(f"{found[name]:.3f}" for name in ACCOUNTANTS)


def _aligned(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            text.rjust(width) if numbers and place else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
