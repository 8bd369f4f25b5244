"""A small reference interpreter: the effect of a program on given tables, step by step.

It defines the meaning that `canonical` keeps, and shows users the effect of a program. It is
written to be read, not to be fast.

- A query is a list of results. A name in scope is the right-most output of that name.
- `q join r` is, for each result of q, the results of r with parameters passed from it. A parameter
  goes to the left-most call of r with such an input that has no value yet.
- `monitor q` is the results of a step that q did not have at the step before (at the first step:
  all). With `on new a, b` results are compared by those outputs alone.
- `edge s on p` is the results of s that fulfil p, at a step where s has results, if no result
  fulfilled p at the last earlier step where s had any.
- Timers fire when one of their moments lies after the last step and not after this one; at the
  first step only if it is that very moment.
- An aggregation is one result, named like its operator; of no results only `count` is known.
- `now` runs once, at the first step. `$?` is an input that is left out.
- `$event` is the text of the result that a stream brings; after `now`, of the query's result.
- A result has a value for each output of its functions.
- A projection keeps some values of each result. The results of a sort stand in its order; those of
  one place, as they stood before. An index or a slice takes results by their place: of a call they
  stand as its table has them, of a join by those of the left side first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cmp_to_key
from operator import itemgetter
from typing import assert_never

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk import operators
from genie_dp.languages.thingtalk.tokens import value_tokens
from genie_dp.languages.thingtalk.traverse import qualify

Row = Mapping[str, tt.Value]
Rows = list[dict[str, tt.Value]]


@dataclass(frozen=True, slots=True)
class Table:
    """The answers of a query function.

    Attributes:
        snapshots: its rows at each step; the last snapshot stays.
        inputs: columns that are inputs. A call sees the rows whose inputs are those it gives; an
            attribute of the device is the column "@" and its name. Other columns are outputs.
    """

    snapshots: tuple[tuple[Row, ...], ...]
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a program did: an action with its arguments, or a result it notified of.

    Attributes:
        step: number of the step, from 0.
        function: such as "@com.twitter.post", or "notify".
        arguments: names and values, by name; of a notification the result.
        device: the attributes of the device that acted.
    """

    step: int
    function: str
    arguments: tuple[tuple[str, tt.Value], ...]
    device: tuple[tuple[str, tt.Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A step at which the program may act: its number, from 0, and the tables by function."""

    number: int
    tables: Mapping[str, Table]
    moment: operators.Moment


def simulate(
    program: tt.Program,
    tables: Mapping[str, Table],
    *,
    steps: Sequence[datetime],
    context: Mapping[tuple[str, ...], tt.Value] | None = None,
    slots: Mapping[str, tt.Value] | None = None,
) -> tuple[Effect, ...]:
    """Return the effects of a program, in order of steps; those of one step have no further order.

    Args:
        program: a well-typed program.
        tables: the answers of the queries, by function, such as "@com.gmail.inbox".
        steps: the times at which the world is looked at; snapshots go with them.
        context: the user's context by path, such as ("location", "home").
        slots: values of the placeholders of the program.

    Raises:
        GenieError: C002 for a query without a table, C003 for a name that is not in scope, C004 for
            values of different kinds, C005 for a value that nobody gave.

    >>> from genie_dp.languages.thingtalk.ast import Selector, VarRef
    >>> inbox = tt.Call(Selector("com.gmail"), "inbox")
    >>> wanted = tt.Filter(inbox, tt.Atom("sender", "==", tt.StringValue("alice")))
    >>> post = tt.Call(Selector("com.twitter"), "post", (tt.Arg("status", VarRef("subject")),))
    >>> rows = tuple({"sender": tt.StringValue(s), "subject": tt.StringValue(t)}
    ...              for s, t in (("alice", "lunch"), ("bob", "work")))
    >>> tables, today = {"@com.gmail.inbox": Table((rows,))}, datetime(2026, 11, 20)
    >>> for effect in simulate(tt.Program((tt.Rule(None, wanted, post),)), tables, steps=[today]):
    ...     print(effect.step, effect.function, effect.arguments)
    0 @com.twitter.post (('status', StringValue(text='lunch')),)
    """
    world = [
        Step(number, tables, operators.Moment(now, context or {}, slots or {}))
        for number, now in enumerate(steps)
    ]
    effects = [effect for rule in program.rules for effect in _run(rule, world)]
    return tuple(sorted(effects, key=lambda effect: effect.step))


def _run(rule: tt.Rule, world: Sequence[Step]) -> Iterator[Effect]:
    for step, events in zip(world, _events(rule.stream, world), strict=False):
        for event in events:
            results = [event]
            if rule.query is not None:
                rows = _rows(rule.query, step, event, {})
                results = [event | row if event else _event(row) for row in rows]
            for scope in results:
                yield _act(rule.action, scope, step)


def _act(action: tt.Action, scope: Row, step: Step) -> Effect:
    match action:
        case tt.Notify():
            shown_values = {name: value for name, value in scope.items() if name != "$event"}
            return Effect(step.number, "notify", _sort_row(shown_values))
        case tt.Call():
            device = _evaluate_args(action.selector.attributes, scope, step)
            arguments = _evaluate_args(action.args, scope, step)
            return Effect(step.number, qualify(action), _sort_row(arguments), _sort_row(device))
        case tt.Hole():
            raise _no_hole(action)
        case _:
            assert_never(action)


def _sort_row(values: Row) -> tuple[tuple[str, tt.Value], ...]:
    return tuple(sorted(values.items(), key=lambda item: item[0]))


def _evaluate_args(args: tuple[tt.Arg, ...], scope: Row, step: Step) -> dict[str, tt.Value]:
    return {
        arg.name: operators.evaluate(arg.value, scope, step.moment)
        for arg in args
        if not isinstance(arg.value, tt.Undefined)
    }


def _no_hole(hole: tt.Hole) -> GenieError:
    message = f"expected a whole program, got the hole {hole.name!r} of a template"
    return GenieError(Problem("C006", message, hole.span, "fill the hole first"))


# ---------------------------------------------------------------------------------- queries


def _rows(query: tt.Query, step: Step, scope: Row, passed: Row) -> Rows:
    """Return the results of a query at a step; `passed` are inputs given from outside."""
    match query:
        case tt.Call():
            return _answer(query, step, scope, passed)
        case tt.Filter(inner, predicate):
            rows = _rows(inner, step, scope, passed)
            return [r for r in rows if holds(predicate, {**scope, **r}, step)]
        case tt.Join():
            return _join(query, step, scope, passed)
        case tt.Aggregate(operator, name, inner):
            rows = _rows(inner, step, scope, passed)
            values = [] if name is None else [operators.lookup(name, row, query) for row in rows]
            return _aggregate(operator, values, len(rows))
        case tt.Projection(inner):
            rows = _rows(inner, step, scope, passed)
            return [_project_row(query, r, {**scope, **r}, step) for r in rows]
        case tt.Sort(inner):
            return _sort_rows(query, _rows(inner, step, scope, passed), scope, step)
        case tt.Slice(inner, start, end):
            first = _place(start, scope, step)
            last = first if end is None else _place(end, scope, step)
            return _rows(inner, step, scope, passed)[first - 1 : last]
        case tt.Hole():
            raise _no_hole(query)
        case _:
            assert_never(query)


def _sort_rows(query: tt.Sort, rows: Rows, scope: Row, step: Step) -> Rows:
    keys = [operators.evaluate(query.key, {**scope, **row}, step.moment) for row in rows]
    by_key = cmp_to_key(operators.order)
    pairs = zip(map(by_key, keys), rows, strict=True)
    pairs_in_order = sorted(pairs, key=itemgetter(0), reverse=query.direction == "desc")
    return [row for _, row in pairs_in_order]


def _place(value: tt.Value, scope: Row, step: Step) -> int:
    number = operators.evaluate(value, scope, step.moment)
    if not isinstance(number, tt.NumberValue) or number.value < 1 or number.value % 1:
        message = f"expected a place counted from 1, got {number}"
        raise GenieError(Problem("C004", message, value.span, "the first result is [1]"))
    return int(number.value)


def _answer(call: tt.Call, step: Step, scope: Row, passed: Row) -> Rows:
    table = step.tables.get(qualify(call))
    if table is None:
        hint = did_you_mean(qualify(call), step.tables) or "give a table of its results"
        raise GenieError(Problem("C002", f"expected a table for {qualify(call)}", call.span, hint))
    inputs = {**_evaluate_args(call.args, scope, step), **passed}
    device = _evaluate_args(call.selector.attributes, scope, step)
    inputs |= {f"@{name}": value for name, value in device.items()}
    asked_inputs = {name: value for name, value in inputs.items() if name in table.inputs}
    snapshot = table.snapshots[min(step.number, len(table.snapshots) - 1)]
    return [
        {name: value for name, value in row.items() if name not in table.inputs}
        for row in snapshot
        if all(
            operators.equal(operators.lookup(name, row, call), value)
            for name, value in asked_inputs.items()
        )
    ]


def _join(query: tt.Join, step: Step, scope: Row, passed: Row) -> Rows:
    to_left = {n: v for n, v in passed.items() if _takes(query.left, n, step)}
    to_right = {n: v for n, v in passed.items() if n not in to_left}
    results = []
    for left_row in _rows(query.left, step, scope, to_left):
        seen = {**scope, **left_row}
        inputs = {**to_right, **_evaluate_args(query.passing, seen, step)}
        for right in _rows(query.right, step, seen, inputs):
            results.append({**left_row, **right})
    return results


def _takes(query: tt.Query, name: str, step: Step) -> bool:
    """Return whether a call of the query has an input of that name without a value."""
    match query:
        case tt.Call(args=args):
            table = step.tables.get(qualify(query))
            has_value = any(a.name == name and not isinstance(a.value, tt.Undefined) for a in args)
            return table is not None and name in table.inputs and not has_value
        case tt.Filter(inner) | tt.Aggregate(query=inner):
            return _takes(inner, name, step)
        case tt.Projection(inner) | tt.Sort(inner) | tt.Slice(inner):
            return _takes(inner, name, step)
        case tt.Join(left, right, passing):
            here = _takes(left, name, step)
            passed = any(a.name == name for a in passing)
            return here or (not passed and _takes(right, name, step))
        case tt.Hole():
            raise _no_hole(query)
        case _:
            assert_never(query)


def _aggregate(operator: str, values: list[tt.Value], count: int) -> Rows:
    if operator == "count":
        return [{operator: tt.NumberValue(Decimal(count))}]
    return [{operator: operators.total(operator, values)}] if values else []


def _project_row(
    projection: tt.Projection, row: Row, scope: Row, step: Step
) -> dict[str, tt.Value]:
    values = dict(row) if projection.keeps_all else {}
    for value in projection.values:
        values[tt.computed_name(value)] = operators.evaluate(value, scope, step.moment)
    return values


def holds(predicate: tt.Predicate, scope: Row, step: Step) -> bool:
    """Return whether a predicate holds of the values in scope at a step."""

    def ask(asked: tt.GetPredicate) -> bool:
        rows = _answer(asked.call, step, scope, {})
        return any(holds(asked.predicate, {**scope, **row}, step) for row in rows)

    return operators.satisfies(predicate, scope, step.moment, ask)


# ---------------------------------------------------------------------------------- streams


def _events(stream: tt.Stream | None, world: Sequence[Step]) -> list[Rows]:
    """Return the events of a stream at each step, as the names that they bring into scope."""
    match stream:
        case None:
            return [[{}]] if world else []
        case tt.AtTimer() | tt.Timer():
            return [[_event({})] if _fires(stream, world, step) else [] for step in world]
        case tt.Monitor():
            return _changes(stream, world)
        case tt.Edge(inner, predicate):
            return _edges(_events(inner, world), predicate, world)
        case tt.StreamFilter(inner, predicate):
            return [
                [e for e in events if holds(predicate, e, step)]
                for step, events in zip(world, _events(inner, world), strict=True)
            ]
        case tt.StreamJoin(inner, query, passing):
            return [
                [
                    {**event, **row}
                    for event in events
                    for row in _rows(query, step, event, _evaluate_args(passing, event, step))
                ]
                for step, events in zip(world, _events(inner, world), strict=True)
            ]
        case tt.Hole():
            raise _no_hole(stream)
        case _:
            assert_never(stream)


def _event(row: Row) -> dict[str, tt.Value]:
    """Return a row as an event: `$event` is its text."""
    text = ", ".join(f"{name}: {value_tokens(value)}" for name, value in _sort_row(row))
    return {**row, "$event": tt.StringValue(text)}


def _changes(stream: tt.Monitor, world: Sequence[Step]) -> list[Rows]:
    changes: list[Rows] = []
    last_keys: set[tuple[tuple[str, tt.Value], ...]] = set()
    for step in world:
        rows = _rows(stream.query, step, {}, {})
        watched = [
            {n: operators.lookup(n, row, stream) for n in stream.on_new or row} for row in rows
        ]
        keys = [_sort_row(values) for values in watched]
        new = [row for row, key in zip(rows, keys, strict=True) if key not in last_keys]
        changes.append([_event(row) for row in new])
        last_keys = set(keys)
    return changes


def _edges(stream: list[Rows], predicate: tt.Predicate, world: Sequence[Step]) -> list[Rows]:
    edges: list[Rows] = []
    before = False
    for step, events in zip(world, stream, strict=True):
        true = [event for event in events if holds(predicate, event, step)]
        edges.append([] if before else true)
        before = bool(true) if events else before
    return edges


def _fires(timer: tt.AtTimer | tt.Timer, world: Sequence[Step], step: Step) -> bool:
    now = step.moment.now
    last = world[step.number - 1].moment.now if step.number else now - timedelta.resolution
    match timer:
        case tt.AtTimer(time):
            value = operators.evaluate(time, {}, step.moment)
            times = value.items if isinstance(value, tt.ArrayValue) else (value,)
            return any(_is_past(each, last, now, timer) for each in times)
        case tt.Timer(base, interval):
            start = operators.as_date(operators.evaluate(base, {}, world[0].moment))
            value = operators.evaluate(interval, {}, world[0].moment)
            # A clock has no less than its resolution.
            length = max(operators.as_duration(value), timedelta.resolution)
            if operators.comparable(value)[1] <= 0:
                message = f"expected an interval of more than nothing, got {value}"
                hint = "write how long it takes from one time to the next, such as 1h"
                raise GenieError(Problem("C004", message, timer.span, hint))
            now, last = operators.utc(now), operators.utc(last)
            latest = start + (now - start) // length * length
            return start <= now and last < latest
        case _:
            assert_never(timer)


def _is_past(value: tt.Value, last: datetime, now: datetime, timer: tt.AtTimer) -> bool:
    """Return whether a time of day lies after the last moment and not after this one."""
    moment = operators.as_time(value)
    if moment is None:
        raise GenieError(Problem("C004", f"expected a time, got {value}", timer.span))
    today = now.replace(hour=moment.hour, minute=moment.minute, second=moment.second, microsecond=0)
    return any(last < day <= now for day in (today, today - timedelta(days=1)))
