"""Partial derivations: a bounded sample for every category and exact depth."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from genie_dp.synthesis.pieces import ENGLISH, OF_WORDS, Piece, sort_of
from genie_dp.templates.guard import GuardTest

Key = tuple[object, ...]
OTHER = "<other>"  # stands for values that no guard tells apart


@dataclass(slots=True)
class Pools:
    """The pieces made so far, by category and depth, and indices over them made on demand.

    Attributes:
        leaves: pieces of built-in categories, constants and tables, by pool name.
        levels: category -> pieces of depth 0, of depth 1, ..
        balance: exponent of a function's share in a group where it does not decide the cell.
        copies: function -> how often its pieces stand in a group: by weight; "" is any other.
        clashes: sentences of partial derivations that were met with two programs.
        refused: partial derivations that were left out as ill-typed: "template: code" -> how many.
        origins: id of a piece -> its rule and the pieces of its children, for all pieces but
            leaves; None unless they are needed.
    """

    leaves: dict[str, Sequence[Piece]] = field(default_factory=dict)
    levels: dict[str, list[Sequence[Piece]]] = field(default_factory=dict)
    balance: float = 1.0
    copies: Mapping[str, int] = field(default_factory=dict)
    clashes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    origins: dict[int, tuple[Any, tuple[Piece, ...]]] | None = None
    _groups: dict[tuple[object, ...], Mapping[Key, Sequence[Piece]]] = field(default_factory=dict)
    _kinds: dict[tuple[str, tuple[str, ...]], list[list[Piece]]] = field(default_factory=dict)
    _by_level: dict[tuple[object, ...], Mapping[Key, Sequence[Piece]]] = field(default_factory=dict)

    def add(self, category: str, pieces: Sequence[Piece]) -> None:
        """Add the pieces of a category at the next depth."""
        self.levels.setdefault(category, []).append(pieces)

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
        tests: tuple[GuardTest, ...] = (),
    ) -> Mapping[Key, Sequence[Piece]]:
        """Return the pieces that meet the requests, grouped by the attributes that a rule reads."""
        name = (category, lowest, highest, reads, asked, has_gap, tests)
        if name not in self._groups:
            merged: dict[Key, list[Piece]] = {}
            for level in range(lowest, min(highest + 1, len(self.levels.get(category, ())))):
                level_groups = self._level_groups(category, level, reads, asked, has_gap, tests)
                for key, members in level_groups.items():
                    merged.setdefault(key, []).extend(members)
            if "function" not in reads:
                merged = {key: thin_out(members, self.balance) for key, members in merged.items()}
            if self.copies:
                merged = {key: self._repeat_by_weight(members) for key, members in merged.items()}
            self._groups[name] = merged
        return self._groups[name]

    def _level_groups(
        self,
        category: str,
        level: int,
        reads: tuple[str, ...],
        asked: tuple[tuple[str, frozenset[str]], ...],
        has_gap: bool,
        tests: tuple[GuardTest, ...],
    ) -> Mapping[Key, Sequence[Piece]]:
        name = (category, level, reads, asked, has_gap, tests)
        if name not in self._by_level:
            pieces = self.levels[category][level]
            kinds = self._kinds_of(f"{category} {level}", pieces, _words_in(reads, asked, tests))
            self._by_level[name] = group(kinds, reads, asked, has_gap, tests)
        return self._by_level[name]

    def leaf_groups(
        self,
        pool: str,
        reads: tuple[str, ...],
        asked: tuple[tuple[str, frozenset[str]], ...],
        has_gap: bool,
        tests: tuple[GuardTest, ...],
    ) -> Mapping[Key, Sequence[Piece]]:
        """Return the same for the pieces of a built-in category or a table."""
        name = (pool, reads, asked, has_gap, tests)
        if name not in self._groups:
            kinds = self._kinds_of(pool, self.leaves[pool], _words_in(reads, asked, tests))
            self._groups[name] = group(kinds, reads, asked, has_gap, tests)
        return self._groups[name]

    def _kinds_of(
        self, name: str, pieces: Sequence[Piece], words: tuple[str, ...]
    ) -> list[list[Piece]]:
        if (name, words) not in self._kinds:
            self._kinds[name, words] = kinds_of(pieces, words)
        return self._kinds[name, words]

    def merge_alike(
        self, groups: Mapping[Key, Sequence[Piece]], apart: tuple[frozenset[Any] | None, ...]
    ) -> Mapping[Key, Sequence[Piece]]:
        """Return the groups with those joined that differ only in values which are all alike.

        `apart` has, for each place of a key, the values that matter; None where all of them do.
        """
        if all(values is None for values in apart):
            return groups
        name = ("merged", id(groups), apart)
        if name not in self._groups:
            found: dict[Key, list[Piece]] = {}
            for key, pieces in groups.items():
                seen = tuple(
                    [
                        value if values is None or value in values else OTHER
                        for value, values in zip(key, apart, strict=True)
                    ]
                )
                found.setdefault(seen, []).extend(pieces)
            self._groups[name] = found
        return self._groups[name]

    def constant_group(self, pieces: Sequence[Piece]) -> Mapping[Key, Sequence[Piece]]:
        """Return the pieces of a placeholder as one group, the same one each time."""
        name = ("constants", id(pieces))
        if name not in self._groups:
            self._groups[name] = {(): pieces} if pieces else {}
        return self._groups[name]

    def _repeat_by_weight(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces, each as often as its function weighs; repeated rows are dropped."""
        others = self.copies[""]
        return [
            piece
            for piece in pieces
            for _ in range(self.copies.get(piece.attribute("function"), others))
        ]


def thin_out(pieces: list[Piece], balance: float) -> list[Piece]:
    """Return the pieces with functions of many pieces thinned out, evenly, in the same order.

    Where a cell is not of one function, its pieces would follow their counts: a function
    with five enum words in ten templates would lead ten sentences for one of a plain function.
    Of n pieces, m (n / m) ** balance stay, where m is the median count of all functions.
    """
    of_function = [getattr(piece.value.state, "function", "") for piece in pieces]
    counts = Counter(of_function)
    if len(counts) < 2:
        return pieces
    median = sorted(counts.values())[len(counts) // 2]
    steps = {
        function: count / (median * (count / median) ** balance)
        for function, count in counts.items()
        if count > median
    }
    if not steps:
        return pieces
    counts_so_far = dict.fromkeys(steps, 0)
    remaining = []
    for piece, function in zip(pieces, of_function, strict=True):
        if function in steps:
            number, step = counts_so_far[function], steps[function]
            counts_so_far[function] += 1
            if number and int(number / step) == int((number - 1) / step):
                continue
        remaining.append(piece)
    return remaining


def kinds_of(pieces: Iterable[Piece], words: tuple[str, ...]) -> list[list[Piece]]:
    """Return the pieces sorted into kinds: alike in all that requests and tests read.

    Of attributes that are read from the words of a piece, `words` names those that count.
    """
    readers = [OF_WORDS[word] for word in words]
    kinds: dict[object, list[Piece]] = {}
    for piece in pieces:
        sort: object = piece.sort or sort_of(piece)
        if readers:
            sort = (sort, *[read(piece) for read in readers])
        if sort in kinds:
            kinds[sort].append(piece)
        else:
            kinds[sort] = [piece]
    return list(kinds.values())


def _words_in(
    reads: tuple[str, ...],
    asked: tuple[tuple[str, frozenset[str]], ...],
    tests: tuple[GuardTest, ...],
) -> tuple[str, ...]:
    """Return the attributes read from words that a request, a test or a rule looks at."""
    names = {*reads, *(name for name, _ in asked), *(a for t in tests for _, a in t.reads)}
    return tuple(sorted(names & OF_WORDS.keys()))


def group(
    kinds: Iterable[Sequence[Piece]],
    reads: tuple[str, ...],
    asked: tuple[tuple[str, frozenset[str]], ...],
    has_gap: bool,
    tests: tuple[GuardTest, ...] = (),
) -> dict[Key, list[Piece]]:
    """Return the pieces that meet requests and tests by their values of `reads`, first met first.

    One piece of each kind is tested. Requests and tests are decided once for all that agree in
    the attributes asked about.
    """
    looked_at = tuple(
        dict.fromkeys([name for name, _ in asked] + [a for t in tests for _, a in t.reads])
    )
    see, read = reader(looked_at), reader(reads)
    decided: dict[Key, bool] = {}
    groups: dict[Key, list[Piece]] = {}
    for kind in kinds:
        piece = kind[0]
        if bool(piece.value.gap) != has_gap:
            continue
        if looked_at:
            seen = see(piece)
            if seen not in decided:
                decided[seen] = _fits(dict(zip(looked_at, seen, strict=True)), asked, tests)
            if not decided[seen]:
                continue
        groups.setdefault(read(piece), []).extend(kind)
    return groups


def reader(names: tuple[str, ...]) -> Callable[[Piece], Key]:
    """Return the function from a piece to its attributes of those names.

    Attributes of features and states are read in C; the rest by `Piece.attribute`.
    """
    if not names:
        return lambda piece: ()
    each = [OF_WORDS.get(name) or attrgetter(_path(name)) for name in names]
    if len(each) > 1 and OF_WORDS.keys().isdisjoint(names):
        together: Callable[[Piece], Key] = attrgetter(*map(_path, names))
    else:

        def together(piece: Piece) -> Key:
            return tuple([get(piece) for get in each])

    def read(piece: Piece) -> Key:
        if piece.attributes:
            return tuple([piece.attribute(name) for name in names])
        try:
            return together(piece)
        except AttributeError:  # a state without a function, or a mistake
            return tuple([piece.attribute(name) for name in names])

    return read


def _path(name: str) -> str:
    return _PATHS.get(name, f"value.state.{name}")


_PATHS = {"gap": "value.gap", **{name: f"features.{name}" for name in ENGLISH}}


def _fits(
    attributes: Mapping[str, object],
    asked: tuple[tuple[str, frozenset[str]], ...],
    tests: tuple[GuardTest, ...],
) -> bool:
    return all(attributes[name] in allowed for name, allowed in asked) and all(
        test.evaluate(lambda _, name: attributes[name]) for test in tests
    )
