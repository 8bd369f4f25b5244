"""Draws are made as ever, and thinned by demand, so that functions get their shares.

A multiplier of a function, put into pools and cells, acts again at every depth: asked for 20 times
as often, a function came up 73 times as often, and the functions of a population were met worse
than without (November 2026). So draws are thinned instead: a draw is kept with a probability that
its functions decide, and these are found on a sample of draws by raking (iterative proportional
fitting, Deming and Stephan, 1940).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp.private_prior import pairs_of
from genie_dp.records import PrivatePrior

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

PILOT = 20_000  # draws looked at
# One draw in so many is kept at least: what is asked for more rarely drawn functions, they cannot
# give.
MOST_DRAWS = 12.0
# No function becomes rarer than by so much.
MOST_RARER = 20.0
_ROUNDS = 40
_STEP = 0.7
_WIDEST = math.log(1000.0)
_UNIT = 2.0**-64


@dataclass(frozen=True, slots=True)
class Steering:
    """Decides which draws are kept; every draw by itself, so any block can be made anywhere.

    Attributes:
        logs: function -> logarithm of its factor; others have 0.
        pairs: pair of functions -> factor.
        bound: the factor of draws that are always kept.
        share_kept: share of draws that are kept, about.
        seed: of the decisions.
    """

    logs: Mapping[str, float]
    pairs: Mapping[str, float]
    bound: float
    share_kept: float
    seed: int

    def keeps(self, place: int, functions: Iterable[str] | None) -> bool:
        """Return whether the draw at a place is kept; None is one that gave no program."""
        probability = self.share_kept
        if functions is not None:
            probability = math.exp(self._log(tuple(dict.fromkeys(functions)))) / self.bound
        if probability >= 1:
            return True
        return xxhash.xxh3_64_intdigest(b"%d:%d" % (self.seed, place)) * _UNIT < probability

    def _log(self, names: Sequence[str]) -> float:
        mean = sum(self.logs.get(name, 0.0) for name in names) / max(1, len(names))
        return mean + _log_of_pairs(self.pairs, names)


def _log_of_pairs(pairs: Mapping[str, float], names: Sequence[str]) -> float:
    if not pairs or len(names) < 2:
        return 0.0
    factor = math.prod(pairs.get(pair, 1.0) for pair in pairs_of(names))
    return math.log(max(factor, math.exp(-_WIDEST)))


def is_neutral(prior: PrivatePrior) -> bool:
    """Return whether a prior leaves the distribution of draws as it is."""
    has_shares = prior.signal > 0 and prior.function_shares
    weights = {*prior.function_weights.values(), *prior.pair_weights.values()}
    return not has_shares and weights <= {1.0}


def make_steering(
    prior: PrivatePrior,
    pilot: Sequence[Sequence[str]],
    seed: int,
    weights: Mapping[str, float] | None = None,
) -> Steering | None:
    """Return the steering that thins draws, None if all are to be kept.

    Args:
        prior: the demand for functions, and for pairs of them.
        pilot: functions of a sample of draws.
        seed: of the decisions.
        weights: multipliers of the shares beside the prior's.
    """
    if is_neutral(prior) or not any(pilot):
        return None
    draws = _PilotDraws.from_pilot(pilot, prior.pair_weights)
    target = _target(prior, draws, weights or {})
    logs = np.zeros(len(draws.names))
    bound, probabilities = 1.0, np.ones(len(pilot))
    for _ in range(_ROUNDS):
        bound, probabilities = draws.keep_chances(logs)
        now = draws.shares(probabilities)
        logs = np.clip(logs + _STEP * np.log(target / now), -_WIDEST, _WIDEST)
    logs_by_name = {name: round(float(x), 6) for name, x in zip(draws.names, logs, strict=True)}
    return Steering(logs_by_name, prior.pair_weights, bound, float(probabilities.mean()), seed)


@dataclass(frozen=True, slots=True)
class _PilotDraws:
    """A sample of draws as a sparse matrix: draw rows[i] has function columns[i].

    Attributes:
        names: the functions, sorted.
        counts: how many functions each draw has, shape (draws,).
        pairs: logarithms of the factors of its pairs, shape (draws,).
    """

    names: tuple[str, ...]
    rows: I64
    columns: I64
    counts: I64
    pairs: F64

    @classmethod
    def from_pilot(
        cls, pilot: Sequence[Sequence[str]], pairs: Mapping[str, float]
    ) -> "_PilotDraws":
        distinct = [tuple(dict.fromkeys(functions)) for functions in pilot]
        names = tuple(sorted({name for functions in distinct for name in functions}))
        places = {name: place for place, name in enumerate(names)}
        counts = np.array([len(functions) for functions in distinct], np.int64)
        return cls(
            names,
            np.repeat(np.arange(len(distinct)), counts),
            np.array([places[name] for functions in distinct for name in functions], np.int64),
            counts,
            np.array([_log_of_pairs(pairs, functions) for functions in distinct]),
        )

    def keep_chances(self, logs: F64) -> tuple[float, F64]:
        """Return the bound, and the probability that each draw is kept, shape (draws,)."""
        sums = np.bincount(self.rows, logs[self.columns], len(self.counts))
        factors = np.exp(sums / np.maximum(1, self.counts) + self.pairs)
        low, high = 0.0, float(factors.max())
        if (factors / high).mean() < 1 / MOST_DRAWS:
            for _ in range(40):
                middle = (low + high) / 2
                is_enough = np.minimum(1, factors / middle).mean() >= 1 / MOST_DRAWS
                low, high = (middle, high) if is_enough else (low, middle)
            high = low
        return high, np.minimum(1.0, factors / high)

    def shares(self, probabilities: F64) -> F64:
        """Return the share of each function among all of the draws kept, shape (functions,)."""
        sums = np.bincount(self.columns, probabilities[self.rows], len(self.names))
        shares: F64 = sums / sums.sum()
        return shares


def _target(prior: PrivatePrior, draws: _PilotDraws, weights: Mapping[str, float]) -> F64:
    """Return the shares that functions are to have; without a signal those that they have."""
    own = draws.shares(np.ones(len(draws.counts)))
    shares = np.array([prior.function_shares.get(name, 0.0) for name in draws.names])
    if shares.sum():
        mixed = prior.signal * shares / shares.sum() + (1 - prior.signal) * own
    else:
        mixed = own * np.array([prior.function_weights.get(name, 1.0) for name in draws.names])
    mixed = mixed * np.array([weights.get(name, 1.0) for name in draws.names])
    if not mixed.sum():
        return own
    bounded = np.maximum(mixed / mixed.sum(), own / MOST_RARER)
    target: F64 = bounded / bounded.sum()
    return target
