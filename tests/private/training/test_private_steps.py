"""Steps of a private run: clipped, noised, and what they move."""

import math

import pytest

pytest.importorskip("opacus")

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from opacus.optimizers import DPOptimizer
from safetensors.torch import load_file

from genie_dp.private.generators.models import collate
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import PoissonGaussian
from genie_dp.private.secure import _seeded
from genie_dp.private.training.check import clipped_sums
from genie_dp.private.training.engines import PrivateOptimizer, clip_factors
from genie_dp.private.training.randomness import secure_bytes
from genie_dp.private.training.run import PrivateRun, rate_at, train_privately
from genie_dp.private.training.settings import ENGINES, rate_of, steps_of
from tests.private.training import private_models as models
from tests.private.training.private_models import (
    SPENT,
    made,
    run_of_model,
    small,
    spend,
    units,
    weights,
)

pytestmark = pytest.mark.usefixtures("seeded_and_unchecked")


def show_gradients(run, **changes):
    """Let a run descend plainly with rate 1: a step moves weights by the gradient itself."""
    run.optimizer.original_optimizer = torch.optim.SGD(list(run.trained.values()), lr=1.0)
    run.settings = small(schedule="constant", warmup=0.0, learning_rate=1.0, **changes)


def test_a_step_is_noise_with_the_right_deviation_around_the_clipped_mean():
    model = made(models.decoder, size=32, layers=2)
    before, batch = weights(model), [u[0] for u in units()]
    expected = clipped_sums(model, "loop", collate(batch), 0.1)
    run = run_of_model(model, noise_multiplier=2.0, batch=4.0)
    show_gradients(run)
    run.step(batch)
    mean = torch.cat([x.flatten() for x in expected.values()]) / 4.0
    noise = ((before - weights(model) - mean) / (2.0 * 0.1 / 4.0)).double()
    count = noise.numel()
    assert count > 20_000
    assert abs(float(noise.mean())) < 6 / math.sqrt(count)
    assert abs(float((noise**2).sum()) - count) < 6 * math.sqrt(2 * count)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_dropout_draws_is_known_to_nobody_unless_there_is_a_seed(engine):
    """One row more shifts the masks of those behind it: known, it would move more than `clip`."""

    def moved(seed):
        model = made(models.Dropping)
        before = weights(model)
        with _seeded(seed):
            run = run_of_model(model, engine=engine, noise_multiplier=0.0)
            run.step([unit[0] for unit in units()])
            run.close()
        return weights(model) - before

    assert torch.equal(moved(0), moved(0))
    assert not torch.equal(moved(None), moved(None))


def test_an_empty_batch_is_a_step_of_noise_alone_and_is_counted():
    model = made(models.decoder)
    before = weights(model)
    run = run_of_model(model)
    run.step(())
    assert run.steps == 1
    assert (weights(model) != before).float().mean() > 0.99


@pytest.mark.trains
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_without_any_rows_takes_and_pays_all_steps(engine):
    model, paid = made(models.decoder), []
    done = train_privately(
        model, Units(()), small(engine=engine), spend=lambda found: paid.extend(found) or SPENT
    )
    assert done.steps == 6
    assert paid == [PoissonGaussian(1.0, 0.5, 6)]


def test_sums_are_divided_by_the_expected_size_not_by_that_of_the_batch():
    moved = []
    for rows in (units()[0], [*units()[0], *[EncodedRow((2, 3))] * 6]):
        model = made(models.decoder)
        before = weights(model)
        run = run_of_model(model, noise_multiplier=0.0, batch=4.0)
        show_gradients(run)
        run.step(rows)
        expected = clipped_sums(made(models.decoder), "loop", collate(rows), 0.1)
        mean = torch.cat([x.flatten() for x in expected.values()]) / 4.0
        torch.testing.assert_close(before - weights(model), mean, rtol=1e-3, atol=1e-6)
        moved.append(mean)
    assert float(moved[1].norm()) > float(moved[0].norm())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("count", [1, 1000])
def test_a_user_with_many_rows_moves_a_step_no_more_than_one_with_a_single_row(engine, count):
    busy = (models.rows(count, seed=7),)
    moved = []
    for known in (units(), units() + busy):
        model = made(models.decoder)
        before = weights(model)
        run = run_of_model(model, rows=known, rate=1.0, noise_multiplier=0.0, engine=engine)
        show_gradients(run, rate=1.0)
        run.step(run.draw())
        moved.append(before - weights(model))
    # The new unit comes last, so the others give the same rows.
    alone = float((moved[1] - moved[0]).norm())
    assert 0 < alone <= 0.1 / 4.0 * (1 + 1e-3)


@pytest.mark.slow
def test_what_many_units_say_is_learned_through_the_noise():
    common = EncodedRow((2, 5, 6, 7, 8, 3))
    known = Units((common,) for _ in range(100))
    model = made(models.decoder)
    before = float(model.loss(collate([common])))
    options = small(noise_multiplier=0.7, batch=50.0, steps=40, learning_rate=3e-2)
    train_privately(model, known, options, spend=spend)
    assert float(model.loss(collate([common]))) < before / 4


@pytest.mark.trains
def test_adapters_are_trained_and_nothing_else(tmp_path):
    model = made(models.gpt2_with_adapters)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    train_privately(model, units(), small(steps=3), spend=spend, folder=tmp_path)
    changed = {n for n, p in model.named_parameters() if not torch.equal(before[n], p)}
    assert changed == {n for n in before if "lora" in n}
    state = next(tmp_path.glob("step-*")) / "state.safetensors"
    assert {n for n in load_file(state) if n.startswith("model.")} == {
        f"model.{n}" for n in changed
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_that_failed_half_way_leaves_nothing_in_the_next(engine):
    model, batch = made(models.decoder), [u[0] for u in units()]
    how = {"noise_multiplier": 0.0, "chunk": 2, "engine": engine}
    run = run_of_model(model, **how)
    whole, calls = model.loss, []

    def failing(batch):
        calls.append(batch)
        if len(calls) == 3:
            raise MemoryError
        return whole(batch)

    model.loss = failing
    with pytest.raises(MemoryError):
        run.step(batch)
    assert run.steps == 0
    model.loss = whole
    run.step(batch)
    run.close()
    again = made(models.decoder)
    run_of_model(again, **how).step(batch)
    assert torch.equal(weights(model), weights(again))


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_alternate_with_plain_steps_on_public_rows(engine):
    def trained(*, public_gradients_left):
        model = made(models.decoder)
        run = run_of_model(model, engine=engine)
        for _ in range(2):
            run.step(run.draw())
            model.loss(models.batch(3)).mean().backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.01 * p.grad
            if not public_gradients_left:
                model.zero_grad()
        run.step(run.draw())
        run.close()
        return weights(model)

    left, cleared = (trained(public_gradients_left=x) for x in (True, False))
    assert torch.equal(left, cleared)


@pytest.mark.trains
def test_a_step_that_is_not_paid_is_not_taken():
    model = made(models.decoder)
    before = weights(model)
    run = PrivateRun(model, units(), small(steps=2))
    with pytest.raises(RuntimeError, match="step 1 of 2 is not paid"):
        run.step(run.draw())
    assert torch.equal(weights(model), before)
    run.pay(spend)
    run.train()
    with pytest.raises(RuntimeError, match="step 3 of 2 is not paid"):
        run.step(run.draw())


def test_the_numbers_of_noise_are_used_up_even_by_a_step_that_fails_in_it():
    model = made(models.decoder)
    run = run_of_model(model)
    seen, finish = [], run.optimizer.finish

    def failing(number):
        seen.append(number)
        if len(seen) == 1:
            raise MemoryError
        finish(number)

    run.optimizer.finish = failing
    with pytest.raises(MemoryError):
        run.step(())
    run.step(())
    assert seen == [0, 1]


def test_clipping_is_that_of_opacus_where_gradients_are_finite():
    generator = torch.Generator().manual_seed(0)
    gradients = [torch.randn(5, 3, 4, generator=generator), torch.randn(5, 7, generator=generator)]
    parameters = [torch.nn.Parameter(torch.zeros(3, 4)), torch.nn.Parameter(torch.zeros(7))]
    options = {"noise_multiplier": 0.0, "max_grad_norm": 2.0, "expected_batch_size": 5}
    sums = []
    for make in (
        lambda plain: DPOptimizer(plain, **options),
        lambda plain: PrivateOptimizer(plain, small(clip=2.0), secure_bytes),
    ):
        optimizer = make(torch.optim.SGD(parameters, lr=0.0))
        for p, g in zip(parameters, gradients, strict=True):
            p.grad_sample = g.clone()
        optimizer.clip_and_accumulate()
        sums.append([p.summed_grad.clone() for p in parameters])
    for theirs, ours in zip(*sums, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert float(clip_factors(gradients, 2.0).max()) < 1


@settings(max_examples=20, deadline=None)
@given(
    count=st.integers(2, 700_000),
    large=st.integers(0, 128),
    small=st.sampled_from([0.0, 1e-3, 1e-2, 1.0]),
)
@example(count=700_000, large=64, small=1e-3)
def test_no_number_of_small_gradients_hides_behind_large_ones(count, large, small):
    """A float32 sum of squares, one after the other, would lose them: the norm was too small."""
    gradients = torch.full((2, count), small)
    gradients[:, :large] = 1.0
    factors = clip_factors([gradients[:, : count // 2], gradients[:, count // 2 :]], 0.1)
    exact = gradients.double().norm(dim=1) * factors
    assert float(exact.max()) <= 0.1 * (1 + 1e-5)


# Settings.


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0.0}, {"rate": 1.1}, {"noise_multiplier": -1.0}, {"noise_multiplier": math.nan},
        {"steps": 0}, {"batch": 0.0}, {"clip": 0.0}, {"clip": math.inf}, {"chunk": 0},
        {"engine": "ew"}, {"schedule": "cosine"}, {"warmup": 1.0}, {"learning_rate": -1.0},
    ],
)  # fmt: skip
def test_settings_that_no_run_has_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small(**wrong)


def test_rates_come_from_public_numbers():
    assert rate_of(2048, 133_584) == pytest.approx(0.0153312, rel=1e-5)
    assert steps_of(10, rate_of(100, 1000)) == 100
    with pytest.raises(ValueError, match="batch"):
        rate_of(11, 10)


def test_no_step_that_is_paid_has_a_learning_rate_of_zero():
    for changes in ({}, {"schedule": "constant"}, {"warmup": 0.5}):
        rates = [rate_at(small(**changes), step) for step in range(6)]
        assert min(rates) > 0
        assert max(rates) <= 1e-3
