"""Values inside of words: taken apart where rows show what is glued to values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.english.forms import surface
from genie_dp.languages import get_language
from genie_dp.languages.calls.library import ToolLibrary
from genie_dp.languages.calls.tools import read_tools
from genie_dp.parser.reading.fill import EntityNames
from genie_dp.parser.reading.glued import NOT_GLUED, Glued, as_read, from_dict, glued_in
from genie_dp.parser.reading.grammar_reader import GrammarReader
from genie_dp.parser.reading.prepare import Prepared, Preparer
from genie_dp.records import Example
from genie_dp.skills.words import tokenize
from tests.golden import Case, cases
from tests.parser.reading.reading_cases import NOW

CALLS = get_language("calls")
TOOL = '{"name": "f", "parameters": {"properties": {"a": {"type": "string", "x-entity": "room"}}}}'


def library() -> ToolLibrary:
    return read_tools({"tools.json": f'{{"entities": {{"room": []}}, "tools": [{TOOL}]}}'})


def names_of(*names: str) -> EntityNames:
    return EntityNames(library()).with_own({"room": names})


@pytest.mark.parametrize("case", cases("glued/words.txt"), ids=str)
def test_names_in_words_are_found(case: Case, golden) -> None:
    *given_parts, sentence = case.input.split("\n")
    parts = dict(line.split(": ") for line in given_parts)
    sides = ("before", "after", "linking")
    glued = Glued(*(frozenset(parts.get(side, "").split()) for side in sides))
    tokens, places = names_of(*parts["names"].split(", ")).apart(tokenize(sentence), glued)
    golden(case, " ".join(f"[{x}]" if i in places else x for i, x in enumerate(tokens)))


NAME = st.lists(st.text("äxyz2", min_size=2, max_size=4), min_size=1, max_size=3)
PART = st.text("abc", min_size=1, max_size=3)


@given(NAME, PART, PART, st.sampled_from(("before", "after", "both")))
def test_a_sentence_is_read_as_rows_are_learned(name, before, after, side):
    name = name[:1] if side == "both" else name
    head, tail = (
        f"{before} ~ " if side != "after" else "",
        f" ~ {after}" if side != "before" else "",
    )
    row = f"o {head}GENERIC_ENTITY_room_0{tail} ?"
    learned, glued = as_read(row.split(" ")), glued_in(row.split(" "), (), ())
    typed = tokenize(surface(row.replace("GENERIC_ENTITY_room_0", " ".join(name))))
    tokens, places = names_of(" ".join(name)).apart(typed, glued)
    start = learned.index("GENERIC_ENTITY_room_0")
    assert len(places) == 1
    assert (*tokens[:start], learned[start], *tokens[start + len(name) :]) == learned


@given(st.lists(st.sampled_from(("~", "ab", "NUMBER_0", "'", "l"))))
def test_rows_without_a_sign_stay_and_what_is_learned_is_kept(tokens):
    plain = [token for token in tokens if token != "~"]
    assert as_read(plain) == tuple(plain)
    assert glued_in(plain, (), ()) == NOT_GLUED
    glued = glued_in(tokens, {"ab"}, {"l"})
    assert from_dict(glued.as_dict()) == glued


def prepared(utterance: str, program: str, source: str, glued: Glued = NOT_GLUED) -> str:
    preparer = Preparer(GrammarReader(), CALLS, library(), NOW, glued=glued)
    result = preparer.prepare(Example("S0", utterance, program, "calls", source))
    assert isinstance(result, Prepared)
    return result.row.utterance


def test_rows_lose_the_sign_and_words_around_it_are_joined():
    slot = "f( a= GENERIC_ENTITY_room_0 )"
    assert prepared("GENERIC_ENTITY_room_0 ~ licht", slot, "synthetic") == (
        "GENERIC_ENTITY_room_0 licht"
    )
    assert prepared("sun ~ light in GENERIC_ENTITY_room_0", slot, "synthetic") == (
        "sunlight in GENERIC_ENTITY_room_0"
    )
    assert prepared("bad ~ licht", 'f( a= " bad " ^^room )', "augmented") == "bad licht"
    assert prepared("about ~ five", "f( )", "human") == "about ~ five"


def test_a_name_in_a_word_that_people_typed_is_that_of_the_program():
    glued = Glued(after=frozenset({"licht"}))
    assert prepared("badlicht bitte", 'f( a= " bad " ^^room )', "human", glued) == (
        "bad licht bitte"
    )
    assert prepared("badlicht bitte", 'f( a= " flur " ^^room )', "human", glued) == (
        "badlicht bitte"
    )
