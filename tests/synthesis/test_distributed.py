"""A run on a Dask cluster gives the bytes of a local one, whatever happens to its workers."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import genie_dp
from genie_dp.run.work import work_folder_of
from genie_dp.synthesis import distributed
from tests.synthesis.synthesis_project import RAISING, Project, errands, journal_lines, notes

# Blocks enough to kill a worker in between, from an engine that is built in a moment.
BLOCKS = 7
SIZE = ("--size", 22_000, "--max-depth", 3, "--pool-size", 5_000)
SMALL = ("--size", 500, "--max-depth", 2)
pytestmark = pytest.mark.xdist_group("cluster")

# Ends the process that makes rows; the coordinator makes none.
DEADLY = "import os\n\ndef checked(things):\n    os._exit(1)\n"


@pytest.fixture(scope="module")
def processes_of_dask():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as found, Client(found, set_as_default=False) as client:  # fmt: skip
        yield found, client


@pytest.fixture
def cluster(processes_of_dask):
    """Two processes with one thread each; those that a test killed were started again."""
    found, client = processes_of_dask
    client.wait_for_workers(2, timeout=30)
    return found


@pytest.fixture
def client(processes_of_dask):
    return processes_of_dask[1]


@pytest.fixture(scope="module")
def whole(project, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "pairs.jsonl"
    assert project.run(*SIZE, "--output", output) == 0
    return output.read_bytes()


def start(project: Project, cluster, output: Path) -> subprocess.Popen:
    """Return a run on the cluster that has finished a block."""
    address = cluster.scheduler_address
    command = project.command("--scheduler", address, *SIZE, "--output", output)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while journal_lines(work_folder_of(output)) < 1:
        assert process.poll() is None, f"it ended too early: {process.communicate()}"
        time.sleep(0.005)
    return process


@pytest.mark.slow
def test_a_run_goes_on_when_a_worker_is_killed_and_is_resumed_when_it_is_killed_itself(
    project, cluster, client, whole, tmp_path
):
    output, second = tmp_path / "pairs.jsonl", tmp_path / "second.jsonl"
    killed = min(client.run(os.getpid).values())
    with start(project, cluster, output) as process:
        os.kill(killed, signal.SIGKILL)
        assert journal_lines(work_folder_of(output)) < BLOCKS
        said = process.communicate()[1]
    assert process.returncode == 0, said
    assert output.read_bytes() == whole
    assert killed not in client.run(os.getpid).values()
    with start(project, cluster, second) as process:
        process.kill()
    assert not second.exists()
    address = cluster.scheduler_address
    assert project.run(*SIZE, "--output", second, "--resume", "--scheduler", address) == 0
    assert second.read_bytes() == whole


@pytest.mark.slow
def test_skills_values_and_templates_travel_as_texts(cluster, tmp_path, monkeypatch):
    """Inputs are named by relative paths and links, and the workers stand in another folder."""
    notes(tmp_path / "project")
    (tmp_path / "link").symlink_to("project/thingpedia")
    monkeypatch.chdir(tmp_path)
    thingtalk = Project(tmp_path, ("--skills", "link", "--grammar", "project/grammars/en"))
    made = []
    for options in ((), ("--scheduler", cluster.scheduler_address)):
        output = tmp_path / f"{len(made)}.tsv"
        assert thingtalk.run("--size", 2000, "--max-depth", 2, "--output", output, *options) == 0
        made.append(output.read_bytes())
    assert made[0] == made[1]
    assert made[0].count(b"\n") > 100


@pytest.mark.slow
def test_a_python_function_that_raises_is_told_as_in_a_local_run(cluster, tmp_path, capsys):
    raising = errands(tmp_path, RAISING)
    output, said = tmp_path / "a.jsonl", []
    for option in ((), ("--scheduler", cluster.scheduler_address)):
        assert raising.run(*SMALL, "--output", output, *option) == 1
        told = capsys.readouterr().err
        assert raising.run(*SMALL, "--on-error", "skip", "--output", "-", *option) == 0
        said.append((told, capsys.readouterr().out))
        shutil.rmtree(work_folder_of(output))
    assert said[0] == said[1]
    assert f"{tmp_path}/main.genie:12:" in told
    assert "ArithmeticError: seven is too many" in told


@pytest.mark.slow
def test_a_block_that_ends_its_workers_ends_the_run(cluster, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    said = failure(errands(tmp_path, DEADLY), cluster.scheduler_address, tmp_path, capsys)
    assert "error[Y053]: block 0 ended every worker that made it" in said
    assert "--resume" in said


@pytest.mark.slow
def test_a_worker_of_another_version_or_engine_is_named(cluster, client, project, tmp_path, capsys):
    """An engine differs where, say, another release of the library inflects English."""
    address = cluster.scheduler_address
    client.run(_set_version, "0.0.9")
    try:
        said = failure(project, address, tmp_path, capsys)
    finally:
        client.run(_set_version, genie_dp.__version__)
    assert said.count("error[Y052]: the worker tcp://") == 2
    assert f"has genie_dp 0.0.9, the coordinator {genie_dp.__version__}" in said
    assert f"hint: install genie_dp {genie_dp.__version__} there" in said
    client.run(_replace_piece_of)
    try:
        said = failure(project, address, tmp_path, capsys)
    finally:
        client.run(_restore_piece_of)
    assert "error[Y055]: the worker" in said
    assert "builds another engine from the same inputs" in said


def _set_version(version):
    from genie_dp.synthesis import distributed

    distributed.__version__ = genie_dp.__version__ = version


def _replace_piece_of():
    from genie_dp.synthesis import engine

    def piece_of(rule, pieces, combined):
        combined.text = combined.text.replace("thing 7", "thing seven")
        return engine.original_piece_of(rule, pieces, combined)

    engine.original_piece_of, engine.piece_of = engine.piece_of, piece_of


def _restore_piece_of():
    from genie_dp.synthesis import engine

    engine.piece_of = engine.original_piece_of


@pytest.mark.slow
def test_a_scheduler_that_goes_away_ends_the_run_and_it_is_resumed_without(
    project, whole, tmp_path
):
    output = tmp_path / "pairs.jsonl"
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        [worker] = client.run(os.getpid).values()
        process = start(project, cluster, output)
        # Else it might be done before the scheduler has closed.
        os.kill(worker, signal.SIGKILL)
    said = process.communicate()[1]
    assert process.returncode == 1
    assert "error[Y054]: the Dask scheduler went away" in said
    assert "--resume" in said
    assert project.run(*SIZE, "--output", output, "--resume") == 0
    assert output.read_bytes() == whole


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("tcp://localhost", "missing port"),
        ("tpc://localhost:8786", "unknown address scheme 'tpc'"),
        ("localhost:port", "invalid literal"),
    ],
)
def test_an_address_that_is_none_is_an_error(project, tmp_path, capsys, address, told):
    assert told in failure(project, address, tmp_path, capsys)


@pytest.mark.slow
def test_what_answers_at_the_address_must_be_a_scheduler(project, cluster, tmp_path, capsys):
    worker = next(iter(cluster.scheduler_info["workers"]))
    told = f"no Dask scheduler answers at '{worker}': a Worker is there"
    assert told in failure(project, worker, tmp_path, capsys)


def test_a_scheduler_that_does_not_answer_is_an_error_soon(project, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(distributed, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        said = failure(project, f"127.0.0.1:{port}", tmp_path, capsys)
        assert "no answer in 0.5 seconds" in said
    assert "no answer in 0.5 seconds" in failure(project, f"127.0.0.1:{port}", tmp_path, capsys)
    assert "hint: start one with `dask scheduler`" in said


def failure(project: Project, address: str, folder: Path, capsys) -> str:
    output = folder / "pairs.jsonl"
    assert project.run(*SMALL, "--output", output, "--scheduler", address) == 1
    return capsys.readouterr().err


def test_without_dask_the_extra_is_named_and_processes_here_exclude_a_cluster(
    project, tmp_path, capsys, monkeypatch
):
    assert project.run("--jobs", 2, "--scheduler", "localhost:8786") == 2
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = failure(project, "localhost:8786", tmp_path, capsys)
    assert "error[Y050]: a cluster needs Dask" in said
    assert "pip install 'genie_dp[distributed]'" in said
