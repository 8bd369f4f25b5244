"""Laws of how rows are shared out among cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.synthesis.plan import even, fill
from tests.synthesis.synthesis_setup import engine

cells = st.lists(
    st.tuples(st.floats(0.01, 100), st.integers(0, 50)), min_size=1, max_size=30
).filter(lambda found: any(size for _, size in found))
seeds = st.integers(0, 2**64 - 1)


@given(cells, st.integers(0, 2000), seeds)
def test_quotas_sum_to_the_total_and_fit_their_cells(found, total, seed):
    weights, sizes = (np.array(column, float) for column in zip(*found, strict=True))
    quotas = fill(total, weights, sizes, seed)
    assert quotas.sum() == min(total, sizes.sum())
    assert (quotas >= 0).all()
    assert (quotas <= sizes).all()


@given(cells, st.integers(0, 100), seeds, seeds)
def test_seeds_differ_by_a_row_in_each_cell_at_most(found, total, one, other):
    weights, sizes = (np.array(column, float) for column in zip(*found, strict=True))
    apart = np.abs(fill(total, weights, sizes, one) - fill(total, weights, sizes, other))
    assert apart.max() <= 1


def test_of_more_cells_than_rows_each_is_chosen_as_often_as_its_weight_says() -> None:
    weights = np.array([1.0, 2.0, 3.0, 4.0] * 25)
    room = np.full(100, 1000.0)
    drawn = sum(fill(20, weights, room, seed * 0x9E3779B97F4A7C15) for seed in range(2000))
    # 20 of 250 for each unit of weight; a standard deviation is 0.006 where that is one.
    assert np.abs(drawn / 2000 / weights - 0.08).max() < 0.03


def test_equal_shares_do_not_keep_step_with_the_order_of_cells() -> None:
    quotas = even(50, [9] * 100, 12345)
    assert 10 < quotas[::2].sum() < 40


def test_with_another_seed_a_short_run_draws_from_other_cells() -> None:
    drawn = [set(engine(size=50, max_depth=1, pool_size=50, seed=s).plan.places) for s in (0, 1)]
    assert len(drawn[0] - drawn[1]) > 40
