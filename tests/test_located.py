"""YAML and JSON whose values know where they stand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.located import as_yaml, find_place, read_json, read_yaml

# The text of a value in YAML, and what the core schema of YAML 1.2 says that it is.
CORE = {
    "yes": "yes", "No": "No", "on": "on", "OFF": "OFF", "y": "y", "N": "N",
    "true": True, "True": True, "FALSE": False, "tRUE": "tRUE",
    "null": None, "Null": None, "~": None, "": None, "nil": "nil",
    "12:00": "12:00", "1:20:30": "1:20:30", "1_000": "1_000", "0b11": "0b11",
    "012": 12, "08": 8, "-7": -7, "+5": 5, "0o17": 15, "0x1F": 31, "0o8": "0o8", "-0x1": "-0x1",
    "1.0": 1.0, ".5": 0.5, "5.": 5.0, "1e3": 1000.0, "-1.5E-2": -0.015, ".": ".", "1e": "1e",
    ".inf": math.inf, "-.INF": -math.inf, "inf": "inf", "nan": "nan",
    "2026-11-27": "2026-11-27", "2026-11-27T10:00:00Z": "2026-11-27T10:00:00Z",
    "=": "=", "<<": "<<", "1.2.3": "1.2.3", "'true'": "true", '"12"': "12",
    "!!str 5": "5", "!!int '0o17'": 15, "!!float 1": 1.0, "! 5": "5",
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), CORE.items(), ids=map(repr, CORE))
def test_plain_scalars_are_those_of_the_core_schema(text, value):
    found = read_yaml(f"a: {text}\nb: [{text}]" if text != "<<" else f"a: {text}", "x.yaml").plain
    assert (found["a"], type(found["a"])) == (value, type(value))
    if text and text != "<<":
        assert found["b"] == [value]


def test_names_are_texts_as_they_are_written():
    found = read_yaml("on: 1\n12:00: 2\n200: 3\n0x1F: 4\n~: 5\ntrue: 6\n? k\n: 7", "x.yaml")
    assert [*found.plain] == ["on", "12:00", "200", "0x1F", "~", "true", "k"]


def test_maps_are_merged_and_aliases_are_shared():
    text = (
        "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], z: 3}\nd: [*a]\n<<: *b\n'<<': 4"
    )
    found = read_yaml(text, "x.yaml").plain
    assert found["c"] == {"z": 3, "x": 1, "y": 1}
    assert found["d"] == [found["a"]]
    assert (found["y"], found["z"], found["<<"]) == (2, 2, 4)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\nb:\n  a: 2\n  c: 1\n  a: 3", "5:3", "'a' comes twice, first on line 3"),
        ("200: a\n'200': b", "2:1", "'200' comes twice, first on line 1"),
        ("a: {x: 1, x: 2}", "1:11", "'x' comes twice, first on line 1"),
        ("a: [1", "1:6", "not YAML: did not find expected"),
        ("a:\n\tb: 1", "2:1", "not YAML: found character"),
        ("a: 1\nb: \x07", "2:4", "the character U\\+0007"),
        ("a: *b", "1:4", "the anchor 'b' is not there"),
        ("a: &a [*a]", "1:8", "the anchor 'a' holds itself"),
        ("a: 1\n---\nb: 2", "2:1", "expected one document, found another"),
        ("a: !secret b", "1:4", "nothing is known of the tag '!secret'"),
        ("a: !!python/name:os.system ''", "1:4", "nothing is known of the tag"),
        ("a: !!int yes", "1:4", "'yes' is no int"),
        ("? [a]\n: b", "1:5", "expected a text as a name"),
        ("<<: 5", "1:5", "expected a map, or a list of maps, after <<"),
        (f"a: {'9' * 5000}", "1:4", "a number of too many digits"),
        ("a: " + "[" * 100_000, "1:203", "more than 200 lists and maps in each other"),
    ],
)
def test_what_is_no_yaml_has_its_place(text, place, message):
    with pytest.raises(GenieError, match=message) as caught:
        read_yaml(text, "x.yaml")
    assert [str(p.span) for p in caught.value.problems] == [f"x.yaml:{place}"]


@pytest.mark.parametrize("line", ["a{0}: &a{0} [{1}]", "a{0}: &a{0} {{<<: [{1}], k{0}: 1}}"])
def test_bombs_of_aliases_are_refused_before_they_are_written_out(line):
    first = line.format(0, "{x: 1}" if "<<" in line else "x")
    lines = (line.format(i, ",".join([f"*a{i - 1}"] * 10)) for i in range(1, 30))
    with pytest.raises(GenieError, match="aliases stand for more than 1,000,000 values"):
        read_yaml("\n".join([first, *lines]), "x.yaml")


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(
    st.sampled_from("0123456789xoeE+-._:~#'\"\n ,[]{}&*!|>%@`=<nulltrueNOonyY\u2028é"), max_size=6
) | st.sampled_from([text for text in CORE if not text.startswith(("!", "'", '"'))])  # fmt: skip


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(st.sampled_from("onyN12:<~"), max_size=3), inner,
                                      max_size=3), max_leaves=8))  # fmt: skip
def test_what_is_written_as_yaml_reads_as_the_same(value):
    found = read_yaml(as_yaml({"a": value}), "x.yaml").plain
    assert found == {"a": value}
    assert repr(found) == repr({"a": value})


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": 1,\n "b": {"a": 2, "c": 3,\n "a": 4}}', "3:2", "'a' comes twice, first on line 2"),
        ("[1,\n 2,]", "2:4", "not JSON: "),
        ('{"a": NaN}', "1:7", "NaN is no number of JSON"),
        ('{"a": "\\ud83d"}', "1:8", "one half is missing"),
        (f"[\n{'9' * 5000}]", "2:1", "too many digits"),
        ("[" * 100_000, "1:1", "too deep"),
    ],
)
def test_what_is_no_json_has_its_place(text, place, message):
    with pytest.raises(GenieError, match=message) as caught:
        read_json(text, "x.json")
    assert [str(p.span) for p in caught.value.problems] == [f"x.json:{place}"]
    assert all(p.hint for p in caught.value.problems)


def test_a_part_has_its_place_in_either_format_and_pairs_of_surrogates_are_one_character():
    assert read_json('["\\ud83d\\ude00 \\\\ud800"]', "x.json") == ["😀 \\ud800"]
    for text, file in (
        ("a:\n- b: 1\n- c: 2", "x.yml"),
        ('{"a":\n[{"b": 1},\n{"c": 2}]}', "x.json"),
    ):
        assert find_place(text, file, ("a", 1, "c", "more")).line == 3
        assert find_place(text, file, ("a", 0, "x")).line == 2
