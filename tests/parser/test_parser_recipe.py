"""Recipes: what is checked before anything is trained."""

import dataclasses
from pathlib import Path

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.tables import read_tables
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.parser import Use
from genie_dp.parser.recipe import as_yaml, config_of, read_recipe, settings_of
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library

EXAMPLES = Path(__file__).parents[2] / "examples"
INPUTS = (InputFile("rows.jsonl"),)


def problems(error):
    return [(p.code, p.message, p.hint) for p in error.value.problems]


def recipe(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_all_mistakes_of_a_recipe_are_shown_with_the_nearest_name(tmp_path):
    with pytest.raises(GenieError) as error:
        read_recipe(recipe(tmp_path, "minuts: 5\nbatch: many\nbf16: 1\n"))
    (code, *_, hint), *_ = problems(error)
    assert code == "N002"
    assert "'minutes'" in hint
    named = [message.partition(":")[0] for _, message, _ in problems(error)]
    assert named == ["unknown setting 'minuts'", "batch", "bf16"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("minutes: 5\nbatchs: 3\nseed: x\n", ["2:1", "3:7"]),
        ("inputs:\n- a.jsonl\n- {path: b.jsonl, sorce: human}\n- 5\n", ["3:19", "4:3"]),
        ("inputs:\n- path: a\n  source: humn\n- path: b\n  ratio: -1\n", ["3:11", "5:10"]),
        ("batch: 8\nseed: 1\nbatch: 9\n", ["3:1"]),
        ("network: {size: 3, size: 4}\n", ["1:20"]),
        ("inputs: &a [*a]\n", ["1:13"]),
        ("seed: 1\nlocale: {region: \x00}\n", ["2:18"]),
    ],
)  # fmt: skip
def test_every_mistake_of_a_recipe_has_its_place(tmp_path, text, places):
    path = recipe(tmp_path, text)
    with pytest.raises(GenieError) as error:
        read_recipe(path)
    assert [str(p.span) for p in error.value.problems] == [f"{path}:{place}" for place in places]
    assert error.value.sources == {str(path): text}


@pytest.mark.parametrize(
    ("text", "given", "places"),
    [
        ("batch: 0\nthreshold: 2\n", {}, ["1:8", "2:12"]),
        ("batch: 0\nthreshold: 2\n", {"batch": -1}, [None, "2:12"]),
        ("locale:\n  morning: 99\n  region: GB\n", {}, ["2:12"]),
    ],
)
def test_settings_of_a_recipe_that_no_parser_can_have_are_told_where_they_stand(
    tmp_path, text, given, places
):
    path = recipe(tmp_path, text)
    with pytest.raises(GenieError) as error:
        config_of(path, ("rows.jsonl",), {"steps": 5, **given})
    assert [p.span and str(p.span) for p in error.value.problems] == [
        place and f"{path}:{place}" for place in places
    ]


def test_what_a_recipe_merges_of_another_place_is_read(tmp_path):
    text = "inputs:\n- &a {path: a.jsonl, weight: 2.0}\n- {<<: *a, path: b.jsonl}\n"
    found = read_recipe(recipe(tmp_path, text))["inputs"]
    assert found == (InputFile("a.jsonl", weight=2.0), InputFile("b.jsonl", weight=2.0))


@pytest.mark.parametrize("text", ["- a\n", "minutes: [1\n", "5\n", "", "a: 1\n---\nb: 2\n"])
def test_what_is_no_map_in_yaml_is_refused(tmp_path, text):
    with pytest.raises(GenieError) as error:
        read_recipe(recipe(tmp_path, text))
    assert [code for code, _, _ in problems(error)] == ["N001"]


@pytest.mark.parametrize(
    "settings",
    [
        {"batch": 0}, {"threshold": 1.5}, {"architecture": "rn"}, {"lora_rank": 4}, {"inputs": ()},
        {"language_model": "start", "architecture": "mqan"}, {"rate": float("inf")},
        {"weight_decay": -0.1}, {"weight_decay": float("nan")},
        {"epochs": float("inf"), "steps": None},
    ],
)  # fmt: skip
def test_settings_that_no_parser_can_have_are_named(settings):
    with pytest.raises(GenieError) as error:
        ParserConfig(**{"inputs": INPUTS, "steps": 5, **settings})
    ((code, message, _),) = problems(error)
    assert code == "N002"
    assert message.startswith(f"{next(iter(settings))}: expected")


@pytest.mark.parametrize("budget", [{}, {"steps": 5, "epochs": 1}])
def test_training_ends_with_steps_or_epochs_or_minutes(budget):
    with pytest.raises(GenieError, match=f"{', '.join(budget) or 'steps, epochs, minutes'}: exp"):
        ParserConfig(INPUTS, **budget)


@pytest.mark.parametrize(
    ("input", "named"),
    [
        ({"path": "a.jsonl", "source": "humn"}, "source"),
        ({"path": "a.jsonl", "ratio": -1}, "ratio"),
        ({"path": "a.jsonl", "ratio": float("inf")}, "ratio"),
        ({"path": "a.jsonl", "weight": float("inf")}, "weight"),
        ({"ratio": 1}, "expected a path"),
        ({"path": "a.jsonl", "rati": 1}, "unknown setting 'rati'"),
        (5, "expected a path"),
    ],
)
def test_mistakes_of_an_input_are_named(input, named):
    with pytest.raises(GenieError) as error:
        settings_of({"inputs": [input]})
    assert problems(error)[0][1].startswith(f"inputs: 1: {named}")


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
    assert (config.steps, config.epochs, config.minutes) == (3_000, None, None)
    assert config.threshold == Use().threshold == 0.5
    capped = config_of(None, ["rows.jsonl"], {"steps": 5, "minutes": 1})
    assert (capped.steps, capped.minutes) == (5, 1)
