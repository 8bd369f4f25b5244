"""Rows as padded tensors; everything here is a pure function of its arguments."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from genie_dp.models.vocabulary import BEGIN, END, PAD, Pair, Vocabulary, ngrams
from genie_dp.rng import child_seed

Ids = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
Self = TypeVar("Self", "Source", "Batch")
Row = TypeVar("Row")


class PermutedRows(Generic[Row]):
    """Rows without end, in a new random order each epoch.

    Attributes:
        rows: those that there are; batches have `size` of them.
    """

    def __init__(self, rows: Sequence[Row], size: int, *, stream: str, seed: int):
        """Keep the rows; `stream` names what is drawn from the seed."""
        self.rows, self.size = rows, size
        self._stream, self._seed = stream, seed
        self._epoch = -1
        self._order: list[int] = []

    @property
    def per_epoch(self) -> float:
        """Return how many batches hold as many rows as there are."""
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
class Encoded:
    """One row as ids.

    Attributes:
        sentence: its words, for n-grams and to name what is copied.
        words: (S,) ids of the words.
        copies: (S,) extended id of each place.
        targets: (T,) extended ids of the program, END last.
        weight: factor of its loss.
    """

    sentence: tuple[str, ...]
    words: Ids
    copies: Ids
    targets: Ids
    weight: float = 1.0

    @property
    def length(self) -> int:
        """Return words and tokens together, which is what a row costs."""
        return len(self.words) + len(self.targets)


@dataclass(frozen=True, slots=True)
class Source:
    """Sentences as tensors. B rows, S words in the longest, U distinct words, G their n-grams.

    Attributes:
        sentences: the words themselves.
        words: (B, S) ids, PAD behind the end.
        surfaces: (B, S) place of each word among the distinct ones.
        grams: (G,) buckets of all distinct words' n-grams, one word after another.
        offsets: (U,) where each distinct word's n-grams begin.
        copies: (B, S) extended ids, PAD behind the end.
        lengths: (B,) words of each row, at least 1.
    """

    sentences: tuple[tuple[str, ...], ...]
    words: torch.Tensor
    surfaces: torch.Tensor
    grams: torch.Tensor
    offsets: torch.Tensor
    copies: torch.Tensor
    lengths: torch.Tensor

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
    """

    source: Source
    inputs: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device | str) -> "Batch":
        """Return the same on a device."""
        return replace(_move_tensors(self, device), source=self.source.to(device))


def _move_tensors(value: Self, device: torch.device | str) -> Self:
    parts = {f.name: getattr(value, f.name) for f in fields(value)}
    tensors = {name: x.to(device) for name, x in parts.items() if isinstance(x, torch.Tensor)}
    return replace(value, **tensors)


def encode(pair: Pair, vocabulary: Vocabulary) -> Encoded:
    """Return a row as ids.

    >>> from genie_dp.models.vocabulary import SPECIAL
    >>> v = Vocabulary((*SPECIAL, "@post", "tweet"), generated=5)
    >>> encode(Pair.from_text("tweet hello", "@post hello"), v).targets.tolist()
    [4, 6, 3]
    """
    return Encoded(
        pair.sentence,
        np.array(vocabulary.read(pair.sentence), np.int32),
        np.array(vocabulary.copies(pair.sentence), np.int32),
        np.array((*vocabulary.write(pair.program, pair.sentence), END), np.int32),
        pair.weight,
    )


def collate(rows: Sequence[Encoded], vocabulary: Vocabulary) -> Batch:
    """Return rows as one padded batch."""
    targets = _pad_rows([row.targets for row in rows])
    inputs = np.full_like(targets, PAD)
    inputs[:, 0] = BEGIN
    inputs[:, 1:] = np.where(targets[:, :-1] == END, PAD, targets[:, :-1])
    weights = torch.tensor([row.weight for row in rows], dtype=torch.float32)
    source = _source(rows, vocabulary)
    return Batch(source, torch.from_numpy(inputs), torch.from_numpy(targets), weights)


def collate_sentences(sentences: Sequence[tuple[str, ...]], vocabulary: Vocabulary) -> Source:
    """Return sentences alone as one padded batch."""
    rows = [encode(Pair(sentence, ()), vocabulary) for sentence in sentences]
    return _source(rows, vocabulary)


def _source(rows: Sequence[Encoded], vocabulary: Vocabulary) -> Source:
    flat = list(chain.from_iterable(row.sentence for row in rows))
    # The place behind a sentence's end is the empty word's.
    distinct = {word: i for i, word in enumerate(dict.fromkeys(("", *flat)))}
    surfaces = np.fromiter(map(distinct.__getitem__, flat), np.int64, len(flat))
    grams = [_grams(word, vocabulary.buckets) for word in distinct]
    ends = np.cumsum([0, *map(len, grams)])
    lengths = np.array([len(row.sentence) for row in rows], np.int64)
    return Source(
        tuple(row.sentence for row in rows),
        torch.from_numpy(_pad_rows([row.words for row in rows])),
        torch.from_numpy(_spread(surfaces, lengths)),
        torch.from_numpy(np.concatenate(grams)),
        torch.from_numpy(ends[:-1].astype(np.int64)),
        torch.from_numpy(_pad_rows([row.copies for row in rows])),
        torch.from_numpy(lengths.clip(min=1)),
    )


@lru_cache(maxsize=200_000)
def _grams(word: str, buckets: int) -> Rows:
    """Return the n-grams of a word as an array, which is joined twice as fast as tuples."""
    return np.array(ngrams(word, buckets), np.int64)


def _pad_rows(rows: Sequence[Ids]) -> Rows:
    """Return rows of ids as (B, longest), filled up with PAD; at least one column."""
    return _spread(np.concatenate(rows), np.array([len(row) for row in rows], np.int64))


def _spread(flat: npt.NDArray[np.integer], lengths: Rows) -> Rows:
    """Return the numbers of all rows as (B, longest); at least one column."""
    wide = max(1, int(lengths.max()))
    out = np.full((len(lengths), wide), PAD, np.int64)
    out[np.arange(wide) < lengths[:, None]] = flat
    return out


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
