"""Rows kept for validation and calibration: some of all that might be, in bounded memory."""

import heapq
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from genie_dp.dataset.keys import hashed
from genie_dp.records import Example

Row = TypeVar("Row")


class HeldOut(Generic[Row]):
    """At most so many different rows; which ones are kept does not depend on their order.

    Those with the least hashes are a uniform sample of all (bottom-k sketch; Cohen and Kaplan,
    2007): of files that are read one after the other none is left out for coming late.

    >>> one, other = HeldOut(2), HeldOut(2)
    >>> for i in range(9):
    ...     one.add(str(i), i)
    ...     other.add(str(8 - i), 8 - i)
    >>> list(one) == list(other), len(one)
    (True, 2)
    """

    def __init__(self, most: int):
        """Keep at most so many."""
        self._most = most
        self._rows: dict[int, Row] = {}
        self._greatest: list[int] = []  # a heap of the hashes, negative

    def add(self, key: str, row: Row) -> None:
        """Offer a row; one of its key that is kept already stays."""
        number = hashed(key)
        if number in self._rows or (self._is_full() and -number <= self._greatest[0]):
            return
        self._rows[number] = row
        heapq.heappush(self._greatest, -number)
        if len(self._rows) > self._most:
            del self._rows[-heapq.heappop(self._greatest)]

    def _is_full(self) -> bool:
        return 0 < self._most <= len(self._rows)

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, in the order of their hashes."""
        for number in sorted(self._rows):
            yield self._rows[number]


def some_of(rows: Iterable[Example], most: int) -> Iterator[Example]:
    """Yield at most so many different rows, by their sentences and programs."""
    found = HeldOut[Example](most)
    for row in rows:
        found.add(f"{row.utterance}\0{row.program}", row)
    yield from found
