"""Which values fit where, and the meaning of comparisons: units, dates, text, arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import asin, cos, radians, sin, sqrt
from typing import Any, assert_never

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import types as ty
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.units import SHIPPED, Units


@dataclass(frozen=True, slots=True)
class Moment:
    """When and for whom a program runs.

    Attributes:
        now: the time, UTC where it has no zone.
        context: values of the user's context, by path such as ("location", "home").
        slots: the values of the placeholders of the program, by token.
    """

    now: datetime
    context: Mapping[tuple[str, ...], tt.Value] = field(default_factory=dict)
    slots: Mapping[str, tt.Value] = field(default_factory=dict)


def evaluate(value: tt.Value, scope: Mapping[str, tt.Value], moment: Moment) -> tt.Value:
    """Return the constant that a value stands for.

    Raises:
        GenieError: C003 for a name that is not in scope, C005 for a value that nobody gave.

    >>> moment = Moment(datetime(2026, 11, 20, 9, 30))
    >>> evaluate(tt.DateEdge("start_of", "week"), {}, moment)
    DateValue(iso='2026-11-16T00:00:00')
    """
    match value:
        case tt.VarRef(name):
            return lookup(name, scope, value)
        case tt.EventValue():
            return lookup("$event", scope, value)
        case tt.SlotValue(token, unit):
            slot_value = _require(moment.slots.get(token), f"the placeholder {token}", value)
            return attach_unit(slot_value, unit) if unit else slot_value
        case tt.ContextValue(path):
            return _require(moment.context.get(path), f"${'.'.join(('context', *path))}", value)
        case tt.Undefined():
            return _require(None, "$?", value)
        case tt.DateNow():
            return _date(moment.now)
        case tt.DateEdge(edge, unit):
            return _date(_edge_of(moment.now, edge, unit, value))
        case tt.DateOffset(base, sign, duration):
            start = as_date(evaluate(base, scope, moment))
            length = as_duration(evaluate(duration, scope, moment))
            return _date(_move(start, length if sign == "+" else -length, value))
        case tt.ArrayValue(items):
            return tt.ArrayValue(tuple(evaluate(item, scope, moment) for item in items))
        case tt.ListFilter(name, predicate):
            listed = _items(lookup(name, scope, value))
            matching = (i for i in listed if satisfies(predicate, {**scope, ITEM: i}, moment))
            return tt.ArrayValue(tuple(matching))
        case tt.Computed(operator, arguments):
            return compute(operator, tuple(evaluate(a, scope, moment) for a in arguments))
        case _:
            return value


def satisfies(
    predicate: tt.Predicate,
    scope: Mapping[str, tt.Value],
    moment: Moment,
    ask: Callable[[tt.GetPredicate], bool] | None = None,
) -> bool:
    """Return whether a predicate holds of the values in scope.

    Args:
        predicate: the predicate.
        scope: the values by name.
        moment: when.
        ask: returns whether a get predicate holds; None where none may stand.
    """
    match predicate:
        case tt.TrueP():
            return True
        case tt.FalseP():
            return False
        case tt.Not(operand):
            return not satisfies(operand, scope, moment, ask)
        case tt.And(operands):
            return all(satisfies(p, scope, moment, ask) for p in operands)
        case tt.Or(operands):
            return any(satisfies(p, scope, moment, ask) for p in operands)
        case tt.Atom(name, operator, value):
            left = lookup(name, scope, predicate)
            return compare(left, operator, evaluate(value, scope, moment))
        case tt.Comparison(computed, operator, value):
            left = evaluate(computed, scope, moment)
            return compare(left, operator, evaluate(value, scope, moment))
        case tt.GetPredicate():
            if ask is None:
                message = "expected a condition on the values of a list, got a query"
                raise GenieError(Problem("C004", message, predicate.span))
            return ask(predicate)
        case _:
            assert_never(predicate)


ITEM = "value"
"""What the condition of a ListFilter calls each of the list."""
_EARTH_RADIUS = 6_371_000  # metres; the mean one of the IUGG


def compute(operator: str, arguments: tuple[tt.Value, ...]) -> tt.Value:
    """Return a computed value of constants.

    A list without values has no greatest, no least and no average one.

    Raises:
        GenieError: C004 for operands of a wrong type.

    >>> compute("count", (tt.ArrayValue((tt.StringValue("a"),)),))
    NumberValue(value=Decimal('1'))
    >>> rome, naples = (tt.LocationValue(Decimal(n), Decimal("12.5")) for n in (42, 41))
    >>> compute("distance", (rome, naples))
    MeasureValue(parts=((Decimal('111195'), 'm'),))
    """
    if operator == "distance":
        return tt.MeasureValue(((_metres(*arguments), "m"),))
    if operator not in tt.COMPUTATIONS:
        return tt.BooleanValue(compare(arguments[0], operator, arguments[1]))
    listed = _items(arguments[0])
    if operator == "count":
        return tt.NumberValue(Decimal(len(listed)))
    if not listed:
        message = f"expected a list with values for '{operator}', got none"
        hint = "leave out results without: filter count(..) >= 1"
        raise GenieError(Problem("C004", message, arguments[0].span, hint))
    return total(operator, list(listed))


def _metres(here: tt.Value, there: tt.Value) -> Decimal:
    places = [comparable(place) for place in (here, there)]
    if any(kind != "location" for kind, _ in places):
        raise _incomparable("a place", here if places[0][0] != "location" else there)
    (a, b), (c, d) = ([radians(degrees) for degrees in place] for _, place in places)
    # The haversine formula.
    half = sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2
    return Decimal(round(2 * _EARTH_RADIUS * asin(sqrt(half))))


def total(operator: str, values: list[tt.Value]) -> tt.Value:
    """Return the max, min, sum or avg of some amounts, in the unit that all of them have.

    Measures are in their base unit.

    >>> total("avg", [tt.NumberValue(Decimal(1)), tt.NumberValue(Decimal(2))])
    NumberValue(value=Decimal('1.5'))
    """
    amounts = [comparable(value)[1] for value in values]
    if operator in ("max", "min"):
        number = max(amounts) if operator == "max" else min(amounts)
    else:
        number = sum(amounts, start=Decimal(0)) / (len(amounts) if operator == "avg" else 1)
    kind, *others = sorted({comparable(value)[0] for value in values})
    match values[0]:
        case tt.NumberValue() if not others:
            return tt.NumberValue(number)
        case tt.MeasureValue() if not others:
            return tt.MeasureValue(((number, kind),))
        case tt.CurrencyValue() if not others:
            return tt.CurrencyValue(number, kind)
        case first:
            message = f"expected numbers of one unit to aggregate, got {', '.join((kind, *others))}"
            raise GenieError(Problem("C004", message, first.span, "aggregate each unit by itself"))


def attach_unit(value: tt.Value, unit: str) -> tt.Value:
    """Return a measure of a number and a unit; other values as they are.

    >>> from decimal import Decimal
    >>> attach_unit(tt.NumberValue(Decimal(20)), "F")
    MeasureValue(parts=((Decimal('20'), 'F'),))
    """
    if not isinstance(value, tt.NumberValue):
        return value
    return tt.MeasureValue(((value.value, unit),), span=value.span)


def lookup(name: str, scope: Mapping[str, tt.Value], node: Any = None) -> tt.Value:
    """Return the value of a name in scope, or raise GenieError C003."""
    if name not in scope:
        names = ", ".join(sorted(scope)) or "none"
        message = f"expected a name in scope, got {name!r}"
        span = getattr(node, "span", None)
        raise GenieError(Problem("C003", message, span, f"names in scope: {names}"))
    return scope[name]


def _require(value: tt.Value | None, what: str, node: tt.Value) -> tt.Value:
    if value is None:
        hint = "fill it in before the program is simulated"
        raise GenieError(Problem("C005", f"expected a value for {what}", node.span, hint))
    return value


# ------------------------------------------------------------------------------------ dates


def _date(moment: datetime) -> tt.DateValue:
    return tt.DateValue(moment.isoformat())


def _move(start: datetime, length: timedelta, node: tt.Value) -> datetime:
    try:
        return start + length
    except OverflowError:
        raise _beyond(node) from None


def _beyond(node: tt.Value) -> GenieError:
    message = "expected a time of the years 1 to 9999, got one beyond"
    return GenieError(Problem("C004", message, node.span, "shorten the duration"))


def as_date(value: tt.Value) -> datetime:
    """Return the point in time of a date, without a zone: UTC.

    Raises:
        GenieError: C004 for a value that is no date, or one that no calendar has.

    >>> as_date(tt.DateValue("2026-11-20T10:00:00+01:00"))
    datetime.datetime(2026, 11, 20, 9, 0)
    """
    if not isinstance(value, tt.DateValue):
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


def as_duration(value: tt.Value) -> timedelta:
    """Return a measure of time as a time span.

    >>> from decimal import Decimal
    >>> as_duration(tt.MeasureValue(((Decimal(1), "h"), (Decimal(30), "min"))))
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


def _edge_of(now: datetime, edge: str, unit: str, node: tt.Value) -> datetime:
    """Return where the unit around `now` starts, or where the next one does."""
    if unit not in _STARTS:
        hint = f"units of time: {', '.join(_STARTS)}"
        raise GenieError(Problem("C004", f"expected a unit of time, got {unit!r}", node.span, hint))
    start = _STARTS[unit](now)
    return start if edge == "start_of" else _STARTS[unit](start + _MORE_THAN_ONE[unit])


# -------------------------------------------------------------------------------- comparing


def comparable(value: tt.Value, units: Units = SHIPPED) -> tuple[str, Any]:
    """Return a constant as (kind, value): values of one kind can be compared.

    Args:
        value: the constant.
        units: those of the library.

    >>> from decimal import Decimal
    >>> comparable(tt.MeasureValue(((Decimal(6), "ft"), (Decimal(3), "in"))))
    ('m', Decimal('1.9050'))
    """
    match value:
        case tt.StringValue() | tt.NumberValue() | tt.BooleanValue() | tt.EnumValue():
            return _plain(value)
        case tt.MeasureValue(parts):
            return units.base(parts[0][1]), units.amount(parts)
        case tt.CurrencyValue(amount, code):
            return code, amount
        case tt.DateValue():
            return "date", as_date(value)
        case tt.TimeValue(hour, minute, second):
            return "time", (hour, minute, second)
        case tt.LocationValue(None) | tt.LocationValue(_, None):
            raise _incomparable("a place that is looked up", value)
        case tt.LocationValue(latitude, longitude):
            return "location", (latitude, longitude)
        case tt.EntityValue():
            return "entity", value
        case tt.ArrayValue(items):
            return "array", items
        case (
            tt.VarRef() | tt.EventValue() | tt.SlotValue() | tt.ContextValue() | tt.Undefined()
            | tt.DateNow() | tt.DateEdge() | tt.DateOffset() | tt.ListFilter() | tt.Computed()
        ):  # fmt: skip
            raise _incomparable("a constant", value)
        case _:
            assert_never(value)


def as_time(value: tt.Value) -> tt.TimeValue | None:
    """Return the time of day of a time or a date, None for other values.

    >>> as_time(tt.DateValue("2026-11-20T10:30:00+01:00"))
    TimeValue(hour=9, minute=30, second=0)
    """
    match value:
        case tt.TimeValue():
            return value
        case tt.DateValue():
            moment = as_date(value)
            return tt.TimeValue(moment.hour, moment.minute, moment.second, span=value.span)
        case _:
            return None


def _alike(left: tt.Value, right: tt.Value) -> tuple[tt.Value, tt.Value]:
    """Return both, with the one in place of the other's type that the type checker lets stand so.

    A date stands for its time of day, a number for an amount of the other's money.
    """
    match left, right:
        case (tt.TimeValue(), tt.DateValue()) | (tt.DateValue(), tt.TimeValue()):
            return as_time(left) or left, as_time(right) or right
        case tt.CurrencyValue(_, code), tt.NumberValue(amount):
            return left, tt.CurrencyValue(amount, code, span=right.span)
        case tt.NumberValue(amount), tt.CurrencyValue(_, code):
            return tt.CurrencyValue(amount, code, span=left.span), right
        case _:
            return left, right


def _plain(
    value: tt.StringValue | tt.NumberValue | tt.BooleanValue | tt.EnumValue,
) -> tuple[str, Any]:
    match value:
        case tt.StringValue(text):
            return "text", text
        case tt.NumberValue(number):
            return "number", number
        case tt.BooleanValue(truth):
            return "boolean", truth
        case tt.EnumValue(name):
            return "enum", name
        case _:
            assert_never(value)


def _incomparable(expected: str, value: tt.Value) -> GenieError:
    message = f"expected {expected}, got {value}"
    hint = "check the program and the tables first: their types do not agree"
    return GenieError(Problem("C004", message, value.span, hint))


def equal(left: tt.Value, right: tt.Value) -> bool:
    """Return whether two constants are the same.

    Entities are by identifier, or by name where one is not looked up yet; so is text that is
    compared with an entity. Places are by degrees, or by name likewise.

    >>> alice = tt.EntityValue("a17", "tt:contact", "Alice")
    >>> equal(alice, tt.StringValue("alice"))
    True
    >>> equal(alice, tt.EntityValue("a18", "tt:contact", "Alice"))
    False
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


def _names_of_places(left: tt.Value, right: tt.Value) -> tuple[str, str] | None:
    """Return the names of two places of which one at least is known by nothing else."""
    match left, right:
        case tt.LocationValue(here, _, str(ours)), tt.LocationValue(there, _, str(theirs)):
            return (ours, theirs) if here is None or there is None else None
        case _:
            return None


def _text(value: tt.Value) -> str:
    match value:
        case tt.StringValue(text):
            return text
        case tt.EntityValue(identifier, _, display):
            return display if display is not None else identifier or ""
        case _:
            raise _incomparable("text", value)


def _items(value: tt.Value) -> tuple[tt.Value, ...]:
    if not isinstance(value, tt.ArrayValue):
        raise _incomparable("an array", value)
    return value.items


_ORDERED = frozenset(("text", "number", "date", "time"))
_AMOUNTS = (tt.CurrencyValue, tt.MeasureValue)


def order(left: tt.Value, right: tt.Value) -> int:
    """Return -1, 0 or 1 where one constant is less, as much, or more than another.

    >>> order(tt.NumberValue(Decimal(1)), tt.NumberValue(Decimal(2)))
    -1
    """
    left, right = _alike(left, right)
    (kind, ours), (their_kind, theirs) = comparable(left), comparable(right)
    if {kind, their_kind} == {"entity", "text"}:
        return order(tt.StringValue(_text(left)), tt.StringValue(_text(right)))
    if kind != their_kind or (kind not in _ORDERED and not isinstance(left, _AMOUNTS)):
        raise _incomparable(f"a value that {kind} is less or more than", right)
    return int(ours > theirs) - int(ours < theirs)


def _fold(value: tt.Value) -> str:
    return _text(value).casefold()


_TESTS: dict[str, Callable[[tt.Value, tt.Value], bool]] = {
    "==": equal,
    ">=": lambda a, b: order(a, b) >= 0,
    "<=": lambda a, b: order(a, b) <= 0,
    ">": lambda a, b: order(a, b) > 0,
    "<": lambda a, b: order(a, b) < 0,
    "=~": lambda a, b: _fold(b) in _fold(a),
    "~=": lambda a, b: _fold(a) in _fold(b),
    "contains": lambda a, b: any(equal(item, b) for item in _items(a)),
    "in_array": lambda a, b: any(equal(a, item) for item in _items(b)),
    "starts_with": lambda a, b: _fold(a).startswith(_fold(b)),
    "ends_with": lambda a, b: _fold(a).endswith(_fold(b)),
    "prefix_of": lambda a, b: _fold(b).startswith(_fold(a)),
    "suffix_of": lambda a, b: _fold(b).endswith(_fold(a)),
    "contains~": lambda a, b: any(_fold(b) in _fold(item) for item in _items(a)),
    "in_array~": lambda a, b: any(_fold(item) in _fold(a) for item in _items(b)),
}


def compare(left: tt.Value, operator: str, right: tt.Value) -> bool:
    """Return whether a comparison of two constants holds; operators as in ast.OPERATORS.

    Text is contained, begins and ends without regard to case; measures and dates are compared
    across units and zones. A date is compared with a time as its time of day, a number with an
    amount of money as one of that currency, the name of an entity with text.

    >>> from decimal import Decimal
    >>> kilometre, metres = (tt.MeasureValue(((Decimal(n), u),)) for n, u in ((1, "km"), (9, "m")))
    >>> compare(kilometre, ">", metres)
    True
    >>> compare(tt.StringValue("Hello"), "=~", tt.StringValue("ELL"))
    True
    """
    return _TESTS[operator](left, right)


CONTACT = ty.Entity("tt:contact")

# No library declares attributes of devices: these are those of ThingTalk 1.x.
ATTRIBUTES: Mapping[str, ty.Type] = {"all": ty.BOOLEAN, "id": ty.STRING, "name": ty.STRING}

# Kinds whose constants are texts as they are written.
_WRITTEN_KINDS = frozenset({*ty.ALIASES.values(), "tt:device", "tt:device_id"})
_NAMES = frozenset({"tt:username", "tt:contact_name"})
_CONVERSIONS: dict[str, frozenset[str]] = {
    # target kind -> kinds that the run time converts to it
    "tt:phone_number": _NAMES,
    "tt:email_address": _NAMES,
    "tt:contact": _NAMES,
    "tt:url": frozenset({"tt:picture"}),
}
_BASIC_CONVERSIONS = frozenset({(ty.DATE, ty.TIME), (ty.NUMBER, ty.CURRENCY)})
# What is compared with a date: a time with its time of day.
_BASIC_COMPARISONS = frozenset({(ty.TIME, ty.DATE)})
_ORDERED_BASICS = frozenset({ty.STRING, ty.NUMBER, ty.DATE, ty.TIME, ty.CURRENCY})
_TEXT_OPERATORS = frozenset({"=~", "~=", "starts_with", "ends_with", "prefix_of", "suffix_of"})


def is_assignable(
    source: ty.Type,
    target: ty.Type,
    signatures: Signatures,
    *,
    lenient: bool = False,
    is_compared: bool = False,
    is_constant: bool = False,
) -> bool:
    """Return whether a value of type `source` may stand where `target` is wanted.

    Args:
        lenient: whether text that is passed on may stand for an entity.
        is_compared: whether a time may stand for a date, as on the right side of a comparison.
        is_constant: whether the value is written in the program, where text is no entity, and an
            entity no text unless people write it as such (a link, an address).
    """
    if source == target or ty.ANY in (source, target):
        return True
    match target:
        case ty.Basic():
            if isinstance(source, ty.Entity):
                return target == ty.STRING and (not is_constant or source.kind in _WRITTEN_KINDS)
            pair = (source, target)
            return pair in _BASIC_CONVERSIONS or (is_compared and pair in _BASIC_COMPARISONS)
        case ty.Measure(unit):
            return isinstance(source, ty.Measure) and signatures.units.is_same_base(
                source.unit, unit
            )
        case ty.Enum():
            return isinstance(source, ty.Enum) and not enum_extras(source, target)
        case ty.Entity(kind):
            if isinstance(source, ty.Entity):
                # A subtype, or what the run time converts.
                is_subtype = signatures.is_entity_subtype(source.kind, kind)
                return is_subtype or source.kind in _CONVERSIONS.get(kind, ())
            return lenient and source == ty.STRING and not is_constant
        case ty.Array(element):
            return isinstance(source, ty.Array) and is_assignable(
                source.element, element, signatures,
                lenient=lenient, is_compared=is_compared, is_constant=is_constant,
            )  # fmt: skip
        case _:
            assert_never(target)


def enum_extras(source: ty.Enum, target: ty.Enum) -> tuple[str, ...]:
    """Return the names that `target` does not list; an empty list, or `*` in it, takes any.

    >>> enum_extras(ty.Enum(("on", "dim")), ty.Enum(("on", "off")))
    ('dim',)
    """
    if not target.values or "*" in target.values:
        return ()
    names = frozenset(target.values)  # of skills some have a thousand names
    return tuple(name for name in source.values if name not in names)


def is_numeric(type_: ty.Type) -> bool:
    """Return whether values of the type can be summed.

    >>> is_numeric(ty.Measure("byte")), is_numeric(ty.STRING)
    (True, False)
    """
    return type_ in (ty.NUMBER, ty.CURRENCY, ty.ANY) or isinstance(type_, ty.Measure)


def is_ordered(type_: ty.Type) -> bool:
    """Return whether values of the type can be compared with < and >.

    >>> is_ordered(ty.DATE), is_ordered(ty.Entity("tt:url"))
    (True, False)
    """
    return type_ in _ORDERED_BASICS or isinstance(type_, ty.Measure)


def operand_type(operator: str, left: ty.Type) -> ty.Type | None:
    """Return the type wanted on the right of an operator, or None where it has no overload.

    `contains~` and `in_array~` take text where a list holds texts or named values.

    >>> str(operand_type("contains", ty.Array(ty.STRING)))
    'String'
    >>> operand_type("=~", ty.TIME) is None
    True
    """
    if operator not in tt.OPERATORS and operator not in tt.SOFT_OPERATORS:
        return None
    if left == ty.ANY:
        return ty.ANY
    match operator:
        case "contains~":
            return ty.STRING if isinstance(left, ty.Array) and _is_text(left.element) else None
        case "in_array~":
            return ty.Array(ty.STRING) if _is_text(left) else None
        case "==":
            return left
        case "contains":
            return left.element if isinstance(left, ty.Array) else None
        case "in_array":
            return ty.Array(left)
        case _ if operator in _TEXT_OPERATORS:
            return ty.STRING if _is_text(left) else None
        case _:
            return left if is_ordered(left) else None


def _is_text(type_: ty.Type) -> bool:
    return type_ == ty.STRING or isinstance(type_, ty.Entity)


def computed_type(operator: str, types: Sequence[ty.Type]) -> ty.Type | None:
    """Return the type of a computed value, or None where there is none of such arguments.

    >>> str(computed_type("count", [ty.Array(ty.STRING)])), computed_type("count", [ty.STRING])
    ('Number', None)
    >>> str(computed_type("max", [ty.Array(ty.Measure("kg"))]))
    'Measure(kg)'
    """
    match operator, types:
        case "distance", [here, there]:
            return ty.Measure("m") if {here, there} <= {ty.LOCATION, ty.ANY} else None
        case "count", [ty.Array() | ty.ANY]:
            return ty.NUMBER
        case "max" | "min" | "sum" | "avg", [ty.Array(element)] if is_numeric(element):
            return element
        case "max" | "min" | "sum" | "avg", [ty.ANY]:
            return ty.ANY
        case _:
            return None


def is_identifier(name: str, left: ty.Type, operator: str) -> bool:
    """Return whether a comparison is with an identifier of a result, which no text is.

    Elsewhere text may stand for an entity: people know it by its name.

    >>> is_identifier("id", CONTACT, "=="), is_identifier("id", CONTACT, "=~")
    (True, False)
    """
    return name == "id" and isinstance(left, ty.Entity) and operator in ("==", "in_array")


def operators_of(left: ty.Type) -> tuple[str, ...]:
    """Return the operators that take a value of the type on their left.

    >>> operators_of(ty.Basic("Location"))
    ('==', 'in_array')
    """
    return tuple(o for o in tt.OPERATORS if operand_type(o, left) is not None)
