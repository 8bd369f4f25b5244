"""A tiny parser of tool calls: what it answers, what it asks for, and the same without torch."""

import json
from collections import Counter

import pytest

import genie_dp as gd
from genie_dp.languages import get_language
from genie_dp.languages.base import MissingInput
from genie_dp.locale import LOCALE
from genie_dp.models.vocabulary import Pair
from genie_dp.parser import folder as files
from genie_dp.parser.answers import MISSING_INPUT, Answer, Reply
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.evidence import Evidence
from genie_dp.parser.incomplete import add_incomplete
from genie_dp.parser.parser import Parser
from genie_dp.parser.rows import RowMaker, Rows, RowStore, Target, learn_reading
from genie_dp.records import Example
from genie_dp.skills.words import tokenize
from tests.dataset.dataset_rows import write
from tests.parser.parser_setup import NOW, SAID, input_in

LANGUAGE = get_language("calls")
ASKED = ("heat the bath room to 20 degrees", "write party to a@b.org", "heat the kitchen", "zork")


@pytest.fixture(scope="module")
def library(trained_calls):
    return gd.load_library(trained_calls.parent / "tools.json")


def parser_of(folder, **options):
    return Parser.from_pretrained(folder, clock=lambda: NOW, **options)


def test_answers_are_well_typed_calls_of_the_tools(trained_calls, library):
    parser = parser_of(trained_calls)
    for reply in parser.parse(ASKED, count=3):
        assert reply.answers
        for answer in reply.answers:
            program = LANGUAGE.parse(answer.code)
            assert not [p for p in LANGUAGE.check(program, library) if p.severity == "error"]
            assert Counter(c["name"] for c in answer.calls) == LANGUAGE.functions(program)
            assert LANGUAGE.tokens(LANGUAGE.from_tokens(answer.program)) == answer.program


@pytest.mark.parametrize(
    ("sentence", "calls"),
    [
        ("Write Ben & Jerry's (2x) to A@b.org, please",
         [{"name": "send_note", "arguments": {"text": "Ben & Jerry's (2x)", "to": "A@b.org"}}]),
        ("write 7UP to a@b.org and show my notes",
         [{"name": "send_note", "arguments": {"text": "7UP", "to": "a@b.org"}},
          {"name": "list_notes", "arguments": {}}]),
    ],
)  # fmt: skip
def test_a_text_ends_where_the_templates_say(trained_calls, library, tmp_path, sentence, calls):
    templates = tmp_path / "main.genie"
    templates.write_text(
        "category COMMAND : program root;\ncategory VP : program;\n"
        "COMMAND := v:VP -> v;\nCOMMAND := v:VP 'and' w:VP -> v & w;\n"
        "VP := 'write $t to $a' -> send_note(text = $t, to = $a);\n"
        "VP := 'show my notes' -> list_notes();\n"
    )
    folder = parser_of(trained_calls).save(tmp_path / "parser")
    files.write_templates(folder, gd.load_grammar(templates, library))
    reply = parser_of(folder)(sentence)
    assert reply.calls == calls
    # As rows have it, where it is measured.
    guess = parser_of(folder).predict([" ".join(tokenize(sentence))], count=1)[0][0]
    text = " ".join(tokenize(calls[0]["arguments"]["text"]))
    assert f'text= " {text} "' in guess.program


def test_a_copy_answers_the_same_with_torch_and_without(trained_calls, tmp_path, monkeypatch):
    copy = parser_of(trained_calls).save(tmp_path / "copy")
    without = [reply.calls for reply in parser_of(copy).parse(ASKED)]
    monkeypatch.setattr("genie_dp.parser.parser.open_arrays", lambda _: None)
    assert [reply.calls for reply in parser_of(copy).parse(ASKED)] == without


# What is a value of any language stands in tests/parser/test_questions.py.
@pytest.mark.parametrize(
    ("function", "name", "sentence", "expected"),
    [
        ("heat_room", "room", "in the bathroom", "bath room"),
        ("heat_room", "degrees", "to 21", 21),
        ("heat_room", "degrees", "at noon", None),
        ("heat_room", "mode", "very fast please", "very fast"),
        ("heat_room", "mode", "slow or very fast", None),
        ("heat_room", "quiet", "no", False),
        ("heat_room", "days", "tomorrow", ["2027-01-14"]),
        ("heat_room", "from", "at 5 pm", "17:00:00"),
        ("send_note", "to", "to bob@example.com", "bob@example.com"),
        ("send_note", "text", 'Lunch at  "five"?', 'Lunch at  "five"'),
        ("send_note", "text", "never mind", None),
    ],
)
def test_a_sentence_is_read_as_the_value_of_an_argument(
    library, function, name, sentence, expected
):
    assert input_in(sentence, MissingInput(function, name, "", ""), library, LANGUAGE) == expected


def test_names_in_words_are_read_and_values_out_of_bounds_are_not(trained_calls):
    parser = parser_of(trained_calls)
    for sentence in ("heat the atticfloor to 20 degrees", "heat the attic to 20 degrees"):
        reply = parser(sentence, names={"room": ["Attic"]})
        assert [*reply.calls] == [
            {"name": "heat_room", "arguments": {"degrees": 20, "room": "Attic"}}
        ], sentence
    assert "atticfloor" in parser("heat the atticfloor to 20 degrees").tokens
    assert not parser("heat the hall to 810 degrees").is_known
    assert json.loads((trained_calls / "reader.json").read_text())["glued"]["after"] == ["floor"]


def test_rows_of_tsv_are_in_the_language_of_the_parser(trained_calls, tmp_path):
    rows = "E1\tshow my notes\tlist_notes( )\nE2\twrite tea to a@b.org\tlist_notes( )\n"
    (tmp_path / "eval.tsv").write_text(rows)
    assert gd.evaluate(trained_calls, tmp_path / "eval.tsv").data["language"] == "calls"


def test_replies_complete_a_call_one_question_after_the_other(trained_calls):
    parser = parser_of(trained_calls, threshold=0.0)
    asked = Reply(
        "", (), (Answer("heat_room( degrees= $? room= $? )", "", "", 0.9),), MISSING_INPUT
    )
    first = parser("25", context=asked)
    assert first.refused == MISSING_INPUT
    assert first.question == "Which room?"
    second = parser("the kitchen", context=first)
    assert second.is_known
    assert second.calls == [{"name": "heat_room", "arguments": {"degrees": 25, "room": "kitchen"}}]
    # 99 is out of bounds, and so no reply.
    assert parser("99", context=asked) == parser("99")


@pytest.mark.parametrize(
    ("program", "question"),
    [
        ("heat_room(mode = $?)", "What is the mode: slow or very fast?"),
        ("heat_room(degrees = $?)", "What is the degrees?"),
        ("heat_room(days = [$?])", "What are the days?"),
        ("send_note(to = $?)", "What is the to? (the address)"),
    ],
)
def test_questions_say_what_the_schema_says(library, program, question):
    questions = [
        m.question for m in LANGUAGE.structure.missing_inputs(LANGUAGE.parse(program), library)
    ]
    assert question in questions


def test_rows_that_lack_an_argument_are_cut_from_others(library, tmp_path):
    store = RowStore()
    for said, program in SAID:
        store.add(said, program)
    file = write(tmp_path / "rows.jsonl", [Example("S0", *SAID[2], "calls")])
    config = ParserConfig((InputFile(str(file)),), steps=1)
    target = Target(LANGUAGE, LANGUAGE, library)
    rows = Rows(parts=[store])
    add_incomplete(rows, RowMaker(config, target, learn_reading(config, target)))
    made = {" ".join(pair.sentence): " ".join(pair.program) for pair in rows.incomplete}
    assert made["write lunch"] == 'send_note( text= " lunch " to= $? )'
    for program in made.values():
        assert LANGUAGE.structure.missing_inputs(LANGUAGE.from_tokens(program), library)


def pair(sentence, program):
    return Pair(tuple(sentence.split()), tuple(program.split()))


def test_a_program_gives_no_fewer_inputs_than_every_row():
    rows = [
        pair("wait NUMBER_0 minutes", "wait( minutes= NUMBER_0 )"),
        pair("wait NUMBER_0 hours", "wait( hours= NUMBER_0 )"),
        pair("wait for it", "wait( hours= 1 minutes= 1 until= rain )"),
        pair("stop", "stop( )"),
    ]
    evidence = Evidence.from_rows([rows], LANGUAGE, LOCALE.words)
    gives = {
        inputs: evidence.gives("wait", frozenset(inputs.split()))
        for inputs in ("", "until", "hours", "minutes until", "hours minutes")
    }
    assert [inputs for inputs, given in gives.items() if not given] == ["", "until"]
    assert evidence.gives("stop", frozenset())
    assert evidence.gives("unknown", frozenset())
    assert not evidence.join(evidence).gives("wait", frozenset())


def test_a_function_takes_questions_only_if_rows_ask_for_it_so():
    rows = [
        pair("stop", "stop( )"),
        pair("stop the rain", "stop( )"),
        pair("is it raining", "ask( )"),
        pair("hi , does it rain", "ask( )"),
    ]
    evidence = Evidence.from_rows([rows], LANGUAGE, LOCALE.words)
    question = ["is", "it", "over"]
    taken = {f: evidence.takes_question(f, question) for f in ("stop", "ask", "unknown")}
    assert taken == {"stop": False, "ask": True, "unknown": True}
    assert evidence.takes_question("stop", ["end", "it"])
    only_commands = Evidence.from_rows([rows[:2]], LANGUAGE, LOCALE.words)
    assert only_commands.takes_question("stop", question)


def test_inputs_are_given_together_as_some_rows_give_each_two():
    rows = [
        pair("wait NUMBER_0 minutes", "wait( minutes= NUMBER_0 )"),
        pair("wait NUMBER_0 hours", "wait( hours= NUMBER_0 )"),
        pair("wait an hour for rain", "wait( hours= 1 until= rain )"),
        pair("wait a minute for rain", "wait( minutes= 1 until= rain )"),
    ]
    evidence = Evidence.from_rows([rows], LANGUAGE, LOCALE.words)
    together = {
        inputs: evidence.gives_together("wait", frozenset(inputs.split()))
        for inputs in ("", "hours", "hours until", "hours minutes", "hours minutes until", "days")
    }
    assert [x for x, given in together.items() if given] == ["", "hours", "hours until"]
    assert evidence.gives_together("unknown", frozenset({"hours", "minutes"}))
    assert not evidence.join(evidence).gives_together("wait", frozenset({"hours", "minutes"}))


def test_words_of_a_value_are_words_only_side_by_side():
    rows = [pair("half an hour or 1 of them", "wait( hours= 0.5 )")]
    evidence = Evidence.from_rows([rows], LANGUAGE, LOCALE.words)
    assert evidence.says(("half", "an", "hour"), ("wait",))
    assert evidence.says(("hour",), ("wait",))
    assert not evidence.says(("1", "hour"), ("wait",))
    assert evidence.says(("or", "1", "of"), ("wait",))
    assert not evidence.says(("for", "1", "of"), ("wait",))
    assert evidence.says(("them", ""), ("wait",))
    assert not evidence.says(("", "1"), ("wait",))


def test_listed_values_are_words_that_tell_them_and_texts_are_values():
    paint = [f"paint( color= {color} name= GENERIC_ENTITY_lamp_0 )" for color in ("red", "blue")]
    rows = [
        pair(f"{verb} the GENERIC_ENTITY_lamp_0 {color} {end}", program)
        for color, program in zip(("red", "blue"), paint, strict=True)
        for verb in ("turn", "make", "paint", "change")
        for end in ("please", "now")
    ]
    evidence = Evidence.from_rows([rows], LANGUAGE, LOCALE.words)
    said = ("turn", "the", "GENERIC_ENTITY_lamp_0", "red")
    supports = [
        evidence.support(said, form.values, ["paint"], form.parts)
        for form in map(LANGUAGE.form, paint)
    ]
    assert [(x.explained, x.unexplained) for x in supports] == [(2, ())] * 2
    assert [x.missing_parts for x in supports] == [0, 1]
    assert supports[0].weight - supports[1].weight > 2
    assert LANGUAGE.form('note( text= " red paint " )').values == ["red", "paint"]


@pytest.mark.parametrize(
    ("sentence", "text", "kept"),
    [
        ("play the artist moon", "the artist moon", "moon"),
        ("play the artist moon", "moon", "moon"),
        ("play moon the artist", "moon the artist", "moon"),
        ("play moon for the artist", "moon for the artist", "moon"),
        ("play the artist", "the artist", "the artist"),
        ("play artist", "artist", "artist"),
        ("play the artist called the artist moon", "the artist moon", "the artist moon"),
        ("play the artist moon rock", "the artist moon rock", "moon rock"),
    ],
)
def test_words_that_tell_a_part_are_no_part_of_a_text(sentence, text, kept):
    rows = [
        pair(f"{verb} the {kind} {words}", f'play( kind= {kind} title= " {words} " )')
        for verb in ("play", "start", "put on")
        for kind in ("artist", "album")
        for words in ("moon", "gray sea", "the owls", "seven")
    ]
    evidence = Evidence.from_rows([rows], LANGUAGE, LOCALE.words)
    whole, right = (f'play( kind= artist title= " {words} " )' for words in (text, kept))
    assert evidence.free_texts(whole, sentence.split(), LANGUAGE) == right
    other = f'play( kind= album title= " {text} " )'  # no word of it tells of an album
    assert evidence.free_texts(other, sentence.split(), LANGUAGE) == other
