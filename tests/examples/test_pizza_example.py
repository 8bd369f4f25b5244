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
    options = ["--size", "1000", "--seed", "1", "--output", path]
    assert cli.run(["synthesize", *map(str, [*arguments, *options])]) == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def declarations():
    return load_declarations(FOLDER / "pizza.sexpr")


def test_rows_are_different_well_typed_and_canonical(rows, declarations):
    assert len({row["utterance"] for row in rows}) == len(rows) == 1000
    for row in rows:
        program = SEXPR.from_tokens(row["program"])
        assert SEXPR.check(program, declarations) == []
        assert SEXPR.tokens(SEXPR.canonical(program, declarations)) == row["program"]
        assert SEXPR.functions(program) == Counter(row["functions"])


def test_every_node_that_is_declared_appears_and_all_sorts_in_one_order(rows, declarations):
    assert {name for row in rows for name in row["functions"]} == set(declarations.signatures)
    sorts = {"NUMBER", "SIZE", "STYLE", "COMPLEX_TOPPING", "TOPPING", "NOT"}
    assert any(sorts <= set(row["functions"]) for row in rows)


def test_nobody_wants_a_topping_that_is_banned(rows):
    pizzas = 0
    for row in rows:
        for item in SEXPR.from_tokens(row["program"]).items[1:]:
            texts = SEXPR.tokens(item).split("( TOPPING ")[1:]
            toppings = [text.split(" ")[0] for text in texts]
            assert len(set(toppings)) == len(toppings)
            pizzas += bool(toppings)
    assert pizzas > 150


# ------------------------------------------------- orders as they are spoken: examples/pizza

SPOKEN = FOLDER.parent / "pizza"
GRAMMAR = ["--language", "sexpr", "--skills", SPOKEN / "pizza.sexpr", "--grammar", SPOKEN]
SAID = {
    "i'd like a large ham and pineapple pizza with extra cheese hold the corn": "(PIZZAORDER "
    "(NUMBER 1) (SIZE LARGE) (TOPPING HAM) (TOPPING PINEAPPLE) (COMPLEX_TOPPING (QUANTITY EXTRA) "
    "(TOPPING CHEESE)) (NOT (TOPPING CORN)))",
    "could you get me 2 thin crust small pies with tuna and two lemonades": "(PIZZAORDER "
    "(NUMBER 2) (STYLE THIN_CRUST) (SIZE SMALL) (TOPPING TUNA)) "
    "(DRINKORDER (NUMBER 2) (DRINKTYPE LEMONADE))",
    "two large spinach pies one with ham and one with corn": "(PIZZAORDER (NUMBER 1) (SIZE LARGE) "
    "(TOPPING SPINACH) (TOPPING HAM)) (PIZZAORDER (NUMBER 1) (SIZE LARGE) (TOPPING SPINACH) "
    "(TOPPING CORN))",
}


def test_spoken_orders_have_their_program_and_no_other(tmp_path, capsys):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{said}\t(ORDER {items})\n" for said, items in SAID.items()))
    assert cli.run(["explain", *map(str, GRAMMAR), "--max-depth", "10", "--file", str(pairs)]) == 0
    told = capsys.readouterr()
    assert "3 pairs: 3 derived, 0 not, 0 ambiguous" in told.out + told.err


def test_all_orders_are_equally_deep_so_that_weights_hold(tmp_path):
    path = tmp_path / "pairs.jsonl"
    options = ["--max-depth", "8", "--depth-decay", "1", "--pool-size", "100", "--size", "300"]
    assert cli.run(["synthesize", *map(str, GRAMMAR), *options, "--output", str(path)]) == 0
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({row["depth"] for row in rows}) == 1
    found = {name for row in rows for name in row["functions"]}
    assert found >= {"SIZE", "STYLE", "TOPPING", "COMPLEX_TOPPING", "NOT", "DRINKTYPE"}
