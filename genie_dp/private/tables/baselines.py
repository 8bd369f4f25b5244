"""What a table is compared with: columns without dependence, and nothing at all."""

from random import Random

from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.tables.aim import AT_THE_END, Fitted, fitted, measure, measuring
from genie_dp.private.tables.estimation import Fit
from genie_dp.private.tables.joint import Joint
from genie_dp.private.tables.marginals import Records


def deviation_of(rho: float, columns: int) -> float:
    """Return the noise with which measuring every column by itself costs rho.

    >>> deviation_of(2.0, 4)
    1.0
    """
    return measuring(rho / columns)


def independent(records: Records, rho: float, rng: Random, *, fit: Fit) -> Fitted:
    """Return the product of the columns' noisy marginals, under rho-zCDP."""
    domain = records.domain
    deviation = deviation_of(rho, len(domain))
    measured = [measure(records, (place,), deviation, rng) for place in range(len(domain))]
    found = fitted(domain, measured, fit, AT_THE_END)
    return Fitted(found.joint, found.measurements, found.total, (Gaussian(deviation, len(domain)),))


def uniform(domain: tuple[int, ...]) -> Fitted:
    """Return the uniform distribution: it looks at no record, and costs nothing."""
    return Fitted(Joint(domain, {}))
