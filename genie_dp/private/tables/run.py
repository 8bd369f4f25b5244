"""A table of private units as a stage: recorded in the ledger, then measured, once."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.library import Library
from genie_dp.private.ledger.accounting import epsilon_of
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.guard import Payer, Units, paid_by
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism, ZeroConcentrated
from genie_dp.private.ledger.once import release_once
from genie_dp.private.release import FiguresRelease, ReleasePlan
from genie_dp.private.secure import noise
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables import extract
from genie_dp.private.tables.aim import (
    ROUNDS,
    Listen,
    aim,
    confirm_parts,
    deviation_of,
    independent,
)
from genie_dp.private.tables.extract import MOST_VALUES
from genie_dp.private.tables.joint import Joint, records_of
from genie_dp.private.tables.schema import Metadata, Schema, load_schema
from genie_dp.private.tables.table import SyntheticTable, describe_table, round_factors, table_from
from genie_dp.recipe import setting
from genie_dp.records import DEFAULT_LANGUAGE, Spent
from genie_dp.run.stage import Result
from genie_dp.stage.kernel import PAID_OVERWRITE, PAID_RESUME, OutputOption

PURPOSE = "table of metadata"
COLUMNS = "Columns: function, functions, skill, filters, length, form, slots, or field:NAME."
PUBLIC = "Rows that may be published, JSONL: values of columns are taken from them."
Method = Literal["aim", "independent"]
METHODS: tuple[Method, ...] = get_args(Method)

Spend = Callable[[Sequence[Mechanism]], Spent]
"""Records mechanisms in a ledger before they run, and returns the guarantee of everything."""

# Numbers that a distribution takes at most (16 MB; AIM's paper has 80). Columns of two values or
# more that are eliminated one by one take less than twice their product: so there is room for any
# dependence where that is at most a million, and beyond it for as many as fit.
MOST_CELLS = 2_000_000
# Rho is found to so many digits, and none below the least: no count would be seen in the noise.
_DIGITS, _LEAST = 1e-6, 1e-12
# The sum of what rounds cost is below what is recorded, whatever rounding does to it.
_SLACK = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class TableResult(Result):
    """The table that a run released.

    Attributes:
        table: the table.
        output: its file.
    """

    table: SyntheticTable
    output: str

    def findings(self) -> Iterator[str]:
        """Yield the content of the table."""
        yield from describe_table(self.table)

    def lines(self) -> Iterator[str]:
        """Yield that, then where it is."""
        yield from self.findings()
        yield f"{len(self.table.schema.columns)} columns -> {self.output}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(FiguresRelease):
    """Count the metadata of PRIVATE rows with noise, and write a table that may be sampled from.

    PRIVATE is JSONL or TSV. The release is recorded in the ledger before anything is counted, and
    refused if the budget does not allow it. A user or dialogue counts for one record.

    \b
    genie-dp private table release private.jsonl --schema schema.json --epsilon 1 -o table.json
    """

    command = "private table release"
    output = OutputOption(
        "Where the table goes, as JSON.", resume=PAID_RESUME, overwrite=PAID_OVERWRITE
    )
    purpose, kind = PURPOSE, "table"
    not_public, lost = "T509", "T510"

    schema: Path | None = setting(
        None, "The columns with their values; or name columns with --columns.", value="file"
    )
    columns: str = setting("", COLUMNS, metavar="A,B,..")
    public: tuple[str, ...] = setting((), PUBLIC, value="text", metavar="FILE")
    library: Library | None = setting(None, "Its functions are values of columns.", value="library")
    language: str = DEFAULT_LANGUAGE
    most: int = setting(
        MOST_VALUES,
        "Values of a column, at most; the others are one more, <other>.",
        least=1,
        most=999,
        metavar="N",
    )
    method: Method = setting(
        "aim",
        "aim keeps what goes together; independent measures every column by itself.",
        choices=METHODS,
    )

    @classmethod
    def needs_library(cls, options: Mapping[str, Any]) -> bool:
        """Return whether columns that are named have values of a library."""
        return extract.needs_library(extract.names_of(options["columns"] or ""))

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse columns of a schema and others beside it, and none at all."""
        is_one = (self.schema is None) == bool(self.columns)
        return None if is_one else "give either --schema or --columns"

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return public rows and the schema."""
        return [*self.public, *([self.schema] if self.schema else [])]

    def plan(self) -> ReleasePlan[Schema]:
        """Return the columns, found in public rows if they are only named, and their cost.

        Raises:
            GenieError: T505, there is no such noise; mistakes in the schema.
        """
        rho = rho_for(self.epsilon, self.ledger.budget.delta)
        if self.schema is not None:
            columns = load_schema(self.schema)
        else:
            columns = extract.read_public_schema(
                extract.names_of(self.columns), self.library, self.public,
                language=self.language, most=self.most,
            )  # fmt: skip
        extract.check_extractors(columns, self.language)
        extract.check_fields(extract.fields_of(columns), self.private, code="T502")
        shared = {
            "schema": sha256(json.dumps(columns.as_dict()).encode()).hexdigest(),
            "release": [self.epsilon, self.method],
        }
        mechanisms = mechanisms_of(self.method, len(columns.columns), rho)
        return ReleasePlan(columns, mechanisms, shared)

    def units(self, plan: ReleasePlan[Schema], progress: bool | None) -> Units[list[Metadata]]:
        """Return the metadata of each unit's rows."""
        source = PrivateSource.promised(
            self.private,
            self.ledger.budget,
            language=self.language,
            fields=extract.fields_of(plan.public),
        )
        return extract.metadata_of(plan.public, source)

    def draw_once(self, plan: ReleasePlan[Schema], work: Path, progress: bool | None) -> str:
        """Return the text of the table, which is as it was released."""
        return release_table_once(
            work,
            self.kind,
            plan.public,
            lambda: self.units(plan, progress),
            Payer(self.ledger, self.purpose),
            epsilon=self.epsilon,
            method=self.method,
        )

    def finish(
        self, drawn: str, plan: ReleasePlan[Schema], made: Path, target: str, progress: bool | None
    ) -> TableResult:
        """Write the table."""
        replace_durably(made, drawn)
        return TableResult(table_from(drawn), target)


# ------------------------------------------------------------------------------------- releases


def rho_for(epsilon: float, delta: float) -> float:
    """Return the greatest rho whose zero-concentrated DP is (epsilon, delta)-DP, to 6 digits.

    By RDP, which gives more than the closed form epsilon = rho + 2 sqrt(rho log(1/delta)) of Bun
    and Steinke (2016); for zCDP alone PLD gives no more, and never less.

    Raises:
        GenieError: T505, epsilon or delta is not positive: there is none.
    """
    if not (0 < epsilon < math.inf and 0 < delta < 1):
        message = f"expected epsilon > 0 and delta between 0 and 1, got {epsilon:g} and {delta:g}"
        hint = "a table needs Gaussian noise: set a budget with a delta, such as 1e-6"
        raise GenieError(Problem("T505", message, hint=hint))
    # Where the closed form is, and around it: each epsilon takes some milliseconds.
    log = math.log(1 / delta)
    low = high = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
    while low > _LEAST and epsilon_of([ZeroConcentrated(low)], delta, "rdp") > epsilon:
        low, high = low / 2, low
    while epsilon_of([ZeroConcentrated(high)], delta, "rdp") <= epsilon:
        low, high = high, 2 * high
    while high - low > _DIGITS * high:
        middle = (low + high) / 2
        if epsilon_of([ZeroConcentrated(middle)], delta, "rdp") <= epsilon:
            low = middle
        else:
            high = middle
    if low <= _LEAST:
        message = f"no noise gives epsilon {epsilon:g} at delta {delta:g}"
        raise GenieError(Problem("T505", message, hint="allow a greater epsilon or delta"))
    return low


def mechanisms_of(method: Method, columns: int, rho: float) -> tuple[Mechanism, ...]:
    """Return the mechanisms of a table of rho-zCDP for a ledger.

    The steps of AIM depend on its measurements, so that it is known by its rho alone; the sum of
    its steps stays below it whatever happens (Feldman and Zrnic, 2021: such filters hold under
    Rényi DP, of which zero-concentrated DP is a line).

    >>> mechanisms_of("independent", 4, 2.0)
    (Gaussian(noise_multiplier=1.0, count=4),)
    """
    match method:
        case "aim":
            return (ZeroConcentrated(rho),)
        case "independent":
            return (Gaussian(deviation_of(rho, columns), columns),)


def release_table(
    schema: Schema,
    units: Callable[[], Units[list[Metadata]]] | Units[list[Metadata]],
    *,
    epsilon: float,
    delta: float,
    spend: Spend,
    method: Method = "aim",
    most_cells: int = MOST_CELLS,
    listen: Listen = lambda _: None,
) -> SyntheticTable:
    """Return the table of private units; its cost is recorded before anything is measured.

    A unit counts for one record: each of its rows for an equal part of it.

    Args:
        schema: columns; public.
        units: the metadata of each unit's rows, or an iterator that reads them
            (`extract.metadata_of`).
        epsilon, delta: the cost of the release by itself.
        spend: the `Payer` of their ledger; it refuses spends past the budget.
        method: "aim"; "independent" for columns without dependence.
        most_cells: numbers that the distribution may take.
        listen: called with each round, nothing private.

    Raises:
        GenieError: T505, there is no such noise; those of `paid_by`.
    """
    if method not in METHODS:
        raise ValueError(f"expected one of {METHODS}, got {method!r}")
    rho = rho_for(epsilon, delta)
    rows = units() if callable(units) else units
    records = records_of(schema, rows)
    spent = paid_by(rows, spend)(mechanisms_of(method, len(schema.columns), rho))
    if method == "aim":
        fitted = aim(records, rho * _SLACK, noise("table"), most_cells=most_cells, listen=listen)
    else:
        fitted = independent(records, rho, noise("table"))
    columns = len(schema.columns)
    rounds = ROUNDS * columns if method == "aim" else 0
    confirmed = confirm_parts(fitted.measurements, columns + rounds)
    facts = {
        "method": method,
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        # What was measured, for people: post-processing of what was released.
        "units": round(fitted.total or 0),
        "measured": [
            {
                "columns": [schema.names[place] for place in measurement.clique],
                "noise": round(measurement.deviation, 4),
            }
            for measurement in fitted.measurements
        ],
        "confirmed": {
            "values": {
                schema.names[place]: [schema.columns[place].values[value] for value in values]
                for place, values in sorted(confirmed.values.items())
            },
            "pairs": [[schema.names[place] for place in pair] for pair in confirmed.pairs],
            "looked_at": confirmed.looked_at,
        },
    }
    # Rounded, so that the table of a file is this one.
    joint = Joint(schema.domain, round_factors(fitted.joint.potentials))
    return SyntheticTable(schema, joint, spent, facts)


def release_table_once(
    work: Path,
    kind: str,
    schema: Schema,
    units: Callable[[], Units[list[Metadata]]],
    payer: Payer,
    *,
    epsilon: float,
    method: Method,
) -> str:
    """Return the text of the table of a work folder, released now or by the run that it is left of.

    Args:
        work: a folder of this release alone.
        kind: the beginning of the run's name.
        schema, units, epsilon, method: those of `release_table`.
        payer: of their ledger.

    Raises:
        GenieError: T510, the table was there to be seen and is missing; those of `release_table`.
    """

    def text(name: str) -> str:
        table = release_table(
            schema,
            units,
            epsilon=epsilon,
            delta=payer.ledger.budget.delta,
            spend=replace(payer, run=name),
            method=method,
        )
        return table.of_run(name).text()

    return release_once(work, kind, text, payer.close, what="table", code="T510")
