"""Is a ledger whole, and would more fit into its budget?"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.private.budget_tables import as_json, epsilons
from genie_dp.cli.private.ledgers import ledger_path
from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.mechanisms import (
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonGaussian,
    Threshold,
    ZeroConcentrated,
)


@dataclass(frozen=True, slots=True)
class Question:
    """What `check` is asked; the fields are its options."""

    private: Path | None
    ledger: Path | None
    steps: int | None
    rate: float | None
    noise_multiplier: float | None
    target: float | None
    gaussian: tuple[float, ...]
    laplace: tuple[float, ...]
    exponential: tuple[float, ...]
    zcdp: tuple[float, ...]
    threshold: tuple[float, ...]
    seen: tuple[str, ...]
    accept_head: bool
    format_: str

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Question":
        """Return the question of click's options.

        Raises:
            click.UsageError: options that do not go together.
        """
        asked = cls(**{field.name: options[field.name] for field in fields(cls)})
        if (asked.steps is None) != (asked.rate is None):
            raise click.UsageError("--steps and --rate go together")
        if asked.steps is None and (asked.noise_multiplier or asked.target):
            raise click.UsageError("--noise-multiplier and --target need --steps and --rate")
        if asked.noise_multiplier and asked.target:
            raise click.UsageError("--noise-multiplier says what --target asks for: give one")
        return asked

    def others(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms beside training."""
        return (
            *map(Gaussian, self.gaussian),
            *map(Laplace, self.laplace),
            *map(Exponential, self.exponential),
            *map(ZeroConcentrated, self.zcdp),
            *map(Threshold, self.threshold),
        )


def run(asked: Question) -> None:
    """Check the ledger, and answer.

    Raises:
        GenieError: it was changed, is past its budget, or what is asked for does not fit.
    """
    path = ledger_path(asked.private, asked.ledger)
    ledger = Ledger.accept_head(path) if asked.accept_head else Ledger.open(path)
    problems = [fault for seen in asked.seen if (fault := ledger.unseen(seen))]
    if problems:
        raise GenieError(problems)
    ledger.check_fits()
    facts: dict[str, Any] = {
        "ledger": str(path),
        "entries": len(ledger.links),
        "head": ledger.head,
        "budget": ledger.budget.as_dict(),
        "epsilon": epsilons(ledger.mechanisms, ledger.budget.delta),
    }
    if asked.steps or asked.others():
        facts |= _answer(ledger, asked)
    click.echo(as_json(facts) if asked.format_ == "json" else _told(facts))


def _answer(ledger: Ledger, asked: Question) -> dict[str, Any]:
    more, noise, budget = asked.others(), asked.noise_multiplier, ledger.budget
    if asked.target and asked.target > budget.epsilon:
        message = f"the target {asked.target:g} is past the budget of {budget.epsilon:g}"
        raise GenieError(Problem("B023", message, hint="leave --target out"))
    # What does not fit by itself needs no search for noise.
    ledger.check_fits(more)
    if asked.steps and asked.rate:
        noise = noise or ledger.noise_multiplier_for(
            rate=asked.rate, steps=asked.steps, epsilon=asked.target, more=more
        )
        more = (*more, PoissonGaussian(noise, asked.rate, asked.steps))
    ledger.check_fits(more)
    after = epsilons((*ledger.mechanisms, *more), ledger.budget.delta)
    return {"noise_multiplier": noise, "with_it": after}


def _told(facts: Mapping[str, Any]) -> str:
    budget, count = facts["budget"], facts["entries"]
    entries = f"{count:,} {'entry' if count == 1 else 'entries'}"
    lines = [
        f"{facts['ledger']} is whole: {entries}, head {facts['head']}",
        f"spent    {_both(facts['epsilon'], budget)}",
    ]
    if "with_it" in facts:
        lines.append(f"with it  {_both(facts['with_it'], budget)}: it would fit")
        if facts["noise_multiplier"]:
            lines.append(f"noise multiplier {facts['noise_multiplier']:g}")
    return "\n".join(lines)


def _both(found: Mapping[str, float], budget: Mapping[str, Any]) -> str:
    decides = budget["accountant"]
    other = next(name for name in found if name != decides)
    aside = f"({other}: {found[other]:.4g})"
    return f"epsilon {found[decides]:.4g} of {budget['epsilon']:g} by {decides} {aside}"
