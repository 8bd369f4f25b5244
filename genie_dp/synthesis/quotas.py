"""How many rows each cell gives: shares fill like water, a full cell passes on its rest."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genie_dp.synthesis.permutation import permute

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def fill(total: int, weights: F64, capacity: F64, seed: int = 0) -> I64:
    """Return shares of `total`, proportional to weights and at most capacity, shape (cells,).

    The shares sum to min(total, sum of capacity over positive weights). Each is its exact share,
    rounded up or down; `seed` chooses which way, up with a probability of the fraction. So of more
    cells than rows every one has its chance, by its weight.

    >>> fill(10, np.array([1.0, 1.0, 1.0]), np.array([2.0, 100.0, 100.0])).tolist()
    [2, 4, 4]
    """
    capacity = np.where(weights > 0, capacity, 0.0)
    target = min(float(total), float(capacity.sum()))
    share = np.zeros(len(weights))
    is_open = (weights > 0) & (capacity > 0)
    left = target
    while left > 1e-9 and is_open.any():
        level = left * weights / weights[is_open].sum()
        is_full = is_open & (level >= capacity)
        if not is_full.any():
            share[is_open] = level[is_open]
            break
        share[is_full] = capacity[is_full]
        is_open &= ~is_full
        left = target - share.sum()
    return _whole(share, int(round(target)), seed)


def even(total: int, capacity: Sequence[int], seed: int = 0) -> I64:
    """Return equal shares of `total`, at most capacity.

    >>> even(10, [2, 100]).tolist()
    [2, 8]
    """
    room = np.array(capacity, float)
    return fill(total, np.ones(len(room)), room, seed)


def _whole(share: F64, target: int, seed: int) -> I64:
    """Return the shares rounded so that they sum to `target`, each as often up as its fraction.

    Systematic sampling (Madow, 1949): the fractions are laid end to end, and those that hold one
    of `missing` marks at equal distances are rounded up. They lie in a random order: in that of the
    cells, the marks could keep step with functions that take turns in it.
    """
    whole = np.floor(share + 1e-9).astype(np.int64)
    missing = target - int(whole.sum())
    if missing > 0:
        fractions = np.maximum(share - whole, 0.0)
        places = np.flatnonzero(fractions)
        count = np.full(len(places), len(places), np.uint64)
        keys = np.full(len(places), seed & 0xFFFFFFFFFFFFFFFF, np.uint64)
        order = places[permute(np.arange(len(places), dtype=np.uint64), count, keys)]
        line = np.concatenate([[0.0], np.cumsum(fractions[order])])
        line *= missing / line[-1]
        line[-1] = missing
        first = (seed % 0x10000) / 0x10000  # where the first mark is
        whole[order] += np.diff(np.floor(line + first)).astype(np.int64)
    return whole
