"""One unit moves a release by no more than its sensitivity; noise is as wide as the ledger says."""

import math
import random
from collections import Counter
from dataclasses import replace
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, Threshold
from genie_dp.private.prior import histogram
from genie_dp.private.prior.histogram import (
    ANY,
    CountedNames,
    CountLimits,
    Noise,
    NoisyCounts,
    contribution,
    count,
    leak,
    release_counts,
    threshold,
)
from genie_dp.private.prior.make import (
    Frequencies,
    PublicFunctions,
    Sampled,
    multipliers,
    prior_of,
    project_shares,
    shares,
    signal,
)
from genie_dp.synthesis.steering import is_neutral
from tests.private.prior.prior_setup import FUNCTIONS, SPENT, plan, population

NAMES = (*FUNCTIONS[:5], "@no.such.thing", "@no.such.other", "@nobody.has.it")
PROGRAMS = st.lists(st.sampled_from(NAMES), max_size=4).map(tuple)
UNITS = st.lists(PROGRAMS, max_size=6)
LIMITS = st.builds(
    CountLimits, st.integers(1, 4), st.integers(0, 3), st.integers(0, 3), st.booleans()
)


def vector(units, limits):
    """Return the counts before noise, by bin."""
    found = count(units, plan().support, limits)
    bins = Counter({("units", ""): found.units * limits.counts_units})
    for sort in ("functions", "pairs", "missing"):
        bins.update({(sort, name): n for name, n in getattr(found, sort).items()})
    return bins


@given(st.lists(UNITS, max_size=5), UNITS, LIMITS)
def test_one_unit_more_moves_the_histogram_by_its_sensitivity_at_most(units, one, limits):
    without, with_it = vector(units, limits), vector([*units, one], limits)
    moved = [with_it[name] - without[name] for name in {*without, *with_it}]
    assert math.hypot(*moved) <= limits.sensitivity(2) + 1e-9
    assert sum(map(abs, moved)) <= limits.sensitivity(1)


@given(st.lists(UNITS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_what_a_unit_adds_depends_on_no_other_unit(units, rng):
    shuffled = rng.sample(units, len(units))
    assert vector(units, CountLimits()) == vector(shuffled, CountLimits())
    parts = Counter()
    for unit in units:
        parts += vector([unit], CountLimits())
    assert parts == +vector(units, CountLimits())


def test_a_unit_that_uses_all_limits_moves_by_the_whole_sensitivity():
    limits = CountLimits(2, 1, 1, counts_units=True)
    unit = [(FUNCTIONS[0], FUNCTIONS[1], "@no.such.thing")]
    assert math.hypot(*vector([unit], limits).values()) == pytest.approx(limits.sensitivity(2))


def test_a_unit_counts_for_what_it_uses_most():
    unit = [(FUNCTIONS[3],), (FUNCTIONS[1],), (FUNCTIONS[1],), (FUNCTIONS[2],)]
    found = contribution(unit, set(FUNCTIONS), CountLimits(functions=2))
    assert found.functions == (FUNCTIONS[1], FUNCTIONS[3])


@pytest.mark.parametrize(("kind", "norm"), [("gaussian", 2), ("laplace", 1)])
def test_noise_is_as_wide_as_the_mechanism_of_the_ledger_says(kind, norm):
    chosen = plan(kind=kind, multiplier=4.0)
    wide = 4.0 * chosen.limits.sensitivity(norm)
    assert chosen.mechanisms == ((Gaussian if norm == 2 else Laplace)(4.0),)
    assert chosen.noise.scale == pytest.approx(wide)
    assert chosen.noise.beyond(chosen.noise.quantile(0.05)) == pytest.approx(0.05)


def test_every_bin_gets_noise_of_its_own_even_where_nobody_asks():
    chosen = plan(multiplier=20.0)
    found = release_counts([], chosen, random.Random("empty"))
    assert set(found.functions) == set(FUNCTIONS)
    assert len(found.pairs) == math.comb(len(chosen.support.functions), 2)
    assert pstdev(found.pairs.values()) == pytest.approx(chosen.noise.deviation, rel=0.25)
    assert len({*found.functions.values()}) > 6


@given(
    st.sampled_from(["gaussian", "laplace"]),
    st.floats(0.5, 50),
    st.integers(1, 4),
    st.floats(1e-9, 1e-2),
)
def test_what_one_unit_alone_has_is_shown_with_delta_at_most(kind, scale, names, delta):
    noise = Noise(kind, scale)
    least = threshold(noise, names, delta)
    assert leak(noise, names, least) <= delta
    assert leak(noise, names, least - 2) > delta


def test_names_below_the_threshold_do_not_come_out():
    chosen = plan(multiplier=1.0, delta=0.02, limits=CountLimits(missing=1))
    # Units that have a name each, in one release: the noise of each name is drawn by itself.
    units = [[(f"@user.number{n}.alone",)] for n in range(3000)]
    shown = len(release_counts(units, chosen, random.Random("threshold")).named)
    # 60 expected at most; 5 standard deviations above.
    assert shown <= 60 + 5 * math.sqrt(60)
    assert chosen.mechanisms == (Gaussian(1.0), Threshold(0.02))


def test_names_that_many_units_have_come_out_and_others_do_not():
    units = [[("@many.have.it",)]] * 200 + [[("@rare.one",)]]
    found = release_counts(units, plan(multiplier=2.0, delta=1e-6), random.Random(1))
    assert set(found.named) == {"@many.have.it"}


def test_without_a_threshold_no_name_comes_out():
    chosen = plan(multiplier=0.01)
    found = release_counts([[("@many.have.it",)]] * 500, chosen, random.Random(1))
    assert found.named == {}
    assert found.lacking == 500
    assert [type(one) for one in chosen.mechanisms] == [Gaussian]


def test_candidates_are_counted_whether_anybody_has_them_or_not():
    chosen = plan(multiplier=2.0, candidates=("@many.have.it", "@nobody.has.it", FUNCTIONS[0]))
    found = release_counts([[("@many.have.it",)]] * 300, chosen, random.Random(1))
    assert set(found.candidates) == {"@many.have.it", "@nobody.has.it"}
    assert found.candidates["@many.have.it"] > 250 > 50 > found.candidates["@nobody.has.it"]


@given(st.lists(st.floats(-50, 500), min_size=1, max_size=30))
def test_projected_counts_are_not_negative_and_keep_their_sum(counts):
    found = project_shares(np.array(counts))
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(max(0.0, sum(counts)), abs=1e-6)


def released(functions, **fields):
    return NoisyCounts(**{
        "functions": functions, "pairs": {}, "candidates": {}, "named": {}, "lacking": 0,
        "units": None, **fields,
    })  # fmt: skip


def test_noise_alone_changes_nothing():
    neutral = 0
    for seed in range(40):
        found, kept = shares(
            release_counts([], plan(multiplier=20.0), random.Random(seed)), plan(multiplier=20.0)
        )
        neutral += kept < 0.5
        assert (found == {}) == (kept == 0)
    assert neutral >= 36


def test_a_clear_signal_is_kept_and_comes_near_to_the_truth():
    units = population(20_000)
    exact = count(units, plan().support, CountLimits())
    total = sum(exact.functions.values())
    found, kept = shares(release_counts(units, plan(), random.Random(3)), plan())
    assert kept > 0.99
    assert sum(found.values()) == pytest.approx(1, abs=1e-4)
    distance = sum(abs(found[f] - exact.functions[f] / total) for f in FUNCTIONS) / 2
    assert distance < 0.01


@pytest.mark.parametrize(("bins", "most"), [(2, 0.5), (3, 0.5), (200, 0.1)])
def test_the_signal_is_nothing_where_counts_differ_as_noise_does(bins, most):
    rng = random.Random("few")
    faint = [np.array([rng.gauss(5, 10) for _ in range(bins)]) for _ in range(400)]
    assert fmean(signal(counts, 10.0) for counts in faint) < most
    assert signal(100 * np.arange(bins), 10.0) > 0.97


@given(st.dictionaries(st.sampled_from(FUNCTIONS), st.floats(0, 1), min_size=1))
def test_multipliers_stay_within_bounds_and_are_one_where_nothing_changes(wanted):
    even = dict.fromkeys(wanted, 1 / len(wanted))
    assert all(1 / 20 <= one <= 20 for one in multipliers(wanted, even).values())
    assert set(multipliers(even, even).values()) == {1.0}


@pytest.mark.statistical
@pytest.mark.usefixtures("noise_in_bulk")
def test_intervals_hold_the_truth_as_often_as_they_say(monkeypatch):
    chosen = plan(multiplier=5.0)
    units = [[(FUNCTIONS[0],)]] * 400 + [[(FUNCTIONS[1],)]] * 600
    exact, hits = count(units, chosen.support, chosen.limits), 0
    monkeypatch.setattr(histogram, "count", lambda *_: exact)  # the same 400 times
    for seed in range(400):
        found = release_counts(units, chosen, random.Random(seed))
        shares = Frequencies(found, chosen, 1000).share_counts(found.functions, "function")
        truth = {FUNCTIONS[0]: 0.4, FUNCTIONS[1]: 0.6}
        hits += all(f.low <= truth.get(name, 0.0) <= f.high for name, f in shares.items())
    assert 0.95 - 4 * 0.011 <= hits / 400 <= 1


def test_intervals_are_wider_where_units_are_counted_with_noise_too():
    chosen = plan(multiplier=5.0)
    given_, counted = released({FUNCTIONS[0]: 400}), released({FUNCTIONS[0]: 400}, units=1000)
    exact = Frequencies(given_, chosen, 1000).share_counts(given_.functions, "function")
    wide = Frequencies(counted, chosen, None).share_counts(counted.functions, "function")
    exact, wide = exact[FUNCTIONS[0]], wide[FUNCTIONS[0]]
    assert wide.low < exact.low < exact.share == wide.share < exact.high < wide.high


def test_what_the_library_lacks_comes_with_the_most_frequent_first():
    found = released({}, candidates={"@a.b": 3, "@c.d": 90}, named={"@e.f": 70}, lacking=150)
    missing = Frequencies(found, plan(multiplier=2.0, delta=1e-6), 1000).missing()
    assert list(missing) == [ANY, "@c.d", "@e.f", "@a.b"]
    assert missing["@c.d"].share == 0.09
    assert missing["@a.b"].low == 0


def test_pairs_that_noise_may_have_made_are_left_out():
    chosen = plan(multiplier=5.0)
    noisy = [release_counts([], chosen, random.Random(seed)) for seed in range(60)]
    frequencies = [Frequencies(counts, chosen, 100) for counts in noisy]
    assert 0 < sum(len(one.steering_pairs()) for one in frequencies) <= 60
    assert sum(len(one.pairs()) for one in frequencies) <= 3
    units = [[(FUNCTIONS[0], FUNCTIONS[1])]] * 200
    found = release_counts(units, chosen, random.Random(1))
    assert list(Frequencies(found, chosen, 200).pairs())[:1] == [f"{FUNCTIONS[0]} {FUNCTIONS[1]}"]
    assert replace(chosen, multiplier=1.0).noise.scale < chosen.noise.scale


def test_pairs_of_noise_steer_nothing_where_noise_dominates():
    chosen = plan(multiplier=100.0)
    noisy = [release_counts([], chosen, random.Random(seed)) for seed in range(60)]
    priors = [
        prior_of(
            counts, chosen, SPENT, about=10, made=PublicFunctions(), sampled=Sampled(),
        )
        for counts in noisy
    ]  # fmt: skip
    dominated = [one for one in priors if one.signal == 0]
    assert any(
        Frequencies(counts, chosen, 10).steering_pairs()
        for counts, one in zip(noisy, priors, strict=True)
        if one.signal == 0
    )
    assert all(is_neutral(one) for one in dominated)


@pytest.mark.statistical
def test_functions_that_nobody_asks_for_leave_the_weights_of_pairs_alone():
    a, b, c = FUNCTIONS[:3]
    units = [[(a, b)]] * 500 + [[(c,)]] * 500
    made = PublicFunctions.from_rows(program for unit in units * 10 for program in unit)
    many = (*FUNCTIONS, *(f"@com.nobody.asks{n}" for n in range(150)))
    chosen = replace(plan(multiplier=10.0), support=CountedNames.from_names(many))
    found = [
        prior_of(
            release_counts(units, chosen, random.Random(seed)), chosen, SPENT,
            about=1000, made=made, sampled=Sampled(),
        ).pair_weights.get(f"{a} {b}", 1.0)
        for seed in range(8)
    ]  # fmt: skip
    assert 0.8 < fmean(found) < 1.25


def test_public_rows_are_counted_in_their_order_so_that_a_resumed_run_knows_its_settings():
    names = FUNCTIONS[::-1]  # of twelve, a set has the order of the row once in 479,001,600 times
    made = PublicFunctions.from_rows([names, (*names, names[0])])
    assert list(made.functions) == list(names)
    assert set(made.functions.values()) == {2}
