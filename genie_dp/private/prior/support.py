"""What a histogram counts: the bins are public, and a unit adds 1 to a few of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from typing import Literal

from genie_dp.private_prior import pair_name, pairs_of

Norm = Literal[1, 2]
ANY = ""
"""Name of the bin of units that ask for anything the library lacks."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many bins of each sort a unit adds to, at most: they bound what it moves.

    Attributes:
        functions: functions of the library, those that the unit uses most.
        pairs: pairs of them in one program; 0 for no pairs.
        missing: names that the library lacks; 0 to count only whether there is one.
        counts_units: whether the units themselves are counted.
    """

    functions: int = 2
    pairs: int = 1
    missing: int = 1
    counts_units: bool = False

    def __post_init__(self) -> None:
        """Refuse limits that are none.

        Raises:
            ValueError: naming the field and its value.
        """
        for name, least in (("functions", 1), ("pairs", 0), ("missing", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")

    def sensitivity(self, norm: Norm) -> float:
        """Return by how much adding or removing one unit moves the histogram at most.

        Every bin moves by 0 or 1, so the L1 norm is the number of bins and L2 its square root.

        >>> Limits(functions=2, pairs=1, missing=0).sensitivity(2)
        2.0
        """
        bins = self.functions + self.pairs + self.missing + 1 + self.counts_units
        return float(bins) if norm == 1 else sqrt(bins)


@dataclass(frozen=True, slots=True)
class Support:
    """The public bins.

    Attributes:
        functions: functions that the library has, sorted.
        candidates: names that it lacks and that are counted if anybody asks for them, sorted.
    """

    functions: tuple[str, ...]
    candidates: tuple[str, ...] = ()

    @classmethod
    def of(cls, functions: Iterable[str], candidates: Iterable[str] = ()) -> "Support":
        """Return the support; candidates that the library has are no candidates."""
        known = tuple(sorted(set(functions)))
        return cls(known, tuple(sorted(set(candidates) - set(known))))

    @property
    def pair_count(self) -> int:
        """Return how many pairs of functions there are."""
        return comb(len(self.functions), 2)

    def pairs(self) -> Iterator[str]:
        """Yield the names of all pairs of functions, in order."""
        for place, one in enumerate(self.functions):
            for other in self.functions[place + 1 :]:
                yield pair_name(one, other)


@dataclass(frozen=True, slots=True)
class Contribution:
    """The bins to which one unit adds 1, by sort."""

    functions: tuple[str, ...]
    pairs: tuple[str, ...]
    missing: tuple[str, ...]
    lacks_any: bool

    @property
    def size(self) -> int:
        """Return how many bins these are."""
        return len(self.functions) + len(self.pairs) + len(self.missing) + self.lacks_any


def contribution(
    programs: Sequence[Sequence[str]], known: Collection[str], limits: Limits
) -> Contribution:
    """Return what a unit adds to a histogram: it depends on the unit and public things alone.

    Args:
        programs: the functions of each of the unit's programs, in program order.
        known: functions of the library.
        limits: bins of each sort, at most; what the unit has most often comes first.

    >>> found = contribution([["@a.b", "@c.d"], ["@c.d", "@no.such"]], {"@a.b", "@c.d"}, Limits())
    >>> found.functions, found.pairs, found.missing
    (('@c.d', '@a.b'), ('@a.b @c.d',), ('@no.such',))
    """
    functions, pairs, missing = Counter[str](), Counter[str](), Counter[str]()
    for names in programs:
        distinct = tuple(dict.fromkeys(names))
        of_library = [name for name in distinct if name in known]
        functions.update(of_library)
        pairs.update(pairs_of(of_library))
        missing.update(name for name in distinct if name not in known)
    return Contribution(
        _most(functions, limits.functions),
        _most(pairs, limits.pairs),
        _most(missing, limits.missing),
        bool(missing),
    )


def _most(counts: Counter[str], limit: int) -> tuple[str, ...]:
    """Return the most frequent names; of equally frequent ones, those met first."""
    return tuple(name for name, _ in counts.most_common(limit))
