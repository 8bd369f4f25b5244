"""Rows that are converted and back are the same; what cannot be kept is said."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.dataset.convert import Convert
from genie_dp.dataset.formats import (
    READERS,
    WRITERS,
    ReadOptions,
    WriteOptions,
    as_plain,
    find_reader,
    find_writer,
    row_of_plain,
)
from genie_dp.dataset.writers import spans_of
from genie_dp.errors import GenieError
from genie_dp.records import Example, Slot
from genie_dp.rows import to_json
from genie_dp.run.stage import Output
from tests.dataset.dataset_rows import families, write

# All but surrogates, which no UTF-8 file holds.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.lists(TEXT.filter(bool), max_size=3).map(tuple)
ROWS = st.builds(
    Example,
    id=TEXT,
    utterance=TEXT,
    program=TEXT,
    language=st.sampled_from(["thingtalk", "sexpr"]),
    source=st.sampled_from(["synthetic", "human", "paraphrase"]),
    parent=TEXT,
    derivation=NAMES,
    functions=NAMES,
    depth=st.integers(0, 12),
    slots=st.dictionaries(TEXT, st.builds(Slot, TEXT, TEXT), max_size=2),
    weight=st.floats(0, 10) | st.integers(0, 3),
)
FILES = {"jsonl": "r.jsonl", "parquet": "r.parquet", "rasa": "r.yml", "conll": "r.conll"}


def convert(*args):
    return run(["data", "convert", *map(str, args)])


def there_and_back(rows, name, folder):
    """Write rows with a writer and read them; return those that came back and those refused."""
    path = folder / FILES[name]
    refused = []
    with path.open("wb") as out:
        find_writer(name)(rows, out, refused.append, WriteOptions(name))
    return list(find_reader(name)(str(path), ReadOptions(name))), refused


@pytest.mark.parametrize("name", FILES)
@given(rows=st.lists(ROWS, max_size=3))
def test_formats_that_keep_all_give_the_rows_back(tmp_path_factory, name, rows):
    back, refused = there_and_back(rows, name, tmp_path_factory.mktemp("back"))
    lost = {one.id for one in refused}
    assert [one for one in rows if one.id not in lost] == [o for o in back if o.id not in lost]
    assert all(any(c in one.utterance for c in "[]{}") for one in refused)
    assert all(map(callable, (*map(find_reader, READERS), *map(find_writer, WRITERS))))


@pytest.mark.parametrize(
    ("utterance", "program", "spans"),
    [
        ("say a b", 'now => @c.f param:t:String = " a b "', [(1, 3, "t")]),
        ("a a", 'now => @c.f param:t:String = " a "', [(0, 1, "t"), (1, 2, "t")]),
        ("a b", 'now => @c.f param:t:String = " a " param:u:String = " a b "', [(0, 2, "u")]),
        ("alarm at six", "[ IN:SET [ SL:TIME at six ] ]", [(1, 3, "time")]),
        ("meet ann", '( meet ( who " ann " ) )', [(1, 2, "who")]),
        ("set NUMBER_1", "now => @c.f param:n:Number = NUMBER_1", [(1, 2, "number")]),
        ("nothing", 'now => @c.f param:t:String = ""', []),
    ],
)
def test_values_are_found_in_sentences(utterance, program, spans):
    found = spans_of(Example("a", utterance, program))
    assert [(one.start, one.end, one.label) for one in found] == spans


@given(one=ROWS)
def test_a_line_of_a_row_is_what_json_writes(one):
    record = {name: getattr(one, name) for name in Example.__dataclass_fields__}
    record["slots"] = {k: asdict(slot) for k, slot in one.slots.items()}
    assert to_json(one) == json.dumps(record, ensure_ascii=False, separators=(",", ":"))


@given(one=ROWS)
def test_plain_data_hold_all_of_a_row(one):
    assert row_of_plain(json.loads(json.dumps(as_plain(one)))) == one


# ---------------------------------------------------------------------------------- data sets


def test_python_converts_as_the_command_does_and_prints_nothing(tmp_path, capsys):
    source = write(tmp_path / "a.jsonl", families(30))
    stage = Convert(input=str(source), id_prefix="x-", source="human")
    result = stage.run(Output(str(tmp_path / "b.tsv")))
    assert capsys.readouterr() == ("", "")
    assert result.rows == len(families(30))
    assert len(repr(result)) < 300
    options = ("--id-prefix", "x-", "--source", "human")
    assert convert(source, tmp_path / "c.tsv", *options) == 0
    assert (tmp_path / "b.tsv").read_bytes() == (tmp_path / "c.tsv").read_bytes()
    assert capsys.readouterr().err == str(result).replace("b.tsv", "c.tsv") + "\n"
    with pytest.raises(GenieError, match="did you mean 'human'"):
        Convert(input=str(source), source="humans")
