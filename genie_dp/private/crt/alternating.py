"""Runs of steps with noise and without: algorithm 1, and selective DP-SGD as a baseline.

Algorithm 1 of CRT has epochs of plain steps on the public part, and of noisy ones on the private
part. Selective DP-SGD (Shi et al., 2021) has noise for sensitive tokens, and none for others: a row
is cut where its words begin or end to be sensitive. Losses of the plain stretches are learned by
plain steps, those of the sensitive ones by noisy steps, and the state that leaves a sensitive
stretch is clipped and gets noise, once. It protects what the policy finds; of what the policy
misses it promises nothing, which is why it is here to be compared with. It needs the states of a
model of one layer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.models.layers import Module
from genie_dp.models.loop import Checkpoint
from genie_dp.private import secure
from genie_dp.private.crt.config import OptimizerName, PublicSettings, SelectiveSettings
from genie_dp.private.generators.models import UNSCORED, RecurrentLM, cell_step, collate
from genie_dp.private.generators.pretraining import EncodedBatches
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.generators.tokenizer import Tokenizer
from genie_dp.private.ledger.guard import Units
from genie_dp.private.training.randomness import gaussian, source_of
from genie_dp.private.training.run import PrivateRun, Spend, load_newest, save_once
from genie_dp.private.training.settings import DPSettings
from genie_dp.records import Spent
from genie_dp.rng import child_seed

Listen = Callable[[Mapping[str, Any]], None]
_OF_PUBLIC, _OF_PRIVATE = "public.", "private."


class AlternatingRun:
    """Steps of both parts in their order. Without one of them it is plain training, or DP-SGD.

    A minibatch is of one part alone: if it held rows of both, every step would need the noise
    (appendix A.6, 6).
    """

    def __init__(
        self,
        model: Any,
        public: Sequence[EncodedRow],
        private: Units[Sequence[EncodedRow]],
        *,
        epochs: int,
        plain: PublicSettings,
        noisy: DPSettings | None,
        listen: Listen | None = None,
    ):
        """Check the engine, and prepare; nothing is looked at.

        Args:
            model: has `loss(batch)`, (B,) nats; its weights are what the run starts from.
            public: encoded rows; none for DP-SGD alone.
            private: encoded rows by unit.
            epochs: how often both parts are gone through.
            plain: how public steps are taken.
            noisy: how private steps are; its steps are those of all epochs. None for no such steps.
            listen: is told the step, and losses of public batches.

        Raises:
            GenieError: the engine cannot be used with the model (Q020 to Q025).
        """
        if epochs < 1 or (noisy is not None and noisy.steps % epochs):
            raise ValueError("expected at least one epoch, and as many private steps in each")
        self.model, self.plain, self.noisy, self.listen = model, plain, noisy, listen
        self.epochs = epochs
        self.trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.batches = EncodedBatches(public, size=plain.batch, seed=plain.seed) if public else None
        self.optimizer = new_optimizer(plain.optimizer, list(self.trained.values()))
        self.private = None if noisy is None else self._private_run(model, private, noisy)
        if self.private is not None and plain.optimizer == "sgd":
            plain_sgd = new_optimizer("sgd", list(self.trained.values()))
            self.private.optimizer.original_optimizer = plain_sgd
        self.number = 0

    def _private_run(
        self, model: Any, private: Units[Sequence[EncodedRow]], noisy: DPSettings
    ) -> PrivateRun:
        return PrivateRun(model, private, noisy)

    @property
    def public_each(self) -> int:
        """Return the public batches of an epoch; rows that fill no batch wait for another one."""
        return 0 if self.batches is None else int(self.batches.per_epoch)

    @property
    def private_each(self) -> int:
        """Return the private steps of an epoch: such that a unit is drawn once on average."""
        return 0 if self.noisy is None else self.noisy.steps // self.epochs

    @property
    def steps(self) -> int:
        """Return the steps of the whole run."""
        return self.epochs * (self.public_each + self.private_each)

    def is_public(self, number: int) -> bool:
        """Tell whether step `number` is one on public rows: the first of each epoch are."""
        return number % (self.public_each + self.private_each) < self.public_each

    def pay(self, spend: Spend) -> Spent | None:
        """Record all private steps; None where there are none."""
        return None if self.private is None else self.private.pay(spend)

    def step(self) -> float | None:
        """Take the next step; return the loss per token where it was on public rows."""
        loss = None
        if self.is_public(self.number):
            loss = self._public_step()
        else:
            assert self.private is not None
            self.private.step(self.private.draw())
        self.number += 1
        return loss

    def train(
        self, folder: Path | None = None, *, checkpoint_every: int = 100, until: int | None = None
    ) -> None:
        """Take the steps that are left, up to number `until`; checkpoints go into the folder."""
        while self.number < (self.steps if until is None else until):
            loss = self.step()
            last = self.number == self.steps
            if folder is not None and (last or self.number % checkpoint_every == 0):
                self.save(folder)
            if self.listen:
                event = {"step": self.number, "steps": self.steps}
                self.listen(event if loss is None else {**event, "loss": loss})
        self.model.eval()

    def _public_step(self) -> float:
        """Take one step of plain gradient descent on a batch of public rows."""
        assert self.batches is not None
        epoch, place = divmod(self.number, self.public_each + self.private_each)
        done = epoch * self.public_each + place
        batch, scored = self.batches.take(done)
        trained = list(self.trained.values())
        for p in trained:
            p.grad = None
        self.model.train()
        device = trained[0].device
        with torch.random.fork_rng([device.index or 0] if device.type == "cuda" else []):
            torch.manual_seed(child_seed(self.plain.seed, "public step", done) % 2**63)
            loss = self.model.loss(batch.to(device)).sum() / scored
            loss.backward()
        self.descend((done + 0.5) / (self.epochs * self.public_each))
        return float(loss.detach())

    def descend(self, progress: float) -> None:
        """Take a plain step along the gradients that are there, after a share of the run."""
        trained = list(self.trained.values())
        if self.plain.clip:
            torch.nn.utils.clip_grad_norm_(trained, self.plain.clip)
        for options in self.optimizer.param_groups:
            options["lr"] = self.plain.rate_at(progress)
        self.optimizer.step()
        for p in trained:
            p.grad = None

    def save(self, folder: Path) -> None:
        """Write a checkpoint: weights and both optimizers; no random state (see training)."""
        facts = {"step": self.number, "settings": self._settings()}
        save_once(folder, Checkpoint(dict(self._tensors()), facts))

    def _settings(self) -> dict[str, Any]:
        return {
            "epochs": self.epochs,
            "public": asdict(self.plain),
            "public rows": 0 if self.batches is None else len(self.batches.rows),
            "private": None if self.noisy is None else self.noisy.as_dict(),
        }

    def _optimizers(self) -> dict[str, Any]:
        optimizers = {_OF_PUBLIC: self.optimizer}
        if self.private is not None:
            optimizers[_OF_PRIVATE] = self.private.optimizer.original_optimizer
        return optimizers

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, p in self.trained.items():
            yield f"model.{name}", p.detach().clone()
        for prefix, optimizer in self._optimizers().items():
            for i, state in optimizer.state_dict()["state"].items():
                tensors = ((n, x) for n, x in state.items() if isinstance(x, torch.Tensor))
                yield from ((f"{prefix}{i}.{name}", x) for name, x in tensors)

    def resume(self, folder: Path) -> None:
        """Go on from the newest checkpoint of a folder, if there is one.

        Raises:
            GenieError: it is of another run (O005) or not the newest (Q031), or it cannot be read
                (M003).
        """
        checkpoint = load_newest(folder)
        if checkpoint is None:
            return
        weights = checkpoint.part("model.")
        shapes = {name: x.shape for name, x in weights.items()}
        is_same_model = shapes == {name: p.shape for name, p in self.trained.items()}
        if not is_same_model or checkpoint.facts["settings"] != self._settings():
            message = f"the checkpoint in {folder} is of another run: other settings, or rows"
            hint = "give the options and rows of the first start; another run is paid again"
            raise GenieError(Problem("O005", message, hint=hint))
        with torch.no_grad():
            for name, value in weights.items():
                self.trained[name].copy_(value)
        for prefix, optimizer in self._optimizers().items():
            _restore(optimizer, checkpoint.part(prefix))
        self.number = int(checkpoint.facts["step"])
        if self.private is not None:
            whole, place = divmod(self.number, self.public_each + self.private_each)
            done = whole * self.private_each + max(0, place - self.public_each)
            self.private.steps = done

    def close(self) -> None:
        """Take gradients of rows off the model."""
        if self.private is not None:
            self.private.close()


def _restore(optimizer: Any, tensors: Mapping[str, torch.Tensor]) -> None:
    states: dict[int, dict[str, torch.Tensor]] = {}
    for name, x in tensors.items():
        number, _, key = name.partition(".")
        states.setdefault(int(number), {})[key] = x
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": states, "param_groups": groups})


def new_optimizer(name: OptimizerName, trained: Sequence[Any]) -> Any:
    """Return an optimizer; its learning rate is set at each step."""
    if name == "sgd":
        return torch.optim.SGD(list(trained), lr=0.0)
    return torch.optim.AdamW(list(trained), lr=0.0, weight_decay=0.0, fused=True)


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
        plain: PublicSettings,
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

    def _settings(self) -> dict[str, Any]:
        # The number of rows may be told: nothing is promised of them.
        return {**super()._settings(), "states": asdict(self.states), "rows": len(self._rows)}

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
