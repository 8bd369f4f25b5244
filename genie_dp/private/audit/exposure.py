"""Exposure of canaries: by their exact rank among all candidates, and by extrapolation.

Carlini et al., "The Secret Sharer" (2019), section 4: exposure = log2 |R| - log2 rank. A rank says
nothing beyond log2 |R|; the extrapolation (section 4.3) fits a skew-normal distribution to the
log-perplexities of some candidates and takes its tail: exposure = -log2 Pr[X <= the canary's].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.private.audit.statistics import LEVEL, Floats, lowest, resampled, scipy_stats
from genie_dp.rng import child_seed

Counts = npt.NDArray[np.int64]
# Candidates that the skew-normal distribution is fitted to.
SAMPLE = 10_000
# Smaller chances are no doubles, and so no numbers in JSON.
_MOST_BITS = 1074.0
# Ranks, as shares of the space, at which canaries are counted for a bound of epsilon. They are
# chosen before looking, and the level is divided by how many they are.
SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)


@dataclass(frozen=True, slots=True)
class Exposure:
    """One canary.

    Attributes:
        rank: among all candidates, from 1; candidates that are as likely share their mean rank.
        size: of the candidates.
        extrapolated: exposure by the fitted distribution.
        ties: other candidates that are as likely.
    """

    rank: float
    size: int
    extrapolated: float
    ties: int = 0

    @property
    def last_rank(self) -> float:
        """Return the rank behind all that are as likely: what a bound may count on."""
        return self.rank + self.ties / 2

    @property
    def bits(self) -> float:
        """Return the exposure.

        >>> round(Exposure(1, 1_000_000, 0.0).bits, 2)
        19.93
        """
        return math.log2(self.size) - math.log2(self.rank)


@dataclass(frozen=True, slots=True)
class Fit:
    """The distribution of candidates' losses that was fitted, and how far it is from them."""

    shape: float
    location: float
    scale: float
    distance: float

    def bits(self, loss: float) -> float:
        """Return the exposure of a loss."""
        tail = scipy_stats().skewnorm.logcdf(loss, self.shape, self.location, self.scale)
        return min(_MOST_BITS, -float(tail) / math.log(2))


def ranks(losses: Floats, places: Sequence[int]) -> list[float]:
    """Return the rank of some candidates among all, the mean one of those that are as likely.

    Args:
        losses: (N,) of all candidates.
        places: the numbers of those that are asked for.

    >>> ranks(np.array([3.0, 1.0, 2.0, 2.0]), [1, 2, 0])
    [1.0, 2.5, 4.0]
    """
    less, equal = _counted(losses, places)
    return [float(rank) for rank in less + (equal + 1) / 2]


def _counted(losses: Floats, places: Sequence[int]) -> tuple[Counts, Counts]:
    """Return for some candidates how many are likelier, and how many as likely, itself one."""
    ordered = np.sort(losses)
    wanted = losses[list(places)]
    less = np.searchsorted(ordered, wanted, side="left")
    return less, np.searchsorted(ordered, wanted, side="right") - less


def fitted(losses: Floats, places: Sequence[int], *, seed: int = 0) -> Fit:
    """Return the distribution of a sample of the candidates, canaries left out."""
    stats = scipy_stats()
    others = np.delete(losses, list(places))
    if not len(others):  # every candidate is a canary
        others = losses
    rng = np.random.default_rng(child_seed(seed, "audit", "skew"))
    if len(others) > SAMPLE:
        others = rng.choice(others, SAMPLE, replace=False)
    if np.ptp(others) < 1e-9:
        # All are as likely: a point, which no distribution with a shape can be fitted to.
        return Fit(0.0, float(others[0]), 1e-9, 0.0)
    start = {"loc": float(others.mean()), "scale": float(others.std())}
    shape, location, scale = map(float, stats.skewnorm.fit(others, **start))
    distance = float(stats.kstest(others, "skewnorm", (shape, location, scale)).statistic)
    return Fit(shape, location, scale, distance)


def exposures(losses: Floats, places: Sequence[int], fit: Fit) -> list[Exposure]:
    """Return the exposure of each canary."""
    _, equal = _counted(losses, places)
    return [
        Exposure(rank, len(losses), fit.bits(float(losses[place])), int(alike) - 1)
        for rank, place, alike in zip(ranks(losses, places), places, equal, strict=True)
    ]


def described(
    found: Sequence[Exposure], fit: Fit, *, seed: int = 0, level: float = LEVEL
) -> dict[str, Any]:
    """Return what is told of canaries: highest (the paper's figure 3) and mean, with intervals."""
    bits = np.array([one.bits for one in found])
    more = np.array([one.extrapolated for one in found])
    return {
        "canaries": len(found),
        "candidates": found[0].size,
        "most": math.log2(found[0].size),
        "highest": float(bits.max()),
        "mean": resampled([bits], np.mean, name="exposure", seed=seed, level=level),
        "extrapolated": {
            "highest": float(more.max()),
            "mean": resampled([more], np.mean, name="extrapolated", seed=seed, level=level),
            "distance": fit.distance,
        },
        "each": [
            {"rank": one.rank, "exposure": one.bits, "extrapolated": one.extrapolated}
            for one in found
        ],
    }


def group_bound(found: Sequence[Exposure], delta: float, *, alpha: float = 1 - LEVEL) -> float:
    """Return the least epsilon, for all copies of a canary together, that ranks prove.

    Without the canary its rank is uniform over what the others left, since it was drawn so: the
    chance of one of the k first is at most k / (size - others), if of those that are as likely the
    last rank counts. So epsilon is at least ln((TPR - delta) / that), with the lower bound of
    Clopper and Pearson for TPR.

    >>> ten = [Exposure(1, 10**6, 0.0)] * 10
    >>> round(group_bound(ten, 0.0), 2)
    13.34
    """
    best = 0.0
    size, left = found[0].size, found[0].size - len(found) + 1
    for part in SHARES:
        within = math.floor(part * size)
        if within < 1:
            continue
        hits = sum(one.last_rank <= within for one in found)
        rate = float(lowest(hits, len(found), alpha / len(SHARES)))
        if rate > delta:
            best = max(best, math.log((rate - delta) / min(1.0, within / left)))
    return best


def most_of_canaries(count: int, size: int, delta: float, *, alpha: float = 1 - LEVEL) -> float:
    """Return what `group_bound` says where canaries have the first ranks: none proves more.

    >>> round(most_of_canaries(10, 10**6, 0.0), 2)
    11.03
    """
    first = [Exposure(rank, size, 0.0) for rank in range(1, count + 1)]
    return group_bound(first, delta, alpha=alpha)
