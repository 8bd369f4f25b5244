"""Rows of S-expressions that parsers learn from: language, what validation compares."""

import pytest

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.parser import Parser
from genie_dp.parser.rows import Reading, Rows, Style, language_of, read_all, target_of
from genie_dp.parser.validation import validation_rows
from tests.dataset.dataset_rows import row, write
from tests.parser.parser_setup import NOW

TARGET = target_of(Style(), "sexpr", read_declarations("unordered PIZZA;"))
SAID, PROGRAM = "a big pizza with ham", "( PIZZA ( SIZE big ) ( TOPPING ham ) )"


def config(path, **settings):
    return ParserConfig((InputFile(str(path)),), steps=1, held_out=0.0, **settings)


def tsv(path, program=PROGRAM):
    path.write_text(f"S0\t{SAID}\t{program}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_of_tsv_are_of_the_language_of_the_others(tmp_path, jobs):
    one = config(tsv(tmp_path / "a.tsv"))
    assert language_of(one.inputs, "sexpr") == "sexpr"
    found = read_all(one, TARGET, Reading(), jobs=jobs)
    assert [" ".join(pair.program) for pair in found.parts[0]] == [PROGRAM]
    assert not found.left


def test_rows_with_programs_as_people_write_them_are_told_the_form(tmp_path):
    with pytest.raises(GenieError) as error:
        read_all(config(tsv(tmp_path / "a.tsv", "(PIZZA (SIZE big))")), TARGET, Reading())
    (problem,) = error.value.problems
    assert problem.code == "N004"
    assert "1 not a program" in problem.hint
    assert "token form" in problem.hint


@pytest.mark.parametrize(
    ("written", "compared"),
    [("( PIZZA ( TOPPING ham ) ( SIZE big ) )", PROGRAM), ("( PIZZA", ""), (PROGRAM, PROGRAM)],
)
def test_validation_rows_are_compared_in_canonical_form_and_what_is_none_is_wrong(
    tmp_path, written, compared
):
    one = config("rows.jsonl", validation=str(tsv(tmp_path / "real.tsv", written)))
    (found,) = validation_rows(one, TARGET, Reading(), Rows())
    assert (found.utterance, found.program) == (SAID, compared)


CHARTS = """
program (PLOT);
entity City = "new york" paris;
node PLOT = (OF) (SINCE)? (IN)? (TOP)?;
node OF = PROFIT | SALES;
node SINCE = Date;
node IN = City;
node TOP = Number;
"""


def chart_rows():
    city = "GENERIC_ENTITY_City_0"
    made = [
        (said.format(word), f"( PLOT ( OF {name} ){more} )")
        for word, name in (("profit", "PROFIT"), ("earnings", "PROFIT"), ("sales", "SALES"))
        for said, more in (
            ("plot {}", ""),
            ("plot {} since DATE_0", " ( SINCE DATE_0 )"),
            ("plot {} since march 1 2026", ' ( SINCE #( Date " 2026-03-01 " ) )'),
            (f"plot {{}} in {city}", f" ( IN {city} )"),
            ("plot {} in lyon", ' ( IN #( City " lyon " ) )'),
            ("plot {} in oslo", ' ( IN #( City " oslo " ) )'),
            ("plot the top NUMBER_0 {}", " ( TOP NUMBER_0 )"),
            ("plot the top three {}", " ( TOP 3 )"),
        )
    ]
    return [row(f"S{n}", *one, language="sexpr", source="paraphrase") for n, one in enumerate(made)]


def test_written_values_become_placeholders_where_the_reader_finds_them(tmp_path):
    target = target_of(Style(), "sexpr", read_declarations(CHARTS))
    made = read_all(config(write(tmp_path / "a.jsonl", chart_rows())), target, Reading())
    assert not made.left
    found = {" ".join(pair.sentence): " ".join(pair.program) for pair in made.parts[0]}
    assert found["plot profit since DATE_0"] == "( PLOT ( OF PROFIT ) ( SINCE DATE_0 ) )"
    assert "plot profit since march 1 2026" not in found
    assert found["plot the top NUMBER_0 sales"] == "( PLOT ( OF SALES ) ( TOP NUMBER_0 ) )"
    # A place that the reader knows is words inside of a name.
    assert (
        found["plot sales in LOCATION_0"] == '( PLOT ( OF SALES ) ( IN #( City " LOCATION_0 " ) ) )'
    )


@pytest.fixture(scope="module")
def charts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("charts")
    (folder / "charts.sexpr").write_text(CHARTS, encoding="utf-8")
    (folder / "recipe.yaml").write_text(
        "network: {size: 32}\nbatch: 8\nrate: 0.02\nout_of_scope: 0\nvalidations: 1\n"
    )
    skills, recipe = folder / "charts.sexpr", folder / "recipe.yaml"
    words = ["train", write(folder / "a.jsonl", chart_rows()), "--skills", skills]
    words += ["--recipe", recipe, "--steps", 140, "--output", folder / "parser"]
    assert run([str(word) for word in words]) == 0
    return Parser.from_pretrained(folder / "parser", clock=lambda: NOW, threshold=0.0)


@pytest.mark.trains
@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("plot sales since june 3 2026", '(PLOT (OF SALES) (SINCE #(Date "2026-06-03")))'),
        ("plot profit since yesterday", '(PLOT (OF PROFIT) (SINCE #(Date "2027-01-12")))'),
        ("plot the top twelve sales", "(PLOT (OF SALES) (TOP 12))"),
        ("plot earnings in new york", '(PLOT (OF PROFIT) (IN #(City "new york")))'),
        ("plot earnings in oslo", '(PLOT (OF PROFIT) (IN #(City "oslo")))'),
    ],
)
def test_dates_numbers_and_listed_names_stand_in_expressions(charts, said, code):
    reply = charts(said)
    assert (reply.is_known, reply.code) == (True, code)


@pytest.mark.trains
def test_an_expression_with_all_values_goes_before_those_that_drop_one(charts):
    reply = charts("plot the top 3 sales since june 3 2026", n=3)
    assert (reply.refused, reply.unused) == (None, ())
    assert reply.code == '(PLOT (OF SALES) (SINCE #(Date "2026-06-03")) (TOP 3))'
    assert {answer.unused for answer in reply.alternatives} == {("3",), ("june 3 2026",)}


@pytest.mark.trains
def test_names_of_the_moment_are_linked_in_expressions(charts):
    reply = charts("plot sales in green hals", names={"City": ["Green Halls"]})
    assert reply.code == '(PLOT (OF SALES) (IN #(City "Green Halls")))'
    assert reply.calls == [{"name": "PLOT", "arguments": {"OF": "SALES", "IN": "Green Halls"}}]
