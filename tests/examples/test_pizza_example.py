"""Synthesis for a language that is not ThingTalk, with the templates of examples/pizza-order."""

import json
from collections import Counter
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.languages import get_language
from genie_dp.languages.sexpr.declarations import load_declarations

FOLDER = Path(__file__).parents[2] / "examples" / "pizza-order"
SEXPR = get_language("sexpr")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("pizza") / "pairs.jsonl"
    arguments = ["--language", "sexpr", "--skills", FOLDER / "pizza.sexpr", "--grammar", FOLDER]
    options = ["--size", "3000", "--seed", "1", "--output", path]
    assert cli.run(["synthesize", *map(str, [*arguments, *options])]) == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def declarations():
    return load_declarations(FOLDER / "pizza.sexpr")


def test_as_many_rows_come_as_were_asked_for(rows):
    assert len(rows) == 3000


def test_every_program_is_well_typed_and_canonical(rows, declarations):
    for row in rows:
        program = SEXPR.from_tokens(row["program"])
        assert SEXPR.check(program, declarations) == []
        assert SEXPR.tokens(SEXPR.canonical(program, declarations)) == row["program"]
        assert SEXPR.functions(program) == Counter(row["functions"])


def test_no_sentence_comes_twice(rows):
    assert len({row["utterance"] for row in rows}) == len(rows)


def test_every_node_that_is_declared_appears(rows, declarations):
    assert {name for row in rows for name in row["functions"]} == set(declarations.signatures)


def test_nobody_wants_a_topping_that_is_banned(rows):
    pizzas = 0
    for row in rows:
        for item in SEXPR.from_tokens(row["program"]).items[1:]:
            texts = SEXPR.tokens(item).split("( TOPPING ")[1:]
            toppings = [text.split(" ")[0] for text in texts]
            assert len(set(toppings)) == len(toppings)
            pizzas += bool(toppings)
    assert pizzas > 500


def test_all_sorts_of_children_come_together_in_one_order(rows):
    sorts = {"NUMBER", "SIZE", "STYLE", "COMPLEX_TOPPING", "TOPPING", "NOT"}
    assert any(sorts <= set(row["functions"]) for row in rows)
