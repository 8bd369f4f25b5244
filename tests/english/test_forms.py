"""English forms: words and what becomes of them, in tests/data/english."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.english import forms as english
from genie_dp.skills.words import tokenize
from tests.golden import cases


def _determiner(words: str) -> str:
    return " + ".join(english.split_determiner(words))


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "article": english.article,
    "clause": english.is_clause,
    "determiner": _determiner,
    "gerund": english.gerund,
    "number": english.number_of,
    "past participle": english.past_participle,
    "plural": english.plural,
    "possessive": english.possessive,
    "singular": english.singular,
    "starts with verb": english.starts_with_verb,
    "surface": english.surface,
    "third person": english.third_person,
}


CASES = [case for name in ("articles", "nouns", "verbs") for case in cases(f"english/{name}.txt")]


def test_every_function_has_cases_and_there_are_enough_words():
    assert {case.name.partition(":")[0] for case in CASES} == set(FUNCTIONS)
    assert sum(len(case.input.splitlines()) for case in CASES) >= 250


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_word_gets_its_form(case):
    words, function = case.input.splitlines(), FUNCTIONS[case.name.partition(":")[0]]
    expected = dict(zip(words, case.expected.splitlines(), strict=True))
    assert {word: str(function(word)) for word in words} == expected


NOUNS = st.sampled_from(
    ["email", "photo", "box", "city", "person", "url", "status", "bus", "hero", "child", "lens"]
)
PLACES = st.sampled_from(
    ["", " in my inbox", " from $x", " i like", " shared with me", " today", " planted after $x"]
)


@given(NOUNS, PLACES)
def test_singular_undoes_plural_and_a_plural_phrase_stays_as_it_is(noun, place):
    assert english.number_of(f"my {noun}{place}") == "sg"
    several = english.plural(f"my {noun}{place}")
    assert english.number_of(several) == "pl"
    assert english.singular(several) == f"my {noun}{place}"
    several = english.plural(f"the {noun}{place}")
    assert english.plural(several) == several


@given(st.text(max_size=40))
def test_no_text_breaks_a_function(text):
    words = " ".join(tokenize(text))
    for function in FUNCTIONS.values():
        function(words)


@given(
    st.lists(
        st.sampled_from(["nasa", "'s", "picture", ",", "(", "the", ")", "20", "%"]), max_size=8
    )
)
def test_surface_loses_nothing_but_spaces_and_case(tokens):
    shown = english.surface(tokens)
    assert shown.replace(" ", "").lower() == "".join(tokens)
