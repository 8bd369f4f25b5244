"""Names of a caller: all there are of a kind, parts of them, several; the assistant's own."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import genie_dp as gd
from genie_dp.locale import words_of
from genie_dp.parser.derivations import without_wake_words
from genie_dp.parser.parser import Use
from genie_dp.parser.several import of_all_named

TOOLS = {
    "tools": [
        {"name": "switch", "parameters": {"required": ["thing"], "properties": {
            "state": {"enum": ["on", "off"]},
            "thing": {"type": "string", "x-entity": "light"}}}},
        {"name": "sweep", "parameters": {"properties": {
            "thing": {"type": "string", "x-entity": "vacuum"}}}},
        {"name": "bolt", "parameters": {"properties": {
            "thing": {"type": "string", "x-entity": "lock"}}}},
        {"name": "park", "parameters": {"properties": {
            "thing": {"type": "string", "x-entity": "lawn_mower"}}}},
        {"name": "all_off", "parameters": {"properties": {
            "room": {"type": "string", "x-entity": "area"}}}},
        {"name": "play", "parameters": {"properties": {"title": {"type": "string"}}}},
    ]
}  # fmt: skip
GRAMMAR = """category COMMAND : program root;
COMMAND := 'turn on' ('the')? '$x' -> switch(state = on, thing = $x);
COMMAND := 'turn off' ('the')? '$x' -> switch(state = off, thing = $x);
COMMAND := 'turn off' ('the')? '$r' 'lamps' -> all_off(room = $r);
COMMAND := 'start' ('the')? '$v' -> sweep(thing = $v);
COMMAND := 'lock' ('the')? '$l' -> bolt(thing = $l);
COMMAND := ('stop' | 'dock') ('the')? '$m' -> park(thing = $m);
COMMAND := 'dock' ('the')? '$v' -> sweep(thing = $v);
COMMAND := 'put' '$t' 'on' -> play(title = $t);
"""
NAMES = {
    "light": ["Hall Lamp", "Desk Lamp", "Big Bertha"],
    "vacuum": ["Dusty"],
    "lock": ["Front Door Lock", "Back Door Lock"],
    "area": ["Hall"],
}


@pytest.fixture(scope="module")
def parser(tmp_path_factory):
    path = tmp_path_factory.mktemp("own_names")
    (path / "tools.json").write_text(json.dumps(TOOLS))
    (path / "main.genie").write_text(GRAMMAR)
    library = gd.load_library(path / "tools.json")
    use = Use(wake_words=("olly",))
    return gd.Parser.of(
        library, gd.load_grammar(path / "main.genie", library), has_base=False, use=use
    )


def things(reply):
    return [call["arguments"].get("thing") for call in reply.calls] if reply.is_known else None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("turn on the desk lamp", ["Desk Lamp"]),
        ("turn on the dsk lamp", ["Desk Lamp"]),  # but for a slip
        ("lock the front door", ["Front Door Lock"]),  # no other lock has these words
        ("turn on bertha", ["Big Bertha"]),
        ("start the vacuum", ["Dusty"]),  # the only one
        ("lock the door", None),  # which of two?
        ("lock the lock", None),
        ("turn on the lamp", None),
        ("turn on the toaster", None),  # there is none
        ("start the mower", None),
        ("turn off the hall lamp", ["Hall Lamp"]),  # a whole name before a part of it
        ("put big bertha on", None),  # no title
    ],
)
def test_names_are_those_of_the_caller_and_no_others(parser, sentence, expected):
    assert things(parser(sentence, names=NAMES)) == expected


def test_a_kind_of_which_the_caller_names_nothing_stays_open(parser):
    assert things(parser("turn on the toaster", names={"lock": ["Gate"]})) == ["toaster"]
    assert things(parser("turn on the toaster")) == ["toaster"]
    assert things(parser("turn on the toaster", names={"light": []})) is None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("stop the grass eater", ["grass eater"]),  # of mowers the caller names none
        ("stop the lawn mower", ["lawn mower"]),
        ("stop the vacuumer", ["vacuumer"]),
        ("stop the vacuum lawn mower", ["vacuum lawn mower"]),  # it says what it is
        ("stop the vacuum", None),
        ("stop the vacuum upstairs", None),
        ("stop the vacuum in the hall", None),
        ("stop my old vacuum", None),
        ("stop the vacuums", None),
        ("stop the desk light", None),
        ("dock the vacuum", ["Dusty"]),  # the only one
        ("dock the vacuum upstairs", None),
        ("dock the lawn mower", ["lawn mower"]),
    ],
)
def test_a_name_of_an_open_kind_has_no_word_of_another(parser, sentence, expected):
    assert things(parser(sentence, names=NAMES)) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("dock the lawn mower", ["Molly"]),
        ("dock molly", ["Molly"]),
        ("dock the vacuum", ["Dusty"]),
        ("stop the vacuum", None),
    ],
)
def test_the_word_of_a_kind_means_the_only_one_of_it(parser, sentence, expected):
    assert things(parser(sentence, names={**NAMES, "lawn_mower": ["Molly"]})) == expected


def test_the_word_of_a_kind_is_no_name_of_another_kind_of_its_skill(parser):
    names = {"lock": ["Gate"]}
    assert things(parser("stop the vacuum", names=names)) is None
    assert things(parser("stop the area rug", names=names)) == ["area rug"]
    assert things(parser("stop the vacuum")) == ["vacuum"]  # whose things they are is not known
    assert things(parser("dock the vacuum", names={"lawn_mower": ["Molly"]})) == ["vacuum"]


@given(
    kind=st.sampled_from(sorted(NAMES)),
    before=st.sampled_from(("", "old ", "green ", "big round ")),
    after=st.sampled_from(("", " upstairs", " by the pond", " thing")),
)
def test_no_name_begins_or_ends_with_the_word_of_what_the_caller_has(parser, kind, before, after):
    names = parser._entities({kind: NAMES[kind]})
    is_none = not (before and after)
    assert names.may_be("lawn_mower", f"{before}{kind}{after}") != is_none
    assert names.may_be("lawn_mower", f"{before}{kind}{after} lawn mower")
    assert names.may_be("lawn_mower", f"{before}m{kind}x{after}")
    assert names.may_be(kind, NAMES[kind][0])


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("lock both doors", NAMES["lock"]),
        ("lock both of the doors", NAMES["lock"]),
        ("turn on all lights but big bertha", ["Hall Lamp", "Desk Lamp"]),
        ("turn off every lamp except the hall lamp", ["Desk Lamp"]),
        ("turn off both lights", None),  # there are three
        ("turn off all lights but the kettle", None),
        ("lock both windows", None),
    ],
)
def test_several_things_are_meant_together(parser, sentence, expected):
    reply = parser(sentence, names=NAMES)
    assert things(reply) == expected
    assert expected is None or reply.confidence > 0.8  # of all, or of none


@pytest.mark.parametrize(
    ("language", "sentence", "kind", "names"),
    [
        ("de", "schalte alle lampen außer berta aus", "lampe", ["Lampe Flur", "Berta"]),
        ("nl", "zet alle lampen behalve berta uit", "lamp", ["Lamp Hal", "Berta"]),
        ("fr", "éteins toutes les lampes sauf berta", "lampe", ["Lampe Bureau", "Berta"]),
        ("es", "apaga todas las lámparas menos berta", "lámpara", ["Lámpara Sala", "Berta"]),
    ],
)
def test_all_but_one_in_other_languages(language, sentence, kind, names):
    ways = list(of_all_named(sentence, {kind: names}, words_of(language)))
    first, last = sentence.split(" ")[0], sentence.rpartition("berta")[2]
    assert [way.texts for way in ways] == [(f"{first} {names[0]}{last}",)]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Olly, turn on the desk lamp", "turn on the desk lamp"),
        ("hey olly turn on the desk lamp", "turn on the desk lamp"),
        ("turn on the desk lamp, olly!", "turn on the desk lamp"),
        ("ollys desk lamp", "ollys desk lamp"),
        ("olly", "olly"),
        ("turn on the olly lamp", "turn on the olly lamp"),
    ],
)
def test_the_name_of_the_assistant_is_no_part_of_a_command(parser, sentence, said):
    assert without_wake_words(sentence, ["olly"], words_of("en")) == said
    reply = parser(sentence, names=NAMES)
    assert reply.sentence == sentence
    assert things(reply) == things(parser(said, names=NAMES))


def test_templates_alone_answer_with_a_name_that_no_list_has(tmp_path):
    tools = {"entities": {"room": ["bath", "hall"]}, "tools": [
        {"name": "heat", "parameters": {"required": ["room"], "properties": {
            "room": {"type": "string", "x-entity": "room"}}}}]}  # fmt: skip
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    grammar = "category COMMAND : program root;\nCOMMAND := 'heat the $r' -> heat(room = $r);\n"
    (tmp_path / "main.genie").write_text(grammar)
    library = gd.load_library(tmp_path / "tools.json")
    parser = gd.Parser.of(
        library, gd.load_grammar(tmp_path / "main.genie", library), has_base=False
    )
    answer = parser("heat the carport").answers[0]
    assert (answer.calls[0]["arguments"], answer.unresolved) == ({"room": "carport"}, ("carport",))
