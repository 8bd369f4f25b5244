"""The plan of a run in its folder: a resumed run does what was paid for, and nothing else."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from genie_dp.private.generators.fit import Plan

NAME = "plan.json"


def save_plan(plan: Plan, folder: Path) -> None:
    """Write a plan, synced, before it is paid."""
    part = folder / f".{NAME}.partial"
    with part.open("w", encoding="utf-8") as out:
        json.dump({**asdict(plan), "steps": dict(plan.steps)}, out)
        out.flush()
        os.fsync(out.fileno())
    part.replace(folder / NAME)


def load_plan(folder: Path) -> Plan | None:
    """Return the plan of a folder, None where there is none yet."""
    if not (folder / NAME).exists():
        return None
    return Plan(**json.loads((folder / NAME).read_text(encoding="utf-8")))
