"""Private records as numbers, and a distribution of records as a product of factors.

Exact counts of records never leave this package. A distribution has marginals and samples without a
cell for every record: its factors are over some columns each. Eliminating one column after the
other (Koller and Friedman, 2009, section 9.3) writes it as a product of conditional distributions,
p(column | separator), from which marginals and samples are read. If the factors join all
columns, the first of them is the dense joint; columns that no factor joins stay independent, and
cost nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genie_dp.private.tables.schema import Metadata, Schema

F64 = NDArray[np.float64]
Clique = tuple[int, ...]
"""Places of columns, rising."""

# Rows weigh whole multiples of 1 / GRAIN, so that counts are exact in any order: sums of rounded
# thirds would hang on all the rows before, and one unit could move a marginal by more than 1.
GRAIN = 1 << 20


@dataclass(frozen=True, slots=True)
class Records:
    """Private records.

    One unit's weights add up to 1 at most. So adding or removing a unit moves any marginal by at
    most 1 in L1 norm, hence by at most 1 in L2 norm, however many rows it has.

    Attributes:
        codes: places of values, (rows, columns).
        weights: of rows, (rows,): of a unit with m rows, 1 / m rounded towards 0.
        domain: number of values of each column.
    """

    codes: NDArray[np.int64] = field(repr=False)
    weights: F64 = field(repr=False)
    domain: tuple[int, ...]

    def marginal(self, clique: Clique) -> F64:
        """Return the exact counts of some columns, in the shape of their values."""
        shape = tuple(self.domain[place] for place in clique)
        cells = np.ravel_multi_index(tuple(self.codes[:, place] for place in clique), shape)
        counts = np.bincount(cells, self.weights, prod(shape))
        return np.asarray(counts, np.float64).reshape(shape)


def encode(schema: Schema, rows: Sequence[Metadata]) -> NDArray[np.int64]:
    """Return the places of values, (rows, columns); -1 for a value that the column does not have.

    >>> from genie_dp.private.tables.schema import Column
    >>> schema = Schema((Column("form", ("question", "command")),))
    >>> encode(schema, [{"form": "command"}, {"form": "song"}, {}]).tolist()
    [[1], [-1], [-1]]
    """
    places = [{value: column.place(value) for value in column.values} for column in schema.columns]
    absent = [column.place(None) for column in schema.columns]
    codes = np.empty((len(rows), len(schema.columns)), np.int64)
    for number, name in enumerate(schema.names):
        place_of, default = places[number], absent[number]
        codes[:, number] = [place_of.get(row.get(name, ""), default) for row in rows]
    return codes


def records_of(schema: Schema, units: Iterable[Sequence[Metadata]]) -> Records:
    """Return the records of private units.

    A row with a value that a column does not have is left out: the contribution of a unit depends
    on nothing but the unit.
    """
    rows, owners = list[Metadata](), list[int]()
    for number, unit in enumerate(units):
        rows.extend(unit)
        owners.extend([number] * len(unit))
    codes = encode(schema, rows)
    is_whole = (codes >= 0).all(axis=1)
    unit_of = np.array(owners, np.int64)[is_whole]
    weights = GRAIN // np.bincount(unit_of)[unit_of] / GRAIN
    return Records(codes[is_whole], weights, schema.domain)


def pairs(columns: int) -> tuple[Clique, ...]:
    """Return all 2-way cliques; of a single column, that column.

    >>> pairs(3)
    ((0, 1), (0, 2), (1, 2))
    """
    return tuple(combinations(range(columns), 2)) or ((0,),)


Potentials = Mapping[Clique, F64]
"""Factor -> logarithms, in the shape of the values of its columns."""


@dataclass(frozen=True, slots=True)
class Elimination:
    """The elimination of a column.

    Attributes:
        column: its place.
        scope: the columns of the table that is made: the column and its separator, rising.
        separator: the columns that it depends on.
        parent: place of the step whose scope holds the separator, or None.
    """

    column: int
    scope: Clique
    separator: Clique
    parent: int | None


def elimination(domain: tuple[int, ...], cliques: Collection[Clique]) -> tuple[Elimination, ...]:
    """Return the steps that eliminate all columns, the smallest table first.

    >>> [step.scope for step in elimination((2, 3, 4), [(0, 1), (1, 2)])]
    [(0, 1), (1, 2), (2,)]
    """
    neighbours = {place: {place} for place in range(len(domain))}
    for clique in cliques:
        for place in clique:
            neighbours[place] |= set(clique)
    order: list[tuple[int, Clique]] = []
    while neighbours:
        column = min(
            neighbours, key=lambda place: (prod(domain[n] for n in neighbours[place]), place)
        )
        scope = neighbours.pop(column)
        for place in scope - {column}:
            neighbours[place] = (neighbours[place] | scope) - {column}
        order.append((column, tuple(sorted(scope))))
    step_of = {column: number for number, (column, _) in enumerate(order)}
    steps = []
    for column, places in order:
        separator = tuple(place for place in places if place != column)
        parent = min((step_of[place] for place in separator), default=None)
        steps.append(Elimination(column, places, separator, parent))
    return tuple(steps)


def cells_of(domain: tuple[int, ...], cliques: Collection[Clique]) -> int:
    """Return how many numbers a distribution with these factors takes.

    >>> cells_of((10, 10, 10), [(0, 1)]), cells_of((10, 10, 10), [(0, 1), (1, 2), (0, 2)])
    (120, 1110)
    """
    return sum(prod(domain[n] for n in step.scope) for step in elimination(domain, cliques))


class Joint:
    """A distribution over records, proportional to the product of its factors.

    Attributes:
        domain: number of values of each column.
        potentials: its factors.
    """

    def __init__(
        self,
        domain: tuple[int, ...],
        potentials: Potentials,
        steps: tuple[Elimination, ...] | None = None,
    ):
        """Compute the conditional distributions, and the marginal of each step's scope.

        Args:
            domain: number of values of each column.
            potentials: factors.
            steps: `elimination` of these, if it is known already.
        """
        self.domain = domain
        self.potentials = dict(potentials)
        self.steps = steps or elimination(domain, self.potentials)
        self._conditionals = self._forward()
        self._marginals = self._backward()

    def _shape(self, clique: Clique, scope: Clique) -> tuple[int, ...]:
        """Return the shape in which a table over a clique is broadcast to a scope."""
        return tuple(self.domain[place] if place in clique else 1 for place in scope)

    def _forward(self) -> list[F64]:
        tables = [np.zeros(self._shape(step.scope, step.scope)) for step in self.steps]
        step_of = {step.column: number for number, step in enumerate(self.steps)}
        for clique, logs in self.potentials.items():
            first = min(step_of[place] for place in clique)
            tables[first] += logs.reshape(self._shape(clique, self.steps[first].scope))
        for number, step in enumerate(self.steps):
            axis = step.scope.index(step.column)
            top = tables[number].max(axis=axis, keepdims=True)
            weights = np.exp(tables[number] - top)
            sums = weights.sum(axis=axis, keepdims=True)
            tables[number] = weights / sums
            if step.parent is not None:
                message = np.log(sums) + top
                shape = self._shape(step.separator, self.steps[step.parent].scope)
                tables[step.parent] += message.reshape(shape)
        return tables

    def _backward(self) -> list[F64]:
        marginals = list(self._conditionals)
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            if step.parent is not None:
                parent = self.steps[step.parent].scope
                outer = _sum_out(marginals[step.parent], parent, step.separator)
                marginals[number] = marginals[number] * outer.reshape(
                    self._shape(step.separator, step.scope)
                )
        return marginals

    def marginal(self, clique: Clique) -> F64:
        """Return the probabilities of the values of some columns, in their shape.

        >>> joint = Joint((2, 2), {(0, 1): np.log([[0.4, 0.1], [0.2, 0.3]])})
        >>> joint.marginal((1,)).round(3).tolist()
        [0.6, 0.4]
        """
        columns = set(clique)
        holders = [n for n, step in enumerate(self.steps) if columns <= set(step.scope)]
        if holders:
            smallest = min(holders, key=lambda n: self._marginals[n].size)
            return _sum_out(self._marginals[smallest], self.steps[smallest].scope, clique)
        # No scope has them together. Only columns that they depend on matter; the conditionals of
        # all others sum to 1.
        needed, operands = set(clique), list[Any]()
        for number, step in enumerate(self.steps):
            if step.column in needed:
                needed |= set(step.separator)
                operands += [self._conditionals[number], list(step.scope)]
        marginal: F64 = np.einsum(*operands, list(clique), optimize="greedy")
        return marginal

    def sample(self, n: int, rng: Random) -> NDArray[np.int64]:
        """Return the places of values of records that are drawn, (n, columns)."""
        codes = np.zeros((n, len(self.domain)), np.int64)
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            # The column last, so that a row of the separator's values gives its distribution.
            table = np.moveaxis(self._conditionals[number], step.scope.index(step.column), -1)
            reached = np.cumsum(table[tuple(codes[:, place] for place in step.separator)], axis=-1)
            shares = np.array([rng.random() for _ in range(n)])
            beyond = (reached < shares[:, None] * reached[..., -1:]).sum(axis=-1)
            codes[:, step.column] = np.minimum(beyond, self.domain[step.column] - 1)
        return codes


def _sum_out(table: F64, scope: Clique, clique: Clique) -> F64:
    """Return a table summed over all columns of its scope but those of a clique."""
    axes = tuple(axis for axis, place in enumerate(scope) if place not in clique)
    sums: F64 = table.sum(axis=axes)
    return sums


# ------------------------------------------------------------ the distribution of noisy marginals

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


def total_of(measurements: Sequence[Measurement]) -> float:
    """Return the number of records by noisy marginals: the estimate of least variance.

    >>> total_of([Measurement((0,), np.array([3.0, 5.0]), 1.0)])
    8.0
    """
    variances = np.array([m.counts.size * m.deviation**2 for m in measurements])
    sums = np.array([m.counts.sum() for m in measurements])
    return max(1.0, float((sums / variances).sum() / (1 / variances).sum()))


def average_measurements(measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Return one measurement for each clique: the mean of its own, weighted by their precision.

    It has the same least-squares solutions.

    >>> pair = [Measurement((0,), np.array([c]), d) for c, d in ((1.0, 1.0), (4.0, 2.0))]
    >>> [(m.counts.tolist(), round(m.deviation, 3)) for m in average_measurements(pair)]
    [([1.6], 0.894)]
    """
    groups: dict[Clique, list[Measurement]] = {}
    for measurement in measurements:
        groups.setdefault(measurement.clique, []).append(measurement)
    means = []
    for clique, group in groups.items():
        precision = sum(m.deviation**-2 for m in group)
        counts = sum(m.counts / m.deviation**2 for m in group) / precision
        means.append(Measurement(clique, np.asarray(counts), precision**-0.5))
    return tuple(means)


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
        self.targets = {m.clique: m.counts / total for m in measurements}
        self.weight = {m.clique: (total / m.deviation) ** 2 for m in measurements}
        # Loss relative to the largest weight: steps of order 1 then, whatever the noise.
        largest = max(self.weight.values())
        self.weight = {clique: weight / largest for clique, weight in self.weight.items()}
        cliques = {*start, *self.targets}
        self.steps = elimination(domain, cliques)
        zeros = {c: np.zeros(tuple(domain[n] for n in c)) for c in cliques}
        self.move({**zeros, **start})

    def move(self, potentials: Potentials) -> None:
        self.joint = Joint(self.domain, potentials, self.steps)
        self.marginals = {clique: self.joint.marginal(clique) for clique in self.targets}
        self.excess = {c: self.marginals[c] - target for c, target in self.targets.items()}
        self.loss = sum(
            0.5 * self.weight[c] * float((excess**2).sum()) for c, excess in self.excess.items()
        )

    def descend(self, size: float) -> float | None:
        """Take one step, at most of a size; return the size taken, or None where none helps."""
        before, loss = self.marginals, self.loss
        potentials = self.joint.potentials
        slope = {c: self.weight[c] * excess for c, excess in self.excess.items()}
        before_step = self.joint, self.marginals, self.excess, self.loss
        for _ in range(_HALVINGS):
            self.move({
                c: logs - size * slope[c] if c in slope else logs for c, logs in potentials.items()
            })  # fmt: skip
            promised = sum(float((slope[c] * (before[c] - self.marginals[c])).sum()) for c in slope)
            if loss - self.loss >= _PROMISED * promised > 0:
                return size
            size /= 2
        self.joint, self.marginals, self.excess, self.loss = before_step
        return None


# It ends where ten steps together lower the loss by less than this share.
_TOLERANCE = 1e-7


def mirror_descent(
    domain: tuple[int, ...],
    measurements: Sequence[Measurement],
    *,
    total: float,
    start: Potentials,
    iterations: int,
) -> Joint:
    """Return the distribution that fits noisy marginals best.

    Entropic mirror descent over factors: McKenna, Sheldon and Miklau, "Graphical-model based
    estimation and inference for differential privacy" (ICML 2019), algorithm 1. It goes from the
    uniform distribution, in the entropic geometry, to the one of least squared error, which has a
    factor for each measured marginal and no other.

    Args:
        domain: number of values of each column.
        measurements: noisy marginals.
        total: number of records.
        start: factors to begin with.
        iterations: steps, at most.
    """
    state = _Descent(domain, average_measurements(measurements), total, start)
    size, growth, mark = 1.0, _DOUBLING, state.loss
    for number in range(1, iterations + 1):
        taken = state.descend(size)
        if taken is None:
            break
        if taken < size:
            growth = _GROWTH
        size = growth * taken
        if number % 10 == 0:
            if mark - state.loss <= _TOLERANCE * mark:
                break
            mark = state.loss
    return state.joint
