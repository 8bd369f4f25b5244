"""Noise that hangs together: its matrix, what it costs, and runs that were interrupted."""

import math
from itertools import product

import pytest

pytest.importorskip("opacus")

import numpy as np
import torch

from genie_dp.private.ledger.accounting import deltas_of
from genie_dp.private.ledger.guard import Units
from genie_dp.private.training.banded import BandedNoise, best_matrix, workload
from genie_dp.private.training.run import groups_of, train_privately
from genie_dp.private.training.settings import noisy_steps
from tests.private.training import private_models as models
from tests.private.training.private_models import (
    SPENT,
    Interrupted,
    made,
    run_of_model,
    small,
    stopping,
    units,
    weights,
)

PREFIX = np.tril(np.ones((7, 7)))


pytestmark = pytest.mark.usefixtures("seeded_and_unchecked")


@pytest.mark.parametrize("bands", [1, 2, 3, 7])
def test_steps_of_a_group_touch_no_number_together_and_each_moves_them_by_one(bands):
    matrix = best_matrix(PREFIX, bands)
    for group in range(bands):
        moved = matrix[:, group::bands]
        assert np.allclose(moved.T @ moved, np.eye(moved.shape[1]), atol=1e-12)
    assert np.array_equal(matrix, np.tril(matrix))


def test_more_bands_leave_less_noise_of_the_same_deviation_in_the_weights():
    left = [np.linalg.norm(PREFIX @ np.linalg.inv(best_matrix(PREFIX, b))) for b in range(1, 8)]
    assert left[0] == pytest.approx(np.linalg.norm(PREFIX))
    assert left == sorted(left, reverse=True)
    # No matrix leaves less than the nuclear norm over the root of the steps, where each unit comes
    # once (Denisov et al., 2022); the best of all is near it.
    least = np.linalg.norm(PREFIX, "nuc") / math.sqrt(7)
    assert least <= left[-1] < 1.05 * least


def test_the_workload_is_what_descent_with_momentum_does_to_a_weight():
    rates, beta, gradients = (0.1, 0.3, 0.2), 0.5, (1.0, -2.0, 4.0)
    average, weight, walked = 0.0, 0.0, []
    for number, (rate, gradient) in enumerate(zip(rates, gradients, strict=True), 1):
        average = beta * average + (1 - beta) * gradient
        weight += rate * average / (1 - beta**number)
        walked.append(weight)
    assert np.allclose(workload(beta, rates) @ gradients, walked)


@pytest.mark.parametrize("bands", [2, 5])
def test_the_matrix_makes_independent_noise_of_that_which_is_added(bands):
    matrix = best_matrix(np.tril(np.ones((5, 5))), bands)
    noise, fresh = BandedNoise(matrix, bands), torch.randn(5, 40_000, dtype=torch.float64)
    added = torch.stack([noise.next(0, step, fresh[step]) for step in range(5)])
    assert torch.allclose(torch.from_numpy(matrix) @ added, fresh, atol=1e-5)
    inverse = np.linalg.inv(matrix)
    assert np.allclose(np.cov(added.numpy()), inverse @ inverse.T, atol=0.06)


def test_after_an_interruption_no_earlier_noise_is_taken_back():
    matrix = best_matrix(PREFIX, 7)
    resumed, fresh = BandedNoise(matrix, 7), torch.randn(7, 100, dtype=torch.float64)
    added = torch.stack([resumed.next(0, step, fresh[step]) for step in range(3, 7)])
    # What is released hereafter is of the last columns, whose norm is still 1.
    assert torch.allclose(torch.from_numpy(matrix[3:, 3:]) @ added, fresh[3:], atol=1e-5)
    assert np.allclose(np.linalg.norm(matrix[3:, 3:], axis=0), 1)


@pytest.mark.parametrize(("steps", "bands"), [(4, 2), (3, 3), (5, 2)])
def test_the_ledger_knows_what_the_whole_release_tells_of_a_unit(steps, bands):
    noise, rate = 0.8, 0.2
    matrix = best_matrix(np.tril(np.ones((steps, steps))), bands)
    own = list(range(0, steps, bands))  # of the first group, which comes most often
    chance = bands * rate
    shifts, shares = [], []
    for taken in product([0, 1], repeat=len(own)):
        shifts.append(matrix[:, own] @ taken)
        shares.append(math.prod(chance if one else 1 - chance for one in taken))
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(shares), 200_000, p=shares)
    seen = np.array(shifts)[chosen] + noise * rng.normal(size=(len(chosen), steps))
    logs = [(seen @ s - s @ s / 2) / noise**2 + math.log(p)
            for s, p in zip(shifts, shares, strict=True)]  # fmt: skip
    losses = np.logaddexp.reduce(logs)
    for epsilon in (0.5, 1.5):
        found = np.maximum(0, -np.expm1(epsilon - losses))
        told = deltas_of([noisy_steps(noise, rate, steps, bands)], np.array([epsilon]))[0]
        assert told == pytest.approx(found.mean(), abs=5 * found.std() / math.sqrt(len(found)))


def test_a_unit_is_of_one_group_whoever_else_is_there():
    every = Units([*units(40), []])
    groups = groups_of(every, 4)
    assert sorted(map(id, every)) == sorted(id(unit) for group in groups for unit in group)
    fewer = groups_of(every[1:], 4)
    assert [[u for u in group if u is not every[0]] for group in groups] == fewer


def test_a_step_draws_of_its_group_alone():
    run = run_of_model(made(models.decoder), rows=units(40), bands=2, rate=0.5)
    groups = groups_of(run._units, 2)
    for step in range(6):
        run.steps = step
        assert len(run.draw()) == len(groups[step % 2])  # with twice the rate, all of them


@pytest.mark.parametrize("changes", [{"bands": 3}, {"bands": 7, "rate": 0.01}])
def test_more_bands_than_steps_or_than_a_rate_has_room_for_are_refused(changes):
    with pytest.raises(ValueError, match="band"):
        small(**changes)


@pytest.mark.trains
def test_a_run_that_was_interrupted_goes_on_is_paid_alike_and_has_as_much_noise(tmp_path):
    options, paid = small(checkpoint_every=2, bands=3, rate=0.2), []

    def spend(mechanisms):
        paid.append(tuple(mechanisms))
        return SPENT

    first, second = made(models.decoder), made(models.decoder)
    with pytest.raises(Interrupted):
        train_privately(first, units(), options, spend=spend, folder=tmp_path, listen=stopping(3))
    done = train_privately(second, units(), options, spend=spend, folder=tmp_path)
    assert done.steps == 6
    assert set(paid) == {(noisy_steps(1.0, 0.2, 6, 3),)}
    assert torch.isfinite(weights(second)).all()
