"""Cells: combinations of groups of children that a rule's guard allows.

All pieces of a group agree in everything that the rule reads, so the guard is decided once for the
cell, and each of its |L| x |R| combinations is a derivation. Equalities between children are
looked up in an index; what remains is tested as soon as the children it reads are bound.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from genie_dp.synthesis.layout import Agreement, placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.pools import Key, Pools
from genie_dp.synthesis.rules import Rule, Wording, wording

Groups = Mapping[Key, Sequence[Piece]]
LARGEST = 1 << 62  # a permutation's size fits an unsigned 64-bit integer


@dataclass(slots=True)
class Cell:
    """All combinations of one piece from each list. `function` is what balance looks at."""

    rule: Rule
    wording: Wording
    lists: tuple[Sequence[Piece], ...]
    size: int
    function: str
    depth: int


def cells(rule: Rule, depth: int, pools: Pools) -> Iterator[Cell]:
    """Yield the cells of a rule at an exact depth."""
    return family_cells((rule,), depth, pools)


def family_cells(family: Sequence[Rule], depth: int, pools: Pools) -> Iterator[Cell]:
    """Yield the cells of rules that have the same children, at an exact depth.

    One child, the pivot, has depth - 1; those left of it are less deep, those right of it at most
    as deep: so no combination of depths comes twice.
    """
    inner = [i for i, child in enumerate(family[0].layout.children) if not child.is_leaf]
    if not inner:
        if depth == 0:
            yield from _enumerate(family, {}, depth, pools)
        return
    if depth < 1:
        return
    for pivot in inner:
        ranges = {
            i: (depth - 1, depth - 1) if i == pivot else (0, depth - 2 if i < pivot else depth - 1)
            for i in inner
        }
        if all(lowest <= highest for lowest, highest in ranges.values()):
            yield from _enumerate(family, ranges, depth, pools)


def _enumerate(
    family: Sequence[Rule], ranges: Mapping[int, tuple[int, int]], depth: int, pools: Pools
) -> Iterator[Cell]:
    rule = family[0]
    groups = [_groups_of(rule, index, ranges, pools) for index in range(len(rule.layout.children))]
    if not all(groups):
        return
    speakers = [_Speaker(member) for member in family]
    for keys in _Joiner(rule, groups).bind():
        lists = tuple([of_child[key] for of_child, key in zip(groups, keys, strict=True)])
        size = min(prod([len(pieces) for pieces in lists]), LARGEST)
        function = _function(rule, keys)
        for speaker in speakers:
            yield Cell(speaker.rule, speaker.wording(keys), lists, size, function, depth)


class _Speaker:
    """Knows how to say a rule, by the numbers of the children with which its words agree."""

    def __init__(self, rule: Rule):
        self.rule = rule
        agreeing = {part.child for part in rule.layout.parts if isinstance(part, Agreement)}
        self.places = [(i, rule.reads[i].index("num")) for i in sorted(agreeing)]
        self.known: dict[tuple[object, ...], Wording] = {}
        self.only = None if self.places else wording(rule, {})

    def wording(self, keys: Sequence[Key]) -> Wording:
        if self.only is not None:
            return self.only
        numbers = tuple([keys[i][place] for i, place in self.places])
        if numbers not in self.known:
            of_child = {i: str(n) for (i, _), n in zip(self.places, numbers, strict=True)}
            self.known[numbers] = wording(self.rule, of_child)
        return self.known[numbers]


def _groups_of(
    rule: Rule, index: int, ranges: Mapping[int, tuple[int, int]], pools: Pools
) -> Groups:
    child, reads, tests = rule.layout.children[index], rule.reads[index], rule.tests[index]
    has_gap = child.gap is not None
    if index in ranges:
        return pools.groups(child.pool, *ranges[index], reads, child.asked, has_gap, tests)
    name = placeholder_of(child.pool)
    if name is not None:
        pieces = rule.constants[name]
        return {(): pieces} if pieces else {}
    return pools.leaf_groups(child.pool, reads, child.asked, has_gap, tests)


def _function(rule: Rule, keys: Sequence[Key]) -> str:
    for reads, key in zip(rule.reads, keys, strict=True):
        if "function" in reads:
            return str(key[reads.index("function")])
    return ""


class _Joiner:
    """Finds all choices of one group for each child that the guard allows, in a fixed order."""

    def __init__(self, rule: Rule, groups: Sequence[Groups]):
        self.rule, self.groups = rule, groups
        names = [child.name for child in rule.layout.children]
        self.equal: list[list[tuple[int, int, int]]] = [[] for _ in names]
        for join in rule.guard.joins:
            a, b = names.index(join.left_child), names.index(join.right_child)
            left = rule.reads[a].index(join.left_attribute)
            right = rule.reads[b].index(join.right_attribute)
            # (own attribute, other child, other's attribute), kept at the later of the two
            (
                self.equal[b].append((right, a, left))
                if a < b
                else self.equal[a].append((left, b, right))
            )
        alone = {test for tests in rule.tests for test in tests}
        shared = [test for test in rule.guard.tests if test not in alone]
        self.tests = [[t for t in shared if _last(t.reads, names) == i] for i in range(len(names))]
        self.names = names
        self.index = [self._indexed(i) for i in range(len(names))]

    def _indexed(self, child: int) -> dict[Key, list[Key]]:
        found: dict[Key, list[Key]] = {}
        for key in self.groups[child]:
            found.setdefault(tuple(key[own] for own, _, _ in self.equal[child]), []).append(key)
        return found

    def bind(self, bound: tuple[Key, ...] = ()) -> Iterator[tuple[Key, ...]]:
        child = len(bound)
        if child == len(self.groups):
            yield bound
            return
        wanted = tuple([bound[other][attribute] for _, other, attribute in self.equal[child]])
        found, tests = self.index[child].get(wanted, ()), self.tests[child]
        if not tests and child == len(self.groups) - 1:
            for key in found:
                yield (*bound, key)
            return
        for key in found:
            chosen = (*bound, key)
            if all(test.evaluate(self._lookup(chosen)) for test in tests):
                yield from self.bind(chosen)

    def _lookup(self, bound: tuple[Key, ...]):  # type: ignore[no-untyped-def]
        def lookup(child: str, attribute: str) -> object:
            index = self.names.index(child)
            return bound[index][self.rule.reads[index].index(attribute)]

        return lookup


def _last(reads: Sequence[tuple[str, str]], names: Sequence[str]) -> int:
    return max((names.index(child) for child, _ in reads), default=0)
