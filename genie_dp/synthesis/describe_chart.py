"""From a program to sentences: a chart whose cells are parts of the program.

Generation directed by the program (bottom-up chart generation, Kay 1996): a cell holds what a
category can say of one part of the target. Only pieces that can be part of the target are kept,
of each part the cheapest few of a sort, so that the work hardly grows with the grammar.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from genie_dp.languages.base import Value
from genie_dp.synthesis.describe_costs import priced
from genie_dp.synthesis.describe_grammar import (
    Family,
    TargetGrammar,
    is_private,
    reads_words,
)
from genie_dp.synthesis.describe_target import Target
from genie_dp.synthesis.layout import ChildSpec, placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.rules import Combined, Rule, piece_of
from genie_dp.templates import english
from genie_dp.templates.guard import Test

MOST_ALIKE = 2  # pieces of one part that no template but for their words tells apart
MOST_ROUNDS = 8
MOST_DEARER = 4.0  # than the cheapest way to say a part; what is dearer is never said
QUESTION = 2.5  # "are any of my files large": no confirmation asks for yes or no
UNSAID = 1.5  # for asking for one output where the program gives all of them


@dataclass(slots=True, eq=False)
class Item:
    """A piece of the chart with what it costs to say it, and how it is made."""

    piece: Piece
    cost: float
    part: int
    rule: Rule | None = None
    children: tuple["Item", ...] = ()
    depth: int = 0
    category: str = ""
    good: dict[int, bool] = field(default_factory=dict)  # number of a slot -> whether it fits


@dataclass(slots=True)
class Cell:
    """What a category says of one part of the program.

    Attributes:
        sorts: pieces that templates cannot tell apart but by their words, the cheapest first.
        tick: when it was changed last.
    """

    sorts: dict[Any, list[Item]] = field(default_factory=dict)
    tick: int = 0

    def items(self) -> Iterator[Item]:
        """Yield the pieces."""
        for of_sort in self.sorts.values():
            yield from of_sort


@dataclass(frozen=True, slots=True)
class Root:
    """A way to say a whole program, not yet put into words."""

    cost: float
    part: int
    rule: Rule
    children: tuple[Item, ...]


Lists = Mapping[int, Sequence[Item]]
"""Part -> the pieces that may stand for a child."""


class DescribeChart:
    """The parts of one program that the templates can say."""

    def __init__(self, grammar: TargetGrammar, target: Target, max_depth: int = MOST_ROUNDS):
        """Fill the chart."""
        self.grammar, self.target, self.max_depth = grammar, target, max_depth
        self.parts: dict[Any, int] = {}
        self.values: list[Value] = []
        self.fitting: dict[int, bool] = {}
        self.cells: dict[str, dict[int, Cell]] = {}
        self.tick = 0
        self._built: dict[Any, int | None] = {}
        self._leaves: dict[Any, Lists] = {}
        self._chosen: dict[Any, Lists] = {}
        self.changed: dict[str, int] = {}
        self.length = len(target.text)
        self._keys = self._passing_keys()
        self._fill()

    # ----------------------------------------------------------------------------- parts

    def part(self, value: Value) -> int:
        """Return the number of a part; equal parts have one number."""
        key = (
            value.kind, value.text, value.gap, value.state, value.functions,
            getattr(value, "output", ""), getattr(value, "gap_text", ""),
        )  # fmt: skip
        if key not in self.parts:
            self.parts[key] = len(self.values)
            self.values.append(value)
        return self.parts[key]

    def _fits(self, value: Value) -> bool:
        if value.gap and value.kind != "param" and value.gap not in self._keys:
            return False
        return self.target.may_hold(value)

    def _passing_keys(self) -> frozenset[str]:
        """Return the keys of the outputs that the program names: nothing else may fill a gap."""
        return frozenset(
            piece.value.state.key
            for piece in self._phrases("OUTPUT")
            if hasattr(piece.value.state, "key")
        )

    # ---------------------------------------------------------------------------- leaves

    def _phrases(self, pool: str) -> list[Piece]:
        return [item.piece for items in self._pool(pool).values() for item in items]

    def _pool(self, pool: str) -> Lists:
        """Return the pieces of a built-in category or table that the program may need."""
        if pool not in self._leaves:
            found: dict[int, list[Item]] = {}
            for piece, cost in self.grammar.phrases_of(pool, self.target.functions):
                for specific in self._specific(piece):
                    part = self.part(specific.value)
                    item = Item(specific, cost, part, category=pool)
                    if specific is piece:  # which outlives the chart
                        item.good = self.grammar.good.setdefault(id(piece), item.good)
                    found.setdefault(part, []).append(item)
            self._leaves[pool] = found
        return self._leaves[pool]

    def _constants(self, pieces: Sequence[Piece]) -> Lists:
        """Return the constants of a placeholder that the program has."""
        name = id(pieces)
        if name not in self._leaves:
            found: dict[int, list[Item]] = {}
            for piece, cost in priced(pieces):
                for specific in self._specific(piece):
                    part = self.part(specific.value)
                    found.setdefault(part, []).append(Item(specific, cost, part))
            self._leaves[name] = found
        return self._leaves[name]

    def _specific(self, piece: Piece) -> Iterator[Piece]:
        """Yield a constant for each place of the program where it may stand; others as they are.

        Pieces of the chart do not count their placeholders, so that nothing renumbers them.
        """
        value = piece.value
        if value.kind == "param":
            typed, function = value.typed, value.state.function  # type: ignore[attr-defined]
            if typed in self.target.counts and function in self.target.functions:
                yield piece
        elif is_private(piece.words) and not value.gap:
            for character in self.target.characters(piece.words):
                yield Piece(
                    character, value.shift([(piece.words, character)]), piece.features,
                    attributes=piece.attributes,
                )  # fmt: skip
        elif value.gap:
            if value.gap in self._keys:
                yield piece
        elif self.target.may_hold(value):
            yield piece

    # --------------------------------------------------------------------------- filling

    def _fill(self) -> None:
        for family in self.grammar.candidates(self.target):
            self._extend(family, 0)
        last: dict[int, int] = {}
        for _ in range(self.max_depth):
            before = self.tick
            for number, family in enumerate(self.grammar.others):
                since = last.get(number, -1)
                last[number] = self.tick
                self._extend(family, since)
            if self.tick == before:
                return

    def _extend(self, family: Family, since: int) -> None:
        """Add what a template says of parts of which one at least was changed since then."""
        if since > 0 and all(self.changed.get(pool, 0) <= since for pool in family.cells):
            return
        for part, items in self.combinations(family, since):
            depth = 1 + max((i.depth for i in items if i.rule is not None), default=-1)
            if depth > self.max_depth:
                continue
            for rule, cost in family.rules:
                total = cost + sum(item.cost for item in items)
                if not self._is_cheap(family.category, part, total):
                    break
                self._add(family, rule, part, items, total, depth)

    def _is_cheap(self, category: str, part: int, cost: float) -> bool:
        """Tell whether a piece is not far dearer than the cheapest that says the same."""
        cell = self.cells.get(category, {}).get(part)
        if cell is None:
            return True
        return cost < MOST_DEARER + min(of_sort[0].cost for of_sort in cell.sorts.values())

    def _add(
        self, family: Family, rule: Rule, part: int, items: Sequence[Item], cost: float, depth: int
    ) -> None:
        combined = self.assembled(rule, items)
        if combined is None:
            return
        combined.value, combined.count, combined.mask = self.values[part], 0, 0
        piece = piece_of(rule, [item.piece for item in items], combined)
        output = getattr(piece.value, "output", "")
        if output and output not in self.target.passed:
            cost += UNSAID
        cell = self.cells.setdefault(family.category, {}).setdefault(part, Cell())
        of_sort = cell.sorts.setdefault(self._sort(piece), [])
        known = next((i for i in of_sort if i.piece.words == piece.words), None)
        if known is not None:
            if known.cost <= cost:
                return
            of_sort.remove(known)
        if len(of_sort) == MOST_ALIKE and of_sort[-1].cost <= cost:
            return
        of_sort.append(Item(piece, cost, part, rule, tuple(items), depth, family.category))
        of_sort.sort(key=lambda item: item.cost)
        del of_sort[MOST_ALIKE:]
        self.tick += 1
        cell.tick = self.changed[family.category] = self.tick

    def _sort(self, piece: Piece) -> Any:
        asked: tuple[Any, ...] = (piece.features, *reads_words(piece, self.grammar.words))
        if piece.value.gap:
            asked += tuple(map(piece.attribute, ("takes_pronoun", "takes_phrase", "takes_many")))
        return asked

    def said(self, root: Root) -> str | None:
        """Return the words of a whole program, None where its pieces do not go together."""
        combined = self.assembled(root.rule, root.children)
        return None if combined is None else combined.text

    def assembled(self, rule: Rule, items: Sequence[Item]) -> Combined | None:
        """Return the pieces joined by a rule, None where they do not go together."""
        return self.grammar.assembled(rule, [item.piece for item in items])

    def roots(self) -> list[Root]:
        """Return every way to say a whole program that may be the target."""
        found: list[Root] = []
        for family in self.grammar.sentences(self.target):
            if self.target.is_policy != (family.rule.body.kind == "policy"):
                continue
            for part, items in self.combinations(family):
                below = sum(item.cost for item in items)
                found += [
                    Root(below + cost + QUESTION * _asks(rule, items), part, rule, tuple(items))
                    for rule, cost in family.rules
                ]
        return found

    # ----------------------------------------------------------------------- combinations

    def combinations(self, family: Family, since: int = -1) -> Iterator[tuple[int, Sequence[Item]]]:
        """Yield (part of the result, a piece for each child) for all that meet the guard."""
        lists: list[Lists] = []
        for index, child in enumerate(family.children):
            found = self._choices(family, index, child)
            if not found:
                return
            lists.append(found)
        for parts in product(*lists):
            if since >= 0 and not self._is_new(family, parts, since):
                continue
            yield from self._of_parts(
                family, parts, [x[p] for x, p in zip(lists, parts, strict=True)]
            )

    def _is_new(self, family: Family, parts: Sequence[int], since: int) -> bool:
        if since == 0:
            return True
        return any(
            self.cells[child.pool][part].tick > since
            for child, part in zip(family.children, parts, strict=True)
            if not child.is_leaf
        )

    def _of_parts(
        self, family: Family, parts: Sequence[int], lists: Sequence[Sequence[Item]]
    ) -> Iterator[tuple[int, Sequence[Item]]]:
        is_root = family.category in self.grammar.compiled.roots
        if is_root and not family.names_functions and not self._is_whole(parts):
            return
        for items in _bound(lists, family):
            part = self._result(family, parts, is_root)
            if part is None:
                return
            yield part, items

    def _is_whole(self, parts: Sequence[int]) -> bool:
        """Tell whether parts have all functions of the program, where nothing less is wanted."""
        if self.target.is_policy:
            return True
        return sum(len(self.values[part].functions) for part in parts) == self.target.size

    def _result(self, family: Family, parts: Sequence[int], is_root: bool) -> int | None:
        """Return the part that a template makes of parts, None if it is none of the program."""
        body = family.rule.body
        key = (id(body), tuple([(family.rule.names[i], parts[i]) for i in family.order]))
        if key not in self._built:
            values = {family.rule.names[i]: self.values[parts[i]] for i in family.order}
            value = body.build(values)
            if value is not None and is_root:
                fits = len(value.text) == self.length  # tokens may stand in another order
            else:
                fits = value is not None and self._fits(value)
            self._built[key] = self.part(value) if fits else None
        return self._built[key]

    def _choices(self, family: Family, index: int, child: ChildSpec) -> Lists:
        name = placeholder_of(child.pool)
        if name is not None:
            return self._constants(family.rule.constants.get(name, ()))
        key = family.slots[index], self.changed.get(child.pool, 0)
        if key not in self._chosen:
            self._chosen[key] = _asked(
                self._offered(child), child, family.rule.tests[index], family.slots[index]
            )
        return self._chosen[key]

    def _offered(self, child: ChildSpec) -> Lists:
        if child.is_leaf:
            return self._pool(child.pool)
        cells = self.cells.get(child.pool, {})
        return {
            part: sorted(cell.items(), key=lambda item: item.cost) for part, cell in cells.items()
        }


def _asks(rule: Rule, items: Sequence[Item]) -> bool:
    """Tell whether a sentence asks for yes or no, as no confirmation does."""
    first = rule.layout.parts[0] if rule.layout.parts else ""
    if isinstance(first, int):
        return english.is_question(items[first].piece.text)
    return isinstance(first, str) and english.is_question(first)


def _asked(found: Lists, child: ChildSpec, tests: Sequence[Test], slot: int) -> Lists:
    """Return the pieces that meet the requests of a child, and the tests of it alone."""
    has_gap = child.gap is not None

    def is_good(item: Item) -> bool:
        if slot not in item.good:
            item.good[slot] = _is_good(item.piece, child, tests)
        return item.good[slot]

    kept = {}
    for part, items in found.items():
        if bool(items[0].piece.value.gap) == has_gap:
            good = [item for item in items if is_good(item)]
            if good:
                kept[part] = good
    return kept


def _is_good(piece: Piece, child: ChildSpec, tests: Sequence[Test]) -> bool:
    if not all(piece.attribute(name) in allowed for name, allowed in child.asked):
        return False
    return all(test.evaluate(lambda _, name: piece.attribute(name)) for test in tests)


def _bound(
    lists: Sequence[Sequence[Item]], family: Family, bound: tuple[Item, ...] = ()
) -> Iterator[tuple[Item, ...]]:
    if len(bound) == len(lists):
        yield bound
        return
    for item in lists[len(bound)]:
        chosen = (*bound, item)
        if family.checks.allow([(i.piece, ()) for i in chosen]):
            yield from _bound(lists, family, chosen)
