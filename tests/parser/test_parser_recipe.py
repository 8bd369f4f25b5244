"""Recipes: what is checked before anything is trained."""

import dataclasses
from pathlib import Path

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.tables import read_tables
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.parser import Use
from genie_dp.parser.recipe import as_yaml, config_of, read_recipe
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library

EXAMPLES = Path(__file__).parents[2] / "examples"
INPUTS = (InputFile("rows.jsonl"),)


def recipe(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_a_recipe_merges_of_another_place_is_read(tmp_path):
    text = "inputs:\n- &a {path: a.jsonl, weight: 2.0}\n- {<<: *a, path: b.jsonl}\n"
    found = read_recipe(recipe(tmp_path, text))["inputs"]
    assert found == (InputFile("a.jsonl", weight=2.0), InputFile("b.jsonl", weight=2.0))


def test_a_recipe_that_is_saved_is_the_same_when_it_is_read(tmp_path):
    config = ParserConfig(
        (InputFile("a.jsonl", "paraphrase", 0.5, 2.0), *INPUTS),
        made_by=("genie-dp synthesize",),
        epochs=1.5,
        network={"size": 32},
        locale={"region": "GB"},
        threshold=0.25,
    )
    changed = [f.name for f in dataclasses.fields(config)]
    read = read_recipe(recipe(tmp_path, as_yaml(config)))
    assert sorted(read) == sorted(changed)
    assert ParserConfig(**read) == config


def test_recipe_and_tables_of_the_examples_are_valid():
    path = EXAMPLES / "parser.yaml"
    config = ParserConfig(**read_recipe(path))
    assert config.validation == "thingpedia"
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# genie-dp train --recipe examples/parser.yaml --output build/parser"
    assert config.made_by[-1].endswith(config.inputs[0].path)
    library = load_library([data_folder("thingpedia")])
    assert len(read_tables(EXAMPLES / "tables.json", library).by_function) == 3


def test_without_a_budget_training_takes_as_many_steps_anywhere():
    config = config_of(None, ["rows.jsonl"], {})
    assert (config.start, config.steps, config.epochs, config.minutes) == ("base", 600, None, None)
    assert config_of(None, ["rows.jsonl"], {"start": "none"}).steps == 3_000
    assert config.threshold == Use().threshold == 0.5
    capped = config_of(None, ["rows.jsonl"], {"steps": 5, "minutes": 1})
    assert (capped.steps, capped.minutes) == (5, 1)


def test_the_base_is_the_start_of_what_is_like_it():
    def start(**given):
        return config_of(None, ["rows.jsonl"], {"steps": 5, **given}).start

    assert start() == start(locale="en", batch=8) == start(start="base") == "base"
    assert start(locale="de") == start(network={"size": 32}) == start(start="none") == "none"
    assert start(architecture="transformer") == start(language_model="feed") == "none"
    for given in ({"locale": "de"}, {"architecture": "mqan"}, {"network": {"layers": 1}}):
        with pytest.raises(GenieError, match="start: expected none") as caught:
            start(start="base", **given)
        assert [problem.code for problem in caught.value.problems] == ["N002"]
