"""One noisy histogram of functions, pairs and missing names: the only look at private rows here."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, Mechanism, Threshold
from genie_dp.private.prior.noise import Kind, Noise, norm_of, threshold
from genie_dp.private.prior.support import ANY, Contribution, Limits, Support, contribution

Unit = Sequence[Sequence[str]]
"""The functions of each program of a unit."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is public about a release, settled before private rows are read.

    Attributes:
        support: the bins.
        limits: what a unit adds to them, at most.
        kind: of the noise.
        multiplier: its scale relative to what a unit moves: 4 times as wide as one unit, say.
        threshold_delta: probability that a name of one unit alone is shown; 0 shows no name that
            is not in the support.
    """

    support: Support
    limits: Limits
    kind: Kind
    multiplier: float
    threshold_delta: float = 0.0

    @property
    def noise(self) -> Noise:
        """Return what is added to each bin."""
        return Noise(self.kind, self.multiplier * self.limits.sensitivity(norm_of(self.kind)))

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return what the release is for a ledger."""
        is_gaussian = self.kind == "gaussian"
        found: Mechanism = (Gaussian if is_gaussian else Laplace)(self.multiplier)
        return (found, Threshold(self.threshold_delta)) if self.least else (found,)

    @property
    def least(self) -> int:
        """Return the count that a name must reach that is not in the support; 0 shows none."""
        if not (self.threshold_delta and self.limits.missing):
            return 0
        return threshold(self.noise, self.limits.missing, self.threshold_delta)


@dataclass(frozen=True, slots=True)
class Released:
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
class Counts:
    """Exact counts: never written, never shown."""

    functions: Counter[str] = field(default_factory=Counter, repr=False)
    pairs: Counter[str] = field(default_factory=Counter, repr=False)
    missing: Counter[str] = field(default_factory=Counter, repr=False)
    units: int = field(default=0, repr=False)

    def add(self, one: Contribution) -> None:
        """Add a unit."""
        self.functions.update(one.functions)
        self.pairs.update(one.pairs)
        self.missing.update((*one.missing, *([ANY] if one.lacks_any else [])))
        self.units += 1


def count(units: Iterable[Unit], support: Support, limits: Limits) -> Counts:
    """Return the exact counts of private units."""
    known = frozenset(support.functions)
    found = Counts()
    for unit in units:
        found.add(contribution(unit, known, limits))
    return found


def release(units: Iterable[Unit], plan: Plan, rng: Random) -> Released:
    """Return the noisy counts of units; what it costs must have been recorded before.

    Counts are rounded to whole numbers, so that low bits of the noise tell nothing (Mironov, CCS
    2012). Names that are not in the support get noise only if they were met, which the threshold
    makes up for.

    Args:
        units: private units.
        plan: what is public.
        rng: the system's generator; another one only in tests.
    """
    counts = count(units, plan.support, plan.limits)
    noisy = _Noisy(plan.noise, rng)
    has_pairs, has_names = plan.limits.pairs > 0, plan.limits.missing > 0
    candidates = plan.support.candidates if has_names else ()
    return Released(
        dict(noisy.of(plan.support.functions, counts.functions)),
        dict(noisy.of(plan.support.pairs() if has_pairs else (), counts.pairs)),
        dict(noisy.of(candidates, counts.missing)),
        dict(_named(counts.missing, plan, noisy)),
        noisy.one(counts.missing[ANY]),
        noisy.one(counts.units) if plan.limits.counts_units else None,
    )


class _Noisy:
    def __init__(self, noise: Noise, rng: Random):
        self.noise, self.rng = noise, rng

    def one(self, count: int) -> int:
        return round(count + self.noise.draw(self.rng))

    def of(self, names: Iterable[str], counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        return ((name, self.one(counts.get(name, 0))) for name in names)


def _named(missing: Mapping[str, int], plan: Plan, noisy: _Noisy) -> Iterator[tuple[str, int]]:
    """Yield the names of private rows whose noisy counts reach the threshold, sorted."""
    if not plan.least:
        return
    others = sorted(missing.keys() - {ANY, *plan.support.candidates})
    for name, number in noisy.of(others, missing):
        if number >= plan.least:
            yield name, number
