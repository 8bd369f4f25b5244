"""The types of values, and whether they fit where they stand."""

from decimal import Decimal, InvalidOperation
from functools import partial

from genie_dp.errors import nearest
from genie_dp.languages.thingtalk.assign import enum_extras, is_assignable, same_base
from genie_dp.languages.thingtalk.ast import (
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
from genie_dp.languages.thingtalk.operators import FACTORS
from genie_dp.languages.thingtalk.scope import Scope
from genie_dp.languages.thingtalk.signatures import Signatures
from genie_dp.languages.thingtalk.slots import slot_type
from genie_dp.languages.thingtalk.token_values import number_token
from genie_dp.languages.thingtalk.typecheck_report import Report, listed, name_hint
from genie_dp.languages.thingtalk.types import (
    ANY,
    BOOLEAN,
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    STRING,
    TIME,
    UNITS,
    Array,
    Entity,
    Enum,
    Measure,
    Type,
)

DURATION = Measure("ms")

_FIXED: dict[type, Type] = {
    StringValue: STRING,
    NumberValue: NUMBER,
    BooleanValue: BOOLEAN,
    CurrencyValue: CURRENCY,
    DateValue: DATE,
    DateNow: DATE,
    TimeValue: TIME,
    LocationValue: LOCATION,
    Undefined: ANY,
}
CONTEXT: dict[tuple[str, ...], Type] = {
    ("location", "home"): LOCATION,
    ("location", "work"): LOCATION,
    ("location", "current_location"): LOCATION,
    ("time", "morning"): TIME,
    ("time", "evening"): TIME,
}
_EXAMPLES: dict[Type, str] = {
    STRING: '"some text"',
    NUMBER: "5",
    BOOLEAN: "true or false",
    CURRENCY: "makeCurrency(5, usd)",
    DATE: "makeDate(2026, 11, 20) or start_of(week)",
    TIME: "makeTime(8, 30)",
    LOCATION: "$context.location.home or makeLocation(37.4, -122.1)",
}


def expect(
    value: Value,
    expected: Type,
    what: str,
    scope: Scope,
    report: Report,
    *,
    lenient: bool = True,
    is_compared: bool = False,
) -> None:
    """Report a value that does not fit.

    Args:
        value: the value.
        expected: the type wanted.
        what: what the value is for, as the message names it.
        scope: the names that the value may refer to.
        report: where mistakes go.
        lenient: whether text may stand for an entity.
        is_compared: whether a time may stand for a date, which is compared by its time of day.
    """
    fits = partial(
        is_assignable, signatures=report.signatures, lenient=lenient, is_compared=is_compared
    )
    if isinstance(value, ArrayValue) and isinstance(expected, Array):
        before = len(report.problems)
        type_of(value, scope, report, expected)
        if len(report.problems) > before:
            return
        # Each by itself: text and a link are texts together, but a link is no contact.
        for item in value.items:
            expect(
                item, expected.element, what, scope, report,
                lenient=lenient, is_compared=is_compared,
            )  # fmt: skip
        return
    actual = type_of(value, scope, report, expected)
    if fits(actual, expected):
        return
    if isinstance(value, VarRef):
        fitting = [name for name, type_ in scope.types.items() if fits(type_, expected)]
        _wrong_variable(value, actual, expected, what, fitting, report)
    elif isinstance(value, EnumValue) and isinstance(expected, Enum):
        _wrong_enum(value, expected, what, report)
    else:
        report.add(
            "T002",
            f"expected {expected} for '{what}', got {_said(value, actual)}",
            value.span,
            _value_hint(value, actual, expected, what),
        )


def expect_interval(value: Value, scope: Scope, report: Report) -> None:
    """Report the value of a timer's interval where it is no duration, or none that ever ends."""
    before = len(report.problems)
    expect(value, DURATION, "interval", scope, report)
    if len(report.problems) > before or not isinstance(value, MeasureValue):
        return
    if sum(number * FACTORS[unit] for number, unit in value.parts) <= 0:
        report.add(
            "T045",
            "expected an interval of more than nothing, "
            f"got {' + '.join(f'{number_token(n)}{unit}' for n, unit in value.parts)}",
            value.span,
            "write how long it takes from one time to the next, such as 1h",
        )


def type_of(value: Value, scope: Scope, report: Report, expected: Type = ANY) -> Type:
    """Return the type of a value, Any where a mistake inside of it was reported.

    What is `expected` says what may have been meant.
    """
    match value:
        case VarRef():
            return _variable(value, scope, report, expected)
        case EnumValue(name):
            return Enum((name,))
        case EntityValue():
            return Entity(value.kind)
        case MeasureValue():
            return _measure(value, report)
        case DateEdge():
            return _edge(value, report)
        case DateOffset(base, _, duration):
            expect(base, DATE, "date", scope, report)
            expect(duration, DURATION, "duration", scope, report)
            return DATE
        case ContextValue():
            return _context(value, report)
        case ArrayValue():
            element = expected.element if isinstance(expected, Array) else ANY
            return _array(value, scope, report, element)
        case EventValue():
            if not report.has_event:
                hint = "it is text of what a stream brings, or in an action of a query's result"
                report.add("T020", "expected a stream or a query before $event", value.span, hint)
            return STRING
        case SlotValue():
            return _slot(value, report)
        case _:
            return _fixed(value)


_FixedValue = (
    StringValue
    | NumberValue
    | BooleanValue
    | CurrencyValue
    | DateValue
    | DateNow
    | TimeValue
    | LocationValue
    | Undefined
)


def _fixed(value: _FixedValue) -> Type:
    return _FIXED[type(value)]


def _variable(value: VarRef, scope: Scope, report: Report, expected: Type) -> Type:
    found = scope.get(value.name)
    if found is not None:
        return found
    hint = _bare_enum(value, scope, expected) if isinstance(expected, Enum) else None
    if hint is None:
        hint = name_hint(value.name, sorted(scope.types), "outputs in scope")
    report.add("T009", f"expected an output in scope, got '{value.name}'", value.span, hint)
    return ANY


def _bare_enum(value: VarRef, scope: Scope, expected: Enum) -> str | None:
    """Return how to write a name as a value of an enum; None if it is more like an output."""
    values = [name for name in expected.values if name != "*"]
    near = nearest(value.name, [*values, *scope.types])
    if near and near[0] not in values:
        return None
    if not enum_extras(Enum((value.name,)), expected):
        return f"write enum({value.name})"
    if near:
        return f"did you mean enum({near[0]})?"
    return f"values: {listed(f'enum({name})' for name in values)}"


def _measure(value: MeasureValue, report: Report) -> Type:
    units = [unit for _, unit in value.parts]
    unknown = [unit for unit in units if unit not in UNITS]
    for unit in unknown:
        unknown_unit(unit, value, report)
    if unknown or not units:
        return ANY
    other = next((unit for unit in units if not same_base(unit, units[0])), None)
    if other is not None:
        report.add(
            "T023",
            f"expected units of one kind in a sum, got '{units[0]}' and '{other}'",
            value.span,
            f"units that go with {units[0]}: {_units_like(units[0])}",
        )
        return ANY
    return Measure(units[0])


def unknown_unit(unit: str, node: MeasureValue | DateEdge, report: Report) -> None:
    """Report a unit that is none."""
    message = f"expected a unit of measure, got '{unit}'"
    report.add("T022", message, node.span, name_hint(unit, list(UNITS), "units"))


def _edge(value: DateEdge, report: Report) -> Type:
    if value.unit not in UNITS:
        unknown_unit(value.unit, value, report)
    elif not same_base(value.unit, "ms"):
        message = f"expected a unit of time for '{value.edge}', got '{value.unit}'"
        report.add("T024", message, value.span, f"units of time: {_units_like('ms')}")
    return DATE


def _context(value: ContextValue, report: Report) -> Type:
    found = CONTEXT.get(value.path)
    if found is not None:
        return found
    known = [f"$context.{'.'.join(path)}" for path in CONTEXT]
    name = f"$context.{'.'.join(value.path)}"
    report.add(
        "T027",
        f"expected a value of the context, got '{name}'",
        value.span,
        name_hint(name, known, "values of the context"),
    )
    return ANY


def _array(value: ArrayValue, scope: Scope, report: Report, expected: Type) -> Type:
    element: Type = ANY
    for item in value.items:
        type_ = type_of(item, scope, report, expected)
        both = united(element, type_, report.signatures)
        if both is None:
            report.add(
                "T025",
                f"expected values of one type in a list, got {element} and {type_}",
                item.span,
                f"make all of them {element}",
            )
            return ANY
        element = both
    return Array(element)


def united(element: Type, other: Type, signatures: Signatures) -> Type | None:
    """Return the type that takes the values of both, or None."""
    if isinstance(element, Enum) and isinstance(other, Enum):
        return Enum((*element.values, *other.values))
    if element == ANY or is_assignable(element, other, signatures):
        return other
    return element if is_assignable(other, element, signatures) else None


def _slot(value: SlotValue, report: Report) -> Type:
    found = slot_type(value.token)
    if found is None:
        hint = "placeholders: NUMBER_0, QUOTED_STRING_0, DATE_0, GENERIC_ENTITY_com.x:song_0, .."
        report.add("T026", f"expected a placeholder, got '{value.token}'", value.span, hint)
        return ANY
    if isinstance(found, Measure) and found.unit not in UNITS:
        message = f"expected a unit of measure in '{value.token}', got '{found.unit}'"
        report.add("T022", message, value.span, name_hint(found.unit, list(UNITS), "units"))
        return ANY
    return Measure(value.unit) if value.unit else found


# ------------------------------------------------------------------------------- what is wrong


def _wrong_variable(
    value: VarRef,
    actual: Type,
    expected: Type,
    what: str,
    fitting: list[str],
    report: Report,
) -> None:
    hint = f"outputs of that type: {listed(sorted(fitting))}"
    if isinstance(expected, Enum) and not enum_extras(Enum((value.name,)), expected):
        hint = f"write enum({value.name}) for the value; {hint}"
    report.add(
        "T010",
        f"expected {expected} for '{what}', got '{value.name}' of type {actual}",
        value.span,
        hint,
    )


def _wrong_enum(value: EnumValue, expected: Enum, what: str, report: Report) -> None:
    report.add(
        "T008",
        f"expected one of {listed(expected.values)} for '{what}', got '{value.name}'",
        value.span,
        name_hint(value.name, expected.values, "values"),
    )


def _said(value: Value, type_: Type) -> str:
    """Return the type of a value as a message names it: placeholders with their token."""
    if isinstance(value, SlotValue):
        return f"{value.token} of type {type_}"
    if isinstance(value, EnumValue):
        return f"the enum value '{value.name}'"
    return str(type_)


def _value_hint(value: Value, actual: Type, expected: Type, what: str) -> str | None:
    start = what if " " in what else f"{what} ="  # a comparison names its operator
    match expected:
        case Measure(unit):
            if isinstance(value, NumberValue):
                return f"add a unit: {value.value}{unit}"
            return f"units that fit: {_units_like(unit)}"
        case Enum(values):
            if isinstance(value, StringValue) and not enum_extras(Enum((value.text,)), expected):
                return f"write {start} enum({value.text})"
            return f"write enum({values[0]})" if values else "write enum(name)"
        case Entity(kind) if isinstance(value, StringValue):
            # Where text may stand for an entity, it never comes here.
            said = f'"{value.text}"'
            return f"write {said}^^{kind}, or ask for the name: id =~ {said}"
        case Entity(kind):
            return f'write "name"^^{kind}'
        case Array(element):
            if is_text_like(actual, element):
                return f"put it in a list: {start} [..]"
            return f"write a list of {element}: [.., ..]"
        case _:
            return _basic_hint(value, expected, start)


def is_text_like(actual: Type, element: Type) -> bool:
    """Tell whether a value is of an array's element type, so that only the brackets are missing.

    >>> is_text_like(STRING, Entity("tt:hashtag")), is_text_like(NUMBER, STRING)
    (True, False)
    """
    return actual == element or (actual == STRING and isinstance(element, Entity))


def _basic_hint(value: Value, expected: Type, start: str) -> str | None:
    if isinstance(value, StringValue):
        if expected == NUMBER and _is_number(value.text):
            return f"drop the quotes: {start} {value.text}"
        if expected == BOOLEAN and value.text in ("true", "false"):
            return f"drop the quotes: {start} {value.text}"
    if expected == NUMBER and isinstance(value, MeasureValue) and value.parts:
        return f"drop the unit: {start} {value.parts[0][0]}"
    example = _EXAMPLES.get(expected)
    return f"write a value such as {example}" if example else None


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _units_like(unit: str) -> str:
    return ", ".join(other for other in UNITS if same_base(other, unit))
