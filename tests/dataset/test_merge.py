"""Shards, merged, are the file that one run makes; anything else is refused."""

import bz2
import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest

from genie_dp.rows import from_json
from genie_dp.synthesis import plan
from tests.synthesis.synthesis_project import Project, errands, merge

SIZE = 2_000  # four blocks for three shards; repeats and ambiguous sentences cross them
COUNT = 3


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Iterator[Project]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "SMALL_BLOCK", 750)
        yield errands(tmp_path_factory.mktemp("errands"))


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


def manifest_of(path: Path) -> dict:
    return json.loads(Path(f"{path}.manifest.json").read_text())


def copies(shards: list[Path], folder: Path) -> list[Path]:
    """Return copies that a test may damage."""
    for shard in shards:
        for path in (shard, Path(f"{shard}.manifest.json")):
            (folder / path.name).write_bytes(path.read_bytes())
    return [folder / shard.name for shard in shards]


def test_merged_shards_are_the_bytes_of_one_run_in_any_order(made, tmp_path):
    whole, shards = made
    for order in ((0, 1, 2), (2, 0, 1)):
        merged = tmp_path / f"merged{order[0]}.jsonl"
        assert merge(*[shards[i] for i in order], "--output", merged) == 0
        assert merged.read_bytes() == whole
    rows = [from_json(line) for line in merged.read_text().splitlines()]
    assert len({row.utterance for row in rows}) == len(rows)
    numbers = [int(row.id.removeprefix("S")) for row in rows]
    assert numbers == sorted(set(numbers))
    # The manifest is that of one run with the number of shards; shards repeat each other.
    manifest, one = manifest_of(merged), manifest_of(shards[0].parent / "whole.jsonl")
    assert manifest.pop("merged") == COUNT
    counts, expected = manifest.pop("counts"), one.pop("counts")
    assert manifest == one
    assert counts["rows"] == expected["rows"] == len(rows)
    assert counts["ambiguous"] > sum(manifest_of(s)["counts"]["ambiguous"] for s in shards) + 5


def test_other_formats_merge_to_the_same_bytes_too(project, tmp_path):
    whole, shards = make(project, tmp_path, ".tsv.gz")
    merged = tmp_path / "merged.tsv.gz"
    assert merge(*shards, "--output", merged) == 0
    assert merged.read_bytes() == whole


def test_a_run_without_size_is_merged_to_its_end(project, tmp_path):
    options = ["--target-size", 300, "--max-depth", 3]
    whole = tmp_path / "whole.jsonl"
    assert project.run(*options, "--output", whole) == 0
    shards = [tmp_path / f"part{index}.jsonl" for index in range(2)]
    for index, shard in enumerate(shards):
        assert project.run(*options, "--shard", f"{index}/2", "--output", shard) == 0
    merged = tmp_path / "merged.jsonl"
    assert merge(*shards, "--output", merged) == 0
    assert merged.read_bytes() == whole.read_bytes()


def test_the_output_may_have_another_format_or_compression_or_be_stdout(
    made, tmp_path, capfdbinary
):
    whole, shards = made
    assert merge(*shards, "--output", tmp_path / "merged.jsonl.gz") == 0
    assert gzip.decompress((tmp_path / "merged.jsonl.gz").read_bytes()) == whole
    assert merge(*shards, "--output", tmp_path / "merged.tsv") == 0
    first = from_json(whole.splitlines()[0].decode())
    line = (tmp_path / "merged.tsv").read_text().splitlines()[0]
    assert line == f"{first.id}\t{first.utterance}\t{first.program}"
    capfdbinary.readouterr()
    assert merge(*shards, "--output", "-") == 0
    captured = capfdbinary.readouterr()
    assert captured.out == whole
    assert f"{len(whole.splitlines()):,} pairs of 3 shards -> stdout".encode() in captured.err


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


def test_manifests_that_are_missing_or_of_something_else_are_refused(made, tmp_path, capsys):
    shards = copies(made[1], tmp_path)
    path = Path(f"{shards[1]}.manifest.json")
    whole = json.loads(path.read_text())
    path.unlink()
    message = refused(capsys, *shards, "--output", tmp_path / "x.jsonl")
    assert f"error[Y040]: {shards[1]} has no manifest" in message
    assert "is it still being made?" in message
    for text in ("{", "[]", '{"command": "paraphrase"}'):
        path.write_text(text)
        assert "error[Y040]" in refused(capsys, *shards, "--output", tmp_path / "x.jsonl")
    for part in ("shard", "format", "block", "config", "counts", "raised"):
        for value in (None, {"rows": "7"}, [1, 2.0]):
            path.write_text(json.dumps({**whole, part: value}))
            message = refused(capsys, *shards, "--output", tmp_path / "x.jsonl")
            assert f"error[Y040]: {path} is no whole manifest: {part}\n" in message


PACK = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("suffix", [*PACK, ""])
def test_a_file_that_cannot_be_read_to_its_end_is_named(made, tmp_path, capsys, suffix):
    shards = copies(made[1], tmp_path)
    data = shards[1].read_bytes()
    name = Path(f"{shards[1]}{suffix}")
    name.write_bytes(PACK[suffix](data)[:-20] if suffix else data[:-2] + b"\xff\n")
    Path(f"{shards[1]}.manifest.json").rename(f"{name}.manifest.json")
    message = refused(capsys, shards[0], name, shards[2], "--output", tmp_path / "x.jsonl")
    assert f"error[Y043]: {name} is not as it was made: " in message
    assert "Traceback" not in message


def test_shards_of_different_runs_are_refused_with_the_settings_that_differ(
    project, made, tmp_path, capsys
):
    other = tmp_path / "part.jsonl"
    options = ["--seed", 1, "--shard", "1/2", "--output", other]
    assert project.run("--size", 500, *options) == 0
    capsys.readouterr()
    message = refused(capsys, made[1][0], other, "--output", tmp_path / "x.jsonl")
    assert "are of different runs: config seed, config size, number of shards\n" in message
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


def test_a_damaged_line_is_named(made, tmp_path, capsys):
    no_row, no_place = "is no row of synthesis", "the id S7, which is not in its place"
    shards = copies(made[1], tmp_path)
    lines = shards[1].read_bytes().splitlines(keepends=True)
    for line, told in (
        ("nonsense", no_row),
        ('{"id":"P7","utterance":"a","program":"b"}', no_row),
        ('{"id":7,"utterance":"a","program":"b"}', no_row),
        ('{"id":"S7","utterance":7,"program":"b"}', no_row),
        ('{"id":"S7","utterance":"\\ud83d","program":"b"}', no_row),
        ('{"id":"S7","utterance":"a","program":"b"}', no_place),
    ):
        lines[4] = line.encode() + b"\n"
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


def test_shards_that_hold_too_little_for_the_output_are_refused(project, made, tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("part.tsv", "part.parquet"):
        part = tmp_path / name
        assert project.run("--size", 100, "--shard", "0/1", "--output", part) == 0
        capsys.readouterr()
        message = refused(capsys, part, "--output", tmp_path / "x.jsonl")
        assert "error[Y044]" in message
        assert "rows of TSV hold too little for jsonl" in message or name != "part.tsv"
    assert merge(*made[1], "--output", tmp_path / "merged.parquet") == 0
    ids = parquet.read_table(tmp_path / "merged.parquet")["id"].to_pylist()
    assert ids == [json.loads(line)["id"] for line in made[0].splitlines()]


def test_wrong_usage_exits_with_2_and_urls_that_nothing_reads_with_1(made, tmp_path, capsys):
    assert merge("--output", "x.jsonl") == 2
    assert merge(made[1][0]) == 2
    for part in ("nothing://bucket/0.jsonl", "http://localhost:1/0.jsonl"):
        assert merge(part, "--output", tmp_path / "all.jsonl") == 1
        assert "error[R001]: cannot read" in capsys.readouterr().err
        assert merge(part, "--output", "nothing://bucket/all.jsonl") == 1
        assert "error[R004]: nothing writes nothing://" in capsys.readouterr().err
