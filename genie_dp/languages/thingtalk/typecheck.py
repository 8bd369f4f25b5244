"""The type checker: all mistakes of a program at once, each with its place and a hint.

Codes:

| T001 unknown class | T003 unknown function | T004 query used as action, or action as query |
| T002 value of the wrong type | T005 unknown input | T006 output given as input |
| T007 parameter given twice | T008 enum value not in the list | T009 name not in scope |
| T010 passed output of the wrong type | T011 filter on an unknown output |
| T012 operator has no overload | T013 predicate over an action | T014 query not monitorable |
| T015 edge on a timer | T016 aggregate of an unknown field | T017 of a non-numeric field |
| T018 `on new` of an unknown output | T019 nothing to notify of | T020 `$event` without event |
| T021 policy's source is no contact | T022 unknown unit | T023 units do not add up |
| T024 edge of a unit that is not of time | T025 list of mixed types | T026 unknown placeholder |
| T027 unknown value of the context | T028 unknown aggregation |

Rows of tables have the next one (`TemplateBodies.compile_row`), `tokens` T040 to T042. Those of
classes, that are seen without the rest of the library (T022, too):

| T030 declared twice | T031 parameter declared twice | T033 action monitorable or list |
| T032 action with outputs (a warning: ThingTalk 1.11 reads them) | T035 poll_interval |
| T034 parameter whose name stands for something else in programs |
| T036 annotation of the wrong type or given twice | T039 enum value listed twice |
| T037 facet imported twice or where it has no place | T038 class or function extends itself |

And those of programs again:

| T043 unknown attribute of a device | T044 one that is no constant | T045 interval of nothing |

Questions:

| T046 order by an unordered value | T047 index that is no place | T048 nothing to compute this of |
| T049 computed value where none may stand | T050 two values of one name in a projection |
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import assert_never

from genie_dp.errors import Problem, Span, did_you_mean, nearest, with_article
from genie_dp.languages import types as ty
from genie_dp.languages.library import Parameter, Signature, Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk import declarations as decl
from genie_dp.languages.thingtalk import operators, traverse
from genie_dp.languages.thingtalk.scope import (
    CONTEXT,
    EMPTY,
    OPEN,
    Scope,
    aggregate_scope,
    constant_type,
    scope_of,
)
from genie_dp.languages.thingtalk.tokens import number_token
from genie_dp.languages.thingtalk.transform import UNREAD, named_value, unit_hint
from genie_dp.languages.thingtalk.traverse import source_calls
from genie_dp.languages.units import SHIPPED, Units

MOST_NAMES = 6  # of a list in a hint: a line of text


@dataclass(slots=True)
class Report:
    """Collects mistakes.

    Attributes:
        signatures: the skill library.
        problems: the mistakes so far.
        has_event: whether `$event` means something at this place.
        takes_text: whether text that is written there may stand for an entity, as for who asks.
        parameters: names of lambdas' parameters, which stand for constants.
        wanted: placeholder without a type -> the types that are expected where it stands.
    """

    signatures: Signatures
    problems: list[Problem] = field(default_factory=list)
    has_event: bool = True
    takes_text: bool = False
    parameters: set[str] = field(default_factory=set)
    wanted: dict[str, list[tuple[ty.Type, Span | None]]] = field(default_factory=dict)

    def add(self, code: str, message: str, span: Span | None, hint: str | None = None) -> None:
        """Add a mistake."""
        self.problems.append(Problem(code, message, span, hint))

    @contextmanager
    def no_event(self) -> Iterator[None]:
        """Hold that nothing has happened yet, as inside of a stream."""
        before, self.has_event = self.has_event, False
        yield
        self.has_event = before


def list_names(names: Iterable[str]) -> str:
    """Return the first names of a list as text.

    >>> list_names(["a", "b"]), list_names([])
    ('a, b', 'none')
    """
    all_names = list(names)
    more = ", .." if len(all_names) > MOST_NAMES else ""
    return ", ".join(all_names[:MOST_NAMES]) + more if all_names else "none"


def name_hint(name: str, known: Sequence[str], what: str) -> str:
    """Return the nearest of the known names, or the list of them.

    >>> name_hint("sendr", ["sender", "date"], "outputs"), name_hint("x", ["date"], "outputs")
    ("did you mean 'sender'?", 'outputs: date')
    """
    return did_you_mean(name, known) or f"{what}: {list_names(known)}"


def function_of(call: tt.Call, report: Report) -> Signature | None:
    """Return the signature of a call's function; report it where there is none."""
    return find_function(call.selector.class_name, call.function, call.span, report)


def find_function(
    class_name: str, function: str, span: Span | None, report: Report
) -> Signature | None:
    """Return the signature of a function; report it where there is none."""
    signature = report.signatures.function(class_name, function)
    if signature is not None:
        return signature
    if not find_class(class_name, function, span, report):
        return None
    function_names = report.signatures.function_names(class_name)
    hint = did_you_mean(function, function_names)
    if hint is None:
        hint = (
            _elsewhere(function, report)
            or f"functions of @{class_name}: {list_names(function_names)}"
        )
    report.add(
        "T003", f"expected a function of @{class_name}, got '@{class_name}.{function}'", span, hint
    )
    return None


def find_class(class_name: str, function: str | None, span: Span | None, report: Report) -> bool:
    """Return whether the library has a class; report it where it has none."""
    class_names = report.signatures.class_names()
    if class_name in class_names:
        return True
    suggestions = [f"@{name}" for name in nearest(class_name, class_names)[:2]]
    hint = f"did you mean {' or '.join(suggestions)}?" if suggestions else None
    if hint is None and function is not None:
        hint = _elsewhere(function, report)
    report.add(
        "T001",
        f"expected a class of the library, got '@{class_name}'",
        span,
        hint or f"classes: {list_names('@' + name for name in sorted(class_names))}",
    )
    return False


def _elsewhere(function: str, report: Report) -> str | None:
    """Return where the library has a function of that name."""
    signatures = report.signatures
    classes = [c for c in sorted(signatures.class_names()) if signatures.function(c, function)]
    if not classes:
        return None
    return f"there is {list_names(f'@{name}.{function}' for name in classes)}"


DURATION = ty.Measure("ms")
# Texts and names that stand in a program, unlike those that are passed on.
_WRITTEN = (tt.StringValue, tt.EntityValue, tt.SlotValue)

_EXAMPLES: dict[ty.Type, str] = {
    ty.STRING: '"some text"',
    ty.NUMBER: "5",
    ty.BOOLEAN: "true or false",
    ty.CURRENCY: "makeCurrency(5, usd)",
    ty.DATE: "makeDate(2026, 11, 20) or start_of(week)",
    ty.TIME: "makeTime(8, 30)",
    ty.LOCATION: "$context.location.home or makeLocation(37.4, -122.1)",
}


def expect(
    value: tt.Value,
    expected: ty.Type,
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
        what: the role of the value, as the message names it.
        scope: the names that the value may refer to.
        report: where mistakes go.
        lenient: whether text that is passed on may stand for an entity.
        is_compared: whether a time may stand for a date, which is compared by its time of day.
    """
    if isinstance(value, tt.VarRef) and value.name in report.wanted:
        report.wanted[value.name].append((expected, value.span))
        return
    fits = partial(
        operators.is_assignable,
        signatures=report.signatures,
        lenient=lenient,
        is_compared=is_compared,
        is_constant=isinstance(value, _WRITTEN) and not report.takes_text,
    )
    if isinstance(value, tt.ArrayValue) and isinstance(expected, ty.Array):
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
    if isinstance(value, tt.VarRef):
        fitting = [name for name, type_ in scope.types.items() if fits(type_, expected)]
        _wrong_variable(value, actual, expected, what, fitting, report)
    elif isinstance(value, tt.EnumValue) and isinstance(expected, ty.Enum):
        _wrong_enum(value, expected, what, report)
    else:
        report.add(
            "T002",
            f"expected {expected} for '{what}', got {_describe_value(value, actual)}",
            value.span,
            _value_hint(value, actual, expected, what, report.signatures.units),
        )


def expect_interval(value: tt.Value, scope: Scope, report: Report) -> None:
    """Report the value of a timer's interval where it is no duration, or none that ever ends."""
    before = len(report.problems)
    expect(value, DURATION, "interval", scope, report)
    if len(report.problems) > before or not isinstance(value, tt.MeasureValue):
        return
    if report.signatures.units.amount(value.parts) <= 0:
        report.add(
            "T045",
            "expected an interval of more than nothing, "
            f"got {' + '.join(f'{number_token(n)}{unit}' for n, unit in value.parts)}",
            value.span,
            "write how long it takes from one time to the next, such as 1h",
        )


def type_of(value: tt.Value, scope: Scope, report: Report, expected: ty.Type = ty.ANY) -> ty.Type:
    """Return the type of a value, Any where a mistake inside of it was reported.

    `expected` decides the hint.
    """
    match value:
        case tt.VarRef():
            return _variable(value, scope, report, expected)
        case tt.MeasureValue():
            return _measure(value, report)
        case tt.DateEdge():
            return _date_edge(value, report)
        case tt.DateOffset(base, _, duration):
            expect(base, ty.DATE, "date", scope, report)
            expect(duration, DURATION, "duration", scope, report)
            return ty.DATE
        case tt.ContextValue():
            return _context(value, report)
        case tt.ArrayValue():
            element = expected.element if isinstance(expected, ty.Array) else ty.ANY
            return _array(value, scope, report, element)
        case tt.EventValue():
            return _event(value, report)
        case tt.SlotValue():
            return _slot(value, report)
        case tt.Computed():
            return _computed_type(value, scope, scope, report)
        case _:  # that of a ListFilter is looked at by what is computed of it
            return constant_type(value) or ty.ANY


def _event(value: tt.EventValue, report: Report) -> ty.Type:
    if not report.has_event:
        hint = "it is text of what a stream brings, or in an action of a query's result"
        report.add("T020", "expected a stream or a query before $event", value.span, hint)
    return ty.STRING


def _variable(value: tt.VarRef, scope: Scope, report: Report, expected: ty.Type) -> ty.Type:
    type_ = scope.get(value.name)
    if type_ is not None:
        return type_
    hint = _bare_enum(value, scope, expected) if isinstance(expected, ty.Enum) else None
    if hint is None:
        hint = name_hint(value.name, sorted(scope.types), "outputs in scope")
    report.add("T009", f"expected an output in scope, got '{value.name}'", value.span, hint)
    return ty.ANY


def _bare_enum(value: tt.VarRef, scope: Scope, expected: ty.Enum) -> str | None:
    """Return how to write a name as a value of an enum; None if it is more like an output."""
    values = [name for name in expected.values if name != "*"]
    suggestion = nearest(value.name, [*values, *scope.types])
    if suggestion and suggestion[0] not in values:
        return None
    if not operators.enum_extras(ty.Enum((value.name,)), expected):
        return f"write enum({value.name})"
    if suggestion:
        return f"did you mean enum({suggestion[0]})?"
    return f"values: {list_names(f'enum({name})' for name in values)}"


def _measure(value: tt.MeasureValue, report: Report) -> ty.Type:
    units, table = [unit for _, unit in value.parts], report.signatures.units
    unknown = [unit for unit in units if unit not in table]
    for unit in unknown:
        report.problems.append(unknown_unit(unit, value.span, table))
    if unknown or not units:
        return ty.ANY
    foreign_unit = next((u for u in units if not table.is_same_base(u, units[0])), None)
    if foreign_unit is not None:
        report.add(
            "T023",
            f"expected units of one kind in a sum, got '{units[0]}' and '{foreign_unit}'",
            value.span,
            f"units that go with {units[0]}: {_units_like(units[0], table)}",
        )
        return ty.ANY
    return ty.Measure(units[0])


def unknown_unit(unit: str, span: Span | None, units: Units, where: str = "") -> Problem:
    """Return the mistake of a unit that is none; `where` it stands, in words."""
    message = f"expected a unit of measure{where}, got '{unit}'"
    return Problem("T022", message, span, unit_hint(unit, tuple(units)))


def unknown_units(tree: tt.Lambda, signatures: Signatures) -> list[Problem]:
    """Return the mistakes of a template body's units: of its amounts, and of its parameters."""
    report = Report(signatures)
    _types_of_parameters(tree, report)
    for node in traverse.walk(tree.body):
        if isinstance(node, tt.MeasureValue):
            _measure(node, report)
    return report.problems


def _types_of_parameters(tree: tt.Lambda, report: Report) -> None:
    """Report the units of a lambda's parameters that are none."""
    for name, type_ in tree.parameters:
        unit = ty.unit_of(type_)
        if unit is not None and unit not in report.signatures.units:
            span, where = getattr(tree.body, "span", None), f" for '{name}'"
            report.problems.append(unknown_unit(unit, span, report.signatures.units, where))


def _date_edge(value: tt.DateEdge, report: Report) -> ty.Type:
    units = report.signatures.units
    if value.unit not in units:
        report.problems.append(unknown_unit(value.unit, value.span, units))
    elif not units.is_same_base(value.unit, "ms"):
        message = f"expected a unit of time for '{value.edge}', got '{value.unit}'"
        report.add("T024", message, value.span, f"units of time: {_units_like('ms', units)}")
    return ty.DATE


def _context(value: tt.ContextValue, report: Report) -> ty.Type:
    type_ = CONTEXT.get(value.path)
    if type_ is not None:
        return type_
    paths = [f"$context.{'.'.join(path)}" for path in CONTEXT]
    name = f"$context.{'.'.join(value.path)}"
    report.add(
        "T027",
        f"expected a value of the context, got '{name}'",
        value.span,
        name_hint(name, paths, "values of the context"),
    )
    return ty.ANY


def _array(value: tt.ArrayValue, scope: Scope, report: Report, expected: ty.Type) -> ty.Type:
    element: ty.Type = ty.ANY
    for item in value.items:
        type_ = type_of(item, scope, report, expected)
        both = unite_types(element, type_, report.signatures)
        if both is None:
            report.add(
                "T025",
                f"expected values of one type in a list, got {element} and {type_}",
                item.span,
                f"make all of them {element}",
            )
            return ty.ANY
        element = both
    return ty.Array(element)


def unite_types(element: ty.Type, other: ty.Type, signatures: Signatures) -> ty.Type | None:
    """Return the type that takes the values of both, or None."""
    if isinstance(element, ty.Enum) and isinstance(other, ty.Enum):
        return ty.Enum((*element.values, *other.values))
    if element == ty.ANY or operators.is_assignable(element, other, signatures):
        return other
    return element if operators.is_assignable(other, element, signatures) else None


def _slot(value: tt.SlotValue, report: Report) -> ty.Type:
    type_ = ty.slot_type(value.token)
    if type_ is None:
        hint = "placeholders: NUMBER_0, QUOTED_STRING_0, DATE_0, GENERIC_ENTITY_com.x:song_0, .."
        report.add("T026", f"expected a placeholder, got '{value.token}'", value.span, hint)
        return ty.ANY
    if value.unit:
        type_ = ty.Measure(value.unit)
    if isinstance(type_, ty.Measure) and type_.unit not in report.signatures.units:
        where = "" if value.unit else f" in '{value.token}'"
        units = report.signatures.units
        report.problems.append(unknown_unit(type_.unit, value.span, units, where))
        return ty.ANY
    return type_


def _computed_type(value: tt.Computed, fields: Scope, scope: Scope, report: Report) -> ty.Type:
    """Return the type of a value computed of one of the fields; its other operands are in scope."""
    first, *others = value.arguments
    before = len(report.problems)
    match first:
        case tt.VarRef() if first.name not in report.parameters:
            types = [_field_type(first.name, fields, first.span, report)]
        case tt.ListFilter():
            types = [_filtered_type(first, fields, scope, report)]
        case _:
            types = [type_of(first, fields, report)]
    operator = value.operator
    if operator not in tt.COMPUTATIONS and len(others) == 1:
        operand_type = operators.operand_type(operator, types[0])
        if operand_type is not None:
            expect(others[0], operand_type, operator, scope, report, is_compared=True)
            return ty.BOOLEAN
    types += [_argument_type(operand, operator, scope, report) for operand in others]
    type_ = operators.computed_type(operator, types)
    if type_ is not None:
        return type_
    if len(report.problems) == before:
        got = " and ".join(map(str, types))
        message = f"expected {_COMPUTED_OF.get(operator, 'what it takes')} for '{operator}'"
        report.add("T048", f"{message}, got {got}", value.span, _computed_hint(value, types[0]))
    return ty.ANY


_COMPUTED_OF = {
    "count": "a list",
    "distance": "two places",
    **dict.fromkeys(("max", "min", "sum", "avg"), "a list of numbers"),
}


def _argument_type(value: tt.Value, operator: str, scope: Scope, report: Report) -> ty.Type:
    """Return the type of a further argument; a placeholder of a template is of the type wanted."""
    if isinstance(value, tt.VarRef) and value.name in report.wanted and operator == "distance":
        report.wanted[value.name].append((ty.LOCATION, value.span))
        return ty.LOCATION
    return type_of(value, scope, report)


def _computed_hint(value: tt.Computed, first: ty.Type) -> str | None:
    if value.operator in ("max", "min", "sum", "avg") and operators.is_numeric(first):
        return f"of all results: agg {value.operator} {tt.computed_name(value.arguments[0])} of .."
    if value.operator == "count":
        return "results are counted by: agg count of .."
    return None


def _field_type(name: str, fields: Scope, span: Span | None, report: Report) -> ty.Type:
    type_ = fields.get(name)
    if type_ is None:
        hint = _record_hint(name, fields) or name_hint(name, sorted(fields.types), "outputs")
        report.add("T011", f"expected an output of the query, got '{name}'", span, hint)
        return ty.ANY
    return type_


def _record_hint(name: str, fields: Scope) -> str | None:
    """Return the fields of a record that is named as a whole."""
    inside = sorted(field for field in fields.types if field.startswith(f"{name}."))
    return f"its fields are {list_names(inside)}" if inside else None


def _filtered_type(value: tt.ListFilter, fields: Scope, scope: Scope, report: Report) -> ty.Type:
    type_ = _field_type(value.name, fields, value.span, report)
    element = type_.element if isinstance(type_, ty.Array) else ty.ANY
    if any(isinstance(part, tt.GetPredicate) for part in traverse.walk(value.predicate)):
        message = "expected a condition on the values of a list, got a query"
        report.add("T048", message, value.span, "ask the query in the filter of the results")
    items = Scope({operators.ITEM: element})
    place = f"'{operators.ITEM}', each of the list"
    check_predicate(value.predicate, items, scope, report, what=place)
    return type_


# ------------------------------------------------------------------------------- what is wrong


def _wrong_variable(
    value: tt.VarRef,
    actual: ty.Type,
    expected: ty.Type,
    what: str,
    fitting: list[str],
    report: Report,
) -> None:
    hint = f"outputs of that type: {list_names(sorted(fitting))}"
    if isinstance(expected, ty.Enum) and not operators.enum_extras(
        ty.Enum((value.name,)), expected
    ):
        hint = f"write enum({value.name}) for the value; {hint}"
    report.add(
        "T010",
        f"expected {expected} for '{what}', got '{value.name}' of type {actual}",
        value.span,
        hint,
    )


def _wrong_enum(value: tt.EnumValue, expected: ty.Enum, what: str, report: Report) -> None:
    report.add(
        "T008",
        f"expected one of {list_names(expected.values)} for '{what}', got '{value.name}'",
        value.span,
        name_hint(value.name, expected.values, "values"),
    )


def _describe_value(value: tt.Value, type_: ty.Type) -> str:
    """Return the type of a value as a message names it: placeholders with their token."""
    if isinstance(value, tt.SlotValue):
        return f"{value.token} of type {type_}"
    if isinstance(value, tt.EnumValue):
        return f"the enum value '{value.name}'"
    return str(type_)


def _value_hint(
    value: tt.Value, actual: ty.Type, expected: ty.Type, what: str, units: Units
) -> str | None:
    start = what if " " in what else f"{what} ="  # a comparison names its operator
    match expected:
        case ty.Measure(unit):
            if isinstance(value, tt.NumberValue):
                return f"add a unit: {value.value}{unit}"
            return f"units that fit: {_units_like(unit, units)}"
        case ty.Enum(values):
            if isinstance(value, tt.StringValue) and not operators.enum_extras(
                ty.Enum((value.text,)), expected
            ):
                return f"write {start} enum({value.text})"
            return f"write enum({values[0]})" if values else "write enum(name)"
        case ty.Entity(kind) if isinstance(value, tt.StringValue):
            text = f'"{value.text}"'
            if what != start:  # an input
                return f"write {start} {text}^^{kind}"
            return f"write {text}^^{kind}, or compare the name: {what.partition(' ')[0]} =~ {text}"
        case ty.Entity(kind):
            return f'write "name"^^{kind}'
        case ty.Array(element):
            if is_text_like(actual, element):
                return f"put it in a list: {start} [..]"
            return f"write a list of {element}: [.., ..]"
        case _:
            return _basic_hint(value, expected, start)


def is_text_like(actual: ty.Type, element: ty.Type) -> bool:
    """Return whether a value is of an array's element type, so that only the brackets are missing.

    >>> is_text_like(ty.STRING, ty.Entity("tt:hashtag")), is_text_like(ty.NUMBER, ty.STRING)
    (True, False)
    """
    return actual == element or (actual == ty.STRING and isinstance(element, ty.Entity))


def _basic_hint(value: tt.Value, expected: ty.Type, start: str) -> str | None:
    if isinstance(value, tt.StringValue):
        if expected == ty.NUMBER and _is_number(value.text):
            return f"drop the quotes: {start} {value.text}"
        if expected == ty.BOOLEAN and value.text in ("true", "false"):
            return f"drop the quotes: {start} {value.text}"
    if expected == ty.STRING and isinstance(value, tt.EntityValue):
        return f'drop the kind: {start} "{value.display or value.value}"'
    if expected == ty.NUMBER and isinstance(value, tt.MeasureValue) and value.parts:
        return f"drop the unit: {start} {value.parts[0][0]}"
    example = _EXAMPLES.get(expected)
    return f"write a value such as {example}" if example else None


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _units_like(unit: str, units: Units) -> str:
    return ", ".join(candidate.name for candidate in units.of_base(units.base(unit)))


def check_call(call: tt.Call, kind: str, scope: Scope, report: Report) -> Scope:
    """Report the mistakes of a call that stands where a query or an action is wanted.

    Returns its outputs; an open scope where they are not known.
    """
    signature = function_of(call, report)
    _attributes(call.selector.attributes, scope, report)
    if signature is None:
        for arg in call.args:
            type_of(arg.value, scope, report)
        return OPEN
    arguments(call.args, [signature], scope, report)
    if signature.kind != kind:
        is_query = signature.kind == "query"
        report.add(
            "T004",
            f"expected {with_article(kind)}, got the {signature.kind} '{signature.qualified}'",
            call.span,
            f"show its results: => {signature.qualified}(..) => notify"
            if is_query
            else f"an action gives no results; it stands last: => {signature.qualified}(..)",
        )
        return OPEN
    return scope_of(signature.outputs)


def _attributes(attributes: tuple[tt.Arg, ...], scope: Scope, report: Report) -> None:
    given_names: set[str] = set()
    for arg in attributes:
        if arg.name in given_names:
            _given_twice(arg, report)
        given_names.add(arg.name)
        if arg.name in operators.ATTRIBUTES:
            expect(arg.value, operators.ATTRIBUTES[arg.name], arg.name, scope, report)
            _known_beforehand(arg, scope, report)
        else:
            type_of(arg.value, scope, report)
            hint = name_hint(arg.name, list(operators.ATTRIBUTES), "attributes")
            message = f"expected an attribute of a device, got '{arg.name}'"
            report.add("T043", message, arg.span, hint)


def _known_beforehand(arg: tt.Arg, scope: Scope, report: Report) -> None:
    """Report an attribute whose value is only known when the program runs.

    Which device is meant is looked up once, before anything happens.
    """
    match arg.value:
        case tt.VarRef(name) if name in scope.types and name not in report.parameters:
            got = f"the output '{name}'"
        case tt.EventValue():
            got = "$event"
        case _:
            return
    report.add(
        "T044",
        f"expected a constant for '{arg.name}' of a device, got {got}",
        arg.value.span,
        f'say which device is meant: {arg.name} = "bedroom"',
    )


def arguments(
    args: Iterable[tt.Arg],
    signatures: Sequence[Signature],
    scope: Scope,
    report: Report,
    given: Iterable[tuple[int, str]] = (),
) -> None:
    """Report the mistakes of arguments.

    Args:
        args: the arguments.
        signatures: the functions that may take them; of two that can, the first one does.
        scope: the names that values may refer to.
        report: where mistakes go.
        given: (place in `signatures`, input) that have their value already.
    """
    taken = set(given)
    for arg in args:
        takers = [i for i, s in enumerate(signatures) if _input(s, arg.name) is not None]
        free = [i for i in takers if (i, arg.name) not in taken]
        parameter = _input(signatures[free[0]], arg.name) if free else None
        if isinstance(arg.value, tt.Computed):
            message = f"expected a constant or an output for '{arg.name}', got a computed value"
            hint = f"pass the output of a projection: [{arg.value.operator}(..)] of .."
            report.add("T049", message, arg.value.span, hint)
        if parameter is not None:
            taken.add((free[0], arg.name))
            expect(arg.value, parameter.type, arg.name, scope, report)
            continue
        if takers:
            _given_twice(arg, report)
        else:
            _no_input(arg, signatures, report)
        type_of(arg.value, scope, report)


def _input(signature: Signature, name: str) -> Parameter | None:
    parameter = signature.parameter(name)
    return parameter if parameter is not None and parameter.is_input else None


def _given_twice(arg: tt.Arg, report: Report) -> None:
    message = f"expected one value for '{arg.name}', got another"
    report.add("T007", message, arg.span, "keep one of them")


def _no_input(arg: tt.Arg, signatures: Sequence[Signature], report: Report) -> None:
    names = " or ".join(s.qualified for s in signatures)
    if any(s.parameter(arg.name) is not None for s in signatures):
        report.add(
            "T006",
            f"expected an input of {names}, got its output '{arg.name}'",
            arg.span,
            f"to select results by it, filter: ({signatures[-1].qualified}()) filter {arg.name} ..",
        )
        return
    input_names = list(dict.fromkeys(p.name for s in signatures for p in s.inputs))
    report.add(
        "T005",
        f"expected an input of {names}, got '{arg.name}'",
        arg.span,
        name_hint(arg.name, input_names, "inputs"),
    )


# ---------------------------------------------------------------------------------- predicates


def check_predicate(
    predicate: tt.Predicate,
    fields: Scope,
    outer: Scope,
    report: Report,
    *,
    what: str = "an output of the query",
) -> None:
    """Report the mistakes of a predicate on those fields.

    Args:
        predicate: the predicate.
        fields: the outputs that it may compare.
        outer: the names that values may refer to besides.
        report: where mistakes go.
        what: the noun for a field in messages.
    """
    match predicate:
        case tt.TrueP() | tt.FalseP():
            return
        case tt.Not(operand):
            check_predicate(operand, fields, outer, report, what=what)
        case tt.And(operands) | tt.Or(operands):
            for operand in operands:
                check_predicate(operand, fields, outer, report, what=what)
        case tt.Atom():
            _atom(predicate, fields, outer.under(fields), report, what)
        case tt.Comparison():
            _comparison(predicate, fields, outer.under(fields), report)
        case tt.GetPredicate(call, inner):
            _get_predicate(call, inner, outer.under(fields), report)
        case _:
            assert_never(predicate)


def _atom(atom: tt.Atom, fields: Scope, scope: Scope, report: Report, text: str) -> None:
    left_type = fields.get(atom.name)
    if left_type is None:
        report.add(
            "T011",
            f"expected {text}, got '{atom.name}'",
            atom.span,
            _record_hint(atom.name, fields)
            or name_hint(atom.name, sorted(fields.types), "known here"),
        )
        type_of(atom.value, scope, report)
        return
    right = operators.operand_type(atom.operator, left_type)
    if right is not None:
        lenient = not operators.is_identifier(atom.name, left_type, atom.operator)
        text = f"{atom.name} {atom.operator}"
        expect(atom.value, right, text, scope, report, lenient=lenient, is_compared=True)
        return
    type_of(atom.value, scope, report)
    _wrong_operator(atom.name, atom.operator, left_type, atom.span, report)


def _wrong_operator(
    name: str, operator: str, left_type: ty.Type, span: Span | None, report: Report
) -> None:
    if operator not in tt.OPERATORS and operator not in tt.SOFT_OPERATORS:
        hint = name_hint(operator, tt.OPERATORS, "operators")
    elif operator in ("contains", "contains~") and left_type == ty.STRING:
        hint = f"text holds text: {name} =~ .."
    else:
        hint = f"operators on {left_type}: {list_names(operators.operators_of(left_type))}"
    message = f"expected an operator on {left_type} for '{name}', got '{operator}'"
    report.add("T012", message, span, hint)


def _comparison(node: tt.Comparison, fields: Scope, scope: Scope, report: Report) -> None:
    left_type = _computed_type(node.left, fields, scope, report)
    right = operators.operand_type(node.operator, left_type)
    name = node.left.operator
    if right is not None:
        expect(node.value, right, f"{name} {node.operator}", scope, report, is_compared=True)
        return
    type_of(node.value, scope, report)
    _wrong_operator(name, node.operator, left_type, node.span, report)


def _get_predicate(call: tt.Call, inner: tt.Predicate, scope: Scope, report: Report) -> None:
    signature = function_of(call, report)
    if signature is None:
        check_predicate(inner, OPEN, scope, report)
        return
    _attributes(call.selector.attributes, scope, report)
    arguments(call.args, [signature], scope, report)
    if signature.kind != "query":
        report.add(
            "T013",
            f"expected a query before '{{', got the action '{signature.qualified}'",
            call.span,
            "only the results of queries can be tested",
        )
        return
    check_predicate(inner, scope_of(signature.outputs), scope, report)


Checkable = (
    tt.Program
    | tt.Policy
    | tt.Rule
    | tt.Lambda
    | tt.Query
    | tt.Stream
    | tt.Action
    | tt.Predicate
    | tt.OutputOf
    | tt.Value
)


def check(
    program: Checkable,
    signatures: Signatures,
    *,
    parameters: Mapping[str, ty.Type] | None = None,
    fields: Mapping[str, ty.Type] | None = None,
) -> list[Problem]:
    """Return all type mistakes of a program, or of a piece of one, in the order of the text.

    Required inputs that are left out are no mistake: the assistant asks for them.

    Args:
        program: a program, a policy, or a piece of one with or without its lambda. A function on
            its own may be a query or an action; a predicate on its own may speak of any output.
        signatures: the skill library.
        parameters: names that are in scope everywhere, such as those of a lambda.
        fields: outputs that a predicate on its own may speak of, in place of any.

    >>> from types import SimpleNamespace
    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None, class_names=tuple)
    >>> [p.message for p in check(parse("now => @com.x.post(a = b)"), nothing)]
    ["expected a class of the library, got '@com.x'", "expected an output in scope, got 'b'"]
    """
    report = Report(signatures)
    report.parameters.update(parameters or {})
    outer = Scope(dict(parameters or {}))
    if fields is not None and isinstance(program, tt.Predicate):
        check_predicate(program, Scope(fields), outer, report)
    else:
        _any(program, outer, report)
    return report.problems


def check_outputs(
    node: tt.Projection | tt.Sort,
    outputs: Iterable[tt.Value],
    fields: Scope,
    signatures: Signatures,
    parameters: Mapping[str, ty.Type],
) -> list[Problem]:
    """Return the mistakes of the outputs of a projection, or the keys of a sort.

    Args:
        node: which of them it is.
        outputs: the outputs, and the values computed of outputs.
        fields: the outputs of the query.
        signatures: the skill library.
        parameters: names that are in scope everywhere, such as those of a lambda.
    """
    report = Report(signatures)
    report.parameters.update(parameters)
    scope = Scope(dict(parameters)).under(fields)
    for output in outputs:
        if isinstance(node, tt.Sort):
            _sort_key(output, fields, scope, report)
        else:
            _output_type(output, fields, scope, report)
    return report.problems


def wanted_types(
    program: Checkable, signatures: Signatures, names: Iterable[str]
) -> dict[str, list[tuple[ty.Type, Span | None]]]:
    """Return name -> the types that are expected in its places, in the order of the text.

    >>> from types import SimpleNamespace
    >>> from genie_dp.languages.thingtalk.parser import parse_fragment
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None, class_names=tuple)
    >>> body = parse_fragment("attimer time = $t", {}).body
    >>> [str(type_) for type_, _ in wanted_types(body, nothing, ["t"])["t"]]
    ['Time']
    """
    report = Report(signatures, wanted={name: [] for name in names})
    _any(program, Scope(dict.fromkeys(report.wanted, ty.ANY)), report)
    return report.wanted


def _any(node: Checkable, outer: Scope, report: Report) -> None:
    match node:
        case tt.Program(rules):
            for rule in rules:
                _rule(rule, outer, report)
        case tt.Rule():
            _rule(node, outer, report)
        case tt.Policy(source, query, action):
            report.has_event = False
            _source(source, outer, report)
            if query is not None:
                _policy_function(query, "query", outer, report)
            if action is not None:
                _policy_function(action, "action", outer, report)
        case tt.Lambda(parameters, body):
            report.parameters.update(name for name, _ in parameters)
            _types_of_parameters(node, report)
            _any(body, outer.under(Scope(dict(parameters))), report)
        case _:
            _piece(node, outer, report)


def _piece(
    node: tt.Query | tt.Stream | tt.Action | tt.Predicate | tt.OutputOf | tt.Value,
    outer: Scope,
    report: Report,
) -> None:
    match node:
        case tt.Call(selector, function):
            signature = report.signatures.function(selector.class_name, function)
            check_call(node, signature.kind if signature else "query", outer, report)
        case tt.OutputOf():
            scope = _query(node.query, outer, report)
            if scope.get(node.output) is None:
                message = f"expected an output of the query after '.', got '{node.output}'"
                hint = name_hint(node.output, sorted(scope.types), "outputs")
                report.add("T011", message, node.output_span or node.span, hint)
        case tt.Notify() | tt.Hole():
            return
        case _ if isinstance(node, tt.Query):
            _query(node, outer, report)
        case _ if isinstance(node, tt.Stream):
            _stream(node, outer, report)
        case _ if isinstance(node, tt.Predicate):
            check_predicate(node, OPEN, outer, report)
        case _:
            type_of(node, outer, report)


# --------------------------------------------------------------------------- rules and policies


def _rule(rule: tt.Rule, outer: Scope, report: Report) -> None:
    report.has_event = rule.stream is not None
    scope = outer
    if rule.stream is not None:
        scope = scope.under(_stream(rule.stream, outer, report))
    if rule.query is not None:
        scope = scope.under(_query(rule.query, scope, report))
        report.has_event = True  # the result itself
    match rule.action:
        case tt.Notify():
            if not report.has_event:
                message = "expected a query before 'notify', got 'now'"
                hint = "say what to show: now => @class.query() => notify"
                report.add("T019", message, rule.action.span or rule.span, hint)
        case tt.Call():
            check_call(rule.action, "action", scope, report)
        case tt.Hole():
            return
        case _:
            assert_never(rule.action)


def _source(predicate: tt.Predicate, outer: Scope, report: Report) -> None:
    """Check the condition on the person: comparisons of `source` with contacts."""
    match predicate:
        case tt.Not(operand):
            _source(operand, outer, report)
        case tt.And(operands) | tt.Or(operands):
            for operand in operands:
                _source(operand, outer, report)
        case tt.Atom():
            _source_atom(predicate, outer, report)
        case tt.TrueP() | tt.FalseP() | tt.GetPredicate() | tt.Comparison():
            check_predicate(predicate, EMPTY, outer, report)
        case _:
            assert_never(predicate)


def _source_atom(atom: tt.Atom, outer: Scope, report: Report) -> None:
    hint = 'write source == "name"^^tt:contact'
    if atom.name != "source":
        message = f"expected a test of 'source' before ':', got '{atom.name}'"
        report.add("T021", message, atom.span, hint)
        type_of(atom.value, outer, report)
        return
    before = len(report.problems)
    report.takes_text = True
    check_predicate(atom, Scope({"source": operators.CONTACT}), outer, report)
    report.takes_text = False
    for index, problem in enumerate(report.problems[before:], before):
        if problem.code in ("T002", "T010"):
            changed = Problem("T021", problem.message, problem.span, hint)
            report.problems[index] = changed


def _policy_function(
    function: tt.PolicyFunction | tt.Hole, kind: str, outer: Scope, report: Report
) -> None:
    if isinstance(function, tt.Hole):
        return
    fields = EMPTY
    if function.class_name is not None and function.function is None:
        find_class(function.class_name, None, function.span, report)
    elif function.class_name is not None and function.function is not None:
        signature = find_function(function.class_name, function.function, function.span, report)
        # A policy speaks of what is given as much as of what comes back (TACL, Genie 6.2).
        fields = scope_of(signature.parameters) if signature is not None else OPEN
        if signature is not None and signature.kind != kind:
            expected = f"{with_article(kind)} {'last' if kind == 'action' else 'first'}"
            report.add(
                "T004",
                f"expected {expected}, got the {signature.kind} '{signature.qualified}'",
                function.span,
                f"now => {signature.qualified} => notify"
                if signature.kind == "query"
                else f"now => {signature.qualified}",
            )
    subject = "a parameter of the function"
    check_predicate(function.predicate, fields, outer, report, what=subject)


# -------------------------------------------------------------------------------------- streams


def _stream(stream: tt.Stream, outer: Scope, report: Report) -> Scope:
    match stream:
        case tt.AtTimer(time):
            is_array = isinstance(time, tt.ArrayValue) and time.items
            with report.no_event():
                expect(time, ty.Array(ty.TIME) if is_array else ty.TIME, "time", outer, report)
            return EMPTY
        case tt.Timer(base, interval):
            with report.no_event():
                expect(base, ty.DATE, "base", outer, report)
                expect_interval(interval, outer, report)
            return EMPTY
        case tt.Monitor():
            return _monitor(stream, outer, report)
        case tt.Edge():
            return _edge(stream, outer, report)
        case tt.StreamFilter(inner, predicate):
            scope = _stream(inner, outer, report)
            check_predicate(predicate, scope, outer, report)
            return scope
        case tt.StreamJoin(inner, query, passing):
            left = _stream(inner, outer, report)
            right = _query(query, outer.under(left), report)
            _passing(passing, query, left, report)
            return left.under(right)
        case tt.Hole():
            return OPEN
        case _:
            assert_never(stream)


def _monitor(stream: tt.Monitor, outer: Scope, report: Report) -> Scope:
    with report.no_event():
        scope = _query(stream.query, outer, report)
    for call in source_calls(stream.query):
        _monitorable(call, report)
    spans = stream.on_new_spans or (stream.span,) * len(stream.on_new)
    for name, span in zip(stream.on_new, spans, strict=True):
        if scope.get(name) is None:
            report.add(
                "T018",
                f"expected an output of the query after 'on new', got '{name}'",
                span,
                name_hint(name, sorted(scope.types), "outputs"),
            )
    return scope


def _monitorable(call: tt.Call, report: Report) -> None:
    class_name = call.selector.class_name
    signature = report.signatures.function(class_name, call.function)
    if signature is None or signature.kind != "query" or signature.is_monitorable:
        return
    others = [
        name
        for name in report.signatures.function_names(class_name)
        if (function := report.signatures.function(class_name, name)) and function.is_monitorable
    ]
    report.add(
        "T014",
        f"expected a query that can be monitored, got '{signature.qualified}'",
        call.span,
        f"ask at times: timer(base=now, interval=1h) => ..; monitorable in its class: "
        f"{list_names(others)}",
    )


def _edge(stream: tt.Edge, outer: Scope, report: Report) -> Scope:
    scope = _stream(stream.stream, outer, report)
    if isinstance(stream.stream, tt.AtTimer | tt.Timer):
        message = "expected a stream of results after 'edge', got a timer"
        hint = "a timer has no values that change: use it without 'edge'"
        report.add("T015", message, stream.span, hint)
        scope = OPEN
    check_predicate(stream.predicate, scope, outer, report)
    return scope


# -------------------------------------------------------------------------------------- queries


def _query(query: tt.Query, outer: Scope, report: Report) -> Scope:
    match query:
        case tt.Call():
            return check_call(query, "query", outer, report)
        case tt.Filter(inner, predicate):
            scope = _query(inner, outer, report)
            check_predicate(predicate, scope, outer, report)
            return scope
        case tt.Join(left, right, passing):
            left_scope = _query(left, outer, report)
            right_scope = _query(right, outer.under(left_scope), report)
            _passing(passing, right, left_scope, report)
            return left_scope.under(right_scope)
        case tt.Aggregate():
            return _aggregate(query, outer, report)
        case tt.Projection():
            return _projection(query, outer, report)
        case tt.Sort(inner, key):
            scope = _query(inner, outer, report)
            _sort_key(key, scope, outer.under(scope), report)
            return scope
        case tt.Slice(inner, start, end):
            scope = _query(inner, outer, report)
            _places(start, end, outer, report)
            return scope
        case tt.Hole():
            return OPEN
        case _:
            assert_never(query)


def _projection(query: tt.Projection, outer: Scope, report: Report) -> Scope:
    scope = _query(query.query, outer, report)
    types: dict[str, ty.Type] = {}
    for value in query.values:
        type_ = _output_type(value, scope, outer.under(scope), report)
        name = tt.computed_name(value)
        if name in types:
            message = f"expected one value of the name '{name}' in a projection, got another"
            report.add("T050", message, value.span, "keep one of them")
        types[name] = type_
    if query.keeps_all:
        return scope.under(Scope(types))
    return Scope(types)


def _output_type(value: tt.Value, fields: Scope, scope: Scope, report: Report) -> ty.Type:
    """Return the type of an output, or of a value computed of one."""
    if isinstance(value, tt.Computed):
        return _computed_type(value, fields, scope, report)
    return _field_type(tt.computed_name(value), fields, value.span, report)


def _sort_key(key: tt.Value, fields: Scope, scope: Scope, report: Report) -> None:
    type_ = _output_type(key, fields, scope, report)
    if type_ != ty.ANY and not operators.is_ordered(type_):
        named = sorted(
            n for n, field_type in fields.types.items() if operators.is_ordered(field_type)
        )
        message = f"expected an output that is more or less, got '{tt.computed_name(key)}' of "
        report.add("T046", f"{message}type {type_}", key.span, f"these are: {list_names(named)}")


def _places(start: tt.Value, end: tt.Value | None, scope: Scope, report: Report) -> None:
    """Check an index or slice: whole numbers from 1 on, the second not before the first."""
    for value in (start, end):
        if value is not None:
            expect(value, ty.NUMBER, "index", scope, report)
        if isinstance(value, tt.NumberValue) and (value.value < 1 or value.value % 1):
            message = f"expected a place counted from 1, got {number_token(value.value)}"
            report.add("T047", message, value.span, "the first result is [1]")
    match start, end:
        case tt.NumberValue(first), tt.NumberValue(last) if last < first:
            message = f"expected a place from {number_token(first)} on, got {number_token(last)}"
            report.add("T047", message, end.span, "write the first place, then the last one")


def _passing(passing: tuple[tt.Arg, ...], right: tt.Query, left: Scope, report: Report) -> None:
    """Check `on x = y`: x an input on the right that has no value yet, y an output of the left."""
    calls = list(source_calls(right))
    known_signatures = [
        report.signatures.function(c.selector.class_name, c.function) for c in calls
    ]
    signatures = [signature for signature in known_signatures if signature is not None]
    if len(signatures) < len(calls) or not calls:
        for arg in passing:
            type_of(arg.value, left, report)
        return
    arguments(passing, signatures, left, report, _given_inputs(calls, right))


def _given_inputs(calls: Sequence[tt.Call], query: tt.Query) -> set[tuple[int, str]]:
    """Return the inputs of calls, by their place, that have a value or get one by a join inside.

    Inputs that such a join passes count as given in all calls of its right side.
    """
    given_inputs = {(i, arg.name) for i, call in enumerate(calls) for arg in call.args}
    while isinstance(query, tt.Filter | tt.Aggregate | tt.Projection | tt.Sort | tt.Slice):
        query = query.query
    if isinstance(query, tt.Join):
        first = len(list(source_calls(query.left)))
        given_inputs |= {(i, arg.name) for arg in query.passing for i in range(first, len(calls))}
    return given_inputs


def _aggregate(query: tt.Aggregate, outer: Scope, report: Report) -> Scope:
    scope = _query(query.query, outer, report)
    if query.operator not in tt.AGGREGATIONS:
        message = f"expected an aggregation, got '{query.operator}'"
        hint = name_hint(query.operator, tt.AGGREGATIONS, "aggregations")
        report.add("T028", message, query.span, hint)
        return OPEN
    if query.field is None:
        if query.operator != "count":
            message = f"expected an output after '{query.operator}', got none"
            report.add("T016", message, query.span, _numeric_outputs(scope))
            return OPEN
        return aggregate_scope("count", None)
    if query.operator == "count":
        message = f"expected nothing to count but results, got '{query.field}'"
        report.add("T016", message, query.field_span or query.span, UNREAD["count"])
        return aggregate_scope("count", None)
    field = scope.get(query.field)
    if field is None:
        message = f"expected an output of the query after '{query.operator}', got '{query.field}'"
        hint = name_hint(query.field, sorted(scope.types), "outputs")
        report.add("T016", message, query.field_span or query.span, hint)
    elif not operators.is_numeric(field):
        message = f"expected a number for '{query.operator}', got '{query.field}' of type {field}"
        report.add("T017", message, query.field_span or query.span, _numeric_outputs(scope))
    return aggregate_scope(query.operator, field)


def _numeric_outputs(scope: Scope) -> str:
    numeric = sorted(name for name, type_ in scope.types.items() if operators.is_numeric(type_))
    return f"outputs with numbers: {list_names(numeric)}"


# What begins no comparison, and what is a value wherever one may stand (grammar.lark).
_NEVER_COMPARED = frozenset({"false", "not", "true"})
_NEVER_PASSED = frozenset({"false", "now", "null", "true"})
_FACETS = ("loader", "config")


def check_class(definition: decl.ClassDef) -> list[Problem]:
    """Return the mistakes of a class, in the order of the text; some are warnings.

    >>> beep = decl.FunctionDecl("action", "beep", (decl.ParamDecl("sound", "out", ty.STRING),))
    >>> [p.code for p in check_class(decl.ClassDef("org.bell", functions=(beep, beep)))]
    ['T032', 'T030', 'T032']
    """
    return list(_class(definition))


def _class(definition: decl.ClassDef) -> Iterator[Problem]:
    if definition.name in definition.extends:
        yield Problem(
            "T038",
            f"expected another class after 'extends', got '@{definition.name}' itself",
            definition.span,
        )
    yield from _annotations(definition.annotations)
    yield from _imports(definition)
    entity_names: set[str] = set()
    for entity in definition.entities:
        if entity.name in entity_names:
            yield _again("T030", "entity type", entity.name, entity.span)
        entity_names.add(entity.name)
    function_names: set[str] = set()
    for function in definition.functions:
        if function.name in function_names:
            yield _again("T030", "function", function.name, function.span)
        function_names.add(function.name)
        yield from _function(function)


def _again(code: str, what: str, name: str, span: Span | None) -> Problem:
    hint = "keep one of them" if code == "T036" else "rename one of them"
    return Problem(code, f"expected a new {what}, got '{name}' again", span, hint)


# ------------------------------------------------------------------------------------ imports


def _imports(definition: decl.ClassDef) -> Iterator[Problem]:
    seen: set[str] = set()
    for declaration in definition.imports:
        for facet in declaration.facets:
            if facet in seen:
                yield _again("T037", "facet", facet, declaration.span)
            seen.add(facet)
            if definition.is_abstract and facet in _FACETS:
                yield Problem(
                    "T037",
                    f"expected no {facet} in an abstract class, got '{facet}' from"
                    f" '@{declaration.module}'",
                    declaration.span,
                    f"import the {facet} in the classes that extend this one",
                )


# ---------------------------------------------------------------------------------- functions


def _function(function: decl.FunctionDecl) -> Iterator[Problem]:
    if function.name in function.extends:
        message = f"expected another function after 'extends', got '{function.name}' itself"
        yield Problem("T038", message, function.span)
    if function.kind == "action":
        yield from _action(function)
    seen: set[str] = set()
    for param in function.params:
        if param.name in seen:
            yield _again("T031", "parameter", param.name, param.span)
        seen.add(param.name)
        yield from _name(param)
        yield from _type(param.type, param)
        yield from _annotations(param.annotations)
    yield from _annotations(function.annotations)
    yield from _poll_interval(function)


def _action(function: decl.FunctionDecl) -> Iterator[Problem]:
    for word, is_set in (
        ("monitorable", function.is_monitorable),
        ("list", function.is_list),
    ):
        if is_set:
            yield Problem(
                "T033",
                f"expected a query after '{word}', got the action '{function.name}'",
                function.span,
                f"drop '{word}', or declare a query",
            )
    for param in function.params:
        if param.direction == "out":
            yield Problem(
                "T032",
                f"expected only inputs in the action '{function.name}', got its output"
                f" '{param.name}'",
                param.span,
                "programs cannot use it: drop it, or declare a query",
                severity="warning",
            )


def _name(param: decl.ParamDecl) -> Iterator[Problem]:
    """Report a name that programs cannot use: it would be read as another thing."""
    is_value = param.name in _NEVER_PASSED or named_value(param.name) is not None
    if param.name in _NEVER_COMPARED or (param.direction == "out" and is_value):
        yield Problem(
            "T034",
            f"expected a name for '{param.name}' that means nothing else in programs",
            param.span,
            f"call it {param.name}_value, or the like",
        )


def check_types(definition: decl.ClassDef, units: Units) -> Iterator[Problem]:
    """Yield the parameters of a class that are measured in unknown units."""
    for function in definition.functions:
        for param in function.params:
            unit = ty.unit_of(param.type)
            if unit is not None and unit not in units:
                yield unknown_unit(unit, param.span, units, f" for '{param.name}'")


def _type(type_: ty.Type, param: decl.ParamDecl) -> Iterator[Problem]:
    match type_:
        case ty.Array(element):
            yield from _type(element, param)
        case ty.Enum(values):
            for value in sorted({v for v in values if values.count(v) > 1}):
                yield _again("T039", f"value for '{param.name}'", value, param.span)
        case _:
            return


# -------------------------------------------------------------------------------- annotations


def _poll_interval(function: decl.FunctionDecl) -> Iterator[Problem]:
    for annotation in function.annotations:
        if annotation.name != "poll_interval":
            continue
        if function.kind != "query" or not function.is_monitorable:
            subject = (
                "an action" if function.kind == "action" else "a query that is not monitorable"
            )
            yield Problem(
                "T035",
                f"expected no poll_interval on {subject}, got one on '{function.name}'",
                annotation.span or function.span,
                "declare it 'monitorable query', or drop the annotation",
            )
        value = annotation.value
        if not isinstance(value, tt.MeasureValue) or not all(
            SHIPPED.is_same_base(unit, "ms") for _, unit in value.parts
        ):
            yield Problem(
                "T035",
                f"expected a duration for 'poll_interval', got {_show_value(value)}",
                annotation.span or function.span,
                "write a time with its unit, such as #[poll_interval=10min]",
            )


def _annotations(annotations: tuple[decl.Annotation, ...]) -> Iterator[Problem]:
    seen: set[str] = set()
    for annotation in annotations:
        if annotation.name in seen:
            yield _again("T036", "annotation", annotation.name, annotation.span)
        seen.add(annotation.name)
        expected = _ANNOTATIONS.get(annotation.name)
        if expected is not None and not expected[1](annotation.value):
            value = _show_value(annotation.value)
            yield Problem(
                "T036",
                f"expected {expected[0]} for '{annotation.name}', got {value}",
                annotation.span,
                f"write #{'_' if annotation.natural else ''}[{annotation.name}={expected[2]}]",
            )


def _is_texts(value: object) -> bool:
    texts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(text, str) for text in texts)


# Annotation -> what its value must be: in words, as a test, an example.
_ANNOTATIONS: Mapping[str, tuple[str, Callable[[object], bool], str]] = {
    **dict.fromkeys(
        ("doc", "url", "string_values", "confirmation", "confirmation_remote"),
        ("a text", lambda value: isinstance(value, str), '".."'),
    ),
    **dict.fromkeys(
        ("additive", "unique", "easily_understood", "hard_understand"),
        ("true or false", lambda value: isinstance(value, bool), "true"),
    ),
    "formatted": ("a list", lambda value: isinstance(value, tuple), "[..]"),
    "accepts": ("a text or a list of texts", _is_texts, '["tt:song_title"]'),
    "enum": ("a table", lambda value: isinstance(value, dict), '{name="words"}'),
}


def _show_value(value: object) -> str:
    match value:
        case tt.MeasureValue():
            return "".join(f"{number}{unit}" for number, unit in value.parts)
        case bool():
            return "true" if value else "false"
        case str():
            return f'the text "{value}"'
        case tuple():
            return "a list"
        case dict():
            return "a table"
        case _:
            return str(value)
