"""One run of `genie-dp private train crt`: read both parts, pay, train, deliver."""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp import __version__
from genie_dp.cli.private.crt_rows import public_files, rows_for, shares_of
from genie_dp.cli.private.run_folder import FolderJob
from genie_dp.cli.private.train_files import GENERATOR, digest_of, write_over
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.learn.device import prepare_torch
from genie_dp.private.crt.course import (
    PAID,
    Course,
    Rows,
    check_selective,
    limits_of,
    plan_of,
    refuse_budget,
    steps_of,
)
from genie_dp.private.crt.marked import MASK
from genie_dp.private.crt.settings import (
    PublicSettings,
    SelectiveSettings,
    selective_mechanism,
)
from genie_dp.private.crt.statements import Record, Redaction, Statement, record, statement_of
from genie_dp.private.generators.plans import Plan, Training, load_plan, save_plan
from genie_dp.private.generators.stages import RUN, STAGES, Labelled
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Payer, ledger_to_spend, refuse_private
from genie_dp.private.training.settings import rate_of
from genie_dp.records import Spent
from genie_dp.run.work import Work, begun, put_in_place

if TYPE_CHECKING:
    from genie_dp.private.generators.generator import Generator, Settings

STATEMENT = "confidentiality.json"
_EPOCHS = {"one-stage": "10", "two-stage": "2/8"}
# What a resumed run must share, beside its inputs; nothing of it is private.
_SHARED = (
    "method", "kind", "epsilon", "rest", "about", "batch", "epochs", "language",
    "model", "size", "layers", "heads", "longest", "public_batch", "public_rate", "learning_rate",
    "optimizer", "clip", "engine", "chunk", "checkpoint_every", "seed", "noise_multiplier",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job(FolderJob):
    """What one call asks for; nothing private is read yet."""

    language: Language
    ledger: Ledger | None
    redaction: Redaction | None
    more: tuple[Labelled, ...]

    @property
    def epochs(self) -> tuple[int, ...]:
        """Return the epochs of each stage."""
        text = self.options["epochs"] or _EPOCHS[self.options["kind"]]
        try:
            return tuple(int(part) for part in text.split("/"))
        except ValueError:
            hint = "such as 10, or 2/8 for two stages"
            raise GenieError(Problem("O007", f"no whole epochs: {text!r}", hint=hint)) from None

    @property
    def rate(self) -> float:
        """Return the chance of a private unit to be in a batch."""
        try:
            return rate_of(self.options["batch"], self.options["about"])
        except ValueError as error:
            hint = "give --about, roughly how many private units there are, and a smaller --batch"
            raise GenieError(Problem("O006", str(error), hint=hint)) from None

    def shared(self) -> dict[str, Any]:
        """Return all that a resumed run must share."""
        options = self.options
        return {
            "version": __version__,
            "rows": str(options["rows"].resolve()),
            "original": str(options["original"].resolve()) if options["original"] else None,
            "ledger": str(self.ledger.path) if self.ledger else None,
            "redaction": self.redaction.as_dict() if self.redaction else None,
            "public": [digest_of(name) for name in options["public"]],
            **{name: options[name] for name in _SHARED},
        }

    def model(self) -> "Settings":
        """Return which model is trained."""
        from genie_dp.private.generators.decoder import DecoderSettings
        from genie_dp.private.generators.hugging_face import HuggingFaceSettings
        from genie_dp.private.generators.recurrent import RecurrentSettings

        options = self.options
        match options["model"]:
            case "lstm":
                return RecurrentSettings(options["size"], options["longest"])
            case "decoder":
                names = ("size", "layers", "heads", "longest")
                return DecoderSettings(**{name: options[name] for name in names})
            case name:
                return HuggingFaceSettings(name, longest=options["longest"])

    def course(self, plan: Plan | None) -> Course:
        """Return what is done."""
        options = self.options
        names = ("clip", "learning_rate", "engine", "chunk", "checkpoint_every")
        plain = PublicSettings(
            options["public_batch"],
            options["public_rate"],
            optimizer=options["optimizer"],
            seed=options["seed"],
        )
        return Course(
            options["method"],
            self.epochs,
            plan,
            Training(**{name: options[name] for name in names}),
            plain,
            SelectiveSettings(noise_multiplier=options["noise_multiplier"]),
        )


def job_of(options: Mapping[str, Any]) -> Job:
    """Return the job of the command's options.

    Raises:
        GenieError: s-dp with another model (O009), a baseline on rows that have a budget (O010),
            shares that are none (O001, O011), no ledger (B022), rows that were not redacted by the
            budget's unit (O016, O017).
    """
    if options["method"] == "s-dp":
        check_selective(is_recurrent=options["model"] == "lstm", kind=options["kind"])
    language = get_language(options["language"])
    beside = ledger_to_spend(options["rows"], options["ledger"])
    ledger = redaction = None
    if options["method"] in PAID:
        ledger = Ledger.open(beside)
        redaction = shares_of(options, ledger.budget)
    else:
        for rows in (options["rows"], *(p for p in (options["original"],) if p)):
            refuse_budget(rows, options["method"])
    refuse_private(options["public"], options["rows"], code="H008")
    return Job(options, language, ledger, redaction, public_files(options["public"], language))


def run(options: Mapping[str, Any]) -> None:
    """Check everything, then train, and say what it cost."""
    started = time.monotonic()
    job = job_of(options)
    job.refuse_output(GENERATOR)
    with begun(job.work, job.shared(), resume=options["resume"]) as work:
        plan = _plan(job)
        rows, vocabulary = rows_for(options, job.language, _budget(job), job.more)
        spent, statement = _trained(job, plan, rows, vocabulary, work)
    _say(job, plan, spent, statement, time.monotonic() - started)


def _budget(job: Job) -> Any:
    return None if job.ledger is None else job.ledger.budget


def _plan(job: Job) -> Plan | None:
    """Return the private steps, which fit into the budget; a resumed run does the same."""
    options = job.options
    if options["method"] == "s-dp":
        steps = steps_of(options["kind"], job.epochs, job.rate)
        return Plan(options["noise_multiplier"], job.rate, options["batch"], steps)
    if job.ledger is None:
        return None
    known = load_plan(job.work)
    if known is not None:
        return known
    budget = job.ledger.budget
    plan = plan_of(
        options["kind"],
        job.epochs,
        job.rate,
        options["batch"],
        epsilon=options["epsilon"] or budget.epsilon,
        delta=budget.delta,
        before=job.ledger.mechanisms if options["rest"] else (),
        accountant=budget.accountant,
    )
    job.ledger.check_fits(plan.mechanisms)
    save_plan(plan, job.work)
    return plan


def _trained(
    job: Job, plan: Plan | None, rows: Rows, vocabulary: Sequence[Labelled], work: Work
) -> tuple[Spent, Statement | None]:
    from genie_dp.private.crt.fit import fit
    from genie_dp.private.generators.generator import new_generator

    options = job.options
    prepare_torch(options["device"], options["threads"])
    generator = new_generator(
        options["kind"], job.language, vocabulary, job.model(), words=(MASK,),
        seed=options["seed"],
    )  # fmt: skip
    for model in generator.models.values():
        model.to(options["device"])
    spent = fit(
        generator,
        rows,
        job.course(plan),
        spend=_spender(job, work),
        folder=job.work,
        listen=lambda stage, event: write_over(
            f"{stage}: step {event['step']:,} of {event['steps']:,}"
        ),
    )
    if job.redaction is not None:
        limits = limits_of(options["method"], job.redaction.apart)
        spent = replace(spent, not_covered=(*limits, *spent.not_covered))
    statement = None if job.ledger is None else statement_of(Ledger.open(job.ledger.path))
    _deliver(job, generator, spent, plan, statement)
    return spent, statement


def _spender(job: Job, work: Work) -> Payer | None:
    """Return what records the confidentiality and then the spend; None for baselines."""
    ledger, redaction = job.ledger, job.redaction
    if ledger is None or redaction is None:
        return None
    from genie_dp.private.training.checkpoint import check_name

    one = Record(_name_of(job), redaction)
    purpose = f"{job.options['kind']} by {job.options['method']}{one.mark}"

    def first() -> None:
        check_name(one.run, *_folders(job))
        record(ledger.path, one)

    return Payer(ledger, purpose, one.run, first=first, then=work.keep)


def _name_of(job: Job) -> str:
    """Return the run's name in the ledger."""
    from genie_dp.private.training.checkpoint import run_of

    return run_of(*_folders(job))


def _folders(job: Job) -> tuple[Path, ...]:
    """Return where the stages are trained."""
    return tuple(job.work / stage.name for stage in STAGES[job.options["kind"]])


def _deliver(
    job: Job, generator: "Generator", spent: Spent, plan: Plan | None, statement: Statement | None
) -> None:
    """Write the folder beside its name and rename it when it is complete."""
    from genie_dp.private.generators.folder import save_generator

    made = job.work / job.output.name
    shutil.rmtree(made, ignore_errors=True)
    save_generator(generator, made, spent=spent, facts=_facts(job, plan))
    if statement is not None:
        text = json.dumps(statement.as_dict(), indent=1, ensure_ascii=False)
        (made / STATEMENT).write_text(text + "\n", encoding="utf-8")
    put_in_place(made, job.output, job.work)


def _facts(job: Job, plan: Plan | None) -> dict[str, Any]:
    """Return public numbers of the training, for configuration and card."""
    options, course = job.options, job.course(plan)
    facts = {
        "version": __version__,
        "method": options["method"],
        "epochs": list(job.epochs),
        "public steps": asdict(course.plain),
        "model": options["model"],
    }
    if plan is None:
        return facts
    facts |= {
        "noise multiplier": plan.noise_multiplier,
        "sampling rate": plan.rate,
        "steps": dict(plan.steps),
        "training": asdict(course.training),
    }
    if job.ledger is not None:
        facts[RUN] = _name_of(job)
    if options["method"] == "s-dp":
        settings = course.training.of(plan, "utterance")
        together = selective_mechanism(settings, course.states).noise_multiplier
        facts["noise multiplier of states and gradients, if nothing is missed"] = together
    return facts


def _say(
    job: Job, plan: Plan | None, spent: Spent, statement: Statement | None, seconds: float
) -> None:
    write_over("")
    steps = "" if plan is None else " + ".join(f"{count:,}" for count in plan.steps.values())
    noise = "" if plan is None else f"{steps} steps, noise multiplier {plan.noise_multiplier:g} "
    click.echo(f"{noise}-> {job.output} ({seconds:.0f} s)", err=True)
    if job.ledger is None or statement is None:
        click.echo(f"no guarantee: {job.options['method']} is a baseline", err=True)
        return
    budget = job.ledger.budget
    click.echo(
        f"spent so far: epsilon {spent.epsilon:.4g} of {budget.epsilon:g} at delta "
        f"{budget.delta:g}, unit {budget.unit}, {budget.accountant}",
        err=True,
    )
    for line in statement.lines():
        click.echo(line, err=True)
