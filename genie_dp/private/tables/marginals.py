"""Records as numbers, and the counts of their values: exact ones never leave this package."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

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
        weights: what a row counts for, (rows,): of a unit with m rows, 1 / m rounded towards 0.
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
    found = np.empty((len(rows), len(schema.columns)), np.int64)
    for number, name in enumerate(schema.names):
        of, other = places[number], absent[number]
        found[:, number] = [of.get(row.get(name, ""), other) for row in rows]
    return found


def records_of(schema: Schema, units: Iterable[Sequence[Metadata]]) -> Records:
    """Return the records of private units.

    A row with a value that a column does not have is left out: what a unit adds depends on nothing
    but the unit.
    """
    rows, owners = list[Metadata](), list[int]()
    for number, unit in enumerate(units):
        rows.extend(unit)
        owners.extend([number] * len(unit))
    codes = encode(schema, rows)
    kept = (codes >= 0).all(axis=1)
    of = np.array(owners, np.int64)[kept]
    return Records(codes[kept], GRAIN // np.bincount(of)[of] / GRAIN, schema.domain)


def pairs(columns: int) -> tuple[Clique, ...]:
    """Return all 2-way cliques; of a single column, that column.

    >>> pairs(3)
    ((0, 1), (0, 2), (1, 2))
    """
    return tuple(combinations(range(columns), 2)) or ((0,),)


def total_variation(one: F64, other: F64) -> float:
    """Return half the L1 distance of two arrays of counts, each scaled to sum to 1.

    >>> total_variation(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    0.25
    """
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)
