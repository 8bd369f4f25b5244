"""The syntax tree of S-expressions; spans and layout say how a text looked: not compared."""

from dataclasses import dataclass, field
from typing import Literal

from genie_dp.errors import Span

Bracket = Literal["(", "["]
Prefix = Literal["", "^", "#"]
Layout = Literal["compact", "closing", "spaced"]
"""`(a b)` of Lispress, `(a b )` of PIZZA and TOP, `( a b )` of lambda-DCS."""

CLOSING = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Atom:
    """A symbol, a number, or a word between square brackets."""

    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted string, without its quotes and escapes."""

    value: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Node:
    """A bracket and what stands in it; the label is the first item.

    Attributes:
        prefix: "^" before a type (`^(Event)`), "#" before a typed literal (`#(String "x")`).
    """

    items: tuple["Expression", ...]
    bracket: Bracket = "("
    prefix: Prefix = ""
    layout: Layout = field(default="compact", compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


Expression = Atom | Text | Node


def label(node: Node) -> str:
    """Return the symbol that names a node, or "" where it begins with no symbol.

    >>> label(Node((Node((Atom("Event"),), prefix="^"), Atom("EmptyStructConstraint"))))
    'EmptyStructConstraint'
    """
    place = label_index(node)
    first = node.items[place] if place is not None else None
    return first.text if isinstance(first, Atom) else ""


def label_index(node: Node) -> int | None:
    """Return the place of the label among the items: after the types, `(^(Event) label ..)`."""
    for index, item in enumerate(node.items):
        if isinstance(item, Node) and item.prefix == "^":
            continue
        return index if isinstance(item, Atom) else None
    return None
