"""Private rows vote for the candidates nearest to them; the result is noisy counts of votes.

The histogram of Private Evolution (Lin et al., 2023, Algorithm 2), with k votes a row, by label,
and for units of several rows.

The nearest rows are found exactly: the same ones on every machine and with every size of block.
Vectors are rounded to whole numbers, and so small ones that every product and partial sum of a
similarity is a whole number below 2^24, which 32-bit floats hold exactly. So it does not depend on
the order in which sums are added, nor on which other rows are in a block. That matters for more
than tests: were a last digit to hang on its neighbours in a block, adding one private row could
turn the votes of others, and a unit would change more than its own vote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.private.prior.histogram import Noise

Whole = npt.NDArray[np.int16]
Places = npt.NDArray[np.int64]

# Length of a vector in whole numbers. Rounding adds at most sqrt(dimensions) / 2 to it, and its
# square must stay below 2^24: that holds up to MOST_DIMENSIONS.
LENGTH = 4000
MOST_DIMENSIONS = 8192
_EXACT = 1 << 24
# Similarities in memory at a time: 16 MB of 32-bit floats.
_BLOCK = 1 << 22


def whole(vectors: npt.NDArray[np.floating[Any]]) -> Whole:
    """Return vectors of length 1 (rows, dimensions) as whole numbers of length about `LENGTH`.

    >>> whole(np.array([[0.6, 0.8], [0.0, 0.0]])).tolist()
    [[2400, 3200], [0, 0]]

    Raises:
        ValueError: there are too many dimensions for exact sums, or vectors are longer than 1.
    """
    if vectors.ndim != 2 or vectors.shape[1] > MOST_DIMENSIONS:
        raise ValueError(f"expected up to {MOST_DIMENSIONS} dimensions, got shape {vectors.shape}")
    rounded = np.rint(vectors.astype(np.float64) * LENGTH)
    if (
        not np.isfinite(rounded).all()
        or float((rounded * rounded).sum(axis=1).max(initial=0)) >= _EXACT
    ):
        raise ValueError("expected vectors of length 1")
    return rounded.astype(np.int16)


def nearest(queries: Whole, rows: Whole, k: int) -> Places:
    """Return the places of the k rows most similar to each query, the most similar first.

    Of equally similar rows the first comes first. Similarity is the cosine of the whole numbers'
    exact inner product.

    Args:
        queries: (q, d), of `whole`.
        rows: (n, d), of `whole`.
        k: how many; all rows where there are fewer.

    Returns:
        (q, min(k, n)) places.
    """
    count = min(k, len(rows))
    if not len(queries) or not count:
        return np.zeros((len(queries), count), np.int64)
    turned = np.ascontiguousarray(rows.T, np.float32)
    size = max(1, _BLOCK // len(rows))
    blocks = (queries[i : i + size] for i in range(0, len(queries), size))
    return np.concatenate([
        _find_largest(block.astype(np.float32) @ turned, count) for block in blocks
    ])  # fmt: skip


def _find_largest(similar: npt.NDArray[np.float32], k: int) -> Places:
    """Return the places of the k largest of each row; of equal ones, the first."""
    if k == 1:
        best: Places = similar.argmax(axis=1).astype(np.int64)[:, None]
        return best
    count = similar.shape[1]
    # Whole numbers below 2^24 times a count below 2^28 are exact in 64 bits, and no two are equal.
    keys = similar.astype(np.float64) * count - np.arange(count)
    chosen = np.argpartition(-keys, min(k, count - 1), axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(keys, chosen, axis=1), axis=1)
    places: Places = np.take_along_axis(chosen, order, axis=1).astype(np.int64)
    return places


Counts = npt.NDArray[np.float64]
Exact = npt.NDArray[np.int64]

# Votes are whole multiples of 1 / GRAIN, so that their sum is exact in any order. Noisy counts are
# multiples of 1 / FINENESS, which is fine enough for all later steps.
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
) -> Exact:
    """Return the exact votes for each candidate, (candidates,), in multiples of 1 / GRAIN.

    Each row votes for the k nearest candidates of its label, alike; one whose label has none does
    not vote. The votes of a unit's rows are added, divided by the L2 norm of their sum, and rounded
    towards 0.

    Sensitivity. Write h(D) for the result in votes, and v(u) for what unit u adds to it. v(u)
    depends on the rows of u, the candidates and the settings alone: the nearest candidates of a row
    are found by exact arithmetic with the row itself (`nearest`), its label is its own, and
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
    """
    counts = np.zeros(len(candidates), np.int64)
    places = _choose_candidates(voters, candidates, labels, k)
    order = np.argsort(voters.units, kind="stable")
    ends = np.flatnonzero(np.diff(voters.units[order])) + 1
    for rows in np.split(order, ends):
        choices = [place for row in rows for place in places.get(int(row), ())]
        if choices:
            named, times = np.unique(choices, return_counts=True)
            counts[named] += vote_of(times)
    return counts


def vote_of(times: npt.NDArray[np.integer]) -> Exact:
    """Return a unit's vote, in multiples of 1 / GRAIN, from how often its rows chose candidates.

    >>> (vote_of(np.array([3, 4])) / GRAIN).round(3).tolist()
    [0.6, 0.8]
    """
    # The square root of a whole number may be rounded down by a hair, which 1e-15 makes up for.
    norm = np.sqrt(float((times.astype(np.int64) ** 2).sum())) * (1 + 1e-15)
    vote: Exact = np.floor(times * GRAIN / norm).astype(np.int64)
    return vote


def _choose_candidates(
    voters: Voters, candidates: Whole, labels: Sequence[str], k: int
) -> Mapping[int, Exact]:
    """Return the candidates that each row votes for."""
    theirs, ours = np.array(voters.labels, object), np.array(labels, object)
    can_vote = voters.vectors.any(axis=1)
    choices: dict[int, Exact] = {}
    for label in sorted(set(labels)):
        rows = np.flatnonzero((theirs == label) & can_vote)
        of_label = np.flatnonzero(ours == label)
        places = nearest(voters.vectors[rows], candidates[of_label], k)
        choices.update(zip(rows.tolist(), of_label[places], strict=True))
    return choices


def noisy_histogram(exact: Exact, noise_multiplier: float, rng: Random) -> Counts:
    """Return votes with Gaussian noise, (candidates,); the ledger must know of it before.

    Args:
        exact: of `votes`.
        noise_multiplier: standard deviation of the noise, in votes of one unit.
        rng: the system's generator; another one only in tests.
    """
    noises = Noise("gaussian", noise_multiplier, 1 / GRAIN).draw(len(exact), rng)
    noisy: Counts = np.rint((exact / GRAIN + noises) * FINENESS) / FINENESS
    return noisy


# ----------------------------------------------- from here on, code sees the noisy counts alone


def weights_of(noisy: Counts, labels: Sequence[str], threshold: float) -> Counts:
    """Return the weights of noisy counts in the choice of winners: all at least 0, never all 0.

    A count's weight is what it has above the threshold (Lin et al., 2023, Algorithm 2, line 8).
    Where no candidate of a label has any, all of that label weigh alike.

    Args:
        noisy: (candidates,).
        labels: of the candidates.
        threshold: in votes, at least 0.

    >>> weights_of(np.array([-3.0, 5.0, -1.0, -2.0]), ["a", "a", "b", "b"], 1.0).tolist()
    [0.0, 4.0, 1.0, 1.0]
    """
    weights = np.maximum(noisy - threshold, 0.0)
    ours = np.array(labels, object)
    for label in sorted(set(labels)):
        if not weights[ours == label].any():
            weights[ours == label] = 1.0
    return weights


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
    weights = weights_of(noisy, labels, threshold)
    winners: list[int] = []
    for label, size in sizes.items():
        places = [place for place, own_label in enumerate(labels) if own_label == label]
        if places and rank:
            places.sort(key=lambda place: (-noisy[place], place))
            winners.extend(places[i % len(places)] for i in range(size))
        elif places:
            winners.extend(_resample(places, weights[places].tolist(), size, rng))
    return winners


def _resample(places: Sequence[int], weights: Sequence[float], size: int, rng: Random) -> list[int]:
    """Return places as often as expected, up to less than one (systematic resampling).

    Each is drawn with the same chances as by independent draws, with less variance (Douc et al.,
    Comparison of resampling schemes, 2005, section 2.4).
    """
    total = sum(weights)
    winners, passed, start = [], 0.0, rng.random()
    marks = iter([(start + i) * total / size for i in range(size)])
    mark = next(marks, None)
    for place, weight in zip(places, weights, strict=True):
        passed += weight
        while mark is not None and mark < passed:
            winners.append(place)
            mark = next(marks, None)
    last = max((p for p, w in zip(places, weights, strict=True) if w > 0), default=places[-1])
    return winners + [last] * (size - len(winners))  # rounding left them out


def sizes_of(fractions: Mapping[str, float], total: int) -> dict[str, int]:
    """Return how many of `total` each label gets: the largest remainders are rounded up.

    >>> sizes_of({"a": 0.5, "b": 0.3, "c": 0.2}, 5)
    {'a': 3, 'b': 1, 'c': 1}
    """
    whole = sum(fractions.values())
    exact = {label: total * share / whole for label, share in fractions.items()}
    sizes = {label: int(share) for label, share in exact.items()}
    by_remainder = sorted(exact, key=lambda label: sizes[label] - exact[label])
    for label in by_remainder[: total - sum(sizes.values())]:
        sizes[label] += 1
    return sizes
