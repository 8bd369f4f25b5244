"""Confidence intervals by the percentile bootstrap (Efron and Tibshirani 1993, section 13.3).

Rows are drawn again with replacement. What is measured are shares, and how many of n rows drawn so
are right is binomial; of two parsers, how often which is right is multinomial. So the draws are
made from counts: the same distribution, without the rows, and their order cannot matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genie_dp.rng import child_seed

DRAWS = 1000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made.

    Attributes:
        seed: the same seed gives the same intervals.
        draws: how often the rows are drawn again.
        level: share of the draws that lies within an interval.
    """

    seed: int = 0
    draws: int = DRAWS
    level: float = _LEVEL

    def __post_init__(self) -> None:
        """Refuse what gives no interval."""
        if self.draws < 1:
            raise ValueError(f"draws must be at least 1, got {self.draws}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {self.level}")

    def share(self, right: int, rows: int) -> dict[str, Any]:
        """Return a share with its interval.

        Args:
            right, rows: how many rows of how many are right; at least one row.

        >>> found = Bootstrap().share(60, 100)
        >>> found["share"], 0.45 < found["low"] < 0.55 < 0.65 < found["high"] < 0.75
        (0.6, True)
        """
        drawn = self._rng().binomial(rows, right / rows, self.draws) / rows
        return {"right": right, "rows": rows, "share": right / rows, **self._ends(drawn)}

    def difference(self, counts: Sequence[int]) -> dict[str, Any]:
        """Return the difference of two shares over the same rows, with its interval.

        Args:
            counts: rows right in both, in the first only, in the second only, in neither.

        >>> Bootstrap().difference((5, 0, 0, 3))["difference"]
        0.0
        """
        rows = sum(counts)
        drawn = self._rng().multinomial(rows, [count / rows for count in counts], self.draws)
        both, first, second, neither = counts
        return {
            "difference": (first - second) / rows,
            **self._ends((drawn[:, 1] - drawn[:, 2]) / rows),
            "both": both,
            "first_only": first,
            "second_only": second,
            "neither": neither,
        }

    def _rng(self) -> np.random.Generator:
        # One stream for all figures: the same counts have the same interval, wherever they stand.
        return np.random.default_rng(child_seed(self.seed, "bootstrap"))

    def _ends(self, drawn: "np.ndarray[Any, np.dtype[np.float64]]") -> dict[str, float]:
        rest = (1 - self.level) / 2
        low, high = np.quantile(drawn, [rest, 1 - rest])
        return {"low": float(low), "high": float(high)}
