"""What mechanisms cost: closed forms, another library, published figures, laws of composition."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.ledger import mechanisms as described
from genie_dp.private.ledger.accounting import (
    GRID,
    ORDERS,
    concentrated_delta,
    epsilon_of,
    exponential_delta,
    noise_multiplier_for,
    renyi_curve,
)
from genie_dp.private.ledger.mechanisms import (
    Exponential,
    Gaussian,
    Laplace,
    PoissonGaussian,
    Threshold,
    ZeroConcentrated,
    describe_mechanism,
    from_dict,
)

BOTH = pytest.mark.parametrize("accountant", ["rdp", "pld"])


def number(low, high):
    """Numbers of four digits, by their logarithm."""
    exponents = st.floats(math.log10(low), math.log10(high))
    return exponents.map(lambda x: float(f"{10**x:.4g}"))


rates = number(1e-3, 1).map(lambda q: min(q, 1.0))
poisson = st.builds(PoissonGaussian, number(0.5, 10), rates, st.integers(1, 200))
gaussians = st.builds(Gaussian, number(0.5, 50), st.integers(1, 20))
laplaces = st.builds(Laplace, number(0.5, 50), st.integers(1, 5))
exponentials = st.builds(Exponential, number(0.01, 2), st.integers(1, 5))
zcdps = st.builds(ZeroConcentrated, number(1e-3, 1))
with_events = st.one_of(poisson, gaussians, laplaces, exponentials, zcdps)
thresholds = st.builds(Threshold, number(1e-10, 1e-4))
any_mechanism = st.one_of(with_events, thresholds)
deltas = number(1e-9, 1e-3)


def exact_gaussian(sigma, delta):
    """Return epsilon of the Gaussian mechanism (Balle and Wang, 2018, theorem 8)."""
    cdf = NormalDist().cdf

    def too_small(epsilon):
        low, high = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
        return cdf(low) - math.exp(epsilon) * cdf(high) > delta

    low, high = 0.0, 1.0
    while too_small(high):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if too_small(middle) else (low, middle)
    return high


@given(number(0.5, 30), number(1e-7, 1e-3))
@settings(max_examples=20)
def test_the_gaussian_mechanism_is_the_closed_form_under_pld_and_less_than_under_rdp(sigma, delta):
    exact = exact_gaussian(sigma, delta)
    assert epsilon_of([Gaussian(sigma)], delta, "pld") == pytest.approx(exact, abs=2 * GRID)
    assert exact - 1e-6 <= epsilon_of([Gaussian(sigma)], delta, "rdp") <= 1.5 * exact + 0.02


@given(number(1, 30), st.integers(1, 30), deltas)
@settings(max_examples=10)
def test_several_gaussian_releases_are_one_with_less_noise(sigma, count, delta):
    for accountant in ("rdp", "pld"):
        several = epsilon_of([Gaussian(sigma, count)], delta, accountant)
        one = epsilon_of([Gaussian(sigma / math.sqrt(count))], delta, accountant)
        assert several == pytest.approx(one, abs=1e-6)
        one_by_one = epsilon_of([Gaussian(sigma)] * count, delta, accountant)
        assert several == pytest.approx(one_by_one, abs=2 * GRID)


@given(number(0.01, 5), st.integers(1, 5))
def test_pure_mechanisms_cost_their_epsilon_without_any_delta(epsilon, count):
    for accountant in ("rdp", "pld"):
        for mechanism in (Laplace(1 / epsilon, count), Exponential(epsilon, count)):
            found = epsilon_of([mechanism], 0.0, accountant)
            assert found == pytest.approx(count * epsilon)


@given(number(0.5, 20), number(1e-9, 1e-3))
@settings(max_examples=20)
def test_laplace_at_a_delta_is_the_closed_form_under_pld(scale, delta):
    # The loss is 1/scale with probability 1/2 and falls from there: delta = 1 - e^((at - eps) / 2).
    exact = max(0.0, 1 / scale + 2 * math.log1p(-delta))
    assert epsilon_of([Laplace(scale)], delta, "pld") == pytest.approx(exact, abs=GRID)
    assert exact <= epsilon_of([Laplace(scale)], delta, "rdp") <= 1 / scale


def test_pure_and_other_mechanisms_together_need_a_delta():
    for accountant in ("rdp", "pld"):
        assert epsilon_of([Laplace(1.0), Gaussian(1.0)], 0.0, accountant) == math.inf


@given(number(1e-3, 2), deltas)
def test_zcdp_lies_between_the_gaussian_of_its_rho_and_the_bound_of_bun_and_steinke(rho, delta):
    found = epsilon_of([ZeroConcentrated(rho)], delta, "rdp")
    assert found <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-9
    assert found >= exact_gaussian(1 / math.sqrt(2 * rho), delta) - 1e-6


@given(number(0.5, 30), deltas)
def test_a_gaussian_costs_under_rdp_what_its_zcdp_costs(sigma, delta):
    gaussian, concentrated = Gaussian(sigma), ZeroConcentrated(1 / (2 * sigma**2))
    assert epsilon_of([gaussian], delta, "rdp") == pytest.approx(
        epsilon_of([concentrated], delta, "rdp")
    )


def gaussian_delta(sigma, epsilon):
    """Return delta of the Gaussian mechanism at an epsilon (Balle and Wang, 2018, theorem 8)."""
    cdf = NormalDist().cdf
    far = math.exp(epsilon) * cdf(-1 / (2 * sigma) - epsilon * sigma)
    return cdf(1 / (2 * sigma) - epsilon * sigma) - far


def sampled_delta(sigma, rate, epsilon, *, removed):
    """Return delta of one step of DP-SGD, by the outcome where the ratio is e^epsilon.

    With the unit the outcome is a mixture of N(0, sigma) and N(1, sigma), without it N(0, sigma).
    """
    cdf = NormalDist(0, sigma).cdf
    # Mixture / N(0) = 1 - q + q e^((2x - 1) / 2 sigma^2), which rises with the outcome x.
    ratio = (math.exp(epsilon if removed else -epsilon) - 1 + rate) / rate
    if ratio <= 0:
        return 1 - math.exp(epsilon) if removed else 0.0
    x = sigma**2 * math.log(ratio) + 0.5
    with_unit, without = (1 - rate) * cdf(x) + rate * cdf(x - 1), cdf(x)
    if removed:
        return (1 - with_unit) - math.exp(epsilon) * (1 - without)
    return without - math.exp(epsilon) * with_unit


@given(number(0.6, 5), number(1e-3, 0.9), number(1e-7, 1e-3))
@settings(max_examples=20)
def test_a_step_of_training_costs_its_closed_form_or_a_little_more_under_pld(sigma, rate, delta):
    found = epsilon_of([PoissonGaussian(sigma, rate, 1)], delta, "pld")
    exact = (sampled_delta(sigma, rate, found, removed=way) for way in (True, False))
    assert max(exact) <= delta * (1 + 1e-6) + 1e-14
    less = found - 2 * GRID
    if less > 0:
        assert max(sampled_delta(sigma, rate, less, removed=way) for way in (True, False)) > delta


@pytest.mark.slow
def test_trainings_cost_under_pld_what_opacus_says_by_fourier_transforms():
    from opacus.accountants import PRVAccountant

    noise, rate, steps, delta = 0.7, 0.0153, 660, 8e-6
    theirs = PRVAccountant()
    theirs.history = [(noise, rate, steps)]
    prv = theirs._get_dprv(eps_error=0.01, delta_error=delta / 1000)
    lower, _, upper = prv.compute_epsilon(delta, delta / 1000, 0.01)
    assert lower <= epsilon_of([PoissonGaussian(noise, rate, steps)], delta, "pld") <= upper


@given(number(1e-3, 30), st.floats(-1, 1))
def test_no_gaussian_of_its_rho_diverges_more_than_zcdp(rho, share):
    at = share * (rho + 8 * math.sqrt(rho))
    exact = gaussian_delta(1 / math.sqrt(2 * rho), at)
    assert exact <= concentrated_delta(rho, [at])[0] * (1 + 1e-9) + 1e-12


@given(number(1e-3, 30))
def test_the_divergence_of_zcdp_is_that_of_a_pair_of_distributions(rho):
    # It falls, is convex in e^epsilon, and at least 1 - e^epsilon.
    at = np.linspace(-1, 1, 801) * (rho + 6 * math.sqrt(rho))
    found, x = concentrated_delta(rho, at), np.exp(at)
    slopes = np.diff(found) / np.diff(x)
    assert (slopes <= 0).all()
    assert (np.diff(slopes) >= -1e-9 * np.abs(slopes[1:]) - 1e-13 / np.diff(x)[1:]).all()
    assert (found >= -np.expm1(at) - 1e-12).all()


@given(number(0.01, 2), number(0.7, 5), deltas)
@settings(max_examples=20)
def test_zcdp_and_noise_together_cost_at_least_the_worst_that_is_known(rho, sigma, delta):
    both = [ZeroConcentrated(rho), Gaussian(sigma)]
    found = epsilon_of(both, delta, "pld")
    # A Gaussian of its rho is rho-zCDP, and two Gaussians are one.
    assert found >= exact_gaussian(1 / math.sqrt(2 * rho + 1 / sigma**2), delta) - 1e-6
    assert found <= epsilon_of(both, delta, "rdp")


def two_outcomes(epsilon, at):
    """Return ((loss, probability), ..) of the bounded-range pair whose larger loss is `at`."""
    larger = math.expm1(epsilon - at) * math.exp(at) / math.expm1(epsilon)
    return (at, larger), (at - epsilon, 1 - larger)


def hockey_stick(losses, epsilon):
    return sum(p * -math.expm1(min(0.0, epsilon - loss)) for loss, p in losses)


@given(number(0.01, 8), st.floats(0, 1), st.floats(-1.2, 1.2))
def test_the_dominating_pair_is_above_every_exponential_mechanism(epsilon, share, at):
    pair = two_outcomes(epsilon, share * epsilon)
    here = at * epsilon
    assert hockey_stick(pair, here) <= exponential_delta(epsilon, here) + 1e-12


@given(number(0.01, 8), st.floats(-1, 1))
def test_some_exponential_mechanism_reaches_the_dominating_pair(epsilon, at):
    here = at * epsilon
    pair = two_outcomes(epsilon, (epsilon + here) / 2)
    assert hockey_stick(pair, here) == pytest.approx(exponential_delta(epsilon, here), abs=1e-12)


@given(number(0.01, 4), st.floats(0.01, 0.99))
def test_no_exponential_mechanism_diverges_more_than_is_reckoned(epsilon, share):
    from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

    pair = two_outcomes(epsilon, share * epsilon)
    for order, reckoned in zip(DEFAULT_RDP_ORDERS, renyi_curve(Exponential(epsilon)), strict=True):
        logs = [math.log(p) + (order - 1) * loss for loss, p in pair]
        most = max(logs)
        exact = (most + math.log(sum(math.exp(x - most) for x in logs))) / (order - 1)
        assert exact <= reckoned + 1e-9


@BOTH
@given(number(0.05, 1.5), st.lists(st.floats(0, 1), min_size=1, max_size=6), number(1e-6, 1e-2))
@settings(max_examples=20)
def test_several_choices_never_cost_more_than_is_reckoned(accountant, epsilon, shares, delta):
    found = epsilon_of([Exponential(epsilon, len(shares))], delta, accountant)
    outcomes = itertools.product(*(two_outcomes(epsilon, share * epsilon) for share in shares))
    losses = [(sum(x for x, _ in one), math.prod(p for _, p in one)) for one in outcomes]
    assert hockey_stick(losses, found) <= delta + 1e-9


def test_many_choices_cost_far_less_than_their_sum():
    assert epsilon_of([Exponential(0.1, 100)], 1e-6, "rdp") < 3 < 10
    assert epsilon_of([Exponential(0.1, 100)], 1e-6, "pld") < 3.5
    # Laplace noise of the same epsilon costs more: only choices have a bounded range.
    assert epsilon_of([Exponential(0.1, 100)], 1e-6, "rdp") < epsilon_of(
        [Laplace(10.0, 100)], 1e-6, "rdp"
    )


@pytest.mark.parametrize(
    ("noise", "rate"), [(0.05, 0.015), (0.7, 0.0153), (1.3, 0.14), (3.0, 0.2), (11.0, 0.48), (2, 1)]
)
def test_a_step_diverges_at_all_orders_as_the_library_says(noise, rate):
    from dp_accounting.rdp import rdp_privacy_accountant as theirs

    orders = tuple(theirs.DEFAULT_RDP_ORDERS)
    expected = theirs._compute_rdp_poisson_subsampled_gaussian(rate, noise, orders)
    found = renyi_curve(PoissonGaussian(noise, rate, 1))
    # Infinite where the series is not done: the same orders are left out.
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)
    assert len(found) == ORDERS


# 133,584 rows in batches of 2,048, ten epochs, delta 8e-6; figures of dp-accounting 0.6.0 with
# its default grid of 1e-4, and of its own accountants, November 2026.
RATE, STEPS, DELTA = 2048 / 133_584, 660, 8e-6
T1 = PoissonGaussian(0.7, RATE, STEPS)


@pytest.mark.parametrize(
    ("accountant", "epsilon", "steps", "noise"),
    [
        ("rdp", 8, STEPS, 0.6630),
        ("rdp", 3, 2 * STEPS, 1.1242),
        ("pld", 3, STEPS, 0.9073),
    ],
)
def test_the_noise_for_an_epsilon_is_that_of_the_table(accountant, epsilon, steps, noise):
    found = noise_multiplier_for(epsilon, DELTA, rate=RATE, steps=steps, accountant=accountant)
    assert found == pytest.approx(noise, rel=0.01)


@pytest.mark.parametrize(
    ("mechanisms", "rdp", "pld"),
    [
        ((PoissonGaussian(0.6, RATE, STEPS),), 10.69, 9.28),
        ((PoissonGaussian(1.0, RATE, STEPS),), 2.74, 2.42),
        ((T1,), 6.846, 5.917),
        ((T1, T1), 9.051, 8.016),
        ((T1, T1, Gaussian(20.0, 10), Laplace(10.0)), 9.101, 8.066),
        # The zCDP of a table counts for no more than its rho: less than what RDP of all would say.
        ((T1, T1, ZeroConcentrated(0.0306)), 9.14, 8.195),
    ],
)
def test_the_epsilon_of_a_ledger_is_that_of_the_table(mechanisms, rdp, pld):
    assert epsilon_of(mechanisms, DELTA, "rdp") == pytest.approx(rdp, rel=0.01)
    assert epsilon_of(mechanisms, DELTA, "pld") == pytest.approx(pld, rel=0.01)


def test_five_votes_of_private_evolution_cost_epsilon_1():
    votes = Gaussian(8.342, 5)
    assert epsilon_of([votes], 1e-5, "pld") == pytest.approx(1.0, rel=0.002)
    assert epsilon_of([votes], 1e-5, "rdp") == pytest.approx(1.093, rel=0.002)


@pytest.mark.parametrize(("accountant", "more"), [("rdp", 1e-12), ("pld", 1e-6)])
@given(st.permutations(range(3)), st.lists(any_mechanism, min_size=3, max_size=3), deltas)
@settings(max_examples=8)
def test_in_any_order_spends_cost_the_same_and_with_one_less_no_more(
    accountant, more, order, all_, delta
):
    found = epsilon_of(all_, delta, accountant)
    assert epsilon_of([all_[n] for n in order], delta, accountant) == found
    assert epsilon_of(all_[1:], delta, accountant) <= found + more


@given(any_mechanism, any_mechanism, deltas)
def test_spends_together_cost_at_most_their_sum_under_rdp(one, other, delta):
    # Basic composition adds the deltas, too, so each has half of it.
    apart = sum(epsilon_of([each], delta / 2, "rdp") for each in (one, other))
    # Where half of the delta covers all of one, it costs nothing apart; at the order that is best
    # for the other it still costs its divergence.
    assert epsilon_of([one, other], delta, "rdp") <= 1.01 * apart + 0.1


@given(any_mechanism, any_mechanism, number(1e-7, 1e-3))
@settings(max_examples=10)
def test_spends_together_cost_at_most_their_sum_under_pld(one, other, delta):
    apart = sum(epsilon_of([each], delta / 2, "pld") for each in (one, other))
    assert epsilon_of([one, other], delta, "pld") <= apart + 2e-3


@BOTH
def test_nothing_costs_nothing(accountant):
    assert epsilon_of([], 0.0, accountant) == epsilon_of([], 1e-6, accountant) == 0.0


@given(poisson, deltas)
@settings(max_examples=20)
def test_less_noise_and_more_steps_cost_more(mechanism, delta):
    noise, rate, steps = mechanism.noise_multiplier, mechanism.rate, mechanism.steps
    here = epsilon_of([mechanism], delta, "rdp")
    assert epsilon_of([PoissonGaussian(0.9 * noise, rate, steps)], delta, "rdp") >= here
    assert epsilon_of([PoissonGaussian(noise, rate, steps + 1)], delta, "rdp") >= here - 1e-12


def test_great_noise_takes_nothing_off_other_spends(capfd):
    nearly_free = PoissonGaussian(1e9, 0.0153, 10**7)
    assert renyi_curve(nearly_free).min() >= 0
    assert epsilon_of([Gaussian(1.0), nearly_free], 1e-6, "rdp") >= epsilon_of(
        [Gaussian(1.0)], 1e-6, "rdp"
    )
    assert epsilon_of([nearly_free], 1e-6, "rdp") >= 0
    assert "Negative" not in capfd.readouterr().err


def test_without_privacy_to_speak_of_pld_takes_the_bound_of_rdp():
    hopeless = [PoissonGaussian(0.05, 0.015, 660)]
    assert epsilon_of(hopeless, 1e-6, "pld") == epsilon_of(hopeless, 1e-6, "rdp") > 1000


def test_an_order_that_cannot_be_computed_is_left_out_quietly(caplog, capfd):
    assert math.isfinite(epsilon_of([PoissonGaussian(20.0, 0.5, 1)], 1e-6, "rdp"))
    assert capfd.readouterr().err == ""
    assert not caplog.records


@BOTH
@given(gaussians, number(1e-9, 1e-5))
@settings(max_examples=10)
def test_a_threshold_takes_its_part_of_delta(accountant, mechanism, part):
    delta = 1e-5
    together = epsilon_of([mechanism, Threshold(part)], delta, accountant)
    assert together == epsilon_of([mechanism], delta - part, accountant)
    assert epsilon_of([Threshold(part)], delta, accountant) == 0
    assert epsilon_of([Threshold(part)], 0.99 * part, accountant) == math.inf


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(ValueError, match="delta must lie in"):
        epsilon_of([Laplace(1.0)], delta, "rdp")


@BOTH
@given(
    number(0.2, 8), rates, st.integers(1, 100), st.lists(laplaces, max_size=1), number(1e-7, 1e-4)
)
@settings(max_examples=3)
def test_calibrated_noise_fits_and_any_less_does_not(accountant, more, rate, steps, before, delta):
    spent = epsilon_of(before, delta, accountant)
    found = {"rate": rate, "steps": steps, "before": before, "accountant": accountant}
    noise = noise_multiplier_for(spent + more, delta, **found)
    assert round(noise, 4) == noise

    def epsilon(sigma):
        return epsilon_of([*before, PoissonGaussian(sigma, rate, steps)], delta, accountant)

    assert epsilon(noise) <= spent + more
    if noise > 1e-4:
        assert epsilon((round(noise * 10_000) - 1) / 10_000) > spent + more


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (6, DELTA, "nothing is left of 6"),
        (math.nan, DELTA, "finite epsilon, got nan"),
        (math.inf, DELTA, "finite epsilon, got inf"),
        (9, 0.0, "no noise gives|nothing is left"),
    ],
)
def test_budgets_that_leave_no_noise_to_choose_are_refused(epsilon, delta, message):
    with pytest.raises(GenieError, match=f"B004.*({message})"):
        noise_multiplier_for(epsilon, delta, rate=RATE, steps=STEPS, before=[T1], accountant="rdp")


@given(any_mechanism)
def test_a_mechanism_survives_json(mechanism):
    assert from_dict(mechanism.as_dict()) == mechanism
    assert describe_mechanism(mechanism)


@given(with_events, deltas)
def test_an_event_costs_what_we_reckon_or_more(mechanism, delta):
    from dp_accounting.rdp import RdpAccountant

    theirs = RdpAccountant().compose(mechanism.event()).get_epsilon(delta)
    assert epsilon_of([mechanism], delta, "rdp") <= theirs + 1e-9


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: PoissonGaussian(0.0, 0.1, 1), "noise_multiplier"),
        (lambda: PoissonGaussian(1.0, 1.1, 1), "rate"),
        (lambda: PoissonGaussian(1.0, 0.0, 1), "rate"),
        (lambda: PoissonGaussian(1.0, 0.1, 0), "steps"),
        (lambda: PoissonGaussian(1.0, 0.1, 1.5), "steps"),
        (lambda: Gaussian(math.nan), "noise_multiplier"),
        (lambda: Gaussian(1.0, True), "count"),
        (lambda: Laplace("1"), "scale"),
        (lambda: Exponential(math.inf), "epsilon"),
        (lambda: ZeroConcentrated(-0.1), "rho"),
        (lambda: Threshold(1.1), "delta"),
        # Accountants divide by 0 or overflow with these.
        (lambda: Gaussian(1e-300), "noise_multiplier"),
        (lambda: PoissonGaussian(1e300, 0.1, 1), "noise_multiplier"),
        (lambda: PoissonGaussian(1.0, 5e-324, 1), "rate"),
        (lambda: PoissonGaussian(1.0, 0.1, 10**400), "steps"),
    ],
)
def test_what_is_no_mechanism_is_refused_by_field_and_value(build, field):
    with pytest.raises(GenieError, match=f"B002.*{field} must be"):
        build()


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"kind": "laplac", "scale": 1.0, "count": 1}, "did you mean 'laplace'"),
        ({"kind": ["laplace"], "scale": 1.0, "count": 1}, "no mechanism"),
        ({"scale": 1.0}, "no mechanism None"),
        ({"kind": "laplace", "scale": 1.0}, "expected count, scale, got scale"),
        ({"kind": "laplace", "scale": 1.0, "count": 1, "x": 2}, "got count, scale, x"),
    ],
)
def test_json_that_describes_no_mechanism_is_refused(facts, message):
    with pytest.raises(GenieError, match="B002") as error:
        from_dict(facts)
    assert message in str(error.value)


def test_without_the_library_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(described, "import_module", missing)
    with pytest.raises(GenieError, match=r"B001.*dp-accounting.*\n.*genie_dp\[private\]"):
        Gaussian(1.2345).event()
