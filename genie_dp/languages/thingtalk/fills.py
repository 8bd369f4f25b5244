"""What each placeholder of a program fills: the type and the parameter of a function."""

from collections.abc import Iterator
from typing import Any

from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.assign import CONTACT
from genie_dp.languages.thingtalk.signatures import Signatures
from genie_dp.languages.thingtalk.traverse import children
from genie_dp.languages.thingtalk.types import NUMBER, STRING, Array

Fill = tuple[str, str, str]
"""(placeholder, type, function:parameter)."""


def fills(library: Signatures, node: Any, function: str = "") -> Iterator[Fill]:
    """Yield what every placeholder of a tree fills, in program order.

    `function` is the one whose outputs a predicate at the top speaks of. A placeholder to which the
    program gives a unit stands for a number, whatever the parameter holds.

    >>> from types import SimpleNamespace
    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None)
    >>> list(fills(nothing, parse("timer(base = now, interval = NUMBER_0h) => notify")))
    [('NUMBER_0', 'Number', 'timer:interval')]
    """
    match node:
        case ast.Call():
            for arg in (*node.selector.attributes, *node.args):
                yield from _of_value(library, arg.value, qualified(node), arg.name)
        case ast.Filter(inner, predicate) | ast.Edge(inner, predicate):
            yield from fills(library, inner, function)
            yield from fills(library, predicate, _last_function(inner) or function)
        case ast.Atom(name, _, value):
            yield from _of_value(library, value, function, name)
        case ast.GetPredicate(call, predicate):
            yield from fills(library, call)
            yield from fills(library, predicate, qualified(call))
        case ast.PolicyFunction(_, _, predicate):
            yield from fills(library, predicate, qualified(node))
        case ast.Policy(source, _, _):
            yield from fills(library, source, "policy")
            for part in children(node):
                if part is not source:
                    yield from fills(library, part)
        case ast.AtTimer() | ast.Timer():
            yield from _of_timer(library, node)
        case _:
            for child in children(node):
                yield from fills(library, child, function)


def _of_timer(library: Signatures, node: ast.AtTimer | ast.Timer) -> Iterator[Fill]:
    if isinstance(node, ast.AtTimer):
        yield from _of_value(library, node.time, "attimer", "time")
    else:
        yield from _of_value(library, node.base, "timer", "base")
        yield from _of_value(library, node.interval, "timer", "interval")


def _of_value(library: Signatures, value: Any, function: str, name: str) -> Iterator[Fill]:
    if isinstance(value, ast.SlotValue):
        type_ = str(NUMBER) if value.unit else _type_of(library, function, name)
        yield value.token, type_, f"{function}:{name}"
        return
    for child in children(value):
        yield from _of_value(library, child, function, name)


_OTHERS = {
    ("attimer", "time"): "Time",
    ("timer", "base"): "Date",
    ("timer", "interval"): "Measure(ms)",
    ("policy", "source"): str(CONTACT),
}


def _type_of(library: Signatures, function: str, name: str) -> str:
    if (function, name) in _OTHERS:
        return _OTHERS[function, name]
    class_name, _, local = function.removeprefix("@").rpartition(".")
    signature = library.function(class_name, local)
    parameter = signature.parameter(name) if signature else None
    type_ = STRING if parameter is None else parameter.type
    return str(type_.element if isinstance(type_, Array) else type_)


def qualified(node: ast.Call | ast.PolicyFunction) -> str:
    """Return the function as programs name it; "*" for any function.

    >>> qualified(ast.Call(ast.Selector("com.gmail"), "inbox"))
    '@com.gmail.inbox'
    """
    if isinstance(node, ast.Call):
        return f"@{node.selector.class_name}.{node.function}"
    if node.class_name is None:
        return "*"
    return f"@{node.class_name}.{node.function or '*'}"


def _last_function(node: Any) -> str:
    """Return the function whose outputs a filter on this query or stream names."""
    match node:
        case ast.Call():
            return qualified(node)
        case ast.Filter(query) | ast.Monitor(query):
            return _last_function(query)
        case ast.Join(_, right):
            return _last_function(right)
        case ast.Edge(stream):
            return _last_function(stream)
        case _:
            return ""
