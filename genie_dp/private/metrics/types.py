"""Overlap and distance of types: of words, and of functions (Mireshghallah et al. 2023, 4.2)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

RANKS = (10, 25, 50, 100)  # of Table 6


def overlap(real: Collection[str], synthetic: Collection[str]) -> float:
    """Return the share of the real types that occur in the synthetic text, too.

    "The ratio of overlapping types between the generated text and human utterances, against the
    human utterances" (section 4.2; W. Overlap and F. Overlap of Table 1). It says nothing of
    types that only the synthetic text has: `precision` does.

    >>> overlap({"wake", "me", "up"}, {"wake", "him", "up"})
    0.6666666666666666
    """
    wanted = set(real)
    if not wanted:
        raise ValueError("expected a real type at least, got none")
    return len(wanted & set(synthetic)) / len(wanted)


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
    return sum(_term(p.get(name, 0.0), q.get(name, 0.0)) for name in sorted({*p, *q})) / 2


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
            found = set(_top(real, of)) & set(_top(synthetic, of))
            yield Coverage(k, of, len(found))
        if k >= len(real):
            return


def _top(counts: Counter[str], k: int) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:k]
