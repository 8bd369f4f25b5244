"""Language models of programs, with the loss of each row, and their input to a decoder."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from genie_dp.models.batches import PermutedRows
from genie_dp.models.layers import Module, PooledDropout
from genie_dp.models.vocabulary import BEGIN, END, PAD, UNK, Vocabulary


@dataclass(frozen=True, slots=True)
class ProgramBatch:
    """Programs as tensors: B rows, T tokens in the longest, END included.

    Attributes:
        inputs: (B, T) ids, BEGIN first.
        targets: (B, T) ids, END last, PAD behind.
        weights: (B,) factors of the rows' losses.
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device | str) -> "ProgramBatch":
        """Return the same on a device."""
        return ProgramBatch(
            self.inputs.to(device), self.targets.to(device), self.weights.to(device)
        )


def collate_programs(
    rows: Sequence[Sequence[int]], *, weights: Sequence[float] = ()
) -> ProgramBatch:
    """Return programs, as ids without END, as one padded batch.

    >>> collate_programs([[7, 8], [9]]).targets.tolist()
    [[7, 8, 3], [9, 3, 0]]
    """
    wide = max(len(row) for row in rows) + 1
    targets = torch.full((len(rows), wide), PAD)
    inputs = torch.full((len(rows), wide), PAD)
    inputs[:, 0] = BEGIN
    for i, row in enumerate(rows):
        ids = torch.tensor(row, dtype=torch.int64)
        targets[i, : len(row)] = ids
        targets[i, len(row)] = END
        inputs[i, 1 : len(row) + 1] = ids
    return ProgramBatch(inputs, targets, torch.tensor(weights or [1.0] * len(rows)))


class ProgramBatches(PermutedRows[list[int]]):
    """Batches of programs for the loop, in a new random order each epoch."""

    def __init__(
        self,
        programs: Sequence[Sequence[str]],
        vocabulary: Vocabulary,
        *,
        size: int = 64,
        seed: int = 0,
    ):
        """Read programs as ids; a token that can only be copied is UNK."""
        rows = [[vocabulary.generable(token) for token in p] for p in programs]
        super().__init__(rows, size, stream="programs", seed=seed)

    def take(self, number: int, rank: int = 0, world: int = 1) -> tuple[ProgramBatch, float]:
        """Return a batch, or a process's rows of it, and its tokens."""
        chosen = self.batch(number)
        tokens = float(sum(len(row) + 1 for row in chosen))
        mine = chosen[rank::world]
        return collate_programs(mine or chosen[:1], weights=[] if mine else [0.0]), tokens


class ProgramLSTM(Module):
    """One LSTM layer with the shape of the recurrent network's first decoder layer."""

    def __init__(self, generated: int, size: int = 128, *, dropout: float = 0.2):
        """Make the layers for so many tokens; size and states are those of the decoder."""
        super().__init__()
        self.words = nn.Embedding(generated, size, padding_idx=PAD)
        nn.init.normal_(self.words.weight, std=size**-0.5)
        self.first = nn.LSTM(size, size, batch_first=True)
        self.output = nn.Linear(size, size)
        self.bias = nn.Parameter(torch.zeros(generated))
        self.dropout = PooledDropout(dropout)

    def states(
        self, tokens: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Return (B, T, d) states after each of (B, T) tokens, and hidden and cell (1, B, d)."""
        x, after = self.first(self.dropout(self.words(tokens)), state)
        return x, after

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (B, T, P) log-probabilities of the token after each of (B, T)."""
        x, _ = self.states(tokens)
        logits = self.output(self.dropout(x)) @ self.words.weight.T + self.bias
        return logits.float().log_softmax(2)

    def loss(self, batch: ProgramBatch) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over tokens."""
        return row_losses(self(batch.inputs), batch.targets)


def row_losses(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return (B,) losses of (B, T, P) log-probabilities and (B, T) targets, 0 at padding."""
    log_probabilities = scores.gather(2, targets[:, :, None])[:, :, 0]
    return -(log_probabilities * (targets != PAD)).sum(1)


class ProgramFeed(Module):
    """A language model reads the program beside the decoder; its weights stay as they are.

    Attributes:
        model: the language model; copied words are UNK to it.
    """

    def __init__(self, vocabulary: Vocabulary, size: int, width: int):
        """Make a model with states of a size, and a layer to a decoder's width.

        The layer starts at zero, so that the decoder starts as if without its input.
        """
        super().__init__()
        self.generated = vocabulary.generated
        self.model = ProgramLSTM(vocabulary.generated, size, dropout=0.0)
        self.model.requires_grad_(False)
        self.layer = nn.Linear(size, width)
        nn.init.zeros_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def begin(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return hidden and cell (B, d) before the first token, like a tensor of B rows."""
        start = rows.new_zeros(rows.shape[0], self.model.first.hidden_size)
        return start, start.clone()

    def forward(
        self, tokens: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Return (B, T, width) for (B, T) extended ids, and hidden and cell (B, d) after."""
        generated = tokens.masked_fill(tokens >= self.generated, UNK)
        states, (h, c) = self.model.states(generated, (hidden[None], cell[None]))
        return self.layer(states), (h[0], c[0])
