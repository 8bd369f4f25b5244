"""Walks over programs. The fields of every node of `ast` stand in program order."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from genie_dp.languages.thingtalk.ast import (
    Aggregate,
    Call,
    Filter,
    Hole,
    Join,
    PolicyFunction,
    Query,
)

_FIELDS: dict[type, tuple[str, ...]] = {}
_PLAIN = frozenset((str, int, float, bool, type(None)))  # no nodes, nor tuples of them


def _field_names(node: type[Any]) -> tuple[str, ...]:
    if node not in _FIELDS:
        _FIELDS[node] = tuple(f.name for f in fields(node) if f.compare)  # all but places
    return _FIELDS[node]


def children(node: Any) -> Iterator[Any]:
    """Yield the nodes right below a node, in program order; plain fields are skipped.

    >>> from genie_dp.languages.thingtalk.ast import Selector
    >>> list(children(Call(Selector("com.gmail"), "inbox")))
    [Selector(class_name='com.gmail', attributes=())]
    """
    for name in _field_names(type(node)):
        value = getattr(node, name)
        if type(value) in _PLAIN:
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if hasattr(item, "__dataclass_fields__"):
                yield item


def functions_used(node: Any) -> Iterator[Call | PolicyFunction]:
    """Yield every place of a program that names a function, in program order.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> [c.function for c in functions_used(parse("monitor @com.x.q => @com.x.a"))]
    ['q', 'a']
    """
    if isinstance(node, Call | PolicyFunction):
        yield node
    for child in children(node):
        yield from functions_used(child)


def source_calls(query: Query) -> Iterator[Call]:
    """Yield the calls that a query gets its results from, left to right.

    Those inside of its predicates (`@f() { .. }`) are not among them.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> rule = parse("now => @com.x.q join @com.x.r filter @com.x.s() { true } => notify").rules[0]
    >>> [c.function for c in source_calls(rule.query)]
    ['q', 'r']
    """
    match query:
        case Call():
            yield query
        case Filter() | Aggregate():
            yield from source_calls(query.query)
        case Join():
            yield from source_calls(query.left)
            yield from source_calls(query.right)
        case Hole():
            return


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return the node with `change` applied to every node below it, innermost first.

    `change` returns a node as it is to keep it. Unchanged parts are shared with the input.

    >>> from genie_dp.languages.thingtalk.ast import Atom, StringValue, Undefined
    >>> atom = Atom("a", "==", StringValue("b"))
    >>> rewrite(atom, lambda node: Undefined() if isinstance(node, StringValue) else node)
    Atom(name='a', operator='==', value=Undefined())
    """
    changes: dict[str, Any] = {}
    for name in _field_names(type(node)):
        old = getattr(node, name)
        if type(old) in _PLAIN:
            continue
        if isinstance(old, tuple):
            new: Any = tuple(_rewritten(item, change) for item in old)
            if any(a is not b for a, b in zip(old, new, strict=True)):
                changes[name] = new
        elif (new := _rewritten(old, change)) is not old:
            changes[name] = new
    return change(replace(node, **changes) if changes else node)


def _rewritten(item: Any, change: Callable[[Any], Any]) -> Any:
    return rewrite(item, change) if hasattr(item, "__dataclass_fields__") else item
