"""From tools and templates to rows, and what a parser makes of them."""

import json
from datetime import datetime

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.languages import get_language
from genie_dp.languages.calls.decoding import CallsGrammar, constants_of
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.prepare import Preparer
from genie_dp.records import Example
from tests.languages.calls.tool_programs import HOME
from tests.languages.thingtalk.decoding.decoding_walks import is_accepted

LANGUAGE = get_language("calls")
GRAMMAR = """\
category COMMAND : program root;
category VP : program;
category LEVEL : value;
LEVEL := 'low' -> 20;
LEVEL := '$n percent' -> \\(n : Number) -> n;
VP := 'set the $room to' l:LEVEL -> lights.set(room = $room, level = l);
VP := 'turn on the $room' ('in $m mode')? -> lights.set(room = $room, mode = $m);
COMMAND := a:VP -> a;
COMMAND := a:VP 'and' b:VP -> a & b;
COMMAND := 'stop , then' b:VP -> stop() => b;
COMMAND := 'answer the mails about $x with $y' -> find_mail(words = [$x]) =>
    send(to = $1.mails.0.id, about = $y);
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def options(folder):
    (folder / "home.json").write_text(HOME)
    return ["--language", "calls", "--skills", f"{folder / 'home.json'}"]


@pytest.fixture(scope="module")
def grammar(folder, options):
    (folder / "main.genie").write_text(GRAMMAR)
    grammar = ["--grammar", f"{folder / 'main.genie'}"]
    assert cli.run(["check", *options, *grammar]) == 0
    rows, more = f"{folder / 'rows.jsonl'}", f"{folder / 'more.jsonl'}"
    assert cli.run(["synthesize", *options, *grammar, "--size", "150", "--output", rows]) == 0
    assert cli.run(["data", "augment", rows, *options, "--quoted", "0", "--output", more]) == 0
    return grammar


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", ["rows.jsonl", "more.jsonl"])
def test_rows_are_canonical_well_typed_and_accepted_by_the_decoder(folder, grammar, name):
    library, rows = gd.load_library(folder / "home.json"), rows_of(folder / name)
    assert len(rows) > 40
    texts = {t for row in rows for t in constants_of(row["program"], row["utterance"])}
    assert texts == {"20", "$find_mail .mails.0.id"}
    accepted = CallsGrammar(library, texts=texts)
    for row in rows:
        program = LANGUAGE.from_tokens(row["program"])
        assert not LANGUAGE.check(program, library)
        assert LANGUAGE.tokens(LANGUAGE.canonical(program, library)) == row["program"]
        assert is_accepted(accepted, row["utterance"].split(" "), row["program"]), row
    listed = any('room= " bath room " ^^room' in row["program"] for row in rows)
    assert listed == (name == "more.jsonl")


def test_values_of_sentences_become_placeholders_for_the_parser(folder, options):
    library = gd.load_library(folder / "home.json")
    preparer = Preparer(load_reader(), LANGUAGE, library, datetime(2026, 1, 14, 10, 0))
    program = 'lights.set( level= 33 room= " hall " ^^room )'
    row = Example("S0", "set the hall to 33 percent", program, "calls", source="human")
    prepared = preparer.prepare(row).row
    assert prepared.utterance == "set the hall to NUMBER_0 percent"
    assert prepared.program == program.replace("33", "NUMBER_0")
    assert prepared.slots["NUMBER_0"].parameter == "lights.set:level"


def test_chats_have_the_tools_and_their_calls(folder, options, grammar):
    output = folder / "chats.jsonl"
    more = f"{folder / 'more.jsonl'}"
    assert cli.run(["data", "convert", more, *options, "--to", "chat", f"{output}"]) == 0
    chats = rows_of(output)
    answers = [chat["messages"][-1] for chat in chats]
    called = {c["function"]["name"] for a in answers for c in a.get("tool_calls", ())}
    assert called == {"lights__set"}
    assert {tool["function"]["name"] for chat in chats for tool in chat["tools"]} >= {"send"}
    texts = [answer.get("content") or "" for answer in answers]
    assert any(text.startswith("stop() => ") for text in texts)  # these wait for each other


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ('lights.set(room = "hall", level = 20)', "Set the hall to 20 percent"),
        ('stop() => lights.set(room = "hall", level = 3)', "Stop, then set the hall to 3 percent"),
    ],
)
def test_programs_with_values_are_said_by_the_templates(
    options, grammar, capsys, program, sentence
):
    assert cli.run(["grammar", "describe", *options, *grammar, program]) == 0
    assert capsys.readouterr().out.strip() == sentence


def test_a_category_of_skills_is_none_of_tools(options, tmp_path, capsys):
    body = "category C : program root;\nC := 'stop' v:VALUE -> stop();\n"
    (tmp_path / "main.genie").write_text(body)
    assert cli.run(["check", *options, "--grammar", f"{tmp_path / 'main.genie'}"]) == 1
    assert "error[G012]: VALUE is for skills" in capsys.readouterr().err
