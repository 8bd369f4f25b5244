"""Votes: a unit moves them by at most one, noise is added once, and what follows never breaks."""

import math
import random
from statistics import pstdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.private.evolution import voting

LABELS = ("a", "b", "c")


def vectors(count, dimensions, seed, *, coarse=False):
    """Return vectors of length 1; coarse ones have few values, so that many are as near."""
    rng = np.random.default_rng(seed)
    found = (
        rng.integers(-1, 2, (count, dimensions)) if coarse else rng.normal(size=(count, dimensions))
    )
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return voting.whole(np.divide(found, lengths, out=np.zeros(found.shape), where=lengths > 0))


@st.composite
def elections(draw):
    """Return units of labelled rows, candidates with their labels, and k."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    candidates = draw(st.integers(1, 12))
    seed, k = draw(st.integers(0, 10_000)), draw(st.integers(1, 5))
    rng = random.Random(seed)
    rows = sum(sizes)
    voters = voting.Voters(
        vectors(rows, 5, seed, coarse=draw(st.booleans())),
        np.repeat(np.arange(len(sizes)), sizes),
        [rng.choice((*LABELS, "unheard of")) for _ in range(rows)],
    )
    return voters, vectors(candidates, 5, seed + 1, coarse=True), [
        rng.choice(LABELS) for _ in range(candidates)
    ], k  # fmt: skip


def chosen(voters, kept):
    labels = [one for one, keep in zip(voters.labels, kept, strict=True) if keep]
    return voting.Voters(voters.vectors[kept], voters.units[kept], labels)


# ----------------------------------------------------------------------------- sensitivity


@settings(max_examples=150, deadline=None)
@given(elections())
def test_a_unit_adds_one_vote_for_its_labels_whoever_else_votes(election):
    voters, candidates, labels, k = election
    every = voting.votes(voters, candidates, labels, k=k)
    together = np.zeros(len(candidates), np.int64)
    for unit in set(voters.units.tolist()):
        one = chosen(voters, voters.units == unit)
        found = voting.votes(one, candidates, labels, k=k)
        without = voting.votes(chosen(voters, voters.units != unit), candidates, labels, k=k)
        assert (every - without == found).all()
        together += found
        # Whole numbers: the norm is exact.
        squared = sum(int(x) ** 2 for x in found)
        assert squared <= voting.GRAIN**2
        theirs = {x for x, row in zip(one.labels, one.vectors, strict=True) if row.any()}
        is_heard = bool(theirs & set(labels))
        assert math.sqrt(squared) / voting.GRAIN == pytest.approx(
            1.0 if is_heard else 0.0, abs=1e-4
        )
        assert {x for x, n in zip(labels, found, strict=True) if n} <= theirs
    assert (together == every).all()


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=50))
def test_a_vote_is_never_longer_than_one(times):
    found = voting.vote_of(np.array(times))
    assert sum(int(x) ** 2 for x in found) <= voting.GRAIN**2
    assert (found >= 0).all()


def test_each_row_casts_k_votes_of_equal_size_and_one_without_words_none():
    candidates = vectors(20, 8, 1)
    for row, cast in ((vectors(1, 8, 2), [0.5] * 4), (np.zeros((1, 8), np.int16), [])):
        found = (
            voting.votes(voting.Voters(row, np.array([0]), [""]), candidates, [""] * 20, k=4)
            / voting.GRAIN
        )
        assert sorted(found[found > 0].round(4).tolist()) == cast


# ------------------------------------------------------------------------------ neighbours


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 40), st.integers(1, 10),
    st.booleans(), st.sampled_from([voting._BLOCK, 80, 240, 1000]),
)  # fmt: skip
def test_neighbours_are_those_of_a_plain_search(seed, queries, rows, k, coarse, block):
    a = vectors(queries, 6, seed, coarse=coarse).astype(np.int64)
    b = vectors(rows, 6, seed + 1, coarse=coarse).astype(np.int64)
    expected = [
        sorted(range(rows), key=lambda place: (-int(query @ b[place]), place))[:k] for query in a
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voting, "_BLOCK", block)
        found = voting.nearest(a.astype(np.int16), b.astype(np.int16), k)
    assert found.tolist() == expected


def test_sums_of_the_longest_vectors_are_exact():
    rng = np.random.default_rng(0)
    found = rng.normal(size=(4, voting.MOST_DIMENSIONS))
    one = voting.whole(found / np.linalg.norm(found, axis=1, keepdims=True))
    exact = one.astype(np.int64) @ one.astype(np.int64).T
    assert (one.astype(np.float32) @ one.astype(np.float32).T == exact).all()
    with pytest.raises(ValueError, match="length 1"):
        voting.whole(2 * np.eye(3))


# ------------------------------------------------------------------------------------ noise


def test_noise_has_the_deviation_that_is_paid_for():
    exact = np.zeros(4000, np.int64)
    found = voting.noisy_histogram(exact, 3.0, random.Random("noise"))
    assert pstdev(found.tolist()) == pytest.approx(3.0, rel=0.05)
    assert abs(float(found.mean())) < 4 * 3.0 / math.sqrt(4000)
    # Whole multiples: low bits of a sum with noise tell nothing.
    assert (found * 1024 == np.rint(found * 1024)).all()


def test_noise_is_not_of_a_global_generator():
    exact = np.zeros(50, np.int64)
    drawn = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        before = np.random.get_state()[2], random.getstate()  # noqa: NPY002
        drawn.append(voting.noisy_histogram(exact, 1.0, random.SystemRandom()).tolist())
        assert (np.random.get_state()[2], random.getstate()) == before  # noqa: NPY002
    assert drawn[0] != drawn[1]


# --------------------------------------------------------------------------- what comes after


def winners(noisy, labels, sizes, **options):
    settled = {"threshold": 0.0, "rank": False, "rng": random.Random(0), **options}
    return voting.select(np.array(noisy, float), labels, sizes, **settled)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0, 1e7), st.booleans())
def test_negative_counts_and_any_threshold_give_winners(noisy, threshold, rank):
    labels = [LABELS[i % 3] for i in range(len(noisy))]
    sizes = {label: 7 for label in sorted(set(labels))}
    weights = voting.weights_of(np.array(noisy), labels, threshold)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    found = winners(noisy, labels, sizes, threshold=threshold, rank=rank)
    assert [labels[place] for place in found] == [one for one in sizes for _ in range(7)]


def test_without_counts_above_the_threshold_winners_are_uniform_and_never_nan():
    assert set(winners([-5.0, -1.0, 3.0, 0.5], [""] * 4, {"": 10})) == {2, 3}
    noisy = [1.0, 2.0, 3.0, 4.0, 50.0]
    labels = ["a", "a", "a", "a", "b"]
    assert voting.weights_of(np.array(noisy), labels, 1e9).tolist() == [1.0] * 5
    assert sorted(winners(noisy, labels, {"a": 8}, threshold=1e9)) == [0, 0, 1, 1, 2, 2, 3, 3]


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=20).filter(any),
    st.integers(1, 100),
    st.integers(0, 1000),
)
def test_each_winner_wins_as_often_as_its_weight_says(weights, size, seed):
    found = winners(weights, [""] * len(weights), {"": size}, rng=random.Random(seed))
    assert len(found) == size
    for place, weight in enumerate(weights):
        expected = size * weight / sum(weights)
        assert abs(found.count(place) - expected) <= 1 + 1e-6


def test_ranks_take_the_greatest_counts_of_each_label_once():
    noisy = [3.0, -1.0, 9.0, 4.0, 7.0]
    labels = ["a", "a", "a", "b", "b"]
    assert winners(noisy, labels, {"a": 2, "b": 1}, rank=True) == [2, 0, 4]


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.001, 10), min_size=1),
    st.integers(0, 500),
)
def test_labels_get_their_shares_of_the_winners(fractions, total):
    found = voting.sizes_of(fractions, total)
    assert sum(found.values()) == total
    whole_ = sum(fractions.values())
    for label, size in found.items():
        assert abs(size - total * fractions[label] / whole_) < 1 + 1e-6
