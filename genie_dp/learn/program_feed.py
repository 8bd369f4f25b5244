"""States of a program language model as a further input of a decoder (Genie, section 4.2)."""

import torch
from torch import nn

from genie_dp.learn.language_model import LanguageModelSettings, ProgramLSTM
from genie_dp.learn.module import Module
from genie_dp.learn.vocabulary import UNK, Vocabulary


class ProgramFeed(Module):
    """A language model reads the program beside the decoder; its weights stay as they are.

    Attributes:
        model: the language model; copied words are UNK to it.
    """

    def __init__(self, vocabulary: Vocabulary, size: int, width: int):
        """Make a model with states of a size, and a layer to a decoder's width.

        The layer starts at zero, so that the decoder starts as if nobody fed it.
        """
        super().__init__()
        self.generated = vocabulary.generated
        self.model = ProgramLSTM(vocabulary.generated, LanguageModelSettings(size, dropout=0.0))
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
        known = tokens.masked_fill(tokens >= self.generated, UNK)
        states, (h, c) = self.model.states(known, (hidden[None], cell[None]))
        return self.layer(states), (h[0], c[0])
