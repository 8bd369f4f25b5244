"""Walks over programs: nodes, functions, literal values to placeholders.

The fields of every node of `ast` stand in program order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from genie_dp.languages import types as ty
from genie_dp.languages.thingtalk import ast as tt

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
            if hasattr(item, "__dataclass_fields__"):
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
    if isinstance(node, tt.Call | tt.PolicyFunction):
        yield node
    for child in children(node):
        yield from functions_used(child)


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


def _rewritten(item: Any, change: Callable[[Any], Any]) -> Any:
    return rewrite(item, change) if hasattr(item, "__dataclass_fields__") else item


P = TypeVar("P", bound=tt.Program | tt.Policy)

_LITERALS: dict[type, ty.Type] = {
    tt.StringValue: ty.STRING,
    tt.NumberValue: ty.NUMBER,
    tt.CurrencyValue: ty.CURRENCY,
    tt.DateValue: ty.DATE,
    tt.TimeValue: ty.TIME,
    tt.LocationValue: ty.LOCATION,
}


def anonymize(program: P) -> P:
    """Return the program with its literal values anonymize_node by placeholders.

    They are numbered in program order, separately for each stem of `slot_stem`; every literal
    gets its own. Words of the language (enums, true, now, places of the context) stay, as do
    pictures, which people cannot say. Placeholders already there keep their numbers, which no
    literal gets: doing it twice changes nothing more.

    >>> from decimal import Decimal
    >>> from genie_dp.languages.thingtalk.ast import Arg, Rule, Selector
    >>> call = tt.Call(Selector("light"), "dim", (Arg("level", tt.NumberValue(Decimal(40))),))
    >>> anonymize(tt.Program((Rule(None, None, call),))).rules[0].action.args[0].value.token
    'NUMBER_0'
    """
    taken = set(_placeholders(program))
    counts: dict[str, int] = defaultdict(int)

    def anonymize_node(node: Any) -> Any:
        type_ = _literal_type(node)
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
        if isinstance(used, tt.Call):
            counts[f"@{used.selector.class_name}.{used.function}"] += 1
        elif used.class_name is not None and used.function is not None:
            counts[f"@{used.class_name}.{used.function}"] += 1
    return counts


def _literal_type(node: Any) -> ty.Type | None:
    match node:
        case tt.MeasureValue(parts) if parts:
            return ty.Measure(parts[0][1])
        case tt.EntityValue():
            return ty.Entity(node.kind)
        case _:
            return _LITERALS.get(type(node))


def _placeholders(node: Any) -> list[str]:
    if isinstance(node, tt.SlotValue):
        return [node.token]
    return [token for child in children(node) for token in _placeholders(child)]
