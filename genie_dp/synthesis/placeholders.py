"""Placeholders inside the engine: one private character each, so that renumbering is exact.

NUMBER_0 of the output is one character of Unicode's private use area while rows are put together:
`str.replace` of it can neither hit PHONE_NUMBER_0 nor NUMBER_01, and is the fastest way to rename.
The k-th placeholder of stem i is chr(FIRST + 10 i + k): at most ten of a stem in one sentence, so
that their order as text is their order as numbers.
"""

import re
from dataclasses import dataclass, field

FIRST = 0xE000
PER_STEM = 10
MOST_STEMS = 600
GAP = "\uf8ff"  # where the words of another piece go
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
        found = sorted({c for c in text if FIRST <= ord(c) < _SPARE})
        return [(character, self.token(character)) for character in found]

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
    met: dict[int, list[str]] = {}
    for character in dict.fromkeys(_ANY.findall(words)):
        met.setdefault((ord(character) - FIRST) // PER_STEM, []).append(character)
    moves = [
        (old, chr(FIRST + PER_STEM * stem + k))
        for stem, characters in met.items()
        for k, old in enumerate(characters)
        if ord(old) != FIRST + PER_STEM * stem + k
    ]
    away = tuple((old, chr(_SPARE + k)) for k, (old, _) in enumerate(moves))
    back = tuple((chr(_SPARE + k), new) for k, (_, new) in enumerate(moves))
    return away + back
