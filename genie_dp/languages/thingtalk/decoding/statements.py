"""Queries and streams, each with the outputs that it has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame, Move
from genie_dp.languages.terms.frames import Choice
from genie_dp.languages.thingtalk.decoding.catalogue import (
    Catalogue,
    Function,
    Need,
    QueryFacts,
    ScopeNames,
)
from genie_dp.languages.thingtalk.decoding.conditions import (
    Arguments,
    ConditionScope,
    condition,
    find_passable,
    passed_output,
    predicate,
)
from genie_dp.languages.thingtalk.decoding.questions import (
    choose_outputs,
    first_place,
    may_select,
    sort_key,
)
from genie_dp.languages.thingtalk.decoding.values import Times, ValueFrame
from genie_dp.languages.thingtalk.operators import is_numeric
from genie_dp.languages.thingtalk.typecheck import DURATION
from genie_dp.languages.types import DATE, NUMBER, TIME, Array, Type

_OF_FIELDS = ("max", "min", "sum", "avg")


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """Where a query stands.

    Attributes:
        outer: names of the parts before it.
        is_monitored: whether all of its functions must be monitorable.
        has_event: whether `event` means something here.
        nesting: brackets around it.
        need: the required outputs, or None.
    """

    catalogue: Catalogue
    outer: ScopeNames
    is_monitored: bool
    has_event: bool
    nesting: int
    need: Need | None = None

    @property
    def functions(self) -> tuple[Function, ...]:
        """Return the functions that may stand here."""
        return self.catalogue.monitored if self.is_monitored else self.catalogue.queries

    def is_met(self, scope: ScopeNames) -> bool:
        """Return whether outputs are as needed."""
        return self.need is None or self.need.is_met(scope)

    @property
    def calls(self) -> frozenset[str]:
        """Return the tokens of the functions that have the outputs needed."""
        key = ("calls", self.is_monitored, self.need)
        tokens: frozenset[str] | None = self.catalogue.kept.get(key)
        if tokens is None:
            tokens = frozenset(f.token for f in self.functions if self.is_met(f.outputs))
            self.catalogue.kept[key] = tokens
        return tokens

    def inside(self, need: Need | None = None, outer: ScopeNames | None = None) -> "QueryPlace":
        """Return the place in brackets."""
        outer = self.outer if outer is None else outer
        nesting = self.nesting + 1
        return QueryPlace(self.catalogue, outer, self.is_monitored, self.has_event, nesting, need)


def query_frame(place: QueryPlace, passes: ScopeNames | None = None) -> Frame:
    """Return a query, which leaves QueryFacts.

    With `passes`, `( q ) on ..` may stand there (stream joins).
    """
    calls, catalogue = place.calls, place.catalogue
    automaton, make = catalogue.automaton, catalogue.automaton.make
    room = catalogue.limits.nesting - place.nesting
    more = {"("} if room > (0 if calls else 1) else set()
    if room > 0 and _choose_aggregate(place).fixed:
        more.add("aggregate")

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "(":
            return make(query_frame, place.inside()), automaton.after(_after_query, place, passes)
        if token == "aggregate":
            return (make(_choose_aggregate, place),)
        function = catalogue.by_token[token]
        return (make(Arguments, catalogue, function, place.outer, place.has_event),)

    return Choice(calls | more, following, closing=calls or frozenset(more & {"aggregate"}))


def _after_query(
    place: QueryPlace, passes: ScopeNames | None, query: QueryFacts
) -> Sequence[Frame]:
    """Go on after the query in `( q )` with the bracket, and the parts behind it."""
    automaton = place.catalogue.automaton
    return automaton.token(")"), automaton.make(_after_group, place, query, passes)


def _after_group(place: QueryPlace, query: QueryFacts, passes: ScopeNames | None) -> Frame:
    """Return `filter` or `join` after `( q )`; where it may pass, `on` too."""
    catalogue = place.catalogue
    automaton, make = catalogue.automaton, catalogue.automaton.make
    of = condition(catalogue, query.scope, place.outer, place.has_event, place.nesting)
    right = _right_side(place, query)
    words = {"filter"} if place.is_met(query.scope) else set()
    if make(query_frame, right).fixed:
        words.add("join")
    if passes is not None and Passing(place, query, passes, query).fixed:
        words.add("on")
    words |= _question_words(place, of)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        give = automaton.give(query)
        match token:
            case "filter":
                return *predicate(of), give
            case "sort":
                return sort_key(of), automaton.token("asc", "desc"), give
            case "[":
                return first_place(catalogue), give
            case "select":
                return automaton.token("["), make(choose_outputs, of, query, place.need)
            case "on":
                assert passes is not None
                return (make(_passing_name, make(Passing, place, query, passes, query)),)
            case _:
                joined = automaton.after(_end_join, place, query)
                return automaton.token("("), make(query_frame, right), joined

    closing = frozenset(words & {"filter"} or words)
    return Choice(frozenset(words), following, closing=closing)


def _question_words(place: QueryPlace, of: ConditionScope) -> set[str]:
    """Return the first token of a projection, a sort or an index of a group."""
    words = set(place.catalogue.constants.constructs & {"select", "sort", "["})
    if not words or not place.is_met(of.fields):
        return set()
    if not may_select(of, place.need):
        words.discard("select")
    if not sort_key(of).fixed:
        words.discard("sort")
    return words


def _right_side(place: QueryPlace, left: QueryFacts) -> QueryPlace:
    """Return the place of the query on the right of a join."""
    need, catalogue = place.need, place.catalogue
    if need is not None:
        need = catalogue.make_need(need.name, need.types, need.is_met(left.scope))
    return place.inside(need, catalogue.under(place.outer, left.scope))


def _end_join(place: QueryPlace, left: QueryFacts, right: QueryFacts) -> Sequence[Frame]:
    """Go on after the right side of a join with the bracket, and the passed values."""
    automaton = place.catalogue.automaton
    return automaton.token(")"), automaton.make(Passing, place, right, left.scope, left)


class Passing(Frame):
    """`on param:x:T = param:y:T` after a join: x an input on the right that has no value yet.

    Attributes:
        right: the query on the right.
        scope: outputs of the left side.
        left: the query on the left, or the right one again where a stream is.
        passed: inputs that were passed so far, in order.
    """

    __slots__ = ("left", "names", "passed", "place", "right", "scope")

    def __init__(
        self,
        place: QueryPlace,
        right: QueryFacts,
        scope: ScopeNames,
        left: QueryFacts,
        passed_names: tuple[str, ...] = (),
    ):
        """Allow `on` while some input is free."""
        self.place, self.right, self.scope, self.left = place, right, scope, left
        self.passed = passed_names
        self.names = self._free()
        fixed = frozenset(("on",)) if self.names else NOTHING
        super().__init__(fixed, closing=NOTHING, skips=True, result=self._join_facts())

    def _join_facts(self) -> QueryFacts:
        if self.left is self.right:
            return self.right
        catalogue = self.place.catalogue
        scope = catalogue.under(self.left.scope, self.right.scope)
        calls = (*self.left.calls, *self.right.calls)
        return catalogue.describe_query(scope, calls, len(self.left.calls), self.passed)

    def _free(self) -> dict[str, tuple[str, Type]]:
        """Return token -> name and type of the inputs that something fits."""
        catalogue, inputs_by_token = self.place.catalogue, {}
        types = _input_types(self.right)
        for name in sorted(types):
            if catalogue.style.canonical and self.passed and name < self.passed[-1]:
                continue
            type_ = self._taker(name)
            if type_ is not None and find_passable(catalogue, self.scope, type_):
                inputs_by_token[catalogue.token("param", name, types[name])] = (name, type_)
        return inputs_by_token

    def _taker(self, name: str) -> Type | None:
        """Return the type of the first input of that name that is free.

        An input that a join inside passes counts as given in all calls of its right side.
        """
        right, skipped = self.right, self.passed.count(name)
        for index, (function, given_names) in enumerate(right.calls):
            type_ = function.inputs.get(name)
            is_inner = right.first is not None and index >= right.first and name in right.passed
            if type_ is None or name in given_names or is_inner:
                continue
            if not skipped:
                return type_
            skipped -= 1
        return None

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the name of an input."""
        return (self.place.catalogue.automaton.make(_passing_name, self),), None


def _passing_name(before: Passing) -> Frame:
    """Return the input that the left side passes to."""
    catalogue = before.place.catalogue

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        name, type_ = before.names[token]
        make = catalogue.automaton.make
        output = make(passed_output, catalogue, before.scope, type_)
        passed = (*before.passed, name)
        after = make(Passing, before.place, before.right, before.scope, before.left, passed)
        return catalogue.automaton.token("="), output, after

    return Choice(frozenset(before.names), following)


def _input_types(query: QueryFacts) -> dict[str, Type]:
    """Return the inputs of a query with the types that the token form prints."""
    named: dict[str, Type] = {}
    free: dict[str, Type] = {}
    for function, given_names in query.calls:
        for name, type_ in function.inputs.types.items():
            named.setdefault(name, type_)
            if name not in given_names:
                free.setdefault(name, type_)
    return {**named, **free}


# -------------------------------------------------------------------------- aggregation


def _choose_aggregate(place: QueryPlace) -> Frame:
    """Return the operators with fields that lead to the output needed, and `count`."""
    words = {op for op in _OF_FIELDS if _fields(place, op)}
    if _gives(place, "count", NUMBER):
        words.add("count")

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "count":  # results are counted, no field of them
            return _aggregate_frames(place, token, None)
        return (place.catalogue.automaton.make(_field, place, token),)

    closing = frozenset(words & {"count"} or words)
    return Choice(frozenset(words), following, closing=closing)


def _aggregate_frames(place: QueryPlace, operator: str, need: Need | None) -> Sequence[Frame]:
    """Return the frames of `of ( q )`, where the query must have the aggregated output."""
    automaton = place.catalogue.automaton
    query = automaton.make(query_frame, place.inside(need))
    after = automaton.after(_after_aggregate, place, operator, need)
    return automaton.token("of"), automaton.token("("), query, after


def _field(place: QueryPlace, operator: str) -> Frame:
    """Return the output that is aggregated; the query must have it."""
    fields = _fields(place, operator)
    return Choice(
        frozenset(fields), lambda token, _: _aggregate_frames(place, operator, fields[token])
    )


def _after_aggregate(
    place: QueryPlace, operator: str, need: Need | None, query: QueryFacts
) -> Sequence[Frame]:
    """Go on with the bracket; the one output is called as the operator."""
    catalogue = place.catalogue
    type_ = NUMBER if need is None else query.scope.get(need.name)
    assert type_ is not None, "the query has what was needed"
    scope = catalogue.scope({operator: type_})
    facts = catalogue.describe_query(scope, query.calls, query.first, query.passed)
    return catalogue.automaton.token(")"), catalogue.automaton.give(facts)


def _gives(place: QueryPlace, operator: str, type_: Type) -> bool:
    """Return whether an aggregation of a type has the output needed."""
    return place.is_met(place.catalogue.scope({operator: type_}))


def _fields(place: QueryPlace, operator: str) -> dict[str, Need]:
    """Return token -> need of the outputs that an operator may take at a place.

    Outputs of aggregations are among them while brackets are left for one more. Nothing else of
    the place matters but the needed outputs, so that few have to be found.
    """
    catalogue = place.catalogue
    room = min(catalogue.limits.nesting - place.nesting, 2)
    key = ("fields", place.is_monitored, room, place.need, operator)
    needs: dict[str, Need] | None = catalogue.kept.get(key)
    if needs is None:
        needs = catalogue.kept[key] = _found_fields(place, operator) if room > 0 else {}
    return needs


def _found_fields(place: QueryPlace, operator: str) -> dict[str, Need]:
    catalogue = place.catalogue
    pairs = {pair for f in place.functions for pair in f.outputs.types.items()}
    if place.nesting + 1 < catalogue.limits.nesting and place.functions:
        numeric = {type_ for _, type_ in pairs if is_numeric(type_)}
        pairs |= {(op, type_) for op in _OF_FIELDS for type_ in numeric} | {("count", NUMBER)}
    by_token: dict[str, tuple[str, set[Type]]] = {}
    for name, type_ in pairs:
        if is_numeric(type_) and _gives(place, operator, type_):
            token = catalogue.token("param", name, type_)
            by_token.setdefault(token, (name, set()))[1].add(type_)
    return {
        token: catalogue.make_need(name, frozenset(types))
        for token, (name, types) in by_token.items()
    }


def totals_of(type_: Type) -> tuple[str, ...]:
    """Return the names of aggregations' outputs of a type."""
    return _OF_FIELDS if is_numeric(type_) else ()


@dataclass(frozen=True, slots=True)
class Flow:
    """Facts about a stream that is complete: its outputs and how it was made."""

    scope: ScopeNames
    kind: Literal["results", "timer", "join"] = "results"


def stream_frame(catalogue: Catalogue, nesting: int) -> Frame:
    """Return a stream, which leaves Flow. Inside of an edge a timer must be joined with a query."""
    automaton, make = catalogue.automaton, catalogue.automaton.make
    words = {"attimer", "timer"}
    if catalogue.monitored:
        words.add("monitor")
    if catalogue.limits.nesting > nesting and catalogue.queries:
        words |= {"(", "edge"}
    simple = {"monitor"} if catalogue.monitored else {"attimer"}

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        timer = automaton.give(Flow(catalogue.empty, "timer"))
        match token:
            case "monitor":
                place = QueryPlace(catalogue, catalogue.empty, True, False, nesting + 1)
                after = automaton.after(_after_monitored, catalogue)
                return automaton.token("("), make(query_frame, place), after
            case "attimer":
                times = make(Times, _value(catalogue, Array(TIME)), _value(catalogue, TIME))
                return *map(automaton.token, ("time", "=")), times, timer
            case "timer":
                start = (*map(automaton.token, ("base", "=")), _value(catalogue, DATE))
                interval = _value(catalogue, DURATION, is_positive=True)
                return *start, *map(automaton.token, (",", "interval", "=")), interval, timer
            case _:
                is_edge = token == "edge"
                inner = make(stream_frame, catalogue, nesting + 1)
                frames = inner, automaton.after(_after_inner, catalogue, nesting, is_edge)
                return (automaton.token("("), *frames) if is_edge else frames

    return Choice(frozenset(words), following, closing=frozenset(simple))


def _value(catalogue: Catalogue, type_: Type, *, is_positive: bool = False) -> ValueFrame:
    fit = catalogue.fit(type_, is_positive=is_positive)
    return catalogue.automaton.make(ValueFrame, catalogue, fit, catalogue.empty, False, False)


def _after_monitored(catalogue: Catalogue, query: QueryFacts) -> Sequence[Frame]:
    """Go on after the query of a monitor with the bracket, and `on new`."""
    automaton = catalogue.automaton
    return automaton.token(")"), automaton.make(_on_new, catalogue, query.scope)


def _on_new(catalogue: Catalogue, scope: ScopeNames) -> Frame:
    """Return `on new [ param:a:T , .. ]` where there are outputs, or nothing."""
    automaton = catalogue.automaton

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        names = automaton.make(_watch_output, catalogue, scope, frozenset(), "")
        return automaton.token("new"), automaton.token("["), names

    fixed = frozenset(("on",)) if scope.types else NOTHING
    return Choice(fixed, following, closing=NOTHING, skips=True, result=Flow(scope))


def _watch_output(
    catalogue: Catalogue, scope: ScopeNames, watched: frozenset[str], last: str
) -> Frame:
    """Return an output that is watched; those after it in the alphabet may follow."""
    least = last if catalogue.style.canonical else ""
    names = {t: n for t, n in scope.names.items() if n not in watched and n > least}

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        name = names[token]
        more = _watch_output, catalogue, scope, watched | {name}, name
        return (catalogue.automaton.make(_after_watched, catalogue, scope, more),)

    return Choice(frozenset(names), following)


def _after_watched(catalogue: Catalogue, scope: ScopeNames, more: tuple[Any, ...]) -> Frame:
    """Return a comma and another output, or the end of the list."""
    automaton = catalogue.automaton
    another, end = automaton.make(*more), frozenset("]")

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        return (another,) if token == "," else (automaton.give(Flow(scope)),)

    return Choice(end | {","} if another.fixed else end, following, closing=end)


def _after_inner(catalogue: Catalogue, nesting: int, is_edge: bool, flow: Flow) -> Sequence[Frame]:
    """Go on after a stream in brackets with `)`, or `=>` and a query."""
    return (catalogue.automaton.make(_inner_end, catalogue, nesting, is_edge, flow),)


def _inner_end(catalogue: Catalogue, nesting: int, is_edge: bool, flow: Flow) -> Frame:
    """Return `)` where the stream is whole, `=>` and a query that joins it."""
    automaton, scope = catalogue.automaton, flow.scope
    must_join = flow.kind == "join" or (is_edge and flow.kind == "timer")
    end = NOTHING if must_join else frozenset((")",))

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == ")":
            return (automaton.make(_after_bracket, catalogue, nesting, is_edge, scope, False),)
        place = QueryPlace(catalogue, scope, False, True, nesting + 1)
        query = automaton.make(query_frame, place, scope)
        return query, automaton.after(_after_joined, catalogue, nesting, is_edge, scope)

    return Choice(end | {"=>"}, following, closing=end or None)


def _after_joined(
    catalogue: Catalogue, nesting: int, is_edge: bool, left: ScopeNames, query: QueryFacts
) -> Sequence[Frame]:
    """Go on after the query of a stream join with the bracket."""
    automaton, scope = catalogue.automaton, catalogue.under(left, query.scope)
    after = automaton.make(_after_bracket, catalogue, nesting, is_edge, scope, True)
    return automaton.token(")"), after


def _after_bracket(
    catalogue: Catalogue, nesting: int, is_edge: bool, scope: ScopeNames, is_join: bool
) -> Frame:
    """Return the condition of an edge or of a filter; a stream join may stand without one."""

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        of = condition(catalogue, scope, catalogue.empty, True, nesting)
        return *predicate(of), catalogue.automaton.give(Flow(scope))

    fixed = frozenset(("on" if is_edge else "filter",))
    skips = is_join and not is_edge
    closing = NOTHING if skips else fixed
    return Choice(fixed, following, closing=closing, skips=skips, result=Flow(scope, "join"))
