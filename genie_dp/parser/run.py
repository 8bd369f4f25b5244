"""Training as a stage: from rows to the folder of a parser."""

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp import __version__
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.locale import DEFAULT
from genie_dp.models.base import FOLDER as BASE_FOLDER
from genie_dp.parser import folder as files
from genie_dp.parser.card import Card, File, check_spent, write_curves
from genie_dp.parser.config import BASE, ParserConfig
from genie_dp.parser.contrast import add_contrast
from genie_dp.parser.derivations import Derivations, LazyTemplates
from genie_dp.parser.evidence import Evidence
from genie_dp.parser.incomplete import add_incomplete
from genie_dp.parser.parser import Parser, Use
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.recipe import Train, as_yaml
from genie_dp.parser.refusal import add_refused
from genie_dp.parser.rows import (
    NOW,
    Reading,
    RowMaker,
    Rows,
    Style,
    Target,
    as_counts,
    first_tokens,
    grammar_texts,
    language_of,
    learn_reading,
    locale,
    read_all,
    target_of,
)
from genie_dp.parser.scoring import derived_confidence
from genie_dp.parser.start import Start, digest_of, guarantee_of_both, read_start
from genie_dp.parser.validation import (
    Checked,
    validation_files,
    validation_rows,
)
from genie_dp.private.ledger.guard import doubt_of, private_of
from genie_dp.private_prior import PriorFile, guarantee_of, load_prior, priors_of, refuse_twice
from genie_dp.records import Example, Spent
from genie_dp.run.cache import keep_pickled, load_pickled, place_in_cache
from genie_dp.run.files import sha256_of
from genie_dp.run.manifest import PRIVATE, write_json
from genie_dp.run.page import FEW_ROWS, percent, render_card
from genie_dp.run.stage import Output, Result, hold_output, tell, write_over
from genie_dp.run.work import PARSER, enter_work, interruptible, put_in_place, refuse_output
from genie_dp.run.workers import in_processes
from genie_dp.templates.cache import inputs_of
from genie_dp.templates.inputs import Inputs, library_fingerprint, reading_files

if TYPE_CHECKING:
    from genie_dp.parser.training import Material, Trained


@dataclass(frozen=True, slots=True)
class TrainResult(Result):
    """A parser that was trained.

    Attributes:
        output: its folder.
        steps, seconds: how long the network was trained.
        accuracy: share of the validation rows that are right; None where there are none.
        is_real: whether these rows are those of a file, else they were held out.
        seconds_in_all: with reading, calibration and writing.
        notes: further messages; the command prints them before training begins.
    """

    output: str
    steps: int
    seconds: float
    accuracy: float | None
    validation_rows: int
    is_real: bool
    seconds_in_all: float
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines to print: of several processes that train together, the first prints."""
        if rank() > 0:
            return
        right = "no rows to validate with"
        if self.accuracy is not None:
            kind = "validation" if self.is_real else "held-out"
            count = round(self.accuracy * self.validation_rows)
            right = f"first program right for {count:,} of {self.validation_rows:,} {kind} rows"
            right += f" ({percent(self.accuracy)})" if self.validation_rows >= FEW_ROWS else ""
        yield (
            f"{self.steps:,} steps in {self.seconds:.0f} s, {right} "
            f"-> {self.output} ({self.seconds_in_all:.0f} s in all)"
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """The settings and inputs of one training run.

    Attributes:
        skills: files of the library, which are copied to the parser.
        digests: SHA-256 of each input file.
        validated: SHA-256 of the files that are validated with.
        spent: the guarantee of private rows, and of a prior.
        ledgers: those of the rows that have one.
        start: the parser to continue.
        templates: those that the rows were made of, which are kept with the parser.
    """

    config: ParserConfig
    target: Target
    skills: tuple[Path, ...]
    digests: Mapping[str, str]
    validated: tuple[str, ...]
    output: Output
    licence: str
    prior: PriorFile | None
    spent: Spent | None
    ledgers: tuple[str, ...]
    start: Start | None
    screen: "_Screen"
    templates: Inputs | None = None

    @property
    def folder(self) -> Path:
        return Path(self.output.target)

    @property
    def work(self) -> Path:
        """Return where the run lies until it is complete."""
        return self.output.work

    @property
    def start_digest(self) -> str:
        """Return the SHA-256 of the network to continue; "" for none."""
        if self.start:
            return self.start.digest
        return digest_of(BASE_FOLDER) if self.config.start == BASE else ""

    def settings(self) -> dict[str, Any]:
        """Return everything that the weights depend on; resuming with other settings is refused."""
        settings = {
            "version": __version__,
            "language": self.target.language.name,
            "library": library_fingerprint(self.target.library),
            **({"templates": self.templates.fingerprint()} if self.templates else {}),
            "inputs": dict(self.digests),
            "validation": self.validated,
            "config": asdict(self.config),
            **({"prior": self.prior.manifest_fields()} if self.prior else {}),
            **({"start": self.start_digest} if self.start_digest else {}),
            **({"processes": _world()} if _world() > 1 else {}),
        }
        plain: dict[str, Any] = json.loads(json.dumps(settings))
        return plain


def run(stage: Train, output: Output, *, progress: bool | None = None) -> TrainResult:
    """Prepare the rows, train, calibrate, and write the folder of a parser.

    The folder appears when it is complete. An interrupted run goes on where it was, to the same
    weights (budgets in steps and epochs); the weights do not depend on `jobs`.

    Raises:
        GenieError: rows that cannot be learned from (N003 to N006), an output that is there (Y022)
            or is no parser (N007), work of other settings (Y020, Y021), no such device (N008).
    """
    started = time.monotonic()
    config = stage.config()
    screen = _Screen(config, progress)
    job = _read(stage, config, output, screen)
    is_first = rank() == 0
    with _enter(job) if is_first else nullcontext():
        material, reading = prepare(job, stage.jobs)
        trained = _train(job, material, stage.device, stage.threads)
        if is_first:
            deliver(job, material, reading, trained)
    screen.line("")
    figures = trained.figures
    return TrainResult(
        output.target,
        figures["steps"],
        figures["seconds"],
        figures["validation accuracy"],
        figures["validation rows"],
        bool(config.validation),
        time.monotonic() - started,
        tuple(screen.notes),
    )


def _read(stage: Train, config: ParserConfig, output: Output, screen: "_Screen") -> _Run:
    """Return the run, its files read for the first time."""
    name = language_of(config.inputs, stage.language)
    library = stage.load_library(name)
    templates = stage.load_templates(library) if stage.load_templates else None
    prior = load_prior(Path(config.prior)) if config.prior else None
    folder = config.start_folder
    start = read_start(config, folder, name) if folder else None
    paths = [input_file.path for input_file in config.inputs]
    validated = validation_files(config.validation)
    refuse_twice(prior, paths)
    return _Run(
        config,
        target_of(Style(config.types, config.keywords, config.canonical), name, library),
        tuple(library.paths),
        {path: sha256_of(path) for path in paths},
        tuple(map(sha256_of, validated)),
        output,
        stage.licence,
        prior,
        guarantee_of_both(start, prior.prior.spent if prior else guarantee_of(paths), stage.spent),
        tuple(_ledgers((*paths, *validated), start, screen)) if rank() == 0 else (),
        start,
        screen,
        templates or _shipped_templates(config, library, screen),
    )


def _shipped_templates(config: ParserConfig, library: Library, screen: "_Screen") -> Inputs | None:
    """Return the shipped templates for a library; None if they do not cover it."""
    if not get_language(library.language).has_skills:
        return None
    if locale(config).language != DEFAULT:
        return None
    try:
        return inputs_of(library, reading_files())
    except GenieError as error:
        screen.note(f"sentences are not derived by templates: {error.problems[0].message}")
        return None


def _ledgers(paths: Sequence[str], start: Start | None, screen: "_Screen") -> dict[str, None]:
    """Return the ledgers of rows that have one; the parser is as private as they are (B035)."""
    ledgers: dict[str, None] = {}
    if start:
        for name in start.ledgers:
            ledgers[name] = None
            screen.note(str(GenieError(doubt_of(start.folder, Path(name)))))
    for path in dict.fromkeys(paths):
        ledger = private_of(path)
        if ledger is not None:
            ledgers[str(ledger.resolve())] = None
            screen.note(str(GenieError(doubt_of(path, ledger))))
    return ledgers


def rank() -> int:
    """Return the rank of this process among those that train together, as torchrun sets it."""
    return int(os.environ.get("RANK", "0"))


def _world() -> int:
    """Return the number of processes that train together, as torchrun sets it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def _enter(job: _Run) -> Iterator[None]:
    """Keep the output and its work folder for this run, until the block ends."""
    resume, overwrite = job.output.resume, job.output.overwrite
    with hold_output(job.output):
        # A run that was let in goes on, even if what it is to replace is there.
        refuse_output(job.folder, job.work, PARSER, resume=resume, overwrite=overwrite)
        enter_work(job.work, job.settings(), resume=resume)
        with interruptible(job.work), _nothing_left(job):
            yield


@contextmanager
def _nothing_left(job: _Run) -> Iterator[None]:
    """Leave no work of a run that a mistake ended before it had anything to go on from."""
    try:
        yield
    except GenieError:
        if not any((job.work / "checkpoints").glob("step-*")):
            shutil.rmtree(job.work, ignore_errors=True)
        raise


class _Screen:
    """The display of a training run: notes, and its progress.

    A terminal has one line, written over; elsewhere there is a line now and then.
    """

    def __init__(self, config: ParserConfig, progress: bool | None):
        self.config = config
        self.notes: list[str] = []
        self.best = ""
        self.progress = progress if rank() == 0 else False
        self.is_estimated = False

    def line(self, text: str) -> None:
        """Show how far the run is."""
        write_over(text, show=self.progress)

    def note(self, text: str) -> None:
        """Keep a note for the result, and write it where notes are wanted at once."""
        self.notes.append(text)
        self._tell(text)

    def _tell(self, text: str) -> None:
        self.line("")
        tell(text, show=self.progress)

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Show how far training is."""
        if "score" in event:
            self.best = f", right {100 * event['score']:.1f} % (best {100 * event['best']:.1f} %)"
            return
        place, used = self._place(event)
        rest = event["seconds"] * (1 - used) / used if used else 0.0
        if not self.is_estimated:
            self.is_estimated = True
            total = in_minutes(event["seconds"] + rest)
            self._tell(f"training takes {total} at this speed")
        time_left = f", {in_minutes(rest)} left" if used < 1 else ""
        self.line(f"{place}, loss {event['loss']:.3f}{self.best}{time_left}")

    def _place(self, event: Mapping[str, Any]) -> tuple[str, float]:
        """Return the progress of training, in words and as the share of the budget."""
        config, places = self.config, []
        if config.steps is not None:
            words = f"step {event['step']:,} of {config.steps:,}"
            places.append((event["step"] / config.steps, words))
        if config.epochs is not None:
            words = f"epoch {event['epoch']:.2f} of {config.epochs}"
            places.append((event["epoch"] / config.epochs, words))
        if config.minutes is not None:
            limit = 60 * config.minutes
            places.append((event["seconds"] / limit, f"{event['seconds']:.0f} of {limit:.0f} s"))
        used, words = max(places)
        return words, min(1.0, used)


def in_minutes(seconds: float) -> str:
    """Return an estimate of time in words.

    >>> in_minutes(8), in_minutes(50), in_minutes(100)
    ('some seconds', 'about a minute', 'about 2 minutes')
    """
    minutes = round(seconds / 60)
    if minutes < 1:
        return "some seconds"
    return "about a minute" if minutes == 1 else f"about {minutes} minutes"


# --------------------------------------------------------------------------------- the rows


def prepare(job: _Run, jobs: int) -> "tuple[Material, Reading]":
    """Return the rows in the form in which they are learned, and how they were read."""
    rows, reading, evidence = _prepare_rows(job, jobs)
    check_spent(rows.counts["private"], job.spent)
    derive = partial(_derive, job, reading, jobs)
    validation = validation_rows(job.config, job.target, reading, rows, derive)
    texts, begins = grammar_texts(rows, job.target.language.name), first_tokens(rows)
    if job.start:
        texts, begins = job.start.texts_beside(texts), job.start.begins_beside(begins)
    _note_rows(rows, job.screen)
    # Torch comes after the worker processes were forked.
    from genie_dp.parser.training import Material

    refusals = tuple(Checked(sentence, OUT_OF_SCOPE) for sentence in rows.refused_held_out)
    if job.start:
        evidence = job.start.evidence_beside(evidence)
    material = Material(job.target, rows, validation, texts, begins, evidence, job.start, refusals)
    return material, reading


def _derive(job: _Run, reading: Reading, jobs: int, rows: Sequence[Example]) -> list[bool | None]:
    """Return whether templates answer each row rightly; None for rows left to the network."""
    parser = _template_parser(job, reading)
    blocks = range(-(-len(rows) // _DERIVED_TOGETHER))
    first_results = [
        parser.derives(row) for row in rows[:1]
    ]  # which reads the templates, once for all

    def work(numbers: Sequence[int]) -> Iterator[list[bool | None]]:
        for number in numbers:
            some = rows[number * _DERIVED_TOGETHER : (number + 1) * _DERIVED_TOGETHER]
            yield [parser.derives(row) for row in some]

    if not first_results:
        return []
    results = work(blocks) if jobs == 1 else in_processes(work, blocks, min(jobs, len(blocks)))
    return [derived for block in results for derived in block]


def _template_parser(job: _Run, reading: Reading) -> Parser:
    """Return a parser of a run's templates alone, which its parser will ask first."""
    use, derivations = Use(locale=locale(job.config)), None
    if job.templates is not None and job.target.reads_values:
        library = job.templates.library
        derivations = Derivations(
            LazyTemplates.from_inputs(job.templates), library, use.locale.words
        )
    reader = load_reader(phrases=reading.phrases, units=job.target.units, locale=use.locale)
    return Parser(job.target, reader=reader, use=use, derivations=derivations, clock=lambda: NOW)


_DERIVED_TOGETHER = 20
# What rows are prepared without.
_OF_TRAINING = frozenset(
    ("steps", "epochs", "minutes", "batch", "accumulate", "rate", "weight_decay", "bf16",
     "validations", "patience", "checkpoint_every", "architecture",
     "network", "beam", "readings", "threshold", "language_model", "language_model_epochs",
     "weights")
)  # fmt: skip
_LEAST_KEPT = 10_000  # rows: fewer are prepared in seconds


def _prepare_rows(job: _Run, jobs: int) -> tuple[Rows, Reading, Evidence]:
    """Return the prepared rows, their reading and their evidence, from the cache or anew.

    Rows with a private one among them, or with a ledger, are never kept: the cache is no place for
    them.
    """
    settings = job.settings()
    config = {name: x for name, x in settings["config"].items() if name not in _OF_TRAINING}
    is_public = not (job.spent or job.ledgers or _world() > 1)
    place = place_in_cache({**settings, "config": config}, ".rows") if is_public else None
    prepared: tuple[Rows, Reading, Evidence] | None = load_pickled(place)
    if prepared is not None:
        job.screen.note("the rows are as they were prepared before")
        return prepared
    reading = learn_reading(job.config, job.target)
    if job.start:
        reading = job.start.reading_beside(reading)
    rows = read_all(
        job.config,
        job.target,
        reading,
        jobs=jobs,
        hold_out=not job.config.validation,
        prior=job.prior.prior if job.prior else None,
        tell=lambda count: job.screen.line(f"{count:,} rows prepared"),
    )
    maker = RowMaker(job.config, job.target, reading)
    if job.config.incomplete:
        add_incomplete(rows, maker)
    if job.config.contrast:
        add_contrast(rows, maker.locale.words)
    if job.config.out_of_scope:
        add_refused(rows, maker, job.templates, jobs=jobs)
    words = maker.locale.words
    evidence = Evidence.from_rows((*rows.parts, rows.incomplete), job.target.language, words)
    is_worth_it = sum(map(len, rows.parts)) >= _LEAST_KEPT
    if place is not None and is_worth_it and not rows.counts["private"]:
        keep_pickled(place, (rows, reading, evidence))
    return rows, reading, evidence


def _note_rows(rows: Rows, screen: _Screen) -> None:
    screen.note(f"{sum(map(len, rows.parts)):,} rows to learn from")
    stores = (
        (rows.incomplete, "without an input that their command needs, to learn to ask for it"),
        (
            rows.contrast,
            "of the opposite meaning in almost the same words, to tell them apart",
        ),
        (rows.refused, "that the skills cannot do, to learn to say so"),
    )
    for store, description in stores:
        if len(store):
            screen.note(f"{len(store):>11,}  more: {description}")
    for reason, number in rows.left.most_common():
        screen.note(f"{number:>11,}  left out: {reason}")
    if rows.weighed is not None:
        spread = rows.weighed
        range_ = f"{spread.low:.2g} to {spread.high:.2g}"
        screen.note(
            f"weights with the prior: {range_}, worth {spread.effective:,.0f} rows of one weight"
        )


# --------------------------------------------------------------------------------- training


def _train(job: _Run, material: "Material", device: str, threads: int) -> "Trained":
    import torch

    from genie_dp.models.device import prepare_torch
    from genie_dp.models.processes import join
    from genie_dp.parser.training import train

    before = torch.get_num_threads()
    prepare_torch(device, threads)
    group = join(device)
    try:
        return train(job.config, material, job.work, device=device, group=group, listen=job.screen)
    finally:
        torch.set_num_threads(before)
        if group.world > 1:
            torch.distributed.destroy_process_group()


# -------------------------------------------------------------------------------- the folder


def deliver(job: _Run, material: "Material", reading: Reading, trained: "Trained") -> None:
    """Write the folder beside its name and rename it when it is complete."""
    from genie_dp.models.loop import read_metrics
    from genie_dp.models.saved import save_model

    folder = job.work / "made"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    files.copy_skills(job.skills, folder)
    files.write_texts(folder, material.texts)
    files.write_reader(folder, reading)
    if job.templates is not None:
        files.write_templates(folder, job.templates)
    if (place := locale(job.config)).is_own:
        shutil.copyfile(place.language, folder / files.WORDS)
    material.evidence.save(folder / files.EVIDENCE)
    files.write_lines(folder / files.REFUSALS, material.rows.refused_held_out)
    facts = {"parser": _facts(job, material, reading, trained, files.skills_hash(folder))}
    save_model(replace(trained.saved, facts=facts), folder, int8=job.config.weights == "int8")
    (folder / files.RECIPE).write_text(as_yaml(job.config), encoding="utf-8")
    metrics = job.work / files.METRICS
    if metrics.exists():
        shutil.copyfile(metrics, folder / files.METRICS)
    curves = write_curves(read_metrics(metrics), folder / files.CURVES)
    if job.start:
        shutil.copyfile(job.start.folder / files.CARD, folder / files.START_CARD)
    card = _card(job, material, trained, curves)
    (folder / files.CARD).write_text(render_card("genie_dp.parser", card=card), encoding="utf-8")
    write_json(str(folder / files.MANIFEST), _manifest(job, material, trained))
    put_in_place(folder, job.folder, job.work)


def _facts(
    job: _Run, material: "Material", reading: Reading, trained: "Trained", skills: str
) -> dict[str, Any]:
    """Return the facts about the parser for config.json; `Parser.from_pretrained` reads them."""
    config, place = job.config, locale(job.config)
    return {
        "version": __version__,
        "language": job.target.language.name,
        "types": config.types,
        "keywords": config.keywords,
        "canonical": config.canonical,
        "locale": {**asdict(place), "language": files.WORDS if place.is_own else place.language},
        "skills": skills,
        "calibration": asdict(trained.calibration),
        "derived": derived_confidence(material.validation),
        "validated": bool(config.validation),
        "threshold": config.threshold,
        "beam": config.beam,
        "readings": config.readings,
        "is_constrained": config.is_constrained,
        "longest": trained.longest,
        "begins": material.begins,
        "fixed": sorted(reading.fixed),
    }


def _manifest(job: _Run, material: "Material", trained: "Trained") -> dict[str, Any]:
    earlier = priors_of(job.digests)
    inputs = dict(job.digests)
    examples = _examples(material)
    if job.start:
        earlier = job.start.priors | earlier
        inputs = job.start.inputs_beside(inputs)
    return {
        "command": "train",
        "version": __version__,
        **({PRIVATE: list(job.ledgers)} if job.ledgers else {}),
        "inputs": inputs,
        "counts": as_counts(material.rows),
        "figures": dict(trained.figures),
        "config": asdict(job.config),
        "example": examples[0] if examples else "...",
        "examples": list(examples),
        **({"prior": job.prior.manifest_fields()} if job.prior else {}),
        **({"priors": earlier} if earlier else {}),
        **({"start": {"parser": job.start.folder.name if job.start else BASE,
                      "sha256": job.start_digest}} if job.start_digest else {}),
        "spent": asdict(job.spent) if job.spent else None,
    }  # fmt: skip


def _card(job: _Run, material: "Material", trained: "Trained", curves: Path | None) -> Card:
    config = job.config
    return Card(
        title=f"Parser {job.folder.name}",
        folder=job.folder.name,
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
        threshold=config.threshold,
        is_constrained=config.is_constrained,
        has_skills=bool(job.skills),
        example=next(iter(_examples(material)), "..."),
        made_by=config.made_by,
        licence=job.licence,
        spent=job.spent,
        curves=curves.name if curves else "",
        start=job.start.folder.name if job.start else "",
        is_from_base=config.start == BASE,
        spoken=locale(config).words.number_language,
    )


def _measured_on(config: ParserConfig) -> str:
    if config.validation:
        return f"{Path(config.validation).name}, which also chose the best weights"
    return f"{100 * config.held_out:g} % of the rows, held out by family"


_LOOKED_AT = 5_000  # rows of an input that examples are looked for in
_MOST_EXAMPLES = 12


def _examples(material: "Material") -> tuple[str, ...]:
    """Return short sentences without placeholders, each of other functions, the plainest first.

    None of rows that people wrote.
    """
    if material.rows.counts["human"] or material.rows.counts["private"]:
        return ()
    counts = Counter[tuple[str, str]]()
    for store in material.rows.parts:
        for place in range(0, len(store), max(1, len(store) // _LOOKED_AT)):
            words, program = store[place].sentence, " ".join(store[place].program)
            is_plain = all(word.isalpha() and word.islower() for word in words)
            if 3 <= len(words) <= 8 and is_plain and program != OUT_OF_SCOPE:
                counts[" ".join(words), program] += 1
    ranks: dict[frozenset[str], tuple[int, int, int, str]] = {}
    for (sentence, program), count in counts.items():
        names = frozenset(material.target.language.form(program).functions)
        # What comes again is without the noise of augmentation.
        rank = (program.count(" "), -count, abs(sentence.count(" ") - 4), sentence)
        ranks[names] = min(ranks.get(names, rank), rank)
    # Of one function first: it says what there is.
    order = sorted(ranks.items(), key=lambda item: (len(item[0]), item[1]))
    return tuple(sentence for _, (*_, sentence) in order[:_MOST_EXAMPLES])
