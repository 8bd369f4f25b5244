"""Conditions that fit two nouns of a phrase: one reading is made, the other is told."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from genie_dp.cli.inputs import load_inputs
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.thingtalk.lift import said_of_both
from genie_dp.languages.types import STRING, Array, Entity, Enum, Type
from genie_dp.resources import data_folder
from genie_dp.rows import from_json
from genie_dp.synthesis.compiler import CompiledGrammar, compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.explain import DerivationNode, Explainer, SecondReadings, loosen
from genie_dp.templates.grammar import subset
from genie_dp.templates.inputs import Inputs
from tests.synthesis.synthesis_setup import text_of

# Skills whose queries take words of other skills: joins by passing that are lists.
SKILLS = ("common", "com.spotify", "com.youtube", "com.twitter", "com.giphy", "com.linkedin")
JOINS = {"join.noun", "join.noun_many"}
CONFIG = SynthesisConfig(size=20_000, max_depth=4, pool_size=1_000)


@cache
def inputs() -> Inputs:
    folder = data_folder("thingpedia")
    return load_inputs("thingtalk", tuple(folder / s for s in SKILLS), (), skip_broken=False)


@cache
def guarded() -> CompiledGrammar:
    """Return the English grammar with more nouns inside of nouns than it otherwise gives."""
    grammar = subset(inputs().grammar, CONFIG.subsets)
    templates = [replace(t, weight=3.0) if t.id in JOINS else t for t in grammar.templates]
    grammar = replace(grammar, templates=tuple(templates))
    return compile_grammar(grammar, inputs().language, inputs().library, CONFIG)


def filtered_after_a_join(compiled: CompiledGrammar) -> list[Any]:
    """Return the rows in which a condition stands on the right side of a join by passing."""
    found = []
    for line in text_of(build_engine(compiled, CONFIG)).splitlines():
        row = from_json(line)
        _, join, right = row.program.partition(" join ( ")
        if join and JOINS & {*row.derivation} and ") filter " in right.split(" on param:")[0]:
            found.append(row)
    return found


def notes(node: DerivationNode) -> list[str]:
    return [node.refused] * bool(node.refused) + [n for c in node.children for n in notes(c)]


@pytest.mark.slow
def test_every_row_with_a_filter_after_a_join_has_one_program():
    explainer = Explainer(guarded())
    rows = filtered_after_a_join(guarded())
    assert len(rows) > 20
    wrong = [r.utterance for r in rows if explainer.explain(r.utterance).programs != (r.program,)]
    assert wrong == []


@pytest.mark.slow
def test_without_the_guard_there_are_rows_with_two_and_it_refuses_the_outer_one_of_each():
    loose, left_out = loosen(guarded())
    assert left_out
    explainer, without = Explainer(guarded()), Explainer(loose)
    second = SecondReadings(explainer)
    ambiguous = 0
    for row in filtered_after_a_join(loose):
        found = explainer.explain(row.utterance)
        assert len(found.programs) <= 1, row.utterance
        everything = set(without.explain(row.utterance).programs)
        refused = second.find(found)
        assert everything == {*found.programs, *(reading.program for reading in refused)}
        for reading in refused:
            assert all("wants p.name not in q.inner" in n for t in reading.trees for n in notes(t))
            assert all(notes(tree) for tree in reading.trees)
        ambiguous += len(everything) > 1
    assert ambiguous


def test_no_reading_is_refused_where_a_condition_has_one_noun_to_go_with():
    second = SecondReadings(Explainer(guarded()))
    for text in ("get tweets about QUOTED_STRING_0 posted by USERNAME_0", "get my liked songs"):
        assert second.find(second.explainer.explain(text)) == ()


def test_the_guard_is_tested_late_so_that_phrases_stay_in_one_group():
    rules = [r for r in guarded().rules["NP"] if r.template.id == "noun.filter"]
    assert rules
    for rule in rules:
        assert [name for test in rule.late for _, name in test.reads] == ["name", "inner"]
        assert all("inner" not in reads and "name" not in reads for reads in rule.reads)


def query(name: str, *outputs: tuple[str, Type, str]) -> Signature:
    parameters = (Parameter(n, "out", t, phrases=tuple(p.split(", "))) for n, t, p in outputs)
    return Signature("com.example", name, "query", tuple(parameters))


TWEETS = query(
    "tweets",
    ("sender", STRING, "by #, posted by #"),
    ("tag", Array(STRING), "tagged #"),
    ("kind", Enum(("reply", "quote")), "of the # kind"),
)


@pytest.mark.parametrize(
    ("output", "both"),
    [
        (("author", STRING, "written by #, by #"), ("", "sender")),
        (("sender", STRING, "from #"), ("",)),  # one name, said otherwise
        (("author", Entity("tt:username"), "by #"), ("",)),  # values of another type
        (("label", STRING, "tagged #"), ("", "tag")),  # a list is said of its members
        (("sort", Enum(("quote", "book")), "of the # kind"), ("", "kind")),
        (("sort", Enum(("novel", "book")), "of the # kind"), ("",)),  # they share no value
        (("sort", Enum(("quote",)), "of # kind"), ("", "kind")),  # articles make no difference
    ],
)
def test_outputs_of_other_names_clash_if_they_are_said_alike_of_one_type(output, both):
    assert said_of_both(TWEETS, [query("inner", output)]) == both


def test_an_output_without_phrases_goes_by_its_name():
    bare = Signature("x", "q", "query", (Parameter("sent_at", "out", STRING),))
    assert said_of_both(bare, [bare]) == ("", "sent_at")
