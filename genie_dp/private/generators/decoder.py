"""The own decoder: a pre-norm transformer on which every engine of DP training works.

Linear layers, embeddings and layer norms only, an untied head, and positions as explicit contiguous
ids: the parts whose gradients per row every engine computes, and in which no row sees another.
"""

from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from genie_dp.learn.module import Module
from genie_dp.private.generators.causal import State, last_of, seen_by
from genie_dp.private.generators.sequences import Sequences, losses


@dataclass(frozen=True, slots=True)
class DecoderSettings:
    """Sizes of the decoder.

    Attributes:
        size: of embeddings and states.
        layers, heads: of the transformer; a layer's inner size is four times `size`.
        longest: tokens of a sequence; what comes later shares the last position.
    """

    size: int = 256
    layers: int = 4
    heads: int = 4
    longest: int = 256

    def __post_init__(self) -> None:
        """Refuse what no decoder has."""
        if min(self.size, self.layers, self.heads, self.longest) < 1 or self.size % self.heads:
            raise ValueError(f"expected positive sizes, size a multiple of heads, got {self}")


class _Block(Module):
    """Causal self-attention and feed-forward; norms come first (Xiong et al., 2020)."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(size)
        self.project = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.feed_norm = nn.LayerNorm(size)
        self.inner = nn.Linear(size, 4 * size)
        self.outer = nn.Linear(4 * size, size)

    def forward(
        self,
        x: torch.Tensor,
        past: tuple[torch.Tensor, torch.Tensor] | None = None,
        seen: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (B, T, d), and keys and values (B, heads, S, d / heads) of past and present.

        Args:
            x: (B, T, d); T is 1 where there is a past.
            past: keys and values of earlier tokens.
            seen: (B, S) where the one token may look; None for causal attention.
        """
        parts = self.project(self.norm(x)).chunk(3, dim=2)
        query, key, value = (y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in parts)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        mask = None if seen is None else seen[:, None, None, :]
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None
        )
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.outer(nn.functional.gelu(self.inner(self.feed_norm(x)))), key, value


class PreLNDecoder(Module):
    """A decoder-only transformer; a CausalLM."""

    def __init__(self, tokens: int, settings: DecoderSettings):
        """Make the layers for so many tokens."""
        super().__init__()
        self.longest = settings.longest
        self.words = nn.Embedding(tokens, settings.size)
        self.places = nn.Embedding(settings.longest, settings.size)
        self.blocks = nn.ModuleList(
            _Block(settings.size, settings.heads) for _ in range(settings.layers)
        )
        self.norm = nn.LayerNorm(settings.size)
        self.head = nn.Linear(settings.size, tokens, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return (B, T, V) logits of the token after each of (B, T)."""
        x = self._embedded(ids, positions_of(ids, self.longest))
        # Under vmap the fused kernel of CPUs runs row by row and takes 1.3 times as long; without
        # vmap both are as fast (8 rows of 64 tokens, 5M weights, November 2026).
        with sdpa_kernel(SDPBackend.MATH) if ids.device.type == "cpu" else nullcontext():
            for block in self.blocks:
                x, _, _ = block(x)
        return self.head(self.norm(x))

    def _embedded(self, ids: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return self.words(ids) + self.places(places)

    @property
    def device(self) -> torch.device:
        """Return where the model is."""
        found: torch.device = next(self.parameters()).device
        return found

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""
        return losses(self(batch.inputs), batch.targets)

    def start(self, prompts: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return (B, V) logits after prompts, and the state there; see CausalLM."""
        x = self._embedded(prompts, positions_of(prompts, self.longest))
        cache: list[torch.Tensor] = []
        for block in self.blocks:
            x, *kept = block(x)
            cache.extend(kept)
        state = State(tuple(cache), seen_by(prompts, lengths), lengths)
        return self.head(self.norm(last_of(x, lengths))), state

    def step(self, state: State, tokens: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return (B, V) logits after one more token each; see CausalLM."""
        place = state.places.clamp(max=self.longest - 1)[:, None]
        x = self._embedded(tokens[:, None], place)
        seen = state.longer_seen()
        cache: list[torch.Tensor] = []
        for i, block in enumerate(self.blocks):
            past = state.cache[2 * i], state.cache[2 * i + 1]
            x, *kept = block(x, past, seen)
            cache.extend(kept)
        return self.head(self.norm(x[:, 0])), State(tuple(cache), seen, state.places + 1)


def positions_of(ids: torch.Tensor, longest: int) -> torch.Tensor:
    """Return (B, T) positions, a contiguous tensor of its own.

    With ids of shape (1, T), or expanded ones, the engines of Opacus fail or take the wrong norm.
    """
    places = torch.arange(ids.shape[1], device=ids.device).clamp(max=longest - 1)
    return places.repeat(ids.shape[0], 1)
