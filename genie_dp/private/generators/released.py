"""What a run has released so far beside its checkpoints: it is never drawn a second time."""

import json
import os
from pathlib import Path

NAME = "codes.json"


def save_weights(folder: Path | None, weights: tuple[float, ...]) -> None:
    """Write the released distribution of control codes, synced, before anything uses it."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{NAME}.partial"
    with part.open("w", encoding="utf-8") as out:
        json.dump(weights, out)
        out.flush()
        os.fsync(out.fileno())
    part.replace(folder / NAME)


def load_weights(folder: Path | None) -> tuple[float, ...] | None:
    """Return what `save_weights` wrote, None where there is nothing yet."""
    if folder is None or not (folder / NAME).exists():
        return None
    found: list[float] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    return tuple(found)
