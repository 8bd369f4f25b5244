"""Placeholders for literal values, and the functions of programs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.traverse import anonymize, functions
from genie_dp.languages.thingtalk.typecheck import check
from tests.golden import cases
from tests.languages.thingtalk import strategies


@pytest.mark.parametrize("case", cases("anonymize/programs.txt"), ids=str)
def test_literals_become_placeholders(case, golden):
    golden(case, render(anonymize(parse(case.input))))


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_an_anonymous_program_stays_so_is_well_typed_and_has_the_functions(rng, is_policy):
    library = strategies.library(rng)
    program = (strategies.policy if is_policy else strategies.program)(rng, library)
    once = anonymize(program)
    assert anonymize(once) == once
    assert check(once, library) == []
    assert functions(once) == functions(program)


def test_functions_are_counted_in_program_order(golden):
    [case] = cases("anonymize/functions.txt")
    counts = (functions(parse(line)) for line in case.input.splitlines())
    shown = (", ".join(f"{f} {n}" for f, n in each.items()) for each in counts)
    golden(case, "\n".join(line or "none" for line in shown))
