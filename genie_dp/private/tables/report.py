"""A table in words: its guarantee, what records are like, and what goes together."""

from collections.abc import Iterator

import numpy as np

from genie_dp.private.tables.marginals import F64, pairs
from genie_dp.private.tables.table import SyntheticTable
from genie_dp.records import Spent

MOST_VALUES = 8
MOST_PAIRS = 10
# Below it, columns go together in less than one record of a hundred.
_LEAST = 0.01


def lines(table: SyntheticTable, *, values: int = MOST_VALUES) -> Iterator[str]:
    """Yield the lines of a report; of every column the `values` most frequent ones."""
    yield from _guarantee(table.spent)
    told = table.release
    if "rho" in told:
        unit = f"{table.spent.unit}s" if table.spent else "records"
        yield (
            f"{told['method']} ({told['backend']}): epsilon {told['epsilon']:.4g} by itself, "
            f"{len(told['measured']):,} noisy marginals, about {told['units']:,} {unit}"
        )
    cells = f"{table.schema.cells:,} different records"
    yield f"{len(table.schema.columns)} columns, {cells}"
    for column in table.schema.columns:
        yield ""
        yield f"{column.name}:"
        yield from _shares(table.marginal([column.name]), column.values, values)
    yield from _dependences(table)


def _guarantee(spent: Spent | None) -> Iterator[str]:
    if spent is None:
        yield "private table: no private row was looked at"
        return
    epsilon = f"epsilon {spent.epsilon:.4g} at delta {spent.delta:.4g} ({spent.accountant})"
    yield f"private table: {epsilon} for each {spent.unit}, {spent.relation}"


def _shares(found: F64, values: tuple[str, ...], most: int) -> Iterator[str]:
    order = np.argsort(-found, kind="stable")
    for place in order[:most]:
        yield f"{100 * found[place]:>6.1f} %  {values[place]}"
    if len(order) > most:
        rest = 100 * found[order[most:]].sum()
        yield f"{rest:>6.1f} %  in {len(order) - most:,} more"


def dependence(joint: F64) -> float:
    """Return in which share of records two columns differ from independent ones.

    The total variation distance of a 2-way marginal from the product of its 1-way ones: 0 for
    independent columns.

    >>> dependence(np.array([[0.5, 0.0], [0.0, 0.5]])), dependence(np.full((2, 2), 0.25))
    (0.5, 0.0)
    """
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float(np.abs(joint - apart).sum() / 2)


def _dependences(table: SyntheticTable) -> Iterator[str]:
    names = table.schema.names
    if len(names) < 2:
        return
    found = [(dependence(table.joint.marginal(pair)), pair) for pair in pairs(len(names))]
    strong = sorted((one for one in found if one[0] >= _LEAST), key=lambda one: (-one[0], one[1]))
    yield ""
    if not strong:
        yield "columns are independent, as far as can be told under the noise"
        return
    yield "columns that go together, in how many records more or less than by chance:"
    for share, (one, other) in strong[:MOST_PAIRS]:
        yield f"{100 * share:>6.1f} %  {names[one]}, {names[other]}"
