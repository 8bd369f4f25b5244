"""Parse tree to syntax tree: values and types."""

# ruff: noqa: D102 - one method per rule of grammar.lark, which says what it reads

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from lark import Token, Transformer
from lark.tree import Meta

from genie_dp.errors import Problem, Span, did_you_mean
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.slots import is_slot
from genie_dp.languages.thingtalk.token_values import EARTH, MOST_DIGITS, is_on_earth
from genie_dp.languages.thingtalk.types import (
    ALIASES,
    ANY,
    BASICS,
    UNIT_ALIASES,
    UNITS,
    Array,
    Entity,
    Enum,
    Measure,
    Type,
)
from genie_dp.languages.thingtalk.unread import UNREAD

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])")
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_MEASURE = re.compile(r"(-?[\d.]+(?:[eE][-+]?\d+)?)([A-Za-z_]\w*)")
_EDGE = re.compile(r"(start_of|end_of)_(\w+)")
_TIME_UNITS = tuple(unit for unit, base in UNITS.items() if base == "ms")
_COUNTED = re.compile(r"(NUMBER_\d+)([A-Za-z]\w*)")
_TYPE_MAKERS = ("Array", "Entity", "Enum", "Measure")
_DATES = (
    ast.DateValue, ast.DateNow, ast.DateEdge, ast.DateOffset, ast.Undefined, ast.SlotValue,
    ast.VarRef, ast.ContextValue,
)  # fmt: skip
_DURATIONS = (ast.MeasureValue, ast.SlotValue, ast.VarRef, ast.Undefined)


def unquote(literal: str) -> str:
    """Return the text that a string literal stands for.

    >>> unquote(r'"say \\"hi\\"\\u0021"')
    'say "hi"!'
    """
    body = literal[1:-1]
    if "\\" not in body:
        return body
    text = _ESCAPE.sub(_unescape, body)
    # Real files write characters beyond U+FFFF as JavaScript does, in two halves.
    return _HALVES.sub(lambda m: m[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def has_half_character(literal: str) -> bool:
    r"""Tell whether a string literal holds a half of a character without the other.

    >>> has_half_character(r'"\ud83d"'), has_half_character(r'"\ud83d\ude00"')
    (True, False)
    """
    return "\\" in literal and _HALF.search(unquote(literal)) is not None


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    if len(escaped) > 1:
        return chr(int(escaped[1:], 16))
    return _ESCAPED.get(escaped, escaped)


def unit_hint(name: str, known: Sequence[str]) -> str:
    """Return what may be meant by a word that is no unit: 5mb, 3hours.

    >>> unit_hint("mb", tuple(UNITS)), unit_hint("hours", tuple(UNITS))
    ("did you mean 'MB'?", "did you mean 'h'?")
    """
    word = name.casefold()
    spelled = {word, word.removesuffix("s")}
    meant = [unit for unit in known if unit.casefold() in spelled]
    meant += [unit for long, unit in UNIT_ALIASES.items() if long in spelled and unit in known]
    if meant:
        return f"did you mean {meant[0]!r}?"
    return did_you_mean(name, known) or f"units are {' '.join(known)}"


def named_value(name: str, span: Span | None = None) -> ast.Value | None:
    """Return the value that a bare name stands for; None for one that is the name of an output.

    >>> named_value("end_of_week"), named_value("week")
    (DateEdge(edge='end_of', unit='week'), None)
    >>> named_value("NUMBER_0F")
    SlotValue(token='NUMBER_0', unit='F')
    """
    if is_slot(name):
        return ast.SlotValue(name, span=span)
    counted = _COUNTED.fullmatch(name)
    if counted and is_slot(counted[1]) and counted[2] in UNITS:
        return ast.SlotValue(counted[1], counted[2], span=span)
    if name == "currentlocation":
        return ast.ContextValue(("location", "current_location"), span=span)
    edge = _EDGE.fullmatch(name)
    if edge and UNIT_ALIASES.get(edge[2], edge[2]) in _TIME_UNITS:
        return ast.DateEdge(edge[1], UNIT_ALIASES.get(edge[2], edge[2]), span=span)
    return None


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as written, before its names are looked up."""

    name: str
    args: tuple["TypeName | str", ...]
    span: Span


class ValueReader(Transformer[Token, Any]):
    """Turns the trees of values and types into nodes; mistakes of meaning gather in `problems`."""

    def __init__(self, file: str) -> None:
        """Keep the file name for spans."""
        super().__init__(visit_tokens=False)
        self.file = file
        self.problems: list[Problem] = []

    def _call_userfunc(self, tree: Any, new_children: list[Any] | None = None) -> Any:
        # One method per rule, always called as method(meta, children).
        children = tree.children if new_children is None else new_children
        return getattr(self, tree.data)(tree.meta, children)

    def span(self, meta: Meta | Token) -> Span:
        """Return the place of a tree or token."""
        return Span(
            self.file,
            meta.line or 1,
            meta.column or 1,
            meta.end_line or 1,
            meta.end_column or 1,
        )

    def problem(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Note a mistake."""
        self.problems.append(Problem(code, message, span, hint, stage="syntax"))

    # ------------------------------------------------------------------------- plain values

    def string(self, meta: Meta, children: list[Token]) -> ast.Value:
        return ast.StringValue(unquote(children[0]), span=self.span(meta))

    def number(self, meta: Meta, children: list[Token]) -> ast.Value:
        span = self.span(meta)
        return ast.NumberValue(self.amount(children[0], span), span=span)

    def amount(self, text: str, span: Span) -> Decimal:
        """Return a number; one that takes a page to write is a problem and becomes 0."""
        exponent = text.lower().partition("e")[2] or "0"
        if len(text) <= MOST_DIGITS and abs(int(exponent)) <= MOST_DIGITS:
            number = Decimal(text)
            if len(f"{number:f}") <= MOST_DIGITS:
                return number
        self.problem("S004", f"expected a number of at most {MOST_DIGITS} digits", span)
        return Decimal(0)

    def true_value(self, meta: Meta, _children: list[Token]) -> ast.Value:
        return ast.BooleanValue(True, span=self.span(meta))

    def false_value(self, meta: Meta, _children: list[Token]) -> ast.Value:
        return ast.BooleanValue(False, span=self.span(meta))

    def enum(self, meta: Meta, children: list[Token]) -> ast.Value:
        return ast.EnumValue(str(children[0]), span=self.span(meta))

    def slot(self, meta: Meta, children: list[Token]) -> ast.Value:
        return ast.SlotValue(str(children[0]), span=self.span(meta))

    def date_now(self, meta: Meta, _children: list[Token]) -> ast.Value:
        return ast.DateNow(span=self.span(meta))

    def array(self, meta: Meta, children: list[ast.Value]) -> ast.Value:
        return ast.ArrayValue(tuple(children), span=self.span(meta))

    def username(self, meta: Meta, children: list[Token]) -> ast.Value:
        return ast.EntityValue(children[0][1:], "tt:username", span=self.span(meta))

    def display(self, _meta: Meta, children: list[Token]) -> str:
        return unquote(children[0])

    def entity(self, meta: Meta, children: list[Token]) -> ast.Value:
        value = None if children[0].type == "NULL" else unquote(children[0])
        display = str(children[2]) if len(children) > 2 else None
        return ast.EntityValue(value, children[1][2:], display, span=self.span(meta))

    def currency(self, meta: Meta, children: list[Token]) -> ast.Value:
        amount, _, code = children[0].partition("$")
        span = self.span(meta)
        return ast.CurrencyValue(self.amount(amount, span), code.lower(), span=span)

    def variable(self, meta: Meta, children: list[Token]) -> ast.Value:
        name, span = str(children[0]), self.span(meta)
        return named_value(name, span) or ast.VarRef(name, span=span)

    # ----------------------------------------------------------------------------- measures

    def measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        match = _MEASURE.fullmatch(children[0])
        assert match is not None
        span = self.span(meta)
        unit = self._unit(match[2], tuple(UNITS), span)
        return ast.MeasureValue(((self.amount(match[1], span), unit),), span=span)

    def _unit(self, name: str, known: Sequence[str], span: Span) -> str:
        name = name if name in known else UNIT_ALIASES.get(name, name)
        if name not in known:
            self.problem("S004", f"unknown unit {name!r}", span, unit_hint(name, known))
        return name

    def sum(self, meta: Meta, children: list[Any]) -> ast.Value:
        left, sign, right = children
        span = self.span(meta)
        match left, right:
            case ast.MeasureValue(), ast.MeasureValue() if sign == "+":
                return self._compound(left, right, span)
            case ast.MeasureValue(), ast.MeasureValue():
                hint = "write it as one amount, such as 5.5ft"
                self.problem("S004", "expected '+' between two measures, got '-'", span, hint)
            case _ if not isinstance(left, _DATES):
                message = f"expected a date or a measure before {str(sign)!r}"
                self.problem("S004", message, left.span or span)
            case _ if not isinstance(right, _DURATIONS):
                message = f"expected a duration such as 2day after {str(sign)!r}"
                self.problem("S004", message, right.span or span)
        return ast.DateOffset(left, str(sign), right, span=span)

    def _compound(self, left: ast.MeasureValue, right: ast.MeasureValue, span: Span) -> ast.Value:
        first, second = left.parts[0][1], right.parts[0][1]
        if UNITS.get(first) != UNITS.get(second):
            self.problem("S004", f"expected another amount in {first}, got {second}", span)
        return ast.MeasureValue(left.parts + right.parts, span=span)

    # ------------------------------------------------------------------ `$..` and makeDate(..)

    def special(self, meta: Meta, children: list[Token]) -> ast.Value:
        span = self.span(meta)
        match [str(child) for child in children]:
            case ["$?" | "$undefined"]:
                return ast.Undefined(span=span)
            case ["$event"]:
                return ast.EventValue(span=span)
            case ["$now"]:
                return ast.DateNow(span=span)
            case ["$context", _, *_] as names:
                return ast.ContextValue(tuple(names[1:]), span=span)
            case ["$location", _] as names:
                return ast.ContextValue(("location", names[1]), span=span)
            case ["$start_of" | "$end_of" as edge, unit]:
                return ast.DateEdge(edge[1:], self._unit(unit, _TIME_UNITS, span), span=span)
        known = (
            "$?",
            "$undefined",
            "$event",
            "$now",
            "$context",
            "$location",
            "$start_of",
            "$end_of",
        )
        name = str(children[0])
        hint = did_you_mean(name, known) or f"known are {' '.join(known)}"
        if name in ("$event", "$result", "$type", "$program_id"):
            hint = "of an event there is its text: $event"
        elif name in known:
            hint = "write $context.location.home, $start_of(week)"
        self.problem("S004", f"unknown value {'.'.join(children)!r}", span, hint)
        return ast.Undefined(span=span)

    def constructor(self, meta: Meta, children: list[Any]) -> ast.Value:
        span = self.span(meta)
        name, args = str(children[0]), children[1:]
        made = self._construct(name.removeprefix("make"), args, span)
        if made is not None:
            return made
        forms = {
            "Date": 'makeDate(2019, 12, 31) or new Date("2019-12-31T18:00:00")',
            "Time": "makeTime(18, 30)",
            "Currency": "makeCurrency(10, usd)",
            "Location": 'makeLocation(37.4, -122.2, "Palo Alto")',
            "start_of": "start_of(week)",
            "end_of": "end_of(week)",
        }
        form = forms.get(name.removeprefix("make"))
        if form is None:
            known = [f"make{f}" if f[0].isupper() else f for f in forms]
            hint = did_you_mean(name, known) or f"known are {', '.join(known)}"
            self.problem("S004", f"unknown value {name}(..)", span, hint)
        else:
            self.problem(
                "S004", f"expected a value of the form {form}", span, _part_hint(name, args)
            )
        return ast.Undefined(span=span)

    def _construct(self, name: str, args: list[ast.Value], span: Span) -> ast.Value | None:
        match name, args:
            case "Date", []:
                return ast.DateNow(span=span)
            case "Date", [ast.StringValue(text)]:
                return self._date(text, span)
            case "Date", [ast.NumberValue(milliseconds)]:
                return self._timestamp(milliseconds, span)
            case "Date", [ast.NumberValue(), ast.NumberValue(), ast.NumberValue(), *_]:
                return self._calendar(args, span)
            case "Time", [ast.NumberValue(), ast.NumberValue(), *_]:
                return self._time(args, span)
            case "Currency", [ast.NumberValue(amount), ast.VarRef(code)]:
                return ast.CurrencyValue(amount, code.lower(), span=span)
            case "Location", [ast.NumberValue(lat), ast.NumberValue(lon)]:
                return self._place(lat, lon, None, span)
            case "Location", [ast.NumberValue(lat), ast.NumberValue(lon), ast.StringValue(shown)]:
                return self._place(lat, lon, shown, span)
            case "Location", [ast.StringValue(shown)]:
                return ast.LocationValue(None, None, shown, span=span)
            case "start_of" | "end_of", [ast.VarRef(unit)]:
                return ast.DateEdge(name, self._unit(unit, _TIME_UNITS, span), span=span)
        return None

    def _place(
        self, latitude: Decimal, longitude: Decimal, shown: str | None, span: Span
    ) -> ast.Value:
        if not is_on_earth(latitude, longitude):
            message = f"expected a place on earth, got {latitude}, {longitude}"
            self.problem("S004", message, span, EARTH)
        return ast.LocationValue(latitude, longitude, shown, span=span)

    def _date(self, iso: str, span: Span) -> ast.Value | None:
        try:
            datetime.fromisoformat(iso)
        except ValueError:
            return None
        return ast.DateValue(iso, span=span)

    def _timestamp(self, milliseconds: Decimal, span: Span) -> ast.Value | None:
        try:
            moment = datetime(1970, 1, 1) + timedelta(milliseconds=float(milliseconds))
        except OverflowError:
            return None
        return ast.DateValue(moment.isoformat() + "Z", span=span)

    def _calendar(self, args: list[ast.Value], span: Span) -> ast.Value | None:
        numbers = _integers(args)
        if numbers is None or len(numbers) > 6:
            return None
        try:
            if len(numbers) == 3:
                return ast.DateValue(date(*numbers).isoformat(), span=span)
            year, month, day, *rest = numbers
            hour, minute, second = (*rest, 0, 0)[:3]
            moment = datetime(year, month, day, hour, minute, second)
        except (ValueError, OverflowError):
            return None
        return ast.DateValue(moment.isoformat(), span=span)

    def _time(self, args: list[ast.Value], span: Span) -> ast.Value | None:
        match _integers(args):
            case [hour, minute] if _on_clock(hour, minute, 0):
                return ast.TimeValue(hour, minute, span=span)
            case [hour, minute, second] if _on_clock(hour, minute, second):
                return ast.TimeValue(hour, minute, second, span=span)
        return None

    # -------------------------------------------------------------------------------- types

    def type(self, meta: Meta, children: list[Any]) -> TypeName:
        return TypeName(str(children[0]), tuple(children[1:]), self.span(meta))

    def lone_type(self, _meta: Meta, children: list[TypeName]) -> Type:
        return self.resolve(children[0])

    def typed_name(self, _meta: Meta, children: list[Any]) -> tuple[str, Type]:
        return str(children[0]), self.resolve(children[1])

    def lambda_params(self, _meta: Meta, children: list[Any]) -> tuple[tuple[str, Type], ...]:
        return tuple(children)

    def resolve(self, written: TypeName) -> Type:
        """Return the type of that name; an unknown one is a problem and becomes Any."""
        match written:
            case TypeName("Array", (TypeName() as element,)):
                return Array(self.resolve(element))
            case TypeName("Entity", (str(kind),)):
                return Entity(str(kind))
            case TypeName("Measure", (TypeName(unit, ()),)):
                return Measure(self._unit(unit, tuple(UNITS), written.span))
            case TypeName("Enum", (_, *_)) if all(_is_bare(arg) for arg in written.args):
                return Enum(tuple(arg.name for arg in written.args if isinstance(arg, TypeName)))
            case TypeName(name, ()) if name in BASICS:
                return BASICS[name]
            case TypeName(name, ()) if name in ALIASES:
                return Entity(ALIASES[name])
        self._unknown_type(written)
        return ANY

    def _unknown_type(self, written: TypeName) -> None:
        forms = {
            "Array": "Array(String)",
            "Entity": "Entity(tt:username)",
            "Enum": "Enum(on,off)",
            "Measure": "Measure(C)",
        }
        name = written.name
        if name in forms:
            self.problem("S005", f"expected a type such as {forms[name]}", written.span)
        elif name in BASICS or name in ALIASES:
            self.problem("S005", f"{name} takes nothing in parentheses", written.span)
        else:
            known = (*BASICS, *ALIASES, *_TYPE_MAKERS)
            hint = did_you_mean(name, known) or f"types are {', '.join(known)}"
            self.problem("S005", f"unknown type {name!r}", written.span, hint)


def _part_hint(name: str, args: list[ast.Value]) -> str | None:
    """Return what to write for a date of another ThingTalk."""
    match name.removeprefix("make"), args:
        case "Date", [ast.EnumValue()]:
            return UNREAD["weekday"]
        case "Date", [ast.NumberValue(), ast.NumberValue()]:
            return UNREAD["part"]
        case _:
            return None


def _is_bare(arg: TypeName | str) -> bool:
    return isinstance(arg, TypeName) and not arg.args


def _integers(args: list[ast.Value]) -> list[int] | None:
    numbers = [arg.value for arg in args if isinstance(arg, ast.NumberValue)]
    if len(numbers) != len(args) or any(n != int(n) for n in numbers):
        return None
    return [int(n) for n in numbers]


def _on_clock(hour: int, minute: int, second: int) -> bool:
    return 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60
