"""Partial derivations: a bounded sample for every category and exact depth."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from genie_dp.synthesis.pieces import COMPUTED, ENGLISH, Piece
from genie_dp.templates.guard import Test

Key = tuple[object, ...]


@dataclass(slots=True)
class Pools:
    """The pieces made so far, by category and depth, and indices over them made on demand.

    Attributes:
        leaves: pieces of built-in categories, constants and tables, by pool name.
        levels: category -> pieces of depth 0, of depth 1, ..
        balance: exponent of a function's share in a group where it does not decide the cell.
        copies: function -> how often its pieces stand in a group: by weight; "" is any other.
        clashes: sentences of partial derivations that were met with two programs.
    """

    leaves: dict[str, Sequence[Piece]] = field(default_factory=dict)
    levels: dict[str, list[list[Piece]]] = field(default_factory=dict)
    balance: float = 1.0
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
            if "function" not in reads:
                merged = {key: thinned(members, self.balance) for key, members in merged.items()}
            if self.copies:
                merged = {key: self._weighted(members) for key, members in merged.items()}
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
            pieces = self.levels[category][level]
            self._by_level[name] = group(pieces, reads, asked, has_gap, tests)
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


def thinned(pieces: list[Piece], balance: float) -> list[Piece]:
    """Return the pieces with functions of many pieces thinned out, evenly, in the same order.

    Where a cell does not speak of one function, its pieces would follow their counts: a function
    with five enum words in ten templates would lead ten sentences for one of a plain function.
    Of n pieces, m (n / m) ** balance stay, where m is the median count of all functions.
    """
    of_function = [piece.attribute("function") for piece in pieces]
    counts = Counter(of_function)
    if len(counts) < 2:
        return pieces
    median = sorted(counts.values())[len(counts) // 2]
    steps = {
        function: count / (median * (count / median) ** balance) if count > median else 1.0
        for function, count in counts.items()
    }
    met: Counter[str] = Counter()
    kept = []
    for piece, function in zip(pieces, of_function, strict=True):
        number, step = met[function], steps[function]
        met[function] += 1
        if int(number / step) != int((number - 1) / step) or number == 0:
            kept.append(piece)
    return kept


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
    see, read = reader(looked_at), reader(reads)
    decided: dict[Key, bool] = {}
    found: dict[Key, list[Piece]] = {}
    for piece in pieces:
        if bool(piece.value.gap) != has_gap:
            continue
        if looked_at:
            seen = see(piece)
            if seen not in decided:
                decided[seen] = _fits(dict(zip(looked_at, seen, strict=True)), asked, tests)
            if not decided[seen]:
                continue
        found.setdefault(read(piece), []).append(piece)
    return found


def reader(names: tuple[str, ...]) -> Callable[[Piece], Key]:
    """Return the function from a piece to its attributes of those names.

    What features and states hold is read in one call of C; the rest by `Piece.attribute`.
    """
    if len(names) < 2 or any(name in COMPUTED for name in names):
        return lambda piece: tuple([piece.attribute(name) for name in names])
    quick = attrgetter(
        *[f"features.{name}" if name in ENGLISH else f"value.state.{name}" for name in names]
    )

    def read(piece: Piece) -> Key:
        if piece.attributes:
            return tuple([piece.attribute(name) for name in names])
        try:
            key: Key = quick(piece)
        except AttributeError:  # a state without a function, or a mistake
            return tuple([piece.attribute(name) for name in names])
        return key

    return read


def _fits(
    attributes: Mapping[str, object],
    asked: tuple[tuple[str, frozenset[str]], ...],
    tests: tuple[Test, ...],
) -> bool:
    return all(attributes[name] in allowed for name, allowed in asked) and all(
        test.evaluate(lambda _, name: attributes[name]) for test in tests
    )
