"""What it costs that a row is *replaced*: a secret by <MASK>, in a row that stays.

Budgets speak of adding or removing one unit. Confidentiality compares two texts with as many rows,
one of which differs (definition 2), so that a step of DP-SGD moves by up to two clipping norms. The
paper puts the epsilon of adding or removing into its theorem; that is too little for DP-SGD with
Poisson sampling, so it is not done here.
"""

import math
from collections.abc import Sequence
from importlib import import_module

from genie_dp.private.crt.accounting import Guarantee
from genie_dp.private.ledger.accounting import DEFAULT, GRID, Accountant, epsilon_of
from genie_dp.private.ledger.mechanisms import (
    Gaussian,
    Mechanism,
    PoissonGaussian,
    dp_accounting,
)

# Where replacing costs more than this by the simple bound, distributions take gigabytes.
_LARGEST = 200.0


def replacing(
    mechanisms: Sequence[Mechanism], delta: float, accountant: Accountant = DEFAULT
) -> Guarantee:
    """Return the guarantee for replacing one unit of what mechanisms did, at a delta.

    It is the better of two bounds: privacy loss distributions of the pair (Zhu, Dong and Wang,
    2022), where there are such for all mechanisms; and removing the one and adding the other,
    (2 epsilon, (1 + e^epsilon) delta), for which epsilon is looked up at a smaller delta.

    >>> replacing((), 1e-6).epsilon
    0.0
    """
    if not mechanisms:
        return Guarantee(0.0, 0.0)
    found = _twice(mechanisms, delta, accountant)
    if found <= _LARGEST and all(isinstance(m, _PAIRS) for m in mechanisms):
        found = min(found, _by_pairs(mechanisms, delta))
    return Guarantee(found, delta)


_PAIRS = (PoissonGaussian, Gaussian)


def _twice(mechanisms: Sequence[Mechanism], delta: float, accountant: Accountant) -> float:
    """Return 2 epsilon where (1 + e^epsilon) d = delta, and epsilon is that of adding at d.

    Epsilon falls as d grows, so what is found by halving is at a d that is small enough.
    """
    if delta == 0:
        return 2 * epsilon_of(mechanisms, 0.0, accountant)
    epsilon = epsilon_of(mechanisms, delta, accountant)
    if epsilon > _LARGEST:
        return math.inf
    for _ in range(60):
        smaller = delta / (1 + math.exp(epsilon))
        found = epsilon_of(mechanisms, smaller, accountant)
        if found <= epsilon:
            return 2 * epsilon
        if found > _LARGEST:
            break
        # A little above, so that it ends: the next one is at a delta that is smaller still.
        epsilon = found * (1 + 1e-3)
    return math.inf


def _by_pairs(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Return epsilon by the losses between two neighbours with as many units."""
    dp = dp_accounting()
    accountant = import_module("dp_accounting.pld").PLDAccountant(
        neighboring_relation=dp.NeighboringRelation.REPLACE_ONE, value_discretization_interval=GRID
    )
    for mechanism in sorted(mechanisms, key=repr):
        accountant.compose(mechanism.event())
    return float(accountant.get_epsilon(delta))
