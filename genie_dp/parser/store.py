"""Rows to learn from in little memory: each word and each token is a number of four bytes."""

from array import array
from collections.abc import Iterator, Sequence
from typing import overload

from genie_dp.learn.pairs import Pair


class RowStore(Sequence[Pair]):
    """Rows in the order they came; a row is made when it is asked for.

    A row costs four bytes for each word and token, and 17 more; every distinct word is kept once.

    >>> store = RowStore()
    >>> store.add("tweet hello", '@post " hello "')
    >>> len(store), store[0].program
    (1, ('@post', '"', 'hello', '"'))
    """

    def __init__(self) -> None:
        """Begin without rows."""
        self._names: list[str] = []
        self._ids: dict[str, int] = {}
        self._tokens = array("i")
        self._middles = array("q")
        self._ends = array("q", [0])
        self._weights = array("f")
        self._groups = array("b")
        self._group_names: list[str] = []

    def add(self, sentence: str, program: str, *, weight: float = 1.0, group: str = "") -> None:
        """Add a row of two texts."""
        self._tokens.extend(map(self._id, sentence.split()))
        self._middles.append(len(self._tokens))
        self._tokens.extend(map(self._id, program.split()))
        self._ends.append(len(self._tokens))
        self._weights.append(weight)
        if group not in self._group_names:
            self._group_names.append(group)
        self._groups.append(self._group_names.index(group))

    def _id(self, token: str) -> int:
        found = self._ids.get(token)
        if found is None:
            found = self._ids[token] = len(self._names)
            self._names.append(token)
        return found

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._middles)

    @property
    def longest_program(self) -> int:
        """Return the tokens of the longest program, 0 without rows."""
        ends = zip(self._ends[1:], self._middles, strict=True)
        return max((end - middle for end, middle in ends), default=0)

    @overload
    def __getitem__(self, place: int) -> Pair: ...

    @overload
    def __getitem__(self, place: slice) -> "list[Pair]": ...

    def __getitem__(self, place: int | slice) -> "Pair | list[Pair]":
        """Return the row at a place."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        start, middle, end = self._ends[place], self._middles[place], self._ends[place + 1]
        names = self._names
        return Pair(
            tuple([names[i] for i in self._tokens[start:middle]]),
            tuple([names[i] for i in self._tokens[middle:end]]),
            self._weights[place],
            self._group_names[self._groups[place]],
            float(end - middle),
        )

    def lengths(self) -> Iterator[int]:
        """Yield words and tokens of each row together, the program's end included."""
        ends = self._ends
        return (ends[i + 1] - ends[i] + 1 for i in range(len(self)))
