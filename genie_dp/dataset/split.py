"""Which part of a split every row belongs to: by hashes alone, never by the order of files.

Rows of one key stay together, and so do families: a row, the paraphrases written for it and the
augmented copies of both, by their chain of parents. A group is what is linked by either. A group
goes where a hash of its label and the seed falls, so the order of rows and files is of no account.
Memory: 39 bytes a row, about twice that while groups are found.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genie_dp.dataset.families import (
    NONE,
    U64,
    as_array,
    components,
    families,
    is_in,
    numbered,
    smallest,
)
from genie_dp.dataset.groups import Groups
from genie_dp.dataset.keys import KEYS, combination, hashed
from genie_dp.dataset.scan import Row
from genie_dp.dataset.traits import COMPOUND, traits_of
from genie_dp.errors import GenieError, Problem

U8 = npt.NDArray[np.uint8]
By = Literal["sentence", "program", "functions", "id"]
LEFT_OUT = 255  # part number of rows that go into no part


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the split: a share of all groups, a number of rows, or the rest.

    Attributes:
        share: of the groups, above 0 and below 1; None for another sort of part.
        rows: whole groups are taken until there are that many; None for another sort of part.
    """

    name: str
    share: float | None = None
    rows: int | None = None

    @property
    def is_rest(self) -> bool:
        """Return whether the part takes what no other one does."""
        return self.share is None and self.rows is None


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """How rows are split.

    Attributes:
        by: what no two parts have in common.
        parts: the first one is what models are trained on; exactly one is the rest.
        seed: another seed, another split.
        eval_sources: rows of other sources are left out of all parts but the first; () for all.
        split_primitives: with `by` functions, whether commands of one function are split, too;
            otherwise they all are in the first part, as in the paper (Genie, section 5.2).
    """

    by: By = "sentence"
    parts: tuple[Part, ...] = (Part("train"), Part("validation", 0.1), Part("test", 0.1))
    seed: int = 0
    eval_sources: tuple[str, ...] = ()
    split_primitives: bool = False

    def __post_init__(self) -> None:
        """Refuse parts that cannot be made."""
        names = [part.name for part in self.parts]
        shares = sum(part.share or 0 for part in self.parts)
        if len(self.parts) < 2 or len(self.parts) > 250:
            _refuse(f"expected 2 to 250 parts, got {len(self.parts)}", "name another --part")
        if len(set(names)) < len(names):
            _refuse(f"expected different names, got {', '.join(names)}", "rename a --part")
        if sum(part.is_rest for part in self.parts) != 1:
            _refuse("expected one part without a size, for the rest", "such as --part train")
        if not shares < 1:
            _refuse(f"expected shares below 1 in all, got {shares:g}", "leave some for the rest")


def _refuse(message: str, hint: str) -> None:
    raise GenieError(Problem("D001", message, hint=hint))


@dataclass(slots=True)
class Hashes:
    """What is kept of the rows to find their groups: 39 bytes a row.

    Attributes:
        keys, parents, ids, pairs: 64-bit hashes of the key, of the parent (of the row's own id
            where it has none), of the id, and of sentence and program.
        traits: as of traits_of.
        sources, languages, combinations: numbers of the row's source, language and combination of
            functions, in the order in which `numbers` met them.
    """

    config: SplitConfig
    keys: "array[int]" = field(default_factory=lambda: array("Q"))
    parents: "array[int]" = field(default_factory=lambda: array("Q"))
    ids: "array[int]" = field(default_factory=lambda: array("Q"))
    pairs: "array[int]" = field(default_factory=lambda: array("Q"))
    traits: bytearray = field(default_factory=bytearray)
    sources: bytearray = field(default_factory=bytearray)
    languages: bytearray = field(default_factory=bytearray)
    combinations: "array[int]" = field(default_factory=lambda: array("I"))
    source_names: dict[str, int] = field(default_factory=dict)
    language_names: dict[str, int] = field(default_factory=dict)
    combination_names: dict[str, int] = field(default_factory=dict)

    def add(self, rows: Iterable[Row]) -> None:
        """Take note of rows."""
        key = KEYS[self.config.by]
        sources, languages = self.source_names, self.language_names
        names = self.combination_names
        for row in rows:
            self.keys.append(hashed(key(row.utterance, row.program, row.functions)))
            self.pairs.append(hashed(f"{row.utterance}\t{row.program}"))
            own = hashed(row.id)
            self.ids.append(own)
            self.parents.append(hashed(row.parent) if row.parent else own)
            self.traits.append(traits_of(row.program, row.functions, row.language))
            self.sources.append(sources.setdefault(row.source, len(sources)))
            self.languages.append(languages.setdefault(row.language, len(languages)))
            self.combinations.append(names.setdefault(combination(row.functions), len(names)))

    def compared(self) -> "tuple[array[int], array[int], array[int]]":
        """Return what the leak check compares: keys, ids, parents."""
        return self.keys, self.ids, self.parents

    def groups(self, inside: npt.NDArray[np.bool_]) -> Groups:
        """Return the counts of those rows that are inside."""

        def counted(numbers: "bytearray | array[int]", kind: str) -> Iterator[tuple[int, int]]:
            counts = np.bincount(np.frombuffer(numbers, kind)[inside])
            return ((place, count) for place, count in enumerate(counts.tolist()) if count)

        def named(names: dict[str, int], numbers: Any, kind: str) -> Counter[str]:
            texts = list(names)
            return Counter({texts[place]: n for place, n in counted(numbers, kind)})

        return Groups(
            rows=int(inside.sum()),
            traits=Counter(dict(counted(self.traits, "u1"))),
            sources=named(self.source_names, self.sources, "u1"),
            languages=named(self.language_names, self.languages, "u1"),
            combinations=named(self.combination_names, self.combinations, "u4"),
        )

    def labels(self) -> U64:
        """Return a number for each row that all of its group have.

        It is the smallest hash of the keys of rows without a parent, so that new paraphrases and
        copies of a row never move its group; of the families, where all rows have parents.
        """
        keys, ids, parents = (as_array(one) for one in self.compared())
        family = families(ids, parents, as_array(self.pairs))
        group = numbered(components(keys, [numbered(keys), numbered(family)]))
        least = smallest(keys, group, parents == ids)
        return np.where(least == NONE, smallest(family, group), least)[group]


def scattered(labels: U64, seed: int) -> U64:
    """Return a hash of each label and the seed: the smallest of several labels is no random one.

    The finaliser is that of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
    """
    start = np.uint64(hashed(f"{seed}:split"))
    mixed = labels ^ start
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def parts_of(hashes: Hashes) -> U8:
    """Return the number of each row's part, in the order in which the rows were added.

    LEFT_OUT stands for rows of a source that is wanted in training only, in groups that are not.
    """
    config = hashes.config
    if not len(hashes.keys):
        return np.zeros(0, np.uint8)
    labels = hashes.labels()
    may_move = np.ones(len(labels), bool)
    counted = np.ones(len(labels), bool)
    if config.by == "functions" and not config.split_primitives:
        compound = (np.frombuffer(hashes.traits, np.uint8) & COMPOUND) > 0
        # A group is linked by more than its key: one primitive row keeps all of it in the first.
        may_move = ~is_in(labels, np.unique(labels[~compound]))
    if config.eval_sources:
        wanted = np.array([name in config.eval_sources for name in hashes.source_names])
        counted = wanted[np.frombuffer(hashes.sources, np.uint8)]
        # Groups with nothing to evaluate on would be lost for training, and no part would gain.
        may_move &= is_in(labels, np.unique(labels[counted]))
    part = _assign(scattered(labels, config.seed), may_move, counted, config.parts)
    part[(part != 0) & ~counted] = LEFT_OUT
    return part


def _assign(
    places: U64,
    may_move: npt.NDArray[np.bool_],
    counted: npt.NDArray[np.bool_],
    parts: Sequence[Part],
) -> U8:
    """Return the part of each row by the place of its group between 0 and 2^64.

    Args:
        may_move: rows that need not be in the first part.
        counted: rows that count where a part is to have a number of rows.

    Raises:
        GenieError: there are not as many rows as a part is to have (D013).
    """
    rest = next(number for number, part in enumerate(parts) if part.is_rest)
    found = np.full(len(places), rest, np.uint8)
    found[~may_move] = 0
    free = may_move.copy()
    low = 0.0
    for number, part in enumerate(parts):
        if part.share is not None:
            bounds = [np.uint64(min(x * 2.0**64, 2.0**64 - 2048)) for x in (low, low + part.share)]
            inside = free & (places >= bounds[0]) & (places < bounds[1])
            found[inside], low = number, low + part.share
            free &= ~inside
    for number, part in enumerate(parts):
        if part.rows is not None:
            inside = free & is_in(places, _first_groups(places[free & counted], part.rows))
            got = int((inside & counted).sum())
            if got < part.rows:
                message = f"expected {part.rows:,} rows for {part.name}, got {got:,}"
                hint = "ask for fewer, or for a share; only whole groups can be moved"
                raise GenieError(Problem("D013", message, hint=hint))
            found[inside] = number
            free &= ~inside
    return found


def _first_groups(places: U64, rows: int) -> U64:
    """Return as many groups, by their place and sorted, as hold that many rows or a few more."""
    # From the top, for shares begin at the bottom.
    groups, sizes = np.unique(~places, return_counts=True)
    needed = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
    return np.sort(~groups[:needed])
