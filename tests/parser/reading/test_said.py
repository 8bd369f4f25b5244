"""What people say for values: which words may be a name or a text, and how likely."""

import json
from datetime import datetime

import pytest

from genie_dp.languages import get_language
from genie_dp.languages.calls.tools import read_tools
from genie_dp.locale import locale_from
from genie_dp.parser.reading.said import SentenceReader, said_values
from genie_dp.skills.model import SkillLibrary, SkillValues
from genie_dp.synthesis.spoken import FoundValue

SONG = "GENERIC_ENTITY_com.x:song"
TASK = "GENERIC_ENTITY_com.x:task"


@pytest.fixture(scope="module")
def said():
    listed = SkillValues("com.x:song", ("Blue Moon", "put it down", "in the end"), (1, 1, 1))
    library = SkillLibrary(value_lists={"com.x:song": listed})
    return SentenceReader(get_language("thingtalk"), library, now=datetime(2026, 11, 25))


def how(said, stem, text):
    value = said.as_value(stem, tuple(text.split()))
    return value and value.value.how


@pytest.mark.parametrize(
    ("stem", "text", "expected"),
    [
        (SONG, "put it down", "listed"),
        (SONG, "the blue moon", "listed"),
        (SONG, "in the end", "listed"),
        (SONG, "over the moon", None),
        (SONG, "moon over", None),
        (SONG, "red moon", "unlisted name"),
        (SONG, "the red moon", "unlisted name"),
        (TASK, "water plants", "name"),
        (SONG, " ".join("abcdefghi"), None),
        ("QUOTED_STRING", "out for lunch", "text"),
        ("QUOTED_STRING", "! ?", None),
        ("QUOTED_STRING", " ".join("a" for _ in range(41)), None),
    ],
)
def test_words_may_be_a_value(said, stem, text, expected):
    assert how(said, stem, text) == expected


def test_listed_names_go_before_others_and_few_words_before_many(said):
    doubts = [
        said.as_value(stem, tuple(text.split())).doubt
        for stem, text in [
            (SONG, "put it down"),
            (TASK, "plants"),
            ("QUOTED_STRING", "out plants"),
            ("QUOTED_STRING", "plants and other things"),
        ]
    ]
    assert doubts == sorted(doubts)
    assert doubts[0] < doubts[1]


def test_values_of_a_form_of_their_own_come_with_their_meaning(said):
    first = said.read("wake me tomorrow at 7 am")[0]
    assert [value.constant for value in first.values.values()] == ["date:2026-11-26T07:00:00"]
    assert first.doubt == 0


def test_a_program_is_filled_and_placeholders_without_value_stay(said):
    program = "attimer time = TIME_0 => notify"
    seven = {"TIME_0": FoundValue("7 am", "time:7:00:00")}
    assert said.fill(program, seven) == "attimer time = time:7:00:00 => notify"
    assert said.fill(program, {}) == program


def test_a_language_without_values_has_no_reader():
    assert said_values(get_language("sexpr"), None, now=datetime(2026, 11, 25)) is None


def test_names_in_words_are_apart_where_templates_glue_words_together():
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "string", "x-entity": "r"}}}}
    library = read_tools({"tools.json": json.dumps({"tools": [tool]})})
    said = SentenceReader(
        get_language("calls"),
        library,
        now=datetime(2026, 11, 25),
        names={"r": ["Bad"]},
        locale=locale_from("fr"),
    )
    words = {"~", "licht", "bitte"}
    assert said.apart(("badlicht", "l'bad"), words) == ("bad", "~", "licht", "l", "'", "bad")
    assert said.apart(("badlicht",), words - {"~"}) == ("badlicht",)
    assert said.as_value("GENERIC_ENTITY_r", ("bad", "~")) is None
