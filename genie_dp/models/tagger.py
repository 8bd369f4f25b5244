"""A label for each word of a sentence: a small BiLSTM over words, their letters and their shape."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from genie_dp.models.batches import PermutedRows, Source, collate_sentences
from genie_dp.models.layers import Module, PooledDropout, WordEmbedding
from genie_dp.models.recurrent import BiLSTM
from genie_dp.models.vocabulary import Vocabulary

# The label of a word that is none of the kinds.
OUTSIDE = 0
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
_SHAPES = 8


@dataclass(frozen=True, slots=True)
class TaggerSettings:
    """Sizes and shares.

    Attributes:
        size: of embeddings and states; even.
        layers: BiLSTM layers.
        dropout: share of activations dropped.
        word_dropout: share of words read as unknown, so that new ones are known by their letters.
    """

    size: int = 64
    layers: int = 2
    dropout: float = 0.2
    word_dropout: float = 0.3

    def __post_init__(self) -> None:
        if self.size < 2 or self.size % 2 or self.layers < 1:
            raise ValueError(f"size must be even, layers positive: {self.size}, {self.layers}")


def words_of(text: str) -> list[tuple[int, int]]:
    """Return the places of a text's words: letters, digits, or one other sign.

    >>> [("It's A1."[a:b]) for a, b in words_of("It's A1.")]
    ['It', "'", 's', 'A', '1', '.']
    """
    return [match.span() for match in _WORD.finditer(text)]


def read_as(word: str) -> str:
    """Return the normal form of a word: small letters, and all digits alike.

    >>> read_as("Ann"), read_as("4711")
    ('ann', '0000')
    """
    return "0" * min(len(word), 8) if word.isdigit() else word.lower()


def shape_of(text: str, place: tuple[int, int]) -> int:
    """Return the shape of a word, and whether it stands against another without space.

    >>> [shape_of("see Ann", place) for place in words_of("see Ann")]
    [0, 1]
    """
    word = text[slice(*place)]
    case = 1 if word.istitle() else 2 if word.isupper() else 3 if word.isdigit() else 0
    return case + 4 * (place[0] > 0 and not text[place[0] - 1].isspace())


@dataclass(frozen=True, slots=True)
class Tagged:
    """A sentence with a label for each of its words.

    Attributes:
        words: as `read_as` gives them.
        shapes: as `shape_of` gives them.
        labels: OUTSIDE, or 1 + the number of a kind; empty if unknown.
    """

    words: tuple[str, ...]
    shapes: tuple[int, ...]
    labels: tuple[int, ...] = ()

    @classmethod
    def from_text(cls, text: str, spans: Sequence[tuple[int, int, int]] = ()) -> "Tagged":
        """Return a text's words; a word that a span (start, end, label) touches has its label."""
        places = words_of(text)
        labels = [OUTSIDE] * len(places)
        for start, end, label in spans:
            for i, (a, b) in enumerate(places):
                if a < end and start < b:
                    labels[i] = label
        return cls(
            tuple(read_as(text[a:b]) for a, b in places),
            tuple(shape_of(text, place) for place in places),
            tuple(labels),
        )


@dataclass(frozen=True, slots=True)
class TagBatch:
    """Sentences as tensors: B rows, S words in the longest.

    Attributes:
        source: the words.
        shapes: (B, S) numbers of shapes.
        labels: (B, S) labels, -100 behind the end.
        weights: (B,) factors of the rows' losses.
    """

    source: Source
    shapes: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device | str) -> "TagBatch":
        """Return the same on a device."""
        parts = (x.to(device) for x in (self.shapes, self.labels, self.weights))
        return TagBatch(self.source.to(device), *parts)


def collate_tagged(rows: Sequence[Tagged], vocabulary: Vocabulary) -> TagBatch:
    """Return sentences as one padded batch."""
    source = collate_sentences([row.words for row in rows], vocabulary)
    shapes = torch.zeros_like(source.words)
    labels = torch.full_like(source.words, -100)
    for i, row in enumerate(rows):
        shapes[i, : len(row.shapes)] = torch.tensor(row.shapes, dtype=torch.int64)
        labels[i, : len(row.labels)] = torch.tensor(row.labels, dtype=torch.int64)
    return TagBatch(source, shapes, labels, torch.ones(len(rows)))


class Tagger(Module):
    """Embeddings and residual BiLSTMs; a softmax over labels at each word."""

    def __init__(self, vocabulary: Vocabulary, labels: int, settings: TaggerSettings):
        super().__init__()
        size = settings.size
        self.dropout = PooledDropout(settings.dropout)
        self.embedding = WordEmbedding(vocabulary, size, word_dropout=settings.word_dropout)
        self.shapes = nn.Embedding(_SHAPES, size)
        self.layers = nn.ModuleList(BiLSTM(size, size) for _ in range(settings.layers))
        self.output = nn.Linear(size, labels)

    def forward(self, batch: TagBatch) -> torch.Tensor:
        """Return (B, S, L) log-probabilities of labels."""
        x = self.dropout(self.embedding.read(batch.source) + self.shapes(batch.shapes))
        for layer in self.layers:
            x = x + self.dropout(layer(x, batch.source.lengths))
        return self.output(x).float().log_softmax(2)

    def loss(self, batch: TagBatch) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over words."""
        scores = self(batch).transpose(1, 2)
        losses = nn.functional.nll_loss(scores, batch.labels, ignore_index=-100, reduction="none")
        return losses.sum(1)


class TagBatches(PermutedRows[Tagged]):
    """Batches for the loop, in a new random order each epoch."""

    def __init__(
        self, rows: Sequence[Tagged], vocabulary: Vocabulary, *, size: int = 32, seed: int = 0
    ):
        """Keep the rows; sentences without words are left out."""
        super().__init__([row for row in rows if row.words], size, stream="tagged", seed=seed)
        self.vocabulary = vocabulary

    def take(self, number: int, rank: int = 0, world: int = 1) -> tuple[TagBatch, float]:
        """Return a batch, or a process's rows of it, and its words."""
        chosen = self.batch(number)
        words = float(sum(len(row.words) for row in chosen))
        mine = chosen[rank::world]
        batch = collate_tagged(mine or chosen[:1], self.vocabulary)
        if not mine:
            batch.weights.zero_()
        return batch, words
