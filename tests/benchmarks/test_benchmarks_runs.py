"""Means over training runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import over_runs, summary, table

from genie_dp.errors import GenieError
from genie_dp.evaluate.result import SCHEMA


def result(share, *, gold="test.jsonl", groups=("human",), schema=SCHEMA):
    return {
        "schema": schema,
        "gold": gold,
        "rows": 10,
        "accuracy": {"share": share},
        "tiers": [{"tier": "syntax", "share": 1.0}, {"tier": "match", "share": share}],
        "groups": [{"axis": "source", "name": name, "share": share / 2} for name in groups],
    }


def test_the_summary_has_mean_and_half_range_of_all_figures():
    found = summary([result(0.5), result(0.7), result(0.6, groups=("human", "private"))])
    assert found["runs"] == 3
    assert found["accuracy"]["mean"] == pytest.approx(0.6)
    assert found["tiers"][0] == {"tier": "syntax", **over_runs([1.0])}
    assert [group["name"] for group in found["groups"]] == ["human"]
    assert found["groups"][0]["half_range"] == pytest.approx(0.05)
    assert table({"Genie": [found, found]}) == "| Genie | 60.0 ± 10.0 | 60.0 ± 10.0 |"


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], "V030"),
        ([result(0.5), result(0.5, gold="other.jsonl")], "V031"),
        ([result(0.5, schema=None)], "V031"),
    ],
)
def test_results_that_are_not_of_one_test_set_have_no_mean(results, code):
    with pytest.raises(GenieError, match=code):
        summary(results)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.randoms())
def test_the_order_of_the_runs_is_of_no_account_and_the_mean_within_their_range(shares, rng):
    found = over_runs(shares)
    assert found["min"] - 1e-12 <= found["mean"] <= found["max"] + 1e-12
    rng.shuffle(shares)
    assert over_runs(shares) == found
