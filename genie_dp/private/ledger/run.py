"""A ledger shown and checked as a stage: its promise and spends, and whether more would fit."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.statements import (
    GroupStatement,
    Statement,
    group_of,
    read_records,
    statement_of,
)
from genie_dp.private.ledger.accounting import ACCOUNTANTS, Accountant, epsilon_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import (
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonGaussian,
    Threshold,
    ZeroConcentrated,
    describe_mechanism,
    from_dict,
)
from genie_dp.run.stage import Result

Facts = Mapping[str, Any]
# Fields of an entry that only the chain needs.
_LINKS = ("previous", "hash")


def facts_as_json(facts: Facts) -> str:
    """Return facts as JSON; figures that are not finite are null."""
    return json.dumps(_without_infinity(facts), indent=2, ensure_ascii=False, allow_nan=False)


def _without_infinity(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _without_infinity(part) for name, part in value.items()}
        case list() | tuple():
            return [_without_infinity(part) for part in value]
        case float() if not math.isfinite(value):
            return None
    return value


def describe_promise(budget: Budget) -> str:
    """Return the promise in one line.

    >>> describe_promise(Budget(3.0, 1e-6, "user", cap=20))
    'epsilon 3 at delta 1e-06 for adding or removing one user of at most 20 rows; pld decides'
    """
    field = f" named by {budget.unit_field!r}" if budget.unit_field else ""
    rows = "" if budget.unit == "utterance" else f" of at most {budget.cap:,} rows"
    promise = f"epsilon {budget.epsilon:g} at delta {budget.delta:g}"
    unit = f"adding or removing one {budget.unit}{field}{rows}"
    return f"{promise} for {unit}; {budget.accountant} decides"


def _epsilons(mechanisms: Sequence[Mechanism], delta: float) -> dict[Accountant, float]:
    return {name: epsilon_of(mechanisms, delta, name) for name in ACCOUNTANTS}


@dataclass(frozen=True, slots=True, repr=False)
class LedgerAccount(Result):
    """The promise of a ledger, its spends and its remaining budget.

    Attributes:
        of_rows: its guarantee for private rows, and the spends, for programs.
        of_secrets: its guarantee for single secrets; None where no run was on redacted rows.
        of_groups: its guarantee for several secrets together.
    """

    of_rows: Facts
    of_secrets: Statement | None = None
    of_groups: tuple[GroupStatement, ...] = ()

    @property
    def facts(self) -> Facts:
        """Return everything for programs."""
        if self.of_secrets is None:
            return self.of_rows
        secrets = self.of_secrets.as_dict()
        if self.of_groups:
            secrets |= {"groups": [group.as_dict() for group in self.of_groups]}
        return {**self.of_rows, "confidentiality": secrets}

    def lines(self) -> Iterator[str]:
        """Yield tables for people."""
        rows = self.of_rows
        yield f"ledger   {rows['ledger']}"
        yield f"promise  {rows['promise']}"
        yield f"head     {rows['head']}"
        yield ""
        if rows["entries"]:
            yield from _entry_table(rows["entries"])
            yield ""
        yield from _epsilon_table(rows)
        if rows["entries"]:
            yield f"{rows['reading'][0].upper()}{rows['reading'][1:]}."
        yield ""
        yield "Not covered by the promise:"
        yield from (f"- {gap}" for gap in rows["not_covered"])
        if self.of_secrets is not None:
            yield ""
            yield "Confidentiality:"
            yield from self.of_secrets.lines()
            for group in self.of_groups:
                yield from group.lines()


def show_ledger(ledger: Ledger, groups: Sequence[int] = ()) -> LedgerAccount:
    """Return the guarantees of a ledger for rows, single secrets and groups of so many secrets.

    Raises:
        GenieError: groups are asked for where no run was on redacted rows (O014), or its record was
            removed (O004).
    """
    budget = ledger.budget
    by_purpose: dict[str, list[Mechanism]] = {}
    for entry in ledger.entries:
        by_purpose.setdefault(entry.purpose, []).extend(entry.mechanisms)
    total = _epsilons(ledger.mechanisms, budget.delta)
    of_rows = {
        "ledger": str(ledger.path),
        "head": ledger.head,
        "promise": describe_promise(budget),
        "budget": budget.as_dict(),
        "entries": [
            {key: value for key, value in entry.as_dict().items() if key not in _LINKS}
            for entry in ledger.links
        ],
        "purposes": [
            {"purpose": name, "epsilon": _epsilons(spent, budget.delta)}
            for name, spent in by_purpose.items()
        ],
        "total": total,
        "left": {name: max(0.0, budget.epsilon - spent) for name, spent in total.items()},
        "reading": budget.reading,
        "not_covered": budget.not_covered(),
    }
    if not groups and not read_records(ledger.path):
        return LedgerAccount(of_rows)
    statement = statement_of(ledger)
    if not statement.redactions:
        message = "nothing is promised of secrets: no run on redacted rows is recorded"
        hint = "genie-dp private train crt records one; leave --group out"
        raise GenieError(Problem("O014", message, hint=hint))
    return LedgerAccount(of_rows, statement, tuple(group_of(statement, size) for size in groups))


def _entry_table(entries: Sequence[Facts]) -> Iterator[str]:
    rows = [("entry", "recorded (UTC)", "purpose", "run", "what was done to the rows")]
    for entry in entries:
        spends = [describe_mechanism(from_dict(facts)) for facts in entry["mechanisms"]]
        spends = spends or [f"nothing more: the result is {entry['released'][:12]}.."]
        when = entry["recorded"][:16].replace("T", " ")
        rows.append((str(entry["number"]), when, entry["purpose"], entry["run"], spends[0]))
        rows += [("", "", "", "", spend) for spend in spends[1:]]
    yield from _align(rows)


def _epsilon_table(facts: Facts) -> Iterator[str]:
    decides = facts["budget"]["accountant"]
    names = [f"{name} (decides)" if name == decides else name for name in ACCOUNTANTS]
    rows = [(f"epsilon at delta {facts['budget']['delta']:g}", *names)]
    rows += [(row["purpose"], *_figures(row["epsilon"])) for row in facts["purposes"]]
    rows.append(("spent so far", *_figures(facts["total"])))
    rows.append((f"left of {facts['budget']['epsilon']:g}", *_figures(facts["left"])))
    yield from _align(rows, numbers=True)
    if len(facts["purposes"]) > 1:
        yield "The lines do not add up: spends together cost less than one by one."


def _figures(epsilons: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(f"{epsilons[name]:.3f}" for name in ACCOUNTANTS)


def _align(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            text.rjust(width) if numbers and place else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


@dataclass(frozen=True, slots=True)
class LedgerQuestion:
    """A query of a ledger: a training and other mechanisms that would be spent.

    Attributes:
        steps, rate: of the training; both or neither.
        noise_multiplier: of the training; None for the least that fits.
        target: epsilon that everything together may reach; None for the budget's.
        gaussian, laplace, exponential, zcdp, threshold: parameters of mechanisms beside training.
        seen: heads seen earlier, from which the ledger must go on.
    """

    steps: int | None = None
    rate: float | None = None
    noise_multiplier: float | None = None
    target: float | None = None
    gaussian: tuple[float, ...] = ()
    laplace: tuple[float, ...] = ()
    exponential: tuple[float, ...] = ()
    zcdp: tuple[float, ...] = ()
    threshold: tuple[float, ...] = ()
    seen: tuple[str, ...] = ()

    def beside_training(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms beside training."""
        return (
            *map(Gaussian, self.gaussian),
            *map(Laplace, self.laplace),
            *map(Exponential, self.exponential),
            *map(ZeroConcentrated, self.zcdp),
            *map(Threshold, self.threshold),
        )


@dataclass(frozen=True, slots=True, repr=False)
class LedgerCheck(Result):
    """A ledger that is whole and within its budget, and the total with further mechanisms."""

    facts: Facts

    def lines(self) -> Iterator[str]:
        """Yield that it is whole, the spends, and the mechanisms that fit."""
        facts, count = self.facts, self.facts["entries"]
        entries = f"{count:,} {'entry' if count == 1 else 'entries'}"
        yield f"{facts['ledger']} is whole: {entries}, head {facts['head']}"
        yield f"spent    {self._compare(facts['epsilon'])}"
        if "with_it" in facts:
            yield f"with it  {self._compare(facts['with_it'])}: it would fit"
            if facts["noise_multiplier"]:
                yield f"noise multiplier {facts['noise_multiplier']:g}"

    def _compare(self, epsilons: Mapping[str, float]) -> str:
        """Return epsilon by the accountant that decides, beside the budget, and by the other."""
        budget = self.facts["budget"]
        decides = budget["accountant"]
        second = next(name for name in epsilons if name != decides)
        aside = f"({second}: {epsilons[second]:.4g})"
        return f"epsilon {epsilons[decides]:.4g} of {budget['epsilon']:g} by {decides} {aside}"


def check_ledger(path: Path, question: LedgerQuestion, *, accept_head: bool = False) -> LedgerCheck:
    """Check a ledger, and whether more would fit; nothing is spent.

    Args:
        path: the ledger.
        question: the mechanisms that would be spent.
        accept_head: write the head file anew, if it is missing or older than the ledger.

    Raises:
        GenieError: it was changed, is past its budget, or the mechanisms do not fit.
    """
    ledger = Ledger.accept_head(path) if accept_head else Ledger.open(path)
    problems = [fault for head in question.seen if (fault := ledger.unseen(head))]
    if problems:
        raise GenieError(problems)
    ledger.check_fits()
    facts: dict[str, Any] = {
        "ledger": str(path),
        "entries": len(ledger.links),
        "head": ledger.head,
        "budget": ledger.budget.as_dict(),
        "epsilon": _epsilons(ledger.mechanisms, ledger.budget.delta),
    }
    if question.steps or question.beside_training():
        facts |= _check_more(ledger, question)
    return LedgerCheck(facts)


def _check_more(ledger: Ledger, question: LedgerQuestion) -> dict[str, Any]:
    """Return the noise of the training that fits, and epsilon with everything."""
    more, noise, budget = question.beside_training(), question.noise_multiplier, ledger.budget
    if question.target and question.target > budget.epsilon:
        message = f"the target {question.target:g} is past the budget of {budget.epsilon:g}"
        raise GenieError(Problem("B023", message, hint="leave --target out"))
    # What does not fit by itself needs no search for noise.
    ledger.check_fits(more)
    if question.steps and question.rate:
        noise = noise or ledger.noise_multiplier_for(
            rate=question.rate, steps=question.steps, epsilon=question.target, more=more
        )
        more = (*more, PoissonGaussian(noise, question.rate, question.steps))
    ledger.check_fits(more)
    after = _epsilons((*ledger.mechanisms, *more), budget.delta)
    return {"noise_multiplier": noise, "with_it": after}
