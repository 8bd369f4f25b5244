"""Intervals of attacks, and lower bounds of epsilon from a membership test.

Both bounds have their threshold chosen on one half of the rows, and count on the other:

- By error rates (Jagielski et al. 2020, section 4; Nasr et al. 2021): an (epsilon, delta)-DP model
  allows no test with (1 - delta - FPR) / FNR > e^epsilon, nor with the two exchanged. Their upper
  bounds are those of Clopper and Pearson. It takes rows for independent trials.
- By right guesses in one run (Steinke, Nasr and Jagielski 2023, theorem 5.2): if each of m rows was
  trained on by the toss of a coin, the number of right ones of r guesses is at most a binomial one
  with e^epsilon / (1 + e^epsilon), plus what delta allows. Rows need not be independent.
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


Method = Literal["error rates", "one run"]
METHODS: tuple[Method, ...] = ("error rates", "one run")
# Shares of the rows about which "one run" guesses: surest ones of either side.
_GUESSED = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
_STEPS = 40
_LARGEST = 50.0


@dataclass(frozen=True, slots=True)
class EpsilonBound:
    """A lower bound of epsilon.

    Attributes:
        method: how it was found.
        epsilon: it; 0 where nothing is proved.
        counts: what it was found from.
    """

    method: Method
    epsilon: float
    counts: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {"method": self.method, "epsilon": self.epsilon, "counts": self.counts}


def threshold_at(ordered: Floats, place: int) -> float:
    """Return a threshold between a score and the next lower one, nearer to neither.

    >>> threshold_at(np.array([1.0, 2.0]), 1), threshold_at(np.array([1.0, 2.0]), 0)
    (1.5, 1.0)
    """
    return float(ordered[max(0, place - 1) : place + 1].mean())


def epsilon_of_errors(false_positive: Any, false_negative: Any, delta: float) -> Any:
    """Return the epsilon that error rates prove, array by array (Kairouz et al., 2015).

    >>> round(float(epsilon_of_errors(0.1, 0.1, 0.0)), 3)
    2.197
    >>> float(epsilon_of_errors(0.6, 0.6, 0.0))
    0.0
    """
    a, b = np.asarray(false_positive, float), np.asarray(false_negative, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log((1 - delta - a) / b), np.log((1 - delta - b) / a)
    epsilon = np.fmax(*(np.nan_to_num(ratio, nan=0.0) for ratio in ratios))
    return np.clip(epsilon, 0.0, _LARGEST)


def bound_by_errors(
    members: Floats, others: Floats, delta: float, alpha: float, seed: int
) -> EpsilonBound:
    """Return the bound by error rates.

    Args:
        members, others: scores, higher for rows that seem to be members.
        delta: of the claim.
        alpha: chance that the bound is too large.
        seed: of the halves.
    """
    (chosen, held), (chosen_others, held_others) = (
        _halves(values, seed, name) for values, name in ((members, "members"), (others, "others"))
    )
    # Each threshold between two scores of the first half; what it would prove there.
    thresholds = np.unique(np.concatenate([chosen, chosen_others]))
    missed = np.searchsorted(np.sort(chosen), thresholds, side="left")
    wrong = len(chosen_others) - np.searchsorted(np.sort(chosen_others), thresholds, side="left")
    proved = epsilon_of_errors(
        upper_bound(wrong, len(chosen_others), alpha / 2),
        upper_bound(missed, len(chosen), alpha / 2),
        delta,
    )
    threshold = threshold_at(thresholds, int(np.argmax(proved)))
    false_negative = int((held < threshold).sum())
    false_positive = int((held_others >= threshold).sum())
    epsilon = epsilon_of_errors(
        upper_bound(false_positive, len(held_others), alpha / 2),
        upper_bound(false_negative, len(held), alpha / 2),
        delta,
    )
    counts = {
        "members": len(held),
        "missed": false_negative,
        "others": len(held_others),
        "wrong": false_positive,
    }
    return EpsilonBound("error rates", float(epsilon), counts)


def most_by_errors(members: int, others: int, delta: float, alpha: float) -> float:
    """Return what `by_errors` says where a threshold makes no error: no attack proves more.

    >>> round(most_by_errors(40, 40, 1e-5, 0.05), 2)
    1.6
    """
    held, held_others = members - members // 2, others - others // 2
    rates = upper_bound(0, held_others, alpha / 2), upper_bound(0, held, alpha / 2)
    return float(epsilon_of_errors(*rates, delta))


def _halves(values: Floats, seed: int, name: str) -> tuple[Floats, Floats]:
    order = np.random.default_rng(child_seed(seed, "audit", "halves", name)).permutation(
        len(values)
    )
    middle = len(values) // 2
    return values[order[:middle]], values[order[middle:]]


def bound_by_guesses(
    members: Floats, others: Floats, delta: float, alpha: float, seed: int
) -> EpsilonBound:
    """Return the bound by right guesses; see `by_errors` for the arguments.

    As many rows of each side as the smaller has.
    """
    many = min(len(members), len(others))
    rng = np.random.default_rng(child_seed(seed, "audit", "even"))
    even = [rng.permutation(values)[:many] for values in (members, others)]
    halves = [_halves(values, seed, name) for values, name in zip(even, ("m", "o"), strict=True)]
    (members, held), (others, held_others) = halves
    pairs = [(a, b) for a in (0.0, *_GUESSED) for b in (0.0, *_GUESSED) if 0 < a + b <= 1]
    guesses_of = [_guesses(members, others, *pair) for pair in pairs]
    # To choose by, delta does not matter much, and without it there is a formula.
    shares = lower_bound(
        [right for _, right in guesses_of], [max(1, count) for count, _ in guesses_of], alpha
    )
    guesses, right = _guesses(held, held_others, *pairs[int(np.argmax(shares))])
    rows = len(held) + len(held_others)
    epsilon = epsilon_of_guesses(rows, guesses, right, delta, alpha)
    return EpsilonBound("one run", epsilon, {"rows": rows, "guesses": guesses, "right": right})


def most_by_guesses(members: int, others: int, delta: float, alpha: float) -> float:
    """Return what `by_guesses` says where every guess is right: no attack proves more.

    >>> round(most_by_guesses(40, 40, 0.0, 0.05), 2)
    2.55
    """
    many = min(members, others)
    rows = 2 * (many - many // 2)
    return epsilon_of_guesses(rows, rows, rows, delta, alpha)


def _guesses(members: Floats, others: Floats, above: float, below: float) -> tuple[int, int]:
    """Return guesses and right ones when the surest shares at both ends are guessed about."""
    scores = np.concatenate([members, others])
    # Equal scores: others first, so that ties are no help on either side.
    is_member = np.repeat([True, False], [len(members), len(others)])
    top = np.lexsort((is_member, -scores))[: math.floor(above * len(scores))]
    end = np.lexsort((~is_member, scores))[: math.floor(below * len(scores))]
    right = int(is_member[top].sum()) + int((~is_member[end]).sum())
    return len(top) + len(end), right


def epsilon_of_guesses(rows: int, guesses: int, right: int, delta: float, alpha: float) -> float:
    """Return the largest epsilon that so many right guesses refute (theorem 5.2).

    >>> round(epsilon_of_guesses(1000, 100, 100, 0.0, 0.05), 2)
    3.49
    >>> epsilon_of_guesses(1000, 100, 50, 0.0, 0.05)
    0.0
    """
    if not guesses or chance_of(rows, guesses, right, 0.0, delta) > alpha:
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        refuted = chance_of(rows, guesses, right, middle, delta) <= alpha
        low, high = (middle, high) if refuted else (low, middle)
    return low


def chance_of(rows: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Return how likely so many right guesses are at most, if the model is (epsilon, delta)-DP.

    >>> chance_of(10, 10, 10, 0.0, 0.0) == 2**-10
    True
    """
    binomial = scipy_stats().binom
    share = 1 / (1 + math.exp(-epsilon))
    beta = float(binomial.sf(right - 1, guesses, share))
    # The chance of v - i or more, less that of v, spread over i: what delta can move (their D).
    below = np.cumsum(binomial.pmf(np.arange(right - 1, -1, -1), guesses, share))
    alpha = float((below / np.arange(1, len(below) + 1)).max()) if len(below) else 0.0
    return min(1.0, beta + 2 * rows * delta * alpha)


def bound_epsilon(
    members: npt.ArrayLike, others: npt.ArrayLike, *, delta: float, alpha: float, seed: int
) -> tuple[EpsilonBound, ...]:
    """Return both bounds; each is too large with a chance of at most `alpha`."""
    inside, outside = np.asarray(members, float), np.asarray(others, float)
    if min(len(inside), len(outside)) < 4:
        return ()
    return (
        bound_by_errors(inside, outside, delta, alpha, seed),
        bound_by_guesses(inside, outside, delta, alpha, seed),
    )
