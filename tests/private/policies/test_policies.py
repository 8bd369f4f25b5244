"""What policies let people run: the program, restricted, or nothing."""

from datetime import datetime

import pytest

from genie_dp.languages.thingtalk.ast import EntityValue, Policy, Program
from genie_dp.languages.thingtalk.operators import Moment
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.policies import allowed
from genie_dp.languages.thingtalk.render import render
from tests.conftest import Golden
from tests.golden import Case, cases
from tests.languages.thingtalk.test_canonical import skills

ANN = EntityValue("a1", "tt:contact", "Ann")


def part_of(policy: str, program: str) -> str | None:
    rules, asked = parse(policy), parse(program)
    assert isinstance(rules, Policy)
    assert isinstance(asked, Program)
    found = allowed(rules, ANN, asked, skills(), moment=Moment(datetime(2026, 11, 20)))
    return None if found is None else render(found)


@pytest.mark.parametrize("case", cases("policies/allowed.txt"), ids=str)
def test_a_policy_lets_a_program_run_as_far_as_it_speaks_of_it(case: Case, golden: Golden) -> None:
    golden(case, str(part_of(*case.input.splitlines())))
