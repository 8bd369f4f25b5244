"""How many rows each cell gives: shares fill like water, a full cell passes on its rest."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def fill(total: int, weights: F64, capacity: F64) -> I64:
    """Return shares of `total`, proportional to weights and at most capacity, shape (cells,).

    The shares sum to min(total, sum of capacity over positive weights); fractions go to the cells
    with the largest remainders, first ones first.

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
    return _whole(share, int(round(target)), capacity)


def even(total: int, capacity: Sequence[int]) -> I64:
    """Return equal shares of `total`, at most capacity.

    >>> even(10, [2, 100]).tolist()
    [2, 8]
    """
    room = np.array(capacity, float)
    return fill(total, np.ones(len(room)), room)


def _whole(share: F64, target: int, capacity: F64) -> I64:
    whole = np.floor(share + 1e-9)
    missing = target - int(whole.sum())
    if missing > 0:
        room = whole < capacity
        order = np.argsort(-(share - whole) * room, kind="stable")
        order = order[room[order]][:missing]
        whole[order] += 1
    return whole.astype(np.int64)
