"""Prompts of models, and how answers become sentences."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.evolution.answers import read_answer
from genie_dp.private.evolution.config import LanguageModelRecipe
from genie_dp.private.evolution.generator import (
    Donated,
    Pool,
    VoteCandidate,
    complete_metadata,
    read_donated,
)
from genie_dp.private.evolution.prompting import (
    GAP,
    Prompt,
    Prompter,
    Style,
    describe_metadata,
    load_templates,
    parse_templates,
    read_sentence,
    shipped_templates,
    with_gaps,
)
from genie_dp.private.source import PrivateRow
from genie_dp.private.tables.schema import Column, Schema
from genie_dp.records import Example
from genie_dp.rng import stream
from tests.golden import cases

DONATED = (
    Donated("wake me at seven", {"intent": "wake", "length": "long"}),
    Donated("pay my bill", {"intent": "pay_bill", "length": "short"}),
    Donated("pay it", {"intent": "pay_bill", "length": "long"}),
)
COLUMNS = {"intent": ("wake", "pay_bill", "<other>"), "length": ("short", "long")}
PARENT = VoteCandidate(Example("", "please wake me up at seven", ""), {"intent": "wake"})
SENTENCES = st.lists(st.sampled_from(["wake", "me", "up", "7", ","]), min_size=1, max_size=12)


def prompter(style="complete", donated=DONATED, shots=2, **more):
    recipe = LanguageModelRecipe(shots=shots, **more)
    return Prompter(shipped_templates(style), style, Pool(donated), COLUMNS, recipe)


# -------------------------------------------------------------------------------- templates


@pytest.mark.parametrize("style", get_args(Style))
def test_shipped_prompts_tell_metadata_and_the_examples_nearest_to_it(style):
    asked = prompter(style).random({"intent": "pay_bill", "length": "short"}, stream(0))
    assert "intent: pay bill; length: short" in asked.text
    assert "pay it" in asked.text
    assert asked.text.index("pay it") < asked.text.index("pay my bill")
    assert "wake" not in asked.text
    assert "{" not in asked.text + asked.system
    assert bool(asked.system) == (style == "chat")
    # Lines without anything to say are left out.
    bare = prompter(style, donated=()).random({"intent": "<other>"}, stream(0))
    assert not [line for line in bare.text.split("\n") if line.endswith("nown:")]
    assert bare.text
    assert "other>" not in bare.text
    assert "\n\n\n" not in bare.text


def test_metadata_is_told_in_words_if_at_all():
    told = describe_metadata(
        {"intent": "pay_bill", "function": "@com.a.get_bill", "skill": "<other>"}
    )
    assert told == "intent: pay bill; function: @com.a.get_bill"
    # Without it, prompts neither tell it nor choose examples by it.
    asked = prompter(with_metadata=False, shots=1)
    prompts = {asked.random({"intent": "wake"}, stream(n)).text for n in range(20)}
    assert len(prompts) == 3
    assert not any("intent" in text for text in prompts)


def test_a_file_replaces_the_sections_that_it_has(tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("[random]\nA {column.length} wish to {column.intent}:\n", encoding="utf-8")
    templates = load_templates(file, "complete")
    asked = Prompter(templates, columns=COLUMNS)
    text = asked.random({"intent": "pay_bill", "length": "long"}, stream(0)).text
    assert text == "A long wish to pay bill:"
    assert templates.sections["fill"] == shipped_templates("complete").sections["fill"]


@pytest.mark.parametrize("case", cases("evolution/prompts.txt"), ids=str)
def test_mistakes_in_prompts_are_told_with_their_place(case, golden):
    with pytest.raises(GenieError) as caught:
        parse_templates(case.input)
    golden(case, str(caught.value))


def test_prompts_that_do_not_fit_the_table_or_the_style_are_told():
    with pytest.raises(GenieError, match="U500.*'length'|'length'"):
        Prompter(parse_templates("[random]\n{column.lenght}"), columns=COLUMNS)
    with pytest.raises(GenieError, match="U506"):  # a chat cannot continue a sentence
        prompter("chat", variation="continue")


# ------------------------------------------------------------------------------ what is private


def test_no_prompt_is_made_of_a_private_row_or_of_values_that_are_not_public():
    private = VoteCandidate(Example("P1", "my secret", "", source="private"))
    for make, error in (
        (lambda: prompter().vary(PrivateRow("my secret"), 0.5, stream(0)), TypeError),
        (lambda: prompter().vary(private, 0.5, stream(0)), TypeError),
        (lambda: prompter().random({"intent": "my secret"}, stream(0)), GenieError),
    ):
        with pytest.raises(error) as caught:
            make()
        assert "secret" not in str(caught.value)
        assert ("U504" in str(caught.value)) == (error is GenieError)
    # Nor of metadata of examples that the table lacks.
    donated = [Donated("hi", {"intent": "wake", "mood": "glad"})]
    assert "glad" not in prompter(donated=donated).random({"intent": "wake"}, stream(0)).text


# --------------------------------------------------------------------------------- examples


def test_donated_rows_are_read_from_lines_and_from_tables(tmp_path):
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.tsv"
    lines.write_text(
        '{"utterance": "wake  me", "metadata": {"intent": "wake"}, "program": null}\n\n'
        '{"utterance": "hi"}\n'
    )
    table.write_text("id\tutterance\tintent\n1\twake me\twake\n2\thi\t\n")
    assert read_donated(lines) == (Donated("wake me", {"intent": "wake"}), Donated("hi"))
    assert read_donated(table) == read_donated(lines)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "U502"),
        ("[1]", "U502"),
        ('{"metadata": {}}', "U502"),
        ('{"utterance": "a", "metadata": {"n": 1}}', "U502"),
        ('{"utterance": "a", "program": 1}', "U502"),
        ('{"utterance": "a", "source": "private"}', "U503"),
    ],
)
def test_rows_that_are_no_examples_are_told(tmp_path, text, code):
    file = tmp_path / "donated.jsonl"
    file.write_text(text)
    with pytest.raises(GenieError, match=code):
        read_donated(file)


def test_an_example_has_the_columns_that_can_be_read_from_it():
    schema = Schema(
        (
            Column("form", ("question", "command")),
            Column("length", ("0-3", "4+")),
            Column("topic", ("bank", "home"), "field:intent"),
            Column("mood", ("glad", "<other>")),
            Column("filters", ("0", "1+")),
        )
    )
    plain = Donated("what is my balance", {"intent": "bank", "form": "command"})
    assert complete_metadata(plain, schema, "thingtalk").metadata == {
        "intent": "bank", "form": "command", "length": "4+", "topic": "bank"
    }  # fmt: skip
    with_program = Donated("list", {}, "now => @com.a.list() => notify;")
    assert complete_metadata(with_program, schema, "thingtalk").metadata["filters"] == "0"


def test_the_label_counts_most_and_ties_are_drawn_when_examples_are_chosen():
    examples = [Donated("a", {"intent": "x", "b": "1", "c": "1"}), Donated("b", {"intent": "y"})]
    pool = Pool(examples, labels=["intent"])
    [near] = pool.nearest({"intent": "y", "b": "1", "c": "1"}, 1, stream(0))
    assert near.utterance == "b"
    pool = Pool([Donated(str(n), {"a": str(n % 2)}) for n in range(10)])
    drawn = [pool.nearest({"a": "1"}, 7, stream(n)) for n in range(20)]
    for found in drawn:
        assert len({one.utterance for one in found}) == 7
        assert {one.metadata["a"] for one in found[:5]} == {"1"}
    assert len({tuple(one.utterance for one in found) for found in drawn}) > 10


# -------------------------------------------------------------------------------- variations


@given(SENTENCES, st.floats(0.01, 1), st.integers(0, 99))
def test_as_many_words_become_gaps_as_the_strength_says(words, strength, seed):
    gaps = with_gaps(words, strength, stream(seed)).split()
    hidden = len(words) - sum(word != GAP for word in gaps)
    assert hidden == min(len(words), max(1, round(strength * len(words))))
    assert all(a != GAP or b != GAP for a, b in zip(gaps, gaps[1:], strict=False))
    left = iter(words)
    assert all(word in left for word in gaps if word != GAP)


def test_each_variation_has_its_prompt():
    said = {
        way: prompter(variation=way).vary(PARENT, 0.5, stream(0))
        for way in ("continue", "fill", "rephrase")
    }
    assert said["continue"].text.endswith("Said: please wake me")
    assert said["continue"].begun == "please wake me"
    assert said["fill"].text.count(GAP) >= 2
    assert "With gaps" in said["fill"].text
    assert "50 %" in said["rephrase"].text
    assert "please wake me up at seven" in said["rephrase"].text


# ----------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (" Wake me up.\nSaid: bye", "wake me up ."),
        ('"Wake me up"', "wake me up"),
        ("\n\n1. “Wake me”", "wake me"),
        ("- 'wake me'", "wake me"),
        ("Said: wake me", "wake me"),
        ("", ""),
        ("...", ""),
        ("wake ___ up", ""),
        ("wake " * 9, ""),
        ('say "hi" and "bye"', 'say " hi " and " bye "'),
    ],
)
def test_an_answer_becomes_one_sentence(answer, sentence):
    assert read_sentence(answer, Prompt("Known: a\nSaid:"), 8) == sentence


ASKED = Prompt(
    "Example: pay my bill\nWhat is known of it: intent: pay\n\n"
    "Write one sentence, other than any above.\n"
    "What is known of it: intent: alarm; length: short",
    "You write things that people say to an assistant.",
)


@pytest.mark.parametrize("case", cases("evolution_answers/chats.txt"), ids=str)
def test_what_models_say_around_a_sentence_is_left_out(case, golden):
    golden(case, read_answer(case.input, f"{ASKED.system}\n{ASKED.text}".splitlines()))


@given(st.text(max_size=200))
def test_whatever_is_answered_is_one_line_of_few_words_or_nothing(answer):
    said = read_sentence(answer, Prompt("Said:"), 5)
    assert said == " ".join(said.split())
    assert len(said.split()) <= 5
