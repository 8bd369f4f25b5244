"""Mistakes of form: what the user sees, and that nothing is hidden by the first one."""

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.parser import parse, parse_fragment, parse_library, parse_type
from tests.conftest import Golden
from tests.golden import Case, cases
from tests.languages.thingtalk.test_thingtalk_parse import HOLES


@pytest.mark.parametrize("case", cases("thingtalk_parse/errors.txt"), ids=str)
def test_a_program_that_cannot_be_read_says_where_and_why(case: Case, golden: Golden) -> None:
    with pytest.raises(GenieError) as error:
        parse(case.input, file="p.tt")
    golden(case, str(error.value))


@pytest.mark.parametrize("case", cases("thingtalk_parse/fragment_errors.txt"), ids=str)
def test_a_body_that_cannot_be_read_says_where_and_why(case: Case, golden: Golden) -> None:
    with pytest.raises(GenieError) as error:
        parse_fragment(case.input, HOLES, file="body")
    golden(case, str(error.value))


@pytest.mark.parametrize("case", cases("thingtalk_parse/library_errors.txt"), ids=str)
def test_all_mistakes_of_a_skill_file_are_told_at_once(case: Case, golden: Golden) -> None:
    with pytest.raises(GenieError) as error:
        parse_library(case.input, file="skill.tt")
    golden(case, str(error.value))
    assert {problem.stage for problem in error.value.problems} == {"syntax"}


def test_an_unknown_type_offers_the_nearest() -> None:
    with pytest.raises(GenieError) as error:
        parse_type("Bolean")
    (problem,) = error.value.problems
    assert (problem.code, problem.hint) == ("S005", "did you mean 'Boolean'?")


def test_reading_goes_on_after_the_most_mistakes_there_may_be() -> None:
    text = "class @a.b {\n" + "  action x(;\n" * 100 + "}"
    with pytest.raises(GenieError) as error:
        parse_library(text, file="skill.tt")
    assert 10 < len(error.value.problems) <= 20
    assert len({problem.span for problem in error.value.problems}) == len(error.value.problems)


@pytest.mark.parametrize("text", ["{}", "now => @a.b(x = {})", "now => @a.b(x = 1.{}e)"])
def test_the_time_for_a_number_does_not_grow_with_the_square_of_its_digits(text: str) -> None:
    with pytest.raises(GenieError):  # of the square it would be hours
        parse(text.format("9" * 300_000))
