"""The composed cost of mechanisms: epsilon at a delta, by Rényi DP or privacy loss distributions.

Both give upper bounds on the same guarantee, for adding or removing one unit. `rdp` is the
accountant of "Privacy-Preserving Domain Adaptation of Semantic Parsers" (2023); `pld` is tighter
and slower, and never gives more. Composition is adaptive: a mechanism may depend on earlier
releases. Whether its noise or its number of steps may depend on them, too, is another question
(docs/research/accounting.md, "When amounts depend on releases").
"""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.mechanisms import (
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonGaussian,
    Selection,
    Threshold,
    Trials,
    ZeroConcentrated,
    dp_accounting,
)
from genie_dp.private.ledger.sampled_gaussian import sampled_gaussian_curve

Accountant = Literal["rdp", "pld"]
ACCOUNTANTS: tuple[Accountant, ...] = get_args(Accountant)
DEFAULT: Accountant = "pld"
# So many orders of Rényi divergence `rdp` takes the best of: those of dp_accounting 0.6.
ORDERS = 156

# Distance of the privacy losses that PLD computes with. The library's own 1e-4 gives the same three
# decimals and takes ten times as long (660 steps of DP-SGD, November 2026).
GRID = 1e-3
# Where RDP says more than this, there is no privacy to speak of, and distributions take gigabytes.
_LARGEST = 1000.0
# Losses beyond which a mechanism lies with less probability than this count as infinite.
_TAIL = 1e-15


def epsilon_of(
    mechanisms: Iterable[Mechanism], delta: float, accountant: Accountant = DEFAULT
) -> float:
    """Return the epsilon of all mechanisms together at a delta; infinity where there is none.

    Where all of them are pure (Laplace, exponential), the sum of their epsilons is a bound, too,
    and the smaller one is returned: so delta may be 0 there. Thresholds take their part of delta.

    Raises:
        GenieError: dp_accounting is not installed (B001).
    """
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant must be one of {ACCOUNTANTS}, got {accountant!r}")
    # Sorted, so that the order of spends does not decide how floats are rounded.
    composed = sorted(mechanisms, key=repr)
    if not 0 <= delta < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta}")
    # A (0, delta)-DP mechanism adds its delta to any composition's (Dwork et al., 2010, III.3).
    delta -= sum(mechanism.delta for mechanism in composed if isinstance(mechanism, Threshold))
    if delta < 0:
        return math.inf
    composed = [mechanism for mechanism in composed if not isinstance(mechanism, Threshold)]
    pure = float(sum(map(_pure_epsilon, composed)))
    if not composed or delta == 0:
        return pure
    epsilon = _by_rdp(composed, delta)
    # Above the largest the other bound stands for both: it is one, too.
    if accountant == "pld" and min(epsilon, pure) <= _LARGEST:
        epsilon = min(epsilon, _by_pld(composed, delta))
    return min(epsilon, pure)


def _pure_epsilon(mechanism: Mechanism) -> float:
    match mechanism:
        case Laplace(scale, count):
            return count / scale
        case Exponential(epsilon, count):
            return count * epsilon
        case _:
            return math.inf


def _by_rdp(mechanisms: Iterable[Mechanism], delta: float) -> float:
    rdp = dp_accounting().rdp
    orders = np.array(rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS)
    curve = sum(map(renyi_curve, mechanisms), np.zeros(len(orders)))
    return float(rdp.compute_epsilon(orders, curve, delta)[0])


@lru_cache(maxsize=256)
def renyi_curve(mechanism: Mechanism) -> NDArray[np.float64]:
    """Return the Rényi divergence of a mechanism at each of dp_accounting's orders, (orders,)."""
    if isinstance(mechanism, Selection):
        return _selection_curve(mechanism)
    rdp = dp_accounting().rdp
    if isinstance(mechanism, PoissonGaussian) and mechanism.rate < 1:
        orders = tuple(rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS)
        step = sampled_gaussian_curve(mechanism.noise_multiplier, mechanism.rate, orders)
        return np.maximum(mechanism.steps * step, 0.0)
    accountant = rdp.RdpAccountant()
    with _quiet():
        curve: NDArray[np.float64] = accountant.compose(mechanism.event()).rdp
    if isinstance(mechanism, Exponential):
        # It is epsilon^2/8-zCDP (Cesar and Rogers, 2021, section 3), which is less at low orders.
        rho = mechanism.count * mechanism.epsilon**2 / 8
        curve = np.minimum(curve, rho * accountant.orders)
    # Where noise is great, the library's sums end below 0, by 1e-15 for each step (November 2026):
    # what is spent may take nothing off other spends.
    return np.maximum(curve, 0.0)


def _selection_curve(selection: Selection) -> NDArray[np.float64]:
    """Return the Rényi divergence of the best of a random number of runs.

    A run that chooses among alternatives by chance costs at most the dearest of them, at each order
    by itself. With that curve r, the best of K runs has at order a the divergence r(a) + log(E K) /
    (a - 1) + c, where c is for a truncated negative binomial of shape n the least over b of (1 + n)
    ((1 - 1/b) r(b) + log(1/g) / b) (Papernot and Steinke, 2022, theorem 2), and for Poisson's E K
    times the delta of a run at epsilon log(1 + 1 / (a - 1)) (theorem 6). Divergences grow with the
    order, so that each is at most the next one.
    """
    rdp = dp_accounting().rdp
    orders = np.array(rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS)
    run = np.max([np.sum([*map(renyi_curve, parts)], axis=0) for parts in selection.of], axis=0)
    curve = run + math.log(selection.mean) / (orders - 1)
    if math.isinf(selection.shape):
        epsilons = np.log1p(1 / (orders - 1))
        curve += selection.mean * np.array(
            [rdp.rdp_privacy_accountant.compute_delta(orders, run, e)[0] for e in epsilons]
        )
    else:
        rest = -math.log(stopping_chance(selection.trials, selection.mean))
        curve += (1 + selection.shape) * np.min((1 - 1 / orders) * run + rest / orders)
    bounded: NDArray[np.float64] = np.minimum.accumulate(curve[::-1])[::-1]
    return bounded


def stopping_chance(trials: Trials, mean: float) -> float:
    """Return the parameter of the geometric or logarithmic distribution with a mean.

    >>> stopping_chance("geometric", 4.0)
    0.25
    >>> chance = stopping_chance("logarithmic", 4.0)
    >>> round((1 / chance - 1) / math.log(1 / chance), 9)
    4.0
    """
    if trials == "geometric":
        return 1 / mean
    # The mean is (1/g - 1) / log(1/g), which falls as g grows: by halving, rounded to the dearer
    # side.
    low, high = 1e-18, 1.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        if middle < 1 and (1 / middle - 1) / -math.log(middle) > mean:
            low = middle
        else:
            high = middle
    return low


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop the library's warnings of orders that it leaves out: the others are a bound, too."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _by_pld(mechanisms: Sequence[Mechanism], delta: float) -> float:
    return float(_compose(mechanisms).get_epsilon_for_delta(delta))


def deltas_of(
    mechanisms: Iterable[Mechanism], epsilons: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the delta of all mechanisms together at each epsilon, by privacy loss distributions.

    Thresholds take their part of delta. Never less than the true one.

    >>> deltas_of([Gaussian(1.0)], np.array([0.0, 3.0])).round(4).tolist()
    [0.3829, 0.0015]

    Raises:
        GenieError: dp_accounting is not installed (B001).
    """
    composed = sorted(mechanisms, key=repr)
    more = sum(mechanism.delta for mechanism in composed if isinstance(mechanism, Threshold))
    losses = _compose([mechanism for mechanism in composed if not isinstance(mechanism, Threshold)])
    deltas: NDArray[np.float64] = np.asarray(losses.get_delta_for_epsilon(list(epsilons)), float)
    return np.clip(deltas + more, 0.0, 1.0)


def _compose(mechanisms: Sequence[Mechanism]) -> Any:
    """Return the privacy loss distribution of all mechanisms together."""
    # Of zCDP, rhos add up (Bun and Steinke, 2016, lemma 2.3), which loses less than composing.
    rho = sum(mechanism.rho for mechanism in mechanisms if isinstance(mechanism, ZeroConcentrated))
    composed: list[Mechanism] = [ZeroConcentrated(rho)] if rho else []
    composed += [
        mechanism for mechanism in mechanisms if not isinstance(mechanism, ZeroConcentrated)
    ]
    first, *others = map(_losses, composed)
    for losses in others:
        first = first.compose(losses)
    return first


@lru_cache(maxsize=64)
def _losses(mechanism: Mechanism) -> Any:
    """Return the privacy loss distribution of a mechanism."""
    dp_accounting()
    of = import_module("dp_accounting.pld.privacy_loss_distribution")
    grid = {"value_discretization_interval": GRID}
    match mechanism:
        case PoissonGaussian(noise, rate, steps):
            return of.from_gaussian_mechanism(noise, sampling_prob=rate, **grid).self_compose(steps)
        case Gaussian(noise, count):
            # The sum of independent Gaussian releases is one with less noise.
            return of.from_gaussian_mechanism(noise / math.sqrt(count), **grid)
        case Laplace(scale, count):
            return of.from_laplace_mechanism(scale, **grid).self_compose(count)
        case Exponential(epsilon, count):
            return of.PrivacyLossDistribution(_exponential_losses(epsilon)).self_compose(count)
        case ZeroConcentrated(rho):
            return of.PrivacyLossDistribution(_concentrated_losses(rho))
        case Selection():
            return of.PrivacyLossDistribution(_renyi_losses(renyi_curve(mechanism)))
        case Threshold():
            raise AssertionError("taken off in epsilon_of")


def _exponential_losses(epsilon: float) -> Any:
    """Return the privacy losses of a pair that dominates every exponential mechanism."""
    return _dominating(lambda at: [exponential_delta(epsilon, x) for x in at], epsilon)


def _concentrated_losses(rho: float) -> Any:
    """Return the privacy losses of a pair that dominates every rho-zCDP mechanism."""
    last = rho + 2 * math.sqrt(rho * -math.log(_TAIL))
    return _dominating(lambda at: concentrated_delta(rho, at), last)


def _renyi_losses(curve: NDArray[np.float64]) -> Any:
    """Return the privacy losses of a pair that dominates whatever has a curve of divergences.

    The hockey-stick divergence of such a mechanism is convex in e^epsilon, and below the bound of
    every order. So it is below the greatest convex function under all bounds, which is the curve of
    a pair.
    """
    orders = np.array(dp_accounting().rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS)
    is_finite = np.isfinite(curve)
    # Where the best order leaves less than the tail.
    last = float(np.min(curve[is_finite] - math.log(_TAIL) / (orders[is_finite] - 1)))
    return _dominating(lambda at: _convex(at, renyi_delta(curve, at)), last)


def renyi_delta(curve: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the delta at each epsilon `at` that a curve of Rényi divergences allows.

    It is the least over the orders a of exp((a - 1) (r - epsilon)) / a (1 - 1/a)^(a - 1) (Canonne,
    Kamath and Steinke, 2020, proposition 12); and below 0 the remainder of the same bound in the
    other direction: 1 - e^epsilon (1 - delta(-epsilon)).
    """
    orders = np.array(dp_accounting().rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS)

    def bound(epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        least = np.zeros(len(epsilons))
        for order, divergence in zip(orders, curve, strict=True):
            scale = (order - 1) * math.log1p(-1 / order) - math.log(order)
            least = np.minimum(least, (order - 1) * (divergence - epsilons) + scale)
        return np.exp(least)

    epsilon = np.asarray(at, np.float64)
    mirrored = 1 - np.exp(np.minimum(epsilon, 0.0)) * (1 - bound(-epsilon))
    return np.where(epsilon < 0, np.minimum(bound(epsilon), mirrored), bound(epsilon))


def _convex(at: NDArray[np.float64], deltas: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the greatest function under points that is convex in e^at, at the same places.

    >>> _convex(np.log([1.0, 2.0, 3.0]), np.array([1.0, 0.9, 0.0])).round(6).tolist()
    [1.0, 0.5, 0.0]
    """
    x = np.exp(at)
    hull: list[int] = []
    for place in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            falls = (deltas[b] - deltas[a]) * (x[place] - x[a])
            if falls < (deltas[place] - deltas[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(place)
    convex: NDArray[np.float64] = np.interp(x, x[hull], deltas[hull])
    return np.minimum.accumulate(np.clip(convex, 0.0, 1.0))


def _dominating(deltas: Callable[[NDArray[np.float64]], Any], last: float) -> Any:
    """Return the losses of the pair whose hockey-stick divergence at each epsilon is given.

    There is such a pair where the divergence falls and is convex in e^epsilon, and a pair whose
    divergence is at least that of a mechanism everywhere may stand for it in any composition (Zhu,
    Dong and Wang, 2022, on dominating pairs). Between points of the grid it is rounded up.

    Args:
        deltas: the divergences at some epsilons.
        last: epsilon from which on the divergence is constant, and minus the first one.
    """
    of = import_module("dp_accounting.pld.pld_pmf")
    last_place = math.ceil(last / GRID)
    grid = np.arange(-last_place, last_place + 1, dtype=np.float64) * GRID
    divergences = deltas(grid)
    return of.create_pmf_pessimistic_connect_dots_fixed_gap(
        GRID, -last_place, last_place, divergences
    )


def concentrated_delta(rho: float, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the delta at each epsilon `at` that no rho-zCDP mechanism exceeds.

    It is the least over all orders 1 + a of exp(a (rho (1 + a) - epsilon)) / a (1 - 1/(1 + a))^(1 +
    a) (Canonne, Kamath and Steinke, 2020, corollary 13). Its logarithm is convex in a, and where it
    is least, d log(a) / d epsilon = 1 / (2 rho a + 1 / (1 + a)) <= 1 + a: so the least is convex in
    e^epsilon.

    >>> concentrated_delta(0.5, np.array([4.0])).round(6).tolist()  # of Gaussian noise 1: 0.000047
    [0.000196]
    """
    epsilon = np.asarray(at, np.float64)
    # Where the derivative 2 rho a + rho - epsilon - log(1 + 1/a) is 0, by halving in log(a): the
    # last term is below 2 rho at the upper end, and above |rho - epsilon| + 2 at the lower one.
    high = np.log(np.maximum((epsilon + rho) / (2 * rho), 1 / np.expm1(2 * min(rho, 300.0))) + 1)
    # Every a gives a bound, so that the least that floats hold will do.
    low = np.maximum(-(np.abs(epsilon - rho) + 3 + 2 * rho), -700.0)
    for _ in range(60):
        middle = (low + high) / 2
        a = np.exp(middle)
        falls = 2 * rho * a + rho - epsilon - np.log1p(1 / a) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    a = np.exp(high)
    exponents = a * (rho * (1 + a) - epsilon) - np.log(a) - (1 + a) * np.log1p(1 / a)
    deltas: NDArray[np.float64] = np.minimum.accumulate(np.exp(np.minimum(exponents, 0.0)))
    return deltas


def exponential_delta(epsilon: float, at: float) -> float:
    """Return the delta at an epsilon `at` of the worst exponential mechanism of parameter epsilon.

    Its losses lie in an interval [t - epsilon, t] (Durfee and Rogers, 2019: bounded range). The
    worst pair for a t has two outcomes, where the loss is t with probability p = (e^epsilon - e^t)
    / (e^epsilon - 1); its hockey-stick divergence p (1 - e^(at - t)) is largest at t = (epsilon +
    at) / 2. That maximum is convex in e^at, so one pair has it as divergence and dominates all
    in composition, too (Zhu, Dong and Wang, 2022: dominating pairs).

    >>> exponential_delta(1.0, 1.0), exponential_delta(1.0, 2.0)
    (0.0, 0.0)
    >>> round(exponential_delta(1.0, 0.0), 4)  # tanh(1/4)
    0.2449
    """
    if at >= epsilon:
        return 0.0
    if at <= -epsilon:
        return -math.expm1(at)
    # (e^(epsilon/2) - e^(at/2))^2 / (e^epsilon - 1), without overflow.
    return math.expm1((at - epsilon) / 2) ** 2 / -math.expm1(-epsilon)


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
        epsilon, delta: of everything: the calibrated mechanism together with those spent before.
        rate: chance of a unit to be in a batch.
        steps: number of batches.
        before: mechanisms already spent.
        accountant: who computes epsilon; RDP asks for more noise.

    Raises:
        GenieError: epsilon is not finite, or earlier spends leave nothing (B004); rate or steps are
            out of range (B002).
    """
    return least_noise(
        lambda noise: (PoissonGaussian(noise, rate, steps),),
        epsilon,
        delta,
        before=before,
        accountant=accountant,
    )


def least_noise(
    mechanisms: Callable[[float], Sequence[Mechanism]],
    epsilon: float,
    delta: float,
    *,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = DEFAULT,
) -> float:
    """Return the smallest noise that keeps the whole within epsilon, at four decimals.

    Args:
        mechanisms: the mechanisms for a noise; more noise costs less.
        epsilon, delta: of everything, earlier spends included.
        before: mechanisms already spent.
        accountant: who computes epsilon.

    >>> least_noise(lambda noise: (Laplace(noise),), 0.5, 0.0)
    2.0

    Raises:
        GenieError: epsilon is not finite, or earlier spends leave nothing (B004).
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
        return epsilon_of((*before, *mechanisms(units / FINENESS)), delta, by) - epsilon

    units_of_noise = _smallest(lambda units: gap(units, "rdp"), start=FINENESS)
    if accountant == "pld":
        # From the upper bound down: distributions grow without limit as the noise goes to nothing.
        units_of_noise = _smallest(lambda units: gap(units, "pld"), start=units_of_noise or _MOST)
    if units_of_noise is None:
        message = f"no noise gives epsilon {epsilon:.4g} at delta {delta:.4g}"
        hint = "allow a greater epsilon or delta"
        raise GenieError(Problem("B004", message, hint=hint))
    return units_of_noise / FINENESS


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
    smallest = _between(gap, low, high) if gap(low) > 0 else low
    while gap(smallest) > 0:
        smallest += 1
    while smallest > 1 and gap(smallest - 1) <= 0:
        smallest -= 1
    return smallest


def _between(gap: Callable[[int], float], low: int, high: int) -> int:
    """Return a number next to where the gap becomes positive, going down from high to low."""
    brentq = import_module("scipy.optimize").brentq
    # Without noise epsilon is infinite, which cannot be interpolated.
    root: float = brentq(lambda x: min(gap(round(x)), 1e6), low, high, xtol=0.5)
    return math.ceil(root)
