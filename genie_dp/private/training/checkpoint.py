"""What a private run needs to go on, and the name under which it was paid.

A checkpoint holds what was released: noisy weights, the optimizer's averages of noisy gradients,
the number of steps. It holds no random state: with a seed all follows from seed and step, and
without one the next draws come from the operating system; noise that lay in a file could be taken
away again.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.learn.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from genie_dp.private.ledger.files import locked, removed, replace_durably
from genie_dp.private.training.settings import DPSettings

RECORD = "run.json"


def run_of(*folders: Path) -> str:
    """Return the name, for the ledger, of the run that trains in these folders; each gets one.

    It is random and lies in the folder, synced, before anything is paid: a run that was killed goes
    on under its name, and whoever deletes a folder and trains again pays again. Under a name that
    could be chosen one could train a hundred times for the price of one and keep the best.

    Args:
        folders: one for each model that the run trains.
    """
    names = [_record(folder)["run"] for folder in folders]
    joined = hashlib.sha256("".join(names).encode()).hexdigest()[:32]
    return names[0] if len(names) == 1 else joined


def check_name(name: str, *folders: Path) -> None:
    """Refuse to go on under the name of a run whose folders are gone, or new ones.

    Another process that went on with the same run has finished it, and cleared them: what is paid
    once would be trained again.

    Args:
        name: what `run_of` gave.
        folders: those it was given.

    Raises:
        GenieError: they have another name now (B029).
    """
    if run_of(*folders) != name:
        raise removed(folders[0] / RECORD)


def _record(folder: Path) -> dict[str, Any]:
    """Return the name of a folder and the last step whose state was in it; a new one gets both."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RECORD
    with locked(folder / ".run.lock"):
        if not path.exists():
            replace_durably(path, json.dumps({"run": secrets.token_hex(16), "released": 0}))
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Train in a folder as the only process: two would release twice what was paid once.

    Raises:
        GenieError: another one does (Q032).
    """
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    number = os.open(folder / ".train.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another process trains in {folder}"
            hint = "wait for it, or give another folder"
            raise GenieError(Problem("Q032", message, hint=hint)) from None
        yield
    finally:
        os.close(number)


def save(
    folder: Path, *, step: int, trained: dict[str, Any], optimizer: Any, settings: DPSettings
) -> None:
    """Write the state after a step; it appears whole or not at all, in place of the one before."""
    tensors = dict(_tensors(trained, optimizer))
    facts = {"step": step, "settings": settings.as_dict()}
    save_once(folder, Checkpoint(tensors, facts))


def save_once(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, and note that its step is released."""
    record = _record(folder)
    save_checkpoint(folder, checkpoint)
    replace_durably(
        folder / RECORD, json.dumps({**record, "released": int(checkpoint.facts["step"])})
    )


def note_released(folder: Path, what: str) -> None:
    """Note in a run's folder that something beside its checkpoints is released."""
    replace_durably(folder / RECORD, json.dumps({**_record(folder), what: True}))


def check_unreleased(folder: Path, what: str) -> None:
    """Refuse to release again what was there to be seen, and is missing.

    Raises:
        GenieError: it was released already (Q031).
    """
    if _record(folder).get(what):
        message = f"the {what} of {folder} are missing: they would be released twice"
        hint = "put them back, or train in another folder, which is paid again"
        raise GenieError(Problem("Q031", message, hint=hint))


def load_newest(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint, None where nothing was released.

    Raises:
        GenieError: a later one is missing (Q031), or it cannot be read (M003).
    """
    found = load_checkpoint(folder)
    _check_newest(found, folder)
    return found


def digest_of_weights(models: Iterable[Any]) -> str:
    """Return a hash of all weights of models: what a training releases."""
    found = hashlib.sha256()
    for model in models:
        for name, value in sorted(model.state_dict().items()):
            found.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            found.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return found.hexdigest()


def _tensors(trained: dict[str, Any], optimizer: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for name, p in trained.items():
        yield f"model.{name}", p.detach().clone()
    for i, state in optimizer.state_dict()["state"].items():
        yield from ((f"optimizer.{i}.{name}", x) for name, x in state.items())


def restore(folder: Path, *, trained: dict[str, Any], optimizer: Any, settings: DPSettings) -> int:
    """Load the newest state of a folder into model and optimizer; return its step, 0 without one.

    Raises:
        GenieError: it is of other settings or of another model (Q030), a later one is missing
            (Q031), or it cannot be read (M003).
    """
    found = load_newest(folder)
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


def _check_newest(found: Checkpoint | None, folder: Path) -> None:
    """Refuse to take steps again whose result was there to be seen."""
    before = int(found.facts["step"]) if found else 0
    if before < _record(folder)["released"]:
        message = f"the newest checkpoint of {folder} is missing: its steps would be released twice"
        hint = "put it back, or train in another folder, which is paid again"
        raise GenieError(Problem("Q031", message, hint=hint))


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
