"""The syntax tree of S-expressions, and the types of placeholders.

Spans and layout keep how a text looked; they are not compared.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from genie_dp.errors import Span
from genie_dp.languages import types as ty
from genie_dp.languages.terms.bodies import unknown_type

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
    """A bracket and its items; the label is the first item.

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


def node_sort(opener: str, label: str) -> str:
    """Return the sort of a node in signatures: its label in its brackets, the type of a literal.

    >>> node_sort("(", "SIZE"), node_sort("#(", "Date")
    ('(SIZE)', '#Date')
    """
    if opener == "#(":
        return f"#{label}"
    return f"({label})" if opener[-1] == "(" else f"[{label}]"


_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?L?")


@dataclass(frozen=True, slots=True)
class SlotType:
    """A type whose constants are expressed by placeholders.

    Attributes:
        stem: the beginning of their names, NUMBER of NUMBER_0.
        type: the same type, as all languages know it.
    """

    name: str
    stem: str
    type: ty.Type

    def __str__(self) -> str:
        return self.name

    @property
    def sort(self) -> str:
        """Return the sort of its constants in signatures (declarations.Element)."""
        return self.name if self.name in ("String", "Number") else f"#{self.name}"


TYPES = {
    name: SlotType(name, stem, type_)
    for name, stem, type_ in (
        ("String", "QUOTED_STRING", ty.STRING),
        ("Number", "NUMBER", ty.NUMBER),
        ("Date", "DATE", ty.DATE),
        ("Time", "TIME", ty.TIME),
        ("Duration", "DURATION", ty.Measure("ms")),
        ("Currency", "CURRENCY", ty.CURRENCY),
        ("Location", "LOCATION", ty.LOCATION),
        ("PhoneNumber", "PHONE_NUMBER", ty.Entity("tt:phone_number")),
        ("EmailAddress", "EMAIL_ADDRESS", ty.Entity("tt:email_address")),
        ("URL", "URL", ty.Entity("tt:url")),
    )
}
STEMS = {type_.stem: type_ for type_ in TYPES.values()}
_ENTITY_STEM = "GENERIC_ENTITY_"


def name_type(name: str) -> SlotType:
    """Return the type of names that a list has.

    >>> name_type("City").stem
    'GENERIC_ENTITY_City'
    """
    return SlotType(name, f"{_ENTITY_STEM}{name}", ty.Entity(name))


def name_of(type_: ty.Type) -> str:
    """Return how S-expressions call a type that they have placeholders for.

    >>> name_of(ty.Entity("tt:url")), name_of(ty.Entity("City"))
    ('URL', 'City')
    """
    own = next((t.name for t in TYPES.values() if t.type == type_), None)
    return own or str(type_.kind if isinstance(type_, ty.Entity) else type_)


def parse_type(text: str, entities: Collection[str] = ()) -> SlotType:
    """Return the type of that name, or raise GenieError (X009).

    >>> parse_type("Number").stem
    'NUMBER'
    """
    if text in entities:
        return name_type(text)
    if text not in TYPES:
        raise unknown_type("X009", text, (*TYPES, *entities))
    return TYPES[text]


def placeholder_type(token: str) -> SlotType | None:
    """Return the type of a placeholder such as NUMBER_0, or None for any other token."""
    stem, _, number = token.rpartition("_")
    if not ty.is_place_number(number):
        return None
    if stem.startswith(_ENTITY_STEM) and stem != _ENTITY_STEM:
        return name_type(stem.removeprefix(_ENTITY_STEM))
    return STEMS.get(stem)


def is_number(token: str) -> bool:
    """Return whether a symbol is a number: 3, -1, 2.5, or 4L as Lispress writes whole numbers."""
    return _NUMBER.fullmatch(token) is not None
