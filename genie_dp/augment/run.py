"""Augmentation as a stage: from rows with placeholders to many rows with values, in a file."""

import gc
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import xxhash

from genie_dp import __version__
from genie_dp.augment.blocks import (
    Input,
    Tally,
    block_numbers,
    blocks,
    blocks_of,
    described,
    fingerprint,
    open_rows,
    scan,
    weighed_blocks,
)
from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.datasets import OwnLists
from genie_dp.augment.engine import Block, Engine, augment
from genie_dp.augment.values import LibraryValues
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.paraphrase.lexical import Lexicon
from genie_dp.paraphrase.lexical_files import lexicon_named
from genie_dp.private_prior import PriorFile, priors_of, refuse_twice
from genie_dp.records import Example
from genie_dp.rows import deliver, rows_format
from genie_dp.run.files import open_bytes, opened, refuse_overlap
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.run.work import interruptible, refuse_or_clear
from genie_dp.skills.model import Library
from genie_dp.texts import read_text

_LEXICONS = ("shipped", "wordnet", "none")  # those that are no files
_MOST_EMPTY = 10  # parameters without values that are named


@dataclass(frozen=True, slots=True)
class AugmentResult(Result):
    """What a run of augmentation made.

    Attributes:
        read, made: source, such as "synthetic" -> rows read, and rows made of them.
        skipped: rows that were left out, since their two sides do not go together.
        mistakes: what was wrong with the first of these.
        without_values: parameters that no value fits; their placeholders stay.
        prior: what weighed the rows.
    """

    output: str
    rows: int
    seconds: float
    read: Mapping[str, int]
    made: Mapping[str, int]
    skipped: int = 0
    mistakes: tuple[str, ...] = ()
    without_values: tuple[str, ...] = ()
    prior: PriorFile | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        where = "stdout" if self.output == "-" else self.output
        parts = [f"{self.read[name]:,} {name} -> {self.made.get(name, 0):,}" for name in self.read]
        yield f"{self.rows:,} rows -> {where} ({self.seconds:.1f} s; {', '.join(parts)})"
        if self.prior:
            weights = self.prior.prior.function_weights.values()
            span = f"{min(weights, default=1):g} to {max(weights, default=1):g}"
            yield f"weights multiplied by the prior's, for functions {span}"
        if self.skipped:
            yield f"{self.skipped:,} rows left out:"
            yield from (f"  {mistake.splitlines()[0]}" for mistake in self.mistakes)
            if self.skipped > len(self.mistakes):
                yield f"  and {self.skipped - len(self.mistakes):,} more"
        if self.without_values:
            names = ", ".join(self.without_values[:_MOST_EMPTY])
            yield f"note: no value fits, so they stay: {names}"
        yield from self.notes


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run of augmentation is asked for, and all that comes before its first row."""

    inputs: tuple[Input, ...]
    engine: Engine
    settings: dict[str, Any]
    prior: PriorFile | None
    output: Output
    format: str
    private: Mapping[str, Any]
    jobs: int
    progress: bool | None

    def blocks(self, done: int) -> Iterator[Block]:
        """Yield what is made, from this block of the inputs on."""
        read = partial(blocks_of, self.inputs)
        return blocks(
            self.engine,
            partial(weighed_blocks, read, self.prior.prior) if self.prior else read,
            block_numbers(self.inputs)[done:],
            jobs=self.jobs,
            format=_line_format(self.format),
        )


def run(
    config: AugmentConfig,
    inputs: Sequence[str],
    library: Any,
    output: Output,
    *,
    language: str = "thingtalk",
    prior: PriorFile | None = None,
    values: OwnLists | None = None,
    widen: bool = True,
    lexicon: str = "shipped",
    on_error: str = "stop",
    private: Mapping[str, Any] | None = None,
    jobs: int = 1,
    progress: bool | None = None,
) -> AugmentResult:
    """Make many rows of each row and write them; the bytes do not depend on `jobs`.

    Args:
        config: how many, and of which sort.
        inputs: files or URLs of rows.
        library: of the programs, as `load_library` returns it.
        output: where the rows go.
        language: of the programs.
        prior: weighs rows.
        values: the user's lists, which come before those of skills.
        widen: join the lists of skills with the shipped ones of their kind.
        lexicon: words of the same meaning: shipped, wordnet, none, or a file.
        on_error: "stop" or "skip", where the two sides of a row do not go together.
        private: what the manifest says of private rows among the inputs.
        jobs: processes that make rows.
        progress: whether to show progress; None for on a terminal.

    Raises:
        GenieError: an output that cannot be written, is there (Y022) or is an input (D027); work
            of other settings (Y020, Y021); a prior that does not go with it (F004, F005); rows
            that cannot be worked on (A101, A102, A110 to A113).
    """
    started = time.monotonic()
    needs_file = ["resume"] if output.resume else []
    format = rows_format(output.target, output.format, what="rows", needs_file=needs_file)
    refuse_overlap([output.target], inputs)
    if output.target != "-":
        refuse_or_clear(output.path, output.work, resume=output.resume, overwrite=output.overwrite)
    refuse_twice(prior, inputs)
    if prior and format == "tsv":
        hint = "give --format jsonl, or let train weigh them: genie-dp train --prior"
        raise GenieError(Problem("F004", "rows of TSV have no weights for --prior", hint=hint))
    scanned = scan(inputs)
    own = values or OwnLists()
    settings = {
        "version": __version__,
        "language": language,
        "library": fingerprint(_texts(library)),
        "values": {"own": _own_lists(own), "widen": widen},
        "lexicon": _lexicon_content(lexicon),
        "inputs": [one.digest for one in scanned],
        "on_error": on_error,
        "config": asdict(config),
        "rows": _line_format(format),
        **({"prior": prior.told()} if prior else {}),
    }
    engine = _engine(config, library, language, own, lexicon, widen=widen, on_error=on_error)
    plain = json.loads(json.dumps(settings))
    job = _Run(scanned, engine, plain, prior, output, format, private or {}, jobs, progress)
    with _collector_resting():
        tally = _to_stdout(job) if output.target == "-" else _to_file(job)
    return AugmentResult(
        output.target,
        tally.rows,
        time.monotonic() - started,
        tally.of("read"),
        tally.of("made"),
        tally.counts["skipped"],
        tuple(tally.told),
        tuple(tally.empty),
        prior,
    )


def preview(
    config: AugmentConfig,
    inputs: Sequence[str],
    library: Any,
    count: int,
    *,
    language: str = "thingtalk",
    values: OwnLists | None = None,
    widen: bool = True,
    lexicon: str = "shipped",
    on_error: str = "stop",
) -> Iterator[tuple[Example, tuple[Example, ...]]]:
    """Yield the first rows, each with what is made of it; arguments are those of `run`."""
    scanned = scan(inputs)
    own = values or OwnLists()
    engine = _engine(config, library, language, own, lexicon, widen=widen, on_error=on_error)
    expander = engine.expander()
    read = blocks_of(scanned, block_numbers(scanned))
    for row, _ in islice((pair for _, block in read for pair in block), count):
        yield row, tuple(augment([row], engine, expander=expander))


def _engine(
    config: AugmentConfig,
    library: Any,
    language: str,
    own: OwnLists,
    lexicon: str,
    *,
    widen: bool,
    on_error: str,
) -> Engine:
    skills = library if isinstance(library, Library) else Library()
    words: Lexicon | None = None
    if config.reword or config.reword_synthetic:
        words = lexicon_named(lexicon)
    return Engine(
        config,
        LibraryValues(skills, own.lists, widen=widen),
        get_language(language),
        library,
        words,
        skip_broken=on_error == "skip",
    )


# -------------------------------------------------------------------------------------- settings


def _line_format(format: str) -> str:
    """Return the format of the work file."""
    return "tsv" if format == "tsv" else "jsonl"


def _texts(library: Any) -> list[str]:
    """Return the texts that a library was read from."""
    if isinstance(library, Library):
        return list(library.sources.values())
    return [read_text(path) for path in library.paths] if library is not None else []


def _own_lists(own: OwnLists) -> dict[str, Any]:
    """Return the user's lists as settings name them: by content, and what each is for."""
    if own.uses is None:
        return {}
    return {"uses": fingerprint([own.uses]), "lists": dict(own.hashes)}


def _lexicon_content(name: str) -> str:
    """Return a lexicon as settings name it: a file by its content."""
    if name in _LEXICONS:
        return name
    digest = xxhash.xxh3_128()
    with opened(name) as lines:
        for line in lines:
            digest.update(line)
    return f"file {digest.hexdigest()}"


# ------------------------------------------------------------------------------------------ rows


@contextmanager
def _collector_resting() -> Iterator[None]:
    """Switch the garbage collector off: rows hold no cycles, and lists stay to the end.

    It would cost a twentieth of the time (November 2026). Workers inherit it.
    """
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def _to_stdout(job: _Run) -> Tally:
    tally = Tally()
    with open_bytes("-") as out:
        for block in job.blocks(0):
            tally.add(block)
            out.write(block.text)
    return tally


def _to_file(job: _Run) -> Tally:
    made = open_rows(job.output.work, job.settings, resume=job.output.resume)
    folder, target = made.work.path, job.output.target
    with interruptible(folder):
        try:
            total = len(block_numbers(job.inputs)) - made.done
            todo = job.blocks(made.done)
            for block in show_progress(todo, label="augment", total=total, show=job.progress):
                made.add(block)
        finally:
            made.work.close()
        deliver(folder / "rows", _line_format(job.format), target, job.format)
        write_json(manifest_of(target), _manifest(job, made.tally))
    shutil.rmtree(folder)
    return made.tally


def _manifest(job: _Run, tally: Tally) -> dict[str, Any]:
    earlier = priors_of(one.name for one in job.inputs)
    return {
        "command": "augment",
        **job.private,
        **job.settings,
        "inputs": described(job.inputs),
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
