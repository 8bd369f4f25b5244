"""One run of augmentation: from options to a finished file, or as far as it got."""

import gc
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click
import xxhash

from genie_dp import __version__
from genie_dp.augment.config import NOISE, AugmentConfig
from genie_dp.augment.datasets import OwnLists, read_own_lists
from genie_dp.augment.engine import Block, Engine, augment
from genie_dp.augment.run import Tally, blocks
from genie_dp.augment.values import LibraryValues
from genie_dp.augment.values_report import table
from genie_dp.cli.augment_rows import (
    Input,
    block_numbers,
    blocks_of,
    described,
    fingerprint,
    scan,
    weighed_blocks,
)
from genie_dp.cli.augment_work import open_rows
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.output import progress, told_private
from genie_dp.cli.overlap import refuse_overlap
from genie_dp.cli.priors import read_prior
from genie_dp.errors import GenieError, Problem, render_problem
from genie_dp.languages import get_language
from genie_dp.paraphrase.lexical import Lexicon
from genie_dp.paraphrase.lexical_files import read_lexicon, shipped_lexicon
from genie_dp.private_prior import PriorFile, priors_of, refuse_twice
from genie_dp.rows import deliver, rows_format
from genie_dp.run.files import local_target, open_bytes, opened
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.work import interruptible, refuse_or_clear, work_folder_of
from genie_dp.skills.model import Library
from genie_dp.texts import read_text


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp augment` asks for."""

    inputs: tuple[str, ...]
    language: str
    skills: tuple[Path, ...]
    skip_broken: bool
    config: AugmentConfig
    prior: PriorFile | None
    values: Path | None
    widen: bool
    lexicon: str
    output: str
    format: str
    jobs: int
    resume: bool
    overwrite: bool
    on_error: str

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Job":
        """Return the job of the command's options."""
        settings = {field.name: options[field.name] for field in fields(AugmentConfig)}
        if options["no_noise"]:
            settings |= dict.fromkeys(NOISE, 0.0)
        needs_file = ["resume"] if options["resume"] and options["preview"] is None else []
        return cls(
            config=AugmentConfig(**settings),
            prior=read_prior(options),
            format=rows_format(
                options["output"], options["format_"], what="rows", needs_file=needs_file
            ),
            **{name: options[name] for name in _PLAIN},
        )

    @property
    def work_folder(self) -> Path:
        """Return where the rows lie until they are complete; for URLs it is a local folder."""
        return work_folder_of(local_target(self.output) or Path(self.output.rsplit("/", 1)[-1]))

    @property
    def line_format(self) -> str:
        """Return the format of the work file."""
        return "tsv" if self.format == "tsv" else "jsonl"


_PLAIN = (
    "inputs", "language", "skills", "skip_broken", "values", "widen", "lexicon", "output",
    "jobs", "resume", "overwrite", "on_error",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything before the first row: inputs, engine, and the settings that rows depend on."""

    inputs: tuple[Input, ...]
    engine: Engine
    settings: dict[str, Any]


def prepare(job: Job) -> Prepared:
    """Return inputs and engine, or raise GenieError for mistakes in any file."""
    refuse_twice(job.prior, job.inputs)
    if job.prior and job.format == "tsv":
        hint = "give --format jsonl, or let train weigh them: genie-dp train --prior"
        raise GenieError(Problem("F004", "rows of TSV have no weights for --prior", hint=hint))
    inputs = scan(job.inputs)
    library = load_library_of(job.language, job.skills, skip_broken=job.skip_broken)
    is_skills = isinstance(library, Library)
    skills = library if is_skills else Library()
    own = _own_lists(job, skills)
    engine = Engine(
        job.config,
        LibraryValues(skills, own.lists, widen=job.widen),
        get_language(job.language),
        library,
        _lexicon(job),
        skip_broken=job.on_error == "skip",
    )
    texts = library.sources.values() if is_skills else map(read_text, job.skills)
    return Prepared(inputs, engine, _settings(job, inputs, list(texts), own))


def _own_lists(job: Job, library: Library) -> OwnLists:
    """Return the lists of --values; what is odd in them is told."""
    if job.values is None:
        return OwnLists()
    own = read_own_lists(job.values, library)
    for problem in own.warnings:
        click.echo(render_problem(problem, own.sources), err=True)
    return own


def list_values(job: Job) -> None:
    """Print which parameter takes its values from which list."""
    library = load_library_of(job.language, job.skills, skip_broken=job.skip_broken)
    if not isinstance(library, Library):
        hint = "of S-expressions the types of texts alone are known"
        raise GenieError(Problem("A103", "--list-values needs skills", hint=hint))
    own = _own_lists(job, library)
    for line in table(library, LibraryValues(library, own.lists, widen=job.widen)):
        click.echo(line)


def _lexicon(job: Job) -> Lexicon | None:
    config = job.config
    if job.lexicon == "none" or not (config.reword or config.reword_synthetic):
        return None
    if job.lexicon == "wordnet":
        from genie_dp.paraphrase.lexical_wordnet import wordnet_lexicon

        return wordnet_lexicon()
    return shipped_lexicon() if job.lexicon == "shipped" else read_lexicon(job.lexicon)


def _settings(
    job: Job, inputs: Sequence[Input], texts: Sequence[str], own: OwnLists
) -> dict[str, Any]:
    """Return all that the rows depend on; resuming with other settings is refused."""
    settings: dict[str, Any] = json.loads(
        json.dumps(
            {
                "version": __version__,
                "language": job.language,
                "library": fingerprint(texts),
                "values": {"own": _own(job, own), "widen": job.widen},
                "lexicon": _lexicon_name(job.lexicon),
                "inputs": [one.digest for one in inputs],
                "on_error": job.on_error,
                "config": asdict(job.config),
                "rows": job.line_format,
                **({"prior": job.prior.told()} if job.prior else {}),
            }
        )
    )
    return settings


def _own(job: Job, own: OwnLists) -> dict[str, Any]:
    """Return the user's lists as settings name them: by content, and what each is for."""
    if job.values is None:
        return {}
    return {"uses": fingerprint([read_text(job.values)]), "lists": dict(own.hashes)}


_LEXICONS = ("shipped", "wordnet", "none")


def _lexicon_name(name: str) -> str:
    """Return a lexicon as settings name it: a file by its content."""
    if name in _LEXICONS:
        return name
    digest = xxhash.xxh3_128()
    with opened(name) as lines:
        for line in lines:
            digest.update(line)
    return f"file {digest.hexdigest()}"


# -------------------------------------------------------------------------------------- run


def preview(job: Job, count: int) -> None:
    """Print the first rows, and what is made of them."""
    from genie_dp.templates.english import surface

    made = prepare(job)
    expander = made.engine.expander()
    numbers = block_numbers(made.inputs)
    rows = (row for _, block in blocks_of(made.inputs, numbers) for row, _ in block)
    for row in islice(rows, count):
        click.secho(f"{row.id}  {surface(row.utterance.split())}", dim=True)
        for copy in augment([row], made.engine, expander=expander):
            click.echo(f"  {copy.utterance}\n      {copy.program}")


def run(job: Job) -> None:
    """Make the rows and say what was made."""
    started = time.monotonic()
    refuse_overlap([job.output], job.inputs)
    if job.output != "-":
        refuse_or_clear(
            local_target(job.output), job.work_folder, resume=job.resume, overwrite=job.overwrite
        )
    private = told_private(job.inputs)
    made = prepare(job)
    with _collector_resting():
        tally = _to_stdout(job, made) if job.output == "-" else _to_file(job, made, private)
    _say(job, tally, time.monotonic() - started)


@contextmanager
def _collector_resting() -> Iterator[None]:
    """Switch the garbage collector off: rows hold no cycles, and lists stay to the end.

    It would cost a twentieth of the time (November 2026). Workers inherit it.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _blocks(job: Job, made: Prepared, done: int) -> Iterator[Block]:
    read = partial(blocks_of, made.inputs)
    return blocks(
        made.engine,
        partial(weighed_blocks, read, job.prior.prior) if job.prior else read,
        block_numbers(made.inputs)[done:],
        jobs=job.jobs,
        format=job.line_format,
    )


def _to_stdout(job: Job, made: Prepared) -> Tally:
    tally = Tally()
    with open_bytes(job.output) as out:
        for block in _blocks(job, made, 0):
            tally.add(block)
            out.write(block.text)
    return tally


def _to_file(job: Job, made: Prepared, private: Mapping[str, Any]) -> Tally:
    made_rows = open_rows(job.work_folder, made.settings, resume=job.resume)
    folder = made_rows.work.path
    with interruptible(folder):
        try:
            todo = _blocks(job, made, made_rows.done)
            total = len(block_numbers(made.inputs)) - made_rows.done
            with progress(todo, label="augment", total=total) as counted:
                for block in counted:
                    made_rows.add(block)
        finally:
            made_rows.work.close()
        deliver(folder / "rows", job.line_format, job.output, job.format)
        write_json(manifest_of(job.output), _manifest(job, made, made_rows.tally, private))
    shutil.rmtree(folder)
    return made_rows.tally


def _manifest(job: Job, made: Prepared, tally: Tally, private: Mapping[str, Any]) -> dict[str, Any]:
    earlier = priors_of(job.inputs)
    return {
        "command": "augment",
        **private,
        **made.settings,
        "inputs": described(made.inputs),
        **({"priors": earlier} if earlier else {}),
        "format": job.format,
        "counts": {
            "rows": tally.rows,
            "read": tally.of("read"),
            "made": tally.of("made"),
            "skipped": tally.counts["skipped"],
        },
        "without_values": tally.empty,
    }


def _say(job: Job, tally: Tally, seconds: float) -> None:
    where = "stdout" if job.output == "-" else job.output
    read, made = tally.of("read"), tally.of("made")
    parts = [f"{read[name]:,} {name} -> {made.get(name, 0):,}" for name in read]
    click.echo(f"{tally.rows:,} rows -> {where} ({seconds:.1f} s; {', '.join(parts)})", err=True)
    if job.prior:
        weights = job.prior.prior.function_weights.values()
        told = f"{min(weights, default=1):g} to {max(weights, default=1):g}"
        click.echo(f"weights multiplied by the prior's, for functions {told}", err=True)
    _say_skipped(tally)
    if tally.empty:
        click.echo(f"note: no value fits, so they stay: {', '.join(tally.empty[:10])}", err=True)


def _say_skipped(tally: Tally) -> None:
    count = tally.counts["skipped"]
    if not count:
        return
    click.echo(f"{count:,} rows left out:", err=True)
    for line in tally.told:
        click.echo(f"  {line.splitlines()[0]}", err=True)
    if count > len(tally.told):
        click.echo(f"  and {count - len(tally.told):,} more", err=True)
