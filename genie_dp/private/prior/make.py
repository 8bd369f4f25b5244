"""From a release to a prior: frequencies, and by how much synthesis is to change."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from genie_dp.errors import GenieError, Problem
from genie_dp.private.prior.estimate import (
    MOST_OF_PAIR,
    Frequencies,
    made_shares,
    multipliers,
    shares,
)
from genie_dp.private.prior.histogram import Plan, Released
from genie_dp.private.prior.noise import norm_of
from genie_dp.private_prior import pairs_of
from genie_dp.records import Frequency, PrivatePrior, Spent


@dataclass(frozen=True, slots=True)
class Made:
    """What public rows have, such as synthesized ones: what multipliers are relative to.

    Attributes:
        functions, pairs: how many rows have them; empty where no rows are known.
    """

    functions: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, rows: Iterable[Sequence[str]]) -> "Made":
        """Return what rows have, each given by its functions."""
        found = cls()
        for functions in rows:
            # In their order: a resumed run must find its settings again, and a set has none.
            found.functions.update(tuple(dict.fromkeys(functions)))
            found.pairs.update(pairs_of(functions))
        return found


@dataclass(frozen=True, slots=True)
class Sampled:
    """Rows that a private generator made: its programs and sentences, and their guarantee."""

    programs: tuple[str, ...] = ()
    utterances: tuple[str, ...] = ()
    spent: Spent | None = None


def prior_of(
    released: Released,
    plan: Plan,
    spent: Spent,
    *,
    about: int | None,
    made: Made,
    sampled: Sampled,
) -> PrivatePrior:
    """Return the prior of a release: post-processing, which costs nothing.

    Args:
        released: noisy counts.
        plan: how they were made.
        spent: the guarantee of everything that the ledger knows of.
        about: a public estimate of the number of units; None where they were counted.
        made: what multipliers are relative to.
        sampled: what a generator made, if any.

    Raises:
        GenieError: F006, the guarantee does not cover the sampled rows.
    """
    if sampled.spent is None and (sampled.programs or sampled.utterances):
        hint = "give the guarantee of the generator, and rows of a generator with this ledger"
        raise GenieError(Problem("F006", "the sampled rows have no guarantee", hint=hint))
    spent = covering(spent, sampled.spent)
    found, signal = shares(released, plan)
    frequencies = Frequencies(released, plan.noise, about)
    own = made_shares(released.functions, made.functions)
    # As far as counts differ by noise, nothing is to change.
    wanted = {name: signal * found.get(name, 0) + (1 - signal) * own[name] for name in own}
    weights = multipliers(wanted, own)
    pairs = frequencies.pairs()
    # Where noise dominates, a pair that is told may be noise, too: it is to steer nothing.
    steering = pairs if signal else ()
    return PrivatePrior(
        spent,
        found,
        weights,
        _pair_weights(
            {name: released.pairs[name] for name in steering}, released, weights, own, made
        ),
        sampled.programs,
        sampled.utterances,
        frequencies.of(released.functions),
        _falling(pairs),
        frequencies.missing(),
        round(signal, 4),
        _told(plan, released, about),
    )


def _falling(frequencies: Mapping[str, Frequency]) -> dict[str, Frequency]:
    return dict(sorted(frequencies.items(), key=lambda item: (-item[1].share, item[0])))


def _pair_weights(
    counts: Mapping[str, int],
    released: Released,
    weights: Mapping[str, float],
    own: Mapping[str, float],
    made: Made,
) -> dict[str, float]:
    """Return multipliers of pairs, beside those that their functions have already.

    Shares are relative to all functions asked for, on both sides. Where no public rows are known,
    functions are taken to be joined as they come.
    """
    # Noise and all: it cancels in the sum, and would not without the counts below 0.
    asked = sum(released.functions.values())
    total = sum(made.functions.values())
    wanted, had = {}, {}
    for name, number in counts.items():
        one, other = name.split(" ")
        mean = math.sqrt(weights[one] * weights[other])
        expected = (1 + made.pairs[name]) / (1 + total) if total else own[one] * own[other]
        wanted[name], had[name] = number / max(1, asked), expected * mean
    found = multipliers(wanted, had, MOST_OF_PAIR)
    return {name: weight for name, weight in sorted(found.items()) if weight != 1}


def _told(plan: Plan, released: Released, about: int | None) -> dict[str, object]:
    """Return how the counts were released, for people and for the next stages."""
    limits = asdict(plan.limits)
    return {
        "mechanism": plan.kind,
        "noise": round(plan.noise.deviation, 4),
        "sensitivity": round(plan.limits.sensitivity(norm_of(plan.kind)), 6),
        "limits": limits,
        "units": about if about is not None else max(0, released.units or 0),
        "units_are": "given" if about is not None else "counted with noise",
        "threshold": plan.least,
        "threshold_delta": plan.threshold_delta,
        "candidates": len(plan.support.candidates),
    }


def covering(ledger: Spent, rows: Spent | None) -> Spent:
    """Return the guarantee of a prior: the ledger's, which covers rows of the same private data.

    Raises:
        GenieError: F006, rows cannot be of this ledger: their guarantee is of other units, or they
            cost more than all that the ledger knows of.
    """
    if rows is None:
        return ledger
    hint = "give rows of a generator that was trained on this private file, with this ledger"
    if (rows.unit, rows.relation) != (ledger.unit, ledger.relation):
        told = f"{rows.unit}, {rows.relation}, not {ledger.unit}, {ledger.relation}"
        raise GenieError(Problem("F006", f"the sampled rows are of {told}", hint=hint))
    if rows.epsilon > ledger.epsilon or rows.delta > ledger.delta:
        told = f"epsilon {rows.epsilon:.4g} at delta {rows.delta:.4g}"
        known = f"{ledger.epsilon:.4g} at {ledger.delta:.4g}"
        message = f"the sampled rows cost {told}, but the ledger knows of {known}"
        raise GenieError(Problem("F006", message, hint=hint))
    return ledger
