"""A recurrent language model of one layer, as in "Provably Confidential Language Modelling"."""

from dataclasses import dataclass

import torch
from torch import nn

from genie_dp.learn.module import Module
from genie_dp.private.generators.causal import State, last_of, seen_by
from genie_dp.private.generators.sequences import Sequences, losses


@dataclass(frozen=True, slots=True)
class RecurrentSettings:
    """Sizes of the recurrent model.

    Attributes:
        size: of embeddings and states; 200 in the paper (appendix A.3).
        longest: tokens of a sequence; no weight depends on it.
    """

    size: int = 200
    longest: int = 256

    def __post_init__(self) -> None:
        """Refuse what no model has."""
        if min(self.size, self.longest) < 1:
            raise ValueError(f"expected positive sizes, got {self}")


def unrolled(layer: nn.LSTM, x: torch.Tensor) -> torch.Tensor:
    """Return (B, T, d) states of a layer of LSTM on (B, T, e), by plain matrix products."""
    gates = nn.functional.linear(x, layer.weight_ih_l0, layer.bias_ih_l0)
    hidden = cell = x.new_zeros(x.shape[0], layer.hidden_size)
    found = []
    for t in range(x.shape[1]):
        hidden, cell = cell_step(layer, gates[:, t], hidden, cell)
        found.append(hidden)
    return torch.stack(found, 1)


def cell_step(
    layer: nn.LSTM, gates: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return hidden and cell, (B, d), after one more token, whose part of the gates is (B, 4 d)."""
    gates = gates + nn.functional.linear(hidden, layer.weight_hh_l0, layer.bias_hh_l0)
    take, forget, value, give = gates.chunk(4, 1)
    cell = forget.sigmoid() * cell + take.sigmoid() * value.tanh()
    return give.sigmoid() * cell.tanh(), cell


class RecurrentLM(Module):
    """An LSTM over ids; a CausalLM. Its head is untied, and nothing is dropped."""

    def __init__(self, tokens: int, settings: RecurrentSettings):
        """Make the layers for so many tokens."""
        super().__init__()
        self.longest = settings.longest
        self.words = nn.Embedding(tokens, settings.size)
        self.recurrent = nn.LSTM(settings.size, settings.size, batch_first=True)
        self.head = nn.Linear(settings.size, tokens)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)
        nn.init.uniform_(self.head.weight, -0.1, 0.1)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return (B, T, V) logits of the token after each of (B, T)."""
        x = self.words(ids)
        # The fused kernel is three times as fast, but runs row by row under vmap, which is what
        # training with noise wants of a model in train mode.
        states = unrolled(self.recurrent, x) if self.training else self.recurrent(x)[0]
        logits: torch.Tensor = self.head(states)
        return logits

    @property
    def device(self) -> torch.device:
        """Return where the model is."""
        found: torch.device = next(self.parameters()).device
        return found

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""
        return losses(self(batch.inputs), batch.targets)

    def start(self, prompts: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return (B, V) logits after prompts, and the state there; see CausalLM.

        The state is that at each prompt's end, so prompts are read token by token.
        """
        rows = len(prompts)
        hidden = torch.zeros(1, rows, self.recurrent.hidden_size, device=prompts.device)
        cell, outputs = hidden, []
        for place in range(prompts.shape[1]):
            x = self.words(prompts[:, place : place + 1])
            out, (after, after_cell) = self.recurrent(x, (hidden, cell))
            goes_on = (place < lengths)[None, :, None]
            hidden = torch.where(goes_on, after, hidden)
            cell = torch.where(goes_on, after_cell, cell)
            outputs.append(out)
        logits = self.head(last_of(torch.cat(outputs, 1), lengths))
        # Rows come first in a State.
        state = State((hidden[0], cell[0]), seen_by(prompts, lengths), lengths)
        return logits, state

    def step(self, state: State, tokens: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return (B, V) logits after one more token each; see CausalLM."""
        before = (state.cache[0][None].contiguous(), state.cache[1][None].contiguous())
        out, (hidden, cell) = self.recurrent(self.words(tokens[:, None]), before)
        after = State((hidden[0], cell[0]), state.longer_seen(), state.places + 1)
        return self.head(out[:, 0]), after
