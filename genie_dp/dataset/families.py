"""Rows that belong together, and the overlap of the parts of a split, found by hashes alone.

Everything here works on one array of 64-bit hashes a row, piece by piece and in place where it can:
the copies that numpy would make on the way take most of the memory of a split.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.dataset.parts import By
from genie_dp.dataset.scan import KEYS, ScannedRow, hash_of
from genie_dp.errors import Problem

U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]
NONE = np.uint64(np.iinfo(np.uint64).max)
_PIECE = 1 << 16  # rows looked up at once


class Tangled(Exception):
    """Ids, as hashes, whose families are unknown: see the code (D002, D003)."""

    def __init__(self, code: str, ids: U64):
        """Keep the hashes; the names of the ids are in the files."""
        super().__init__(code)
        self.code = code
        self.ids = frozenset(ids.tolist())


def family_numbers(ids: U64, parents: U64, pairs: U64) -> U64:
    """Return a number for each row that all of its family have.

    Args:
        ids: hashes of the rows' ids.
        parents: hashes of their parents; of the own id where there is none.
        pairs: hashes of the contents of the rows, to distinguish repeats from different rows with
            one id.

    Raises:
        Tangled: the family is unknown: an id of different rows has children (D003), or rows are
            their own ancestors (D002).

    >>> ids, parents = np.array([5, 6, 5, 8], np.uint64), np.array([5, 9, 5, 9], np.uint64)
    >>> numbers = family_numbers(ids, parents, np.array([1, 2, 3, 4], np.uint64))
    >>> bool(numbers[1] == numbers[3]), len(set(numbers.tolist()))
    (True, 3)
    """
    is_child = parents != ids
    repeated = _ids_of_many(ids, pairs)
    if len(repeated) and len(lost := np.intersect1d(repeated, parents[is_child])):
        raise Tangled("D003", lost)
    numbers = roots(ids, parents)
    # An id that nobody refers to may stand for several rows, as when two runs are joined.
    lonely = is_in(ids, repeated) & ~is_child
    numbers[lonely] = ids[lonely] ^ pairs[lonely]
    return numbers


def _ids_of_many(ids: U64, pairs: U64) -> U64:
    """Return the ids that stand for rows with different content."""
    ordered = np.sort(ids)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    inside = is_in(ids, twice)
    ids, pairs = ids[inside], pairs[inside]
    order = np.lexsort((pairs, ids))
    ids, pairs = ids[order], pairs[order]
    return np.unique(ids[1:][(ids[1:] == ids[:-1]) & (pairs[1:] != pairs[:-1])])


def roots(ids: U64, parents: U64) -> U64:
    """Return the oldest known ancestor of each row, by the chain of parents; hashes throughout.

    A parent that is no row itself still holds its children together.

    Raises:
        Tangled: rows that are their own ancestors.

    >>> ids, parents = np.array([5, 6, 7], np.uint64), np.array([5, 5, 6], np.uint64)
    >>> roots(ids, parents).tolist()
    [5, 5, 5]
    """
    ancestors = parents.copy()
    nodes, above = _middle(ids, parents)
    if not len(nodes):
        return ancestors
    jump = above.copy()
    for _ in range(len(nodes).bit_length() + 1):  # pointers double
        if not _climb(
            nodes, jump, ancestors
        ):  # done, or in a circle whose length is a power of two
            break
        _climb(nodes, jump.copy(), jump)
    before = ancestors.copy()
    if _climb(nodes, above, ancestors):
        raise Tangled("D002", np.unique(before[before != ancestors]))
    return ancestors


def _middle(ids: U64, parents: U64) -> tuple[U64, U64]:
    """Return the ids of rows that have children and a parent, sorted, and their parents.

    They alone are climbed over; of most data sets that is a small share.
    """
    is_child = parents != ids
    inside = is_child & is_in(ids, np.unique(parents[is_child]))
    ids, parents = ids[inside], parents[inside]
    order = np.lexsort((parents, ids))  # of a repeated row the smaller parent, not the first one
    nodes, first = np.unique(ids[order], return_index=True)
    return nodes, parents[order][first]


def _climb(nodes: U64, above: U64, labels: U64) -> bool:
    """Replace each of `labels` by its parent; others stay. Return whether any changed."""
    moved = False
    for piece in _pieces(len(labels)):
        part = labels[piece]
        place = np.minimum(np.searchsorted(nodes, part), len(nodes) - 1)
        new = np.where(nodes[place] == part, above[place], part)
        moved = moved or not np.array_equal(new, part)
        part[:] = new
    return moved


def components(labels: U64, relations: Sequence[U32]) -> U64:
    """Return for each row the smallest label of all rows that are linked with it.

    Rows are linked where they have one number in any of the relations, directly or through others.

    >>> key = np.array([3, 1, 2, 9], np.uint64)
    >>> some, other = np.array([0, 0, 1, 2], np.uint32), np.array([0, 1, 1, 2], np.uint32)
    >>> components(key, [some, other]).tolist()
    [1, 1, 1, 9]
    """
    least_labels = labels.copy()
    moved = True
    while moved:
        moved = False
        for group in relations:
            least = smallest(least_labels, group)
            for piece in _pieces(len(least_labels)):
                new = least[group[piece]]
                moved = moved or not np.array_equal(new, least_labels[piece])
                least_labels[piece] = new
    return least_labels


def smallest(values: U64, group: U32, inside: Bools | None = None) -> U64:
    """Return the smallest value of each group, of the rows inside; NONE where there is none.

    >>> values, group = np.array([7, 3, 5], np.uint64), np.array([0, 1, 0], np.uint32)
    >>> smallest(values, group).tolist()
    [5, 3]
    """
    least = np.full(int(group.max()) + 1 if len(group) else 0, NONE, np.uint64)
    for piece in _pieces(len(values)):
        groups, part = group[piece], values[piece]
        if inside is not None:
            groups, part = groups[inside[piece]], part[inside[piece]]
        np.minimum.at(least, groups, part)
    return least


def numbers_of(values: U64) -> U32:
    """Return a number from 0 for each row, the same for the same values.

    >>> numbers_of(np.array([70, 30, 70], np.uint64)).tolist()
    [1, 0, 1]
    """
    distinct = np.unique(values)
    numbers = np.empty(len(values), np.uint32)
    for piece in _pieces(len(values)):
        numbers[piece] = np.searchsorted(distinct, values[piece])
    return numbers


def is_in(values: U64, others: U64) -> Bools:
    """Return for each value whether it is among others, which are sorted.

    >>> is_in(np.array([4, 5], np.uint64), np.array([3, 5], np.uint64)).tolist()
    [False, True]
    """
    inside = np.zeros(len(values), bool)
    if len(others):
        for piece in _pieces(len(values)):
            place = np.minimum(np.searchsorted(others, values[piece]), len(others) - 1)
            inside[piece] = others[place] == values[piece]
    return inside


def _pieces(rows: int) -> Iterator[slice]:
    return (slice(start, start + _PIECE) for start in range(0, rows, _PIECE))


def as_array(numbers: Any) -> U64:
    """Return an array of 64-bit numbers that shares the memory of `array("Q")`."""
    return np.frombuffer(numbers, np.uint64) if len(numbers) else np.zeros(0, np.uint64)


# ----------------------------------------------------------- leaks: what two parts of a split share

SHOWN = 5  # examples of each leak
_WORDS: Mapping[str, str] = {
    "sentence": "sentences",
    "program": "programs (values aside)",
    "functions": "combinations of functions",
    "id": "rows that are the same but for their ids",
    "family": "families of rows (by their parents)",
}
Names = Callable[[list[int]], list[str]]


@dataclass(frozen=True, slots=True)
class Leak:
    """The overlap of two parts: its kind, count and first examples.

    Attributes:
        kind: the key that rows were split by, or "family".
        parts: the two.
        count: how many keys, or families, are in both.
        examples: ids of rows, one of each part.
    """

    kind: str
    parts: tuple[str, str]
    count: int
    examples: tuple[tuple[str, str], ...]

    def problem(self) -> Problem:
        """Return the leak as the command line shows it.

        >>> print(Leak("sentence", ("train", "test"), 1, (("S1", "S7"),)).problem().message)
        train and test share 1 of their sentences: S1 (train) and S7 (test)
        """
        first, second = self.parts
        examples = "; ".join(f"{a} ({first}) and {b} ({second})" for a, b in self.examples)
        more = self.count - len(self.examples)
        rest = f"; {more:,} more" if more else ""
        message = (
            f"{first} and {second} share {self.count:,} of their {_WORDS[self.kind]}: {examples}"
        )
        hint = "make the split again from all rows: genie-dp data split --output FOLDER INPUT.."
        return Problem("D010", message + rest, hint=hint)


@dataclass(frozen=True, slots=True)
class PartHashes:
    """The keys by which the parts of a split are compared, one number a row.

    Attributes:
        keys, ids, parents: hashes; of the own id where there is no parent.
        part: the number of each row's part in `names`, or a larger one for rows in no part.
        names: the parts.
    """

    keys: U64
    ids: U64
    parents: U64
    part: U8
    names: Sequence[str]


def find_leaks(rows: PartHashes, by: By, names: Names) -> tuple[Leak, ...]:
    """Return the overlaps of any two parts; an empty tuple when nothing leaks.

    Args:
        rows: hashes of all rows of all parts.
        by: the key of the split.
        names: takes places of rows; gives the rows' ids, to show examples.
    """
    leaks = [*_leaks_of(by, rows.keys, rows, names)]
    leaks += _leaks_of("family", _ancestors(rows), rows, names)
    order = {pair: place for place, pair in enumerate(combinations(rows.names, 2))}
    return tuple(sorted(leaks, key=lambda leak: order[leak.parts]))


def _leaks_of(kind: str, values: U64, rows: PartHashes, names: Names) -> Iterator[Leak]:
    """Yield the overlaps of two parts of one kind; 0 is none."""
    sets = [np.unique(values[rows.part == number]) for number in range(len(rows.names))]
    for first, second in combinations(range(len(sets)), 2):
        small, large = sorted((sets[first], sets[second]), key=len)
        common = small[is_in(small, large) & (small != 0)]
        if len(common):
            ids = []
            for part in (first, second):
                inside = rows.part == part
                places = [int(np.argmax((values == key) & inside)) for key in common[:SHOWN]]
                ids.append(names(places))
            pair = (rows.names[first], rows.names[second])
            yield Leak(kind, pair, len(common), tuple(zip(*ids, strict=True)))


def hashes_of_parts(parts: Mapping[str, Iterable[ScannedRow]], by: By) -> PartHashes:
    """Return the hashes of the rows of parts."""
    key = KEYS[by]
    keys, ids, parents = array("Q"), array("Q"), array("Q")
    part = bytearray()
    for number, rows in enumerate(parts.values()):
        for row in rows:
            keys.append(hash_of(key(row.utterance, row.program, row.functions)))
            own = hash_of(row.id)
            ids.append(own)
            parents.append(hash_of(row.parent) if row.parent else own)
            part.append(number)
    numbers = np.frombuffer(part, np.uint8) if part else np.zeros(0, np.uint8)
    return PartHashes(as_array(keys), as_array(ids), as_array(parents), numbers, tuple(parts))


def ids_at(rows: Iterable[ScannedRow], places: Sequence[int]) -> list[str]:
    """Return the ids of the rows at some places, counted from 0."""
    distinct = set(places)
    ids = {place: row.id for place, row in enumerate(rows) if place in distinct}
    return [ids[place] for place in places]


def _ancestors(rows: PartHashes) -> U64:
    """Return the oldest ancestor of each row, 0 for rows without relations.

    So ids that two runs have in common are no leak, unless something was made of those rows.
    """
    is_child = rows.parents != rows.ids
    related = is_child | is_in(rows.ids, np.unique(rows.parents[is_child]))
    try:
        ancestors = roots(rows.ids, rows.parents)
    except Tangled:  # rows that split would have refused
        ancestors = rows.parents.copy()
    ancestors[~related] = 0
    return ancestors
