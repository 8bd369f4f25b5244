"""Queries: calls, filters, joins and aggregations, each with the outputs that it has."""

from collections.abc import Iterable
from dataclasses import dataclass

from genie_dp.languages.automaton import NOTHING, Frame, Move, Wait
from genie_dp.languages.copying import Sentence
from genie_dp.languages.thingtalk.assign import is_numeric
from genie_dp.languages.thingtalk.decoding.calls import Arguments, passed
from genie_dp.languages.thingtalk.decoding.catalogue import (
    Catalogue,
    Found,
    Function,
    Names,
    Need,
)
from genie_dp.languages.thingtalk.decoding.predicates import condition, predicate
from genie_dp.languages.thingtalk.types import NUMBER, Type

_OF_FIELDS = ("max", "min", "sum", "avg")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query stands.

    Attributes:
        outer: names of what stands before it.
        is_monitored: whether all of its functions must be monitorable.
        has_event: whether `event` means something here.
        nesting: brackets around it.
        need: what its outputs must hold, or None.
    """

    catalogue: Catalogue
    outer: Names
    is_monitored: bool
    has_event: bool
    nesting: int
    need: Need | None = None

    @property
    def functions(self) -> tuple[Function, ...]:
        """Return the functions that may stand here."""
        return self.catalogue.monitored if self.is_monitored else self.catalogue.queries

    def is_met(self, scope: Names) -> bool:
        """Tell whether outputs are as needed."""
        return self.need is None or self.need.is_met(scope)

    @property
    def calls(self) -> frozenset[str]:
        """Return the tokens of the functions that have the outputs needed."""
        key = ("calls", self.is_monitored, self.need)
        found: frozenset[str] | None = self.catalogue.kept.get(key)
        if found is None:
            found = frozenset(f.token for f in self.functions if self.is_met(f.outputs))
            self.catalogue.kept[key] = found
        return found

    def inside(self, need: Need | None = None, outer: Names | None = None) -> "Place":
        """Return the place in brackets."""
        outer = self.outer if outer is None else outer
        nesting = self.nesting + 1
        return Place(self.catalogue, outer, self.is_monitored, self.has_event, nesting, need)


class QueryFrame(Frame):
    """A query; leaves Found. With `passes`, `( q ) on ..` may stand there (stream joins)."""

    __slots__ = ("passes", "place")

    def __init__(self, place: Place, passes: Names | None = None):
        """Allow what has the outputs needed."""
        self.place, self.passes = place, passes
        calls = place.calls
        room = place.catalogue.limits.nesting - place.nesting
        more = {"("} if room > (0 if calls else 1) else set()
        if room > 0 and Aggregated(place).fixed:
            more.add("aggregate")
        super().__init__(calls | more, closing=calls or frozenset(more & {"aggregate"}))

    def take(self, token: str, sentence: Sentence) -> Move:
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

    def __init__(self, place: Place, passes: Names | None):
        """Keep the place of what `( q )` begins."""
        super().__init__()
        self.place, self.passes = place, passes

    def resume(self, result: Found) -> Move:
        """Go on with a filter or a join."""
        automaton = self.place.catalogue.automaton
        after = automaton.make(AfterGroup, self.place, result, self.passes)
        return (automaton.token(")"), after), None


class AfterGroup(Frame):
    """`filter` or `join` after `( q )`; where it may pass, `on` too."""

    __slots__ = ("passes", "place", "query")

    def __init__(self, place: Place, query: Found, passes: Names | None):
        """Allow what leads to the outputs needed."""
        self.place, self.query, self.passes = place, query, passes
        make = place.catalogue.automaton.make
        words = {"filter"} if place.is_met(query.scope) else set()
        if make(QueryFrame, self._right()).fixed:
            words.add("join")
        if passes is not None and Passing(place, query, passes, query).fixed:
            words.add("on")
        super().__init__(frozenset(words), closing=frozenset(words & {"filter"} or words))

    def _right(self) -> Place:
        """Return the place of the query on the right of a join."""
        place, need = self.place, self.place.need
        if need is not None:
            may_lack = need.is_met(self.query.scope)
            need = place.catalogue.need(need.name, need.types, may_lack)
        return place.inside(need, place.catalogue.under(place.outer, self.query.scope))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with a predicate or the right side."""
        place, catalogue = self.place, self.place.catalogue
        automaton = catalogue.automaton
        if token == "filter":
            of = condition(catalogue, self.query.scope, place.outer, place.has_event, place.nesting)
            return (*predicate(of), automaton.make(Give, self.query)), None
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

    def __init__(self, given: Found):
        """Keep the result."""
        super().__init__()
        self.given = given

    def resume(self, result: object) -> Move:
        """Leave it."""
        return (), self.given


class Joined(Wait):
    """After the right side of a join: the bracket, and what is passed."""

    __slots__ = ("left", "place")

    def __init__(self, place: Place, left: Found):
        """Keep the left side."""
        super().__init__()
        self.place, self.left = place, left

    def resume(self, result: Found) -> Move:
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
        place: Place,
        right: Found,
        scope: Names,
        left: Found,
        passed_names: tuple[str, ...] = (),
    ):
        """Allow `on` while some input is free."""
        self.place, self.right, self.scope, self.left = place, right, scope, left
        self.passed = passed_names
        self.names = self._free()
        fixed = frozenset(("on",)) if self.names else NOTHING
        super().__init__(fixed, closing=NOTHING, skips=True, result=self._joined())

    def _joined(self) -> Found:
        if self.left is self.right:
            return self.right
        catalogue = self.place.catalogue
        scope = catalogue.under(self.left.scope, self.right.scope)
        calls = (*self.left.calls, *self.right.calls)
        return catalogue.found(scope, calls, len(self.left.calls), self.passed)

    def _free(self) -> dict[str, tuple[str, Type]]:
        """Return token -> name and type of the inputs that something fits."""
        catalogue, found = self.place.catalogue, {}
        types = _input_types(self.right)
        for name in sorted(types):
            if catalogue.style.canonical and self.passed and name < self.passed[-1]:
                continue
            type_ = self._taker(name)
            if type_ is not None and passed(catalogue, self.scope, type_):
                found[catalogue.token("param", name, types[name])] = (name, type_)
        return found

    def _taker(self, name: str) -> Type | None:
        """Return the type of the first input of that name that is free.

        What a join inside passes counts as given in all calls of its right side.
        """
        right, skipped = self.right, self.passed.count(name)
        for index, (function, given) in enumerate(right.calls):
            type_ = function.inputs.get(name)
            is_inner = right.first is not None and index >= right.first and name in right.passed
            if type_ is None or name in given or is_inner:
                continue
            if not skipped:
                return type_
            skipped -= 1
        return None

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the name of an input."""
        return (self.place.catalogue.automaton.make(PassingName, self),), None


class PassingName(Frame):
    """The input that the left side passes to."""

    __slots__ = ("passing",)

    def __init__(self, passing: Passing):
        """Allow the free inputs."""
        self.passing = passing
        super().__init__(frozenset(passing.names))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with an output of the left side."""
        before = self.passing
        name, type_ = before.names[token]
        catalogue = before.place.catalogue
        make = catalogue.automaton.make
        what = make(PassedOutput, catalogue, before.scope, type_)
        after = make(
            Passing, before.place, before.right, before.scope, before.left, (*before.passed, name)
        )
        return (catalogue.automaton.token("="), what, after), None


class PassedOutput(Frame):
    """An output of the left side."""

    __slots__ = ()

    def __init__(self, catalogue: Catalogue, scope: Names, type_: Type):
        """Allow those that fit."""
        super().__init__(passed(catalogue, scope, type_))


def _input_types(query: Found) -> dict[str, Type]:
    """Return the inputs of a query with the types that the token form prints."""
    named: dict[str, Type] = {}
    free: dict[str, Type] = {}
    for function, given in query.calls:
        for name, type_ in function.inputs.types.items():
            named.setdefault(name, type_)
            if name not in given:
                free.setdefault(name, type_)
    return {**named, **free}


# -------------------------------------------------------------------------- aggregation


class Aggregated(Frame):
    """The operator of an aggregation."""

    __slots__ = ("place",)

    def __init__(self, place: Place):
        """Allow operators with fields that lead to the output needed, and `count`."""
        self.place = place
        words = {op for op in _OF_FIELDS if _fields(place, op)}
        if _gives(place, "count", NUMBER):
            words.add("count")
        super().__init__(frozenset(words), closing=frozenset(words & {"count"} or words))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the field; results are counted without one."""
        if token == "count":
            return _aggregated(self.place, token, None), None
        return (self.place.catalogue.automaton.make(Field, self.place, token),), None


def _aggregated(place: Place, operator: str, need: Need | None) -> tuple[Frame, ...]:
    """Return the frames of `of ( q )`, where the query must have what is aggregated."""
    automaton = place.catalogue.automaton
    query = automaton.make(QueryFrame, place.inside(need))
    after = automaton.make(AfterAggregate, place, operator, need)
    return automaton.token("of"), automaton.token("("), query, after


class Field(Frame):
    """The output that is aggregated."""

    __slots__ = ("fields", "operator", "place")

    def __init__(self, place: Place, operator: str):
        """Allow the outputs that the operator takes."""
        self.place, self.operator = place, operator
        self.fields = _fields(place, operator)
        super().__init__(frozenset(self.fields))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the query, which must have that output."""
        return _aggregated(self.place, self.operator, self.fields[token]), None


class AfterAggregate(Wait):
    """After the query of an aggregation: the bracket; its one output is called as the operator."""

    __slots__ = ("need", "operator", "place")

    def __init__(self, place: Place, operator: str, need: Need | None):
        """Keep what is aggregated."""
        super().__init__()
        self.place, self.operator, self.need = place, operator, need

    def resume(self, result: Found) -> Move:
        """Leave the one output."""
        catalogue = self.place.catalogue
        type_: Type = NUMBER
        if self.need is not None:
            field = result.scope.get(self.need.name)
            assert field is not None, "the query has what was needed"
            type_ = field
        scope = catalogue.scope({self.operator: type_})
        found = catalogue.found(scope, result.calls, result.first, result.passed)
        return (catalogue.automaton.token(")"), catalogue.automaton.make(Give, found)), None


def _gives(place: Place, operator: str, type_: Type) -> bool:
    """Tell whether an aggregation of a type has the output needed."""
    return place.is_met(place.catalogue.scope({operator: type_}))


def _fields(place: Place, operator: str) -> dict[str, Need]:
    """Return token -> need of the outputs that an operator may take at a place.

    Outputs of aggregations are among them while brackets are left for one more. Nothing else of
    the place matters but what is needed, so that few have to be found.
    """
    catalogue = place.catalogue
    room = min(catalogue.limits.nesting - place.nesting, 2)
    key = ("fields", place.is_monitored, room, place.need, operator)
    found: dict[str, Need] | None = catalogue.kept.get(key)
    if found is None:
        found = catalogue.kept[key] = _found_fields(place, operator) if room > 0 else {}
    return found


def _found_fields(place: Place, operator: str) -> dict[str, Need]:
    catalogue = place.catalogue
    pairs = _outputs(place.functions)
    if place.nesting + 1 < catalogue.limits.nesting and place.functions:
        numeric = {type_ for _, type_ in pairs if is_numeric(type_)}
        pairs |= {(op, type_) for op in _OF_FIELDS for type_ in numeric} | {("count", NUMBER)}
    by_token: dict[str, tuple[str, set[Type]]] = {}
    for name, type_ in pairs:
        if is_numeric(type_) and _gives(place, operator, type_):
            token = catalogue.token("param", name, type_)
            by_token.setdefault(token, (name, set()))[1].add(type_)
    return {
        token: catalogue.need(name, frozenset(types)) for token, (name, types) in by_token.items()
    }


def totals_of(type_: Type) -> tuple[str, ...]:
    """Return the names of aggregations' outputs of a type."""
    return _OF_FIELDS if is_numeric(type_) else ()


def _outputs(functions: Iterable[Function]) -> set[tuple[str, Type]]:
    return {pair for f in functions for pair in f.outputs.types.items()}
