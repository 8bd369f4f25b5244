"""Streams: monitors, edges, filters, joins and timers."""

from dataclasses import dataclass
from typing import Literal

from genie_dp.languages.automaton import NOTHING, Frame, Move, Wait
from genie_dp.languages.copying import Sentence
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, Found, Names
from genie_dp.languages.thingtalk.decoding.predicates import condition, predicate
from genie_dp.languages.thingtalk.decoding.queries import Place, QueryFrame
from genie_dp.languages.thingtalk.decoding.values import Times, ValueFrame
from genie_dp.languages.thingtalk.typecheck_values import DURATION
from genie_dp.languages.thingtalk.types import DATE, TIME, Array, Type


@dataclass(frozen=True, slots=True)
class Flow:
    """What is known of a stream that is complete: its outputs and how it was made."""

    scope: Names
    kind: Literal["results", "timer", "join"] = "results"


class StreamFrame(Frame):
    """A stream; leaves Flow. Inside of an edge a timer must be joined with a query."""

    __slots__ = ("catalogue", "nesting")

    def __init__(self, catalogue: Catalogue, nesting: int):
        """Allow what there is room for."""
        self.catalogue, self.nesting = catalogue, nesting
        words = {"attimer", "timer"}
        if catalogue.monitored:
            words.add("monitor")
        room = catalogue.limits.nesting - nesting
        if room > 0 and catalogue.queries:
            words |= {"(", "edge"}
        simple = {"monitor"} if catalogue.monitored else {"attimer"}
        super().__init__(frozenset(words), closing=frozenset(simple))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on inside."""
        catalogue = self.catalogue
        automaton, make = catalogue.automaton, catalogue.automaton.make
        match token:
            case "monitor":
                place = Place(catalogue, catalogue.empty, True, False, self.nesting + 1)
                after = make(AfterMonitored, catalogue)
                return (automaton.token("("), make(QueryFrame, place), after), None
            case "attimer":
                times = make(Times, _value(catalogue, Array(TIME)), _value(catalogue, TIME))
                words = map(automaton.token, ("time", "="))
                return (*words, times, _timer(catalogue)), None
            case "timer":
                start = (*map(automaton.token, ("base", "=")), _value(catalogue, DATE))
                every = (
                    *map(automaton.token, (",", "interval", "=")),
                    _value(catalogue, DURATION, is_positive=True),
                )
                return (*start, *every, _timer(catalogue)), None
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
        """Keep the stream."""
        super().__init__()
        self.flow = flow

    def resume(self, result: object) -> Move:
        """Leave it."""
        return (), self.flow


class AfterMonitored(Wait):
    """After the query of a monitor: the bracket, and `on new`."""

    __slots__ = ("catalogue",)

    def __init__(self, catalogue: Catalogue):
        """Keep the catalogue."""
        super().__init__()
        self.catalogue = catalogue

    def resume(self, result: Found) -> Move:
        """Go on with `on new`."""
        automaton = self.catalogue.automaton
        return (automaton.token(")"), automaton.make(OnNew, self.catalogue, result.scope)), None


class OnNew(Frame):
    """`on new [ param:a:T , .. ]`, or nothing."""

    __slots__ = ("catalogue", "scope")

    def __init__(self, catalogue: Catalogue, scope: Names):
        """Allow `on` where there are outputs."""
        self.catalogue, self.scope = catalogue, scope
        fixed = frozenset(("on",)) if scope.types else NOTHING
        super().__init__(fixed, closing=NOTHING, skips=True, result=Flow(scope))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the names."""
        automaton = self.catalogue.automaton
        names = automaton.make(Watched, self.catalogue, self.scope, frozenset(), "")
        return (automaton.token("new"), automaton.token("["), names), None


class Watched(Frame):
    """An output that is watched; those after it in the alphabet may follow."""

    __slots__ = ("catalogue", "last", "names", "scope", "watched")

    def __init__(self, catalogue: Catalogue, scope: Names, watched: frozenset[str], last: str):
        """Allow each output once."""
        self.catalogue, self.scope, self.watched, self.last = catalogue, scope, watched, last
        least = last if catalogue.style.canonical else ""
        self.names = {
            token: name
            for token, name in scope.names.items()
            if name not in watched and name > least
        }
        super().__init__(frozenset(self.names))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with a comma or the end."""
        name = self.names[token]
        make = self.catalogue.automaton.make
        following = make(Watched, self.catalogue, self.scope, self.watched | {name}, name)
        return (make(AfterWatched, following),), None


class AfterWatched(Frame):
    """A comma and another output, or the end of the list."""

    __slots__ = ("following",)

    def __init__(self, following: Watched):
        """Allow a comma while outputs are left."""
        self.following = following
        end = frozenset("]")
        super().__init__(end | {","} if following.names else end, closing=end)

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on."""
        return ((self.following,), None) if token == "," else ((), Flow(self.following.scope))


class AfterInner(Wait):
    """After a stream in brackets: `)`, or `=>` and a query."""

    __slots__ = ("catalogue", "is_edge", "nesting")

    def __init__(self, catalogue: Catalogue, nesting: int, is_edge: bool):
        """Keep what the brackets belong to."""
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
        """Require a query after a timer inside of an edge, and after a join in two brackets."""
        self.catalogue, self.nesting, self.is_edge, self.flow = catalogue, nesting, is_edge, flow
        must_join = flow.kind == "join" or (is_edge and flow.kind == "timer")
        end = frozenset() if must_join else frozenset((")",))
        super().__init__(end | {"=>"}, closing=end or None)

    def take(self, token: str, sentence: Sentence) -> Move:
        """End the bracket, or go on with the query."""
        catalogue, scope = self.catalogue, self.flow.scope
        make = catalogue.automaton.make
        if token == ")":
            return (make(AfterBracket, catalogue, self.nesting, self.is_edge, scope, False),), None
        place = Place(catalogue, scope, False, True, self.nesting + 1)
        query = make(QueryFrame, place, scope)
        return (query, make(AfterJoined, catalogue, self.nesting, self.is_edge, scope)), None


class AfterJoined(Wait):
    """After the query of a stream join."""

    __slots__ = ("catalogue", "is_edge", "left", "nesting")

    def __init__(self, catalogue: Catalogue, nesting: int, is_edge: bool, left: Names):
        """Keep the outputs of the stream."""
        super().__init__()
        self.catalogue, self.nesting, self.is_edge, self.left = catalogue, nesting, is_edge, left

    def resume(self, result: Found) -> Move:
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
        self, catalogue: Catalogue, nesting: int, is_edge: bool, scope: Names, is_join: bool
    ):
        """Allow a filter; a stream join may stand without one."""
        self.catalogue, self.nesting, self.is_edge, self.scope = catalogue, nesting, is_edge, scope
        fixed = frozenset(("on" if is_edge else "filter",))
        skips = is_join and not is_edge
        result = Flow(scope, "join")
        super().__init__(fixed, closing=NOTHING if skips else fixed, skips=skips, result=result)

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the condition."""
        catalogue = self.catalogue
        of = condition(catalogue, self.scope, catalogue.empty, True, self.nesting)
        return (*predicate(of), catalogue.automaton.make(GiveFlow, Flow(self.scope))), None
