"""Private training of a generator: one noise multiplier, one entry in the ledger for all of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.generators.codes import released
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.released import load_weights, save_weights
from genie_dp.private.generators.stages import STAGES, Kind, Labelled, StageName, encoded
from genie_dp.private.ledger.accounting import Accountant
from genie_dp.private.ledger.calibration import noise_multiplier_for
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism, PoissonGaussian
from genie_dp.private.training.libraries import need_opacus
from genie_dp.private.training.run import train_privately
from genie_dp.private.training.settings import DPSettings, EngineName, rate_of, steps_of
from genie_dp.records import Spent

Told = Callable[[StageName, Mapping[str, int]], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do to private data; public numbers only.

    Attributes:
        noise_multiplier: of all stages.
        rate: chance of a unit to be in a step's batch.
        batch: expected units of a step's batch.
        steps: of each stage.
        code_noise: noise multiplier of the histogram of control codes; 0 without one.
    """

    noise_multiplier: float
    rate: float
    batch: float
    steps: Mapping[StageName, int]
    code_noise: float = 0.0

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return what the ledger is told, before anything is released."""
        histogram = [Gaussian(self.code_noise)] if self.code_noise else []
        stages = (self.stage(name) for name in self.steps)
        return (*histogram, *stages)

    def stage(self, name: StageName) -> PoissonGaussian:
        """Return what the training of one stage is to the accountant."""
        return PoissonGaussian(self.noise_multiplier, self.rate, self.steps[name])


@dataclass(frozen=True, slots=True)
class Amount:
    """How much training there is, in public numbers.

    Attributes:
        epochs: of each stage of the kind, in order: T, or T1 and T2.
        batch: expected units of a batch.
        about: a public estimate of how many units there are.
        code_noise: noise multiplier of the histogram of control codes.
    """

    epochs: tuple[float, ...]
    batch: float
    about: float
    code_noise: float = 10.0

    def steps(self, kind: Kind) -> dict[StageName, int]:
        """Return the steps of each stage.

        Raises:
            GenieError: H001, epochs that the kind has no stages for; H002, no such batch.
        """
        stages = STAGES[kind]
        if len(self.epochs) != len(stages) or not all(
            0 < epochs < math.inf for epochs in self.epochs
        ):
            names = " and ".join(stage.name for stage in stages)
            message = f"expected epochs of {kind} for {names}, got {self.epochs}"
            hint = "give --epochs T1/T2, such as 2/8" if len(stages) == 2 else "give --epochs T"
            raise GenieError(Problem("H001", message, hint=hint))
        rate = self.rate
        return {
            stage.name: steps_of(epochs, rate)
            for stage, epochs in zip(stages, self.epochs, strict=True)
        }

    @property
    def rate(self) -> float:
        """Return the chance of a unit to be in a batch."""
        try:
            return rate_of(self.batch, self.about)
        except ValueError as error:
            hint = "give --about, roughly how many units there are, and a smaller --batch"
            raise GenieError(Problem("H002", str(error), hint=hint)) from None


def plan_of(
    kind: Kind,
    amount: Amount,
    *,
    epsilon: float,
    delta: float,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = "rdp",
) -> Plan:
    """Return the plan with the least noise that epsilon allows.

    One noise multiplier is found for the steps of all stages together (algorithm 2, line 1, and
    appendix C.2): stages that got budgets of their own would need more noise.

    Args:
        kind: which stages there are.
        amount: how much training.
        epsilon, delta: of this run, together with `before`.
        before: what was spent already, to use up what is left of a budget; () for this run alone.
        accountant: who computes epsilon.

    Raises:
        GenieError: H001, H002; B002 to B004, there is no such noise.
    """
    steps = amount.steps(kind)
    histogram = (Gaussian(amount.code_noise),) if kind == "control" else ()
    noise = noise_multiplier_for(
        epsilon,
        delta,
        rate=amount.rate,
        steps=sum(steps.values()),
        before=(*before, *histogram),
        accountant=accountant,
    )
    return Plan(
        noise, amount.rate, amount.batch, steps, amount.code_noise if kind == "control" else 0.0
    )


@dataclass(frozen=True, slots=True)
class Training:
    """How the noisy steps are taken; see `training.settings.DPSettings`.

    Attributes:
        clip: 0.1, the paper's.
        learning_rate: highest one.
        engine: how gradients of single rows are made.
        chunk: rows whose gradients are in memory at a time.
        checkpoint_every: steps between checkpoints.
        seed: of batches and noise, in tests; None is the operating system's generator.
    """

    clip: float = 0.1
    learning_rate: float = 1e-3
    engine: EngineName = "vmap"
    chunk: int = 8
    checkpoint_every: int = 100
    seed: int | None = None

    def of(self, plan: Plan, stage: StageName, *, number: int) -> DPSettings:
        """Return the settings of a stage; no two stages have the same noise."""
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
            seed=None if self.seed is None else self.seed + number,
        )


def fit_privately(
    generator: Generator,
    units: Sequence[Sequence[Labelled]],
    plan: Plan,
    training: Training,
    *,
    spend: Callable[[Sequence[Mechanism]], Spent],
    folder: Path | None = None,
    listen: Told | None = None,
) -> tuple[Generator, Spent]:
    """Return the generator as private rows teach it, and what was spent.

    All that the run will do is recorded at once, before the histogram or the first step; every
    stage then draws on that entry. Stages are independent of each other (section 3.2).

    Args:
        generator: publicly pretrained, or new; its models are trained in place.
        units: private rows by unit, as `programs.private_rows` gives them.
        plan: what will be done.
        training: how.
        spend: records mechanisms in the ledger, or raises; called again for the same run it
            records nothing.
        folder: where checkpoints go, and where an interrupted run goes on from.
        listen: is told the stage and its steps, and nothing else.

    Raises:
        GenieError: those of `train_privately`; the budget does not suffice.
    """
    check_engines(generator, training.engine)
    spent = spend(plan.mechanisms)
    if generator.codes is not None:
        generator = generator.with_weights(_weights(generator, units, plan, training, folder))
    for number, stage in enumerate(STAGES[generator.kind]):
        model = generator.models[stage.name]
        rows = [
            [encoded(stage, row, generator.tokenizer, longest=model.longest) for row in unit]
            for unit in units
        ]
        trained = train_privately(
            model,
            rows,
            training.of(plan, stage.name, number=number),
            spend=_part_of(plan, spend),
            folder=folder and folder / stage.name,
            listen=_listener(stage.name, listen),
        )
        spent = trained.spent
    return generator, spent


def check_engines(generator: Generator, engine: EngineName) -> None:
    """Refuse an engine that cannot take the models, before anything is paid.

    Raises:
        GenieError: Opacus is not installed (Q020); the engine takes no such model (Q021 to Q025).
    """
    need_opacus()
    from genie_dp.private.training.check import check_engine

    for model in generator.models.values():
        check_engine(model, engine)


def _part_of(
    plan: Plan, spend: Callable[[Sequence[Mechanism]], Spent]
) -> Callable[[Sequence[Mechanism]], Spent]:
    """Return what says of a stage's mechanisms that the run has recorded them."""

    def recorded(mechanisms: Sequence[Mechanism]) -> Spent:
        if not set(mechanisms) <= set(plan.mechanisms):
            raise ValueError(f"expected mechanisms of the plan, got {mechanisms}")
        return spend(plan.mechanisms)

    return recorded


def _listener(name: StageName, listen: Told | None) -> Callable[[dict[str, int]], None] | None:
    if listen is None:
        return None
    told = listen
    return lambda event: told(name, event)


def _weights(
    generator: Generator,
    units: Sequence[Sequence[Labelled]],
    plan: Plan,
    training: Training,
    folder: Path | None,
) -> tuple[float, ...]:
    """Return the noisy distribution of codes; it is drawn once in the life of a run."""
    codes = generator.codes
    assert codes is not None
    # In the folder of the stage: without it, the run has another name and is paid again.
    there = folder and folder / STAGES[generator.kind][-1].name
    found = load_weights(there)
    if found is None:
        rows = [[row.code for row in unit] for unit in units if unit]
        found = released(codes, rows, plan.code_noise, seed=training.seed)
        save_weights(there, found)
    return found


def trainable(model: Any) -> int:
    """Return how many weights are trained."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
