"""A private run: sampling, noise, what is paid when, and how it goes on where it was killed."""

import json
import logging
import math
import shutil
import signal
import subprocess
import sys
import traceback
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("opacus")

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus.optimizers import DPOptimizer
from safetensors.torch import load_file

from genie_dp.errors import GenieError
from genie_dp.private.generators.sequences import Encoded, collate
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import PoissonGaussian
from genie_dp.private.training import check
from genie_dp.private.training.check import clipped_sums
from genie_dp.private.training.checkpoint import alone, run_of
from genie_dp.private.training.optimizer import PrivateOptimizer, clip_factors
from genie_dp.private.training.randomness import (
    gaussian,
    integers,
    secure_bytes,
    seeded_bytes,
)
from genie_dp.private.training.run import (
    NOT_COVERED,
    SEEDED,
    PrivateRun,
    rate_at,
    train_privately,
)
from genie_dp.private.training.sampling import sample_units
from genie_dp.private.training.settings import ENGINES, DPSettings, rate_of, steps_of
from genie_dp.records import Spent
from tests import private_models as models
from tests.private_models import made

ROOT = Path(__file__).parent.parent
SPENT = Spent(3.0, 1e-5, "user", "add-or-remove-one", "rdp", ("what the ledger says",))
SMALL = {"noise_multiplier": 1.0, "rate": 0.5, "steps": 6, "batch": 4.0, "seed": 0}


def small(**changes):
    return DPSettings(**{**SMALL, **changes})


def spend(mechanisms):
    return SPENT


def units(count=8, *, each=2):
    rows = models.rows(count * each)
    return tuple(tuple(rows[i * each : (i + 1) * each]) for i in range(count))


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.fixture(autouse=True)
def unchecked(request, monkeypatch):
    """Leave out the comparison of engines, which takes longer than these runs, where it may be."""
    if "checked" not in request.fixturenames:
        monkeypatch.setattr(check, "check_engine", lambda *_, **__: None)


@pytest.fixture
def checked():
    """Say that a test needs the comparison."""


# Random numbers.


@pytest.mark.parametrize("draw", [secure_bytes, seeded_bytes(3)])
def test_noise_is_normal(draw):
    """Chi-square of the variance and Kolmogorov's bound, both beyond 6 standard deviations."""
    count = 200_001
    noise = gaussian(draw, count, "noise", 0).numpy()
    assert noise.shape == (count,)
    assert abs(noise.mean()) < 6 / math.sqrt(count)
    assert abs((noise**2).sum() - count) < 6 * math.sqrt(2 * count)
    ranks = (np.arange(count) + 0.5) / count
    normal = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in np.sort(noise)[::100]])
    assert np.abs(normal - ranks[::100]).max() < 3.5 / math.sqrt(count)
    # The two halves of Box and Muller's pairs do not go together.
    assert abs(np.corrcoef(noise[: count // 2], noise[count // 2 : -1])[0, 1]) < 6 / 300


def test_no_draw_is_infinite_even_of_the_smallest_numbers():
    assert gaussian(lambda count, *_: bytes(count), 10, "noise", 0).isfinite().all()
    assert gaussian(lambda count, *_: b"\xff" * count, 10, "noise", 0).isfinite().all()


def test_noise_differs_by_step_purpose_and_draw():
    draw = seeded_bytes(0)
    found = [
        tuple(gaussian(draw, 4, purpose, step).tolist()) for purpose in "ab" for step in (0, 1)
    ]
    assert len(set(found)) == 4
    assert secure_bytes(16, "noise", 0) != secure_bytes(16, "noise", 0)


def test_a_large_tensor_has_no_noise_twice():
    noise = gaussian(seeded_bytes(0), (1 << 20) + 5001, "noise", 0).numpy()
    assert len(np.unique(noise)) == len(noise)


# Sampling.


def test_each_unit_is_drawn_with_the_rate_by_itself():
    rate, count, steps = 0.3, 50, 2000
    known = [(i,) for i in range(count)]
    draw = seeded_bytes(0)
    found = [sample_units(known, rate, draw=draw, step=step) for step in range(steps)]
    by_unit = Counter(i for rows in found for i in rows)
    bound = 6 * math.sqrt(steps * rate * (1 - rate))
    assert all(abs(by_unit[i] - steps * rate) < bound for i in range(count))
    # Sizes are binomial: shuffled epochs or fixed batches would have no spread.
    variance = np.var([len(rows) for rows in found])
    assert 0.8 < variance / (count * rate * (1 - rate)) < 1.2


def test_a_rate_of_one_draws_every_unit_and_a_tiny_one_hardly_any():
    assert sample_units([(1,), (2,)], 1.0, draw=secure_bytes, step=0) == (1, 2)
    assert sample_units([(1,), (2,)], 1e-15, draw=secure_bytes, step=0) == ()


def test_a_unit_without_rows_is_not_drawn():
    assert sample_units([(), (2,)], 1.0, draw=secure_bytes, step=0) == (2,)


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 1000), max_size=20), seed=st.integers(0, 99))
def test_a_unit_gives_one_row_however_many_it_has(sizes, seed):
    known = [[(i, j) for j in range(n)] for i, n in enumerate(sizes)]
    rows = sample_units(known, 1.0, draw=seeded_bytes(seed), step=0)
    assert [i for i, _ in rows] == [i for i, n in enumerate(sizes) if n]


def test_every_row_of_a_unit_comes_as_often_as_the_others():
    draw, steps = seeded_bytes(0), 6000
    found = Counter(sample_units(["abc"], 1.0, draw=draw, step=s)[0] for s in range(steps))
    bound = 6 * math.sqrt(steps * 2 / 9)
    assert all(abs(found[row] - steps / 3) < bound for row in "abc")


def test_bits_of_units_and_rows_are_other_ones():
    draw = seeded_bytes(0)
    assert integers(draw, 4, "units", 0).tolist() != integers(draw, 4, "row", 0).tolist()


# A step.


def run_of_model(model, *, rows=None, **changes):
    run = PrivateRun(model, rows if rows is not None else units(), small(**changes))
    run.spent = SPENT
    return run


def test_a_step_is_noise_with_the_right_deviation_around_the_clipped_mean():
    model = made(models.decoder, size=32, layers=2)
    before, batch = weights(model), [u[0] for u in units()]
    expected = clipped_sums(model, "loop", collate(batch), 0.1)
    run = run_of_model(model, noise_multiplier=2.0, batch=4.0)
    # Plain descent with rate 1 shows the gradient itself.
    run.optimizer.original_optimizer = torch.optim.SGD(list(run.trained.values()), lr=1.0)
    run.settings = small(schedule="constant", warmup=0.0, learning_rate=1.0)
    run.step(batch)
    mean = torch.cat([x.flatten() for x in expected.values()]) / 4.0
    noise = ((before - weights(model) - mean) / (2.0 * 0.1 / 4.0)).double()
    count = noise.numel()
    assert count > 20_000
    assert abs(float(noise.mean())) < 6 / math.sqrt(count)
    assert abs(float((noise**2).sum()) - count) < 6 * math.sqrt(2 * count)


def test_an_empty_batch_is_a_step_of_noise_alone_and_is_counted():
    model = made(models.decoder)
    before = weights(model)
    run = run_of_model(model)
    run.step(())
    assert run.steps == 1
    assert (weights(model) != before).float().mean() > 0.99


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_without_any_rows_takes_and_pays_all_steps(engine):
    model, paid = made(models.decoder), []
    done = train_privately(
        model, (), small(engine=engine), spend=lambda found: paid.extend(found) or SPENT
    )
    assert done.steps == 6
    assert paid == [PoissonGaussian(1.0, 0.5, 6)]


def test_sums_are_divided_by_the_expected_size_not_by_that_of_the_batch():
    moved = []
    for rows in (units()[0], [*units()[0], *[Encoded((2, 3))] * 6]):
        model = made(models.decoder)
        before = weights(model)
        run = run_of_model(model, noise_multiplier=0.0, batch=4.0)
        run.optimizer.original_optimizer = torch.optim.SGD(list(run.trained.values()), lr=1.0)
        run.settings = small(schedule="constant", warmup=0.0, learning_rate=1.0)
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
        run.optimizer.original_optimizer = torch.optim.SGD(list(run.trained.values()), lr=1.0)
        run.settings = small(rate=1.0, schedule="constant", warmup=0.0, learning_rate=1.0)
        run.step(run.draw())
        moved.append(before - weights(model))
    # The new unit comes last, so the others give the same rows.
    alone = float((moved[1] - moved[0]).norm())
    assert 0 < alone <= 0.1 / 4.0 * (1 + 1e-3)


@pytest.mark.parametrize("engine", ["vmap", "ghost"])
def test_what_many_units_say_is_learned_through_the_noise(engine):
    common = Encoded((2, 5, 6, 7, 8, 3))
    known = tuple((common,) for _ in range(100))
    model = made(models.decoder)
    before = float(model.loss(collate([common])))
    options = small(noise_multiplier=0.7, batch=50.0, steps=40, learning_rate=3e-2, engine=engine)
    train_privately(model, known, options, spend=spend)
    assert float(model.loss(collate([common]))) < before / 4


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


def test_a_step_that_failed_half_way_leaves_nothing_in_the_next():
    model, batch = made(models.decoder), [u[0] for u in units()]
    run = run_of_model(model, noise_multiplier=0.0, chunk=2)
    whole, calls = run.engine.accumulate, []

    def failing(chunk):
        calls.append(chunk)
        if len(calls) == 3:
            raise MemoryError
        whole(chunk)

    run.engine.accumulate = failing
    with pytest.raises(MemoryError):
        run.step(batch)
    assert run.steps == 0
    run.engine.accumulate = whole
    run.step(batch)
    again = made(models.decoder)
    run_of_model(again, noise_multiplier=0.0, chunk=2).step(batch)
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


# Pay, train, go on.


class Interrupted(Exception):
    pass


def stopping(after):
    def listen(event):
        if event["step"] == after:
            raise Interrupted

    return listen


@pytest.mark.usefixtures("checked")
def test_the_spend_is_recorded_before_the_first_gradient():
    model, order = made(models.decoder), []
    whole = model.loss

    def loss(batch):
        order.append("loss")
        return whole(batch)

    model.loss = loss
    # The check's losses, of made-up rows, come before.
    train_privately(model, units(), small(), spend=lambda found: order.append("paid") or SPENT)
    at = order.index("paid")
    fresh = made(models.decoder)
    seen = []
    whole_fresh = fresh.loss
    fresh.loss = lambda batch: seen.append(batch) or whole_fresh(batch)
    PrivateRun(fresh, units(), small())
    assert at == len(seen)
    assert order[at + 1 :]


def test_a_refused_spend_leaves_model_and_folder_untouched(tmp_path):
    model = made(models.decoder)
    before = weights(model)

    def refusing(mechanisms):
        raise Interrupted

    with pytest.raises(Interrupted):
        train_privately(model, units(), small(), spend=refusing, folder=tmp_path / "run")
    assert torch.equal(weights(model), before)
    assert not list((tmp_path / "run").glob("step-*"))


@pytest.mark.usefixtures("checked")
def test_a_refused_engine_pays_nothing():
    paid = []
    with pytest.raises(GenieError):
        train_privately(made(models.Tied), units(), small(engine="ghost"), spend=paid.append)
    assert not paid


def test_training_without_noise_is_refused():
    with pytest.raises(GenieError) as caught:
        train_privately(made(models.decoder), units(), small(noise_multiplier=0.0), spend=spend)
    assert caught.value.problems[0].code == "Q026"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_was_interrupted_ends_with_the_same_weights_and_pays_the_same(engine, tmp_path):
    options = small(checkpoint_every=2, engine=engine)
    whole, parts = made(models.decoder), made(models.decoder)
    paid = []
    spend = lambda found: paid.append(tuple(found)) or SPENT  # noqa: E731
    uninterrupted = train_privately(whole, units(), options, spend=spend, folder=tmp_path / "a")
    for after in (3, 5):
        # The third and the fifth step are taken twice, with the same batch and the same noise.
        with pytest.raises(Interrupted):
            train_privately(
                made(models.decoder), units(), options, spend=spend, folder=tmp_path / "b",
                listen=stopping(after),
            )  # fmt: skip
    resumed = train_privately(parts, units(), options, spend=spend, folder=tmp_path / "b")
    assert torch.equal(weights(whole), weights(parts))
    assert resumed == uninterrupted
    assert len(set(paid)) == 1


def test_a_run_that_is_done_gives_its_weights_again_without_a_step(tmp_path):
    first, again, events = made(models.decoder), made(models.decoder), []
    done = train_privately(first, units(), small(), spend=spend, folder=tmp_path)
    same = train_privately(
        again, units(), small(), spend=spend, folder=tmp_path, listen=events.append
    )
    assert torch.equal(weights(first), weights(again))
    assert same == done
    assert not events


def test_without_a_seed_two_runs_differ_and_say_nothing_of_seeds():
    models_made = [made(models.decoder) for _ in range(2)]
    done = [train_privately(m, units(), small(seed=None), spend=spend) for m in models_made]
    assert not torch.equal(*map(weights, models_made))
    assert SEEDED not in done[0].spent.not_covered


def test_what_is_not_covered_is_said():
    done = train_privately(made(models.decoder), units(), small(), spend=spend)
    assert done.spent.epsilon == 3.0
    assert done.spent.not_covered == ("what the ledger says", *NOT_COVERED, SEEDED)
    assert any("floating point" in line for line in done.spent.not_covered)


def test_a_checkpoint_of_other_settings_or_another_model_is_refused(tmp_path):
    train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)
    with pytest.raises(GenieError, match="noise_multiplier"):
        train_privately(
            made(models.decoder), units(), small(noise_multiplier=2.0), spend=spend, folder=tmp_path
        )
    with pytest.raises(GenieError, match="another model"):
        train_privately(
            made(models.decoder, layers=2), units(), small(), spend=spend, folder=tmp_path
        )


def test_a_folder_keeps_its_name_and_a_new_folder_gets_another(tmp_path):
    first = run_of(tmp_path / "a")
    assert run_of(tmp_path / "a") == first
    assert run_of(tmp_path / "b") != first
    assert len(first) == 32


def test_the_name_of_a_run_in_several_folders_changes_with_each(tmp_path):
    stages = [tmp_path / "programs", tmp_path / "utterances"]
    first = run_of(*stages)
    assert run_of(*stages) == first
    shutil.rmtree(stages[1])
    assert run_of(*stages) != first


def test_steps_that_were_there_to_be_seen_are_not_taken_again(tmp_path):
    options = small(checkpoint_every=2)
    with pytest.raises(Interrupted):
        train_privately(
            made(models.decoder), units(), options, spend=spend, folder=tmp_path, listen=stopping(3)
        )
    older = tmp_path / "copy"
    shutil.copytree(next(tmp_path.glob("step-*")), older)
    train_privately(made(models.decoder), units(), options, spend=spend, folder=tmp_path)
    shutil.rmtree(tmp_path / "step-00000006")
    for _ in range(2):
        paid = []
        with pytest.raises(GenieError) as caught:
            train_privately(
                made(models.decoder), units(), options, spend=paid.append, folder=tmp_path
            )
        assert caught.value.problems[0].code == "Q031"
        assert not paid
        if older.exists():
            older.rename(tmp_path / "step-00000002")


def test_a_folder_is_trained_in_by_one_process_at_a_time(tmp_path):
    with alone(tmp_path), pytest.raises(GenieError) as caught:
        train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)
    assert caught.value.problems[0].code == "Q032"
    train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)


def test_a_checkpoint_holds_public_numbers_and_no_pickle(tmp_path):
    train_privately(made(models.decoder), units(37), small(), spend=spend, folder=tmp_path)
    (folder,) = tmp_path.glob("step-*")
    assert sorted(path.name for path in folder.iterdir()) == ["state.json", "state.safetensors"]
    facts = json.loads((folder / "state.json").read_text())
    assert facts == {"step": 6, "settings": small().as_dict()}
    assert "37" not in (folder / "state.json").read_text()


CANARY = 987_654_321


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failing_step_shows_no_ids_of_a_row(engine, caplog, capfd):
    rows = ((Encoded((2, CANARY, 3)),),) * 3
    with pytest.raises((IndexError, RuntimeError)) as caught:
        train_privately(made(models.decoder), rows, small(rate=1.0, engine=engine), spend=spend)
    told = traceback.TracebackException.from_exception(caught.value)
    assert str(CANARY) not in "".join(told.format()) + caplog.text + "".join(capfd.readouterr())
    run = run_of_model(made(models.decoder), rows=rows)
    assert str(CANARY) not in f"{run!r} {vars(run)!r} {rows}"


def test_only_steps_are_told(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    events = []
    train_privately(made(models.decoder), units(), small(), spend=spend, listen=events.append)
    assert events == [{"step": i, "steps": 6} for i in range(1, 7)]
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


KILLED = """
import logging, os, signal, sys
from pathlib import Path
from genie_dp.private.training.libraries import need_opacus
need_opacus()
assert not logging.getLogger().handlers, "Opacus took over the program's log"
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.training.run import train_privately
from tests import test_private_run as here

def listen(event):
    if event["step"] == 5:
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
ledger = Ledger.create(folder / "private.ledger.json", here.BUDGET)
train_privately(here.made(here.models.decoder), here.units(), here.small(checkpoint_every=2),
    spend=here.paying(ledger, folder / "run"), folder=folder / "run", listen=listen)
"""
BUDGET = Budget(epsilon=20.0, delta=1e-5, unit="user", cap=2)


def paying(ledger, folder):
    return lambda found: ledger.spend(found, purpose="a generator", run=run_of(folder))


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_and_is_paid_once(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder, options = tmp_path / "run", small(checkpoint_every=2)
    ledger = Ledger.open(tmp_path / "private.ledger.json")
    paid = ledger.spent()
    assert ledger.mechanisms == (PoissonGaussian(1.0, 0.5, 6),)
    killed, whole = made(models.decoder), made(models.decoder)
    resumed = train_privately(killed, units(), options, spend=paying(ledger, folder), folder=folder)
    train_privately(whole, units(), options, spend=spend)
    assert torch.equal(weights(killed), weights(whole))
    assert Ledger.open(tmp_path / "private.ledger.json").spent() == paid
    assert (resumed.spent.epsilon, resumed.steps) == (paid.epsilon, 6)
    # In another folder it is another run.
    fresh = made(models.decoder)
    train_privately(fresh, units(), options, spend=paying(ledger, tmp_path / "other"))
    assert len(ledger.mechanisms) == 2
    assert ledger.spent().epsilon > paid.epsilon
