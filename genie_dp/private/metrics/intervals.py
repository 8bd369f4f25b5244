"""Intervals by the percentile bootstrap (Efron and Tibshirani 1993, section 13.3) over rows.

For means over rows and ratios of such sums. Overlaps of types, chi-square distances and MAUVE get
none: drawn with replacement, rows have fewer different types than they had (of types that occur
once, 37 % are lost), so that such an interval would lie beside the figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genie_dp.rng import child_seed

_CHUNK = 4_000_000  # row numbers drawn at a time: 32 MB


@dataclass(frozen=True, slots=True)
class Intervals:
    """How intervals are made.

    Attributes:
        seed: the same seed gives the same intervals.
        draws: how often the rows are drawn again.
        level: share of the draws that lies within an interval.
    """

    seed: int = 0
    draws: int = 1000
    level: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what gives no interval."""
        if self.draws < 1:
            raise ValueError(f"draws must be at least 1, got {self.draws}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {self.level}")

    def mean(self, values: Sequence[float]) -> dict[str, float]:
        """Return the mean of rows with its interval.

        >>> found = Intervals().mean([1, 0, 1, 1])
        >>> found["value"], found["low"] < 0.75 < found["high"]
        (0.75, True)
        """
        return self.ratio(values, [1.0] * len(values))

    def ratio(self, above: Sequence[float], below: Sequence[float]) -> dict[str, float]:
        """Return the sum of one figure of the rows over that of another, with its interval.

        A draw whose lower sum is 0 counts as 0.

        >>> Intervals().ratio([1, 2], [2, 4])["value"]
        0.5
        """
        if not len(above) or len(above) != len(below):
            raise ValueError(f"expected rows of two figures, got {len(above)} and {len(below)}")
        # Rows in an order of their own: an interval does not depend on that of the file.
        rows = np.array(sorted(zip(above, below, strict=True)), np.float64)
        value = float(_over(rows.sum(0)))
        rest = (1 - self.level) / 2
        low, high = np.quantile(self._draw(rows), [rest, 1 - rest])
        return {"value": value, "low": float(low), "high": float(high)}

    def _draw(self, rows: Any) -> Any:
        rng = np.random.default_rng(child_seed(self.seed, "metrics", "bootstrap"))
        size = len(rows)
        at_once = max(1, _CHUNK // size)
        parts = []
        for start in range(0, self.draws, at_once):
            chosen = rng.integers(0, size, (min(at_once, self.draws - start), size))
            parts.append(_over(rows[chosen].sum(1)))
        return np.concatenate(parts)


def _over(sums: Any) -> Any:
    above, below = sums[..., 0], sums[..., 1]
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)
