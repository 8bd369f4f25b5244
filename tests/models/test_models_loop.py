"""Training: what it reaches, that it can be repeated, interrupted, resumed and spread."""

import os
import socket
import time
from dataclasses import replace
from multiprocessing import get_context

import pytest
import torch
from safetensors.torch import load_file, save_file

from genie_dp.errors import GenieError
from genie_dp.models.loop import (
    MetricsFile,
    Run,
    TrainingBudget,
    TrainSettings,
    Validation,
    checkpoints,
    read_metrics,
)
from genie_dp.models.processes import Group, join
from genie_dp.models.saved import weights
from genie_dp.models.search import search
from genie_dp.models.seq2seq import SteppedTorch
from tests.models.models_setup import PAIRS, VOCABULARY, batch, batches, network

SETTINGS = TrainSettings(TrainingBudget(steps=12), rate=1e-2, log_every=4, checkpoint_every=4)


def trained(settings=SETTINGS, *, folder=None, architecture="rnn", options=None, **more):
    model = network(architecture, **(options or {}))
    run = Run(model, batches(), settings, **more)
    run.train(folder)
    return model, run


def same(left, right):
    return left.keys() == right.keys() and all(torch.equal(left[n], right[n]) for n in left)


@pytest.mark.trains
@pytest.mark.parametrize(
    ("architecture", "expected"), [("rnn", 1.819), ("transformer", 0.886), ("mqan", 1.683)]
)
def test_losses_of_a_tiny_run_are_those_of_before(architecture, expected):
    events = []
    settings = replace(SETTINGS, budget=TrainingBudget(steps=40))
    trained(settings, architecture=architecture, listen=events.append)
    assert [event["step"] for event in events] == list(range(4, 41, 4))
    assert events[-1]["loss"] == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
def test_a_network_learns_to_copy_a_word_it_has_never_seen():
    settings = replace(SETTINGS, budget=TrainingBudget(steps=250))
    model, _ = trained(settings, options={"size": 32})
    found = search(
        SteppedTorch(model),
        [("buy", "quinoa"), ("when", "soap", "is", "here", "buy", "soap")],
        VOCABULARY,
    )
    assert [" ".join(best.tokens) for (best,) in found] == [
        'now => @shop.buy " quinoa "',
        'when " soap " => @shop.buy " soap "',
    ]


@pytest.mark.trains
def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, again = (weights(trained()[0]) for _ in range(2))
    other = weights(trained(replace(SETTINGS, seed=1))[0])
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.trains
def test_accumulated_batches_are_one_larger_batch():
    quiet = {"dropout": 0.0, "word_dropout": 0.0}
    whole, halves = network("rnn", **quiet), network("rnn", **quiet)
    both, parts = batches(size=len(PAIRS)), batches(size=len(PAIRS) // 2)
    Run(whole, both, replace(SETTINGS, budget=TrainingBudget(steps=3))).train()
    Run(halves, parts, replace(SETTINGS, budget=TrainingBudget(steps=3), accumulate=2)).train()
    for name, value in weights(whole).items():
        torch.testing.assert_close(weights(halves)[name], value, atol=2e-4, rtol=1e-3)


@pytest.mark.trains
@pytest.mark.parametrize(
    "budget", [TrainingBudget(epochs=1.5), TrainingBudget(seconds=0.2), TrainingBudget(steps=7)]
)
def test_training_ends_with_its_budget_and_the_rate_near_zero(budget):
    _, run = trained(replace(SETTINGS, budget=budget))
    assert run.progress.used == 1.0
    if budget.seconds is None:
        assert run.progress.step == (7 if budget.steps else 6)
        assert run.optimizer.param_groups[0]["lr"] < SETTINGS.rate / 3


@pytest.mark.trains
@pytest.mark.parametrize(
    ("scores", "patience", "margin", "best", "kept"),
    [
        ([0.1, 0.5, 0.4, 0.3, 0.9], 2, 0.0, 2, 2),
        ([0.5, 0.9, 0.85, 0.6, 0.7], None, 0.1, 2, 3),  # 0.85 may be 0.9 by chance
        ([0.5, 0.9, 0.9, 0.6, 0.7], None, 0.1, 2, 3),
        ([1.0, 1.0, 1.0, 1.0, 1.0], None, 0.1, 1, 5),
        ([0.3, 0.85, 0.8, 0.9, 0.7], None, 0.1, 4, 4),
    ],
)
def test_the_last_weights_as_good_as_the_best_are_kept_and_training_stops_when_none_come(
    scores, patience, margin, best, kept
):
    seen = []

    def validate(model):
        assert not model.training
        seen.append({name: x.clone() for name, x in weights(model).items()})
        return Validation(scores[len(seen) - 1], margin)

    budget = TrainingBudget(steps=10)
    model, run = trained(
        replace(SETTINGS, budget=budget, validations=5, patience=patience), validate=validate
    )
    assert run.progress.step == (2 * (best + patience) if patience else 10)
    assert (run.progress.best, run.progress.best_step) == (scores[best - 1], 2 * best)
    assert run.progress.kept_step == 2 * kept
    assert same(weights(model), seen[kept - 1])


@pytest.mark.trains
@pytest.mark.parametrize("rate", [1e6, 1e30])
def test_training_that_diverges_is_a_mistake(rate):
    settings = replace(SETTINGS, rate=rate, budget=TrainingBudget(steps=60))
    with pytest.raises(GenieError, match="M008.*diverged"):
        trained(settings)


@pytest.mark.trains
def test_the_newest_checkpoint_is_kept_and_only_a_run_of_its_settings_resumes_it(tmp_path):
    trained(folder=tmp_path)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000012"]
    with pytest.raises(GenieError, match="other settings"):
        trained(replace(SETTINGS, rate=0.5), folder=tmp_path)
    together = Run(network("rnn"), batches(), SETTINGS, group=Group(0, 2))
    with pytest.raises(GenieError, match="M003"):
        together.resume(tmp_path)
    (tmp_path / "step-00000012" / "state.safetensors").write_bytes(b"no")
    with pytest.raises(GenieError, match="M003"):
        trained(folder=tmp_path)


def train_in(folder, steps, *, hang=None, options=None):
    """Train with checkpoints, go on where they end; say so at the step at which to hang."""
    model, group = network("rnn", **(options or {})), join()
    metrics = MetricsFile(folder / "metrics.jsonl")

    def listen(event):
        metrics(event)
        if event["step"] == hang:
            (folder / "ready").touch()
            time.sleep(600)

    budget = TrainingBudget(steps=steps)
    settings = replace(SETTINGS, budget=budget, log_every=1, validations=5)
    validate = None if steps == 6 else lambda m: Validation(-float(m.loss(batch()).sum()))
    run = Run(model, batches(), settings, listen=listen, group=group, validate=validate)
    if run.resume(folder / "checkpoints"):
        metrics.rewind(run.progress.step)
    run.train(folder / "checkpoints")
    if group.rank == 0:
        save_file(weights(model), str(folder / "end.safetensors"))


def started(folder, steps, *, variables=None, **how):
    """Start training in a process of its own, which has imported all there is here."""
    folder.mkdir(exist_ok=True)

    def work():
        os.environ.update(variables or {})
        train_in(folder, steps, **how)

    process = get_context("fork").Process(target=work)
    process.start()
    return process


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_weights_bit_for_bit(tmp_path):
    whole = started(tmp_path / "whole", 15)
    killed = started(tmp_path / "killed", 15, hang=11)
    while not (tmp_path / "killed" / "ready").exists():
        assert killed.is_alive()
        time.sleep(0.01)
    killed.kill()
    killed.join()
    assert not (tmp_path / "killed" / "end.safetensors").exists()
    for run in (whole, started(tmp_path / "killed", 15)):
        run.join()
        assert run.exitcode == 0
    ends = [load_file(str(tmp_path / name / "end.safetensors")) for name in ("whole", "killed")]
    assert same(*ends)
    told = [read_metrics(tmp_path / name / "metrics.jsonl") for name in ("whole", "killed")]
    for events in told:
        for event in events:
            del event["seconds"]
    assert told[0] == told[1]


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one(tmp_path):
    quiet = {"dropout": 0.0, "word_dropout": 0.0}
    alone = started(tmp_path / "alone", 6, options=quiet)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    both = [
        started(tmp_path / "both", 6, options=quiet, variables={**place, "RANK": str(rank)})
        for rank in range(2)
    ]
    for run in (alone, *both):
        run.join()
        assert run.exitcode == 0
    told = [read_metrics(tmp_path / name / "metrics.jsonl") for name in ("alone", "both")]
    losses = [[event["loss"] for event in events] for events in told]
    assert len(losses[0]) == 6
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_the_last_line_of_metrics_may_be_cut_off(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file({"step": 1, "loss": 2.5})
    with file.path.open("a") as out:
        out.write('{"step": 2, "lo')
    assert read_metrics(file.path) == [{"step": 1, "loss": 2.5}]


@pytest.mark.trains
def test_a_budget_has_an_end_and_a_run_ends_with_what_is_used_up_first():
    for limits in ({}, {"steps": 5, "epochs": 1.0}, {"steps": 0}, {"epochs": 1.0, "seconds": -1.0}):
        with pytest.raises(ValueError, match="expected steps or epochs, or seconds"):
            TrainingBudget(**limits)
    budget = TrainingBudget(steps=100, seconds=10.0)
    assert budget.progress(steps=50, epochs=0.0, seconds=1.0) == 0.5
    assert budget.progress(steps=50, epochs=0.0, seconds=9.0) == 0.9
    assert budget.progress(steps=50, epochs=0.0, seconds=12.0) == 1.0
    _, run = trained(replace(SETTINGS, budget=TrainingBudget(steps=100_000, seconds=0.2)))
    assert 0 < run.progress.step < 100_000
    assert run.progress.used == 1.0
