"""Schemas say what is wrong and where; extractors say of a row what is public to ask."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables.extract import (
    EXTRACTORS,
    FIXED,
    adapt_schema,
    bucket_of,
    check_extractors,
    describe,
    fields_of,
    metadata_of,
)
from genie_dp.private.tables.joint import encode
from genie_dp.private.tables.schema import OTHER, Column, Schema, load_schema
from genie_dp.records import Example
from tests.private.tables.tables_setup import SECRET, schema_of

VALUES = st.lists(st.text(min_size=1), min_size=2, max_size=6, unique=True).map(
    lambda values: tuple(v for v in values if v != OTHER) + (OTHER,)
)
NAMES = st.text("abcdefgh", min_size=1, max_size=3)
SCHEMAS = st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=5, unique_by=lambda c: c[0]).map(
    lambda columns: Schema(tuple(Column(*one) for one in columns))
)


@given(SCHEMAS)
def test_a_schema_comes_back_from_its_file(tmp_path_factory, schema):
    path = tmp_path_factory.mktemp("schema") / "schema.json"
    path.write_text(json.dumps(schema.as_dict(), ensure_ascii=False), encoding="utf-8")
    assert load_schema(path) == schema


def written(tmp_path, *columns, **more):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"columns": columns, **more}, indent=1), encoding="utf-8")
    return path


def told(path):
    with pytest.raises(GenieError) as error:
        load_schema(path)
    return [(p.code, p.span.line if p.span else None, p.message) for p in error.value.problems]


def test_broken_json_is_told_with_its_place(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text('{"columns": [\n  {"name": "a" "values": []}\n]}')
    with pytest.raises(GenieError) as error:
        load_schema(path)
    shown = str(error.value)
    assert shown.startswith(f"{path}:2:16: error[T500]: expected JSON")
    assert ' 2 |   {"name": "a" "values": []}' in shown


def test_all_mistakes_of_columns_are_told_at_once_with_their_lines(tmp_path):
    path = written(
        tmp_path,
        {"name": "a", "values": ["x", "x"]},
        {"name": "b", "values": [OTHER, "x"]},
        {"name": "c", "values": ["x"]},
        {"name": "c", "values": ["x", "y"]},
    )
    found = told(path)
    assert {code for code, _, _ in found} == {"T501"}
    by_line = {line: message for _, line, message in found}
    lines = path.read_text().splitlines()
    assert "'x' comes more than once" in by_line[1 + lines.index('   "name": "a",')]
    assert "must be the last value" in by_line[1 + lines.index('   "name": "b",')]
    assert any("comes 2 times" in message for _, _, message in found)
    assert any("expected two values or more, got 1" in message for _, _, message in found)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("a", "expected an object with 'name' and 'values'"),
        ({"values": ["x", "y"]}, "expected an object with 'name' and 'values'"),
        ({"name": "a"}, "expected 'values', a list of texts"),
        ({"name": "a", "values": ["x", 2]}, "expected 'values', a list of texts"),
        ({"name": "a", "values": ["x", ""]}, "expected 'values', a list of texts"),
        ({"name": "a", "values": ["x", "y"], "extract": 3}, "expected 'extract', a text"),
        ({"name": "a", "values": ["x", "y"], "extrct": "form"}, "did you mean 'extract'?"),
        ({"name": " ", "values": ["x", "y"]}, "its name must be a line of text"),
    ],
)
def test_a_column_that_is_none_is_refused(tmp_path, column, said):
    ((code, _, message),) = told(written(tmp_path, column))
    assert code == "T501"
    assert said in message


@pytest.mark.parametrize("text", ["[]", "3", '{"columns": 3}', "[" * 100_000])
def test_what_is_no_schema_is_refused(tmp_path, text):
    path = tmp_path / "schema.json"
    path.write_text(text)
    assert told(path)[0][0] == "T500"


def test_a_schema_of_another_version_is_refused(tmp_path):
    column = {"name": "a", "values": ["x", "y"]}
    assert told(written(tmp_path, column, version=2))[0][0] == "T500"
    assert "'colums'" in told(written(tmp_path, column, colums=[]))[0][2]


def test_too_many_columns_or_values_are_refused(tmp_path):
    columns = [{"name": f"c{n}", "values": ["x", "y"]} for n in range(11)]
    ((code, _, message),) = told(written(tmp_path, *columns))
    assert (code, message) == ("T503", "expected 1 to 10 columns, got 11")
    many = {"name": "many", "values": [f"v{n}" for n in range(1001)]}
    ((code, line, message),) = told(written(tmp_path, many))
    assert (code, line) == ("T503", 4)
    assert "at most 1,000 values, got 1,001" in message
    with pytest.raises(GenieError, match="T503"):
        Schema(())


def test_an_unknown_column_offers_the_nearest():
    with pytest.raises(GenieError, match="did you mean 'intent'"):
        Schema((Column("intent", ("a", "b")),)).places(["intnt"])


@given(SCHEMAS, st.integers(0, 10**6))
def test_encoded_values_are_those_of_the_rows(schema, seed):
    rng = random.Random(seed)
    rows = [{c.name: rng.choice(c.values) for c in schema.columns} for _ in range(20)]
    codes = encode(schema, rows)
    for row, places in zip(rows, codes.tolist(), strict=True):
        for column, place in zip(schema.columns, places, strict=True):
            assert column.values[place] == row[column.name]


def test_an_unknown_value_is_other_or_nothing():
    schema = Schema((Column("a", ("x", OTHER)), Column("b", ("x", "y"))))
    assert encode(schema, [{"a": "z", "b": "z"}, {}]).tolist() == [[1, -1], [1, -1]]


def row(utterance="", program="", functions=(), language="thingtalk"):
    return Example("S0", utterance, program, language, functions=functions)


@pytest.mark.parametrize(
    ("name", "example", "value"),
    [
        ("function", row(functions=("@c.b", "@a.d")), "@c.b"),
        ("function", row(), ""),
        ("functions", row(functions=("@c.b", "@c.b", "@a.d", "@e.f")), "@a.d @c.b"),
        ("functions", row(functions=("@c.b",)), "@c.b"),
        ("skill", row(functions=("@com.twitter.post",)), "@com.twitter"),
        ("skill", row(functions=("IN:GET_WEATHER",)), "IN:GET_WEATHER"),
        ("filters", row(program="now => @c.q => notify"), "0"),
        ("filters", row(program="now => @c.q() filter a > 3 && !(b == 2) => notify;"), "2"),
        ("filters", row(program="now => ( @c.q ) filter param:a:Number > 3 => notify"), "1"),
        ("filters", row(program="no program"), ""),
        ("length", row("what 's up , doc ?"), "4"),
        ("form", row("Could you, please, tweet it"), "question"),
        ("form", row("tweet it ?"), "question"),
        ("form", row("what's up"), "question"),
        ("form", row("tweet what i said"), "command"),
        ("form", row(""), ""),
        ("slots", row("at TIME_0 or TIME_12 to USERNAME_0"), "TIME USERNAME"),
        ("slots", row("hi", "now => @c.a param:t:Time = TIME_0"), "TIME"),
        ("slots", row("the A_b or X_ 0"), "none"),
    ],
)
def test_extractors_say_what_a_row_has(name, example, value):
    assert EXTRACTORS[name](example) == value


@given(st.integers(0, 10**4))
def test_every_number_has_one_range_of_the_fixed_ones(number):
    for values in (FIXED["length"], FIXED["filters"]):
        ranges = [one for one in values if one != OTHER]
        assert sum(bucket_of(str(number), [one]) == one for one in ranges) == 1


@pytest.mark.parametrize(
    "values",
    [("0-3", "5+"), ("0-3", "3+"), ("0+", "1"), ("few", "many"), ("4-2", "5+"), ("5-9", "0-4")],
)
def test_ranges_of_numbers_follow_each_other(values):
    with pytest.raises(GenieError, match="T501"):
        check_extractors(Schema((Column("length", values),)), "thingtalk")


def test_extractors_that_are_none_are_refused_with_the_nearest():
    schema = Schema((Column("a", ("x", "y"), "lenght"), Column("b", ("x", "y"), "field:")))
    with pytest.raises(GenieError) as error:
        check_extractors(schema, "thingtalk")
    assert [p.code for p in error.value.problems] == ["T502", "T502"]
    assert "did you mean 'length'" in str(error.value)
    with pytest.raises(GenieError, match="not in sexpr"):
        check_extractors(Schema((Column("filters", FIXED["filters"]),)), "sexpr")


def test_private_rows_become_metadata_by_unit(tmp_path):
    path = tmp_path / "private.jsonl"
    rows = [
        {"utterance": f"what is {SECRET}", "program": "now => @com.a.q => notify", "user": "one",
         "mood": "good"},
        {"utterance": "say it", "user": "two", "mood": SECRET},
        {"utterance": f"is {SECRET} there", "program": SECRET, "user": "one"},
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    schema = Schema((
        Column("function", ("@com.a.q", OTHER)), Column("form", FIXED["form"]),
        Column("mood", ("good", "bad")),
    ))  # fmt: skip
    assert fields_of(schema) == ("mood",)
    source = PrivateSource.open(
        path, language="thingtalk", unit="user", cap=5, fields=fields_of(schema)
    )
    assert list(metadata_of(schema, source)) == [
        [
            {"function": "@com.a.q", "form": "question", "mood": "good"},
            {"function": OTHER, "form": "question", "mood": ""},
        ],
        [{"function": OTHER, "form": "command", "mood": ""}],
    ]


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_of_a_private_row_makes_an_extractor_fail_or_gets_through(utterance, program):
    columns = [Column(n, FIXED.get(n, ("x", "y"))) for n in EXTRACTORS]
    schema = Schema((*columns, Column("mood", ("x", OTHER))))
    found = describe(schema, row(utterance, program, (program,)), {"mood": utterance})
    for column in schema.columns:
        assert found[column.name] in {*column.values, ""}


PUBLIC = [(row("tweet it", functions=("@c.a",)), {"mood": "good"})] * 3 + [
    (row("who is it", functions=("@c.q", "@c.a")), {"mood": "bad"}),
    (row("hm", functions=("@no.lib",)), {"mood": "odd"}),
]


def test_values_come_from_the_library_and_from_public_rows():
    schema = adapt_schema(
        ["function", "skill", "form", "field:mood"], library=["@c.a", "@z.z"], public=PUBLIC
    )
    assert [column.values for column in schema.columns] == [
        ("@c.a", "@c.q", "@no.lib", "@z.z", OTHER),
        ("@c", "@no", "@z", OTHER),
        ("question", "command"),
        ("bad", "good", "odd", OTHER),
    ]
    assert schema.columns[3].extract == "field:mood"


def test_the_most_frequent_public_values_are_kept():
    schema = adapt_schema(["function", "field:mood"], library=["@z.z"], public=PUBLIC, most=1)
    assert [column.values for column in schema.columns] == [("@c.a", OTHER), ("good", OTHER)]


def test_without_public_rows_all_functions_of_the_library_are_kept():
    library = [f"@c.f{n:03}" for n in range(150)]
    schema = adapt_schema(["function"], library=library, most=20)
    assert schema.columns[0].values == (*library, OTHER)


def test_a_column_of_which_nothing_public_is_known_is_refused():
    with pytest.raises(GenieError, match=r"T506.*'mood'"):
        adapt_schema(["field:mood"], library=["@c.a"])
    with pytest.raises(GenieError, match="did you mean 'length'"):
        adapt_schema(["lenght"])


def test_an_adapted_schema_comes_back_from_its_dictionary():
    schema = adapt_schema([*FIXED, "functions", "slots"], public=PUBLIC)
    assert Schema.from_dict(schema.as_dict()) == schema
    with pytest.raises(GenieError, match="T500"):
        Schema.from_dict({**schema_of(2, 2).as_dict(), "version": 9})
