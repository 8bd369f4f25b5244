"""Places of children read backwards: what may have been said there, given what is printed.

The printers of rules.py drop or change a child's determiner, leave its first words out, put an
article before it, or something into its gap. A slot undoes all of that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from genie_dp.synthesis.chart_patterns import DETERMINERS, Tokens
from genie_dp.synthesis.layout import ChildSpec, placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.wording import PARTICLE
from genie_dp.templates import english

if TYPE_CHECKING:
    from genie_dp.synthesis.chart_words import Words

View = tuple[int | str, ...]
"""Where words stand: places in the text around them, or words that were not said."""
Candidate = tuple[Piece, View]
Option = Sequence[Sequence[Candidate]]
"""Candidates for a child and for each of those that stand in its gap."""


class Source(Protocol):
    """What a slot asks of a chart."""

    def pieces(self, slot: "Slot", tokens: Tokens) -> Sequence[Piece]:
        """Return what the slot's category or pool says with the tokens."""

    def gaps(self, slot: "Slot", tokens: Tokens) -> Iterator[tuple[int, int]]:
        """Yield where something may stand in the gap of what the slot says."""

    def options(self, slot: "Slot", tokens: Tokens) -> Sequence[Option]:
        """Return the choices for another slot."""


@dataclass(slots=True, eq=False)
class Slot:
    """A child as it is printed.

    Attributes:
        pool: the category, or the key of a pool of leaves.
        is_cell: it is a category.
        least: the fewest tokens that it may have.
        filler: the slot of the child in its gap.
        words: those that may be printed here, once the grammar is indexed.
    """

    child: ChildSpec
    pool: Any
    is_cell: bool
    least: int
    filler: "Slot | None"
    words: "Words | None" = None

    def may_say(self, tokens: Tokens) -> bool:
        """Tell whether none of the words speaks against their being printed here."""
        return self.words is None or self.words.may_say(tokens)

    def options(self, tokens: Tokens, source: Source) -> Iterator[Option]:
        """Yield the choices under which the tokens are printed here."""
        start = 0
        if self.child.after_article:
            if len(tokens) < 2 or tokens[0] != english.article(" ".join(tokens[1:])):
                return
            tokens, start = tokens[1:], 1
        places: View = tuple(range(start, start + len(tokens)))
        gap = self.child.gap
        if gap is None:
            found = self._said(tokens, places, source)
            if found:
                yield [found]
        elif gap:
            found = self._around_words(tokens, places, tuple(gap.split()), source)
            if found:
                yield [found]
        else:
            yield from self._around_filler(tokens, places, source)

    def _around_words(
        self, tokens: Tokens, places: View, words: Tokens, source: Source
    ) -> list[Candidate]:
        found: list[Candidate] = []
        for at in range(len(tokens) - len(words) + 1):
            end = at + len(words)
            if tokens[at:end] == words:
                host, view = _opened(tokens, places, at, end)
                found += self._said(host, view, source)
                moved = _particle_first(host, at)
                if moved is not None:
                    swapped = (*view[:at], view[at + 1], view[at], *view[at + 2 :])
                    found += self._said(moved, swapped, source)
        return found

    def _around_filler(self, tokens: Tokens, places: View, source: Source) -> Iterator[Option]:
        filler = self.filler
        assert filler is not None
        for words, at, end in self._gaps(tokens, source):
            if end - at < filler.least or not filler.may_say(tokens[at:end]):
                continue
            host = self._said(*_opened(words, places, at, end), source)
            if not host:
                continue
            for option in source.options(filler, tokens[at:end]):
                shift = at + (places[0] if isinstance(places[0], int) else 0)
                yield [host, *([_later(c, shift) for c in of_child] for of_child in option)]

    def _gaps(self, tokens: Tokens, source: Source) -> Iterator[tuple[Tokens, int, int]]:
        """Yield (tokens, start, end): where the filler may stand.

        In the tokens, the article before it is as it was before the filler came: "a" for "an".
        """
        for at, end in self._plain_gaps(tokens, source):
            yield tokens, at, end
        for place, token in enumerate(tokens):
            if token == "an":
                words = (*tokens[:place], "a", *tokens[place + 1 :])
                for at, end in self._plain_gaps(words, source):
                    if at == place + 1:
                        yield words, at, end

    def _plain_gaps(self, tokens: Tokens, source: Source) -> Iterator[tuple[int, int]]:
        """Yield where a gap may be; what is made of other words is looked at everywhere."""
        if self.child.print_as not in ("own", "any"):
            yield from ((a, b) for a in range(len(tokens)) for b in range(a, len(tokens) + 1))
            return
        after = tuple(self.child.after.split())
        found = dict.fromkeys(source.gaps(self, tokens))
        if after:
            moved = source.gaps(self, after + tokens)
            found |= dict.fromkeys((a - len(after), b - len(after)) for a, b in moved)
        yield from ((a, b) for a, b in found if a >= 0)

    # ------------------------------------------------------------------- one child's words

    def _said(self, tokens: Tokens, places: View, source: Source) -> list[Candidate]:
        found: list[Candidate] = []
        for words, view in self._with_what_is_left_out(tokens, places):
            found += [c for c in self._determined(words, view, source) if self._is_asked(c[0])]
        return found

    def _is_asked(self, piece: Piece) -> bool:
        if placeholder_of(self.child.pool) is not None:  # nothing is asked of constants
            return True
        if bool(piece.value.gap) != (self.child.gap is not None):
            return False
        return all(piece.attribute(name) in allowed for name, allowed in self.child.asked)

    def _with_what_is_left_out(self, tokens: Tokens, places: View) -> Iterator[tuple[Tokens, View]]:
        after = tuple(self.child.after.split())
        if after:
            yield after + tokens, after + places
        if not after or tokens[: len(after)] != after:
            yield tokens, places

    def _determined(self, tokens: Tokens, view: View, source: Source) -> Iterator[Candidate]:
        match self.child.print_as:
            case "none":
                yield from self._undetermined(tokens, view, source)
            case "the":
                for piece in source.pieces(self, tokens):
                    if piece.features.own in ("the", "my"):
                        yield piece, view
                if tokens[:1] == ("the",):
                    for piece, rest in self._undetermined(tokens[1:], view[1:], source):
                        if piece.features.own not in ("the", "my"):
                            yield piece, rest
            case "a":
                if tokens[:1] in (("a",), ("an",)):
                    yield from self._undetermined(tokens[1:], view[1:], source)
            case _:
                yield from ((piece, view) for piece in source.pieces(self, tokens))

    def _undetermined(self, tokens: Tokens, view: View, source: Source) -> Iterator[Candidate]:
        """Yield the pieces whose words, without the determiner, are the tokens."""
        for determiner in DETERMINERS:
            if determiner and not self.is_cell:
                continue
            text = " ".join(determiner)
            for piece in source.pieces(self, determiner + tokens):
                if piece.features.det == text:
                    yield piece, determiner + view


def _particle_first(host: Tokens, at: int) -> Tokens | None:
    """Return "look up GAP" for "look GAP up": nouns come after the particle; None for no such."""
    if at != 1 or len(host) < 3:
        return None
    moved = (host[0], host[2], GAP, *host[3:])
    printed = PARTICLE.sub(rf"\1 {GAP} \2", " ".join(moved))
    return moved if printed == " ".join(host) else None


def _opened(tokens: Tokens, places: View, start: int, end: int) -> tuple[Tokens, View]:
    return (
        (*tokens[:start], GAP, *tokens[end:]),
        (*places[:start], GAP, *places[end:]),
    )


def _later(candidate: Candidate, by: int) -> Candidate:
    piece, view = candidate
    return piece, tuple([place + by if isinstance(place, int) else place for place in view])
