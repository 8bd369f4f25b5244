"""One run of `genie-dp private train`: pay, pretrain on public rows, train with noise, deliver."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.output import show_problems
from genie_dp.cli.private.run_folder import FolderJob
from genie_dp.cli.private.train_files import GENERATOR, digest_of, rows_in, write_over
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.learn.device import prepare_torch
from genie_dp.private.generators.codes import Codes, code_of_set
from genie_dp.private.generators.plans import (
    Amount,
    Plan,
    Training,
    load_plan,
    plan_of,
    save_plan,
)
from genie_dp.private.generators.programs import functions_of, private_rows, public_rows
from genie_dp.private.generators.stages import RUN, STAGES, Labelled, needs_programs
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import (
    Payer,
    Units,
    ledger_to_spend,
    refuse_learned,
    refuse_private,
)
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.private.training.libraries import need_opacus
from genie_dp.records import Example, Spent
from genie_dp.run.work import Work, begun, put_in_place
from genie_dp.templates.inputs import library_fingerprint

if TYPE_CHECKING:
    from genie_dp.private.generators.generator import Generator, Settings

_EPOCHS = {"one-stage": "10", "control": "10", "two-stage": "2/8"}
# What a resumed run must share, beside its inputs; nothing of it is private.
_SHARED = (
    "kind", "epsilon", "rest", "about", "batch", "epochs", "no_pretraining",
    "pretraining_epochs", "pretraining_batch", "pretraining_rate", "language", "code_sets",
    "code_noise", "size", "layers", "heads", "longest", "model", "lora_rank", "tied", "clip",
    "learning_rate", "engine", "chunk", "checkpoint_every", "seed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job(FolderJob):
    """What one call of `genie-dp private train` asks for; its public files are read."""

    language: Language
    library: Any
    ledger: Ledger
    public: tuple[Example, ...]
    codes: Codes | None
    amount: Amount

    @property
    def kind(self) -> Any:
        """Return which stages there are."""
        return self.options["kind"]

    @property
    def purpose(self) -> str:
        """Return what the ledger says of the run."""
        return f"generator, {self.kind}"

    def shared(self) -> dict[str, Any]:
        """Return all that a resumed run must share."""
        options = self.options
        return {
            "version": __version__,
            "private": str(options["private"].resolve()),
            "ledger": str(self.ledger.path),
            "public": [digest_of(name) for name in options["public"]],
            "library": library_fingerprint(self.library, options["skills"]),
            "parser": str(options["parser"].resolve()) if options["parser"] else None,
            "codes": list(self.codes.names) if self.codes else None,
            **{name: options[name] for name in _SHARED},
        }

    def model(self) -> "Settings":
        """Return which model is trained."""
        from genie_dp.private.generators.decoder import DecoderSettings
        from genie_dp.private.generators.hugging_face import HuggingFaceSettings

        options = self.options
        if options["model"] is None:
            names = ("size", "layers", "heads", "longest")
            return DecoderSettings(**{name: options[name] for name in names})
        return HuggingFaceSettings(
            options["model"],
            lora_rank=options["lora_rank"] or 0,
            untie=not options["tied"],
            longest=options["longest"],
        )

    def training(self) -> Training:
        """Return how noisy steps are taken."""
        names = ("clip", "learning_rate", "engine", "chunk", "checkpoint_every")
        return Training(**{name: self.options[name] for name in names})

    def units(self) -> Units[tuple[PrivateRow, ...]]:
        """Return the private rows by unit."""
        source = PrivateSource.promised(
            self.options["private"], self.ledger.budget, language=self.language.name
        )
        return source.units


def job_of(options: Mapping[str, Any]) -> Job:
    """Return the job of the command's options; only public files are read."""
    language = get_language(options["language"])
    ledger = Ledger.open(ledger_to_spend(options["private"], options["ledger"]))
    library = load_library_of(
        options["language"], options["skills"], skip_broken=options["skip_broken"]
    )
    said = [*options["public"], *([options["codes"]] if options["codes"] else [])]
    refuse_private(said, options["private"], code="H008")
    refuse_learned(options["parser"], options["private"], code="H008")
    public = tuple(row for name in options["public"] for row in rows_in(name, language))
    amount = Amount(
        _epochs(options["epochs"] or _EPOCHS[options["kind"]]),
        options["batch"],
        options["about"],
        options["code_noise"],
    )
    amount.steps(options["kind"])
    codes = None
    if options["kind"] == "control":
        codes = _codes(options, public, library, language)
    return Job(options, language, library, ledger, public, codes, amount)


def _epochs(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split("/"))
    except ValueError:
        hint = "such as 10, or 2/8 for two stages"
        raise GenieError(Problem("H001", f"no epochs: {text!r}", hint=hint)) from None


def _codes(
    options: Mapping[str, Any], public: Sequence[Example], library: Any, language: Language
) -> Codes:
    """Return the control codes: declared ones, sets of public programs, or single functions."""
    if options["codes"]:
        lines = options["codes"].read_text(encoding="utf-8").splitlines()
        return Codes(tuple(" ".join(line.split()) for line in lines if line.strip()))
    programs = [functions_of(row.program, language) for row in public]
    if options["code_sets"]:
        found = {code_of_set(functions) for functions in programs if functions}
    else:
        found = {name for functions in programs for name in functions}
        found.update(_functions(library))
    if not found:
        hint = "give --codes, or public rows with --public"
        raise GenieError(Problem("H006", "there are no control codes", hint=hint))
    return Codes(tuple(sorted(found)), is_exact=options["code_sets"])


def _functions(library: Any) -> set[str]:
    """Return the functions of a library; declarations of S-expressions have none."""
    from genie_dp.skills.model import Library

    if not isinstance(library, Library):
        return set()
    return {signature.qualified for signature in library.functions()}


# ------------------------------------------------------------------------------- the run


def run(options: Mapping[str, Any]) -> None:
    """Check everything, then train, and say what it cost."""
    started = time.monotonic()
    need_opacus()  # before the work, not after it
    job = job_of(options)
    job.refuse_output(GENERATOR)
    if needs_programs(job.kind) and not options["parser"]:
        # Always, whatever the rows are: they are not looked at.
        message = f"{job.kind} learns rows with programs alone; without any it pays for noise"
        hint = "where rows have none, a parser writes them: --parser DIR"
        show_problems([Problem("H007", message, hint=hint, severity="warning")])
    with begun(job.work, job.shared(), resume=options["resume"]) as work:
        plan = _plan(job)
        spent = _trained(job, plan, job.units(), work)
    _say(job, plan, spent, time.monotonic() - started)


def _plan(job: Job) -> Plan:
    """Return what the run will do, which fits into the budget; a resumed one does the same."""
    known = load_plan(job.work)
    if known is not None:
        return known
    budget = job.ledger.budget
    epsilon = job.options["epsilon"] or budget.epsilon
    plan = plan_of(
        job.kind,
        job.amount,
        epsilon=epsilon,
        delta=budget.delta,
        before=job.ledger.mechanisms if job.options["rest"] else (),
        accountant=budget.accountant,
    )
    job.ledger.check_fits(plan.mechanisms)
    save_plan(plan, job.work)
    return plan


def _trained(job: Job, plan: Plan, units: Units[tuple[PrivateRow, ...]], work: Work) -> Spent:
    from genie_dp.private.generators.fit import check_engines, fit_privately
    from genie_dp.private.generators.generator import new_generator
    from genie_dp.private.training.checkpoint import check_name

    prepare_torch(job.options["device"], job.options["threads"])
    public = public_rows(job.public, job.language, job.codes)
    generator = new_generator(
        job.kind,
        job.language,
        public,
        job.model(),
        functions=_functions(job.library),
        codes=job.codes,
        seed=job.options["seed"],
    )
    for model in generator.models.values():
        model.to(job.options["device"])
    check_engines(generator, job.options["engine"])
    rows = _labelled(job, units)
    work.keep()  # all was checked that can be before anything is learned
    if public and not job.options["no_pretraining"]:
        _pretrain(job, generator, public)
    name, folders = _name_of(job), _folders(job)
    generator, spent = fit_privately(
        generator,
        rows,
        plan,
        job.training(),
        spend=Payer(job.ledger, job.purpose, name, first=lambda: check_name(name, *folders)),
        folder=job.work,
        listen=lambda stage, event: write_over(
            f"{stage}: step {event['step']:,} of {event['steps']:,}"
        ),
    )
    _deliver(job, generator, spent, plan)
    return spent


def _name_of(job: Job) -> str:
    """Return the run's name in the ledger: it hangs on the folders of all its stages.

    So none of them is trained again for nothing.
    """
    from genie_dp.private.training.checkpoint import run_of

    return run_of(*_folders(job))


def _folders(job: Job) -> tuple[Path, ...]:
    """Return where the stages are trained."""
    return tuple(job.work / stage.name for stage in STAGES[job.kind])


def _pretrain(job: Job, generator: "Generator", public: Sequence[Labelled]) -> None:
    from genie_dp.learn.loop import TrainSettings
    from genie_dp.learn.schedule import Budget
    from genie_dp.private.generators.pretraining import pretrain_publicly, public_sequences

    options = job.options
    settings = TrainSettings(
        Budget(epochs=options["pretraining_epochs"]),
        rate=options["pretraining_rate"],
        seed=options["seed"],
    )
    for stage in STAGES[job.kind]:
        model = generator.models[stage.name]
        rows = public_sequences(
            stage, public, generator.tokenizer, longest=model.longest, seed=options["seed"]
        )
        if rows:
            pretrain_publicly(
                model,
                rows,
                settings,
                batch=options["pretraining_batch"],
                folder=job.work / f"public-{stage.name}",
                kept=options["pretrained"],
                listen=partial(_tell_public, stage.name, options["pretraining_epochs"]),
            )


def _tell_public(stage: str, epochs: float, event: Mapping[str, Any]) -> None:
    if "loss" in event:  # of public rows
        done = f"epoch {event['epoch']:.1f} of {epochs:g}, loss {event['loss']:.3f}"
        write_over(f"public rows, {stage}: {done}")


def _labelled(job: Job, units: Units[tuple[PrivateRow, ...]]) -> Units[tuple[Labelled, ...]]:
    """Return the private rows with their programs.

    That no row has one is not told, and no reason to stop: whether the run is refused, and whether
    it is paid, would say so of a row that alone has one.
    """
    parser = None
    if job.options["parser"]:
        from genie_dp.cli.parser_predictor import BestProgram

        parser = BestProgram.of(job.options["parser"])
    wanted = needs_programs(job.kind)
    if parser:
        write_over("private rows are parsed")
    return private_rows(
        units,
        job.language,
        codes=job.codes,
        with_programs=wanted,
        parser=parser,
        library=job.library,
    )


def _deliver(job: Job, generator: "Generator", spent: Spent, plan: Plan) -> None:
    """Write the folder beside its name and rename it when it is complete."""
    from genie_dp.private.generators.folder import save_generator

    made = job.work / job.output.name
    shutil.rmtree(made, ignore_errors=True)
    save_generator(generator, made, spent=spent, facts=_facts(job, plan))
    put_in_place(made, job.output, job.work)


def _facts(job: Job, plan: Plan) -> dict[str, Any]:
    """Return public numbers of the training, for configuration and card."""
    options = job.options
    pretrained = bool(job.public) and not options["no_pretraining"]
    return {
        "version": __version__,
        "noise multiplier": plan.noise_multiplier,
        "sampling rate": plan.rate,
        "steps": dict(plan.steps),
        "noise multiplier of the codes": plan.code_noise or None,
        "training": asdict(job.training()),
        "public rows": len(job.public),
        "epochs on public rows": options["pretraining_epochs"] if pretrained else 0,
        "programs of private rows": "by a parser" if options["parser"] else "of the rows",
        "model": options["model"] or "own decoder",
        RUN: _name_of(job),
    }


def _say(job: Job, plan: Plan, spent: Spent, seconds: float) -> None:
    write_over("")
    steps = " + ".join(f"{count:,}" for count in plan.steps.values())
    budget = job.ledger.budget
    click.echo(
        f"{steps} steps, noise multiplier {plan.noise_multiplier:g} -> {job.output} "
        f"({seconds:.0f} s)\n"
        f"spent so far: epsilon {spent.epsilon:.4g} of {budget.epsilon:g} at delta "
        f"{budget.delta:g}, unit {budget.unit}, {budget.accountant}",
        err=True,
    )
