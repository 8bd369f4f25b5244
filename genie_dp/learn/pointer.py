"""The mixture of generating a token and copying a word (See et al., 2017, equations 8 and 9)."""

from typing import NamedTuple

import torch
from torch import nn

from genie_dp.learn.module import Module

# Below the smallest probability that matters, and above float32's smallest number.
TINY = 1e-20


class Mixture(NamedTuple):
    """What a decoder says at each place, in parts: the full distribution is needed in search only.

    Attributes:
        vocabulary: (B, T, P) log-probabilities of generated tokens.
        copied: (B, T, S) probabilities of the sentence's places; 0 at padding.
        generate: (B, T) probability of generating instead of copying.
    """

    vocabulary: torch.Tensor
    copied: torch.Tensor
    generate: torch.Tensor


def target_log_probabilities(
    mixture: Mixture, copies: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """Return (B, T): log-probabilities of the targets.

    Args:
        mixture: what the decoder says.
        copies: (B, S) extended ids of the sentence's places.
        targets: (B, T) extended ids.
    """
    size = mixture.vocabulary.shape[2]
    known = targets < size
    wanted = targets.masked_fill(~known, 0)[:, :, None]
    generated = mixture.vocabulary.gather(2, wanted)[:, :, 0].exp() * known
    same = copies[:, None, :] == targets[:, :, None]
    copied = (mixture.copied * same).sum(2)
    share = mixture.generate
    return (share * generated + (1 - share) * copied + TINY).log()


def all_log_probabilities(mixture: Mixture, copies: torch.Tensor) -> torch.Tensor:
    """Return (B, T, P + S): log-probabilities of all extended ids."""
    share = mixture.generate[:, :, None]
    generated = share * mixture.vocabulary.exp()
    copied = (1 - share) * mixture.copied
    full = torch.cat([generated, torch.zeros_like(copied)], 2)
    places = copies[:, None, :].expand_as(copied)
    return (full.scatter_add(2, places, copied) + TINY).log()


def masked_softmax(scores: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return softmax over the last dimension in float32, 0 where `padding` is True."""
    return scores.float().masked_fill(padding, -torch.inf).softmax(-1)


class Pointer(Module):
    """Attention over the sentence to copy from, a tied layer to generate, a switch between them."""

    def __init__(self, size: int, memory: int, table: tuple[int, int]):
        """Make the layers.

        Args:
            size: of the decoder's states.
            memory: size of the encoder's states.
            table: (P, e) shape of the table of tokens.
        """
        super().__init__()
        self.query = nn.Linear(size, memory)
        self.output = nn.Linear(size, table[1])
        self.bias = nn.Parameter(torch.zeros(table[0]))
        self.switch = nn.Linear(size + memory, 1)

    def forward(
        self,
        hidden: torch.Tensor,
        memory: torch.Tensor,
        padding: torch.Tensor,
        table: torch.Tensor,
    ) -> Mixture:
        """Return the mixture at each place.

        Args:
            hidden: (B, T, h) decoder states.
            memory: (B, S, m) encoder states.
            padding: (B, S) True behind the end of a sentence.
            table: (P, e) rows of the tokens that can be generated.
        """
        scores = self.query(hidden) @ memory.transpose(1, 2) * memory.shape[2] ** -0.5
        copied = masked_softmax(scores, padding[:, None])
        context = copied.to(memory.dtype) @ memory
        logits = self.output(hidden) @ table.T + self.bias
        switch = self.switch(torch.cat([hidden, context], 2))[:, :, 0]
        return Mixture(logits.float().log_softmax(2), copied, switch.float().sigmoid())
