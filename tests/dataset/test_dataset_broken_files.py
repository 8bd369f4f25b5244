"""Files that cannot be read are named by every command: no traceback, and no "interrupted"."""

import bz2
import gzip
import lzma
import sys

import pytest

from genie_dp.augment.datasets import read_own_lists
from genie_dp.cli import run
from genie_dp.errors import GenieError

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACK)
def test_a_list_of_values_that_was_cut_off_is_named(tmp_path, suffix):
    packed = PACK[suffix](b"one song\nanother song\n" * 50)
    (tmp_path / f"songs.txt{suffix}").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "values.tsv").write_text(f"song\tsongs.txt{suffix}\n")
    with pytest.raises(GenieError, match=r"values.tsv:1:6: error\[A004\]"):
        read_own_lists(tmp_path / "values.tsv")


def test_a_list_that_is_no_csv_is_named(tmp_path):
    (tmp_path / "songs.csv").write_text('value\n"' + "x" * 200_000)
    (tmp_path / "values.tsv").write_text("song\tsongs.csv\n")
    with pytest.raises(GenieError, match="A007"):
        read_own_lists(tmp_path / "values.tsv")


@pytest.mark.parametrize(
    ("url", "why", "hint"),
    [
        ("nobody://rows.jsonl", "nothing reads nobody:// URLs", "smart-open reads http"),
        ("s3://bucket/rows.jsonl", "a library for it", "pip install 'smart-open[s3]'"),
    ],
)
def test_urls_that_nothing_here_reads_are_told(url, why, hint, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setitem(sys.modules, "smart_open.s3", None)
    assert run(["data", "stats", url]) == 1
    told = capsys.readouterr().err
    assert f"error[R001]: cannot read {url}: {why}" in told
    assert hint in told
