"""Names of lists, and of a caller, are found in sentences whatever their spelling."""

import json
from datetime import datetime

import pytest

from genie_dp.languages import get_language
from genie_dp.languages.calls.library import ToolLibrary
from genie_dp.languages.calls.tools import read_tools
from genie_dp.locale import locale_from
from genie_dp.parser.reading.fill import EntityNames, NameLink, TypedText
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.said import SentenceReader
from genie_dp.skills.words import tokenize
from tests.golden import Case, cases

NOW = datetime(2026, 11, 25)
NAMES = [*cases("names/linked.txt")]


def library(*names: str) -> ToolLibrary:
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "string", "x-entity": "x"}}}}
    return read_tools({"tools.json": json.dumps({"entities": {"x": names}, "tools": [tool]})})


def names_of(case: Case, *, is_own: bool) -> tuple[EntityNames, str]:
    *given, sentence = case.input.split("\n")
    settings = dict(line.split(": ", 1) for line in given)
    known = locale_from(settings.get("locale", "en")).words
    texts = settings["names"].split("; ")
    listed = EntityNames(library(*([] if is_own else texts)), known=known)
    return (listed.with_own({"x": texts}) if is_own else listed), sentence


@pytest.mark.parametrize("case", NAMES, ids=str)
def test_names_are_found_in_sentences(case: Case, golden) -> None:
    names, sentence = names_of(case, is_own=True)
    tokens = tokenize(sentence)
    found = [" ".join(tokens[x.start : x.end]) for [x, *_] in sorted(names.owned_apart(tokens))]
    golden(case, "\n".join(f"{said} -> {names.find('x', said).value}" for said in found))


@pytest.mark.parametrize("case", NAMES, ids=str)
def test_a_list_has_the_names_that_a_caller_may_have(case: Case) -> None:
    """But for slips, which words of a sentence are not known to be."""
    own, sentence = names_of(case, is_own=True)
    listed, _ = names_of(case, is_own=False)
    tokens = tokenize(sentence)
    exact = {x for x in own.links(tokens) if own.is_listed("x", " ".join(tokens[x.start : x.end]))}
    assert {*listed.links(tokens)} == exact


def test_what_is_part_of_a_name_is_no_value() -> None:
    """The values beside it are read as if the name were a placeholder, as in rows."""
    names = EntityNames(library("50 Cent")).with_own({"x": ["Lamp 2", "Lamp 12"]})
    reader, sentence = (
        load_reader(),
        "dim Lamp 2 to 30 percent and lamp twelve to 2, then play 50 cent",
    )
    typed = TypedText.from_reading(sentence, reader.read(sentence, now=NOW))
    links = [*names.names_together(typed.tokens, typed.values)]
    assert [typed.tokens[x.start : x.end] for x in links[0]] == [("lamp", "2"), ("lamp", "twelve")]
    assert [typed.tokens[x.start : x.end] for x in links[-1]] == [("50", "cent")]
    read = typed.read(links[0], reader, now=NOW)
    assert read.utterance == (
        "dim GENERIC_ENTITY_x_0 to NUMBER_0 percent and GENERIC_ENTITY_x_1 to NUMBER_1 , then play "
        "CURRENCY_0"
    )
    assert read.links == ("GENERIC_ENTITY_x_0", "GENERIC_ENTITY_x_1")
    said = ["30", "2", "50 cent", "Lamp 2", "lamp twelve"]
    assert [sentence[slice(*value.span)] for value in read.values.values()] == said


@pytest.mark.parametrize("said", ["play channel 6", "play channel", "play 6", "play radio eight"])
def test_a_name_is_not_found_without_its_number(said: str) -> None:
    names = EntityNames(library("Channel 5", "Radio Seven"))
    assert names.links(tokenize(said)) == []
    assert names.find("x", said.removeprefix("play ")).how == "unknown"


def test_a_listed_name_takes_no_value_that_is_no_number() -> None:
    """A list of songs may have "Monday", but "wake me on monday" has a day."""
    names = EntityNames(library("Monday", "The 1975"))
    tokens = ("on", "monday", "the", "1975")
    assert [*names.links(tokens, values={1, 3})] == [NameLink(2, 4, "x")]
    assert NameLink(1, 2, "x") in names.links(tokens)


def test_templates_read_backwards_and_a_parser_find_the_same_names() -> None:
    own = {"x": ["Lamp 2", "Lamp 12"]}
    said = SentenceReader(get_language("calls"), library(), now=NOW, names=own)
    *_, both, _, _ = said.read("swap lamp two and lamp 12")
    assert both.tokens == ("swap", "GENERIC_ENTITY_x_0", "and", "GENERIC_ENTITY_x_1")
    assert [value.how for value in both.values.values()] == ["listed", "listed"]
