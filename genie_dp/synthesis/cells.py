"""Cells: combinations of groups of children that a rule's guard allows.

All pieces of a group agree in everything that the rule reads, so the guard is decided once for the
cell, and each of its |L| x |R| combinations is a derivation. Equalities between children are
looked up in an index; the other tests run once for all groups with equal values of their inputs.

Rules with the same children and guard have the same choices of groups, and there are many more
choices than cells that get a quota: so choices are found once, kept in columns, and a cell is made
on request.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import overload

import numpy as np
import numpy.typing as npt

from genie_dp.synthesis.assembly import wording
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.pools import Key, Pools
from genie_dp.synthesis.rules import Agreement, GrammarRule, Wording, placeholder_of
from genie_dp.templates.guard import GuardTest, rename_children

Groups = Mapping[Key, Sequence[Piece]]
LARGEST = 1 << 62  # a permutation's size fits an unsigned 64-bit integer


@dataclass(slots=True)
class Cell:
    """All combinations of one piece from each list. `function` is the one that balance counts."""

    rule: GrammarRule
    wording: Wording
    lists: tuple[Sequence[Piece], ...]
    size: int
    function: str
    depth: int


@dataclass(slots=True)
class Choices:
    """All choices of one group for each child, side by side: keys[i] has sizes[i] combinations.

    `together` has, where children are ways of templates with optional parts, the choice but for
    these, and the size that it would have with one way each.
    """

    groups: Sequence[Groups]
    keys: Sequence[tuple[Key, ...]]
    sizes: Sequence[int]
    functions: Sequence[str]
    together: Sequence[tuple[tuple[Key, ...], float]] = ()


@dataclass(slots=True)
class CellBatch:
    """Choices of one rule, by its number among the rules, at one depth."""

    rule: int
    choices: Choices
    depth: int


@dataclass(slots=True)
class Cells(Sequence[Cell]):
    """The cells of many rules: each is made from its choice on request.

    Attributes:
        batches: the choices that they are made from; those of a template lie together.
        sizes: how many combinations each cell has, shape (cells,).
        functions: the function of each cell.
        spans: for each template at each depth, the range of its cells; empty ones are left out.
    """

    batches: Sequence[CellBatch]
    sizes: npt.NDArray[np.uint64]
    functions: Sequence[str]
    spans: Sequence[tuple[int, int]]
    _speakers: Sequence["_RuleRenderer"]
    _starts: Sequence[int]

    @classmethod
    def from_batches(cls, rules: Sequence[GrammarRule], batches: Sequence[CellBatch]) -> "Cells":
        """Return the cells of batches over these rules."""
        starts = np.cumsum([0, *[len(batch.choices.keys) for batch in batches]]).tolist()
        names = [(batch.depth, rules[batch.rule].template.id) for batch in batches]
        edges = [
            start for start, (a, b) in zip(starts[1:], pairwise(names), strict=False) if a != b
        ]
        return cls(
            batches,
            np.array([size for batch in batches for size in batch.choices.sizes], np.uint64),
            [function for batch in batches for function in batch.choices.functions],
            [(a, b) for a, b in pairwise([0, *edges, starts[-1]]) if b > a],
            [_RuleRenderer(rule) for rule in rules],
            starts[:-1],
        )

    def __len__(self) -> int:
        return len(self.functions)

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Cell]: ...
    def __getitem__(self, index: int | slice) -> Cell | Sequence[Cell]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        number = bisect_right(self._starts, index) - 1
        batch = self.batches[number]
        return _cell(self._speakers[batch.rule], batch, index - self._starts[number])

    @property
    def say_words(self) -> bool:
        """Return whether some rule has words without meaning."""
        return any(speaker.says_words for speaker in self._speakers)

    def rules_from(self, first: int, count: int) -> npt.NDArray[np.int64]:
        """Return the rules of some cells in a row, as numbers from 0."""
        numbers: dict[int, int] = {}
        rules = np.empty(count, np.int64)
        place, batch = first, bisect_right(self._starts, first) - 1
        while place < first + count:
            end = self._starts[batch + 1] if batch + 1 < len(self._starts) else len(self)
            number = numbers.setdefault(self.batches[batch].rule, len(numbers))
            rules[place - first : end - first] = number
            place, batch = max(place, end), batch + 1
        return rules

    def rule_that_says_words(self, index: int) -> tuple[int, int] | None:
        """Return rule and depth of a cell that has words without meaning; None for other cells."""
        batch = self.batches[bisect_right(self._starts, index) - 1]
        return (batch.rule, batch.depth) if self._speakers[batch.rule].says_words else None

    def pull(self, balance: float) -> npt.NDArray[np.float64]:
        """Return the share of its template's quota that each cell asks for: its size ** balance.

        The ways of a template with optional parts count as one, in a cell with its neighbours.
        """
        pull = self.sizes.astype(float) ** balance
        for batch, start in zip(self.batches, self._starts, strict=True):
            together = batch.choices.together
            totals: dict[tuple[Key, ...], float] = {}
            for name, size in together:
                totals[name] = totals.get(name, 0) + size
            for place, (name, size) in enumerate(together, start):
                pull[place] = totals[name] ** balance * size / totals[name]
        return pull

    def choices(self) -> Iterator[tuple[GrammarRule, Choices, int]]:
        """Yield each rule with its choices at some depth, and the place of the first cell."""
        for batch, start in zip(self.batches, self._starts, strict=True):
            yield self._speakers[batch.rule].rule, batch.choices, start


def cells_of(rules: Sequence[GrammarRule], depths: Iterable[int], pools: Pools) -> Cells:
    """Return the cells of rules at these exact depths."""
    by_template: dict[tuple[int, str], list[CellBatch]] = {}
    for depth in depths:
        finder = _Finder(pools, depth)
        for number, rule in enumerate(rules):
            for choices in finder.choices(rule):
                of_template = by_template.setdefault((depth, rule.template.id), [])
                of_template.append(CellBatch(number, choices, depth))
    return Cells.from_batches(
        rules, [batch for batches in by_template.values() for batch in batches]
    )


def cells(rule: GrammarRule, depth: int, pools: Pools) -> Iterator[Cell]:
    """Yield the cells of a rule at an exact depth."""
    yield from cells_of((rule,), (depth,), pools)


def _cell(speaker: "_RuleRenderer", batch: CellBatch, index: int) -> Cell:
    choices = batch.choices
    keys = choices.keys[index]
    lists = tuple([of_child[key] for of_child, key in zip(choices.groups, keys, strict=True)])
    size, function = choices.sizes[index], choices.functions[index]
    return Cell(speaker.rule, speaker.wording(keys), lists, size, function, batch.depth)


class _RuleRenderer:
    """The wordings of a rule, by the numbers of the children with which its words agree."""

    def __init__(self, rule: GrammarRule):
        self.rule = rule
        agreeing = {part.child for part in rule.layout.parts if isinstance(part, Agreement)}
        self.places = [(i, rule.reads[i].index("num")) for i in sorted(agreeing)]
        self.says_words = any(x.says_words for x in rule.layout.children)

    def wording(self, keys: Sequence[Key]) -> Wording:
        """Return the wording where children have these keys; a rule remembers its wordings."""
        numbers = tuple([str(keys[i][place]) for i, place in self.places])
        known = self.rule.wordings
        if numbers not in known:
            of_child = {i: n for (i, _), n in zip(self.places, numbers, strict=True)}
            known[numbers] = wording(self.rule, of_child)
        return known[numbers]


# ------------------------------------------------------------------------------- finding choices


@dataclass(slots=True)
class _Finder:
    """Finds the choices of rules at one depth, and remembers them."""

    pools: Pools
    depth: int
    known: dict[tuple[object, ...], Choices] = field(default_factory=dict)

    def choices(self, rule: GrammarRule) -> Iterator[Choices]:
        """Yield the choices of a rule, for every child that may be the deepest.

        One child, the pivot, has depth - 1; those left of it are less deep, those right of it at
        most as deep: so no combination of depths comes twice.
        """
        inner = [i for i, child in enumerate(rule.layout.children) if not child.is_leaf]
        if bool(inner) != bool(self.depth):
            return
        for pivot in inner or [-1]:
            ranges = {i: self._range(i, pivot) for i in inner}
            if all(lowest <= highest for lowest, highest in ranges.values()):
                children = range(len(rule.layout.children))
                groups = [
                    self.pools.merge_alike(_groups_of(rule, i, ranges, self.pools), rule.apart[i])
                    for i in children
                ]
                if all(groups) and (found := self._chosen(rule, groups)).keys:
                    yield found

    def _range(self, child: int, pivot: int) -> tuple[int, int]:
        """Return the least and the greatest depth of a child."""
        if child == pivot:
            return self.depth - 1, self.depth - 1
        return 0, self.depth - 2 if child < pivot else self.depth - 1

    def _chosen(self, rule: GrammarRule, groups: Sequence[Groups]) -> Choices:
        condition = _Condition.from_rule(rule)
        name = (tuple(map(id, groups)), condition, rule.reads)
        if name not in self.known:
            keys = _Joiner(condition, rule.reads, groups).all_keys()
            sizes = [
                min(prod([len(of[key]) for of, key in zip(groups, chosen, strict=True)]), LARGEST)
                for chosen in keys
            ]
            together = _together(rule, keys, sizes)
            self.known[name] = Choices(groups, keys, sizes, _functions(rule, keys), together)
        return self.known[name]


def _groups_of(
    rule: GrammarRule, index: int, ranges: Mapping[int, tuple[int, int]], pools: Pools
) -> Groups:
    child, reads, tests = rule.layout.children[index], rule.reads[index], rule.tests[index]
    has_gap = child.gap is not None
    if index in ranges:
        return pools.groups(child.pool, *ranges[index], reads, child.asked, has_gap, tests)
    name = placeholder_of(child.pool)
    if name is not None:
        return pools.constant_group(rule.constants[name])
    return pools.leaf_groups(child.pool, reads, child.asked, has_gap, tests)


def _together(
    rule: GrammarRule, keys: Sequence[tuple[Key, ...]], sizes: Sequence[int]
) -> list[tuple[tuple[Key, ...], float]]:
    """Return `Choices.together`; nothing where no template has optional parts."""
    places = [reads.index("family") if "family" in reads else None for reads in rule.reads]
    if not any(place is not None for place in places):
        return []
    together = []
    for chosen, size in zip(keys, sizes, strict=True):
        without, effective = [], float(size)
        for key, place in zip(chosen, places, strict=True):
            if place is not None and isinstance(family := key[place], tuple):
                effective /= family[1]
            without.append(key if place is None else (*key[:place], *key[place + 1 :]))
        together.append((tuple(without), effective))
    return together


def _functions(rule: GrammarRule, keys: Sequence[tuple[Key, ...]]) -> list[str]:
    """Return the function of the first child of which the rule reads it, for each choice."""
    for child, reads in enumerate(rule.reads):
        if "function" in reads:
            place = reads.index("function")
            return [str(chosen[child][place]) for chosen in keys]
    return [""] * len(keys)


@dataclass(frozen=True, slots=True)
class _Condition:
    """A guard over children by number, so that rules which name them otherwise compare equal.

    `equal` has (child, attribute, earlier child, its attribute), by their places among the reads;
    `tests` are those that look at more than one child, named "0", "1", ..
    """

    equal: tuple[tuple[int, int, int, int], ...]
    tests: tuple[GuardTest, ...]

    @classmethod
    def from_rule(cls, rule: GrammarRule) -> "_Condition":
        names = [child.name for child in rule.layout.children]
        equal = []
        for join in rule.guard.joins:
            a, b = names.index(join.left_child), names.index(join.right_child)
            left = rule.reads[a].index(join.left_attribute)
            right = rule.reads[b].index(join.right_attribute)
            equal.append((b, right, a, left) if a < b else (a, left, b, right))
        numbers = {name: str(index) for index, name in enumerate(names)}
        alone = {test for tests in rule.alone for test in tests}
        shared = tuple(rename_children(t, numbers) for t in rule.guard.tests if t not in alone)
        return cls(tuple(equal), shared)


class _Joiner:
    """Finds all choices of one group for each child that a condition allows, in a fixed order."""

    def __init__(
        self, condition: _Condition, reads: Sequence[Sequence[str]], groups: Sequence[Groups]
    ):
        self.condition, self.reads, self.groups = condition, reads, groups

    def all_keys(self) -> list[tuple[Key, ...]]:
        """Return the choices, as one key for each child."""
        bound: list[tuple[Key, ...]] = [()]
        for child in range(len(self.groups)):
            bound = self._extend(bound, child)
        return bound

    def _extend(self, bound: list[tuple[Key, ...]], child: int) -> list[tuple[Key, ...]]:
        """Return the choices with each key of one more child that goes with them."""
        equal = [(own, other, place) for c, own, other, place in self.condition.equal if c == child]
        tests = [t for t in self.condition.tests if max(int(c) for c, _ in t.reads) == child]
        # What of the earlier children decides which keys go with them.
        decisive = [(other, place) for _, other, place in equal]
        pairs = dict.fromkeys((int(c), a) for t in tests for c, a in t.reads if int(c) != child)
        places = [(c, self.reads[c].index(a)) for c, a in pairs]
        index: dict[Key, list[Key]] = {}
        for key in self.groups[child]:
            index.setdefault(tuple([key[own] for own, _, _ in equal]), []).append(key)
        known: dict[tuple[object, ...], list[Key]] = {}
        extended: list[tuple[Key, ...]] = []
        for keys in bound:
            wanted = tuple([keys[c][place] for c, place in decisive])
            seen = tuple([keys[c][place] for c, place in places])
            if (wanted, seen) not in known:
                values = dict(zip(pairs, seen, strict=True))
                known[wanted, seen] = self._passing(index.get(wanted, []), child, tests, values)
            extended.extend([(*keys, key) for key in known[wanted, seen]])
        return extended

    def _passing(
        self,
        keys: list[Key],
        child: int,
        tests: Sequence[GuardTest],
        earlier: Mapping[tuple[int, str], object],
    ) -> list[Key]:
        """Return the keys that pass the tests beside these values of earlier children."""
        reads = self.reads[child]
        looked_at = sorted({a for t in tests for c, a in t.reads if int(c) == child})
        places = [reads.index(name) for name in looked_at]
        decided: dict[Key, bool] = {}
        passing = []
        for key in keys:
            seen = tuple([key[place] for place in places])
            if seen not in decided:
                own = {(child, name): value for name, value in zip(looked_at, seen, strict=True)}
                decided[seen] = _holds(tests, {**earlier, **own})
            if decided[seen]:
                passing.append(key)
        return passing


def _holds(tests: Sequence[GuardTest], values: Mapping[tuple[int, str], object]) -> bool:
    return all(test.evaluate(lambda child, name: values[int(child), name]) for test in tests)
