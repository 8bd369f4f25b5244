"""Batches by row: any frozen dataclass whose fields are tensors with the row first."""

from dataclasses import fields, replace
from typing import Any

import torch


def tensors_of(batch: Any) -> dict[str, torch.Tensor]:
    """Return the tensors of a batch, each (B, ..), by their names."""
    return {f.name: getattr(batch, f.name) for f in fields(batch)}


def take(batch: Any, rows: Any) -> Any:
    """Return the batch of some of its rows, by a slice or a mask."""
    return replace(batch, **{name: x[rows] for name, x in tensors_of(batch).items()})


def size_of(batch: Any) -> int:
    """Return how many rows a batch has."""
    return len(next(iter(tensors_of(batch).values())))
