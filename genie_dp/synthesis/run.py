"""Synthesis as a stage: from skills and templates to rows, in a file or one after the other."""

import gc
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.private_prior import PriorFile
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rows import deliver, from_json, lines_of, rows_format
from genie_dp.run.files import open_text
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, holds_output, show_progress
from genie_dp.run.work import interruptible, refuse_or_clear
from genie_dp.synthesis.cache import load_leaves, load_pools, make_and_save_leaves, save_pools
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import SynthesisEngine, build_engine, engine_from_pools
from genie_dp.synthesis.rows import (
    BlockSource,
    NewRows,
    RowFolder,
    SynthesisCounts,
    block_numbers,
    count_distinct_programs,
    new_rows,
    open_row_folder,
)
from genie_dp.synthesis.sentence_hashes import SentenceHashes
from genie_dp.synthesis.trials import TemplateSample, samples
from genie_dp.templates.cache import load_inputs
from genie_dp.templates.grammar import DEFAULT_SUBSET, subset
from genie_dp.templates.inputs import Inputs

_MOST_REFUSED = 10  # templates that are named in notes
_MOST_UNKNOWN = 5  # functions of a prior that the skills lack, named in a note


@dataclass(frozen=True, slots=True)
class SynthesisResult(Result):
    """What a run of synthesis made.

    Attributes:
        root_templates: root templates that have a row at least.
        unfit: derivations left out since their parts do not go together.
        repeated, ambiguous: those that were there already, with the same or another program.
        notes: what else to tell.
    """

    output: str
    rows: int
    seconds: float
    root_templates: int
    unfit: int
    repeated: int
    ambiguous: int
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        where = "stdout" if self.output == "-" else self.output
        yield (
            f"{self.rows:,} pairs -> {where} ({self.seconds:.1f} s, "
            f"{self.root_templates} root templates; left out: {self.unfit:,} that do not go "
            f"together, {self.repeated:,} repeated, {self.ambiguous:,} ambiguous)"
        )
        yield from self.notes


@dataclass(frozen=True, slots=True)
class _SynthesisRun:
    """What one run of synthesis is asked for."""

    config: SynthesisConfig
    inputs: Inputs
    prior: PriorFile | None
    output: Output
    format: str
    jobs: int
    shard: tuple[int, int]
    report: Path | None
    progress: bool | None

    @property
    def line_format(self) -> str:
        """Return the format of the work file; a report needs whole rows."""
        return "tsv" if self.format == "tsv" and self.report is None else "jsonl"

    @property
    def limit(self) -> int | None:
        """Return after how many rows to stop; shards go to the end, for `merge` cuts the whole."""
        return self.config.size if self.shard[1] == 1 else None

    def settings(self) -> dict[str, Any]:
        """Return all that the rows depend on; resuming with other settings is refused."""
        config = asdict(self.config)
        config["weights"] = dict(sorted(config["weights"].items()))
        return {
            "version": __version__,
            "language": self.inputs.language.name,
            "inputs": self.inputs.fingerprint(),
            "config": config,
            "shard": list(self.shard),
            "rows": self.line_format,
            **({"prior": self.prior.manifest_fields()} if self.prior else {}),
        }


@holds_output
def run(
    config: SynthesisConfig,
    inputs: Inputs,
    output: Output,
    *,
    prior: PriorFile | None = None,
    jobs: int = 1,
    shard: tuple[int, int] = (0, 1),
    scheduler: str | None = None,
    report: Path | None = None,
    augmented: Mapping[str, int] | None = None,
    progress: bool | None = None,
) -> SynthesisResult:
    """Make the rows and write them; the bytes depend on neither `jobs` nor `scheduler`.

    Args:
        config: what to sample.
        inputs: the skills and templates.
        output: where the rows go.
        prior: weighs functions.
        jobs: processes that make rows.
        shard: (i, n) for part i of n, which `merge` joins.
        scheduler: address of a Dask scheduler whose workers make the rows.
        report: a folder for coverage, ambiguity and acceptance, as JSON and HTML.
        augmented: template -> its rows after augmentation, for the report.
        progress: whether to show progress; None for on a terminal.

    Raises:
        GenieError: names of nothing (Y031 to Y033), templates without sentences (Y030), an output
            that cannot be written or is there (Y022), work of other settings (Y020, Y021).
    """
    started = time.monotonic()
    needs_file = [name for name, is_on in (("report", report), ("resume", output.resume)) if is_on]
    format = rows_format(output.target, output.format, what="pairs", needs_file=needs_file)
    job = _SynthesisRun(config, inputs, prior, output, format, jobs, shard, report, progress)
    if output.target != "-":
        refuse_or_clear(output.path, output.work, resume=output.resume, overwrite=output.overwrite)
    with (
        _connect_cluster(scheduler) as client,
        _EngineInUse(job, every_template=bool(report)) as engine,
    ):
        in_pools = engine.compiled.count_raised()
        source = _remote_source(job, engine, client) if client else None
        if output.target == "-":
            tally = _to_stdout(job, engine, source)
        else:
            tally = _to_file(job, engine, in_pools, source, augmented)
        return _result(job, engine, tally, in_pools, time.monotonic() - started)


def iterate(
    config: SynthesisConfig, inputs: Inputs, *, prior: PriorFile | None = None
) -> Iterator[Example]:
    """Yield the rows that `run` would write, made as they are asked for."""
    job = _SynthesisRun(config, inputs, prior, Output("-"), "jsonl", 1, (0, 1), None, False)
    with _EngineInUse(job) as engine:
        for part in _parts(job, engine, 0, SentenceHashes(), SynthesisCounts(), None):
            for line in part.text.decode().splitlines():
                yield from_json(line)


def preview(
    config: SynthesisConfig, inputs: Inputs, count: int, *, templates: Collection[str] = ()
) -> Iterator[TemplateSample]:
    """Yield `count` random results of each template, for whoever edits it.

    Args:
        config: what to sample.
        inputs: the skills and templates.
        count: results of each template.
        templates: ids of those to show; empty for all.
    """
    job = _SynthesisRun(config, inputs, None, Output("-"), "jsonl", 1, (0, 1), None, False)
    with _EngineInUse(job, every_template=True) as engine:
        yield from samples(engine, count, templates)


# ---------------------------------------------------------------------------------- the engine


class _EngineInUse(AbstractContextManager[SynthesisEngine]):
    """Builds the engine of a run; while it is in use the garbage collector leaves it alone.

    The collector would look at all of it again and again, a fifth of the time (November 2026).
    """

    def __init__(self, job: _SynthesisRun, *, every_template: bool = False):
        self.job, self.every_template = job, every_template

    def __enter__(self) -> SynthesisEngine:
        job = self.job
        gc.disable()
        try:
            return _build(job.config, job.inputs, job.prior, every_template=self.every_template)
        finally:
            gc.freeze()
            gc.enable()

    def __exit__(self, *_: object) -> None:
        gc.unfreeze()


def _build(
    config: SynthesisConfig,
    inputs: Inputs,
    prior: PriorFile | None,
    *,
    every_template: bool = False,
) -> SynthesisEngine:
    """Return the engine: everything before the first row.

    With `every_template` it knows templates that only give leaves, too.
    """
    _check_names(config, inputs)
    grammar = subset(inputs.grammar, config.subsets)
    pools = load_pools(inputs, config)
    lexicon = pools.lexicon if pools else load_leaves(inputs, config)
    known_leaves = None if every_template else lexicon
    compiled = compile_grammar(grammar, inputs.language, inputs.library, config, known_leaves)
    weighs = prior.prior if prior else None
    if pools is not None:
        engine = engine_from_pools(compiled, config, pools, weighs)
    else:
        lexicon = lexicon or make_and_save_leaves(inputs, compiled, config)
        engine = build_engine(compiled, config, lexicon, weighs)
    if not engine.plan.total:
        hint = "see `genie-dp check`; are --include, --exclude and --subset what you mean?"
        raise GenieError(Problem("Y030", "the templates give no sentence at all", hint=hint))
    return engine


def _check_names(config: SynthesisConfig, inputs: Inputs) -> None:
    """Refuse names of nothing: a misspelling would be silent otherwise."""
    flags = {name for t in inputs.grammar.templates for name, _ in t.flags} | {DEFAULT_SUBSET}
    problems = [
        Problem(
            "Y031", f"no template speaks of the subset {name!r}", hint=did_you_mean(name, flags)
        )
        for name in config.subsets
        if name not in flags
    ]
    if inputs.language.has_skills:
        functions = {signature.qualified for signature in inputs.library.functions()}
        problems.extend(_idle_globs("--include", config.include, functions))
        problems.extend(_idle_globs("--exclude", config.exclude, functions))
        problems.extend(
            Problem(
                "Y032",
                f"unknown function {name!r} in --weights",
                hint=did_you_mean(name, functions),
            )
            for name in config.weights
            if name not in functions
        )
    if problems:
        raise GenieError(problems)


def _idle_globs(
    option: str, globs: Collection[str], functions: Collection[str]
) -> Iterator[Problem]:
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in functions):
            hint = did_you_mean(glob, functions) or "functions are written @com.gmail.inbox"
            yield Problem("Y033", f"no function is named {glob!r}, given to {option}", hint=hint)


# ------------------------------------------------------------------------------------ a cluster


def _connect_cluster(scheduler: str | None) -> AbstractContextManager[Any]:
    """Return the connection to a cluster, before anything that takes time."""
    if scheduler is None:
        return nullcontext()
    from genie_dp.synthesis.distributed import connect

    return connect(scheduler)


def _remote_source(job: _SynthesisRun, engine: SynthesisEngine, client: Any) -> BlockSource:
    from genie_dp.synthesis.distributed import parcel_of, remote_blocks

    parcel = parcel_of(job.inputs.sources, _rebuilder(job), engine)
    return partial(remote_blocks, client, parcel, format=job.line_format)


def _rebuilder(job: _SynthesisRun) -> Callable[[Callable[[Path], Path]], SynthesisEngine]:
    """Return what builds the engine again where the inputs lie elsewhere."""
    inputs = job.inputs
    read = {Path(os.path.abspath(file)) for file in inputs.sources}
    shipped = [data_folder("thingpedia")] if inputs.language.has_skills else []
    skills = [Path(os.path.abspath(path)) for path in inputs.skills or shipped]
    return partial(
        build_engine_at,
        inputs.language.name,
        # Of a folder that gave nothing, since all in it is broken, nothing travels.
        tuple(path for path in skills if any(f.is_relative_to(path) for f in read)),
        tuple(Path(os.path.abspath(path)) for path in inputs.grammar_files),
        inputs.skip_broken,
        job.config,
        job.prior,
    )


def build_engine_at(
    language: str,
    skills: tuple[Path, ...],
    grammar: tuple[Path, ...],
    skip_broken: bool,
    config: SynthesisConfig,
    prior: PriorFile | None,
    place: Callable[[Path], Path],
) -> SynthesisEngine:
    """Return the engine of inputs that lie elsewhere; a worker of a cluster calls it."""
    skills, grammar = (tuple(map(place, paths)) for paths in (skills, grammar))
    inputs = load_inputs(language, skills, grammar, skip_broken=skip_broken)
    return _build(config, inputs, prior)


# -------------------------------------------------------------------------------------- the rows


def _parts(
    job: _SynthesisRun,
    engine: SynthesisEngine,
    start: int,
    seen: SentenceHashes,
    tally: SynthesisCounts,
    source: BlockSource | None,
) -> Iterator[NewRows]:
    return new_rows(
        engine, block_numbers(engine, job.shard)[start:], seen, tally, jobs=job.jobs,
        format=job.line_format, limit=job.limit, source=source,
    )  # fmt: skip


def _to_stdout(
    job: _SynthesisRun, engine: SynthesisEngine, source: BlockSource | None
) -> SynthesisCounts:
    tally = SynthesisCounts()
    for part in _parts(job, engine, 0, SentenceHashes(), tally, source):
        sys.stdout.write(part.text.decode())
    return tally


def _to_file(
    job: _SynthesisRun,
    engine: SynthesisEngine,
    in_pools: Counter[str],
    source: BlockSource | None,
    augmented: Mapping[str, int] | None,
) -> SynthesisCounts:
    settings = {**job.settings(), "block": engine.plan.block}
    row_folder = open_row_folder(job.output.work, settings, resume=job.output.resume)
    folder = row_folder.work.path
    with interruptible(folder):
        try:
            _make_rows(job, engine, row_folder, source)
        finally:
            row_folder.work.close()
        if job.report is not None:
            _write_report(job, engine, row_folder, in_pools, augmented)
        target = job.output.target
        deliver(folder / "rows", job.line_format, target, job.format)
        manifest = _manifest(job, settings, row_folder.tally, in_pools, engine.pools.refused)
        write_json(manifest_of(target), manifest)
    shutil.rmtree(folder)
    return row_folder.tally


def _make_rows(
    job: _SynthesisRun, engine: SynthesisEngine, row_folder: RowFolder, source: BlockSource | None
) -> None:
    if job.limit is not None and row_folder.tally.rows >= job.limit:
        return
    start = row_folder.next_position
    todo = _parts(job, engine, start, row_folder.seen, row_folder.tally, source)
    total = len(block_numbers(engine, job.shard)) - start
    counted = show_progress(todo, label="synthesize", total=total, show=job.progress)
    for position, part in enumerate(counted, start):
        row_folder.add(part, position)
        if position == start:
            save_pools(job.inputs, engine)  # while workers make the next rows


def _manifest(
    job: _SynthesisRun,
    settings: Mapping[str, Any],
    tally: SynthesisCounts,
    raised_in_pools: Counter[str],
    refused_in_pools: Counter[str],
) -> dict[str, Any]:
    raised = tally.raised.total()
    return {
        "command": "synthesize",
        **settings,
        "format": job.format,
        "counts": {
            "rows": tally.rows,
            "draws": tally.drawn.total(),
            "rejected": tally.drawn.total() - tally.kept.total() - raised,
            "raised": raised,
            "repeated": tally.repeated,
            "ambiguous": tally.ambiguous,
        },
        "raised": dict(sorted((tally.raised + raised_in_pools).items())),
        "refused": dict(sorted((tally.refused + refused_in_pools).items())),
    }


def _write_report(
    job: _SynthesisRun,
    engine: SynthesisEngine,
    row_folder: RowFolder,
    in_pools: Counter[str],
    augmented: Mapping[str, int] | None,
) -> None:
    from genie_dp.synthesis.report import make_report, render_page

    folder = row_folder.work.path
    with lines_of(folder / "rows") as rows, lines_of(folder / "ambiguous") as ambiguous:
        report = make_report(
            engine, row_folder.tally, job.inputs.grammar, job.inputs.library,
            rows=rows, ambiguous=ambiguous, settings=job.settings(),
            distinct_programs=count_distinct_programs(folder), raised_in_pools=in_pools,
            augmented=augmented,
        )  # fmt: skip
    write_json(f"{job.report}/report.json", report)
    with open_text(f"{job.report}/report.html") as out:
        out.write(render_page(report))


# ------------------------------------------------------------------------------------ the result


def _result(
    job: _SynthesisRun,
    engine: SynthesisEngine,
    tally: SynthesisCounts,
    in_pools: Counter[str],
    seconds: float,
) -> SynthesisResult:
    return SynthesisResult(
        job.output.target,
        tally.rows,
        seconds,
        len(tally.kept),
        tally.drawn.total() - tally.kept.total() - tally.raised.total(),
        tally.repeated,
        tally.ambiguous,
        (
            *_prior_notes(job, engine),
            *_size_notes(job, engine, tally),
            *_raised_notes(job.inputs, tally.raised + in_pools),
            *_refused_notes(job.inputs, tally.refused + engine.pools.refused),
        ),
    )


def _prior_notes(job: _SynthesisRun, engine: SynthesisEngine) -> Iterator[str]:
    if job.prior is None:
        return
    if engine.steering is None:
        yield "prior: neutral, so the rows are as without it"
        return
    note = f"prior: 1 of {1 / engine.steering.share_kept:.1f} draws kept"
    if unknown := _unknown_functions(job.prior, job.inputs):
        note += f"; not in the skills: {', '.join(unknown[:_MOST_UNKNOWN])}"
        rest = len(unknown) - _MOST_UNKNOWN
        note += f" and {rest:,} more" if rest > 0 else ""
    yield note


def _unknown_functions(prior: PriorFile, inputs: Inputs) -> list[str]:
    """Return the functions that a prior weighs and the library has not, sorted."""
    if not inputs.language.has_skills:
        return []
    functions = {signature.qualified for signature in inputs.library.functions()}
    return sorted(prior.prior.function_weights.keys() - functions)


def _size_notes(
    job: _SynthesisRun, engine: SynthesisEngine, tally: SynthesisCounts
) -> Iterator[str]:
    """Yield why there are fewer rows than were asked for."""
    size = job.config.size
    if size is None or tally.rows >= size or job.shard[1] > 1:
        return
    if engine.plan.total < sum(engine.plan.sizes.tolist()):
        why = "too many draws were left out; a greater --size gives more"
    else:
        why = (
            f"the templates give no more up to depth {job.config.max_depth} "
            f"with pools of {job.config.pool_size:,}"
        )
    yield f"note: {size:,} were asked for; {why}"


def _raised_notes(inputs: Inputs, raised: Counter[str]) -> Iterator[str]:
    """Yield which Python functions raised, with the places of their templates."""
    if not raised:
        return
    places = {t.id: t.body_span or t.span for t in inputs.grammar.templates}
    yield f"{raised.total():,} derivations left out since a Python function raised:"
    for name, count in raised.most_common():
        template, _, exception = name.rpartition(": ")
        yield f"  {places[template]}: {template}: {count:,} x {exception}"


def _refused_notes(inputs: Inputs, refused: Counter[str]) -> Iterator[str]:
    """Yield which templates met children that make no well-typed program."""
    if not refused:
        return
    places = {t.id: t.body_span or t.span for t in inputs.grammar.templates}
    why = "left out since their program would be ill-typed (`genie-dp check` shows examples):"
    yield f"{refused.total():,} derivations {why}"
    for name, count in refused.most_common(_MOST_REFUSED):
        template, _, code = name.rpartition(": ")
        yield f"  {places[template]}: {template}: {count:,} x {code}"
    if len(refused) > _MOST_REFUSED:
        yield f"  and {len(refused) - _MOST_REFUSED:,} more, all of which the manifest has"
