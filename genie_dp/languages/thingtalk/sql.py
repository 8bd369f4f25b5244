"""Questions answered from a database: queries of ThingTalk as SQL.

The meaning of a query is that of `simulate`. Two things are wider, since data is not as clean as
programs are: names and texts are compared as they are read, in lower-case words, and a comparison
with a value that is missing does not hold. Values go in as parameters, never as text.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, assert_never

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages import types as ty
from genie_dp.languages.base import Language
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk import operators
from genie_dp.languages.thingtalk.tables import MOST_SHOWN
from genie_dp.languages.thingtalk.traverse import qualify
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.texts import enum_name

ORDER = "#"  # the column with a result's place
_INPUT = "@"  # before the names of columns that are inputs


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database has the results of a function.

    Attributes:
        columns: output or input -> the column, where it has another name.
    """

    table: str
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a question.

    Attributes:
        names: of the values, in order.
        rows: their values as the database has them.
        types: of the values.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[ty.Type, ...]


class Database:
    """A database behind the query functions of a library."""

    def __init__(
        self, connection: sqlite3.Connection, places: Mapping[str, Place], library: Signatures
    ):
        """Take a connection and the places of tables, by function name ("@c.f").

        Raises:
            GenieError: N043, the database lacks a table or a column.
        """
        self.connection, self.places, self.library = connection, places, library
        for name, (count, function) in _FUNCTIONS.items():
            connection.create_function(name, count, function, deterministic=True)
        problems = [p for name, place in places.items() for p in self._lacks(name, place)]
        if problems:
            raise GenieError(problems)

    def _lacks(self, function: str, place: Place) -> Iterator[Problem]:
        rows = self.connection.execute(f"PRAGMA table_info({_quote(place.table)})").fetchall()
        columns = [row[1] for row in rows]
        if not columns:
            yield Problem("N043", f"there is no table {place.table!r}, which has {function}")
            return
        for column in place.columns.values():
            if column not in columns:
                message = f"the table {place.table!r} has no column {column!r}, for {function}"
                yield Problem("N043", message, hint=did_you_mean(column, columns))

    def answer(self, program: tt.Program, *, now: datetime) -> Found:
        """Return the answer to a question.

        Args:
            program: one rule `now => QUERY => notify`.
            now: the time that "today" is about.

        Raises:
            GenieError: C007, it is no such question, or asks for values that no table has.
        """
        rule = program.rules[0]
        if len(program.rules) > 1 or rule.stream is not None or rule.query is None:
            raise _unanswered_error("a rule that waits, or several", rule)
        select = self.select(rule.query, now)
        names = [name for name in select.columns if not name.startswith((_INPUT, ORDER))]
        columns = ", ".join(map(_quote, names))
        text = f"SELECT {columns} FROM ({select.text}) ORDER BY {_quote(ORDER)}"
        try:
            rows = self.connection.execute(text, select.values).fetchall()
        except sqlite3.Error as error:  # locked, or a list that is no JSON
            raise GenieError(Problem("C007", f"the database does not answer: {error}")) from None
        types = tuple(select.columns[name] for name in names)
        return Found(tuple(names), tuple(map(tuple, rows)), types)

    def effects(self, code: str, language: Language, *, now: datetime) -> Iterator[str]:
        """Yield the answer to a question, a line each for people, or why there is none."""
        program = language.parse(code)
        if isinstance(program, tt.Policy):
            yield "a policy does nothing by itself"
            return
        try:
            answer = self.answer(program, now=now)
        except GenieError as error:
            yield error.problems[0].message
            return
        yield from (_line(answer, row) for row in answer.rows[:MOST_SHOWN])
        if len(answer.rows) > MOST_SHOWN:
            yield f"and {len(answer.rows) - MOST_SHOWN:,} more"
        if not answer.rows:
            yield "nothing is found"
        calls = [r.action for r in program.rules if isinstance(r.action, tt.Call)]
        if calls and answer.rows:
            yield f"{qualify(calls[0])} would be called for {len(answer.rows):,} of them"

    def select(self, query: tt.Query, now: datetime) -> "Select":
        """Return the SELECT of a query."""
        moment = operators.Moment(now)
        return _SqlWriter(self.places, self.library, moment).select(query, {})


def _line(found: Found, row: Sequence[Any]) -> str:
    """Return a result for people; missing values are left out.

    >>> _line(Found(("name", "weight"), (), (ty.STRING, ty.Measure("kg"))), ("Bella", 8.0))
    'name = Bella, weight = 8 kg'
    >>> _line(Found(("weight",), (), (ty.Measure("kg"),)), (None,))
    'weight: not known'
    """
    parts = []
    for name, value, type_ in zip(found.names, row, found.types, strict=True):
        if value is None:
            continue
        text = f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
        if type_ == ty.BOOLEAN:
            text = "yes" if _truth(value) else "no"
        unit = f" {type_.unit}" if isinstance(type_, ty.Measure) else ""
        parts.append(f"{name} = {text}{unit}")
    return ", ".join(parts) or f"{' and '.join(found.names)}: not known"


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT with its parameters, and the types of its columns by name."""

    text: str
    values: tuple[Any, ...]
    columns: Mapping[str, ty.Type]


@dataclass(frozen=True, slots=True)
class _Value:
    """An expression of SQL with its parameters; `is_ready` if it can be compared as it is."""

    text: str
    type: ty.Type
    values: tuple[Any, ...] = ()
    is_ready: bool = False


_Scope = Mapping[str, _Value]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _unanswered_error(what: str, node: Any) -> GenieError:
    message = f"{what} cannot be answered from a database"
    return GenieError(Problem("C007", message, getattr(node, "span", None)))


class _SqlWriter:
    """Writes SELECTs; each part has an alias of its own."""

    def __init__(self, places: Mapping[str, Place], library: Signatures, moment: operators.Moment):
        self.places, self.library, self.moment = places, library, moment
        self.units: Units = getattr(library, "units", SHIPPED)
        self.count = 0

    def alias(self) -> str:
        self.count += 1
        return f"t{self.count}"

    # -------------------------------------------------------------------------------- queries

    def select(self, query: tt.Query, outer: _Scope) -> Select:
        match query:
            case tt.Call():
                return self._call(query, outer)
            case tt.Filter(inner, predicate):
                return self._filter(self.select(inner, outer), predicate, outer)
            case tt.Join():
                return self._join(query, outer)
            case tt.Aggregate(operator, name, inner):
                return self._aggregate(operator, name, self.select(inner, outer), query)
            case tt.Projection():
                return self._projection(query, outer)
            case tt.Sort():
                return self._sort(query, outer)
            case tt.Slice(inner, start, end):
                return self._slice(self.select(inner, outer), start, end)
            case tt.Hole():
                raise _unanswered_error("a template", query)
            case _:
                assert_never(query)

    def _call(self, call: tt.Call, outer: _Scope) -> Select:
        signature = self.library.function(call.selector.class_name, call.function)
        place = self.places.get(qualify(call))
        if signature is None or place is None or call.selector.attributes:
            raise _unanswered_error(qualify(call), call)
        alias, columns, parts = self.alias(), {}, []
        for parameter in signature.parameters:
            column = place.columns.get(parameter.name)
            if column is None:
                continue
            name = (_INPUT if parameter.is_input else "") + parameter.name
            columns[name] = parameter.type
            parts.append(f"{alias}.{_quote(column)} AS {_quote(name)}")
        parts.append(f"ROW_NUMBER() OVER () AS {_quote(ORDER)}")
        text = f"SELECT {', '.join(parts)} FROM {_quote(place.table)} AS {alias}"
        select = Select(text, (), columns)
        for arg in call.args:
            if isinstance(arg.value, tt.Undefined):
                continue
            if _INPUT + arg.name not in columns:
                raise _unanswered_error(f"the input {arg.name} of {qualify(call)}", call)
            source, scope = self._from(select)
            input_ = self.value(arg.value, outer)
            condition, values = self.compare_values(scope[_INPUT + arg.name], "==", input_)
            text = f"SELECT * FROM {source} WHERE {condition}"
            select = Select(text, select.values + values, columns)
        return select

    def _from(self, select: Select) -> tuple[str, _Scope]:
        """Return the FROM of a select, and the names of its columns."""
        alias = self.alias()
        scope = {
            name: _Value(f"{alias}.{_quote(name)}", type_) for name, type_ in select.columns.items()
        }
        return f"({select.text}) AS {alias}", scope

    def _filter(self, select: Select, predicate: tt.Predicate, outer: _Scope) -> Select:
        source, scope = self._from(select)
        condition, values = self.condition(predicate, {**outer, **scope})
        text = f"SELECT * FROM {source} WHERE {condition}"
        return Select(text, select.values + values, select.columns)

    def _join(self, query: tt.Join, outer: _Scope) -> Select:
        call, predicates = _call_and_filters(query.right)
        left = self.select(query.left, outer)
        # What the call is given from the left side.
        passed = [a for a in call.args if isinstance(a.value, tt.VarRef)]
        call = replace(call, args=tuple(a for a in call.args if a not in passed))
        right = self._call(call, outer)
        (first, here), (second, there) = self._from(left), self._from(right)
        conditions: list[str] = []
        values: tuple[Any, ...] = ()
        for arg in (*passed, *query.passing):
            if _INPUT + arg.name not in there:
                raise _unanswered_error(f"the input {arg.name}", query)
            input_ = self.value(arg.value, {**outer, **here})
            text, more = self.compare_values(there[_INPUT + arg.name], "==", input_)
            conditions.append(text)
            values += more
        parts = [f"{v.text} AS {_quote(n)}" for n, v in {**here, **there}.items()]
        places = ", ".join(f"{t.rpartition(' ')[2]}.{_quote(ORDER)}" for t in (first, second))
        parts.append(f"ROW_NUMBER() OVER (ORDER BY {places}) AS {_quote(ORDER)}")
        where = " AND ".join(conditions) or "1"
        text = f"SELECT {', '.join(parts)} FROM {first}, {second} WHERE {where}"
        columns = {**left.columns, **right.columns}
        select = Select(text, left.values + right.values + values, columns)
        for predicate in predicates:
            select = self._filter(select, predicate, outer)
        return select

    def _aggregate(
        self, operator: str, name: str | None, select: Select, node: tt.Aggregate
    ) -> Select:
        source, scope = self._from(select)
        order = f"1 AS {_quote(ORDER)}"
        if operator == "count":
            text = f'SELECT COUNT(*) AS "count", {order} FROM {source}'
            return Select(text, select.values, {"count": ty.NUMBER})
        value = self._find_column(name or "", scope, node)
        text = (
            f"SELECT {operator.upper()}({_amount(value.text)}) AS {_quote(operator)}, {order} "
            f"FROM {source} HAVING COUNT(*) > 0"
        )
        return Select(text, select.values, {operator: value.type})

    def _projection(self, query: tt.Projection, outer: _Scope) -> Select:
        select = self.select(query.query, outer)
        source, scope = self._from(select)
        outputs = dict(scope) if query.keeps_all else {}
        for value in query.values:
            outputs[tt.computed_name(value)] = self.value(value, {**outer, **scope})
        parts = [f"{value.text} AS {_quote(name)}" for name, value in outputs.items()]
        parts.append(_quote(ORDER))
        values = tuple(v for value in outputs.values() for v in value.values)
        columns = {name: value.type for name, value in outputs.items()}
        return Select(f"SELECT {', '.join(parts)} FROM {source}", values + select.values, columns)

    def _sort(self, query: tt.Sort, outer: _Scope) -> Select:
        select = self.select(query.query, outer)
        source, scope = self._from(select)
        key = self.ready(self.value(query.key, {**outer, **scope}))
        direction = "DESC" if query.direction == "desc" else "ASC"
        place = f"ROW_NUMBER() OVER (ORDER BY {key.text} {direction}, {_quote(ORDER)})"
        return self._with_order(select, source, place, key.values)

    def _slice(self, select: Select, start: tt.Value, end: tt.Value | None) -> Select:
        source, _ = self._from(select)
        place = f"ROW_NUMBER() OVER (ORDER BY {_quote(ORDER)})"
        counted = self._with_order(select, source, place, ())
        first = operators.evaluate(start, {}, self.moment)
        last = first if end is None else operators.evaluate(end, {}, self.moment)
        numbers = [v.value for v in (first, last) if isinstance(v, tt.NumberValue)]
        if len(numbers) != 2:
            raise _unanswered_error("a place that is no number", start)
        text = f"SELECT * FROM ({counted.text}) WHERE {_quote(ORDER)} BETWEEN ? AND ?"
        return replace(counted, text=text, values=(*counted.values, *map(int, numbers)))

    def _with_order(
        self, select: Select, source: str, place: str, values: tuple[Any, ...]
    ) -> Select:
        parts = [*map(_quote, select.columns), f"{place} AS {_quote(ORDER)}"]
        text = f"SELECT {', '.join(parts)} FROM {source}"
        return Select(text, values + select.values, select.columns)

    # ----------------------------------------------------------------------------- predicates

    def condition(self, predicate: tt.Predicate, scope: _Scope) -> tuple[str, tuple[Any, ...]]:
        """Return a condition that is 0 or 1, and its parameters."""
        match predicate:
            case tt.TrueP():
                return "1", ()
            case tt.FalseP():
                return "0", ()
            case tt.Not(operand):
                text, values = self.condition(operand, scope)
                return f"NOT {text}", values
            case tt.And(operands) | tt.Or(operands):
                parts = [self.condition(operand, scope) for operand in operands]
                between = " AND " if isinstance(predicate, tt.And) else " OR "
                text = between.join(text for text, _ in parts)
                return f"({text})", tuple(v for _, values in parts for v in values)
            case tt.Atom(name, operator, value):
                left = self._find_column(name, scope, predicate)
                return self.compare_values(left, operator, self.value(value, scope))
            case tt.Comparison(computed, operator, value):
                left = self.value(computed, scope)
                return self.compare_values(left, operator, self.value(value, scope))
            case tt.GetPredicate(call, inner):
                select = self._filter(self._call(call, scope), inner, scope)
                return f"EXISTS ({select.text})", select.values
            case _:
                assert_never(predicate)

    def compare_values(
        self, left: _Value, operator: str, right: _Value
    ) -> tuple[str, tuple[Any, ...]]:
        """Return a comparison, false where a value is missing."""
        if operator in ("contains", "contains~", "in_array", "in_array~"):
            text, values = self._in_list(left, operator, right)
        else:
            text, values = self._comparison(left, operator, right)
        return f"COALESCE({text}, 0)", values

    def _comparison(
        self, left: _Value, operator: str, right: _Value
    ) -> tuple[str, tuple[Any, ...]]:
        first, second = self.ready(left), self.ready(right)
        if {first.type, second.type} == {ty.DATE, ty.TIME}:
            first, second = _time_of_day(first), _time_of_day(second)
        if operator in ("==", ">=", "<=", ">", "<"):
            sign = "=" if operator == "==" else operator
            return f"({first.text} {sign} {second.text})", first.values + second.values
        if operator in ("~=", "prefix_of", "suffix_of"):  # those of the other side
            first, second = second, first
        values = first.values + second.values
        match operator:
            case "=~" | "~=":
                return f"(INSTR({first.text}, {second.text}) > 0)", values
            case "starts_with" | "prefix_of":
                return f"begins({first.text}, {second.text})", values
            case "ends_with" | "suffix_of":
                return f"ends({first.text}, {second.text})", values
            case _:
                raise _unanswered_error(f"the operator {operator}", None)

    def _in_list(self, left: _Value, operator: str, right: _Value) -> tuple[str, tuple[Any, ...]]:
        listed, element = (left, right) if operator.startswith("contains") else (right, left)
        source, item = self._items(listed)
        soft = "=~" if operator == "contains~" else "~=" if operator == "in_array~" else "=="
        text, values = self._comparison(item, soft, element)
        where = f"EXISTS (SELECT 1 FROM {source} WHERE {text})"
        return where, listed.values + values

    def _items(self, listed: _Value) -> tuple[str, _Value]:
        """Return the FROM of a list, and the name of an item of it."""
        alias = self.alias()
        element = listed.type.element if isinstance(listed.type, ty.Array) else ty.ANY
        return f"json_each({listed.text}) AS {alias}", _Value(f"{alias}.value", element)

    # --------------------------------------------------------------------------------- values

    def _find_column(self, name: str, scope: _Scope, node: Any) -> _Value:
        if name not in scope:
            raise _unanswered_error(f"the output {name!r}, which no column has,", node)
        return scope[name]

    def value(self, value: tt.Value, scope: _Scope) -> _Value:
        """Return a value of a program: a column, a computed value, or a parameter."""
        match value:
            case tt.VarRef(name):
                return self._find_column(name, scope, value)
            case tt.Computed(operator, (listed,)) if operator in tt.AGGREGATIONS:
                return self._compute(operator, listed, scope)
            case tt.Computed() | tt.ListFilter():
                raise _unanswered_error("what is computed of places", value)
            case tt.ArrayValue(items):
                return self._array([self.value(item, scope) for item in items])
            case _:
                return self._constant(operators.evaluate(value, {}, self.moment))

    def _array(self, items: Sequence[_Value]) -> _Value:
        texts = ", ".join(self.ready(item).text for item in items)
        values = tuple(v for item in items for v in self.ready(item).values)
        element = items[0].type if items else ty.ANY
        return _Value(f"json_array({texts})", ty.Array(element), values, is_ready=True)

    def _compute(self, operator: str, listed: tt.Value, scope: _Scope) -> _Value:
        condition, values = "1", ()
        name = listed.name if isinstance(listed, tt.VarRef | tt.ListFilter) else ""
        column = self._find_column(name, scope, listed)
        source, item = self._items(column)
        if isinstance(listed, tt.ListFilter):
            named = {**scope, operators.ITEM: item}
            condition, values = self.condition(listed.predicate, named)
        amount = "*" if operator == "count" else _amount(item.text)
        text = f"(SELECT {operator.upper()}({amount}) FROM {source} WHERE {condition})"
        type_ = ty.NUMBER if operator == "count" else item.type
        return _Value(text, type_, column.values + values)

    def _constant(self, value: tt.Value) -> _Value:
        match value:
            case tt.StringValue(text):
                return _Value("?", ty.STRING, (_words(text),), is_ready=True)
            case tt.EntityValue(identifier, kind, display):
                text = display if display is not None else identifier or ""
                return _Value("?", ty.Entity(kind), (_words(text),), is_ready=True)
            case tt.EnumValue(name):
                return _Value("?", ty.Enum((name,)), (name,), is_ready=True)
            case tt.BooleanValue(truth):
                return _Value("?", ty.BOOLEAN, (int(truth),), is_ready=True)
            case tt.NumberValue(number):
                return _Value("?", ty.NUMBER, (float(number),), is_ready=True)
            case tt.CurrencyValue(amount):
                return _Value("?", ty.CURRENCY, (float(amount),), is_ready=True)
            case tt.MeasureValue(parts):
                base = ty.Measure(self.units.base(parts[0][1]))
                in_base = round(float(self.units.amount(parts)), 9)
                return _Value("?", base, (in_base,), is_ready=True)
            case tt.DateValue():
                return _Value("?", ty.DATE, (_moment(value.iso),), is_ready=True)
            case tt.TimeValue(hour, minute, second):
                clock = f"{hour:02}:{minute:02}:{second:02}"
                return _Value("?", ty.TIME, (clock,), is_ready=True)
            case _:
                raise _unanswered_error(f"a value such as {value}", value)

    def ready(self, value: _Value) -> _Value:
        if value.is_ready:
            return value
        return replace(value, text=self._comparable(value.text, value.type), is_ready=True)

    def _comparable(self, text: str, type_: ty.Type) -> str:
        match type_:
            case ty.STRING | ty.Entity():
                return f"words({text})"
            case ty.Enum():
                return f"name({text})"
            case ty.BOOLEAN:
                return f"truth({text})"
            case ty.DATE:
                return f"moment({text})"
            case ty.TIME:
                return f"clock({text})"
            case ty.Measure(unit):
                declared = self.units.by_name.get(unit)
                factor, zero = (
                    (float(declared.factor), float(declared.zero)) if declared else (1.0, 0.0)
                )
                return f"ROUND({_amount(text)} * {factor!r} + {zero!r}, 9)"
            case ty.NUMBER | ty.CURRENCY:
                return _amount(text)
            case ty.ANY:  # of a list without values
                return text
            case _:
                raise _unanswered_error(f"a comparison of {type_}", None)


def _call_and_filters(query: tt.Query) -> tuple[tt.Call, list[tt.Predicate]]:
    """Return the call on the right of a join, and the conditions on its results."""
    match query:
        case tt.Call():
            return query, []
        case tt.Filter(inner, predicate):
            call, predicates = _call_and_filters(inner)
            return call, [*predicates, predicate]
        case _:
            raise _unanswered_error("a join with a query that counts, sorts or joins", query)


def _time_of_day(value: _Value) -> _Value:
    """Return a date as its time; a time as it is."""
    return replace(value, text=f"SUBSTR({value.text}, -15, 8)") if value.type == ty.DATE else value


def _amount(text: str) -> str:
    return f"CAST({text} AS REAL)"


# ------------------------------------------------------------------- what SQLite does not have


_TOKEN = re.compile(r"\w+|[^\w\s]")


def _words(text: Any) -> str | None:
    """Return a text as its words and signs, whatever their case and the spaces between them."""
    return None if text is None else " ".join(_TOKEN.findall(str(text).casefold()))


def _name(text: Any) -> str | None:
    return None if text is None else enum_name(str(text))


def _truth(value: Any) -> int | None:
    if value is None or value == "":
        return None
    return int(str(value).lower() in ("1", "1.0", "true", "yes", "y", "t"))


def _moment(text: Any) -> str | None:
    if text in (None, ""):
        return None
    try:
        moment = operators.as_date(tt.DateValue(str(text).replace(" ", "T", 1)))
    except GenieError:
        return None
    return moment.isoformat(timespec="microseconds")


def _clock(text: Any) -> str | None:
    if text in (None, ""):
        return None
    parts = [*str(text).split(":"), "0"][:3]
    return ":".join(part.zfill(2) for part in parts)


def _begins(text: Any, begin: Any) -> int | None:
    return None if text is None or begin is None else int(str(text).startswith(str(begin)))


def _ends(text: Any, end: Any) -> int | None:
    return None if text is None or end is None else int(str(text).endswith(str(end)))


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "words": (1, _words), "name": (1, _name), "truth": (1, _truth), "moment": (1, _moment),
    "clock": (1, _clock), "begins": (2, _begins), "ends": (2, _ends),
}  # fmt: skip
