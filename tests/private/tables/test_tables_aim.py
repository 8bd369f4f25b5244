"""AIM spends what the ledger has, moves by no more than it says, and keeps what goes together."""

import math
import random
from itertools import combinations, product
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import Exponential, Gaussian, ZeroConcentrated
from genie_dp.private.secure import _seeded
from genie_dp.private.tables.aim import aim, choose, measure, score, workload_weights
from genie_dp.private.tables.joint import Records, cells_of, pairs, records_of
from genie_dp.private.tables.run import release_table, rho_for
from genie_dp.private.tables.table import load_table
from tests.private.tables.tables_setup import SPENT, Spending, planted, schema_of

SCHEMA = schema_of(4, 4, 3)
WEIGHTS = workload_weights(3)


def released(units, *, epsilon=1.0, seed=0, schema=SCHEMA, spend=None, **options):
    units = units if callable(units) else Units(units)
    with _seeded(seed):
        return release_table(
            schema, units, epsilon=epsilon, delta=1e-6, spend=spend or Spending(), **options
        )


def fitted(units, rho, seed=0, *, schema=SCHEMA, most_cells=10**6):
    return aim(
        records_of(schema, units), rho, random.Random(seed),
        most_cells=most_cells, listen=lambda _: None,
    )  # fmt: skip


# Every unit of one or two rows over two values and three: small enough to try all.
SMALL = schema_of(2, 3)
ROWS = [{"a": f"v{a}", "b": f"v{b}"} for a, b in product(range(2), range(3))]
UNITS = [[row] for row in ROWS] + [list(two) for two in combinations(ROWS, 2)] + [[]]


def test_no_unit_moves_a_score_by_more_than_its_weight_and_some_by_all_of_it():
    rng = np.random.default_rng(0)
    fits = {c: 3 * rng.random([SMALL.domain[n] for n in c]) for c in [(0,), (1,), (0, 1)]}
    weights = workload_weights(2)
    most = dict.fromkeys(fits, 0.0)
    tables = [list(t) for k in (0, 1, 2) for t in product(UNITS, repeat=k)]
    for table in tables:
        without = records_of(SMALL, table)
        for unit in UNITS:
            with_it = records_of(SMALL, [*table, unit])
            for clique, near in fits.items():
                one, other = (
                    score(found.marginal(clique), near, weights[clique], 2.0)
                    for found in (without, with_it)
                )
                most[clique] = max(most[clique], abs(one - other))
    assert len(tables) > 400
    assert all(moved <= weights[c] + 1e-9 for c, moved in most.items())
    assert most[0, 1] == pytest.approx(1.0)
    assert max(weights.values()) == 1


@given(st.lists(st.sampled_from(UNITS), max_size=4), st.lists(st.sampled_from(ROWS), max_size=30))
def test_one_unit_of_any_size_moves_a_marginal_by_one_at_most(table, unit):
    without, with_it = records_of(SMALL, table), records_of(SMALL, [*table, unit])
    for clique in [(0,), (1,), (0, 1)]:
        moved = with_it.marginal(clique) - without.marginal(clique)
        assert np.abs(moved).sum() == pytest.approx(1.0 if unit else 0.0, abs=1e-4)
        assert np.abs(moved).sum() <= 1


@given(st.lists(st.lists(st.sampled_from(ROWS), max_size=60), max_size=8), st.randoms())
def test_counts_are_the_same_in_any_order(table, rng):
    shuffled = rng.sample(table, len(table))
    found, other = records_of(SMALL, table), records_of(SMALL, shuffled)
    for clique in [(0,), (1,), (0, 1)]:
        assert np.array_equal(found.marginal(clique), other.marginal(clique))


def test_rows_without_a_value_count_for_nothing_and_the_unit_still_for_one():
    unit = [
        {"a": "v0", "b": "v1"},
        {"a": "no such", "b": "v1"},
        {"b": "v1"},
        {"a": "v0", "b": "v2"},
    ]
    found = records_of(SMALL, [unit])
    assert found.marginal((0, 1)).tolist() == [[0, 0.5, 0.5], [0, 0, 0]]


def test_private_records_do_not_show_what_they_hold():
    assert repr(records_of(SMALL, [UNITS[0]])) == "Records(domain=(2, 3))"


def rho_of(mechanism):
    """Return the closed forms of Bun and Steinke (2016), and Cesar and Rogers (2021)."""
    if isinstance(mechanism, Gaussian):
        return mechanism.count / (2 * mechanism.noise_multiplier**2)
    assert isinstance(mechanism, Exponential)
    return mechanism.count * mechanism.epsilon**2 / 8


@pytest.mark.parametrize(("rho", "seed"), [(0.001, 1), (0.03, 2), (0.4, 3), (3.0, 4)])
def test_what_is_done_costs_what_was_recorded(rho, seed):
    found = fitted(planted(300, seed), rho, seed)
    assert sum(map(rho_of, found.mechanisms)) == pytest.approx(rho, rel=1e-9)
    first, *rounds = found.mechanisms
    assert first.noise_multiplier == pytest.approx(math.sqrt(16 * 3 / (2 * 0.9 * rho)))
    assert first.count == 3
    assert [type(one) for one in rounds[:4]] == [Exponential, Gaussian] * 2
    # And that much noise was added: one selection and one measurement a round.
    noise = [first.noise_multiplier] * 3 + [one.noise_multiplier for one in rounds[1::2]]
    assert [one.deviation for one in found.measurements] == noise


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0, 8.0])
def test_rho_is_that_of_the_closed_form(epsilon):
    delta = 1e-6
    rho = rho_for(epsilon, delta)
    # Bun and Steinke's is an upper bound on epsilon; Canonne, Kamath and Steinke (2020), corollary
    # 13, over all orders is what RDP accountants compute at some of them.
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta))
    orders = 1 + np.geomspace(1e-2, 1e4, 20_000)
    exact = orders * rho + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    assert exact.min() <= epsilon * (1 + 1e-9)
    assert exact.min() == pytest.approx(epsilon, rel=0.06)  # their orders are few


def test_the_ledger_has_rho_before_anything_is_measured():
    spend = Spending()
    table = released(planted(200), spend=spend)
    assert spend.mechanisms == (ZeroConcentrated(table.release["rho"]),)
    assert table.release["rho"] == rho_for(1.0, 1e-6)
    assert table.spent == SPENT
    table = released(planted(200), spend=(spend := Spending()), method="independent")
    (found,) = spend.mechanisms
    assert isinstance(found, Gaussian)
    assert rho_of(found) == pytest.approx(rho_for(1.0, 1e-6))
    assert {one["noise"] for one in table.release["measured"]} == {round(found.noise_multiplier, 4)}
    assert found.count == len(table.release["measured"]) == 3


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (1.0, 0.0), (math.inf, 1e-6)])
def test_without_epsilon_or_delta_there_is_no_table(epsilon, delta):
    with pytest.raises(GenieError, match="T505"):
        rho_for(epsilon, delta)


@pytest.mark.statistical
def test_every_count_gets_gaussian_noise_as_wide_as_recorded():
    records = records_of(SCHEMA, planted(100))
    exact = records.marginal((0, 1))
    rng = random.Random("noise")
    drawn = [measure(records, (0, 1), 7.0, rng) for _ in range(400)]
    noise = np.array([one.counts - exact for one in drawn])
    assert all((one.counts == np.rint(one.counts)).all() for one in drawn)
    assert noise.std() == pytest.approx(7.0, rel=0.03)
    assert abs(noise.mean()) < 4.5 * 7 / math.sqrt(noise.size)
    # Of different counts it is independent.
    related = np.corrcoef(noise.reshape(len(drawn), -1).T) - np.eye(exact.size)
    assert np.abs(related).max() < 5 / math.sqrt(len(drawn))


def test_choices_follow_the_exponential_mechanism():
    scores = {(0,): 0.0, (1,): 3.0, (0, 1): 4.0}
    rng = random.Random("choices")
    drawn = [choose(scores, 0.5, rng) for _ in range(20_000)]
    weights = {c: math.exp(0.5 * s / 2) for c, s in scores.items()}
    for clique, weight in weights.items():
        expected = weight / sum(weights.values())
        share = fmean(one == clique for one in drawn)
        assert share == pytest.approx(expected, abs=4.5 * math.sqrt(expected / len(drawn)))


def test_extreme_scores_can_be_chosen_from():
    assert choose({(0,): -1e9, (1,): 1e9}, 10.0, random.Random(0)) == (1,)


def test_the_same_seed_gives_the_same_table_and_another_seed_another():
    one, same, other = (released(planted(200), seed=seed).text() for seed in (1, 1, 2))
    assert one == same != other


def total_variation(left, right):
    return np.abs(left / left.sum() - right / right.sum()).sum() / 2


def errors(table, units):
    exact = records_of(table.schema, units)
    return [
        total_variation(table.joint.marginal(pair), exact.marginal(pair))
        for pair in pairs(len(table.schema.columns))
    ]


def test_aim_keeps_what_goes_together_and_independent_columns_do_not():
    units = planted(3000)
    aims, alone = [], []
    for seed in range(3):
        aims.append(np.trace(released(units, seed=seed).marginal(["a", "b"])))
        alone.append(np.trace(released(units, seed=seed, method="independent").marginal("ab")))
    # The planted share of a = b is 0.85; by chance it is 0.25.
    exact = float(np.trace(records_of(SCHEMA, units).marginal((0, 1)))) / 3000
    assert exact == pytest.approx(0.85, abs=0.02)
    assert fmean(aims) == pytest.approx(exact, abs=0.03)
    assert fmean(alone) == pytest.approx(0.25, abs=0.03)


def test_with_more_epsilon_errors_fall():
    units = planted(1000)
    means = [
        fmean(fmean(errors(released(units, epsilon=epsilon, seed=s), units)) for s in range(2))
        for epsilon in (0.2, 2.0, 20.0)
    ]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.02


def test_almost_without_noise_a_user_counts_for_the_mean_of_the_rows():
    units = [
        [{"a": "v0", "b": "v0"}] * 9 + [{"a": "v1", "b": "v2"}],
        [{"a": "v1", "b": "v1"}],
    ] * 500
    table = released(units, schema=SMALL, epsilon=500.0)
    expected = [[0.45, 0, 0], [0, 0.5, 0.05]]
    np.testing.assert_allclose(table.marginal(["a", "b"]), expected, atol=0.005)


def test_the_noisy_number_of_units_is_near():
    found = [released(planted(500), seed=seed).release["units"] for seed in range(3)]
    assert fmean(found) == pytest.approx(500, abs=60)
    assert pstdev(found) > 0


@pytest.mark.parametrize("most_cells", [12, 60, 200])
def test_a_table_grows_no_larger_than_it_may(most_cells):
    schema = schema_of(4, 4, 3, 4)
    units = [[{**unit[0], "d": unit[0]["a"]}] for unit in planted(500)]
    found = fitted(units, 5.0, schema=schema, most_cells=most_cells)
    joined = [clique for clique in found.joint.potentials if len(clique) > 1]
    assert bool(joined) == (most_cells > 12)
    assert not joined or cells_of(schema.domain, found.joint.potentials) <= most_cells


def test_a_single_column_is_a_table_and_so_is_noise_alone():
    assert released([]).release["units"] < 100
    units = [[{"a": f"v{n % 2}"}] for n in range(300)]
    found = released(units, schema=schema_of(2), epsilon=5.0).marginal(["a"])
    assert found == pytest.approx([0.5, 0.5], abs=0.1)


def test_a_table_comes_back_from_its_file_with_the_same_records(tmp_path):
    table = released(planted(300))
    (tmp_path / "table.json").write_text(table.text())
    back = load_table(tmp_path / "table.json")
    assert back.text() == table.text()
    assert back.spent == SPENT
    drawn = [one.sample(40, random.Random(5)) for one in (table, back)]
    assert drawn[0] == drawn[1]
    assert set(drawn[0][0]) == {"a", "b", "c"}


def test_marginals_have_their_axes_in_the_order_asked_for_and_no_other_columns():
    table = released(planted(300))
    np.testing.assert_array_equal(table.marginal(["c", "a"]), table.marginal(["a", "c"]).T)
    for names in (["a", "a"], [], ["no"]):
        with pytest.raises(GenieError, match="T504"):
            table.marginal(names)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "genie_dp private table"}', "[" * 100_000]
)
def test_what_is_no_table_is_refused(tmp_path, text):
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(GenieError, match="T508"):
        load_table(path)


def test_records_have_a_shape_that_numpy_likes():
    records = Records(np.zeros((0, 2), np.int64), np.zeros(0), (2, 3))
    assert records.marginal((0, 1)).tolist() == [[0, 0, 0], [0, 0, 0]]
