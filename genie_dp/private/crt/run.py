"""Confidentially redacted training as a stage: read both parts, pay, train, deliver."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.models.device import prepare_torch
from genie_dp.private.crt.alternating import AlternatingRun
from genie_dp.private.crt.config import (
    NOTHING,
    PAID,
    Course,
    CrtConfig,
    describe_limits,
    plan_private_steps,
)
from genie_dp.private.crt.rows import (
    MASK,
    MethodRows,
    measured_redaction,
    read_method_rows,
    refuse_budget,
)
from genie_dp.private.crt.statements import Record, Redaction, Statement, keep_record, statement_of
from genie_dp.private.generators.generator import (
    Generator,
    new_generator,
    save_generator,
    save_public,
)
from genie_dp.private.generators.plans import TrainingPlan, load_plan, save_plan
from genie_dp.private.generators.rows import label_public_rows, read_public_rows
from genie_dp.private.generators.stages import (
    RUN,
    STAGES,
    GeneratorStage,
    LabelledRow,
    StageName,
    encode_row,
)
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units, ledger_to_spend, paid_by, refuse_private
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.ledger.once import check_run_name, name_run
from genie_dp.private.training.run import digest_of_weights, train_alone
from genie_dp.records import Spent
from genie_dp.run.files import sha256_of
from genie_dp.run.stage import Output, Result, write_over, write_share
from genie_dp.run.work import GENERATOR, Work, begin_work, put_in_place, refuse_output

Listen = Callable[[StageName, Mapping[str, Any]], None]
Spend = Callable[[Sequence[Mechanism]], Spent]
STATEMENT = "confidentiality.json"


@dataclass(frozen=True, slots=True)
class CrtResult(Result):
    """A generator that was trained on redacted rows.

    Attributes:
        output: its folder.
        method: by which it was trained.
        plan: its private steps; None without any.
        spent: all that was spent of its rows' budget so far.
        budget, statement: what was promised, and what follows for secrets; None for a baseline.
        seconds: how long all took.
    """

    output: str
    method: str
    plan: TrainingPlan | None
    spent: Spent
    budget: Budget | None
    statement: Statement | None
    seconds: float

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        noise = ""
        if self.plan is not None:
            steps = " + ".join(f"{count:,}" for count in self.plan.steps.values())
            noise = f"{steps} steps, noise multiplier {self.plan.noise_multiplier:g} "
        yield f"{noise}-> {self.output} ({self.seconds:.0f} s)"
        if self.budget is None or self.statement is None:
            yield f"no guarantee: {self.method} is a baseline"
            return
        budget = self.budget
        yield (
            f"spent so far: epsilon {self.spent.epsilon:.4g} of {budget.epsilon:g} at delta "
            f"{budget.delta:g}, unit {budget.unit}, {budget.accountant}"
        )
        yield from self.statement.lines()


def run(
    config: CrtConfig,
    rows: Path,
    output: Output,
    *,
    ledger: Path | None = None,
    report: Path | None = None,
    said_apart: bool = False,
    public: Sequence[str] = (),
    public_model: Path | None = None,
    device: str = "cpu",
    threads: int = 1,
    progress: bool | None = None,
) -> CrtResult:
    """Train a generator on redacted rows, with noise on the private part alone.

    What it costs is recorded in the ledger before the first noisy step, and what follows for
    secrets beside it.

    Args:
        config: how.
        rows: as `genie-dp private redact` wrote them.
        output: the folder of the generator.
        ledger: of the rows, if it is not beside them.
        report: measured shares of secrets that redaction misses, instead of those of the config.
        said_apart: whether the owner says that no unit's rows were made from another's.
        public: files of more public rows.
        public_model: the folder of the generator as it is before the first step on a private row,
            for audits; of methods of `PAID`.
        device, threads: of torch.
        progress: whether to show on stderr how far it is; None for on a terminal.

    Raises:
        GenieError: a baseline on rows that have a budget (O010),
            shares that are none (O001, O011), no ledger (B022), rows that were not redacted by the
            budget's unit (O016, O017), the output is there (Y022) or no generator (H009); those of
            `fit`, `read_method_rows` and `plan_private_steps`.
    """
    started = time.monotonic()
    if public_model is not None and not config.is_paid:
        raise ValueError(f"{config.method} has no steps before those on private rows")
    language = get_language(config.language)
    beside = ledger_to_spend(rows, ledger)
    book = redaction = None
    if config.is_paid:
        book = Ledger.open(beside)
        redaction = measured_redaction(
            config, rows, book.budget, report=report, said_apart=said_apart
        )
    else:
        refuse_budget(rows, config.method)
    refuse_private(public, rows, code="H008")
    more = tuple(
        row
        for name in public
        for row in label_public_rows(read_public_rows(name, language), language)
    )
    target, work_folder = Path(output.target), output.work
    refuse_output(target, work_folder, GENERATOR, resume=output.resume, overwrite=output.overwrite)
    if public_model is not None and not (output.overwrite or output.resume):
        refuse_output(public_model, work_folder, GENERATOR, resume=False, overwrite=False)
    settings = {
        "version": __version__,
        "rows": str(rows.resolve()),
        "ledger": str(book.path) if book else None,
        "redaction": redaction.as_dict() if redaction else None,
        "public": [sha256_of(name) for name in public],
        "public model": str(public_model.resolve()) if public_model else None,
        **config.shared_settings(),
    }
    with begin_work(work_folder, settings, resume=output.resume) as work:
        course = config.course(_plan(config, book, work_folder))
        budget = None if book is None else book.budget
        learned, vocabulary = read_method_rows(
            config, rows, language, budget, more, said_apart=said_apart
        )
        prepare_torch(device, threads)
        generator = new_generator(
            config.kind, language, vocabulary, config.model_settings(), words=(MASK,),
            seed=config.seed,
        )  # fmt: skip
        for model in generator.models.values():
            model.to(device)
        payer = None
        limits: tuple[str, ...] = ()
        if book is not None and redaction is not None:
            payer = _payer(config, book, redaction, work_folder, work)
            limits = describe_limits(config.method, redaction.apart)

        def keep_public() -> None:
            assert public_model is not None
            assert budget is not None
            save_public(generator, budget, public_model, limits=limits)

        spent = fit(
            generator,
            learned,
            course,
            spend=payer,
            folder=work_folder,
            before_private=keep_public if public_model else None,
            # The number of steps would tell how many rows have no secret.
            listen=lambda stage, event: write_share(
                f"{stage} learns", event["step"], event["steps"], show=progress
            ),
        )
        write_over("", show=progress)
        statement = None
        if book is not None:
            spent = replace(spent, not_covered=(*limits, *spent.not_covered))
            statement = statement_of(Ledger.open(book.path))
        facts = _describe(config, course, payer)
        _deliver(generator, spent, facts, statement, target, work_folder)
    seconds = time.monotonic() - started
    return CrtResult(output.target, config.method, course.plan, spent, budget, statement, seconds)


def _plan(config: CrtConfig, ledger: Ledger | None, work: Path) -> TrainingPlan | None:
    """Return the private steps, which fit into the budget; a resumed run does the same."""
    if ledger is None:
        return None
    plan = load_plan(work)
    if plan is not None:
        return plan
    budget = ledger.budget
    plan = plan_private_steps(
        config.kind,
        config.epoch_counts,
        config.rate,
        config.batch,
        epsilon=config.epsilon or budget.epsilon,
        delta=budget.delta,
        before=ledger.mechanisms if config.rest else (),
        accountant=budget.accountant,
    )
    ledger.check_fits(plan.mechanisms)
    save_plan(plan, work)
    return plan


def _payer(
    config: CrtConfig, ledger: Ledger, redaction: Redaction, folder: Path, work: Work
) -> Payer:
    """Return what records the confidentiality of a run, and then its spend."""
    folders = [folder / stage.name for stage in STAGES[config.kind]]
    entry = Record(name_run(*folders), redaction)

    def record_first() -> None:
        check_run_name(entry.run, *folders)
        keep_record(ledger.path, entry)

    purpose = f"{config.kind} by {config.method}{entry.mark}"
    return Payer(ledger, purpose, entry.run, first=record_first, then=work.keep)


def _describe(config: CrtConfig, course: Course, payer: Payer | None) -> dict[str, Any]:
    """Return public numbers of the training, for configuration and card."""
    facts: dict[str, Any] = {
        "version": __version__,
        "method": config.method,
        "epochs": list(course.epochs),
        "public steps": asdict(course.plain),
        "model": config.model,
    }
    plan = course.plan
    if plan is None:
        return facts
    facts |= {
        "noise multiplier": plan.noise_multiplier,
        "sampling rate": plan.rate,
        "steps": dict(plan.steps),
        "training": asdict(course.training),
    }
    if payer is not None:
        facts[RUN] = payer.run
    return facts


def _deliver(
    generator: Generator,
    spent: Spent,
    facts: Mapping[str, Any],
    statement: Statement | None,
    target: Path,
    work: Path,
) -> None:
    """Write the folder beside its name and rename it when it is complete."""
    folder = work / target.name
    shutil.rmtree(folder, ignore_errors=True)
    save_generator(generator, folder, spent=spent, facts=facts)
    if statement is not None:
        text = json.dumps(statement.as_dict(), indent=1, ensure_ascii=False)
        (folder / STATEMENT).write_text(text + "\n", encoding="utf-8")
    put_in_place(folder, target, work)


# -------------------------------------------------------------------------- stages of a generator


def fit(
    generator: Generator,
    rows: MethodRows,
    course: Course,
    *,
    spend: Spend | None = None,
    folder: Path | None = None,
    before_private: Callable[[], None] | None = None,
    listen: Listen | None = None,
) -> Spent:
    """Train a generator in place, and return what was spent: nothing is promised of a baseline.

    Engines of all stages are checked and checkpoints looked for, then the whole plan is recorded at
    once, and only then is the first gradient of a private row taken.

    Args:
        generator: its models are trained in place.
        rows: as `arrange_rows` gives them.
        course: what is done.
        spend: the `Payer` of the rows' ledger; needed for the methods of `PAID`.
        folder: where checkpoints go, and where an interrupted run goes on from.
        before_private: is called once no stage has a step left before its first private one, as
            long as none has taken that.
        listen: is told the stage, steps, and losses of public rows.

    Raises:
        GenieError: the engine cannot be used (Q020 to Q025), there is nothing to learn from (O008),
            the rows of a baseline have a budget (O010),
            a checkpoint is of another run (O005) or not the newest (Q031), another process trains
            there (Q032), the budget does not suffice, or the run has released other weights
            (B032); those of `paid_by`.
    """
    if (course.method in PAID) != (spend is not None):
        raise ValueError(f"expected a ledger for {PAID}, and only for them: {course.method}")
    pay = None if spend is None else paid_by(rows.private, spend)
    if pay is None and rows.private.file is not None:
        refuse_budget(rows.private.file, course.method)
    runs: dict[StageName, AlternatingRun] = {}
    spent = NOTHING
    with ExitStack() as stack:
        if folder is not None:
            for stage in STAGES[generator.kind]:
                stack.enter_context(train_alone(folder / stage.name))
        for number, stage in enumerate(STAGES[generator.kind]):
            runs[stage.name] = _new_run(generator, rows, course, stage, number, listen)
            stack.callback(runs[stage.name].close)
            if folder is not None:
                runs[stage.name].resume(folder / stage.name)
        for stage_run in runs.values():
            guarantee = stage_run.pay(_whole_plan_payer(course.plan, pay))
            if guarantee is not None and course.method in PAID:
                spent = guarantee
        _train_stages(runs, folder, course.training.checkpoint_every, before_private)
    if pay is not None:
        pay.close(digest_of_weights(generator.models.values()))
    return spent


def _train_stages(
    runs: Mapping[StageName, AlternatingRun],
    folder: Path | None,
    every: int,
    before_private: Callable[[], None] | None,
) -> None:
    """Take all steps, one stage after the other; public ones of all stages come first if asked."""

    def train(name: StageName, until: int | None = None) -> None:
        runs[name].train(folder and folder / name, checkpoint_every=every, until=until)

    is_untouched = all(run.number <= run.public_each for run in runs.values())
    if before_private is not None and is_untouched:
        for name, run in runs.items():
            train(name, until=run.public_each)
        before_private()
    for name in runs:
        train(name)


def _whole_plan_payer(plan: TrainingPlan | None, spend: Spend | None) -> Spend:
    """Return what records the whole plan, whichever stage asks; the same run is recorded once."""
    if plan is None or spend is None:
        return lambda mechanisms: NOTHING
    return lambda mechanisms: spend(plan.mechanisms)


def _new_run(
    generator: Generator,
    rows: MethodRows,
    course: Course,
    stage: GeneratorStage,
    number: int,
    listen: Listen | None,
) -> AlternatingRun:
    model, name = generator.models[stage.name], stage.name
    of_stage = None if listen is None else partial(listen, name)
    noisy = None if course.plan is None else course.training.for_stage(course.plan, name)

    def read(row: LabelledRow) -> Any:
        return encode_row(stage, row, generator.tokenizer, longest=model.longest)

    wants_program = name == "program" or stage.prompt == "program"
    public = [
        read(row) for row in rows.public if row.utterance and (row.program or not wants_program)
    ]
    # `fit` pays for all stages.
    private = Units(
        [read(row) for row in unit if row.utterance and (row.program or not wants_program)]
        for unit in rows.private
    )
    if not public and noisy is None:
        message = f"expected rows to learn from for the stage {name}, got none"
        raise GenieError(Problem("O008", message, hint="two-stage needs rows with programs"))
    return AlternatingRun(
        model,
        public,
        private,
        epochs=course.epochs[number],
        plain=course.plain,
        noisy=noisy,
        listen=of_stage,
    )
