"""The plan of a private run, in public numbers; its noise, and the file that a resumed run reads.

Nothing here needs torch.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.generators.stages import STAGES, Kind, StageName
from genie_dp.private.ledger.accounting import DEFAULT, Accountant, least_noise
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism, PoissonGaussian
from genie_dp.private.training.settings import (
    DPSettings,
    EngineName,
    Schedule,
    noisy_steps,
    rate_of,
    steps_of,
)
from genie_dp.records import Spent

PLAN = "plan.json"
# More give no number of steps.
_MOST_EPOCHS = 1e6
# Of noisy steps, for the own decoder (docs/research/private-training.md) and others.
RATE, RATE_OF_OTHERS = 2e-2, 2e-3
BANDED_RATE = 5e-2  # with bands, where little of the noise is left
# Of Adam; for the own decoder what was best of a few (docs/research/benchmarks.md, "Settings").
MOMENTUM, MOMENTUM_OF_OTHERS = 0.5, 0.9
# Where settings are chosen by trials: how many on average, and the share of units that score.
TRIALS_MEAN, HELD_OUT = 4.0, 0.1
# Codes of errors, by whether epochs are whole.
_EPOCHS_CODE = {False: "H001", True: "O007"}
_BATCH_CODE = {False: "H002", True: "O006"}
OptimizerName = Literal["adamw", "sgd"]
NO_GUARANTEE = Spent(
    math.inf,
    0.0,
    "utterance",
    "add-or-remove-one",
    "none",
    ("anything: this model is a baseline, trained without a guarantee",),
)


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast this machine trains a model, in seconds.

    Attributes:
        row: of the gradient of a private row.
        step: of a noisy step beside its rows: noise and optimizer.
        public_row: of a public row in pretraining.
    """

    row: float
    step: float
    public_row: float

    def seconds(self, steps: int, batch: float) -> float:
        """Return how long noisy steps take."""
        return steps * (self.step + batch * self.row)


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """The steps and noise of a run on private data; public numbers only.

    Attributes:
        noise_multiplier: of all stages.
        rate: chance of a unit to be in a step's batch.
        batch: expected units of a step's batch.
        steps: of each stage.
        code_noise: noise multiplier of the histogram of control codes; 0 without one.
        bands: of the noise, at most; no more than a stage has steps (`training.banded`).
    """

    noise_multiplier: float
    rate: float
    batch: float
    steps: Mapping[StageName, int]
    code_noise: float = 0.0
    bands: int = 1

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms for the ledger, before anything is released."""
        histogram = [Gaussian(self.code_noise)] if self.code_noise else []
        stages = (self.stage(name) for name in self.steps)
        return (*histogram, *stages)

    def stage(self, name: StageName) -> PoissonGaussian:
        """Return the mechanism of the training of one stage."""
        steps = self.steps[name]
        return noisy_steps(self.noise_multiplier, self.rate, steps, min(self.bands, steps))

    def save(self, folder: Path) -> None:
        """Write the plan, synced, before it is paid."""
        replace_durably(folder / PLAN, json.dumps({**asdict(self), "steps": dict(self.steps)}))

    @classmethod
    def load(cls, folder: Path) -> "TrainingPlan | None":
        """Return the plan of a folder, None where there is none yet."""
        if not (folder / PLAN).exists():
            return None
        return cls(**json.loads((folder / PLAN).read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class TrainingAmount:
    """How much training there is, in public numbers.

    Attributes:
        epochs: of each stage of the kind, in order: T, or T1 and T2.
        batch: expected units of a batch.
        about: a public estimate of how many units there are.
        code_noise: noise multiplier of the histogram of control codes.
        bands: of the noise, at most.
        is_whole: whether there are whole epochs, each of as many steps: public steps alternate
            with them.
    """

    epochs: tuple[float, ...]
    batch: float
    about: float
    code_noise: float = 10.0
    bands: int = 1
    is_whole: bool = False

    def epochs_by_stage(self, kind: Kind) -> dict[StageName, float]:
        """Return the epochs of each stage.

        Raises:
            GenieError: H001, or O007 of whole epochs: the kind has no stages for them.
        """
        names = [stage.name for stage in STAGES[kind]]
        if len(self.epochs) != len(names) or not all(0 < n <= _MOST_EPOCHS for n in self.epochs):
            stages, whole = " and ".join(names), "whole " if self.is_whole else ""
            message = f"expected {whole}epochs of {kind} for {stages}, got {list(self.epochs)}"
            hint = "give --epochs T1/T2, such as 2/8" if len(names) == 2 else "give --epochs T"
            raise GenieError(Problem(_EPOCHS_CODE[self.is_whole], message, hint=hint))
        return dict(zip(names, self.epochs, strict=True))

    def steps(self, kind: Kind) -> dict[StageName, int]:
        """Return the steps of each stage.

        >>> TrainingAmount((3,), batch=3, about=10).steps("one-stage")
        {'utterance': 10}
        >>> TrainingAmount((3,), batch=3, about=10, is_whole=True).steps("one-stage")
        {'utterance': 12}

        Raises:
            GenieError: those of `epochs_by_stage` and `rate`; H002, too few units for so many
                bands.
        """
        epochs, rate = self.epochs_by_stage(kind), self.rate
        if self.is_whole:
            return {name: int(n) * steps_of(1, rate) for name, n in epochs.items()}
        steps = {name: steps_of(n, rate) for name, n in epochs.items()}
        if max(min(self.bands, count) for count in steps.values()) * rate > 1:
            message = f"expected at most {1 / rate:.0f} bands, got {self.bands}"
            hint = "a step is of one group: give fewer --bands or a smaller --batch"
            raise GenieError(Problem("H002", message, hint=hint))
        return steps

    @property
    def rate(self) -> float:
        """Return the chance of a unit to be in a batch.

        Raises:
            GenieError: H002, or O006 of whole epochs: there are fewer units than a batch has.
        """
        try:
            return rate_of(self.batch, self.about)
        except ValueError as error:
            hint = "give --estimated-units, roughly how many units there are, and a smaller --batch"
            raise GenieError(Problem(_BATCH_CODE[self.is_whole], str(error), hint=hint)) from None


def read_epochs(text: str, *, is_whole: bool = False) -> tuple[float, ...]:
    """Return the epochs of the stages of a training, in their order.

    >>> read_epochs("2/7.5")
    (2.0, 7.5)

    Raises:
        GenieError: H001, or O007 of whole epochs: they are no numbers.
    """
    try:
        return tuple(map(int if is_whole else float, text.split("/")))
    except ValueError:
        message = f"no {'whole ' if is_whole else ''}epochs: {text!r}"
        hint = "such as 10, or 2/8 for two stages"
        raise GenieError(Problem(_EPOCHS_CODE[is_whole], message, hint=hint)) from None


def plan_training(
    kind: Kind,
    amount: TrainingAmount,
    *,
    epsilon: float,
    delta: float,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = DEFAULT,
) -> TrainingPlan:
    """Return the plan with the least noise that epsilon allows.

    One noise multiplier is found for the steps of all stages together (algorithm 2, line 1, and
    appendix C.2): stages that got budgets of their own would need more noise.

    Args:
        kind: which stages there are.
        amount: how much training.
        epsilon, delta: of this run, together with `before`.
        before: earlier spends, to use up the remaining budget; () for this run alone.
        accountant: who computes epsilon.

    Raises:
        GenieError: those of `TrainingAmount.steps`; B002 to B004, there is no such noise.
    """
    steps = amount.steps(kind)
    histogram = (Gaussian(amount.code_noise),) if kind == "control" else ()
    # Without bands all steps are alike, whatever their stage.
    each = steps.values() if amount.bands > 1 else [sum(steps.values())]
    noise = least_noise(
        lambda noise: [noisy_steps(noise, amount.rate, n, min(amount.bands, n)) for n in each],
        epsilon,
        delta,
        before=(*before, *histogram),
        accountant=accountant,
    )
    codes = amount.code_noise if kind == "control" else 0.0
    return TrainingPlan(noise, amount.rate, amount.batch, steps, codes, amount.bands)


@dataclass(frozen=True, slots=True)
class NoisySteps:
    """How the noisy steps are taken; see `training.settings.DPSettings`.

    Attributes:
        clip: 0.1, the paper's.
        learning_rate: highest one; that of the own decoder (docs/research/private-training.md).
        engine: how gradients of single rows are made.
        chunk: rows whose gradients are in memory at a time.
        checkpoint_every: steps between checkpoints.
        momentum: share of earlier gradients in Adam's first average.
    """

    clip: float = 0.1
    learning_rate: float = 2e-2
    engine: EngineName = "vmap"
    chunk: int = 8
    checkpoint_every: int = 100
    momentum: float = 0.9

    def for_stage(self, plan: TrainingPlan, stage: StageName) -> DPSettings:
        """Return the settings of a stage."""
        return DPSettings(
            noise_multiplier=plan.noise_multiplier,
            rate=plan.rate,
            steps=plan.steps[stage],
            batch=plan.batch,
            clip=self.clip,
            learning_rate=self.learning_rate,
            engine=self.engine,
            chunk=self.chunk,
            checkpoint_every=self.checkpoint_every,
            betas=(self.momentum, 0.999),
            bands=min(plan.bands, plan.steps[stage]),
        )


@dataclass(frozen=True, slots=True)
class PublicSteps:
    """How steps on public rows are taken, where they alternate with noisy ones.

    Attributes:
        batch: rows of a batch.
        learning_rate: highest learning rate.
        schedule, warmup: as those of private steps.
        clip: largest norm of a batch's gradient; 0 for none.
        optimizer: of both parts, each with a state of its own.
        seed: of the order of rows.
    """

    batch: int = 64
    learning_rate: float = 2e-3
    schedule: Schedule = "linear"
    warmup: float = 0.06
    clip: float = 1.0
    optimizer: OptimizerName = "adamw"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch < 1 or not self.learning_rate > 0 or not self.clip >= 0:
            raise ValueError(f"expected a batch of 1 or more, a positive rate, clip >= 0: {self}")
        if not 0 <= self.warmup < 1 or self.optimizer not in get_args(OptimizerName):
            raise ValueError(f"expected warmup in [0, 1), optimizer adamw or sgd: {self}")

    def rate_at(self, progress: float) -> float:
        """Return the learning rate after a share of the run."""
        if self.schedule == "constant" and progress >= self.warmup:
            return self.learning_rate
        from genie_dp.models.loop import learning_rate

        return learning_rate(progress, peak=self.learning_rate, warmup=self.warmup)


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """The steps of a training; public numbers only.

    Attributes:
        plan: the noisy steps; None for a baseline without any.
        noisy: how they are taken.
        public: how steps on public rows are taken, which come before the noisy ones in each epoch;
            None without any.
        epochs: of each stage, where public steps are taken.
    """

    plan: TrainingPlan | None
    noisy: NoisySteps = field(default_factory=NoisySteps)
    public: PublicSteps | None = None
    epochs: tuple[int, ...] = ()
