"""Partial derivations: a bounded sample for every category and exact depth."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from genie_dp.synthesis.pieces import Piece

Key = tuple[object, ...]


@dataclass(slots=True)
class Pools:
    """The pieces made so far, by category and depth, and indices over them made on demand.

    Attributes:
        leaves: pieces of built-in categories, constants and tables, by pool name.
        levels: category -> pieces of depth 0, of depth 1, ..
        copies: function -> how often its pieces stand in a group: by weight; "" is any other.
        clashes: sentences of partial derivations that were met with two programs.
    """

    leaves: dict[str, Sequence[Piece]] = field(default_factory=dict)
    levels: dict[str, list[list[Piece]]] = field(default_factory=dict)
    copies: Mapping[str, int] = field(default_factory=dict)
    clashes: Counter[str] = field(default_factory=Counter)
    _groups: dict[tuple[object, ...], Mapping[Key, Sequence[Piece]]] = field(default_factory=dict)

    def pieces(self, category: str, lowest: int, highest: int) -> Iterator[Piece]:
        """Yield the pieces of depths lowest to highest, both included."""
        for level in self.levels.get(category, [])[lowest : highest + 1]:
            yield from level

    def groups(
        self,
        category: str,
        lowest: int,
        highest: int,
        reads: tuple[str, ...],
        asked: tuple[tuple[str, frozenset[str]], ...],
        has_gap: bool,
    ) -> Mapping[Key, Sequence[Piece]]:
        """Return the pieces that meet the requests, grouped by the attributes that a rule reads."""
        name = (category, lowest, highest, reads, asked, has_gap)
        if name not in self._groups:
            pieces = self.pieces(category, lowest, highest)
            found = group(pieces, reads, asked, has_gap)
            if self.copies:
                found = {key: self._weighted(members) for key, members in found.items()}
            self._groups[name] = found
        return self._groups[name]

    def _weighted(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces, each as often as its function weighs; repeated rows are dropped."""
        others = self.copies[""]
        return [
            piece
            for piece in pieces
            for _ in range(self.copies.get(piece.attribute("function"), others))
        ]

    def forget_groups(self) -> None:
        """Drop the indices; they are made again on demand."""
        self._groups.clear()


def group(
    pieces: Iterator[Piece] | Sequence[Piece],
    reads: tuple[str, ...],
    asked: tuple[tuple[str, frozenset[str]], ...],
    has_gap: bool,
) -> dict[Key, list[Piece]]:
    """Return the pieces that meet the requests by their values of `reads`, in first-met order."""
    found: dict[Key, list[Piece]] = {}
    for piece in pieces:
        if bool(piece.value.gap) != has_gap:
            continue
        if all(piece.attribute(name) in allowed for name, allowed in asked):
            key = tuple([piece.attribute(name) for name in reads])
            found.setdefault(key, []).append(piece)
    return found
