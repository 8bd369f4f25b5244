"""Frames: what the shipped ones promise, what is made of them, mistakes in their files."""

import json

import pytest

import genie_dp as gd
from genie_dp.english.frames import PLACES, SECTIONS, FrameSet, frames_of, read_frames
from genie_dp.errors import GenieError
from genie_dp.locale import words_of
from genie_dp.parser.contrast import add_contrast
from genie_dp.parser.rows import Rows, RowStore

SHIPPED = frames_of("en")
# What stands in a place, short and in the singular.
FILLERS = {
    "X": "the parcel", "Y": "bob", "Z": "my attic", "S": "hello there", "N": "five",
    "T": "tomorrow",
}  # fmt: skip


def filled(frame):
    return tuple(" ".join(FILLERS.get(word, word) for word in frame.words).split())


def said(rewrites):
    return {" ".join(words) for words in rewrites}


def sides(meaning):
    return [side for side in (meaning.same, meaning.opposite) if side]


def test_there_are_as_many_frames_as_promised():
    frames = [frame for m in SHIPPED.meanings for side in sides(m) for frame in side]
    assert len(frames) > 1_500
    assert sum(frame.is_written for frame in frames) > 1_500
    assert sum(bool(m.same and m.opposite) for m in SHIPPED.meanings) > 100
    for meaning in SHIPPED.meanings:
        assert any(frame.is_written for side in sides(meaning) for frame in side)


@pytest.mark.parametrize("section", SECTIONS)
def test_what_is_written_for_one_frame_is_written_back(section):
    for meaning in (meaning for meaning in SHIPPED.meanings if meaning.section == section):
        alone = FrameSet([meaning])
        for frame in (*meaning.same, *meaning.opposite):
            sentence = filled(frame)
            for other in alone.same(sentence):
                assert other != sentence
                assert not frame.is_written or sentence in alone.same(other)


def test_the_opposite_of_an_opposite_means_the_same():
    for meaning in SHIPPED.meanings:
        alone = FrameSet([meaning])
        for frame in (frame for frame in meaning.same if frame.is_written):
            sentence = filled(frame)
            known = {*alone.same(sentence), sentence}
            for other in alone.opposite(sentence):
                assert other not in known
                assert not known.isdisjoint(alone.opposite(other))


def test_nothing_vague_is_written_and_no_place_is_lost():
    vague = {
        frame.words
        for m in SHIPPED.meanings
        for side in sides(m)
        for frame in side
        if not frame.is_written
    }
    for rule in SHIPPED.rules.rules:
        variables = {part.name for part in rule.pattern if hasattr(part, "conditions")}
        for output in rule.outputs:
            words = tuple(getattr(part, "name", part).upper() if hasattr(part, "name") else part
                          for part in output)  # fmt: skip
            assert words not in vague or words in {
                frame.words for m in SHIPPED.meanings for side in sides(m) for frame in side
                if frame.is_written
            }  # fmt: skip
            assert {word.lower() for word in words if word in PLACES} == variables


@pytest.mark.parametrize(
    ("sentence", "expected", "never"),
    [
        # what moves away from the end of a sentence is short
        ("switch on the lamp", "switch the lamp on", ""),
        ("switch on the lamp in the hall", "", "switch the lamp in the hall on"),
        # articles belong to one place
        ("text my wife hello", "", "text my that wife hello"),
        # a place beside "is" takes no plural
        ("what is the size of the file", "how big is the file", ""),
        ("what is the size of the files", "", "how big is the files"),
        # a phrase does not take in the verb before it, nor the noun behind it
        ("show bob 's phone number", "", "the phone number of show bob"),
        # what is new or what somebody does is no thing
        ("what is the capital of peru", "tell me the capital of peru", ""),
        ("what is new on the board", "", "tell me new on the board"),
        ("what is coming in at the port", "", "tell me coming in at the port"),
        ("what is the radio playing", "", "tell me the radio playing"),
        # what is not a command is none
        ("the lamp switch on", "", "the lamp switch the lamp on"),
    ],
)
def test_rewrites_are_english(sentence, expected, never):
    made = said(SHIPPED.same(sentence.split()))
    assert not expected or expected in made
    assert never not in made


def test_names_stay_as_they_were_typed():
    frames = FrameSet(read_frames("[commands]\n\nsend X to Y\n~ shoot Y X\n"))
    typed = ["Shoot", "Bob", "the", "Q3", "Report"]
    assert said(frames.same([x.lower() for x in typed], typed)) == {"send the Q3 Report to Bob"}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("turn on X\nswitch on X\n", ["P120", "P120"]),
        ("[orders]\n", ["P120"]),
        ("[commands]\n\nturn on X\nturn on\n", ["P121"]),
        ("[commands]\n\nX and X\nY or Y\n", ["P121", "P121"]),
        ("[commands]\n\nturn on X\nturn on X\n", ["P122"]),
        ("[commands]\n\nturn on X\nX on\n\npower X\nturn on X\n", ["P122"]),
        ("[commands]\n\nturn on X\n", ["P123"]),
    ],
)
def test_mistakes_are_told_all_at_once(text, codes):
    with pytest.raises(GenieError) as caught:
        read_frames(text, "mine.frames")
    assert [problem.code for problem in caught.value.problems] == codes
    assert all(p.span and p.span.file == "mine.frames" and p.hint for p in caught.value.problems)


def test_a_vague_frame_may_mean_two_things():
    text = "[commands]\n\nplay X\n~ put on X\n\nturn on X\n~ put on X\n"
    frames = FrameSet(read_frames(text))
    assert said(frames.same(["put", "on", "the", "lamp"])) == {"play the lamp", "turn on the lamp"}


# ------------------------------------------------------------------------- what reads by them

TOOLS = {
    "tools": [
        {"name": "lamp", "parameters": {"properties": {"state": {"enum": ["on", "off"]}}}},
        {"name": "send", "parameters": {"properties": {"text": {"type": "string"}}}},
    ]
}
GRAMMAR = """category COMMAND : program root;
COMMAND := 'turn on the lamp' -> lamp(state = on);
COMMAND := 'turn off the lamp' -> lamp(state = off);
COMMAND := 'send a message saying $t' -> send(text = $t);
"""


@pytest.fixture(scope="module")
def parser(tmp_path_factory):
    path = tmp_path_factory.mktemp("frames")
    (path / "tools.json").write_text(json.dumps(TOOLS))
    (path / "main.genie").write_text(GRAMMAR)
    library = gd.load_library(path / "tools.json")
    return gd.Parser.of(library, gd.load_grammar(path / "main.genie", library), has_base=False)


@pytest.mark.parametrize(
    ("sentence", "state"),
    [("turn on the lamp", "on"), ("Switch the lamp on, please!", "on"), ("kill the lamp", "off")],
)
def test_what_no_template_says_is_read_in_other_words(parser, sentence, state):
    reply = parser(sentence)
    assert reply.is_known
    assert reply.calls == [{"name": "lamp", "arguments": {"state": state}}]


def test_what_is_read_in_other_words_is_less_sure(parser):
    assert parser("kill the lamp").confidence <= parser("turn off the lamp").confidence
    (plain, *_), (other, *_) = (
        parser._derive("turn off the lamp", None),
        parser._derive("kill the lamp", None),
    )
    assert other.score < plain.score


@pytest.mark.parametrize("sentence", ["kill the radio", "do not kill the lamp", "the lamp kills"])
def test_other_words_are_no_other_things(parser, sentence):
    assert not parser(sentence).is_known


def test_opposites_are_taught_where_words_say_the_sign():
    pairs = {
        "switch the lamp on": "lamp( state= enum:on )",
        "turn off it": "lamp( state= enum:off )",
        "start the lamp": "lamp( state= enum:on )",  # says no sign
    }
    store = RowStore()
    for sentence, program in pairs.items():
        store.add(sentence, program)
    rows = Rows(parts=[store])
    add_contrast(rows, words_of("en"))
    taught = dict(zip(rows.contrast.sentences(), rows.contrast.programs(), strict=True))
    assert taught["switch the lamp off"] == taught["shut off the lamp"] == "lamp( state= enum:off )"
    assert not [sentence for sentence in taught if "stop" in sentence]
