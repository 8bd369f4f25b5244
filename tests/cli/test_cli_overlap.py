"""What a command reads is never replaced by what it writes, `--overwrite` or not."""

import gzip

import pytest

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.run.files import refuse_overlap
from genie_dp.run.manifest import hashes_of
from tests.dataset.dataset_rows import families, write

COMMANDS = [
    ("augment", "{rows}", "--output", "{rows}", "--overwrite"),
    ("split", "{folder}/data/train.jsonl", "--output", "{folder}/data", "--overwrite"),
    ("split", "{folder}/data/train.jsonl", "--output", "{folder}/other/../data", "--overwrite"),
    ("stats", "{rows}", "--output", "{rows}"),
    ("stats", "{rows}", "--html", "{rows}"),
    ("stats", "{folder}/data", "--output", "{folder}/data/test.jsonl"),
    ("stats", "{rows}", "--output", "{folder}/new", "--html", "{folder}/new"),
    ("convert", "{rows}", "{rows}", "--overwrite"),
    ("convert", "{rows}", "{folder}/new.tsv", "--rejects", "{rows}", "--overwrite"),
    ("convert", "{folder}/data", "{folder}/data", "--to", "hf", "--overwrite"),
    ("convert", "{folder}/data/train.jsonl", "{folder}/data", "--to", "hf", "--overwrite"),
    ("merge", "{rows}", "--output", "{rows}", "--overwrite"),
    ("paraphrase", "select", "{rows}", "--output", "{rows}", "--overwrite"),
    ("paraphrase", "auto", "{rows}", "--output", "{rows}", "--overwrite"),
    ("paraphrase", "auto", "{rows}", "--output", "{folder}/new", "--rejects", "{rows}",
     "--overwrite"),
    ("paraphrase", "hits", "{rows}", "--output", "{folder}/new", "--page", "{rows}", "--overwrite"),
    ("paraphrase", "collect", "{rows}", "--chosen", "{rows}", "--output", "{rows}", "--overwrite"),
    ("paraphrase", "validate-hits", "{rows}", "--chosen", "{rows}", "--output", "{rows}",
     "--overwrite"),
    ("paraphrase", "export", "{rows}", "--output", "{rows}", "--overwrite"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_is_read_stays_as_it_is(tmp_path, capsys, command):
    rows = write(tmp_path / "rows.jsonl", families(30))
    (tmp_path / "other").mkdir()
    assert run(["split", str(rows), "--output", str(tmp_path / "data")]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert run([word.format(rows=rows, folder=tmp_path) for word in command]) == 1
    assert "error[D027]" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_hashes_tell_files_by_what_they_hold(tmp_path):
    rows = write(tmp_path / "rows.jsonl", families(10))
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(rows.read_bytes()))
    first = hashes_of([rows, packed, None, "", rows])
    assert list(first) == [str(rows), str(packed)]
    assert len(set(first.values())) == 1
    rows.write_bytes(rows.read_bytes() + b"\n")
    assert hashes_of([rows]) != {str(rows): first[str(rows)]}


def test_outputs_beside_the_inputs_are_let_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuse_overlap(
        ("data/stats.json", "data-2", None, "-", "s3://bucket/data", "s3://bucket/data"),
        ("data", "data/train.jsonl", "data-22", "s3://bucket/data", "-"),
    )
    with pytest.raises(GenieError, match="two of the outputs"):
        refuse_overlap(("a.json", "./a.json"), ())
