"""What is paid once is released once, by each of the four that do so, wherever they are killed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.once import PaidRun, check_run_name, name_run

ROOT = Path(__file__).parents[3]
# user -> its payments, and the code of the error where a released file is missing
USERS = {"prior": (1, "F009"), "table": (1, "T510"), "votes": (2, "U020"), "model": (1, "Q031")}


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
def test_every_step_of_a_paid_run_may_be_the_last(user, tmp_path):
    if user == "model":
        pytest.importorskip("opacus")
    command = [sys.executable, "-m", "tests.private.ledger.once_users", user, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    deaths = [json.loads(line) for line in done.stdout.splitlines()]
    payments, lost = USERS[user]
    assert len(deaths) > 20
    assert [death["killed"] for death in deaths] == [True] * (len(deaths) - 1) + [False]
    # Killed early it had not paid, killed late it had, although nobody was told.
    paid = [death["paid"] for death in deaths]
    assert (paid[0], paid[-1]) == (0, payments)
    assert paid == sorted(paid)
    for death in deaths:
        assert death["seen is kept"], death
        assert death["same"], death
        assert (death["spends"], death["ends"], death["files"]) == (payments, payments, payments)
        assert death["without them"] in (lost, None)
    assert len([death for death in deaths if death["without them"] == lost]) >= 4


LOST = Problem("X001", "it is missing")


def test_a_folder_keeps_its_name_and_facts(tmp_path):
    run = PaidRun.enter(tmp_path / "a", "prior-1", made_of="b")
    again = PaidRun.enter(tmp_path / "a", "prior-2", made_of="c")
    assert again == run
    assert again.facts == {"run": "prior-1", "made_of": "b", "released": 0}
    assert len(PaidRun.enter(tmp_path / "b").name) == 32


def test_a_release_is_made_once_and_its_ledger_hears_of_it_each_time(tmp_path):
    run, made, closed = PaidRun.enter(tmp_path), [], []

    def make():
        made.append(1)
        return "noisy"

    for _ in range(2):
        assert run.release("out", make, closed.append, lost=LOST) == "noisy"
    assert (made, closed) == ([1], ["noisy", "noisy"])
    (tmp_path / "out").unlink()
    with pytest.raises(GenieError, match="X001"):
        run.release("out", make, closed.append, lost=LOST)


def test_a_text_that_the_ledger_refuses_is_removed(tmp_path):
    def refuse(text):
        raise GenieError(Problem("B032", "another one"))

    run = PaidRun.enter(tmp_path)
    with pytest.raises(GenieError, match="B032"):
        run.release("out", lambda: "noisy", refuse, lost=LOST)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".run.lock", "run.json"]


def test_parts_are_numbered_apart(tmp_path):
    run = PaidRun.enter(tmp_path)
    run.note_released(3)
    run.release("codes", lambda: "[]", lambda _: None, lost=LOST, part="codes")
    run.note_released(2)
    assert run.facts == {"run": run.name, "released": 3, "codes": 1}
    with pytest.raises(GenieError, match="X001"):
        run.check_kept(2, LOST)


def test_a_run_whose_folders_are_new_has_another_name(tmp_path):
    folders = [tmp_path / "programs", tmp_path / "utterances"]
    name = name_run(*folders)
    check_run_name(name, *folders)
    (folders[1] / "run.json").unlink()
    with pytest.raises(GenieError, match="B029"):
        check_run_name(name, *folders)
