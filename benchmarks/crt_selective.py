"""Selective DP-SGD (Shi et al., 2021), to compare confidentially redacted training with.

It has noise for sensitive tokens, and none for others: a row is cut where its words begin or end to
be sensitive. Losses of the plain stretches are learned by plain steps, those of the sensitive ones
by noisy steps, and the state that leaves a sensitive stretch is clipped and gets noise, once. It
protects what the policy finds; of what the policy misses it promises nothing. It needs the states
of a model of one layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from genie_dp.models.layers import Module
from genie_dp.private import secure
from genie_dp.private.generators.alternating import AlternatingRun
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.models import UNSCORED, RecurrentLM, cell_step, collate
from genie_dp.private.generators.plans import NO_GUARANTEE, PublicSteps, TrainingSchedule
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.generators.tokenizer import Tokenizer
from genie_dp.private.ledger.guard import Units
from genie_dp.private.training.randomness import gaussian, source_of
from genie_dp.private.training.run import PrivateRun
from genie_dp.private.training.settings import DPSettings


@dataclass(frozen=True, slots=True)
class SelectiveSettings:
    """How states are released.

    Attributes:
        clip: largest norm of a state, hidden and cell together.
        noise_multiplier: standard deviation of its noise, in such norms.
        crossings: how often a row may go from sensitive to plain; then the rest is sensitive.
    """

    clip: float = 1.0
    noise_multiplier: float = 1.0
    crossings: int = 4


@dataclass(frozen=True, slots=True)
class Stretches:
    """A row as ids, with the sensitive ones; its text is not shown.

    Attributes:
        tokens: ids, BEGIN to END.
        sensitive: whether each is.
        scored_from: as in Encoded.
    """

    tokens: tuple[int, ...] = field(repr=False)
    sensitive: tuple[bool, ...] = field(repr=False)
    scored_from: int = 1


@dataclass(frozen=True, slots=True)
class StretchBatch:
    """B rows, T tokens in the widest.

    Attributes:
        inputs, targets, weights: as in Sequences.
        guarded: (B, T) places that read or predict a sensitive token.
        noise: (B, T, 2 d) for the states that are released there.
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor
    guarded: torch.Tensor
    noise: torch.Tensor

    def to(self, device: torch.device | str) -> "StretchBatch":
        """Return the same on a device."""
        parts = (self.inputs, self.targets, self.weights, self.guarded, self.noise)
        return StretchBatch(*(x.to(device) for x in parts))


def stretches(
    words: Sequence[tuple[str, bool]], tokenizer: Tokenizer, *, longest: int
) -> Stretches:
    """Return words, each with whether it is sensitive, as ids."""
    ids, marks = [tokenizer.begin], [False]
    for word, is_sensitive in words:
        spelled = tokenizer.spell(word)
        ids += spelled
        marks += [is_sensitive] * len(spelled)
    ids.append(tokenizer.end)
    marks.append(False)
    return Stretches(tuple(ids[: longest + 1]), tuple(marks[: longest + 1]))


def guarded_places(sensitive: Sequence[bool], crossings: int) -> tuple[bool, ...]:
    """Return for each input whether it or its target is sensitive; one fewer than tokens.

    >>> guarded_places([False, False, True, False, False], 1)
    (False, True, True, False)
    >>> guarded_places([True, False, False, True, False, False], 1)
    (True, False, True, True, True)
    """
    guarded: list[bool] = []
    crossed = 0
    for here, then in zip(sensitive[:-1], sensitive[1:], strict=True):
        is_guarded = here or then
        if guarded and guarded[-1] and not is_guarded:
            crossed += 1
            is_guarded = crossed > crossings
        guarded.append(is_guarded)
    return tuple(guarded)


def collate_stretches(rows: Sequence[Any], *, size: int, crossings: int) -> StretchBatch:
    """Return rows as a batch without noise; a row of Encoded counts as sensitive throughout."""
    plain = collate([EncodedRow(row.tokens, row.scored_from) for row in rows])
    guarded = torch.zeros(plain.inputs.shape, dtype=torch.bool)
    for i, row in enumerate(rows):
        marks = getattr(row, "sensitive", (True,) * len(row.tokens))
        places = guarded_places(marks, crossings)
        guarded[i, : len(places)] = torch.tensor(places)
    noise = torch.zeros(*plain.inputs.shape, 2 * size)
    return StretchBatch(plain.inputs, plain.targets, plain.weights, guarded, noise)


def part_losses(model: Any, batch: StretchBatch, clip: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows' losses in nats, (B,) each: of plain places, and of guarded ones.

    The first depends on sensitive tokens through released states alone: clipped, with noise, and
    without a gradient.
    """
    scores = _scores(model, batch, clip)
    losses = -scores.gather(2, batch.targets.clamp(min=0)[:, :, None])[:, :, 0]
    losses = losses * (batch.targets != UNSCORED)
    return (losses * ~batch.guarded).sum(1), (losses * batch.guarded).sum(1)


def _scores(model: Any, batch: StretchBatch, clip: float) -> torch.Tensor:
    """Return (B, T, V) log-probabilities; states that leave guarded places are released first."""
    x, layer = model.words(batch.inputs), model.recurrent
    gates = torch.nn.functional.linear(x, layer.weight_ih_l0, layer.bias_ih_l0)
    state = x.new_zeros(x.shape[0], batch.noise.shape[2])
    outputs = []
    for t in range(x.shape[1]):
        if t:
            leaves = (batch.guarded[:, t - 1] & ~batch.guarded[:, t])[:, None]
            released = clip_states(state.detach(), clip) + batch.noise[:, t]
            state = torch.where(leaves, released, state)
        hidden, cell = cell_step(layer, gates[:, t], *state.chunk(2, 1))
        state = torch.cat([hidden, cell], 1)
        outputs.append(hidden)
    scores: torch.Tensor = model.head(torch.stack(outputs, 1)).float().log_softmax(2)
    return scores


def clip_states(states: torch.Tensor, clip: float) -> torch.Tensor:
    """Return (B, d) states of norm `clip` at most.

    >>> clip_states(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    norms = states.norm(dim=1, keepdim=True).clamp(min=1e-12)
    return states * (clip / norms).clamp(max=1.0)


class _Guarded(Module):
    """What is learned with noise: the losses of guarded places."""

    def __init__(self, model: Any, clip: float):
        super().__init__()
        self.model, self.clip = model, clip

    def loss(self, batch: StretchBatch) -> torch.Tensor:
        return part_losses(self.model, batch, self.clip)[1]


class SelectiveRun(AlternatingRun):
    """Steps of two halves on the same rows: a plain one, then a noisy one."""

    def __init__(
        self,
        model: RecurrentLM,
        rows: Sequence[Sequence[Stretches]],
        *,
        plain: PublicSteps,
        noisy: DPSettings,
        states: SelectiveSettings,
        listen: Any = None,
    ):
        """Prepare; rows are drawn as in DP-SGD."""
        self.states = states
        self._rows = rows
        super().__init__(model, (), Units(()), epochs=1, plain=plain, noisy=noisy, listen=listen)
        self._bytes = source_of(secure.seed_of_tests())

    def _private_run(self, model: Any, private: Any, noisy: DPSettings) -> PrivateRun:
        return PrivateRun(
            _Guarded(model, self.states.clip), Units(self._rows), noisy, collate=self._collate
        )

    def _collate(self, rows: Sequence[Any]) -> StretchBatch:
        size = self.model.recurrent.hidden_size
        return collate_stretches(rows, size=size, crossings=self.states.crossings)

    def step(self) -> float | None:
        """Take the next step; its losses are private."""
        assert self.private is not None
        rows = self.private.draw()
        if rows:
            self._plain_half(self._collate(rows))
        self.private.step(rows)
        self.number += 1
        return None

    def _plain_half(self, batch: StretchBatch) -> None:
        states = self.states
        noise = gaussian(self._bytes, batch.noise.numel(), "states", self.number)
        std = states.clip * states.noise_multiplier
        released = noise.view(batch.noise.shape).float() * std
        batch = StretchBatch(batch.inputs, batch.targets, batch.weights, batch.guarded, released)
        losses, _ = part_losses(self.model, batch.to(self.model.device), states.clip)
        scored = ((batch.targets != UNSCORED) & ~batch.guarded).sum().clamp(min=1)
        (losses.sum() / float(scored)).backward()
        self.descend((self.number + 0.5) / self.steps)


def fit_selectively(
    generator: Generator, words: Sequence[Sequence[tuple[str, bool]]], schedule: TrainingSchedule
) -> None:
    """Train a generator of utterances in place.

    Args:
        words: of each row, and whether each is sensitive.
        schedule: the steps; its plan says how many private steps there are.
    """
    assert schedule.plan is not None
    assert schedule.public is not None
    model = generator.models["utterance"]
    rows = [(stretches(row, generator.tokenizer, longest=model.longest),) for row in words]
    noisy = schedule.noisy.for_stage(schedule.plan, "utterance")
    states = SelectiveSettings()
    run = SelectiveRun(model, rows, plain=schedule.public, noisy=noisy, states=states)
    run.pay(lambda _: NO_GUARANTEE)
    run.train()
    run.close()
