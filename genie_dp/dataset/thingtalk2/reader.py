"""Programs of ThingTalk 2, statement by statement, as programs of our language.

What our language cannot say raises NoEqual.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, reduce
from importlib.resources import files
from typing import Any

from lark import Lark, Token
from lark.exceptions import LarkError, UnexpectedInput, VisitError
from lark.tree import Meta

from genie_dp.dataset.formats import NoEqual
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.transform import ValueReader, unquote
from genie_dp.languages.thingtalk.traverse import children, functions_used
from genie_dp.languages.types import Measure, is_slot, slot_stem
from genie_dp.languages.units import SHIPPED
from genie_dp.run.cache import load_lark

# ruff: noqa: D102 - one method per rule of grammar.lark, which says what it reads


INDICES = "several indices"
COMPUTED = "computed value"
DIALOGUE = "act of a dialogue"
TIMER = "timer of another sort"
VALUE = "value of another sort"
OPERATOR = "operator of another sort"
UNIT = "unit"
SUBQUERY = "subquery of another sort"
UNREADABLE = "cannot be read"
UNKNOWN_KIND = "query or action unknown"


@dataclass(frozen=True, slots=True)
class Chain:
    """`query => query`: the second is asked for each result of the first."""

    queries: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Now:
    """`now`, as older programs begin."""


@dataclass(frozen=True, slots=True)
class NewPlaceholder:
    """A placeholder of the sentence that must be another one, with its unit or without.

    Attributes:
        words: of the sentence: a placeholder, or the name of a place.
        unit: whose words may follow it in the sentence, or "".
    """

    words: str
    token: str
    unit: str = ""


class ThingTalk2Reader(ValueReader):
    """Turns the tree of a program into statements: lists of nodes and Chain.

    Attributes:
        new_placeholders: those that the sentence must get.
    """

    def __init__(self, text: str) -> None:
        """Keep the placeholders of the program, so that new ones are different."""
        super().__init__("<program>")
        self.new_placeholders: dict[tuple[str, str], NewPlaceholder] = {}
        self._taken = set(re.findall(r"\b[A-Z][A-Z_]*(?:_[A-Za-z]+)?_\d+\b", text))

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        raise AssertionError(f"no method for {data}")

    # --------------------------------------------------------------------------- statements

    def start(self, _meta: Meta, children: list[Any]) -> list[list[Any]]:
        return children

    def statement(self, _meta: Meta, children: list[Any]) -> list[Any]:
        return children

    def dialogue(self, _meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(DIALOGUE, str(children[-1]))

    def now(self, _meta: Meta, _children: list[Any]) -> Now:
        return Now()

    def notify(self, _meta: Meta, _children: list[Any]) -> ast.Notify:
        return ast.Notify()

    def chain(self, _meta: Meta, children: list[Any]) -> Chain:
        return Chain(tuple(children))

    # -------------------------------------------------------------------------- expressions

    def projection(self, _meta: Meta, children: list[Any]) -> ast.Projection:
        *values, query = children
        outputs = tuple(value for value in values if value is not None)
        return ast.Projection(query_of(query), outputs, len(outputs) < len(values))

    def filter(self, _meta: Meta, children: list[Any]) -> Any:
        inner, predicate = children
        match inner:
            case ast.Monitor():  # "becomes": the condition turns true (ThingTalk 2 says edge so)
                return ast.Edge(inner, predicate)
            case ast.Timer() | ast.AtTimer() | ast.Edge() | ast.StreamFilter():
                return ast.StreamFilter(inner, predicate)
        return ast.Filter(query_of(inner), predicate)

    def index(self, _meta: Meta, children: list[Any]) -> ast.Slice:
        query, start, *others = children
        match start, others:
            case _, []:
                return ast.Slice(query_of(query), start)
            case ast.NumberValue(first), [limit] if first == 1:
                return ast.Slice(query_of(query), start, limit)
            case ast.NumberValue(first), [ast.NumberValue(limit)]:  # from there on, so many
                return ast.Slice(query_of(query), start, ast.NumberValue(first + limit - 1))
        raise NoEqual(INDICES, "a slice from a place that the sentence says")

    def indices(self, _meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(INDICES, str(len(children) - 1))

    def sort(self, _meta: Meta, children: list[Any]) -> ast.Sort:
        key, *direction, query = children
        return ast.Sort(query_of(query), key, str(direction[0]) if direction else "asc")

    def sort_key(self, meta: Meta, children: list[Any]) -> Any:
        return self.projected(meta, children)

    def projected(self, _meta: Meta, children: list[Any]) -> Any:
        """Return an output or computed value; None for `*`."""
        (child,) = children
        if not isinstance(child, Token):
            return child
        return None if child.type == "STAR" else ast.VarRef(str(child))

    def computed(self, _meta: Meta, children: list[Any]) -> ast.Computed:
        operator, *arguments = children
        if operator not in ast.COMPUTATIONS or not isinstance(arguments[0], ast.VarRef):
            raise NoEqual(COMPUTED, str(operator))
        return ast.Computed(str(operator), tuple(arguments))

    def computed_of_list(self, _meta: Meta, children: list[Any]) -> ast.Computed:
        operator, name, predicate = children
        if operator not in ast.COMPUTATIONS:
            raise NoEqual(COMPUTED, str(operator))
        return ast.Computed(str(operator), (ast.ListFilter(str(name), predicate),))

    def fields(self, _meta: Meta, children: list[Token]) -> tuple[str, ...]:
        return tuple(map(str, children))

    def monitor(self, _meta: Meta, children: list[Any]) -> ast.Monitor:
        inner, names = children[-1], children[0] if len(children) > 1 else ()
        match inner:  # `[a] of` inside of a monitor says what to watch
            case ast.Projection(query, values, False) if all(
                isinstance(value, ast.VarRef) for value in values
            ):
                inner, names = query, tuple(map(ast.computed_name, values))
        return ast.Monitor(query_of(inner), tuple(names))

    def monitor_chain(self, _meta: Meta, children: list[Any]) -> ast.Monitor:
        return ast.Monitor(query_of(Chain(tuple(children))))

    def timer(self, meta: Meta, children: list[Any]) -> Any:
        inputs = {arg.name: arg.value for arg in children}
        match inputs:
            case {"time": ast.ArrayValue((time, *others)) as times} if len(inputs) == 1:
                return ast.AtTimer(times if others else time)
            case {"interval": interval} if set(inputs) <= {"interval", "base"}:
                return ast.Timer(inputs.get("base", ast.DateNow()), interval)
        raise NoEqual(TIMER, ", ".join(inputs))

    def count(self, _meta: Meta, children: list[Any]) -> ast.Aggregate:
        return ast.Aggregate("count", None, query_of(children[0]))

    def aggregate(self, _meta: Meta, children: list[Any]) -> ast.Aggregate:
        operator, name, query = children
        return ast.Aggregate(str(operator), str(name), query_of(query))

    # -------------------------------------------------------------------------------- calls

    def named_call(self, _meta: Meta, children: list[Any]) -> ast.Call:
        name, *inputs = children
        class_name, _, function = name[1:].rpartition(".")
        if not class_name:
            raise NoEqual(UNREADABLE, f"{name} has no class")
        return ast.Call(ast.Selector(class_name), function, inputs[0] if inputs else ())

    def class_call(self, _meta: Meta, children: list[Any]) -> ast.Call:
        name, *rest = children
        attributes = rest.pop(0) if isinstance(rest[0], tuple) else ()
        function, *inputs = rest
        selector = ast.Selector(str(name[1:]), attributes)
        return ast.Call(selector, str(function), inputs[0] if inputs else ())

    def inputs(self, _meta: Meta, children: list[ast.Arg]) -> tuple[ast.Arg, ...]:
        return tuple(children)

    def arg(self, _meta: Meta, children: list[Any]) -> ast.Arg:
        return ast.Arg(str(children[0]), children[1])

    # --------------------------------------------------------------------------- predicates

    def or_(self, _meta: Meta, children: list[ast.Predicate]) -> ast.Predicate:
        return ast.Or(tuple(children))

    def and_(self, _meta: Meta, children: list[ast.Predicate]) -> ast.Predicate:
        return ast.And(tuple(children))

    def not_(self, _meta: Meta, children: list[ast.Predicate]) -> ast.Predicate:
        return ast.Not(children[0])

    def true_predicate(self, _meta: Meta, _children: list[Any]) -> ast.Predicate:
        return ast.TrueP()

    def false_predicate(self, _meta: Meta, _children: list[Any]) -> ast.Predicate:
        return ast.FalseP()

    def atom(self, _meta: Meta, children: list[Any]) -> ast.Predicate:
        name, operator, value = children
        return ast.Atom(str(name), str(operator), value)

    def function_atom(self, _meta: Meta, children: list[Any]) -> ast.Predicate:
        operator, name, value = children
        if operator not in ast.OPERATORS and operator not in ast.SOFT_OPERATORS:
            raise NoEqual(OPERATOR, str(operator))
        return ast.Atom(str(name), str(operator), value)

    def field_atom(self, _meta: Meta, children: list[Any]) -> ast.Predicate:
        *names, operator, value = children
        return ast.Atom(".".join(names), str(operator), value)

    def computed_atom(self, _meta: Meta, children: list[Any]) -> ast.Predicate:
        return ast.Comparison(children[0], str(children[1]), children[2])

    def get_predicate(self, _meta: Meta, children: list[Any]) -> ast.Predicate:
        return ast.GetPredicate(*children)

    def any_predicate(self, _meta: Meta, children: list[Any]) -> ast.Predicate:
        match children[0]:
            case ast.Filter(ast.Call() as call, predicate):
                return ast.GetPredicate(call, predicate)
        raise NoEqual(SUBQUERY, "any")

    # ------------------------------------------------------------------------------- values

    def string(self, meta: Meta, children: list[Token]) -> ast.Value:
        return ast.StringValue(unquote(children[0]).strip())

    def display(self, _meta: Meta, children: list[Token]) -> str:
        return unquote(children[0]).strip()

    def entity(self, meta: Meta, children: list[Any]) -> ast.Value:
        kind, name = children[1][2:], children[2] if len(children) > 2 else None
        if children[0].type == "NULL" and name:
            # Known by name only: so do our rows name it, and a parser should learn one form.
            return ast.EntityValue(name, kind)
        value = None if children[0].type == "NULL" else unquote(children[0]).strip()
        return ast.EntityValue(value, kind, name)

    def currency(self, meta: Meta, children: list[Token]) -> ast.Value:
        amount, _, code = children[0].partition("$")
        return ast.CurrencyValue(Decimal(amount.strip()), code.lower())

    def measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        match = re.fullmatch(r"(.*?\d\.?)([A-Za-z_]\w*)", children[0])
        assert match is not None
        return self._measure(match[1], match[2])

    def spaced_measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        return self._measure(children[0], children[1])

    def _measure(self, amount: str, unit: str) -> ast.Value:
        if unit not in SHIPPED:
            raise NoEqual(UNIT, unit)
        return ast.MeasureValue(((Decimal(amount), str(unit)),))

    def slot_measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        """`NUMBER_0 F`: with us the number and its unit are one placeholder."""
        token, unit = map(str, children)
        if not is_slot(token) or unit not in SHIPPED:
            raise NoEqual(UNIT, unit)
        return self._new_placeholder(token, slot_stem(Measure(unit)) or "", unit)

    def _new_placeholder(self, words: str, stem: str, unit: str = "") -> ast.Value:
        if (words, unit) not in self.new_placeholders:
            number = next(n for n in range(1000) if f"{stem}_{n}" not in self._taken)
            self._taken.add(f"{stem}_{number}")
            self.new_placeholders[words, unit] = NewPlaceholder(words, f"{stem}_{number}", unit)
        return ast.SlotValue(self.new_placeholders[words, unit].token)

    def variable(self, meta: Meta, children: list[Token]) -> ast.Value:
        name = str(children[0])
        return ast.SlotValue(name) if is_slot(name) else ast.VarRef(name)

    def field_value(self, meta: Meta, children: list[Token]) -> ast.Value:
        return ast.VarRef(".".join(children))

    def computed_value(self, meta: Meta, children: list[Any]) -> ast.Value:
        if len(children) == 1:
            raise NoEqual(COMPUTED, str(children[0]))
        return self.computed(meta, children)

    def any_value(self, meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(SUBQUERY, "any")

    def special(self, meta: Meta, children: list[Any]) -> ast.Value:
        match [str(child) for child in children]:
            case ["$time", time]:
                return ast.ContextValue(("time", time))
            case ["$result"]:  # the event as text, as `$event` of ThingTalk 1 is called there
                return ast.EventValue(span=self.span(meta))
            case ["$context", *_]:
                raise NoEqual(VALUE, "$context")
        return super().special(meta, children)

    def constructor(self, meta: Meta, children: list[Any]) -> ast.Value:
        name, args = str(children[0]), [c for c in children[1:] if not isinstance(c, Token)]
        if len(children) > 1 and len(args) < 1 + sum(isinstance(c, Token) for c in children[1:]):
            raise NoEqual(VALUE, f"{name} with parts left out")
        match name, args:
            case "Location", [ast.StringValue(place)]:
                return self._new_placeholder(place, "LOCATION")
            case "Date", [ast.EnumValue()]:
                raise NoEqual(VALUE, "day of the week")
            case "Date", [ast.NumberValue(year)] if year < 10_000:  # its beginning
                args = [ast.NumberValue(year), *(ast.NumberValue(Decimal(1)) for _ in "md")]
        value = self._construct(name, args, self.span(meta))
        if value is None:
            raise NoEqual(VALUE, f"new {name}")
        return value

    def array(self, meta: Meta, children: list[Any]) -> ast.Value:
        return ast.ArrayValue(tuple(children))

    def type(self, meta: Meta, children: list[Any]) -> Any:
        return str(children[0])


def query_of(node: Any) -> Any:
    """Return what stands where a query must."""
    match node:
        case Chain(queries):
            return reduce(join, map(query_of, queries))
        case ast.Monitor() | ast.Timer() | ast.AtTimer() | ast.Edge() | ast.StreamFilter():
            raise NoEqual(UNREADABLE, "a stream where a query must be")
    return node


def join(left: Any, right: Any) -> ast.Join:
    """Return `left => right` as a join: inputs of the right that are names become its passing."""
    passed: list[ast.Arg] = []

    def without(query: Any) -> Any:
        match query:
            case ast.Call(selector, function, args):
                passed.extend(a for a in args if isinstance(a.value, ast.VarRef))
                constants = tuple(a for a in args if not isinstance(a.value, ast.VarRef))
                return ast.Call(selector, function, constants)
            case ast.Filter(inner, predicate):
                return ast.Filter(without(inner), predicate)
            case ast.Aggregate(operator, name, inner):
                return ast.Aggregate(operator, name, without(inner))
            case ast.Projection(inner) | ast.Sort(inner) | ast.Slice(inner):
                return replace(query, query=without(inner))
        return query

    bare = without(right)
    return ast.Join(left, bare, tuple(passed))


@cache
def _parser() -> Lark:
    grammar = files("genie_dp.dataset.thingtalk2").joinpath("grammar.lark").read_text("utf-8")
    return load_lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def read_statements(text: str) -> tuple[list[list[Any]], tuple[NewPlaceholder, ...]]:
    """Return the statements of a program, and the placeholders that its sentence must get.

    Raises:
        NoEqual: our language cannot say it, or it cannot be read.

    >>> [[monitor]], _ = read_statements("monitor ( @c.d . f ( ) ) ;")
    >>> monitor.query.function
    'f'
    """
    reader = ThingTalk2Reader(text)
    try:
        statements = reader.transform(_parser().parse(text))
    except UnexpectedInput as error:
        start = error.pos_in_stream or 0
        raise NoEqual(UNREADABLE, f"at {text[start : start + 20]!r}") from None
    except VisitError as error:
        if isinstance(error.orig_exc, NoEqual):
            raise error.orig_exc from None
        raise
    except LarkError as error:
        raise NoEqual(UNREADABLE, str(error)) from None
    if reader.problems:
        raise NoEqual(VALUE, reader.problems[0].message)
    return statements, tuple(reader.new_placeholders.values())


# ------------------------------------------------------------------------- statements as rules

_STREAMS = (ast.Monitor, ast.Timer, ast.AtTimer, ast.Edge, ast.StreamFilter)

IsAction = Callable[[str], bool | None]
"""Takes a function as `@class.name`; None where that is not known."""


def program_of(statements: Iterable[list[Any]], is_action: IsAction) -> ast.Program:
    """Return the program of statements as `read_statements` gives them.

    Raises:
        NoEqual: our language cannot say it.

    >>> from genie_dp.dataset.thingtalk2.reader import read_statements
    >>> from genie_dp.languages.thingtalk.render import render
    >>> statements, _ = read_statements("monitor(@c.q()) => @c.a(x = y);")
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
    queries = [_passed_on(query_of(element), action) for element in rest]
    if not queries and isinstance(action, ast.Notify) and stream is None:
        raise NoEqual(UNREADABLE, "an empty statement")
    rule = ast.Rule(stream, reduce(join, queries) if queries else None, action)
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


def _passed_on(query: Any, action: ast.Action) -> Any:
    """Return a query without a projection that takes away nothing of what an action may use."""
    match action, query:
        case ast.Call(), ast.Projection(inner, values) if all(
            isinstance(value, ast.VarRef) for value in values
        ):
            return inner
    return query


def queries_in(statements: Iterable[list[Any]]) -> Iterator[str]:
    """Yield the functions that can only be queries, by the place where they stand.

    >>> from genie_dp.dataset.thingtalk2.reader import read_statements
    >>> list(queries_in(read_statements("@c.q() filter n > 3 => @c.x();")[0]))
    ['@c.q']
    """
    for elements in statements:
        for place, element in enumerate(elements):
            is_bare = isinstance(element, ast.Call)
            if is_bare and place == len(elements) - 1:
                continue
            for call in _calls_in(element):
                yield f"@{call.selector.class_name}.{call.function}"


def _calls_in(element: Any) -> Iterator[ast.Call]:
    match element:
        case Chain(queries):
            for query in queries:
                yield from _calls_in(query)
        case Now() | ast.Notify():
            return
        case _:
            yield from (c for c in functions_used(element) if isinstance(c, ast.Call))
