"""Mistakes in classes that are seen without the rest of a library."""

import re

import pytest

from genie_dp.languages.thingtalk import declarations, typecheck
from genie_dp.languages.thingtalk.parser import parse_classes
from genie_dp.languages.thingtalk.typecheck import check_class, check_types
from genie_dp.languages.types import Array, Measure
from genie_dp.languages.units import SHIPPED
from tests.golden import cases

CASES = cases("typecheck/classes.txt")


def problems_of(text):
    return [p for c in parse_classes(text, file="skill.tt") for p in check_class(c)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistakes_of_classes(case, golden):
    found = problems_of(case.input)
    lines = [f"{p.span.line}:{p.span.column}: {p.severity} {p.code} {p.message}" for p in found]
    golden(case, "\n".join(lines))


def test_every_documented_code_of_classes_has_a_case():
    documented = set(re.findall(r"T03\d", typecheck.__doc__ or ""))
    shown = set(re.findall(r"T0\d\d", "\n".join(case.expected for case in CASES)))
    assert documented == shown


def test_an_unknown_unit_is_a_mistake():
    level = declarations.ParamDecl("level", "out", Array(Measure("kgs")))
    query = declarations.FunctionDecl("query", "f", (level,))
    (problem,) = check_types(declarations.ClassDef("com.x", functions=(query,)), SHIPPED)
    assert (problem.code, problem.hint) == ("T022", "did you mean 'kg'?")
