"""Statements of ThingTalk 2 as rules of our language, and which functions are queries."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from genie_dp.dataset.left import NoEqual
from genie_dp.dataset.thingtalk2.reader import (
    PROJECTION,
    UNREADABLE,
    VALUE,
    Chain,
    Now,
    Projected,
    join,
    query_of,
)
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.traverse import children, functions_used

UNKNOWN_KIND = "query or action unknown"
_STREAMS = (ast.Monitor, ast.Timer, ast.AtTimer, ast.Edge, ast.StreamFilter)
_QUERIES = (ast.Filter, ast.Aggregate, ast.Join, Chain, Projected)

IsAction = Callable[[str], bool | None]
"""Takes a function as `@class.name`; None where that is not known."""


def program_of(statements: Iterable[list[Any]], is_action: IsAction) -> ast.Program:
    """Return the program of statements as `reader.read` gives them.

    Raises:
        NoEqual: our language cannot say it.

    >>> from genie_dp.dataset.thingtalk2.reader import read
    >>> from genie_dp.languages.thingtalk.render import render
    >>> statements, _ = read("monitor(@c.q()) => @c.a(x = y);")
    >>> render(program_of(statements, lambda name: name == "@c.a"))
    'monitor (@c.q()) => @c.a(x = y)'
    """
    return ast.Program(tuple(_rule(elements, is_action) for elements in statements))


def _rule(elements: list[Any], is_action: IsAction) -> ast.Rule:
    rest = list(elements)
    stream = None
    if isinstance(rest[0], Now):
        rest.pop(0)
    elif isinstance(rest[0], _STREAMS):
        stream = rest.pop(0)
    if any(isinstance(element, (*_STREAMS, Now)) for element in rest):
        raise NoEqual(UNREADABLE, "a stream behind the beginning")
    action = _action(rest, is_action)
    queries = [_source(element, is_last=isinstance(action, ast.Notify)) for element in rest]
    if not queries and isinstance(action, ast.Notify) and stream is None:
        raise NoEqual(UNREADABLE, "an empty statement")
    rule = ast.Rule(stream, _joined(queries), action)
    if (queries or stream is None) and _speaks_of_event(rule):
        raise NoEqual(VALUE, "$result of a query")  # ours is of what started the program
    return rule


def _speaks_of_event(node: Any) -> bool:
    return isinstance(node, ast.EventValue) or any(map(_speaks_of_event, children(node)))


def _action(rest: list[Any], is_action: IsAction) -> ast.Action:
    """Take the action off the end of the elements; `notify` where a query ends them."""
    match rest:
        case [*_, ast.Notify() as notify]:
            rest.pop()
            return notify
        case [*_, ast.Call() as call]:
            name = f"@{call.selector.class_name}.{call.function}"
            kind = is_action(name)
            if kind is None:
                raise NoEqual(UNKNOWN_KIND, name)
            if kind:
                rest.pop()
                return call
    return ast.Notify()


def _source(element: Any, *, is_last: bool) -> Any:
    match element:
        case Projected(_, query) if not is_last:
            # Only names may be passed on, and a projection takes none of those away.
            return query_of(query)
        case Projected():
            raise NoEqual(PROJECTION, ", ".join(element.names))
    return query_of(element)


def _joined(queries: list[Any]) -> Any:
    """Return queries as one: parameters are passed from the left, or from the stream before."""
    if not queries:
        return None
    found = queries[0]
    for right in queries[1:]:
        found = join(found, right)
    return found


def queries_in(statements: Iterable[list[Any]]) -> Iterator[str]:
    """Yield the functions that can only be queries, by the place where they stand.

    >>> from genie_dp.dataset.thingtalk2.reader import read
    >>> list(queries_in(read("@c.q() filter n > 3 => @c.x();")[0]))
    ['@c.q']
    """
    for elements in statements:
        for place, element in enumerate(elements):
            is_bare = isinstance(element, ast.Call)
            if is_bare and place == len(elements) - 1:
                continue
            for call in _calls(element):
                yield f"@{call.selector.class_name}.{call.function}"


def _calls(element: Any) -> Iterator[ast.Call]:
    match element:
        case Projected(_, query):
            yield from _calls(query)
        case Chain(queries):
            for query in queries:
                yield from _calls(query)
        case Now() | ast.Notify():
            return
        case _:
            yield from (c for c in functions_used(element) if isinstance(c, ast.Call))
