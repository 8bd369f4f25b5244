"""A released table: a distribution of metadata that may be sampled from as often as one likes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private.tables.joint import F64, Clique, Joint, Potentials
from genie_dp.private.tables.schema import Metadata, Schema
from genie_dp.private_prior import spent_of
from genie_dp.records import Spent
from genie_dp.texts import read_text

FORMAT = "genie_dp private table"
VERSION = 1
_KEYS = frozenset(("format", "version", "spent", "release", "schema", "factors"))
# What a release calls its entry in the ledger.
RUN = "run"
# Digits of a logarithm: more than any noise leaves to tell.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class SyntheticTable:
    """A distribution of metadata, learned with noise.

    Attributes:
        schema: its columns.
        joint: the distribution.
        spent: the guarantee; None where no private row was looked at.
        release: how it was made: method, rho, noise of every measurement; nothing exact.
    """

    schema: Schema
    joint: Joint
    spent: Spent | None
    release: Mapping[str, Any] = field(default_factory=dict)

    def sample(self, n: int, rng: Random) -> list[Metadata]:
        """Return n records, drawn independently; any number costs nothing."""
        values = [column.values for column in self.schema.columns]
        return [
            {name: of[code] for name, of, code in zip(self.schema.names, values, row, strict=True)}
            for row in self.joint.sample(n, rng).tolist()
        ]

    def marginal(self, names: Sequence[str]) -> F64:
        """Return the probabilities of the values of some columns, an axis for each name.

        Raises:
            GenieError: T504, there is no such column, or one comes twice.
        """
        places = self.schema.places(names)
        if len(set(places)) < len(places) or not places:
            message = f"expected different columns, got {', '.join(names) or 'none'}"
            raise GenieError(Problem("T504", message))
        rising: Clique = tuple(sorted(places))
        return self.joint.marginal(rising).transpose([rising.index(place) for place in places])

    def of_run(self, name: str) -> "SyntheticTable":
        """Return the table with the name of its release in the ledger, if it cost anything."""
        return self if self.spent is None else replace(self, release={**self.release, RUN: name})

    def text(self) -> str:
        """Return the content of its file."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "spent": asdict(self.spent) if self.spent else None,
            "release": dict(self.release),
            "schema": self.schema.as_dict(),
            "factors": [
                {
                    "columns": [self.schema.names[place] for place in clique],
                    "logarithms": logs.ravel().tolist(),
                }
                for clique, logs in sorted(round_factors(self.joint.potentials).items())
            ],
        }
        return json.dumps(content, ensure_ascii=False) + "\n"


def round_factors(potentials: Potentials) -> dict[Clique, F64]:
    """Return factors as a file holds them: the greatest logarithm of each is 0.

    >>> round_factors({(0,): np.array([1.0, 1.5])})[(0,)].tolist()
    [-0.5, 0.0]
    """
    return {clique: np.round(logs - logs.max(), _DIGITS) for clique, logs in potentials.items()}


def load_table(path: Path) -> SyntheticTable:
    """Return the table of a file that `SyntheticTable.text` wrote.

    Raises:
        GenieError: T508, it is none, or of another version; T500 to T503, its schema is none.
    """
    return table_from(read_text(path, code="T508"), name=str(path))


def table_from(text: str, *, name: str = "<table>") -> SyntheticTable:
    """Return the table of a text; see `load_table`."""
    hint = "give a file that `genie-dp private table` made"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        # The error would tell how long a line is, of a private file that was named by mistake.
        raise GenieError(Problem("T508", f"{name}: expected JSON", hint=hint)) from None
    try:
        if set(content) != _KEYS or (content["format"], content["version"]) != (FORMAT, VERSION):
            raise ValueError(f"expected {FORMAT!r} of version {VERSION}")
        schema = Schema.from_dict(content["schema"])
        potentials = dict(_read_factor(schema, factor) for factor in content["factors"])
        spent = spent_of(content["spent"]) if content["spent"] is not None else None
        release = dict(content["release"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        message = f"{name}: no private table: {error}"
        raise GenieError(Problem("T508", message, hint=hint)) from None
    return SyntheticTable(schema, Joint(schema.domain, potentials), spent, release)


def _read_factor(schema: Schema, content: Mapping[str, Any]) -> tuple[Clique, F64]:
    places = schema.places(content["columns"])
    if tuple(sorted(set(places))) != places:
        raise ValueError("columns of a factor do not rise")
    shape = tuple(schema.domain[place] for place in places)
    logs = np.array(content["logarithms"], dtype=np.float64)
    if logs.shape != (prod(shape),) or not np.isfinite(logs).all():
        raise ValueError(f"expected {prod(shape)} finite logarithms")
    return places, logs.reshape(shape)


MOST_VALUES = 8
MOST_PAIRS = 10
# Below it, columns go together in less than one record of a hundred.
_LEAST = 0.01


def describe_table(table: SyntheticTable, *, values: int = MOST_VALUES) -> Iterator[str]:
    """Yield the lines of a report; of every column the `values` most frequent ones."""
    spent, facts = table.spent, table.release
    if spent is None:
        yield "private table: no private row was looked at"
    else:
        epsilon = f"epsilon {spent.epsilon:.4g} at delta {spent.delta:.4g} ({spent.accountant})"
        yield f"private table: {epsilon} for each {spent.unit}, {spent.relation}"
    if "rho" in facts:
        unit = f"{spent.unit}s" if spent else "records"
        yield (
            f"{facts['method']}: epsilon {facts['epsilon']:.4g} by itself, "
            f"{len(facts['measured']):,} noisy marginals, about {facts['units']:,} {unit}"
        )
    cells = f"{table.schema.cells:,} different records"
    yield f"{len(table.schema.columns)} columns, {cells}"
    confirmed = facts.get("confirmed")
    if confirmed:
        looks = f"{confirmed['looked_at']:,} marginals at most were looked at"
        yield f"values and pairs of columns above the noise; with 95 % all of them ({looks})"
    if spent is not None and confirmed is None:
        yield "made by an earlier version, which does not tell values from noise: none are shown"
        return
    for column in table.schema.columns:
        yield ""
        yield f"{column.name}:"
        shares = table.marginal([column.name])
        order = np.argsort(-shares, kind="stable").tolist()
        certain = confirmed["values"][column.name] if confirmed else column.values
        top = [place for place in order if column.values[place] in certain][:values]
        for place in top:
            yield f"{100 * shares[place]:>6.1f} %  {column.values[place]}"
        if len(order) > len(top):
            rest = 100 * (1 - shares[top].sum())
            noise = ", of which noise may have made any" if len(top) == len(certain) else ""
            yield f"{rest:>6.1f} %  in {len(order) - len(top):,} others{noise}"
    yield from _describe_dependences(table)


def dependence(joint: F64) -> float:
    """Return in which share of records two columns differ from independent ones.

    The total variation distance of a 2-way marginal from the product of its 1-way ones: 0 for
    independent columns.

    >>> dependence(np.array([[0.5, 0.0], [0.0, 0.5]])), dependence(np.full((2, 2), 0.25))
    (0.5, 0.0)
    """
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float(np.abs(joint - independent).sum() / 2)


def _describe_dependences(table: SyntheticTable) -> Iterator[str]:
    """Yield the pairs of columns that depend on each other by more than noise."""
    if len(table.schema.names) < 2:
        return
    certain = table.release.get("confirmed", {}).get("pairs", [])
    shares = {tuple(pair): dependence(table.marginal(pair)) for pair in certain}
    strong = sorted((-share, pair) for pair, share in shares.items() if share >= _LEAST)
    yield ""
    if not strong:
        yield "columns are independent, as far as can be told under the noise"
        return
    yield "columns that go together, in how many records more or less than by chance:"
    for negative_share, (left, right) in strong[:MOST_PAIRS]:
        yield f"{-100 * negative_share:>6.1f} %  {left}, {right}"
