"""AIM: an adaptive and iterative mechanism that spends its budget on the marginals that matter.

McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for Differentially
Private Synthetic Data" (VLDB 2022), algorithms 2 to 4, for the workload of all 2-way marginals.
Beside it its baselines: columns without dependence, and no measurements at all.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from genie_dp.private.ledger.mechanisms import Exponential, Gaussian, Mechanism
from genie_dp.private.prior.histogram import Noise, outside_each, simultaneous_width
from genie_dp.private.tables.joint import (
    F64,
    GRAIN,
    Clique,
    Joint,
    Measurement,
    Potentials,
    Records,
    cells_of,
    mirror_descent,
    pairs,
    total_of,
)

# Of the paper, section 4: share of a round that is spent on measuring, rounds for each column.
MEASURING = 0.9
ROUNDS = 16
# Steps of a fit between rounds, which begins where the last one ended, and of the last one.
BETWEEN, AT_THE_END = 50, 2000
# The mean of |x| for x of standard normal distribution.
_MEAN_NOISE = math.sqrt(2 / math.pi)

Listen = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FittedJoint:
    """A distribution with the noisy marginals that it was made of.

    Attributes:
        joint: the distribution.
        measurements: the noisy marginals, in order.
        total: the noisy number of records; None where nothing was measured.
        mechanisms: those on the records, in order.
    """

    joint: Joint
    measurements: tuple[Measurement, ...] = ()
    total: float | None = None
    mechanisms: tuple[Mechanism, ...] = ()


@dataclass(slots=True)
class _Account:
    """The remaining rho, and how it is spent from now on (algorithm 2, lines 2 to 5).

    Attributes:
        rho: of everything.
        deviation: of the next measurement.
        epsilon: of the next selection.
        used: the spent rho.
        mechanisms: those that it was spent on.
    """

    rho: float
    deviation: float
    epsilon: float
    used: float = 0.0
    mechanisms: list[Mechanism] = field(default_factory=list)

    @classmethod
    def from_rho(cls, rho: float, columns: int) -> "_Account":
        each = rho / (ROUNDS * columns)
        return cls(
            rho, measuring_noise(MEASURING * each), selection_epsilon((1 - MEASURING) * each)
        )

    def spend(self, mechanism: Mechanism) -> None:
        self.used += zcdp(mechanism)
        self.mechanisms.append(mechanism)

    def settle(self) -> bool:
        """Prepare a round; return whether it is the last, which takes all of the remaining rho."""
        rest = self.rho - self.used
        if rest > 2 * (zcdp(Gaussian(self.deviation)) + zcdp(Exponential(self.epsilon))):
            return False
        self.deviation = measuring_noise(MEASURING * rest)
        self.epsilon = selection_epsilon((1 - MEASURING) * rest)
        return True

    def anneal(self) -> None:
        """Spend four times as much on further rounds: the remaining errors are below the noise."""
        self.epsilon, self.deviation = 2 * self.epsilon, self.deviation / 2


def zcdp(mechanism: Mechanism) -> float:
    """Return the rho of a mechanism under zero-concentrated DP.

    Gaussian: 1 / (2 sigma^2) (Bun and Steinke, 2016); exponential: epsilon^2 / 8 (Cesar and Rogers,
    2021).

    >>> zcdp(Gaussian(1.0, 2)), zcdp(Exponential(2.0))
    (1.0, 0.5)
    """
    match mechanism:
        case Gaussian(noise, count):
            return count / (2 * noise**2)
        case Exponential(epsilon, count):
            return count * epsilon**2 / 8
    raise AssertionError(f"no mechanism of a table: {mechanism}")


def measuring_noise(rho: float) -> float:
    """Return the noise multiplier with which one measurement costs rho.

    >>> measuring_noise(0.5)
    1.0
    """
    return 1 / math.sqrt(2 * rho)


def selection_epsilon(rho: float) -> float:
    """Return the epsilon with which one selection costs rho.

    >>> selection_epsilon(0.5)
    2.0
    """
    return math.sqrt(8 * rho)


def measure(records: Records, clique: Clique, deviation: float, rng: Random) -> Measurement:
    """Return a marginal with Gaussian noise on each count, rounded to whole numbers.

    A unit moves it by at most 1 in L2 norm (`Records`), so that the deviation is the noise
    multiplier.
    """
    exact = records.marginal(clique)
    noises = Noise("gaussian", deviation, 1 / GRAIN).draw(exact.size, rng).reshape(exact.shape)
    return Measurement(clique, np.rint(exact + noises), deviation)


def workload_weights(columns: int) -> dict[Clique, float]:
    """Return the candidates with their weights: all columns and pairs.

    A candidate counts for the columns that it shares with each pair (section 4.2); weights are
    scaled so that the greatest is 1.

    >>> workload_weights(3)
    {(0,): 0.5, (1,): 0.5, (2,): 0.5, (0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
    """
    workload = pairs(columns)
    candidates = dict.fromkeys([*((place,) for place in range(columns)), *workload])
    shared = {c: sum(len(set(c) & set(pair)) for pair in workload) for c in candidates}
    return {clique: count / max(shared.values()) for clique, count in shared.items()}


def score(exact: F64, fitted: F64, weight: float, deviation: float) -> float:
    """Return how much is to be gained by measuring a marginal (equation 2).

    Its L1 error, less the error that the measurement's own noise would have. One unit moves the
    exact counts by at most 1 in L1 norm, and so the score by at most the weight.

    >>> score(np.array([9.0, 1.0]), np.array([5.0, 5.0]), 0.5, 0.0)
    4.0
    """
    error = float(np.abs(exact - fitted).sum())
    return weight * (error - _MEAN_NOISE * deviation * exact.size)


def choose(scores: Mapping[Clique, float], epsilon: float, rng: Random) -> Clique:
    """Return a clique by the exponential mechanism: exp(epsilon * score / 2), for sensitivity 1."""
    logs = np.array(list(scores.values())) * epsilon / 2
    reached = np.cumsum(np.exp(logs - logs.max()))
    place = int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
    return list(scores)[min(place, len(scores) - 1)]


def aim(
    records: Records,
    rho: float,
    rng: Random,
    *,
    most_cells: int,
    listen: Listen,
) -> FittedJoint:
    """Return a distribution of records under rho-zCDP.

    Args:
        records: private ones.
        rho: of everything; it must have been recorded before.
        rng: the system's generator; another one only in tests.
        most_cells: numbers that the distribution may take at the end; the usable share of them is
            the spent share of rho (algorithm 2, line 9).
        listen: called with each round, nothing private.
    """
    domain = records.domain
    account = _Account.from_rho(rho, len(domain))
    # Every column by itself comes first (algorithm 3).
    account.spend(Gaussian(account.deviation, len(domain)))
    columns = [measure(records, (place,), account.deviation, rng) for place in range(len(domain))]
    fitted = fit_measurements(domain, columns, BETWEEN)
    weights = workload_weights(len(domain))
    exact = {clique: records.marginal(clique) for clique in weights}
    is_last = False
    while not is_last:
        is_last = account.settle()
        room = most_cells * (account.used / rho)
        # Those that the distribution has already are always among them. What this depends on was
        # released.
        has = set(fitted.joint.potentials)
        candidates = [
            clique
            for clique in weights
            if clique in has or len(clique) == 1 or cells_of(domain, {*has, clique}) <= room
        ]
        account.spend(Exponential(account.epsilon))
        scores = {
            clique: score(
                exact[clique],
                (fitted.total or 0) * fitted.joint.marginal(clique),
                weights[clique],
                account.deviation,
            )
            for clique in candidates
        }
        clique = choose(scores, account.epsilon, rng)
        before = fitted.joint.marginal(clique)
        account.spend(Gaussian(account.deviation))
        measurements = (*fitted.measurements, measure(records, clique, account.deviation, rng))
        start, iterations = fitted.joint.potentials, AT_THE_END if is_last else BETWEEN
        fitted = fit_measurements(domain, measurements, iterations, start)
        moved = float(np.abs(fitted.joint.marginal(clique) - before).sum()) * (fitted.total or 0)
        listen(f"measured {clique}: {100 * account.used / rho:.0f} % of rho spent")
        if moved <= _MEAN_NOISE * account.deviation * before.size:
            account.anneal()
    return replace(fitted, mechanisms=tuple(account.mechanisms))


def fit_measurements(
    domain: tuple[int, ...],
    measurements: Sequence[Measurement],
    iterations: int,
    start: Potentials | None = None,
) -> FittedJoint:
    """Return the distribution of noisy marginals, from other factors or the uniform one on."""
    total = total_of(measurements)
    joint = mirror_descent(
        domain, measurements, total=total, start=start or {}, iterations=iterations
    )
    return FittedJoint(joint, tuple(measurements), total)


@dataclass(frozen=True, slots=True)
class ConfirmedParts:
    """The parts of noisy marginals that are more than noise: with 95 % all of them.

    Attributes:
        values: column -> places of its values that some record has.
        pairs: pairs of columns that are not independent.
        looked_at: how many marginals there could be, each of which has an equal part of the chance.
    """

    values: Mapping[int, tuple[int, ...]]
    pairs: tuple[Clique, ...]
    looked_at: int


def confirm_parts(measurements: Sequence[Measurement], most: int) -> ConfirmedParts:
    """Return the parts that are more than noise: post-processing of the measurements.

    The choice of the next measurement depends on earlier measurements, never on its own noise. So
    each marginal is looked at by itself.

    Args:
        measurements: the noisy marginals.
        most: how many there could have been, which no record decides.
    """
    outside = outside_each(max(most, len(measurements)))
    values: defaultdict[int, set[int]] = defaultdict(set)
    together: dict[Clique, None] = {}
    for measured in measurements:
        counts, is_pair = measured.counts, len(measured.clique) == 2
        each = outside_each(len(measured.clique) + is_pair, outside)
        for axis, place in enumerate(measured.clique):
            others = counts.size // counts.shape[axis]
            noise = Noise("gaussian", measured.deviation * math.sqrt(others), 1 / GRAIN)
            # The counts that are added up were rounded each.
            least = simultaneous_width(noise, counts.shape[axis], each) + (others - 1) / 2
            sums = counts.sum(axis=tuple(a for a in range(counts.ndim) if a != axis))
            values[place].update(np.flatnonzero(sums > least).tolist())
        if is_pair and _is_dependent(counts, measured.deviation, each):
            together[measured.clique] = None
    places = {place: tuple(sorted(values_of_column)) for place, values_of_column in values.items()}
    return ConfirmedParts(places, tuple(together), max(most, len(measurements)))


def _is_dependent(counts: F64, deviation: float, outside: float) -> bool:
    """Return whether two columns are not independent, by their noisy counts.

    Each cell is compared with its estimate for independent columns from the noisy sums. Beside the
    noise counts differ as those of records drawn at random do.
    """
    total = float(counts.sum())
    if total <= 0:
        return False
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / total
    # The sums are within so many deviations, too.
    tail = outside_each(counts.size + sum(counts.shape), outside) / 2
    z = Noise("gaussian", 1.0).quantile(tail)
    spread = z * np.sqrt(deviation**2 + np.maximum(expected, 0.0))
    of_sums = z**2 * deviation**2 * math.sqrt(counts.size) / total
    # Bernstein's inequality for few records, and half a record for rounding.
    more = z**2 / 6 + 0.5
    return bool((np.abs(counts - expected) > spread + of_sums + more).any())


def deviation_of(rho: float, columns: int) -> float:
    """Return the noise with which measuring every column by itself costs rho.

    >>> deviation_of(2.0, 4)
    1.0
    """
    return measuring_noise(rho / columns)


def independent(records: Records, rho: float, rng: Random) -> FittedJoint:
    """Return the product of the columns' noisy marginals, under rho-zCDP."""
    domain = records.domain
    deviation = deviation_of(rho, len(domain))
    columns = [measure(records, (place,), deviation, rng) for place in range(len(domain))]
    fitted = fit_measurements(domain, columns, AT_THE_END)
    return replace(fitted, mechanisms=(Gaussian(deviation, len(domain)),))
