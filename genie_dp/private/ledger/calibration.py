"""How much noise a budget asks for."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.accounting import DEFAULT, Accountant, epsilon_of
from genie_dp.private.ledger.mechanisms import Mechanism, PoissonGaussian

# Noise multipliers are whole multiples of 1 / FINENESS: four decimals are what people copy.
FINENESS = 10_000
# No training survives more noise than this.
_MOST = 2**20 * FINENESS


def noise_multiplier_for(
    epsilon: float,
    delta: float,
    *,
    rate: float,
    steps: int,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = DEFAULT,
) -> float:
    """Return the smallest noise multiplier that keeps the whole within epsilon, at four decimals.

    Args:
        epsilon, delta: of everything: what is calibrated together with what was spent before.
        rate: chance of a unit to be in a batch.
        steps: number of batches.
        before: mechanisms already spent.
        accountant: who computes epsilon; RDP asks for more noise.

    Raises:
        GenieError: epsilon is not finite, or what was spent before leaves nothing (B004); rate or
            steps are out of range (B002).
    """
    if not math.isfinite(epsilon):
        # No comparison with nan is true: the first noise that is tried would seem to fit.
        raise GenieError(Problem("B004", f"expected a finite epsilon, got {epsilon}"))
    spent = epsilon_of(before, delta, accountant)
    if spent >= epsilon:
        message = f"epsilon {spent:.4g} is spent already, nothing is left of {epsilon:.4g}"
        hint = "what was spent stays spent; a budget is for one data set, once"
        raise GenieError(Problem("B004", message, hint=hint))

    @cache
    def gap(units: int, by: Accountant) -> float:
        mechanism = PoissonGaussian(units / FINENESS, rate, steps)
        return epsilon_of((*before, mechanism), delta, by) - epsilon

    found = _smallest(lambda units: gap(units, "rdp"), start=FINENESS)
    if accountant == "pld":
        # From the upper bound down: distributions grow without limit as the noise goes to nothing.
        found = _smallest(lambda units: gap(units, "pld"), start=found or _MOST)
    if found is None:
        message = f"no noise gives epsilon {epsilon:.4g} at delta {delta:.4g}"
        hint = "allow a greater epsilon or delta"
        raise GenieError(Problem("B004", message, hint=hint))
    return found / FINENESS


def _smallest(gap: Callable[[int], float], *, start: int) -> int | None:
    """Return the smallest number whose gap is not positive, where gaps fall; None if none is.

    Each gap takes a tenth of a second, so they are few: Brent's method, and steps to the very one.

    >>> _smallest(lambda n: 77 / n - 1, start=1000)
    77
    """
    high = start
    while gap(high) > 0:
        if high >= _MOST:
            return None
        high *= 2
    low = high
    while low > 1 and gap(low) <= 0:
        high, low = low, max(1, low * 3 // 4)
    found = _between(gap, low, high) if gap(low) > 0 else low
    while gap(found) > 0:
        found += 1
    while found > 1 and gap(found - 1) <= 0:
        found -= 1
    return found


def _between(gap: Callable[[int], float], low: int, high: int) -> int:
    """Return a number next to where the gap becomes positive, going down from high to low."""
    brentq = import_module("scipy.optimize").brentq
    # Without noise epsilon is infinite, which cannot be interpolated.
    root: float = brentq(lambda x: min(gap(round(x)), 1e6), low, high, xtol=0.5)
    return math.ceil(root)
