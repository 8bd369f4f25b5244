"""Rows with ThingTalk 2 programs, as Schema2QA and Genie's commands have them, as rows of ours.

    python benchmarks/thingtalk2.py --skills SKILLS [--placeholders] commands.jsonl rows.jsonl

Each line of the input has id, utterance and program (`stream => query => action;`). Programs must
fit the skills. What our language cannot say is left out and counted by reason.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, reduce
from pathlib import Path
from typing import Any

from lark import Lark, Token
from lark.exceptions import LarkError, UnexpectedInput, VisitError
from lark.tree import Meta

from genie_dp.dataset.formats import LeftRow
from genie_dp.dataset.readers import objects, spell_as_spoken
from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.tokens import tokens
from genie_dp.languages.thingtalk.transform import ValueReader, unquote
from genie_dp.languages.thingtalk.traverse import children, functions_used, rewrite, source_calls
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.types import STRING, Entity, Measure, is_slot, slot_stem, slot_type
from genie_dp.languages.units import SHIPPED
from genie_dp.records import Example, Slot, Source
from genie_dp.rows import FreeIds, to_json
from genie_dp.run.cache import load_lark
from genie_dp.skills.load import load_library
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import tokenize

# ruff: noqa: D102 - one method per rule of thingtalk2.lark, which says what it reads


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
ILL_TYPED = "does not type-check"
NORMAL_FORM = "no canonical form"
NOT_SAID = "value not in the sentence"


class NoEqual(Exception):
    """A program says what cannot be said in our language."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


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
    grammar = Path(__file__).with_suffix(".lark").read_text("utf-8")
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


# ------------------------------------------------------------------------------- rows of ours


@dataclass(frozen=True, slots=True)
class ThingTalk2Converter:
    """Reads programs that call the functions of a library.

    Attributes:
        library: of the skills; rows that do not type-check in it are left out.
        placeholders: whether texts and names that a sentence says become placeholders.
    """

    library: SkillLibrary
    placeholders: bool = False

    def row(self, id: str, utterance: str, program: str, source: Source) -> Example | LeftRow:
        """Return the row with our program, or why there is none."""
        try:
            words, tree = self._convert(utterance, program)
            tree = self._canonical(tree)
            text = tokens(tree, self.library)
        except NoEqual as error:
            return LeftRow(id, utterance, program, error.reason, error.detail)
        text = spell_as_spoken(text, words)
        functions = tuple(
            f"@{call.selector.class_name}.{call.function}"
            for call in functions_used(tree)
            if isinstance(call, ast.Call)
        )
        return Example(
            id, " ".join(words), text, source=source, functions=functions,
            slots=dict(_slots(tree)),
        )  # fmt: skip

    def program(self, text: str) -> tuple[ast.Program | ast.Policy, tuple[NewPlaceholder, ...]]:
        """Return our program for a text, and the placeholders that its sentence must get.

        Raises:
            NoEqual: there is none.
        """
        if text.startswith("now"):  # ThingTalk 1, as older rows have it
            try:
                return parse(text), ()
            except GenieError:
                pass  # or so it seems: what the other grammar says of it is told
        statements, changes = read_statements(text)
        return program_of(statements, self._is_action), changes

    def _convert(
        self, utterance: str, program: str
    ) -> tuple[tuple[str, ...], ast.Program | ast.Policy]:
        tree, changes = self.program(unmask(program))
        words = tokenize(unmask(utterance))
        if changes:
            words = rename_placeholders(words, changes)
        names = new_numbers(words, _placeholders(tree))
        if names:
            words = tuple(names.get(word, word) for word in words)
            tree = rewrite(tree, lambda node: _renumber(node, names))
        return put_placeholders(words, tree) if self.placeholders else (words, tree)

    def _canonical(self, tree: ast.Program | ast.Policy) -> ast.Program | ast.Policy:
        for problem in check(tree, self.library):
            if problem.severity == "error":
                raise NoEqual(f"{ILL_TYPED} ({problem.code})", problem.message)
        try:
            return canonical(tree, self.library)
        except GenieError as error:
            raise NoEqual(NORMAL_FORM, error.problems[0].message) from None

    def _is_action(self, name: str) -> bool | None:
        class_name, _, function = name[1:].rpartition(".")
        declared = self.library.function(class_name, function)
        return None if declared is None else declared.kind == "action"


def _renumber(node: Any, names: dict[str, str]) -> Any:
    match node:
        case ast.SlotValue(token):
            return replace(node, token=names.get(token, token))
    return node


def _placeholders(node: Any) -> Iterator[str]:
    if isinstance(node, ast.SlotValue):
        yield node.token
    for child in children(node):
        yield from _placeholders(child)


def _slots(node: Any, source: str = "") -> Iterator[tuple[str, Slot]]:
    """Yield placeholders with their type and the parameter that they fill, such as @c.f:x."""
    match node:
        case ast.Call(selector, function, args):
            source = f"@{selector.class_name}.{function}"
            for arg in (*selector.attributes, *args):
                yield from _slots_of(arg.name, arg.value, source)
            return
        case ast.Filter(query, predicate):
            yield from _slots(query, source)
            yield from _slots(predicate, _last_function(query))
            return
        case ast.Edge(stream, predicate) | ast.StreamFilter(stream, predicate):
            yield from _slots(stream, source)
            yield from _slots(predicate, _last_function(stream))
            return
        case ast.GetPredicate(call, predicate):
            yield from _slots(call, source)
            yield from _slots(predicate, _last_function(call))
            return
        case ast.Atom(name, _, value):
            yield from _slots_of(name, value, source)
            return
        case ast.Comparison(left, _, value):
            yield from _slots(left, source)
            yield from _slots_of(ast.computed_name(left), value, source)
            return
        case ast.SlotValue(token):
            yield token, Slot(str(slot_type(token)), source)
            return
    for child in children(node):
        yield from _slots(child, source)


def _slots_of(name: str, value: Any, function: str) -> Iterator[tuple[str, Slot]]:
    for token in _placeholders(value):
        yield token, Slot(str(slot_type(token)), f"{function}:{name}" if function else name)


def _last_function(node: Any) -> str:
    """Return the right-most function: names mean its outputs."""
    match node:
        case ast.Monitor(query):
            node = query
        case ast.Edge(stream) | ast.StreamFilter(stream):
            return _last_function(stream)
        case ast.Timer() | ast.AtTimer():
            return ""
    calls = list(source_calls(node)) if not isinstance(node, ast.StreamJoin) else []
    if not calls:
        return ""
    return f"@{calls[-1].selector.class_name}.{calls[-1].function}"


# ------------------------------------------------------------------------ placeholders of sentences


# Words that may follow a number, by unit; where the sentence has none the number stands alone.
_UNIT_WORDS: Mapping[str, frozenset[str]] = {
    unit: frozenset(words.split())
    for unit, words in {
        "ms": "ms milliseconds millisecond",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "mon": "month months",
        "year": "year years",
        "m": "m meter meters metre metres",
        "km": "km kms kilometer kilometers kilometre kilometres",
        "mm": "mm millimeter millimeters",
        "cm": "cm centimeter centimeters",
        "mi": "mi mile miles",
        "in": "in inch inches",
        "ft": "ft foot feet",
        "mps": "mps",
        "kmph": "kmph kph kmh",
        "mph": "mph",
        "kg": "kg kgs kilo kilos kilogram kilograms",
        "g": "g gram grams",
        "lb": "lb lbs pound pounds",
        "oz": "oz ounce ounces",
        "C": "c celsius centigrade degree degrees ° °c",
        "F": "f fahrenheit farenheit degree degrees ° °f",
        "K": "k kelvin degree degrees",
        "bpm": "bpm",
        "kcal": "kcal calories calorie",
        "byte": "byte bytes b",
        "KB": "kb kilobyte kilobytes",
        "MB": "mb megabyte megabytes",
        "GB": "gb gigabyte gigabytes",
        "TB": "tb terabyte terabytes",
    }.items()
}
_PHRASES = (("miles", "per", "hour"), ("kilometers", "per", "hour"), ("meters", "per", "second"))


# How logs of users hold what was taken out of them.
_MASK = re.compile(r'"?str:([A-Z_]+)::(\d+):"?(?:\^\^[\w.-]+:\w+)?')

_NAME = re.compile(r'\("str:([A-Z_]+)::(\d+):"\)')  # of an entity, which stays text


def unmask(text: str) -> str:
    """Return a sentence or program with placeholders where a log has its own.

    >>> unmask('@c.mail(to="str:EMAIL_ADDRESS::0:"^^tt:email_address);')
    '@c.mail(to=EMAIL_ADDRESS_0);'
    """
    return _MASK.sub(r"\1_\2", _NAME.sub(r'("\1_\2")', text))


def rename_placeholders(
    tokens: Sequence[str], changes: Iterable[NewPlaceholder]
) -> tuple[str, ...]:
    """Return the tokens of a sentence with the placeholders that its program has.

    Raises:
        NoEqual: the sentence does not say one of the values.

    >>> number = NewPlaceholder("NUMBER_0", "MEASURE_C_0", "F")
    >>> rename_placeholders(("below", "NUMBER_0", "degrees", "f"), [number])
    ('below', 'MEASURE_C_0')
    >>> place = NewPlaceholder("palo alto", "LOCATION_0")
    >>> rename_placeholders(("rain", "in", "palo", "alto"), [place])
    ('rain', 'in', 'LOCATION_0')
    """
    sentence = list(tokens)
    for change in changes:
        words = change.words.lower().split() if not is_slot(change.words) else [change.words]
        places = [i for i in range(len(sentence)) if sentence[i : i + len(words)] == words]
        if not places:
            raise NoEqual(NOT_SAID, change.words)
        for place in reversed(places):
            end = place + len(words)
            end += _unit_length(sentence[end : end + 3], change.unit)
            sentence[place:end] = [change.token]
    return tuple(sentence)


def _unit_length(after: Sequence[str], unit: str) -> int:
    """Return how many of the words after a number are its unit."""
    words = _UNIT_WORDS.get(unit, frozenset())
    if unit in ("mph", "kmph", "mps") and tuple(after) in _PHRASES:
        return 3
    length = 0
    while length < min(2, len(after)) and after[length] in words:
        length += 1
    return length


def new_numbers(tokens: Sequence[str], program: Iterable[str]) -> dict[str, str]:
    """Return new names for placeholders, so that those of a sort are numbered from 0 on.

    >>> new_numbers(("from", "NUMBER_1", "to", "NUMBER_2"), ["NUMBER_2", "NUMBER_1"])
    {'NUMBER_1': 'NUMBER_0', 'NUMBER_2': 'NUMBER_1'}
    """
    sorts: dict[str, set[int]] = {}
    for token in (*tokens, *program):
        if is_slot(token):
            stem, _, number = token.rpartition("_")
            sorts.setdefault(stem, set()).add(int(number))
    return {
        f"{stem}_{number}": f"{stem}_{place}"
        for stem, numbers in sorts.items()
        for place, number in enumerate(sorted(numbers))
        if place != number
    }


# ----------------------------------------------------------------- placeholders for texts and names


Words = tuple[str, ...]
Program = ast.Program | ast.Policy
TextOrName = ast.StringValue | ast.EntityValue


def put_placeholders(words: Sequence[str], tree: Program) -> tuple[Words, Program]:
    """Return sentence and program with placeholders for the texts and names that both have.

    A crowd is shown a few values, and its rows hold these over and over: with placeholders, other
    values can be put in. A value stays that the sentence says never or twice, that the program has
    twice, or of which a longer one has words. All placeholders are numbered anew, each sort in the
    order of the sentence.
    """
    values = {literal_words(value): value for value in literals(tree)}
    counts = Counter(literal_words(value) for value in literals(tree))
    stems: dict[int, tuple[int, str, TextOrName]] = {}  # where it begins -> where it ends, its stem
    taken: set[int] = set()
    for text in sorted(values, key=lambda text: (-len(text), text)):
        stem, places = stem_of(values[text]), find_words(text, words)
        if stem is None or counts[text] > 1 or len(places) != 1:
            continue
        span = range(places[0], places[0] + len(text))
        if taken.isdisjoint(span):
            taken.update(span)
            stems[span.start] = (span.stop, stem, values[text])
    return _put_numbered(words, tree, stems)


def literals(node: Any) -> Iterator[TextOrName]:
    """Yield the texts and names of a program that have words."""
    match node:
        case ast.StringValue(text) | ast.EntityValue(str() as text, _, None) if text.split():
            yield node
    for child in children(node):
        yield from literals(child)


def literal_words(value: TextOrName) -> Words:
    """Return the words of a text or a name, as sentences are split."""
    return tokenize(str(value.text if isinstance(value, ast.StringValue) else value.value))


def stem_of(value: TextOrName) -> str | None:
    """Return the stem of the placeholder; None for what cannot be said.

    >>> stem_of(ast.EntityValue("abba", "com.x:artist"))
    'GENERIC_ENTITY_com.x:artist'
    """
    return slot_stem(STRING if isinstance(value, ast.StringValue) else Entity(value.kind))


def find_words(text: Words, words: Sequence[str]) -> list[int]:
    """Return where a sentence says some words.

    >>> find_words(("a", "b"), "a b or a".split())
    [0]
    """
    size = len(text)
    return [i for i in range(len(words) - size + 1) if tuple(words[i : i + size]) == text]


def _put_numbered(
    words: Sequence[str], tree: Program, stems: dict[int, tuple[int, str, TextOrName]]
) -> tuple[Words, Program]:
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    values: dict[TextOrName, str] = {}
    sentence: list[str] = []
    place = 0

    def next_of(stem: str) -> str:
        counts[stem] += 1
        return f"{stem}_{counts[stem] - 1}"

    while place < len(words):
        word, end = words[place], place + 1
        if place in stems:
            end, stem, value = stems[place]
            word = values[value] = next_of(stem)
        elif is_slot(word):
            if word not in names:
                names[word] = next_of(word.rpartition("_")[0])
            word = names[word]
        sentence.append(word)
        place = end

    def replace_values(node: Any) -> Any:
        match node:
            case ast.SlotValue(token):
                return replace(node, token=names.get(token, token))
            case ast.StringValue() | ast.EntityValue() if node in values:
                return ast.SlotValue(values[node])
        return node

    return tuple(sentence), rewrite(tree, replace_values)


# ------------------------------------------------------------------------------------------- rows


def read_thingtalk2(
    path: Path, library: SkillLibrary, *, placeholders: bool = False
) -> Iterator[Example | LeftRow]:
    """Yield the rows of a JSONL file with id, utterance and program, each under its own id."""
    source: Source = "paraphrase" if "paraphrase" in path.name else "human"
    converter, ids = ThingTalk2Converter(library, placeholders), FreeIds()
    for _, row in objects(str(path), ("id", "utterance", "program")):
        act = row.get("act", "execute")
        if act != "execute":
            yield LeftRow(row["id"], row["utterance"], row["program"], DIALOGUE, str(act))
            continue
        made = converter.row(row["id"], row["utterance"], row["program"], source)
        yield made if isinstance(made, LeftRow) else ids.rename(made)


def main() -> None:
    """Convert a file and print how many rows were left out, by reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--skills", type=Path, required=True)
    parser.add_argument(
        "--placeholders", action="store_true", help="for texts and names that the sentence says"
    )
    asked = parser.parse_args()
    library = load_library([asked.skills], skip_broken=True)
    count, reasons = 0, Counter[str]()
    with asked.output.open("w", encoding="utf-8") as out:
        for row in read_thingtalk2(asked.input, library, placeholders=asked.placeholders):
            if isinstance(row, LeftRow):
                reasons[row.reason] += 1
                continue
            count += 1
            out.write(to_json(row) + "\n")
    print(f"{count:,} of {count + reasons.total():,} rows converted")
    for reason, left in reasons.most_common():
        print(f"{left:>8,}  {reason}")


if __name__ == "__main__":
    main()
