"""Prints programs: one walk over their constructs, and a form for each of the two spellings.

A form defines how constructs are spelled, as surface text (`render`) or as tokens (`tokens`). Parts
that no layout can express are methods of the form's printer: names, calls, negation and
parentheses.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, assert_never

from genie_dp.errors import Span
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.operators import CONTACT, ITEM
from genie_dp.languages.thingtalk.scope import EMPTY, Scope, aggregate_scope, projected_scope
from genie_dp.languages.types import ANY, Array

Printed = tuple[str, Scope]
"""The text of a query or stream, and its outputs."""


@dataclass(frozen=True, slots=True)
class Form:
    """How constructs are spelled.

    Attributes:
        comma: separator of the parts of a list.
        group: a query or stream in parentheses.
        listing: values in brackets.
        no_items: brackets without values.
        several_parts: a measure of several parts that moves a date.
        policy: the beginning of a policy.
        connectives: separators of the operands of `And` and `Or`, the looser one first.
        primaries: queries of which an index needs no parentheses.

    The other attributes are the layouts of the constructs that they are named after.
    """

    comma: str
    group: str
    listing: str
    no_items: str
    several_parts: str
    policy: str
    at_timer: str
    timer: str
    aggregate: str
    projection: str
    sort: str
    slice: str
    computed: str
    connectives: Mapping[type, str]
    primaries: frozenset[type] = frozenset()


SURFACE = Form(
    comma=", ",
    group="({})",
    listing="[{}]",
    no_items="[]",
    several_parts="({})",
    policy="",
    at_timer="attimer(time = {})",
    timer="timer(base = {}, interval = {})",
    aggregate="agg {} of {query}",
    projection="[{}] of {query}",
    sort="sort({} of {query})",
    slice="{query}[{}]",
    computed="{}({})",
    connectives={tt.Or: " || ", tt.And: " && "},
    primaries=frozenset((tt.Sort,)),
)
TOKENS = Form(
    comma=" , ",
    group="( {} )",
    listing="[ {} ]",
    no_items="[ ]",
    several_parts="{}",
    policy="policy ",
    at_timer="attimer time = {}",
    timer="timer base = {} , interval = {}",
    aggregate="aggregate {} of {query}",
    projection="{query} select [ {} ]",
    sort="{query} sort {}",
    slice="{query} [ {} ]",
    computed="{} ( {} )",
    connectives={tt.And: " and ", tt.Or: " or "},
)


class Printer(ABC):
    """Prints pieces of programs.

    Scopes hold the outputs that names in a piece may refer to; only a form that writes types needs
    them.

    Attributes:
        form: how constructs are spelled.
        literals: how values that hold no other ones are printed, by their class.
    """

    __slots__ = ("literals",)

    form: ClassVar[Form]

    def __init__(self, literals: Mapping[type, Callable[[Any], str]]):
        self.literals = literals

    # ------------------------------------------------------------------ programs, policies

    def rule(self, rule: tt.Rule) -> str:
        """Return `s => q => a`."""
        text, scope = ("now", EMPTY) if rule.stream is None else self.stream(rule.stream)
        if rule.query is not None:
            query, outputs = self.query(rule.query, scope)
            text, scope = f"{text} => {query}", scope.under(outputs)
        return f"{text} => {self.action(rule.action, scope)}"

    def action(self, action: tt.Action, scope: Scope) -> str:
        """Return the action of a rule on its results."""
        match action:
            case tt.Notify():
                return "notify"
            case tt.Call():
                return self.call(action, scope)[0]
            case tt.Hole():
                return self.hole(action)
            case _:
                assert_never(action)

    def policy(self, policy: tt.Policy) -> str:
        """Return `P : q => a`."""
        source = self.predicate(policy.source, Scope({"source": CONTACT}), EMPTY)
        functions = [part for part in (policy.query, policy.action) if part is not None]
        steps = ["now"] * (len(functions) < 2) + list(map(self.policy_function, functions))
        steps += ["notify"] * (policy.action is None)
        return f"{self.form.policy}{source} : {' => '.join(steps)}"

    def policy_function(self, function: tt.PolicyFunction | tt.Hole) -> str:
        """Return the function of a policy."""
        if isinstance(function, tt.Hole):
            return self.hole(function)
        if function.class_name is None:
            return "*"
        if function.function is None:
            return f"@{function.class_name}.*"
        name, fields = f"@{function.class_name}.{function.function}", self.parameters(function)
        if isinstance(function.predicate, tt.TrueP):
            return name
        return f"{name} filter {self.predicate(function.predicate, fields, EMPTY)}"

    # -------------------------------------------------------------------- streams, queries

    def stream(self, stream: tt.Stream) -> Printed:
        """Return a stream with its outputs."""
        match stream:
            case tt.AtTimer(time):
                return self.form.at_timer.format(self.value(time, EMPTY)), EMPTY
            case tt.Timer(base, interval):
                values = self.value(base, EMPTY), self.value(interval, EMPTY)
                return self.form.timer.format(*values), EMPTY
            case tt.Monitor(query, on_new):
                text, scope = self.group(query, EMPTY)
                watched = f" on new {self.write_watched(on_new, scope)}" if on_new else ""
                return f"monitor {text}{watched}", scope
            case tt.Edge(inner, predicate):
                text, scope = self.inner_stream(inner)
                return f"edge {text} on {self.predicate(predicate, scope, EMPTY)}", scope
            case tt.StreamFilter(inner, predicate):
                text, scope = self.inner_stream(inner)
                return f"{text} filter {self.predicate(predicate, scope, EMPTY)}", scope
            case tt.StreamJoin(inner, query, passing):
                text, left = self.stream(inner)
                right, outputs = (self.group if passing else self.query)(query, left)
                joined = f"{text} => {right}{self.passing(passing, query, left)}"
                return self.form.group.format(joined), left.under(outputs)
            case tt.Hole():
                return self.hole(stream), EMPTY
            case _:
                assert_never(stream)

    def inner_stream(self, stream: tt.Stream) -> Printed:
        """Return a stream in parentheses with its outputs."""
        text, scope = self.stream(stream)
        return self.form.group.format(text), scope

    def query(self, query: tt.Query, outer: Scope) -> Printed:
        """Return a query that may use names of `outer`, with its outputs."""
        match query:
            case tt.Call():
                return self.call(query, outer)
            case tt.Filter(inner, predicate):
                text, scope = self.group(inner, outer)
                return f"{text} filter {self.predicate(predicate, scope, outer)}", scope
            case tt.Join(left, right, passing):
                first, scope = self.group(left, outer)
                second, outputs = self.group(right, outer.under(scope))
                passed = self.passing(passing, right, scope)
                return f"{first} join {second}{passed}", scope.under(outputs)
            case tt.Hole():
                return self.hole(query), EMPTY
            case _:
                return self._of_results(query, outer)

    def _of_results(
        self, query: tt.Aggregate | tt.Projection | tt.Sort | tt.Slice, outer: Scope
    ) -> Printed:
        """Return a query that transforms the results of another one, with its outputs."""
        is_bare = isinstance(query, tt.Slice) and type(query.query) in self.form.primaries
        text, scope = (self.query if is_bare else self.group)(query.query, outer)
        match query:
            case tt.Aggregate(operator, name):
                words = operator if name is None else f"{operator} {self.name(name, scope)}"
                outputs = aggregate_scope(operator, scope.get(name) if name else None)
                return self.form.aggregate.format(words, query=text), outputs
            case tt.Projection(_, values, keeps_all):
                seen = outer.under(scope)
                columns = ["*"] * keeps_all + [self.value(value, seen) for value in values]
                outputs = projected_scope(values, scope)
                outputs = scope.under(outputs) if keeps_all else outputs
                return self.form.projection.format(self.join_list(columns), query=text), outputs
            case tt.Sort(_, key, direction):
                order = f"{self.value(key, outer.under(scope))} {direction}"
                return self.form.sort.format(order, query=text), scope
            case tt.Slice(_, start, end):
                last = "" if end is None else f" : {self.value(end, outer)}"
                places = f"{self.value(start, outer)}{last}"
                return self.form.slice.format(places, query=text), scope
            case _:
                assert_never(query)

    def group(self, query: tt.Query, outer: Scope) -> Printed:
        """Return a query in parentheses with its outputs."""
        text, scope = self.query(query, outer)
        return self.form.group.format(text), scope

    # ---------------------------------------------------------------------------- predicates

    def predicate(self, predicate: tt.Predicate, fields: Scope, outer: Scope) -> str:
        """Return a predicate on `fields`; its values may also use names of `outer`."""
        return self.condition(predicate, fields, outer.under(fields))

    def condition(self, predicate: tt.Predicate, fields: Scope, scope: Scope) -> str:
        """Return a predicate whose values may use names of `scope`."""
        match predicate:
            case tt.Atom(name, operator, value):
                left = self.name(name, fields, predicate.span)
                return f"{left} {operator} {self.value(value, scope)}"
            case tt.And(operands) | tt.Or(operands):
                words, kind = self.form.connectives, type(predicate)
                as_loose = (kind,) if kind is next(iter(words)) else tuple(words)
                return words[kind].join(
                    self.in_parentheses(operand, fields, scope)
                    if isinstance(operand, as_loose)
                    else self.condition(operand, fields, scope)
                    for operand in operands
                )
            case tt.Comparison(computed, operator, value):
                return f"{self.value(computed, scope)} {operator} {self.value(value, scope)}"
            case tt.TrueP():
                return "true"
            case tt.FalseP():
                return "false"
            case tt.Not():
                return self.negation(predicate, fields, scope)
            case tt.GetPredicate(call, inner):
                text, outputs = self.call(call, scope)
                return f"{text} {{ {self.predicate(inner, outputs, scope)} }}"
            case _:  # a child of a template, which the types do not show
                return self.hole(predicate)

    # -------------------------------------------------------------------------------- values

    def value(self, value: tt.Value, scope: Scope) -> str:
        """Return a value."""
        literal = self.literals.get(type(value))
        if literal is not None:
            return literal(value)
        match value:
            case tt.VarRef(name):
                return self.name(name, scope, value.span)
            case tt.ArrayValue(items):
                words = self.join_list(self.value(item, scope) for item in items)
                return self.form.listing.format(words) if items else self.form.no_items
            case tt.DateOffset(base, sign, duration):
                length = self.value(duration, scope)
                if isinstance(duration, tt.MeasureValue) and len(duration.parts) > 1:
                    length = self.form.several_parts.format(length)
                return f"{self.value(base, scope)} {sign} {length}"
            case tt.Computed(operator, arguments):
                words = self.join_list(self.value(argument, scope) for argument in arguments)
                return self.form.computed.format(operator, words)
            case tt.ListFilter(name, predicate):
                type_ = scope.get(name)
                item = Scope({ITEM: type_.element if isinstance(type_, Array) else ANY})
                condition = self.predicate(predicate, item, scope)
                return f"{self.name(name, scope, value.span)} filter {condition}"
            case _:
                raise TypeError(f"expected a value, got {value!r}")

    def join_list(self, parts: Iterable[str]) -> str:
        """Return the parts of a list."""
        return self.form.comma.join(parts)

    # ---------------------------------------------------------------- what has no layout

    @abstractmethod
    def name(self, name: str, scope: Scope, span: Span | None = None) -> str:
        """Return a name in scope."""

    @abstractmethod
    def call(self, call: tt.Call, scope: Scope) -> Printed:
        """Return a function with its inputs, and its outputs."""

    @abstractmethod
    def passing(self, passing: tuple[tt.Arg, ...], right: tt.Query, left: Scope) -> str:
        """Return the inputs that a join passes to its right side, "" for none."""

    @abstractmethod
    def write_watched(self, names: tuple[str, ...], scope: Scope) -> str:
        """Return the outputs that a monitor watches."""

    @abstractmethod
    def negation(self, predicate: tt.Not, fields: Scope, scope: Scope) -> str:
        """Return a negated condition."""

    @abstractmethod
    def in_parentheses(self, predicate: tt.Predicate, fields: Scope, scope: Scope) -> str:
        """Return a condition that stands in one that binds as tightly."""

    @abstractmethod
    def hole(self, hole: tt.Hole) -> str:
        """Return the child of a template."""

    def parameters(self, function: tt.PolicyFunction) -> Scope:
        """Return the parameters of the function that a policy speaks of."""
        return EMPTY
