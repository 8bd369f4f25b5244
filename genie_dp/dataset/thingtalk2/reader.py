"""Parse tree of ThingTalk 2 to nodes of our language, statement by statement.

What our language cannot say raises NoEqual; what becomes of a statement's elements is told by
statements.py.
"""

# ruff: noqa: D102 - one method per rule of grammar.lark, which says what it reads

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token
from lark.exceptions import LarkError, UnexpectedInput, VisitError
from lark.tree import Meta

from genie_dp.dataset.left import NoEqual
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.slots import is_slot, slot_stem
from genie_dp.languages.thingtalk.transform_values import ValueReader, unquote
from genie_dp.languages.thingtalk.types import UNITS, Measure

SORT = "sort, index or slice"
PROJECTION = "projection"
COMPUTED = "computed value"
DIALOGUE = "act of a dialogue"
TIMER = "timer of another sort"
VALUE = "value of another sort"
OPERATOR = "operator of another sort"
UNIT = "unit"
SUBQUERY = "subquery of another sort"
UNREADABLE = "cannot be read"


@dataclass(frozen=True, slots=True)
class Projected:
    """`[a, b] of query`: only some outputs."""

    names: tuple[str, ...]
    query: Any


@dataclass(frozen=True, slots=True)
class Chain:
    """`query => query`: the second is asked for each result of the first."""

    queries: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Now:
    """`now`, as older programs begin."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A placeholder of the sentence that must be another one, with its unit or without.

    Attributes:
        words: of the sentence: a placeholder, or the name of a place.
        unit: whose words may follow it in the sentence, or "".
    """

    words: str
    token: str
    unit: str = ""


class Reader(ValueReader):
    """Turns the tree of a program into statements: lists of nodes, Projected and Chain.

    Attributes:
        renamed: placeholders that the sentence must get.
    """

    def __init__(self, text: str) -> None:
        """Keep the placeholders of the program, so that new ones are different."""
        super().__init__("<program>")
        self.renamed: dict[tuple[str, str], Renamed] = {}
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

    def projection(self, _meta: Meta, children: list[Any]) -> Projected:
        return Projected(tuple(map(str, children[:-1])), children[-1])

    def filter(self, _meta: Meta, children: list[Any]) -> Any:
        inner, predicate = children
        match inner:
            case ast.Monitor():  # "becomes": the condition turns true (ThingTalk 2 says edge so)
                return ast.Edge(inner, predicate)
            case ast.Timer() | ast.AtTimer() | ast.Edge() | ast.StreamFilter():
                return ast.StreamFilter(inner, predicate)
        return ast.Filter(_query(inner), predicate)

    def index(self, _meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(SORT, "index or slice")

    def sort(self, _meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(SORT, "sort")

    def sort_key(self, _meta: Meta, children: list[Any]) -> Any:
        return children[0]

    def projected(self, _meta: Meta, children: list[Any]) -> Any:
        return children[0]

    def path(self, _meta: Meta, children: list[Token]) -> str:
        return ".".join(children)

    def computed(self, _meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(COMPUTED, str(children[0]))

    def fields(self, _meta: Meta, children: list[Token]) -> tuple[str, ...]:
        return tuple(map(str, children))

    def monitor(self, _meta: Meta, children: list[Any]) -> ast.Monitor:
        inner, names = children[-1], children[0] if len(children) > 1 else ()
        if isinstance(inner, Projected):  # `[a] of` inside of a monitor says what to watch
            inner, names = inner.query, inner.names
        return ast.Monitor(_query(inner), tuple(names))

    def monitor_chain(self, _meta: Meta, children: list[Any]) -> ast.Monitor:
        return ast.Monitor(_query(Chain(tuple(children))))

    def timer(self, meta: Meta, children: list[Any]) -> Any:
        given = {arg.name: arg.value for arg in children}
        match given:
            case {"time": ast.ArrayValue((time, *others)) as times} if len(given) == 1:
                return ast.AtTimer(times if others else time)
            case {"interval": interval} if set(given) <= {"interval", "base"}:
                return ast.Timer(given.get("base", ast.DateNow()), interval)
        raise NoEqual(TIMER, ", ".join(given))

    def count(self, _meta: Meta, children: list[Any]) -> ast.Aggregate:
        return ast.Aggregate("count", None, _query(children[0]))

    def aggregate(self, _meta: Meta, children: list[Any]) -> ast.Aggregate:
        operator, name, query = children
        return ast.Aggregate(str(operator), str(name), _query(query))

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
        if operator.endswith("~"):
            raise NoEqual(OPERATOR, str(operator))
        return ast.Atom(str(name), str(operator), value)

    def field_atom(self, _meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(COMPUTED, "field of a record")

    def computed_atom(self, _meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(COMPUTED, "computed value in a condition")

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
        return self._measured(match[1], match[2])

    def spaced_measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        return self._measured(children[0], children[1])

    def _measured(self, amount: str, unit: str) -> ast.Value:
        if unit not in UNITS:
            raise NoEqual(UNIT, unit)
        return ast.MeasureValue(((Decimal(amount), str(unit)),))

    def slot_measure(self, meta: Meta, children: list[Token]) -> ast.Value:
        """`NUMBER_0 F`: with us the number and its unit are one placeholder."""
        token, unit = map(str, children)
        if not is_slot(token) or unit not in UNITS:
            raise NoEqual(UNIT, unit)
        return self._renamed(token, slot_stem(Measure(unit)) or "", unit)

    def _renamed(self, words: str, stem: str, unit: str = "") -> ast.Value:
        if (words, unit) not in self.renamed:
            number = next(n for n in range(1000) if f"{stem}_{n}" not in self._taken)
            self._taken.add(f"{stem}_{number}")
            self.renamed[words, unit] = Renamed(words, f"{stem}_{number}", unit)
        return ast.SlotValue(self.renamed[words, unit].token)

    def variable(self, meta: Meta, children: list[Token]) -> ast.Value:
        name = str(children[0])
        return ast.SlotValue(name) if is_slot(name) else ast.VarRef(name)

    def field_value(self, meta: Meta, children: list[Token]) -> Any:
        raise NoEqual(COMPUTED, "field of a record")

    def computed_value(self, meta: Meta, children: list[Any]) -> Any:
        raise NoEqual(COMPUTED, str(children[0]))

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
                return self._renamed(place, "LOCATION")
            case "Date", [ast.EnumValue()]:
                raise NoEqual(VALUE, "day of the week")
        made = self._construct(name, args, self.span(meta))
        if made is None:
            raise NoEqual(VALUE, f"new {name}")
        return made

    def array(self, meta: Meta, children: list[Any]) -> ast.Value:
        return ast.ArrayValue(tuple(children))

    def type(self, meta: Meta, children: list[Any]) -> Any:
        return str(children[0])


def _query(node: Any) -> Any:
    """Return what stands where a query must; projections there say nothing that we could."""
    match node:
        case Projected():
            raise NoEqual(PROJECTION, "inside of another query")
        case Chain(queries):
            joined = _query(queries[0])
            for right in queries[1:]:
                joined = join(joined, _query(right))
            return joined
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
                kept = tuple(a for a in args if not isinstance(a.value, ast.VarRef))
                return ast.Call(selector, function, kept)
            case ast.Filter(inner, predicate):
                return ast.Filter(without(inner), predicate)
            case ast.Aggregate(operator, name, inner):
                return ast.Aggregate(operator, name, without(inner))
        return query

    bare = without(right)
    return ast.Join(left, bare, tuple(passed))


query_of = _query


@cache
def _parser() -> Lark:
    grammar = files("genie_dp.dataset.thingtalk2").joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def read(text: str) -> tuple[list[list[Any]], tuple[Renamed, ...]]:
    """Return the statements of a program, and the placeholders that its sentence must get.

    Raises:
        NoEqual: our language cannot say it, or it cannot be read.

    >>> [[monitor]], _ = read("monitor ( @c.d . f ( ) ) ;")
    >>> monitor.query.function
    'f'
    """
    reader = Reader(text)
    try:
        statements = reader.transform(_parser().parse(text))
    except UnexpectedInput as error:
        raise NoEqual(UNREADABLE, _near(text, error)) from None
    except VisitError as error:
        if isinstance(error.orig_exc, NoEqual):
            raise error.orig_exc from None
        raise
    except LarkError as error:
        raise NoEqual(UNREADABLE, str(error)) from None
    if reader.problems:
        raise NoEqual(VALUE, reader.problems[0].message)
    return statements, tuple(reader.renamed.values())


def _near(text: str, error: UnexpectedInput) -> str:
    start = error.pos_in_stream or 0
    return f"at {text[start : start + 20]!r}"
