"""Laws of the measures, on random programs and random outcomes."""

import json
from dataclasses import replace
from math import comb

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.evaluate.counts import EvaluationCounts, PairedCounts, SampledRows, count_rows
from genie_dp.evaluate.judge import MATCH, TIERS, count_tiers, judge
from genie_dp.evaluate.result import IntervalEstimator, describe_counts, describe_pairs
from genie_dp.evaluate.rows import Gold, Prediction
from genie_dp.evaluate.views import viewer_of
from genie_dp.languages.base import ProgramView
from genie_dp.languages.sexpr.ast import Atom, Node
from genie_dp.languages.sexpr.canonical import unordered_key
from genie_dp.languages.sexpr.text import tokens as sexpr_tokens
from genie_dp.languages.thingtalk.ast import Atom as Comparing
from genie_dp.languages.thingtalk.ast import Filter, Monitor, NumberValue, StringValue
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.tokens import tokens
from genie_dp.languages.thingtalk.traverse import rewrite
from genie_dp.records import Example
from tests.languages.thingtalk.strategies import library, program

LAWS = settings(suppress_health_check=list(HealthCheck), deadline=None)
PARAMETERS = TIERS.index("parameters") + 1
randoms = st.randoms(use_true_random=False)


def written(made, lib):
    """Return the canonical tokens of a program; too large ones are no example."""
    try:
        return tokens(canonical(made, lib), lib)
    except GenieError:
        assume(False)


def gold_of(text, place=0, language="thingtalk"):
    return Gold(Example(f"g{place}", f"words {place}", text, language), (text,))


@LAWS
@given(randoms)
def test_every_program_matches_itself_and_reaches_all_tiers(rng):
    lib = library(rng)
    text = written(program(rng, lib), lib)
    found = judge(gold_of(text), Prediction("g0", (text,)), viewer_of("thingtalk", lib))
    assert (found.reached, found.rank, found.kind) == (MATCH, 1, "")


def spoilt(made, rng):
    """Return a program with a few of its parts changed."""

    def change(node):
        if rng.random() < 0.6:
            return node
        match node:
            case NumberValue(value):
                return NumberValue(value + 1)
            case Comparing(_, ">" | "<" | ">=" | "<="):
                return replace(node, operator=">" if node.operator == "<" else "<")
            case Filter():
                return node.query
            case Monitor():
                return replace(node, on_new=())
        return node

    return rewrite(made, change)


@LAWS
@given(randoms)
def test_a_stronger_agreement_implies_all_weaker_ones(rng):
    lib = library(rng)
    viewer = viewer_of("thingtalk", lib)
    made = program(rng, lib)
    changed = spoilt(made, rng) if rng.random() < 0.7 else program(rng, lib)
    one, other = (viewer.view(written(each, lib)) for each in (made, changed))
    assert isinstance(one, ProgramView)
    assume(isinstance(other, ProgramView))
    agreements = (
        len(one.functions) == len(other.functions),
        one.devices == other.devices,
        one.functions == other.functions,
        one.shape == other.shape,
        one.match == other.match,
    )
    event(f"reached {TIERS[count_tiers(one, other) - 1]}")
    assert list(agreements) == sorted(agreements, reverse=True)
    assert count_tiers(one, other) == 1 + sum(agreements)
    assert count_tiers(other, one) == count_tiers(one, other)


@LAWS
@given(randoms)
def test_programs_that_differ_in_values_only_reach_the_parameters(rng):
    lib = library(rng)
    made = program(rng, lib)
    assume(written(made, lib))
    made = canonical(made, lib)
    names = [f"v{k}" for k in range(9)]
    rng.shuffle(names)
    kept = {}

    def other(node):
        # Different values stay different: else the canonical form has fewer clauses.
        if isinstance(node, StringValue):
            return StringValue(kept.setdefault(node.text, names[len(kept)]))
        if isinstance(node, NumberValue):
            return NumberValue(node.value * -7 + 3)
        return node

    changed = rewrite(made, other)
    one, two = written(made, lib), written(changed, lib)
    viewer = viewer_of("thingtalk", lib)
    found = judge(gold_of(one), Prediction("g0", (two,)), viewer)
    event("equal" if one == two else "values differ")
    assert found.reached == (MATCH if one == two else PARAMETERS)
    assert found.kind == ("" if one == two else "wrong value")


words = st.sampled_from("abc").map(Atom)
trees = st.recursive(
    st.builds(lambda head: Node((head,)), words),
    lambda inner: st.builds(
        lambda head, items: Node((head, *items)), words, st.lists(inner | words, max_size=3)
    ),
    max_leaves=8,
)


def shuffled(node, rng):
    """Return a tree with its nodes in another order; words keep theirs."""
    if not isinstance(node, Node):
        return node
    nodes = [shuffled(item, rng) for item in node.items if isinstance(item, Node)]
    rng.shuffle(nodes)
    left = [item for item in node.items[1:] if not isinstance(item, Node)]
    mixed = [node.items[0], *left]
    for one in nodes:
        mixed.insert(rng.randrange(1, len(mixed) + 1), one)
    return replace(node, items=tuple(mixed))


@given(trees, randoms)
def test_unordered_match_knows_no_order_of_nodes(tree, rng):
    assert unordered_key(shuffled(tree, rng)) == unordered_key(tree)


@given(trees, trees, randoms)
def test_unordered_match_is_an_equivalence_that_keeps_heads_and_words(one, other, rng):
    view = viewer_of("sexpr", None, unordered=True).view
    a, b, c = (view(sexpr_tokens(tree)) for tree in (one, shuffled(one, rng), other))
    assert a == b
    assert (a.match == c.match) == (b.match == c.match) == (c.match == a.match)
    if a.match == c.match:
        assert a == c
        assert sorted(sexpr_tokens(one).split()) == sorted(sexpr_tokens(other).split())


CHOICES = ("( f 1 )", "( f 2 )", "( g 1 )", "( f ( g ) )", "( f", "")
outcomes = st.lists(
    st.tuples(
        st.sampled_from(CHOICES[:4]), st.sampled_from(CHOICES), st.sampled_from((0.2, 0.5, 0.9))
    ),
    min_size=1,
    max_size=30,
)


def asked(made):
    """Return rows with predictions: (gold program, predicted program, confidence)."""
    for place, (right, said, confidence) in enumerate(made):
        programs = (said,) if said else ()
        answer = Prediction(f"g{place}", programs, (confidence,) * len(programs))
        yield gold_of(right, place, "sexpr"), (answer,)


def result_of(rows, most=1000):
    tally = EvaluationCounts(wrong=SampledRows(most))
    count_rows(rows, viewer_of("sexpr", None), tally)
    return describe_counts(tally, IntervalEstimator(), language="sexpr")


@given(outcomes, randoms, st.integers(0, 5))
def test_permuting_the_rows_changes_nothing(made, rng, most):
    rows = list(asked(made))
    expected = json.dumps(result_of(rows, most))
    rng.shuffle(rows)
    assert json.dumps(result_of(rows, most)) == expected


@given(outcomes)
def test_perfect_predictions_score_everywhere(made):
    result = result_of(asked([(right, right, 1.0) for right, _, _ in made]))
    figures = [result["accuracy"], *result["tiers"], *result["groups"], *result["top_k"]]
    assert {figure["share"] for figure in figures} == {1.0}
    assert (result["kinds"], result["confusions"], result["wrong"]["rows"]) == ([], [], 0)
    assert result["calibration"]["expected_calibration_error"] == 0
    assert result["calibration"]["auroc"] is None


@given(outcomes)
def test_tiers_never_rise_and_kinds_and_groups_add_up(made):
    result = result_of(asked(made))
    shares = [tier["share"] for tier in result["tiers"]]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == result["accuracy"]["share"] == result["top_k"][0]["share"]
    assert sum(kind["rows"] for kind in result["kinds"]) == result["wrong"]["rows"]
    assert result["wrong"]["rows"] + result["accuracy"]["right"] == result["rows"] == len(made)
    for axis in ("command", "source", "functions", "words"):
        groups = [group for group in result["groups"] if group["axis"] == axis]
        assert sum(group["rows"] for group in groups) == result["rows"]
        assert sum(group["right"] for group in groups) == result["accuracy"]["right"]


@given(outcomes, outcomes)
def test_a_comparison_is_antisymmetric_and_none_with_itself(one, other):
    size = min(len(one), len(other))
    left = list(asked(one[:size]))
    right = [
        (gold, answer)
        for (gold, _), (_, answer) in zip(
            left, asked([(g, s, c) for (g, _, _), (_, s, c) in zip(one, other, strict=False)]),
            strict=True,
        )
    ]  # fmt: skip

    def difference(first, second):
        comparison = PairedCounts()
        rows = [(gold, (*a, *b)) for (gold, a), (_, b) in zip(first, second, strict=True)]
        count_rows(rows, viewer_of("sexpr", None), EvaluationCounts(), comparison)
        return describe_pairs(comparison, IntervalEstimator(), language="sexpr")

    same = difference(left, left)
    assert [(t["difference"], t["low"], t["high"]) for t in same["tiers"]] == [(0, 0, 0)] * 5
    there, back = difference(left, right), difference(right, left)
    assert there["difference"] == -back["difference"]
    assert there["difference"] == pytest.approx(
        result_of(left)["accuracy"]["share"] - result_of(right)["accuracy"]["share"]
    )
    assert there["low"] <= there["difference"] <= there["high"]
    assert len(there["first_only_shown"]) == there["first_only"] == back["second_only"]


@given(st.integers(1, 2000), st.floats(0, 1), st.integers(0, 5))
def test_an_interval_holds_the_share_and_lies_within_0_and_1(rows, part, seed):
    right = round(part * rows)
    found = IntervalEstimator(seed).share(right, rows)
    assert 0 <= found["low"] <= found["share"] <= found["high"] <= 1
    # Few rows never prove that all are right, or none.
    assert found["high"] - found["low"] > 1 / (rows + 4)
    assert found["low"] == 0 or right > 0
    assert found["high"] == 1 or right < rows


@given(st.integers(20, 500), st.floats(0.2, 0.8))
def test_intervals_shrink_with_the_root_of_the_rows(rows, part):
    right = round(part * rows)
    small, large = (IntervalEstimator().share(right * k, rows * k) for k in (1, 16))
    ratio = (small["high"] - small["low"]) / (large["high"] - large["low"])
    assert 2.8 < ratio < 5.6


@pytest.mark.parametrize(("rows", "share"), [(7, 0.9), (20, 0.5), (50, 0.97)])
def test_intervals_of_few_rows_hold_the_true_share_as_often_as_they_say(rows, share):
    chance = [comb(rows, k) * share**k * (1 - share) ** (rows - k) for k in range(rows + 1)]
    held = [IntervalEstimator().share(right, rows) for right in range(rows + 1)]
    covered = sum(p for p, it in zip(chance, held, strict=True) if it["low"] <= share <= it["high"])
    assert covered > 0.9
