"""Which words a place of a sentence can begin with, end with, and have at all.

The left-corner test of chart parsers, at both ends: most spans that a pattern may give to a child
have a word that the child never says, and are told apart without filling a cell. The sets may be
too large, never too small.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.synthesis.chart_patterns import (
    DETERMINERS,
    Fixed,
    Forms,
    Pattern,
    Place,
    Tokens,
    resolved,
)
from genie_dp.synthesis.chart_slots import Slot
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import GAP

_DETERMINERS = frozenset(token for tokens in DETERMINERS for token in tokens)
_ARTICLES = ("a", "an")


@dataclass(slots=True)
class Words:
    """The words of a category, a pool, or a place.

    Attributes:
        first: those that it begins with, and those after a determiner that it begins with.
        last: those that it ends with.
        every: all.
        is_bare: it may be nothing but determiners.
    """

    first: set[str] = field(default_factory=set)
    last: set[str] = field(default_factory=set)
    every: set[str] = field(default_factory=set)
    is_bare: bool = False

    @property
    def size(self) -> int:
        """Return a number that grows with each of them."""
        return len(self.first) + len(self.last) + len(self.every) + self.is_bare

    def may_say(self, tokens: Tokens) -> bool:
        """Tell whether nothing here speaks against the tokens."""
        if not tokens:
            return True
        return tokens[0] in self.first and tokens[-1] in self.last and self.every.issuperset(tokens)

    def add(self, tokens: Tokens) -> None:
        """Add what is said."""
        self.first.update(_beginning(tokens))
        self.last.update(tokens[-1:])
        self.every.update(tokens)
        self.is_bare |= _DETERMINERS.issuperset(tokens)


def _beginning(tokens: Tokens) -> Iterator[str]:
    """Yield the tokens up to the first that is no determiner."""
    for token in tokens:
        yield token
        if token not in _DETERMINERS:
            return


def words_of(
    patterns: Mapping[str, Sequence[Pattern]],
    leaves: Mapping[Any, Iterable[str]],
    slots_of: Mapping[int, Sequence[Slot]],
) -> dict[Any, Words]:
    """Return the words of each category and pool, and note down those of each slot in it.

    Args:
        patterns: category -> how it is said.
        leaves: pool -> texts.
        slots_of: id of a pattern -> the slots of its children.
    """
    found: dict[Any, Words] = {name: Words() for name in (*patterns, *leaves)}
    for name, texts in leaves.items():
        for text in texts:
            found[name].add(tuple(text.split()))
    # The last slot of a pattern may be the filler of the one before it: so from the right.
    slots = list(dict.fromkeys(s for of_one in slots_of.values() for s in reversed(of_one)))
    rest = [(name, p) for name, of_name in patterns.items() for p in of_name]
    while True:
        before = sum(words.size for words in found.values())
        for slot in slots:
            slot.words = _printed(slot, found.get(slot.pool, Words()))
        for name, pattern in rest:
            _add(found[name], pattern, slots_of[id(pattern)])
        rest = [(n, p) for n, p in rest if any(slot.is_cell for slot in slots_of[id(p)])]
        if sum(words.size for words in found.values()) == before:
            return found


def words_within(
    patterns: Iterable[Pattern], slots_of: Mapping[int, Sequence[Slot]]
) -> dict[int, Words]:
    """Return the words of patterns by their ids, once `words_of` noted down those of the slots.

    Of those alone whose children are more than constants: there are hundreds, not thousands.
    """
    found: dict[int, Words] = {}
    for pattern in patterns:
        slots = slots_of[id(pattern)]
        if any(slot.is_cell for slot in slots):
            _add(found.setdefault(id(pattern), Words()), pattern, slots)
    return found


def _printed(slot: Slot, said: Words) -> Words:
    """Return the words of a child as it is printed (see chart_slots.py)."""
    child = slot.child
    words = Words(set(said.first), set(said.last), set(said.every), said.is_bare)
    if child.gap:
        _fill(words, Words(set(child.gap.split()), set(child.gap.split()), set(child.gap.split())))
        if GAP in said.last:  # "look it up" for "look up it"
            words.last |= said.every
    elif slot.filler is not None:
        assert slot.filler.words is not None
        _fill(words, slot.filler.words, can_be_empty=slot.filler.least == 0)
    if child.after:
        words.first |= words.every
        words.is_bare = True
    if child.print_as == "the":
        words.first.add("the")
        words.every.add("the")
    if child.print_as == "a" or child.after_article or slot.filler is not None:
        words.first.update(_ARTICLES)
        words.every.update(_ARTICLES)
    return words


def _fill(words: Words, filler: Words, *, can_be_empty: bool = False) -> None:
    """Put something into the gap."""
    if GAP in words.first:
        words.first |= filler.first
        if filler.is_bare or can_be_empty:
            words.first |= words.every
            words.is_bare = True
    if GAP in words.last:
        words.last |= words.every if can_be_empty else set()
        words.last |= filler.last
    words.every |= filler.every


def _add(words: Words, pattern: Pattern, slots: Sequence[Slot]) -> None:
    is_first = True
    for step in pattern.steps:
        found = _of_step(step, slots)
        words.every |= found.every
        if is_first:
            words.first |= found.first
            is_first = found.is_bare or _may_be_empty(step, slots)
    words.is_bare |= is_first
    for step in reversed(pattern.steps):
        words.last |= _of_step(step, slots).last
        if not _may_be_empty(step, slots):
            return


def _of_step(step: Fixed | Forms | Place, slots: Sequence[Slot]) -> Words:
    if isinstance(step, Place):
        found = slots[step.index].words
        assert found is not None
        return found
    words = Words()
    for tokens in step.ways if isinstance(step, Forms) else (step.tokens,):
        words.add(tokens)
    return words


def _may_be_empty(step: Fixed | Forms | Place, slots: Sequence[Slot]) -> bool:
    match step:
        case Fixed(tokens):
            return not tokens
        case Forms(ways):
            return () in ways
        case Place(index):
            return slots[index].least == 0


def by_words(pieces: Sequence[Piece]) -> dict[str, list[Piece]]:
    """Return pieces by what they can look like."""
    found: dict[str, list[Piece]] = {}
    for piece in pieces:
        for text in resolved(piece.text):
            found.setdefault(text, []).append(piece)
    return found


def gap_places(leaves: Mapping[str, Sequence[Piece]]) -> dict[Tokens, list[Tokens]]:
    """Return what stands before the gaps of leaves -> what stands after them."""
    found: dict[Tokens, dict[Tokens, None]] = {}
    for text in leaves:
        before, gap, after = text.partition(GAP)
        if gap:
            found.setdefault(tuple(before.split()), {})[tuple(after.split())] = None
    return {before: list(after) for before, after in found.items()}
