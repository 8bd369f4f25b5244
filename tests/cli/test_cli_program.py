"""`genie-dp grammar program` answers while it is asked; what it says is played in a scenario."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_answers_come_line_by_line():
    """A caller may keep the process open and ask again after each answer."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "grammar", "program", "render", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin
    assert process.stdout
    for _ in range(2):
        process.stdin.write("now => @com.x.q => notify\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["ok"]
    process.stdin.close()
    assert process.wait(timeout=30) == 0
    process.stdout.close()
