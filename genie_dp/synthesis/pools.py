"""Partial derivations: a bounded sample for every category and exact depth."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from genie_dp.synthesis.pieces import Piece
from genie_dp.templates.guard import Test

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
    _by_level: dict[tuple[object, ...], Mapping[Key, Sequence[Piece]]] = field(default_factory=dict)

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
        tests: tuple[Test, ...] = (),
    ) -> Mapping[Key, Sequence[Piece]]:
        """Return the pieces that meet the requests, grouped by the attributes that a rule reads."""
        name = (category, lowest, highest, reads, asked, has_gap, tests)
        if name not in self._groups:
            merged: dict[Key, list[Piece]] = {}
            for level in range(lowest, min(highest + 1, len(self.levels.get(category, ())))):
                found = self._level_groups(category, level, reads, asked, has_gap, tests)
                for key, members in found.items():
                    merged.setdefault(key, []).extend(members)
            self._groups[name] = merged
        return self._groups[name]

    def _level_groups(
        self,
        category: str,
        level: int,
        reads: tuple[str, ...],
        asked: tuple[tuple[str, frozenset[str]], ...],
        has_gap: bool,
        tests: tuple[Test, ...],
    ) -> Mapping[Key, Sequence[Piece]]:
        name = (category, level, reads, asked, has_gap, tests)
        if name not in self._by_level:
            found = group(self.levels[category][level], reads, asked, has_gap, tests)
            if self.copies:
                found = {key: self._weighted(members) for key, members in found.items()}
            self._by_level[name] = found
        return self._by_level[name]

    def leaf_groups(
        self,
        pool: str,
        reads: tuple[str, ...],
        asked: tuple[tuple[str, frozenset[str]], ...],
        has_gap: bool,
        tests: tuple[Test, ...],
    ) -> Mapping[Key, Sequence[Piece]]:
        """Return the same for the pieces of a built-in category or a table."""
        name = (pool, reads, asked, has_gap, tests)
        if name not in self._groups:
            self._groups[name] = group(self.leaves[pool], reads, asked, has_gap, tests)
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
        self._by_level.clear()


def group(
    pieces: Iterator[Piece] | Sequence[Piece],
    reads: tuple[str, ...],
    asked: tuple[tuple[str, frozenset[str]], ...],
    has_gap: bool,
    tests: tuple[Test, ...] = (),
) -> dict[Key, list[Piece]]:
    """Return the pieces that meet requests and tests by their values of `reads`, first met first.

    What is asked of a piece is decided once for all that agree in the attributes asked about.
    """
    looked_at = tuple(
        dict.fromkeys([name for name, _ in asked] + [a for t in tests for _, a in t.reads])
    )
    decided: dict[Key, bool] = {}
    found: dict[Key, list[Piece]] = {}
    for piece in pieces:
        if bool(piece.value.gap) != has_gap:
            continue
        if looked_at:
            seen = tuple([piece.attribute(name) for name in looked_at])
            if seen not in decided:
                decided[seen] = _fits(dict(zip(looked_at, seen, strict=True)), asked, tests)
            if not decided[seen]:
                continue
        key = tuple([piece.attribute(name) for name in reads])
        found.setdefault(key, []).append(piece)
    return found


def _fits(
    attributes: Mapping[str, object],
    asked: tuple[tuple[str, frozenset[str]], ...],
    tests: tuple[Test, ...],
) -> bool:
    return all(attributes[name] in allowed for name, allowed in asked) and all(
        test.evaluate(lambda _, name: attributes[name]) for test in tests
    )
