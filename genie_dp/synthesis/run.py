"""Synthesis as a stage: from skills and templates to rows, in a file or one after the other."""

import gc
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.english.forms import surface
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.private_prior import PriorFile
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rows import deliver, from_json, lines_of, rows_format
from genie_dp.run.files import open_text
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, hold_output, show_progress
from genie_dp.run.work import interruptible
from genie_dp.synthesis.cache import load_leaves, load_pools, make_and_save_leaves, save_pools
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import WHOLE, SynthesisConfig, Synthesize
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
    """The outcome of a run of synthesis.

    Attributes:
        root_templates: root templates that have a row at least.
        unfit: derivations left out since their parts do not go together.
        repeated, ambiguous: those that were there already, with the same or another program.
        notes: further messages to the user.
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
        """Yield the lines of the report to the user."""
        yield (
            f"{self.rows:,} pairs -> {self.place} ({self.seconds:.1f} s, "
            f"{self.root_templates} root templates; left out: {self.unfit:,} that do not go "
            f"together, {self.repeated:,} repeated, {self.ambiguous:,} ambiguous)"
        )
        yield from self.notes


@dataclass(frozen=True, slots=True)
class SynthesisPreview(Result):
    """Some results of each template, with its place."""

    samples: tuple[TemplateSample, ...]

    def lines(self) -> Iterator[str]:
        """Yield the findings."""
        yield from self.findings()

    def findings(self) -> Iterator[str]:
        """Yield each template with its results."""
        for sample in self.samples:
            yield click.style(f"{sample.template.span}  {sample.template.id}", dim=True)
            for words, program in sample.pairs:
                yield f"  {surface(words.split())}\n      {program}"
            if not sample.pairs:
                yield "  (nothing: its guard or the types of its children never fit)"


def run(
    stage: Synthesize, output: Output, *, progress: bool | None = None
) -> SynthesisResult | SynthesisPreview:
    """Write the rows, whose bytes depend on neither `jobs` nor `scheduler`; or show some.

    Raises:
        GenieError: names of nothing (Y031 to Y033), templates without sentences (Y030), an output
            that cannot be written or is there (Y022), work of other settings (Y020, Y021).
    """
    if stage.preview is not None:
        with _EngineInUse(stage, every_template=True) as engine:
            return SynthesisPreview(tuple(samples(engine, stage.preview)))
    with hold_output(output):
        return _write(stage, output, progress)


def _write(stage: Synthesize, output: Output, progress: bool | None) -> SynthesisResult:
    started = time.monotonic()
    flags = {"report": stage.report, "resume": output.resume}
    needs_file = [name for name, is_on in flags.items() if is_on]
    format = rows_format(output.target, output.format, what="pairs", needs_file=needs_file)
    output.refuse_or_clear()
    with (
        _connect_cluster(stage.scheduler) as client,
        _EngineInUse(stage, every_template=bool(stage.report)) as engine,
    ):
        in_pools = engine.compiled.count_raised()
        run = _SynthesisRun(stage, engine, output, format, in_pools, progress)
        if client:
            run = replace(run, source=_remote_source(run, client))
        tally = _to_stdout(run) if output.target == "-" else _to_file(run)
        return _result(run, tally, time.monotonic() - started)


def iterate(stage: Synthesize) -> Iterator[Example]:
    """Yield the rows that `run` would write, made on request."""
    with _EngineInUse(stage) as engine:
        run = _SynthesisRun(stage, engine, Output("-"), "jsonl")
        for part in run.parts(0, SentenceHashes(), SynthesisCounts()):
            for line in part.text.decode().splitlines():
                yield from_json(line)


@dataclass(frozen=True, slots=True)
class _SynthesisRun:
    """One run whose engine is built.

    Attributes:
        output, format: the place of the rows, and their format.
        in_pools: Python functions that raised while the engine was built.
        source: makes the blocks elsewhere.
    """

    stage: Synthesize
    engine: SynthesisEngine
    output: Output
    format: str
    in_pools: Counter[str] = field(default_factory=Counter)
    progress: bool | None = False
    source: BlockSource | None = None

    @property
    def line_format(self) -> str:
        """Return the format of the work file; a report needs whole rows."""
        return "tsv" if self.format == "tsv" and self.stage.report is None else "jsonl"

    @property
    def limit(self) -> int | None:
        """Return after how many rows to stop; shards go to the end, for `merge` cuts the whole."""
        return self.stage.config.size if self.stage.shard == WHOLE else None

    @property
    def blocks(self) -> range:
        """Return the numbers of all blocks of the shard."""
        return block_numbers(self.engine, self.stage.shard)

    def parts(self, start: int, seen: SentenceHashes, tally: SynthesisCounts) -> Iterator[NewRows]:
        """Yield the new rows of the blocks from a position on."""
        return new_rows(
            self.engine, self.blocks[start:], seen, tally, jobs=self.stage.jobs,
            format=self.line_format, limit=self.limit, source=self.source,
        )  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """Return all that the rows depend on; resuming with other settings is refused."""
        stage = self.stage
        config = asdict(stage.config)
        config["weights"] = dict(sorted(config["weights"].items()))
        return {
            "version": __version__,
            "language": stage.inputs.language.name,
            "inputs": stage.inputs.fingerprint(),
            "config": config,
            "shard": list(stage.shard),
            "rows": self.line_format,
            **({"prior": stage.prior.manifest_fields()} if stage.prior else {}),
        }


# ---------------------------------------------------------------------------------- the engine


class _EngineInUse(AbstractContextManager[SynthesisEngine]):
    """Builds the engine of a run; while it is in use the garbage collector leaves it alone.

    The collector would look at all of it again and again, a fifth of the time (November 2026).
    """

    def __init__(self, stage: Synthesize, *, every_template: bool = False):
        self.stage, self.every_template = stage, every_template

    def __enter__(self) -> SynthesisEngine:
        given = self.stage.config, self.stage.inputs, self.stage.prior
        gc.disable()
        try:
            return _build(*given, every_template=self.every_template)
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


def _remote_source(run: _SynthesisRun, client: Any) -> BlockSource:
    from genie_dp.synthesis.distributed import parcel_of, remote_blocks

    parcel = parcel_of(run.stage.inputs.sources, _rebuilder(run.stage), run.engine)
    return partial(remote_blocks, client, parcel, format=run.line_format)


def _rebuilder(stage: Synthesize) -> Callable[[Callable[[Path], Path]], SynthesisEngine]:
    """Return a function that builds the engine again where the inputs lie elsewhere."""
    inputs = stage.inputs
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
        stage.config,
        stage.prior,
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


def _to_stdout(run: _SynthesisRun) -> SynthesisCounts:
    tally = SynthesisCounts()
    for part in run.parts(0, SentenceHashes(), tally):
        sys.stdout.write(part.text.decode())
    return tally


def _to_file(run: _SynthesisRun) -> SynthesisCounts:
    output = run.output
    settings = {**run.settings(), "block": run.engine.plan.block}
    row_folder = open_row_folder(output.work, settings, resume=output.resume)
    folder = row_folder.work.path
    with interruptible(folder):
        try:
            _make_rows(run, row_folder)
        finally:
            row_folder.work.close()
        if run.stage.report is not None:
            _write_report(run, row_folder)
        deliver(folder / "rows", run.line_format, output.target, run.format)
        write_json(manifest_of(output.target), _manifest(run, settings, row_folder.tally))
    shutil.rmtree(folder)
    return row_folder.tally


def _make_rows(run: _SynthesisRun, row_folder: RowFolder) -> None:
    if run.limit is not None and row_folder.tally.rows >= run.limit:
        return
    start = row_folder.next_position
    todo = run.parts(start, row_folder.seen, row_folder.tally)
    total = len(run.blocks) - start
    counted = show_progress(todo, label="synthesize", total=total, show=run.progress)
    for position, part in enumerate(counted, start):
        row_folder.add(part, position)
        if position == start:
            save_pools(run.stage.inputs, run.engine)  # while workers make the next rows


def _manifest(
    run: _SynthesisRun, settings: Mapping[str, Any], tally: SynthesisCounts
) -> dict[str, Any]:
    raised = tally.raised.total()
    return {
        "command": "synthesize",
        **settings,
        "format": run.format,
        "counts": {
            "rows": tally.rows,
            "draws": tally.drawn.total(),
            "rejected": tally.drawn.total() - tally.kept.total() - raised,
            "raised": raised,
            "repeated": tally.repeated,
            "ambiguous": tally.ambiguous,
        },
        "raised": dict(sorted((tally.raised + run.in_pools).items())),
        "refused": dict(sorted((tally.refused + run.engine.pools.refused).items())),
    }


def _write_report(run: _SynthesisRun, row_folder: RowFolder) -> None:
    from genie_dp.synthesis.report import make_report, render_page

    folder, stage = row_folder.work.path, run.stage
    with lines_of(folder / "rows") as rows, lines_of(folder / "ambiguous") as ambiguous:
        report = make_report(
            run.engine, row_folder.tally, stage.inputs.grammar, stage.inputs.library,
            rows=rows, ambiguous=ambiguous, settings=run.settings(),
            distinct_programs=count_distinct_programs(folder), raised_in_pools=run.in_pools,
            augmented=stage.augmented,
        )  # fmt: skip
    write_json(f"{stage.report}/report.json", report)
    with open_text(f"{stage.report}/report.html") as out:
        out.write(render_page(report))


# ------------------------------------------------------------------------------------ the result


def _result(run: _SynthesisRun, tally: SynthesisCounts, seconds: float) -> SynthesisResult:
    inputs = run.stage.inputs
    return SynthesisResult(
        run.output.target,
        tally.rows,
        seconds,
        len(tally.kept),
        tally.drawn.total() - tally.kept.total() - tally.raised.total(),
        tally.repeated,
        tally.ambiguous,
        (
            *_prior_notes(run),
            *_size_notes(run, tally),
            *_raised_notes(inputs, tally.raised + run.in_pools),
            *_refused_notes(inputs, tally.refused + run.engine.pools.refused),
        ),
    )


def _prior_notes(run: _SynthesisRun) -> Iterator[str]:
    if run.stage.prior is None:
        return
    steering = run.engine.steering
    if steering is None:
        yield "prior: neutral, so the rows are as without it"
        return
    note = f"prior: 1 of {1 / steering.share_kept:.1f} draws kept"
    if unknown := _unknown_functions(run.stage.prior, run.stage.inputs):
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


def _size_notes(run: _SynthesisRun, tally: SynthesisCounts) -> Iterator[str]:
    """Yield why there are fewer rows than requested."""
    config, plan = run.stage.config, run.engine.plan
    if config.size is None or run.limit is None or tally.rows >= config.size:
        return
    if plan.total < sum(plan.sizes.tolist()):
        why = "too many draws were left out; a greater --size gives more"
    else:
        why = (
            f"the templates give no more up to depth {config.max_depth} "
            f"with pools of {config.pool_size:,}"
        )
    yield f"note: {config.size:,} were asked for; {why}"


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
