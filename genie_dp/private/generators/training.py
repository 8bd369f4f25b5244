"""Training on private rows as a stage: pay, train with noise, deliver a generator.

Stages of `run` and of `private.crt` differ in their models and rows. Nothing here needs torch until
it trains.
"""

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from genie_dp.languages.base import Language
from genie_dp.private.generators.plans import (
    NoisySteps,
    TrainingAmount,
    TrainingPlan,
    plan_training,
    read_epochs,
)
from genie_dp.private.generators.selection import SelectionPlan
from genie_dp.private.generators.stages import RUN, Kind, LabelledRow
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer
from genie_dp.private.release import Release, ReleasePlan
from genie_dp.private.training.settings import CLIPS, ENGINES, EngineName
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import Spent
from genie_dp.rows import Rows, rows_of
from genie_dp.run.stage import Output, Result, write_over
from genie_dp.run.work import GENERATOR, Work, refuse_output
from genie_dp.stage.kernel import PAID_OVERWRITE, PAID_RESUME, OutputOption

if TYPE_CHECKING:
    from genie_dp.private.generators.generator import Generator
    from genie_dp.private.generators.models import Settings

Plan = TrainingPlan | SelectionPlan
_EPOCHS: Mapping[Kind, str] = {"one-stage": "10", "control": "10", "two-stage": "2/8"}


@dataclass(frozen=True, slots=True, repr=False)
class TrainingResult(Result):
    """A generator that was trained on private rows.

    Attributes:
        output: its folder.
        plan: its noisy steps, in public numbers; None for a baseline without any.
        spent: all that was spent of the rows' budget so far.
        budget: the promise; None for a baseline.
        seconds: how long all took.
    """

    output: str
    plan: TrainingPlan | None
    spent: Spent
    budget: Budget | None
    seconds: float = field(default=0.0, kw_only=True)

    def step_lines(self, ending: str) -> Iterator[str]:
        """Yield the noisy steps and the folder, with a remark on them."""
        noise = ""
        if self.plan is not None:
            steps = " + ".join(f"{count:,}" for count in self.plan.steps.values())
            noise = f"{steps} steps, noise multiplier {self.plan.noise_multiplier:g} "
        yield f"{noise}-> {self.output}{ending}"

    def budget_lines(self) -> Iterator[str]:
        """Yield the spends of the budget."""
        if self.budget is not None:
            budget = self.budget
            yield (
                f"spent so far: epsilon {self.spent.epsilon:.4g} of {budget.epsilon:g} at delta "
                f"{budget.delta:g}, unit {budget.unit}, {budget.accountant}"
            )


@dataclass(frozen=True, slots=True)
class TrainedGenerator:
    """A generator with the facts that `Training.finish` writes beside it.

    Attributes:
        generator: the models.
        spent: their guarantee.
        plan: the noisy steps; of trials those of the best; None without any.
        noisy: how they were taken.
        facts: public facts of the training, for configuration and card.
    """

    generator: "Generator"
    spent: Spent
    plan: TrainingPlan | None
    noisy: NoisySteps
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training(Release):
    """A stage that trains a generator on private rows.

    Every noisy step is recorded in the ledger before the first of them. The folder appears when it
    is complete; an interrupted run goes on for the same payment.

    Class attributes:
        has_whole_epochs: whether epochs are whole, as `TrainingAmount` has it.
    """

    output = OutputOption(
        "Where the generator goes. It appears when it is complete.",
        metavar="FOLDER",
        resume=PAID_RESUME,
        overwrite=PAID_OVERWRITE,
    )
    folder = GENERATOR
    not_public = "H008"
    has_whole_epochs: ClassVar[bool] = False
    conflict_code = "R041"

    kind: Kind = setting(REQUIRED, "Which stages there are.")
    epsilon: float | None = setting(
        None, "What this run costs by itself, at the budget's delta.", above=0
    )
    use_remaining_budget: bool = setting(
        False, "Instead of --epsilon: use up what is left of the budget.", value="flag"
    )
    estimated_units: float | None = setting(None, "How many units there are.", above=0, metavar="N")
    batch: float = setting(256.0, "Units of a batch, on average.", above=0)
    epochs: str | None = setting(None, "How often units are learned.", metavar="T|T1/T2")
    public: tuple[Rows | str | Path, ...] = setting(
        (), "Public rows.", value="text", metavar="FILE"
    )
    public_model: Path | None = setting(
        None,
        "Write there what the generator is before its first step on a private row: genie-dp "
        "private audit compares with it.",
        value="new folder",
    )
    size: int = setting(256, "Of the own decoder's states.", least=1)
    layers: int = setting(4, "Of the own decoder.", least=1)
    heads: int = setting(4, "Of the own decoder.", least=1)
    longest: int = setting(256, "Tokens of a row; what is longer is cut.", least=8)
    learning_rate: float | None = setting(
        None, "Highest learning rate on private rows: noisy steps want a high one.", above=0
    )
    clip: float = setting(
        0.1, "Largest norm of a private row's gradient.", least=CLIPS[0], most=CLIPS[1]
    )
    engine: EngineName = setting("vmap", "How gradients of single rows are made.", choices=ENGINES)
    chunk: int = setting(8, "Rows whose gradients are in memory at a time.", least=1)
    checkpoint_every: int = setting(
        100, "So often an interrupted run can go on.", least=1, metavar="STEPS"
    )
    seed: int = setting(
        0, "Of first weights and public batches. Private batches and noise have none."
    )
    device: str = setting("cpu", "cpu, cuda, cuda:1 ..", metavar="NAME")
    threads: int = setting(1, "Of torch.", least=1)

    def conflict(self, target: str | None = None) -> str | None:
        """Return the first of the `conflicts`."""
        return next(self.conflicts(), None)

    @abstractmethod
    def conflicts(self) -> Iterator[str]:
        """Yield which settings exclude or need each other."""

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return the files of public rows."""
        return [file for rows in map(rows_of, self.public) for file in rows.sources]

    @property
    @abstractmethod
    def noisy_steps(self) -> NoisySteps:
        """Return how noisy steps are taken."""

    @abstractmethod
    def model_settings(self) -> "Settings":
        """Return which model is trained."""

    @property
    def shared_settings(self) -> dict[str, Any]:
        """Return the settings that a resumed run must share, with defaults that follow from others.

        Machines may differ.
        """
        free = ("public", "device", "threads")
        return {
            **{name: value for name, value in self.settings.items() if name not in free},
            "kind": self.kind,
            "learning_rate": self.noisy_steps.learning_rate,
        }

    @property
    def amount(self) -> TrainingAmount:
        """Return how much training there is.

        Raises:
            GenieError: those of `read_epochs`.
        """
        is_whole = self.has_whole_epochs
        epochs = read_epochs(self.epochs or _EPOCHS[self.kind], is_whole=is_whole)
        return TrainingAmount(epochs, self.batch, self.estimated_units or 0.0, is_whole=is_whole)

    @property
    def plan_class(self) -> type[Plan]:
        """Return which plan the noisy steps have."""
        return TrainingPlan

    def plan_noise(self, **terms: Any) -> Plan:
        """Return the noisy steps with the least noise.

        Args:
            terms: epsilon, delta, mechanisms of before and accountant, as `plan_training` has them.

        Raises:
            GenieError: those of `plan_training`.
        """
        return plan_training(self.kind, self.amount, **terms)

    def plan_once(self, work: Path) -> Plan | None:
        """Return the noisy steps: those of an earlier start, or planned and kept now.

        None where no ledger pays for any.

        Raises:
            GenieError: past the budget (B023); those of `plan_noise`.
        """
        if self.ledger is None:
            return None
        plan = self.plan_class.load(work)
        if plan is None:
            budget = self.ledger.budget
            plan = self.plan_noise(
                epsilon=self.epsilon or budget.epsilon,
                delta=budget.delta,
                before=self.ledger.mechanisms if self.use_remaining_budget else (),
                accountant=budget.accountant,
            )
            self.ledger.check_fits(plan.mechanisms)
            plan.save(work)
        return plan

    def release(
        self, plan: ReleasePlan[Any], work: Work, progress: bool | None
    ) -> TrainedGenerator:
        """Return the trained generator."""
        from genie_dp.models.device import prepare_torch

        steps = self.plan_once(work.path)
        prepare_torch(self.device, self.threads)
        return self.train(plan.public, steps, work, progress)

    @abstractmethod
    def train(self, public: Any, plan: Any, work: Work, progress: bool | None) -> TrainedGenerator:
        """Return the trained generator.

        Args:
            public: the public inputs, as `plan` read them.
            plan: the noisy steps, None without any.
            work: the work folder.
            progress: whether to show progress.
        """

    def new_generator(
        self, language: Language, vocabulary: Sequence[LabelledRow], **terms: Any
    ) -> "Generator":
        """Return a generator that has learned nothing, on the device; see its `new_generator`."""
        from genie_dp.private.generators.generator import new_generator

        generator = new_generator(
            self.kind, language, vocabulary, self.model_settings(), seed=self.seed, **terms
        )
        for model in generator.models.values():
            model.to(self.device)
        return generator

    def facts_of(self, plan: TrainingPlan, noisy: NoisySteps, payer: Payer) -> dict[str, Any]:
        """Return public facts of the noisy steps, for configuration and card."""
        return {
            "noise multiplier": plan.noise_multiplier,
            "sampling rate": plan.rate,
            "steps": dict(plan.steps),
            "training": asdict(noisy),
            RUN: payer.run,
        }

    def finish(
        self,
        drawn: TrainedGenerator,
        plan: ReleasePlan[Any],
        made: Path,
        target: str,
        progress: bool | None,
    ) -> TrainingResult:
        """Write the folder of the generator."""
        from genie_dp.private.generators.generator import save_generator

        save_generator(drawn.generator, made, spent=drawn.spent, facts=drawn.facts)
        return self.result(drawn, plan.public, made, target)

    @abstractmethod
    def result(
        self, drawn: TrainedGenerator, public: Any, made: Path, target: str
    ) -> TrainingResult:
        """Return the result, after writing the other files of the folder.

        Args:
            drawn: the trained generator.
            public: the public inputs, as `plan` read them.
            made: the folder.
            target: its name.
        """

    def run(self, output: Output, *, progress: bool | None = None) -> Any:
        """Train, and write the folder of the generator; a run that is resumed pays once.

        Raises:
            GenieError: Opacus is not installed (Q020), the output is there (Y022) or no generator
                (H009), a public input is private (H008), past the budget (B023); those of `fit`.
        """
        started = time.monotonic()
        if self.ledger is not None:
            from genie_dp.private.training.run import need_opacus

            need_opacus()  # before the work, not after it
        if self.public_model is not None and not (output.overwrite or output.resume):
            refuse_output(self.public_model, output.work, GENERATOR, resume=False, overwrite=False)
        result: TrainingResult = Release.run(self, output, progress=progress)
        write_over("", show=progress)
        return replace(result, seconds=time.monotonic() - started)
