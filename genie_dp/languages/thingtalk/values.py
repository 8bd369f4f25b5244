"""Pieces of ThingTalk programs as synthesis makes them: canonical text in parts, no tree.

Building a tree for every row, canonicalising and printing it costs more than all else together
(25 us against 0.2 us a row, measured November 2026). So a piece keeps its canonical token text
in the parts that a further construct may touch, and the operations below keep it canonical:
a new filter merges two sorted clause tuples, a join nests texts.

The classes are slotted and not frozen: freezing triples the cost of making one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import cache, lru_cache
from typing import Any

from genie_dp.languages.library import Signature
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.predicates import OPPOSITES, TRUTHS

Operand = tuple[int, str, str, str, str]
"""One comparison: (rank, parameter or function, operator, value text, whole text).

Rank 0 is a get-predicate, 1 a negation, 2 a plain comparison: tuples sort as canonical form does.
"""
Clause = tuple[Operand, ...]
Names = Sequence[tuple[str, str]]
Slots = tuple[tuple[str, str, str], ...]


def rename(text: str, names: Names) -> str:
    """Return the text with each (old, new) of names replaced, one after the other.

    >>> rename("a b", [("b", "c"), ("a", "b")])
    'b c'
    """
    for old, new in names:
        text = text.replace(old, new)
    return text


def clause_text(clause: Clause) -> str:
    """Return one clause: its operands joined by `or`."""
    return clause[0][4] if len(clause) == 1 else " or ".join(o[4] for o in clause)


def clauses_text(clauses: tuple[Clause, ...]) -> str:
    """Return a conjunction of clauses."""
    if len(clauses) == 1:
        return clause_text(clauses[0])
    return " and ".join(clause_text(c) for c in clauses)


def shift_clauses(clauses: tuple[Clause, ...], names: Names) -> tuple[Clause, ...]:
    """Return the clauses with placeholders renamed, in canonical order again."""
    return tuple(
        sorted(
            tuple(sorted((r, n, o, rename(v, names), rename(t, names)) for r, n, o, v, t in clause))
            for clause in clauses
        )
    )


# ---------------------------------------------------------------------------------- states


@dataclass(frozen=True, slots=True)
class QueryState:
    """The attributes of a query that guards can test; `function` is "" after aggregation.

    `filters` counts the clauses of the right-most function's filter. `is_dated`: the members of the
    list have a date, so that there are new ones from time to time; `only_before`: only those before
    some date, so that there are none. `inner` names those outputs of the function that may be used
    by conditions inside of the phrase as well (inner.py): nothing without a join. `inputs` are the
    inputs of the function that are set, of those with phrases; `attached` counts those that a
    template set that took the query as a child. `is_sorted`, `is_sliced` and `is_projected` are the
    operations on its results.
    """

    function: str
    class_name: str
    is_list: bool
    is_monitorable: bool
    is_join: bool = False
    is_aggregate: bool = False
    is_filtered: bool = False
    filters: int = 0
    is_dated: bool = False
    only_before: bool = False
    inner: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    attached: int = 0
    is_sorted: bool = False
    is_sliced: bool = False
    is_projected: bool = False


@dataclass(frozen=True, slots=True)
class SourceState:
    """The attributes of an output of a query that guards can test."""

    function: str
    name: str
    type: str
    key: str
    is_list: bool
    is_monitorable: bool
    is_join: bool
    is_unique: bool
    is_numeric: bool
    is_ordered: bool
    is_enum: bool
    filters: int
    inputs: tuple[str, ...] = ()
    attached: int = 0


@dataclass(frozen=True, slots=True)
class StreamState:
    """The attributes of a stream that guards can test; `function` is "" for timers."""

    function: str
    is_timer: bool = False
    is_edge: bool = False
    is_projected: bool = False


@dataclass(frozen=True, slots=True)
class ActionState:
    """The attributes of an action that guards can test; `inputs` and `attached` as of a query."""

    function: str
    class_name: str
    inputs: tuple[str, ...] = ()
    attached: int = 0


@dataclass(frozen=True, slots=True)
class PredicateState:
    """The attributes of a predicate that guards can test; name and operator of one comparison."""

    function: str
    name: str = ""
    operator: str = ""


@dataclass(frozen=True, slots=True)
class ParameterState:
    """The attributes of a parameter that guards can test (built-in categories OUTPUT and INPUT)."""

    function: str
    name: str
    type: str
    element: str
    key: str
    is_numeric: bool
    is_ordered: bool
    is_text: bool
    is_boolean: bool
    is_enum: bool
    is_entity: bool
    is_additive: bool
    is_unique: bool


@dataclass(frozen=True, slots=True)
class ConstantState:
    """The attributes of a constant that guards can test."""

    type: str
    key: str


@dataclass(frozen=True, slots=True)
class ProgramState:
    """Programs are complete: nothing is asked of them but whether they are policies."""

    is_policy: bool = False


# Kind -> what guards may ask; OUTPUT and INPUT are the built-in categories of templates.
ATTRIBUTES: Mapping[str, frozenset[str]] = {
    kind: frozenset(f.name for f in fields(state))
    for kind, state in (
        ("query", QueryState), ("source", SourceState), ("stream", StreamState),
        ("action", ActionState), ("predicate", PredicateState), ("value", ConstantState),
        ("output", ParameterState), ("input", ParameterState), ("program", ProgramState),
        ("policy", ProgramState),
    )
}  # fmt: skip

# Interned, so that thousands of pieces share one object and equal states compare fast.
query_state = lru_cache(maxsize=None)(QueryState)
source_state = lru_cache(maxsize=None)(SourceState)
stream_state = lru_cache(maxsize=None)(StreamState)
predicate_state = lru_cache(maxsize=None)(PredicateState)
PROGRAM = ProgramState()
POLICY = ProgramState(is_policy=True)


# ---------------------------------------------------------------------------------- values


# Of a sorted, cut or projected query what stands in its filter.
_FILTER = re.compile(r" filter (.*?) \) (?:sort|\[|select) ")
_CONDITION = re.compile(r"param:([\w.]+):")


@dataclass(slots=True)
class QueryValue:
    """A query: `left` join ( ( `call` ) filter `clauses` ) `tail`; left "" without a join.

    `passed` holds arguments passed from a stream or join into `call`. With an aggregate, `call` is
    the whole finished text, and so it is with a sort, a slice or a projection (`is_wrapped`): these
    stand outside of all filters. `gap_text` is the typed name of the input left open.
    """

    call: str
    functions: tuple[str, ...]
    state: QueryState
    clauses: tuple[Clause, ...] = ()
    left: str = ""
    tail: str = ""
    gap: str = ""
    gap_text: str = ""
    slots: Slots = ()
    kind: str = "query"
    is_wrapped: bool = False
    _text: str = ""

    @property
    def filtered(self) -> tuple[str, ...]:
        """Return the outputs that the filter of the right-most function speaks of."""
        if self.is_wrapped:
            match = _FILTER.search(self.call)
            return tuple(sorted({*_CONDITION.findall(match[1])})) if match else ()
        return tuple(sorted({operand[1] for clause in self.clauses for operand in clause}))

    @property
    def core(self) -> str:
        """Return the right-most function with its filter."""
        if not self.clauses:
            return self.call
        return f"( {self.call} ) filter {clauses_text(self.clauses)}"

    @property
    def text(self) -> str:
        """Return the whole query."""
        if not self._text:
            self._text = f"{self.left}( {self.core} ){self.tail}" if self.left else self.core
        return self._text

    def shift(self, names: Names) -> "QueryValue":
        """Return the query with placeholders renamed."""
        return QueryValue(
            rename(self.call, names),
            self.functions,
            self.state,
            shift_clauses(self.clauses, names) if self.clauses else (),
            rename(self.left, names) if self.left else "",
            self.tail,
            self.gap,
            self.gap_text,
            self.slots,
            is_wrapped=self.is_wrapped,
        )


@dataclass(slots=True)
class SourceValue:
    """An output of a query: something that can be passed into a gap."""

    query: QueryValue
    output: str  # typed name, such as param:title:String
    state: SourceState
    gap: str = ""
    slots: Slots = ()
    kind: str = "source"

    @property
    def text(self) -> str:
        """Return the query's text: ThingTalk 1.x has no projection."""
        return self.query.text

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the query's functions."""
        return self.query.functions

    def shift(self, names: Names) -> "SourceValue":
        """Return the source with placeholders renamed."""
        return SourceValue(self.query.shift(names), self.output, self.state)


@dataclass(slots=True)
class StreamValue:
    """A stream, or a program's beginning."""

    text: str
    functions: tuple[str, ...]
    state: StreamState
    gap: str = ""
    slots: Slots = ()
    kind: str = "stream"

    def shift(self, names: Names) -> "StreamValue":
        """Return the stream with placeholders renamed."""
        return StreamValue(rename(self.text, names), self.functions, self.state)


@dataclass(slots=True)
class ActionValue:
    """An action; `gap_text` is the typed name of the input left open."""

    text: str
    functions: tuple[str, ...]
    state: ActionState
    gap: str = ""
    gap_text: str = ""
    slots: Slots = ()
    kind: str = "action"

    def shift(self, names: Names) -> "ActionValue":
        """Return the action with placeholders renamed."""
        return ActionValue(
            rename(self.text, names), self.functions, self.state, self.gap, self.gap_text
        )


@dataclass(slots=True)
class PredicateValue:
    """A predicate on the outputs of one function: clauses in canonical order."""

    clauses: tuple[Clause, ...]
    functions: tuple[str, ...]
    state: PredicateState
    gap: str = ""
    slots: Slots = ()
    kind: str = "predicate"

    @property
    def text(self) -> str:
        """Return the conjunction."""
        return clauses_text(self.clauses)

    def shift(self, names: Names) -> "PredicateValue":
        """Return the predicate with placeholders renamed."""
        return PredicateValue(shift_clauses(self.clauses, names), self.functions, self.state)


@dataclass(slots=True)
class ConstantValue:
    """A constant: a placeholder or a fixed value; `node` is its syntax tree."""

    text: str
    state: ConstantState
    node: ast.Value
    functions: tuple[str, ...] = ()
    gap: str = ""
    slots: Slots = ()
    kind: str = "value"

    def shift(self, names: Names) -> "ConstantValue":
        """Return the constant with placeholders renamed."""
        node = self.node
        if isinstance(node, ast.SlotValue):
            node = replace(node, token=rename(node.token, names))
        return ConstantValue(rename(self.text, names), self.state, node)


@dataclass(slots=True)
class GapValue:
    """Stands for a placeholder of a leaf that stays open."""

    gap: str
    text: str = ""
    functions: tuple[str, ...] = ()
    state: ConstantState = field(default=ConstantState("", ""))
    slots: Slots = ()
    kind: str = "value"

    def shift(self, names: Names) -> "GapValue":
        """Return itself: an open placeholder has no number."""
        return self


@dataclass(slots=True)
class ParameterValue:
    """A parameter of the library, named in a template body by a child of OUTPUT or INPUT."""

    signature: Signature
    name: str
    typed: str
    state: ParameterState
    functions: tuple[str, ...] = ()
    gap: str = ""
    slots: Slots = ()
    kind: str = "param"

    @property
    def text(self) -> str:
        """Return the parameter with its function: unique in a library."""
        return f"{self.state.function}:{self.name}"

    def shift(self, names: Names) -> "ParameterValue":
        """Return itself: a parameter holds no placeholders."""
        return self


@dataclass(slots=True)
class ProgramValue:
    """A complete program or policy."""

    text: str
    functions: tuple[str, ...]
    state: ProgramState
    gap: str = ""
    slots: Slots = ()
    kind: str = "program"

    def shift(self, names: Names) -> "ProgramValue":
        """Return the program with placeholders renamed."""
        return ProgramValue(rename(self.text, names), self.functions, self.state)


NOTIFY = "notify"
MOST_CLAUSES = 8  # a person does not say more; keeps disjunction over conjunction from blowing up


def filter_query(query: QueryValue, predicate: PredicateValue) -> QueryValue | None:
    """Return `query filter predicate`.

    None if a name is filtered twice the same way, and for a query with a sort, a slice or a
    projection: conditions come first in sentences.
    """
    if query.is_wrapped or predicate.state.function not in (query.state.function, ""):
        return None
    if query.left and any(operand[0] == 0 for clause in predicate.clauses for operand in clause):
        return None  # a get-predicate would move to the first function of the join
    clauses = conjunction(query.clauses, predicate.clauses)
    if clauses is None:
        return None
    state = query.state
    state = query_state(
        state.function, state.class_name, state.is_list, state.is_monitorable,
        state.is_join, state.is_aggregate, True, len(clauses), state.is_dated,
        state.only_before or any(map(_is_before, predicate.clauses)), state.inner,
        state.inputs, state.attached,
    )  # fmt: skip
    return QueryValue(
        query.call,
        query.functions + predicate.functions,
        state,
        clauses,
        query.left,
        query.tail,
        query.gap,
        query.gap_text,
    )


def _is_before(clause: Clause) -> bool:
    """Return whether a condition lets through only values before a date."""
    return any(o[2] == "<" and f"param:{o[1]}:Date " in o[4] for o in clause)


def conjunction(left: tuple[Clause, ...], right: tuple[Clause, ...]) -> tuple[Clause, ...] | None:
    """Return the sorted union; None if both compare one name: no sentence does so in two places."""
    if not left:
        return right
    if len(left) + len(right) > MOST_CLAUSES:
        return None
    names = {operand[1] for clause in left for operand in clause}
    if any(operand[1] in names for clause in right for operand in clause):
        return None
    return tuple(sorted(left + right))


def disjunction(left: PredicateValue, right: PredicateValue) -> PredicateValue | None:
    """Return `left || right` in conjunctive normal form; None if one operand stands in both."""
    if left.state.function != right.state.function:
        return None
    ours = {o for clause in left.clauses for o in clause}
    if any(o in ours for clause in right.clauses for o in clause):
        return None
    if len(left.clauses) * len(right.clauses) > MOST_CLAUSES:
        return None
    clauses = {tuple(sorted(a + b)) for a in left.clauses for b in right.clauses}
    return PredicateValue(
        tuple(sorted(clauses)),
        left.functions + right.functions,
        predicate_state(left.state.function),
    )


def both(left: PredicateValue, right: PredicateValue) -> PredicateValue | None:
    """Return `left && right`."""
    if left.state.function != right.state.function:
        return None
    clauses = conjunction(left.clauses, right.clauses)
    if clauses is None:
        return None
    state = predicate_state(left.state.function)
    return PredicateValue(clauses, left.functions + right.functions, state)


def negation(operand: PredicateValue) -> PredicateValue | None:
    """Return `!operand` of a single comparison; None for anything else."""
    if len(operand.clauses) != 1 or len(operand.clauses[0]) != 1:
        return None
    rank, name, operator, value, text = operand.clauses[0][0]
    if rank == 1:
        return None
    opposite_operator = OPPOSITES.get(operator, operator)
    truth = TRUTHS.get(value, value) if operator == "==" else value
    if (opposite_operator, truth) != (operator, value):
        typed = text.removesuffix(f" {operator} {value}")
        opposite: Operand = (
            rank,
            name,
            opposite_operator,
            truth,
            f"{typed} {opposite_operator} {truth}",
        )
        state = predicate_state(operand.state.function, operand.state.name, opposite_operator)
        return PredicateValue(((opposite,),), operand.functions, state)
    negated: Operand = (1, name, operator, value, f"not {text}")
    return PredicateValue(((negated,),), operand.functions, operand.state)


def join_queries(
    left: QueryValue,
    right: QueryValue,
    output: str = "",
    key: str = "",
    *,
    may_commute: bool = True,
    inner: tuple[str, ...] = (),
) -> QueryValue | None:
    """Return `left join right`, passing the typed `output` of left into right's gap.

    `inner` are the outputs of the state that fit both sides. `may_commute` means that the two
    sides share no output name, so that a join without passing may order them by their functions.
    None for a function joined with itself, a join on the right, an aggregate, or an open gap that
    nothing fills.
    """
    if right.left or left.gap or left.state.is_aggregate or right.state.is_aggregate:
        return None
    if right.is_wrapped or (left.is_wrapped and not (key and left.state.is_sliced)):
        return None
    if left.state.is_projected:
        return None
    if right.gap != key or set(left.functions) & set(right.functions):
        return None
    if key:
        return _beside(left, right, f" on {right.gap_text} = {output}", inner)
    if left.left:
        return None
    if may_commute and (right.state.function, right.text) < (left.state.function, left.text):
        left, right = right, left
    return _beside(left, right, "", inner)


def _beside(left: QueryValue, right: QueryValue, tail: str, inner: tuple[str, ...]) -> QueryValue:
    a, b = left.state, right.state
    state = query_state(
        b.function, b.class_name, a.is_list or b.is_list, a.is_monitorable and b.is_monitorable,
        True, False, a.is_filtered or b.is_filtered, b.filters, b.is_dated, False, inner,
        b.inputs, b.attached,
    )  # fmt: skip
    return QueryValue(
        right.call,
        left.functions + right.functions,
        state,
        right.clauses,
        f"( {left.text} ) join ",
        tail,
    )


def aggregate(query: QueryValue, operator: str, typed_field: str) -> QueryValue | None:
    """Return `agg operator field of (query)`; the field is "" for count."""
    if not query.state.is_list or query.state.is_aggregate or query.gap:
        return None
    if query.state.is_projected or (query.is_wrapped and not query.state.is_sliced):
        return None
    field = f" {typed_field}" if typed_field else ""
    state = query_state("", query.state.class_name, False, query.state.is_monitorable, False, True)
    text = f"aggregate {operator}{field} of ( {query.text} )"
    return QueryValue(text, query.functions, state)


def sort_query(query: QueryValue, key: str, direction: str) -> QueryValue | None:
    """Return `sort(key direction of query)`; the key is in token form.

    None for a value that is no list, or sorted, sliced or projected already.
    """
    if not query.state.is_list or query.is_wrapped or query.gap or query.state.is_aggregate:
        return None
    return _wrap_query(query, f"( {query.text} ) sort {key} {direction}", is_sorted=True)


def slice_query(query: QueryValue, start: str, end: str = "") -> QueryValue | None:
    """Return `query[start]`, or `query[start : end]`; an index leaves one result.

    None for a value that is no list, or sliced or projected already.
    """
    state = query.state
    if not state.is_list or state.is_sliced or state.is_projected or query.gap:
        return None
    if state.is_aggregate:
        return None
    places = f"{start} : {end}" if end and end != start else start
    is_list = bool(end) and end != start
    return _wrap_query(query, f"( {query.text} ) [ {places} ]", is_sliced=True, is_list=is_list)


def project_query(
    query: QueryValue, outputs: Sequence[str], *, keeps_all: bool = False
) -> QueryValue | None:
    """Return `[outputs] of query`; these are in token form and in canonical order.

    None for a value that is projected already, or an aggregation. Without outputs the projection
    means nothing, and is not written.
    """
    if query.state.is_projected or query.state.is_aggregate or query.gap:
        return None
    text = query.text
    if outputs:
        words = " , ".join(["*"] * keeps_all + list(outputs))
        text = f"( {text} ) select [ {words} ]"
    return _wrap_query(query, text, is_projected=True)


def _wrap_query(query: QueryValue, text: str, **flags: Any) -> QueryValue:
    state = _with_flags(query.state, **flags)
    return QueryValue(text, query.functions, state, slots=query.slots, is_wrapped=True)


@cache
def _with_flags(state: QueryState, **flags: Any) -> QueryState:
    return query_state(*astuple(replace(state, **flags)))


def monitor(query: QueryValue, on_new: tuple[str, ...] = ()) -> StreamValue | None:
    """Return `monitor (query) on new [names]`; names are typed and sorted."""
    state = query.state
    if not state.is_monitorable or query.gap:
        return None
    is_sort = state.is_sorted and not state.is_sliced
    if is_sort or (state.is_projected and on_new):
        return None
    fields = f" on new [ {' , '.join(on_new)} ]" if on_new else ""
    stream = stream_state(state.function, is_projected=state.is_projected)
    return StreamValue(f"monitor ( {query.text} ){fields}", query.functions, stream)


def edge(stream: StreamValue, predicate: PredicateValue) -> StreamValue | None:
    """Return `edge (stream) on predicate`."""
    if stream.state.function != predicate.state.function or stream.state.is_edge:
        return None
    if stream.state.is_projected:  # it may hide what the condition speaks of
        return None
    text = f"edge ( {stream.text} ) on {predicate.text}"
    functions = stream.functions + predicate.functions
    return StreamValue(text, functions, stream_state(stream.state.function, is_edge=True))


def passed_to_action(action: ActionValue, output: str, key: str) -> ActionValue | None:
    """Return the action with its gap filled by a typed output name."""
    if not action.gap or action.gap != key:
        return None
    text = f"{action.text} on {action.gap_text} = {output}"
    return ActionValue(text, action.functions, action.state)


def passed_to_query(query: QueryValue, output: str, key: str) -> QueryValue | None:
    """Return the query with its gap filled by an output of the stream before it."""
    if not query.gap or query.gap != key or query.left:
        return None
    call = f"{query.call} on {query.gap_text} = {output}"
    return QueryValue(call, query.functions, query.state, query.clauses)


_NEXT_ARGUMENT = re.compile(r" (?=param:\w+:\S+ = )")


def set_inputs(
    value: ActionValue | QueryValue | SourceValue, arguments: Sequence[tuple[str, str]]
) -> ActionValue | QueryValue | SourceValue | None:
    """Return a piece whose function gets more arguments, (name, tokens), in canonical order.

    None if one of them is set already or twice, for a join, and for a query that something has been
    passed into.

    >>> call = ActionValue("@c.f param:b:Number = 5", ("@c.f",), ActionState("@c.f", "c"))
    >>> set_inputs(call, [("a", "param:a:Number = 1")]).text
    '@c.f param:a:Number = 1 param:b:Number = 5'
    >>> set_inputs(call, [("b", "param:b:Number = 1")]) is None
    True
    """
    if isinstance(value, QueryValue) and value.is_wrapped:
        return None
    names = [name for name, _ in arguments]
    state: Any = replace(
        value.state,
        inputs=tuple(sorted({*value.state.inputs, *names})),
        attached=value.state.attached + len(names),
    )
    if isinstance(value, SourceValue):
        query = set_inputs(value.query, arguments)
        if not isinstance(query, QueryValue):
            return None
        return SourceValue(query, value.output, state, value.gap)
    function, *inputs = _NEXT_ARGUMENT.split(
        value.call if isinstance(value, QueryValue) else value.text
    )
    if inputs and " on param:" in inputs[-1]:
        return None
    typed = {tokens.split(":", 2)[1]: tokens for tokens in inputs}
    is_open = value.gap_text.split(":", 2)[1:2]
    if len({*names, *typed, *is_open}) < len(names) + len(typed) + len(is_open):
        return None
    typed.update(arguments)
    call = " ".join([function, *(typed[name] for name in sorted(typed))])
    if isinstance(value, ActionValue):
        return ActionValue(call, value.functions, state, value.gap, value.gap_text)
    if value.left or value.state.is_aggregate:
        return None
    return QueryValue(
        call, value.functions, state, value.clauses, gap=value.gap, gap_text=value.gap_text
    )


def rule(
    stream: StreamValue | None, query: QueryValue | None, action: ActionValue | None
) -> ProgramValue | None:
    """Return `stream => query => action`; no stream is `now`, no action is `notify`."""
    if (query is not None and query.gap) or (action is not None and action.gap):
        return None
    if action is not None and query is not None and query.state.is_projected:
        return None
    if action is None and query is None and (stream is None or stream.state.is_timer):
        return None
    text, functions = ("now", ()) if stream is None else (stream.text, stream.functions)
    if query is not None:
        text, functions = f"{text} => {query.text}", functions + query.functions
    if action is None:
        return ProgramValue(f"{text} => {NOTIFY}", functions, PROGRAM)
    return ProgramValue(f"{text} => {action.text}", functions + action.functions, PROGRAM)


def policy(
    source: str, query: tuple[str, tuple[Clause, ...]] | None,
    action: tuple[str, tuple[Clause, ...]] | None, functions: tuple[str, ...],
) -> ProgramValue:  # fmt: skip
    """Return `policy source : query => action`, or `policy source : now => ..` with one of them."""
    parts = [_policy_function(*part) for part in (query, action) if part is not None]
    allowed = " => ".join(parts) if len(parts) > 1 else f"now => {parts[0]}"
    end = f" => {NOTIFY}" if action is None else ""
    return ProgramValue(f"policy {source} : {allowed}{end}", functions, POLICY)


def as_policy_function(
    call: str, clauses: tuple[Clause, ...]
) -> tuple[str, tuple[Clause, ...]] | None:
    """Return a call as a policy speaks of it: the function, and its arguments as conditions.

    None for a call to one device (with attributes) or one that passes a parameter.

    >>> as_policy_function("@c.f param:a:Number = 5", ())
    ('@c.f', (((2, 'a', '==', '5', 'param:a:Number == 5'),),))
    """
    function, *arguments = _NEXT_ARGUMENT.split(call)
    if " " in function:
        return None
    conditions = []
    for argument in arguments:
        typed, _, value = argument.partition(" = ")
        if " on param:" in value:
            return None
        name = typed.split(":")[1]
        conditions.append(((2, name, "==", value, f"{typed} == {value}"),))
    merged = conjunction(clauses, tuple(conditions)) if conditions else clauses
    return None if merged is None else (function, merged)


def _policy_function(function: str, clauses: tuple[Clause, ...]) -> str:
    return f"{function} filter {clauses_text(clauses)}" if clauses else function
