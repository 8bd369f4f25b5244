"""Shards, merged, are the file that one run makes; anything else is refused."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

from genie_dp.rows import from_json
from tests.synthesis.synthesis_project import Project, errands, merge

SIZE = 11_000  # four blocks for three shards; repeats and ambiguous sentences cross them
COUNT = 3


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    return errands(tmp_path_factory.mktemp("errands"))


def make(project: Project, folder: Path, suffix: str, *options: object) -> tuple[bytes, list[Path]]:
    """Return the bytes of the whole run, and its shards."""
    whole = folder / f"whole{suffix}"
    assert project.run("--size", SIZE, "--output", whole, *options) == 0
    shards = [folder / f"part{index}{suffix}" for index in range(COUNT)]
    for index, shard in enumerate(shards):
        chosen = ["--shard", f"{index}/{COUNT}", "--output", shard]
        assert project.run("--size", SIZE, *chosen, *options) == 0
    return whole.read_bytes(), shards


@pytest.fixture(scope="module")
def made(project, tmp_path_factory) -> tuple[bytes, list[Path]]:
    return make(project, tmp_path_factory.mktemp("shards"), ".jsonl")


def copies(shards: list[Path], folder: Path) -> list[Path]:
    """Return copies that a test may damage."""
    for shard in shards:
        for path in (shard, Path(f"{shard}.manifest.json")):
            (folder / path.name).write_bytes(path.read_bytes())
    return [folder / shard.name for shard in shards]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_merged_shards_are_the_bytes_of_one_run(made, tmp_path, order):
    whole, shards = made
    merged = tmp_path / "merged.jsonl"
    assert merge(*[shards[i] for i in order], "--output", merged) == 0
    assert merged.read_bytes() == whole


def test_the_shards_do_repeat_sentences_of_each_other(made, tmp_path):
    _, shards = made
    merged = tmp_path / "merged.jsonl"
    assert merge(*shards, "--output", merged) == 0
    counts = json.loads(Path(f"{merged}.manifest.json").read_text())["counts"]
    inside = [json.loads(Path(f"{s}.manifest.json").read_text())["counts"] for s in shards]
    assert counts["ambiguous"] > sum(part["ambiguous"] for part in inside) + 10
    assert counts["rows"] == len(merged.read_bytes().splitlines())


def test_merged_rows_have_no_sentence_twice_and_rising_ids(made, tmp_path):
    merged = tmp_path / "merged.jsonl"
    assert merge(*made[1], "--output", merged) == 0
    rows = [from_json(line) for line in merged.read_text().splitlines()]
    assert len({row.utterance for row in rows}) == len(rows)
    numbers = [int(row.id.removeprefix("S")) for row in rows]
    assert numbers == sorted(set(numbers))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".tsv", ".jsonl.gz", ".tsv.gz"])
def test_other_formats_merge_to_the_same_bytes_too(project, tmp_path, suffix):
    whole, shards = make(project, tmp_path, suffix)
    merged = tmp_path / f"merged{suffix}"
    assert merge(*shards, "--output", merged) == 0
    assert merged.read_bytes() == whole


def test_a_run_without_size_is_merged_to_its_end(project, tmp_path):
    options = ["--target-size", 900, "--max-depth", 3]
    whole = tmp_path / "whole.jsonl"
    assert project.run(*options, "--output", whole) == 0
    shards = [tmp_path / f"part{index}.jsonl" for index in range(2)]
    for index, shard in enumerate(shards):
        assert project.run(*options, "--shard", f"{index}/2", "--output", shard) == 0
    merged = tmp_path / "merged.jsonl"
    assert merge(*shards, "--output", merged) == 0
    assert merged.read_bytes() == whole.read_bytes()


def test_the_output_may_have_another_format_or_compression(made, tmp_path):
    whole, shards = made
    assert merge(*shards, "--output", tmp_path / "merged.jsonl.gz") == 0
    assert gzip.decompress((tmp_path / "merged.jsonl.gz").read_bytes()) == whole
    assert merge(*shards, "--output", tmp_path / "merged.tsv") == 0
    first = from_json(whole.splitlines()[0].decode())
    line = (tmp_path / "merged.tsv").read_text().splitlines()[0]
    assert line == f"{first.id}\t{first.utterance}\t{first.program}"


def test_merged_rows_go_to_stdout(made, capfdbinary):
    whole, shards = made
    assert merge(*shards, "--output", "-") == 0
    captured = capfdbinary.readouterr()
    assert captured.out == whole
    rows = len(whole.splitlines())
    assert f"{rows:,} pairs of 3 shards -> stdout".encode() in captured.err


def test_the_manifest_is_that_of_one_run_with_the_number_of_shards(project, made, tmp_path):
    merged = tmp_path / "merged.jsonl"
    assert merge(*made[1], "--output", merged) == 0
    manifest = json.loads(Path(f"{merged}.manifest.json").read_text())
    one = json.loads((made[1][0].parent / "whole.jsonl.manifest.json").read_text())
    assert manifest.pop("merged") == COUNT
    assert {k: v for k, v in manifest.items() if k != "counts"} == {
        k: v for k, v in one.items() if k != "counts"
    }
    assert manifest["counts"]["rows"] == one["counts"]["rows"]


# ----------------------------------------------------------------------------------- refusals


def refused(capsys, *words: object) -> str:
    """Return the message of a merge that must fail and write nothing."""
    assert merge(*words) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_missing_and_repeated_shards_are_all_named(made, tmp_path, capsys):
    first = made[1][0]
    message = refused(capsys, first, first, "--output", tmp_path / "x.jsonl")
    assert f"error[Y042]: shard 0/3 is there twice: {first}, {first}" in message
    assert "error[Y042]: shard 1/3 is missing\n  hint: make it with --shard 1/3" in message
    assert "shard 2/3 is missing" in message
    assert list(tmp_path.iterdir()) == []


def test_a_shard_without_manifest_is_not_finished(made, tmp_path, capsys):
    shards = copies(made[1], tmp_path)
    Path(f"{shards[1]}.manifest.json").unlink()
    message = refused(capsys, *shards, "--output", tmp_path / "x.jsonl")
    assert f"error[Y040]: {shards[1]} has no manifest" in message
    assert "is it still being made?" in message


@pytest.mark.parametrize("text", ["{", "[]", '{"command": "paraphrase"}'])
def test_a_manifest_of_something_else_is_refused(made, tmp_path, capsys, text):
    shards = copies(made[1], tmp_path)
    Path(f"{shards[0]}.manifest.json").write_text(text)
    assert "error[Y040]" in refused(capsys, *shards, "--output", tmp_path / "x.jsonl")


@pytest.mark.parametrize("part", ["shard", "format", "block", "config", "counts", "raised"])
@pytest.mark.parametrize("value", [None, {"rows": "7"}, [1, 2.0]])
def test_a_manifest_that_was_changed_by_hand_is_refused(made, tmp_path, capsys, part, value):
    shards = copies(made[1], tmp_path)
    path = Path(f"{shards[0]}.manifest.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), part: value}))
    message = refused(capsys, *shards, "--output", tmp_path / "x.jsonl")
    assert f"error[Y040]: {path} is no whole manifest: {part}\n" in message


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ""])
def test_a_file_that_cannot_be_read_to_its_end_is_named(made, tmp_path, capsys, suffix):
    shards = copies(made[1], tmp_path)
    whole = {".gz": gzip, ".xz": lzma, ".bz2": bz2}
    data = shards[1].read_bytes()
    cut = whole[suffix].compress(data)[:-20] if suffix else data[:-2] + b"\xff\n"
    name = Path(f"{shards[1]}{suffix}")
    name.write_bytes(cut)
    Path(f"{shards[1]}.manifest.json").rename(f"{name}.manifest.json")
    message = refused(capsys, shards[0], name, shards[2], "--output", tmp_path / "x.jsonl")
    assert f"error[Y043]: {name} is not as it was made: " in message
    assert "Traceback" not in message


def test_shards_of_different_runs_are_refused_with_the_settings_that_differ(
    project, made, tmp_path, capsys
):
    other = tmp_path / "part.jsonl"
    options = ["--seed", 1, "--shard", "1/2", "--output", other]
    assert project.run("--size", SIZE, *options) == 0
    capsys.readouterr()
    message = refused(capsys, made[1][0], other, "--output", tmp_path / "x.jsonl")
    assert "are of different runs: config seed, number of shards\n" in message
    assert "hint: make all shards with the same skills, grammar, options and version" in message


@pytest.mark.parametrize("place", [0, -5])
def test_a_shard_that_lost_rows_is_noticed_and_nothing_is_written(made, tmp_path, capsys, place):
    shards = copies(made[1], tmp_path)
    lines = shards[2].read_bytes().splitlines(keepends=True)
    del lines[place]
    shards[2].write_bytes(b"".join(lines))
    output = tmp_path / "x.jsonl"
    message = refused(capsys, *shards, "--output", output)
    assert f"error[Y043]: {shards[2]} is not as it was made: it has " in message
    assert "hint: make it again with --shard 2/3 --overwrite" in message
    assert not output.exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"nonsense\n", "is no row of synthesis"),
        (b'{"id":"P7","utterance":"a","program":"b"}\n', "is no row of synthesis"),
        (b'{"id":7,"utterance":"a","program":"b"}\n', "is no row of synthesis"),
        (b'{"id":"S7","utterance":7,"program":"b"}\n', "is no row of synthesis"),
        (b'{"id":"S7","utterance":"\\ud83d","program":"b"}\n', "is no row of synthesis"),
        (b'{"id":"S7","utterance":"a","program":"b"}\n', "the id S7, which is not in its place"),
    ],
)
def test_a_damaged_line_is_named(made, tmp_path, capsys, line, told):
    shards = copies(made[1], tmp_path)
    lines = shards[1].read_bytes().splitlines(keepends=True)
    lines[4] = line
    shards[1].write_bytes(b"".join(lines))
    message = refused(capsys, *shards, "--output", tmp_path / "x.jsonl")
    assert f"error[Y043]: {shards[1]} is not as it was made: line 5 " in message
    assert told in message


def test_an_existing_output_is_replaced_only_with_overwrite(made, tmp_path, capsys):
    whole, shards = made
    output = tmp_path / "merged.jsonl"
    output.write_text("mine")
    assert "error[Y022]" in refused(capsys, *shards, "--output", output)
    assert output.read_text() == "mine"
    assert merge(*shards, "--output", output, "--overwrite") == 0
    assert output.read_bytes() == whole


def test_tsv_shards_cannot_become_what_needs_whole_rows(project, tmp_path, capsys):
    shards = [tmp_path / f"part{index}.tsv" for index in range(2)]
    for index, shard in enumerate(shards):
        assert project.run("--size", 500, "--shard", f"{index}/2", "--output", shard) == 0
    capsys.readouterr()
    message = refused(capsys, *shards, "--output", tmp_path / "x.jsonl")
    assert "error[Y044]: rows of TSV hold too little for jsonl" in message


def test_parquet_shards_are_refused_and_parquet_comes_out_of_json_lines(
    project, made, tmp_path, capsys
):
    parquet = pytest.importorskip("pyarrow.parquet")
    part = tmp_path / "part.parquet"
    assert project.run("--size", 500, "--shard", "0/1", "--output", part) == 0
    capsys.readouterr()
    assert "error[Y044]" in refused(capsys, part, "--output", tmp_path / "x.jsonl")
    assert merge(*made[1], "--output", tmp_path / "merged.parquet") == 0
    ids = parquet.read_table(tmp_path / "merged.parquet")["id"].to_pylist()
    assert ids == [json.loads(line)["id"] for line in made[0].splitlines()]


def test_wrong_usage_exits_with_2(made):
    assert merge("--output", "x.jsonl") == 2
    assert merge(made[1][0]) == 2


@pytest.mark.parametrize("parts", [("nothing://bucket/0.jsonl",), ("http://localhost:1/0.jsonl",)])
def test_urls_that_cannot_be_read_or_written_are_no_tracebacks(tmp_path, capsys, parts):
    assert merge(*parts, "--output", tmp_path / "all.jsonl") == 1
    assert "error[R001]: cannot read" in capsys.readouterr().err
    assert merge(*parts, "--output", "nothing://bucket/all.jsonl") == 1
    assert "error[R004]: nothing writes nothing://" in capsys.readouterr().err
