"""What public pretraining gave, kept: runs of the same public rows, model and seed learn them once.

Only public rows are in these weights, so a folder of them is nobody's secret.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.learn.loop import TrainSettings
from genie_dp.learn.saved import put_all, weights, write_weights
from genie_dp.private.generators.encoded import Encoded


def place_of(
    folder: Path, model: Any, rows: Sequence[Encoded], settings: TrainSettings, batch: int
) -> Path:
    """Return the file for what a model learns; its name says all that it depends on.

    Args:
        folder: where such files are kept.
        model: with the weights that it starts from.
        rows: as they are learned.
        settings: how they are learned.
        batch: rows of a batch.
    """
    digest = hashlib.sha256(repr((__version__, torch.__version__, batch)).encode())
    digest.update(repr(sorted(asdict(settings).items())).encode())
    for name, x in sorted(weights(model).items()):
        digest.update(f"{name} {tuple(x.shape)} {x.dtype}".encode())
        digest.update(x.view(torch.uint8).numpy().tobytes())
    for row in rows:
        digest.update(repr((row.tokens, row.scored_from)).encode())
    return folder / f"{digest.hexdigest()[:32]}.safetensors"


def keep(model: Any, place: Path) -> None:
    """Write the weights of a model; the file appears when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    # Of this process alone: another one may be learning the same.
    partial = place.with_name(f".{place.name}.{os.getpid()}.partial")
    write_weights(model, partial)
    partial.replace(place)


def take(model: Any, place: Path) -> None:
    """Give a model the weights of a file.

    Raises:
        GenieError: H011, the file cannot be read; M001, it holds another network.
    """
    try:
        found = load_file(str(place))
    except (OSError, SafetensorError) as error:
        hint = "delete it: it is made again"
        raise GenieError(Problem("H011", f"{place} cannot be read: {error}", hint=hint)) from None
    put_all(model, found, place.parent)
    model.eval()
