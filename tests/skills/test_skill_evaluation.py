"""The real sentences of the shipped skills (eval.tsv): sound programs, in words of their own."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from genie_dp.languages import get_language
from genie_dp.resources import data_folder
from genie_dp.templates.ast import PlainItem, PlainWords, QuotedWords, plain_utterances
from tests.synthesis.synthesis_setup import shipped

HEADER = "utterance\tprogram"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an eval.tsv."""

    line: int
    utterance: str
    program: str


def read(path: Path) -> list[Row]:
    """Return the rows of a file, its header left out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == HEADER
    return [Row(number, *line.split("\t")) for number, line in enumerate(lines[1:], 2)]


def evaluated() -> dict[str, Path]:
    """Return the eval.tsv of every shipped skill that has one."""
    found = sorted(data_folder("thingpedia").glob("*/eval.tsv"))
    return {path.parent.name: path for path in found}


@cache
def literal_utterances() -> frozenset[str]:
    """Return every sentence or part of one that a template without a gap gives as it stands."""
    return frozenset(
        words
        for template in shipped().grammar.templates
        for said in plain_utterances(template.utterance)
        if (words := literal(said)) is not None
    )


def literal(said: tuple[PlainItem, ...]) -> str | None:
    """Return the words of an utterance, None if something is to be put in."""
    parts = [part for item in said if isinstance(item, QuotedWords) for part in item.parts]
    texts = [part.text for part in parts if isinstance(part, PlainWords)]
    whole = len(texts) == len(parts) and all(isinstance(item, QuotedWords) for item in said)
    return " ".join(texts) if whole else None


@pytest.mark.parametrize("skill", sorted(evaluated()))
def test_a_skill_has_ten_real_sentences_or_more(skill: str) -> None:
    assert len(read(evaluated()[skill])) >= 10


@pytest.mark.parametrize("skill", sorted(evaluated()))
def test_a_real_sentence_is_lower_case_words_with_one_space_between_them(skill: str) -> None:
    for row in read(evaluated()[skill]):
        assert row.utterance == " ".join(row.utterance.lower().split()), row


@pytest.mark.parametrize("skill", sorted(evaluated()))
def test_the_program_of_a_real_sentence_is_well_typed_and_canonical(skill: str) -> None:
    language, library = get_language("thingtalk"), shipped().library
    for row in read(evaluated()[skill]):
        program = language.parse(row.program, file=f"{evaluated()[skill]}:{row.line}")
        assert not [p.message for p in language.check(program, library)], row
        assert language.render(language.canonical(program, library)) == row.program


@pytest.mark.parametrize("skill", sorted(evaluated()))
def test_the_program_of_a_real_sentence_calls_the_skill(skill: str) -> None:
    for row in read(evaluated()[skill]):
        assert f"@{skill}." in row.program, row


@pytest.mark.parametrize("skill", sorted(evaluated()))
def test_some_real_sentences_of_a_skill_are_compound(skill: str) -> None:
    rows = read(evaluated()[skill])
    assert sum(is_compound(row.program) for row in rows) >= 2


def is_compound(program: str) -> bool:
    """Tell whether a program has two functions, or a time or event and something to do."""
    language = get_language("thingtalk")
    calls = sum(language.functions(language.parse(program)).values())
    return calls > 1 or not program.startswith("now =>")


@pytest.mark.parametrize("skill", sorted(evaluated()))
def test_no_template_gives_a_real_sentence_literally(skill: str) -> None:
    assert [r for r in read(evaluated()[skill]) if r.utterance in literal_utterances()] == []


def test_templates_without_a_gap_are_found_in_all_their_wordings() -> None:
    assert {"check my twitter", "check twitter"} <= literal_utterances()


def test_no_real_sentence_is_there_twice() -> None:
    said = [row.utterance for path in evaluated().values() for row in read(path)]
    assert sorted(said) == sorted(set(said))
