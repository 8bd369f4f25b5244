"""Walks over programs: nodes, functions, literal values to placeholders.

The fields of every node of `ast` stand in program order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from genie_dp.languages import types as ty
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.scope import constant_type

_FIELDS: dict[type, tuple[str, ...]] = {}
_PLAIN = frozenset((str, int, float, bool, type(None)))  # no nodes, nor tuples of them


def _field_names(node: type[Any]) -> tuple[str, ...]:
    if node not in _FIELDS:
        _FIELDS[node] = tuple(f.name for f in fields(node) if f.compare)  # all but places
    return _FIELDS[node]


def children(node: Any) -> Iterator[Any]:
    """Yield the nodes right below a node, in program order; plain fields are skipped.

    >>> from genie_dp.languages.thingtalk.ast import Selector
    >>> list(children(tt.Call(Selector("com.gmail"), "inbox")))
    [Selector(class_name='com.gmail', attributes=())]
    """
    for name in _field_names(type(node)):
        value = getattr(node, name)
        if type(value) in _PLAIN:
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if is_node(item):
                yield item


def walk(node: Any) -> Iterator[Any]:
    """Yield a node and all below it, in program order.

    >>> [type(part).__name__ for part in walk(tt.Not(tt.TrueP()))]
    ['Not', 'TrueP']
    """
    yield node
    for child in children(node):
        yield from walk(child)


def functions_used(node: Any) -> Iterator[tt.Call | tt.PolicyFunction]:
    """Yield every place of a program that names a function, in program order.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> [c.function for c in functions_used(parse("monitor @com.x.q => @com.x.a"))]
    ['q', 'a']
    """
    yield from (n for n in walk(node) if isinstance(n, tt.Call | tt.PolicyFunction))


def qualify(node: tt.Call | tt.PolicyFunction) -> str:
    """Return the function as programs name it; "*" for any function.

    >>> qualify(tt.Call(tt.Selector("com.gmail"), "inbox"))
    '@com.gmail.inbox'
    """
    if isinstance(node, tt.Call):
        return f"@{node.selector.class_name}.{node.function}"
    if node.class_name is None:
        return "*"
    return f"@{node.class_name}.{node.function or '*'}"


def source_calls(query: tt.Query) -> Iterator[tt.Call]:
    """Yield the calls that a query gets its results from, left to right.

    Those inside of its predicates (`@f() { .. }`) are not among them.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> rule = parse("now => @com.x.q join @com.x.r filter @com.x.s() { true } => notify").rules[0]
    >>> [c.function for c in source_calls(rule.query)]
    ['q', 'r']
    """
    match query:
        case tt.Call():
            yield query
        case tt.Filter() | tt.Aggregate() | tt.Projection() | tt.Sort() | tt.Slice():
            yield from source_calls(query.query)
        case tt.Join():
            yield from source_calls(query.left)
            yield from source_calls(query.right)
        case tt.Hole():
            return


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return the node with `change` applied to every node below it, innermost first.

    `change` returns a node as it is to keep it. Unchanged parts are shared with the input.

    >>> atom = tt.Atom("a", "==", tt.StringValue("b"))
    >>> rewrite(atom, lambda node: tt.Undefined() if isinstance(node, tt.StringValue) else node)
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


def rewrite_outermost(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return the node with `change` applied from the top.

    Results of `change` are not looked into; None goes on below.
    """
    changed = change(node)
    if changed is not None:
        return changed
    changes: dict[str, Any] = {}
    for name in _field_names(type(node)):
        old = getattr(node, name)
        if isinstance(old, tuple):
            changes[name] = tuple(
                rewrite_outermost(item, change) if is_node(item) else item for item in old
            )
        elif is_node(old):
            changes[name] = rewrite_outermost(old, change)
    return replace(node, **changes)


def is_node(item: Any) -> bool:
    """Return whether a field's value is a node."""
    return hasattr(item, "__dataclass_fields__")


def _rewritten(item: Any, change: Callable[[Any], Any]) -> Any:
    return rewrite(item, change) if is_node(item) else item


P = TypeVar("P", bound=tt.Program | tt.Policy)

# Dates and places that words of the language say.
_OF_THE_LANGUAGE = (tt.DateNow, tt.DateEdge, tt.DateOffset, tt.ContextValue)


def anonymize(program: P) -> P:
    """Return the program with placeholders in place of its literal values.

    They are numbered in program order, separately for each stem of `slot_stem`; every literal
    gets its own. Words of the language (enums, true, now, places of the context) stay, as do
    pictures, which have no words. Placeholders already there keep their numbers, which no
    literal gets: doing it twice changes nothing more.

    >>> from decimal import Decimal
    >>> from genie_dp.languages.thingtalk.ast import Arg, Rule, Selector
    >>> call = tt.Call(Selector("light"), "dim", (Arg("level", tt.NumberValue(Decimal(40))),))
    >>> anonymize(tt.Program((Rule(None, None, call),))).rules[0].action.args[0].value.token
    'NUMBER_0'
    """
    taken = {node.token for node in walk(program) if isinstance(node, tt.SlotValue)}
    counts: dict[str, int] = defaultdict(int)

    def anonymize_node(node: Any) -> Any:
        type_ = None if isinstance(node, _OF_THE_LANGUAGE) else constant_type(node)
        stem = ty.slot_stem(type_) if type_ is not None else None
        if stem is None:
            return node
        while (token := f"{stem}_{counts[stem]}") in taken:
            counts[stem] += 1
        counts[stem] += 1
        return tt.SlotValue(token, span=node.span)

    result: P = rewrite(program, anonymize_node)
    return result


def functions(program: tt.Program | tt.Policy) -> Counter[str]:
    """Return how often each function is used, in program order.

    A policy's `*` and `@c.*` name no function.

    >>> from genie_dp.languages.thingtalk.ast import Notify, Rule, Selector
    >>> functions(tt.Program((Rule(None, tt.Call(Selector("com.gmail"), "inbox"), Notify()),)))
    Counter({'@com.gmail.inbox': 1})
    """
    counts: Counter[str] = Counter()
    for used in functions_used(program):
        if used.function is not None:
            counts[qualify(used)] += 1
    return counts
