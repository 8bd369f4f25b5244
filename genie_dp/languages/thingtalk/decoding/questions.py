"""Projections, sorts and indices: what stands after a query in brackets.

A program has them only where some program that the grammar was made of has (`Constants`).
"""

from decimal import Decimal

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame, Move, Wait
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, Need, QueryFacts
from genie_dp.languages.thingtalk.decoding.conditions import (
    COMPUTED,
    ConditionScope,
    computable,
    computed,
    computed_of,
)
from genie_dp.languages.thingtalk.from_tokens import is_number_token
from genie_dp.languages.thingtalk.operators import is_ordered
from genie_dp.languages.types import ANY, NUMBER, Type, slot_type

Outputs = tuple[tuple[str, Type], ...]


def may_select(of: ConditionScope, need: Need | None) -> bool:
    """Tell whether a projection can keep something, and what is needed."""
    return need.name in of.fields.types if need is not None else bool(of.fields.types)


class Kept(Frame):
    """The next output of a projection: computed ones first, then names in their order.

    Where an output is needed it is the only one.

    Attributes:
        of: the outputs of the query.
        query: the query.
        need: what the outputs must hold, or None.
        keeps_all: whether all outputs of the query stay.
        kept: the outputs so far, by name.
        last: the last name so far.
    """

    __slots__ = ("keeps_all", "kept", "last", "names", "need", "of", "query")

    def __init__(
        self,
        of: ConditionScope,
        query: QueryFacts,
        need: Need | None,
        keeps_all: bool = False,
        kept: Outputs = (),
        last: str = "",
    ):
        self.of, self.query, self.need = of, query, need
        self.keeps_all, self.kept, self.last = keeps_all, kept, last
        fields = of.fields
        names = {n for n in fields.types if n > last} if need is None else {need.name}
        self.names = {fields.tokens[name]: name for name in names - dict(kept).keys()}
        fixed = frozenset(self.names)
        if need is None and not last:
            fixed |= self._computable()
        if not kept and not keeps_all and need is None:
            fixed |= {"*"}
        super().__init__(fixed, closing=frozenset(self.names) or None)

    def _computable(self) -> frozenset[str]:
        """Return the operators that compute something new."""
        taken, fields = dict(self.kept), self.of.fields
        return frozenset(
            operator
            for operator in computable(self.of.catalogue, fields)
            if any(
                f"{operator}.{fields.names[t]}" not in taken for t in computed_of(fields, operator)
            )
        )

    def after(self, output: tuple[str, Type] | None) -> Frame:
        """Return what comes after an output; None is all of them."""
        make = self.of.catalogue.automaton.make
        kept = self.kept if output is None else (*self.kept, output)
        is_name = output is not None and output[0] in self.of.fields.types
        last = output[0] if is_name and output is not None else self.last
        parts = (self.of, self.query, self.need, self.keeps_all or output is None, kept, last)
        return make(AfterKept, *parts)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a comma or the end."""
        if token == "*":
            return (self.after(None),), None
        if token in self.names:
            name = self.names[token]
            return (self.after((name, self.of.fields.types[name])),), None
        make = self.of.catalogue.automaton.make
        taken = frozenset(name for name, _ in self.kept)
        fields = {
            name: type_
            for name, type_ in self.of.fields.types.items()
            if f"{token}.{name}" not in taken
        }
        catalogue = self.of.catalogue
        inner = ConditionScope(
            catalogue, catalogue.scope(fields), self.of.scope, self.of.calls,
            self.of.has_event, self.of.nesting,
        )  # fmt: skip
        return (*computed(inner, token), make(AfterComputed, self)), None


class AfterComputed(Wait):
    """After a computed output of a projection."""

    __slots__ = ("place",)

    def __init__(self, place: Kept):
        super().__init__()
        self.place = place

    def resume(self, result: tuple[str, Type]) -> Move:
        """Go on with a comma or the end."""
        return (self.place.after(result),), None


class AfterKept(Frame):
    """A comma and another output, or the end of a projection; leaves its facts."""

    __slots__ = ("following", "result_facts")

    def __init__(
        self,
        of: ConditionScope,
        query: QueryFacts,
        need: Need | None,
        keeps_all: bool,
        kept: Outputs,
        last: str,
    ):
        catalogue = of.catalogue
        following = catalogue.automaton.make(Kept, of, query, need, keeps_all, kept, last)
        may_go_on = bool(following.fixed) and len(kept) < catalogue.limits.items
        self.following = following if may_go_on and need is None else None
        types = {**(of.fields.types if keeps_all else {}), **dict(kept)}
        scope = catalogue.scope(types)
        self.result_facts = catalogue.describe_query(scope, query.calls, query.first, query.passed)
        end = frozenset("]") if kept else NOTHING
        fixed = end | {","} if self.following is not None else end
        super().__init__(fixed, closing=end or fixed)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with another output, or end."""
        if token == "]":
            return (), self.result_facts
        assert self.following is not None
        return (self.following,), None


# ------------------------------------------------------------------------------- sort


def sort_key(of: ConditionScope) -> "SortKey":
    """Return the frame of what a sort orders by."""
    return of.catalogue.automaton.make(SortKey, of)


class SortKey(Frame):
    """An output that is more or less, or a value computed of one."""

    __slots__ = ("of",)

    def __init__(self, of: ConditionScope):
        self.of = of
        fields = of.fields
        names = {
            fields.tokens[name]
            for name, type_ in fields.types.items()
            if type_ == ANY or is_ordered(type_)
        }
        operators = {
            operator
            for operator in computable(of.catalogue, fields)
            if all(map(is_ordered, computed_of(fields, operator).values()))
        }
        super().__init__(frozenset(names | operators), closing=frozenset(names) or None)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on inside of a computed value."""
        return (computed(self.of, token), None) if token in COMPUTED else ((), None)


# ------------------------------------------------------------------------------ slices


def first_place(catalogue: Catalogue) -> "Place":
    """Return the frame of the place of a result, after the opening bracket."""
    return catalogue.automaton.make(Place, catalogue, "1", True)


class Place(Frame):
    """The place of a result: a whole number that is not before `least`, or a placeholder."""

    __slots__ = ("catalogue", "is_first", "least")

    def __init__(self, catalogue: Catalogue, least: str, is_first: bool):
        self.catalogue, self.least, self.is_first = catalogue, least, is_first
        numbers = catalogue.constants.find("number")
        fixed = frozenset(filter(self._is_place, numbers)) | {least}
        super().__init__(fixed, closing=frozenset((least,)))

    def _is_place(self, token: str) -> bool:
        number = Decimal(token)
        return number >= Decimal(self.least) and number == int(number)

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the numbers of the sentence that may stand here."""
        if is_closing:
            return NOTHING
        key = ("places", self.least)
        words: frozenset[str] | None = sentence.kept.get(key)
        if words is None:
            words = sentence.kept[key] = frozenset(filter(self._is_copied, sentence.starts))
        return words

    def _is_copied(self, word: str) -> bool:
        return self._is_place(word) if is_number_token(word) else slot_type(word) == NUMBER

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the last place of a slice, or the end."""
        automaton = self.catalogue.automaton
        if not self.is_first:
            return (automaton.token("]"),), None
        if is_number_token(token) and token not in self.fixed:
            # The last place of a slice must be one that is there without the sentence.
            return (automaton.token("]"),), None
        least = token if is_number_token(token) else "1"
        return (automaton.make(AfterPlace, self.catalogue, least),), None


class AfterPlace(Frame):
    """The end of an index, or the last place of a slice."""

    __slots__ = ("catalogue", "least")

    def __init__(self, catalogue: Catalogue, least: str):
        self.catalogue, self.least = catalogue, least
        super().__init__(frozenset(("]", ":")), closing=frozenset("]"))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the last place."""
        if token == "]":
            return (), None
        return (self.catalogue.automaton.make(Place, self.catalogue, self.least, False),), None
