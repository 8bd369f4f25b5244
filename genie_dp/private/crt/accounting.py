"""The cost of confidentiality (Zhao, Li, Wang, "Provably Confidential Language Modelling", 2022).

A secret x is (epsilon, delta)-confidential if a model trained on the text with x can hardly be
distinguished from one trained on the text with <MASK> in its place (definition 2). The functions
are the paper's proposition 6 and theorem 8; they take the guarantee of the training behind the
redaction.

That guarantee is about *replacing* a row: a secret by <MASK>, in a row that stays. Budgets speak of
adding or removing one unit. Confidentiality compares two texts with as many rows, one of which
differs (definition 2), so that a step of DP-SGD moves by up to two clipping norms. The paper puts
the epsilon of adding or removing into its theorem; that is too little for DP-SGD with Poisson
sampling, so `guarantee_of_replacing` gives another one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from genie_dp.private.ledger.accounting import DEFAULT, GRID, Accountant, epsilon_of
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism, PoissonGaussian, dp_accounting

_LARGEST_EXPONENT = 700.0
# Where replacing costs more than this by the simple bound, distributions take gigabytes.
_LARGEST = 200.0
# Of these there are distributions of the losses between a pair.
_PAIRS = (PoissonGaussian, Gaussian)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """An (epsilon, delta) of confidentiality; a delta of 1 or more guarantees nothing.

    >>> Guarantee(1.0, 1e-5)
    Guarantee(epsilon=1.0, delta=1e-05)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not self.epsilon >= 0 or not self.delta >= 0:
            raise ValueError(f"expected epsilon and delta of at least 0, got {self}")


def bayesian_guarantee(training: Guarantee, gamma: float) -> Guarantee:
    """Return the Bayesian confidentiality behind redaction (proposition 6).

    It is (log(1 + gamma (e^epsilon - 1)), gamma delta) for a secret drawn from a distribution of
    which the policy misses the share gamma.

    >>> secret = bayesian_guarantee(Guarantee(1.0, 1e-5), 0.1)
    >>> round(secret.epsilon, 4), secret.delta
    (0.1586, 1.0000000000000002e-06)
    """
    check_share("gamma", gamma)
    return Guarantee(amplify_epsilon(training.epsilon, gamma), gamma * training.delta)


def amplify_epsilon(epsilon: float, gamma: float) -> float:
    """Return log(1 + gamma (e^epsilon - 1)), also where e^epsilon overflows.

    >>> amplify_epsilon(3.0, 1.0), amplify_epsilon(3.0, 0.0)
    (3.0, 0.0)
    """
    if gamma == 0 or epsilon == 0:
        return 0.0
    if gamma == 1 or epsilon == math.inf:
        return epsilon
    if epsilon > _LARGEST_EXPONENT:
        exponent = epsilon + math.log(gamma)
        if exponent > _LARGEST_EXPONENT:
            return min(epsilon, exponent)
        return math.log1p(math.exp(exponent))  # what gamma takes off is nothing beside it
    # Rounding must not make it more than epsilon.
    return min(epsilon, math.log1p(gamma * math.expm1(epsilon)))


def guarantee_of_unique_group(training: Guarantee, unique: int, missed: float) -> Guarantee:
    """Return the confidentiality of a group of secrets under CRT (theorem 8, second part).

    With the share g of m unique secrets missed, it is (g m epsilon, g m e^(g m epsilon) delta). The
    theorem has "detects" for that share, but its proof, proposition 5, counts the missed ones.

    Args:
        training: of DP-SGD on the private part, which must hold all rows of the group.
        unique: how many different secrets there are, m.
        missed: the share that the policy missed.

    >>> guarantee_of_unique_group(Guarantee(0.5, 1e-6), 20, 0.1).epsilon
    1.0
    """
    check_share("the share that is missed", missed)
    count = missed * unique
    epsilon = count * training.epsilon if count else 0.0
    return Guarantee(epsilon, _scale_delta(count, epsilon, training.delta))


def guarantee_of_crt(training: Guarantee, gamma: float, missed_by_both: float) -> Guarantee:
    """Return the Bayesian confidentiality of CRT (theorem 8, third part).

    It is (log(1 + gamma (e^epsilon - 1)), gamma delta + delta_2).

    Args:
        training: of DP-SGD on the private part.
        gamma: share of secrets that the policy misses.
        missed_by_both: delta_2, the share of secrets whose row is in the public part.

    >>> secret = guarantee_of_crt(Guarantee(1.0, 1e-5), 0.1, 0.001)
    >>> round(secret.epsilon, 4), round(secret.delta, 6)
    (0.1586, 0.001001)
    """
    check_share("delta_2", missed_by_both)
    bayesian = bayesian_guarantee(training, gamma)
    return Guarantee(bayesian.epsilon, bayesian.delta + missed_by_both)


def check_share(name: str, value: float) -> None:
    """Refuse a number that is no share, from 0 to 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"expected {name} in [0, 1], got {value}")


def _scale_delta(count: float, epsilon: float, delta: float) -> float:
    """Return count e^epsilon delta; infinite where e^epsilon is too large for a float."""
    if not count or not delta:
        return 0.0
    exponent = epsilon + math.log(count) + math.log(delta)
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf


def guarantee_of_replacing(
    mechanisms: Sequence[Mechanism], delta: float, accountant: Accountant = DEFAULT
) -> Guarantee:
    """Return the guarantee of mechanisms for replacing one unit, at a delta.

    It is the better of two bounds: privacy loss distributions of the pair (Zhu, Dong and Wang,
    2022), where there are such for all mechanisms; and removing the one and adding the other,
    (2 epsilon, (1 + e^epsilon) delta), for which epsilon is looked up at a smaller delta.

    >>> guarantee_of_replacing((), 1e-6).epsilon
    0.0
    """
    if not mechanisms:
        return Guarantee(0.0, 0.0)
    epsilon = _bound_by_both(mechanisms, delta, accountant)
    if epsilon <= _LARGEST and all(isinstance(m, _PAIRS) for m in mechanisms):
        epsilon = min(epsilon, _bound_by_pairs(mechanisms, delta))
    return Guarantee(epsilon, delta)


def _bound_by_both(mechanisms: Sequence[Mechanism], delta: float, accountant: Accountant) -> float:
    """Return 2 epsilon where (1 + e^epsilon) d = delta, and epsilon is that of adding at d.

    Epsilon falls as d grows, so halving ends at a d that is small enough.
    """
    if delta == 0:
        return 2 * epsilon_of(mechanisms, 0.0, accountant)
    epsilon = epsilon_of(mechanisms, delta, accountant)
    if epsilon > _LARGEST:
        return math.inf
    for _ in range(60):
        smaller = delta / (1 + math.exp(epsilon))
        needed = epsilon_of(mechanisms, smaller, accountant)
        if needed <= epsilon:
            return 2 * epsilon
        if needed > _LARGEST:
            break
        # A little above, so that it ends: the next one is at a delta that is smaller still.
        epsilon = needed * (1 + 1e-3)
    return math.inf


def _bound_by_pairs(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Return epsilon by the losses between two neighbours with as many units."""
    dp = dp_accounting()
    accountant = import_module("dp_accounting.pld").PLDAccountant(
        neighboring_relation=dp.NeighboringRelation.REPLACE_ONE, value_discretization_interval=GRID
    )
    for mechanism in sorted(mechanisms, key=repr):
        accountant.compose(mechanism.event())
    return float(accountant.get_epsilon(delta))
