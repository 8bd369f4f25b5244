"""Queries and streams, each with the outputs that it has."""

from dataclasses import dataclass
from typing import Literal

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame, Move, Wait
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
    predicate,
)
from genie_dp.languages.thingtalk.decoding.questions import Kept, first_place, may_select, sort_key
from genie_dp.languages.thingtalk.decoding.values import Times, ValueFrame
from genie_dp.languages.thingtalk.operators import is_numeric
from genie_dp.languages.thingtalk.typecheck import DURATION
from genie_dp.languages.types import DATE, NUMBER, TIME, Array, Type

_OF_FIELDS = ("max", "min", "sum", "avg")


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """Where a query stands.

    Attributes:
        outer: names of what stands before it.
        is_monitored: whether all of its functions must be monitorable.
        has_event: whether `event` means something here.
        nesting: brackets around it.
        need: what its outputs must hold, or None.
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
        """Tell whether outputs are as needed."""
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


class QueryFrame(Frame):
    """A query; leaves Found. With `passes`, `( q ) on ..` may stand there (stream joins)."""

    __slots__ = ("passes", "place")

    def __init__(self, place: QueryPlace, passes: ScopeNames | None = None):
        self.place, self.passes = place, passes
        calls = place.calls
        room = place.catalogue.limits.nesting - place.nesting
        more = {"("} if room > (0 if calls else 1) else set()
        if room > 0 and Aggregated(place).fixed:
            more.add("aggregate")
        super().__init__(calls | more, closing=calls or frozenset(more & {"aggregate"}))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on inside."""
        place = self.place
        make = place.catalogue.automaton.make
        if token == "(":
            return (make(QueryFrame, place.inside()), make(AfterQuery, place, self.passes)), None
        if token == "aggregate":
            return (make(Aggregated, place),), None
        function = place.catalogue.by_token[token]
        return (make(Arguments, place.catalogue, function, place.outer, place.has_event),), None


class AfterQuery(Wait):
    """After the query in `( q )`: the bracket."""

    __slots__ = ("passes", "place")

    def __init__(self, place: QueryPlace, passes: ScopeNames | None):
        """Keep the place of what `( q )` begins."""
        super().__init__()
        self.place, self.passes = place, passes

    def resume(self, result: QueryFacts) -> Move:
        """Go on with a filter or a join."""
        automaton = self.place.catalogue.automaton
        after = automaton.make(AfterGroup, self.place, result, self.passes)
        return (automaton.token(")"), after), None


class AfterGroup(Frame):
    """`filter` or `join` after `( q )`; where it may pass, `on` too."""

    __slots__ = ("passes", "place", "query")

    def __init__(self, place: QueryPlace, query: QueryFacts, passes: ScopeNames | None):
        self.place, self.query, self.passes = place, query, passes
        make = place.catalogue.automaton.make
        words = {"filter"} if place.is_met(query.scope) else set()
        if make(QueryFrame, self._right()).fixed:
            words.add("join")
        if passes is not None and Passing(place, query, passes, query).fixed:
            words.add("on")
        words |= self._question_words()
        super().__init__(frozenset(words), closing=frozenset(words & {"filter"} or words))

    def _question_words(self) -> set[str]:
        """Return what begins a projection, a sort or an index of the group."""
        constructs = self.place.catalogue.constants.constructs
        words = set(constructs & {"select", "sort", "["})
        if not words or not self.place.is_met(self.query.scope):
            return set()
        if not may_select(self._condition_scope(), self.place.need):
            words.discard("select")
        if not sort_key(self._condition_scope()).fixed:
            words.discard("sort")
        return words

    def _condition_scope(self) -> ConditionScope:
        place = self.place
        return condition(
            place.catalogue, self.query.scope, place.outer, place.has_event, place.nesting
        )

    def _right(self) -> QueryPlace:
        """Return the place of the query on the right of a join."""
        place, need = self.place, self.place.need
        if need is not None:
            may_lack = need.is_met(self.query.scope)
            need = place.catalogue.make_need(need.name, need.types, may_lack)
        return place.inside(need, place.catalogue.under(place.outer, self.query.scope))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a predicate or the right side."""
        place, catalogue = self.place, self.place.catalogue
        automaton = catalogue.automaton
        if token == "filter":
            return (*predicate(self._condition_scope()), automaton.make(Give, self.query)), None
        if token == "sort":
            frames = (sort_key(self._condition_scope()), automaton.token("asc", "desc"))
            return (*frames, automaton.make(Give, self.query)), None
        if token == "[":
            return (first_place(catalogue), automaton.make(Give, self.query)), None
        if token == "select":
            kept = automaton.make(Kept, self._condition_scope(), self.query, place.need)
            return (automaton.token("["), kept), None
        if token == "on":
            assert self.passes is not None
            passing = automaton.make(Passing, place, self.query, self.passes, self.query)
            return passing.take(token, sentence)
        right = automaton.make(QueryFrame, self._right())
        joined = automaton.make(Joined, place, self.query)
        return (automaton.token("("), right, joined), None


class Give(Wait):
    """Leaves a result, whatever stood above."""

    __slots__ = ("given",)

    def __init__(self, given: QueryFacts):
        super().__init__()
        self.given = given

    def resume(self, result: object) -> Move:
        """Leave it."""
        return (), self.given


class Joined(Wait):
    """After the right side of a join: the bracket, and what is passed."""

    __slots__ = ("left", "place")

    def __init__(self, place: QueryPlace, left: QueryFacts):
        super().__init__()
        self.place, self.left = place, left

    def resume(self, result: QueryFacts) -> Move:
        """Go on with `on`."""
        automaton = self.place.catalogue.automaton
        passing = automaton.make(Passing, self.place, result, self.left.scope, self.left)
        return (automaton.token(")"), passing), None


class Passing(Frame):
    """`on param:x:T = param:y:T` after a join: x an input on the right that has no value yet.

    Attributes:
        right: the query on the right.
        scope: outputs of what is on the left.
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

        What a join inside passes counts as given in all calls of its right side.
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
        return (self.place.catalogue.automaton.make(PassingName, self),), None


class PassingName(Frame):
    """The input that the left side passes to."""

    __slots__ = ("passing",)

    def __init__(self, passing: Passing):
        self.passing = passing
        super().__init__(frozenset(passing.names))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with an output of the left side."""
        before = self.passing
        name, type_ = before.names[token]
        catalogue = before.place.catalogue
        make = catalogue.automaton.make
        output = make(PassedOutput, catalogue, before.scope, type_)
        after = make(
            Passing, before.place, before.right, before.scope, before.left, (*before.passed, name)
        )
        return (catalogue.automaton.token("="), output, after), None


class PassedOutput(Frame):
    """An output of the left side."""

    __slots__ = ()

    def __init__(self, catalogue: Catalogue, scope: ScopeNames, type_: Type):
        super().__init__(find_passable(catalogue, scope, type_))


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


class Aggregated(Frame):
    """The operator of an aggregation."""

    __slots__ = ("place",)

    def __init__(self, place: QueryPlace):
        """Allow operators with fields that lead to the output needed, and `count`."""
        self.place = place
        words = {op for op in _OF_FIELDS if _fields(place, op)}
        if _gives(place, "count", NUMBER):
            words.add("count")
        super().__init__(frozenset(words), closing=frozenset(words & {"count"} or words))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the field; results are counted without one."""
        if token == "count":
            return _aggregate_frames(self.place, token, None), None
        return (self.place.catalogue.automaton.make(Field, self.place, token),), None


def _aggregate_frames(place: QueryPlace, operator: str, need: Need | None) -> tuple[Frame, ...]:
    """Return the frames of `of ( q )`, where the query must have what is aggregated."""
    automaton = place.catalogue.automaton
    query = automaton.make(QueryFrame, place.inside(need))
    after = automaton.make(AfterAggregate, place, operator, need)
    return automaton.token("of"), automaton.token("("), query, after


class Field(Frame):
    """The output that is aggregated."""

    __slots__ = ("fields", "operator", "place")

    def __init__(self, place: QueryPlace, operator: str):
        self.place, self.operator = place, operator
        self.fields = _fields(place, operator)
        super().__init__(frozenset(self.fields))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the query, which must have that output."""
        return _aggregate_frames(self.place, self.operator, self.fields[token]), None


class AfterAggregate(Wait):
    """After the query of an aggregation: the bracket; its one output is called as the operator."""

    __slots__ = ("need", "operator", "place")

    def __init__(self, place: QueryPlace, operator: str, need: Need | None):
        super().__init__()
        self.place, self.operator, self.need = place, operator, need

    def resume(self, result: QueryFacts) -> Move:
        """Leave the one output."""
        catalogue = self.place.catalogue
        type_: Type = NUMBER
        if self.need is not None:
            field = result.scope.get(self.need.name)
            assert field is not None, "the query has what was needed"
            type_ = field
        scope = catalogue.scope({self.operator: type_})
        joined_query = catalogue.describe_query(scope, result.calls, result.first, result.passed)
        return (catalogue.automaton.token(")"), catalogue.automaton.make(Give, joined_query)), None


def _gives(place: QueryPlace, operator: str, type_: Type) -> bool:
    """Tell whether an aggregation of a type has the output needed."""
    return place.is_met(place.catalogue.scope({operator: type_}))


def _fields(place: QueryPlace, operator: str) -> dict[str, Need]:
    """Return token -> need of the outputs that an operator may take at a place.

    Outputs of aggregations are among them while brackets are left for one more. Nothing else of
    the place matters but what is needed, so that few have to be found.
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
    """What is known of a stream that is complete: its outputs and how it was made."""

    scope: ScopeNames
    kind: Literal["results", "timer", "join"] = "results"


class StreamFrame(Frame):
    """A stream; leaves Flow. Inside of an edge a timer must be joined with a query."""

    __slots__ = ("catalogue", "nesting")

    def __init__(self, catalogue: Catalogue, nesting: int):
        self.catalogue, self.nesting = catalogue, nesting
        words = {"attimer", "timer"}
        if catalogue.monitored:
            words.add("monitor")
        room = catalogue.limits.nesting - nesting
        if room > 0 and catalogue.queries:
            words |= {"(", "edge"}
        simple = {"monitor"} if catalogue.monitored else {"attimer"}
        super().__init__(frozenset(words), closing=frozenset(simple))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on inside."""
        catalogue = self.catalogue
        automaton, make = catalogue.automaton, catalogue.automaton.make
        match token:
            case "monitor":
                place = QueryPlace(catalogue, catalogue.empty, True, False, self.nesting + 1)
                after = make(AfterMonitored, catalogue)
                return (automaton.token("("), make(QueryFrame, place), after), None
            case "attimer":
                times = make(Times, _value(catalogue, Array(TIME)), _value(catalogue, TIME))
                words = map(automaton.token, ("time", "="))
                return (*words, times, _timer(catalogue)), None
            case "timer":
                start = (*map(automaton.token, ("base", "=")), _value(catalogue, DATE))
                clauses = (
                    *map(automaton.token, (",", "interval", "=")),
                    _value(catalogue, DURATION, is_positive=True),
                )
                return (*start, *clauses, _timer(catalogue)), None
            case _:
                is_edge = token == "edge"
                inner = make(StreamFrame, catalogue, self.nesting + 1)
                after_inner = make(AfterInner, catalogue, self.nesting, is_edge)
                frames = (inner, after_inner)
                return ((automaton.token("("), *frames) if is_edge else frames), None


def _value(catalogue: Catalogue, type_: Type, *, is_positive: bool = False) -> ValueFrame:
    fit = catalogue.fit(type_, is_positive=is_positive)
    return catalogue.automaton.make(ValueFrame, catalogue, fit, catalogue.empty, False, False)


def _timer(catalogue: Catalogue) -> "GiveFlow":
    return catalogue.automaton.make(GiveFlow, Flow(catalogue.empty, "timer"))


class GiveFlow(Wait):
    """Leaves a stream, whatever stood above."""

    __slots__ = ("flow",)

    def __init__(self, flow: Flow):
        super().__init__()
        self.flow = flow

    def resume(self, result: object) -> Move:
        """Leave it."""
        return (), self.flow


class AfterMonitored(Wait):
    """After the query of a monitor: the bracket, and `on new`."""

    __slots__ = ("catalogue",)

    def __init__(self, catalogue: Catalogue):
        super().__init__()
        self.catalogue = catalogue

    def resume(self, result: QueryFacts) -> Move:
        """Go on with `on new`."""
        automaton = self.catalogue.automaton
        return (automaton.token(")"), automaton.make(OnNew, self.catalogue, result.scope)), None


class OnNew(Frame):
    """`on new [ param:a:T , .. ]`, or nothing."""

    __slots__ = ("catalogue", "scope")

    def __init__(self, catalogue: Catalogue, scope: ScopeNames):
        """Allow `on` where there are outputs."""
        self.catalogue, self.scope = catalogue, scope
        fixed = frozenset(("on",)) if scope.types else NOTHING
        super().__init__(fixed, closing=NOTHING, skips=True, result=Flow(scope))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the names."""
        automaton = self.catalogue.automaton
        names = automaton.make(Watched, self.catalogue, self.scope, frozenset(), "")
        return (automaton.token("new"), automaton.token("["), names), None


class Watched(Frame):
    """An output that is watched; those after it in the alphabet may follow."""

    __slots__ = ("catalogue", "last", "names", "scope", "watched")

    def __init__(self, catalogue: Catalogue, scope: ScopeNames, watched: frozenset[str], last: str):
        self.catalogue, self.scope, self.watched, self.last = catalogue, scope, watched, last
        least = last if catalogue.style.canonical else ""
        self.names = {
            token: name
            for token, name in scope.names.items()
            if name not in watched and name > least
        }
        super().__init__(frozenset(self.names))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a comma or the end."""
        name = self.names[token]
        make = self.catalogue.automaton.make
        following = make(Watched, self.catalogue, self.scope, self.watched | {name}, name)
        return (make(AfterWatched, following),), None


class AfterWatched(Frame):
    """A comma and another output, or the end of the list."""

    __slots__ = ("following",)

    def __init__(self, following: Watched):
        self.following = following
        end = frozenset("]")
        super().__init__(end | {","} if following.names else end, closing=end)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on."""
        return ((self.following,), None) if token == "," else ((), Flow(self.following.scope))


class AfterInner(Wait):
    """After a stream in brackets: `)`, or `=>` and a query."""

    __slots__ = ("catalogue", "is_edge", "nesting")

    def __init__(self, catalogue: Catalogue, nesting: int, is_edge: bool):
        super().__init__()
        self.catalogue, self.nesting, self.is_edge = catalogue, nesting, is_edge

    def resume(self, result: Flow) -> Move:
        """Go on with the end of the bracket."""
        make = self.catalogue.automaton.make
        return (make(InnerEnd, self.catalogue, self.nesting, self.is_edge, result),), None


class InnerEnd(Frame):
    """`)` where the stream is whole, `=>` and a query that joins it."""

    __slots__ = ("catalogue", "flow", "is_edge", "nesting")

    def __init__(self, catalogue: Catalogue, nesting: int, is_edge: bool, flow: Flow):
        self.catalogue, self.nesting, self.is_edge, self.flow = catalogue, nesting, is_edge, flow
        must_join = flow.kind == "join" or (is_edge and flow.kind == "timer")
        end = frozenset() if must_join else frozenset((")",))
        super().__init__(end | {"=>"}, closing=end or None)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """End the bracket, or go on with the query."""
        catalogue, scope = self.catalogue, self.flow.scope
        make = catalogue.automaton.make
        if token == ")":
            return (make(AfterBracket, catalogue, self.nesting, self.is_edge, scope, False),), None
        place = QueryPlace(catalogue, scope, False, True, self.nesting + 1)
        query = make(QueryFrame, place, scope)
        return (query, make(AfterJoined, catalogue, self.nesting, self.is_edge, scope)), None


class AfterJoined(Wait):
    """After the query of a stream join."""

    __slots__ = ("catalogue", "is_edge", "left", "nesting")

    def __init__(self, catalogue: Catalogue, nesting: int, is_edge: bool, left: ScopeNames):
        super().__init__()
        self.catalogue, self.nesting, self.is_edge, self.left = catalogue, nesting, is_edge, left

    def resume(self, result: QueryFacts) -> Move:
        """Close the bracket."""
        catalogue = self.catalogue
        scope = catalogue.under(self.left, result.scope)
        after = catalogue.automaton.make(
            AfterBracket, catalogue, self.nesting, self.is_edge, scope, True
        )
        return (catalogue.automaton.token(")"), after), None


class AfterBracket(Frame):
    """What comes after a stream in brackets: the condition of an edge or of a filter."""

    __slots__ = ("catalogue", "is_edge", "nesting", "scope")

    def __init__(
        self, catalogue: Catalogue, nesting: int, is_edge: bool, scope: ScopeNames, is_join: bool
    ):
        """Allow a filter; a stream join may stand without one."""
        self.catalogue, self.nesting, self.is_edge, self.scope = catalogue, nesting, is_edge, scope
        fixed = frozenset(("on" if is_edge else "filter",))
        skips = is_join and not is_edge
        result = Flow(scope, "join")
        super().__init__(fixed, closing=NOTHING if skips else fixed, skips=skips, result=result)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the condition."""
        catalogue = self.catalogue
        of = condition(catalogue, self.scope, catalogue.empty, True, self.nesting)
        return (*predicate(of), catalogue.automaton.make(GiveFlow, Flow(self.scope))), None
