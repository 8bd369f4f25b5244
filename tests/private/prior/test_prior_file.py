"""A prior's file holds all of it; what it says of rows is plain arithmetic."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private_prior import load_prior, pairs_of, row_weight, save_prior
from genie_dp.records import Frequency, PrivatePrior, Spent
from tests.private.prior.prior_setup import FUNCTIONS, SPENT, prior

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.floats(0, 1e6)
NAMED = st.dictionaries(TEXTS, NUMBERS, max_size=3)
FREQUENCIES = st.dictionaries(TEXTS, st.builds(Frequency, NUMBERS, NUMBERS, NUMBERS), max_size=3)
GUARANTEES = st.builds(
    Spent, NUMBERS, st.floats(0, 0.9), TEXTS, TEXTS, TEXTS, st.lists(TEXTS, max_size=2).map(tuple)
)
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
PRIORS = st.builds(
    PrivatePrior, GUARANTEES, NAMED, NAMED, NAMED, LISTS, LISTS, FREQUENCIES, FREQUENCIES,
    FREQUENCIES, st.floats(0, 1), st.dictionaries(TEXTS, TEXTS, max_size=2),
)  # fmt: skip


@given(one=PRIORS)
def test_what_is_saved_is_loaded(one, tmp_path_factory):
    path = tmp_path_factory.mktemp("priors") / "prior.json"
    save_prior(one, path)
    assert load_prior(path).prior == one
    assert [p.name for p in path.parent.iterdir()] == ["prior.json"]


def test_equal_priors_have_equal_files_and_others_another_hash(tmp_path):
    for name, weight in (("a", 2.0), ("b", 2.0), ("c", 3.0)):
        save_prior(prior(function_weights={FUNCTIONS[0]: weight}), tmp_path / name)
    a, b, c = (load_prior(tmp_path / name).digest for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "version 1, got"),
        ({"format": "rows"}, "got 'rows'"),
        ({"spent": None}, "no private prior"),
        ({"spent": {"epsilon": -1.0}}, "no private prior"),
        ({"function_weights": {"@a.b": -1}}, "must be a number >= 0"),
        ({"function_weights": {"@a.b": float("nan")}}, "must be a number >= 0"),
        ({"programs": [3]}, "must be texts"),
        ({"suprise": 1}, "unknown fields suprise"),
    ],
)
def test_a_file_that_is_no_prior_is_refused(change, told, tmp_path):
    path = tmp_path / "prior.json"
    save_prior(prior(), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(GenieError, match="F001") as error:
        load_prior(path)
    assert told in str(error.value)


@given(st.lists(st.sampled_from(FUNCTIONS), max_size=5))
def test_a_neutral_prior_weighs_every_row_one(functions):
    assert row_weight(prior(), functions) == 1
    assert row_weight(prior(function_weights=dict.fromkeys(FUNCTIONS, 1.0)), functions) == 1


@given(st.permutations(FUNCTIONS[:4]), st.floats(0.05, 20))
def test_the_order_of_functions_does_not_change_a_weight(functions, weight):
    one = prior(
        function_weights={FUNCTIONS[0]: weight, FUNCTIONS[2]: 3.0},
        pair_weights={pairs_of(FUNCTIONS[:2])[0]: 2.0},
    )
    assert row_weight(one, functions) == pytest.approx(row_weight(one, FUNCTIONS[:4]))


def test_a_prior_cannot_be_made_without_its_guarantee():
    with pytest.raises(TypeError):
        PrivatePrior()  # type: ignore[call-arg]
    assert prior().spent == SPENT
