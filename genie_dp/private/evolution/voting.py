"""Private rows vote for the candidates nearest to them; what comes out is noisy counts of votes.

The histogram of Private Evolution (Lin et al., 2023, Algorithm 2), with k votes a row, by label,
and for units of several rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt

from genie_dp.private.evolution.neighbours import Backend, Whole, nearest
from genie_dp.private.prior.noise import Noise

Counts = npt.NDArray[np.float64]
Exact = npt.NDArray[np.int64]

# Votes are whole multiples of 1 / GRAIN, so that their sum is exact in any order. Noisy counts are
# multiples of 1 / FINENESS: the low bits of a sum with noise could tell what was added (Mironov,
# CCS 2012).
GRAIN = 1 << 20
FINENESS = 1 << 10


@dataclass(frozen=True, slots=True, repr=False)
class Voters:
    """Private rows as they vote: where they lie, whose they are, and for which label they vote.

    Attributes:
        vectors: (rows, dimensions), of `whole`; rows of zeros do not vote.
        units: number of the unit that each row belongs to, (rows,), from 0 on.
        labels: of each row; all alike where there are none.
    """

    vectors: Whole = field(repr=False)
    units: Exact = field(repr=False)
    labels: Sequence[str] = field(repr=False)

    def __repr__(self) -> str:
        return "Voters(..)"


def votes(
    voters: Voters,
    candidates: Whole,
    labels: Sequence[str],
    *,
    k: int = 1,
    backend: Backend = "numpy",
) -> Exact:
    """Return the exact votes for each candidate, (candidates,), in multiples of 1 / GRAIN.

    Each row votes for the k nearest candidates of its label, alike; one whose label has none does
    not vote. The votes of a unit's rows are added, divided by the L2 norm of their sum, and rounded
    towards 0.

    Sensitivity. Write h(D) for the result in votes, and v(u) for what unit u adds to it. v(u)
    depends on the rows of u, the candidates and the settings alone: the nearest candidates of a row
    are found by exact arithmetic with the row itself (`neighbours`), its label is its own, and
    nothing is normalised by the number of units or rows. So h(D) = sum of v(u) over the units, and
    for D' = D without u, h(D) - h(D') = v(u), in whole numbers and so exactly. v(u) is w / |w|
    rounded towards 0 in each place, or 0 where no row of u votes; so |v(u)| <= 1 in L2 norm. Adding
    or removing one unit, of any number of rows and labels, moves the joint histogram of all labels
    by at most 1, and Gaussian noise of standard deviation sigma on each candidate is the Gaussian
    mechanism with noise multiplier sigma. Rows that change their label within a unit change v(u)
    only.

    Args:
        voters: the private rows.
        candidates: (candidates, dimensions), of `whole`.
        labels: of the candidates.
        k: votes of a row.
        backend: of the search.
    """
    found = np.zeros(len(candidates), np.int64)
    places = _chosen(voters, candidates, labels, k, backend)
    order = np.argsort(voters.units, kind="stable")
    ends = np.flatnonzero(np.diff(voters.units[order])) + 1
    for rows in np.split(order, ends):
        one = [place for row in rows for place in places.get(int(row), ())]
        if one:
            named, times = np.unique(one, return_counts=True)
            found[named] += vote_of(times)
    return found


def vote_of(times: npt.NDArray[np.integer]) -> Exact:
    """Return a unit's vote, in multiples of 1 / GRAIN, from how often its rows chose candidates.

    >>> (vote_of(np.array([3, 4])) / GRAIN).round(3).tolist()
    [0.6, 0.8]
    """
    # The square root of a whole number may be rounded down by a hair, which 1e-15 makes up for.
    norm = np.sqrt(float((times.astype(np.int64) ** 2).sum())) * (1 + 1e-15)
    found: Exact = np.floor(times * GRAIN / norm).astype(np.int64)
    return found


def _chosen(
    voters: Voters, candidates: Whole, labels: Sequence[str], k: int, backend: Backend
) -> Mapping[int, Exact]:
    """Return the candidates that each row votes for."""
    theirs, ours = np.array(voters.labels, object), np.array(labels, object)
    can_vote = voters.vectors.any(axis=1)
    found: dict[int, Exact] = {}
    for label in sorted(set(labels)):
        rows = np.flatnonzero((theirs == label) & can_vote)
        of_label = np.flatnonzero(ours == label)
        near = nearest(voters.vectors[rows], candidates[of_label], k, backend=backend)
        found.update(zip(rows.tolist(), of_label[near], strict=True))
    return found


def noisy_histogram(exact: Exact, noise_multiplier: float, rng: Random) -> Counts:
    """Return votes with Gaussian noise, (candidates,); the ledger must know of it before.

    Args:
        exact: of `votes`.
        noise_multiplier: standard deviation of the noise, in votes of one unit.
        rng: the system's generator; another one only in tests.
    """
    noise = Noise("gaussian", noise_multiplier)
    drawn = np.array([noise.draw(rng) for _ in range(len(exact))])
    found: Counts = np.rint((exact / GRAIN + drawn) * FINENESS) / FINENESS
    return found


# ------------------------------------------------------- what follows sees the noisy counts alone


def weights_of(noisy: Counts, labels: Sequence[str], threshold: float) -> Counts:
    """Return what noisy counts weigh in the choice of winners: all at least 0, never all 0.

    A count's weight is what it has above the threshold (Lin et al., 2023, Algorithm 2, line 8).
    Where no candidate of a label has any, all of that label weigh alike.

    Args:
        noisy: (candidates,).
        labels: of the candidates.
        threshold: in votes, at least 0.

    >>> weights_of(np.array([-3.0, 5.0, -1.0, -2.0]), ["a", "a", "b", "b"], 1.0).tolist()
    [0.0, 4.0, 1.0, 1.0]
    """
    if not threshold >= 0:
        raise ValueError(f"threshold must be at least 0, got {threshold}")
    found = np.maximum(noisy - threshold, 0.0)
    ours = np.array(labels, object)
    for label in sorted(set(labels)):
        if not found[ours == label].any():
            found[ours == label] = 1.0
    return found


def select(
    noisy: Counts,
    labels: Sequence[str],
    sizes: Mapping[str, int],
    *,
    threshold: float,
    rank: bool,
    rng: Random,
) -> list[int]:
    """Return the places of the winners, label by label; one may win several times.

    Args:
        noisy: counts of votes, (candidates,).
        labels: of the candidates.
        sizes: how many winners each label has.
        threshold: in votes, at least 0.
        rank: take the candidates with the greatest counts, each once (Xie et al., 2024); otherwise
            draw them with chances proportional to their weights (Lin et al., 2023).
        rng: public randomness.
    """
    choose: Callable[[list[int], int], list[int]]
    weights = weights_of(noisy, labels, threshold)

    def ranked(places: list[int], size: int) -> list[int]:
        best = sorted(places, key=lambda place: (-noisy[place], place))
        return [best[i % len(best)] for i in range(size)]

    def drawn(places: list[int], size: int) -> list[int]:
        return _systematic(places, [float(weights[place]) for place in places], size, rng)

    choose = ranked if rank else drawn
    found = []
    for label, size in sizes.items():
        places = [place for place, one in enumerate(labels) if one == label]
        found.extend(choose(places, size) if places else [])
    return found


def _systematic(
    places: Sequence[int], weights: Sequence[float], size: int, rng: Random
) -> list[int]:
    """Return places as often as expected, up to less than one (systematic resampling).

    Each is drawn with the same chances as by independent draws, with less variance (Douc et al.,
    Comparison of resampling schemes, 2005, section 2.4).
    """
    total = sum(weights)
    found, passed, start = [], 0.0, rng.random()
    marks = iter([(start + i) * total / size for i in range(size)])
    mark = next(marks, None)
    for place, weight in zip(places, weights, strict=True):
        passed += weight
        while mark is not None and mark < passed:
            found.append(place)
            mark = next(marks, None)
    last = max((p for p, w in zip(places, weights, strict=True) if w > 0), default=places[-1])
    return found + [last] * (size - len(found))  # what rounding left out


def sizes_of(fractions: Mapping[str, float], total: int) -> dict[str, int]:
    """Return how many of `total` each label gets: the largest remainders are rounded up.

    >>> sizes_of({"a": 0.5, "b": 0.3, "c": 0.2}, 5)
    {'a': 3, 'b': 1, 'c': 1}
    """
    whole = sum(fractions.values())
    exact = {label: total * share / whole for label, share in fractions.items()}
    found = {label: int(share) for label, share in exact.items()}
    left = sorted(exact, key=lambda label: found[label] - exact[label])
    for label in left[: total - sum(found.values())]:
        found[label] += 1
    return found
