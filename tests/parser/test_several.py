"""Several commands in one sentence."""

import json

import pytest

import genie_dp as gd
from genie_dp.locale import words_of
from genie_dp.parser.several import commands_in, is_joined

TEXT, ROOMS = {"type": "string"}, ["hall", "kitchen", "study"]
TOOLS = {
    "tools": [
        {"name": "lamp", "parameters": {"properties": {
            "state": {"enum": ["on", "off"]}, "room": {"enum": ROOMS}}}},
        {"name": "tv", "parameters": {"properties": {"state": {"enum": ["on", "off"]}}}},
        {"name": "lock"},
        {"name": "send", "parameters": {"properties": {"text": TEXT}}},
    ]
}  # fmt: skip
GRAMMAR = """category COMMAND : program root;
COMMAND := 'turn on the lamp' -> lamp(state = on);
COMMAND := 'turn off the lamp' -> lamp(state = off);
COMMAND := 'turn off the tv' -> tv(state = off);
COMMAND := 'lock the door' -> lock();
COMMAND := 'light the hall' -> lamp(state = on, room = hall);
COMMAND := 'light the kitchen' -> lamp(state = on, room = kitchen);
COMMAND := 'say $t' -> send(text = $t);
"""


@pytest.fixture(scope="module")
def parser(tmp_path_factory):
    path = tmp_path_factory.mktemp("several")
    (path / "tools.json").write_text(json.dumps(TOOLS))
    (path / "main.genie").write_text(GRAMMAR)
    library = gd.load_library(path / "tools.json")
    return gd.Parser.of(library, gd.load_grammar(path / "main.genie", library), has_base=False)


@pytest.mark.parametrize(
    ("sentence", "programs"),
    [
        ("turn off the lamp and lock the door", ["off", "lock"]),
        ("lock the door, then turn off the lamp", ["lock", "off"]),
        ("Lock the door. Turn off the TV!", ["lock", "tv"]),
        ("lock the door, turn off the lamp and turn off the tv", ["lock", "off", "tv"]),
        ("turn off the lamp and the tv", ["off", "tv"]),  # what both share is said once
        ("light the hall and kitchen", ["hall", "kitchen"]),
        ("lock the door and lock the door", ["lock"]),
        ("lock the door and fly", None),
        ("and", None),
        ("lock the door and", None),
    ],
)
def test_commands_are_done_in_the_order_of_the_sentence(parser, sentence, programs):
    reply = parser(sentence)
    assert reply.is_known == (programs is not None)
    if programs:
        calls = reply.answers[0].calls
        assert [_name(call) for call in calls] == programs
        assert reply.answers[0].by == "derived"


def _name(call):
    values = call["arguments"]
    return values.get("room") or {"tv": "tv", "lock": "lock"}.get(call["name"]) or values["state"]


def test_a_text_ends_before_the_next_command(parser):
    reply = parser("say hello there and lock the door")
    assert reply.answers[0].calls == [
        {"name": "send", "arguments": {"text": "hello there"}}, {"name": "lock", "arguments": {}},
    ]  # fmt: skip
    assert parser("say hello and goodbye").answers[0].calls[0]["arguments"]["text"] == (
        "hello and goodbye"
    )


@pytest.mark.parametrize(
    ("language", "joint"),
    [("en", "and then"), ("de", "und dann"), ("fr", "et puis"), ("es", "y"), ("nl", "en")],
)
def test_sentences_are_cut_where_words_join_commands(language, joint):
    words = words_of(language)
    ways = [way.texts for way in commands_in(f"a b {joint} c d", words)]
    assert ways[0] == ("a b", "c d")
    assert ("a b", "a c d") in ways
    assert not is_joined(f"a {joint}", words)
    assert len(list(commands_in(" , ".join("abcdefgh" * 9), words))) <= 40


@pytest.mark.parametrize(
    ("sentence", "is_now"),
    [("tell me if i have mail", True), ("tell me if i get mail", False), ("mail", False)],
)
def test_what_is_asked_for_now_is_nothing_to_wait_for(sentence, is_now):
    parser = gd.Parser.of("shipped/com.gmail", has_base=False)
    for said, waits in (("notify me when i get an email", True), ("check my inbox", False)):
        (candidate, *_) = parser._derive(said, None)
        assert not parser._waits_for_now(candidate, sentence.split())  # the templates say so
        candidate.is_derived = False
        assert parser._waits_for_now(candidate, sentence.split()) == (is_now and waits)
