"""A distribution of records as a product of factors: its marginals and samples, without a cell
for every record.

The factors are over some columns each. Eliminating one column after the other (Koller and Friedman,
2009, section 9.3) writes the distribution as a product of conditional ones, p(column | separator),
which is what marginals and samples are read off. If the factors join all columns, the first of them
is the dense joint; columns that no factor joins stay independent, and cost nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genie_dp.private.tables.marginals import F64, Clique

Potentials = Mapping[Clique, F64]
"""Factor -> logarithms, in the shape of the values of its columns."""


@dataclass(frozen=True, slots=True)
class Step:
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


def elimination(domain: tuple[int, ...], cliques: Collection[Clique]) -> tuple[Step, ...]:
    """Return the steps that eliminate all columns, the smallest table first.

    >>> [step.scope for step in elimination((2, 3, 4), [(0, 1), (1, 2)])]
    [(0, 1), (1, 2), (2,)]
    """
    near = {place: {place} for place in range(len(domain))}
    for clique in cliques:
        for place in clique:
            near[place] |= set(clique)
    order: list[tuple[int, Clique]] = []
    while near:
        column = min(near, key=lambda place: (prod(domain[n] for n in near[place]), place))
        scope = near.pop(column)
        for place in scope - {column}:
            near[place] = (near[place] | scope) - {column}
        order.append((column, tuple(sorted(scope))))
    step_of = {column: number for number, (column, _) in enumerate(order)}
    return tuple(_step(column, scope, step_of) for column, scope in order)


def _step(column: int, scope: Clique, step_of: Mapping[int, int]) -> Step:
    separator = tuple(place for place in scope if place != column)
    parent = min((step_of[place] for place in separator), default=None)
    return Step(column, scope, separator, parent)


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
        steps: tuple[Step, ...] | None = None,
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
        found = list(self._conditionals)
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            if step.parent is not None:
                parent = self.steps[step.parent].scope
                outer = _summed(found[step.parent], parent, step.separator)
                found[number] = found[number] * outer.reshape(
                    self._shape(step.separator, step.scope)
                )
        return found

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
            return _summed(self._marginals[smallest], self.steps[smallest].scope, clique)
        return self._across(clique)

    def _across(self, clique: Clique) -> F64:
        """Return the marginal of columns that no scope has together.

        Only those that they depend on matter; the conditionals of all others sum to 1.
        """
        needed, operands = set(clique), list[Any]()
        for number, step in enumerate(self.steps):
            if step.column in needed:
                needed |= set(step.separator)
                operands += [self._conditionals[number], list(step.scope)]
        found: F64 = np.einsum(*operands, list(clique), optimize="greedy")
        return found

    def sample(self, n: int, rng: Random) -> NDArray[np.int64]:
        """Return the places of values of records that are drawn, (n, columns)."""
        codes = np.zeros((n, len(self.domain)), np.int64)
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            # The column last, so that a row of the separator's values gives its distribution.
            table = np.moveaxis(self._conditionals[number], step.scope.index(step.column), -1)
            reached = np.cumsum(table[tuple(codes[:, place] for place in step.separator)], axis=-1)
            drawn = np.array([rng.random() for _ in range(n)])
            beyond = (reached < drawn[:, None] * reached[..., -1:]).sum(axis=-1)
            codes[:, step.column] = np.minimum(beyond, self.domain[step.column] - 1)
        return codes


def _summed(table: F64, scope: Clique, kept: Clique) -> F64:
    """Return a table summed over all columns of its scope but some."""
    axes = tuple(axis for axis, place in enumerate(scope) if place not in kept)
    found: F64 = table.sum(axis=axes)
    return found
