"""Alternating runs: the order of steps, what each part may do, how they go on; the baselines."""

import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("opacus")

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.private.crt.config import METHODS
from genie_dp.private.crt.rows import MASK, arrange_rows
from genie_dp.private.generators.fit import fit
from genie_dp.private.generators.generator import load_generator, new_generator, save_generator
from genie_dp.private.generators.models import DecoderSettings, collate
from genie_dp.private.generators.plans import (
    PublicSteps,
    TrainingAmount,
    TrainingSchedule,
    plan_training,
)
from genie_dp.private.generators.pretraining import EncodedBatches
from genie_dp.private.generators.stages import LabelledRow
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import PoissonGaussian
from genie_dp.private.training import check
from tests.private.crt.crt_setup import LSTM, SPENT, alternating, lstm, paid, units, weights
from tests.private.training import private_models as models

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))

from crt_figures import perplexity, row_losses  # noqa: E402

pytestmark = pytest.mark.trains

# The LSTM.


def test_unrolled_states_are_those_of_the_fused_layer():
    model, batch = lstm(), models.batch(5)
    torch.testing.assert_close(model.train()(batch.inputs), model.eval()(batch.inputs))


# The order of steps.


def test_epochs_alternate_whole_minibatches_of_one_part():
    run = paid(alternating())
    assert (run.public_each, run.private_each, run.steps) == (2, 2, 8)
    assert [run.is_public(i) for i in range(8)] == [True, True, False, False] * 2
    seen, public, private = [], set(models.rows(7, seed=2)), {u[0] for u in units()}
    whole = run.model.loss
    run.model.loss = lambda batch: seen.append(batch) or whole(batch)
    take = run.batches.take
    took = []
    run.batches.take = lambda number: took.append(number) or take(number)
    drawn = []
    step = run.private.step
    run.private.step = lambda rows: drawn.append(rows) or step(rows)
    run.train()
    assert took == [0, 1, 2, 3]
    assert len(drawn) == 4
    assert all(row in private and row not in public for rows in drawn for row in rows)
    given_ = [tuple(row.tokens) for row in public]
    for batch in seen[: run.public_each]:
        for row in batch.inputs.tolist():
            assert any(row[: len(t) - 1] == list(t[:-1]) for t in given_)


def test_without_noise_and_clipping_it_is_plain_alternating_descent():
    private = units()
    model = lstm()
    run = alternating(
        model, private=private, noise_multiplier=0.0, clip=1e6, rate=1.0, optimizer="sgd",
        schedule="constant", warmup=0.0, learning_rate=0.05, batch=8.0,
    )  # fmt: skip
    run.plain = PublicSteps(
        batch=3, optimizer="sgd", clip=0.0, schedule="constant", warmup=0.0, learning_rate=0.1
    )
    run.private.spent = SPENT  # no noise: nothing can be paid
    run.train()
    other = lstm()
    batches = EncodedBatches(models.rows(7, seed=2), size=3)
    whole = collate([unit[0] for unit in private])
    for epoch in range(2):
        for place in range(2):
            batch, scored = batches.take(2 * epoch + place)
            descend(other, other.loss(batch).sum() / scored, 0.1)
        for _ in range(2):
            descend(other, other.loss(whole).sum() / 8.0, 0.05)
    torch.testing.assert_close(weights(model), weights(other), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(weights(model), weights(lstm()))


def descend(model, loss, rate):
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    with torch.no_grad():
        for p, g in zip(model.parameters(), gradients, strict=True):
            p -= rate * g


def test_the_first_epoch_on_public_rows_knows_nothing_of_private_ones():
    found = []
    for seed in (1, 7):
        model = lstm()
        run = paid(alternating(model, private=units(seed=seed)))
        for _ in range(run.public_each):
            run.step()
        found.append(weights(model))
        run.step()
        found.append(weights(model))
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[1], found[3])


def test_all_private_steps_are_paid_before_the_first():
    run, told = alternating(), []
    for _ in range(run.public_each):
        run.step()
    with pytest.raises(RuntimeError, match="not paid"):
        run.step()
    run.pay(lambda mechanisms: told.extend(mechanisms) or SPENT)
    assert told == [PoissonGaussian(1.0, 0.5, 4)]


@pytest.fixture(scope="module")
def whole():
    """Return a run that nothing interrupted."""
    run = paid(alternating())
    run.train()
    return run


@pytest.mark.parametrize("stop", [1, 3, 6])
def test_a_run_that_was_interrupted_ends_with_the_same_weights(stop, whole, tmp_path):
    first = paid(alternating())
    for _ in range(stop):
        first.step()
    first.state.save(tmp_path / "parts", first.number)
    for _ in range(2):  # steps that are lost
        first.step()
    second = alternating()
    second.resume(tmp_path / "parts")
    assert second.number == stop
    paid(second).train(tmp_path / "parts")
    assert torch.equal(weights(whole.model), weights(second.model))
    assert second.private.steps == 4
    third = paid(alternating())
    third.resume(tmp_path / "parts")
    third.train()
    assert torch.equal(weights(third.model), weights(whole.model))


def test_checkpoints_are_of_one_run_released_once_and_hold_no_random_state(tmp_path):
    run = paid(alternating())
    run.step()
    run.state.save(tmp_path, run.number)
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"state.json", "state.safetensors", "run.json", ".run.lock"}
    assert set(json.loads((tmp_path / "run.json").read_text())) == {"run", "released"}
    with pytest.raises(GenieError, match="O005"):
        alternating(clip=0.2).resume(tmp_path)
    for path in tmp_path.glob("step-*"):
        shutil.rmtree(path)
    with pytest.raises(GenieError, match="Q031"):
        alternating().resume(tmp_path)


# Generators.

PUBLIC = [
    LabelledRow(tuple(f"play {word}".split()), tuple(f"@x.play {word}".split()))
    for word in "abcdef"
]
PRIVATE = Units((LabelledRow(("my", "name", "is", MASK), ("@x.name", MASK)),) for _ in range(6))


def generator(kind="one-stage", model=LSTM):
    return new_generator(kind, get_language("thingtalk"), PUBLIC, model, words=(MASK,), seed=0)


def paid_schedule(kind="one-stage", epochs=(1,)):
    amount = TrainingAmount(epochs, 3.0, 6.0, is_whole=True)
    plan = plan_training(kind, amount, epsilon=8.0, delta=1e-3, accountant="rdp")
    return TrainingSchedule(plan, public=PublicSteps(batch=2), epochs=epochs)


def baseline(epochs):
    return TrainingSchedule(None, public=PublicSteps(), epochs=(epochs,))


def test_masks_are_one_token():
    assert len(generator().tokenizer.spell(MASK)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one-stage", "two-stage"])
@pytest.mark.parametrize("model", [LSTM, DecoderSettings(8, 1, 2, 16)], ids=["lstm", "decoder"])
def test_generators_learn_both_parts(kind, model, tmp_path):
    epochs = (1,) if kind == "one-stage" else (1, 2)
    told, schedule = [], paid_schedule(kind, epochs)
    made_ = generator(kind, model)
    before = {name: weights(m) for name, m in made_.models.items()}
    _, spent = fit(
        made_, PRIVATE, schedule, public=PUBLIC, spend=lambda m: told.append(tuple(m)) or SPENT,
        folder=tmp_path,
    )  # fmt: skip
    assert spent.epsilon == SPENT.epsilon
    assert all(not torch.equal(before[n], weights(m)) for n, m in made_.models.items())
    # The whole plan at once, whichever stage asks.
    assert set(told) == {schedule.plan.mechanisms}
    assert len(schedule.plan.mechanisms) == len(epochs)
    save_generator(made_, tmp_path / "made", spent=spent)
    again = load_generator(tmp_path / "made").generator
    rows = [unit[0] for unit in PRIVATE]
    assert row_losses(again, rows) == pytest.approx(row_losses(made_, rows))


def test_baselines_learn_without_noise_and_promise_nothing():
    rows = [unit[0] for unit in PRIVATE]
    for method in ("non-private", "masked"):
        made_ = generator()
        before = perplexity(made_, rows)
        learned = arrange_rows(method, PRIVATE, PUBLIC)
        _, spent = fit(made_, learned.private, baseline(6), public=learned.public)
        assert spent.epsilon == math.inf
        assert perplexity(made_, rows) < before
    with torch.no_grad():  # one that knows nothing has the perplexity of its tokens
        for p in made_.models["utterance"].parameters():
            p.zero_()
    tokens = len(made_.tokenizer.pieces)
    assert perplexity(made_, [LabelledRow(("play", "play"))]) == pytest.approx(tokens, rel=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_methods_see_the_parts_as_they_say(method):
    found = arrange_rows(method, PRIVATE, PUBLIC)
    counts = {"crt": (6, 6), "dp": (12, 0)}.get(method, (0, 12))
    assert (len(found.private), len(found.public)) == counts


def test_noisy_steps_need_a_ledger_and_a_baseline_has_none():
    with pytest.raises(ValueError, match="ledger"):
        fit(generator(), PRIVATE, paid_schedule(), public=PUBLIC)
    with pytest.raises(ValueError, match="ledger"):
        fit(generator(), Units(()), baseline(1), public=PUBLIC, spend=lambda m: SPENT)


def test_what_cannot_be_learned_from_costs_nothing(monkeypatch):
    def refuse(*_, **__):
        raise GenieError(Problem("Q025", "wrong gradients"))

    monkeypatch.setattr(check, "check_engine", refuse)
    paid_ = []
    with pytest.raises(GenieError, match="Q025"):
        fit(generator(), PRIVATE, paid_schedule(), public=PUBLIC, spend=paid_.append)
    assert not paid_
    with pytest.raises(GenieError, match="O008"):
        fit(generator(), Units(()), baseline(1))


def test_private_steps_are_whole_epochs():
    amount = TrainingAmount((2, 3), 3.0, 10.0, is_whole=True)
    assert amount.steps("two-stage") == {"program": 8, "utterance": 12}
    for kind, epochs in (("two-stage", (2,)), ("one-stage", (0,)), ("one-stage", (1, 1))):
        with pytest.raises(GenieError, match="O007"):
            replace(amount, epochs=epochs).steps(kind)
