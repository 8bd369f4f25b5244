"""Rows that files hold come back as they were, and what is no row is told."""

import json
import re
from pathlib import Path

import pytest

from genie_dp.dataset.formats import READERS, WRITERS, ReadOptions, find_reader, row_of_plain
from genie_dp.dataset.readers import objects
from genie_dp.dataset.scan import DatasetFile, scan
from genie_dp.errors import GenieError
from genie_dp.records import Example, Slot
from genie_dp.rows import from_json, read_rows, write_parquet
from genie_dp.run.files import open_bytes

ROWS = (
    Example("S0", 'say "a\tb"', "now => @c.f", derivation=("x",), functions=("@c.f",), weight=0.5),
    Example("S1", "grüße NUMBER_0", "now => @c.g", slots={"NUMBER_0": Slot("Number", "")}),
)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
def test_parquet_is_read_as_it_is_written_however_it_is_packed(tmp_path, ending):
    pytest.importorskip("pyarrow")
    target = f"{tmp_path}/rows.parquet{ending}"
    with open_bytes(target) as out:
        write_parquet(ROWS, out)
    assert tuple(read_rows(target)) == ROWS


def test_what_is_no_parquet_or_has_other_columns_is_told(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"beep")
    parquet.write_table(arrow.table({"text": ["beep"]}), tmp_path / "other.parquet")
    for name, code in (("broken", "R001"), ("other", "R011")):
        with pytest.raises(GenieError, match=code):
            list(read_rows(f"{tmp_path}/{name}.parquet"))


def refused(tmp_path, line, match):
    """Check that neither a line nor a file of it is read."""
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    for read in (map(from_json, [line]), scan(DatasetFile.from_name(str(path)))):
        with pytest.raises(GenieError, match=match):
            list(read)


@pytest.mark.parametrize("name", ["id", "utterance", "program"])
def test_half_a_character_cannot_be_written_so_it_is_no_row(tmp_path, name):
    whole = {"id": "S0", "utterance": "beep", "program": "now => @c.f"}
    refused(tmp_path, json.dumps(whole | {name: "b\ud83dp"}), "R011")
    emoji = json.dumps(whole | {name: "b\U0001f600p"})
    assert "\\ud83d" in emoji
    assert getattr(from_json(emoji), name) == "b\U0001f600p"


def test_a_field_of_another_kind_makes_no_row(tmp_path):
    for name, value in (
        ("weight", float("nan")), ("weight", float("inf")), ("weight", -1), ("weight", "heavy"),
        ("weight", 10**400), ("language", 5), ("source", ["human"]), ("parent", None),
        ("functions", [3]), ("functions", "@c.f"), ("derivation", [["x"]]), ("derivation", "x"),
        ("depth", "x"), ("depth", 1.5), ("depth", -1), ("depth", 2**31),
        ("slots", {"NUMBER_0": {"type": 5, "parameter": ""}}),
    ):  # fmt: skip
        row = {"id": "S0", "utterance": "beep", "program": "now => @c.f", name: value}
        match = rf"R011.*\b{name.removesuffix('s')}"
        if name in ("derivation", "depth", "slots"):  # which are not scanned
            with pytest.raises(GenieError, match=match):
                from_json(json.dumps(row))
        else:
            refused(tmp_path, json.dumps(row), match)


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, '{"id": "S0", "depth": ' + "9" * 5000 + "}", "[1]", '"S0"', "null", "7"],
    ids=["brackets", "digits", "list", "text", "nothing", "number"],
)
def test_what_is_no_object_or_beyond_what_python_reads_is_told_with_its_place(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    place = rf"{path}:1:\d+: error\[(R010|R011|D020)\]"
    for read in (
        read_rows(str(path)),
        scan(DatasetFile.from_name(str(path))),
        objects(str(path), ["id"]),
    ):
        with pytest.raises(GenieError, match=place):
            list(read)


@pytest.mark.parametrize("format", [n for n, e in READERS.items() if "JSONL" in e.content])
def test_a_row_of_another_format_that_has_no_text_is_told_with_its_place(tmp_path, format):
    row = {"id": "a", "utterance": "beep", "program": "( beep )", "canonical": "beep"}
    path = tmp_path / "rows.jsonl"
    for key in ("id", "utterance", "program"):
        for value in (["a"], {"a": 1}, None, True, 1.5, "half \ud83d"):
            if (format, key, value) == ("topv2", "id", None):
                continue  # may be missing
            path.write_text(json.dumps(row) + "\n" + json.dumps(row | {key: value}) + "\n")
            with pytest.raises(GenieError, match=r"rows.jsonl:2:1: error\[D020\]"):
                list(find_reader(format)(str(path), ReadOptions(format)))


def test_ids_of_other_formats_may_be_numbers(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 7, "utterance": "beep", "program": "( beep )"}\n')
    [row] = find_reader("smcalflow")(str(path), ReadOptions("smcalflow"))
    assert row.id == "7"


@pytest.mark.parametrize(
    ("language", "code"), [("sexpr", "X012"), ("klingon", "L001")], ids=lambda x: x
)
def test_a_program_whose_functions_cannot_be_told_is_shown_with_its_place(tmp_path, language, code):
    path = tmp_path / "rows.jsonl"
    row = {"id": "a", "utterance": "beep", "program": "( (", "language": language}
    path.write_text(json.dumps(row | {"functions": ["beep"]}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(GenieError, match=rf"rows.jsonl:2:1: error\[{code}\]"):
        list(scan(DatasetFile.from_name(str(path))))


def test_rasa_files_may_have_any_metadata_and_entities(tmp_path):
    path = tmp_path / "nlu.yml"
    path.write_text(
        "nlu:\n- intent: greet\n  examples:\n  - text: hi\n    metadata: 5\n"
        '  - text: \'i am [ann]{"entity": 5, "value": 3}\'\n'
    )
    rows = list(find_reader("rasa")(str(path), ReadOptions("rasa")))
    assert [row.program for row in rows] == ["( greet )", '( greet ( 5 " 3 " ) )']


def test_rows_in_the_margins_of_other_formats_are_checked_as_all_are():
    for metadata in ({"functions": "@c.f"}, {"depth": "x"}, {"weight": -1}):
        with pytest.raises(TypeError):
            row_of_plain({"id": "S0", "utterance": "beep", "program": "now => @c.f"} | metadata)


def test_the_mark_at_the_beginning_of_a_tsv_file_is_no_part_of_an_id(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("S0\tbeep\tnow => @c.f\r\n", encoding="utf-8-sig", newline="")
    assert list(read_rows(str(path))) == [Example("S0", "beep", "now => @c.f")]


# ---------------------------------------------------------------------------------- the page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_every_format_is_in_the_table():
    rows = "".join(re.findall(r"^\| `.*\|$", PAGE, re.MULTILINE))
    assert not [name for name in {*READERS, *WRITERS} if f"`{name}`" not in rows]
