"""A table of private units: recorded in the ledger, then measured, once."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.accounting import epsilon_of
from genie_dp.private.ledger.guard import Units, paid_by
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism, ZeroConcentrated
from genie_dp.private.secure import noise
from genie_dp.private.tables.aim import Fitted, Listen, aim
from genie_dp.private.tables.baselines import deviation_of, independent, uniform
from genie_dp.private.tables.estimation import Fit, mirror_descent
from genie_dp.private.tables.joint import Joint
from genie_dp.private.tables.marginals import records_of
from genie_dp.private.tables.mbi_backend import check_mbi, mbi_descent
from genie_dp.private.tables.schema import Metadata, Schema
from genie_dp.private.tables.table import SyntheticTable, rounded
from genie_dp.records import Spent

Method = Literal["aim", "independent", "uniform"]
Backend = Literal["numpy", "mbi"]
METHODS: tuple[Method, ...] = get_args(Method)
BACKENDS: tuple[Backend, ...] = get_args(Backend)
_FITS: dict[Backend, Fit] = {"numpy": mirror_descent, "mbi": mbi_descent}

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
    """Return what a table of rho-zCDP is for a ledger.

    What AIM does next depends on what it saw, so that it is known by its rho alone; the sum of its
    steps stays below it whatever happens (Feldman and Zrnic, 2021: such filters hold under Rényi
    DP, of which zero-concentrated DP is a line).

    >>> mechanisms_of("independent", 4, 2.0), mechanisms_of("uniform", 4, 2.0)
    ((Gaussian(noise_multiplier=1.0, count=4),), ())
    """
    match method:
        case "aim":
            return (ZeroConcentrated(rho),)
        case "independent":
            return (Gaussian(deviation_of(rho, columns), columns),)
        case "uniform":
            return ()


def release_table(
    schema: Schema,
    units: Callable[[], Units[list[Metadata]]] | Units[list[Metadata]],
    *,
    epsilon: float,
    delta: float,
    spend: Spend,
    method: Method = "aim",
    backend: Backend = "numpy",
    most_cells: int = MOST_CELLS,
    listen: Listen = lambda _: None,
) -> SyntheticTable:
    """Return the table of private units; its cost is recorded before anything is measured.

    A unit counts for one record: each of its rows for an equal part of it.

    Args:
        schema: columns; public.
        units: the metadata of each unit's rows, or what reads them (`extract.metadata_of`); not
            read for "uniform".
        epsilon, delta: what the release costs by itself.
        spend: the `Payer` of their ledger; it refuses what is past the budget.
        method: "aim"; "independent" for columns without dependence; "uniform" for nothing.
        backend: what fits distributions to noisy marginals.
        most_cells: numbers that the distribution may take.
        listen: told of each round, nothing private.

    Raises:
        GenieError: T505, there is no such noise; T507, mbi is missing; those of `paid_by`.
    """
    if method not in METHODS or backend not in BACKENDS:
        raise ValueError(f"expected one of {METHODS} and {BACKENDS}, got {method!r}, {backend!r}")
    if method == "uniform":
        return SyntheticTable(schema, uniform(schema.domain).joint, None, {"method": method})
    if backend == "mbi":
        check_mbi()
    rho = rho_for(epsilon, delta)
    rows = units() if callable(units) else units
    records = records_of(schema, rows)
    spent = paid_by(rows, spend)(mechanisms_of(method, len(schema.columns), rho))
    run = partial(aim, most_cells=most_cells, listen=listen) if method == "aim" else independent
    rho_left = rho * (_SLACK if method == "aim" else 1)
    found = run(records, rho_left, noise("table"), fit=_FITS[backend])
    told = {"method": method, "backend": backend, "epsilon": epsilon, "delta": delta, "rho": rho}
    # Rounded, so that the table of a file is this one.
    joint = Joint(schema.domain, rounded(found.joint.potentials))
    return SyntheticTable(schema, joint, spent, {**told, **_told(schema, found)})


def _told(schema: Schema, found: Fitted) -> dict[str, Any]:
    """Return what was measured, for people: post-processing of what was released."""
    return {
        "units": round(found.total or 0),
        "measured": [
            {
                "columns": [schema.names[place] for place in one.clique],
                "noise": round(one.deviation, 4),
            }
            for one in found.measurements
        ],
    }
