"""A private run: pay, then take noisy steps, and go on where it was killed."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.models.device import keep_memory
from genie_dp.models.loop import Checkpoint, learning_rate, load_checkpoint, save_checkpoint
from genie_dp.private import secure
from genie_dp.private.generators.models import collate
from genie_dp.private.ledger.files import hold_lock
from genie_dp.private.ledger.guard import Units, closing, paid_by
from genie_dp.private.ledger.once import PaidRun
from genie_dp.private.training.randomness import reseed_torch, sample_units, source_of
from genie_dp.private.training.settings import DPSettings
from genie_dp.records import Spent

Collate = Callable[[Sequence[Any]], Any]
Spend = Callable[[Sequence[Any]], Spent]
Listen = Callable[[dict[str, int]], None]

NOT_COVERED = (
    "floating point: noise is drawn in double precision and rounded, its distribution not discrete",
    "the time and the memory that training took, which follow the sizes of batches",
)


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """The publishable facts of a run.

    Attributes:
        spent: the guarantee of all that was released.
        steps: noisy steps taken, over all starts of the run.
    """

    spent: Spent
    steps: int


class PrivateRun:
    """Noisy steps on private rows, once they are paid.

    `train_privately` is the usual way. A loop of one's own calls `resume` and `pay`, and alternates
    `run.step(run.draw())` with steps on public rows; the optimizer forgets the gradients that those
    leave.

    Attributes:
        spent: the guarantee, once it is paid.
        steps: noisy steps taken, over all starts of the run.
    """

    def __init__(
        self,
        model: Any,
        units: Units[Sequence[Any]],
        settings: DPSettings,
        *,
        collate: Collate = collate,
        listen: Listen | None = None,
    ):
        """Check the engine on this model, and prepare; no private row is looked at.

        Args:
            model: has `loss(batch)`, (B,) nats; its weights are the starting point.
            units: encoded rows by unit.
            settings: how to train.
            collate: makes a batch of rows.
            listen: is called with the number of steps, and nothing else.

        Raises:
            GenieError: the engine cannot be used with this model (Q021 to Q025), or Opacus is not
                installed (Q020).
        """
        need_opacus()
        from genie_dp.private.training.banded import banded_noise
        from genie_dp.private.training.check import check_engine
        from genie_dp.private.training.engines import PrivateOptimizer, engine_of

        keep_memory()
        check_engine(model, settings.engine, collate=collate)
        self.model, self.settings, self.collate, self.listen = model, settings, collate, listen
        self._units = units
        self._groups: list[list[Sequence[Any]]] = []
        self._bytes = source_of(secure.seed_of_tests())
        self.trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.device = next(iter(self.trained.values())).device
        plain = torch.optim.AdamW(
            list(self.trained.values()),
            lr=settings.learning_rate,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        rates = [rate_at(settings, step) for step in range(settings.steps)]
        noise = banded_noise(settings, rates) if settings.bands > 1 else None
        self.optimizer = PrivateOptimizer(plain, settings, self._bytes, noise)
        self.engine = engine_of(settings.engine, model, self.optimizer)
        self.spent: Spent | None = None
        self.steps = 0

    def pay(self, spend: Spend) -> Spent:
        """Record all steps of the run, before the first gradient of a private row is taken.

        Raises:
            GenieError: there is no noise (Q026), or the budget does not suffice.
        """
        settings = self.settings
        if settings.noise_multiplier <= 0:
            message = "expected a noise multiplier above 0, got 0"
            hint = "training without privacy is genie_dp.models.loop"
            raise GenieError(Problem("Q026", message, hint=hint))
        self.spent = with_limits(paid_by(self._units, spend)((settings.mechanism,)))
        return self.spent

    def draw(self) -> tuple[Any, ...]:
        """Return the rows of the next step, by Poisson sampling; there may be none.

        With bands they are of the step's group of units.
        """
        bands, rate = self.settings.bands, self.settings.rate
        units: Sequence[Sequence[Any]] = self._units
        if bands > 1:
            if not self._groups:
                self._groups = groups_of(units, bands)
            units = self._groups[self.steps % bands]
        return sample_units(units, min(rate * bands, 1.0), draw=self._bytes, step=self.steps)

    def step(self, rows: Sequence[Any]) -> None:
        """Take one noisy step on a batch; without rows it is noise alone, and counts as well.

        The guarantee is that of `rows` drawn by `draw`. A number is used up before its noise is
        drawn, so the same noise never comes twice in a run.

        Raises:
            RuntimeError: the step is not paid.
        """
        settings, number = self.settings, self.steps
        if self.spent is None or number >= settings.steps:
            raise RuntimeError(f"step {number + 1} of {settings.steps} is not paid")
        self.model.train()
        self.optimizer.begin()
        devices = [self.device.index or 0] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            # Dropout's alone. One row more shifts the draws of all rows behind it, so that they are
            # as secret as the noise: if known, it would move the sum by more than one gradient.
            reseed_torch(self._bytes, number)
            for chunk in _chunks(rows, settings.chunk):
                self.engine.accumulate(self.collate(chunk).to(self.device))
        self.steps += 1
        for options in self.optimizer.param_groups:
            options["lr"] = rate_at(settings, number)
        self.optimizer.finish(number)

    def train(self, folder: Path | None = None) -> None:
        """Take the steps that are left; checkpoints go into the folder."""
        settings = self.settings
        while self.steps < settings.steps:
            self.step(self.draw())
            last = self.steps == settings.steps
            if folder is not None and (last or self.steps % settings.checkpoint_every == 0):
                self.state.save(folder, self.steps)
            if self.listen:
                self.listen({"step": self.steps, "steps": settings.steps})
        self.model.eval()

    @property
    def state(self) -> "RunState":
        """Return the state for checkpoints; all of it is released."""
        optimizers = {"optimizer": self.optimizer.original_optimizer}
        return RunState(self.trained, optimizers, self.settings.as_dict())

    def resume(self, folder: Path) -> None:
        """Go on from the newest checkpoint of a folder, if there is one."""
        self.steps = self.state.restore(folder)

    def close(self) -> None:
        """Take gradients of rows off the model."""
        self.optimizer.begin()


def groups_of(units: Iterable[Sequence[Any]], bands: int) -> list[list[Sequence[Any]]]:
    """Return the units of each group; a unit's group follows from its own rows.

    So it is the same after a run was interrupted, and no other unit has an influence on it.
    """
    groups: list[list[Sequence[Any]]] = [[] for _ in range(bands)]
    for unit in units:
        sequences = repr(sorted(tuple(row.tokens) for row in unit)).encode()
        groups[int.from_bytes(hashlib.sha256(sequences).digest()[:8]) % bands].append(unit)
    return groups


def rate_at(settings: DPSettings, step: int) -> float:
    """Return the learning rate of a step; it is never 0, for each step was paid.

    >>> s = DPSettings(1.0, rate=0.1, steps=4, batch=8, learning_rate=1.0, warmup=0.0)
    >>> [rate_at(s, step) for step in range(4)]
    [0.875, 0.625, 0.375, 0.125]
    """
    progress = (step + 0.5) / settings.steps
    if settings.schedule == "constant" and progress >= settings.warmup:
        return settings.learning_rate
    return learning_rate(progress, peak=settings.learning_rate, warmup=settings.warmup)


def need_opacus() -> None:
    """Import Opacus, and restore the logging of the program after it.

    Opacus 1.6 sets up the root logger when imported (`opacus/utils/module_utils.py`): from then on
    messages of all libraries would be on stderr.

    Raises:
        GenieError: it is not installed (Q020).
    """
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        import opacus.optimizers.optimizer  # noqa: F401
    except ImportError as problem:
        hint = "pip install 'genie_dp[private]'"
        message = "training with differential privacy needs Opacus"
        raise GenieError(Problem("Q020", message, hint=hint)) from problem
    root.handlers[:] = before


def train_privately(
    model: Any,
    units: Units[Sequence[Any]],
    settings: DPSettings,
    *,
    spend: Spend,
    folder: Path | None = None,
    listen: Listen | None = None,
    collate: Collate = collate,
) -> TrainedModel:
    """Train a model with DP-SGD (Abadi et al., 2016) and return the guarantee.

    The engine is checked on made-up rows and a checkpoint is looked for, then `spend` is called,
    and only then is the first gradient of a private row taken. All steps are paid at once, also
    those of a run that is never finished.

    Args:
        model: has `loss(batch)`, (B,) nats; it has the noisy weights afterwards.
        units: encoded rows by unit; a step sees at most one row of each.
        settings: how to train.
        spend: the `Payer` of the rows' ledger: it records mechanisms before anything is released,
            or raises, and the result. Called again for a resumed run: the ledger knows it by its
            name (`once.name_run`).
        folder: where checkpoints go, and where a run that was interrupted goes on from.
        listen: is called with the number of steps, and nothing else.
        collate: makes a batch of rows.

    Raises:
        GenieError: there is no noise (Q026), the engine cannot be used with this model (Q021 to
            Q025), the checkpoint is of another run (Q030) or not the newest (Q031), another process
            trains in the folder (Q032), or the budget does not suffice; the run has released other
            weights (B032): its folder was put back.
    """
    run = PrivateRun(model, units, settings, collate=collate, listen=listen)
    try:
        with train_alone(folder) if folder else nullcontext():
            if folder is not None:
                run.resume(folder)
            spent = run.pay(spend)
            run.train(folder)
            closing(spend).close(digest_of_weights([model]))
    finally:
        run.close()
    return TrainedModel(spent, run.steps)


def with_limits(spent: Spent) -> Spent:
    """Return the guarantee with the limits of training."""
    more = (*NOT_COVERED, *([] if secure.seed_of_tests() is None else [secure.SEEDED]))
    new = tuple(line for line in more if line not in spent.not_covered)
    return replace(spent, not_covered=(*spent.not_covered, *new))


def _chunks(rows: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Return the rows by length, so many at a time: little padding, and the same sum."""
    ranked = sorted(rows, key=lambda row: len(row.tokens))
    return [ranked[i : i + size] for i in range(0, len(ranked), size)]


# -------------------------------------------------------------------------------- checkpoints
#
# A checkpoint holds what was released: noisy weights, the optimizer's averages of noisy gradients,
# the number of steps. It holds no random state: with a seed all follows from seed and step, and
# without one the next draws come from the operating system; noise that lay in a file could be taken
# away again. The run's name lies in the folder, too (`ledger.once`).


@contextmanager
def train_alone(folder: Path) -> Iterator[None]:
    """Train in a folder as the only process: two would release twice what was paid once.

    Raises:
        GenieError: another one does (Q032).
    """
    folder.mkdir(parents=True, exist_ok=True)
    hint = "wait for it, or give another folder"
    busy = Problem("Q032", f"another process trains in {folder}", hint=hint)
    with hold_lock(folder / ".train.lock", wait=0, busy=busy):
        yield


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run, which checkpoints hold.

    Attributes:
        trained: the parameters.
        optimizers: by name.
        settings: those that a resumed run must share, for JSON.
        code: of the error if a checkpoint is of other settings or of another model.
    """

    trained: Mapping[str, Any]
    optimizers: Mapping[str, Any]
    settings: Mapping[str, Any]
    code: str = "Q030"

    def save(self, folder: Path, step: int) -> None:
        """Write the state after a step, and note that the step is released.

        It appears whole or not at all, in place of the one before.
        """
        facts = {"step": step, "settings": self.settings}
        save_checkpoint(folder, Checkpoint(dict(self._tensors()), facts))
        PaidRun.enter(folder).note_released(step)

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, p in self.trained.items():
            yield f"model.{name}", p.detach().clone()
        for prefix, optimizer in self.optimizers.items():
            for i, state in optimizer.state_dict()["state"].items():
                tensors = ((name, x) for name, x in state.items() if isinstance(x, torch.Tensor))
                yield from ((f"{prefix}.{i}.{name}", x) for name, x in tensors)

    def restore(self, folder: Path) -> int:
        """Load the newest state of a folder; return its step, 0 without one.

        Raises:
            GenieError: it is of other settings or of another model (`code`), a later one is
                missing (Q031), or it cannot be read (M003).
        """
        checkpoint = _load_newest(folder)
        if checkpoint is None:
            return 0
        self._check_same(checkpoint, folder)
        with torch.no_grad():
            for name, value in checkpoint.part("model.").items():
                self.trained[name].copy_(value)
        for prefix, optimizer in self.optimizers.items():
            states: dict[int, dict[str, torch.Tensor]] = {}
            for name, x in checkpoint.part(f"{prefix}.").items():
                number, _, key = name.partition(".")
                states.setdefault(int(number), {})[key] = x
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": states, "param_groups": groups})
        return int(checkpoint.facts["step"])

    def _check_same(self, found: Checkpoint, folder: Path) -> None:
        shapes = {name: x.shape for name, x in found.part("model.").items()}
        if shapes != {name: p.shape for name, p in self.trained.items()}:
            message = f"the checkpoint in {folder} is of another model"
            hint = "make the model as before, or give another folder"
            raise GenieError(Problem(self.code, message, hint=hint))
        before, now = found.facts["settings"], self.settings
        changed = sorted(n for n in {*before, *now} if before.get(n) != now.get(n))
        if changed:
            message = (
                f"the checkpoint in {folder} is of a run with other settings: {', '.join(changed)}"
            )
            hint = (
                "give the same settings; in another folder it is another run, which is paid again"
            )
            raise GenieError(Problem(self.code, message, hint=hint))


def _load_newest(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint, None where nothing was released.

    Raises:
        GenieError: a later one is missing (Q031), or it cannot be read (M003).
    """
    checkpoint = load_checkpoint(folder)
    message = f"the newest checkpoint of {folder} is missing: its steps would be released twice"
    hint = "put it back, or train in another folder, which is paid again"
    lost = Problem("Q031", message, hint=hint)
    run, step = PaidRun.enter(folder), int(checkpoint.facts["step"]) if checkpoint else 0
    run.check_kept(step, lost)
    run.note_released(step)  # it was killed before it noted so, perhaps
    return checkpoint


def digest_of_weights(models: Iterable[Any]) -> str:
    """Return a hash of all weights of models: the release of a training."""
    sha256 = hashlib.sha256()
    for model in models:
        for name, value in sorted(model.state_dict().items()):
            sha256.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            sha256.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return sha256.hexdigest()
