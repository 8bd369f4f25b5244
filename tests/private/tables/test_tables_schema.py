"""Schemas say what is wrong and where; extractors say of a row what is public to ask."""

import json
import random
from pathlib import Path

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
from tests.golden import cases
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


@pytest.mark.parametrize("case", cases("private_tables/schemas.txt"), ids=str)
def test_mistakes_of_a_schema_are_told_with_their_places(case, golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(case.input)
    with pytest.raises(GenieError) as error:
        load_schema(Path("schema.json"))
    golden(case, str(error.value))


MANY = [{"name": "many", "values": [f"v{n}" for n in range(1001)]}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "T500"),
        (json.dumps({"columns": MANY}), "T503.*at most 1,000 values, got 1,001"),
        (json.dumps({"columns": [{"name": f"c{n}", "values": ["x", "y"]} for n in range(11)]}),
         "T503.*expected 1 to 10 columns, got 11"),
    ],
)  # fmt: skip
def test_schemas_that_are_too_large_are_refused(text, message, tmp_path):
    (tmp_path / "schema.json").write_text(text)
    with pytest.raises(GenieError, match=message):
        load_schema(tmp_path / "schema.json")


def test_an_unknown_column_offers_the_nearest():
    with pytest.raises(GenieError, match="T503"):
        Schema(())
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


def row(utterance="", program="", functions=()):
    return Example("S0", utterance, program, functions=tuple(functions))


def test_extractors_say_what_a_row_has(golden):
    [case], shown = cases("private_tables/extractors.txt"), []
    for line in case.input.splitlines():
        name, fields = line.split(" ", 1)
        shown.append(EXTRACTORS[name](row(**json.loads(fields))) or "nothing")
    golden(case, "\n".join(shown))


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
