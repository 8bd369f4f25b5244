"""One noisy histogram of functions, pairs and missing names: the only look at private rows here.

The bins are public, and a unit adds 1 to a few of them.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import Language, get_language
from genie_dp.languages.library import Library
from genie_dp.private.exact_noise import LARGEST, discrete_gaussian, discrete_laplace
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, Mechanism, Threshold
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.private_prior import pair_name, pairs_of
from genie_dp.texts import read_text

Norm = Literal[1, 2]
Kind = Literal["gaussian", "laplace"]
ANY = ""
"""Name of the bin of units that ask for anything the library lacks."""
Unit = Sequence[Sequence[str]]
"""The functions of each program of a unit."""


@dataclass(frozen=True, slots=True)
class CountLimits:
    """How many bins of each sort a unit adds to, at most: they bound its sensitivity.

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

        >>> CountLimits(functions=2, pairs=1, missing=0).sensitivity(2)
        2.0
        """
        bins = self.functions + self.pairs + self.missing + 1 + self.counts_units
        return float(bins) if norm == 1 else sqrt(bins)


@dataclass(frozen=True, slots=True)
class CountedNames:
    """The public bins.

    Attributes:
        functions: functions that the library has, sorted.
        candidates: names that it lacks and that are counted if anybody asks for them, sorted.
    """

    functions: tuple[str, ...]
    candidates: tuple[str, ...] = ()

    @classmethod
    def from_names(cls, functions: Iterable[str], candidates: Iterable[str] = ()) -> "CountedNames":
        """Return the bins; candidates that the library has are no candidates."""
        library_functions = tuple(sorted(set(functions)))
        return cls(library_functions, tuple(sorted(set(candidates) - set(library_functions))))

    def pairs(self) -> Iterator[str]:
        """Yield the names of all pairs of functions, in order."""
        for place, first in enumerate(self.functions):
            for second in self.functions[place + 1 :]:
                yield pair_name(first, second)


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
    programs: Sequence[Sequence[str]], known: Collection[str], limits: CountLimits
) -> Contribution:
    """Return the contribution of a unit to a histogram: of the unit and public things alone.

    Args:
        programs: the functions of each of the unit's programs, in program order.
        known: functions of the library.
        limits: bins of each sort, at most; the most frequent ones of the unit come first.

    >>> programs = [["@a.b", "@c.d"], ["@c.d", "@no.such"]]
    >>> found = contribution(programs, {"@a.b", "@c.d"}, CountLimits())
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
        _take_most_frequent(functions, limits.functions),
        _take_most_frequent(pairs, limits.pairs),
        _take_most_frequent(missing, limits.missing),
        bool(missing),
    )


def _take_most_frequent(counts: Counter[str], limit: int) -> tuple[str, ...]:
    """Return the most frequent names; of equally frequent ones, those met first."""
    return tuple(name for name, _ in counts.most_common(limit))


def norm_of(kind: Kind) -> Norm:
    """Return the norm in which sensitivities are meant, for Gaussian or Laplace noise."""
    return 2 if kind == "gaussian" else 1


# Noise is drawn on a grid of about so many bits below its scale.
_BITS = 30


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise that is added to each bin: discrete Gaussian or Laplace noise, drawn exactly.

    It lies on a grid of powers of two, and counts lie on it, too. The grid is so fine that the
    discrete noise and the continuous one, rounded to the grid, have chances that differ by parts of
    2^-31 wherever either is likelier than e^-600. So the accounting of continuous noise holds
    (docs/research/accounting.md, "Noise on counts").

    Attributes:
        kind: gaussian, for sensitivities in L2; laplace, for those in L1.
        scale: its standard deviation, or Laplace's b; in units.
        grain: a power of two, of which counts are whole multiples.
    """

    kind: Kind
    scale: float
    grain: float = 1.0

    @property
    def grid(self) -> float:
        """Return the grid of the noise, whose values are whole multiples of it.

        >>> Noise("gaussian", 3.0).grid == 2.0**-29, Noise("gaussian", 3e9).grid
        (True, 1.0)
        """
        return min(self.grain, math.ldexp(1.0, math.frexp(self.scale)[1] - 1 - _BITS))

    @property
    def steps(self) -> int:
        """Return the scale in steps of the grid, rounded up."""
        return math.ceil(self.scale / self.grid)

    @property
    def deviation(self) -> float:
        """Return the standard deviation.

        >>> round(Noise("laplace", 2.0).deviation, 3)
        2.828
        """
        return self.scale if self.kind == "gaussian" else self.scale * math.sqrt(2)

    def beyond(self, value: float) -> float:
        """Return the probability of noise greater than a value.

        >>> Noise("gaussian", 1.0).beyond(0.0), round(Noise("laplace", 1.0).beyond(3.0), 4)
        (0.5, 0.0249)
        """
        if self.scale == 0:
            return float(value < 0)
        z = value / (self.steps * self.grid)
        if self.kind == "gaussian":
            return 0.5 * math.erfc(z / math.sqrt(2))
        return 0.5 * math.exp(-z) if z >= 0 else 1 - 0.5 * math.exp(z)

    def quantile(self, beyond: float) -> float:
        """Return the value that noise is greater than with a probability below 1/2.

        >>> round(Noise("gaussian", 10.0).quantile(0.025), 2)
        19.6
        """
        if self.kind == "gaussian":
            return -self.scale * NormalDist().inv_cdf(beyond)
        return -self.scale * math.log(2 * beyond)

    def draw(self, count: int, rng: Random) -> NDArray[np.float64]:
        """Return noise for so many bins, (count,), exact multiples of the grid.

        Args:
            count: how many.
            rng: the system's generator; another one only in tests.

        Raises:
            GenieError: B004, there is too much noise for the grid.
        """
        if self.scale == 0:
            return np.zeros(count)
        if self.steps > LARGEST:
            message = f"expected noise of at most {LARGEST * self.grid:g}, got {self.scale:g}"
            raise GenieError(Problem("B004", message, hint="allow a greater epsilon"))
        sample = discrete_gaussian if self.kind == "gaussian" else discrete_laplace
        return sample(self.steps, count, rng).astype(np.float64) * np.float64(self.grid)


def threshold(noise: Noise, names: int, delta: float) -> int:
    """Return the count that a name not known beforehand must reach to be shown.

    A name that one unit alone has is shown with the probability that 1 plus noise, rounded to a
    whole number, reaches it; of `names` such names of a unit one at least is shown with at most
    `delta` (Korolova et al., WWW 2009; Wilkins et al., 2024, for Gaussian noise).

    >>> threshold(Noise("gaussian", 5.0), 1, 1e-6)
    26
    """
    single = -math.expm1(math.log1p(-delta) / names)
    least = math.ceil(1.5 + noise.quantile(single))
    while leak(noise, names, least) > delta:  # rounding of the quantile
        least += 1
    return least


def leak(noise: Noise, names: int, threshold: int) -> float:
    """Return the probability that a name of one unit alone is shown at a threshold."""
    # A step less, for there the discrete noise may have more than the continuous one.
    single = noise.beyond(threshold - 1.5 - noise.grid) if noise.scale else 0.0
    return -math.expm1(names * math.log1p(-single))


OUTSIDE = 0.05
"""Chance that any interval of a release misses what it is of: all of them hold with 95 %."""


def outside_each(parts: int, outside: float = OUTSIDE) -> float:
    """Return the chance that each of independent parts may fail with, so that all hold together.

    Šidák, "Rectangular Confidence Regions" (1967): exact for independent noise, and safe for
    two-sided intervals of Gaussian noise whatever its correlation.

    >>> round(outside_each(2), 4), outside_each(1) == OUTSIDE
    (0.0253, True)
    """
    return -math.expm1(math.log1p(-outside) / max(1, parts))


def simultaneous_width(noise: Noise, counts: int, outside: float = OUTSIDE) -> int:
    """Return within how much of the truth all of so many rounded noisy counts lie together.

    So whichever of them are looked at afterwards, such as the greatest, their intervals hold
    with the same probability: and a count above it is above 0.

    Args:
        noise: of each count, which is drawn by itself and rounded to a whole number with it.
        counts: how many there are, those that are not looked at as well.
        outside: the chance that any of them is farther from the truth.

    >>> simultaneous_width(Noise("gaussian", 10.0), 1)
    20
    >>> simultaneous_width(Noise("gaussian", 10.0), 200)
    37
    """
    if noise.scale == 0:
        return 0
    width = max(0, math.ceil(noise.quantile(outside_each(counts, outside) / 2) - 0.5))
    # A step less, for there the discrete noise may have more than the continuous one.
    while (
        -math.expm1(max(1, counts) * math.log1p(-2 * noise.beyond(width + 0.5 - noise.grid)))
        > outside
    ):
        width += 1
    return width


@dataclass(frozen=True, slots=True)
class CountPlan:
    """All that is public about a release, settled before private rows are read.

    Attributes:
        support: the bins.
        limits: on the contribution of a unit.
        kind: of the noise.
        multiplier: its scale relative to the sensitivity to a unit: 4 times as wide as one unit,
            say.
        threshold_delta: probability that a name of one unit alone is shown; 0 shows no name that
            is not in the support.
    """

    support: CountedNames
    limits: CountLimits
    kind: Kind
    multiplier: float
    threshold_delta: float = 0.0

    @property
    def noise(self) -> Noise:
        """Return the noise on each bin."""
        return Noise(self.kind, self.multiplier * self.limits.sensitivity(norm_of(self.kind)))

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms of the release for a ledger."""
        is_gaussian = self.kind == "gaussian"
        noisy_sum: Mechanism = (Gaussian if is_gaussian else Laplace)(self.multiplier)
        return (noisy_sum, Threshold(self.threshold_delta)) if self.least else (noisy_sum,)

    @property
    def least(self) -> int:
        """Return the count that a name must reach that is not in the support; 0 shows none."""
        if not (self.threshold_delta and self.limits.missing):
            return 0
        return threshold(self.noise, self.limits.missing, self.threshold_delta)


@dataclass(frozen=True, slots=True)
class NoisyCounts:
    """Noisy counts of units: nothing exact.

    Attributes:
        functions, pairs: by name, all that the support has.
        candidates: names of the support that the library lacks.
        named: other names that it lacks, those alone that reached the threshold.
        lacking: units that ask for anything that it lacks.
        units: all units, or None where they were not counted.
    """

    functions: Mapping[str, int]
    pairs: Mapping[str, int]
    candidates: Mapping[str, int]
    named: Mapping[str, int]
    lacking: int
    units: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        return asdict(self)


@dataclass(slots=True)
class UnitCounts:
    """Exact counts: never written, never shown."""

    functions: Counter[str] = field(default_factory=Counter, repr=False)
    pairs: Counter[str] = field(default_factory=Counter, repr=False)
    missing: Counter[str] = field(default_factory=Counter, repr=False)
    units: int = field(default=0, repr=False)

    def add(self, unit: Contribution) -> None:
        """Add a unit."""
        self.functions.update(unit.functions)
        self.pairs.update(unit.pairs)
        self.missing.update((*unit.missing, *([ANY] if unit.lacks_any else [])))
        self.units += 1


def count(units: Iterable[Unit], support: CountedNames, limits: CountLimits) -> UnitCounts:
    """Return the exact counts of private units."""
    functions = frozenset(support.functions)
    counts = UnitCounts()
    for unit in units:
        counts.add(contribution(unit, functions, limits))
    return counts


def release_counts(units: Iterable[Unit], plan: CountPlan, rng: Random) -> NoisyCounts:
    """Return the noisy counts of units; their cost must have been recorded before.

    Noise is exact (`Noise`), and sums are rounded to whole numbers. Names that are not in the
    support get noise only if they were met, which the threshold makes up for.

    Args:
        units: private units.
        plan: the public parameters.
        rng: the system's generator; another one only in tests.
    """
    counts = count(units, plan.support, plan.limits)
    support, limits, noise, least = plan.support, plan.limits, plan.noise, plan.least

    def add_noise(names: Iterable[str], exact: Counter[str]) -> dict[str, int]:
        chosen = tuple(names)
        noise_values = noise.draw(len(chosen), rng).tolist()
        return {name: round(exact[name] + x) for name, x in zip(chosen, noise_values, strict=True)}

    def alone(exact: int) -> int:
        return round(exact + float(noise.draw(1, rng)[0]))

    others = sorted(counts.missing.keys() - {ANY, *support.candidates}) if least else ()
    return NoisyCounts(
        add_noise(support.functions, counts.functions),
        add_noise(support.pairs() if limits.pairs else (), counts.pairs),
        add_noise(support.candidates if limits.missing else (), counts.missing),
        {name: n for name, n in add_noise(others, counts.missing).items() if n >= least},
        alone(counts.missing[ANY]),
        alone(counts.units) if limits.counts_units else None,
    )


def functions_of_program(program: str, language: Language) -> tuple[str, ...]:
    """Return the functions of a program in either form, in program order; none of invalid ones.

    >>> from genie_dp.languages import get_language
    >>> functions_of_program("now => @com.x.list() => notify", get_language("thingtalk"))
    ('@com.x.list',)
    """
    for read in (language.from_tokens, language.parse):
        try:
            return tuple(language.functions(read(program)).elements())
        except GenieError:
            continue  # its error holds private text, and goes no further
    return ()


def units_of(source: PrivateSource, language: Language) -> Units[Unit]:
    """Return the functions of each unit's programs; rows without a program ask for nothing."""

    def functions_of_unit(rows: Sequence[PrivateRow]) -> Unit:
        return [
            functions_of_program(row.program, language) for row in rows if row.program is not None
        ]

    return source.units.each(functions_of_unit)


def support_of(
    library: Library, public: Iterable[str], candidates: Iterable[str], language: str
) -> CountedNames:
    """Return the bins: functions of the library, and of public rows in languages without one.

    Args:
        library: skills, or declarations.
        public: functions of public rows.
        candidates: names that the library may lack.
        language: of the programs.

    Raises:
        GenieError: F002, there is no function at all.
    """
    # Declarations may leave functions out, and often there are none.
    names = {*library.names(), *(() if get_language(language).has_skills else public)}
    if not names:
        hint = "name skills, a file of declarations with nodes, or rows with --public"
        raise GenieError(Problem("F002", "no function is known to count", hint=hint))
    return CountedNames.from_names(names, candidates)


def read_candidates(path: Path, language: str) -> tuple[str, ...]:
    """Return the names of a file, one a line; lines that begin with # are left out.

    Raises:
        GenieError: F003, all lines that name no function.
    """
    text = read_text(path)
    names, problems = [], []
    is_name = get_language(language).is_function_name
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        names.append(name)
        if is_name(name):
            continue
        span = Span(str(path), number, 1, number, len(line) + 1)
        problems.append(
            Problem("F003", f"expected a function such as @com.x.f, got {name!r}", span)
        )
    if problems:
        raise GenieError(problems, sources={str(path): text})
    return tuple(names)
