"""Lower bounds of epsilon from a membership test.

Two of them, both with the threshold chosen on one half of the rows and counted on the other:

- By error rates (Jagielski et al. 2020, section 4; Nasr et al. 2021): an (epsilon, delta)-DP model
  allows no test with (1 - delta - FPR) / FNR > e^epsilon, nor with the two exchanged. Their upper
  bounds are those of Clopper and Pearson. It takes rows for independent trials.
- By right guesses in one run (Steinke, Nasr and Jagielski 2023, theorem 5.2): if each of m rows was
  trained on by the toss of a coin, the number of right ones of r guesses is at most a binomial one
  with e^epsilon / (1 + e^epsilon), plus what delta allows. Rows need not be independent.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genie_dp.private.audit.membership import between
from genie_dp.private.audit.statistics import Floats, highest, lowest, scipy_stats
from genie_dp.rng import child_seed

Method = Literal["error rates", "one run"]
METHODS: tuple[Method, ...] = ("error rates", "one run")
# Shares of the rows about which "one run" guesses: surest ones of either side.
_GUESSED = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
_STEPS = 40
_LARGEST = 50.0


@dataclass(frozen=True, slots=True)
class Bound:
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


def of_errors(false_positive: Any, false_negative: Any, delta: float) -> Any:
    """Return the epsilon that error rates prove, array by array (Kairouz et al., 2015).

    >>> round(float(of_errors(0.1, 0.1, 0.0)), 3)
    2.197
    >>> float(of_errors(0.6, 0.6, 0.0))
    0.0
    """
    a, b = np.asarray(false_positive, float), np.asarray(false_negative, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = np.log((1 - delta - a) / b), np.log((1 - delta - b) / a)
    found = np.fmax(np.nan_to_num(one, nan=0.0), np.nan_to_num(other, nan=0.0))
    return np.clip(found, 0.0, _LARGEST)


def by_errors(members: Floats, others: Floats, delta: float, alpha: float, seed: int) -> Bound:
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
    every = np.unique(np.concatenate([chosen, chosen_others]))
    missed = np.searchsorted(np.sort(chosen), every, side="left")
    wrong = len(chosen_others) - np.searchsorted(np.sort(chosen_others), every, side="left")
    proved = of_errors(
        highest(wrong, len(chosen_others), alpha / 2),
        highest(missed, len(chosen), alpha / 2),
        delta,
    )
    threshold = between(every, int(np.argmax(proved)))
    false_negative = int((held < threshold).sum())
    false_positive = int((held_others >= threshold).sum())
    epsilon = of_errors(
        highest(false_positive, len(held_others), alpha / 2),
        highest(false_negative, len(held), alpha / 2),
        delta,
    )
    counts = {
        "members": len(held),
        "missed": false_negative,
        "others": len(held_others),
        "wrong": false_positive,
    }
    return Bound("error rates", float(epsilon), counts)


def most_by_errors(members: int, others: int, delta: float, alpha: float) -> float:
    """Return what `by_errors` says where a threshold makes no error: no attack proves more.

    >>> round(most_by_errors(40, 40, 1e-5, 0.05), 2)
    1.6
    """
    held, held_others = members - members // 2, others - others // 2
    rates = highest(0, held_others, alpha / 2), highest(0, held, alpha / 2)
    return float(of_errors(*rates, delta))


def _halves(values: Floats, seed: int, name: str) -> tuple[Floats, Floats]:
    order = np.random.default_rng(child_seed(seed, "audit", "halves", name)).permutation(
        len(values)
    )
    middle = len(values) // 2
    return values[order[:middle]], values[order[middle:]]


def by_guesses(members: Floats, others: Floats, delta: float, alpha: float, seed: int) -> Bound:
    """Return the bound by right guesses; see `by_errors` for the arguments.

    As many rows of each side as the smaller has.
    """
    many = min(len(members), len(others))
    rng = np.random.default_rng(child_seed(seed, "audit", "even"))
    even = [rng.permutation(values)[:many] for values in (members, others)]
    halves = [_halves(values, seed, name) for values, name in zip(even, ("m", "o"), strict=True)]
    (members, held), (others, held_others) = halves
    pairs = [(a, b) for a in (0.0, *_GUESSED) for b in (0.0, *_GUESSED) if 0 < a + b <= 1]
    counted = [_guesses(members, others, *pair) for pair in pairs]
    # To choose by, delta does not matter much, and without it there is a formula.
    shares = lowest([v for _, v in counted], [max(1, r) for r, _ in counted], alpha)
    guesses, right = _guesses(held, held_others, *pairs[int(np.argmax(shares))])
    rows = len(held) + len(held_others)
    epsilon = proved_by(rows, guesses, right, delta, alpha)
    return Bound("one run", epsilon, {"rows": rows, "guesses": guesses, "right": right})


def most_by_guesses(members: int, others: int, delta: float, alpha: float) -> float:
    """Return what `by_guesses` says where every guess is right: no attack proves more.

    >>> round(most_by_guesses(40, 40, 0.0, 0.05), 2)
    2.55
    """
    many = min(members, others)
    rows = 2 * (many - many // 2)
    return proved_by(rows, rows, rows, delta, alpha)


def _guesses(members: Floats, others: Floats, above: float, below: float) -> tuple[int, int]:
    """Return guesses and right ones when the surest shares at both ends are guessed about."""
    scores = np.concatenate([members, others])
    # Equal scores: others first, so that ties are no help on either side.
    is_member = np.repeat([True, False], [len(members), len(others)])
    top = np.lexsort((is_member, -scores))[: math.floor(above * len(scores))]
    end = np.lexsort((~is_member, scores))[: math.floor(below * len(scores))]
    right = int(is_member[top].sum()) + int((~is_member[end]).sum())
    return len(top) + len(end), right


def proved_by(rows: int, guesses: int, right: int, delta: float, alpha: float) -> float:
    """Return the largest epsilon that so many right guesses refute (theorem 5.2).

    >>> round(proved_by(1000, 100, 100, 0.0, 0.05), 2)
    3.49
    >>> proved_by(1000, 100, 50, 0.0, 0.05)
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


def bounds(
    members: npt.ArrayLike, others: npt.ArrayLike, *, delta: float, alpha: float, seed: int
) -> tuple[Bound, ...]:
    """Return both bounds; each is too large with a chance of at most `alpha`."""
    one, two = np.asarray(members, float), np.asarray(others, float)
    if min(len(one), len(two)) < 4:
        return ()
    return (
        by_errors(one, two, delta, alpha, seed),
        by_guesses(one, two, delta, alpha, seed),
    )
