"""What `genie-dp synthesize` promises of a run that was stopped: it goes on to the same bytes."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from genie_dp.run.work import work_folder_of
from genie_dp.synthesis import run as synthesis_job
from tests.synthesis.synthesis_project import Project, errands, journal_lines, workers_of

SIZE = 16_000  # five blocks: enough to be killed in between
pytestmark = pytest.mark.xdist_group("errands")


@pytest.fixture(scope="module")
def whole(project, tmp_path_factory):
    """Return the bytes of a run that nobody disturbs, and what its manifest counts."""
    output = tmp_path_factory.mktemp("whole") / "pairs.jsonl"
    assert project.run("--size", SIZE, "--output", output) == 0
    return made(output)


def made(output: Path) -> tuple[bytes, object]:
    return output.read_bytes(), json.loads(Path(f"{output}.manifest.json").read_text())["counts"]


def start(project: Project, output: Path, jobs: int) -> subprocess.Popen:
    """Start a run in a process group of its own; it heeds Ctrl-C also where the tests do not."""

    def heed() -> None:  # a shell's background jobs ignore it, and so do their children
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = project.command("--size", SIZE, "--jobs", jobs, "--output", output)
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=heed
    )


def wait_for_blocks(process: subprocess.Popen, output: Path, blocks: int) -> None:
    end = time.monotonic() + 60
    while journal_lines(work_folder_of(output)) < blocks:
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < end
        time.sleep(0.001)


def wait_until_gone(output: Path) -> None:
    end = time.monotonic() + 20
    while alive := workers_of([str(output)]):
        assert time.monotonic() < end, f"processes {alive} outlived the run"
        time.sleep(0.01)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bytes(project, whole, tmp_path, capsys):
    moment = random.Random(2)
    output = tmp_path / "pairs.jsonl"
    process = start(project, output, 2)
    wait_for_blocks(process, output, moment.randint(1, 3))
    time.sleep(moment.uniform(0, 0.05))
    process.kill()
    assert process.wait() == -signal.SIGKILL
    wait_until_gone(output)
    assert not output.exists()
    resumed = ("--size", SIZE, "--jobs", 1, "--output", output, "--resume")
    work = work_folder_of(output)
    written = (work / "rows").read_bytes()
    (work / "rows").write_bytes(b"")
    assert project.run(*resumed) == 1
    assert "error[Y026]" in capsys.readouterr().err
    (work / "rows").write_bytes(written)
    for file in ("rows", "hashes", "ambiguous", "journal.jsonl"):  # behind its last whole line
        with (work / file).open("ab") as torn:
            torn.write(b'{"position": 1, "half a li')
    assert project.run(*resumed) == 0
    assert made(output) == whole
    assert not work.exists()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_run_says_how_to_go_on_and_resumes_to_the_same_bytes(
    project, whole, tmp_path, jobs
):
    output = tmp_path / "pairs.jsonl"
    process = start(project, output, jobs)
    wait_for_blocks(process, output, 1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    message = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130
    assert "go on with --resume" in message
    assert "Traceback" not in message
    wait_until_gone(output)
    assert project.run("--size", SIZE, "--output", output, "--resume") == 0
    assert made(output) == whole


def test_a_run_killed_between_its_file_and_its_manifest_resumes(project, tmp_path, monkeypatch):
    output = tmp_path / "pairs.jsonl"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(synthesis_job, "write_json", killed)
        assert project.run("--size", 500, "--output", output) == 130
    rows = output.read_bytes()
    assert project.run("--size", 500, "--output", output, "--resume") == 0
    assert output.read_bytes() == rows
    assert json.loads(Path(f"{output}.manifest.json").read_text())["counts"]["rows"] == 500


@pytest.mark.slow
def test_a_killed_worker_is_named_and_the_run_resumes(project, whole, tmp_path):
    output = tmp_path / "pairs.jsonl"
    process = start(project, output, 2)
    wait_for_blocks(process, output, 1)
    worker = next(pid for pid in workers_of([str(output)]) if pid != process.pid)
    os.kill(worker, signal.SIGKILL)
    message = process.communicate(timeout=60)[1].decode()
    if process.returncode != 0:  # it may have been done already
        assert process.returncode == 1
        assert "error[Y012]: a worker process was killed" in message
        assert project.run("--size", SIZE, "--output", output, "--resume") == 0
    wait_until_gone(output)
    assert made(output) == whole


def test_an_unfinished_run_is_gone_on_with_only_where_it_is_asked_for_and_nothing_changed(
    raising, tmp_path, capsys
):
    output = tmp_path / "pairs.jsonl"
    assert raising.run("--size", 500, "--output", output) == 1  # an error stopped it
    assert raising.run("--size", 500, "--output", output) == 1
    message = capsys.readouterr().err
    assert "error[Y021]: an unfinished run lies in" in message
    assert "hint: go on with --resume, or start again with --overwrite" in message
    mended = errands(tmp_path / "mended")
    for project, options, named in (
        (raising, ["--size", 600], "config size"),
        (raising, ["--size", 500, "--seed", 1], "config seed"),
        (raising, ["--size", 500, "--shard", "0/2"], "shard"),
        (raising, ["--size", 500, "--format", "tsv"], "rows"),
        (mended, ["--size", 500], "inputs"),
    ):
        assert project.run(*options, "--output", output, "--resume") == 1
        message = capsys.readouterr().err
        assert f"has other settings: {named}\n" in message
        assert "hint: give the same settings and inputs, or start again with" in message
    assert mended.run("--size", 500, "--output", output, "--overwrite") == 0
