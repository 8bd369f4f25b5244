"""The comparison of private methods: finished rows are not made again, budgets are apart."""

import json
from pathlib import Path

import evolution
import parser_runs
import private_runs
import pytest
from parser_runs import Results, Work
from private import Script
from private_runs import SMOKE, Bench, Lines, World
from private_worlds import Maker

from genie_dp.private.evolution.config import EvolutionRecipe
from genie_dp.records import Example


def rows(name, number):
    return [
        Example(f"{name}{i}", f"{name} {i}", f"now => {name}", functions=(name,))
        for i in range(number)
    ]


@pytest.fixture
def commands(monkeypatch, written):
    made = []

    def command(words):
        made.append(words)
        if "init" in words:
            return 1.0
        option = "--output" if "--output" in words else "-o"
        target = Path(words[words.index(option) + 1])
        if "evolve" in words or "train" in words:
            target.mkdir()
        if "evolve" in words:
            written(target / "rows.jsonl", rows("@a.b", 3))
            (target / "prior.json").write_text("{}")
        elif "compare" in words:
            figures = dict.fromkeys(("graph_match", "precision", "recall"), {"value": 0.5})
            target.write_text(json.dumps({"real": {"figures": figures}}))
        elif "train" not in words:
            written(target, rows("@a.b", 2))
        return 120.0

    for module in (parser_runs, private_runs, evolution):
        monkeypatch.setattr(module, "genie", command)
    return made


@pytest.fixture
def script(tmp_path, monkeypatch, written):
    work, file = Work(tmp_path / "work"), written("rows.jsonl", rows("@a.b", 4))
    world = World("people", file, (file,), file, file, (file,), file, ())
    monkeypatch.setattr(Maker, "skills_people", lambda _: (world, {"@a.b": 2.0}, "@a.b"))
    return Script(Maker(work, tmp_path, SMOKE), Bench(work, SMOKE), Lines(Results(work)), (1, 2))


def test_finished_rows_are_not_made_again_and_each_evolution_has_its_budget_and_seed(
    script, commands, capsys
):
    evolution.compare(script, (1.0, 8.0), "evolution, ")
    runs = [words for words in commands if "evolve" in words]
    asked = [(w[w.index("--epsilon") + 1], w[w.index("--seed") + 1]) for w in runs]
    assert sorted(asked) == [("1.0", "1"), ("1.0", "2"), ("8.0", "1"), ("8.0", "2")]
    assert len({w[w.index("--ledger") + 1] for w in runs}) == 4
    evolution.compare(script, (1.0, 8.0), "")
    first = len(commands)
    capsys.readouterr()
    evolution.compare(script, (1.0, 8.0), "")
    assert len(commands) == first
    out = capsys.readouterr().out
    assert out.count("| evolution, epsilon 8 | ") == 2
    assert "0.500 ± 0.000" in out


@pytest.mark.parametrize("metadata", [False, True])
def test_recipes_are_recipes(script, tmp_path, metadata):
    comparison = evolution.Comparison(script, script.make.skills_people()[0], "@a.b", {})
    path = tmp_path / "recipe.yaml"
    for epsilon in evolution.EPSILONS:
        path.write_text(comparison._recipe(epsilon, metadata=metadata))
        recipe = EvolutionRecipe.read(path, {})
        assert recipe.rows == SMOKE.public
        assert (recipe.metadata is not None) == metadata


def test_shares_follow_the_weights_of_rows(written):
    weighted = Example("x", "y", "z", functions=("@c.d",), weight=3)
    file = written("w.jsonl", [*rows("@a.b", 1), weighted])
    assert evolution.shares([file]) == {"@a.b": 0.25, "@c.d": 0.75}
    assert evolution.distance({"a": 1.0}, {"b": 1.0}) == 1
