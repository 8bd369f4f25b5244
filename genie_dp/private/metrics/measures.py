"""Measures of two corpora: overlap and distance of types, and intervals of means over rows.

Types are words or functions (Mireshghallah et al. 2023, section 4.2). Intervals are those of the
percentile bootstrap (Efron and Tibshirani 1993, section 13.3), for means over rows and ratios of
such sums. Overlaps of types, chi-square distances and MAUVE get none: drawn with replacement, rows
have fewer different types than they had (of types that occur once, 37 % are lost), so that such an
interval would lie beside the figure.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genie_dp.rng import child_seed

RANKS = (10, 25, 50, 100)  # of Table 6


def overlap(real: Collection[str], synthetic: Collection[str]) -> float:
    """Return the share of the real types that occur in the synthetic text, too.

    "The ratio of overlapping types between the generated text and human utterances, against the
    human utterances" (section 4.2; W. Overlap and F. Overlap of Table 1). It does not count types
    that only the synthetic text has: `precision` does.

    >>> overlap({"wake", "me", "up"}, {"wake", "him", "up"})
    0.6666666666666666
    """
    items = set(real)
    if not items:
        raise ValueError("expected a real type at least, got none")
    return len(items & set(synthetic)) / len(items)


def precision(real: Collection[str], synthetic: Collection[str]) -> float:
    """Return the share of the synthetic types that are real ones; 0 where there are none.

    Not in the paper; without it a corpus of all words of a dictionary would have the best overlap.

    >>> precision({"wake", "up"}, {"wake", "grxl"}), precision({"wake"}, ())
    (0.5, 0.0)
    """
    return overlap(synthetic, real) if synthetic else 0.0


def chi_square(real: Mapping[str, float], synthetic: Mapping[str, float]) -> float:
    """Return the chi-square distance of two distributions, from 0 (equal) to 1 (disjoint).

    Half the sum of (p - q)^2 / (p + q) over all types, p and q being shares. The paper names the
    distance (section 4.2, Table 1 "Dist.") and not its formula: this is the symmetric one.

    >>> chi_square({"f": 3, "g": 1}, {"f": 1, "g": 1})
    0.06666666666666667
    """
    p, q = _shares(real), _shares(synthetic)
    if not p or not q:
        return 0.0 if p == q else 1.0
    terms = sum(_term(p.get(name, 0.0), q.get(name, 0.0)) for name in sorted({*p, *q}))
    return min(1.0, terms / 2)  # rounding may bring it above


def _term(p: float, q: float) -> float:
    return (p - q) ** 2 / (p + q)


def _shares(counts: Mapping[str, float]) -> dict[str, float]:
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the most frequent types are among the most frequent of the other corpus.

    Attributes:
        k: rank that was asked for.
        of: types that were compared: k, or all where the real corpus has fewer.
        found: those that stand in both lists.
    """

    k: int
    of: int
    found: int

    @property
    def share(self) -> float:
        """Return the share of the real list that was found."""
        return self.found / self.of


def coverage(real: Counter[str], synthetic: Counter[str]) -> Iterator[Coverage]:
    """Yield the overlap of the top-10, 25, 50 and 100 lists (section B.4, Table 6).

    Ranks beyond the number of real types are left out but the first of them, which compares all.
    Types of equal count stand in the order of their names.

    >>> [(c.k, c.of, c.share) for c in coverage(Counter("aab"), Counter("aac"))]
    [(10, 2, 0.5)]
    """
    for k in RANKS:
        of = min(k, len(real))
        if of:
            common = set(_top(real, of)) & set(_top(synthetic, of))
            yield Coverage(k, of, len(common))
        if k >= len(real):
            return


def _top(counts: Counter[str], k: int) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:k]


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
