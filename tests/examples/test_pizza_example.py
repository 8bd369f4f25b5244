"""Projects of a language that is not ThingTalk: examples/pizza-order and examples/pizza."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import genie_dp as gd
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
    assert (
        cli.run(
            ["grammar", "explain", *map(str, GRAMMAR), "--max-depth", "10", "--file", str(pairs)]
        )
        == 0
    )
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


# ------------------------------------------------------------ sentences of people beside templates


@pytest.fixture(params=[FOLDER, SPOKEN], ids=lambda folder: folder.name)
def example(request):
    return request.param


def sentences_of(folder):
    lines = (folder / "sentences.tsv").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def test_the_ten_sentences_have_canonical_orders(example):
    declared = load_declarations(example / "pizza.sexpr")
    rows = sentences_of(example)
    assert len({said for _, said, _ in rows}) == 10
    lists = (path.read_text(encoding="utf-8").splitlines()[1:] for path in example.glob("*.tsv"))
    symbols = {line.split("\t")[-1] for lines in lists for line in lines}
    for _, said, program in rows:
        order = SEXPR.from_tokens(program)
        assert SEXPR.check(order, declared) == [], said
        assert SEXPR.tokens(SEXPR.canonical(order, declared)) == program
        assert {word for word in program.split() if word.isupper()} <= {
            *symbols, *declared.signatures, "EXTRA", "LIGHT",
        }, said  # fmt: skip


def test_no_template_says_the_ten_sentences(example, tmp_path, capsys):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{said}\t{meant}\n" for _, said, meant in sentences_of(example)))
    options = ["--language", "sexpr", "--skills", example / "pizza.sexpr", "--grammar", example]
    arguments = [*map(str, options), "--max-depth", "10", "--file", str(pairs)]
    assert cli.run(["grammar", "explain", *arguments]) == 1
    told = capsys.readouterr()
    assert "10 pairs: 0 derived, 10 not, 0 ambiguous" in told.out + told.err


def test_the_project_makes_rows_of_the_ten_sentences(example, tmp_path):
    folder = shutil.copytree(example, tmp_path / example.name)
    assert cli.run(["run", "people", "--file", str(folder)]) == 0
    rows = [*gd.Rows.read(folder / "build" / "people.jsonl")]
    assert {row.parent for row in rows} == {number for number, _, _ in sentences_of(example)}
    assert len(rows) > 200


@pytest.mark.slow
def test_the_parser_of_the_project_answers_in_the_ways_of_the_ten_sentences(tmp_path):
    folder = shutil.copytree(FOLDER, tmp_path / "orders")
    project = folder / "genie.yaml"
    text = project.read_text(encoding="utf-8")  # a shorter training learns the three sentences
    shorter = "steps: 350, batch: 32, out_of_scope: 0"
    project.write_text(text.replace("size: 3000", "size: 2000").replace("steps: 600", shorter))
    assert cli.run(["run", "--file", str(folder)]) == 0
    parser = gd.Parser.from_pretrained(folder / "build" / "parser")
    expected = {
        "could you do three salami pizzas for us": "(PIZZAORDER (NUMBER 3) (TOPPING SALAMI))",
        "just a ginger ale for me": "(DRINKORDER (DRINK GINGER_ALE) (NUMBER 1))",
        "hold the onions on that medium beef pizza": "(PIZZAORDER (NOT (TOPPING ONIONS)) "
        "(NUMBER 1) (SIZE MEDIUM) (TOPPING BEEF))",
    }
    replies = parser.parse([*expected])
    assert [reply.answers[0].code for reply in replies] == [
        f"(ORDER {order})" for order in expected.values()
    ]
    assert all(reply.is_known for reply in replies)
