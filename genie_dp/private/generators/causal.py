"""What a generator asks of a language model, and what it keeps between tokens."""

from dataclasses import dataclass
from typing import Protocol

import torch

from genie_dp.private.generators.sequences import Sequences


@dataclass(frozen=True, slots=True)
class State:
    """What a model remembers of B sequences.

    Attributes:
        cache: keys and values (B, heads, S, d / heads) of each layer in turn.
        seen: (B, S) False at the padding of prompts.
        places: (B,) position of the next token.
    """

    cache: tuple[torch.Tensor, ...]
    seen: torch.Tensor
    places: torch.Tensor

    def take(self, rows: torch.Tensor) -> "State":
        """Return the state of some rows, in that order."""
        cache = tuple(x.index_select(0, rows) for x in self.cache)
        return State(cache, self.seen.index_select(0, rows), self.places.index_select(0, rows))

    def longer_seen(self) -> torch.Tensor:
        """Return (B, S + 1): `seen` with one more token."""
        return torch.cat([self.seen, torch.ones_like(self.seen[:, :1])], 1)


class CausalLM(Protocol):
    """A language model over ids.

    Attributes:
        longest: tokens of a sequence that it has positions for.
    """

    longest: int

    @property
    def device(self) -> torch.device:
        """Return where the model is."""

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""

    def start(self, prompts: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return (B, V) logits of the token after each prompt, and the state there.

        Args:
            prompts: (B, P) ids, padded on the right.
            lengths: (B,) ids of each prompt.
        """

    def step(self, state: State, tokens: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return (B, V) logits after (B,) tokens, and the state there."""


def last_of(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return (B, d): of (B, P, d), the place before each length."""
    return x[torch.arange(len(x), device=x.device), lengths - 1]


def seen_by(prompts: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return (B, P): where prompts are no padding."""
    places = torch.arange(prompts.shape[1], device=prompts.device)
    return places < lengths[:, None]
