"""From noisy counts to frequencies and multipliers: nothing here sees private rows."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from genie_dp.private.prior.histogram import Plan, Released
from genie_dp.private.prior.noise import Noise
from genie_dp.private.prior.support import ANY
from genie_dp.records import Frequency

F64 = npt.NDArray[np.float64]

# Synthesis makes no function more than 20 times as frequent as another (engine.MOST_COPIES).
MOST = 20.0
# Of a pair, a few rows are weighed so that they do not lead their batches.
MOST_OF_PAIR = 4.0
_OUTSIDE = 0.05  # 95 % intervals


def projected(counts: F64) -> F64:
    """Return the nearest counts that are at least 0 and have the same sum ("Norm-Sub").

    All counts lose the same amount and none falls below 0: of what was tried the best estimate
    where the sum is known well (Wang et al., NDSS 2020, section 4). No count is left where the sum
    is not positive.

    >>> projected(np.array([10.0, 3.0, -1.0, -2.0])).tolist()
    [8.5, 1.5, 0.0, 0.0]
    """
    total = float(counts.sum())
    if total <= 0:
        return np.zeros_like(counts)
    falling = np.sort(counts)[::-1]
    excess = np.cumsum(falling) - total
    shares = excess / np.arange(1, len(counts) + 1)
    last = int(np.flatnonzero(falling > shares)[-1])
    kept: F64 = np.maximum(counts - shares[last], 0.0)
    return kept


def signal(counts: F64, deviation: float) -> float:
    """Return which share of what counts differ by is more than noise, between 0 and 1.

    The factor by which the positive-part James-Stein estimator keeps the differences from the mean
    (Efron and Morris, 1973): 0 where counts differ as noise would make them, 1 without noise. For
    three counts or less there is no such estimator: noise is taken off as for four.

    >>> signal(np.array([5.0, -3.0, 1.0, 0.0]), 10.0), signal(np.array([500.0, 0.0, 3.0, 1.0]), 0.0)
    (0.0, 1.0)
    """
    freedom = max(1, len(counts) - 3)
    spread = float(((counts - counts.mean()) ** 2).sum()) if len(counts) else 0.0
    if spread == 0:
        return 0.0
    return max(0.0, 1 - freedom * deviation**2 / spread)


def shares(released: Released, plan: Plan) -> tuple[dict[str, float], float]:
    """Return the share of each function among all functions asked for, and the signal.

    Shares sum to 1; there are none where the signal is 0.
    """
    counts = np.array(list(released.functions.values()), float)
    found = projected(counts)
    kept = signal(counts, plan.noise.deviation) if found.sum() else 0.0
    if not kept:
        return {}, 0.0
    each = (found / found.sum()).round(6).tolist()
    return dict(zip(released.functions, each, strict=True)), kept


def multipliers(
    wanted: Mapping[str, float], made: Mapping[str, float], most: float = MOST
) -> dict[str, float]:
    """Return by how much each share is to be multiplied to become the wanted one.

    Bounded by `most` both ways, so that nothing vanishes; exactly 1 where nothing changes.

    >>> multipliers({"@a.b": 0.75, "@c.d": 0.25}, {"@a.b": 0.5, "@c.d": 0.5})
    {'@a.b': 1.5, '@c.d': 0.5}
    """
    found = {}
    for name, share in wanted.items():
        ratio = share / made[name] if made[name] else most
        found[name] = 1.0 if math.isclose(ratio, 1.0) else round(min(max(ratio, 1 / most), most), 4)
    return found


def made_shares(names: Iterable[str], counts: Mapping[str, int] | None) -> dict[str, float]:
    """Return the share of each name among synthesized rows, with one more row for each.

    Without counts all names have the same: what `synthesize` makes of them without weights comes
    near to it, for it balances functions.

    >>> made_shares(["@a.b", "@c.d"], {"@a.b": 5, "@e.f": 9})
    {'@a.b': 0.8571428571428571, '@c.d': 0.14285714285714285}
    """
    found = {name: 1 + (counts or {}).get(name, 0) for name in names}
    total = sum(found.values())
    return {name: count / total for name, count in found.items()}


# ----------------------------------------------------------------------------- frequencies


def frequency(count: float, units: tuple[float, float, float], width: float) -> Frequency:
    """Return the share of units of a noisy count.

    Args:
        count: the noisy count.
        units: how many units there are: the estimate, and its bounds.
        width: half of the count's interval.

    >>> frequency(40, (1000, 1000, 1000), 15)
    Frequency(share=0.04, low=0.025, high=0.055)
    """
    about, fewest, most = units
    return Frequency(
        _share(count, about), _share(count - width, most), _share(count + width, fewest)
    )


def _share(count: float, units: float) -> float:
    return round(min(1.0, max(0.0, count / units)), 6)


class Frequencies:
    """Shares of units with their 95 % intervals."""

    def __init__(self, released: Released, noise: Noise, about: int | None):
        """Settle how many units there are: a public estimate, or the noisy count.

        Where the units were counted with noise, too, each of the two intervals is a 97.5 % one, so
        that both hold with 95 %.
        """
        outside = _OUTSIDE if about is not None else _OUTSIDE / 2
        self.width = noise.quantile(outside / 2) if noise.scale else 0.0
        counted = max(1.0, float(about if about is not None else released.units or 0))
        around = 0.0 if about is not None else self.width
        self.units = counted, max(1.0, counted - around), counted + around
        self.released, self.noise = released, noise

    def of(self, counts: Mapping[str, int]) -> dict[str, Frequency]:
        """Return the frequencies of counts."""
        return {name: frequency(n, self.units, self.width) for name, n in counts.items()}

    def pairs(self) -> dict[str, Frequency]:
        """Return those of the certain pairs: noise alone makes one of them in two releases."""
        counts = self.released.pairs
        if not counts:
            return {}
        least = self.noise.quantile(min(0.4, 0.5 / len(counts))) if self.noise.scale else 0.0
        return self.of({name: n for name, n in counts.items() if n > least})

    def missing(self) -> dict[str, Frequency]:
        """Return those of what the library lacks, the most frequent first; "" is any of it."""
        named = {**self.released.candidates, **self.released.named}
        order = sorted(named, key=lambda name: (-named[name], name))
        return self.of({ANY: self.released.lacking, **{name: named[name] for name in order}})
