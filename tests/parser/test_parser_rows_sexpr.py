"""Rows of S-expressions that parsers learn from: language, groups, what validation compares."""

import pytest

pytest.importorskip("phonenumbers")

from genie_dp.errors import GenieError
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.rows import Reading, Rows, Style, language_of, read_all, target_of
from genie_dp.parser.validation import validation_rows
from tests.dataset.dataset_rows import row, write

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


def test_a_validation_file_of_tsv_is_of_the_language_of_the_parser(tmp_path):
    one = config("rows.jsonl", validation=str(tsv(tmp_path / "real.tsv")))
    (found,) = validation_rows(one, TARGET, Reading(), Rows())
    assert (found.utterance, found.program) == (SAID, PROGRAM)


def test_validation_rows_are_compared_in_canonical_form(tmp_path):
    other = tsv(tmp_path / "real.tsv", "( PIZZA ( TOPPING ham ) ( SIZE big ) )")
    one = config("rows.jsonl", validation=str(other))
    (found,) = validation_rows(one, TARGET, Reading(), Rows())
    assert found.program == PROGRAM


def test_a_validation_row_that_is_no_program_stays_and_is_wrong(tmp_path):
    one = config("rows.jsonl", validation=str(tsv(tmp_path / "real.tsv", "( PIZZA")))
    (found,) = validation_rows(one, TARGET, Reading(), Rows())
    assert (found.utterance, found.program) == (SAID, "")


def test_rows_that_name_no_functions_are_grouped_by_their_program(tmp_path):
    made = [
        row("S0", SAID, PROGRAM, language="sexpr"),
        row("S1", "a pizza", "( PIZZA some )", language="sexpr"),
    ]
    found = read_all(config(write(tmp_path / "a.jsonl", made)), TARGET, Reading())
    assert [pair.group for pair in found.parts[0]] == ["compound", "primitive"]
