"""The benchmark of intents: its parts share no row, and a result is never made twice."""

from dataclasses import replace

import pytest

pytest.importorskip("torch")

import intents
import torch
from intents import USUAL, Bench, Case, Lines, cases, measured
from intents_data import SMOKE, Judge, world_of

torch.set_num_threads(1)
SIZES = replace(SMOKE, donated=2, iterations=2, population=6, variations=2, rows=12, steps=20)
THINGS = ("tea", "figs", "soap", "rice", "oil", "salt", "nuts", "wine", "bread", "milk")


def write(folder, name, verbs):
    rows = [f"{verb} {thing} now\t{verb}" for verb in verbs for thing in THINGS]
    (folder / name).write_text("\n".join(["utterance\tintent", *rows, "hum\toos"]) + "\n")


@pytest.fixture
def data(tmp_path):
    write(tmp_path, "banking77.train.tsv", ("pay", "send", "lend"))
    write(tmp_path, "clinc150.train.tsv", ("sing", "wake"))
    write(tmp_path, "clinc150.val.tsv", ("sing", "wake"))
    return tmp_path


@pytest.mark.parametrize("name", ["banking77", "clinc150"])
def test_private_donated_and_tested_rows_are_different_ones(data, name):
    world = world_of(name, data, SIZES)
    private, donated = set(world.private), set(world.donated)
    assert len(donated) == 2 * len(world.intents)
    assert not private & donated
    assert {intent for _, intent in world.test} == set(world.intents)
    if name == "banking77":
        assert not private & set(world.test)
        assert len(private | donated | set(world.test)) == 30
    texts = {text for text, _ in private | donated | set(world.test)}
    assert not texts & set(world.public)
    assert "hum" not in texts | set(world.public)


def test_real_rows_are_worth_more_than_wrong_ones_and_nothing_without_weight(data):
    world = world_of("banking77", data, SIZES)
    judge = Judge(world, SIZES)
    texts, labels = zip(*world.private, strict=True)
    ones = [1.0] * len(texts)
    right, wrong = (judge.figures(texts, some, ones) for some in (labels, [labels[0]] * len(texts)))
    assert right["accuracy"] > wrong["accuracy"]
    assert 0 < right["near"] <= 1
    half = [float(label == "pay") for label in labels]
    kept = [text for text, label in world.private if label == "pay"]
    alone = judge.figures(kept, ["pay"] * len(kept), ones[: len(kept)])
    assert judge.figures(texts, labels, half) == alone


def test_an_evolution_stays_within_its_budget_and_is_not_run_again(data, tmp_path, monkeypatch):
    bench = Bench(data, tmp_path / "work", SIZES)
    bench.work.mkdir()
    world = world_of("banking77", data, SIZES)
    case = Case("banking77", USUAL, True, 2.0, 0)
    lines = Lines(bench.work / "results.jsonl")
    judge = Judge(world, SIZES)
    first = lines.known(bench.key(case), lambda: bench.run(case, world, judge))
    assert first["epsilon"] <= 2.0 * (1 + 1e-6)
    assert len(first["votes"]) == 2
    assert first["votes"][0]["calls"] == 12
    assert lines.known(bench.key(case), lambda: pytest.fail("made twice")) == first
    keys = {bench.key(one) for one in cases("banking77", [1.0, 2.0], 2, "seeds")}
    assert len(keys) == 2 * 2 * 6
    assert bench.key(replace(case, seed=1)) != bench.key(case)


def test_all_tables_are_printed(data, tmp_path, monkeypatch, capsys):
    every = cases("banking77", [2.0], 1, "seeds")
    few = [one for one in every if one.name in ("neither", "E")]
    monkeypatch.setattr(intents, "cases", lambda *rest: iter(few))
    bench = Bench(data, tmp_path, SIZES)
    measured(bench, "banking77", [2.0], 1)
    said = capsys.readouterr().out
    assert "| private rows, no privacy |" in said
    assert said.count("| neither | 2 |") == said.count("| E | 2 |") == 2
