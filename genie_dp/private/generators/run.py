"""A generator as a stage: pay, pretrain on public rows, train with noise, deliver.

One noise multiplier and one entry in the ledger are for all stages of a generator.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, render_problem
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.models.device import prepare_torch
from genie_dp.models.loop import TrainingBudget as PublicBudget
from genie_dp.models.loop import TrainSettings
from genie_dp.private.generators import rows as generator_rows
from genie_dp.private.generators.codes import Codes, code_of_set, release_codes
from genie_dp.private.generators.config import GeneratorConfig
from genie_dp.private.generators.duration import (
    Duration,
    measure_speed,
    plan_duration,
    plan_duration_once,
    seconds_of_stages,
)
from genie_dp.private.generators.generator import (
    Generator,
    new_generator,
    save_generator,
    save_public,
)
from genie_dp.private.generators.plans import (
    NoisySteps,
    TrainingAmount,
    TrainingPlan,
    load_plan,
    plan_training,
    save_plan,
)
from genie_dp.private.generators.pretraining import pretrain_publicly, public_sequences
from genie_dp.private.generators.selection import (
    UNTOLD,
    Candidate,
    SelectionPlan,
    fit_best,
    load_selection,
    plan_selection,
    save_selection,
)
from genie_dp.private.generators.stages import (
    RUN,
    STAGES,
    EncodedRow,
    LabelledRow,
    StageName,
    encode_row,
    needs_programs,
)
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units, paid_by, refuse_learned, refuse_private
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.ledger.once import PaidRun, check_run_name, name_run
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.private.training.run import (
    digest_of_weights,
    need_opacus,
    train_alone,
    train_privately,
    with_limits,
)
from genie_dp.private.training.settings import EngineName
from genie_dp.records import Example, Spent
from genie_dp.rows import Rows, rows_of, to_json
from genie_dp.run.files import sha256_of
from genie_dp.run.stage import Output, Result, tell, write_over
from genie_dp.run.work import GENERATOR, begin_work, put_in_place, refuse_output
from genie_dp.templates.inputs import library_fingerprint

Listen = Callable[[StageName, Mapping[str, int]], None]


@dataclass(frozen=True, slots=True, repr=False)
class GeneratorResult(Result):
    """A generator that was trained on private rows.

    Attributes:
        output: its folder.
        plan: what was done, in public numbers.
        spent: all that was spent of the rows' budget so far.
        budget: what was promised.
        doubts: what is to be said against the run; it was told before anything was spent.
        seconds: how long all took.
        learning_rate: that of the best of several trials, None where none were made.
    """

    output: str
    plan: TrainingPlan
    spent: Spent
    budget: Budget
    doubts: tuple[Problem, ...]
    seconds: float
    learning_rate: float | None = None

    def __repr__(self) -> str:
        amount = f"epsilon {self.spent.epsilon:.4g} of {self.budget.epsilon:g}"
        return f"GeneratorResult({self.output}: {amount} for each {self.budget.unit})"

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        steps = " + ".join(f"{count:,}" for count in self.plan.steps.values())
        noise = f"noise multiplier {self.plan.noise_multiplier:g}"
        chosen = f" ({self.seconds:.0f} s)"
        if self.learning_rate is not None:  # the time would say how many trials there were
            chosen = f": batch {self.plan.batch:g}, learning rate {self.learning_rate:g} are chosen"
        yield f"{steps} steps, {noise} -> {self.output}{chosen}"
        budget = self.budget
        yield (
            f"spent so far: epsilon {self.spent.epsilon:.4g} of {budget.epsilon:g} at delta "
            f"{budget.delta:g}, unit {budget.unit}, {budget.accountant}"
        )


@dataclass(frozen=True, slots=True)
class _GeneratorRun:
    """What one run trains, and of what; its public files are read."""

    config: GeneratorConfig
    private: Path
    ledger: Ledger
    language: Language
    library: Library
    public: tuple[Example, ...]
    codes: Codes | None
    parser: generator_rows.ParserFolder | None
    work: Path
    progress: bool | None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return where the stages are trained, or all trials where settings are chosen by some.

        The run's name in the ledger hangs on all of them, so none is trained again for nothing.
        """
        if self.config.tuned:
            return (self.work / "selection",)
        return tuple(self.work / stage.name for stage in STAGES[self.config.kind])

    def show(self, text: str) -> None:
        """Say how far the run is, on a terminal."""
        write_over(text, show=self.progress)

    def listen(self, stage: StageName, event: Mapping[str, int]) -> None:
        """Show the steps of a training."""
        self.show(f"{stage}: step {event['step']:,} of {event['steps']:,}")


def run(
    config: GeneratorConfig,
    private: Path,
    ledger: Ledger,
    library: Library,
    output: Output,
    *,
    language: str,
    public: Sequence[Rows | str | Path] = (),
    codes: Path | None = None,
    parser: generator_rows.ParserFolder | None = None,
    pretrained: Path | None = None,
    public_model: Path | None = None,
    device: str = "cpu",
    threads: int = 1,
    progress: bool | None = None,
) -> GeneratorResult:
    """Train a generator of rows that are like private ones, and write its folder.

    The cost is recorded in the ledger before the first step. The folder appears when it is
    complete; an interrupted run goes on for the same payment.

    Args:
        config: how.
        private: the rows.
        ledger: their ledger, which pays.
        library: skills or declarations of the programs.
        output: the folder of the generator.
        language: of the programs.
        public: rows that give vocabulary and grammar, and are learned first.
        codes: a file of control codes, one a line.
        parser: a folder of genie-dp train; it writes the private rows' programs.
        pretrained: a folder that keeps what was learned of public rows.
        public_model: the folder of the generator as it is before private rows: audits compare with
            it.
        device, threads: of torch.
        progress: whether to show on stderr how far it is; None for on a terminal.

    Raises:
        GenieError: settings that exclude each other (R041), what is said to be public is not
            (H008), there are no control codes (H006), the output is there (Y022) or no generator
            (H009), past the budget (B023); those of `fit_privately`.
    """
    started = time.monotonic()
    need_opacus()  # before the work, not after it
    conflicts = config.conflicts(has_codes=codes is not None, has_parser=parser is not None)
    if problems := [Problem("R041", message) for message in conflicts]:
        raise GenieError(problems)
    sources = [rows_of(rows) for rows in public]
    files = [file for rows in sources for file in rows.sources]
    refuse_private([*files, *([codes] if codes else [])], private, code="H008")
    refuse_learned(parser.path if parser else None, private, code="H008")
    spoken = get_language(language)
    read = [generator_rows.read_public_rows(source, spoken) for source in sources]
    rows = tuple(row for source in read for row in source)
    target, amount = Path(output.target), config.amount
    named = _choose_codes(config, codes, rows, library, spoken)
    job = _GeneratorRun(
        config, private, ledger, spoken, library, rows, named, parser, output.work, progress
    )
    refuse_output(target, output.work, GENERATOR, resume=output.resume, overwrite=output.overwrite)
    if public_model is not None and not (output.overwrite or output.resume):
        refuse_output(public_model, output.work, GENERATOR, resume=False, overwrite=False)
    doubts = config.doubts(
        has_parser=parser is not None, sentences=len({row.utterance for row in rows})
    )
    for doubt in doubts:
        tell(render_problem(doubt), show=progress)
    settings = {
        "version": __version__,
        "private": str(private.resolve()),
        "ledger": str(ledger.path),
        "public": [
            sha256_of(source.path)
            if source.path is not None
            else sha256("".join(map(to_json, examples)).encode()).hexdigest()
            for source, examples in zip(sources, read, strict=True)
        ],
        "library": library_fingerprint(library),
        "parser": str(parser.path.resolve()) if parser else None,
        "codes": list(named.names) if named else None,
        "language": language,
        **config.shared_settings(),
    }
    with begin_work(output.work, settings, resume=output.resume) as work:
        budget = ledger.budget
        plan = _plan_once(config, amount, ledger, output.work)
        units = PrivateSource.promised(private, budget, language=language).units
        prepare_torch(device, threads)
        labelled = generator_rows.label_public_rows(rows, spoken, named)
        generator = new_generator(
            config.kind,
            spoken,
            labelled,
            config.model_settings(),
            functions={signature.qualified for signature in library.functions()},
            codes=named,
            seed=config.seed,
        )
        for model in generator.models.values():
            model.to(device)
        check_engines(generator, config.engine)
        sequences = _encode_public(config, generator, labelled)
        duration = plan_duration_once(
            output.work, partial(_measure_duration, config, generator, sequences, plan)
        )
        tell(f"private train {duration.describe(len(labelled), threads)}", show=progress)
        private_rows = _label_private(job, units)
        work.keep()  # all was checked that can be before anything is learned
        if duration.epochs:
            _pretrain(job, generator, sequences, duration.epochs, pretrained)
        if public_model is not None:
            save_public(generator, budget, public_model)
        done, learning_rate, spent = _fit_and_save(
            job, generator, private_rows, plan, duration.epochs, target
        )
    write_over("", show=progress)
    seconds = time.monotonic() - started
    chosen = learning_rate if config.tuned else None
    return GeneratorResult(output.target, done, spent, budget, doubts, seconds, chosen)


def _plan_once(
    config: GeneratorConfig, amount: TrainingAmount, ledger: Ledger, work: Path
) -> TrainingPlan | SelectionPlan:
    """Return what the run does, as an earlier start of it has planned, or planned and kept now."""
    kept = load_selection(work) if config.tuned else load_plan(work)
    if kept is not None:
        return kept
    budget = ledger.budget
    terms: dict[str, Any] = {
        "epsilon": config.epsilon or budget.epsilon,
        "delta": budget.delta,
        "before": ledger.mechanisms if config.rest else (),
        "accountant": budget.accountant,
    }
    plan: TrainingPlan | SelectionPlan
    if config.tuned:
        plan = plan_selection(config, **terms)
    else:
        plan = plan_training(config.kind, amount, **terms)
    ledger.check_fits(plan.mechanisms)
    if isinstance(plan, SelectionPlan):
        save_selection(plan, work)
    else:
        save_plan(plan, work)
    return plan


def _choose_codes(
    config: GeneratorConfig,
    file: Path | None,
    public: Sequence[Example],
    library: Library,
    language: Language,
) -> Codes | None:
    """Return the control codes: declared ones, sets of public programs, or single functions."""
    if config.kind != "control":
        return None
    if file is not None:
        lines = file.read_text(encoding="utf-8").splitlines()
        return Codes(tuple(" ".join(line.split()) for line in lines if line.strip()))
    programs = [generator_rows.count_functions(row.program, language) for row in public]
    if config.code_sets:
        names = {code_of_set(functions) for functions in programs if functions}
    else:
        names = {name for functions in programs for name in functions}
        names |= {signature.qualified for signature in library.functions()}
    if not names:
        hint = "give --codes, or public rows with --public"
        raise GenieError(Problem("H006", "there are no control codes", hint=hint))
    return Codes(tuple(sorted(names)), is_exact=config.code_sets)


def _label_private(
    job: _GeneratorRun,
    units: Units[tuple[PrivateRow, ...]],
) -> Units[tuple[LabelledRow, ...]]:
    """Return the private rows with their programs.

    That no row has one is not told, and no reason to stop: whether the run is refused, and whether
    it is paid, would say so of a row that alone has one.
    """
    parser = None
    if job.parser is not None:
        parser = job.parser.open()
        job.show("private rows are parsed")
    return generator_rows.label_private_rows(
        units,
        job.language,
        codes=job.codes,
        with_programs=needs_programs(job.config.kind),
        parser=parser,
        library=job.library,
    )


def _encode_public(
    config: GeneratorConfig, generator: Generator, public: Sequence[LabelledRow]
) -> dict[StageName, list[EncodedRow]]:
    """Return the public rows as each stage learns them."""
    return {
        stage.name: public_sequences(
            stage,
            public,
            generator.tokenizer,
            longest=generator.models[stage.name].longest,
            seed=config.seed,
        )
        for stage in STAGES[config.kind]
    }


def _measure_duration(
    config: GeneratorConfig,
    generator: Generator,
    public: Mapping[StageName, Sequence[EncodedRow]],
    plan: TrainingPlan | SelectionPlan,
) -> Duration:
    """Return how long the training takes on this machine, and its epochs of public rows."""
    if isinstance(plan, SelectionPlan):
        candidates, trials = plan.candidates, plan.mean
    else:
        candidates, trials = (Candidate(plan, config.noisy_steps),), 1.0
    one = candidates[0]
    speeds = {
        stage: measure_speed(
            generator.models[stage],
            rows or [EncodedRow((0,) * 16)],
            one.training.for_stage(one.plan, stage),
            batch=config.pretraining_batch,
        )
        for stage, rows in public.items()
    }
    epoch = sum(len(rows) * speeds[stage].public_row for stage, rows in public.items())
    each = [seconds_of_stages(speeds, one.plan.steps, one.plan.batch) for one in candidates]
    return plan_duration(
        config.pretraining_epochs,
        epoch=epoch if config.pretraining else 0.0,
        private=trials * sum(each) / len(each),
    )


def _pretrain(
    job: _GeneratorRun,
    generator: Generator,
    public: Mapping[StageName, Sequence[EncodedRow]],
    epochs: float,
    kept: Path | None,
) -> None:
    config = job.config
    settings = TrainSettings(
        PublicBudget(epochs=epochs), rate=config.pretraining_rate, seed=config.seed
    )

    def show_loss(stage: StageName, event: Mapping[str, Any]) -> None:
        if "loss" in event:  # of public rows
            progress = f"epoch {event['epoch']:.1f} of {epochs:g}, loss {event['loss']:.3f}"
            job.show(f"public rows, {stage}: {progress}")

    for stage, rows in public.items():
        if rows:
            pretrain_publicly(
                generator.models[stage],
                rows,
                settings,
                batch=config.pretraining_batch,
                folder=job.work / f"public-{stage}",
                kept=kept,
                listen=partial(show_loss, stage),
            )


def _fit_and_save(
    job: _GeneratorRun,
    generator: Generator,
    rows: Units[tuple[LabelledRow, ...]],
    plan: TrainingPlan | SelectionPlan,
    epochs: float,
    target: Path,
) -> tuple[TrainingPlan, float, Spent]:
    """Train with noise, write the folder beside its name, and rename it when it is complete.

    Returns:
        What was done (of trials the best), its learning rate, and what was spent.
    """
    config = job.config
    name = name_run(*job.folders)
    payer = Payer(
        job.ledger,
        f"generator, {config.kind}",
        name,
        first=lambda: check_run_name(name, *job.folders),
    )
    training = config.noisy_steps
    if isinstance(plan, SelectionPlan):
        # Their steps, or a line now and then, would say how many trials there are.
        job.show("settings are tried")
        generator, spent, chosen = fit_by_trials(
            generator, rows, plan, spend=payer, folder=job.folders[0]
        )
        done, training = chosen.plan, chosen.training
    else:
        done = plan
        generator, spent = fit_privately(
            generator, rows, plan, training, spend=payer, folder=job.work, listen=job.listen
        )
    facts = {
        "version": __version__,
        "noise multiplier": done.noise_multiplier,
        "sampling rate": done.rate,
        "steps": dict(done.steps),
        "bands": done.bands,
        "noise multiplier of the codes": done.code_noise or None,
        "training": asdict(training),
        "public rows": len(job.public),
        "epochs on public rows": epochs,
        "programs of private rows": "by a parser" if job.parser else "of the rows",
        "model": config.model or "own decoder",
        RUN: name,
    }
    if isinstance(plan, SelectionPlan):
        facts["best of trials"] = f"{plan.mean:g} on average, {plan.trials}"
    folder = job.work / target.name
    shutil.rmtree(folder, ignore_errors=True)
    save_generator(generator, folder, spent=spent, facts=facts)
    put_in_place(folder, target, job.work)
    return done, training.learning_rate, spent


# ---------------------------------------------------------------------------- noisy steps


def fit_privately(
    generator: Generator,
    units: Units[Sequence[LabelledRow]],
    plan: TrainingPlan,
    training: NoisySteps,
    *,
    spend: Callable[[Sequence[Mechanism]], Spent],
    folder: Path | None = None,
    listen: Listen | None = None,
) -> tuple[Generator, Spent]:
    """Return the generator as private rows teach it, and what was spent.

    All that the run will do is recorded at once, before the histogram or the first step; every
    stage then draws on that entry. Stages are independent of each other (section 3.2).

    Args:
        generator: publicly pretrained, or new; its models are trained in place.
        units: private rows by unit, as `programs.private_rows` gives them.
        plan: what will be done.
        training: how.
        spend: the `Payer` of the rows' ledger: it records mechanisms, or raises; called again for
            the same run it records nothing.
        folder: where checkpoints go, and where an interrupted run goes on from.
        listen: is told the stage and its steps, and nothing else.

    Raises:
        GenieError: those of `train_privately` and `paid_by`; the budget does not suffice.
    """
    check_engines(generator, training.engine)
    stages = STAGES[generator.kind]
    # Settings that no run has are refused here: nothing is paid yet.
    settings = [training.for_stage(plan, stage.name) for stage in stages]
    pay = paid_by(units, spend)
    spent = pay(plan.mechanisms)
    if generator.codes is not None:
        weights = _release_weights(generator, units, plan, pay, folder)
        generator = generator.with_weights(weights)

    def check_recorded(mechanisms: Sequence[Mechanism]) -> Spent:
        """Return what was paid above, for all stages, if a stage's mechanisms are among that."""
        if not set(mechanisms) <= set(plan.mechanisms):
            raise ValueError(f"expected mechanisms of the plan, got {mechanisms}")
        return pay(plan.mechanisms)

    for stage, of_stage in zip(stages, settings, strict=True):
        model = generator.models[stage.name]
        rows = Units(
            [encode_row(stage, row, generator.tokenizer, longest=model.longest) for row in unit]
            for unit in units
        )
        trained = train_privately(
            model,
            rows,
            of_stage,
            spend=check_recorded,
            folder=folder and folder / stage.name,
            listen=None if listen is None else partial(listen, stage.name),
        )
        spent = trained.spent
    released = [digest_of_weights(generator.models.values()), *map(repr, generator.weights)]
    pay.close(" ".join(released))
    return generator, spent


def fit_by_trials(
    generator: Generator,
    units: Units[tuple[LabelledRow, ...]],
    plan: SelectionPlan,
    *,
    spend: Callable[[Sequence[Mechanism]], Spent],
    folder: Path,
) -> tuple[Generator, Spent, Candidate]:
    """Return the best of a random number of trainings, what was spent, and its settings.

    All is recorded at once, before the first step of the first trial.

    Args:
        generator: publicly pretrained, or new; its models are trained in place.
        units: private rows by unit.
        plan: what will be done.
        spend: the `Payer` of the rows' ledger.
        folder: where trials are kept, and where an interrupted run goes on from.

    Raises:
        GenieError: those of `fit_privately`.
    """
    for candidate in plan.candidates:  # those that no run has are refused here
        for stage in STAGES[generator.kind]:
            candidate.training.for_stage(candidate.plan, stage.name)
    pay = paid_by(units, spend)
    spent = with_limits(pay(plan.mechanisms))

    def fit(candidate: Candidate, learned: Units[Sequence[LabelledRow]], here: Path) -> Generator:
        def check_recorded(mechanisms: Sequence[Mechanism]) -> Spent:
            if tuple(mechanisms) != candidate.plan.mechanisms:
                raise ValueError(f"expected mechanisms of the plan, got {mechanisms}")
            return pay(plan.mechanisms)

        fitted, _ = fit_privately(
            generator, learned, candidate.plan, candidate.training,
            spend=check_recorded, folder=here,
        )  # fmt: skip
        return fitted

    generator, chosen = fit_best(generator, units, plan, fit=fit, folder=folder)
    if chosen is None:
        some = plan.candidates[0]
        chosen = replace(some, plan=replace(some.plan, steps=dict.fromkeys(some.plan.steps, 0)))
    pay.close(
        " ".join([digest_of_weights(generator.models.values()), *map(repr, generator.weights)])
    )
    return generator, replace(spent, not_covered=(*spent.not_covered, UNTOLD)), chosen


def check_engines(generator: Generator, engine: EngineName) -> None:
    """Refuse an engine that cannot take the models, before anything is paid.

    Raises:
        GenieError: Opacus is not installed (Q020); the engine takes no such model (Q021 to Q025).
    """
    need_opacus()
    from genie_dp.private.training.check import check_engine

    for model in generator.models.values():
        check_engine(model, engine)


def _release_weights(
    generator: Generator,
    units: Sequence[Sequence[LabelledRow]],
    plan: TrainingPlan,
    spend: Callable[[Sequence[Mechanism]], Spent],
    folder: Path | None,
) -> tuple[float, ...]:
    """Return the noisy distribution of codes; it is drawn once in the life of a run."""
    codes = generator.codes
    assert codes is not None

    def draw() -> tuple[float, ...]:
        spend(plan.mechanisms)  # who was here before may have finished the run, and cleared it
        rows = [[row.code for row in unit] for unit in units if unit]
        return release_codes(codes, rows, plan.code_noise)

    if folder is None:
        return draw()
    # In the folder of the stage: without it, the run has another name and is paid again.
    there = folder / STAGES[generator.kind][-1].name
    message = f"the codes of {there} are missing: they would be released twice"
    hint = "put them back, or train in another folder, which is paid again"
    lost = Problem("Q031", message, hint=hint)
    # Two processes that go on with one run would draw twice what is paid once.
    with train_alone(there):
        run = PaidRun.enter(there)
        # The ledger learns of them with the models (`fit_privately`).
        text = run.release(
            "codes.json", lambda: json.dumps(draw()), lambda text: None, lost=lost, part="codes"
        )
    return tuple(json.loads(text))
