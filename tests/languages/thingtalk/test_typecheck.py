"""The type checker, mistake by mistake."""

import re

import pytest

from genie_dp.languages.thingtalk import ast, declarations, typecheck
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.parser import parse, parse_classes, parse_fragment
from genie_dp.languages.thingtalk.tokens import TokenStyle
from genie_dp.languages.thingtalk.typecheck import check, check_class, check_types
from genie_dp.languages.types import NUMBER, STRING, Array, Measure
from genie_dp.languages.units import SHIPPED
from tests.golden import DATA, cases
from tests.languages.thingtalk.thingtalk_library import example_library

FILES = ("names", "values", "filters", "constructs", "policies")
CASES = [case for file in FILES for case in cases(f"typecheck/{file}.txt")]
CLASS_CASES = cases("typecheck/classes.txt")


TOKEN_CASES = cases("typecheck/tokens.txt")


def described(problems):
    """Return what is shown of problems, with their places."""
    lines = []
    for problem in problems:
        place = f"{problem.span.line}:{problem.span.column}: " if problem.span else ""
        lines.append(f"{place}{problem.code} {problem.message}")
        if problem.hint:
            lines.append(f"  hint: {problem.hint}")
    return "\n".join(lines)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistakes_of_programs(case, golden):
    problems = check(parse(case.input), example_library())
    golden(case, described(problems))
    assert all(p.span is not None and p.stage == "type" for p in problems)


@pytest.mark.parametrize("case", TOKEN_CASES, ids=str)
def test_mistakes_that_only_the_token_form_can_hold(case, golden):
    program = from_tokens(case.input, style=TokenStyle(types=False), places=True)
    golden(case, described(check(program, example_library())))


@pytest.mark.parametrize("case", CLASS_CASES, ids=str)
def test_mistakes_of_classes(case, golden):
    found = [p for c in parse_classes(case.input, file="skill.tt") for p in check_class(c)]
    lines = [f"{p.span.line}:{p.span.column}: {p.severity} {p.code} {p.message}" for p in found]
    golden(case, "\n".join(lines))


def test_every_documented_code_has_a_case():
    def shown(found):
        return set(re.findall(r"T0\d\d", "\n".join(case.expected for case in found)))

    documented = set(re.findall(r"T0(?:[0-2]\d|4[3-9]|50)", typecheck.__doc__ or ""))
    assert len(documented) == 36
    # Those that no text of a program can hold: the test below makes the trees by hand.
    assert documented - {"T026", "T028"} == shown(CASES + TOKEN_CASES)
    assert set(re.findall(r"T03\d", typecheck.__doc__ or "")) == shown(CLASS_CASES)
    level = declarations.ParamDecl("level", "out", Array(Measure("kgs")))
    query = declarations.FunctionDecl("query", "f", (level,))
    (problem,) = check_types(declarations.ClassDef("com.x", functions=(query,)), SHIPPED)
    assert (problem.code, problem.hint) == ("T022", "did you mean 'kg'?")


def test_mistakes_that_no_text_can_hold():
    program = parse("now => @com.example.mail.send(priority=high)")
    [problem] = check(program, example_library(), parameters={"high": STRING})
    assert described([problem]) == (
        "1:40: T010 expected Enum(low,normal,high) for 'priority', got 'high' of type String\n"
        "  hint: write enum(high) for the value; outputs of that type: none"
    )
    selector = ast.Selector("com.example.mail")
    query = ast.Call(selector, "inbox", (ast.Arg("most", ast.SlotValue("NUMBRE_0")),))
    assert [p.code for p in check(query, example_library())] == ["T026"]
    total = ast.Aggregate("summ", "size", ast.Call(selector, "inbox"))
    (problem,) = check(total, example_library())
    assert (problem.code, problem.hint) == ("T028", "did you mean 'sum'?")


def test_pieces_are_checked_on_their_own():
    _, *lines = (DATA / "typecheck" / "pieces.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 21
    for line in lines:
        body = line.partition(": ")[2]
        problems = check(parse_fragment(body, {"q": "query"}), example_library())
        assert f"{' '.join(p.code for p in problems) or 'fine'}: {body}" == line


def test_names_may_be_put_in_scope_from_outside():
    call = parse("now => @com.example.mail.inbox(most = x) => notify").rules[0].query
    assert check(call, example_library(), parameters={"x": NUMBER}) == []
    (problem,) = check(call, example_library(), parameters={"x": STRING})
    assert problem.code == "T010"


def test_what_a_join_passes_on_has_one_type_and_goes_to_one_call(golden):
    [case] = cases("typecheck/passed.txt")
    found = (check(parse(line), example_library()) for line in case.input.splitlines())
    golden(case, "\n".join(described(problems) or "fine" for problems in found))
