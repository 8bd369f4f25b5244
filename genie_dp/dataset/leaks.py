"""The leak check: what two parts of a split have in common and must not."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from genie_dp.dataset.keys import KEYS, hashed
from genie_dp.dataset.scan import Row
from genie_dp.dataset.split import U64, By, Tangled, roots
from genie_dp.errors import Problem

SHOWN = 5  # examples of each leak
_WORDS: Mapping[str, str] = {
    "sentence": "sentences",
    "program": "programs (values aside)",
    "functions": "combinations of functions",
    "id": "rows that are the same but for their ids",
    "family": "families of rows (by their parents)",
}
Names = Callable[[str, list[int]], list[str]]


@dataclass(frozen=True, slots=True)
class Leak:
    """What is in two parts, how often, and the first examples.

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
        shown = "; ".join(f"{a} ({first}) and {b} ({second})" for a, b in self.examples)
        more = self.count - len(self.examples)
        rest = f"; {more:,} more" if more else ""
        message = f"{first} and {second} share {self.count:,} of their {_WORDS[self.kind]}: {shown}"
        hint = "make the split again from all rows: genie-dp split --output FOLDER INPUT.."
        return Problem("D010", message + rest, hint=hint)


class Kept(NamedTuple):
    """Hashes of the keys, ids and parents of a part's rows; own ids where there is no parent."""

    keys: U64
    ids: U64
    parents: U64


def find_leaks(parts: Mapping[str, Kept], by: By, names: Names) -> tuple[Leak, ...]:
    """Return what any two parts have in common; an empty tuple when nothing leaks.

    Args:
        by: what rows were split by.
        names: takes a part and places of its rows; gives the rows' ids, to show examples.
    """
    families = _families(list(parts.values()))
    seen = {
        name: {by: kept.keys, "family": family}
        for (name, kept), family in zip(parts.items(), families, strict=True)
    }
    leaks = []
    for first, second in combinations(parts, 2):
        for kind in (by, "family"):
            common = np.intersect1d(seen[first][kind], seen[second][kind])
            common = common[common != 0]
            if len(common):
                ids = [
                    names(part, [int(np.argmax(seen[part][kind] == one)) for one in common[:SHOWN]])
                    for part in (first, second)
                ]
                examples = tuple(zip(*ids, strict=True))
                leaks.append(Leak(kind, (first, second), len(common), examples))
    return tuple(leaks)


def hashes_of(rows: Iterable[Row], by: By) -> Kept:
    """Return the hashes of rows."""
    key = KEYS[by]
    keys, ids, parents = array("Q"), array("Q"), array("Q")
    for row in rows:
        keys.append(hashed(key(row.utterance, row.program, row.functions)))
        own = hashed(row.id)
        ids.append(own)
        parents.append(hashed(row.parent) if row.parent else own)
    return Kept(*(np.array(numbers, np.uint64) for numbers in (keys, ids, parents)))


def ids_at(rows: Iterable[Row], places: Sequence[int]) -> list[str]:
    """Return the ids of the rows at some places, counted from 0."""
    wanted = set(places)
    found = {place: row.id for place, row in enumerate(rows) if place in wanted}
    return [found[place] for place in places]


def _families(parts: Sequence[Kept]) -> list[U64]:
    """Return the oldest ancestor of each row of each part, 0 for rows without relations.

    So ids that two runs have in common are no leak, unless something was made of those rows.
    """
    ids = np.concatenate([part.ids for part in parts])
    parents = np.concatenate([part.parents for part in parts])
    related = (parents != ids) | np.isin(ids, parents[parents != ids])
    found = np.zeros(len(ids), np.uint64)
    if related.any():
        try:
            found[related] = roots(ids[related], parents[related])
        except Tangled:  # rows that split would have refused
            found[related] = parents[related]
    ends = np.cumsum([len(part.ids) for part in parts])
    return np.split(found, ends[:-1].tolist())
