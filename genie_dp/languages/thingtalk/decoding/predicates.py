"""Predicates in conjunctive normal form, on the outputs of a query."""

from dataclasses import dataclass, replace

from genie_dp.languages.automaton import NOTHING, Frame, Move, Wait
from genie_dp.languages.copying import Sentence
from genie_dp.languages.thingtalk.assign import is_identifier, operand_type, operators_of
from genie_dp.languages.thingtalk.ast import OPERATORS
from genie_dp.languages.thingtalk.decoding.calls import Arguments
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, Found, Names
from genie_dp.languages.thingtalk.decoding.values import ValueFrame
from genie_dp.languages.thingtalk.types import ANY


@dataclass(frozen=True, slots=True)
class Condition:
    """What a predicate may speak of.

    Attributes:
        fields: names that are compared.
        scope: names that values may refer to.
        calls: names that may be passed to get predicates.
        has_event: whether `event` means something here.
        nesting: brackets around it.
    """

    catalogue: Catalogue
    fields: Names
    scope: Names
    calls: Names
    has_event: bool
    nesting: int


def condition(
    catalogue: Catalogue, fields: Names, outer: Names, has_event: bool, nesting: int
) -> Condition:
    """Return the condition of a filter; its values may also use names of `outer`."""
    scope = catalogue.under(outer, fields)
    return Condition(catalogue, fields, scope, scope, has_event, nesting)


def predicate(of: Condition) -> tuple[Frame, ...]:
    """Return the frames of a predicate."""
    make = of.catalogue.automaton.make
    return make(Atom, of, False), make(More, of, 1, 1)


class Atom(Frame):
    """A comparison, a get predicate, `true`, `false`, or `not` and one of the first two."""

    __slots__ = ("is_negated", "of")

    def __init__(self, of: Condition, is_negated: bool):
        """Allow fields, queries and words."""
        self.of, self.is_negated = of, is_negated
        catalogue = of.catalogue
        is_deep = of.nesting >= catalogue.limits.nesting
        queries = () if is_deep else catalogue.queries
        found = frozenset(of.fields.names) | {f.token for f in queries}
        if is_negated:
            super().__init__(found, closing=frozenset(of.fields.names) or found)
            return
        words = {"true", "false", "not"} if found else {"true", "false"}
        super().__init__(found | words, closing=frozenset(("true",)))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on after a name, a query or `not`."""
        of = self.of
        make = of.catalogue.automaton.make
        if token == "not":
            return (make(Atom, of, True),), None
        if token in ("true", "false"):
            return (), None
        if token in of.fields.names:
            return (make(Operator, of, of.fields.names[token]),), None
        function = of.catalogue.by_token[token]
        call = make(Arguments, of.catalogue, function, of.calls, of.has_event)
        return (call, make(Inside, of)), None


class Operator(Frame):
    """An operator that takes the type of the name on its left."""

    __slots__ = ("name", "of", "type_")

    def __init__(self, of: Condition, name: str):
        """Allow the operators of the type."""
        self.of, self.name, self.type_ = of, name, of.fields.types[name]
        super().__init__(frozenset(OPERATORS if self.type_ == ANY else operators_of(self.type_)))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with a value of the type that the operator wants."""
        wanted = operand_type(token, self.type_)
        assert wanted is not None
        of = self.of
        lenient = not is_identifier(self.name, self.type_, token)
        fit = of.catalogue.fit(wanted, is_compared=True, lenient=lenient)
        make = of.catalogue.automaton.make
        return (make(ValueFrame, of.catalogue, fit, of.scope, of.has_event, False),), None


class Inside(Wait):
    """The condition of a get predicate, on the outputs of its call."""

    __slots__ = ("of",)

    def __init__(self, of: Condition):
        """Keep what is around it."""
        super().__init__()
        self.of = of

    def resume(self, result: Found) -> Move:
        """Go on with a predicate in braces."""
        of, token = self.of, self.of.catalogue.automaton.token
        outer = of.calls
        scope = of.catalogue.under(outer, result.scope)
        inner = replace(of, fields=result.scope, scope=scope, calls=scope, nesting=of.nesting + 1)
        return (token("{"), *predicate(inner), token("}")), None


class More(Frame):
    """Another comparison after `or`, another clause after `and`, or the end."""

    __slots__ = ("clauses", "of", "operands")

    def __init__(self, of: Condition, clauses: int, operands: int):
        """Allow words up to the limits."""
        self.of, self.clauses, self.operands = of, clauses, operands
        limits = of.catalogue.limits
        words = {"and"} if clauses < limits.clauses else set()
        if operands < limits.alternatives:
            words.add("or")
        super().__init__(frozenset(words), closing=NOTHING, skips=True)

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with a comparison."""
        is_or = token == "or"
        clauses = self.clauses + (not is_or)
        make = self.of.catalogue.automaton.make
        more = make(More, self.of, clauses, self.operands + 1 if is_or else 1)
        return (make(Atom, self.of, False), more), None
