"""Small tables that queries answer, and the effect of a program on them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.base import Language
from genie_dp.languages.library import Signature
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.from_tokens import piece_from_tokens
from genie_dp.languages.thingtalk.simulate import Effect, Table, simulate
from genie_dp.languages.thingtalk.tokens import value_tokens
from genie_dp.languages.thingtalk.traverse import qualify
from genie_dp.languages.types import BOOLEAN, NUMBER, STRING, Array, Entity, Enum, Type
from genie_dp.texts import read_text

MOST_SHOWN = 5  # effects, or results
_HINT = '{"@com.gmail.inbox": [{"sender": "bob", "subject": "lunch", "is_important": true}]}'


@dataclass(frozen=True, slots=True)
class Tables:
    """The answers of queries, by function."""

    by_function: Mapping[str, Table]

    def effects(self, code: str, language: Language, *, now: datetime) -> Iterator[str]:
        """Yield the effects of a program on tables, in lines for people."""
        program = language.parse(code)
        if isinstance(program, tt.Policy):
            yield "a policy does nothing by itself"
            return
        calls = (rule.action for rule in program.rules)
        actions = {qualify(call) for call in calls if isinstance(call, tt.Call)}
        missing = sorted(set(language.functions(program)) - set(self.by_function) - actions)
        if missing:
            yield f"no data for {', '.join(missing)}"
            return
        try:
            done = simulate(program, self.by_function, steps=[now])
        except GenieError as error:
            problem = error.problems[0]
            if problem.code == "C003":  # well-typed: so the name is an output, which a row lacks
                name = problem.message.rpartition(" ")[2]
                yield f"no data for {name}: a row of the tables lacks it"
            else:
                yield f"cannot be shown: {problem.message}"
            return
        yield from map(_effect_text, done[:MOST_SHOWN])
        if len(done) > MOST_SHOWN:
            yield f"and {len(done) - MOST_SHOWN:,} more"
        if not done:
            yield "nothing happens now"


def read_tables(path: Path, library: Any) -> Tables:
    """Return the tables of a JSON file: function -> rows of name -> value.

    Texts, names of entities and values of enums are plain text; numbers and booleans are those of
    JSON, and a record is an object; other values are in token form, such as "5 unit:GB",
    "date:2027-03-14", "time:8:00:00".

    Raises:
        GenieError: N040, all that fits no function of the library; N041, it is no such JSON.
    """
    text = read_text(path)
    try:
        read = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except json.JSONDecodeError as error:
        message = f"{path}:{error.lineno}: no JSON: {error.msg}"
        raise GenieError(Problem("N041", message, hint=_HINT, stage="syntax")) from None
    except RecursionError:
        message = f"{path}: no JSON that can be read: lists too deep"
        raise GenieError(Problem("N041", message, hint=_HINT, stage="syntax")) from None
    if not isinstance(read, dict) or not all(isinstance(rows, list) for rows in read.values()):
        message = f"{path}: expected lists of rows by function"
        raise GenieError(Problem("N041", message, hint=_HINT))
    problems: list[Problem] = []
    tables = {name: _table(name, rows, library, problems) for name, rows in read.items()}
    if problems:
        raise GenieError(problems)
    return Tables(tables)


def _table(name: str, rows: list[Any], library: Any, problems: list[Problem]) -> Table:
    class_name, _, local_name = name.removeprefix("@").rpartition(".")
    signature = library.function(class_name, local_name)
    if signature is None:
        names = library.names()
        hint = did_you_mean(name, names)
        problems.append(Problem("N040", f"no function {name!r} in the skills", hint=hint))
        return Table(())
    read = tuple(_row(row, signature, problems) for row in rows)
    return Table((read,), tuple(p.name for p in signature.inputs))


def _row(row: Any, signature: Signature, problems: list[Problem]) -> dict[str, tt.Value]:
    if not isinstance(row, dict):
        problems.append(Problem("N040", f"{signature.qualified}: no row: {row!r}", hint=_HINT))
        return {}
    values: dict[str, tt.Value] = {}
    for name, cell in _cells(row, signature):
        parameter = signature.parameter(name)
        if parameter is None:
            hint = did_you_mean(name, [p.name for p in signature.parameters])
            message = f"{signature.qualified} has no {name!r}"
            problems.append(Problem("N040", message, hint=hint))
        elif (value := _value(cell, parameter.type)) is None:
            message = f"{signature.qualified}: {name}: expected {parameter.type}, got {cell!r}"
            problems.append(Problem("N040", message))
        else:
            values[name] = value
    return values


def _cells(row: dict[str, Any], signature: Signature) -> Iterator[tuple[str, Any]]:
    """Yield names and cells; an object stands for a record, whose fields have names with a dot."""
    for name, cell in row.items():
        is_record = any(p.name.startswith(f"{name}.") for p in signature.parameters)
        if isinstance(cell, dict) and is_record:
            yield from ((f"{name}.{field}", value) for field, value in cell.items())
        else:
            yield name, cell


def _value(told: Any, type_: Type) -> tt.Value | None:
    """Return a JSON value as a value of a type, None if it is none."""
    match type_, told:
        case Array(), list():
            items = [_value(element, type_.element) for element in told]
            elements = tuple(element for element in items if element is not None)
            return tt.ArrayValue(elements) if len(elements) == len(items) else None
        case Entity(), str():
            return tt.EntityValue(told, type_.kind)
        case Enum(), str():
            return tt.EnumValue(told) if told in type_.values or "*" in type_.values else None
        case _, bool():
            return tt.BooleanValue(told) if type_ == BOOLEAN else None
        case _, Decimal():
            return tt.NumberValue(told) if type_ == NUMBER else None
        case _, str():
            return tt.StringValue(told) if type_ == STRING else _from_tokens(told)
    return None


def _from_tokens(text: str) -> tt.Value | None:
    try:
        parsed_value: Any = piece_from_tokens(text, "value")
    except GenieError:
        return None
    value: tt.Value = parsed_value
    return value


def _effect_text(effect: Effect) -> str:
    values = ", ".join(f"{name} = {value_tokens(value)}" for name, value in effect.arguments)
    return f"{effect.function}({values})"
