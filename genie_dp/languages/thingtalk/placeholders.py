"""Placeholders of a program: which parameter each fills, and constants in place of them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from genie_dp.languages.base import ProgramValues
from genie_dp.languages.library import Signatures
from genie_dp.languages.limits import Limits
from genie_dp.languages.text import span_ends
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.from_tokens import from_tokens, piece_from_tokens
from genie_dp.languages.thingtalk.operators import CONTACT, attach_unit
from genie_dp.languages.thingtalk.traverse import anonymize, children, qualify, rewrite, walk
from genie_dp.languages.types import NUMBER, STRING, Array, Entity, Type, is_slot

Use = tuple[str, str, str]
"""(placeholder, type, function:parameter)."""


def uses(library: Signatures, node: Any, function: str = "") -> Iterator[Use]:
    """Yield the use of every placeholder of a tree, in program order.

    `function` is the one whose outputs a predicate at the top speaks of. A placeholder to which the
    program gives a unit stands for a number, whatever the parameter holds.

    >>> from types import SimpleNamespace
    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None)
    >>> list(uses(nothing, parse("timer(base = now, interval = NUMBER_0h) => notify")))
    [('NUMBER_0', 'Number', 'timer:interval')]
    """
    match node:
        case ast.Call():
            for arg in (*node.selector.attributes, *node.args):
                yield from _of_value(library, arg.value, qualify(node), arg.name)
        case ast.Filter(inner, predicate) | ast.Edge(inner, predicate):
            yield from uses(library, inner, function)
            yield from uses(library, predicate, _last_function(inner) or function)
        case ast.Atom(name, _, value):
            yield from _of_value(library, value, function, name)
        case ast.Comparison(left, _, value):
            yield from _of_computed(library, left, function)
            yield from _of_value(library, value, function, ast.computed_name(left))
        case ast.Projection(query) | ast.Sort(query) | ast.Slice(query):
            yield from uses(library, query, function)
            yield from _of_wrapper(library, node, _last_function(query) or function)
        case ast.GetPredicate(call, predicate):
            yield from uses(library, call)
            yield from uses(library, predicate, qualify(call))
        case ast.PolicyFunction(_, _, predicate):
            yield from uses(library, predicate, qualify(node))
        case ast.Policy():
            yield from _of_policy(library, node)
        case ast.AtTimer() | ast.Timer():
            yield from _of_timer(library, node)
        case _:
            for child in children(node):
                yield from uses(library, child, function)


def _of_policy(library: Signatures, policy: ast.Policy) -> Iterator[Use]:
    yield from uses(library, policy.source, "policy")
    for part in (policy.query, policy.action):
        if part is not None:
            yield from uses(library, part)


def _of_wrapper(
    library: Signatures, node: ast.Projection | ast.Sort | ast.Slice, function: str
) -> Iterator[Use]:
    match node:
        case ast.Projection(_, values):
            for value in values:
                yield from _of_computed(library, value, function)
        case ast.Sort(_, key):
            yield from _of_computed(library, key, function)
        case ast.Slice(_, start, end):
            for place in (start, end):
                if place is not None:
                    yield from _of_value(library, place, "slice", "place")


def _of_timer(library: Signatures, node: ast.AtTimer | ast.Timer) -> Iterator[Use]:
    if isinstance(node, ast.AtTimer):
        yield from _of_value(library, node.time, "attimer", "time")
    else:
        yield from _of_value(library, node.base, "timer", "base")
        yield from _of_value(library, node.interval, "timer", "interval")


def _of_computed(library: Signatures, value: Any, function: str) -> Iterator[Use]:
    """Yield the uses in a computed value: places, and conditions on the values of a list."""
    if not isinstance(value, ast.Computed):
        return
    first = ast.computed_name(value.arguments[0])
    for child in value.arguments:
        match child:
            case ast.ListFilter(name, predicate):
                for token, type_, _ in uses(library, predicate, function):
                    listed = _type_of(library, function, name)
                    yield token, type_ if type_ == str(NUMBER) else listed, f"{function}:{name}"
            case _:
                yield from _of_value(library, child, function, first)


def _of_value(library: Signatures, value: Any, function: str, name: str) -> Iterator[Use]:
    if isinstance(value, ast.SlotValue):
        type_ = str(NUMBER) if value.unit else _type_of(library, function, name)
        yield value.token, type_, f"{function}:{name}"
        return
    for child in children(value):
        yield from _of_value(library, child, function, name)


_AMOUNTS = ("max", "min", "sum", "avg")
_OTHERS = {
    ("attimer", "time"): "Time",
    ("timer", "base"): "Date",
    ("timer", "interval"): "Measure(ms)",
    ("policy", "source"): str(CONTACT),
    ("slice", "place"): str(NUMBER),
}


# What is computed -> its type; "" for that of the values of the list.
_COMPUTED = {"count": "Number", "distance": "Measure(m)", **dict.fromkeys(_AMOUNTS, "")}


def _type_of(library: Signatures, function: str, name: str) -> str:
    if (function, name) in _OTHERS:
        return _OTHERS[function, name]
    class_name, _, local = function.removeprefix("@").rpartition(".")
    signature = library.function(class_name, local)
    parameter = signature.parameter(name) if signature else None
    computed, _, of = name.partition(".")
    if parameter is None and computed in _COMPUTED:
        return _COMPUTED[computed] or _type_of(library, function, of)
    type_ = STRING if parameter is None else parameter.type
    return str(type_.element if isinstance(type_, Array) else type_)


def _last_function(node: Any) -> str:
    """Return the function whose outputs a filter on this query or stream names."""
    match node:
        case ast.Call():
            return qualify(node)
        case ast.Filter(query) | ast.Monitor(query):
            return _last_function(query)
        case ast.Projection(query) | ast.Sort(query) | ast.Slice(query):
            return _last_function(query)
        case ast.Join(_, right):
            return _last_function(right)
        case ast.Edge(stream):
            return _last_function(stream)
        case _:
            return ""


P = TypeVar("P", bound=ast.Program | ast.Policy)
_LIKE_ONE = re.compile(r"(?<!\S)[A-Z][^ ]*_[0-9]+(?!\S)")


def fill(program: P, values: Mapping[str, tuple[str, str]]) -> P:
    """Return the program with its placeholders replaced, those without a value kept.

    Args:
        program: the program.
        values: placeholder -> (value in token form, words that expressed it). The words
            stand in for a placeholder inside of free text.

    A day is a span of time, too: a value equal to it lies between its two midnights. `> DATE` is
    after a span, `< DATE` before it. Several values that one output equals are alternatives:
    nothing is both on saturday and on sunday.

    Raises:
        ValueError: a span where neither a comparison nor an input takes it; a day that is another
            one each time that a timer fires: "every morning my meetings today".

    >>> from genie_dp.languages.thingtalk.from_tokens import from_tokens
    >>> from genie_dp.languages.thingtalk.render import render
    >>> tokens = 'now => @c.f param:a:Number = NUMBER_0 param:b:String = " at NUMBER_0 "'
    >>> render(fill(from_tokens(tokens), {"NUMBER_0": ("20", "twenty")}))
    'now => @c.f(a = 20, b = "at twenty")'
    >>> due = from_tokens("now => ( @c.g ) filter param:due:Date == DATE_0 => notify")
    >>> render(fill(due, {"DATE_0": ("date:2027-01-18/2027-01-25", "next week")}))
    'now => (@c.g()) filter due >= new Date("2027-01-18") && due < new Date("2027-01-25") => notify'
    >>> degrees = from_tokens("now => @c.f param:a:Measure(C) = NUMBER_0 unit:F")
    >>> render(fill(degrees, {"NUMBER_0": ("70", "seventy")}))
    'now => @c.f(a = 70F)'
    """

    spans = {token: span for token, (text, _) in values.items() if (span := _span_of(text))}
    program = rewrite(program, partial(_with_alternatives, spans=spans))
    if spans and any(isinstance(rule.stream, ast.AtTimer | ast.Timer) for rule in _rules(program)):
        rewrite(program, partial(_refuse_days, said={x: values[x][1] for x in spans}))
    if spans:
        program = rewrite(program, partial(_with_ends, spans=spans))

    def words(text: str) -> str:
        return _LIKE_ONE.sub(lambda m: values[m[0]][1] if m[0] in values else m[0], text)

    def fill_node(node: Any) -> Any:
        match node:
            case ast.SlotValue(token, unit) if token in values:
                if span_ends(values[token][0]):
                    raise ValueError(f"expected one date, got a span of time: {values[token][1]}")
                constant_value = constant(values[token][0])
                return attach_unit(constant_value, unit) if unit else constant_value
            case ast.StringValue(text) if _LIKE_ONE.search(text):
                return replace(node, text=words(text))
            case ast.EntityValue(value, _, display):
                display_words = None if display is None else words(display)
                return replace(
                    node, value=None if value is None else words(value), display=display_words
                )
            case _:
                return node

    filled: P = rewrite(program, fill_node)
    return filled


def _rules(program: Any) -> Sequence[ast.Rule]:
    return program.rules if isinstance(program, ast.Program) else ()


def _refuse_days(node: Any, said: Mapping[str, str]) -> Any:
    """Refuse a comparison with a day relative to today, which has no digit in its words."""
    match node:
        case ast.Atom(value=ast.SlotValue(token)) if not re.search(r"\d", said.get(token, "0")):
            raise ValueError(f"{said[token]!r} is another day each time")
    return node


def _with_alternatives(node: Any, spans: Mapping[str, "_Span"]) -> Any:
    """Return a conjunction in which no output equals two values of a sentence at once.

    Days that follow each other are one span.
    """
    if not isinstance(node, ast.And):
        return node
    equal: dict[str, list[Any]] = {}
    for operand in node.operands:
        match operand:
            case ast.Atom(name, "==", ast.SlotValue()):
                equal.setdefault(name, []).append(operand)
    groups = [each for each in equal.values() if len({x.value for x in each}) > 1]
    if not groups:
        return node
    rest = tuple(x for x in node.operands if not any(x in each for each in groups))
    operands = (
        *rest,
        *(alternative for each in groups for alternative in _alternatives(each, spans)),
    )
    return ast.And(operands) if len(operands) > 1 else operands[0]


def _alternatives(atoms: Sequence[Any], spans: Mapping[str, "_Span"]) -> tuple[Any, ...]:
    """Return the predicate that an output equals one of several values."""
    periods = [spans[x.value.token] for x in atoms if x.value.token in spans]
    if len(periods) == len(atoms):
        periods.sort(key=lambda span: span.start.iso)
        if all(before.end == after.start for before, after in pairwise(periods)):
            start = replace(atoms[0], operator=">=", value=periods[0].start)
            return start, replace(atoms[0], operator="<", value=periods[-1].end)
    return (ast.Or(tuple(atoms)),)


class _Span(NamedTuple):
    start: ast.DateValue
    end: ast.DateValue
    is_day: bool


def _span_of(text: str) -> _Span | None:
    """Return a span of time, or a day; None of another constant."""
    if (ends := span_ends(text)) is not None:
        first, last = (ast.DateValue(each.removeprefix("date:")) for each in ends)
        return _Span(first, last, is_day=False)
    match constant(text) if text.startswith("date:") else None:
        case ast.DateValue(iso) as day if "T" not in iso and iso != str(date.max):
            end = date.fromisoformat(iso) + timedelta(days=1)
            return _Span(day, ast.DateValue(end.isoformat()), is_day=True)
        case _:
            return None


def _with_ends(node: Any, spans: Mapping[str, _Span]) -> Any:
    """Return a comparison with a span of time as one with its ends, an input as one to ask for.

    A value equal to a day lies within it; elsewhere a day is the moment at which it begins.
    """
    match node:
        case ast.Arg(_, ast.SlotValue(token)) if token in spans and not spans[token].is_day:
            return replace(node, value=ast.Undefined())
        case ast.Atom(value=ast.SlotValue(token)) | ast.Comparison(value=ast.SlotValue(token)):
            span = spans.get(token)
        case _:
            return node
    if span is not None and node.operator == "==":
        return _within(node, span)
    if span is None or span.is_day or node.operator not in _OPERATORS_OF_SPANS:
        return node
    operator, is_after = _OPERATORS_OF_SPANS[node.operator]
    return replace(node, operator=operator, value=span.end if is_after else span.start)


def _within(node: Any, span: _Span) -> ast.And:
    start = replace(node, operator=">=", value=span.start)
    return ast.And((start, replace(node, operator="<", value=span.end)))


def days_as_spans(program: P) -> P:
    """Return a program in which values equal to a day lie within it, as `fill` writes it.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> from genie_dp.languages.thingtalk.render import render
    >>> render(days_as_spans(parse('now => @c.g() filter due == new Date("2027-01-18") => notify')))
    'now => (@c.g()) filter due >= new Date("2027-01-18") && due < new Date("2027-01-19") => notify'
    """

    def change(node: Any) -> Any:
        match node:
            case ast.Atom(_, "==", ast.DateValue(iso)) | ast.Comparison(
                _, "==", ast.DateValue(iso)
            ) if (span := _span_of(f"date:{iso}")) is not None:
                return _within(node, span)
            case _:
                return node

    changed: P = rewrite(program, change)
    return changed


# Operator before a span of time -> that before its start, or behind it before its end.
_OPERATORS_OF_SPANS = {
    "<": ("<", False), ">=": (">=", False), ">": (">=", True), "<=": ("<", True),
}  # fmt: skip


def constant(text: str) -> ast.Value:
    """Return the constant of a token form.

    >>> constant("6 unit:ft 3 unit:in")
    MeasureValue(parts=((Decimal('6'), 'ft'), (Decimal('3'), 'in')))
    """
    value: Any = piece_from_tokens(text, "value")
    return value  # type: ignore[no-any-return]


def placeholders(program: Any) -> tuple[str, ...]:
    """Return the placeholders that a program still has, in program order.

    >>> from genie_dp.languages.thingtalk.from_tokens import from_tokens
    >>> placeholders(from_tokens("now => @c.f param:a:Number = NUMBER_0"))
    ('NUMBER_0',)
    """
    names: dict[str, None] = {}
    for node in walk(program):
        match node:
            case ast.StringValue(text):
                words = text
            case ast.EntityValue(value, _, display):
                words = f"{value or ''} {display or ''}"
            case ast.SlotValue(token):
                names[token] = None
                continue
            case _:
                continue
        names.update(dict.fromkeys(filter(is_slot, _LIKE_ONE.findall(words))))
    return tuple(names)


def map_names(program: P, find: Callable[[str, str], str]) -> P:
    """Return the program with each named entity replaced by `find(kind, words)`.

    >>> from genie_dp.languages.thingtalk.from_tokens import from_tokens
    >>> from genie_dp.languages.thingtalk.render import render
    >>> program = from_tokens('now => @c.f param:a:Entity(com.x:song) = " hey " ^^com.x:song')
    >>> render(map_names(program, lambda kind, words: words.title()))
    'now => @c.f(a = "Hey"^^com.x:song)'
    """

    def change(node: Any) -> Any:
        if isinstance(node, ast.EntityValue) and node.value is not None and node.display is None:
            constant = find(node.kind, node.value)
            return node if constant == node.value else replace(node, value=constant)
        return node

    mapped: P = rewrite(program, change)
    return mapped


class ThingTalkValues(ProgramValues):
    """Values of programs of ThingTalk."""

    fill = staticmethod(fill)
    placeholders = staticmethod(placeholders)
    map_names = staticmethod(map_names)
    anonymize = staticmethod(anonymize)

    def reads_values(self, library: Any) -> bool:
        """Return True: every library has dates and measures."""
        return True

    def uses(self, program: Any, library: Any) -> Iterator[Use]:
        """Yield the use of every placeholder of a program, in program order."""
        return uses(library, program)

    def limits(self, program: str, library: Any) -> Mapping[str, Limits]:
        """Return the bounds of numbers that skills have bounds for (`#[min_number]`)."""
        if library is None:
            return {}
        bounds_of_tokens: dict[str, Limits] = {}
        for token, type_, place in uses(library, from_tokens(program)):
            function, _, name = place.rpartition(":")
            signature = library.signature(function) if type_ == "Number" else None
            parameter = signature.parameter(name) if signature else None
            if parameter is not None and (parameter.least, parameter.most) != (None, None):
                bounds = Limits(parameter.least, parameter.most)
                bounds_of_tokens[token] = bounds_of_tokens.get(token, bounds) & bounds
        return bounds_of_tokens

    def written(self, constant: str) -> str:
        """Return it: constants are in the notation of ThingTalk."""
        return constant

    def quotes(self, type_: Type, before: str) -> tuple[str, str]:
        """Return the quotes of a text, with the kind of an entity."""
        return '" ', f' " ^^{type_.kind}' if isinstance(type_, Entity) else ' "'
