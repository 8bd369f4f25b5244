"""Constants in place of placeholders: what a parser predicted becomes what can be executed."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from genie_dp.languages.thingtalk.ast import (
    EntityValue,
    Policy,
    Program,
    SlotValue,
    StringValue,
    Value,
)
from genie_dp.languages.thingtalk.from_tokens import piece_from_tokens
from genie_dp.languages.thingtalk.operators import counted
from genie_dp.languages.thingtalk.slots import is_slot
from genie_dp.languages.thingtalk.traverse import rewrite

P = TypeVar("P", bound=Program | Policy)
_LIKE_ONE = re.compile(r"(?<!\S)[A-Z][^ ]*_[0-9]+(?!\S)")


def fill(program: P, values: Mapping[str, tuple[str, str]]) -> P:
    """Return the program with its placeholders replaced, those without a value kept.

    Args:
        program: the program.
        values: placeholder -> (value in token form, words that it was said in). The words are what
            stands in for a placeholder inside of free text.

    >>> from genie_dp.languages.thingtalk.from_tokens import from_tokens
    >>> from genie_dp.languages.thingtalk.render import render
    >>> tokens = 'now => @c.f param:a:Number = NUMBER_0 param:b:String = " at NUMBER_0 "'
    >>> render(fill(from_tokens(tokens), {"NUMBER_0": ("20", "twenty")}))
    'now => @c.f(a = 20, b = "at twenty")'
    >>> degrees = from_tokens("now => @c.f param:a:Measure(C) = NUMBER_0 unit:F")
    >>> render(fill(degrees, {"NUMBER_0": ("70", "seventy")}))
    'now => @c.f(a = 70F)'
    """

    def words(text: str) -> str:
        return _LIKE_ONE.sub(lambda m: values[m[0]][1] if m[0] in values else m[0], text)

    def changed(node: Any) -> Any:
        match node:
            case SlotValue(token, unit) if token in values:
                found = constant(values[token][0])
                return counted(found, unit) if unit else found
            case StringValue(text) if _LIKE_ONE.search(text):
                return replace(node, text=words(text))
            case EntityValue(value, _, display):
                said = None if display is None else words(display)
                return replace(node, value=None if value is None else words(value), display=said)
            case _:
                return node

    filled: P = rewrite(program, changed)
    return filled


def constant(text: str) -> Value:
    """Return the constant of a token form.

    >>> constant("6 unit:ft 3 unit:in")
    MeasureValue(parts=((Decimal('6'), 'ft'), (Decimal('3'), 'in')))
    """
    value: Any = piece_from_tokens(text, "value")
    return value  # type: ignore[no-any-return]


def placeholders(program: Any) -> tuple[str, ...]:
    """Return the placeholders that a program still has, in program order.

    >>> from genie_dp.languages.thingtalk.from_tokens import from_tokens
    >>> placeholders(from_tokens("now => @c.f param:a:Number = NUMBER_0"))
    ('NUMBER_0',)
    """
    found: dict[str, None] = {}

    def seen(node: Any) -> Any:
        match node:
            case SlotValue(token):
                found[token] = None
            case StringValue(text):
                found.update(dict.fromkeys(t for t in _LIKE_ONE.findall(text) if is_slot(t)))
            case EntityValue(value, _, display):
                text = f"{value or ''} {display or ''}"
                found.update(dict.fromkeys(t for t in _LIKE_ONE.findall(text) if is_slot(t)))
            case _:
                pass
        return node

    rewrite(program, seen)
    return tuple(found)
