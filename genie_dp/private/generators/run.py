"""Generators as stages: one training for each kind; nothing here needs torch until it trains."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, render_problem
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.private.generators import rows as generator_rows
from genie_dp.private.generators.codes import Codes, code_of_set
from genie_dp.private.generators.plans import (
    BANDED_RATE,
    HELD_OUT,
    MOMENTUM,
    MOMENTUM_OF_OTHERS,
    RATE,
    RATE_OF_OTHERS,
    TRIALS_MEAN,
    NoisySteps,
    TrainingAmount,
    TrainingPlan,
    TrainingSchedule,
)
from genie_dp.private.generators.selection import Candidate, SelectionPlan, plan_selection
from genie_dp.private.generators.stages import (
    KINDS,
    STAGES,
    EncodedRow,
    Kind,
    LabelledRow,
    StageName,
    needs_programs,
)
from genie_dp.private.generators.training import (
    Plan,
    TrainedGenerator,
    Training,
    TrainingResult,
)
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units, refuse_learned
from genie_dp.private.ledger.mechanisms import SHAPES, Trials
from genie_dp.private.ledger.once import check_run_name, name_run
from genie_dp.private.release import ReleasePlan
from genie_dp.private.source import PrivateSource
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE, Example
from genie_dp.rows import Rows, rows_of, to_json
from genie_dp.run.files import sha256_of
from genie_dp.run.stage import tell, write_over
from genie_dp.run.work import Work
from genie_dp.stage.kernel import help_of
from genie_dp.templates.inputs import library_fingerprint

if TYPE_CHECKING:
    from genie_dp.private.generators.duration import Duration
    from genie_dp.private.generators.generator import Generator
    from genie_dp.private.generators.models import Settings

# With fewer public sentences a small decoder writes little English (docs/research/benchmarks.md,
# "What a generator lacks"): 752 were far too few, 12,000 a start, 48,000 better.
FEW_SENTENCES = 10_000
# What is tried of each setting that is tuned, times its value.
FACTORS = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True, repr=False)
class GeneratorResult(TrainingResult):
    """A generator that was trained on private rows.

    Attributes:
        plan: of the training, in public numbers.
        budget: the promise.
        doubts: warnings about the run; they were shown before anything was spent.
        learning_rate: that of the best of several trials, None where none were made.
    """

    plan: TrainingPlan
    budget: Budget
    doubts: tuple[Problem, ...]
    learning_rate: float | None = None

    def __repr__(self) -> str:
        amount = f"epsilon {self.spent.epsilon:.4g} of {self.budget.epsilon:g}"
        return f"GeneratorResult({self.output}: {amount} for each {self.budget.unit})"

    def lines(self) -> Iterator[str]:
        """Yield messages for the user."""
        ending = f" ({self.seconds:.0f} s)"
        if self.learning_rate is not None:  # the time would say how many trials there were
            ending = f": batch {self.plan.batch:g}, learning rate {self.learning_rate:g} are chosen"
        yield from self.step_lines(ending)
        yield from self.budget_lines()


@dataclass(frozen=True, slots=True)
class PublicInputs:
    """The public inputs of a training.

    Attributes:
        rows: public rows.
        codes: the control codes, if there are any.
    """

    rows: tuple[Example, ...]
    codes: Codes | None

    @property
    def sentences(self) -> int:
        """Return the number of different sentences."""
        return len({row.utterance for row in self.rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorTraining(Training):
    """Train a generator of rows that are like private ones.

    one-stage learns utterances; control learns utterances by their intent; two-stage learns
    programs, and utterances by their programs. PRIVATE is JSONL or TSV. The noise follows from
    epsilon, delta and the steps of all stages together; the cost is recorded in the ledger before
    the first step, and refused if the budget does not allow it.

    \b
    genie-dp private train two-stage private.jsonl --public pairs.jsonl --estimated-units 5000 \\
      --epsilon 3 --output generator
    genie-dp private sample generator --rows 1000 --output rows.jsonl
    """

    command = "private train"

    ledger: Ledger = setting(REQUIRED, "Their ledger, which pays.", value="ledger")
    kind: Kind = setting(REQUIRED, "Which stages there are.", choices=KINDS)
    estimated_units: float = setting(
        REQUIRED,
        "Public estimate of the number of units: utterances, dialogues or users.",
        above=0,
        metavar="N",
    )
    epochs: str | None = setting(
        None,
        "Epochs; of two stages T1 for programs and T2 for utterances [10, 2/8].",
        metavar="T|T1/T2",
    )
    public: tuple[Rows | str | Path, ...] = setting(
        (),
        "Public rows, such as those of synthesize: vocabulary, grammar, and what is learned before "
        "private rows are.",
        value="text",
        metavar="FILE",
    )
    pretraining: bool = setting(
        True,
        "Take vocabulary and grammar of the public rows alone.",
        option="no-pretraining",
        value="flag",
    )
    pretraining_epochs: float | None = setting(
        None,
        "Epochs of each stage on public rows [as many as make the training ten minutes on this "
        "machine, 5 at most].",
        above=0,
    )
    pretraining_batch: int = setting(64, "Public rows of a batch.", least=1)
    pretraining_rate: float = setting(2e-3, "Highest learning rate on public rows.", above=0)
    pretrained: Path | None = setting(
        None,
        "Keep there what was learned of public rows, and take it from there in runs with the same "
        "ones, model and seed.",
        value="new folder",
    )
    parser: generator_rows.ParserFolder | None = setting(
        None,
        "A parser, of genie-dp train, that writes the private rows' programs [those of the rows].",
        value="parser",
    )
    library: Library = setting(REQUIRED, "Skills of the programs.", value="library")
    language: str = DEFAULT_LANGUAGE
    codes: Path | None = setting(
        None,
        "Control codes, one a line: functions separated by spaces [the functions of the library "
        "and of public rows]. Nothing private.",
        value="file",
    )
    code_sets: bool = setting(
        False, "Control codes are the sets of functions of public programs.", value="flag"
    )
    code_noise: float = setting(
        10.0, "Standard deviation of the noise on how many units have a code.", above=0
    )
    model: str | None = setting(
        None, "A causal model of Hugging Face, such as gpt2, instead.", metavar="NAME|DIR"
    )
    lora_rank: int | None = setting(
        None, "Train adapters of that rank only.", least=1, metavar="RANK", option="lora"
    )
    tied: bool = setting(False, "Leave the model's head tied to its embeddings.", value="flag")
    learning_rate: float | None = setting(
        None,
        "Highest learning rate on private rows: noisy steps want a high one [of the own decoder "
        "0.02, with --bands 0.05; of Hugging Face 0.002].",
        above=0,
    )
    momentum: float | None = setting(
        None,
        "Share of earlier gradients in a noisy step's direction [of the own decoder 0.5, of "
        "Hugging Face 0.9].",
        least=0,
        below=1,
    )
    bands: int = setting(
        1,
        "Steps whose noise hangs together, so that less of it stays in the weights; 1 for none "
        "(DP-SGD). Units are in as many groups, and each step is of one group.",
        least=1,
        metavar="N",
    )
    tune: str | None = setting(
        None,
        "Choose settings by trainings that are tried, paid together: rate, batch, or both, each at "
        "half, once and twice its value.",
        metavar="rate,batch",
    )
    trials: Trials = setting(
        "geometric", "With --tune: distribution of the number of trainings.", choices=(*SHAPES,)
    )
    trials_mean: float = setting(
        TRIALS_MEAN, "With --tune: trainings, on average; how many there are is random.", least=1
    )
    held_out: float = setting(
        HELD_OUT,
        "With --tune: share of the units that score trainings, and are not learned from.",
        above=0,
        most=0.5,
    )

    @classmethod
    def help(cls) -> str:
        """Return the help text of a kind's command: its own line, then the text of all kinds."""
        _, _, shared = help_of(GeneratorTraining).partition("\n\n")
        return f"{help_of(cls)}\n\n{shared}"

    def conflicts(self) -> Iterator[str]:
        """Yield which settings exclude or need each other."""
        if (self.epsilon is None) != self.use_remaining_budget:
            yield "give --epsilon, what the run costs, or --use-remaining-budget"
        if self.kind != "control" and (self.codes or self.code_sets):
            yield "--codes and --code-sets go with control"
        if self.codes and self.code_sets:
            yield "--codes and --code-sets exclude each other"
        if self.kind == "one-stage" and self.parser:
            yield "one-stage has no programs, so --parser is of no use"
        if self.model is None and (self.lora_rank or self.tied):
            yield "--lora and --tied go with --model"
        if self.bands > 1 and self.tuned:
            yield "--bands and --tune exclude each other"
        if unknown := set(self.tuned) - {"rate", "batch"}:
            yield f"--tune takes rate and batch, not {', '.join(sorted(unknown))}"
        if self.model is None and self.size % self.heads:
            yield "--size must be a multiple of --heads"

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return public rows and codes."""
        rows = super(GeneratorTraining, self).public_files
        return [*rows, *([self.codes] if self.codes else [])]

    def refuse_inputs(self) -> None:
        """Refuse a parser that learned of private rows."""
        refuse_learned(self.parser.path if self.parser else None, self.private, code="H008")

    # ------------------------------------------------------------------------------- public plan

    @property
    def tuned(self) -> tuple[str, ...]:
        """Return the settings that are chosen by trials; () for none."""
        names = (name.strip() for name in (self.tune or "").split(","))
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def amount(self) -> TrainingAmount:
        """Return how much training there is.

        Raises:
            GenieError: H001, the epochs are no numbers.
        """
        amount = super(GeneratorTraining, self).amount
        return replace(amount, code_noise=self.code_noise, bands=self.bands)

    @property
    def noisy_steps(self) -> NoisySteps:
        """Return how noisy steps are taken."""
        own = RATE if self.bands == 1 else BANDED_RATE
        momentum = MOMENTUM if self.model is None else MOMENTUM_OF_OTHERS
        return NoisySteps(
            self.clip,
            self.learning_rate or (own if self.model is None else RATE_OF_OTHERS),
            self.engine,
            self.chunk,
            self.checkpoint_every,
            momentum if self.momentum is None else self.momentum,
        )

    @property
    def plan_class(self) -> type[Plan]:
        """Return which plan the noisy steps have."""
        return SelectionPlan if self.tuned else TrainingPlan

    def plan_noise(self, **terms: Any) -> Plan:
        """Return the noisy steps, or those of all trials, with the least noise."""
        if self.tuned:
            return plan_selection(
                self.kind,
                [(candidate.amount, candidate.noisy_steps) for candidate in self.candidates()],
                self.trials,
                self.trials_mean,
                self.held_out,
                **terms,
            )
        return super(GeneratorTraining, self).plan_noise(**terms)

    def candidates(self) -> "Iterator[GeneratorTraining]":
        """Yield the training with each of `FACTORS` of all settings that it tunes."""
        for factors in itertools.product(FACTORS, repeat=len(self.tuned)):
            factor = dict(zip(self.tuned, factors, strict=True))
            yield replace(
                self,
                batch=self.batch * factor.get("batch", 1.0),
                learning_rate=self.noisy_steps.learning_rate * factor.get("rate", 1.0),
                estimated_units=self.estimated_units * (1 - self.held_out),
            )

    def model_settings(self) -> "Settings":
        """Return which model is trained."""
        from genie_dp.private.generators.models import DecoderSettings, HuggingFaceSettings

        if self.model is None:
            return DecoderSettings(self.size, self.layers, self.heads, self.longest)
        return HuggingFaceSettings(
            self.model, lora_rank=self.lora_rank or 0, untie=not self.tied, longest=self.longest
        )

    def plan(self) -> ReleasePlan[PublicInputs]:
        """Read public rows and choose the codes; the noise is planned once, in the work folder.

        Raises:
            GenieError: rows are not public (H008), there are no control codes (H006); those of
                `TrainingAmount.steps`.
        """
        language = get_language(self.language)
        sources = [rows_of(rows) for rows in self.public]
        read = [generator_rows.read_public_rows(source, language) for source in sources]
        rows = tuple(row for source in read for row in source)
        self.amount.steps(self.kind)  # a mistake in it is found before anything is made
        codes = self._choose_codes(rows, language)
        shared = {
            **self.shared_settings,
            "momentum": self.noisy_steps.momentum,
            "public": [
                sha256_of(source.path)
                if source.path is not None
                else sha256("".join(map(to_json, examples)).encode()).hexdigest()
                for source, examples in zip(sources, read, strict=True)
            ],
            "library": library_fingerprint(self.library),
            "parser": str(self.parser.path.resolve()) if self.parser else None,
            "codes": list(codes.names) if codes else None,
            "language": self.language,
        }
        return ReleasePlan(PublicInputs(rows, codes), (), shared)

    def _choose_codes(self, public: Sequence[Example], language: Language) -> Codes | None:
        """Return the control codes: declared ones, sets of public programs, or single functions."""
        if self.kind != "control":
            return None
        if self.codes is not None:
            lines = self.codes.read_text(encoding="utf-8").splitlines()
            return Codes(tuple(" ".join(line.split()) for line in lines if line.strip()))
        programs = [generator_rows.count_functions(row.program, language) for row in public]
        if self.code_sets:
            names = {code_of_set(functions) for functions in programs if functions}
        else:
            names = {name for functions in programs for name in functions}
            names |= {signature.qualified for signature in self.library.functions()}
        if not names:
            hint = "give --codes, or public rows with --public"
            raise GenieError(Problem("H006", "there are no control codes", hint=hint))
        return Codes(tuple(sorted(names)), is_exact=self.code_sets)

    def warnings(self, sentences: int) -> tuple[Problem, ...]:
        """Return warnings about the run, whatever the private rows are.

        Args:
            sentences: number of different public sentences.
        """
        problems = []
        if needs_programs(self.kind) and self.parser is None:
            message = f"{self.kind} learns rows with programs alone; without any it pays for noise"
            hint = "where rows have none, a parser writes them: --parser DIR"
            problems.append(Problem("H007", message, hint=hint, severity="warning"))
        if self.model is None and sentences < FEW_SENTENCES:
            message = (
                f"a small decoder learns from public sentences how people speak: {sentences:,} are "
                f"few, {FEW_SENTENCES:,} and more make rows that read better"
            )
            hint = "--public takes sentences to any other assistant, too, with an empty program"
            problems.append(Problem("H013", message, hint=hint, severity="warning"))
        return tuple(problems)

    # ---------------------------------------------------------------------------------- training

    def train(
        self, public: PublicInputs, plan: Plan, work: Work, progress: bool | None
    ) -> TrainedGenerator:
        """Return the generator, pretrained on public rows and trained on private ones."""
        from genie_dp.private.generators.duration import plan_duration_once
        from genie_dp.private.generators.fit import check_engines
        from genie_dp.private.generators.generator import save_public
        from genie_dp.private.generators.pretraining import public_sequences

        budget, language = self.ledger.budget, get_language(self.language)
        for warning in self.warnings(public.sentences):
            tell(render_problem(warning), show=progress)
        units = PrivateSource.promised(self.private, budget, language=self.language).units
        labelled = generator_rows.label_public_rows(public.rows, language, public.codes)
        functions = {signature.qualified for signature in self.library.functions()}
        generator = self.new_generator(language, labelled, functions=functions, codes=public.codes)
        check_engines(generator, self.engine)
        sequences = {
            stage.name: public_sequences(
                stage,
                labelled,
                generator.tokenizer,
                longest=generator.models[stage.name].longest,
                seed=self.seed,
            )
            for stage in STAGES[self.kind]
        }
        duration = plan_duration_once(
            work.path, partial(self._measure_duration, generator, sequences, plan)
        )
        tell(f"private train {duration.describe(len(labelled), self.threads)}", show=progress)
        if self.parser is not None:
            write_over("private rows are parsed", show=progress)
        # That no row has a program is not told, and no reason to stop: whether the run is refused,
        # and whether it is paid, would say so of a row that alone has one.
        private_rows = generator_rows.label_private_rows(
            units,
            language,
            codes=public.codes,
            with_programs=needs_programs(self.kind),
            parser=self.parser.open() if self.parser else None,
            library=self.library,
        )
        work.keep()  # all was checked that can be before anything is learned
        if duration.epochs:
            self._pretrain(generator, sequences, duration.epochs, work.path, progress)
        if self.public_model is not None:
            save_public(generator, budget, self.public_model)
        facts = {
            "version": __version__,
            "public rows": len(public.rows),
            "epochs on public rows": duration.epochs,
            "programs of private rows": "by a parser" if self.parser else "of the rows",
            "model": self.model or "own decoder",
        }
        return self._fit(generator, private_rows, plan, facts, work.path, progress)

    def _measure_duration(
        self, generator: "Generator", public: Mapping[StageName, Sequence[EncodedRow]], plan: Plan
    ) -> "Duration":
        """Return how long the training takes on this machine, and its epochs of public rows."""
        from genie_dp.private.generators.duration import (
            measure_speed,
            plan_duration,
            seconds_of_stages,
        )

        if isinstance(plan, SelectionPlan):
            candidates, trials = plan.candidates, plan.mean
        else:
            candidates, trials = (Candidate(plan, self.noisy_steps),), 1.0
        candidate = candidates[0]
        speeds = {
            stage: measure_speed(
                generator.models[stage],
                rows or [EncodedRow((0,) * 16)],
                candidate.training.for_stage(candidate.plan, stage),
                batch=self.pretraining_batch,
            )
            for stage, rows in public.items()
        }
        epoch = sum(len(rows) * speeds[stage].public_row for stage, rows in public.items())
        each = [
            seconds_of_stages(speeds, candidate.plan.steps, candidate.plan.batch)
            for candidate in candidates
        ]
        return plan_duration(
            self.pretraining_epochs,
            epoch=epoch if self.pretraining else 0.0,
            private=trials * sum(each) / len(each),
        )

    def _pretrain(
        self,
        generator: "Generator",
        public: Mapping[StageName, Sequence[EncodedRow]],
        epochs: float,
        work: Path,
        progress: bool | None,
    ) -> None:
        """Train the models on the public rows."""
        from genie_dp.models.loop import TrainingBudget, TrainSettings
        from genie_dp.private.generators.pretraining import pretrain_publicly

        settings = TrainSettings(
            TrainingBudget(epochs=epochs), rate=self.pretraining_rate, seed=self.seed
        )

        def show_loss(stage: StageName, event: Mapping[str, Any]) -> None:
            if "loss" in event:  # of public rows
                share = f"epoch {event['epoch']:.1f} of {epochs:g}, loss {event['loss']:.3f}"
                write_over(f"public rows, {stage}: {share}", show=progress)

        for stage, rows in public.items():
            if rows:
                pretrain_publicly(
                    generator.models[stage],
                    rows,
                    settings,
                    batch=self.pretraining_batch,
                    folder=work / f"public-{stage}",
                    kept=self.pretrained,
                    listen=partial(show_loss, stage),
                )

    def _fit(
        self,
        generator: "Generator",
        rows: Units[tuple[LabelledRow, ...]],
        plan: Plan,
        facts: dict[str, Any],
        work: Path,
        progress: bool | None,
    ) -> TrainedGenerator:
        """Return the generator with its plan and facts: of trials the best."""
        from genie_dp.private.generators.fit import fit, fit_by_trials

        # All folders are in the run's name in the ledger, so none is trained again for nothing.
        folders = [work / stage.name for stage in STAGES[self.kind]]
        if self.tuned:
            folders = [work / "selection"]
        name = name_run(*folders)
        payer = Payer(
            self.ledger,
            f"generator, {self.kind}",
            name,
            first=partial(check_run_name, name, *folders),
        )
        noisy = self.noisy_steps
        if isinstance(plan, SelectionPlan):
            # Their steps, or a line now and then, would say how many trials there are.
            write_over("settings are tried", show=progress)
            generator, spent, chosen = fit_by_trials(
                generator, rows, plan, spend=payer, folder=folders[0]
            )
            done, noisy = chosen.plan, chosen.training
            facts["best of trials"] = f"{plan.mean:g} on average, {plan.trials}"
        else:
            done = plan
            generator, spent = fit(
                generator,
                rows,
                TrainingSchedule(done, noisy),
                spend=payer,
                folder=work,
                listen=lambda stage, event: write_over(
                    f"{stage}: step {event['step']:,} of {event['steps']:,}", show=progress
                ),
            )
        facts |= {
            "bands": done.bands,
            "noise multiplier of the codes": done.code_noise or None,
            **self.facts_of(done, noisy, payer),
        }
        return TrainedGenerator(generator, spent, done, noisy, facts)

    def result(
        self, drawn: TrainedGenerator, public: PublicInputs, made: Path, target: str
    ) -> GeneratorResult:
        """Return the result."""
        assert drawn.plan is not None
        return GeneratorResult(
            target,
            drawn.plan,
            drawn.spent,
            self.ledger.budget,
            self.warnings(public.sentences),
            drawn.noisy.learning_rate if self.tuned else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OneStage(GeneratorTraining):
    """Learn utterances, with noise."""

    command = "private train one-stage"
    kind: Kind = "one-stage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(GeneratorTraining):
    """Learn utterances by their intent, with noise."""

    command = "private train control"
    kind: Kind = "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStage(GeneratorTraining):
    """Learn programs, and utterances by their programs, with noise."""

    command = "private train two-stage"
    kind: Kind = "two-stage"
