"""Private rows come in by unit, and no text of them goes out by any other way."""

import gzip
import json
import logging
import traceback
from pathlib import Path

import pytest

from genie_dp.errors import GenieError, problems_as_json
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.source import PrivateRow, PrivateSource

ROOT = Path(__file__).parents[3]
CANARY = "zebrafishcanary"


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(utterance=f"tell {CANARY} hi", **others):
    return {"utterance": utterance, "program": f"( say {CANARY} )", **others}


def opened(path, **options):
    return PrivateSource.open(path, language="sexpr", **options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [["a"], ["b"], ["c"]]),
        ({"unit": "user", "cap": 9}, [["a", "c"], ["b"]]),
        ({"unit": "dialogue", "unit_field": "session", "cap": 9}, [["a", "b", "c"]]),
    ],
)
def test_rows_of_a_unit_are_together_wherever_they_stand(options, expected, tmp_path):
    rows = [row("a", user="u1"), row("b", user=2), {"utterance": "c", "user": "u1"}]
    path = write(tmp_path / "rows.jsonl", [{**one, "session": "x"} for one in rows])
    source = opened(path, **options)
    assert sorted([r.utterance for r in unit] for unit in source.units) == expected
    assert [r.program is None for unit in source.units for r in unit].count(True) == 1


def test_a_budget_says_how_rows_are_grouped(tmp_path):
    rows = write(tmp_path / "r.jsonl", [row(name, who="u", user=name) for name in "abc"])
    named = Budget(1.0, 1e-6, "user", cap=2, unit_field="who")
    plain = Budget(1.0, 1e-6, "user", cap=2)
    source = PrivateSource.promised(rows, named, language="sexpr")
    assert (source.unit, [len(unit) for unit in source.units]) == ("user", [2])
    assert len(PrivateSource.promised(rows, plain, language="sexpr").units) == 3
    by_row = Budget(1.0, 1e-6, "utterance")
    assert len(PrivateSource.promised(rows, by_row, language="sexpr").units) == 3


def test_tsv_has_the_unit_in_the_fourth_column_and_may_be_compressed(tmp_path):
    path = tmp_path / "rows.tsv.gz"
    path.write_bytes(gzip.compress(b"1\thello\t( hi )\tu\n2\tbye\t\tv\n3\tmore\t( m )\tu\n"))
    source = opened(path, unit="user", cap=9)
    assert [len(unit) for unit in source.units] == [2, 1]
    assert source.units[1][0] == PrivateRow("bye", None)


def test_a_unit_keeps_at_most_the_cap_and_no_other_unit_decides_which(tmp_path):
    many = [row(f"w {i}", user="busy") for i in range(1000)]
    alone = opened(write(tmp_path / "a.jsonl", many), unit="user", cap=7)
    others = [row(f"x {i}", user=str(i % 5)) for i in range(50)]
    together = opened(write(tmp_path / "b.jsonl", [*others, *many]), unit="user", cap=7)
    assert len(alone.units[0]) == 7
    assert alone.units[0] == together.units[5]
    assert alone.units[0] != tuple(PrivateRow(f"w {i}", f"( say {CANARY} )") for i in range(7))


def test_rows_and_sources_show_nothing_of_themselves(tmp_path):
    source = opened(write(tmp_path / "rows.jsonl", [row()] * 3))
    shown = f"{source} {source!r} {source.units} {source.units[0][0]}"
    assert CANARY not in shown
    assert "3" not in repr(source)


USER = {"unit": "user", "cap": 9}
BROKEN = {
    "no JSON": (f'{{"utterance": "{CANARY}", '.encode(), {}, "Q002"),
    "a control character": (f'{{"utterance": "{CANARY}\n'.encode(), {}, "Q002"),
    "no object": (f'"{CANARY}"'.encode(), {}, "Q002"),
    "deep nesting": (b"[" * 100_000 + CANARY.encode(), {}, "Q002"),
    "no UTF-8": (f'{{"utterance": "{CANARY}'.encode() + b'\xff"}', {}, "Q002"),
    "no utterance": (json.dumps({"text": CANARY}).encode(), {}, "Q003"),
    "an utterance that is no text": (json.dumps({"utterance": [CANARY]}).encode(), {}, "Q003"),
    "half a pair": (f'{{"utterance": "{CANARY} \\ud800"}}'.encode(), {}, "Q003"),
    "a program that is no text": (json.dumps(row(program={"a": CANARY})).encode(), {}, "Q003"),
    "another language": (json.dumps(row(language=CANARY)).encode(), {}, "Q004"),
    "no user": (json.dumps(row()).encode(), USER, "Q005"),
    "a user that was masked": (json.dumps(row(user=f"<MASK>{CANARY}")).encode(), USER, "Q005"),
    "half a letter": (json.dumps(row(user=f"{CANARY}\ud800")).encode(), USER, "Q005"),
    "a user that is a list": (json.dumps(row(user=[CANARY])).encode(), USER, "Q005"),
}


def frames_of_the_package(error):
    """Yield the variables of the package's frames; a test's own hold the canary."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "genie_dp" in frame.f_globals.get("__name__", ""):
            yield frame.f_locals


@pytest.mark.parametrize("name", BROKEN)
def test_no_text_of_a_row_is_in_an_error_its_causes_or_its_frames(name, tmp_path, caplog):
    line, options, code = BROKEN[name]
    path = tmp_path / "rows.jsonl"
    good = json.dumps(row(user=f"{CANARY}-user")).encode()
    path.write_bytes(good + b"\n" + line + b"\n")
    caplog.set_level(logging.DEBUG)
    with pytest.raises(GenieError) as caught:
        opened(path, **options)
    error = caught.value
    assert error.problems[0].code == code
    assert error.problems[0].span.line == 2
    assert not error.sources
    assert error.__context__ is None
    assert CANARY not in str(error)
    assert CANARY not in problems_as_json(error.problems)
    assert CANARY not in caplog.text
    variables = list(frames_of_the_package(error))
    assert variables
    assert CANARY not in repr(variables)


TABLE = f"1\t{CANARY}\t{CANARY}\t{CANARY}\n{CANARY}\n".encode() + b"\xff\n"
CUT_OFF = gzip.compress(json.dumps(row()).encode() * 1000)[:-20]


@pytest.mark.parametrize(
    ("name", "content", "codes"),
    [("rows.tsv", TABLE, ["Q003", "Q002"]), ("rows.jsonl.gz", CUT_OFF, ["Q001"])],
)
def test_a_broken_table_or_archive_shows_no_text_either(name, content, codes, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GenieError) as caught:
        opened(tmp_path / name, **USER)
    assert [p.code for p in caught.value.problems] == codes
    told = traceback.TracebackException.from_exception(caught.value)
    assert CANARY not in "".join(told.format())
    assert CANARY not in repr(list(frames_of_the_package(caught.value)))


@pytest.mark.parametrize(
    ("name", "told"), [("rows.jsonl.zst", "unpack"), ("rows.parquet", "convert")]
)
def test_a_file_of_a_kind_that_is_not_read_is_told(name, told, tmp_path, monkeypatch):
    def lacking(*_):
        raise ImportError("no library unpacks it")

    monkeypatch.setattr("smart_open.open", lacking)
    path = tmp_path / name
    path.write_bytes(b"(\xb5/\xfd")
    with pytest.raises(GenieError, match="Q001") as caught:
        opened(path)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Q001.*No such file"),
        ({"unit": "household"}, "Q006"),
        ({"unit_field": "user"}, "Q006"),
        ({"unit": "user", "cap": 0}, "Q006"),
        ({"unit": "user"}, "Q006"),
    ],
)
def test_units_that_are_none_are_refused_before_the_file_is_opened(options, message, tmp_path):
    with pytest.raises(GenieError, match=message):
        opened(tmp_path / "none.jsonl", **options)


def test_no_more_mistakes_are_told_than_ten(tmp_path):
    with pytest.raises(GenieError) as caught:
        opened(write(tmp_path / "rows.jsonl", [{}] * 50))
    assert len(caught.value.problems) == 10
