"""Mistakes in programs, token forms and template bodies of every language are shown in place."""

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.parser import parse_fragment, parse_library
from tests.golden import cases
from tests.languages.calls.tool_programs import home
from tests.languages.sexpr.test_sexpr_bodies import CAKES
from tests.languages.thingtalk.test_thingtalk_parse import HOLES

CALLS, SEXPR, THINGTALK = map(get_language, ("calls", "sexpr", "thingtalk"))
HOME = home()
READERS = {
    "calls/errors": lambda text: CALLS.parse(text, file="home.txt"),
    "calls/token_errors": CALLS.from_tokens,
    "calls/bodies": lambda text: CALLS.bodies.compile(
        text, {"v": "value", "p": "program"}, HOME, whole=True
    ),
    "sexpr/errors": lambda text: SEXPR.parse(text, file="order.txt"),
    "sexpr/token_errors": SEXPR.from_tokens,
    "sexpr/bodies": lambda text: SEXPR.bodies.compile(text, {}, CAKES),
    "tokens/errors": THINGTALK.from_tokens,
    "thingtalk_parse/errors": lambda text: THINGTALK.parse(text, file="p.tt"),
    "thingtalk_parse/fragment_errors": lambda text: parse_fragment(text, HOLES, file="body"),
    "thingtalk_parse/library_errors": lambda text: parse_library(text, file="skill.tt"),
}
ALL = [(name, case) for name in READERS for case in cases(f"{name}.txt")]


@pytest.mark.parametrize(("name", "case"), ALL, ids=str)
def test_a_mistake_is_shown_with_its_place(name, case, golden):
    with pytest.raises(GenieError) as caught:
        READERS[name](case.input)
    golden(case, str(caught.value))
    if not name.endswith("bodies"):
        assert {problem.stage for problem in caught.value.problems} == {"syntax"}
    if name == "tokens/errors":
        assert [problem.span.line for problem in caught.value.problems] == [1]
