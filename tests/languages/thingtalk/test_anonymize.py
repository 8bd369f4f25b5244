"""Placeholders for literal values, and the functions of programs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.traverse import anonymize, functions
from genie_dp.languages.thingtalk.typecheck import check
from tests.golden import cases
from tests.languages.thingtalk import strategies


@pytest.mark.parametrize("case", cases("anonymize/programs.txt"), ids=str)
def test_literals_become_placeholders(case, golden):
    golden(case, render(anonymize(parse(case.input))))


@settings(max_examples=100, deadline=None)
@given(strategies.samples())
def test_anonymizing_twice_changes_nothing_more(sample):
    once = anonymize(sample.program)
    assert anonymize(once) == once


@settings(max_examples=100, deadline=None)
@given(strategies.samples())
def test_anonymized_programs_are_well_typed(sample):
    assert check(anonymize(sample.program), sample.library) == []


@settings(max_examples=100, deadline=None)
@given(strategies.samples())
def test_anonymizing_keeps_the_functions(sample):
    assert functions(anonymize(sample.program)) == functions(sample.program)


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False))
def test_policies_are_anonymized_too(rng):
    library = strategies.library(rng)
    policy = anonymize(canonical(strategies.policy(rng, library), library))
    assert anonymize(policy) == policy
    assert check(policy, library) == []


@pytest.mark.parametrize(
    ("program", "counts"),
    [
        ("now => @com.x.q() => notify", {"@com.x.q": 1}),
        (
            "monitor (@com.x.b() filter @com.x.a() { true }) => @com.x.b() => @com.y.c()",
            {"@com.x.b": 2, "@com.x.a": 1, "@com.y.c": 1},
        ),
        ('source == "a" : now => @com.x.q => notify', {"@com.x.q": 1}),
        ("true : * => @com.x.*", {}),
    ],
)
def test_functions_are_counted_in_program_order(program, counts):
    assert list(functions(parse(program)).items()) == list(counts.items())
