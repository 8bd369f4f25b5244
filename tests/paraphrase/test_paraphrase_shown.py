"""Rows as people see them, and back: values, marks, other ways to write them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.paraphrase.example_values import (
    ExampleValues,
    hour_of,
    is_then,
    orders,
    quantity,
    read_constants,
)
from genie_dp.paraphrase.shown import (
    canonical_tokens,
    from_line,
    paraphrase_of,
    placeholders,
    read_shown,
    show,
    to_line,
    utterance_of,
)
from genie_dp.paraphrase.typed import forms, words_of
from genie_dp.records import Slot
from genie_dp.skills.load import load_library
from tests.paraphrase.paraphrase_rows import range_row, row, shown_range, shown_text, text_row

_STEMS = (
    "QUOTED_STRING NUMBER USERNAME HASHTAG DATE TIME DURATION CURRENCY LOCATION MEASURE_byte "
    "PATH_NAME URL EMAIL_ADDRESS PHONE_NUMBER"
)
_SAID = "show me all of my files , please that i sent get the user 's list don't and when in"
STEMS, WORDS = _STEMS.split(), _SAID.split()


@st.composite
def utterances(draw):
    """Draw an utterance with up to five placeholders, numbered from left to right."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=12))
    for stem in draw(st.lists(st.sampled_from(STEMS), max_size=5)):
        words.insert(draw(st.integers(0, len(words))), stem)
    counts = {}
    for i, word in enumerate(words):
        if word in STEMS:
            words[i] = f"{word}_{counts.get(word, 0)}"
            counts[word] = counts.get(word, 0) + 1
    return " ".join(words)


@given(utterances())
def test_what_is_shown_and_typed_again_gives_the_placeholders_back(utterance):
    example = row(utterance=utterance)
    shown = ExampleValues().show(example)
    assert shown is not None
    assert utterance_of(shown, shown.sentence) == utterance
    again = paraphrase_of(shown, shown.sentence, id="P1")
    assert (again.utterance, again.program) == (utterance, example.program)
    assert (again.source, again.parent, again.id) == ("paraphrase", "S1", "P1")


@given(utterances(), st.integers(0, 3))
def test_values_of_a_row_depend_on_row_and_seed_only_and_never_repeat(utterance, seed):
    values = ExampleValues(seed=seed)
    values.show(row(utterance="list NUMBER_0"))
    shown, same = values.show(row(utterance=utterance)), ExampleValues(seed=seed)
    assert shown == same.show(row(utterance=utterance))
    assert len({value.text for value in shown.values}) == len(shown.values)


def test_texts_are_quoted_names_keep_their_signs_and_values_are_found_however_they_are_typed():
    assert shown_text().sentence == 'Post "good morning" for @bob with #sun at 8:30 am'
    for typed in (
        'tweet "good morning" for @bob at 8:30 am tagged #sun',
        "Tweet “Good  morning” for @Bob at 8:30AM tagged #sun!",
        "tweet 'good morning' for @bob at 8:30 tagged #sun.",
        "at 8:30 a.m. tweet ''good morning'' for @bob tagged #sun?",
    ):
        utterance = utterance_of(shown_text(), typed)
        assert sorted(placeholders(utterance)) == sorted(placeholders(text_row().utterance))


def test_units_beside_a_value_and_ordinals_stay_one_word():
    shown = show(row(utterance="list the NUMBER_0 files"), {"NUMBER_0": "20"})
    assert utterance_of(shown, "the top 20% of the 5th folder") == (
        "the top NUMBER_0 % of the 5th folder"
    )


def test_placeholders_are_numbered_from_left_to_right_in_sentence_and_program():
    renamed = paraphrase_of(shown_range(), "files with at most 12 and at least 3 pages", id="P")
    assert renamed.utterance == "files with at most NUMBER_0 and at least NUMBER_1 pages"
    assert "pages:Number >= NUMBER_1 and param:pages:Number <= NUMBER_0" in renamed.program
    assert paraphrase_of(shown_range(), "files from 3 pages on", id="P") is None


def test_a_program_with_renamed_placeholders_is_canonical_again(tmp_path):
    skill = tmp_path / "com.example.files"
    skill.mkdir()
    (skill / "skill.tt").write_text(
        "class @com.example.files { list query list(out owner : Entity(tt:username)); }"
    )
    canonical = canonical_tokens(get_language("thingtalk"), load_library([tmp_path]))
    owner = "param:owner:Entity(tt:username) =="
    example = row(
        utterance="files of USERNAME_0 or USERNAME_1",
        program="now => ( @com.example.files.list ) filter "
        f"{owner} USERNAME_0 or {owner} USERNAME_1 => notify",
    )
    shown = show(example, {"USERNAME_0": "bob", "USERNAME_1": "eve"})
    swapped = paraphrase_of(shown, "what @eve or @bob owns", id="P", canonical=canonical)
    assert swapped.utterance == "what USERNAME_0 or USERNAME_1 owns"
    assert swapped.program == example.program
    assert paraphrase_of(shown, "what @eve or @bob owns", id="P").program != example.program


def test_slots_follow_their_placeholders():
    slots = {"NUMBER_0": Slot("Number", "@x.f:low"), "NUMBER_1": Slot("Number", "@x.f:high")}
    shown = show(
        row(utterance="from NUMBER_0 to NUMBER_1", program="f NUMBER_0 NUMBER_1", slots=slots),
        {"NUMBER_0": "3", "NUMBER_1": "12"},
    )
    renamed = paraphrase_of(shown, "12 at most and 3 at least", id="P")
    assert renamed.slots == {"NUMBER_1": slots["NUMBER_0"], "NUMBER_0": slots["NUMBER_1"]}
    assert renamed.program == "f NUMBER_1 NUMBER_0"


@pytest.mark.parametrize(
    ("stem", "text", "others"),
    [
        ("NUMBER", "1200", ["1,200", "one thousand two hundred"]),
        ("NUMBER", "42", ["forty-two", "forty two"]),
        ("DURATION", "2 hours", ["two hours", "2hrs", "2 h"]),
        ("DURATION", "1 hour", ["an hour", "one hour"]),
        ("CURRENCY", "$20", ["20 dollars", "20 usd", "twenty dollars", "$ 20"]),
        ("MEASURE_C", "20 degrees celsius", ["20 degrees", "20 C", "20°C"]),
        ("TIME", "3:30 pm", ["half past 3 in the afternoon", "half past three", "three thirty pm"]),
        ("TIME", "12:00 am", ["0:00", "midnight", "12 am"]),
        ("TIME", "6:45 am", ["quarter to seven", "a quarter to 7 in the morning"]),
        ("TIME", "5:00 pm", ["5pm", "5 p.m.", "17:00", "5 o'clock", "five pm"]),
        ("DATE", "may 3", ["May 3rd", "3 May", "the 3rd of may", "5/3"]),
        ("MEASURE_byte", "5 mb", ["5MB", "five megabytes"]),
    ],
)
def test_values_may_be_written_otherwise(stem, text, others):
    known = set(forms(stem, text))
    assert [other for other in others if words_of(other) not in known] == []
    # Texts and names are written in one way.
    assert forms("QUOTED_STRING", "ten apples") == (("ten", "apples"),)
    assert forms("GENERIC_ENTITY_com.example:song", "10") == (("10",),)


# ------------------------------------------------------------------------- order, constants


def test_the_numbers_of_a_range_rise():
    for seed in range(20):
        shown = ExampleValues(seed=seed).show(range_row())
        low, high = (quantity(value.text) for value in shown.values)
        assert low < high


@pytest.mark.parametrize("part", ["morning", "afternoon", "evening", "night"])
def test_times_are_of_the_part_of_the_day_beside_them(part):
    for said in (f"every {part} at TIME_0 lock it", f"lock it at TIME_0 each {part}"):
        for seed in range(12):
            [value] = ExampleValues(seed=seed).show(row(utterance=said)).values
            assert is_then(part, hour_of(value.text))


@pytest.mark.parametrize(
    ("program", "pairs"),
    [
        # Bounds of different parameters or sorts are not ordered.
        ("filter param:a:Number > NUMBER_0 and param:b:Number < NUMBER_1 and param:a:Date < DATE_0",
         set()),
        ("filter not param:a:Number > NUMBER_0 and param:a:Number >= NUMBER_1",
         {("NUMBER_1", "NUMBER_0")}),
        ("now => @x.random param:high:Number = NUMBER_0 param:low:Number = NUMBER_1",
         {("NUMBER_1", "NUMBER_0")}),
    ],
)  # fmt: skip
def test_bounds_of_one_parameter_are_ordered(program, pairs):
    assert orders(program) == pairs


def test_the_narrowest_constant_counts():
    constants = read_constants(
        "# examples\nString\tone\nparam:text:String\ttwo\n"
        "param:@com.example.post.*:text:String\tthree\n"
        "param:@com.example.post.send:text:String\tfour\tFour\n",
        file="constants.tsv",
    )
    values = ExampleValues(constants)
    assert values.pool(text_row(), "QUOTED_STRING_0") == ("Four",)
    constants.pop("param:@com.example.post.send:text:String")
    assert ExampleValues(constants).pool(text_row(), "QUOTED_STRING_0") == ("three",)


def test_every_bad_line_of_constants_is_told_with_its_place():
    with pytest.raises(GenieError) as caught:
        read_constants("Number\t7\nNumber\n\nparam:x\t5\n", file="c.tsv")
    found = [(problem.code, str(problem.span)) for problem in caught.value.problems]
    assert found == [("P002", "c.tsv:2:1"), ("P002", "c.tsv:4:1")]


def test_a_row_whose_values_cannot_differ_gets_none():
    constants = {"Number": ("5",)}
    assert ExampleValues(constants).show(row(utterance="from NUMBER_0 to NUMBER_1")) is None


# ------------------------------------------------------------------------------- JSON lines


def test_shown_rows_come_back_from_their_line():
    for shown in (shown_text(), shown_range(), show(row(), {})):
        assert from_line(to_line(shown)) == shown
        assert json.loads(to_line(shown))["sentence"] == shown.sentence


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", "R010"),
        ("[]", "R011"),
        ('{"id": "S1", "utterance": "x"}', "R011"),
        ('{"id": "S1", "utterance": "x", "program": "y"}', "P001"),
        ('{"id": "S1", "utterance": "NUMBER_0", "program": "y", "values": {}}', "P001"),
        ('{"id": "S1", "utterance": "NUMBER_0", "program": "y", "values": [1]}', "P001"),
    ],
)
def test_a_line_that_is_no_shown_row_is_told_with_its_place(tmp_path, line, code):
    path = tmp_path / "chosen.jsonl"
    path.write_text(f"{to_line(shown_range())}\n\n{line}\n")
    with pytest.raises(GenieError) as caught:
        list(read_shown(str(path)))
    assert [(p.code, p.span.line) for p in caught.value.problems] == [(code, 3)]


def test_a_paraphrase_of_a_private_row_stays_private():
    shown = ExampleValues().show(row(utterance="list NUMBER_0 files", source="private"))
    assert shown is not None
    assert paraphrase_of(shown, shown.sentence, id="P1").source == "private"
