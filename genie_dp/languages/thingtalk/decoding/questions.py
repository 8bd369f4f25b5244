"""Projections, sorts and indices: the parts in brackets after a query.

A program has them only where some program that the grammar was made of has (`Constants`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame
from genie_dp.languages.terms.frames import Choice, CopyChoice
from genie_dp.languages.thingtalk.ast import COMPUTED
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, Need, QueryFacts
from genie_dp.languages.thingtalk.decoding.conditions import (
    ConditionScope,
    begin_computed,
    computable,
    computed_of,
)
from genie_dp.languages.thingtalk.from_tokens import is_number_token
from genie_dp.languages.thingtalk.operators import is_ordered
from genie_dp.languages.types import ANY, NUMBER, Type, slot_type

Outputs = tuple[tuple[str, Type], ...]


def may_select(of: ConditionScope, need: Need | None) -> bool:
    """Return whether a projection can keep something, and the needed outputs."""
    return need.name in of.fields.types if need is not None else bool(of.fields.types)


@dataclass(frozen=True, slots=True)
class PendingSelect:
    """The outputs of a projection so far.

    Attributes:
        of: the outputs of the query.
        query: the query.
        need: the required outputs, or None.
        keeps_all: whether all outputs of the query stay.
        outputs: those so far, by name.
        last: the last name so far.
    """

    of: ConditionScope
    query: QueryFacts
    need: Need | None
    keeps_all: bool = False
    outputs: Outputs = ()
    last: str = ""

    def add(self, output: tuple[str, Type]) -> "PendingSelect":
        """Return the selection with one more output."""
        last = output[0] if output[0] in self.of.fields.types else self.last
        return replace(self, outputs=(*self.outputs, output), last=last)

    def facts(self) -> QueryFacts:
        """Return the facts about the projection."""
        types = {**(self.of.fields.types if self.keeps_all else {}), **dict(self.outputs)}
        catalogue, query = self.of.catalogue, self.query
        scope = catalogue.scope(types)
        return catalogue.describe_query(scope, query.calls, query.first, query.passed)


def choose_outputs(of: ConditionScope, query: QueryFacts, need: Need | None) -> Frame:
    """Return the first output of a projection, or `*` for all."""
    return _choose_output(PendingSelect(of, query, need))


def _choose_output(selection: PendingSelect) -> Frame:
    """Return the next output of a projection: computed ones first, then names in their order.

    Where an output is needed it is the only one.
    """
    of, need, fields = selection.of, selection.need, selection.of.fields
    automaton, chosen = of.catalogue.automaton, dict(selection.outputs)
    fields_left = {n for n in fields.types if n > selection.last} if need is None else {need.name}
    names = {fields.tokens[name]: name for name in fields_left - chosen.keys()}
    fixed = frozenset(names)
    if need is None and not selection.last:
        fixed |= {
            operator
            for operator in computable(of.catalogue, fields)
            if any(
                f"{operator}.{fields.names[t]}" not in chosen for t in computed_of(fields, operator)
            )
        }
    if not selection.outputs and not selection.keeps_all and need is None:
        fixed |= {"*"}

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "*":
            return (automaton.make(_after_kept, replace(selection, keeps_all=True)),)
        if token in names:
            return _after_output(selection, (names[token], fields.types[names[token]]))
        free = {n: t for n, t in fields.types.items() if f"{token}.{n}" not in chosen}
        inner = replace(of, fields=of.catalogue.scope(free), is_of_list=False, takes_text=False)
        return *begin_computed(inner, token), automaton.after(_after_output, selection)

    return Choice(fixed, following, closing=frozenset(names) or None)


def _after_output(selection: PendingSelect, output: tuple[str, Type]) -> Sequence[Frame]:
    """Go on after an output with a comma or the end."""
    return (selection.of.catalogue.automaton.make(_after_kept, selection.add(output)),)


def _after_kept(selection: PendingSelect) -> Frame:
    """Return a comma and another output, or the end of a projection; leaves its facts."""
    catalogue = selection.of.catalogue
    another = catalogue.automaton.make(_choose_output, selection)
    end = frozenset("]") if selection.outputs else NOTHING
    may_go_on = another.fixed and len(selection.outputs) < catalogue.limits.items
    fixed = end | {","} if may_go_on and selection.need is None else end
    give = catalogue.automaton.give(selection.facts())
    return Choice(
        fixed,
        lambda token, sentence: (give,) if token == "]" else (another,),
        closing=end or fixed,
    )


# ------------------------------------------------------------------------------- sort


def sort_key(of: ConditionScope) -> Frame:
    """Return the keys of a sort: an ordered output, or a value computed of one."""
    return of.catalogue.automaton.make(_sort_key, of)


def _sort_key(of: ConditionScope) -> Frame:
    fields = of.fields
    names = frozenset(
        fields.tokens[name]
        for name, type_ in fields.types.items()
        if type_ == ANY or is_ordered(type_)
    )
    operators = {
        operator
        for operator in computable(of.catalogue, fields)
        if all(map(is_ordered, computed_of(fields, operator).values()))
    }
    return Choice(
        names | operators,
        lambda token, sentence: begin_computed(of, token) if token in COMPUTED else (),
        closing=names or None,
    )


# ------------------------------------------------------------------------------ slices


def first_place(catalogue: Catalogue) -> Frame:
    """Return the frame of the place of a result, after the opening bracket."""
    return catalogue.automaton.make(_place, catalogue, "1", True)


def _place(catalogue: Catalogue, least: str, is_first: bool) -> CopyChoice:
    """Return the place of a result: a whole number not before `least`, or a placeholder."""
    automaton, numbers = catalogue.automaton, catalogue.constants.find("number")
    fixed = frozenset(number for number in numbers if _is_place(number, least)) | {least}

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        is_number = is_number_token(token)
        # The last place of a slice must be one that is there without the sentence.
        if not is_first or (is_number and token not in fixed):
            return (automaton.token("]"),)
        return (automaton.make(_after_place, catalogue, token if is_number else "1"),)

    return CopyChoice(
        fixed,
        lambda sentence, is_closing: NOTHING if is_closing else sentence.find(_find_places, least),
        following,
        closing=frozenset((least,)),
    )


def _is_place(token: str, least: str) -> bool:
    number = Decimal(token)
    return number >= Decimal(least) and number == int(number)


def _find_places(least: str, sentence: CopySentence) -> frozenset[str]:
    return frozenset(
        word
        for word in sentence.starts
        if (_is_place(word, least) if is_number_token(word) else slot_type(word) == NUMBER)
    )


def _after_place(catalogue: Catalogue, least: str) -> Frame:
    """Return the end of an index, or the last place of a slice."""

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        return () if token == "]" else (catalogue.automaton.make(_place, catalogue, least, False),)

    return Choice(frozenset(("]", ":")), following, closing=frozenset("]"))
