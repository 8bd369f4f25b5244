"""One run of `genie-dp train`: from options to the folder of a parser."""

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp import __version__
from genie_dp.cli.device import prepare_torch
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.output import told_private
from genie_dp.cli.priors import guarantee_of, priors_of, refuse_twice
from genie_dp.dataset.folder import About
from genie_dp.errors import GenieError
from genie_dp.parser import folder as files
from genie_dp.parser.card import Card, File, check_spent
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.curves import write_curves
from genie_dp.parser.recipe import as_yaml, read_recipe, with_places
from genie_dp.parser.rows import (
    Reading,
    Rows,
    Style,
    Target,
    as_counts,
    grammar_texts,
    language_of,
    learn_reading,
    locale,
    read_all,
    target_of,
)
from genie_dp.parser.validation import validation_files, validation_rows
from genie_dp.private_prior import PriorFile, load_prior
from genie_dp.records import Spent
from genie_dp.resources import data_folder
from genie_dp.run.files import opened
from genie_dp.run.manifest import write_json
from genie_dp.run.page import render_card
from genie_dp.run.work import (
    PARSER,
    enter_work,
    interruptible,
    put_in_place,
    refuse_output,
    work_folder_of,
)
from genie_dp.templates.inputs import library_fingerprint

if TYPE_CHECKING:
    from genie_dp.learn.processes import Group
    from genie_dp.parser.training import Material, Trained

DEFAULT_MINUTES = 5.0
_BUDGETS = ("minutes", "steps", "epochs")


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp train` asks for.

    Attributes:
        paths: the skills, or the declarations.
        digests: SHA-256 of each input file.
        validated: SHA-256 of the files that are validated with.
        spent: the guarantee of private rows, and of a prior.
        private: what the manifest says of rows that have a ledger.
    """

    config: ParserConfig
    target: Target
    paths: tuple[Path, ...]
    digests: Mapping[str, str]
    validated: tuple[str, ...]
    output: Path
    licence: str
    prior: PriorFile | None
    spent: Spent | None
    device: str
    jobs: int
    private: Mapping[str, Any]

    @property
    def work(self) -> Path:
        """Return where the run lies until it is complete."""
        return work_folder_of(self.output)

    def settings(self) -> dict[str, Any]:
        """Return all that the weights depend on; resuming with other settings is refused."""
        found = {
            "version": __version__,
            "language": self.target.language.name,
            "library": library_fingerprint(self.target.library, self.paths),
            "inputs": dict(self.digests),
            "validation": self.validated,
            "config": asdict(self.config),
            **({"prior": self.prior.told()} if self.prior else {}),
            **({"processes": _world()} if _world() > 1 else {}),
        }
        plain: dict[str, Any] = json.loads(json.dumps(found))
        return plain


def config_of(options: Mapping[str, Any]) -> ParserConfig:
    """Return the recipe's settings, with those of the options before them.

    Raises:
        GenieError: N001 or N002, all that is wrong with them.
    """
    found = read_recipe(options["recipe"]) if options["recipe"] else {}
    names = {f.name for f in fields(ParserConfig)} - {"inputs"}
    given = {n: options[n] for n in names if n in options and options[n] is not None}
    if "prior" in given:
        given["prior"] = str(given["prior"])
    if any(name in given for name in _BUDGETS):
        found = {name: value for name, value in found.items() if name not in _BUDGETS}
    if options["inputs"]:
        found["inputs"] = tuple(map(InputFile, options["inputs"]))
    merged = {"inputs": (), **found, **given}
    if not any(merged.get(name) is not None for name in _BUDGETS):
        merged["minutes"] = DEFAULT_MINUTES
    try:
        config = ParserConfig(**merged)
        locale(config)
    except GenieError as error:
        if not options["recipe"]:
            raise
        beside = {*given, *(("inputs",) if options["inputs"] else ())}
        raise with_places(error, options["recipe"], beside) from None
    return config


def job_of(options: Mapping[str, Any]) -> Job:
    """Return the job of the command's options, its files read for the first time."""
    config = config_of(options)
    language = language_of(config.inputs, options["language"])
    library = load_library_of(language, options["skills"], skip_broken=options["skip_broken"])
    shipped = (data_folder("thingpedia"),) if language == "thingtalk" else ()
    style = Style(config.types, config.keywords, config.canonical)
    prior = load_prior(Path(config.prior)) if config.prior else None
    paths = [one.path for one in config.inputs]
    refuse_twice(prior, paths)
    spent = About(spent=options["spent"]).guarantee()
    return Job(
        config,
        target_of(style, language, library),
        tuple(options["skills"]) or shipped,
        {one.path: _digest(one.path) for one in config.inputs},
        tuple(map(_digest, validation_files(config.validation))),
        Path(options["output"]),
        options["licence"],
        prior,
        spent or (prior.prior.spent if prior else guarantee_of(paths)),
        options["device"],
        options["jobs"],
        told_private((*paths, *validation_files(config.validation))) if _rank() == 0 else {},
    )


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    with opened(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def run(options: Mapping[str, Any]) -> None:
    """Prepare, train, calibrate, write, and say what came of it."""
    started = time.monotonic()
    job = job_of(options)
    is_first = _rank() == 0
    if is_first:
        _enter(job, resume=options["resume"], overwrite=options["overwrite"])
    guard: AbstractContextManager[None] = interruptible(job.work) if is_first else nullcontext()
    with guard, _nothing_left(job) if is_first else nullcontext():
        material, reading = prepare(job)
        trained = _trained(job, material, options)
        if is_first:
            deliver(job, material, reading, trained)
            _say(job, material, trained, time.monotonic() - started)


def _rank() -> int:
    return int(os.environ.get("RANK", "0"))


def _world() -> int:
    """Return how many processes train together, as torchrun says it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def _nothing_left(job: Job) -> Iterator[None]:
    """Leave no work of a run that a mistake ended before it had anything to go on from."""
    try:
        yield
    except GenieError:
        if not any((job.work / "checkpoints").glob("step-*")):
            shutil.rmtree(job.work, ignore_errors=True)
        raise


def _enter(job: Job, *, resume: bool, overwrite: bool) -> None:
    """Refuse an output that exists, and work of other settings."""
    # A run that was let in goes on, even if what it is to replace is there.
    refuse_output(job.output, job.work, PARSER, resume=resume, overwrite=overwrite)
    enter_work(job.work, job.settings(), resume=resume)


# --------------------------------------------------------------------------------- the rows


def prepare(job: Job) -> "tuple[Material, Reading]":
    """Return the rows in the form in which they are learned, and how they were read."""
    reading = learn_reading(job.config, job.target)
    rows = read_all(
        job.config,
        job.target,
        reading,
        jobs=job.jobs,
        hold_out=not job.config.validation,
        prior=job.prior.prior if job.prior else None,
        tell=lambda count: _line(f"{count:,} rows prepared"),
    )
    check_spent(rows.counts["private"], job.spent)
    validation = validation_rows(job.config, job.target, reading, rows)
    texts = grammar_texts(rows, job.target.language.name)
    _tell_rows(rows)
    # Torch comes after the worker processes were forked.
    from genie_dp.parser.training import Material

    return Material(job.target, rows, validation, texts), reading


def _line(text: str) -> None:
    """Write over the last line of a terminal; elsewhere, write nothing."""
    if sys.stderr.isatty() and _rank() == 0:
        click.echo(f"\r\033[K{text}", err=True, nl=False)


def _tell_rows(rows: Rows) -> None:
    if _rank():
        return
    _line("")
    count = sum(map(len, rows.parts))
    click.echo(f"{count:,} rows to learn from", err=True)
    for reason, number in rows.left.most_common():
        click.echo(f"{number:>11,}  left out: {reason}", err=True)
    if rows.weighed is not None:
        one = rows.weighed
        told = f"{one.low:.2g} to {one.high:.2g}, worth {one.effective:,.0f} rows of one weight"
        click.echo(f"weights with the prior: {told}", err=True)


# --------------------------------------------------------------------------------- training


def _trained(job: Job, material: "Material", options: Mapping[str, Any]) -> "Trained":
    import torch

    from genie_dp.learn.processes import join
    from genie_dp.parser.training import train

    prepare_torch(job.device, options["threads"])
    group = join(job.device)
    try:
        return train(
            job.config,
            material,
            job.work,
            device=job.device,
            group=group,
            listen=_listener(job, options["tensorboard"], group),
        )
    finally:
        if group.world > 1:
            torch.distributed.destroy_process_group()


def _listener(
    job: Job, tensorboard: Path | None, group: "Group"
) -> Callable[[Mapping[str, Any]], None] | None:
    """Return what tells of events: a line on a terminal, and TensorBoard if it is wanted."""
    told: list[Callable[[Mapping[str, Any]], None]] = []
    if group.rank == 0:
        told.append(_Line(job.config))
    if tensorboard is not None and group.rank == 0:
        from genie_dp.learn.metrics import tensorboard as writer

        told.append(writer(tensorboard))
    if not told:
        return None

    def listen(event: Mapping[str, Any]) -> None:
        for one in told:
            one(event)

    return listen


class _Line:
    """One line on the terminal that says how far training is."""

    def __init__(self, config: ParserConfig):
        self.config = config
        self.best = ""

    def __call__(self, event: Mapping[str, Any]) -> None:
        if "score" in event:
            self.best = f", right {100 * event['score']:.1f} % (best {100 * event['best']:.1f} %)"
            return
        _line(f"{self._done(event)}, loss {event['loss']:.3f}{self.best}")

    def _done(self, event: Mapping[str, Any]) -> str:
        if self.config.minutes is not None:
            return f"{event['seconds']:.0f} of {60 * self.config.minutes:.0f} s"
        if self.config.steps is not None:
            return f"step {event['step']:,} of {self.config.steps:,}"
        return f"epoch {event['epoch']:.2f} of {self.config.epochs}"


# -------------------------------------------------------------------------------- the folder


def deliver(job: Job, material: "Material", reading: Reading, trained: "Trained") -> None:
    """Write the folder beside its name and rename it when it is complete."""
    from genie_dp.learn.metrics import read_metrics
    from genie_dp.learn.saved import save_model

    made = job.work / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    files.copy_skills(job.paths, made)
    files.write_texts(made, material.texts)
    files.write_reader(made, reading)
    facts = {"parser": _facts(job, reading, trained, files.skills_hash(made))}
    save_model(replace(trained.saved, facts=facts), made)
    (made / files.RECIPE).write_text(as_yaml(job.config), encoding="utf-8")
    metrics = job.work / files.METRICS
    if metrics.exists():
        shutil.copyfile(metrics, made / files.METRICS)
    curves = write_curves(read_metrics(metrics), made / files.CURVES)
    card = _card(job, material, trained, curves)
    (made / files.CARD).write_text(render_card("genie_dp.parser", card=card), encoding="utf-8")
    write_json(str(made / files.MANIFEST), _manifest(job, material, trained))
    put_in_place(made, job.output, job.work)


def _facts(job: Job, reading: Reading, trained: "Trained", skills: str) -> dict[str, Any]:
    """Return what config.json says of the parser; `Parser.from_pretrained` reads it.

    An ensemble prepares its validation rows with the constants of templates (`fixed`), too.
    """
    config = job.config
    return {
        "version": __version__,
        "language": job.target.language.name,
        "types": config.types,
        "keywords": config.keywords,
        "canonical": config.canonical,
        "reader": config.reader,
        "locale": asdict(locale(config)),
        "skills": skills,
        "temperature": trained.calibration.temperature,
        "threshold": config.threshold,
        "beam": config.beam,
        "readings": config.readings,
        "is_constrained": config.is_constrained,
        "longest": trained.longest,
        "fixed": sorted(reading.fixed),
    }


def _manifest(job: Job, material: "Material", trained: "Trained") -> dict[str, Any]:
    earlier = priors_of(job.digests)
    return {
        "command": "train",
        "version": __version__,
        **job.private,
        "inputs": dict(job.digests),
        "counts": as_counts(material.rows),
        "figures": dict(trained.figures),
        "config": asdict(job.config),
        "example": _example(material),
        **({"prior": job.prior.told()} if job.prior else {}),
        **({"priors": earlier} if earlier else {}),
        "spent": asdict(job.spent) if job.spent else None,
    }


def _card(job: Job, material: "Material", trained: "Trained", curves: Path | None) -> Card:
    config = job.config
    return Card(
        title=f"Parser {job.output.name}",
        folder=job.output.name,
        language=job.target.language.name,
        files=tuple(
            File(Path(x.path).name, x.source, job.digests[x.path], x.ratio, x.weight)
            for x in config.inputs
        ),
        counts=as_counts(material.rows),
        figures=trained.figures,
        validation=_measured_on(config),
        is_real=bool(config.validation),
        seeds=(config.seed,),
        temperature=trained.calibration.temperature,
        threshold=config.threshold,
        is_constrained=config.is_constrained,
        has_skills=bool(job.paths),
        example=_example(material),
        made_by=config.made_by,
        licence=job.licence,
        spent=job.spent,
        curves=curves.name if curves else "",
    )


def _measured_on(config: ParserConfig) -> str:
    if config.validation:
        return f"{Path(config.validation).name}, which also chose the best weights"
    return f"{100 * config.held_out:g} % of the rows, held out by family"


def _example(material: "Material") -> str:
    """Return a short sentence without placeholders; none of rows that people wrote."""
    if material.rows.counts["human"] or material.rows.counts["private"]:
        return "..."
    for store in material.rows.parts:
        for place in range(min(len(store), 2000)):
            words = store[place].sentence
            if 3 <= len(words) <= 8 and all(word.isalpha() and word.islower() for word in words):
                return " ".join(words)
    return "..."


def _say(job: Job, material: "Material", trained: "Trained", seconds: float) -> None:
    _line("")
    figures = trained.figures
    click.echo(
        f"{figures['steps']:,} steps in {figures['seconds']:.0f} s, {_right(job, figures)} "
        f"-> {job.output} ({seconds:.0f} s in all)",
        err=True,
    )


def _right(job: Job, figures: Mapping[str, Any]) -> str:
    share = figures["validation accuracy"]
    if share is None:
        return "no rows to validate with"
    kind = "validation" if job.config.validation else "held-out"
    return f"{100 * share:.1f} % of {figures['validation rows']:,} {kind} rows right"
