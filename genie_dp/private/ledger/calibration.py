"""How much noise a budget asks for."""

from collections.abc import Callable, Sequence

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.accounting import Accountant, epsilon_of
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
    accountant: Accountant = "rdp",
) -> float:
    """Return the smallest noise multiplier that keeps the whole within epsilon, at four decimals.

    Args:
        epsilon, delta: of everything: what is calibrated together with what was spent before.
        rate: chance of a unit to be in a batch.
        steps: number of batches.
        before: mechanisms already spent.
        accountant: who computes epsilon; PLD asks for less noise.

    Raises:
        GenieError: what was spent before leaves nothing (B004); the accountant cannot account for
            it (B003); rate or steps are out of range (B002).
    """
    spent = epsilon_of(before, delta, accountant)
    if spent >= epsilon:
        message = f"epsilon {spent:.4g} is spent already, nothing is left of {epsilon:.4g}"
        hint = "what was spent stays spent; a budget is for one data set, once"
        raise GenieError(Problem("B004", message, hint=hint))

    def fits(units: int, by: Accountant) -> bool:
        mechanism = PoissonGaussian(units / FINENESS, rate, steps)
        return epsilon_of((*before, mechanism), delta, by) <= epsilon

    found = _smallest(lambda units: fits(units, "rdp"), start=FINENESS)
    if accountant == "pld":
        # From the upper bound down: distributions grow without limit as the noise goes to nothing.
        found = _smallest(lambda units: fits(units, "pld"), start=found or _MOST)
    if found is None:
        message = f"no noise gives epsilon {epsilon:.4g} at delta {delta:.4g}"
        hint = "allow a greater epsilon or delta"
        raise GenieError(Problem("B004", message, hint=hint))
    return found / FINENESS


def _smallest(fits: Callable[[int], bool], *, start: int) -> int | None:
    """Return the smallest number that fits, where all above one do; None if none does.

    >>> _smallest(lambda n: n >= 77, start=1000)
    77
    """
    low, high = 0, start
    while not fits(high):
        if high >= _MOST:
            return None
        low, high = high, 2 * high
    step = max(1, high // 16)
    while high - step > low and fits(high - step):
        high -= step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
