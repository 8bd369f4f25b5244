"""The templates of examples/pizza: orders as they are spoken."""

import json
from pathlib import Path

import pytest

from genie_dp import cli

FOLDER = Path(__file__).parents[2] / "examples" / "pizza"
GRAMMAR = ["--language", "sexpr", "--skills", FOLDER / "pizza.sexpr", "--grammar", FOLDER]
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


@pytest.mark.parametrize(("sentence", "items"), SAID.items())
def test_a_spoken_order_has_its_program_and_no_other(sentence, items, capsys):
    options = ["--max-depth", "10", "--expect", f"(ORDER {items})", sentence]
    assert cli.run(["explain", *map(str, GRAMMAR), *options]) == 0
    assert "ambiguous" not in capsys.readouterr().out


def test_all_orders_are_equally_deep_so_that_weights_hold(tmp_path):
    path = tmp_path / "pairs.jsonl"
    options = ["--max-depth", "8", "--depth-decay", "1", "--pool-size", "100", "--size", "300"]
    assert cli.run(["synthesize", *map(str, GRAMMAR), *options, "--output", str(path)]) == 0
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({row["depth"] for row in rows}) == 1
    found = {name for row in rows for name in row["functions"]}
    assert found >= {"SIZE", "STYLE", "TOPPING", "COMPLEX_TOPPING", "NOT", "DRINKTYPE"}
