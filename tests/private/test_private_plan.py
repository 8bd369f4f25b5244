"""`genie-dp private plan`: what fits into the minutes, what it expects, and its command."""

import math
import re

import pytest

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.private import planner
from genie_dp.private.generators.plans import TrainingAmount
from genie_dp.private.ledger.accounting import least_noise, noise_multiplier_for
from genie_dp.private.ledger.mechanisms import Selection
from genie_dp.private.planner import (
    MEASURED,
    SIGNALS,
    Planning,
    Speed,
    best_training,
    expected_loss,
    make_plan,
    measure_speed,
)

SPEED = Speed(row=0.004, step=0.02, public_row=0.003)
ASKED = {
    "epsilon": 8.0,
    "delta": 1e-6,
    "estimated_units": 20_000.0,
    "minutes": 2.0,
    "size": 96,
    "layers": 2,
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Take noise by a formula, as an accountant takes seconds; for bands, by the faster one."""

    def noise(mechanisms, epsilon, delta, *, accountant):
        [found] = mechanisms(1.0)
        is_selected = isinstance(found, Selection)
        if is_selected:
            [[found]] = found.of
        if found.steps == 1:
            return least_noise(mechanisms, epsilon, delta, accountant="rdp")
        least = 0.3 if accountant == "pld" else 0.32
        spread = math.sqrt(found.steps * -math.log(delta))
        return (1.2 if is_selected else 1.0) * round(least + 3 * found.rate * spread / epsilon, 4)

    monkeypatch.setattr(planner, "least_noise", noise)


def test_what_was_measured_is_told_as_it_is():
    for steps, figures in MEASURED.items():
        for signal, nats in zip(SIGNALS, figures, strict=True):
            assert expected_loss(steps, signal) == (pytest.approx(nats), True)


def test_between_points_it_lies_between_and_beyond_them_it_is_not_called_measured():
    steps, signal = sorted(MEASURED)[:2], SIGNALS[:2]
    corners = [expected_loss(a, b)[0] for a in steps for b in signal]
    loss, is_measured = expected_loss(math.sqrt(steps[0] * steps[1]), math.sqrt(math.prod(signal)))
    assert min(corners) < loss < max(corners)
    assert is_measured
    assert expected_loss(1e6, 500.0)[1] is expected_loss(20, 1.0)[1] is False
    assert expected_loss(20, 1.0)[0] == expected_loss(20, SIGNALS[0])[0]


@pytest.mark.parametrize("minutes", [0.2, 2.0, 30.0])
def test_a_training_takes_its_minutes_at_most_and_no_other_is_better(minutes):
    config = Planning(**{**ASKED, "minutes": minutes})
    best = best_training(config, SPEED)
    assert best.minutes <= minutes
    assert best.batch <= config.estimated_units
    assert best.rate == best.batch / config.estimated_units
    for steps in planner._steps_to_try():
        batch = min(
            int((60 * minutes / steps - SPEED.step) / SPEED.row), int(config.estimated_units)
        )
        if batch >= 1:
            other = planner._training(config, SPEED, steps, batch, "pld")
            assert best.loss <= other.loss + 0.01


@pytest.mark.slow
def test_public_rows_take_of_the_minutes_and_more_of_anything_never_hurts():
    best = best_training(Planning(**ASKED), SPEED)
    less = best_training(Planning(**ASKED, public_rows=5000), SPEED)
    assert less.loss > best.loss
    plan = make_plan(Planning(**ASKED, rows_a_second=250))
    for name, other in plan.bought.items():
        assert (other.loss > plan.best.loss) == name.startswith(("half", "--tune"))
    tuned = plan.bought["--tune, 4 trials on average"]
    assert tuned.minutes == 4 * plan.best.minutes
    assert (tuned.steps, tuned.batch) == (plan.best.steps, plan.best.batch)


@pytest.mark.slow
def test_bands_are_of_one_epoch_and_have_more_noise_of_which_less_counts():
    pytest.importorskip("torch")
    [(name, banded)] = [
        (name, one)
        for name, one in make_plan(Planning(**ASKED, rows_a_second=250)).bought.items()
        if name.startswith("--bands")
    ]
    assert name == f"--bands {banded.steps}"
    assert banded.bands == banded.steps
    assert banded.batch * banded.bands <= ASKED["estimated_units"]
    assert banded.minutes <= ASKED["minutes"]
    steps = {"rate": banded.rate, "steps": banded.steps}
    plain = noise_multiplier_for(ASKED["epsilon"], ASKED["delta"], **steps, accountant="rdp")
    assert plain < banded.noise_multiplier < 2 * plain
    signal = planner._signal(Planning(**ASKED), banded.batch, plain)
    assert banded.loss < expected_loss(banded.steps, signal)[0] - 0.1
    epochs = (banded.steps * banded.rate,)
    amount = TrainingAmount(epochs, banded.batch, ASKED["estimated_units"], bands=banded.bands)
    assert amount.steps("one-stage") == {"utterance": banded.steps}


@pytest.mark.parametrize("kind", ["one-stage", "two-stage"])
def test_the_command_that_is_told_takes_as_many_steps(kind):
    plan = make_plan(Planning(**{**ASKED, "kind": kind}, rows_a_second=250))
    told = re.search(r"--batch (\d+) --epochs (\S+)", str(plan))
    epochs = tuple(float(part) for part in told[2].split("/"))
    steps = TrainingAmount(epochs, int(told[1]), ASKED["estimated_units"]).steps(kind)
    assert abs(sum(steps.values()) - plan.best.steps) <= len(epochs) - 1


def test_the_command_and_python_give_the_same(capsys):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in ASKED.items()]
    assert run(["private", "plan", *options, "--rows-a-second", "250"]) == 0
    printed = capsys.readouterr().out
    assert printed.strip() == str(gd.private.plan(**ASKED, rows_a_second=250))
    assert "they rank plans" in printed


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(GenieError, match="H012"):
        best_training(Planning(**{**ASKED, "minutes": 1e-6}), SPEED)
    with pytest.raises(GenieError, match=r"R040.*epsilon"):
        gd.private.plan(delta=1e-6, estimated_units=10, minutes=1)
    with pytest.raises(GenieError, match=r"R043.*minuets"):
        gd.private.plan(**ASKED, minuets=1)


@pytest.mark.trains
def test_the_speed_is_that_of_this_machine():
    pytest.importorskip("opacus")
    speed = measure_speed(Planning(**{**ASKED, "size": 8, "layers": 1, "heads": 2, "words": 50}))
    assert 0 < speed.row < 1
    assert 0 < speed.public_row < 1
    assert speed.step >= 0
