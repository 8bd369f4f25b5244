"""Lists of values, and those that the package ships, by kind."""

import gzip
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random

DATA = Path(__file__).parent / "data"
GENERIC = "free_text"


@dataclass(frozen=True, slots=True)
class ValueList:
    """Values that may stand in one place of a sentence, reached by their number.

    Attributes:
        name: where they are from: "song" (shipped), "tt:song_title" (of a skill), or a file.
        kind: the shipped kind that they are of, or "" where none is known.
        texts: the values, lower-case tokens with one space between them, each once.
        cumulative: running sums of the weights; empty where all weigh the same.
    """

    name: str
    kind: str
    texts: tuple[str, ...]
    cumulative: tuple[float, ...] = ()

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self.texts)

    def value(self, index: int) -> tuple[str, ...]:
        """Return the tokens of a value.

        >>> ValueList("song", "song", ("red moon", "home")).value(0)
        ('red', 'moon')
        """
        return tuple(self.texts[index].split(" "))

    def pick(self, share: float) -> int:
        """Return the number of the value at a share in [0, 1) of the total weight.

        >>> weighted = value_list("x", "", ["a", "b"], [1, 3])
        >>> [weighted.pick(share) for share in (0.0, 0.24, 0.25, 0.99)]
        [0, 0, 1, 1]
        """
        if not self.cumulative:
            return int(share * len(self.texts))
        found = bisect_right(self.cumulative, share * self.cumulative[-1])
        return min(found, len(self.texts) - 1)

    def draw(self, rng: Random) -> tuple[str, ...]:
        """Return a value, chosen by weight."""
        return self.value(self.pick(rng.random()))

    def weight(self, index: int) -> float:
        """Return the weight of a value."""
        if not self.cumulative:
            return 1.0
        return self.cumulative[index] - (self.cumulative[index - 1] if index else 0.0)

    def within(self, most_words: int) -> "ValueList":
        """Return the list without the values that have more words; it may be empty.

        >>> ValueList("song", "song", ("red moon", "home")).within(1).texts
        ('home',)
        """
        kept = [i for i, text in enumerate(self.texts) if text.count(" ") < most_words]
        if len(kept) == len(self.texts):
            return self
        weights = [self.weight(i) for i in kept] if self.cumulative else ()
        return value_list(self.name, self.kind, [self.texts[i] for i in kept], weights)


def value_list(
    name: str, kind: str, texts: Iterable[str], weights: Sequence[float] = ()
) -> ValueList:
    """Return a list of values; a value given twice counts once, with its first weight.

    >>> value_list("x", "", ["a", "b", "a"], [2, 1, 5])
    ValueList(name='x', kind='', texts=('a', 'b'), cumulative=(2.0, 3.0))
    >>> value_list("x", "", ["a", "b"], [2, 2]).cumulative
    ()
    """
    found: dict[str, float] = {}
    for index, text in enumerate(texts):
        found.setdefault(text, float(weights[index]) if weights else 1.0)
    is_flat = len(set(found.values())) <= 1
    sums = () if is_flat else tuple(accumulate(found.values()))
    return ValueList(name, kind, tuple(found), sums)


def union(name: str, kind: str, lists: Sequence[ValueList], *, even: bool = False) -> ValueList:
    """Return the values of several lists, the earlier list first.

    Args:
        name: of the new list.
        kind: of the new list.
        lists: weights are compared inside of a list only.
        even: give each list the same share of the draws, else each a share by its length.

    >>> first = ValueList("mine", "song", ("home",))
    >>> second = ValueList("song", "song", ("red moon", "home", "rain"))
    >>> union("mine + song", "song", [first, second]).texts
    ('home', 'red moon', 'rain')
    >>> union("both", "song", [first, ValueList("x", "", ("a", "b"))], even=True).cumulative
    (1.0, 1.5, 2.0)
    """
    texts: list[str] = []
    weights: list[float] = []
    for values in lists:
        total = values.cumulative[-1] if values.cumulative else float(len(values))
        scale = (1.0 if even else len(values)) / total if total else 0.0
        texts.extend(values.texts)
        weights.extend(values.weight(i) * scale for i in range(len(values)))
    return value_list(name, kind, texts, weights)


# ------------------------------------------------------------------------ the shipped ones


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value that the package has a list of.

    Attributes:
        name: its name, and that of its file.
        what: what the values are, in plain words.
        serves: the entity types, tags ("tt:song_title") and bare names of entity types and
            parameters ("song") whose values are of the kind.
        parts: the kinds that it is put together of; none where it has a file of its own.
    """

    name: str
    what: str
    serves: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShippedRow:
    """A line of a shipped list: the value, its weight, and who is to be credited."""

    value: str
    weight: float
    source: str
    licence: str
    place: tuple[str, str] | None = None


@lru_cache(maxsize=1)
def kinds() -> dict[str, Kind]:
    """Return the shipped kinds by name, in the order of data/kinds.tsv."""
    lines = (DATA / "kinds.tsv").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines[1:]:
        name, what, serves, parts = line.split("\t")
        found[name] = Kind(name, what, tuple(serves.split()), tuple(parts.split()))
    return found


@lru_cache(maxsize=1)
def kinds_by_use() -> dict[str, Kind]:
    """Return which kind serves an entity type, a tag or a name; a kind's own name serves, too."""
    found = {kind.name: kind for kind in kinds().values()}
    for kind in kinds().values():
        for use in kind.serves:
            found.setdefault(use, kind)
    return found


def shipped_rows(kind: str) -> tuple[ShippedRow, ...]:
    """Return the lines of a kind's own file.

    Raises:
        KeyError: there is no such kind.
    """
    path = DATA / f"{kinds()[kind].name}.tsv"
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        text = gzip.decompress((DATA / f"{kind}.tsv.gz").read_bytes()).decode("utf-8")
    header, *lines = text.splitlines()
    names = header.split("\t")
    return tuple(_row(dict(zip(names, line.split("\t"), strict=True))) for line in lines)


def _row(cells: dict[str, str]) -> ShippedRow:
    place = (cells["latitude"], cells["longitude"]) if "latitude" in cells else None
    weight = float(cells.get("weight") or 1)
    return ShippedRow(cells["value"], weight, cells["source"], cells["licence"], place)


@cache
def shipped(kind: str) -> ValueList:
    """Return the shipped list of a kind.

    Raises:
        KeyError: there is no such kind.
    """
    parts = kinds()[kind].parts
    if parts:
        return union(kind, kind, [shipped(part) for part in parts], even=True)
    rows = shipped_rows(kind)
    return value_list(kind, kind, [r.value for r in rows], [r.weight for r in rows])
