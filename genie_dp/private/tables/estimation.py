"""The distribution that fits noisy marginals best: entropic mirror descent over factors.

McKenna, Sheldon and Miklau, "Graphical-model based estimation and inference for differential
privacy" (ICML 2019), algorithm 1: of all distributions over records, in the entropic geometry, to
the one of least squared error. Starting from the uniform one, it has a factor for each measured
marginal and no other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from genie_dp.private.tables.joint import Joint, Potentials, elimination
from genie_dp.private.tables.marginals import F64, Clique

# Line search: as in the paper, a step must have half the decrease that its slope promises.
_HALVINGS = 40
_PROMISED = 0.5
# How much longer the next step is tried: at first, and since one was found too long.
_DOUBLING, _GROWTH = 2.0, 1.1


@dataclass(frozen=True, slots=True)
class Measurement:
    """A marginal with noise.

    Attributes:
        clique: columns.
        counts: noisy, in the shape of their values.
        deviation: standard deviation of the noise of each count.
    """

    clique: Clique
    counts: F64 = field(repr=False)
    deviation: float


class Fit(Protocol):
    """Finds the distribution of noisy marginals; nothing private comes to it."""

    def __call__(
        self,
        domain: tuple[int, ...],
        measurements: Sequence[Measurement],
        *,
        total: float,
        start: Potentials,
        iterations: int,
    ) -> Joint:
        """Return the distribution.

        Args:
            domain: number of values of each column.
            measurements: noisy marginals.
            total: number of records.
            start: factors to begin with.
            iterations: steps, at most.
        """
        ...


def total_of(measurements: Sequence[Measurement]) -> float:
    """Return the number of records that noisy marginals tell: the estimate of least variance.

    >>> total_of([Measurement((0,), np.array([3.0, 5.0]), 1.0)])
    8.0
    """
    variances = np.array([one.counts.size * one.deviation**2 for one in measurements])
    sums = np.array([one.counts.sum() for one in measurements])
    return max(1.0, float((sums / variances).sum() / (1 / variances).sum()))


def together(measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Return one measurement for each clique: the mean of its own, weighted by their precision.

    It has the same least-squares solutions.

    >>> one, other = Measurement((0,), np.array([1.0]), 1.0), Measurement((0,), np.array([4.0]), 2)
    >>> [(m.counts.tolist(), round(m.deviation, 3)) for m in together([one, other])]
    [([1.6], 0.894)]
    """
    groups: dict[Clique, list[Measurement]] = {}
    for one in measurements:
        groups.setdefault(one.clique, []).append(one)
    return tuple(_mean(clique, group) for clique, group in groups.items())


def _mean(clique: Clique, group: Sequence[Measurement]) -> Measurement:
    precision = sum(one.deviation**-2 for one in group)
    counts = sum(one.counts / one.deviation**2 for one in group) / precision
    return Measurement(clique, np.asarray(counts), precision**-0.5)


class _Descent:
    """The measured marginals, as shares of the total, and where the descent stands."""

    def __init__(
        self,
        domain: tuple[int, ...],
        measurements: Sequence[Measurement],
        total: float,
        start: Potentials,
    ):
        self.domain = domain
        self.wanted = {one.clique: one.counts / total for one in measurements}
        self.weight = {one.clique: (total / one.deviation) ** 2 for one in measurements}
        # Loss relative to the largest weight: steps of order 1 then, whatever the noise.
        most = max(self.weight.values())
        self.weight = {clique: weight / most for clique, weight in self.weight.items()}
        cliques = {*start, *self.wanted}
        self.steps = elimination(domain, cliques)
        zeros = {c: np.zeros(tuple(domain[n] for n in c)) for c in cliques}
        self.move({**zeros, **start})

    def move(self, potentials: Potentials) -> None:
        self.joint = Joint(self.domain, potentials, self.steps)
        self.marginals = {clique: self.joint.marginal(clique) for clique in self.wanted}
        self.excess = {c: self.marginals[c] - wanted for c, wanted in self.wanted.items()}
        self.loss = sum(
            0.5 * self.weight[c] * float((excess**2).sum()) for c, excess in self.excess.items()
        )

    def descend(self, size: float) -> float | None:
        """Take one step, at most of a size; return the size taken, or None where none helps."""
        before, loss = self.marginals, self.loss
        potentials = self.joint.potentials
        slope = {c: self.weight[c] * excess for c, excess in self.excess.items()}
        kept = self.joint, self.marginals, self.excess, self.loss
        for _ in range(_HALVINGS):
            self.move({
                c: logs - size * slope[c] if c in slope else logs for c, logs in potentials.items()
            })  # fmt: skip
            promised = sum(float((slope[c] * (before[c] - self.marginals[c])).sum()) for c in slope)
            if loss - self.loss >= _PROMISED * promised > 0:
                return size
            size /= 2
        self.joint, self.marginals, self.excess, self.loss = kept
        return None


def mirror_descent(
    domain: tuple[int, ...],
    measurements: Sequence[Measurement],
    *,
    total: float,
    start: Potentials,
    iterations: int,
    tolerance: float = 1e-7,
) -> Joint:
    """Return the distribution that fits noisy marginals best; see `Fit`.

    Args:
        domain, measurements, total, start, iterations: as of `Fit`.
        tolerance: it ends where ten steps together lower the loss by less than this share.
    """
    state = _Descent(domain, together(measurements), total, start)
    size, growth, mark = 1.0, _DOUBLING, state.loss
    for number in range(1, iterations + 1):
        taken = state.descend(size)
        if taken is None:
            break
        if taken < size:
            growth = _GROWTH
        size = growth * taken
        if number % 10 == 0:
            if mark - state.loss <= tolerance * mark:
                break
            mark = state.loss
    return state.joint
