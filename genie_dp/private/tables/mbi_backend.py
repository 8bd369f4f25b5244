"""The fit by mbi, the library of AIM's authors (private-pgm): for comparison, or where jax is fast.

Only the fit is theirs: what is measured, and with which noise, is decided in `aim`.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private.tables.estimation import Measurement, together
from genie_dp.private.tables.joint import Joint, Potentials
from genie_dp.private.tables.marginals import F64, Clique

# mbi 2.0 has other names.
_MAJOR = "1"


def check_mbi() -> Any:
    """Return the module mbi.

    Raises:
        GenieError: T507, it is not installed, or of another version.
    """
    hint = "pip install 'genie_dp[mbi]', or leave --backend out"
    try:
        found = import_module("mbi")
        number = version("mbi")
    except (ImportError, PackageNotFoundError) as problem:
        message = "the backend mbi needs the package mbi, which is not installed"
        raise GenieError(Problem("T507", message, hint=hint)) from problem
    if number.split(".")[0] != _MAJOR:
        raise GenieError(Problem("T507", f"expected mbi {_MAJOR}.x, got {number}", hint=hint))
    return found


def mbi_descent(
    domain: tuple[int, ...],
    measurements: Sequence[Measurement],
    *,
    total: float,
    start: Potentials,
    iterations: int,
) -> Joint:
    """Return the distribution that fits noisy marginals best; see `estimation.Fit`.

    `start` is not used: mbi joins factors to cliques of its own.

    Raises:
        GenieError: T507, mbi is not installed.
    """
    mbi = check_mbi()
    names = [f"c{place}" for place in range(len(domain))]
    told = [
        mbi.LinearMeasurement(
            np.asarray(one.counts).reshape(-1),
            tuple(names[place] for place in one.clique),
            stddev=one.deviation,
        )
        for one in together(measurements)
    ]
    found = mbi.estimation.mirror_descent(
        mbi.Domain(names, list(domain)), told, known_total=total, iters=iterations
    )
    return Joint(domain, dict(_potentials(found.potentials, names)))


def _potentials(vector: Any, names: Sequence[str]) -> dict[Clique, F64]:
    """Return the factors of a CliqueVector, their columns rising."""
    found: dict[Clique, F64] = {}
    for clique in vector.cliques:
        factor = vector[clique]
        order = tuple(sorted(factor.domain.attributes, key=names.index))
        logs = np.asarray(factor.transpose(order).values, dtype=np.float64)
        places = tuple(names.index(name) for name in order)
        found[places] = found[places] + logs if places in found else logs
    return found
