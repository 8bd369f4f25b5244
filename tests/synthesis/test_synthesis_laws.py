"""What holds of every synthesized row, and of runs as a whole."""

import re
from collections import Counter

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.types import slot_stem, slot_type
from genie_dp.rows import from_json
from genie_dp.synthesis.rows import block_numbers
from tests.synthesis.synthesis_setup import engine, rows, shipped, text_of

PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]*(?:_[\w.:-]+)?_\d+\b")


def test_every_program_is_well_typed() -> None:
    language, library = shipped().language, shipped().library
    for row in rows():
        problems = language.check(language.from_tokens(row.program), library)
        assert not problems, (row.utterance, row.program, problems)


def test_every_program_is_canonical() -> None:
    language, library = shipped().language, shipped().library
    for row in rows():
        program = language.from_tokens(row.program)
        assert language.tokens(language.canonical(program, library), library) == row.program


def test_the_functions_of_a_row_are_those_of_its_program() -> None:
    language = shipped().language
    for row in rows():
        program = language.from_tokens(row.program)
        assert Counter(row.functions) == language.functions(program), row.program


def test_sentence_program_and_slots_hold_the_same_placeholders() -> None:
    for row in rows():
        said = [token for token in row.utterance.split() if slot_type(token)]
        assert set(said) == set(row.slots), row.utterance
        assert {t for t in row.program.split() if slot_type(t)} == set(said), row.program


def test_placeholders_are_numbered_in_the_order_of_the_sentence() -> None:
    for row in rows():
        met: dict[str, list[int]] = {}
        for token in row.utterance.split():
            if slot_type(token):
                stem, _, number = token.rpartition("_")
                met.setdefault(stem, []).append(int(number))
        for numbers in met.values():
            assert numbers == list(range(len(numbers))), row.utterance


def test_a_slot_has_the_type_of_the_parameter_that_it_fills() -> None:
    language, library = shipped().language, shipped().library
    checked = 0
    for row in rows():
        for token, slot in row.slots.items():
            stem = slot_stem(language.parse_type(slot.type))
            assert token.rpartition("_")[0] == stem, (row.utterance, token, slot)
            function, _, name = slot.parameter.partition(":")
            if function.startswith("@"):
                class_name, _, local = function[1:].rpartition(".")
                signature = library.function(class_name, local)
                assert signature is not None, slot
                assert signature.parameter(name) is not None, slot
                checked += 1
    assert checked > 1000


def test_no_sentence_comes_twice() -> None:
    counts = Counter(row.utterance for row in rows())
    assert counts.most_common(1)[0][1] == 1


def test_utterances_are_clean_tokens() -> None:
    for row in rows():
        assert row.utterance == " ".join(row.utterance.split()), repr(row.utterance)
        words = [w for w in row.utterance.split() if not slot_type(w)]
        assert not any(mark in word for word in words for mark in "{}#$\uf8ff"), row.utterance
        assert all(word == word.lower() for word in words), row.utterance


def test_derivations_name_templates_outermost_first() -> None:
    templates = {template.id: template for template in shipped().grammar.templates}
    roots = {category.name for category in shipped().grammar.roots()}
    for row in rows():
        assert templates[row.derivation[0]].category in roots
        assert all(name in templates for name in row.derivation)


def test_all_depths_up_to_the_greatest_appear() -> None:
    assert {row.depth for row in rows()} - {0} == {1, 2, 3, 4}  # 0: a template without children


def test_ids_are_unique_and_rise() -> None:
    numbers = [int(row.id.removeprefix("S")) for row in rows()]
    assert numbers == sorted(set(numbers))


@pytest.mark.slow
def test_two_processes_give_the_bytes_of_one() -> None:
    made = engine(size=9000)
    assert text_of(made) == text_of(made, jobs=2)


@pytest.mark.slow
def test_shards_are_disjoint_and_together_the_whole() -> None:
    made = engine(size=12_000)
    whole = text_of(made, limit=None).splitlines()
    shards = [
        text_of(made, numbers=block_numbers(made, (index, 3)), limit=None).splitlines()
        for index in range(3)
    ]
    ids = [{from_json(line).id for line in lines} for lines in shards]
    assert not ids[0] & ids[1]
    assert not ids[0] & ids[2]
    assert not ids[1] & ids[2]
    assert set(whole) <= set().union(*shards)


@pytest.mark.slow
def test_another_seed_gives_other_rows() -> None:
    assert text_of(engine(size=500, seed=1)) != text_of(engine(size=500, seed=2))


@pytest.mark.slow
def test_excluded_functions_never_appear() -> None:
    made = engine(size=2000, max_depth=3, exclude=("@com.twitter.*", "@com.gmail.inbox"))
    for line in text_of(made).splitlines():
        for function in from_json(line).functions:
            assert not function.startswith("@com.twitter.")
            assert function != "@com.gmail.inbox"


def test_included_functions_are_the_only_ones() -> None:
    made = engine(size=500, max_depth=3, include=("@com.gmail.*",))
    functions = {f for line in text_of(made).splitlines() for f in from_json(line).functions}
    assert functions
    assert all(f.startswith("@com.gmail.") for f in functions)


def _uses(function: str, **settings: object) -> int:
    lines = text_of(engine(size=3000, max_depth=2, **settings)).splitlines()
    return sum(function in from_json(line).functions for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("function", ["@com.gmail.inbox", "@com.twitter.post"])
def test_weights_steer_how_often_a_function_appears(function: str) -> None:
    plain = _uses(function)
    assert _uses(function, weights={function: 0.0}) == 0
    assert _uses(function, weights={function: 10.0}) > 3 * plain


def _top_three(balance: float) -> float:
    text = text_of(engine(size=3000, max_depth=2, balance=balance))
    counts = Counter(f for line in text.splitlines() for f in from_json(line).functions)
    return sum(n for _, n in counts.most_common(3)) / counts.total()


@pytest.mark.slow
def test_balance_zero_spreads_functions_more_evenly_than_one() -> None:
    assert _top_three(0.0) < 0.9 * _top_three(1.0)


def programs_of(**settings):
    made = engine(size=400, max_depth=3, **settings)
    return [from_json(line).program for line in text_of(made).splitlines()]


@pytest.mark.slow
def test_only_the_roots_that_are_asked_for_make_sentences():
    assert not [p for p in programs_of(roots=()) if p.startswith("policy")]
    assert all(p.startswith("policy") for p in programs_of(roots=("POLICY",)))
    assert {p.startswith("policy") for p in programs_of(roots=("POLICY", "COMMAND"))} == {
        True,
        False,
    }
    with pytest.raises(GenieError, match="did you mean 'POLICY'"):
        engine(roots=("POLICE",))
