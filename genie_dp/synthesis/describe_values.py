"""Values of programs as people say them, and programs with placeholders in their place."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from decimal import Decimal
from itertools import product
from typing import Any

from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.slots import slot_stem
from genie_dp.languages.thingtalk.token_values import number_token, value_tokens
from genie_dp.languages.thingtalk.types import (
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    STRING,
    TIME,
    Entity,
    Measure,
    Type,
)

MOST_CHOICES = 5  # values that a template may say itself: each doubles the readings
_FOUR_DIGITS = 10_000  # from here on numbers are written with commas

_TYPES: Mapping[type, Type] = {
    ast.StringValue: STRING,
    ast.NumberValue: NUMBER,
    ast.CurrencyValue: CURRENCY,
    ast.DateValue: DATE,
    ast.DateNow: DATE,
    ast.DateEdge: DATE,
    ast.DateOffset: DATE,
    ast.TimeValue: TIME,
    ast.LocationValue: LOCATION,
}


@dataclass(frozen=True, slots=True)
class WithPlaceholders:
    """A program in which placeholders stand for values.

    Attributes:
        program: the syntax tree.
        values: placeholder -> the value that stood there.
    """

    program: Any
    values: Mapping[str, Any]


def type_of(node: Any) -> Type | None:
    """Return the type of a value that a placeholder may stand for; None for all other nodes."""
    match node:
        case ast.MeasureValue(((_, unit), *_)):
            return Measure(unit)
        case ast.EntityValue(_, kind):
            return Entity(kind)
        case ast.ContextValue(("location", _)):
            return LOCATION
        case _:
            return _TYPES.get(type(node))


def literal(node: Any) -> str:
    """Return the tokens of a value, by which two are compared.

    An entity with but one name is like that text: a template says "boss" for a person.
    """
    if isinstance(node, ast.EntityValue) and (node.value is None or node.display is None):
        node = ast.StringValue(node.display or node.value or "")
    return value_tokens(node, lambda name: name)


def literals(node: Any) -> Iterator[str]:
    """Yield the tokens of all values of a tree that placeholders may stand for.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> list(literals(parse("timer(base = now, interval = 1h) => @com.x.a(n = 5)")))
    ['now', '1 unit:h', '5']
    """
    if type_of(node) is not None:
        yield literal(node)
        return
    for name in _names(node):
        value = getattr(node, name)
        for item in value if isinstance(value, tuple) else (value,):
            if hasattr(item, "__dataclass_fields__"):
                yield from literals(item)


def with_placeholders(program: Any, known: frozenset[str]) -> Iterator[WithPlaceholders]:
    """Yield a program with placeholders for its values, in every way that may be said.

    A template may say a value itself ("every hour", "at home", "today"): `known` has the tokens
    of such values. They stay as they are in the first readings, and get placeholders in others.
    """
    doubtful = list(dict.fromkeys(text for text in literals(program) if text in known))
    choices: list[tuple[bool, ...]] = [(False, True)] * min(len(doubtful), MOST_CHOICES)
    choices += [(True,)] * (len(doubtful) - len(choices))
    for chosen in product(*choices):
        kept = {text for text, is_said in zip(doubtful, chosen, strict=True) if not is_said}
        yield _Replacer(kept, shares=False).of(program)
    everything = list(literals(program))
    if len(everything) > len(set(everything)):  # one value in two places, said once
        yield _Replacer(set(), shares=True).of(program)


class _Replacer:
    def __init__(self, kept: set[str], *, shares: bool):
        self.kept, self.shares = kept, shares
        self.values: dict[str, Any] = {}
        self.taken: set[str] = set()
        self.counts: dict[str, int] = defaultdict(int)
        self.shared: dict[tuple[str, str], ast.SlotValue] = {}

    def of(self, program: Any) -> WithPlaceholders:
        self.taken = set(_placeholders(program))
        return WithPlaceholders(_changed(program, self.change), self.values)

    def change(self, node: Any) -> Any:
        """Return what stands for a node, itself to keep it, or None to look inside of it."""
        type_ = type_of(node)
        if type_ is None:
            return None
        stem = slot_stem(type_)
        text = literal(node)
        if stem is None or text in self.kept or _placeholders_in(node):
            return node
        if self.shares and (stem, text) in self.shared:
            return self.shared[stem, text]
        while (token := f"{stem}_{self.counts[stem]}") in self.taken:
            self.counts[stem] += 1
        self.counts[stem] += 1
        self.values[token] = node
        self.shared[stem, text] = ast.SlotValue(token)
        return self.shared[stem, text]


def _names(node: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(node) if f.name != "span")


def _changed(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tree with `change` applied from the top: what it returns is not looked into."""
    found = change(node)
    if found is not None:
        return found
    changes = {}
    for name in _names(node):
        old = getattr(node, name)
        if isinstance(old, tuple):
            changes[name] = tuple(_changed_item(item, change) for item in old)
        else:
            changes[name] = _changed_item(old, change)
    return replace(node, **changes)


def _changed_item(item: Any, change: Callable[[Any], Any]) -> Any:
    return _changed(item, change) if hasattr(item, "__dataclass_fields__") else item


def _placeholders(node: Any) -> Iterator[str]:
    if isinstance(node, ast.SlotValue):
        yield node.token
        return
    for name in _names(node):
        value = getattr(node, name)
        for item in value if isinstance(value, tuple) else (value,):
            if hasattr(item, "__dataclass_fields__"):
                yield from _placeholders(item)


def _placeholders_in(node: Any) -> bool:
    return any(True for _ in _placeholders(node))


# ------------------------------------------------------------------------------- in English


def said(value: Any) -> str:
    """Return a value as people write it.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> program = parse('now => @x.a(s = "hi", m = 5MB, t = makeTime(20, 30), d = now - 2day)')
    >>> [said(arg.value) for arg in program.rules[0].action.args]
    ['"hi"', '5 MB', '8:30 pm', '2 days ago']
    """
    match value:
        case ast.StringValue(text):
            return f'"{text}"'
        case ast.NumberValue(number):
            return _number(number)
        case ast.MeasureValue(parts):
            return _sum(parts)
        case ast.CurrencyValue(amount, code):
            return _money(amount, code)
        case ast.TimeValue(hour, minute, second):
            return _time(hour, minute, second)
        case ast.EntityValue():
            return _entity(value)
        case ast.LocationValue(latitude, longitude, display):
            degrees = (number_token(n) for n in (latitude, longitude) if n is not None)
            return display or ", ".join(degrees)
        case ast.ContextValue(path):
            return _PLACES.get(path[-1], path[-1].replace("_", " "))
        case ast.SlotValue(token, unit):
            return f"{token} {_UNITS.get(unit, (unit, unit))[1]}" if unit else token
        case _:
            return _date(value)


_PLACES = {"home": "my home", "work": "my workplace", "current_location": "my current location"}


def _number(number: Decimal) -> str:
    text = number_token(number)
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}" if abs(number) >= _FOUR_DIGITS else text


# unit -> (one, many); all others are said as they are written.
_UNITS = {
    "ms": ("millisecond", "milliseconds"), "s": ("second", "seconds"),
    "min": ("minute", "minutes"), "h": ("hour", "hours"), "day": ("day", "days"),
    "week": ("week", "weeks"), "mon": ("month", "months"), "year": ("year", "years"),
    "mi": ("mile", "miles"), "ft": ("foot", "feet"), "in": ("inch", "inches"),
    "m": ("meter", "meters"), "kmph": ("km/h", "km/h"), "mps": ("m/s", "m/s"),
    "lb": ("pound", "pounds"), "oz": ("ounce", "ounces"), "byte": ("byte", "bytes"),
    "C": ("degree celsius", "degrees celsius"), "F": ("degree fahrenheit", "degrees fahrenheit"),
    "m2": ("square meter", "square meters"),
}  # fmt: skip


def _measure(number: Decimal, unit: str) -> str:
    one, many = _UNITS.get(unit, (unit, unit))
    return f"{_number(number)} {one if number == 1 else many}"


def _sum(parts: Sequence[tuple[Decimal, str]]) -> str:
    """Return a sum of measures; what is taken away is said so.

    >>> _sum([(Decimal(6), "ft"), (Decimal(1), "in")])
    '6 feet 1 inch'
    >>> _sum([(Decimal(1), "day"), (Decimal(-2), "h")])
    '1 day less 2 hours'
    """
    first, *rest = parts
    told = _measure(*first)
    for number, unit in rest:
        if number < 0:
            told += f" less {_measure(-number, unit)}"
        else:
            told += f"{' ' if unit in _UNITS else ' plus '}{_measure(number, unit)}"
    return told


_SIGNS = {"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"}


def _money(amount: Decimal, code: str) -> str:
    """Return an amount of money.

    >>> _money(Decimal("1000.5"), "usd"), _money(Decimal("-15"), "eur"), _money(Decimal(20), "chf")
    ('$1,000.50', '-€15', '20 CHF')
    """
    whole, dot, cents = number_token(abs(amount)).partition(".")
    text = f"{int(whole):,}{dot}{cents and cents.ljust(2, '0')}"
    minus, sign = "-" if amount < 0 else "", _SIGNS.get(code.lower())
    return f"{minus}{sign}{text}" if sign else f"{minus}{text} {code.upper()}"


def _time(hour: int, minute: int, second: int) -> str:
    half = "am" if hour < 12 else "pm"
    clock = f"{(hour - 1) % 12 + 1}"
    if minute or second:
        clock += f":{minute:02d}"
    if second:
        clock += f":{second:02d}"
    return f"{clock} {half}"


def _entity(value: ast.EntityValue) -> str:
    text = value.display or value.value or "an unknown value"
    sign = {"tt:username": "@", "tt:hashtag": "#"}.get(value.kind, "")
    return text if text.startswith(sign) else sign + text


_THIS = {"day": "today", "week": "this week", "mon": "this month", "year": "this year",
         "h": "this hour", "min": "this minute", "s": "this second"}  # fmt: skip
_OF_THE_CLOCK = frozenset(("ms", "s", "min", "h"))


def _date(value: Any) -> str:
    match value:
        case ast.DateNow():
            return "now"
        case ast.DateEdge(edge, unit):
            which = "start" if edge == "start_of" else "end"
            return f"the {which} of {_THIS.get(unit, unit)}"
        case ast.DateOffset(base, sign, duration):
            return moved(said(base), sign, duration, is_now=isinstance(base, ast.DateNow))
        case ast.DateValue(iso):
            return _calendar(iso)
        case _:
            return literal(value)


def moved(base: str, sign: str, duration: Any, *, is_now: bool = False) -> str:
    """Return a date some time before or after another one.

    >>> hours = ast.MeasureValue(((Decimal(-3), "h"),))
    >>> moved("now", "-", hours, is_now=True), moved("the end of today", "+", hours)
    ('3 hours from now', '3 hours before the end of today')
    """
    if isinstance(duration, ast.MeasureValue) and duration.parts[0][0] < 0:
        parts = tuple((-number, unit) for number, unit in duration.parts)
        duration, sign = replace(duration, parts=parts), "+" if sign == "-" else "-"
    if is_now:
        return f"{said(duration)} {'ago' if sign == '-' else 'from now'}"
    return f"{said(duration)} {'before' if sign == '-' else 'after'} {base}"


def is_moment(value: Any) -> bool:
    """Tell whether a date is a time on a clock rather than a day.

    >>> is_moment(ast.DateNow()), is_moment(ast.DateEdge("start_of", "week"))
    (True, False)
    """
    match value:
        case ast.DateNow():
            return True
        case ast.DateEdge(_, unit):
            return unit in _OF_THE_CLOCK
        case ast.DateOffset(base, _, ast.MeasureValue(parts)):
            is_short = any(unit in _OF_THE_CLOCK for _, unit in parts)
            return is_short or (is_moment(base) and not isinstance(base, ast.DateNow))
        case ast.DateOffset(base):
            return is_moment(base)
        case ast.DateValue(iso):
            return _calendar(iso) != iso and " at " in _calendar(iso)
        case _:
            return False


def _calendar(iso: str) -> str:
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    text = f"{moment:%B} {moment.day}, {moment.year}"
    ahead = moment.utcoffset()  # a date without a zone is of UTC
    if moment.microsecond or (ahead and ahead.seconds % 60):
        return iso
    if moment.hour or moment.minute or moment.second or ahead:
        text += f" at {_time(moment.hour, moment.minute, moment.second)}"
    return f"{text} (UTC{moment.isoformat()[-6:]})" if ahead else text
