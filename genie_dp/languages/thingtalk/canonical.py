"""One program for one meaning (Genie, section 2.4).

A rule goes through RULES, small functions from rule to rule; `joins` puts queries in one form and
`predicates` conditions. The meaning that all keep is that of `simulate`, the interpreter.

- *Stream joins* are the query of the rule: `s => q1 => q2 => a` has the query `q1 join q2`. Only
  under `edge`, or where a filter compares an output of the stream and one of the query in one
  clause, a stream join remains.
- *Filters on streams* move into the monitor as far as the meaning stays: a clause must hold of a
  result at all times alike (no `now`, no `@f() { .. }`), or the monitor inside would also report
  a result whose condition turned true; and with `on new` it may speak of those names only, or the
  monitor inside would take a result for new that the one outside has seen. Other clauses stay.
- *Edges*: conditions that the stream ensures are left out, `edge (edge s on true) on true` is
  one edge, and an edge on false is a filter that is false.
- *Projections* of values passed to an action fall away, as no name is hidden that it uses.
- *A false filter* stays, as the single predicate `false` on the left-most function: a program that
  never does anything is still a program.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk import predicates as cnf
from genie_dp.languages.thingtalk.joins import (
    arrange,
    canonical_query,
    flatten,
    lasting_facts,
    outputs_of,
    resolve,
    settle,
)
from genie_dp.languages.thingtalk.traverse import walk

RulePass = Callable[[tt.Rule, Signatures | None], tt.Rule]


def canonical(
    program: tt.Program | tt.Policy, signatures: Signatures | None = None
) -> tt.Program | tt.Policy:
    """Return the one program that stands for all with this meaning (Genie, section 2.4).

    Signatures define which outputs a function has and which inputs it must have. Without them joins
    keep their order, a clause does not pass a function that could own one of its names, and `$?`
    stays.

    Raises:
        GenieError: C001 if a condition has too many clauses in conjunctive normal form.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> from genie_dp.languages.thingtalk.render import render
    >>> print(render(canonical(parse('now => ((@x.q()) filter b > 1) filter a > 0 => notify'))))
    now => (@x.q()) filter a > 0 && b > 1 => notify
    """
    match program:
        case tt.Program(rules):
            return tt.Program(tuple(_rule(r, signatures) for r in rules), span=program.span)
        case tt.Policy(source, query, action):
            return tt.Policy(
                cnf.canonical_predicate(_about_people(source), signatures),
                _policy_function(query, signatures),
                _policy_function(action, signatures),
                span=program.span,
            )
        case _:
            assert_never(program)


def canonical_stream(stream: tt.Stream, signatures: Signatures | None = None) -> tt.Stream:
    """Return the one stream that stands for all with this meaning."""
    match stream:
        case tt.Monitor(query, on_new):
            form = canonical_query(query, signatures)
            return tt.Monitor(form, _watched_names(on_new, form, signatures), span=stream.span)
        case tt.StreamFilter(inner, predicate):
            if isinstance(inner, tt.StreamJoin | tt.StreamFilter):
                return _stream_of_join(stream, signatures)
            conditions = cnf.clauses(predicate, signatures)
            return _filter_stream(canonical_stream(inner, signatures), conditions, signatures)
        case tt.Edge(inner, predicate):
            return _edge(
                canonical_stream(inner, signatures), cnf.clauses(predicate, signatures), signatures
            )
        case tt.StreamJoin():
            return _stream_of_join(stream, signatures)
        case tt.AtTimer(time):
            time = cnf.canonical_value(time)
            if isinstance(time, tt.ArrayValue) and time.items:
                times = cnf.listed_once(time.items)
                time = tt.ArrayValue(times, span=time.span) if len(times) > 1 else times[0]
            return tt.AtTimer(time, span=stream.span)
        case tt.Timer(base, interval):
            return tt.Timer(
                cnf.canonical_value(base), cnf.canonical_value(interval), span=stream.span
            )
        case tt.Hole():
            return stream
        case _:
            assert_never(stream)


# ------------------------------------------------------------------------------ whole rules


def _rule(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    for step in RULES:
        rule = step(rule, signatures)
    return rule


def stream_joins_to_query(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule with the queries of its stream joins in its query."""
    if not isinstance(rule.stream, tt.StreamJoin | tt.StreamFilter):
        return rule
    stream, query = _split(rule.stream, signatures)
    if query is None:
        return tt.Rule(stream, rule.query, rule.action, span=rule.span)
    if rule.query is not None:
        query = tt.Join(query, rule.query, span=query.span)
    return tt.Rule(stream, query, rule.action, span=rule.span)


def stream_in_one_form(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule with its stream in canonical form."""
    if rule.stream is None:
        return rule
    stream = canonical_stream(rule.stream, signatures)
    form = tt.Rule(stream, rule.query, rule.action, span=rule.span)
    # A simpler stream may be one whose joins can be taken apart after all.
    apart = stream_joins_to_query(form, signatures)
    return form if apart.query is form.query else stream_in_one_form(apart, signatures)


def query_arranged(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule with the projections and sorts of its query outside."""
    if rule.query is None or isinstance(rule.query, tt.Call):
        return rule
    return replace(rule, query=arrange(rule.query, signatures, is_shown=True))


def outer_filters_to_stream(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule with the query's clauses that speak of the stream alone on the stream."""
    stream, query = rule.stream, rule.query
    if stream is not None and isinstance(query, tt.Projection | tt.Sort):
        inner = outer_filters_to_stream(replace(rule, query=query.query), signatures)
        if inner.query is None:
            raise AssertionError("a rule keeps its query")
        return replace(inner, query=replace(query, query=inner.query))
    if stream is None or not isinstance(query, tt.Filter | tt.Join):
        return rule
    links, conditions = flatten(query, signatures)
    outputs = [outputs_of(link.query, signatures) for link in links]
    moved = [
        condition.clause
        for condition, condition_clauses in zip(
            conditions, resolve(conditions, outputs, signatures), strict=True
        )
        if condition_clauses.owners and not condition_clauses.links
    ]
    if not moved:
        return rule
    stream = _filter_stream(stream, moved, signatures)
    return tt.Rule(stream, _without(query, moved, signatures), rule.action, span=rule.span)


def free_filters_to_query(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule with the stream's clauses that speak of no output on the query, if any."""
    stream, query = rule.stream, rule.query
    if query is None or not isinstance(stream, tt.StreamFilter):
        return rule
    stream_clauses = cnf.clauses(stream.predicate, signatures)
    free = [c for c in stream_clauses if not _names(c, signatures)]
    if not free:
        return rule
    kept_clauses = [c for c in stream_clauses if c not in free]
    inner = (
        tt.StreamFilter(stream.stream, cnf.conjunction(kept_clauses))
        if kept_clauses
        else stream.stream
    )
    # Filtered first, so that a clause of no name stands on the left-most function.
    return tt.Rule(inner, tt.Filter(query, cnf.conjunction(free)), rule.action, span=rule.span)


def query_in_one_form(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule with its query in canonical form."""
    if rule.query is None:
        return rule
    query = canonical_query(rule.query, signatures, is_shown=True)
    return tt.Rule(rule.stream, query, rule.action, span=rule.span)


def projection_before_action(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule without a projection that hides no output that its action uses."""
    query, action = rule.query, rule.action
    if not isinstance(query, tt.Projection) or not isinstance(action, tt.Call):
        return rule
    args = (*action.selector.attributes, *action.args)
    if any(isinstance(part, tt.EventValue) for arg in args for part in walk(arg)):
        return rule
    used = {name for arg in args for name in cnf.value_names(arg.value)}
    hidden, outputs = outputs_of(query.query, signatures), outputs_of(query, signatures)
    computed = {tt.computed_name(v) for v in query.values if isinstance(v, tt.Computed)}
    if hidden is None or outputs is None or used & (computed | (hidden - outputs)):
        return rule
    return query_in_one_form(replace(rule, query=query.query), signatures)


def action_in_one_form(rule: tt.Rule, signatures: Signatures | None) -> tt.Rule:
    """Return the rule with its action's arguments in order."""
    if not isinstance(rule.action, tt.Call):
        return rule
    action = cnf.canonical_call(rule.action, signatures)
    return tt.Rule(rule.stream, rule.query, action, span=rule.span)


RULES: tuple[RulePass, ...] = (
    stream_joins_to_query,
    stream_in_one_form,
    query_arranged,
    outer_filters_to_stream,
    free_filters_to_query,
    query_in_one_form,
    projection_before_action,
    action_in_one_form,
)


def _without(query: tt.Query, moved: list[cnf.Clause], signatures: Signatures | None) -> tt.Query:
    """Return the query without those clauses of its filters."""
    match query:
        case tt.Filter(inner, predicate):
            kept_clauses = [c for c in cnf.clauses(predicate, signatures) if c not in moved]
            form = _without(inner, moved, signatures)
            return (
                tt.Filter(form, cnf.conjunction(kept_clauses), span=query.span)
                if kept_clauses
                else form
            )
        case tt.Join(left, right, passing):
            left, right = (_without(q, moved, signatures) for q in (left, right))
            return tt.Join(left, right, passing, span=query.span)
        case tt.Call() | tt.Aggregate() | tt.Projection() | tt.Sort() | tt.Slice() | tt.Hole():
            return query
        case _:
            assert_never(query)


# ---------------------------------------------------------------------------------- streams


def _split(stream: tt.Stream, signatures: Signatures | None) -> tuple[tt.Stream, tt.Query | None]:
    """Return the stream without its joins, and the query that they make."""
    match stream:
        case tt.StreamJoin(inner, query, passing):
            form, left_over = settle(query, passing, signatures)
            if left_over:
                return tt.StreamJoin(inner, form, left_over, span=stream.span), None
            first, before = _split(inner, signatures)
            return first, form if before is None else tt.Join(before, form, span=query.span)
        case tt.StreamFilter(tt.StreamFilter(inner, first_predicate), predicate):
            both = tt.And((first_predicate, predicate), span=predicate.span)
            return _split(tt.StreamFilter(inner, both, span=stream.span), signatures)
        case tt.StreamFilter(inner, predicate):
            first, before = _split(inner, signatures)
            if before is None:
                return tt.StreamFilter(first, predicate, span=stream.span), None
            return _split_filter(stream, first, before, signatures)
        case _:
            return stream, None


def _split_filter(
    stream: tt.StreamFilter, first: tt.Stream, query: tt.Query, signatures: Signatures | None
) -> tuple[tt.Stream, tt.Query | None]:
    """Return both with the filter's clauses: those that compare outputs of one of them."""
    outputs = outputs_of(query, signatures)
    on_stream, on_query, on_both = [], [], []
    for clause in cnf.simplify(cnf.clauses(stream.predicate, signatures)):
        names = _names(clause, signatures)
        compared = {n for _, node in clause for n in cnf.compared_names(node)}
        if not names or (outputs is not None and compared <= outputs):
            on_query.append(clause)
        elif outputs is None or outputs & names:
            on_both.append(clause)
        else:
            on_stream.append(clause)
    if on_stream:
        first = tt.StreamFilter(first, cnf.conjunction(on_stream))
    if on_query:
        query = tt.Filter(query, cnf.conjunction(on_query), span=query.span)
    if on_both:
        return tt.StreamFilter(tt.StreamJoin(first, query), cnf.conjunction(on_both)), None
    return first, query


def _names(clause: cnf.Clause, signatures: Signatures | None) -> frozenset[str]:
    return frozenset(
        n
        for _, node in clause
        for n in (*cnf.compared_names(node), *cnf.passed_names(node, signatures))
    )


def _stream_of_join(
    stream: tt.StreamJoin | tt.StreamFilter, signatures: Signatures | None
) -> tt.Stream:
    """Return a stream join that stays: under an edge, or where it cannot be taken apart."""
    inner, query = _split(stream, signatures)
    if query is not None:
        rule = _rule(tt.Rule(inner, query, tt.Notify()), signatures)
        if rule.stream is None or rule.query is None:
            raise AssertionError("a rule keeps its stream and its query")
        return tt.StreamJoin(rule.stream, rule.query, span=stream.span)
    match inner:
        case tt.StreamJoin(left, right, passing):
            left = canonical_stream(left, signatures)
            return tt.StreamJoin(left, right, passing, span=stream.span)
        case tt.StreamFilter(left, predicate):
            left = canonical_stream(left, signatures)
            return _filter_stream(left, cnf.clauses(predicate, signatures), signatures)
        case _:
            return canonical_stream(inner, signatures)


def _watched_names(
    on_new: tuple[str, ...], query: tt.Query, signatures: Signatures | None
) -> tuple[str, ...]:
    """Return the names in alphabetical order; none if they are all outputs there are."""
    if not on_new:
        return ()
    names = set(on_new)
    outputs = outputs_of(query, signatures)
    return () if outputs is not None and outputs <= names else tuple(sorted(names))


def _filter_stream(
    stream: tt.Stream, conditions: list[cnf.Clause], signatures: Signatures | None
) -> tt.Stream:
    """Return a canonical stream with clauses that are moved inside as far as they may be."""
    conditions = _not_implied(cnf.simplify(conditions), stream, signatures)
    if not conditions:
        return stream
    match stream:
        case tt.Edge(inner) if conditions == [()]:
            return _filter_stream(inner, conditions, signatures)
        case tt.StreamFilter(inner, predicate):
            return _filter_stream(
                inner, [*cnf.clauses(predicate, signatures), *conditions], signatures
            )
        case tt.Monitor(query, on_new):
            inside = [c for c in conditions if _may_move_into(stream, c, signatures)]
            if inside:
                query = canonical_query(tt.Filter(query, cnf.conjunction(inside)), signatures)
                stream = tt.Monitor(query, on_new, span=stream.span)
                # The monitor may ensure more now, such as false.
                conditions = [c for c in conditions if c not in inside]
                return _filter_stream(stream, conditions, signatures)
        case _:
            pass
    return tt.StreamFilter(stream, cnf.conjunction(conditions)) if conditions else stream


def _may_move_into(monitor: tt.Monitor, clause: cnf.Clause, signatures: Signatures | None) -> bool:
    if not all(cnf.is_stable(node) for _, node in clause):
        return False
    return not monitor.on_new or _names(clause, signatures) <= set(monitor.on_new)


def _edge(
    stream: tt.Stream, conditions: list[cnf.Clause], signatures: Signatures | None
) -> tt.Stream:
    conditions = cnf.simplify(conditions)
    if conditions == [()]:
        return _filter_stream(stream, conditions, signatures)
    conditions = _not_implied(conditions, stream, signatures)
    if not conditions and isinstance(stream, tt.Edge) and isinstance(stream.predicate, tt.TrueP):
        return stream
    return tt.Edge(stream, cnf.conjunction(conditions), span=stream.span)


def _not_implied(
    found: list[cnf.Clause], stream: tt.Stream, signatures: Signatures | None
) -> list[cnf.Clause]:
    facts = _facts(stream, signatures)
    if not facts:
        return found
    return [c for c in found if not c or not any(k <= {key for key, _ in c} for k in facts)]


def _facts(stream: tt.Stream, signatures: Signatures | None) -> set[frozenset[cnf.Key]]:
    """Return clauses that hold of every event of a stream at its moment."""
    match stream:
        case tt.Monitor(query):
            return lasting_facts(query, signatures)
        case tt.StreamFilter(inner, predicate) | tt.Edge(inner, predicate):
            own = {frozenset(k for k, _ in c) for c in cnf.clauses(predicate, signatures)}
            return _facts(inner, signatures) | own
        case tt.AtTimer() | tt.Timer() | tt.StreamJoin() | tt.Hole():
            return set()
        case _:
            assert_never(stream)


# --------------------------------------------------------------------------------- policies


def _policy_function(
    function: tt.PolicyFunction | tt.Hole | None, signatures: Signatures | None
) -> tt.PolicyFunction | tt.Hole | None:
    if not isinstance(function, tt.PolicyFunction) or isinstance(function.predicate, tt.TrueP):
        return function
    predicate = cnf.canonical_predicate(function.predicate, signatures)
    return tt.PolicyFunction(function.class_name, function.function, predicate, span=function.span)


def _about_people(predicate: tt.Predicate) -> tt.Predicate:
    """Return the condition on the requester with people in place of their names."""
    match predicate:
        case tt.Atom("source", "==" | "in_array" as operator, value):
            return tt.Atom("source", operator, _person(value), span=predicate.span)
        case tt.And(operands):
            return tt.And(tuple(map(_about_people, operands)), span=predicate.span)
        case tt.Or(operands):
            return tt.Or(tuple(map(_about_people, operands)), span=predicate.span)
        case tt.Not(operand):
            return tt.Not(_about_people(operand), span=predicate.span)
        case tt.Atom() | tt.Comparison() | tt.TrueP() | tt.FalseP() | tt.GetPredicate():
            return predicate
        case _:
            assert_never(predicate)


def _person(value: tt.Value) -> tt.Value:
    match value:
        case tt.StringValue(text):
            return tt.EntityValue(None, "tt:contact", text, span=value.span)
        case tt.ArrayValue(items):
            return tt.ArrayValue(tuple(map(_person, items)), span=value.span)
        case _:
            return value
