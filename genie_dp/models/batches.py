"""Rows as padded tensors; everything here is a pure function of its arguments."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Generic, TypeVar

import numpy as np
import torch

from genie_dp.models.sentences import (
    Encoded,
    Rows,
    Sentences,
    encode_sentences,
    join_sentences,
    pad_rows,
)
from genie_dp.models.vocabulary import BEGIN, END, PAD, Vocabulary
from genie_dp.rng import child_seed

Self = TypeVar("Self", "Source", "Batch")
Row = TypeVar("Row")


class PermutedRows(Generic[Row]):
    """Rows without end, in a new random order each epoch.

    Attributes:
        rows: those that there are; batches have `size` of them.
    """

    def __init__(self, rows: Sequence[Row], size: int, *, stream: str, seed: int):
        """Keep the rows; `stream` names the random stream of the seed."""
        self.rows, self.size = rows, size
        self._stream, self._seed = stream, seed
        self._epoch = -1
        self._order: list[int] = []

    @property
    def per_epoch(self) -> float:
        """Return the number of batches that hold as many rows as there are."""
        return len(self.rows) / self.size

    def batch(self, number: int) -> list[Row]:
        """Return the rows of a batch."""
        chosen = []
        for place in range(number * self.size, (number + 1) * self.size):
            epoch, i = divmod(place, len(self.rows))
            if self._epoch != epoch:
                rng = np.random.default_rng(child_seed(self._seed, self._stream, epoch))
                self._epoch, self._order = epoch, rng.permutation(len(self.rows)).tolist()
            chosen.append(self.rows[self._order[i]])
        return chosen


@dataclass(frozen=True, slots=True)
class Source:
    """The sentences of `Sentences`, as tensors."""

    sentences: tuple[tuple[str, ...], ...]
    words: torch.Tensor
    surfaces: torch.Tensor
    grams: torch.Tensor
    offsets: torch.Tensor
    copies: torch.Tensor
    lengths: torch.Tensor
    vectors: torch.Tensor

    @classmethod
    def from_arrays(cls, arrays: Sentences) -> "Source":
        """Return sentences as tensors, which share the memory of the arrays."""
        tensors = [torch.from_numpy(getattr(arrays, field.name)) for field in fields(cls)[1:]]
        return cls(arrays.sentences, *tensors)

    @property
    def padding(self) -> torch.Tensor:
        """Return (B, S), True behind the end of a sentence."""
        places = torch.arange(self.words.shape[1], device=self.words.device)
        return places >= self.lengths[:, None]

    def to(self, device: torch.device | str) -> "Source":
        """Return the same on a device."""
        return _move_tensors(self, device)


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences with their programs. T tokens in the longest, END included.

    Attributes:
        source: the sentences.
        inputs: (B, T) extended ids that a decoder reads: BEGIN, then the targets moved by one.
        targets: (B, T) extended ids that it should write; PAD behind the end.
        weights: (B,) factors of the rows' losses.
        tokens: ids of the tokens with cards that programs may have; None for all.
    """

    source: Source
    inputs: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor
    tokens: torch.Tensor | None = None

    def to(self, device: torch.device | str) -> "Batch":
        """Return the same on a device."""
        return replace(_move_tensors(self, device), source=self.source.to(device))


def _move_tensors(value: Self, device: torch.device | str) -> Self:
    parts = {f.name: getattr(value, f.name) for f in fields(value)}
    tensors = {name: x.to(device) for name, x in parts.items() if isinstance(x, torch.Tensor)}
    return replace(value, **tensors)


def collate(rows: Sequence[Encoded], vocabulary: Vocabulary) -> Batch:
    """Return rows as one padded batch."""
    targets = pad_rows([row.targets for row in rows])
    inputs = np.full_like(targets, PAD)
    inputs[:, 0] = BEGIN
    inputs[:, 1:] = np.where(targets[:, :-1] == END, PAD, targets[:, :-1])
    weights = torch.tensor([row.weight for row in rows], dtype=torch.float32)
    source = Source.from_arrays(join_sentences(rows, vocabulary))
    return Batch(source, torch.from_numpy(inputs), torch.from_numpy(targets), weights)


def collate_sentences(sentences: Sequence[tuple[str, ...]], vocabulary: Vocabulary) -> Source:
    """Return sentences alone as one padded batch."""
    return Source.from_arrays(encode_sentences(sentences, vocabulary))


def by_length(rows: Rows, lengths: Rows, batches: int) -> list[Rows]:
    """Return so many batches of the numbers of rows, of like length and equal size (within one).

    Args:
        rows: numbers of the rows of one chunk.
        lengths: length of every row there is.
        batches: how many to make.

    >>> [b.tolist() for b in by_length(np.arange(4), np.array([9, 2, 8, 1]), 2)]
    [[3, 1], [2, 0]]
    """
    ranked = rows[np.argsort(lengths[rows], kind="stable")]
    return np.array_split(ranked, batches)
