"""Multi-head attention and pre-norm layers (Vaswani et al., 2017; Xiong et al., 2020)."""

import math

import torch
from torch import nn

from genie_dp.learn.dropout import PooledDropout
from genie_dp.learn.module import Module

KeyValue = tuple[torch.Tensor, torch.Tensor]


class Attention(Module):
    """Scaled dot-product attention with several heads (Vaswani et al., 2017, section 3.2)."""

    def __init__(self, size: int, heads: int):
        """Make the projections."""
        super().__init__()
        if size % heads:
            raise ValueError(f"size must be a multiple of heads: {size}, {heads}")
        self.heads = heads
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)
        self.output = nn.Linear(size, size)

    def keys(self, x: torch.Tensor) -> KeyValue:
        """Return keys and values (B, S, d) of what is attended to, to be kept between steps."""
        return self.key(x), self.value(x)

    def forward(self, x: torch.Tensor, over: KeyValue, allowed: torch.Tensor) -> torch.Tensor:
        """Return (B, T, d).

        Args:
            x: (B, T, d) that asks.
            over: keys and values (B, S, d).
            allowed: (B or 1, T or 1, S) True where one may look.
        """
        query, key, value = (self._split(y) for y in (self.query(x), *over))
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=allowed[:, None]
        )
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        """Return (B, heads, T, d / heads)."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


class FeedForward(Module):
    """Two layers at each place (Vaswani et al., 2017, section 3.3)."""

    def __init__(self, size: int, inner: int, dropout: float):
        """Make the layers."""
        super().__init__()
        self.inner = nn.Linear(size, inner)
        self.outer = nn.Linear(inner, size)
        self.dropout = PooledDropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (B, T, d)."""
        return self.outer(self.dropout(nn.functional.gelu(self.inner(x))))


class Layer(Module):
    """Self-attention, attention over a memory if `cross`, feed-forward; norms come first."""

    def __init__(self, size: int, heads: int, inner: int, dropout: float, *, cross: bool):
        """Make the parts."""
        super().__init__()
        self.own = Attention(size, heads)
        self.cross = Attention(size, heads) if cross else None
        self.feed = FeedForward(size, inner, dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2 + cross))
        self.dropout = PooledDropout(dropout)

    def forward(
        self,
        x: torch.Tensor,
        allowed: torch.Tensor,
        *,
        past: KeyValue | None = None,
        memory: KeyValue | None = None,
        seen: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, KeyValue]:
        """Return (B, T, d), and keys and values of past and present.

        Args:
            x: (B, T, d).
            allowed: (B or 1, T or 1, past + T) True where self-attention may look.
            past: keys and values of earlier steps.
            memory: keys and values of the encoder.
            seen: (B, 1, S) True where the memory is no padding.
        """
        normed = self.norms[0](x)
        now = self.own.keys(normed)
        if past is not None:
            now = (torch.cat([past[0], now[0]], 1), torch.cat([past[1], now[1]], 1))
        x = x + self.dropout(self.own(normed, now, allowed))
        if self.cross is not None:
            x = x + self.dropout(self.cross(self.norms[2](x), memory, seen))
        return x + self.dropout(self.feed(self.norms[1](x))), now


def causal(past: int, size: int, device: torch.device) -> torch.Tensor:
    """Return (1, size, past + size): each place may look at itself and at what came before.

    >>> causal(1, 2, torch.device("cpu"))[0].int().tolist()
    [[1, 1, 0], [1, 1, 1]]
    """
    places = torch.arange(past + size, device=device)
    return (places <= places[past:, None])[None]


def positions(start: int, size: int, width: int, device: torch.device) -> torch.Tensor:
    """Return (size, width): sines and cosines of places (Vaswani et al., 2017, section 3.5)."""
    places = torch.arange(start, start + size, device=device, dtype=torch.float32)
    steps = torch.arange(0, width, 2, device=device, dtype=torch.float32)
    angles = places[:, None] * torch.exp(steps * (-math.log(10000.0) / width))
    return torch.cat([angles.sin(), angles.cos()], 1)[:, :width]
