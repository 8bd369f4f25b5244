"""Pieces of S-expressions in synthesis: canonical token text, made without a syntax tree."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from genie_dp.languages.sexpr.canonical import placeholder_key, sort_key
from genie_dp.languages.sexpr.types import SlotType, placeholder_type

Item = tuple[str, str, tuple[str, ...], str]
"""One expression: sort key, token text, functions, and what signatures see of it."""

Names = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class State:
    """What guards may ask of a piece.

    Attributes:
        label: label of the node; "" for a symbol, a string or several expressions.
        count: how many expressions stand side by side.
        type, key: the type of a constant, else "".
    """

    label: str
    count: int
    type: str = ""
    key: str = ""


state = lru_cache(maxsize=None)(State)


class Value:
    """One or more expressions side by side (languages/base.py, Value).

    `items` are the expressions; `remake` gives the value anew after its placeholders were renamed,
    for that can change the order of an unordered node.
    """

    __slots__ = ("functions", "gap", "items", "kind", "remake", "slots", "state", "text")

    def __init__(
        self,
        items: Sequence[Item],
        remake: Callable[[Names], "Value"],
        *,
        kind: str = "program",
        state_: State | None = None,
        slots: tuple[tuple[str, str, str], ...] = (),
    ):
        """Join the items."""
        self.kind = kind
        self.items = items
        self.text: str
        self.functions: tuple[str, ...]
        self.state: Hashable
        self.gap = ""
        self.slots = slots
        self.remake = remake
        if len(items) == 1:
            _, self.text, self.functions, sort = items[0]
            self.state = state_ or state(sort[1:-1] if sort[0] in "([" else "", 1)
        else:
            self.text = " ".join([item[1] for item in items])
            self.functions = tuple([name for item in items for name in item[2]])
            self.state = state_ or state("", len(items))

    def shift(self, names: Names) -> "Value":
        """Return the value with placeholders renamed, one after the other."""
        text = self.text
        for old, _ in names:
            if old in text:
                return self.remake(names)
        return self


def placeholder_value(token: str) -> Value:
    """Return the value of a constant said as a placeholder, such as NUMBER_0."""
    type_ = placeholder_type(token)
    if type_ is None:
        raise ValueError(f"{token!r} is no placeholder")
    return _placeholder(token, type_)


def _placeholder(token: str, type_: SlotType) -> Value:
    def remake(names: Names) -> Value:
        return _placeholder(rename(token, names), type_)

    # A private character of the engine stands for a placeholder of this type too.
    key = sort_key(token) if len(token) > 1 else placeholder_key(type_.stem, token)
    said = state("", 1, type_.name, type_.name)
    slots = ((token, type_.name, ""),)
    return Value(((key, token, (), type_.name),), remake, kind="value", state_=said, slots=slots)


def rename(token: str, names: Names) -> str:
    """Return the token after the renamings, one after the other.

    >>> rename("NUMBER_0", [("NUMBER_0", "NUMBER_1"), ("NUMBER_1", "NUMBER_2")])
    'NUMBER_2'
    """
    for old, new in names:
        if token == old:
            token = new
    return token
