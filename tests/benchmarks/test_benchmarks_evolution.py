"""The comparison of private methods: finished rows are not made again, budgets are apart."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import evolution  # noqa: E402
import parser_runs  # noqa: E402
import private_runs  # noqa: E402
from parser_runs import Results, Work  # noqa: E402
from private import Script  # noqa: E402
from private_runs import SMOKE, Bench, Lines, World  # noqa: E402
from private_worlds import Maker  # noqa: E402

from genie_dp.private.evolution.config import read_recipe  # noqa: E402
from genie_dp.records import Example  # noqa: E402
from genie_dp.rows import to_json  # noqa: E402


def written(path, rows):
    path.write_text("".join(f"{to_json(row)}\n" for row in rows), encoding="utf-8")
    return path


def rows(name, number):
    return [
        Example(f"{name}{i}", f"{name} {i}", f"now => {name}", functions=(name,))
        for i in range(number)
    ]


@pytest.fixture
def commands(monkeypatch):
    made = []

    def command(words):
        made.append(words)
        if "init" in words:
            return 1.0
        option = "--output" if "--output" in words else "-o"
        target = Path(words[words.index(option) + 1])
        if "evolve" in words:
            target.mkdir()
            written(target / "rows.jsonl", rows("@a.b", 3))
            (target / "prior.json").write_text("{}")
        elif "train" in words:
            target.mkdir()
        elif "evaluate" in words:
            figure = {"value": 0.5}
            figures = {"graph_match": figure, "precision": figure, "recall": figure}
            target.write_text(json.dumps({"real": {"figures": figures}}))
        else:
            written(target, rows("@a.b", 2))
        return 120.0

    for module in (parser_runs, private_runs, evolution):
        monkeypatch.setattr(module, "genie", command)
    return made


@pytest.fixture
def script(tmp_path, monkeypatch):
    work = Work(tmp_path / "work")
    file = written(tmp_path / "rows.jsonl", rows("@a.b", 4))
    world = World("people", file, (file,), file, file, (file,), file, ())
    monkeypatch.setattr(Maker, "skills_people", lambda _: (world, {"@a.b": 2.0}, "@a.b"))
    return Script(Maker(work, tmp_path, SMOKE), Bench(work, SMOKE), Lines(Results(work)), (1, 2))


def test_finished_rows_are_not_made_again(script, commands, capsys):
    for _ in range(2):
        evolution.compare(script, (1.0, 8.0), "")
        first = len(commands)
    assert len(commands) == first
    out = capsys.readouterr().out
    assert out.count("| evolution, epsilon 8 | ") == 4
    assert "0.500 ± 0.000" in out


def test_each_evolution_has_its_budget_and_its_seed(script, commands):
    evolution.compare(script, (1.0, 8.0), "evolution, ")
    runs = [words for words in commands if "evolve" in words]
    asked = [(w[w.index("--epsilon") + 1], w[w.index("--seed") + 1]) for w in runs]
    assert sorted(asked) == [("1.0", "1"), ("1.0", "2"), ("8.0", "1"), ("8.0", "2")]
    assert len({w[w.index("--ledger") + 1] for w in runs}) == 4


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("epsilon", evolution.EPSILONS)
def test_recipes_are_recipes(script, tmp_path, epsilon, metadata):
    comparison = evolution.Comparison(script, script.make.skills_people()[0], "@a.b", {})
    path = tmp_path / "recipe.yaml"
    path.write_text(comparison._recipe(epsilon, metadata=metadata))
    recipe = read_recipe(path, {})
    assert recipe.rows == SMOKE.public
    assert (recipe.metadata is not None) == metadata


def test_shares_follow_the_weights_of_rows(tmp_path):
    one, other = rows("@a.b", 1)[0], rows("@c.d", 1)[0]
    file = written(
        tmp_path / "w.jsonl", [one, Example("x", "y", "z", functions=("@c.d",), weight=3)]
    )
    assert evolution.shares([file]) == {"@a.b": 0.25, "@c.d": 0.75}
    assert other.weight == 1
    assert evolution.distance({"a": 1.0}, {"b": 1.0}) == 1
