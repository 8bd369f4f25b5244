"""What listens for a gap report: values are taken out, and what was shown gets a template."""

import json
from types import SimpleNamespace

import pytest

import genie_dp as gd
from genie_dp.errors import GenieError
from genie_dp.evaluate.config import CoverageConfig
from genie_dp.evaluate.gaps import GapListener
from genie_dp.languages import get_language
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.types import NUMBER
from genie_dp.parser.answers import Answer, Reply
from genie_dp.private.gaps.select import Understanding
from genie_dp.templates.cache import load_inputs

TOOLS = {
    "tools": [
        {"name": "lamp.set", "description": "Sets a lamp", "parameters": {
            "type": "object", "properties": {
                "room": {"type": "string", "x-entity": "room"}, "level": {"type": "integer"}}}},
        {"name": "lamp.shift", "description": "Dims lamps", "parameters": {
            "type": "object", "properties": {
                "room": {"type": "string", "x-entity": "room"},
                "step": {"enum": ["up", "down"]}}, "required": ["room"]}},
        {"name": "oven.start", "description": "Bakes", "parameters": {
            "type": "object", "properties": {
                "hours": {"type": "integer"}, "minutes": {"type": "integer"}}}},
        {"name": "mail.send", "description": "Sends mail", "parameters": {
            "type": "object", "properties": {
                "subject": {"type": "string"}, "text": {"type": "string"},
                "copies": {"type": "integer"}}, "required": ["text"]}},
    ]
}  # fmt: skip
TEMPLATES = """
category COMMAND : program root "whole sentences";
COMMAND := 'set the lamp in the $room to $level' -> lamp.set(room = $room, level = $level);
COMMAND := 'turn the lamp down' -> lamp.set(level = 0);
"""
NAMES = {"room": ["attic", "lamp hall"]}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    (folder / "main.genie").write_text(TEMPLATES)
    return load_inputs("calls", [folder / "tools.json"], [folder / "main.genie"])


@pytest.fixture(scope="module")
def listener(inputs):
    return GapListener.from_inputs(inputs, CoverageConfig(), names=NAMES)


def hear(listener, *sentences):
    return list(listener.hear(sentences))


def test_values_of_every_sort_are_taken_out(listener):
    [one, other] = hear(listener, "Wake me up in the attic on friday!", 'say "good night" 3 times')
    assert " ".join(one.tokens) == "wake me up in the GENERIC_ENTITY_room on DATE"
    assert other.tokens == ("say", "QUOTED_STRING", "NUMBER", "times")
    assert "attic" not in repr(one)


def test_a_sentence_is_understood_where_a_template_derives_it(listener):
    derived, said, new, other, long, nothing = hear(
        listener,
        "set the lamp in the attic to 5",
        "set the lamp down",
        "dim the lamp in the attic",
        "set the lamp in the cellar to 5",
        " ".join(["lamp"] * 61),
        "",
    )
    assert derived.reason == ""
    assert said.reason == "not derived"
    assert (new.reason, new.function) == ("word not said", "lamp.shift")
    assert long == Understanding((), "too_long")
    assert nothing == Understanding((), "empty")
    reasons = {said.reason, new.reason, other.reason, long.reason, nothing.reason}
    assert reasons == {*listener.vocabulary.reasons}


def test_a_name_that_is_none_of_those_given_is_not_understood(inputs, listener):
    sentence = "set the lamp in the cellar to 5"
    [heard] = hear(listener, sentence)
    assert (heard.reason, heard.function) == ("name not listed", "lamp.shift")
    assert "cellar" in heard.tokens
    without_names = GapListener.from_inputs(inputs, CoverageConfig())
    assert hear(without_names, sentence)[0].reason == ""


def test_pairs_of_the_templates_are_public(listener):
    assert ("the", "lamp") in listener.vocabulary.pairs
    assert ("the", "GENERIC_ENTITY_room") in listener.vocabulary.pairs
    assert ("lamp", "the") not in listener.vocabulary.pairs
    assert listener.unsaid == {"lamp.shift", "oven.start", "mail.send"}


def advised(listener, *sentences):
    return listener.advise([tuple(sentence.split()) for sentence in sentences])


@pytest.mark.parametrize(
    ("sentences", "template", "said", "program"),
    [
        (
            ["dim the lamp up in the GENERIC_ENTITY_room"],
            "'dim the lamp up in the ${a:const}'\n"
            "  -> \\(a : room)\n  -> lamp.shift(room = a, step = up);",
            "dim the lamp up in the attic",
            "lamp.shift( room= GENERIC_ENTITY_room_0 step= up )",
        ),
        (
            ["bake for NUMBER minutes"],
            "'bake for ${a:const} minutes'\n  -> \\(a : Number)\n  -> oven.start(minutes = a);",
            "bake for 5 minutes",
            "oven.start( minutes= NUMBER_0 )",
        ),
        # A hole is a text: of the required input first.
        (
            ["send mail saying .."],
            "'send mail saying ${a:const}'\n  -> \\(a : String)\n  -> mail.send(text = a);",
            "send mail saying see you at noon",
            "mail.send( text= QUOTED_STRING_0 )",
        ),
        (
            ["send NUMBER mail with subject .. and text .."],
            "'send ${a:const} mail with subject ${b:const} and text ${c:const}'\n"
            "  -> \\(a : Number, b : String, c : String)\n"
            "  -> mail.send(copies = a, subject = b, text = c);",
            'send 2 mail with subject "lunch" and text "see you at noon"',
            "mail.send( copies= NUMBER_0 subject= QUOTED_STRING_0 text= QUOTED_STRING_1 )",
        ),
        # Other words at the same place, and a word that both begin with.
        (
            ["send mail saying kumquat", "send mail saying lychee pie"],
            "'send mail saying ${a:const}'\n  -> \\(a : String)\n  -> mail.send(text = a);",
            "send mail saying good night",
            "mail.send( text= QUOTED_STRING_0 )",
        ),
        # A listed word belongs to another input.
        (
            ["shift the cosy lamp up", "shift the wobbly lamp up"],
            "'shift the ${a:const} lamp up'\n"
            "  -> \\(a : room)\n  -> lamp.shift(room = a, step = up);",
            "shift the attic lamp up",
            "lamp.shift( room= GENERIC_ENTITY_room_0 step= up )",
        ),
        # The name of the input beside it.
        (
            ["shift the lamp down in the cosy room"],
            "'shift the lamp down in the ${a:const} room'\n"
            "  -> \\(a : room)\n  -> lamp.shift(room = a, step = down);",
            "shift the lamp down in the attic room",
            "lamp.shift( room= GENERIC_ENTITY_room_0 step= down )",
        ),
    ],
)
def test_a_function_that_no_template_says_gets_one_from_which_explain_derives_it(
    sentences, template, said, program, inputs, listener, tmp_path
):
    for advice in advised(listener, *sentences):
        assert advice.stub == f"COMMAND := {template}"
        assert advice.row.program == program
        assert not advice.is_derived
    added = tmp_path / "added.genie"
    added.write_text(f"COMMAND := {template}")
    grammar = gd.load_grammar([*inputs.grammar_files, added], inputs.library)
    assert program in gd.explain(said, grammar, names=NAMES).programs


def test_a_sentence_that_lacks_a_required_input_or_has_values_too_many_gets_none(listener):
    found = advised(listener, "dim the lamp", "bake at TIME", "sing loud")
    assert "lamp.shift" not in found[0].stub
    assert [advice.stub for advice in found[1:]] == ["", ""]
    assert found[0].nearest[0][0] == "lamp.shift"
    assert found[2].nearest == ()
    assert "no template says 'sing'" in found[2].lacks[0]


def test_holes_that_are_no_values_and_what_the_templates_derive_need_no_template(listener):
    holes = ".. mail now", "send mail .. saying .. and ..", "bake .. minutes", "sing .. loud"
    assert advised(listener, *holes) == [None] * 4
    [advice] = advised(listener, "set the lamp in the GENERIC_ENTITY_room to NUMBER")
    assert (advice.is_derived, advice.stub) == (True, "")


class StubParser:
    """Refuses what it has not heard of."""

    folder = "made/parser"
    target = SimpleNamespace(language=get_language("calls"))

    def __call__(self, sentence, *, names):
        assert names == NAMES
        answers = (Answer("oven.start( )", "oven.start()", "", 0.2),)
        return Reply(sentence, (), answers, None if "lamp" in sentence else "unsure")


def test_a_parser_decides_where_there_is_one(inputs):
    listener = GapListener.from_inputs(inputs, CoverageConfig(), parser=StubParser(), names=NAMES)
    known, refused = hear(listener, "give me the lamp", "sing in the attic")
    assert known.reason == ""
    assert (refused.reason, refused.function) == ("unsure", "oven.start")
    assert refused.tokens == ("sing", "in", "the", "GENERIC_ENTITY_room")
    assert listener.facts["by"] == "the parser parser"
    assert "unsure" in listener.vocabulary.reasons

    parser = StubParser()
    parser.target = SimpleNamespace(language=get_language("thingtalk"))
    with pytest.raises(GenieError, match="F024"):
        GapListener.from_inputs(inputs, CoverageConfig(), parser=parser)


def test_each_language_calls_a_function_with_constants():
    level = Parameter("level", "in req", NUMBER)
    action = Signature("com.lamp", "set", "action", (level,))
    query = Signature("com.lamp", "get", "query", (level,))
    thingtalk = get_language("thingtalk")
    given = {"level": "NUMBER_0"}
    assert thingtalk.render(thingtalk.structure.call(action, given)) == (
        "now => @com.lamp.set(level = NUMBER_0)"
    )
    assert (
        thingtalk.render(thingtalk.structure.call(query, {})) == "now => @com.lamp.get() => notify"
    )
    assert get_language("sexpr").structure.call(action, given) is None


@pytest.mark.parametrize(
    "sentences",
    [
        ["shift the cosy lamp up"],  # nothing tells that "cosy" is a room
        ["shift the lamp carefully"],
        ["sing cosy", "sing wobbly"],
        ["send the cosy lamp", "send the wobbly lamp"],  # of mail as much as of the lamp
    ],
)
def test_other_unknown_words_are_no_inputs(sentences, listener):
    assert [advice.stub for advice in advised(listener, *sentences)] == [""] * len(sentences)


def test_a_template_says_the_listed_word_of_its_sentence(inputs, tmp_path):
    more = tmp_path / "more.genie"
    more.write_text(
        "COMMAND := 'shift $step the lamp of $room' -> lamp.shift(room = $room, step = $step);"
    )
    grammar = gd.load_grammar([*inputs.grammar_files, more], inputs.library)
    listener = GapListener.from_inputs(grammar, CoverageConfig())
    [advice] = advised(listener, "shift the lamp of GENERIC_ENTITY_room down")
    assert "step = down" in advice.stub
