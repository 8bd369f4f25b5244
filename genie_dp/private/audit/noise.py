"""Claims about noise: the trade-off function of mechanisms, with more noise and with less.

(epsilon, delta)-DP allows leaks that no noise has: Gaussian noise that has epsilon 3 at delta 1e-5
hides most rows far better than epsilon 3 does. So an attack that knows the claimed noise can refute
more (Mahloujifar, Melis and Chaudhuri 2024): the claim that so much was added is tested directly.
An upper bound of the actual noise is found by the same mechanisms with more noise and with less.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from genie_dp.private.audit.statistics import EpsilonBound, Guesses, Least, refutes_any
from genie_dp.private.ledger.accounting import deltas_of, epsilon_of
from genie_dp.private.ledger.mechanisms import (
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonGaussian,
    Run,
    Selection,
    Threshold,
    ZeroConcentrated,
)

# Noise is compared in steps of a twelfth of a factor of 2, up to so many steps more or less.
_STEPS_OF_TWO, _MOST = 12, 72
# Privacy losses at which a trade-off function is known: between them it is bounded from below.
_LOSSES = np.concatenate(
    [np.arange(0.0, 2.0, 0.05), np.arange(2.0, 12.0, 0.25), [16.0, 24.0, 48.0]]
)
# Accountants need gigabytes for less privacy than that, which nobody claims.
_LARGEST = 30.0


def with_noise(mechanism: Mechanism, factor: float) -> Mechanism:
    """Return a mechanism with so many times the noise.

    >>> with_noise(Gaussian(2.0), 0.5), with_noise(ZeroConcentrated(1.0), 0.5)
    (Gaussian(noise_multiplier=1.0, count=1), ZeroConcentrated(rho=4.0))
    """
    match mechanism:
        case PoissonGaussian(noise, _, _) | Gaussian(noise, _):
            return replace(mechanism, noise_multiplier=noise * factor)
        case Laplace(scale, _):
            return replace(mechanism, scale=scale * factor)
        case Exponential(epsilon, _):
            return replace(mechanism, epsilon=epsilon / factor)
        case ZeroConcentrated(rho):
            return replace(mechanism, rho=rho / factor**2)
        case Selection(of):
            runs = tuple(tuple(cast("Run", with_noise(part, factor)) for part in run) for run in of)
            return replace(mechanism, of=runs)
        case Threshold():
            return mechanism


@lru_cache(maxsize=256)
def least_of(mechanisms: tuple[Mechanism, ...]) -> Least:
    """Return the trade-off function of mechanisms together, as `Least`: the best of many pairs.

    They are (epsilon, delta)-DP for each epsilon at its delta, so that it is the largest of those
    pairs' functions.
    """
    deltas = deltas_of(mechanisms, _LOSSES)
    factors = np.exp(_LOSSES)

    def least(chance: float) -> float:
        low = (chance - deltas) / factors
        high = 1 - deltas - factors * (1 - chance)
        return max(0.0, float(low.max()), float(high.max()))

    return least


def bound_noise(
    guessed: Sequence[Guesses], mechanisms: tuple[Mechanism, ...], delta: float, alpha: float
) -> EpsilonBound:
    """Return the epsilon of the most noise that guesses refute, at a delta; 0 for none.

    It is the epsilon claimed, or more, if and only if they refute that there was as much noise as
    in the mechanisms.

    Args:
        guessed: as `statistics.guess` gives them.
        mechanisms: that are claimed.
        delta: of the claim.
        alpha: chance that it is too large.
    """

    def refuting(step: int) -> Guesses | None:
        scaled = _scale_noise(mechanisms, step)
        if epsilon_of(scaled, delta, "rdp") > _LARGEST:
            return None
        return refutes_any(guessed, least_of(scaled), alpha)

    low, high = -_MOST, _MOST
    if refuting(low) is None:
        return EpsilonBound("one run, noise", 0.0, guessed[0].as_dict())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refuting(middle) is not None else (low, middle)
    by = refuting(low)
    assert by is not None
    epsilon = epsilon_of(_scale_noise(mechanisms, low), delta)
    return EpsilonBound("one run, noise", epsilon, by.as_dict())


def _scale_noise(mechanisms: tuple[Mechanism, ...], step: int) -> tuple[Mechanism, ...]:
    """Return mechanisms with less noise the larger the step is; 0 is the claimed noise."""
    factor = 2.0 ** (-step / _STEPS_OF_TWO)
    return tuple(with_noise(mechanism, factor) for mechanism in mechanisms) if step else mechanisms
