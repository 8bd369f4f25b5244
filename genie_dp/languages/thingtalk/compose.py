"""The constructs of ThingTalk over canonical pieces: each takes pieces and returns one, or None.

None means that the pieces do not go together (a query that cannot be monitored, a parameter
filtered twice). Each operation keeps the canonical form of Genie section 2.4 by local rules:
clauses sort on merging, a filter lands on the right-most function (whose outputs it names), a
join without passing orders its sides by their functions. `tests/test_compose.py` compares every
operation with the slow way: build the tree, canonicalise, print.
"""

import re

from genie_dp.languages.thingtalk.predicates import OPPOSITES, TRUTHS
from genie_dp.languages.thingtalk.values import (
    POLICY,
    PROGRAM,
    ActionValue,
    Clause,
    Operand,
    PredicateValue,
    ProgramValue,
    QueryValue,
    StreamValue,
    clauses_text,
    predicate_state,
    query_state,
    stream_state,
)

NOTIFY = "notify"
MOST_CLAUSES = 8  # a person does not say more; keeps disjunction over conjunction from blowing up


def filtered(query: QueryValue, predicate: PredicateValue) -> QueryValue | None:
    """Return `query filter predicate`; None if a name is filtered twice the same way."""
    if predicate.state.function not in (query.state.function, ""):
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
    """Tell whether a condition lets through only what is before a date."""
    return any(o[2] == "<" and f"param:{o[1]}:Date " in o[4] for o in clause)


def conjunction(left: tuple[Clause, ...], right: tuple[Clause, ...]) -> tuple[Clause, ...] | None:
    """Return the sorted union; None if both compare one name: nobody says it in two places."""
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
    other = OPPOSITES.get(operator, operator)
    said = TRUTHS.get(value, value) if operator == "==" else value
    if (other, said) != (operator, value):
        typed, _, _ = text.partition(" ")
        opposite: Operand = (rank, name, other, said, f"{typed} {other} {said}")
        state = predicate_state(operand.state.function, name, other)
        return PredicateValue(((opposite,),), operand.functions, state)
    negated: Operand = (1, name, operator, value, f"not {text}")
    return PredicateValue(((negated,),), operand.functions, operand.state)


def joined(
    left: QueryValue,
    right: QueryValue,
    output: str = "",
    key: str = "",
    *,
    may_commute: bool = True,
    inner: tuple[str, ...] = (),
) -> QueryValue | None:
    """Return `left join right`, passing the typed `output` of left into right's gap.

    `inner` is what the state says of outputs that fit both sides. `may_commute` says that the two
    sides share no output name, so that a join without passing may order them by their functions.
    None for a function joined with itself, a join on the right, an aggregate, or an open gap that
    nothing fills.
    """
    if right.left or left.gap or left.state.is_aggregate or right.state.is_aggregate:
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
    )  # fmt: skip
    return QueryValue(
        right.call,
        left.functions + right.functions,
        state,
        right.clauses,
        f"( {left.text} ) join ",
        tail,
    )


def aggregated(query: QueryValue, operator: str, typed_field: str) -> QueryValue | None:
    """Return `agg operator field of (query)`; the field is "" for count."""
    if not query.state.is_list or query.state.is_aggregate or query.gap:
        return None
    field = f" {typed_field}" if typed_field else ""
    state = query_state("", query.state.class_name, False, query.state.is_monitorable, False, True)
    text = f"aggregate {operator}{field} of ( {query.text} )"
    return QueryValue(text, query.functions, state)


def monitored(query: QueryValue, on_new: tuple[str, ...] = ()) -> StreamValue | None:
    """Return `monitor (query) on new [names]`; names are typed and sorted."""
    if not query.state.is_monitorable or query.gap:
        return None
    fields = f" on new [ {' , '.join(on_new)} ]" if on_new else ""
    state = stream_state(query.state.function)
    return StreamValue(f"monitor ( {query.text} ){fields}", query.functions, state)


def edge(stream: StreamValue, predicate: PredicateValue) -> StreamValue | None:
    """Return `edge (stream) on predicate`."""
    if stream.state.function != predicate.state.function or stream.state.is_edge:
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


def rule(
    stream: StreamValue | None, query: QueryValue | None, action: ActionValue | None
) -> ProgramValue | None:
    """Return `stream => query => action`; no stream is `now`, no action is `notify`."""
    if (query is not None and query.gap) or (action is not None and action.gap):
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


_NEXT_ARGUMENT = re.compile(r" (?=param:\w+:\S+ = )")


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
