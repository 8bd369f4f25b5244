"""What a private run needs to go on, and the name under which it was paid.

A checkpoint holds what was released: noisy weights, the optimizer's averages of noisy gradients,
the number of steps. It holds no random state: with a seed all follows from seed and step, and
without one the next draws come from the operating system; noise that lay in a file could be taken
away again.
"""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.learn.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from genie_dp.private.training.settings import DPSettings

NAME = "run.txt"


def run_of(folder: Path) -> str:
    """Return the name of a folder's run, for the ledger; a new folder gets a new name.

    It is random and lies in the folder, synced, before anything is paid: a run that was killed goes
    on under its name, and whoever deletes the folder and trains again pays again. Under a name that
    could be chosen one could train a hundred times for the price of one and keep the best.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    if not path.exists():
        part = folder / f".{NAME}.{secrets.token_hex(4)}.partial"
        with part.open("w", encoding="utf-8") as out:
            out.write(secrets.token_hex(16))
            out.flush()
            os.fsync(out.fileno())
        try:
            # Of two processes at once, one gives the name.
            os.link(part, path)
        except FileExistsError:
            pass
        finally:
            part.unlink()
    return path.read_text(encoding="utf-8")


def save(
    folder: Path, *, step: int, trained: dict[str, Any], optimizer: Any, settings: DPSettings
) -> None:
    """Write the state after a step; it appears whole or not at all, in place of the one before."""
    tensors = dict(_tensors(trained, optimizer))
    facts = {"step": step, "settings": settings.as_dict()}
    save_checkpoint(folder, Checkpoint(tensors, facts))


def _tensors(trained: dict[str, Any], optimizer: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for name, p in trained.items():
        yield f"model.{name}", p.detach().clone()
    for i, state in optimizer.state_dict()["state"].items():
        yield from ((f"optimizer.{i}.{name}", x) for name, x in state.items())


def restore(folder: Path, *, trained: dict[str, Any], optimizer: Any, settings: DPSettings) -> int:
    """Load the newest state of a folder into model and optimizer; return its step, 0 without one.

    Raises:
        GenieError: it is of other settings or of another model (Q030), or cannot be read (M003).
    """
    found = load_checkpoint(folder)
    if found is None:
        return 0
    _check_same(found, trained, settings, folder)
    with torch.no_grad():
        for name, value in found.part("model.").items():
            trained[name].copy_(value)
    states: dict[int, dict[str, torch.Tensor]] = {}
    for name, x in found.part("optimizer.").items():
        number, _, key = name.partition(".")
        states.setdefault(int(number), {})[key] = x
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": states, "param_groups": groups})
    return int(found.facts["step"])


def _check_same(
    found: Checkpoint, trained: dict[str, Any], settings: DPSettings, folder: Path
) -> None:
    shapes = {name: x.shape for name, x in found.part("model.").items()}
    if shapes != {name: p.shape for name, p in trained.items()}:
        message = f"the checkpoint in {folder} is of another model"
        hint = "make the model as before, or give another folder"
        raise GenieError(Problem("Q030", message, hint=hint))
    before, now = found.facts["settings"], settings.as_dict()
    changed = sorted(name for name in now if before.get(name) != now[name])
    if changed:
        message = (
            f"the checkpoint in {folder} is of a run with other settings: {', '.join(changed)}"
        )
        hint = "give the same settings; in another folder it is another run, which is paid again"
        raise GenieError(Problem("Q030", message, hint=hint))
