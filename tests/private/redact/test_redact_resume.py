"""A redaction that was killed goes on where it was, and gives the same bytes."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.private.redact import run as redact_run
from genie_dp.private.redact.provenance import manifest_beside
from genie_dp.private.redact.work import RedactionWork
from genie_dp.run.work import work_folder_of
from tests.synthesis.synthesis_project import LAUNCHER, journal_lines

ROOT = LAUNCHER.parent
BATCHES = 6
FILES = ("out.jsonl", "report.json", "review.html")
WRITTEN = (*FILES, "out.jsonl.manifest.json")


@pytest.fixture(scope="module", autouse=True)
def small_batches():
    """Make batches of eight rows, so that few rows are many batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact_run, "_AT_ONCE", 8)
        yield


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    """Return rows for six batches: secrets, duplicates, and rows with nothing in them."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    said = ("mail kim{0}@example.org", "turn on the lights", "is it warm in {0} rooms\u2028or not")
    texts = [said[n % 3].format(n) for n in range(8 * BATCHES - 3)]
    path.write_text("".join(json.dumps({"utterance": text, "user": "1"}) + "\n" for text in texts))
    return path


def arguments(rows: Path, folder: Path, *more: object) -> list[str]:
    out, report, review = (folder / name for name in FILES)
    words = (rows, "-o", out, "--report", report, "--review", review, "--review-rows", 3)
    return ["private", "redact", *map(str, (*words, "--conservative", 0.3, *more))]


def redact(rows: Path, folder: Path, *more: object) -> int:
    return run(arguments(rows, folder, *more))


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in WRITTEN]


@pytest.fixture(scope="module")
def whole(rows, tmp_path_factory) -> Path:
    """Return the folder of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    assert redact(rows, folder) == 0
    assert not work_folder_of(folder / FILES[0]).exists()
    return folder


class Stopped(BaseException):
    """Stands for what no code can answer."""


def stop(*_: object) -> None:
    raise Stopped


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def stopped_after(rows: Path, folder: Path, batches: int, *more: object) -> None:
    """Start or go on with a run that stops in the batch after `batches` more ones."""
    add, left = RedactionWork.add, batches

    def counted(self: RedactionWork, made: object, drawn: object) -> None:
        nonlocal left
        if not left:
            raise Stopped
        left -= 1
        add(self, made, drawn)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RedactionWork, "add", counted)
        with pytest.raises(Stopped):
            redact(rows, folder, *more)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=3), st.booleans(), st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_wherever_it_was_stopped_it_gives_the_same_bytes(
    rows, whole, tmp_path_factory, stops, has_more, data
):
    folder = tmp_path_factory.mktemp("stopped")
    work = work_folder_of(folder / FILES[0])
    for number, batches in enumerate(stops):
        if sum(stops[: number + 1]) >= BATCHES:
            break
        stopped_after(rows, folder, batches, *(["--resume"] if number else []))
        assert not any((folder / name).exists() for name in WRITTEN)
        if has_more:  # what was written behind the journal's last line
            for name in ("rows", "shown.jsonl", "journal.jsonl"):
                with (work / name).open("ab") as file:
                    file.write(data.draw(st.sampled_from((b"{", b'{"done": 9', b"[1, "))))
    assert redact(rows, folder, "--resume") == 0
    assert contents(folder) == contents(whole)
    assert not work.exists()


# Waits for ever once its second batch is in the journal.
STUCK = """
import signal
from genie_dp.cli import main
from genie_dp.private.redact import run as redact_run
from genie_dp.private.redact.work import RedactionWork

redact_run._AT_ONCE = 8
whole = RedactionWork.add

def add(self, rows, drawn):
    whole(self, rows, drawn)
    if self.done == 16:
        signal.pause()

RedactionWork.add = add
main()
"""


def test_a_killed_run_goes_on_where_it_was(rows, whole, tmp_path, capsys):
    work = work_folder_of(tmp_path / FILES[0])
    options = arguments(rows, tmp_path)
    with subprocess.Popen([sys.executable, "-c", STUCK, *options], cwd=ROOT) as process:
        while journal_lines(work) < 2 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    files = [stat.S_IMODE(path.stat().st_mode) for path in work.iterdir()]
    assert len(files) == 5
    assert set(files) == {0o600}
    assert redact(rows, tmp_path) == 1
    assert "Y021" in capsys.readouterr().err
    assert redact(rows, tmp_path, "--resume") == 0
    assert contents(tmp_path) == contents(whole)


def test_a_run_killed_while_it_delivers_is_finished_by_resuming(rows, whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(redact_run, "write_json", stop)
        with pytest.raises(Stopped):
            redact(rows, tmp_path)
    assert (tmp_path / FILES[0]).exists()
    assert redact(rows, tmp_path, "--resume") == 0
    assert contents(tmp_path) == contents(whole)


def test_an_interrupted_run_says_how_to_go_on_and_looks_for_nothing_again(
    rows, tmp_path, monkeypatch, capsys
):
    with monkeypatch.context() as patch:
        patch.setattr(RedactionWork, "add", interrupt)
        assert redact(rows, tmp_path) == 130
    assert "go on with --resume" in capsys.readouterr().err
    stopped_after(rows, tmp_path, 1, "--resume")
    monkeypatch.setattr(redact_run, "Duplicates", None)
    assert redact(rows, tmp_path, "--resume") == 0


def test_other_settings_are_not_gone_on_with(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("warm\n")
    stopped_after(rows, tmp_path, 1)
    for more, named in (
        (("--threshold", 0.6), "policies threshold"),
        (("--near", 0.8), "duplicates near"),
        (("--without", "phones"), "detectors without"),
        (("--gazetteer", "word=words.txt"), "detectors gazetteer"),
        (("--seed", 1), "review seed"),
        (("--keep", "user"), "keep"),
        (("--unit-field", "user"), "unit"),
    ):
        assert redact(rows, tmp_path, "--resume", *more) == 1
        assert f"other settings: {named}" in capsys.readouterr().err


def test_other_rows_are_not_gone_on_with(rows, whole, tmp_path, capsys):
    mine = tmp_path / "rows.jsonl"
    mine.write_bytes(rows.read_bytes())
    stopped_after(mine, tmp_path, 1)
    mine.write_bytes(rows.read_bytes().replace(b"kim0@", b"kim7@"))
    assert redact(mine, tmp_path, "--resume") == 1
    said = capsys.readouterr().err
    assert "other settings: input" in said
    assert "kim" not in said
    mine.write_bytes(rows.read_bytes())
    assert redact(mine, tmp_path, "--overwrite") == 0
    assert contents(tmp_path) == contents(whole)


def test_the_page_asked_for_later_is_not_made_of_half_the_rows(rows, tmp_path, capsys):
    out = tmp_path / FILES[0]
    words = ["private", "redact", str(rows), "-o", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact_run, "deliver", stop)
        with pytest.raises(Stopped):
            run(words)
    assert run([*words, "--resume", "--review", str(tmp_path / "page.html")]) == 1
    assert "review is_wanted" in capsys.readouterr().err
    assert run([*words, "--resume"]) == 0
    assert sorted(os.listdir(tmp_path)) == sorted([FILES[0], manifest_beside(out).name])


def test_a_run_that_is_done_is_not_gone_on_with(rows, tmp_path, capsys):
    assert redact(rows, tmp_path, "--resume", "--overwrite") == 2
    assert redact(rows, tmp_path) == 0
    assert redact(rows, tmp_path, "--resume") == 1
    assert "E016" in capsys.readouterr().err
