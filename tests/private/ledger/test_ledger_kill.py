"""Processes that spend at the same time, and are killed: the ledger forgets no spend."""

import json
import signal
import subprocess
import sys

from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Laplace

# Spends until it is killed or refused; says each run's name when its spend is recorded, not before.
SPENDER = """
import sys
from pathlib import Path
from genie_dp.errors import GenieError
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.mechanisms import Laplace

path, name, most = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
ledger = Ledger.open(path)
print("ready", flush=True)
for n in range(most):
    try:
        ledger.spend([Laplace(100.0)], purpose="counts", run=f"{name}-{n}")
    except GenieError as error:
        print(f"refused {error.problems[0].code}", flush=True)
        break
    print(f"{name}-{n}", flush=True)
"""


def spender(path, name, most):
    return subprocess.Popen(
        [sys.executable, "-c", SPENDER, str(path), name, str(most)],
        stdout=subprocess.PIPE,
        text=True,
    )


def runs(path):
    return [entry.run for entry in Ledger.open(path).entries]


def test_two_processes_never_spend_the_same_budget(tmp_path):
    path = tmp_path / "rows.json"
    # Without delta the costs of Laplace noise add up, so exactly 30 of the 80 fit.
    Ledger.create(path, Budget(0.3, 0.0, "utterance"))
    processes = [spender(path, name, 40) for name in ("a", "b")]
    told = [
        line for process in processes for line in process.communicate(timeout=60)[0].split("\n")
    ]
    recorded = runs(path)
    assert len(recorded) == 30
    assert sorted(line for line in told if "-" in line) == sorted(recorded)
    assert told.count("refused B023") == 2
    assert Ledger.open(path).spent().epsilon <= 0.3 * (1 + 1e-9)


# Kills a child of its own at its n-th call of what writes, for every n; says what was recorded.
DYING = """
import json, os, signal, sys
from pathlib import Path
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Laplace

folder, again = Path(sys.argv[1]), sys.argv[2] == "again"
budget = Budget(1e6, 0.0, "utterance")

def die_at(at):
    calls = 0
    def dying(real):
        def call(*args, **options):
            nonlocal calls
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)
        return call
    for owner, name in ((os, "fsync"), (os, "open"), (os, "close"), (Path, "open"),
                        (Path, "replace")):
        setattr(owner, name, dying(getattr(owner, name)))

for at in range(1, 60):
    path = folder / ("rows.json" if again else f"rows-{at}.json")
    if not path.exists():
        Ledger.create(path, budget)
    child = os.fork()
    if not child:
        ledger = Ledger.open(path)
        die_at(at)
        ledger.spend([Laplace(100.0)], purpose="counts", run=f"run-{at}")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    runs = [entry.run for entry in Ledger.open(path).entries]
    print(json.dumps({"at": at, "status": os.waitstatus_to_exitcode(status), "runs": runs}))
    if status == 0:
        break
"""


def deaths(folder, how):
    command = [sys.executable, "-c", DYING, str(folder), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 12
    assert {row["status"] for row in found[:-1]} == {-signal.SIGKILL}
    assert found[-1]["status"] == 0
    return found


def test_every_step_of_a_spend_may_be_the_last(tmp_path):
    recorded = [bool(row["runs"]) for row in deaths(tmp_path, "fresh")]
    # Killed early it is not recorded, killed late it is, although nobody was told.
    assert recorded == sorted(recorded)
    assert set(recorded[:-1]) == {False, True}
    for at in range(1, len(recorded) + 1):
        ledger = Ledger.open(tmp_path / f"rows-{at}.json")
        ledger.spend([Laplace(100.0)], purpose="counts", run=f"run-{at}")
        assert len(runs(ledger.path)) == 1
    assert not list(tmp_path.glob(".*.partial"))


def test_a_ledger_survives_one_kill_after_the_other(tmp_path):
    before = []
    for row in deaths(tmp_path, "again"):
        assert row["runs"][: len(before)] == before
        assert row["runs"][len(before) :] in ([], [f"run-{row['at']}"])
        before = row["runs"]
    assert len(before) > 3
