"""A private prior of an evolution: what its noisy votes say of functions. It costs nothing more."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from genie_dp.private.evolution.generator import Candidate
from genie_dp.private.evolution.run import Evolved
from genie_dp.private.evolution.settings import EvolutionSettings
from genie_dp.private.prior.estimate import (
    MOST_OF_PAIR,
    frequency,
    made_shares,
    multipliers,
    projected,
    signal,
)
from genie_dp.private.prior.make import Made
from genie_dp.private_prior import pairs_of
from genie_dp.records import Frequency, PrivatePrior

_OUTSIDE = 0.05  # 95 % intervals


@dataclass(frozen=True, slots=True)
class Tally:
    """Noisy votes by name, and the standard deviation of their noise.

    Attributes:
        votes: name -> votes for candidates that have it.
        deviations: name -> of their noise.
    """

    votes: Mapping[str, float]
    deviations: Mapping[str, float]


def tallied(
    evolved: Evolved, noise: float, names_of: Callable[[Candidate], Iterable[str]]
) -> Tally:
    """Return how many votes candidates with each name got in the last voting.

    Earlier candidates are farther from what people say: where none has both the words and the
    function of a row, the nearest one has other functions.

    Args:
        evolved: the evolution.
        noise: standard deviation on each candidate's count.
        names_of: what a candidate has.
    """
    votes: defaultdict[str, float] = defaultdict(float)
    bins: Counter[str] = Counter()
    candidates, noisy = evolved.votes[-1]
    for one, count in zip(candidates, noisy.tolist(), strict=True):
        for name in set(names_of(one)):
            votes[name] += count
            bins[name] += 1
    names = sorted(votes)
    return Tally({n: votes[n] for n in names}, {n: noise * math.sqrt(bins[n]) for n in names})


def prior_of(
    evolved: Evolved,
    settings: EvolutionSettings,
    *,
    functions: Iterable[str] = (),
    made: Made | None = None,
) -> PrivatePrior:
    """Return the prior of an evolution, in the form of `genie-dp private prior`.

    Args:
        evolved: the evolution; its candidates must name their functions, or there are no weights.
        settings: those of the evolution.
        functions: what the library has: those that no candidate has got no vote.
        made: rows that weights are relative to; None where all functions are made alike.
    """
    noise, made = settings.noise_multiplier, made or Made()
    found = tallied(evolved, noise, lambda one: one.example.functions)
    names = sorted({*functions, *found.votes})
    votes = np.array([found.votes.get(name, 0.0) for name in names])
    kept = projected(votes)
    deviations = [found.deviations.get(name, 0.0) for name in names]
    strength = signal(votes, _root_mean_square(deviations)) if names and kept.sum() else 0.0
    shares = (
        dict(zip(names, (kept / kept.sum()).round(6).tolist(), strict=True)) if strength else {}
    )
    own = made_shares(names, made.functions)
    wanted = {n: strength * shares.get(n, 0.0) + (1 - strength) * own[n] for n in names}
    weights = multipliers(wanted, own)
    pairs = _certain(tallied(evolved, noise, lambda one: pairs_of(one.example.functions)))
    total, of_total = _total(evolved, noise)
    return PrivatePrior(
        evolved.spent,
        shares,
        weights,
        _pair_weights(pairs, kept.sum(), weights, own, made),
        tuple(one.example.program for one in evolved.rows if one.example.program),
        tuple(one.example.utterance for one in evolved.rows),
        _frequencies(found, total, of_total),
        _frequencies(pairs, total, of_total),
        {},
        round(strength, 4),
        _told(settings, total),
    )


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(sum(x * x for x in values) / len(values)) if values else 0.0


def _total(evolved: Evolved, noise: float) -> tuple[float, float]:
    """Return the number of votes, and the deviation of its noise."""
    every = tallied(evolved, noise, lambda _: ("",))
    return max(1.0, every.votes[""]), every.deviations[""]


def _certain(pairs: Tally) -> Tally:
    """Return pairs of which noise alone makes one in two evolutions."""
    tail = min(0.4, 0.5 / max(1, len(pairs.votes)))
    least = NormalDist().inv_cdf(1 - tail)
    names = [n for n, votes in pairs.votes.items() if votes > least * pairs.deviations[n]]
    return Tally({n: pairs.votes[n] for n in names}, {n: pairs.deviations[n] for n in names})


def _frequencies(found: Tally, total: float, of_total: float) -> dict[str, Frequency]:
    """Return shares of all votes, the greatest first, with bounds that hold with 95 %."""
    z = NormalDist().inv_cdf(1 - _OUTSIDE / 4)  # half of it for the total
    units = total, max(1.0, total - z * of_total), total + z * of_total
    names = sorted(found.votes, key=lambda name: (-found.votes[name], name))
    return {name: frequency(found.votes[name], units, z * found.deviations[name]) for name in names}


def _pair_weights(
    pairs: Tally,
    asked: float,
    weights: Mapping[str, float],
    own: Mapping[str, float],
    made: Made,
) -> dict[str, float]:
    """Return multipliers of pairs, beside those of their functions (as `private.prior.make`)."""
    total = sum(made.functions.values())
    wanted, had = {}, {}
    for name, votes in pairs.votes.items():
        one, other = name.split(" ")
        expected = (1 + made.pairs[name]) / (1 + total) if total else own[one] * own[other]
        wanted[name] = votes / max(1.0, asked)
        had[name] = expected * math.sqrt(weights[one] * weights[other])
    found = multipliers(wanted, had, MOST_OF_PAIR)
    return {name: weight for name, weight in sorted(found.items()) if weight != 1}


def _told(settings: EvolutionSettings, total: float) -> dict[str, object]:
    """Return how the votes were released, for people and for the next stages."""
    return {
        "method": "private evolution",
        "mechanism": "gaussian",
        "noise": settings.noise_multiplier,
        "sensitivity": 1.0,
        # A unit of one row casts k votes of 1 / sqrt(k) each.
        "units": round(total / math.sqrt(settings.neighbours)),
        "units_are": "from noisy votes",
        "iterations": settings.iterations,
    }
