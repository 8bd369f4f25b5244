"""Dropout whose masks are cut out of numbers drawn once: on a CPU drawing is a tenth of a step."""

import torch
from torch import nn

from genie_dp.learn.module import Module

# Twice the largest activation of the default network (64 rows of 60 tokens by 256).
POOL = 1 << 21


class PooledDropout(Module):
    """Dropout (Srivastava et al., 2014); the same on average as torch's.

    On a CPU a mask is a random window of a pool, drawn when first needed from torch's generator.
    On other devices, and for more numbers than the pool has, it is torch's own.
    """

    def __init__(self, share: float):
        """Keep the share of numbers to drop."""
        super().__init__()
        self.share = share

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the numbers with some of them 0 and the others larger, while training."""
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu" or x.numel() >= POOL:
            return nn.functional.dropout(x, self.share)
        start = int(torch.randint(POOL - x.numel(), ()))
        mask = _pool(self.share, x.dtype)[start : start + x.numel()]
        return x * mask.view(x.shape)


_POOLS: dict[tuple[float, torch.dtype], torch.Tensor] = {}


def _pool(share: float, dtype: torch.dtype) -> torch.Tensor:
    # Drawn by a generator of its own, so that when it is drawn moves nothing else.
    if (share, dtype) not in _POOLS:
        draws = torch.rand(POOL, generator=torch.Generator().manual_seed(0))
        _POOLS[share, dtype] = ((draws >= share) / (1 - share)).to(dtype)
    return _POOLS[share, dtype]
