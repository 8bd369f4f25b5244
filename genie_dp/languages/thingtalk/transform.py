"""Parse tree to syntax tree: programs, policies, template bodies, classes and data sets."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from lark import Token, Transformer
from lark.tree import Meta

from genie_dp.errors import Problem, Span, did_you_mean, with_article
from genie_dp.languages import types as ty
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk import declarations as decl
from genie_dp.languages.thingtalk.tokens import EARTH, MOST_DIGITS, is_on_earth
from genie_dp.languages.units import SHIPPED, UNIT_ALIASES

# Constructs of ThingTalk 1.x and 2 that are not read, and what to write in their place; one that
# begins with a word of its own has that name.
UNREAD: dict[str, str] = {
    "actions": "several actions are several rules: s => q => a; s => q => b",
    "count": "'count' counts results, not an output: agg count of (..)",
    "executor": "programs for another person's assistant are not read",
    "expiration_date": "'expiration_date' is not read: timers go on",
    "frequency": "'frequency' is not read, give the time in between: 2 a day is interval = 12h",
    "group_member": "groups are not read, name the people: source in_array [..]",
    "let": "declarations are not read: write what the name stands for",
    "ontimer": "'ontimer', which fires once at a date, is not read",
    "part": "year, month and day of a date are all needed: makeDate(2019, 12, 31)",
    "sort": "an order stands before its query, in brackets: sort(x desc of ..)",
    "weekday": "a day of the week is not read as a date",
}

# ruff: noqa: D102 - one method per rule of grammar.lark, which says what it reads


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])")
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_MEASURE = re.compile(r"(-?[\d.]+(?:[eE][-+]?\d+)?)([A-Za-z_]\w*)")
_INPUTS = re.compile(r"\s*\(\s*(?:\)|[A-Za-z_]\w*\s*=[^=~])")
_EDGE = re.compile(r"(start_of|end_of)_(\w+)")
_TIME_UNITS = tuple(unit.name for unit in SHIPPED.of_base("ms"))
_COUNTED = re.compile(r"(NUMBER_\d+)([A-Za-z]\w*)")
_MOST_UNITS = 12  # of a hint: a line of text
_TYPE_MAKERS = ("Array", "Entity", "Enum", "Measure")
# Values that are written like calls.
_FORMS = {
    "Date": 'makeDate(2019, 12, 31) or new Date("2019-12-31T18:00:00")',
    "Time": "makeTime(18, 30)",
    "Currency": "makeCurrency(10, usd)",
    "Location": 'makeLocation(37.4, -122.2, "Palo Alto")',
    "start_of": "start_of(week)",
    "end_of": "end_of(week)",
}
_DATES = (
    ast.DateValue, ast.DateNow, ast.DateEdge, ast.DateOffset, ast.Undefined, ast.SlotValue,
    ast.VarRef, ast.ContextValue,
)  # fmt: skip
_SPECIAL_ALONE = ("$?", "$undefined", "$event", "$now")
_SPECIALS = (*_SPECIAL_ALONE, "$context", "$location", "$start_of", "$end_of")
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
    r"""Return whether a string literal holds a half of a character without the other.

    >>> has_half_character(r'"\ud83d"'), has_half_character(r'"\ud83d\ude00"')
    (True, False)
    """
    return "\\" in literal and _HALF.search(unquote(literal)) is not None


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    if len(escaped) > 1:
        return chr(int(escaped[1:], 16))
    return _ESCAPED.get(escaped, escaped)


def is_constructor(name: str) -> bool:
    """Return whether a value is written like a call of that name.

    >>> is_constructor("makeDate"), is_constructor("inbox")
    (True, False)
    """
    return name.removeprefix("make") in _FORMS


def is_computed(name: str, after: str) -> bool:
    """Return whether a name with a bracket after it is a value computed of an output.

    A function of that name takes none or its inputs by their names.

    >>> is_computed("count", "(labels) > 2"), is_computed("count", "(of = 2)")
    (True, False)
    """
    return name in ast.COMPUTATIONS and _INPUTS.match(after) is None


def unit_hint(name: str, known: Sequence[str]) -> str:
    """Return the unit that a word probably means if it is none: 5mb, 3hours.

    >>> unit_hint("mb", tuple(SHIPPED)), unit_hint("hours", tuple(SHIPPED))
    ("did you mean 'MB'?", "did you mean 'h'?")
    """
    word = name.casefold()
    spelled = {word, word.removesuffix("s")}
    meant = [unit for unit in known if unit.casefold() in spelled]
    meant += [unit for long, unit in UNIT_ALIASES.items() if long in spelled and unit in known]
    if meant:
        return f"did you mean {meant[0]!r}?"
    some = " ".join(known[:_MOST_UNITS]) + (" .." if len(known) > _MOST_UNITS else "")
    return did_you_mean(name, known) or f"units are {some}"


def _unit_named(name: str) -> str:
    """Return the unit of a name; a skill may declare it, so the type checker looks it up."""
    return UNIT_ALIASES.get(name, str(name))


def named_value(name: str, span: Span | None = None) -> ast.Value | None:
    """Return the value that a bare name stands for; None for one that is the name of an output.

    >>> named_value("end_of_week"), named_value("week")
    (DateEdge(edge='end_of', unit='week'), None)
    >>> named_value("NUMBER_0F")
    SlotValue(token='NUMBER_0', unit='F')
    """
    if ty.is_slot(name):
        return ast.SlotValue(name, span=span)
    counted = _COUNTED.fullmatch(name)
    if counted and ty.is_slot(counted[1]):
        return ast.SlotValue(counted[1], counted[2], span=span)
    if name == "currentlocation":
        return ast.ContextValue(("location", "current_location"), span=span)
    edge = _EDGE.fullmatch(name)
    if edge and UNIT_ALIASES.get(edge[2], edge[2]) in _TIME_UNITS:
        return ast.DateEdge(edge[1], UNIT_ALIASES.get(edge[2], edge[2]), span=span)
    return None


# Rule of grammar.lark -> the node that its children make.
_NODES: Mapping[str, Callable[..., Any]] = {
    "string": lambda text, span: ast.StringValue(unquote(text), span=span),
    "true_value": partial(ast.BooleanValue, True),
    "false_value": partial(ast.BooleanValue, False),
    "enum": lambda name, span: ast.EnumValue(str(name), span=span),
    "slot": lambda token, span: ast.SlotValue(str(token), span=span),
    "date_now": ast.DateNow,
    "notify": lambda _, span: ast.Notify(span=span),
    "attimer": ast.AtTimer,
    "timer": ast.Timer,
    "edge": ast.Edge,
    "stream_filter": ast.StreamFilter,
    "join": ast.Join,
    "filter": ast.Filter,
    "not_": ast.Not,
    "true_predicate": ast.TrueP,
    "false_predicate": ast.FalseP,
    "get_predicate": ast.GetPredicate,
}
# .. -> the node of all of its children.
_NODES_OF_ALL: Mapping[str, Callable[..., Any]] = {
    "array": ast.ArrayValue, "program": ast.Program, "and_": ast.And, "or_": ast.Or,
}  # fmt: skip
# .. -> what its children make, where that is no node.
_DATA: Mapping[str, Callable[[list[Any]], Any]] = {
    "input": itemgetter(0),
    "fields": list,
    **dict.fromkeys(("passing", "lambda_params", "hole_inputs", "library", "literal_list"), tuple),
    "class_parents": lambda names: tuple(name[1:] for name in names),
    "entity_parents": lambda kinds: tuple(kind.removeprefix("^^") for kind in kinds),
    "function_parents": lambda names: tuple(map(str, names)),
    "hole_argument": lambda children: str(children[0]),
    **dict.fromkeys(("display", "text", "language"), lambda children: unquote(children[0])),
    **dict.fromkeys(("import_arg", "entry"), lambda pair: (str(pair[0]), pair[1])),
    "table": dict,
    "type_table": lambda children: dict(children[1:]),
    "null": lambda _: None,
    "true_flag": lambda _: True,
    "false_flag": lambda _: False,
}


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as written, before its names are looked up."""

    name: str
    args: tuple["TypeName | str", ...]
    span: Span


class ValueReader(Transformer[Token, Any]):
    """Turns the trees of values and types into nodes; mistakes of meaning gather in `problems`."""

    is_body = False  # of a template

    def __init__(self, file: str) -> None:
        super().__init__(visit_tokens=False)
        self.file = file
        self.problems: list[Problem] = []

    def _call_userfunc(self, tree: Any, new_children: list[Any] | None = None) -> Any:
        # A row of a table, or a method for each rule, called as method(meta, children); a reader of
        # another grammar has methods of its own in place of rows.
        children = tree.children if new_children is None else new_children
        if (method := vars(type(self)).get(tree.data)) is not None:
            return method(self, tree.meta, children)
        if tree.data in _DATA:
            return _DATA[tree.data](children)
        if tree.data in _NODES:
            return _NODES[tree.data](*children, span=self.span(tree.meta))
        if tree.data in _NODES_OF_ALL:
            return _NODES_OF_ALL[tree.data](tuple(children), span=self.span(tree.meta))
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

    def username(self, meta: Meta, children: list[Token]) -> ast.Value:
        return ast.EntityValue(children[0][1:], "tt:username", span=self.span(meta))

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

    def path(self, _meta: Meta, children: list[Token]) -> Token:
        """Return the name of a field of a record as one token."""
        first, last = children[0], children[-1]
        name = Token.new_borrow_pos("NAME", ".".join(children), first)
        name.end_line, name.end_column = last.end_line, last.end_column
        return name

    # ----------------------------------------------------------------------------- measures

    def measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        match = _MEASURE.fullmatch(children[0])
        assert match is not None
        span = self.span(meta)
        unit = _unit_named(match[2])
        return ast.MeasureValue(((self.amount(match[1], span), unit),), span=span)

    def _time_unit(self, name: str, span: Span) -> str:
        unit = _unit_named(name)
        if unit not in _TIME_UNITS:
            hint = unit_hint(name, _TIME_UNITS)
            self.problem("S004", f"unknown unit {name!r}", span, hint)
        return unit

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
        is_known = first in SHIPPED and second in SHIPPED  # the type checker knows all others
        if is_known and not SHIPPED.is_same_base(first, second):
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
                return ast.DateEdge(edge[1:], self._time_unit(unit, span), span=span)
        name = str(children[0])
        hint = did_you_mean(name, _SPECIALS) or f"known are {' '.join(_SPECIALS)}"
        if name in ("$event", "$result", "$type", "$program_id"):
            hint = "of an event there is its text: $event"
        elif name in _SPECIALS:
            hint = "write $context.location.home, $start_of(week)"
        self.problem("S004", f"unknown value {'.'.join(children)!r}", span, hint)
        return ast.Undefined(span=span)

    def constructor(self, meta: Meta, children: list[Any]) -> ast.Value:
        span = self.span(meta)
        name, args = str(children[0]), children[1:]
        if name in ast.COMPUTED and args:
            return ast.Computed(name, tuple(args), span=span)
        value = self._construct(name.removeprefix("make"), args, span)
        if value is not None:
            return value
        form = _FORMS.get(name.removeprefix("make"))
        if form is None:
            names = [f"make{f}" if f[0].isupper() else f for f in _FORMS]
            hint = did_you_mean(name, names) or f"known are {', '.join(names)}"
            if self.is_body and hint.startswith("known"):
                hint = f"of a function say the class: @class.{name}(..), or for @class; before it"
            self.problem("S004", f"unknown value {name}(..)", span, hint)
        else:
            self.problem(
                "S004", f"expected a value of the form {form}", span, _part_hint(name, args)
            )
        return ast.Undefined(span=span)

    def of_list(self, meta: Meta, children: list[Any]) -> ast.Value:
        operator, name, predicate = children
        span = self.span(meta)
        if operator not in ast.COMPUTATIONS:
            hint = did_you_mean(operator, ast.COMPUTATIONS)
            hint = hint or f"known are {', '.join(ast.COMPUTATIONS)}"
            self.problem("S004", f"unknown value {operator}(..)", span, hint)
        items = ast.ListFilter(str(name), predicate, span=span)
        return ast.Computed(str(operator), (items,), span=span)

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
                return ast.DateEdge(name, self._time_unit(unit, span), span=span)
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

    def lone_type(self, _meta: Meta, children: list[TypeName]) -> ty.Type:
        return self.resolve(children[0])

    def typed_name(self, _meta: Meta, children: list[Any]) -> tuple[str, ty.Type]:
        return str(children[0]), self.resolve(children[1])

    def resolve(self, written: TypeName) -> ty.Type:
        """Return the type of that name; an unknown one is a problem and becomes Any."""
        match written:
            case TypeName("Array", (TypeName() as element,)):
                return ty.Array(self.resolve(element))
            case TypeName("Entity", (str(kind),)):
                return ty.Entity(str(kind))
            case TypeName("Measure", (TypeName(unit, ()),)):
                return ty.Measure(_unit_named(unit))
            case TypeName("Enum", (_, *_)) if all(
                isinstance(arg, TypeName) and not arg.args for arg in written.args
            ):
                return ty.Enum(tuple(arg.name for arg in written.args if isinstance(arg, TypeName)))
            case TypeName(name, ()) if name in ty.BASICS:
                return ty.BASICS[name]
            case TypeName(name, ()) if name in ty.ALIASES:
                return ty.Entity(ty.ALIASES[name])
        self._unknown_type(written)
        return ty.ANY

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
        elif name in ty.BASICS or name in ty.ALIASES:
            self.problem("S005", f"{name} takes nothing in parentheses", written.span)
        else:
            names = (*ty.BASICS, *ty.ALIASES, *_TYPE_MAKERS)
            hint = did_you_mean(name, names) or f"types are {', '.join(names)}"
            self.problem("S005", f"unknown type {name!r}", written.span, hint)


def _part_hint(name: str, args: list[ast.Value]) -> str | None:
    """Return the replacement for a date of another ThingTalk."""
    match name.removeprefix("make"), args:
        case "Date", [ast.EnumValue()]:
            return UNREAD["weekday"]
        case "Date", [ast.NumberValue(), ast.NumberValue()]:
            return UNREAD["part"]
        case _:
            return None


def _integers(args: list[ast.Value]) -> list[int] | None:
    numbers = [arg.value for arg in args if isinstance(arg, ast.NumberValue)]
    if len(numbers) != len(args) or any(n != int(n) for n in numbers):
        return None
    return [int(n) for n in numbers]


def _on_clock(hour: int, minute: int, second: int) -> bool:
    return 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60


_SPELLINGS = {"=": "==", "substr": "=~"}


class Passed(NamedTuple):
    """A call with parameters passed after it: a query of a stream join, or an action."""

    call: ast.Call
    passing: tuple[ast.Arg, ...]


class Then(NamedTuple):
    """A further query of a rule, with parameters passed to it."""

    query: ast.Query
    passing: tuple[ast.Arg, ...]


class CallInputs(NamedTuple):
    """The contents of the parentheses of a call."""

    args: tuple[ast.Arg, ...]
    span: Span


class ProgramReader(ValueReader):
    """Turns the trees of programs, policies and template bodies into nodes."""

    def __init__(
        self,
        file: str,
        holes: Mapping[str, str] | None = None,
        *,
        is_body: bool = False,
        class_name: str = "",
    ) -> None:
        """Keep the file name for spans, and the kinds of a template's children by name.

        Only in the body of a template may placeholders stand, `$x`, and functions of `class_name`
        without it.
        """
        super().__init__(file)
        self.holes = holes or {}
        self.class_name = class_name
        self.is_body = is_body
        self.placeholders: dict[str, Span] = {}
        self.names: dict[str, Span] = {}

    # ----------------------------------------------------------------------------- programs

    def do(self, meta: Meta, children: list[Any]) -> ast.Rule:
        return ast.Rule(None, None, as_action(children[0]), span=self.span(meta))

    def get_do(self, meta: Meta, children: list[Any]) -> ast.Rule:
        query, action = children
        return ast.Rule(None, query, as_action(action), span=self.span(meta))

    def when_do(self, meta: Meta, children: list[Any]) -> ast.Rule:
        stream, *thens, action = children
        query = None
        if thens and not thens[-1].passing:
            query = thens.pop().query
        span = self.span(meta)
        return ast.Rule(_join_stream(stream, thens, span), query, as_action(action), span=span)

    def then(self, _meta: Meta, children: list[Any]) -> Then:
        match children:
            case [Passed(call, passing)]:
                return Then(call, passing)
            case [query, *passings]:
                return Then(query, _concatenate(passings))
        raise AssertionError("a further query has no query")

    def called_with(self, _meta: Meta, children: list[Any]) -> Passed:
        return Passed(children[0], _concatenate(children[1:]))

    # ------------------------------------------------------------------------------ streams

    def stream_join(self, meta: Meta, children: list[Any]) -> ast.Stream:
        stream, query, *passings = children
        return ast.StreamJoin(stream, query, _concatenate(passings), span=self.span(meta))

    def stream_group(self, meta: Meta, children: list[Any]) -> ast.Stream:
        return _join_stream(children[0], children[1:], self.span(meta))

    def monitor(self, meta: Meta, children: list[Any]) -> ast.Stream:
        names: list[Token] = children[1] if len(children) > 1 else []
        on_new, spans = tuple(map(str, names)), tuple(map(self.span, names))
        return ast.Monitor(children[0], on_new, span=self.span(meta), on_new_spans=spans)

    # ------------------------------------------------------------------------------ queries

    def join_on(self, meta: Meta, children: list[Any]) -> ast.Query:
        left, right, *passings = children
        return ast.Join(left, right, _concatenate(passings), span=self.span(meta))

    def projection(self, meta: Meta, children: list[Any]) -> ast.Query:
        *values, query = children
        keeps_all = isinstance(values[0], Token)
        outputs = tuple(values[keeps_all:])
        for value in outputs:
            self._check_output(value, "a projection")
        return ast.Projection(query, outputs, keeps_all, span=self.span(meta))

    def _check_output(self, value: ast.Value, where: str) -> None:
        if not isinstance(value, ast.VarRef | ast.Computed):
            message = f"expected an output in {where}, or a value computed of one"
            hint = "write the name of an output, count(..) or distance(.., ..)"
            self.problem("S004", message, value.span or Span(self.file, 1, 1, 1, 1), hint)

    def sort(self, meta: Meta, children: list[Any]) -> ast.Query:
        key, direction, query = children
        self._check_output(key, "an order")
        return ast.Sort(query, key, str(direction), span=self.span(meta))

    def slice(self, meta: Meta, children: list[Any]) -> ast.Query:
        query, start, *ends = children
        return ast.Slice(query, start, ends[0] if ends else None, span=self.span(meta))

    def aggregate(self, meta: Meta, children: list[Any]) -> ast.Query:
        *names, query = children
        if not names:
            return ast.Aggregate("count", None, query, span=self.span(meta))
        operator, name = names
        return ast.Aggregate(
            str(operator), str(name), query, span=self.span(meta), field_span=self.span(name)
        )

    def call(self, meta: Meta, children: list[Any]) -> ast.Call:
        match children:
            case [head]:
                return self._plain_call(meta, head, ())
            case [head, CallInputs(args)]:
                return self._plain_call(meta, head, args)
            case [head, CallInputs() as attributes, function, *inputs]:
                first, last = self.span(head), attributes.span
                span = Span(first.file, first.line, first.column, last.end_line, last.end_column)
                selector = ast.Selector(head[1:], attributes.args, span=span)
            case [head, function, *inputs]:
                selector = ast.Selector(head[1:], span=self.span(head))
            case _:
                raise AssertionError("a call begins with a name")
        args = inputs[0].args if inputs else ()
        return ast.Call(selector, str(function), args, span=self.span(meta))

    def short_call(self, meta: Meta, children: list[Any]) -> ast.Call:
        head, inputs = children
        selector = ast.Selector(self.class_name, span=self.span(head))
        return ast.Call(selector, str(head), inputs.args, span=self.span(meta))

    def _plain_call(self, meta: Meta, head: Token, args: tuple[ast.Arg, ...]) -> ast.Call:
        class_name, function = self._split(head)
        selector = ast.Selector(class_name, span=self.span(head))
        return ast.Call(selector, function, args, span=self.span(meta))

    def _split(self, name: Token) -> tuple[str, str]:
        class_name, _, function = name[1:].rpartition(".")
        if not class_name:
            hint = 'write @class.function, or @class(name="..").function() for one device'
            message = f"expected a function, got the class {name}"
            self.problem("S004", message, self.span(name), hint)
        return class_name, function

    def inputs(self, meta: Meta, children: list[ast.Arg]) -> CallInputs:
        return CallInputs(tuple(children), self.span(meta))

    def arg(self, meta: Meta, children: list[Any]) -> ast.Arg:
        return ast.Arg(str(children[0]), children[1], span=self.span(meta))

    # --------------------------------------------------------------------------- predicates

    def atom(self, meta: Meta, children: list[Any]) -> ast.Predicate:
        name, operator, value = children
        operator = _SPELLINGS.get(operator, str(operator))
        return ast.Atom(str(name), operator, value, span=self.span(meta))

    def comparison(self, meta: Meta, children: list[Any]) -> ast.Predicate:
        left, operator, value = children
        if not isinstance(left, ast.Computed):
            message = "expected an output, or a value computed of one, on the left"
            self.problem("S004", message, left.span or self.span(meta), "turn the comparison round")
            return ast.TrueP(span=self.span(meta))
        operator = _SPELLINGS.get(operator, str(operator))
        return ast.Comparison(left, operator, value, span=self.span(meta))

    def function_atom(self, meta: Meta, children: list[Any]) -> ast.Predicate:
        operator, name, value = children
        return self.atom(meta, [name, operator, value])

    # ----------------------------------------------------------------------------- policies

    def policy(self, meta: Meta, children: list[Any]) -> ast.Policy:
        source, query, action = children
        return ast.Policy(source, query, _policy_function(action), span=self.span(meta))

    def policy_from_now(self, meta: Meta, children: list[Any]) -> ast.Policy:
        span = self.span(meta)
        match children:
            case [source, action]:
                return ast.Policy(source, None, action, span=span)
            case [source, query, action]:
                return ast.Policy(source, query, _policy_function(action), span=span)
        raise AssertionError("a policy has two or three parts")

    def allowed(self, meta: Meta, children: list[Any]) -> ast.PolicyFunction:
        span, head = self.span(meta), children[0]
        predicate = children[1] if len(children) > 1 else ast.TrueP(span=span)
        match head.type:
            case "STAR":
                return ast.PolicyFunction(None, None, predicate, span=span)
            case "ANY_OF_CLASS":
                return ast.PolicyFunction(head[1:-2], None, predicate, span=span)
            case _:
                return ast.PolicyFunction(*self._split(head), predicate, span=span)

    # ---------------------------------------------------------------------- template bodies

    def fragment(self, meta: Meta, children: list[Any]) -> ast.Lambda:
        *parameters, body = children
        body = as_action(body) if isinstance(body, Passed) else body
        if parameters:
            for name, span in self.placeholders.items():
                hint = f"parameters of a lambda stand without $: {name}"
                self.problem("S004", f"unknown value '${name}'", span, hint)
            return ast.Lambda(parameters[0], body, span=self.span(meta))
        for name in self.placeholders.keys() & self.names:
            hint = f"write ${name}, or rename the placeholder if an output is meant"
            message = f"{name!r} stands with and without $ in one body"
            self.problem("S004", message, self.names[name], hint)
        return ast.Lambda((), body, tuple(self.placeholders), span=self.span(meta))

    def special(self, meta: Meta, children: list[Token]) -> ast.Value:
        name = children[0][1:]
        if not self.is_body or len(children) > 1 or children[0] in _SPECIAL_ALONE:
            return super().special(meta, children)
        span = self.span(meta)
        self.placeholders.setdefault(name, span)
        return ast.VarRef(name, span=span)

    def variable(self, meta: Meta, children: list[Token]) -> ast.Value:
        self.names.setdefault(str(children[0]), self.span(meta))
        return super().variable(meta, children)

    def hole(self, meta: Meta, children: list[Any]) -> ast.Hole:
        name = str(children[0])
        detail = children[1] if len(children) > 1 else None
        span = self.span(meta)
        if isinstance(detail, tuple):
            return ast.Hole(name, self.holes[name], inputs=detail, span=span)
        return ast.Hole(name, self.holes[name], detail, span=span)

    def output_of_hole(self, meta: Meta, children: list[Token]) -> ast.OutputOf:
        hole = ast.Hole(str(children[0]), "query", span=self.span(children[0]))
        return self.output_of(meta, [hole, children[1]])

    def output_of(self, meta: Meta, children: list[Any]) -> ast.OutputOf:
        query, name = children
        return ast.OutputOf(query, str(name), span=self.span(meta), output_span=self.span(name))


def as_action(action: ast.Action | Passed) -> ast.Action:
    """Return the action with the parameters passed after it among its inputs."""
    if isinstance(action, Passed):
        call = action.call
        args = call.args + action.passing
        return ast.Call(call.selector, call.function, args, span=call.span)
    return action


def _join_stream(stream: ast.Stream, thens: Iterable[Then], span: Span) -> ast.Stream:
    for query, passing in thens:
        stream = ast.StreamJoin(stream, query, passing, span=span)
    return stream


def _concatenate(passings: Iterable[tuple[ast.Arg, ...]]) -> tuple[ast.Arg, ...]:
    return tuple(arg for passing in passings for arg in passing)


def _policy_function(action: Any) -> Any:
    return None if isinstance(action, Token) else action


class LibraryReader(ProgramReader):
    """Turns the trees of classes and datasets into nodes."""

    # ------------------------------------------------------------------------------ classes

    def klass(self, meta: Meta, children: list[Any]) -> decl.ClassDef:
        name = next(c for c in children if isinstance(c, Token) and c.type == "ATNAME")
        return decl.ClassDef(
            name=name[1:],
            extends=next((c for c in children if isinstance(c, tuple)), ()),
            is_abstract=isinstance(children[0], Token) and children[0].type == "ABSTRACT",
            imports=tuple(c for c in children if isinstance(c, decl.ImportDecl)),
            entities=tuple(c for c in children if isinstance(c, decl.EntityDecl)),
            units=tuple(c for c in children if isinstance(c, decl.UnitDecl)),
            functions=tuple(c for c in children if isinstance(c, decl.FunctionDecl)),
            annotations=_annotations(children),
            span=self.span(meta),
        )

    def import_decl(self, meta: Meta, children: list[Any]) -> decl.ImportDecl:
        names = [c for c in children if isinstance(c, Token)]
        return decl.ImportDecl(
            facets=tuple(str(name) for name in names[:-1]),
            module=names[-1][1:],
            args=tuple(c for c in children if isinstance(c, tuple)),
            span=self.span(meta),
        )

    def entity_decl(self, meta: Meta, children: list[Any]) -> decl.EntityDecl:
        extends = next((c for c in children if isinstance(c, tuple)), ())
        annotations = _annotations(children)
        return decl.EntityDecl(str(children[0]), extends, annotations, span=self.span(meta))

    def unit_decl(self, meta: Meta, children: list[Any]) -> decl.UnitDecl:
        name, dimension, *rest = children
        size = next((c for c in rest if isinstance(c, ast.MeasureValue)), None)
        return decl.UnitDecl(
            str(name),
            str(dimension),
            None if size is None else size.parts[0],
            _annotations(children),
            span=self.span(meta),
        )

    def parted_measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        number, unit = children
        span = self.span(meta)
        return ast.MeasureValue(((self.amount(number, span), _unit_named(unit)),), span=span)

    def function_decl(self, meta: Meta, children: list[Any]) -> decl.FunctionDecl:
        words = [c for c in children if isinstance(c, Token)]
        *modifiers, kind, name = (str(word) for word in words)
        return decl.FunctionDecl(
            kind=kind,
            name=name,
            params=tuple(next(c for c in children if isinstance(c, list))),
            is_monitorable="monitorable" in modifiers,
            is_list="list" in modifiers,
            extends=next((c for c in children if isinstance(c, tuple)), ()),
            annotations=_annotations(children),
            span=self.span(meta),
        )

    def params(self, _meta: Meta, children: list[Any]) -> list[decl.ParamDecl]:
        parameters: list[decl.ParamDecl] = []
        for child in children:
            parameters += [child] if isinstance(child, decl.ParamDecl) else child
        return parameters

    def record_param(self, meta: Meta, children: list[Any]) -> list[decl.ParamDecl]:
        """Return the fields of a record as parameters; the record itself is none."""
        direction, name, *rest = children
        if direction != "out":
            hint = "declare each of its fields as an input"
            self.problem("S005", "expected no record as an input", self.span(meta), hint)
        return [
            replace(field, name=f"{name}.{field.name}")
            for field in _fields_of(child for child in rest if not _is_annotation(child))
        ]

    def record_field(self, meta: Meta, children: list[Any]) -> list[decl.ParamDecl]:
        name, *rest = children
        if not isinstance(rest[0], TypeName):
            fields = _fields_of(child for child in rest if not _is_annotation(child))
            return [replace(field, name=f"{name}.{field.name}") for field in fields]
        type_, annotations = self.resolve(rest[0]), _annotations(rest)
        return [decl.ParamDecl(str(name), "out", type_, annotations, span=self.span(meta))]

    def param(self, meta: Meta, children: list[Any]) -> decl.ParamDecl:
        direction, name, written, *annotations = children
        return decl.ParamDecl(
            name=str(name),
            direction=" ".join(direction.split()),
            type=self.resolve(written),
            annotations=tuple(annotations),
            span=self.span(meta),
        )

    # -------------------------------------------------------------------------- annotations

    def annotation(self, meta: Meta, children: list[Any]) -> decl.Annotation:
        *marker, name, value = children
        return decl.Annotation(str(name), value, natural=bool(marker), span=self.span(meta))

    def decimal(self, meta: Meta, children: list[Token]) -> Decimal:
        return self.amount(children[0], self.span(meta))

    # ----------------------------------------------------------------------------- datasets

    def dataset(self, meta: Meta, children: list[Any]) -> decl.Dataset:
        language = next((c for c in children[1:] if isinstance(c, str)), None)
        examples = tuple(c for c in children if isinstance(c, decl.DatasetExample))
        name = children[0].removeprefix("@")
        return decl.Dataset(name, language, examples, span=self.span(meta))

    def example(self, meta: Meta, children: list[Any]) -> decl.DatasetExample:
        kind = str(children[0])
        annotations = _annotations(children)
        parts = children[1 : len(children) - len(annotations)]
        body: Any = as_action(parts[-1]) if isinstance(parts[-1], Passed) else parts[-1]
        got = ast.kind_of(body)
        if kind != got and not (kind == "action" and isinstance(body, ast.Call)):
            expected_kind, actual_kind = with_article(kind), with_article(got)
            message = f"expected {expected_kind} after '{kind} :=', got {actual_kind}"
            self.problem("S006", message, body.span, f"write {got} := ..")
        return decl.DatasetExample(
            kind=kind,
            parameters=parts[0] if len(parts) > 1 else (),
            body=body,
            utterances=self._utterances(annotations, self.span(meta)),
            annotations=tuple(a for a in annotations if a.name != "utterances"),
            span=self.span(meta),
        )

    def _utterances(self, annotations: tuple[decl.Annotation, ...], span: Span) -> tuple[str, ...]:
        utterances = [a for a in annotations if a.name == "utterances"]
        if not utterances:
            return ()
        value = utterances[0].value
        if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
            return value
        self.problem(
            "S006", "expected a list of sentences in utterances", utterances[0].span or span
        )
        return ()


def _is_annotation(child: Any) -> bool:
    return isinstance(child, decl.Annotation)


def _fields_of(records: Iterable[list[decl.ParamDecl]]) -> list[decl.ParamDecl]:
    return [field for record in records for field in record]


def _annotations(children: list[Any]) -> tuple[decl.Annotation, ...]:
    return tuple(c for c in children if isinstance(c, decl.Annotation))
