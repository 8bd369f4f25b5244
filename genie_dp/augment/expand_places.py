"""Placeholders of a row: where they stand on both sides, and how a value is written there.

Both texts are worked on with one private character for each placeholder, as in synthesis: putting
a value in is one `str.replace`, which hits nothing else.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.types import (
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    TIME,
    Measure,
    Type,
    slot_type,
)
from genie_dp.records import Example

FIRST_MARK = 0xE000
MOST_PLACES = 1000
# A fast look at a text between two spaces; `placeholder` then says whether it is one.
_LIKE_ONE = re.compile(r" ([A-Z][^ ]*_[0-9]+)(?= )")
_PRIVATE = re.compile("[\ue000-\uf8ff]")
# What a parser's reader finds by rule and shows it as a placeholder; all else is copied by words.
_READ = frozenset((NUMBER, DATE, TIME, CURRENCY, LOCATION))

Sort = Literal["listed", "read"]


@dataclass(frozen=True, slots=True, eq=False)  # each is made once: see _known_place
class SlotPlace:
    """A placeholder of a row.

    Attributes:
        token: the placeholder, such as QUOTED_STRING_0; `stem` and `number` are its parts.
        mark: the private character that stands for it in both texts.
        type: of its value.
        parameter: the parameter that it fills, "@com.gmail.inbox:subject"; "" if unknown.
        sort: "listed": texts and names, which words replace; "read": numbers, dates and the like.
        operator: the token before it in the program, such as "=~".
        before, after: the tokens around the words of a value in the program.
    """

    token: str
    stem: str
    number: int
    mark: str
    type: Type
    parameter: str
    sort: Sort
    operator: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class MarkedRow:
    """A row whose placeholders are private characters.

    Attributes:
        tokens: the sentence.
        program: the program, one text.
        places: the placeholders in the order of the sentence.
        is_sorted_by_values: whether the order of its parts may depend on the inserted values, so
            that it has to be brought into canonical form again.
    """

    tokens: tuple[str, ...]
    program: str
    places: tuple[SlotPlace, ...]
    is_sorted_by_values: bool


@lru_cache(maxsize=65536)
def placeholder(token: str) -> tuple[str, int, Type] | None:
    """Return stem, number and type of a placeholder, or None for another token.

    >>> [str(part) for part in placeholder("MEASURE_byte_1")]
    ['MEASURE_byte', '1', 'Measure(byte)']
    >>> placeholder("bbc_1") is None
    True
    """
    type_ = slot_type(token)
    if type_ is None:
        return None
    stem, _, number = token.rpartition("_")
    return stem, int(number), type_


def mark_row(row: Example) -> MarkedRow:
    """Return a row with its placeholders marked on both sides.

    Raises:
        GenieError: a placeholder stands on one side only (A110); the row holds private characters
            or too many placeholders (A111).
    """
    program = f" {row.program} "
    spoken = [t for t in _LIKE_ONE.findall(f" {row.utterance} ") if placeholder(t)]
    inside = {t for t in _LIKE_ONE.findall(program) if placeholder(t)}
    marks = {token: chr(FIRST_MARK + i) for i, token in enumerate(dict.fromkeys(spoken))}
    if marks.keys() != inside:
        raise _out_of_step(row, marks.keys() ^ inside, inside)
    tokens = tuple(row.utterance.split(" "))
    if not marks:
        return MarkedRow(tokens, row.program, (), False)
    if len(marks) > MOST_PLACES or _is_private(row.utterance) or _is_private(row.program):
        message = (
            f"row {row.id} has private characters (U+E000 to U+F8FF), or too many placeholders"
        )
        raise GenieError(Problem("A111", message, hint="take them out of the sentence"))
    places = []
    is_sorted = get_language(row.language).sorts_any_part or _calls_twice(row)
    for token, mark in marks.items():
        # What stands before a value says which comparison it is part of.
        before = program[: program.index(f" {token} ")].rsplit(" ", 2)
        is_sorted = is_sorted or _is_compared_twice(before, program)
        places.append(_place(row, token, mark, before))
        name, stands = f" {token} ", f" {mark} "
        # Twice, for two of them side by side share the space between them.
        program = program.replace(name, stands).replace(name, stands)
    marked_tokens = tuple([marks.get(token, token) for token in tokens])
    return MarkedRow(marked_tokens, program[1:-1], tuple(places), is_sorted)


def _is_private(text: str) -> bool:
    # Nearly all texts are ASCII, which Python knows of a text without looking at it.
    return not text.isascii() and _PRIVATE.search(text) is not None


def _out_of_step(row: Example, alone: Collection[str], inside: Collection[str]) -> GenieError:
    first = min(alone)
    side = "program" if first in inside else "sentence"
    message = f"row {row.id}: {first} stands in the {side} only"
    hint = "every placeholder of a sentence stands in its program, and the other way round"
    return GenieError(Problem("A110", message, hint=hint))


def _place(row: Example, token: str, mark: str, before: Sequence[str]) -> SlotPlace:
    """Return the place of a placeholder; `before` ends in the two tokens before it."""
    slot = row.slots.get(token)
    # Else it is told as far as the program says it.
    name = before[-2] if len(before) > 1 else ""
    named = name.split(":")[1] if name.startswith("param:") else ""
    parameter = slot.parameter if slot else named
    parts = placeholder(token)
    assert parts is not None
    quotes = get_language(row.language).values.quotes(parts[2], " ".join(before))
    return _known_place(token, mark, parameter, before[-1], quotes)


@lru_cache(maxsize=65536)  # rows share their places: a draw is made once for each
def _known_place(
    token: str, mark: str, parameter: str, operator: str, quotes: tuple[str, str]
) -> SlotPlace:
    parts = placeholder(token)
    assert parts is not None
    stem, number, type_ = parts
    sort: Sort = "read" if type_ in _READ or isinstance(type_, Measure) else "listed"
    return SlotPlace(token, stem, number, mark, type_, parameter, sort, operator, *quotes)


# The canonical form orders conditions by parameter, operator and then value, and joins by function
# and then text; so values count where these are equal. S-expressions may declare any node
# unordered.


def _calls_twice(row: Example) -> bool:
    functions: Sequence[str] = row.functions
    if not functions:
        functions = [token for token in row.program.split(" ") if token.startswith("@")]
    return len(set(functions)) < len(functions)


def _is_compared_twice(before: Sequence[str], program: str) -> bool:
    operator = before[-1]
    if operator in ("[", ","):
        return True
    return operator != "=" and program.count(f" {before[-2]} {operator} ") > 1


def left_over(places: Sequence[SlotPlace], filled: Collection[str]) -> dict[str, str]:
    """Return mark -> name of the placeholders that stay, numbered again from 0 for each stem.

    A parser numbers its placeholders from 0, so that QUOTED_STRING_1 becomes QUOTED_STRING_0 where
    words took the place of the first one.

    Args:
        places: the placeholders of a row.
        filled: the marks of those that got a value.
    """
    staying = [place for place in places if place.mark not in filled]
    gone = {place.stem for place in places if place.mark in filled} if staying else ()
    names = {place.mark: place.token for place in staying}
    counts: dict[str, int] = {}
    for place in sorted((p for p in staying if p.stem in gone), key=lambda p: p.number):
        number = counts.get(place.stem, 0)
        counts[place.stem] = number + 1
        names[place.mark] = f"{place.stem}_{number}"
    return names
