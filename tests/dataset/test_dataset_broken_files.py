"""Files that cannot be read are named by every command: no traceback, and no "interrupted"."""

import bz2
import gzip
import lzma
import sys

import pytest

from genie_dp.augment.datasets import read_own_lists
from genie_dp.cli import run
from genie_dp.errors import GenieError
from tests.dataset.dataset_rows import families, write

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
COMMANDS = [
    ("augment", "{file}", "--output", "{folder}/out.jsonl"),
    ("split", "{file}", "--output", "{folder}/parts"),
    ("stats", "{file}"),
    ("paraphrase", "auto", "{file}", "--output", "{folder}/out.jsonl"),
    ("convert", "{file}", "{folder}/out.tsv"),
    ("convert", "--from", "conll", "{file}", "{folder}/out.jsonl"),
    ("convert", "--from", "rasa", "{file}", "{folder}/out.jsonl"),
]


def call(command, file, folder):
    return run([word.format(file=file, folder=folder) for word in command])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: "-".join(words[:3:2]))
def test_a_file_that_was_cut_off_or_is_not_packed_or_no_text_is_named(tmp_path, capsys, command):
    rows = write(tmp_path / "rows.jsonl", families(20)).read_bytes()
    for suffix, pack in PACK.items():
        file, packed = tmp_path / f"broken.jsonl{suffix}", pack(rows)
        for broken in (packed[: len(packed) // 2], rows):
            file.write_bytes(broken)
            # What is left of a file may be no YAML before it ends.
            if broken == rows or "rasa" not in command:
                assert call(command, file, tmp_path) == 1
                assert f"error[R001]: cannot read {file}" in capsys.readouterr().err
    file = tmp_path / "latin.jsonl"
    file.write_bytes(b'{"id": "a", "utterance": "caf\xe9", "program": "now => @c.f;"}\n')
    assert call(command, file, tmp_path) == 1
    said = capsys.readouterr().err
    assert "error[R003]: expected UTF-8 text" in said
    assert "0xE9" in said or "augment" in command
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("out")]


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
    assert run(["stats", url]) == 1
    told = capsys.readouterr().err
    assert f"error[R001]: cannot read {url}: {why}" in told
    assert hint in told


def test_rows_without_a_field_or_with_another_are_told_which(tmp_path, capsys):
    row = '{"id": "a", "utterance": "hi"'
    for line, told in (
        (row + "}", "error[R011]: no row of a data set: expected program"),
        (row + ', "program": "p", "goal": 1}', "expected no field 'goal'"),
        ("\ufeff" + row + ', "program": "p"}', "a byte order mark stands before"),
    ):
        (tmp_path / "rows.jsonl").write_text(line + "\n", encoding="utf-8")
        words = [str(tmp_path / "rows.jsonl"), "--output", str(tmp_path / "out.jsonl")]
        assert run(["augment", *words, "--overwrite"]) == 1
        assert told in capsys.readouterr().err
