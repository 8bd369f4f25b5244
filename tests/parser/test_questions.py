"""What a sentence leaves out: values that are named, inputs that are asked for, and the replies."""

from dataclasses import replace
from random import Random

import pytest

import genie_dp as gd
from genie_dp.languages import get_language
from genie_dp.languages.base import MissingInput
from genie_dp.parser.answers import CONFIRM, MISSING_INPUT, UNUSED_VALUE, Answer, Reply
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.incomplete import add_incomplete
from genie_dp.parser.parser import Parser
from genie_dp.parser.reading.fill import EntityNames, fill
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.reading import Reading
from genie_dp.parser.rows import RowMaker, Rows, RowStore, Target, learn_reading
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from tests.parser.parser_setup import NOW, SEND, SKILLS, input_in, write_rows

THINGTALK = get_language("thingtalk")


@pytest.fixture(scope="module")
def library():
    return load_library([data_folder("thingpedia"), SKILLS])


@pytest.fixture
def parser(trained):
    return Parser.from_pretrained(trained, clock=lambda: NOW, threshold=0.0)


def asking(program, confidence=0.9):
    """Return a reply that asks for what a program lacks."""
    return Reply("", (), (Answer(program, "", "", confidence),), MISSING_INPUT)


@pytest.mark.parametrize(
    ("function", "name", "sentence", "expected"),
    [
        ("@com.example.home.light", "power", "on please", "on"),
        ("@com.example.home.light", "power", "on or off", None),
        ("@com.example.home.light", "power", "turn on the fan", None),
        ("@com.example.home.light", "level", "forty", 40),
        ("@com.example.home.light", "level", "4 guests", 4),
        ("@com.example.home.light", "level", "4 spoons", None),
        ("@com.example.home.light", "at", "at 5 pm", "17:00:00"),
        ("@com.example.home.light", "at", "turn on the fan at 5 pm", None),
        ("@com.example.home.light", "at", "never mind", None),
        ("@com.example.home.light", "at", "not at 5 pm", None),
        ("@com.spotify.play_album", "album", "not kind of blue", None),
        ("@com.spotify.play_album", "album", "no", None),
        ("@com.example.mail.send", "to", "to bob@example.com", "bob@example.com"),
        ("@com.example.mail.send", "to", "bob", None),
        ("@com.example.mail.send", "subject", "Lunch at 5?", "Lunch at 5"),
        ("@com.example.mail.send", "labels", "work", ["work"]),
        ("@com.example.home.pay", "amount", "$ 20", {"value": 20, "currency": "usd"}),
        ("@com.example.home.weather", "place", "at home",
         {"kind": "context", "path": ["location", "home"]}),
        ("@com.spotify.play_album", "album", "kind of blu", "kind of blue"),
        ("@com.spotify.play_album", "album", "the zorky tapes", "the zorky tapes"),
        ("@com.spotify.play_album", "album", "whatever comes at 5 pm", None),
    ],
)  # fmt: skip
def test_a_sentence_is_read_as_the_value_of_an_input(library, function, name, sentence, expected):
    missing = MissingInput(function, name, "", "For how many guests?")
    assert input_in(sentence, missing, library, THINGTALK) == expected


@pytest.mark.parametrize(
    ("program", "asked"),
    [
        ("@com.google.calendar.create_event param:start_date:Date = DATE_0", "start_date"),
        ("@com.todoist.create_task param:due_date:Date = DATE_0", "due_date"),  # an optional one
    ],
)
def test_one_date_of_a_span_is_asked_for(library, program, asked):
    for sentence, is_asked in (("dinner next week", True), ("dinner on monday", False)):
        values = load_reader().read(sentence, now=NOW).values
        tree = fill(f"now => {program}", values, language=THINGTALK, library=library).program
        missing = [x.name for x in THINGTALK.structure.missing_inputs(tree, library)]
        assert (asked in missing) == is_asked
    span = MissingInput("@com.todoist.create_task", "due_date", "Date", "When?")
    assert input_in("next week", span, library, THINGTALK) is None


def test_the_reply_to_a_question_completes_its_program(parser):
    asked = asking(f'now => {SEND} param:subject:String = " lunch "')
    reply = parser("to bob@example.com please", context=asked)
    assert reply.is_known
    assert reply.confidence == 0.9
    assert reply.calls == [
        {"name": SEND, "arguments": {"to": "bob@example.com", "subject": "lunch"}}
    ]


def likely(trained, sentence):
    """Return a parser that finds its program likely, and asks."""
    sure = Parser.from_pretrained(trained, threshold=0.0)(sentence).confidence
    return Parser.from_pretrained(trained, threshold=min(1.0, 1.2 * sure + 0.01))


def test_a_likely_program_is_confirmed_by_a_yes_and_by_nothing_else(trained):
    asking = likely(trained, "show mail about lunch")
    asked = asking("show mail about lunch")
    assert (asked.refused, asked.is_known) == (CONFIRM, False)
    assert asked.code in asked.question
    assert asked.ask("I show mail.") == "Did you mean this: I show mail?"
    for said in ("yes", "Yeah!", "ok"):
        reply = asking(said, context=asked)
        assert (reply.is_known, reply.code, reply.calls) == (True, asked.code, asked.calls)
    for said in ("no", "yes or no", "never mind"):
        assert not asking(said, context=asked).is_known
    assert not asking("yes").is_known


def test_a_program_that_a_caller_sends_to_be_confirmed_is_checked(trained):
    parser = likely(trained, "show mail about lunch")
    sent = Reply("", (), (Answer(f"now => {SEND}", "", "", 0.4),), CONFIRM)
    assert not parser("yes", context=sent).is_known  # it lacks an input
    wrong = replace(sent, answers=(Answer("now => @com.example.mail.nothing", "", "", 0.4),))
    assert not parser("yes", context=wrong).is_known


def test_another_question_follows_where_more_is_missing(parser):
    asked = asking("now => @com.example.home.pay")
    first = parser("$ 20", context=asked)
    assert first.refused == MISSING_INPUT
    assert [x.name for x in first.missing] == ["to"]
    assert first.question == "What is the to?"
    strict = Parser.from_pretrained(parser.folder, threshold=0.8)
    second = strict("my landlord", context=first)
    assert second.is_known
    assert '"my landlord"' in second.code


def test_what_is_no_reply_or_no_question_is_parsed_by_itself(parser):
    asked = asking(f"now => {SEND}")
    assert parser("show mail about lunch", context=asked) == parser("show mail about lunch")
    known = Reply("", (), (Answer(f"now => {SEND}", "", "", 0.9),), None)
    assert parser("a@b.cc", context=known) == parser("a@b.cc")


def test_a_command_is_no_name_that_no_list_has(parser):
    asked = parser("$ 20", context=asking("now => @com.example.home.pay"))
    assert parser("show mail", context=asked) == parser("show mail")
    # One that understands no command has no better use for it.
    strict = Parser.from_pretrained(parser.folder, threshold=1.0)
    assert '"show mail"' in strict("show mail", context=asked).code


def test_names_that_are_no_list_and_a_context_that_is_no_program_are_refused(parser):
    with pytest.raises(TypeError, match="expected a list"):
        parser("show mail", names={"contact": "bob"})
    with pytest.raises(gd.GenieError, match="expected"):
        parser("bob@example.com", context=asking("now => now"))


def test_a_value_that_the_program_leaves_out_is_named(parser):
    for sentence in ("show mail about lunch for $ 20", "show mail about the lunch 4 miles away"):
        reply = parser(sentence)
        values = [word for word in reply.tokens if word.isupper() and "_" in word]
        if not any(word in reply.answers[0].decoded.split() for word in values):
            assert reply.refused == UNUSED_VALUE
            assert reply.unused[0] in ("$ 20", "4 miles")
            break
    else:
        pytest.fail("the values were used")


def links(library, sentence, **own):
    names = EntityNames(library).with_own(own)
    tokens = sentence.split()
    return [(" ".join(tokens[x.start : x.end]), x.kind) for x in names.links(tokens)]


def test_names_of_lists_are_linked_with_every_kind_they_may_be(library):
    found = links(library, "play kind of blue")
    assert ("kind of blue", "com.spotify:album") in found
    assert [said for said, _ in found] == sorted((s for s, _ in found), key=len, reverse=True)


def test_names_of_a_caller_come_first_and_may_be_misspelt(library):
    sentence = "turn on the lights in the carpot"
    found = links(library, sentence, room=["Carport", "attic"])
    assert found[0][0] == "carpot"
    assert ("carpot", "tt:room") in found
    assert not any(kind == "tt:room" for said, kind in links(library, sentence) if said == "carpot")
    names = EntityNames(library).with_own({"tt:room": ["Carport", "attic"]})
    assert names.find("tt:room", "carpot").value == "Carport"
    assert EntityNames(library).find("tt:room", "carpot").how == "unknown"


def test_a_short_word_is_no_slip_of_a_name(library):
    assert not [said for said, _ in links(library, "turn all lights on", room=["Hall"])
                if said == "all"]  # fmt: skip
    assert ("halls", "tt:room") in links(library, "turn the halls lights on", room=["Hall"])


SLOT = "GENERIC_ENTITY_tt:contact_0"


def readings_with(parser, sentence, *contacts):
    """Return the doubts of the readings of a sentence, for a network that knows contacts."""
    parser._learned.decoder.vocabulary.index.setdefault(SLOT, 0)
    names = parser._names.with_own({"contact": contacts})
    return {reading.utterance: reading.doubt for reading in parser._readings(sentence, names)}


def test_a_name_of_a_caller_that_is_left_out_is_a_doubt(parser):
    found = readings_with(parser, "send zork den a mail", "Zork Den", "Bob")
    assert found == {"send zork den a mail": 1, f"send {SLOT} a mail": 0}
    assert readings_with(parser, "send den a mail", "Zork Den") == {"send den a mail": 0}


def test_a_name_of_a_caller_is_found_where_a_place_is_read(parser):
    found = readings_with(parser, "show mail about lunch in paris", "Paris")
    assert found["show mail about lunch in LOCATION_0"] == 1
    assert f"show mail about lunch in {SLOT}" in found


def test_a_number_in_a_name_of_a_caller_is_no_value(parser):
    found = readings_with(parser, "send zork two and zork 12 a mail", "Zork 2", "Zork 12")
    both = f"send {SLOT} and {SLOT.removesuffix('0')}1 a mail"
    assert found["send zork NUMBER_0 and zork NUMBER_1 a mail"] == 2
    assert found[both] == 0
    assert "send zork NUMBER_0 a mail" in readings_with(parser, "send zork 3 a mail", "Zork 2")


def test_a_name_of_a_caller_that_stands_for_nothing_is_mentioned(library):
    names = EntityNames(library).with_own({"room": ["Zork Den"], "contact": ["Ann"]})
    tokens = ["pause", "the", "music", "in", "the", "zork", "den", "for", "ann"]
    assert [*names.find_mentions(tokens, {"zork", "ann"})] == ["zork den", "ann"]
    assert [*names.find_mentions(tokens, {"pause"})] == []
    assert [*EntityNames(library).find_mentions(tokens, {"zork"})] == []


def test_several_names_of_a_caller_are_read_together_first(library):
    own = {"room": ["Zork Den", "Den"], "contact": ["Ann"]}
    names = EntityNames(library).with_own(own)
    reading = Reading(("light", "the", "zork", "den", "for", "ann"))
    first, *others = names.names_together(reading.tokens)
    assert [reading.tokens[x.start : x.end] for x in first] == [("zork", "den"), ("ann",)]
    read = reading.with_names(first)
    assert read.utterance.startswith("light the GENERIC_ENTITY_")
    assert len(read.links) == 2
    assert {value.text for value in read.values.values()} == {"zork den", "ann"}
    assert any(len(links) == 1 for links in others)
    twice = Reading(("ann", "and", "ann")).with_names([(2, 3, "tt:contact"), (0, 1, "tt:contact")])
    assert twice.utterance == "GENERIC_ENTITY_tt:contact_0 and GENERIC_ENTITY_tt:contact_1"


def test_names_of_a_kind_that_no_skill_has_are_refused(library):
    with pytest.raises(gd.GenieError, match="no entities of kind 'rooom'") as error:
        EntityNames(library).with_own({"rooom": ["attic"]})
    assert "room" in error.value.problems[0].hint


def test_what_one_caller_names_is_nothing_to_the_next(parser):
    sentence = "pay 5 dollars to zork"
    before = parser(sentence)
    parser(sentence, names={"contact": ["zork"]})
    assert parser(sentence) == before


def test_rows_that_lack_an_input_are_made_of_phrases_and_of_rows(library, tmp_path):
    store = RowStore()
    store.add("send mail to EMAIL_ADDRESS_0 about lunch",
              f'now => {SEND} param:subject:String = " lunch " '
              "param:to:Entity(tt:email_address) = EMAIL_ADDRESS_0")  # fmt: skip
    store.add("book a table on opentable please", "now => @com.opentable.free_tables => notify")
    store.add("turn on the light now", "now => @com.example.home.light "
              "param:power:Enum(on,off) = enum:on")  # fmt: skip
    target = Target(THINGTALK, THINGTALK, library)
    config = ParserConfig((InputFile(str(write_rows(tmp_path))),), steps=1)
    rows = Rows(parts=[store])
    add_incomplete(rows, RowMaker(config, target, learn_reading(config, target)))
    made = {" ".join(p.sentence): " ".join(p.program) for p in rows.incomplete}
    assert made["send mail about lunch"] == f'now => {SEND} param:subject:String = " lunch "'
    assert made["turn the light now"] == "now => @com.example.home.light"
    assert made["please book a table"] == "now => @com.opentable.book_table"
    # What the rows say themselves keeps its meaning.
    assert "book a table on opentable please" not in made
    # Two skills like posts; "like a post" alone is neither's.
    assert not any(sentence == "like a post" for sentence in made)
    for program in Random(0).sample(sorted(set(made.values())), 40):
        tree = THINGTALK.from_tokens(program, library)
        assert THINGTALK.structure.missing_inputs(tree, library)
        assert not [p for p in THINGTALK.check(tree, library) if p.severity == "error"]
