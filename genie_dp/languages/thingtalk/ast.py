"""The abstract syntax of ThingTalk: data without behaviour.

Programs follow Fig. 5 of the Genie paper, policies its Fig. 10, and aggregation its section 6.3;
classes are in declarations.py. Questions need one extension besides: Projection, Sort,
Slice, Comparison, Computed, ListFilter, operators that end in `~`, and outputs whose name has a dot
(the field of a record). Every node carries the span it was read from; spans take no part in
equality.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import get_args

from genie_dp.errors import Span
from genie_dp.languages.types import Type

# Of Aggregate, in which `field` is a name of its own.
FIELD_SPAN = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree, with its place in the text, if it was read from one."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


# ---------------------------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class StringValue(Node):
    """Free text."""

    text: str


@dataclass(frozen=True, slots=True)
class NumberValue(Node):
    """A number."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class BooleanValue(Node):
    """true or false."""

    value: bool


@dataclass(frozen=True, slots=True)
class EnumValue(Node):
    """`enum(on)`; the paper writes `enum:on`."""

    name: str


@dataclass(frozen=True, slots=True)
class MeasureValue(Node):
    """A sum of numbers with units, such as 6ft + 3in, in the order written."""

    parts: tuple[tuple[Decimal, str], ...]


@dataclass(frozen=True, slots=True)
class CurrencyValue(Node):
    """An amount of money; `code` is lower-case, such as usd."""

    value: Decimal
    code: str


@dataclass(frozen=True, slots=True)
class DateValue(Node):
    """A point in time: ISO 8601 text, a date or a date with time."""

    iso: str


@dataclass(frozen=True, slots=True)
class DateNow(Node):
    """The moment of execution."""


@dataclass(frozen=True, slots=True)
class DateEdge(Node):
    """`start_of(week)`, `end_of(day)`: edge is "start_of" or "end_of", unit a unit of time."""

    edge: str
    unit: str


@dataclass(frozen=True, slots=True)
class DateOffset(Node):
    """A date moved by a duration: sign is "+" or "-"."""

    base: "Value"
    sign: str
    duration: "Value"


@dataclass(frozen=True, slots=True)
class TimeValue(Node):
    """A time of day."""

    hour: int
    minute: int
    second: int = 0


@dataclass(frozen=True, slots=True)
class LocationValue(Node):
    """A place on earth, degrees, with the name people use for it.

    Without degrees it is not looked up yet: there is nothing but the name.
    """

    latitude: Decimal | None
    longitude: Decimal | None
    display: str | None = None


@dataclass(frozen=True, slots=True)
class ContextValue(Node):
    """A value of the user's context: ("location", "home"), ("location", "current_location"), ..."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityValue(Node):
    """An entity: `value` is its identifier, None until looked up by `display`."""

    value: str | None
    kind: str
    display: str | None = None


@dataclass(frozen=True, slots=True)
class ArrayValue(Node):
    """A list of values."""

    items: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Undefined(Node):
    """`$?`: a value still to be asked for."""


@dataclass(frozen=True, slots=True)
class EventValue(Node):
    """`$event`: the event that started the program, as text."""


@dataclass(frozen=True, slots=True)
class SlotValue(Node):
    """A placeholder of the sentence, such as NUMBER_0 or GENERIC_ENTITY_tt:contact_1.

    A number of the sentence may get its `unit` from the program: NUMBER_0F is as many degrees.
    """

    token: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class VarRef(Node):
    """The name of an output in scope (parameter passing), or of a lambda's parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class ListFilter(Node):
    """`labels filter value =~ "x"`: those of a list that fulfil a condition, in a computed value.

    The condition speaks of each of them as `value`.
    """

    name: str
    predicate: "Predicate"


@dataclass(frozen=True, slots=True)
class Computed(Node):
    """`count(labels)`, `distance(geo, $context.location.home)`; operators as in COMPUTATIONS.

    The first argument is the VarRef of an output, or a ListFilter of one.
    """

    operator: str
    arguments: tuple["Value", ...]


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
    | ListFilter
    | Computed
)


# ------------------------------------------------------------------------ calls, predicates


@dataclass(frozen=True, slots=True)
class Arg(Node):
    """`name = value`."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Selector(Node):
    """The device: its class without "@", and attributes such as name="bedroom"."""

    class_name: str
    attributes: tuple[Arg, ...] = ()


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function with its inputs: a query or an action."""

    selector: Selector
    function: str
    args: tuple[Arg, ...] = ()


@dataclass(frozen=True, slots=True)
class TrueP(Node):
    """Always true."""


@dataclass(frozen=True, slots=True)
class FalseP(Node):
    """Never true."""


@dataclass(frozen=True, slots=True)
class Not(Node):
    """Negation."""

    operand: "Predicate"


@dataclass(frozen=True, slots=True)
class And(Node):
    """Conjunction of two or more."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """Disjunction of two or more."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """`name operator value`; operators as in OPERATORS."""

    name: str
    operator: str
    value: Value


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`left operator value`, where the left side is a computed value: `count(labels) > 2`."""

    left: Computed
    operator: str
    value: Value


@dataclass(frozen=True, slots=True)
class GetPredicate(Node):
    """`@f(..) { p }`: some result of the query satisfies p."""

    call: Call
    predicate: "Predicate"


Predicate = TrueP | FalseP | Not | And | Or | Atom | Comparison | GetPredicate

# Printed spelling of every operator; `=` is read as `==`, `substr` as `=~`.
OPERATORS = (
    "==", ">=", "<=", ">", "<", "=~", "~=", "contains", "in_array",
    "starts_with", "ends_with", "prefix_of", "suffix_of",
)  # fmt: skip
# Those of the extension for questions: some text of a list has this in it, one of these is in it.
SOFT_OPERATORS = ("contains~", "in_array~")
# What is computed of an output: of a list how many, the most, .. of its values; of places how far.
COMPUTATIONS = ("avg", "count", "distance", "max", "min", "sum")
# What tokens have before the arguments of a computed value; a comparison may be computed, too.
COMPUTED = frozenset((*COMPUTATIONS, *OPERATORS, *SOFT_OPERATORS))
AGGREGATIONS = ("max", "min", "sum", "avg", "count")
EDGES = ("start_of", "end_of")


# ------------------------------------------------------------------------- queries, streams


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """`query filter predicate`."""

    query: "Query"
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Join(Node):
    """`left join right on (x = y)`: x is an input of right, the VarRef y an output of left."""

    left: "Query"
    right: "Query"
    passing: tuple[Arg, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`agg operator field of (query)`: max, min, sum, avg over a field; count has field None."""

    operator: str
    field: str | None
    query: "Query"
    field_span: Span | None = FIELD_SPAN


@dataclass(frozen=True, slots=True)
class Projection(Node):
    """`[a, count(b)] of (query)`: only those outputs, each a VarRef or Computed.

    With `keeps_all`, written `[*, count(b)]`, all outputs of the query and the values computed. The
    name of a computed output is `computed_name`.
    """

    query: "Query"
    values: tuple[Value, ...]
    keeps_all: bool = False


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """`sort(key direction of query)`: the key is a VarRef or Computed, direction asc or desc."""

    query: "Query"
    key: Value
    direction: str


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """`query[2]`, `query[1:3]`: the result at a place counted from 1, or those from one to another.

    An `end` of None is an index.
    """

    query: "Query"
    start: Value
    end: Value | None = None


@dataclass(frozen=True, slots=True)
class AtTimer(Node):
    """Every day at a time, or at each of an array of times."""

    time: Value


@dataclass(frozen=True, slots=True)
class Timer(Node):
    """From `base` on, every `interval`."""

    base: Value
    interval: Value


@dataclass(frozen=True, slots=True)
class Monitor(Node):
    """Whenever the query's result changes; `on_new` restricts to changes of those outputs."""

    query: "Query"
    on_new: tuple[str, ...] = ()
    on_new_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Edge(Node):
    """Whenever the predicate turns from false to true on the values of the stream."""

    stream: "Stream"
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class StreamFilter(Node):
    """`monitor (q) filter p`; canonical form moves p into the monitor."""

    stream: "Stream"
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class StreamJoin(Node):
    """`stream => query`: on each event the query's results, with parameters passed."""

    stream: "Stream"
    query: "Query"
    passing: tuple[Arg, ...] = ()


@dataclass(frozen=True, slots=True)
class Hole(Node):
    """A child of a template body, where its kind may stand.

    With `argument`, its gap is filled. With `inputs`, inputs of its function are set: both sides of
    each are children or placeholders.
    """

    name: str
    kind: str
    argument: str | None = None
    inputs: tuple[Arg, ...] = ()


Query = Call | Filter | Join | Aggregate | Projection | Sort | Slice | Hole
Stream = AtTimer | Timer | Monitor | Edge | StreamFilter | StreamJoin | Hole


# ------------------------------------------------------------------------ actions, programs


@dataclass(frozen=True, slots=True)
class Notify(Node):
    """Show the results to the user."""


Action = Notify | Call | Hole


@dataclass(frozen=True, slots=True)
class Rule(Node):
    """`stream => query => action`; a stream of None is `now`, a query of None is absent.

    The action's arguments hold a VarRef where an output is passed.
    """

    stream: Stream | None
    query: Query | None
    action: Action


@dataclass(frozen=True, slots=True)
class PolicyFunction(Node):
    """The functions of a policy: any function, all of a class, or one with a predicate.

    `class_name` None is `*`; `function` None is `@class.*`; `predicate` TrueP allows all.
    """

    class_name: str | None
    function: str | None
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Policy(Node):
    """`source predicate : query => action` (TACL); None is `now` before and `notify` after."""

    source: Predicate
    query: PolicyFunction | Hole | None
    action: PolicyFunction | Hole | None


@dataclass(frozen=True, slots=True)
class Program(Node):
    """One or more rules; a sentence is nearly always one."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class OutputOf(Node):
    """`query.output`: one output of a query, as a template body of kind source."""

    query: "Query"
    output: str
    output_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """`\\(x : T, y : U) -> body`: a template body with typed placeholders.

    `untyped` are the names of those written `$x`, whose types follow from the body.
    """

    parameters: tuple[tuple[str, Type], ...]
    body: "Query | Stream | Action | Predicate | OutputOf | Value | Program | Policy"
    untyped: tuple[str, ...] = ()


def computed_name(value: Value) -> str:
    """Return the name of a projected output: that of the output, or of the computation.

    >>> computed_name(VarRef("a")), computed_name(Computed("count", (VarRef("a"),)))
    ('a', 'count.a')
    """
    match value:
        case VarRef(name) | ListFilter(name):
            return name
        case Computed(operator, arguments):
            names = (a.name for a in arguments if isinstance(a, VarRef | ListFilter))
            return ".".join([operator, *list(names)[:1]])
        case _:
            raise TypeError(f"no output: {value!r}")


# Kind of piece -> its nodes; a call is a query here, though it may act as well.
_NODES: Mapping[str, tuple[type, ...]] = {
    "program": (Program, Rule),
    "policy": (Policy,),
    "query": tuple(set(get_args(Query)) - {Hole}),
    "stream": tuple(set(get_args(Stream)) - {Hole}),
    "predicate": get_args(Predicate),
    "value": get_args(Value),
    "action": (Notify,),
    "source": (OutputOf,),
}
_KINDS = {node: kind for kind, nodes in _NODES.items() for node in nodes}


def kind_of(node: object) -> str:
    """Return the kind of a piece of a program; of a hole the kind that it stands for.

    >>> kind_of(TrueP()), kind_of(Call(Selector("com.gmail"), "inbox")), kind_of(VarRef("a"))
    ('predicate', 'query', 'value')
    """
    return node.kind if isinstance(node, Hole) else _KINDS[type(node)]
