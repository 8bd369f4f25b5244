"""Which rows a step sees: Poisson sampling of units, and one row of each."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from genie_dp.private.training.randomness import Bytes, integers

Row = TypeVar("Row")


def sample_units(
    units: Sequence[Sequence[Row]], rate: float, *, draw: Bytes, step: int
) -> tuple[Row, ...]:
    """Return the rows of a step; there may be none.

    Every unit is drawn by itself with chance `rate`, as the accountant assumes (Abadi et al., 2016;
    not batches of a shuffled epoch). A drawn unit gives one of its rows, each with the same chance:
    it moves a step by one clipped gradient, however many rows it has.

    Args:
        units: rows by unit; a unit without rows is never drawn.
        rate: chance of each unit.
        draw: where random bytes come from.
        step: number of the step.
    """
    drawn = np.flatnonzero(_drawn(len(units), rate, draw, step))
    places = integers(draw, len(drawn), "row", step).tolist()
    chosen = ((units[i], place) for i, place in zip(drawn.tolist(), places, strict=True))
    return tuple(rows[place % len(rows)] for rows, place in chosen if rows)


def _drawn(
    count: int, rate: float, draw: Bytes, step: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which units are drawn: exact to 2**-64."""
    if rate >= 1:
        return np.ones(count, np.bool_)
    return integers(draw, count, "units", step) < np.uint64(int(rate * 2.0**64))
