"""Private selection of settings: how many trainings, which units score, what is paid."""

import json
import math
from collections import Counter
from random import Random

import pytest

pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

import torch

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.private.generators import selection
from genie_dp.private.generators.generator import new_generator
from genie_dp.private.generators.models import DecoderSettings
from genie_dp.private.generators.stages import LabelledRow
from genie_dp.private.ledger.accounting import epsilon_of, stopping_chance
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import Selection
from tests.private.generators.generators_setup import command, ledger, prepare, stage, words_of

TERMS = {"epsilon": 4.0, "delta": 1e-6}


def tuned(**settings):
    given = {
        "estimated_units": 1000,
        "batch": 50,
        "epochs": "2",
        "use_remaining_budget": True,
        "tune": "rate,batch",
    }
    return stage(**{**given, **settings})


def plan_of(training):
    return training.plan_noise(**TERMS, accountant="rdp")


def chances(trials, mean, most=60):
    """Return the probabilities of 0, 1, 2 .. runs (Papernot and Steinke, 2022, definition 1)."""
    if trials == "poisson":
        return [math.exp(-mean) * mean**k / math.factorial(k) for k in range(most)]
    g = stopping_chance(trials, mean)
    if trials == "geometric":
        return [0.0, *((1 - g) ** (k - 1) * g for k in range(1, most))]
    return [0.0, *((1 - g) ** k / (k * math.log(1 / g)) for k in range(1, most))]


@pytest.mark.parametrize("trials", ["geometric", "logarithmic", "poisson"])
def test_the_number_of_trials_has_its_distribution(trials):
    expected, count, rng = chances(trials, 3.0), 8_000, Random(5)
    assert sum(k * p for k, p in enumerate(expected)) == pytest.approx(3.0, abs=0.01)
    drawn = Counter(selection.draw_number(trials, 3.0, rng) for _ in range(count))
    often = [k for k, p in enumerate(expected) if p * count > 10]
    chi_square = sum((drawn[k] - count * expected[k]) ** 2 / (count * expected[k]) for k in often)
    # 5 standard deviations of a chi-square of as many degrees of freedom.
    assert chi_square < len(often) + 5 * math.sqrt(2 * len(often))


def test_whether_a_unit_scores_follows_from_its_rows_alone():
    units = [[LabelledRow((f"row{i}", "a")), LabelledRow((f"row{i}", "b"))] for i in range(2000)]
    held = [selection.is_held_out(unit, 0.1) for unit in units]
    assert 150 < sum(held) < 250
    assert [selection.is_held_out(unit[::-1], 0.1) for unit in units] == held
    assert all(
        selection.is_held_out(unit, 0.5)
        for unit, is_held in zip(units, held, strict=True)
        if is_held
    )


def test_a_selection_costs_what_it_may():
    plan = plan_of(tuned())
    assert len(plan.candidates) == 9
    assert 3.9 < epsilon_of(plan.mechanisms, 1e-6, "rdp") <= 4
    assert epsilon_of(plan.mechanisms, 1e-6, "pld") <= 4
    [mechanism] = plan.mechanisms
    # Three batches, and the score.
    assert len(mechanism.of) == 4
    assert {one.training.learning_rate for one in plan.candidates} == {0.01, 0.02, 0.04}
    # As many rows are seen with each batch.
    seen = [one.plan.batch * sum(one.plan.steps.values()) for one in plan.candidates]
    assert max(seen) < 1.3 * min(seen)


def test_a_run_with_codes_counts_them_and_only_what_is_tuned_differs(tmp_path):
    plan = plan_of(tuned(kind="control", tune="rate"))
    assert [[each.kind for each in run] for run in plan.mechanisms[0].of] == [
        ["gaussian", "poisson-gaussian"], ["gaussian"],
    ]  # fmt: skip
    rates = [one.noisy_steps.learning_rate for one in tuned(tune="rate").candidates()]
    assert rates == [0.01, 0.02, 0.04]
    assert len(set(tuned(tune="rate,rate").candidates())) == 3
    with pytest.raises(GenieError, match="takes rate and batch, not clip"):
        tuned(tune="clip")
    plan = plan_of(tuned(tune="rate", trials="logarithmic"))
    assert selection.SelectionPlan.load(tmp_path) is None
    plan.save(tmp_path)
    assert selection.SelectionPlan.load(tmp_path) == plan


# ------------------------------------------------------------------------------- the command


def train(folder, *options, code=0):
    small = ("--size", 8, "--longest", 32, "--pretraining-batch", 32, "--epochs", 0.5)
    assert command(*words_of(folder, "one-stage", *small, *options, epsilon=6)) == code


@pytest.mark.slow
def test_the_best_is_delivered_and_all_trials_are_one_entry(tmp_path, capsys, monkeypatch):
    prepare(tmp_path)
    for pace in ("_FIRST_LINE", "_NEXT_LINE"):
        monkeypatch.setattr(f"genie_dp.run.stage.{pace}", 0.0)
    train(tmp_path, "--tune", "rate", "--trials-mean", 2)
    [entry] = ledger(tmp_path).entries
    [mechanism] = entry.mechanisms
    assert isinstance(mechanism, Selection)
    spent = json.loads((tmp_path / "made" / "spent.json").read_text())
    assert 5.9 < spent["epsilon"] <= 6
    assert selection.UNTOLD in spent["not_covered"]
    facts = json.loads((tmp_path / "made" / "config.json").read_text())["training"]
    assert facts["training"]["learning_rate"] in (0.01, 0.02, 0.04)
    assert facts["best of trials"] == "2 on average, geometric"
    told = capsys.readouterr().err
    assert "are chosen" in told
    # Neither how many trials there were, nor how long they took.
    assert not [word for word in ("trial-", " s)", ": step ") if word in told]
    assert told.count("settings are tried") == 1
    assert not (tmp_path / ".made.work").exists()
    assert command("budget", "show", tmp_path / "private.jsonl") == 0
    assert "best of 2 runs on average (geometric)" in capsys.readouterr().out


@pytest.mark.slow
def test_a_killed_selection_goes_on_with_the_trials_it_drew(tmp_path, monkeypatch):
    prepare(tmp_path)
    drawn, scored = [], []
    score_once = selection._score_once

    def draw(plan, rng):
        drawn.append(1)
        return [0, 2]

    def kill_at_the_second(*arguments):
        scored.append(arguments[-1])
        if scored == [0, 1]:
            raise KeyboardInterrupt
        return score_once(*arguments)

    monkeypatch.setattr(selection, "draw_trials", draw)
    monkeypatch.setattr(selection, "_score_once", kill_at_the_second)
    train(tmp_path, "--tune", "rate", code=130)
    train(tmp_path, "--tune", "rate", "--resume")
    assert drawn == [1]
    assert scored == [0, 1, 0, 1]
    assert len(ledger(tmp_path).entries) == 1


def test_the_trial_with_the_least_loss_is_taken_and_each_begins_anew(tmp_path, monkeypatch):
    plan = plan_of(tuned(tune="rate"))
    losses, begun = iter([5.0, 3.0, 4.0]), []
    monkeypatch.setattr(
        selection, "nats_of_labelled", lambda generator, held: [next(losses)] * 9000
    )
    rows = [LabelledRow(("set", "the", "alarm"))] * 2
    small = DecoderSettings(8, 1, 1, 24)
    generator = new_generator("one-stage", get_language("sexpr"), rows, small)
    head = generator.models["utterance"].head.weight

    def fit(candidate, learned, here):
        begun.append(float(head.detach().sum()))
        for weight in generator.models["utterance"].parameters():
            weight.data += candidate.training.learning_rate
        return generator

    def best(name, *trials):
        monkeypatch.setattr(selection, "draw_trials", lambda plan, rng: list(trials))
        (tmp_path / name).mkdir()
        return selection.fit_best(generator, Units(()), plan, fit=fit, folder=tmp_path / name)

    # Without a trial what public rows taught is delivered.
    same, chosen = best("none")
    assert chosen is None
    assert same.models is generator.models
    before = head.detach().clone()
    found, chosen = best("three", 0, 2, 1)
    assert len({round(total, 4) for total in begun}) == 1
    assert chosen.training.learning_rate == 0.04
    assert torch.allclose(found.models["utterance"].head.weight, before + 0.04)
