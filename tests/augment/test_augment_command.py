"""`genie-dp data augment`: the same bytes for any number of jobs, resuming, mistakes, formats."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.augment import run as stage
from genie_dp.resources import data_folder
from genie_dp.rows import read_rows, to_json
from genie_dp.run.work import work_folder_of
from tests.augment.augment_rows import ROWS, SKILLS
from tests.synthesis.synthesis_project import LAUNCHER, journal_lines, workers_of

ROOT = LAUNCHER.parent


def copies_of_rows(count: int) -> str:
    rows = (replace(ROWS[n % len(ROWS)], id=f"S{n}") for n in range(count))
    return "".join(to_json(row) + "\n" for row in rows)


BLOCK = 64  # as small as the rows of these tests are few


@pytest.fixture(scope="module", autouse=True)
def _small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "BLOCK", BLOCK)
        yield


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    """Return rows for three blocks."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    path.write_text(copies_of_rows(2 * BLOCK + 6))
    return path


def arguments(*words: object) -> list[str]:
    return ["data", "augment", "--skills", str(SKILLS), *map(str, words)]


def augment(*words: object) -> int:
    return cli.run(arguments(*words))


@pytest.fixture(scope="module")
def whole(pairs, tmp_path_factory) -> Path:
    """Return the output of a run in one process."""
    output = tmp_path_factory.mktemp("whole") / "rows.jsonl"
    assert augment(pairs, "--output", output) == 0
    return output


def manifest_of(output) -> dict:
    return json.loads(Path(f"{output}.manifest.json").read_text())


def test_every_row_knows_its_parent_and_the_manifest_what_was_made_of_what(whole, pairs):
    rows = list(read_rows(str(whole)))
    assert len({row.id for row in rows}) == len(rows) > 400
    assert {row.source for row in rows} == {"augmented"}
    assert len({row.parent for row in rows}) == 2 * BLOCK + 6
    manifest = manifest_of(whole)
    assert manifest["command"] == "augment"
    read, made = {"synthetic": 2 * BLOCK + 6}, {"synthetic": len(rows)}
    assert manifest["counts"] == {"rows": len(rows), "read": read, "made": made, "skipped": 0}
    assert manifest["inputs"][0]["file"] == str(pairs)
    assert manifest["config"]["primitive"] == 4
    assert manifest["without_values"] == []


@pytest.mark.slow
def test_neither_jobs_nor_files_change_what_is_made_of_a_row(whole, pairs, tmp_path):
    output = tmp_path / "rows.jsonl"
    assert augment(pairs, "--jobs", 3, "--output", output) == 0
    assert output.read_bytes() == whole.read_bytes()
    assert manifest_of(output) == manifest_of(whole)
    lines = pairs.read_text().splitlines(keepends=True)
    inputs = tmp_path / "late.jsonl", tmp_path / "early.jsonl"
    for path, part in zip(inputs, (lines[90:], lines[:90]), strict=True):
        path.write_text("".join(part))
    assert augment(*inputs, "--output", output, "--overwrite") == 0
    assert sorted(output.read_text().splitlines()) == sorted(whole.read_text().splitlines())


# Waits for ever once its first block is in the journal.
STUCK = f"""
import signal
from genie_dp.augment import run
from genie_dp.augment.run import AugmentedRows
from genie_dp.cli import main

run.BLOCK = {BLOCK}
whole = AugmentedRows.add

def add(self, block):
    whole(self, block)
    signal.pause()

AugmentedRows.add = add
main()
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(whole, pairs, tmp_path):
    output = tmp_path / "rows.jsonl"
    work = work_folder_of(output)
    options = arguments(pairs, "--jobs", 2, "--output", output)
    with subprocess.Popen([sys.executable, "-c", STUCK, *options], cwd=ROOT) as process:
        while not journal_lines(work) and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert journal_lines(work) == 1
    assert not output.exists()
    with (work / "rows").open("ab") as rows:
        rows.write(b'{"id": "half a row')
    assert augment(pairs, "--output", output) == 1  # neither --resume nor --overwrite
    assert augment(pairs, "--resume", "--seed", 1, "--output", output) == 1
    assert augment(pairs, "--resume", "--output", output) == 0
    assert output.read_bytes() == whole.read_bytes()
    assert not work.exists()
    deadline = time.monotonic() + 20
    while workers_of([str(output)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert augment(pairs, "--resume", "--output", output) == 1  # nothing lies there any more


@pytest.mark.slow
def test_a_killed_worker_ends_the_run_and_keeps_the_rows(pairs, tmp_path, monkeypatch, capsys):
    def deadly(engine, expander, number, rows, *, format):
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(engine, expander, number, rows, format=format)

    real = stage.make_block
    monkeypatch.setattr(stage, "make_block", deadly)
    output = tmp_path / "rows.jsonl"
    assert augment(pairs, "--jobs", 2, "--output", output) == 1
    assert "Y012" in capsys.readouterr().err
    assert journal_lines(work_folder_of(output)) == 1
    assert not output.exists()


# ----------------------------------------------------------------------------- formats


# ---------------------------------------------------------------------------- mistakes


def test_lists_of_skills_are_joined_with_shipped_ones_unless_told(capsys):
    skill, sizes = data_folder("thingpedia") / "com.spotify", []
    for options in ((), ("--no-widen",)):
        assert cli.run(["data", "augment", "--skills", str(skill), "--list-values", *options]) == 0
        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
        sizes.append({row[0]: int(row[-1]) for row in rows if row[-1] != "-"})
    assert sizes[0].keys() == sizes[1].keys()
    assert any(sizes[0][name] > sizes[1][name] for name in sizes[0])
    assert all(sizes[0][name] >= sizes[1][name] for name in sizes[0])


@pytest.mark.slow
def test_a_template_that_says_little_gets_more_rows_of_each_pair(tmp_path):
    rows = [replace(ROWS[0], id=f"S{n}", derivation=("often",)) for n in range(30)]
    rows += [replace(ROWS[1], id="rare", derivation=("rare", "often")),
             replace(ROWS[2], id="bare", derivation=())]  # fmt: skip
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(to_json(row) + "\n" for row in rows))
    made = {}
    for least in (None, 0, 20, 1000):
        output = tmp_path / f"{least}.jsonl"
        asked = () if least is None else ("--min-rows-per-template", least)
        assert augment(path, "--primitive", 4, *asked, "--output", output) == 0
        made[least] = Counter(row.parent for row in read_rows(str(output)))
    assert (made[None]["rare"], made[None]["S0"], made[None]["bare"]) == (30, 4, 4)
    assert made[0]["rare"] == made[0]["bare"] == 4
    assert (made[20]["rare"], made[20]["S0"], made[20]["bare"]) == (20, 4, 4)
    assert (made[1000]["rare"], made[1000]["bare"]) == (30, 4)
    assert made[1000]["S0"] == 30
    again = tmp_path / "again.jsonl"
    words = (path, "--primitive", 4, "--min-rows-per-template", 20, "--jobs", 2, "--output", again)
    assert augment(*words) == 0
    assert again.read_bytes() == (tmp_path / "20.jsonl").read_bytes()


# --------------------------------------------------------------------- lists of the user's
