"""The best of a random number of runs: what it costs, exactly and by another library."""

import math

import numpy as np
import pytest

from genie_dp.errors import GenieError
from genie_dp.private.ledger.accounting import epsilon_of, renyi_curve, renyi_delta, stopping_chance
from genie_dp.private.ledger.mechanisms import (
    SHAPES,
    Exponential,
    Gaussian,
    PoissonGaussian,
    Selection,
    Threshold,
    describe_mechanism,
    from_dict,
)

TRIALS = pytest.mark.parametrize("trials", sorted(SHAPES))
TRAINING = PoissonGaussian(1.0, 0.02, 300)


@TRIALS
def test_it_costs_what_another_library_says(trials):
    from dp_accounting.rdp import RdpAccountant

    selection = Selection(((TRAINING, Gaussian(5.0)),), trials, 3.0)
    theirs = RdpAccountant().compose(selection.event()).get_epsilon(1e-6)
    assert epsilon_of([selection], 1e-6, "rdp") == pytest.approx(theirs, rel=1e-9)
    assert epsilon_of([selection], 1e-6, "pld") <= theirs + 1e-9


def generating(trials, mean, x):
    """Return E x^K of the number of runs."""
    if trials == "poisson":
        return math.exp(mean * (x - 1))
    g = stopping_chance(trials, mean)
    if trials == "geometric":
        return g * x / (1 - (1 - g) * x)
    return math.log1p(-(1 - g) * x) / math.log(g)


def best_of(trials, mean, chances):
    """Return the probabilities of no result, and of each as the best; the last is the best one."""
    reached = [generating(trials, mean, x) for x in np.cumsum([0.0, *chances]).clip(0, 1)]
    return np.diff([0.0, *reached])


@TRIALS
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_no_selection_among_answers_diverges_more_than_is_reckoned(trials, epsilon):
    # An answer out of three, the likeliest e^epsilon times as likely with the unit as without.
    weights = np.array([1.0, 1.0, math.exp(epsilon)]), np.array([math.exp(epsilon), 1.0, 1.0])
    one, other = (best_of(trials, 4.0, w / w.sum()) for w in weights)
    # Bounded range: twice that epsilon.
    selection = Selection(((Exponential(2 * epsilon),),), trials, 4.0)
    assert one.sum() == pytest.approx(1) == other.sum()
    for delta in (1e-2, 1e-4):
        for accountant in ("rdp", "pld"):
            at = math.exp(epsilon_of([selection], delta, accountant))
            for left, right in ((one, other), (other, one)):
                assert np.maximum(left - at * right, 0).sum() <= delta


def test_a_run_among_several_costs_the_dearest_at_each_order():
    cheap, dear = Selection(((Gaussian(9.0),),), "geometric", 3.0), PoissonGaussian(0.9, 0.02, 300)
    both = Selection(((Gaussian(9.0),), (dear,)), "geometric", 3.0)
    alone = Selection(((dear,),), "geometric", 3.0)
    np.testing.assert_allclose(renyi_curve(both), renyi_curve(alone))
    assert epsilon_of([cheap], 1e-6) < epsilon_of([both], 1e-6)


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_a_selection_beside_other_spends_costs_less_than_their_sum(accountant):
    selection = Selection(((TRAINING,),), "geometric", 3.0)
    alone = [epsilon_of([each], 1e-6, accountant) for each in (selection, TRAINING)]
    assert max(alone) < epsilon_of([selection, TRAINING], 1e-6, accountant) < 0.95 * sum(alone)


def test_the_delta_of_a_curve_is_at_least_that_of_the_mechanism():
    # The Gaussian mechanism (Balle and Wang, 2018, theorem 8).
    sigma, at = 1.5, np.linspace(-4, 6, 41)

    def below(x):
        return np.array([0.5 * math.erfc(-y / math.sqrt(2)) for y in x])

    exact = below(0.5 / sigma - at * sigma) - np.exp(at) * below(-0.5 / sigma - at * sigma)
    reckoned = renyi_delta(renyi_curve(Gaussian(sigma)), at)
    assert (reckoned >= exact).all()
    assert (reckoned <= 1).all()


def test_it_survives_json_and_is_told_in_words():
    selection = Selection(((TRAINING,), (Gaussian(2.0),)), "logarithmic", 3.5)
    assert from_dict(selection.as_dict()) == selection
    assert describe_mechanism(selection) == (
        "best of 3.5 runs on average (logarithmic), each 300 steps of Gaussian noise 1 on batches "
        "of rate 0.02, or Gaussian noise 2"
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Selection((), "geometric", 2.0), "a mechanism at least"),
        (lambda: Selection(((),), "geometric", 2.0), "a mechanism at least"),
        (lambda: Selection(((TRAINING,),), "uniform", 2.0), "trials must be one of"),
        (lambda: Selection(((TRAINING,),), "geometric", 0.5), "mean must be at least 1"),
        (lambda: Selection(((TRAINING,),), "geometric", math.nan), "mean must be"),
        (lambda: Selection(((Threshold(1e-7),),), "geometric", 2.0), "of noise alone"),
        (
            lambda: from_dict({"kind": "selection", "of": 1, "trials": "poisson", "mean": 2}),
            "lists",
        ),
    ],
)
def test_what_is_no_selection_is_refused(build, message):
    with pytest.raises(GenieError, match=f"B002.*{message}"):
        build()
