"""A piece of a derivation: words, program, and their attributes for the next template.

Placeholders are one private character each inside the engine, so that renumbering is exact.
NUMBER_0 of the output is one character of Unicode's private use area while rows are put together:
`str.replace` of it can neither hit PHONE_NUMBER_0 nor NUMBER_01, and is the fastest way to rename.
The k-th placeholder of stem i is chr(FIRST + 10 i + k): at most ten of a stem in one sentence, so
that their order as text is their order as numbers.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from genie_dp.english import forms as english
from genie_dp.english.lists import PREPOSITIONS
from genie_dp.errors import GenieError, Problem, did_you_mean, with_article
from genie_dp.languages.bodies import Value

FIRST = 0xE000
PER_STEM = 10
MOST_STEMS = 600
GAP = "\uf8ff"  # where the words of another piece go
BLANK = "____"  # how a gap is shown to people
_SPARE = 0xF800  # characters for swaps, above every stem's
_BITS = 4  # of a packed count: ten fit
_ANY = re.compile(f"[{chr(FIRST)}-{chr(_SPARE - 1)}]")


@dataclass(slots=True)
class Placeholders:
    """The stems in use, in order of first registration.

    A *count* packs how many placeholders of each stem a piece has, four bits a stem.
    """

    stems: list[str] = field(default_factory=list)
    _index: dict[str, int] = field(default_factory=dict)
    _names: dict[int, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    _shifts: dict[tuple[int, int], tuple[tuple[str, str], ...] | None] = field(default_factory=dict)

    def character(self, stem: str, number: int = 0) -> str:
        """Return the character that stands for the placeholder `stem_number`."""
        if stem not in self._index:
            if len(self.stems) >= MOST_STEMS:
                raise OverflowError(f"more than {MOST_STEMS} kinds of placeholders")
            self._index[stem] = len(self.stems)
            self.stems.append(stem)
        return chr(FIRST + PER_STEM * self._index[stem] + number)

    def token(self, character: str) -> str:
        """Return the placeholder that a character stands for, such as NUMBER_0."""
        stem, number = divmod(ord(character) - FIRST, PER_STEM)
        return f"{self.stems[stem]}_{number}"

    def names(self, text: str) -> list[tuple[str, str]]:
        """Return (character, token) for every placeholder of a text."""
        characters = sorted({c for c in text if FIRST <= ord(c) < _SPARE})
        return [(character, self.token(character)) for character in characters]

    def show(self, text: str) -> str:
        """Return a text of the engine with placeholders by their names, and gaps as blanks."""
        for character, token in self.names(text):
            text = text.replace(character, token)
        return text.replace(GAP, BLANK)

    def names_in(self, count: int) -> tuple[tuple[str, str], ...]:
        """Return (character, token) for every placeholder of a packed count, remembered."""
        if count not in self._names:
            self._names[count] = tuple(
                (chr(FIRST + PER_STEM * stem + k), f"{name}_{k}")
                for stem, name in enumerate(self.stems)
                for k in range(count >> (_BITS * stem) & 15)
            )
        return self._names[count]

    def count(self, characters: str) -> int:
        """Return the packed count of the distinct placeholders in a text."""
        total = 0
        for character in set(characters):
            if FIRST <= ord(character) < _SPARE:
                total += 1 << (_BITS * ((ord(character) - FIRST) // PER_STEM))
        return total

    def shifts(self, before: int, count: int) -> tuple[tuple[str, str], ...] | None:
        """Return the renamings that make room for `before`; None if a stem would pass ten.

        Highest numbers first, so that applying them one after the other never merges two.
        """
        key = (before, count)
        if key not in self._shifts:
            self._shifts[key] = self._compute(before, count)
        return self._shifts[key]

    def _compute(self, before: int, count: int) -> tuple[tuple[str, str], ...] | None:
        renamings: list[tuple[str, str]] = []
        for stem in range(len(self.stems)):
            here = count >> (_BITS * stem) & 15
            moved = before >> (_BITS * stem) & 15
            if not here or not moved:
                continue
            if here + moved > PER_STEM:
                return None
            first = FIRST + PER_STEM * stem
            renamings.extend(
                (chr(first + k), chr(first + k + moved)) for k in reversed(range(here))
            )
        return tuple(renamings)


def mask_of(count: int) -> int:
    """Return a packed count with all four bits set for every stem that it has.

    >>> hex(mask_of(0x20010))
    '0xf00f0'
    """
    mask, shift = 0, 0
    while count >> shift:
        if count >> shift & 15:
            mask |= 15 << shift
        shift += _BITS
    return mask


def in_sentence_order(words: str) -> tuple[tuple[str, str], ...]:
    """Return the renamings after which the numbers of every stem rise from left to right.

    Swaps go through spare characters, so that the renamings may be applied one after the other.

    >>> a, b = chr(FIRST), chr(FIRST + 1)
    >>> in_sentence_order(f"from {a} to {b}")
    ()
    >>> len(in_sentence_order(f"from {b} to {a}"))
    4
    """
    by_stem: dict[int, list[str]] = {}
    for character in dict.fromkeys(_ANY.findall(words)):
        by_stem.setdefault((ord(character) - FIRST) // PER_STEM, []).append(character)
    moves = [
        (old, chr(FIRST + PER_STEM * stem + k))
        for stem, characters in by_stem.items()
        for k, old in enumerate(characters)
        if ord(old) != FIRST + PER_STEM * stem + k
    ]
    away = tuple((old, chr(_SPARE + k)) for k, (old, _) in enumerate(moves))
    back = tuple((chr(_SPARE + k), new) for k, (_, new) in enumerate(moves))
    return away + back


# ------------------------------------------------------------------------------------------ pieces


@dataclass(frozen=True, slots=True)
class Features:
    """English features of a piece; `det` is the determiner's words, `own` its sort.

    `form` is np, clause or vp; `pos` the part of speech of a built-in phrase. `family` is of a leaf
    whose template has optional parts: its id, and in how many ways it leaves some out.
    """

    num: str = "sg"
    det: str = ""
    own: str = "none"
    form: str = "np"
    pos: str = ""
    family: tuple[str, int] | None = None


features = lru_cache(maxsize=None)(Features)
ENGLISH = ("num", "det", "own", "form", "pos", "family")


@dataclass(slots=True)
class Piece:
    """A partial derivation. Not frozen: freezing triples the cost of making one.

    Attributes:
        words: the utterance without its determiner; placeholders are single characters.
        value: the program.
        features: the features that English grammar needs.
        count, mask: packed counts of placeholders (see `Placeholders`).
        slots: JSON text of the slots that the placeholders fill, comma separated.
        derivation: JSON text of template ids, comma separated.
        attributes: columns of a table row; empty for all other pieces.
        text: the words with the piece's own determiner.
        sort: a number that all pieces share which are alike in all but words and program; 0 until
            requested (`sort_of`). It has no meaning in another process.
    """

    words: str
    value: Value
    features: Features
    count: int = 0
    mask: int = 0
    slots: str = ""
    derivation: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = field(init=False)
    sort: int = 0

    def __post_init__(self) -> None:
        det = self.features.det
        self.text = f"{det} {self.words}" if det else self.words

    def attribute(self, name: str) -> Any:
        """Return an attribute for a guard, or raise GenieError with the names that there are."""
        if name in ENGLISH:
            return getattr(self.features, name)
        if name == "gap":
            return self.value.gap
        for column, value in self.attributes:
            if column == name:
                return value
        if name in OF_WORDS:
            return OF_WORDS[name](self)
        if name == "function":  # read by every rule for balance
            return getattr(self.value.state, name, "")
        try:
            return getattr(self.value.state, name)
        except AttributeError:
            names = (*ENGLISH, "gap", *getattr(self.value.state, "__slots__", ()))
            hint = did_you_mean(name, names) or f"it has {', '.join(names)}"
            message = f"{with_article(self.value.kind)} has no attribute {name!r}"
            raise GenieError(Problem("Y001", message, hint=hint)) from None


_SORTS: dict[object, int] = {}


def sort_of(piece: Piece) -> int:
    """Return the number of a piece's sort, and note it down in the piece."""
    value = piece.value
    name = piece.features, value.state, value.gap, piece.attributes
    piece.sort = _SORTS.setdefault(name, len(_SORTS) + 1)
    return piece.sort


def _first(piece: Piece) -> str:
    return piece.words.partition(" ")[0].replace(GAP, "#")


def _last(piece: Piece) -> str:
    return piece.words.rpartition(" ")[2].replace(GAP, "#")


def _takes_pronoun(piece: Piece) -> bool:
    return english.takes_pronoun(piece.words.partition(GAP)[0])


def _takes_phrase(piece: Piece) -> bool:
    return english.takes_phrase(piece.text.partition(GAP)[0])


def _takes_many(piece: Piece) -> bool:
    return "it" not in piece.words.split()  # not "put $x on tumblr and caption it $y"


def _prepositions(piece: Piece) -> tuple[str, ...]:
    return tuple(sorted(PREPOSITIONS.intersection(piece.words.split())))


def _ends_in_text(piece: Piece) -> bool:
    # As tokens write it, `param:title:String = ..`: pieces of `describe` have no slots.
    before, found, _ = piece.value.text.partition(piece.words[-1:] or GAP)
    return bool(found) and _TEXT_BEFORE.search(before) is not None


def _filtered(piece: Piece) -> tuple[str, ...]:
    return getattr(piece.value, "filtered", ())


_TEXT_BEFORE = re.compile(r":String \S+ $")

# Read from the words or the program of a piece; first and last without its determiner.
OF_WORDS: Mapping[str, Callable[[Piece], str | bool | tuple[str, ...]]] = {
    "first": _first,
    "last": _last,
    "takes_pronoun": _takes_pronoun,
    "takes_phrase": _takes_phrase,
    "takes_many": _takes_many,
    "prepositions": _prepositions,
    "ends_in_text": _ends_in_text,
    "filtered": _filtered,
}


# ----------------------------------------------------------------- what placeholders fill, as JSON


def slot_text(token: str, type_: str, parameter: str) -> str:
    """Return the JSON of one slot, as `"token":{..}`.

    >>> slot_text("NUMBER_0", "Number", "@com.x.f:count")
    '"NUMBER_0":{"type":"Number","parameter":"@com.x.f:count"}'
    """
    return f'"{token}":{slot_body(type_, parameter)}'


@lru_cache(maxsize=8192)  # a few per parameter of the library, asked for at every row
def slot_body(type_: str, parameter: str) -> str:
    """Return the JSON of a slot: the type and the parameter that it fills."""
    return json.dumps({"type": type_, "parameter": parameter}, separators=(",", ":"))
