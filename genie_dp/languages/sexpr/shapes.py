"""What nodes may hold: learned from programs, or as a file of declarations says.

A node is known by its opening bracket, its label and, where declarations apply it (`call`), the
function that its first item names. Where all nodes of a kind have the same number of items, each
place has its own items; otherwise any item may stand at any place, in the numbers seen.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from genie_dp.languages.sexpr.ast import Atom, Expression, Node, Text
from genie_dp.languages.sexpr.declarations import (
    Declarations,
    Element,
    admits,
    is_node,
    misfit,
    takes,
)
from genie_dp.languages.sexpr.render import from_tokens
from genie_dp.languages.sexpr.types import TYPES, is_number, placeholder_type

Key = tuple[str, ...]
"""Opening bracket, label ("" where the first item is no symbol), and the function applied."""


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """Something that a node may hold.

    Attributes:
        kind: a node, a certain symbol, any number, a placeholder, words in quotes, or words
            between square brackets.
        key: of a node; of a symbol or the stem of a placeholder, alone.
    """

    kind: Literal["node", "symbol", "number", "slot", "text", "word"]
    key: Key = ()

    @property
    def sort(self) -> str:
        """Return what a declared signature sees of it (canonical.sort_of)."""
        match self.kind:
            case "node":
                opener = self.key[0][-1]
                return f"({self.key[1]})" if opener == "(" else f"[{self.key[1]}]"
            case "number":
                return "Number"
            case "text":
                return "String"
            case "slot":
                found = placeholder_type(f"{self.key[0]}_0")
                return found.name if found else "String"
            case _:
                return self.key[0] if self.key else "word"


@dataclass(slots=True)
class Shape:
    """What nodes of one key hold.

    Attributes:
        places: the items of each place, or of all places as one where numbers differ.
        counts: numbers of items seen.
        elements: the signature, where one is declared; then `places` is one set.
    """

    places: list[set[Item]] = field(default_factory=list)
    counts: set[int] = field(default_factory=set)
    elements: tuple[Element, ...] | None = None
    is_ordered: bool = True

    @property
    def is_fixed(self) -> bool:
        """Tell whether each place has items of its own."""
        return len(self.counts) == 1 and self.elements is None

    def items(self, place: int) -> set[Item]:
        """Return what may stand at a place."""
        if self.is_fixed:
            return self.places[place] if place < len(self.places) else set()
        return set().union(*self.places)


@dataclass(slots=True)
class Shapes:
    """What is known of the programs of a language.

    Attributes:
        tops: what a program may be.
        shapes: key -> what such nodes hold.
        numbers: numbers that programs hold.
    """

    declarations: Declarations
    tops: set[Item] = field(default_factory=set)
    shapes: dict[Key, Shape] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)

    def allowed(self, key: Key, sorts: tuple[str, ...]) -> Iterator[Item]:
        """Yield the items that may stand after those of the given sorts."""
        shape = self.shapes[key]
        for item in sorted(shape.items(len(sorts))):
            if shape.elements is None or _missing(shape, (*sorts, item.sort)) is not None:
                yield item

    def wanted(self, key: Key, sorts: tuple[str, ...]) -> Iterator[Item]:
        """Yield those of the allowed items that bring the end of the node nearer."""
        shape = self.shapes[key]
        missing = 0 if shape.elements is None else _missing(shape, sorts) or 0
        for item in self.allowed(key, sorts):
            rest = 0 if shape.elements is None else _missing(shape, (*sorts, item.sort)) or 0
            if shape.elements is None or rest < missing:
                yield item

    def may_end(self, key: Key, sorts: tuple[str, ...]) -> bool:
        """Tell whether a node may end after items of the given sorts."""
        shape = self.shapes[key]
        if shape.elements is not None:
            return misfit(shape.elements, sorts, ordered=shape.is_ordered) is None
        return len(sorts) >= min(shape.counts)


def _missing(shape: Shape, sorts: tuple[str, ...]) -> int | None:
    """Return how many elements still want an item, or None where the items cannot be completed.

    Items are assigned as `declarations.misfit` does.
    """
    elements = shape.elements or ()
    counts = [0] * len(elements)
    current = 0
    for sort in sorts:
        start = current if shape.is_ordered else 0
        takers = (i for i in range(start, len(elements)) if takes(elements[i], counts[i], sort))
        index = next(takers, None)
        if index is None:
            return None
        counts[index] += 1
        current = index
    empty = [i for i, e in enumerate(elements) if e.arity in ("", "+") and not counts[i]]
    is_passed = shape.is_ordered and any(i < current for i in empty)
    return None if is_passed else len(empty)


# ---------------------------------------------------------------------------------- reading


def learn(programs: Iterable[str], declarations: Declarations) -> Shapes:
    """Return the shapes of programs in token form; declared signatures say what nodes may hold.

    >>> from genie_dp.languages.sexpr.declarations import NONE
    >>> shapes = learn(["( P ( N 2 ) ( T HAM ) )", "( P ( T PLUM ) )"], NONE)
    >>> sorted(shapes.shapes), shapes.shapes["(", "P"].counts, shapes.numbers
    ([('(', 'N'), ('(', 'P'), ('(', 'T')], {1, 2}, {'2'})
    """
    shapes = Shapes(declarations)
    for program in dict.fromkeys(programs):
        tree = from_tokens(program)
        shapes.tops.add(_seen(tree, shapes, in_square=False))
    for key, shape in shapes.shapes.items():
        if key[0] in ("(", "[") and key[1] in declarations.signatures:
            shape.elements = declarations.signatures[key[1]]
            shape.is_ordered = declarations.order(key[1]) == "ordered"
    if declarations.programs:
        _declare(shapes)
    return shapes


def _declare(shapes: Shapes) -> None:
    """Add what is declared: nodes that no program has, and all that a signature admits."""
    declarations = shapes.declarations
    sorts = {s for elements in declarations.signatures.values() for e in elements for s in e.sorts}
    nodes = {_declared_node(sort) for sort in filter(is_node, sorts | declarations.programs)}
    for node in nodes:
        label = node.key[1]
        shape = shapes.shapes.setdefault(node.key, Shape())
        shape.elements = declarations.signatures[label]
        shape.is_ordered = declarations.order(label) == "ordered"
    shapes.tops = {node for node in nodes if node.sort in declarations.programs}
    seen = {item for shape in shapes.shapes.values() for place in shape.places for item in place}
    symbols = {Item("symbol", (s,)) for s in sorts if not is_node(s) and s not in _CLASSES}
    slots = {Item("slot", (TYPES[sort].stem,)) for sort in sorts & TYPES.keys()}
    known = seen | nodes | symbols | slots | {Item("text"), Item("number")}
    for key, shape in shapes.shapes.items():
        if shape.elements is not None:
            # Between square brackets every word is a word.
            items = nodes | {Item("word")} if key[0] == "[" else known - {Item("word")}
            shape.places = [{i for i in items if any(admits(e, i.sort) for e in shape.elements)}]


_CLASSES = {"Atom", "Any", *TYPES}


def _declared_node(sort: str) -> Item:
    return Item("node", (sort[0], sort[1:-1]))


def _seen(tree: Expression, shapes: Shapes, *, in_square: bool) -> Item:
    match tree:
        case Text():
            return Item("text")
        case Atom(text):
            return _atom(text, shapes, in_square=in_square)
        case Node(items):
            key = node_key(tree, shapes.declarations)
            shape = shapes.shapes.setdefault(key, Shape())
            rest = items[len([part for part in key[1:] if part]) :]
            is_square = tree.bracket == "["
            found = _spans([_seen(item, shapes, in_square=is_square) for item in rest])
            shape.counts.add(len(found))
            shape.places.extend(set() for _ in range(len(found) - len(shape.places)))
            for place, item in zip(shape.places, found, strict=False):
                place.add(item)
            return Item("node", key)


def _spans(items: list[Item]) -> list[Item]:
    """Return the items with words side by side as one."""
    word = Item("word")
    return [item for k, item in enumerate(items) if item != word or not k or items[k - 1] != word]


def _atom(text: str, shapes: Shapes, *, in_square: bool) -> Item:
    if in_square:
        return Item("word")
    if is_number(text):
        shapes.numbers.add(text)
        return Item("number")
    type_ = placeholder_type(text)
    return Item("slot", (type_.stem,)) if type_ else Item("symbol", (text,))


def node_key(node: Node, declarations: Declarations) -> Key:
    """Return what a node is known by.

    >>> from genie_dp.languages.sexpr.declarations import NONE
    >>> node_key(Node((Atom("f"), Atom("x"))), NONE)
    ('(', 'f')
    """
    opener = node.prefix + node.bracket
    items = node.items
    if not items or not isinstance(items[0], Atom) or _is_value(items[0].text, node.bracket):
        return (opener, "")
    first = items[0].text
    if first in declarations.applied and len(items) > 1 and isinstance(items[1], Atom):
        return (opener, first, items[1].text)
    return (opener, first)


def _is_value(text: str, bracket: str) -> bool:
    return bracket == "(" and (is_number(text) or placeholder_type(text) is not None)
