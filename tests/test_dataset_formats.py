"""Rows that files hold come back as they were, and what is no row is told."""

import json

import pytest

from genie_dp.cli.output import open_bytes
from genie_dp.dataset.formats import from_json, read_rows, write_parquet
from genie_dp.dataset.scan import Input, scan
from genie_dp.errors import GenieError
from genie_dp.records import Example, Slot

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


def code_of(read):
    with pytest.raises(GenieError) as caught:
        list(read)
    [problem] = caught.value.problems
    return problem.code


def test_what_is_no_parquet_or_has_other_columns_is_told(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"beep")
    parquet.write_table(arrow.table({"text": ["beep"]}), tmp_path / "other.parquet")
    assert code_of(read_rows(f"{tmp_path}/broken.parquet")) == "R001"
    assert code_of(read_rows(f"{tmp_path}/other.parquet")) == "R011"


@pytest.mark.parametrize("name", ["id", "utterance", "program"])
def test_half_a_character_cannot_be_written_so_it_is_no_row(tmp_path, name):
    whole = {"id": "S0", "utterance": "beep", "program": "now => @c.f"}
    line = json.dumps(whole | {name: "b\ud83dp"})
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    assert code_of(map(from_json, [line])) == "R011"
    assert code_of(scan(Input.of(str(path)))) == "R011"
    emoji = json.dumps(whole | {name: "b\U0001f600p"})
    assert "\\ud83d" in emoji
    assert getattr(from_json(emoji), name) == "b\U0001f600p"


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": float("nan")},
        {"weight": float("inf")},
        {"weight": -1},
        {"weight": "heavy"},
        {"language": 5},
        {"source": ["human"]},
        {"parent": None},
        {"functions": [3]},
        {"derivation": [["x"]]},
    ],
)
def test_a_field_of_another_kind_makes_no_row(tmp_path, wrong):
    line = json.dumps({"id": "S0", "utterance": "beep", "program": "now => @c.f"} | wrong)
    (name,) = wrong
    with pytest.raises(GenieError, match=rf"R011.*\b{name}\b"):
        from_json(line)
    if not wrong.keys() & {"weight", "derivation"}:  # which are not scanned
        path = tmp_path / "rows.jsonl"
        path.write_text(line + "\n")
        assert code_of(scan(Input.of(str(path)))) == "R011"


def test_the_mark_at_the_beginning_of_a_tsv_file_is_no_part_of_an_id(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("S0\tbeep\tnow => @c.f\r\n", encoding="utf-8-sig", newline="")
    assert list(read_rows(str(path))) == [Example("S0", "beep", "now => @c.f")]
