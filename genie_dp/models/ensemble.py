"""Several networks of one vocabulary that say together what comes next."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import torch
from torch import nn

from genie_dp.models.batches import Batch, Source
from genie_dp.models.layers import Module
from genie_dp.models.seq2seq import Tensors, build, loss_mask
from genie_dp.models.sizes import EnsembleSettings
from genie_dp.models.vocabulary import Vocabulary


class EnsembleNetwork(Module):
    """Networks whose probabilities are averaged, token by token (Hansen and Salamon, 1990).

    It is for use, not for training: its members learn by themselves, each with a seed of its own.
    """

    def __init__(self, vocabulary: Vocabulary, settings: EnsembleSettings):
        """Make the members; their weights are still to be set."""
        super().__init__()
        self.members = nn.ModuleList(
            build(member["architecture"], vocabulary, member["settings"])[0]
            for member in settings.members
        )
        # How many tensors of a memory and of a state are whose.
        self._memories: list[int] = []
        self._states: list[int] = []

    def score(self, batch: Batch) -> torch.Tensor:
        """Return (B, T): log-probabilities of the targets, 0 at padding."""
        return _mean([member.score(batch) for member in self.members])

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over tokens."""
        return -(self.score(batch) * loss_mask(batch.targets)).sum(1)

    def encode(self, source: Source) -> Tensors:
        """Return the memories of all members, one behind the other."""
        memories = [member.encode(source) for member in self.members]
        self._memories = [*map(len, memories)]
        return _join(memories)

    def begin(self, memory: Tensors) -> Tensors:
        """Return the states of all members before the first token."""
        parts = zip(self.members, _split(memory, self._memories), strict=True)
        states = [member.begin(own) for member, own in parts]
        self._states = [*map(len, states)]
        return _join(states)

    def step(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, Tensors]:
        """Return (B, P + S) log-probabilities of the next extended ids, and the states after."""
        parts = zip(
            self.members,
            _split(memory, self._memories),
            _split(state, self._states),
            strict=True,
        )
        results = [member.step(own, before, tokens) for member, own, before in parts]
        return _mean([scores for scores, _ in results]), _join([after for _, after in results])


def _mean(scores: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return logarithms of mean probabilities."""
    return torch.stack([*scores]).logsumexp(0) - math.log(len(scores))


def _join(parts: Sequence[Tensors]) -> Tensors:
    return tuple(tensor for part in parts for tensor in part)


def _split(tensors: Tensors, sizes: Sequence[int]) -> Iterator[Tensors]:
    rest = iter(tensors)
    return (tuple(islice(rest, size)) for size in sizes)
