"""Selective DP-SGD: which places have noise, what reaches which, how a run goes on."""

import math
import signal
import subprocess
import sys

import pytest

pytest.importorskip("opacus")

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genie_dp.cli import run as genie
from genie_dp.errors import GenieError
from genie_dp.private.crt.alternating import (
    SelectiveRun,
    Stretches,
    collate_stretches,
    guarded_places,
    part_losses,
)
from genie_dp.private.crt.config import PublicSettings, SelectiveSettings, selective_mechanism
from genie_dp.private.ledger.mechanisms import PoissonGaussian
from genie_dp.private.training.run import PrivateRun
from tests.private.crt.crt_setup import lstm, marked_rows, noisy, paid, weights
from tests.private.training import private_models as models
from tests.synthesis.synthesis_project import LAUNCHER

STATES = SelectiveSettings(noise_multiplier=0.5)


@given(st.lists(st.booleans(), min_size=2, max_size=30), st.integers(0, 4))
def test_places_that_read_or_predict_a_sensitive_token_are_guarded(marks, crossings):
    found = guarded_places(marks, crossings)
    assert len(found) == len(marks) - 1
    assert all(g or not (a or b) for a, b, g in zip(marks, marks[1:], found, strict=False))
    left = sum(a and not b for a, b in zip(found, found[1:], strict=False))
    assert left <= crossings


def test_plain_losses_do_not_depend_on_sensitive_tokens_but_by_released_states():
    model = lstm()
    rows = marked_rows()
    changed = [Stretches((2, 5, 11, 7, 8, 3), rows[0].sensitive), rows[1]]
    collated = [collate_stretches(r, size=8, crossings=2) for r in (rows, changed)]
    # A bound of almost nothing: what is released is almost nothing.
    first, second = (part_losses(model, batch, 1e-9) for batch in collated)
    torch.testing.assert_close(first[0], second[0])
    assert float((first[1] - second[1]).detach().abs()[0]) > 1e-4
    # Without masks it is the loss of the model.
    assert float(first[1][1].detach()) == 0
    plain = model.loss(models.collate(rows[1:]))
    torch.testing.assert_close(first[0][1:], plain)
    # Where nothing is cut, both together are that of the row.
    batch = collate_stretches(rows[1:], size=8, crossings=2)
    torch.testing.assert_close(sum(part_losses(model, batch, 1.0)), plain)


def test_gradients_of_plain_losses_do_not_reach_sensitive_tokens():
    model = lstm()
    batch = collate_stretches(marked_rows()[:1], size=8, crossings=2)
    plain, guarded = part_losses(model, batch, 1.0)
    (gradient,) = torch.autograd.grad(plain.sum(), model.words.weight, retain_graph=True)
    assert float(gradient[6].abs().sum()) == 0
    assert float(gradient[8].abs().sum()) > 0
    (gradient,) = torch.autograd.grad(guarded.sum(), model.words.weight)
    assert float(gradient[6].abs().sum()) > 0


def selective(optimizer="adamw", states=STATES, count=4, **changes):
    rows = [(row,) for row in marked_rows() * count]
    plain = PublicSettings(batch=4, optimizer=optimizer)
    return SelectiveRun(lstm(), rows, plain=plain, noisy=noisy(**changes), states=states)


def test_selective_training_learns_plain_places_without_noise_and_others_with():
    # The noise of gradients and of states together: 1 / 1 + 4 / 4 = 2.
    states = SelectiveSettings(noise_multiplier=2.0, crossings=4)
    assert selective_mechanism(noisy(), states) == PoissonGaussian(1 / math.sqrt(2), 0.5, 4)
    run = paid(selective(rate=1.0, batch=8.0))
    model = run.model
    before = float(model.loss(models.collate(marked_rows()[1:])).detach())
    run.train()
    assert run.private.steps == run.steps == 4
    assert float(model.loss(models.collate(marked_rows()[1:])).detach()) < before


# How a run goes on.


@pytest.fixture(scope="module")
def wholes():
    """Return runs that nothing interrupted, by optimizer."""
    runs = {name: paid(selective(name)) for name in ("adamw", "sgd")}
    for run in runs.values():
        run.train()
    return runs


def test_runs_differ_by_their_optimizer_and_their_noise(wholes):
    found = [weights(run.model) for run in wholes.values()]
    other = paid(selective(states=SelectiveSettings(noise_multiplier=0.6)))
    other.train()
    assert not torch.equal(*found)
    assert not torch.equal(weights(other.model), found[0])


@given(
    st.sampled_from(["adamw", "sgd"]),
    st.lists(st.integers(1, 2), min_size=1, max_size=3),
    st.integers(0, 2),
)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_wherever_it_was_interrupted_it_ends_with_the_same_weights(
    wholes, tmp_path_factory, optimizer, parts, lost
):
    folder = tmp_path_factory.mktemp("parts")
    for part in parts:
        run = selective(optimizer)
        run.resume(folder)
        paid(run)
        for _ in range(min(part, run.steps - run.number)):
            run.step()
        run.save(folder)
        for _ in range(min(lost, run.steps - run.number)):  # steps that are lost
            run.step()
    last = selective(optimizer)
    last.resume(folder)
    assert last.number == last.private.steps == min(sum(parts), 4)
    paid(last).train(folder)
    assert last.private.steps == 4
    assert torch.equal(weights(last.model), weights(wholes[optimizer].model))


# Killed in the noisy half of its third step, when the plain half is done.
KILLED = """
import os, signal, sys
from pathlib import Path
from genie_dp.private.secure import _seeded
from tests.private.crt.crt_setup import paid
from tests.private.crt.test_crt_selective import selective

with _seeded(0):
    run = paid(selective())
whole = run.private.step

def step(rows):
    if run.number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    whole(rows)

run.private.step = step
run.train(Path(sys.argv[1]), checkpoint_every=1)
"""


@pytest.mark.slow
def test_a_run_that_was_killed_between_its_halves_goes_on_with_both(wholes, tmp_path):
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    assert subprocess.run(words, cwd=LAUNCHER.parent, check=False).returncode == -signal.SIGKILL
    run = selective()
    run.resume(tmp_path)
    assert run.number == 2
    paid(run).train()
    assert torch.equal(weights(run.model), weights(wholes["adamw"].model))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    run = paid(selective())
    run.step()
    run.save(tmp_path)
    for changed in (
        {"states": SelectiveSettings(noise_multiplier=0.6)},
        {"states": SelectiveSettings(noise_multiplier=0.5, clip=2.0)},
        {"states": SelectiveSettings(noise_multiplier=0.5, crossings=3)},
        {"count": 5},
        {"clip": 0.2},
        {"optimizer": "sgd"},
    ):
        with pytest.raises(GenieError, match="O005"):
            selective(**changed).resume(tmp_path)


def test_the_command_goes_on_and_takes_no_step_twice(tmp_path, monkeypatch, capsys):
    def lines(word):
        rows = [f'{{"utterance": "my name is {word} {n}", "part": "private"}}' for n in range(8)]
        return "\n".join([*rows, '{"utterance": "play some jazz", "part": "public"}\n'])

    rows, original, out = (tmp_path / name for name in ("rows.jsonl", "original.jsonl", "model"))
    rows.write_text(lines("<MASK>"))
    original.write_text(lines("Ann"))
    small = "--size 8 --longest 16 --batch 3 --about 9 --epochs 1 --checkpoint-every 1"
    command = ["private", "train", "crt", str(rows), "--output", str(out), "--method", "s-dp"]
    command += ["--original", str(original), "--without-guarantee", *small.split()]
    step, numbers = PrivateRun.step, []

    def stopping(self, batch):
        if len(numbers) == 2 and "--resume" not in command:
            raise KeyboardInterrupt
        numbers.append(self.steps)
        step(self, batch)

    monkeypatch.setattr(PrivateRun, "step", stopping)
    assert genie(command) == 130
    command.append("--resume")
    assert genie([*command, "--noise-multiplier", "2"]) == 1
    assert "error[Y020]" in capsys.readouterr().err
    assert genie(command) == 0
    assert numbers == [0, 1, 2]
    assert list(out.rglob("*.safetensors"))
