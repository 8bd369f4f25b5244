"""Which rows were made of one: a row, its paraphrases, and the copies of both."""

from array import array
from collections.abc import Iterable, Mapping

import numpy as np

from genie_dp.dataset.keys import hashed
from genie_dp.records import Example


def oldest_of(rows: Iterable[Example]) -> Mapping[int, int]:
    """Return the oldest ancestor of each row that has both parent and children, as hashes of ids.

    Other rows need no entry: the hash of their parent, or of their own id, is looked up. Memory:
    16 bytes a row with a parent, and a number for each entry.

    >>> rows = [Example("S", "", ""), Example("P", "", "", parent="S"),
    ...     Example("A", "", "", parent="P")]
    >>> oldest_of(rows) == {hashed("P"): hashed("S")}
    True
    """
    ids, parents = array("Q"), array("Q")
    for row in rows:
        if row.parent and row.parent != row.id:
            ids.append(hashed(row.id))
            parents.append(hashed(row.parent))
    if not ids:
        return {}
    own, above = np.frombuffer(ids, np.uint64), np.frombuffer(parents, np.uint64)
    inside = np.isin(own, above)
    next_up: dict[int, int] = {}
    for id, parent in zip(own[inside].tolist(), above[inside].tolist(), strict=True):
        # Of an id that comes twice the smaller parent, so that no order of files matters.
        next_up[id] = min(parent, next_up.get(id, parent))
    return {id: _climbed(id, next_up) for id in next_up}


def _climbed(id: int, next_up: Mapping[int, int]) -> int:
    """Return the last of a chain; of rows that are their own ancestors, the smallest of these."""
    seen: list[int] = []
    while id in next_up:
        if id in seen:
            return min(seen[seen.index(id) :])
        seen.append(id)
        id = next_up[id]
    return id
