"""The abstract syntax of ThingTalk: data without behaviour.

Programs follow Fig. 5 of the Genie paper, policies its Fig. 10, and aggregation its section 6.3;
classes are in declarations.py. Every node carries the span it was read from; spans take no part in
equality.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from genie_dp.errors import Span
from genie_dp.languages.types import Type

SPAN = field(default=None, compare=False, repr=False, kw_only=True)
# Of Aggregate, in which `field` is a name of its own.
FIELD_SPAN = field(default=None, compare=False, repr=False, kw_only=True)

# ---------------------------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class StringValue:
    """Free text."""

    text: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class NumberValue:
    """A number."""

    value: Decimal
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class BooleanValue:
    """true or false."""

    value: bool
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class EnumValue:
    """`enum(on)`; the paper writes `enum:on`."""

    name: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class MeasureValue:
    """A sum of numbers with units, such as 6ft + 3in, in the order written."""

    parts: tuple[tuple[Decimal, str], ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class CurrencyValue:
    """An amount of money; `code` is lower-case, such as usd."""

    value: Decimal
    code: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class DateValue:
    """A point in time: ISO 8601 text, a date or a date with time."""

    iso: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class DateNow:
    """The moment of execution."""

    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class DateEdge:
    """`start_of(week)`, `end_of(day)`: edge is "start_of" or "end_of", unit a unit of time."""

    edge: str
    unit: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class DateOffset:
    """A date moved by a duration: sign is "+" or "-"."""

    base: "Value"
    sign: str
    duration: "Value"
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class TimeValue:
    """A time of day."""

    hour: int
    minute: int
    second: int = 0
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class LocationValue:
    """A place on earth, degrees, with the name people use for it.

    Without degrees it is not looked up yet: there is nothing but the name.
    """

    latitude: Decimal | None
    longitude: Decimal | None
    display: str | None = None
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class ContextValue:
    """A value of the user's context: ("location", "home"), ("location", "current_location"), ..."""

    path: tuple[str, ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class EntityValue:
    """An entity: `value` is its identifier, None until looked up by `display`."""

    value: str | None
    kind: str
    display: str | None = None
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """A list of values."""

    items: tuple["Value", ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Undefined:
    """`$?`: a value still to be asked for."""

    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class EventValue:
    """`$event`: the event that started the program, as text."""

    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class SlotValue:
    """A placeholder of the sentence, such as NUMBER_0 or GENERIC_ENTITY_tt:contact_1.

    A number of the sentence may get its `unit` from the program: NUMBER_0F is as many degrees.
    """

    token: str
    unit: str = ""
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class VarRef:
    """The name of an output in scope (parameter passing), or of a lambda's parameter."""

    name: str
    span: Span | None = SPAN


Value = (
    StringValue
    | NumberValue
    | BooleanValue
    | EnumValue
    | MeasureValue
    | CurrencyValue
    | DateValue
    | DateNow
    | DateEdge
    | DateOffset
    | TimeValue
    | LocationValue
    | ContextValue
    | EntityValue
    | ArrayValue
    | Undefined
    | EventValue
    | SlotValue
    | VarRef
)


# ------------------------------------------------------------------------ calls, predicates


@dataclass(frozen=True, slots=True)
class Arg:
    """`name = value`."""

    name: str
    value: Value
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Selector:
    """The device: its class without "@", and attributes such as name="bedroom"."""

    class_name: str
    attributes: tuple[Arg, ...] = ()
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its inputs: a query or an action."""

    selector: Selector
    function: str
    args: tuple[Arg, ...] = ()
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class TrueP:
    """Always true."""

    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class FalseP:
    """Never true."""

    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    operand: "Predicate"
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more."""

    operands: tuple["Predicate", ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of two or more."""

    operands: tuple["Predicate", ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Atom:
    """`name operator value`; operators as in OPERATORS."""

    name: str
    operator: str
    value: Value
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class GetPredicate:
    """`@f(..) { p }`: some result of the query satisfies p."""

    call: Call
    predicate: "Predicate"
    span: Span | None = SPAN


Predicate = TrueP | FalseP | Not | And | Or | Atom | GetPredicate

# Printed spelling of every operator; `=` is read as `==`, `substr` as `=~`.
OPERATORS = (
    "==", ">=", "<=", ">", "<", "=~", "~=", "contains", "in_array",
    "starts_with", "ends_with", "prefix_of", "suffix_of",
)  # fmt: skip


# ------------------------------------------------------------------------- queries, streams


@dataclass(frozen=True, slots=True)
class Filter:
    """`query filter predicate`."""

    query: "Query"
    predicate: Predicate
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Join:
    """`left join right on (x = y)`: x is an input of right, the VarRef y an output of left."""

    left: "Query"
    right: "Query"
    passing: tuple[Arg, ...] = ()
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`agg operator field of (query)`: max, min, sum, avg over a field; count has field None."""

    operator: str
    field: str | None
    query: "Query"
    span: Span | None = SPAN
    field_span: Span | None = FIELD_SPAN


@dataclass(frozen=True, slots=True)
class AtTimer:
    """Every day at a time, or at each of an array of times."""

    time: Value
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Timer:
    """From `base` on, every `interval`."""

    base: Value
    interval: Value
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Monitor:
    """Whenever the query's result changes; `on_new` restricts to changes of those outputs."""

    query: "Query"
    on_new: tuple[str, ...] = ()
    span: Span | None = SPAN
    on_new_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Edge:
    """Whenever the predicate turns from false to true on the values of the stream."""

    stream: "Stream"
    predicate: Predicate
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class StreamFilter:
    """`monitor (q) filter p`; canonical form moves p into the monitor."""

    stream: "Stream"
    predicate: Predicate
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class StreamJoin:
    """`stream => query`: on each event the query's results, with parameters passed."""

    stream: "Stream"
    query: "Query"
    passing: tuple[Arg, ...] = ()
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Hole:
    """A child of a template body, where its kind may stand.

    With `argument`, its gap is filled. With `inputs`, inputs of its function are set: both sides of
    each are children or placeholders.
    """

    name: str
    kind: str
    argument: str | None = None
    inputs: tuple[Arg, ...] = ()
    span: Span | None = SPAN


Query = Call | Filter | Join | Aggregate | Hole
Stream = AtTimer | Timer | Monitor | Edge | StreamFilter | StreamJoin | Hole


# ------------------------------------------------------------------------ actions, programs


@dataclass(frozen=True, slots=True)
class Notify:
    """Show the results to the user."""

    span: Span | None = SPAN


Action = Notify | Call | Hole


@dataclass(frozen=True, slots=True)
class Rule:
    """`stream => query => action`; a stream of None is `now`, a query of None is absent.

    The action's arguments hold a VarRef where an output is passed.
    """

    stream: Stream | None
    query: Query | None
    action: Action
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class PolicyFunction:
    """What a policy speaks of: any function, all of a class, or one with a predicate.

    `class_name` None is `*`; `function` None is `@class.*`; `predicate` TrueP allows all.
    """

    class_name: str | None
    function: str | None
    predicate: Predicate
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Policy:
    """`source predicate : query => action` (TACL); None is `now` before and `notify` after."""

    source: Predicate
    query: PolicyFunction | Hole | None
    action: PolicyFunction | Hole | None
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Program:
    """One or more rules; a sentence is nearly always one."""

    rules: tuple[Rule, ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Projection:
    """`query.output`: one output of a query, as a template body of kind source."""

    query: "Query"
    output: str
    span: Span | None = SPAN
    output_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Lambda:
    """`\\(x : T, y : U) -> body`: a template body with typed placeholders.

    `untyped` are the names of those written `$x`, whose types follow from the body.
    """

    parameters: tuple[tuple[str, Type], ...]
    body: "Query | Stream | Action | Predicate | Projection | Value | Program | Policy"
    untyped: tuple[str, ...] = ()
    span: Span | None = SPAN
