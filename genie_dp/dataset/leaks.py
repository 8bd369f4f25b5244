"""The leak check: what two parts of a split have in common and must not."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from genie_dp.dataset.config import By
from genie_dp.dataset.families import U8, U64, Bools, Tangled, as_array, is_in, roots
from genie_dp.dataset.keys import KEYS, hashed
from genie_dp.dataset.scan import Row
from genie_dp.errors import Problem

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


@dataclass(frozen=True, slots=True)
class Compared:
    """What the parts of a split are compared by, one number a row.

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


def find_leaks(rows: Compared, by: By, names: Names) -> tuple[Leak, ...]:
    """Return what any two parts have in common; an empty tuple when nothing leaks.

    Args:
        rows: hashes of all rows of all parts.
        by: what rows were split by.
        names: takes places of rows; gives the rows' ids, to show examples.
    """
    found = [*_shared(by, rows.keys, rows, names)]
    found += _shared("family", _families(rows), rows, names)
    order = {pair: place for place, pair in enumerate(combinations(rows.names, 2))}
    return tuple(sorted(found, key=lambda leak: order[leak.parts]))


def _shared(kind: str, values: U64, rows: Compared, names: Names) -> Iterator[Leak]:
    """Yield what two parts have in common of one kind; 0 is none."""
    sets = [np.unique(values[rows.part == number]) for number in range(len(rows.names))]
    for first, second in combinations(range(len(sets)), 2):
        small, large = sorted((sets[first], sets[second]), key=len)
        common = small[is_in(small, large) & (small != 0)]
        if len(common):
            ids = [_examples(common, values, rows.part == part, names) for part in (first, second)]
            pair = (rows.names[first], rows.names[second])
            yield Leak(kind, pair, len(common), tuple(zip(*ids, strict=True)))


def _examples(common: U64, values: U64, inside: Bools, names: Names) -> list[str]:
    """Return the ids of the first rows inside that have these values."""
    return names([int(np.argmax((values == one) & inside)) for one in common[:SHOWN]])


def compared(parts: Mapping[str, Iterable[Row]], by: By) -> Compared:
    """Return the hashes of the rows of parts."""
    key = KEYS[by]
    keys, ids, parents = array("Q"), array("Q"), array("Q")
    part = bytearray()
    for number, rows in enumerate(parts.values()):
        for row in rows:
            keys.append(hashed(key(row.utterance, row.program, row.functions)))
            own = hashed(row.id)
            ids.append(own)
            parents.append(hashed(row.parent) if row.parent else own)
            part.append(number)
    known = np.frombuffer(part, np.uint8) if part else np.zeros(0, np.uint8)
    return Compared(as_array(keys), as_array(ids), as_array(parents), known, tuple(parts))


def ids_at(rows: Iterable[Row], places: Sequence[int]) -> list[str]:
    """Return the ids of the rows at some places, counted from 0."""
    wanted = set(places)
    found = {place: row.id for place, row in enumerate(rows) if place in wanted}
    return [found[place] for place in places]


def _families(rows: Compared) -> U64:
    """Return the oldest ancestor of each row, 0 for rows without relations.

    So ids that two runs have in common are no leak, unless something was made of those rows.
    """
    is_child = rows.parents != rows.ids
    related = is_child | is_in(rows.ids, np.unique(rows.parents[is_child]))
    try:
        found = roots(rows.ids, rows.parents)
    except Tangled:  # rows that split would have refused
        found = rows.parents.copy()
    found[~related] = 0
    return found
