"""Token sequences that a causal language model learns from, and its loss on them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from genie_dp.private.generators.encoded import Encoded

__all__ = ["UNSCORED", "Encoded", "Sequences", "collate", "losses"]

# The target of a place that is not scored: prompts and padding. Id 0 is a real token of GPT-2.
UNSCORED = -100


@dataclass(frozen=True, slots=True)
class Sequences:
    """A batch: B rows, T tokens in the widest, padded on the right.

    Attributes:
        inputs: (B, T) ids; 0 behind the end.
        targets: (B, T) ids of the tokens after them; UNSCORED for prompts and padding.
        weights: (B,) factors of the rows' losses.
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device | str) -> "Sequences":
        """Return the same on a device."""
        return Sequences(self.inputs.to(device), self.targets.to(device), self.weights.to(device))


def collate(
    rows: Sequence[Encoded], *, width: int | None = None, weights: Sequence[float] = ()
) -> Sequences:
    """Return rows as one batch, as wide as its widest row or as `width`.

    >>> collate([Encoded((2, 7, 1, 8, 3), scored_from=3), Encoded((2, 9, 3))]).targets.tolist()
    [[-100, -100, 8, 3], [9, 3, -100, -100]]
    """
    wide = width or max(len(row.tokens) for row in rows) - 1
    inputs = torch.zeros(len(rows), wide, dtype=torch.int64)
    targets = torch.full((len(rows), wide), UNSCORED)
    for i, row in enumerate(rows):
        ids = torch.tensor(row.tokens, dtype=torch.int64)
        inputs[i, : len(ids) - 1] = ids[:-1]
        targets[i, row.scored_from - 1 : len(ids) - 1] = ids[row.scored_from :]
    return Sequences(inputs, targets, torch.tensor(weights or [1.0] * len(rows)))


def losses(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return (B,) losses in nats, summed over each row's scored places.

    Rows are never averaged together: the gradient of a row is to be clipped by itself.

    Args:
        logits: (B, T, V).
        targets: (B, T) ids, UNSCORED where nothing is scored.
    """
    scores = logits.float().log_softmax(2)
    found = scores.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0]
    return -(found * (targets != UNSCORED)).sum(1)
