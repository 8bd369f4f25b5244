"""Intervals of attacks, and lower bounds of epsilon from guesses who was trained on.

Each of m rows was trained on by the toss of a coin. An attack guesses about the surest ones, and
abstains on the others (Steinke, Nasr and Jagielski 2023). The possible number of right guesses
follows from the guarantee of the mechanism (Mahloujifar, Melis and Chaudhuri 2024): of (epsilon,
delta)-DP, or of its whole trade-off function, which is tighter where noise is known to be Gaussian.
Rows need not be independent, so that one training is enough.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.rng import child_seed

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
_DRAWS = 1000


def scipy_stats() -> Any:
    """Return the module scipy.stats.

    Raises:
        GenieError: it is not installed (N050).
    """
    try:
        return import_module("scipy.stats")
    except ImportError as problem:
        hint = "pip install 'genie_dp[private]'"
        raise GenieError(Problem("N050", "audits need scipy", hint=hint)) from problem


def lower_bound(count: Any, of: Any, alpha: float) -> Any:
    """Return the one-sided lower bound of a share (Clopper and Pearson, 1934), array by array.

    The share is below it with a probability of at most `alpha`.

    >>> round(float(lower_bound(10, 10, 0.05)), 4)
    0.7411
    """
    count, of = np.asarray(count, float), np.asarray(of, float)
    bound = scipy_stats().beta.ppf(alpha, np.maximum(count, 1e-9), of - count + 1)
    return np.where(count <= 0, 0.0, bound)


def upper_bound(count: Any, of: Any, alpha: float) -> Any:
    """Return the one-sided upper bound of a share.

    >>> round(float(upper_bound(0, 10, 0.05)), 4)
    0.2589
    """
    count, of = np.asarray(count, float), np.asarray(of, float)
    bound = scipy_stats().beta.ppf(1 - alpha, count + 1, np.maximum(of - count, 1e-9))
    return np.where(count >= of, 1.0, bound)


def share_with_interval(count: int, of: int, *, level: float = LEVEL) -> dict[str, float]:
    """Return a share with its exact interval, for JSON.

    >>> share_with_interval(0, 10)["high"] > 0.3
    True
    """
    rest = (1 - level) / 2
    low, high = float(lower_bound(count, of, rest)), float(upper_bound(count, of, rest))
    return {"value": count / of, "low": low, "high": high, "found": count, "of": of}


def bootstrap(
    samples: Sequence[Floats],
    figure: Callable[..., float],
    *,
    name: str,
    seed: int,
    level: float = LEVEL,
    draws: int = _DRAWS,
) -> dict[str, float]:
    """Return a figure of samples with its percentile bootstrap interval, for JSON.

    Each sample is drawn again by itself (Efron and Tibshirani, 1993, section 8.3).

    >>> found = bootstrap([np.array([1.0, 2, 3])], np.mean, name="mean", seed=0)
    >>> found["low"] <= found["value"] == 2 <= found["high"]
    True
    """
    rng = np.random.default_rng(child_seed(seed, "audit", name))
    values = [
        figure(*(sample[rng.integers(0, len(sample), len(sample))] for sample in samples))
        for _ in range(draws)
    ]
    rest = (1 - level) / 2
    low, high = np.quantile(values, [rest, 1 - rest])
    return {"value": float(figure(*samples)), "low": float(low), "high": float(high)}


Method = Literal["one run", "one run, noise"]
# Shares of the rows that are taken for members, and for others: the surest ones at either end. They
# are chosen before looking, and the level is divided by how many they are. Some models know a few
# rows by heart and nothing of the others, which guesses at one end alone find.
GUESSED = ((0.5, 0.5), (0.25, 0.25), (0.1, 0.1), (0.1, 0.0), (0.02, 0.0))
LARGEST = 50.0
_STEPS = 40

Least = Callable[[float], float]
"""Returns the least chance that an event has with one row more or less, from its chance."""


@dataclass(frozen=True, slots=True)
class EpsilonBound:
    """A lower bound of epsilon.

    Attributes:
        method: how it was found.
        epsilon: it; 0 where nothing is proved.
        counts: the counts that it was computed from.
    """

    method: Method
    epsilon: float
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Guesses:
    """The guesses of an attack.

    Attributes:
        rows: that a coin was tossed for.
        guesses: how many it guessed about.
        right: how many of these were right.
    """

    rows: int
    guesses: int
    right: int

    def as_dict(self) -> dict[str, int]:
        """Return the fields for JSON."""
        return {"rows": self.rows, "guesses": self.guesses, "right": self.right}


def threshold_at(ordered: Floats, place: int) -> float:
    """Return a threshold between a score and the next lower one, nearer to neither.

    >>> threshold_at(np.array([1.0, 2.0]), 1), threshold_at(np.array([1.0, 2.0]), 0)
    (1.5, 1.0)
    """
    return float(ordered[max(0, place - 1) : place + 1].mean())


def guess(members: Floats, others: Floats, *, seed: int | None = None) -> tuple[Guesses, ...]:
    """Return the guesses about the surest rows, once for each share of `GUESSED`.

    Args:
        members: scores of rows that were trained on, higher for rows that seem to be.
        others: scores of rows that were not.
        seed: where no coin decided how many there are of each side: of as many rows of each as the
            smaller side has. None where coins were tossed: all rows count.

    >>> guess(np.array([3.0, 4.0]), np.array([1.0, 2.0]))[0]
    Guesses(rows=4, guesses=4, right=4)
    """
    if seed is not None:
        rng = np.random.default_rng(child_seed(seed, "audit", "even"))
        many = min(len(members), len(others))
        members, others = (rng.permutation(values)[:many] for values in (members, others))
    scores = np.concatenate([members, others])
    is_member = np.repeat([True, False], [len(members), len(others)])
    guesses = []
    # Equal scores: ties are no help on either side.
    first, last = np.lexsort((is_member, -scores)), np.lexsort((~is_member, scores))
    for above, below in GUESSED:
        top, end = first[: math.floor(above * len(scores))], last[: math.floor(below * len(scores))]
        right = int(is_member[top].sum()) + int((~is_member[end]).sum())
        guesses.append(Guesses(len(scores), len(top) + len(end), right))
    return tuple(guesses)


def perfect_guesses(rows: int) -> tuple[Guesses, ...]:
    """Return the guesses of an attack that makes no mistake."""
    counts = [sum(math.floor(share * rows) for share in ends) for ends in GUESSED]
    return tuple(Guesses(rows, count, count) for count in counts)


def least_under(epsilon: float, delta: float) -> Least:
    """Return the trade-off function of (epsilon, delta)-DP, as `Least`."""
    factor = math.exp(epsilon)

    def least(chance: float) -> float:
        return max(0.0, (chance - delta) / factor, 1 - delta - factor * (1 - chance))

    return least


def is_refuted(guessed: Guesses, least: Least, alpha: float) -> bool:
    """Return whether so many right guesses have a chance below alpha under a trade-off function.

    Let p_i be the chance of i right ones among r guesses about m rows. That a row drawn at random
    is guessed right, and i are in all, has the chance p_i i / m. With the coin of that row the
    other way round, the same guesses are i - 1 right ones, and that row is guessed wrong: which has
    the chance p_(i-1) (r - i + 1) / m. So of the sums over all i from some number on, the second is
    at least the trade-off function of the first (Mahloujifar, Melis and Chaudhuri 2024). If `right`
    had the chance alpha, one less would have the chance that follows from that, and so on down to
    none. Where these chances are more than 1 together, it has less than alpha.

    >>> is_refuted(Guesses(10, 10, 10), least_under(0.0, 0.0), 2**-10 + 1e-9)
    True
    >>> is_refuted(Guesses(10, 10, 10), least_under(0.0, 0.0), 2**-10 - 1e-9)
    False
    """
    rows, guesses, right = guessed.rows, guessed.guesses, guessed.right
    # Shares of right and of wrong guesses, in all outcomes with as many right ones or more.
    correct, wrong = alpha * right / rows, alpha * (guesses - right) / rows
    whole = guesses / rows
    for count in range(right - 1, -1, -1):
        more = max(wrong, least(correct))
        correct += count / (guesses - count) * (more - wrong)
        wrong = more
        if correct + wrong > whole:
            return True
    return False


def refutes_any(guessed: Sequence[Guesses], least: Least, alpha: float) -> Guesses | None:
    """Return the first of several guesses that refute a trade-off function together, at alpha."""
    return next(
        (
            guesses
            for guesses in guessed
            if guesses.guesses and is_refuted(guesses, least, alpha / len(guessed))
        ),
        None,
    )


def epsilon_of_guesses(guessed: Sequence[Guesses], delta: float, alpha: float) -> float:
    """Return the largest epsilon that guesses refute, at a delta.

    >>> round(epsilon_of_guesses(perfect_guesses(1000), 1e-5, 0.05), 2)
    5.38
    >>> epsilon_of_guesses([Guesses(1000, 100, 50)], 0.0, 0.05)
    0.0
    """
    low, high = 0.0, LARGEST
    if refutes_any(guessed, least_under(0.0, delta), alpha) is None:
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_below = refutes_any(guessed, least_under(middle, delta), alpha) is not None
        low, high = (middle, high) if is_below else (low, middle)
    return low


def bound_by_guesses(guessed: Sequence[Guesses], delta: float, alpha: float) -> EpsilonBound:
    """Return the bound of all guesses together.

    Args:
        guessed: as `guess` gives them.
        delta: of the claim.
        alpha: chance that the bound is too large.
    """
    epsilon = epsilon_of_guesses(guessed, delta, alpha)
    # Those that refute it alone; where nothing is proved, all guesses.
    by = refutes_any(guessed, least_under(epsilon, delta), alpha) or guessed[0]
    return EpsilonBound("one run", epsilon, by.as_dict())
