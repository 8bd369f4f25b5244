"""Whole derivations drawn one by one, at random and without end, with the requested functions.

A plan (plan.py) lays out a run of known size. Here the same cells are drawn from again and
again, under changing wishes: "of all derivations, one whose program has these functions and no
others". Nothing is drawn blindly: an index from functions to groups of pieces finds cells that can
meet a wish, and in such a cell every child is drawn from its pieces that have the right functions.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import prod
from random import Random

import numpy as np

from genie_dp.synthesis.cells import Cell, Cells, Choices
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.plan import F64, I64, fill

# Draws over which templates share as those of a run of this size do: one with few sentences gives
# no more than them.
_RUN = 20_000
_SAMPLES = 8  # rows that tell which functions a rule adds
MOST_KEPT = 2_000_000  # cells of wishes that are kept for the next draws, 16 bytes each


Wish = frozenset[str]
"""The functions that a program is to have, all of them and no others."""
ANY: None = None
"""No wish."""
CellDraw = tuple[Cell, tuple[Piece, ...]]
"""A cell and a piece for each child: they may still not go together."""


@dataclass(frozen=True, slots=True)
class Chances:
    """The cells that can meet a wish, those of one template at one depth (a span) together.

    Attributes:
        cells: their numbers, shape (cells,).
        line: how often each is to be drawn, in proportion, summed up from the first one on, shape
            (cells + 1,).
        spans: the spans that they are of, shape (spans,).
        edges: where the cells of each span begin, and the number of cells, shape (spans + 1,).
    """

    cells: I64
    line: F64
    spans: I64
    edges: I64

    @property
    def shares(self) -> F64:
        """Return how often each span is to be drawn, in proportion, shape (spans,)."""
        return np.diff(self.line[self.edges])


class Drawer:
    """Draws root cells of an engine.

    Attributes:
        cells: all of them.
        spans: the first cell of each template and depth.
    """

    def __init__(self, engine: SynthesisEngine):
        root_cells, config = engine.plan.all_cells, engine.config
        assert isinstance(root_cells, Cells)
        self.cells, self.config = root_cells, config
        self.spans = [root_cells[a] for a, _ in root_cells.spans]
        self._weights = np.array(
            [c.rule.template.weight * config.depth_decay ** max(0, c.depth - 1) for c in self.spans]
        )
        self._span_of = np.repeat(np.arange(len(self.spans)), [b - a for a, b in root_cells.spans])
        self._boost = np.array(
            [config.weights.get(function, 1.0) for function in root_cells.functions]
        )
        self._index: _FunctionIndex | None = None
        self._kept: OrderedDict[Wish | None, Chances] = OrderedDict()
        self._size = 0

    def chances(self, wish: Wish | None) -> Chances:
        """Return the cells that can meet a wish; there may be none."""
        chances = self._kept.get(wish)
        if chances is not None:
            self._kept.move_to_end(wish)
            return chances
        chances = self._make_chances(wish)
        self._kept[wish] = chances
        self._size += len(chances.cells)
        while self._size > MOST_KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1].cells)
        return chances

    def draw(self, wish: Wish | None, rng: Random, factors: F64 | None = None) -> CellDraw | None:
        """Return a cell and a piece for each child; None if no cell can meet the wish.

        Args:
            wish: functions.
            rng: of the draw.
            factors: by how much each span is to come more often, shape (all spans,).
        """
        chances = self.chances(wish)
        shares = chances.shares if factors is None else chances.shares * factors[chances.spans]
        line = shares.cumsum()
        if not len(line) or not line[-1]:
            return None
        span = int(line.searchsorted(rng.random() * line[-1], side="right"))
        first, last = chances.edges[min(span, len(line) - 1) :][:2].tolist()
        low, high = chances.line[[first, last]].tolist()
        mark = low + rng.random() * (high - low)
        place = int(chances.line.searchsorted(mark, side="right")) - 1
        cell = self.cells[int(chances.cells[min(max(place, first), last - 1)])]
        return cell, self._pieces(cell, wish, rng)

    def functions(self) -> tuple[str, ...]:
        """Return the functions that some derivation has, sorted."""
        return self._get_index().functions()

    def _pieces(self, cell: Cell, wish: Wish | None, rng: Random) -> tuple[Piece, ...]:
        lists: Sequence[Sequence[Piece]] = cell.lists
        if wish is not ANY:
            ways = list(self._get_index().ways(cell, wish))
            lists = ways[_weighted_index([prod(map(len, way)) for way in ways], rng.random())]
        return tuple([of[int(rng.random() * len(of))] for of in lists])

    def _make_chances(self, wish: Wish | None) -> Chances:
        if wish is ANY:
            numbers, counts = np.arange(len(self.cells)), self.cells.sizes.astype(float)
        else:
            numbers, counts = self._fitting(wish)
        spans, count = self._span_of[numbers], len(self.spans)
        pull = counts**self.config.balance * self._boost[numbers]
        room = np.bincount(spans, counts * (pull > 0), count).astype(float)
        share = fill(_RUN, self._weights, room)
        total = np.bincount(spans, pull, count)
        shares = share[spans] * pull / np.maximum(total[spans], 1e-300)
        is_open = shares > 0
        of_cells = spans[is_open]
        open_spans, edges = np.unique(of_cells, return_index=True)
        line = np.concatenate([[0.0], np.cumsum(shares[is_open])])
        return Chances(numbers[is_open], line, open_spans, np.append(edges, len(of_cells)))

    def _fitting(self, wish: Wish) -> tuple[I64, F64]:
        """Return the cells in which some derivation meets a wish, and how many of them do."""
        numbers, counts = self._get_index().cells(wish)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], counts[order]

    def _get_index(self) -> "_FunctionIndex":
        if self._index is None:
            self._index = _FunctionIndex(self.cells)
        return self._index


def _weighted_index(sizes: Sequence[int], mark: float) -> int:
    """Return which of some parts of a line a place in [0, 1) is in."""
    rest = mark * sum(sizes)
    for place, size in enumerate(sizes):
        rest -= size
        if rest < 0:
            return place
    return len(sizes) - 1


FunctionShares = tuple[Wish, ...]
"""Functions for each child."""


@dataclass(frozen=True, slots=True)
class _ChoiceGroup:
    """The choices of groups for rules with as many children and the same functions of their own.

    Cells that differ in their words alone have one choice: it is looked at once.

    Attributes:
        own: functions that the rules' bodies have, beside those of the children.
        lists: the number of the list of each child, shape (children, choices).
        owners: which `Choices` each is of, shape (choices,).
        places: its place among those, shape (choices,).
        orders: for each child, the choices by the number of its list, shape (choices,).
        firsts: for each child and list, where its choices begin in that order.
        sizes: for each child and list, how many choices have it.
    """

    own: Wish
    lists: I64
    owners: I64
    places: I64
    orders: Sequence[I64]
    firsts: Sequence[I64]
    sizes: Sequence[I64]


class _FunctionIndex:
    """Finds the cells that can meet a wish, and the pieces in them that do."""

    def __init__(self, cells: Cells):
        self._bags: dict[tuple[str, ...], Wish] = {}
        self._numbers: dict[int, int] = {}
        self._members: list[Mapping[Wish, Sequence[Piece]]] = []
        members_by_wish: dict[Wish, tuple[list[int], list[int]]] = {}
        self._own: dict[int, Wish] = {}
        owners: dict[tuple[int, Wish], tuple[Choices, list[int]]] = {}
        for rule, choices, start in cells.choices():
            if id(rule) not in self._own:
                self._own[id(rule)] = _own_functions(cells[start])
            owners.setdefault((id(choices), self._own[id(rule)]), (choices, []))[1].append(start)
        self._counts = np.array([len(starts) for _, starts in owners.values()], np.int64)
        self._first = np.cumsum(self._counts) - self._counts
        self._starts = np.array(
            [start for _, starts in owners.values() for start in starts], np.int64
        )
        columns: dict[tuple[int, Wish], list[tuple[int, ...]]] = {}
        for owner, ((_, own), (choices, _)) in enumerate(owners.items()):
            rows = columns.setdefault((len(choices.groups), own), [])
            for place, keys in enumerate(choices.keys):
                lists = [of[key] for of, key in zip(choices.groups, keys, strict=True)]
                rows.append(
                    (owner, place, *[self._number(pieces, members_by_wish) for pieces in lists])
                )
        self._having = {
            bag: (np.array(lists, np.int64), np.array(sizes, float))
            for bag, (lists, sizes) in members_by_wish.items()
        }
        count = len(self._members)
        self._groups = [_choice_group(own, rows, count) for (_, own), rows in columns.items()]

    def functions(self) -> tuple[str, ...]:
        bags = [*self._having, *self._own.values()]
        return tuple(sorted({name for bag in bags for name in bag}))

    def ways(self, cell: Cell, wish: Wish) -> Iterator[list[Sequence[Piece]]]:
        """Yield, for each way to share the functions among children, the pieces that fit."""
        members = [self._members[self._numbers[id(pieces)]] for pieces in cell.lists]
        for way in _function_shares(wish, len(members), self._own[id(cell.rule)]):
            lists = [of.get(bag, ()) for of, bag in zip(members, way, strict=True)]
            if all(lists):
                yield lists

    def cells(self, wish: Wish) -> tuple[I64, F64]:
        """Return the cells that can meet a wish, and how many combinations of each do."""
        numbers, counts = [np.array([], np.int64)], [np.array([])]
        having = {bag: self._sizes(bag) for bag in _subsets(wish)}
        for group in self._groups:
            counts_of_choices = np.zeros(len(group.owners))
            for way in _function_shares(wish, len(group.lists), group.own):
                if all(bag in self._having for bag in way):
                    self._count(group, way, having, counts_of_choices)
            chosen = np.flatnonzero(counts_of_choices)
            cells, of_choice = self._of_choices(group, chosen)
            numbers.append(cells)
            counts.append(counts_of_choices[chosen[of_choice]])
        return np.concatenate(numbers), np.concatenate(counts)

    def _count(
        self,
        group: _ChoiceGroup,
        way: FunctionShares,
        having: Mapping[Wish, F64],
        counts_of_choices: F64,
    ) -> None:
        """Add how many combinations of each choice have functions shared out in one way."""
        if not way:
            counts_of_choices += 1.0
            return
        lists = [self._having[bag][0] for bag in way]
        sizes = [int(group.sizes[child][of].sum()) for child, of in enumerate(lists)]
        fewest = sizes.index(min(sizes))
        if not sizes[fewest]:
            return
        of = lists[fewest]
        chosen = group.orders[fewest][_ranges(group.firsts[fewest][of], group.sizes[fewest][of])]
        counts = np.ones(len(chosen))
        for child, bag in enumerate(way):
            counts *= having[bag][group.lists[child, chosen]]
        counts_of_choices[chosen] += counts

    def _of_choices(self, group: _ChoiceGroup, chosen: I64) -> tuple[I64, I64]:
        """Return the cells of choices, and for each of them the place of its choice in `chosen`."""
        owners = group.owners[chosen]
        counts = self._counts[owners]
        of_choice = np.repeat(np.arange(len(chosen)), counts)
        starts = self._starts[_ranges(self._first[owners], counts)]
        return starts + group.places[chosen][of_choice], of_choice

    def _sizes(self, bag: Wish) -> F64:
        """Return how many pieces of each list have exactly these functions, shape (lists,)."""
        sizes = np.zeros(len(self._members))
        if bag in self._having:
            lists, counts = self._having[bag]
            sizes[lists] = counts
        return sizes

    def _number(
        self, pieces: Sequence[Piece], members_by_wish: dict[Wish, tuple[list[int], list[int]]]
    ) -> int:
        """Return the number of a list, and index its pieces on the first call."""
        known_number = self._numbers.get(id(pieces))
        if known_number is not None:
            return known_number
        number = self._numbers[id(pieces)] = len(self._members)
        members: dict[Wish, list[Piece]] = {}
        for piece in pieces:
            functions = piece.value.functions
            bag = self._bags.get(functions)
            if bag is None:
                bag = self._bags[functions] = frozenset(functions)
            members.setdefault(bag, []).append(piece)
        self._members.append(members)
        for bag, having in members.items():
            lists, counts = members_by_wish.setdefault(bag, ([], []))
            lists.append(number)
            counts.append(len(having))
        return number


def _choice_group(own: Wish, rows: Sequence[tuple[int, ...]], count: int) -> _ChoiceGroup:
    """Return the group of rows of numbers: owner, place, lists; there are `count` lists."""
    columns = np.array(rows, np.int64).T
    lists = columns[2:]
    sizes = [np.bincount(of_child, minlength=count) for of_child in lists]
    firsts = [np.cumsum(of_child) - of_child for of_child in sizes]
    orders = [np.argsort(of_child, kind="stable") for of_child in lists]
    return _ChoiceGroup(own, lists, columns[0], columns[1], orders, firsts, sizes)


def _ranges(firsts: I64, counts: I64) -> I64:
    """Return firsts[0], firsts[0] + 1, .. as many as counts[0], then those of firsts[1], ..

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    shifts = np.repeat(firsts - (np.cumsum(counts) - counts), counts)
    ranges: I64 = np.arange(len(shifts)) + shifts
    return ranges


def _own_functions(cell: Cell) -> Wish:
    """Return the functions that a rule's body adds to those of its children, by some rows of it."""
    for number in range(min(_SAMPLES, *map(len, cell.lists), _SAMPLES)):
        pieces = [of[number] for of in cell.lists]
        combined = cell.wording.assemble(*pieces)
        if combined is not None:
            of_children = {name for piece in pieces for name in piece.value.functions}
            return frozenset(combined.value.functions) - of_children
    return frozenset()


def _subsets(wish: Wish) -> list[Wish]:
    names = sorted(wish)
    return [frozenset(of) for n in range(len(names) + 1) for of in combinations(names, n)]


@lru_cache(maxsize=4096)
def _function_shares(
    wish: Wish, children: int, own: Wish = frozenset()
) -> tuple[FunctionShares, ...]:
    """Return the ways to give each child some functions, so that together they have all.

    The rule has some functions of its `own`.

    >>> [[sorted(bag) for bag in way] for way in _function_shares(frozenset("a"), 2)]
    [[[], ['a']], [['a'], []], [['a'], ['a']]]
    >>> _function_shares(frozenset("a"), 1, frozenset("b"))
    ()
    """
    shares = product(_subsets(wish), repeat=children)
    return tuple(way for way in shares if own.union(*way) == wish)
