"""A private run that is killed at any moment goes on, and is paid once."""

import json
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

from genie_dp.private.ledger.book import Ledger  # noqa: E402
from tests.private.generators import generator_rows  # noqa: E402
from tests.private.generators.test_generators_command import SIZES, SKILLS, prepare  # noqa: E402

pytestmark = pytest.mark.slow
START = (sys.executable, "-c", "from genie_dp.cli import main; main()")


def words(folder, *more):
    amount = ("--about", 40, "--batch", 10, "--epochs", "2/10", "--epsilon", 3)
    files = (folder / "private.jsonl", "--public", folder / "public.jsonl")
    command = ("private", "train", "two-stage", *files, *amount, *SKILLS, *SIZES, *more)
    return [*START, *map(str, (*command, "--output", folder / "made"))]


@pytest.mark.parametrize(("stage", "more"), [("program", ()), ("utterance", ("--bands", 2))])
def test_a_killed_run_goes_on_and_costs_once(tmp_path, stage, more):
    prepare(tmp_path)
    process = subprocess.Popen(words(tmp_path, *more))
    try:
        for _ in range(6000):
            if any((tmp_path / ".made.work" / stage).glob("step-*")):
                break
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "made").exists()
    before = Ledger.open(tmp_path / "private.ledger.json").spent()
    assert subprocess.run(words(tmp_path, *more, "--resume"), check=False).returncode == 0
    ledger = Ledger.open(tmp_path / "private.ledger.json")
    assert len(ledger.entries) == 1
    spent = json.loads((tmp_path / "made" / "spent.json").read_text())
    assert spent["epsilon"] == before.epsilon == ledger.spent().epsilon
    assert generator_rows.CANARY.encode() not in (tmp_path / "made" / "tokenizer.json").read_bytes()
