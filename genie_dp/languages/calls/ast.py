"""The syntax tree of programs that are calls of tools.

A program is a sequence of steps. The calls of a step do not depend on each other; a call may use
the results of calls of earlier steps. Spans are places in the text; they are not compared.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from genie_dp.errors import Span
from genie_dp.languages import types as ty

MomentKind = Literal["date", "time", "duration"]


@dataclass(frozen=True, slots=True)
class Text:
    """A text, between two quotes."""

    value: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A name or an address of some kind, such as `"kitchen"^^room`; JSON has its words alone."""

    words: str
    kind: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number:
    """A number; 40, 40.0 and 4e1 are one."""

    value: Decimal
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Symbol:
    """One of the listed values of a parameter; JSON has it as a text."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Flag:
    """True, false, or null."""

    value: bool | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date (with or without time), a time or a duration, in ISO 8601; JSON has it as a text."""

    kind: MomentKind
    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Slot:
    """A placeholder such as NUMBER_0.

    Attributes:
        stem: that of the placeholder which one private character of synthesis stands for, else "".
    """

    token: str
    stem: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Open:
    """`$?`, a value that is still to be asked for."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """A part of the result of an earlier call, such as `$1.items.0.id`; calls count from 1."""

    call: int
    path: tuple[str | int, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Hole:
    """A child of a template, or its placeholder `$x`, in a body."""

    name: str
    is_placeholder: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Array:
    """Several values."""

    items: tuple["Value", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Argument:
    """A value with its name: of a call, or of an object."""

    name: str
    value: "Value"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """An object."""

    fields: tuple[Argument, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool.

    Attributes:
        span: of the name.
    """

    name: str
    arguments: tuple[Argument, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


Value = (
    Text | Name | Number | Symbol | Flag | Moment | Slot | Open | Reference | Hole | Array | Record
)
Step = tuple[Call | Hole, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Steps, one after the other; holes stand in bodies of templates alone."""

    steps: tuple[Step, ...]


def calls_of(program: Program) -> Iterator[Call]:
    """Yield the calls in program order."""
    for step in program.steps:
        for call in step:
            assert isinstance(call, Call)
            yield call


def walk(value: Value) -> Iterator[Value]:
    """Yield a value and those in it, in the order of the text."""
    yield value
    match value:
        case Array(items):
            for item in items:
                yield from walk(item)
        case Record(fields):
            for part in fields:
                yield from walk(part.value)
        case _:
            pass


def values_of(program: Program) -> Iterator[Value]:
    """Yield all values of a program, those inside of others too."""
    for call in calls_of(program):
        for argument in call.arguments:
            yield from walk(argument.value)


def change(value: Value, to: Callable[[Value], Value]) -> Value:
    """Return a value with each part that holds no others replaced by `to`."""
    match value:
        case Array(items):
            return replace(value, items=tuple([change(item, to) for item in items]))
        case Record(fields):
            changed = [replace(part, value=change(part.value, to)) for part in fields]
            return replace(value, fields=tuple(changed))
        case _:
            return to(value)


def map_calls(program: Program, to: Callable[[Call], Call]) -> Program:
    """Return a program with each call replaced by `to`."""
    steps = [[to(c) if isinstance(c, Call) else c for c in step] for step in program.steps]
    return Program(tuple(map(tuple, steps)))


def change_arguments(call: Call, to: Callable[[Value], Value]) -> Call:
    """Return a call with each value that holds no others replaced by `to`."""
    changed = [replace(part, value=change(part.value, to)) for part in call.arguments]
    return replace(call, arguments=tuple(changed))


def change_values(program: Program, to: Callable[[Value], Value]) -> Program:
    """Return a program with each value that holds no others replaced by `to`."""
    return map_calls(program, lambda call: change_arguments(call, to))


def slot_type(slot: Slot) -> ty.Type | None:
    """Return the type that a placeholder stands for.

    >>> str(slot_type(Slot("NUMBER_0"))), str(slot_type(Slot("x", "GENERIC_ENTITY_room")))
    ('Number', 'Entity(room)')
    """
    return ty.slot_type(f"{slot.stem}_0" if slot.stem else slot.token)


_BARE_NAME = re.compile(r"[^\W\d][\w.\-/]*")
_BARE_SYMBOL = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_FLAGS = {"true": True, "false": False, "null": None}


def flag_of(word: str) -> Flag | None:
    """Return the value of true, false and null; None for other words."""
    return Flag(_FLAGS[word]) if word in _FLAGS else None


def is_bare_name(name: str) -> bool:
    """Return whether a tool or an argument can be named without quotes."""
    return _BARE_NAME.fullmatch(name) is not None


def is_bare_symbol(name: str) -> bool:
    """Return whether a listed value can be written without quotes.

    >>> [is_bare_symbol(name) for name in ("heat", "very hot", "true", "NUMBER_0", "2")]
    [True, False, False, False, False]
    """
    is_word = _BARE_SYMBOL.fullmatch(name) is not None
    return is_word and name not in _FLAGS and not ty.is_slot(name)


_SMALLEST, _LARGEST = -30, 30
_LONGEST = 400  # characters of a number; JSON sets no limit
_MOST_DIGITS = 300  # before or after the point: what a float holds


def read_number(text: str) -> Decimal | None:
    """Return a number; None where it is not finite, too long or too large for JSON's readers.

    >>> read_number("4e1"), read_number("1e999999999")
    (Decimal('4E+1'), None)
    """
    number = Decimal(text) if len(text) <= _LONGEST else Decimal("nan")
    return number if number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS else None


def number_text(value: Decimal) -> str:
    """Return the one spelling of a number.

    >>> [number_text(Decimal(text)) for text in ("40", "40.0", "4e1", "-0", "1e40", "2.50")]
    ['40', '40', '40', '0', '1e40', '2.5']
    """
    if not value:
        return "0"
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "numbers are finite"
    significant = "".join(map(str, digits)).rstrip("0")
    exponent += len(digits) - len(significant)
    minus = "-" if sign else ""
    if exponent >= 0 and len(significant) + exponent <= _LARGEST:
        return minus + significant + "0" * exponent
    if _SMALLEST <= exponent < 0:
        padded = significant.rjust(1 - exponent, "0")
        return f"{minus}{padded[:exponent]}.{padded[exponent:]}"
    return f"{minus}{significant}e{exponent}"
