"""Figures that statistics have to keep: what fails is told at once, and agrees with the JSON."""

import operator

from hypothesis import given
from hypothesis import strategies as st

from genie_dp.dataset.gates import FIGURES, Gate

SIGNS = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq,
}  # fmt: skip


@given(
    name=st.sampled_from(list(FIGURES)),
    sign=st.sampled_from(list(SIGNS)),
    value=st.none() | st.integers(0, 100),
    limit=st.integers(0, 100),
    is_percent=st.booleans(),
)
def test_a_gate_says_what_its_operator_says_of_the_figure(name, sign, value, limit, is_percent):
    is_share = FIGURES[name].kind == "share"
    text = f"{limit}%" if is_percent else f"{limit / 100}"
    gate = Gate.parse(f"{name}{sign}{text if is_share else limit}")
    figure = value / 100 if value is not None and is_share else value
    kept = gate.is_kept({name: figure})
    assert kept == (value is not None and SIGNS[sign](value, limit))
    assert Gate.parse(str(gate)) == gate
