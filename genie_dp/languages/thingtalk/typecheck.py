"""The type checker: all mistakes of a program at once, each with its place and what to do next.

Codes:

| T001 unknown class | T003 unknown function | T004 query used as action, or action as query |
| T002 value of the wrong type | T005 unknown input | T006 output given as input |
| T007 parameter given twice | T008 enum value not in the list | T009 name not in scope |
| T010 passed output of the wrong type | T011 filter on an unknown output |
| T012 operator has no overload | T013 predicate over an action | T014 query not monitorable |
| T015 edge on a timer | T016 aggregate of an unknown field | T017 of a non-numeric field |
| T018 `on new` of an unknown output | T019 nothing to notify of | T020 `$event` without event |
| T021 policy's source is no contact | T022 unknown unit | T023 units do not add up |
| T024 edge of a unit that is not of time | T025 list of mixed types | T026 unknown placeholder |
| T027 unknown value of the context | T028 unknown aggregation |

Rows of tables have the next one (`language.row`), classes T030 to T039 (`typecheck_classes`),
`tokens` T040 to T042.

| T043 unknown attribute of a device | T044 one that is no constant | T045 interval of nothing |
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from genie_dp.errors import Problem, with_article
from genie_dp.languages.thingtalk.assign import CONTACT, is_numeric
from genie_dp.languages.thingtalk.ast import (
    Action,
    Aggregate,
    And,
    Arg,
    ArrayValue,
    Atom,
    AtTimer,
    Call,
    Edge,
    FalseP,
    Filter,
    GetPredicate,
    Hole,
    Join,
    Lambda,
    Monitor,
    Not,
    Notify,
    Or,
    Policy,
    PolicyFunction,
    Predicate,
    Program,
    Projection,
    Query,
    Rule,
    Stream,
    StreamFilter,
    StreamJoin,
    Timer,
    TrueP,
    Value,
)
from genie_dp.languages.thingtalk.scope import EMPTY, OPEN, Scope, aggregate_scope, scope_of
from genie_dp.languages.thingtalk.signatures import Signatures
from genie_dp.languages.thingtalk.traverse import source_calls
from genie_dp.languages.thingtalk.typecheck_calls import arguments, check_call, check_predicate
from genie_dp.languages.thingtalk.typecheck_report import (
    Report,
    find_class,
    find_function,
    listed,
    name_hint,
)
from genie_dp.languages.thingtalk.typecheck_values import expect, expect_interval, type_of
from genie_dp.languages.thingtalk.types import DATE, TIME, Array, Type
from genie_dp.languages.thingtalk.unread import UNREAD

Checkable = (
    Program | Policy | Rule | Lambda | Query | Stream | Action | Predicate | Projection | Value
)

_AGGREGATES = ("max", "min", "sum", "avg", "count")


def check(
    program: Checkable,
    signatures: Signatures,
    *,
    parameters: Mapping[str, Type] | None = None,
    fields: Mapping[str, Type] | None = None,
) -> list[Problem]:
    """Return all type mistakes of a program, or of a piece of one, in the order of the text.

    Required inputs that are left out are no mistake: the assistant asks for them.

    Args:
        program: a program, a policy, or a piece of one with or without its lambda. A function on
            its own may be a query or an action; a predicate on its own may speak of any output.
        signatures: the skill library.
        parameters: names that are in scope everywhere, such as those of a lambda.
        fields: outputs that a predicate on its own may speak of, in place of any.

    >>> from types import SimpleNamespace
    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None, class_names=tuple)
    >>> [p.message for p in check(parse("now => @com.x.post(a = b)"), nothing)]
    ["expected a class of the library, got '@com.x'", "expected an output in scope, got 'b'"]
    """
    report = Report(signatures)
    report.parameters.update(parameters or {})
    outer = Scope(dict(parameters or {}))
    if isinstance(program, Lambda):
        report.parameters.update(name for name, _ in program.parameters)
        outer = outer.under(Scope(dict(program.parameters)))
        program = program.body
    if fields is not None and isinstance(program, Predicate):
        check_predicate(program, Scope(fields), outer, report)
    else:
        _any(program, outer, report)
    return report.problems


def _any(node: Checkable, outer: Scope, report: Report) -> None:
    match node:
        case Program(rules):
            for rule in rules:
                _rule(rule, outer, report)
        case Rule():
            _rule(node, outer, report)
        case Policy():
            _policy(node, outer, report)
        case Lambda(parameters, body):
            report.parameters.update(name for name, _ in parameters)
            _any(body, outer.under(Scope(dict(parameters))), report)
        case _:
            _piece(node, outer, report)


def _piece(
    node: Query | Stream | Action | Predicate | Projection | Value, outer: Scope, report: Report
) -> None:
    match node:
        case Call():
            _alone(node, outer, report)
        case Filter() | Join() | Aggregate():
            _query(node, outer, report)
        case AtTimer() | Timer() | Monitor() | Edge() | StreamFilter() | StreamJoin():
            _stream(node, outer, report)
        case Projection():
            _projection(node, outer, report)
        case Notify() | Hole():
            return
        case TrueP() | FalseP() | Not() | And() | Or() | Atom() | GetPredicate():
            check_predicate(node, OPEN, outer, report)
        case _:
            type_of(node, outer, report)


def _projection(node: Projection, outer: Scope, report: Report) -> None:
    scope = _query(node.query, outer, report)
    if scope.get(node.output) is None:
        message = f"expected an output of the query after '.', got '{node.output}'"
        hint = name_hint(node.output, sorted(scope.types), "outputs")
        report.add("T011", message, node.output_span or node.span, hint)


def _alone(call: Call, outer: Scope, report: Report) -> None:
    """Check a call that may be a query or an action."""
    selector = call.selector
    signature = report.signatures.function(selector.class_name, call.function)
    check_call(call, signature.kind if signature else "query", outer, report)


# --------------------------------------------------------------------------- rules and policies


def _rule(rule: Rule, outer: Scope, report: Report) -> None:
    report.has_event = rule.stream is not None
    scope = outer
    if rule.stream is not None:
        scope = scope.under(_stream(rule.stream, outer, report))
    if rule.query is not None:
        scope = scope.under(_query(rule.query, scope, report))
        report.has_event = True  # the result itself
    match rule.action:
        case Notify():
            if not report.has_event:
                message = "expected a query before 'notify', got 'now'"
                hint = "say what to show: now => @class.query() => notify"
                report.add("T019", message, rule.action.span or rule.span, hint)
        case Call():
            check_call(rule.action, "action", scope, report)
        case Hole():
            return
        case _:
            assert_never(rule.action)


def _policy(policy: Policy, outer: Scope, report: Report) -> None:
    report.has_event = False
    _source(policy.source, outer, report)
    if policy.query is not None:
        _policy_function(policy.query, "query", outer, report)
    if policy.action is not None:
        _policy_function(policy.action, "action", outer, report)


def _source(predicate: Predicate, outer: Scope, report: Report) -> None:
    """Check the condition on the person: comparisons of `source` with contacts."""
    match predicate:
        case Not(operand):
            _source(operand, outer, report)
        case And(operands) | Or(operands):
            for operand in operands:
                _source(operand, outer, report)
        case Atom():
            _source_atom(predicate, outer, report)
        case TrueP() | FalseP() | GetPredicate():
            check_predicate(predicate, EMPTY, outer, report)
        case _:
            assert_never(predicate)


def _source_atom(atom: Atom, outer: Scope, report: Report) -> None:
    hint = 'write source == "name"^^tt:contact'
    if atom.name != "source":
        message = f"expected a test of 'source' before ':', got '{atom.name}'"
        report.add("T021", message, atom.span, hint)
        type_of(atom.value, outer, report)
        return
    before = len(report.problems)
    check_predicate(atom, Scope({"source": CONTACT}), outer, report)
    for index, problem in enumerate(report.problems[before:], before):
        if problem.code in ("T002", "T010"):
            changed = Problem("T021", problem.message, problem.span, hint)
            report.problems[index] = changed


def _policy_function(
    function: PolicyFunction | Hole, kind: str, outer: Scope, report: Report
) -> None:
    if isinstance(function, Hole):
        return
    fields = EMPTY
    if function.class_name is not None and function.function is None:
        find_class(function.class_name, None, function.span, report)
    elif function.class_name is not None and function.function is not None:
        signature = find_function(function.class_name, function.function, function.span, report)
        # A policy speaks of what is given as much as of what comes back (TACL, Genie 6.2).
        fields = scope_of(signature.parameters) if signature is not None else OPEN
        if signature is not None and signature.kind != kind:
            wanted = f"{with_article(kind)} {'last' if kind == 'action' else 'first'}"
            report.add(
                "T004",
                f"expected {wanted}, got the {signature.kind} '{signature.qualified}'",
                function.span,
                f"now => {signature.qualified} => notify"
                if signature.kind == "query"
                else f"now => {signature.qualified}",
            )
    what = "a parameter of the function"
    check_predicate(function.predicate, fields, outer, report, what=what)


# -------------------------------------------------------------------------------------- streams


def _stream(stream: Stream, outer: Scope, report: Report) -> Scope:
    match stream:
        case AtTimer(time):
            several = isinstance(time, ArrayValue) and time.items
            with report.no_event():
                expect(time, Array(TIME) if several else TIME, "time", outer, report)
            return EMPTY
        case Timer(base, interval):
            with report.no_event():
                expect(base, DATE, "base", outer, report)
                expect_interval(interval, outer, report)
            return EMPTY
        case Monitor():
            return _monitor(stream, outer, report)
        case Edge():
            return _edge(stream, outer, report)
        case StreamFilter(inner, predicate):
            scope = _stream(inner, outer, report)
            check_predicate(predicate, scope, outer, report)
            return scope
        case StreamJoin(inner, query, passing):
            left = _stream(inner, outer, report)
            right = _query(query, outer.under(left), report)
            _passing(passing, query, left, report)
            return left.under(right)
        case Hole():
            return OPEN
        case _:
            assert_never(stream)


def _monitor(stream: Monitor, outer: Scope, report: Report) -> Scope:
    with report.no_event():
        scope = _query(stream.query, outer, report)
    for call in source_calls(stream.query):
        _monitorable(call, report)
    spans = stream.on_new_spans or (stream.span,) * len(stream.on_new)
    for name, span in zip(stream.on_new, spans, strict=True):
        if scope.get(name) is None:
            report.add(
                "T018",
                f"expected an output of the query after 'on new', got '{name}'",
                span,
                name_hint(name, sorted(scope.types), "outputs"),
            )
    return scope


def _monitorable(call: Call, report: Report) -> None:
    class_name = call.selector.class_name
    signature = report.signatures.function(class_name, call.function)
    if signature is None or signature.kind != "query" or signature.is_monitorable:
        return
    others = [
        name
        for name in report.signatures.function_names(class_name)
        if (other := report.signatures.function(class_name, name)) and other.is_monitorable
    ]
    report.add(
        "T014",
        f"expected a query that can be monitored, got '{signature.qualified}'",
        call.span,
        f"ask at times: timer(base=now, interval=1h) => ..; monitorable in its class: "
        f"{listed(others)}",
    )


def _edge(stream: Edge, outer: Scope, report: Report) -> Scope:
    scope = _stream(stream.stream, outer, report)
    if isinstance(stream.stream, AtTimer | Timer):
        message = "expected a stream of results after 'edge', got a timer"
        hint = "a timer has no values that change: use it without 'edge'"
        report.add("T015", message, stream.span, hint)
        scope = OPEN
    check_predicate(stream.predicate, scope, outer, report)
    return scope


# -------------------------------------------------------------------------------------- queries


def _query(query: Query, outer: Scope, report: Report) -> Scope:
    match query:
        case Call():
            return check_call(query, "query", outer, report)
        case Filter(inner, predicate):
            scope = _query(inner, outer, report)
            check_predicate(predicate, scope, outer, report)
            return scope
        case Join(left, right, passing):
            left_scope = _query(left, outer, report)
            right_scope = _query(right, outer.under(left_scope), report)
            _passing(passing, right, left_scope, report)
            return left_scope.under(right_scope)
        case Aggregate():
            return _aggregate(query, outer, report)
        case Hole():
            return OPEN
        case _:
            assert_never(query)


def _passing(passing: tuple[Arg, ...], right: Query, left: Scope, report: Report) -> None:
    """Check `on x = y`: x an input on the right that has no value yet, y an output of the left."""
    calls = list(source_calls(right))
    found = [report.signatures.function(c.selector.class_name, c.function) for c in calls]
    signatures = [signature for signature in found if signature is not None]
    if len(signatures) < len(calls) or not calls:
        for arg in passing:
            type_of(arg.value, left, report)
        return
    arguments(passing, signatures, left, report, _given(calls, right))


def _given(calls: Sequence[Call], query: Query) -> set[tuple[int, str]]:
    """Return the inputs of calls, by their place, that have a value or get one by a join inside.

    What such a join passes counts as given in all calls of its right side.
    """
    given = {(i, arg.name) for i, call in enumerate(calls) for arg in call.args}
    while isinstance(query, Filter | Aggregate):
        query = query.query
    if isinstance(query, Join):
        first = len(list(source_calls(query.left)))
        given |= {(i, arg.name) for arg in query.passing for i in range(first, len(calls))}
    return given


def _aggregate(query: Aggregate, outer: Scope, report: Report) -> Scope:
    scope = _query(query.query, outer, report)
    if query.operator not in _AGGREGATES:
        message = f"expected an aggregation, got '{query.operator}'"
        hint = name_hint(query.operator, _AGGREGATES, "aggregations")
        report.add("T028", message, query.span, hint)
        return OPEN
    if query.field is None:
        if query.operator != "count":
            message = f"expected an output after '{query.operator}', got none"
            report.add("T016", message, query.span, _numeric_outputs(scope))
            return OPEN
        return aggregate_scope("count", None)
    if query.operator == "count":
        message = f"expected nothing to count but results, got '{query.field}'"
        report.add("T016", message, query.field_span or query.span, UNREAD["count"])
        return aggregate_scope("count", None)
    field = scope.get(query.field)
    if field is None:
        message = f"expected an output of the query after '{query.operator}', got '{query.field}'"
        hint = name_hint(query.field, sorted(scope.types), "outputs")
        report.add("T016", message, query.field_span or query.span, hint)
    elif not is_numeric(field):
        message = f"expected a number for '{query.operator}', got '{query.field}' of type {field}"
        report.add("T017", message, query.field_span or query.span, _numeric_outputs(scope))
    return aggregate_scope(query.operator, field)


def _numeric_outputs(scope: Scope) -> str:
    numeric = sorted(name for name, type_ in scope.types.items() if is_numeric(type_))
    return f"outputs with numbers: {listed(numeric)}"
