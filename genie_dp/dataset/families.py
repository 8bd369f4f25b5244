"""Rows that belong together, found by arrays of hashes alone.

Everything here works on one array of 64-bit hashes a row, piece by piece and in place where it can:
the copies that numpy would make on the way are what a split needs its memory for.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]
NONE = np.uint64(np.iinfo(np.uint64).max)
_PIECE = 1 << 16  # rows looked up at once


class Tangled(Exception):
    """Ids, as hashes, whose families cannot be told: see the code (D002, D003)."""

    def __init__(self, code: str, ids: U64):
        """Keep the hashes; the names of the ids are in the files."""
        super().__init__(code)
        self.code = code
        self.ids = frozenset(ids.tolist())


def families(ids: U64, parents: U64, pairs: U64) -> U64:
    """Return a number for each row that all of its family have.

    Args:
        ids: hashes of the rows' ids.
        parents: hashes of their parents; of the own id where there is none.
        pairs: hashes of what the rows say, to tell repeats from different rows with one id.

    Raises:
        Tangled: no family can be told: an id of different rows has children (D003), or rows are
            their own ancestors (D002).

    >>> ids, parents = np.array([5, 6, 5, 8], np.uint64), np.array([5, 9, 5, 9], np.uint64)
    >>> found = families(ids, parents, np.array([1, 2, 3, 4], np.uint64))
    >>> bool(found[1] == found[3]), len(set(found.tolist()))
    (True, 3)
    """
    is_child = parents != ids
    reused = _reused(ids, pairs)
    if len(reused) and len(lost := np.intersect1d(reused, parents[is_child])):
        raise Tangled("D003", lost)
    found = roots(ids, parents)
    # An id that nobody refers to may stand for several rows, as when two runs are joined.
    lonely = is_in(ids, reused) & ~is_child
    found[lonely] = ids[lonely] ^ pairs[lonely]
    return found


def _reused(ids: U64, pairs: U64) -> U64:
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
    found = parents.copy()
    nodes, above = _middle(ids, parents)
    if not len(nodes):
        return found
    jump = above.copy()
    for _ in range(len(nodes).bit_length() + 1):  # pointers double
        if not _climb(nodes, jump, found):  # done, or in a circle whose length is a power of two
            break
        _climb(nodes, jump.copy(), jump)
    before = found.copy()
    if _climb(nodes, above, found):
        raise Tangled("D002", np.unique(before[before != found]))
    return found


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


def _climb(nodes: U64, above: U64, found: U64) -> bool:
    """Put what is above each of `found` in its place; what is no node stays. Tell if any moved."""
    moved = False
    for piece in _pieces(len(found)):
        part = found[piece]
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
    found = labels.copy()
    moved = True
    while moved:
        moved = False
        for group in relations:
            least = smallest(found, group)
            for piece in _pieces(len(found)):
                new = least[group[piece]]
                moved = moved or not np.array_equal(new, found[piece])
                found[piece] = new
    return found


def smallest(values: U64, group: U32, inside: Bools | None = None) -> U64:
    """Return the smallest value of each group, of the rows inside; NONE where there is none.

    >>> values, group = np.array([7, 3, 5], np.uint64), np.array([0, 1, 0], np.uint32)
    >>> smallest(values, group).tolist()
    [5, 3]
    """
    least = np.full(int(group.max()) + 1 if len(group) else 0, NONE, np.uint64)
    for piece in _pieces(len(values)):
        where, what = group[piece], values[piece]
        if inside is not None:
            where, what = where[inside[piece]], what[inside[piece]]
        np.minimum.at(least, where, what)
    return least


def numbered(values: U64) -> U32:
    """Return a number from 0 for each row, the same for the same values.

    >>> numbered(np.array([70, 30, 70], np.uint64)).tolist()
    [1, 0, 1]
    """
    known = np.unique(values)
    found = np.empty(len(values), np.uint32)
    for piece in _pieces(len(values)):
        found[piece] = np.searchsorted(known, values[piece])
    return found


def is_in(values: U64, known: U64) -> Bools:
    """Tell of each value whether it is among others, which are sorted.

    >>> is_in(np.array([4, 5], np.uint64), np.array([3, 5], np.uint64)).tolist()
    [False, True]
    """
    found = np.zeros(len(values), bool)
    if len(known):
        for piece in _pieces(len(values)):
            place = np.minimum(np.searchsorted(known, values[piece]), len(known) - 1)
            found[piece] = known[place] == values[piece]
    return found


def _pieces(rows: int) -> Iterator[slice]:
    return (slice(start, start + _PIECE) for start in range(0, rows, _PIECE))


def as_array(numbers: Any) -> U64:
    """Return an array of 64-bit numbers that shares the memory of `array("Q")`."""
    return np.frombuffer(numbers, np.uint64) if len(numbers) else np.zeros(0, np.uint64)
