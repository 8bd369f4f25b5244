"""What a command reads is never replaced by what it writes, `--overwrite` or not."""

import gzip

import pytest

from genie_dp.errors import GenieError
from genie_dp.run.files import refuse_overlap
from genie_dp.run.manifest import hashes_of
from tests.dataset.dataset_rows import families, write


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
