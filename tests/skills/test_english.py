"""English forms: words and what becomes of them, in tests/data/english."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.skills.words import tokenize
from genie_dp.templates import english
from tests.golden import DATA, Case, cases

FILES = sorted(path.name for path in (DATA / "english").glob("*.txt"))


def _determiner(words: str) -> str:
    sort, rest = english.split_determiner(words)
    return f"{sort} + {rest}"


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


def test_every_file_is_read_and_every_function_has_cases() -> None:
    names = {case.name.partition(":")[0] for name in FILES for case in cases(f"english/{name}")}
    assert names == set(FUNCTIONS)
    assert len(FILES) == 3


def test_there_are_enough_words() -> None:
    inputs = sum(len(case.input.splitlines()) for f in FILES for case in cases(f"english/{f}"))
    assert inputs >= 250


@pytest.mark.parametrize("case", [c for f in FILES for c in cases(f"english/{f}")], ids=str)
def test_every_word_gets_its_form(case: Case) -> None:
    function = FUNCTIONS[case.name.partition(":")[0]]
    actual = [f"{line} -> {function(line)}" for line in case.input.splitlines()]
    expected = [
        f"{line} -> {form}"
        for line, form in zip(case.input.splitlines(), case.expected.splitlines(), strict=True)
    ]
    assert actual == expected


NOUNS = st.sampled_from(
    ["email", "photo", "box", "city", "person", "url", "status", "bus", "hero", "child", "lens"]
)
PLACES = st.sampled_from(
    ["", " in my inbox", " from $x", " i like", " shared with me", " today", " planted after $x"]
)


@given(NOUNS, PLACES)
def test_singular_undoes_plural(noun: str, place: str) -> None:
    assert english.number_of(f"my {noun}{place}") == "sg"
    several = english.plural(f"my {noun}{place}")
    assert english.number_of(several) == "pl"
    assert english.singular(several) == f"my {noun}{place}"


@given(NOUNS, PLACES)
def test_a_plural_phrase_stays_as_it_is(noun: str, place: str) -> None:
    several = english.plural(f"the {noun}{place}")
    assert english.plural(several) == several


@given(st.text(max_size=40))
def test_no_text_breaks_a_function(text: str) -> None:
    words = " ".join(tokenize(text))
    for function in FUNCTIONS.values():
        function(words)


@given(
    st.lists(
        st.sampled_from(["nasa", "'s", "picture", ",", "(", "the", ")", "20", "%"]), max_size=8
    )
)
def test_surface_loses_nothing_but_spaces_and_case(tokens: list[str]) -> None:
    shown = english.surface(tokens)
    assert shown.replace(" ", "").lower() == "".join(tokens)
