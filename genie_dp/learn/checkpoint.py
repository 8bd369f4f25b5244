"""Checkpoints that appear whole or not at all, and hold all that a run needs to go on."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from genie_dp.errors import GenieError, Problem

TENSORS, FACTS = "state.safetensors", "state.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run: tensors by name, and facts that JSON can hold."""

    tensors: Mapping[str, torch.Tensor]
    facts: Mapping[str, Any]

    def part(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return the tensors whose names begin so, without the beginning."""
        size = len(prefix)
        return {name[size:]: x for name, x in self.tensors.items() if name.startswith(prefix)}


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into `folder/step-N` and drop older ones; return where it is.

    It is written and synced under another name, then renamed: a process killed at any moment
    leaves the one before or this one.
    """
    target = folder / f"step-{checkpoint.facts['step']:08d}"
    if target.exists():
        # The same step of the same run: equal bytes, and never a moment without a checkpoint.
        return target
    part = folder / f".{target.name}.partial"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    save_file({n: x.contiguous() for n, x in checkpoint.tensors.items()}, str(part / TENSORS))
    (part / FACTS).write_text(json.dumps(checkpoint.facts), encoding="utf-8")
    for path in (part / TENSORS, part / FACTS, part):
        _sync(path)
    part.replace(target)
    _sync(folder)
    for old in checkpoints(folder)[:-1]:
        shutil.rmtree(old)
    return target


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints of a folder, oldest first."""
    return sorted(folder.glob("step-*"))


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint of a folder, or None where there is none.

    Raises:
        GenieError: it cannot be read.
    """
    found = checkpoints(folder)
    if not found:
        return None
    try:
        facts = json.loads((found[-1] / FACTS).read_text(encoding="utf-8"))
        return Checkpoint(load_file(str(found[-1] / TENSORS)), facts)
    except (OSError, ValueError, SafetensorError) as problem:
        message = f"expected a checkpoint in {found[-1]}, got: {problem}"
        hint = "delete that folder to start again"
        raise GenieError(Problem("M003", message, hint=hint)) from problem
