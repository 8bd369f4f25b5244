"""The training loop of all networks: budget, averages, validation, checkpoints, metrics, resume."""

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from genie_dp.errors import GenieError, Problem
from genie_dp.models.device import keep_memory
from genie_dp.models.layers import Module
from genie_dp.models.mixture import Batches
from genie_dp.models.processes import Group
from genie_dp.models.saved import save_tensors
from genie_dp.rng import child_seed
from genie_dp.run.files import sync


class Average:
    """Exponential moving average of the weights that are trained.

    It starts as a plain mean (decay (1 + step) / (10 + step)), so that it is usable from the first
    steps on (Tan and Le, 2019; reference implementation of TensorFlow).
    """

    def __init__(self, model: Module, decay: float = 0.999):
        self.decay = decay
        self.weights = {
            name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad
        }

    def update(self, model: Module, step: int) -> None:
        """Move towards the weights after a step."""
        decay = min(self.decay, (1 + step) / (10 + step))
        now = [p.detach() for _, p in model.named_parameters() if p.requires_grad]
        torch._foreach_lerp_(list(self.weights.values()), now, 1 - decay)

    @contextmanager
    def apply_to(self, model: Module) -> Iterator[None]:
        """Let the model have the averaged weights, in evaluation mode, for a while."""
        own = current(model)
        training = model.training
        put(model, self.weights)
        model.eval()
        try:
            yield
        finally:
            put(model, own)
            model.train(training)


def current(model: Module) -> dict[str, torch.Tensor]:
    """Return copies of the weights that are trained."""
    return {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}


def put(model: Module, weights: dict[str, torch.Tensor]) -> None:
    """Set weights of a model."""
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value)


@dataclass(frozen=True, slots=True)
class TrainingBudget:
    """When training ends: after steps or epochs, and after so many seconds at the latest.

    The schedule follows the share that is used up most, so it ends well whatever comes first. Two
    runs that seconds end are never the same.

    >>> TrainingBudget(steps=200).progress(steps=50, epochs=1.5, seconds=3.0)
    0.25
    """

    steps: int | None = None
    epochs: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        limits = [x for x in (self.steps, self.epochs, self.seconds) if x is not None]
        if not limits or min(limits) <= 0 or (self.steps and self.epochs):
            raise ValueError(f"expected steps or epochs, or seconds, got {self}")

    def progress(self, *, steps: int, epochs: float, seconds: float) -> float:
        """Return the share of the budget that is used up, at most 1."""
        done = ((steps, self.steps), (epochs, self.epochs), (seconds, self.seconds))
        return min(1.0, max(used / limit for used, limit in done if limit is not None))


def learning_rate(progress: float, *, peak: float, warmup: float) -> float:
    """Return the rate at a share of the budget: up in a line, then down in a line to zero.

    >>> [round(learning_rate(p, peak=1.0, warmup=0.1), 2) for p in (0.05, 0.1, 0.55, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    if progress < warmup:
        return peak * progress / warmup
    return peak * (1.0 - progress) / (1.0 - warmup)


TENSORS, FACTS = "state.safetensors", "state.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run: tensors by name, and facts that JSON can hold."""

    tensors: Mapping[str, torch.Tensor]
    facts: Mapping[str, Any]

    def part(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return the tensors whose names begin so, without the beginning."""
        size = len(prefix)
        return {name[size:]: x for name, x in self.tensors.items() if name.startswith(prefix)}


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into `folder/step-N` and drop older ones; return where it is.

    It is written and synced under another name, then renamed: a process killed at any moment
    leaves the one before or this one.
    """
    target = folder / f"step-{checkpoint.facts['step']:08d}"
    if target.exists():
        # The same step of the same run: equal bytes, and never a moment without a checkpoint.
        return target
    part = folder / f".{target.name}.partial"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    save_tensors({n: x.contiguous() for n, x in checkpoint.tensors.items()}, part / TENSORS)
    (part / FACTS).write_text(json.dumps(checkpoint.facts), encoding="utf-8")
    for path in (part / TENSORS, part / FACTS, part):
        sync(path)
    part.replace(target)
    sync(folder)
    for old in checkpoints(folder)[:-1]:
        shutil.rmtree(old)
    return target


def checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints of a folder, oldest first."""
    return sorted(folder.glob("step-*"))


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint of a folder, or None where there is none.

    Raises:
        GenieError: it cannot be read.
    """
    folders = checkpoints(folder)
    if not folders:
        return None
    try:
        facts = json.loads((folders[-1] / FACTS).read_text(encoding="utf-8"))
        return Checkpoint(load_file(str(folders[-1] / TENSORS)), facts)
    except (OSError, ValueError, SafetensorError) as problem:
        message = f"expected a checkpoint in {folders[-1]}, got: {problem}"
        hint = "delete that folder to start again"
        raise GenieError(Problem("M003", message, hint=hint)) from problem


Event = Mapping[str, Any]
Listener = Callable[[Event], None]


class MetricsFile:
    """Events appended to a file; each is a whole line, so that it may be read at any time."""

    def __init__(self, path: Path):
        """Keep the path; the file is made with the first event."""
        self.path = path

    def __call__(self, event: Event) -> None:
        """Write an event."""
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(event) + "\n")

    def rewind(self, step: int) -> None:
        """Drop the events after a step: a resumed run does it again."""
        events = [event for event in read_metrics(self.path) if event["step"] <= step]
        part = self.path.with_name(f".{self.path.name}.partial")
        part.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        part.replace(self.path)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file; a last line that a kill cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


class Validation(NamedTuple):
    """The result of a validation: a score, higher is better, and the standard error of it."""

    score: float
    error: float = 0.0


Validate = Callable[[Any], Validation]


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """How to train; the defaults are those of the recurrent network (docs/research/learning.md).

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

    budget: TrainingBudget
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
class TrainingProgress:
    """Where a run stands; all of it is in a checkpoint.

    Attributes:
        step: steps done.
        seconds: spent in steps, over all starts of the run.
        validations: how many were done.
        best: best validation score, `best_error` its standard error, and `best_step` when.
        waited: validations since.
        kept_step: step of the weights that the run ends with.
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
        """Prepare a run; it starts from the model's weights.

        Args:
            model: has `loss(batch)`, (B,) nats; its device is the run's.
            batches: the data.
            settings: how to train.
            group: this process among several.
            listen: receives the events of the run.
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
        self.progress = TrainingProgress()

    def train(self, folder: Path | None = None) -> TrainingProgress:
        """Train to the end of the budget or of patience; the model then has the final weights.

        With validation these are the averaged weights of the last score that is no more than a
        standard error below the best, else the last weights. Of scores that chance may have put in
        order, the last one is of weights that learned longer, at a lower rate.

        Args:
            folder: where checkpoints go, and where a run that was interrupted goes on from.

        Raises:
            GenieError: M003, the folder's checkpoint is of another run; M008, the loss diverged.
        """
        keep_memory()
        if folder is not None:
            self.resume(folder)
        self.model.train()
        devices = [self.device.index or 0] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            while not self.is_finished:
                self._advance(folder)
        if self.best:
            put(self.model, self.best)
        self.model.eval()
        return self.progress

    @property
    def is_finished(self) -> bool:
        """Return whether budget or patience is used up."""
        patience = self.settings.patience
        return self.progress.used >= 1.0 or (
            patience is not None and self.progress.waited >= patience
        )

    def _advance(self, folder: Path | None) -> None:
        loss = self._step()
        progress = self.progress
        progress.loss += loss
        if progress.step % self.settings.log_every == 0:
            self._tell()
        if self.validate and progress.used * self.settings.validations >= progress.validations + 1:
            self._validate(self.validate)
        if folder is not None and (
            progress.step % self.settings.checkpoint_every == 0 or self.is_finished
        ):
            self._save(folder)

    def _step(self) -> float:
        """Take one step; return its loss per token. Its random numbers follow from its number."""
        start = time.monotonic()
        settings, progress, group = self.settings, self.progress, self.group
        _seed_device(self.device, child_seed(settings.seed, "step", progress.step, group.rank))
        numbers = range(
            progress.step * settings.accumulate, (progress.step + 1) * settings.accumulate
        )
        step_batches = [self.batches.take(n, group.rank, group.world) for n in numbers]
        total = sum(tokens for _, tokens in step_batches) or 1.0
        loss = sum(self._backward(batch, total) for batch, _ in step_batches)
        loss, seconds = group.sum_gradients(self.trained, loss=loss, seconds=progress.seconds)
        if not math.isfinite(loss):
            # Weights that answer with no numbers are of no use.
            number = progress.step + 1
            message = (
                f"expected a loss that is a number, got none at step {number}: training diverged"
            )
            hint = "start again with a lower learning rate"
            raise GenieError(Problem("M008", message, hint=hint))
        rate = learning_rate(self._spent_share(seconds), peak=settings.rate, warmup=settings.warmup)
        for options in self.optimizer.param_groups:
            options["lr"] = rate
        torch.nn.utils.clip_grad_norm_(self.trained, settings.clip)
        self.optimizer.step()
        for p in self.trained:
            p.grad = None
        self.average.update(self.model, progress.step)
        progress.step += 1
        progress.seconds = seconds + time.monotonic() - start
        # Of the agreed time, so that all processes end with the same step.
        progress.used = self._spent_share(seconds)
        return loss

    def _backward(self, batch: Any, total: float) -> float:
        batch = batch.to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16):
            losses = self.model.loss(batch)
        loss = (losses * batch.weights).sum() / total
        loss.backward()
        return float(loss.detach())

    def _spent_share(self, seconds: float) -> float:
        epochs = self.progress.step * self.settings.accumulate / self.batches.per_epoch
        return self.settings.budget.progress(
            steps=self.progress.step, epochs=epochs, seconds=seconds
        )

    def _tell(self) -> None:
        progress = self.progress
        loss = progress.loss / self.settings.log_every
        progress.loss = 0.0
        if self.listen:
            self.listen(self._event(loss=loss, rate=self.optimizer.param_groups[0]["lr"]))

    def _event(self, **values: float) -> Event:
        progress = self.progress
        epoch = progress.step * self.settings.accumulate / self.batches.per_epoch
        start = {"step": progress.step, "epoch": round(epoch, 4), "seconds": progress.seconds}
        return {**start, **values}

    def _validate(self, validate: Validate) -> None:
        progress = self.progress
        with self.average.apply_to(self.model), torch.no_grad():
            validation = validate(self.model) if self.group.rank == 0 else Validation(0.0)
            score, error = (self.group.broadcast(x, self.device) for x in validation)
        progress.validations = int(progress.used * self.settings.validations)
        if progress.best is None or score > progress.best:
            progress.best, progress.best_error = score, error
            progress.best_step, progress.waited = progress.step, 0
        else:
            progress.waited += 1
        if score >= progress.best - progress.best_error:
            progress.kept_step = progress.step
            self.best = {name: x.clone() for name, x in self.average.weights.items()}
        if self.listen:
            self.listen(self._event(score=score, best=progress.best))

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
        """Go on from the newest checkpoint of a folder; return whether there was one.

        Raises:
            GenieError: it is of a run with other settings, or of another number of processes.
        """
        checkpoint = load_checkpoint(folder)
        if checkpoint is None:
            return False
        facts = dict(checkpoint.facts)
        if facts.pop("settings") != self._comparable():
            message = f"the checkpoint in {folder} is of a run with other settings"
            hint = "give the same settings, or another folder"
            raise GenieError(Problem("M003", message, hint=hint))
        put(self.model, checkpoint.part("model."))
        averaged = checkpoint.part("average.")
        # In the model's order, which a file does not keep.
        self.average.weights = {n: averaged[n].to(self.device) for n in self.average.weights}
        self.best = {name: x.to(self.device) for name, x in checkpoint.part("best.").items()}
        self._load_optimizer(checkpoint.part("optimizer."))
        self.progress = TrainingProgress(**facts)
        return True

    def _comparable(self) -> dict[str, Any]:
        """Return everything that the weights depend on, as JSON gives it back.

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


def _seed_device(device: torch.device, seed: int) -> None:
    """Seed the random generators of a device.

    `torch.manual_seed` also prepares for unused devices, in half a millisecond.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
