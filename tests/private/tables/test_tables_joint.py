"""A product of factors has the marginals of its dense joint; mirror descent finds what it is to."""

import random
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.private.tables.joint import (
    Joint,
    Measurement,
    average_measurements,
    cells_of,
    elimination,
    mirror_descent,
    total_of,
)
from genie_dp.private.tables.run import MOST_CELLS
from tests.private.tables.tables_setup import distribution, summed

DOMAINS = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)


@st.composite
def joints(draw):
    """Return a domain with factors over some of its columns, up to three at a time."""
    domain = draw(DOMAINS)
    sets = [c for k in (1, 2, 3) for c in combinations(range(len(domain)), k)]
    cliques = draw(st.lists(st.sampled_from(sets), max_size=6, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Joint(domain, {c: 2 * rng.normal(size=[domain[n] for n in c]) for c in cliques})


def dense(joint):
    """Return the distribution cell by cell: factors multiplied, and nothing clever."""
    logs = np.zeros(joint.domain)
    for clique, factor in joint.potentials.items():
        logs = logs + factor.reshape([n if i in clique else 1 for i, n in enumerate(joint.domain)])
    cells = np.exp(logs)
    return cells / cells.sum()


@given(joints())
def test_marginals_are_those_of_the_dense_joint(joint):
    cells = dense(joint)
    for k in range(1, len(joint.domain) + 1):
        for clique in combinations(range(len(joint.domain)), k):
            found = joint.marginal(clique)
            assert found.shape == tuple(joint.domain[n] for n in clique)
            np.testing.assert_allclose(found, summed(cells, clique), atol=1e-12)


@given(joints())
def test_elimination_has_a_table_for_every_factor_and_every_column_once(joint):
    steps = elimination(joint.domain, joint.potentials)
    assert sorted(step.column for step in steps) == list(range(len(joint.domain)))
    for clique in joint.potentials:
        assert any(set(clique) <= set(step.scope) for step in steps)
    for number, step in enumerate(steps):
        assert set(step.scope) == {step.column, *step.separator}
        if step.parent is not None:
            assert step.parent > number
            assert set(step.separator) <= set(steps[step.parent].scope)
    sizes = [np.prod([joint.domain[n] for n in step.scope]) for step in steps]
    assert cells_of(joint.domain, joint.potentials) == sum(sizes)


def test_columns_that_no_factor_joins_cost_no_common_table():
    domain = (50,) * 10  # 10^17 different records
    joint = Joint(domain, {(0, 1): np.eye(50), (8, 9): np.eye(50)})
    assert cells_of(domain, joint.potentials) == 2 * (2500 + 50) + 6 * 50
    far = joint.marginal((0, 9))
    np.testing.assert_allclose(far, np.full((50, 50), 1 / 2500))


@given(st.lists(st.integers(2, 12), min_size=1, max_size=10).filter(lambda d: prod(d) <= 10**6))
def test_a_million_different_records_have_room_for_any_dependence(domain):
    everything = [tuple(range(len(domain)))]
    assert prod(domain) <= cells_of(tuple(domain), everything) <= MOST_CELLS


def test_samples_have_the_marginals_of_the_distribution():
    rng = np.random.default_rng(3)
    joint = Joint((3, 4, 2), {(0, 1): 2 * rng.normal(size=(3, 4)), (1, 2): rng.normal(size=(4, 2))})
    codes = joint.sample(40_000, random.Random("samples"))
    for clique in combinations(range(3), 2):
        shape = tuple(joint.domain[n] for n in clique)
        drawn = np.zeros(shape)
        np.add.at(drawn, tuple(codes[:, n] for n in clique), 1)
        expected = joint.marginal(clique)
        # 4.5 standard deviations of a share, and the rounding of shares near to 0.
        allowed = 4.5 * np.sqrt(expected / len(codes)) + 1e-4
        assert (np.abs(drawn / len(codes) - expected) <= allowed).all()


def test_samples_are_the_same_for_the_same_seed():
    joint = Joint((3, 4), {(0, 1): np.arange(12.0).reshape(3, 4) / 5})
    one, same, other = (joint.sample(50, random.Random(seed)) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def exact(cells, cliques, total=1000.0, deviation=1.0):
    return [Measurement(c, total * summed(cells, c), deviation) for c in cliques]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(2, 4), min_size=2, max_size=4).map(tuple), st.integers(0, 1000))
def test_marginals_without_noise_come_out_exactly(domain, seed):
    cells = distribution(domain, seed)
    measured = exact(cells, combinations(range(len(domain)), 2))
    joint = mirror_descent(domain, measured, total=1000.0, start={}, iterations=2000)
    for one in measured:
        np.testing.assert_allclose(joint.marginal(one.clique), one.counts / 1000, atol=1e-3)


def test_single_columns_alone_give_independent_ones():
    cells = distribution((3, 4, 2), 1)
    measured = exact(cells, [(0,), (1,), (2,)])
    joint = mirror_descent((3, 4, 2), measured, total=1000.0, start={}, iterations=3000)
    product = np.einsum("i,j,k->ijk", *(summed(cells, (n,)) for n in range(3)))
    np.testing.assert_allclose(joint.marginal((0, 1, 2)), product, atol=1e-6)


def test_what_was_not_measured_is_as_random_as_it_can_be():
    cells = distribution((3, 4, 2), 2)
    measured = exact(cells, [(0, 1), (1, 2)])
    joint = mirror_descent((3, 4, 2), measured, total=1000.0, start={}, iterations=3000)
    # Of greatest entropy is the Markov chain: column 2 depends on column 0 through 1 alone.
    chain = summed(cells, (0, 1))[:, :, None] * summed(cells, (1, 2))[None]
    chain /= summed(cells, (1,))[None, :, None]
    np.testing.assert_allclose(joint.marginal((0, 1, 2)), chain, atol=2e-4)


def loss(joint, measured, total):
    return sum(
        float(((total * joint.marginal(m.clique) - m.counts) ** 2).sum()) / (2 * m.deviation**2)
        for m in measured
    )


def noisy(domain, cliques, seed):
    """Return measurements that contradict each other, some of them twice, with various noise."""
    rng = np.random.default_rng(seed)
    cells = distribution(domain, seed)
    return [
        Measurement(m.clique, m.counts + wide * rng.normal(size=m.counts.shape), wide)
        for m, wide in zip(exact(cells, cliques), (5.0, 20.0, 9.0, 30.0, 14.0), strict=True)
    ]


def test_of_contradicting_marginals_no_other_distribution_fits_better():
    domain = (3, 4, 2)
    measured = noisy(domain, [(0, 1), (1, 2), (0,), (0, 2), (1, 2)], seed=4)
    joint = mirror_descent(domain, measured, total=1000.0, start={}, iterations=3000)
    least = loss(joint, measured, 1000.0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        moved = {c: p + 0.05 * rng.normal(size=p.shape) for c, p in joint.potentials.items()}
        assert loss(Joint(domain, moved), measured, 1000.0) >= least - 1e-6
    # And of none there is a better one far away: the loss is convex in the distribution.
    far = mirror_descent(
        domain, measured, total=1000.0, iterations=3000,
        start={c: 2 * rng.normal(size=p.shape) for c, p in joint.potentials.items()},
    )  # fmt: skip
    assert loss(far, measured, 1000.0) == pytest.approx(least, rel=1e-3)


def test_more_steps_never_fit_worse():
    measured = noisy((3, 4, 2), [(0, 1), (1, 2), (0,), (0, 2), (1, 2)], seed=5)
    fits = [
        mirror_descent((3, 4, 2), measured, total=1000.0, start={}, iterations=n)
        for n in (0, 1, 3, 10, 100)
    ]
    losses = [loss(joint, measured, 1000.0) for joint in fits]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 2


def test_repeated_measurements_are_one_with_less_noise():
    one = Measurement((0,), np.array([10.0, 20.0]), 2.0)
    (found,) = average_measurements([one, Measurement((0,), np.array([16.0, 20.0]), 4.0)])
    assert found.counts.tolist() == [11.2, 20.0]
    assert found.deviation == pytest.approx((1 / 4 + 1 / 16) ** -0.5)


def test_the_total_trusts_measurements_by_their_noise():
    sure = Measurement((0,), np.array([50.0, 50.0]), 1.0)
    wide = Measurement((1,), np.full(8, 30.0), 10.0)
    expected = (100 / 2 + 240 / 800) / (1 / 2 + 1 / 800)
    assert total_of([sure, wide]) == pytest.approx(expected)
    assert total_of([Measurement((0,), np.array([-50.0, 3.0]), 1.0)]) == 1.0
