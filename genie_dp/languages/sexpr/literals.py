"""Typed literals, `#(Date "2027-03-14")`: values that a reader finds in a sentence, in programs.

A constant is in the notation that readers share: "25", "date:2027-03-14", "90 unit:min".
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from genie_dp.errors import Problem
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr.text import tokens
from genie_dp.languages.terms.values import (
    PLAIN_NUMBER,
    is_iso,
    read_constant,
)
from genie_dp.languages.units import SHIPPED

_KINDS = {str(t.type.kind): t.name for t in sx.TYPES.values() if hasattr(t.type, "kind")}
_TYPES_OF_KINDS = {name: kind for kind, name in _KINDS.items()}
FORMS = {
    "Date": '#(Date "2027-03-14") or #(Date "2027-03-14T17:00:00")',
    "Time": '#(Time "17:00:00")',
    "Duration": "#(Duration 1 h 30 min)",
    "Currency": "#(Currency 20 usd)",
    "Location": '#(Location "paris" 48.853 2.349)',
    **{name: f'#({name} "..")' for name in _KINDS.values()},
}

SPOKEN_TYPES = FORMS.keys() - _KINDS.values()  # all else is said as it is written


def expression_of(constant: str) -> sx.Expression:
    """Return the literal of a constant.

    >>> from genie_dp.languages.sexpr.text import render
    >>> [render(expression_of(c)) for c in ("25", "date:2027-03-14", "1 unit:h 30 unit:min")]
    ['25', '#(Date "2027-03-14")', '#(Duration 1 h 30 min)']

    Raises:
        ValueError: it is no constant that an expression can hold.
    """
    match read_constant(constant):
        case ("number", (number,)):
            return sx.Atom(number)
        case ("text", (words,)):
            return sx.Text(words)
        case ("name", (words, kind)):
            return literal_of(_KINDS.get(kind, kind), sx.Text(words))
        case ("place", (words, *numbers)):
            return literal_of("Location", sx.Text(words), *map(sx.Atom, numbers))
        case ("date" | "time" as kind, (text,)):
            return literal_of(kind.capitalize(), sx.Text(text))
        case ("currency", (money,)):
            return literal_of("Currency", *map(sx.Atom, money.split(":")))
        case ("measure", parts) if SHIPPED.base(parts[1]) == "ms":
            return literal_of("Duration", *map(sx.Atom, parts))
    raise ValueError(f"{constant!r} is no constant of S-expressions")


def literal_of(label: str, *items: sx.Expression) -> sx.Node:
    """Return the typed literal `#(LABEL ..)`."""
    return sx.Node((sx.Atom(label), *items), prefix="#")


def constant_of(node: sx.Node) -> str | None:
    """Return the constant of a typed literal; None where it has not the form of its type.

    Literals of other types than placeholders have are names: `#(City "new york")`.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> [constant_of(parse(t)) for t in ("#(Currency 20 usd)", '#(Date "soon")')]
    ['currency:20:usd', None]
    """
    label = sx.label(node)
    match node.items[1:]:
        case (sx.Text(words),) if label == "Date":
            return f"date:{words}" if is_iso(words, date) or is_iso(words, datetime) else None
        case (sx.Text(words),) if label == "Time":
            return f"time:{words}" if is_iso(words, time) else None
        case (sx.Text(words),) if label not in ("Duration", "Currency", "Location"):
            return f'" {words} " ^^{_TYPES_OF_KINDS.get(label, label)}'
        case (sx.Atom(amount), sx.Atom(code)) if label == "Currency":
            is_money = _is_number(amount) and re.fullmatch("[a-z]{3}", code)
            return f"currency:{amount}:{code}" if is_money else None
        case (sx.Text(words), sx.Atom(latitude), sx.Atom(longitude)) if label == "Location":
            is_place = _is_number(latitude) and _is_number(longitude)
            return f'" {words} " at:{latitude}:{longitude}' if is_place else None
        case (sx.Atom(), sx.Atom(), *_) as parts if label == "Duration" and len(parts) % 2 == 0:
            texts = [part.text for part in parts if isinstance(part, sx.Atom)]
            pairs = list(zip(texts[::2], texts[1::2], strict=False))
            is_right = len(texts) == len(parts) and all(
                _is_number(amount) and SHIPPED.base(unit) == "ms" for amount, unit in pairs
            )
            return " ".join(f"{amount} unit:{unit}" for amount, unit in pairs) if is_right else None
        case _:
            return None


def _is_number(text: str) -> bool:
    return PLAIN_NUMBER.fullmatch(text) is not None


def problem_of(node: sx.Node) -> Problem | None:
    """Return the mistake of a typed literal that is not written as its type is (X034)."""
    label = sx.label(node)
    if label not in FORMS or constant_of(node) is not None:
        return None
    message = f"{tokens(node)} is no literal of type {label}"
    return Problem("X034", message, node.span, f"write {FORMS[label]}")


def is_read(node: sx.Expression) -> bool:
    """Return whether an expression is a literal of a type that readers find, such as a date."""
    if not isinstance(node, sx.Node) or node.prefix != "#" or sx.label(node) not in FORMS:
        return False
    return constant_of(node) is not None


def plain_value(expression: sx.Expression) -> Any:
    """Return a symbol, a text, a number or a typed literal as tools take it.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> plain_value(parse("#(Currency 20 usd)")), plain_value(parse('#(City "new york")'))
    ({'value': 20, 'currency': 'usd'}, 'new york')
    """
    match expression:
        case sx.Text(value):
            return value
        case sx.Atom(text) if sx.is_number(text):
            number = Decimal(text.removesuffix("L"))
            return int(number) if number == number.to_integral_value() else float(number)
        case sx.Atom(text):
            return text
    items = [plain_value(item) for item in expression.items[1:]]
    match sx.label(expression):
        case "Currency":
            return dict(zip(("value", "currency"), items, strict=True))
        case "Location":
            return dict(zip(("name", "latitude", "longitude"), items, strict=True))
        case "Duration":
            pairs = zip(items[::2], items[1::2], strict=True)
            measures = [{"value": amount, "unit": unit} for amount, unit in pairs]
            return measures[0] if len(measures) == 1 else measures
        case _:
            return items[0] if len(items) == 1 else items


# ------------------------------------------------------------------------------ in programs


Change = Callable[[sx.Expression, bool, bool], Sequence[sx.Expression]]


def rewrite(expression: sx.Expression, change: Change) -> sx.Expression:
    """Return an expression with its leaves and literals changed, from left to right.

    Args:
        change: returns the replacement of one; takes whether that is between square
            brackets, and whether it is the label of a node.
    """
    [changed] = _rewrite(expression, change, in_square=False, is_label=False)
    return changed


def _rewrite(
    expression: sx.Expression, change: Change, *, in_square: bool, is_label: bool
) -> Sequence[sx.Expression]:
    if not isinstance(expression, sx.Node) or expression.prefix == "#":
        changed = change(expression, in_square, is_label)
        if len(changed) != 1 or changed[0] is not expression:
            return changed
    if not isinstance(expression, sx.Node):
        return (expression,)
    inside, label = expression.bracket == "[", sx.label_index(expression)
    items = [
        new
        for place, item in enumerate(expression.items)
        for new in _rewrite(item, change, in_square=inside, is_label=place == label)
    ]
    return (replace(expression, items=tuple(items)),)
