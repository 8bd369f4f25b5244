"""Questions that a database answers as the interpreter does."""

import json
import sqlite3
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages import types as ty
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.operators import comparable
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.simulate import simulate
from genie_dp.languages.thingtalk.sql import Database, Place
from genie_dp.languages.thingtalk.traverse import rewrite
from tests.languages.thingtalk import strategies
from tests.languages.thingtalk.strategies import CLASS, STEPS


def cell(value: tt.Value) -> Any:
    match value:
        case tt.StringValue(text):
            return text
        case tt.EntityValue(identifier, _, display):
            return display if display is not None else identifier
        case tt.EnumValue(name):
            return name
        case tt.BooleanValue(truth):
            return int(truth)
        case tt.NumberValue(number):
            return float(number)
        case tt.MeasureValue():
            return float(comparable(value)[1])
        case tt.DateValue(iso):
            return iso
        case tt.ArrayValue(items):
            return json.dumps([cell(item) for item in items])
        case _:
            return str(value)


def lowered(node: Any) -> Any:
    return tt.StringValue(node.text.lower()) if isinstance(node, tt.StringValue) else node


def in_lower_case(sample):
    """Return a program and tables without capitals: a database does not tell them apart."""
    tables = {
        name: replace(
            table,
            snapshots=tuple(
                tuple({n: rewrite(v, lowered) for n, v in row.items()} for row in rows)
                for rows in table.snapshots
            ),
        )
        for name, table in sample.tables.items()
    }
    return rewrite(sample.program, lowered), tables


def database(tables, library) -> Database:
    connection = sqlite3.connect(":memory:")
    places = {}
    for name, table in tables.items():
        local = name.rpartition(".")[2]
        signature = library.function(CLASS, local)
        columns = [p.name for p in signature.parameters]
        quoted = ", ".join(f'"{c}"' for c in columns)
        connection.execute(f'CREATE TABLE "{local}" ({quoted})')
        for row in table.snapshots[0]:
            values = [cell(row[c]) if c in row else None for c in columns]
            marks = ", ".join("?" * len(values))
            connection.execute(f'INSERT INTO "{local}" VALUES ({marks})', values)
        places[name] = Place(local, {c: c for c in columns})
    return Database(connection, places, library)


def as_told(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def results(program, tables) -> list[dict[str, Any]]:
    done = simulate(program, tables, steps=STEPS[:1])
    return [{name: as_told(cell(v)) for name, v in effect.arguments} for effect in done]


def found(program, data) -> list[dict[str, Any]]:
    answer = data.answer(program, now=STEPS[0])
    return [dict(zip(answer.names, map(as_told, row), strict=True)) for row in answer.rows]


def test_a_database_answers_as_the_interpreter_does():
    same, rows, refused = 0, 0, set()
    for seed in range(600):
        rng = Random(seed)
        sample = strategies.question_sample(rng) if seed % 2 else strategies.sample(rng)
        program, tables = in_lower_case(sample)
        for rule in program.rules:
            if rule.stream is not None or rule.query is None:
                continue
            question = tt.Program((tt.Rule(None, rule.query, tt.Notify()),))
            try:
                expected = results(question, tables)
            except GenieError:  # of what is not given, or an empty list
                continue
            try:
                answer = found(question, database(tables, sample.library))
            except GenieError as error:
                refused.update(problem.code for problem in error.problems)
                continue
            assert answer == expected, get_language("thingtalk").render(question)
            same += 1
            rows += len(answer)
    assert refused <= {"C005", "C007"}
    assert same >= 150
    assert rows >= 300


def test_names_and_numbers_are_compared_as_people_say_them():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE boats (name, weight_kg, built, kind)")
    rows = [
        ("Marie-Anne", "850", "1999-05-01", "House boat"),
        ("otter", 2000.0, "2001-01-01 10:30:00", "sloop"),
        (None, None, None, None),
    ]
    connection.executemany("INSERT INTO boats VALUES (?, ?, ?, ?)", rows)
    kinds = {
        "name": ty.STRING, "weight": ty.Measure("kg"), "built": ty.DATE,
        "kind": ty.Enum(("house_boat", "sloop")),
    }  # fmt: skip
    outputs = tuple(Parameter(name, "out", type_) for name, type_ in kinds.items())
    library = strategies.TestLibrary(
        {"boats": Signature(CLASS, "boats", "query", outputs, is_list=True)}
    )
    columns = {name: name for name in kinds} | {"weight": "weight_kg"}
    data = Database(connection, {f"@{CLASS}.boats": Place("boats", columns)}, library)

    def names(condition: str) -> list[Any]:
        program = parse(f"now => [name] of (@{CLASS}.boats() filter {condition}) => notify;")
        return [row[0] for row in data.answer(program, now=datetime(2026, 11, 20)).rows]

    assert names('name == "marie - anne"') == ["Marie-Anne"]
    assert names("weight < 1t") == ["Marie-Anne"]
    assert names("kind == enum(house_boat)") == ["Marie-Anne"]
    assert names('built > new Date("2000-12-31T00:00:00")') == ["otter"]
    assert names('!(name == "otter")') == ["Marie-Anne", None]
    assert names("weight > 0kg || weight <= 0kg") == ["Marie-Anne", "otter"]


def test_what_no_table_has_is_told_and_values_are_never_part_of_the_text():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE boats (name)")
    signature = Signature(CLASS, "boats", "query", (Parameter("name", "out", ty.STRING),))
    library = strategies.TestLibrary({"boats": signature})
    data = Database(connection, {f"@{CLASS}.boats": Place("boats", {"name": "name"})}, library)
    text = "'; DROP TABLE boats; --"
    query = tt.Filter(
        tt.Call(tt.Selector(CLASS), "boats"), tt.Atom("name", "==", tt.StringValue(text))
    )
    select = data.select(query, datetime(2026, 11, 20))
    assert "DROP" not in select.text
    assert len(select.values) == 1
    with pytest.raises(GenieError, match="N043"):
        Database(connection, {"@a.b": Place("nowhere")}, library)
    with pytest.raises(GenieError, match="no column 'nothing'"):
        Database(connection, {f"@{CLASS}.boats": Place("boats", {"x": "nothing"})}, library)
