"""One training loop for all networks: steps, averages, validation, checkpoints, exact resume."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.learn.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from genie_dp.learn.data import Batches
from genie_dp.learn.ema import Average, current, put
from genie_dp.learn.metrics import Event, Listener
from genie_dp.learn.processes import Group
from genie_dp.learn.schedule import Budget, learning_rate
from genie_dp.rng import child_seed


class Validation(NamedTuple):
    """What a validation found: a score, higher is better, and the standard error of it."""

    score: float
    error: float = 0.0


Validate = Callable[[Any], Validation]


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """How to train; the defaults are those of the recurrent network (docs/learning.md).

    Attributes:
        budget: when training ends.
        rate: highest learning rate; networks with attention layers want 1.5e-3.
        warmup: share of the budget until it is reached; then it falls to zero in a line.
        weight_decay, betas: of AdamW (Loshchilov and Hutter, 2019).
        clip: largest norm of the gradient.
        average: decay of the running average of weights.
        accumulate: batches of a step.
        bf16: whether matrices are multiplied in bfloat16.
        seed: of everything random.
        validations: how often in the budget the validation score is asked for.
        patience: validations without a better score until training ends; None for never.
        checkpoint_every: steps between checkpoints.
        log_every: steps between events.
    """

    budget: Budget
    rate: float = 1e-2
    warmup: float = 0.06
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    average: float = 0.999
    accumulate: int = 1
    bf16: bool = False
    seed: int = 0
    validations: int = 10
    patience: int | None = None
    checkpoint_every: int = 500
    log_every: int = 50


@dataclass(slots=True)
class Progress:
    """Where a run stands; all of it is in a checkpoint.

    Attributes:
        step: steps done.
        seconds: spent in steps, over all starts of the run.
        validations: how many were done.
        best: best validation score, `best_error` its standard error, and `best_step` when.
        waited: validations since.
        kept_step: when the weights were what the run ends with.
        loss: sum of the losses per token since the last event.
        used: share of the budget.
    """

    step: int = 0
    seconds: float = 0.0
    validations: int = 0
    best: float | None = None
    best_error: float = 0.0
    best_step: int = 0
    waited: int = 0
    kept_step: int = 0
    loss: float = 0.0
    used: float = 0.0


class Run:
    """One run of training."""

    def __init__(
        self,
        model: Any,
        batches: Batches,
        settings: TrainSettings,
        *,
        group: Group | None = None,
        listen: Listener | None = None,
        validate: Validate | None = None,
    ):
        """Prepare a run; the model's weights are what it starts from.

        Args:
            model: has `loss(batch)`, (B,) nats; its device is the run's.
            batches: the data.
            settings: how to train.
            group: this process among several.
            listen: is told what happens.
            validate: gives a score of the model, higher is better, with its standard error; it
                sees the averaged weights.
        """
        self.model, self.batches, self.settings = model, batches, settings
        self.group = group or Group()
        self.listen = listen if listen and self.group.rank == 0 else None
        self.validate = validate
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.device = self.trained[0].device
        self.optimizer = torch.optim.AdamW(
            self.trained,
            lr=settings.rate,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        self.average = Average(model, settings.average)
        self.best: dict[str, torch.Tensor] = {}
        self.progress = Progress()

    def train(self, folder: Path | None = None) -> Progress:
        """Train to the end of the budget or of patience; the model then has the final weights.

        With validation these are the averaged weights of the last score that is no more than a
        standard error below the best, else the last weights. Of scores that chance may have put in
        order, the last one is of weights that learned longer, at a lower rate.

        Args:
            folder: where checkpoints go, and where a run that was interrupted goes on from.

        Raises:
            GenieError: M003, the folder's checkpoint is of another run; M008, the loss diverged.
        """
        if folder is not None:
            self.resume(folder)
        self.model.train()
        with torch.random.fork_rng(devices=_devices(self.device)):
            while not self.finished:
                self._advance(folder)
        if self.best:
            put(self.model, self.best)
        self.model.eval()
        return self.progress

    @property
    def finished(self) -> bool:
        """Tell whether budget or patience is used up."""
        patience = self.settings.patience
        return self.progress.used >= 1.0 or (
            patience is not None and self.progress.waited >= patience
        )

    def _advance(self, folder: Path | None) -> None:
        loss = self._step()
        now = self.progress
        now.loss += loss
        if now.step % self.settings.log_every == 0:
            self._tell()
        if self.validate and now.used * self.settings.validations >= now.validations + 1:
            self._validate(self.validate)
        if folder is not None and (now.step % self.settings.checkpoint_every == 0 or self.finished):
            self._save(folder)

    def _step(self) -> float:
        """Take one step; return its loss per token. Its random numbers follow from its number."""
        start = time.monotonic()
        settings, now, group = self.settings, self.progress, self.group
        _seed(self.device, child_seed(settings.seed, "step", now.step, group.rank))
        numbers = range(now.step * settings.accumulate, (now.step + 1) * settings.accumulate)
        drawn = [self.batches.take(n, group.rank, group.world) for n in numbers]
        total = sum(tokens for _, tokens in drawn) or 1.0
        loss = sum(self._backward(batch, total) for batch, _ in drawn)
        loss, seconds = group.sum_gradients(self.trained, loss=loss, seconds=now.seconds)
        if not math.isfinite(loss):
            raise _diverged(now.step + 1)
        rate = learning_rate(self._used(seconds), peak=settings.rate, warmup=settings.warmup)
        for options in self.optimizer.param_groups:
            options["lr"] = rate
        torch.nn.utils.clip_grad_norm_(self.trained, settings.clip)
        self.optimizer.step()
        for p in self.trained:
            p.grad = None
        self.average.update(self.model, now.step)
        now.step += 1
        now.seconds = seconds + time.monotonic() - start
        # Of the agreed time, so that all processes end with the same step.
        now.used = self._used(seconds)
        return loss

    def _backward(self, batch: Any, total: float) -> float:
        batch = batch.to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16):
            losses = self.model.loss(batch)
        loss = (losses * batch.weights).sum() / total
        loss.backward()
        return float(loss.detach())

    def _used(self, seconds: float) -> float:
        epochs = self.progress.step * self.settings.accumulate / self.batches.per_epoch
        return self.settings.budget.progress(
            steps=self.progress.step, epochs=epochs, seconds=seconds
        )

    def _tell(self) -> None:
        now = self.progress
        loss = now.loss / self.settings.log_every
        now.loss = 0.0
        if self.listen:
            self.listen(self._event(loss=loss, rate=self.optimizer.param_groups[0]["lr"]))

    def _event(self, **values: float) -> Event:
        now = self.progress
        epoch = now.step * self.settings.accumulate / self.batches.per_epoch
        return {"step": now.step, "epoch": round(epoch, 4), "seconds": now.seconds, **values}

    def _validate(self, validate: Validate) -> None:
        now = self.progress
        with self.average.applied(self.model), torch.no_grad():
            found = validate(self.model) if self.group.rank == 0 else Validation(0.0)
            score, error = (self.group.agreed(x, self.device) for x in found)
        now.validations = int(now.used * self.settings.validations)
        if now.best is None or score > now.best:
            now.best, now.best_error, now.best_step, now.waited = score, error, now.step, 0
        else:
            now.waited += 1
        if score >= now.best - now.best_error:
            now.kept_step = now.step
            self.best = {name: x.clone() for name, x in self.average.weights.items()}
        if self.listen:
            self.listen(self._event(score=score, best=now.best))

    def _save(self, folder: Path) -> None:
        if self.group.rank == 0:
            facts = {**asdict(self.progress), "settings": self._comparable()}
            save_checkpoint(folder, Checkpoint(dict(self._tensors()), facts))
        self.group.wait()

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for prefix, weights in (
            ("model.", current(self.model)),
            ("average.", self.average.weights),
            ("best.", self.best),
        ):
            yield from ((prefix + name, x) for name, x in weights.items())
        for i, state in self.optimizer.state_dict()["state"].items():
            yield from ((f"optimizer.{i}.{name}", x) for name, x in state.items())

    def resume(self, folder: Path) -> bool:
        """Go on from the newest checkpoint of a folder; tell whether there was one.

        Raises:
            GenieError: it is of a run with other settings, or of another number of processes.
        """
        found = load_checkpoint(folder)
        if found is None:
            return False
        facts = dict(found.facts)
        if facts.pop("settings") != self._comparable():
            message = f"the checkpoint in {folder} is of a run with other settings"
            hint = "give the same settings, or another folder"
            raise GenieError(Problem("M003", message, hint=hint))
        put(self.model, found.part("model."))
        averaged = found.part("average.")
        # In the model's order, which a file does not keep.
        self.average.weights = {n: averaged[n].to(self.device) for n in self.average.weights}
        self.best = {name: x.to(self.device) for name, x in found.part("best.").items()}
        self._load_optimizer(found.part("optimizer."))
        self.progress = Progress(**facts)
        return True

    def _comparable(self) -> dict[str, Any]:
        """Return all that the weights depend on, as JSON gives it back.

        Of several processes each draws its own random numbers, so their number counts.
        """
        data = {**asdict(self.settings), "betas": list(self.settings.betas)}
        return {**data, "processes": self.group.world} if self.group.world > 1 else data

    def _load_optimizer(self, tensors: dict[str, torch.Tensor]) -> None:
        states: dict[int, dict[str, torch.Tensor]] = {}
        for name, x in tensors.items():
            number, _, key = name.partition(".")
            states.setdefault(int(number), {})[key] = x
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": states, "param_groups": groups})


def _diverged(step: int) -> GenieError:
    """Return the error of a run whose weights are of no use: they answer with no numbers."""
    message = f"expected a loss that is a number, got none at step {step}: training diverged"
    return GenieError(Problem("M008", message, hint="start again with a lower learning rate"))


def _seed(device: torch.device, seed: int) -> None:
    """Seed what a device draws from.

    `torch.manual_seed` also prepares for devices that nobody uses, in half a millisecond.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _devices(device: torch.device) -> list[int]:
    return [device.index or 0] if device.type == "cuda" else []
