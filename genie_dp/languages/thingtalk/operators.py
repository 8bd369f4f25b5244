"""Which values fit where, and what comparisons of them mean: units, dates, text, arrays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, assert_never

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk.ast import (
    OPERATORS,
    ArrayValue,
    BooleanValue,
    ContextValue,
    CurrencyValue,
    DateEdge,
    DateNow,
    DateOffset,
    DateValue,
    EntityValue,
    EnumValue,
    EventValue,
    LocationValue,
    MeasureValue,
    NumberValue,
    SlotValue,
    StringValue,
    TimeValue,
    Undefined,
    Value,
    VarRef,
)
from genie_dp.languages.types import (
    ANY,
    BOOLEAN,
    CURRENCY,
    DATE,
    NUMBER,
    STRING,
    TIME,
    UNITS,
    Array,
    Basic,
    Entity,
    Enum,
    Measure,
    Type,
)

_DAY = Decimal(86_400_000)
# unit -> how many of the base unit of types.UNITS; month and year as in ThingTalk 1.x.
FACTORS: dict[str, Decimal] = {
    "ms": Decimal(1), "s": Decimal(1000), "min": Decimal(60_000), "h": Decimal(3_600_000),
    "day": _DAY, "week": 7 * _DAY, "mon": 30 * _DAY, "year": 365 * _DAY,
    "m": Decimal(1), "km": Decimal(1000), "mm": Decimal("0.001"), "cm": Decimal("0.01"),
    "mi": Decimal("1609.344"), "in": Decimal("0.0254"), "ft": Decimal("0.3048"),
    "mps": Decimal(1), "kmph": Decimal(1000) / Decimal(3600), "mph": Decimal("0.44704"),
    "kg": Decimal(1), "g": Decimal("0.001"), "lb": Decimal("0.45359237"),
    "oz": Decimal("0.028349523125"),
    "Pa": Decimal(1), "bar": Decimal(100_000), "psi": Decimal("6894.757293168"),
    "mmHg": Decimal("133.322387415"), "inHg": Decimal("3386.389"), "atm": Decimal(101_325),
    "C": Decimal(1), "K": Decimal(1), "F": Decimal(5) / Decimal(9),
    "kcal": Decimal(1), "kJ": Decimal(1) / Decimal("4.184"),
    "byte": Decimal(1), "bytes": Decimal(1),
    "KB": Decimal(1000), "MB": Decimal(1000) ** 2, "GB": Decimal(1000) ** 3,
    "TB": Decimal(1000) ** 4, "KiB": Decimal(1024), "MiB": Decimal(1024) ** 2,
    "GiB": Decimal(1024) ** 3, "TiB": Decimal(1024) ** 4,
}  # fmt: skip
# What stands at zero of the unit, in the base unit.
_ZEROS = {"F": Decimal(-160) / Decimal(9), "K": Decimal("-273.15")}


@dataclass(frozen=True, slots=True)
class Moment:
    """When and for whom a program runs.

    Attributes:
        now: the time, UTC where it has no zone.
        context: values of the user's context, by path such as ("location", "home").
        slots: what the placeholders of the program stand for, by token.
    """

    now: datetime
    context: Mapping[tuple[str, ...], Value] = field(default_factory=dict)
    slots: Mapping[str, Value] = field(default_factory=dict)


def evaluate(value: Value, scope: Mapping[str, Value], moment: Moment) -> Value:
    """Return the constant that a value stands for.

    Raises:
        GenieError: C003 for a name that is not in scope, C005 for a value that nobody gave.

    >>> moment = Moment(datetime(2026, 11, 20, 9, 30))
    >>> evaluate(DateEdge("start_of", "week"), {}, moment)
    DateValue(iso='2026-11-16T00:00:00')
    """
    match value:
        case VarRef(name):
            return lookup(name, scope, value)
        case EventValue():
            return lookup("$event", scope, value)
        case SlotValue(token, unit):
            slot_value = _require(moment.slots.get(token), f"the placeholder {token}", value)
            return attach_unit(slot_value, unit) if unit else slot_value
        case ContextValue(path):
            return _require(moment.context.get(path), f"${'.'.join(('context', *path))}", value)
        case Undefined():
            return _require(None, "$?", value)
        case DateNow():
            return _date(moment.now)
        case DateEdge(edge, unit):
            return _date(_edge_of(moment.now, edge, unit, value))
        case DateOffset(base, sign, duration):
            start = as_date(evaluate(base, scope, moment))
            length = as_duration(evaluate(duration, scope, moment))
            return _date(_move(start, length if sign == "+" else -length, value))
        case ArrayValue(items):
            return ArrayValue(tuple(evaluate(item, scope, moment) for item in items))
        case _:
            return value


def attach_unit(value: Value, unit: str) -> Value:
    """Return as many of a unit as a number says; what is no number as it is.

    >>> attach_unit(NumberValue(Decimal(20)), "F")
    MeasureValue(parts=((Decimal('20'), 'F'),))
    """
    if not isinstance(value, NumberValue):
        return value
    return MeasureValue(((value.value, unit),), span=value.span)


def lookup(name: str, scope: Mapping[str, Value], node: Any = None) -> Value:
    """Return the value of a name in scope, or raise GenieError C003."""
    if name not in scope:
        names = ", ".join(sorted(scope)) or "none"
        message = f"expected a name in scope, got {name!r}"
        span = getattr(node, "span", None)
        raise GenieError(Problem("C003", message, span, f"names in scope: {names}"))
    return scope[name]


def _require(value: Value | None, what: str, node: Value) -> Value:
    if value is None:
        hint = "fill it in before the program is simulated"
        raise GenieError(Problem("C005", f"expected a value for {what}", node.span, hint))
    return value


# ------------------------------------------------------------------------------------ dates


def _date(moment: datetime) -> DateValue:
    return DateValue(moment.isoformat())


def _move(start: datetime, length: timedelta, node: Value) -> datetime:
    try:
        return start + length
    except OverflowError:
        raise _beyond(node) from None


def _beyond(node: Value) -> GenieError:
    message = "expected a time of the years 1 to 9999, got one beyond"
    return GenieError(Problem("C004", message, node.span, "shorten the duration"))


def as_date(value: Value) -> datetime:
    """Return the point in time of a date, without a zone: UTC.

    Raises:
        GenieError: C004 for what is no date, or one that no calendar has.

    >>> as_date(DateValue("2026-11-20T10:00:00+01:00"))
    datetime.datetime(2026, 11, 20, 9, 0)
    """
    if not isinstance(value, DateValue):
        raise _incomparable("a date", value)
    try:
        return utc(datetime.fromisoformat(value.iso))
    except (ValueError, OverflowError):  # the zone may lead out of the years 1 to 9999
        raise _incomparable("a date of the calendar", value) from None


def utc(moment: datetime) -> datetime:
    """Return a moment without its zone, in UTC; one without a zone as it is.

    >>> utc(datetime.fromisoformat("2026-11-20T10:00:00+01:00"))
    datetime.datetime(2026, 11, 20, 9, 0)
    """
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def as_duration(value: Value) -> timedelta:
    """Return a measure of time as a time span.

    >>> as_duration(MeasureValue(((Decimal(1), "h"), (Decimal(30), "min"))))
    datetime.timedelta(seconds=5400)
    """
    kind, amount = comparable(value)
    if kind != "ms":
        raise _incomparable("a duration", value)
    try:
        return timedelta(milliseconds=float(amount))
    except OverflowError:
        raise _beyond(value) from None


_STARTS: dict[str, Callable[[datetime], datetime]] = {
    "ms": lambda d: d.replace(microsecond=d.microsecond // 1000 * 1000),
    "s": lambda d: d.replace(microsecond=0),
    "min": lambda d: d.replace(second=0, microsecond=0),
    "h": lambda d: d.replace(minute=0, second=0, microsecond=0),
    "day": lambda d: _midnight(d),
    "week": lambda d: _midnight(d) - timedelta(days=d.weekday()),  # ISO 8601: from Monday
    "mon": lambda d: _midnight(d).replace(day=1),
    "year": lambda d: _midnight(d).replace(month=1, day=1),
}
# At least one and less than two of the unit, from its start.
_MORE_THAN_ONE = {
    "ms": timedelta(milliseconds=1), "s": timedelta(seconds=1), "min": timedelta(minutes=1),
    "h": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1),
    "mon": timedelta(days=31), "year": timedelta(days=366),
}  # fmt: skip


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _edge_of(now: datetime, edge: str, unit: str, node: Value) -> datetime:
    """Return where the unit around `now` starts, or where the next one does."""
    if unit not in _STARTS:
        hint = f"units of time: {', '.join(_STARTS)}"
        raise GenieError(Problem("C004", f"expected a unit of time, got {unit!r}", node.span, hint))
    start = _STARTS[unit](now)
    return start if edge == "start_of" else _STARTS[unit](start + _MORE_THAN_ONE[unit])


# -------------------------------------------------------------------------------- comparing


def comparable(value: Value) -> tuple[str, Any]:
    """Return a constant as (kind, value): values of one kind can be compared.

    >>> comparable(MeasureValue(((Decimal(6), "ft"), (Decimal(3), "in"))))
    ('m', Decimal('1.9050'))
    """
    match value:
        case StringValue() | NumberValue() | BooleanValue() | EnumValue():
            return _plain(value)
        case MeasureValue(parts):
            return UNITS.get(parts[0][1], parts[0][1]), _in_base_unit(parts)
        case CurrencyValue(amount, code):
            return code, amount
        case DateValue():
            return "date", as_date(value)
        case TimeValue(hour, minute, second):
            return "time", (hour, minute, second)
        case LocationValue(None) | LocationValue(_, None):
            raise _incomparable("a place that is looked up", value)
        case LocationValue(latitude, longitude):
            return "location", (latitude, longitude)
        case EntityValue():
            return "entity", value
        case ArrayValue(items):
            return "array", items
        case (
            VarRef() | EventValue() | SlotValue() | ContextValue() | Undefined()
            | DateNow() | DateEdge() | DateOffset()
        ):  # fmt: skip
            raise _incomparable("a constant", value)
        case _:
            assert_never(value)


def as_time(value: Value) -> TimeValue | None:
    """Return the time of day of a time or a date, None for other values.

    >>> as_time(DateValue("2026-11-20T10:30:00+01:00"))
    TimeValue(hour=9, minute=30, second=0)
    """
    match value:
        case TimeValue():
            return value
        case DateValue():
            moment = as_date(value)
            return TimeValue(moment.hour, moment.minute, moment.second, span=value.span)
        case _:
            return None


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    """Return both, with the one in place of the other's type that the type checker lets stand so.

    A date stands for its time of day, a number for an amount of the other's money.
    """
    match left, right:
        case (TimeValue(), DateValue()) | (DateValue(), TimeValue()):
            return as_time(left) or left, as_time(right) or right
        case CurrencyValue(_, code), NumberValue(amount):
            return left, CurrencyValue(amount, code, span=right.span)
        case NumberValue(amount), CurrencyValue(_, code):
            return CurrencyValue(amount, code, span=left.span), right
        case _:
            return left, right


def _plain(value: StringValue | NumberValue | BooleanValue | EnumValue) -> tuple[str, Any]:
    match value:
        case StringValue(text):
            return "text", text
        case NumberValue(number):
            return "number", number
        case BooleanValue(truth):
            return "boolean", truth
        case EnumValue(name):
            return "enum", name
        case _:
            assert_never(value)


def _in_base_unit(parts: tuple[tuple[Decimal, str], ...]) -> Decimal:
    number, unit = parts[0]
    first = number * FACTORS.get(unit, Decimal(1)) + _ZEROS.get(unit, Decimal(0))
    return first + sum(n * FACTORS.get(u, Decimal(1)) for n, u in parts[1:])


def _incomparable(expected: str, value: Value) -> GenieError:
    message = f"expected {expected}, got {value}"
    hint = "check the program and the tables first: their types do not agree"
    return GenieError(Problem("C004", message, value.span, hint))


def equal(left: Value, right: Value) -> bool:
    """Tell whether two constants are the same.

    Entities are by identifier, or by name where one is not looked up yet; so is text that is
    compared with an entity. Places are by degrees, or by name likewise.

    >>> alice = EntityValue("a17", "tt:contact", "Alice")
    >>> equal(alice, StringValue("alice")), equal(alice, EntityValue("a18", "tt:contact", "Alice"))
    (True, False)
    """
    left, right = _alike(left, right)
    names = _names_of_places(left, right)
    if names is not None:
        return names[0].casefold() == names[1].casefold()
    (kind, ours), (their_kind, theirs) = comparable(left), comparable(right)
    if kind == their_kind == "entity":
        if ours.value is not None and theirs.value is not None:
            return bool(ours.value == theirs.value)
        return _text(left).casefold() == _text(right).casefold()
    if {kind, their_kind} == {"entity", "text"}:
        return _text(left).casefold() == _text(right).casefold()
    if kind == their_kind == "array":
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if kind != their_kind:
        raise _incomparable(f"two values of one kind ({kind})", right)
    return bool(ours == theirs)


def _names_of_places(left: Value, right: Value) -> tuple[str, str] | None:
    """Return the names of two places of which one at least is known by nothing else."""
    match left, right:
        case LocationValue(here, _, str(ours)), LocationValue(there, _, str(theirs)):
            return (ours, theirs) if here is None or there is None else None
        case _:
            return None


def _text(value: Value) -> str:
    match value:
        case StringValue(text):
            return text
        case EntityValue(identifier, _, display):
            return display if display is not None else identifier or ""
        case _:
            raise _incomparable("text", value)


def _items(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, ArrayValue):
        raise _incomparable("an array", value)
    return value.items


_ORDERED = frozenset(("text", "number", "date", "time")) | frozenset(UNITS.values())


def _order(left: Value, right: Value) -> int:
    left, right = _alike(left, right)
    (kind, ours), (their_kind, theirs) = comparable(left), comparable(right)
    if {kind, their_kind} == {"entity", "text"}:
        return _order(StringValue(_text(left)), StringValue(_text(right)))
    if kind != their_kind or (kind not in _ORDERED and not isinstance(left, CurrencyValue)):
        raise _incomparable(f"a value that {kind} is less or more than", right)
    return int(ours > theirs) - int(ours < theirs)


def _fold(value: Value) -> str:
    return _text(value).casefold()


_TESTS: dict[str, Callable[[Value, Value], bool]] = {
    "==": equal,
    ">=": lambda a, b: _order(a, b) >= 0,
    "<=": lambda a, b: _order(a, b) <= 0,
    ">": lambda a, b: _order(a, b) > 0,
    "<": lambda a, b: _order(a, b) < 0,
    "=~": lambda a, b: _fold(b) in _fold(a),
    "~=": lambda a, b: _fold(a) in _fold(b),
    "contains": lambda a, b: any(equal(item, b) for item in _items(a)),
    "in_array": lambda a, b: any(equal(a, item) for item in _items(b)),
    "starts_with": lambda a, b: _fold(a).startswith(_fold(b)),
    "ends_with": lambda a, b: _fold(a).endswith(_fold(b)),
    "prefix_of": lambda a, b: _fold(b).startswith(_fold(a)),
    "suffix_of": lambda a, b: _fold(b).endswith(_fold(a)),
}


def compare(left: Value, operator: str, right: Value) -> bool:
    """Tell whether a comparison of two constants holds; operators as in ast.OPERATORS.

    Text is contained, begins and ends without regard to case; measures and dates are compared
    across units and zones. A date is compared with a time as its time of day, a number with an
    amount of money as one of that currency, the name of an entity with text.

    >>> kilometre, metres = (MeasureValue(((Decimal(n), u),)) for n, u in ((1, "km"), (999, "m")))
    >>> compare(kilometre, ">", metres), compare(StringValue("Hello"), "=~", StringValue("ELL"))
    (True, True)
    """
    return _TESTS[operator](left, right)


CONTACT = Entity("tt:contact")

# No library declares attributes of devices: these are those of ThingTalk 1.x.
ATTRIBUTES: Mapping[str, Type] = {"all": BOOLEAN, "id": STRING, "name": STRING}

_NAMES = frozenset({"tt:username", "tt:contact_name"})
_CONVERSIONS: dict[str, frozenset[str]] = {
    # target kind -> kinds that the run time converts to it
    "tt:phone_number": _NAMES,
    "tt:email_address": _NAMES,
    "tt:contact": _NAMES,
    "tt:url": frozenset({"tt:picture"}),
}
_BASIC_CONVERSIONS = frozenset({(DATE, TIME), (NUMBER, CURRENCY)})
# What is compared with a date: a time with its time of day.
_BASIC_COMPARISONS = frozenset({(TIME, DATE)})
_ORDERED_BASICS = frozenset({STRING, NUMBER, DATE, TIME, CURRENCY})
_TEXT_OPERATORS = frozenset({"=~", "~=", "starts_with", "ends_with", "prefix_of", "suffix_of"})


def is_assignable(
    source: Type,
    target: Type,
    signatures: Signatures,
    *,
    lenient: bool = False,
    is_compared: bool = False,
) -> bool:
    """Tell whether a value of type `source` may stand where `target` is wanted.

    `lenient` lets text stand for an entity, as in call arguments and filters; `is_compared` lets a
    time stand for a date, as on the right side of a comparison.
    """
    if source == target or ANY in (source, target):
        return True
    match target:
        case Basic():
            if isinstance(source, Entity):
                return target == STRING
            pair = (source, target)
            return pair in _BASIC_CONVERSIONS or (is_compared and pair in _BASIC_COMPARISONS)
        case Measure(unit):
            return isinstance(source, Measure) and same_base(source.unit, unit)
        case Enum():
            return isinstance(source, Enum) and not enum_extras(source, target)
        case Entity(kind):
            if isinstance(source, Entity):
                return is_entity_assignable(source.kind, kind, signatures)
            return lenient and source == STRING
        case Array(element):
            return isinstance(source, Array) and is_assignable(
                source.element, element, signatures, lenient=lenient, is_compared=is_compared
            )
        case _:
            assert_never(target)


def is_entity_assignable(kind: str, other: str, signatures: Signatures) -> bool:
    """Tell whether an entity of `kind` may stand for one of `other`: a subtype, or converted."""
    return signatures.is_entity_subtype(kind, other) or kind in _CONVERSIONS.get(other, ())


def enum_extras(source: Enum, target: Enum) -> tuple[str, ...]:
    """Return the names that `target` does not list; an empty list, or `*` in it, takes any.

    >>> enum_extras(Enum(("on", "dim")), Enum(("on", "off")))
    ('dim',)
    """
    if not target.values or "*" in target.values:
        return ()
    return tuple(name for name in source.values if name not in target.values)


def same_base(unit: str, other: str) -> bool:
    """Tell whether two units measure the same thing.

    >>> same_base("ft", "km"), same_base("ft", "kg")
    (True, False)
    """
    return UNITS.get(unit, unit) == UNITS.get(other, other)


def is_numeric(type_: Type) -> bool:
    """Tell whether values of the type can be summed.

    >>> is_numeric(Measure("byte")), is_numeric(STRING)
    (True, False)
    """
    return type_ in (NUMBER, CURRENCY, ANY) or isinstance(type_, Measure)


def is_ordered(type_: Type) -> bool:
    """Tell whether values of the type can be compared with < and >.

    >>> is_ordered(DATE), is_ordered(Entity("tt:url"))
    (True, False)
    """
    return type_ in _ORDERED_BASICS or isinstance(type_, Measure)


def operand_type(operator: str, left: Type) -> Type | None:
    """Return the type wanted on the right of an operator, or None where it has no overload.

    >>> str(operand_type("contains", Array(STRING)))
    'String'
    >>> operand_type("=~", TIME) is None
    True
    """
    if operator not in OPERATORS:
        return None
    if left == ANY:
        return ANY
    match operator:
        case "==":
            return left
        case "contains":
            return left.element if isinstance(left, Array) else None
        case "in_array":
            return Array(left)
        case _ if operator in _TEXT_OPERATORS:
            return STRING if left == STRING or isinstance(left, Entity) else None
        case _:
            return left if is_ordered(left) else None


def is_identifier(name: str, left: Type, operator: str) -> bool:
    """Tell whether a comparison is with what identifies a result, which no text is.

    Elsewhere text may stand for an entity: people know it by its name.

    >>> is_identifier("id", CONTACT, "=="), is_identifier("id", CONTACT, "=~")
    (True, False)
    """
    return name == "id" and isinstance(left, Entity) and operator in ("==", "in_array")


def operators_of(left: Type) -> tuple[str, ...]:
    """Return the operators that take a value of the type on their left.

    >>> operators_of(Basic("Location"))
    ('==', 'in_array')
    """
    return tuple(o for o in OPERATORS if operand_type(o, left) is not None)
