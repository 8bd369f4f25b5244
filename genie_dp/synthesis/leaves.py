"""Pieces without children: constants, open gaps, parameters of the library, rows of tables."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from genie_dp.errors import GenieError
from genie_dp.languages.base import Fragment, Language
from genie_dp.skills import vocabulary
from genie_dp.synthesis.pieces import Piece, features
from genie_dp.synthesis.placeholders import GAP, Placeholders, mask_of
from genie_dp.templates import english
from genie_dp.templates.grammar import Table

PLAIN = features()


def constant_pieces(
    type_: Any, language: Language, library: Any, placeholders: Placeholders
) -> Iterator[Piece]:
    """Yield a piece for every way to say a constant of the type."""
    for constant in language.constants(type_, library):
        if not constant.slot:
            yield Piece(constant.words, constant.value, PLAIN)
            continue
        character = placeholders.character(constant.slot)
        value = constant.value.shift([(constant.words, character)])
        count = placeholders.count(character)
        yield Piece(character, value, PLAIN, count, mask_of(count))


def gap_pieces(body: Fragment, name: str, language: Language, library: Any) -> Iterator[Piece]:
    """Yield a piece for every key under which the placeholder may be left open."""
    for value in language.gaps(body, name, library):
        yield Piece(GAP, value, PLAIN)


def parameter_pieces(
    phrases: Sequence[vocabulary.ParameterPhrase], language: Language
) -> Iterator[Piece]:
    """Yield a piece for every phrase of a parameter; `#` becomes the gap for its value.

    A phrase without `#` is there twice: as it is, and with the gap after it.
    """
    values: dict[tuple[str, str], Any] = {}
    for phrase in with_plurals(phrases):
        key = (phrase.signature.qualified, phrase.parameter.name)
        if key not in values:
            values[key] = language.parameter(phrase.signature, phrase.parameter)
        value = values[key]
        said = features(num=phrase.number, pos=phrase.part)
        if not phrase.words:
            yield Piece("", value, said)
        elif "#" in phrase.words:
            yield Piece(phrase.words.replace("#", GAP), replace(value, gap="#"), said)
        else:
            yield Piece(phrase.words, value, said)
            yield Piece(f"{phrase.words} {GAP}", replace(value, gap="#"), said)


def with_plurals(
    phrases: Sequence[vocabulary.ParameterPhrase],
) -> Iterator[vocabulary.ParameterPhrase]:
    """Yield the phrases, and plurals where a list's output has nothing but its name.

    Real skills name outputs only: "the titles of articles" needs "titles". A skill that gives
    other parts of speech gives the plurals that it wants.
    """
    parts: dict[tuple[str, str], set[str]] = {}
    for phrase in phrases:
        key = (phrase.signature.qualified, phrase.parameter.name)
        parts.setdefault(key, set()).add(phrase.part)
    for phrase in phrases:
        yield phrase
        key = (phrase.signature.qualified, phrase.parameter.name)
        is_said = phrase.parameter.type != vocabulary.PICTURE
        if parts[key] == {"base"} and phrase.signature.is_list and is_said:
            words = english.plural(phrase.words)
            yield replace(phrase, part="plural", words=words, number="pl")


def table_pieces(table: Table, language: Language, library: Any) -> Iterator[Piece]:
    """Yield a piece for every row of a table: its words, and the value of its program text."""
    for row in table.rows:
        try:
            value = language.row(row.text, library)
        except GenieError as error:
            raise GenieError([table.placed(problem, row) for problem in error.problems]) from None
        yield Piece(row.words, value, PLAIN, attributes=tuple(row.cells.items()))
