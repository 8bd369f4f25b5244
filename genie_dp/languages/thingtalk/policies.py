"""The program that a policy allows a person (TACL; Genie, section 6.2): restricted, or none.

A policy speaks of programs with at most one query function and one action. Its predicates are on
outputs and inputs: on an output, it becomes a filter; on an input that is a constant it is decided
here; on an input that takes an output, it becomes a filter on that output. Conditions that cannot
be decided are refused, and so is a program whose conditions ask another query: whether something
comes of it would reveal the answer of that query.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from genie_dp.errors import GenieError
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.operators import Moment, compare, evaluate, satisfies
from genie_dp.languages.thingtalk.predicates import (
    canonical_predicate,
    passed_names,
    value_names,
)
from genie_dp.languages.thingtalk.traverse import functions_used

# A value of the event or of nobody, and values that cannot be compared (operators.py).
_UNKNOWN = frozenset({"C003", "C004", "C005"})


@dataclass(frozen=True, slots=True)
class _Undecided(Exception):
    """A condition on an input that nobody gave, or on a query where none can be asked."""


def allowed(
    policy: tt.Policy,
    source: tt.Value,
    program: tt.Program,
    signatures: Signatures,
    *,
    moment: Moment,
) -> tt.Program | None:
    """Return the program as far as a policy lets a person run it, None if it does not at all.

    Args:
        policy: the permission.
        source: the person who asks.
        program: the requested program; one that does more than one query and one action, or has
            more than one rule, is refused. A query in a condition is one, too.
        signatures: distinguish the outputs of a query from its inputs.
        moment: when they ask; conditions on constants are decided as of then.

    >>> from datetime import datetime
    >>> from genie_dp.languages.thingtalk.ast import EntityValue
    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> from genie_dp.languages.thingtalk.render import render
    >>> from genie_dp.languages.library import Parameter, Signature
    >>> from genie_dp.languages.types import STRING
    >>> class Mail:
    ...     def function(self, class_name, name):
    ...         return Signature(class_name, name, "query", (Parameter("label", "out", STRING),))
    >>> policy = parse('source == "bob" : now => @mail.inbox filter label == "work" => notify')
    >>> asked = parse("now => @mail.inbox() => notify")
    >>> bob, now = EntityValue("b2", "tt:contact", "Bob"), Moment(datetime(2026, 11, 20))
    >>> print(render(allowed(policy, bob, asked, Mail(), moment=now)))
    now => (@mail.inbox()) filter label == "work" => notify
    """
    if len(program.rules) != 1:
        return None
    rule = program.rules[0]
    try:
        if not _decide(policy.source, {"source": source}, moment):
            return None
        restricted_rule = _restrict_rule(rule, policy, signatures, moment)
    except _Undecided:
        return None
    return None if restricted_rule is None else tt.Program((restricted_rule,), span=program.span)


def _restrict_rule(
    rule: tt.Rule, policy: tt.Policy, signatures: Signatures, moment: Moment
) -> tt.Rule | None:
    # Those inside of conditions, too: what they tell of their results is told by what remains.
    calls = [f for part in (rule.stream, rule.query) if part for f in functions_used(part)]
    if len(calls) > 1 or not _speaks_of(policy.action, rule.action):
        return None
    if not calls:
        # `* => @f` lets any query go before: so does it let none.
        needs_query = not (policy.query is None or _is_any(policy.query))
        return None if needs_query else _action_alone(rule, policy, moment)
    call = calls[0]
    if (
        not isinstance(call, tt.Call)
        or not isinstance(policy.query, tt.PolicyFunction)
        or not _names(policy.query, call)
    ):
        return None
    signature = signatures.function(call.selector.class_name, call.function)
    outputs = frozenset(p.name for p in signature.outputs) if signature else frozenset()
    condition = _specialize(policy.query.predicate, _inputs(call), outputs, moment)
    rule = _filtered_at_call(rule, condition)
    if not isinstance(policy.action, tt.PolicyFunction) or not isinstance(rule.action, tt.Call):
        return rule
    inputs = _inputs(rule.action)
    return _filter_rule(rule, _specialize(policy.action.predicate, inputs, frozenset(), moment))


def _action_alone(rule: tt.Rule, policy: tt.Policy, moment: Moment) -> tt.Rule | None:
    if not isinstance(policy.action, tt.PolicyFunction) or not isinstance(rule.action, tt.Call):
        return None
    return rule if _decide(policy.action.predicate, _inputs(rule.action), moment) else None


def _speaks_of(function: tt.PolicyFunction | tt.Hole | None, action: tt.Action) -> bool:
    if isinstance(action, tt.Notify):
        return function is None
    return (
        isinstance(action, tt.Call)
        and isinstance(function, tt.PolicyFunction)
        and _names(function, action)
    )


def _names(function: tt.PolicyFunction, call: tt.Call) -> bool:
    """Return whether a policy's function, `@c.*` or `*` is that of a call."""
    if function.class_name is None:
        return True
    same_class = function.class_name == call.selector.class_name
    return same_class and function.function in (None, call.function)


def _is_any(function: tt.PolicyFunction | tt.Hole) -> bool:
    return isinstance(function, tt.PolicyFunction) and function.class_name is None


def _inputs(call: tt.Call) -> dict[str, tt.Value]:
    return {a.name: a.value for a in call.args if not isinstance(a.value, tt.Undefined)}


# ------------------------------------------------------------------------------- conditions


def _decide(predicate: tt.Predicate, inputs: Mapping[str, tt.Value], moment: Moment) -> bool:
    """Return the truth of a condition on constants."""
    condition = _specialize(predicate, inputs, frozenset(), moment)
    if isinstance(condition, tt.TrueP | tt.FalseP):
        return isinstance(condition, tt.TrueP)
    raise _Undecided


def _specialize(
    predicate: tt.Predicate, inputs: Mapping[str, tt.Value], outputs: frozenset[str], moment: Moment
) -> tt.Predicate:
    """Return a condition on outputs only: inputs are replaced by their values."""

    def visit(node: tt.Predicate) -> tt.Predicate:
        match node:
            case tt.Atom():
                return _atom(node, inputs, outputs, moment)
            case tt.Comparison():
                return _comparison(node, inputs, outputs, moment)
            case tt.And(operands):
                return tt.And(tuple(map(visit, operands)), span=node.span)
            case tt.Or(operands):
                return tt.Or(tuple(map(visit, operands)), span=node.span)
            case tt.Not(operand):
                return tt.Not(visit(operand), span=node.span)
            case tt.GetPredicate():
                if not outputs.issuperset(passed_names(node)):
                    raise _Undecided
                return node
            case tt.TrueP() | tt.FalseP():
                return node
            case _:
                assert_never(node)

    # First in one form, so that what falls away there is never undecided.
    return canonical_predicate(visit(canonical_predicate(predicate)))


def _atom(
    atom: tt.Atom, inputs: Mapping[str, tt.Value], outputs: frozenset[str], moment: Moment
) -> tt.Predicate:
    left = _resolve_input(tt.VarRef(atom.name, span=atom.span), inputs, outputs)
    right = _resolve_input(atom.value, inputs, outputs)
    if isinstance(left, tt.VarRef):
        return tt.Atom(left.name, atom.operator, right, span=atom.span)
    if isinstance(right, tt.VarRef) and atom.operator not in _FLIPPED:
        raise _Undecided
    if isinstance(right, tt.VarRef):
        return tt.Atom(right.name, _FLIPPED[atom.operator], left, span=atom.span)
    try:
        left, right = evaluate(left, {}, moment), evaluate(right, {}, moment)
        return tt.TrueP() if compare(left, atom.operator, right) else tt.FalseP()
    except GenieError as error:  # an event, a placeholder, money of another country
        if any(problem.code not in _UNKNOWN for problem in error.problems):
            raise
        raise _Undecided from None


def _comparison(
    node: tt.Comparison, inputs: Mapping[str, tt.Value], outputs: frozenset[str], moment: Moment
) -> tt.Predicate:
    """Return a comparison of a computed value, decided where it is one of inputs alone."""
    names = {*value_names(node.left), *value_names(node.value)}
    if outputs.issuperset(names):
        return node
    if not names <= inputs.keys() - outputs:
        raise _Undecided
    try:
        return tt.TrueP() if satisfies(node, inputs, moment) else tt.FalseP()
    except GenieError as error:
        if any(problem.code not in _UNKNOWN for problem in error.problems):
            raise
        raise _Undecided from None


# operator -> the one that holds of the same two values the other way round.
_FLIPPED = {
    "==": "==", ">=": "<=", "<=": ">=", ">": "<", "<": ">", "=~": "~=", "~=": "=~",
    "contains": "in_array", "in_array": "contains", "starts_with": "prefix_of",
    "prefix_of": "starts_with", "ends_with": "suffix_of", "suffix_of": "ends_with",
}  # fmt: skip


def _resolve_input(
    value: tt.Value, inputs: Mapping[str, tt.Value], outputs: frozenset[str]
) -> tt.Value:
    """Return the value of an input; other values and outputs as they are."""
    if isinstance(value, tt.VarRef) and value.name in inputs:
        return inputs[value.name]
    if not outputs.issuperset(value_names(value)):
        raise _Undecided
    return value


# ------------------------------------------------------------------------- putting it in


def _filtered_at_call(rule: tt.Rule, condition: tt.Predicate) -> tt.Rule:
    """Return the rule with a filter right on the one call that it gets results from."""
    if isinstance(condition, tt.TrueP):
        return rule
    query = None if rule.query is None else _filtered_query(rule.query, condition)
    stream = None if rule.stream is None else _filtered_stream(rule.stream, condition)
    return tt.Rule(stream, query, rule.action, span=rule.span)


def _filtered_query(query: tt.Query, condition: tt.Predicate) -> tt.Query:
    match query:
        case tt.Call():
            return tt.Filter(query, condition, span=query.span)
        case tt.Filter() | tt.Aggregate() | tt.Projection() | tt.Sort() | tt.Slice():
            return replace(query, query=_filtered_query(query.query, condition))
        case tt.Join() | tt.Hole():
            raise _Undecided
        case _:
            assert_never(query)


def _filtered_stream(stream: tt.Stream, condition: tt.Predicate) -> tt.Stream:
    match stream:
        case tt.Monitor() | tt.StreamJoin():
            return replace(stream, query=_filtered_query(stream.query, condition))
        case tt.Edge() | tt.StreamFilter():
            return replace(stream, stream=_filtered_stream(stream.stream, condition))
        case tt.AtTimer() | tt.Timer() | tt.Hole():
            return stream
        case _:
            assert_never(stream)


def _filter_rule(rule: tt.Rule, condition: tt.Predicate) -> tt.Rule:
    """Return the rule with a filter on all that its action sees."""
    if isinstance(condition, tt.TrueP):
        return rule
    if rule.query is not None:
        query = tt.Filter(rule.query, condition, span=rule.query.span)
        return tt.Rule(rule.stream, query, rule.action, span=rule.span)
    if rule.stream is None:
        raise _Undecided
    stream = tt.StreamFilter(rule.stream, condition, span=rule.stream.span)
    return tt.Rule(stream, None, rule.action, span=rule.span)
