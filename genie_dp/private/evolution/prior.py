"""A private prior of an evolution: shares of functions by its noisy votes, at no further cost."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from genie_dp.private.evolution.config import EvolutionSettings
from genie_dp.private.evolution.evolve import Evolution
from genie_dp.private.evolution.generator import VoteCandidate
from genie_dp.private.prior import make
from genie_dp.private.prior.histogram import outside_each
from genie_dp.private_prior import pairs_of
from genie_dp.records import Frequency, PrivatePrior

_SORTS = 3  # of figures with intervals: the total, functions, pairs


@dataclass(frozen=True, slots=True)
class NamedVotes:
    """Noisy votes by name, and the standard deviation of their noise.

    Attributes:
        votes: name -> votes for candidates that have it.
        deviations: name -> of their noise.
    """

    votes: Mapping[str, float]
    deviations: Mapping[str, float]

    def above(self, tail: float) -> "NamedVotes":
        """Return those whose noise alone would be as great with less than a chance."""
        least = _quantile(tail)
        names = [n for n, votes in self.votes.items() if votes > least * self.deviations[n]]
        return NamedVotes({n: self.votes[n] for n in names}, {n: self.deviations[n] for n in names})


def count_votes_by_name(
    evolution: Evolution, noise: float, names_of: Callable[[VoteCandidate], Iterable[str]]
) -> NamedVotes:
    """Return how many votes candidates with each name got in the last voting.

    Earlier candidates are farther from private rows: where none has both the words and the
    function of a row, the nearest one has other functions.

    Args:
        evolution: the evolution.
        noise: standard deviation on each candidate's count.
        names_of: the names of a candidate.
    """
    votes: defaultdict[str, float] = defaultdict(float)
    bins: Counter[str] = Counter()
    candidates, noisy = evolution.votes[-1]
    for candidate, count in zip(candidates, noisy.tolist(), strict=True):
        for name in set(names_of(candidate)):
            votes[name] += count
            bins[name] += 1
    names = sorted(votes)
    return NamedVotes({n: votes[n] for n in names}, {n: noise * math.sqrt(bins[n]) for n in names})


def prior_of(
    evolution: Evolution,
    settings: EvolutionSettings,
    *,
    functions: Iterable[str] = (),
    public: make.PublicFunctions | None = None,
) -> PrivatePrior:
    """Return the prior of an evolution, in the form of `genie-dp private prior`.

    Args:
        evolution: the evolution; its candidates must name their functions, or there are no weights.
        settings: those of the evolution.
        functions: of the library: those that no candidate has got no vote.
        public: rows that weights are relative to; None where all functions are made alike.
    """
    noise, public = evolution.report["noise"], public or make.PublicFunctions()
    by_function = count_votes_by_name(evolution, noise, lambda row: row.example.functions)
    names = sorted({*functions, *by_function.votes})
    votes = np.array([by_function.votes.get(name, 0.0) for name in names])
    clipped = make.project_shares(votes)
    deviations = [by_function.deviations.get(name, 0.0) for name in names]
    strength = 0.0
    if names and clipped.sum():
        strength = make.signal(votes, math.sqrt(sum(x * x for x in deviations) / len(deviations)))
    shares = (
        dict(zip(names, (clipped / clipped.sum()).round(6).tolist(), strict=True))
        if strength
        else {}
    )
    own = make.made_shares(names, public.functions)
    target_shares = {n: strength * shares.get(n, 0.0) + (1 - strength) * own[n] for n in names}
    weights = make.multipliers(target_shares, own)
    all_pairs = count_votes_by_name(evolution, noise, lambda row: pairs_of(row.example.functions))
    # Those of which noise alone makes one in two evolutions steer; those that are shown are sure.
    steering = all_pairs.above(min(0.4, 0.5 / max(1, len(all_pairs.votes))))
    pairs = all_pairs.above(_tail(all_pairs))
    in_all = count_votes_by_name(evolution, noise, lambda _: ("",))
    total, of_total = max(1.0, in_all.votes[""]), in_all.deviations[""]
    return PrivatePrior(
        evolution.spent,
        shares,
        weights,
        make.pair_multipliers(steering.votes, clipped.sum(), weights, own, public),
        tuple(row.example.program for row in evolution.rows if row.example.program),
        tuple(row.example.utterance for row in evolution.rows),
        _frequencies(by_function, total, of_total, _tail(by_function)),
        _frequencies(pairs, total, of_total, _tail(all_pairs)),
        {},
        round(strength, 4),
        _describe_release(settings, noise, total, {"function": by_function, "pair": all_pairs}),
    )


def _tail(votes: NamedVotes) -> float:
    """Return the chance with which each count may be too great, so that all intervals hold.

    Names share candidates and so noise, which intervals of Gaussian noise allow (`outside_each`).
    """
    return outside_each(max(1, len(votes.votes)), outside_each(_SORTS)) / 2


def _frequencies(
    votes: NamedVotes, total: float, of_total: float, tail: float
) -> dict[str, Frequency]:
    """Return shares of all votes, the greatest first, with bounds that hold together with 95 %."""
    around = _quantile(outside_each(_SORTS) / 2) * of_total
    units = total, max(1.0, total - around), total + around
    names = sorted(votes.votes, key=lambda name: (-votes.votes[name], name))
    return {
        name: make.frequency(votes.votes[name], units, _quantile(tail) * votes.deviations[name])
        for name in names
    }


def _quantile(tail: float) -> float:
    return -NormalDist().inv_cdf(tail)


def _describe_release(
    settings: EvolutionSettings, noise: float, total: float, votes: Mapping[str, NamedVotes]
) -> dict[str, object]:
    """Return how the votes were released, for people and for the next stages."""
    return {
        "method": "private evolution",
        "mechanism": "gaussian",
        "noise": noise,
        "sensitivity": 1.0,
        # A unit of one row casts k votes of 1 / sqrt(k) each.
        "units": round(total / math.sqrt(settings.neighbours)),
        "units_are": "from noisy votes",
        "iterations": settings.iterations,
        "looked_at": {sort: len(named.votes) for sort, named in votes.items() if named.votes},
        # In units; of the name that most candidates have, for which it is greatest.
        "above": {
            sort: round(
                _quantile(_tail(named))
                * max(named.deviations.values())
                / math.sqrt(settings.neighbours),
                1,
            )
            for sort, named in votes.items()
            if named.votes
        },
    }
