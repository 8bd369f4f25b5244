"""One run of synthesis: from options to a finished file, or as far as it got."""

import gc
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.delivery import (
    deliver,
    interruptible,
    local_target,
    refuse_or_clear,
    rows_format,
)
from genie_dp.cli.drawn import keep_drawn, kept_drawn
from genie_dp.cli.inputs import Inputs, grammar_files, load_inputs
from genie_dp.cli.lexicon import kept_lexicon, new_lexicon
from genie_dp.cli.output import open_text, progress
from genie_dp.cli.priors import read_prior, unknown_to
from genie_dp.cli.row_files import manifest_of, write_json
from genie_dp.cli.weights import read_weights
from genie_dp.dataset.formats import lines_of
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.private_prior import PriorFile
from genie_dp.resources import data_folder
from genie_dp.synthesis.checkpoint import WorkFolder, distinct_programs, open_work, work_folder_of
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import Engine, build_engine, engine_of
from genie_dp.synthesis.run import Source, Tally, block_numbers, parts
from genie_dp.synthesis.seen import Seen
from genie_dp.templates.english import surface
from genie_dp.templates.grammar import DEFAULT_SUBSET, subset

DEFAULT_SIZE = 10_000
_MOST_REFUSED = 10  # templates that are named after a run


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp synthesize` asks for."""

    language: str
    skills: tuple[Path, ...]
    grammar: tuple[Path, ...]
    skip_broken: bool
    config: SynthesisConfig
    prior: PriorFile | None
    output: str
    format: str
    jobs: int
    scheduler: str | None
    shard: tuple[int, int]
    resume: bool
    overwrite: bool
    report: Path | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Job":
        """Return the job of the command's options."""
        size = options["size"]
        if size is None and options["target_size"] is None:
            size = DEFAULT_SIZE
        config = SynthesisConfig(
            size=size,
            subsets=options["subsets"] or (DEFAULT_SUBSET,),
            weights=read_weights(options["weights"]) if options["weights"] else {},
            **{name: options[name] for name in _PLAIN},
        )
        in_use = [name for name in ("report", "resume") if options[name]]
        needs_file = in_use if options["preview"] is None else []
        return cls(
            config=config,
            prior=read_prior(options),
            format=rows_format(
                options["output"], options["format_"], what="pairs", needs_file=needs_file
            ),
            **{name: options[name] for name in _OTHERS},
        )

    @property
    def target(self) -> Path | None:
        """Return the local file, or None for stdout and URLs."""
        return local_target(self.output)

    @property
    def work_folder(self) -> Path:
        """Return where the rows lie until they are complete; for URLs it is a local folder."""
        return work_folder_of(self.target or Path(self.output.rsplit("/", 1)[-1]))

    @property
    def line_format(self) -> str:
        """Return the format of the work file; a report needs whole rows."""
        return "tsv" if self.format == "tsv" and self.report is None else "jsonl"


_PLAIN = (
    "target_size", "max_depth", "depth_decay", "balance", "pool_size", "include", "exclude",
    "seed", "on_error",
)  # fmt: skip
_OTHERS = (
    "language", "skills", "grammar", "skip_broken", "output", "jobs", "scheduler", "shard",
    "resume", "overwrite", "report",
)  # fmt: skip


def prepare(job: Job, *, every_template: bool = False) -> tuple[Inputs, Engine]:
    """Return the inputs and the engine: everything before the first row.

    With `every_template` the engine knows templates that only give leaves, too.

    What is made here stays to the end. So the collector, which would look at all of it again and
    again (a fifth of the time, measured November 2026), rests meanwhile and leaves it alone later.
    """
    gc.disable()
    try:
        return _prepare(job, every_template=every_template)
    finally:
        gc.freeze()
        gc.enable()


def _prepare(job: Job, *, every_template: bool = False) -> tuple[Inputs, Engine]:
    inputs = load_inputs(job.language, job.skills, job.grammar, skip_broken=job.skip_broken)
    _check_names(job, inputs)
    config, prior = job.config, job.prior.prior if job.prior else None
    grammar = subset(inputs.grammar, config.subsets)
    drawn = kept_drawn(inputs, config)
    lexicon = drawn.lexicon if drawn else kept_lexicon(inputs, config)
    # Previews and reports speak of each template.
    known = None if every_template or job.report is not None else lexicon
    compiled = compile_grammar(grammar, inputs.language, inputs.library, config, known)
    if drawn is not None:
        engine = engine_of(compiled, config, drawn, prior)
    else:
        lexicon = lexicon or new_lexicon(inputs, compiled, config)
        engine = build_engine(compiled, config, lexicon, prior)
    if not engine.plan.total:
        hint = "see `genie-dp check`; are --include, --exclude and --subset what you mean?"
        raise GenieError(Problem("Y030", "the templates give no sentence at all", hint=hint))
    return inputs, engine


def _check_names(job: Job, inputs: Inputs) -> None:
    """Refuse names of nothing: a misspelling would be silent otherwise."""
    flags = {name for t in inputs.grammar.templates for name, _ in t.flags} | {DEFAULT_SUBSET}
    problems = [
        Problem(
            "Y031", f"no template speaks of the subset {name!r}", hint=did_you_mean(name, flags)
        )
        for name in job.config.subsets
        if name not in flags
    ]
    if hasattr(inputs.library, "functions"):
        known = {signature.qualified for signature in inputs.library.functions()}
        problems.extend(_idle_globs("--include", job.config.include, known))
        problems.extend(_idle_globs("--exclude", job.config.exclude, known))
        problems.extend(
            Problem(
                "Y032", f"unknown function {name!r} in --weights", hint=did_you_mean(name, known)
            )
            for name in job.config.weights
            if name not in known
        )
    if problems:
        raise GenieError(problems)


def _idle_globs(option: str, globs: Collection[str], known: Collection[str]) -> Iterator[Problem]:
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in known):
            hint = did_you_mean(glob, known) or "functions are written @com.gmail.inbox"
            yield Problem("Y033", f"no function is named {glob!r}, given to {option}", hint=hint)


def preview(job: Job, count: int) -> None:
    """Print some results of each template, with its place."""
    from genie_dp.synthesis.preview import samples

    _, engine = prepare(job, every_template=True)
    for sample in samples(engine, count):
        click.secho(f"{sample.template.span}  {sample.template.id}", dim=True)
        for words, program in sample.pairs:
            click.echo(f"  {surface(words.split())}\n      {program}")
        if not sample.pairs:
            click.echo("  (nothing: its guard or the types of its children never fit)")


# -------------------------------------------------------------------------------------- run


def run(job: Job) -> None:
    """Make the rows and say what was made."""
    started = time.monotonic()
    if job.output != "-":
        refuse_or_clear(job.target, job.work_folder, resume=job.resume, overwrite=job.overwrite)
    with _cluster(job) as client:
        inputs, engine = prepare(job)
        in_pools = engine.compiled.raised()
        source = _source(job, inputs, engine, client) if client else None
        if job.output == "-":
            tally = _to_stdout(job, engine, source)
        else:
            tally = _to_file(job, inputs, engine, in_pools, source)
    _say(job, tally, time.monotonic() - started)
    _say_prior(job, inputs, engine)
    _say_short(job, engine, tally)
    _say_raised(inputs, tally.raised + in_pools)
    _say_refused(inputs, tally.refused + engine.pools.refused)


def _cluster(job: Job) -> AbstractContextManager[Any]:
    """Return the connection to the job's cluster, before anything that takes time."""
    if job.scheduler is None:
        return nullcontext()
    from genie_dp.synthesis.distributed import connected

    return connected(job.scheduler)


def _source(job: Job, inputs: Inputs, engine: Engine, client: Any) -> Source:
    from genie_dp.synthesis.distributed import parcel_of, remote_blocks

    parcel = parcel_of(inputs.sources, partial(engine_at, _with_files(job, inputs)), engine)
    return partial(remote_blocks, client, parcel, format=job.line_format)


def _with_files(job: Job, inputs: Inputs) -> Job:
    """Return the job with its inputs by absolute paths, the shipped ones as well."""
    read = {Path(os.path.abspath(file)) for file in inputs.sources}
    shipped = [data_folder("thingpedia")] if job.language == "thingtalk" else []
    skills = [Path(os.path.abspath(path)) for path in job.skills or shipped]
    return replace(
        job,
        # Of a folder that gave nothing, since all in it is broken, nothing travels.
        skills=tuple(path for path in skills if any(f.is_relative_to(path) for f in read)),
        grammar=tuple(Path(os.path.abspath(path)) for path in grammar_files(job.grammar)),
    )


def engine_at(job: Job, place: Callable[[Path], Path]) -> Engine:
    """Return the engine of a job whose inputs lie elsewhere; a worker of a cluster calls it."""
    skills, grammar = (tuple(map(place, paths)) for paths in (job.skills, job.grammar))
    return _prepare(replace(job, skills=skills, grammar=grammar))[1]


def _to_stdout(job: Job, engine: Engine, source: Source | None) -> Tally:
    tally = Tally()
    numbers = block_numbers(engine, job.shard)
    for part in parts(
        engine, numbers, Seen(), tally, jobs=job.jobs, format=job.line_format,
        limit=_limit(job), source=source,
    ):  # fmt: skip
        sys.stdout.write(part.text.decode())
    return tally


def _limit(job: Job) -> int | None:
    """Return after how many rows to stop; shards go to the end, for `merge` cuts the whole."""
    return job.config.size if job.shard[1] == 1 else None


def _to_file(
    job: Job, inputs: Inputs, engine: Engine, in_pools: Counter[str], source: Source | None
) -> Tally:
    settings = {**_settings(job, inputs), "block": engine.plan.block}
    work = open_work(job.work_folder, settings, resume=job.resume)
    with interruptible(work.path):
        try:
            _make_rows(job, inputs, engine, work, source)
        finally:
            work.close()
        if job.report is not None:
            _write_report(job, inputs, engine, work, in_pools)
        deliver(work.path / "rows", job.line_format, job.output, job.format)
        manifest = _manifest(job, settings, work.tally, in_pools, engine.pools.refused)
        write_json(manifest_of(job.output), manifest)
    shutil.rmtree(work.path)
    return work.tally


def _make_rows(
    job: Job, inputs: Inputs, engine: Engine, work: WorkFolder, source: Source | None
) -> None:
    numbers = block_numbers(engine, job.shard)
    limit = _limit(job)
    if limit is not None and work.tally.rows >= limit:
        return
    made = parts(
        engine, numbers[work.next_position :], work.seen, work.tally, jobs=job.jobs,
        format=job.line_format, limit=limit, source=source,
    )  # fmt: skip
    total = len(numbers) - work.next_position
    with progress(made, label="synthesize", total=total) as counted:
        for position, part in enumerate(counted, work.next_position):
            work.add(part, position)
            if position == work.next_position:
                keep_drawn(inputs, engine)  # while workers make the next rows


def _settings(job: Job, inputs: Inputs) -> dict[str, Any]:
    """Return all that the rows depend on; resuming with other settings is refused."""
    config = asdict(job.config)
    config["weights"] = dict(sorted(config["weights"].items()))
    settings: dict[str, Any] = json.loads(
        json.dumps(
            {
                "version": __version__,
                "language": job.language,
                "inputs": inputs.fingerprint(),
                "config": config,
                "shard": list(job.shard),
                "rows": job.line_format,
                **({"prior": job.prior.told()} if job.prior else {}),
            }
        )
    )
    return settings


def _manifest(
    job: Job,
    settings: Mapping[str, Any],
    tally: Tally,
    in_pools: Counter[str],
    refused_in_pools: Counter[str],
) -> dict[str, Any]:
    raised = tally.raised.total()
    rejected = tally.drawn.total() - tally.kept.total() - raised
    return {
        "command": "synthesize",
        **settings,
        "format": job.format,
        "counts": {
            "rows": tally.rows,
            "draws": tally.drawn.total(),
            "rejected": rejected,
            "raised": raised,
            "repeated": tally.repeated,
            "ambiguous": tally.ambiguous,
        },
        "raised": dict(sorted((tally.raised + in_pools).items())),
        "refused": dict(sorted((tally.refused + refused_in_pools).items())),
    }


def _write_report(
    job: Job, inputs: Inputs, engine: Engine, work: WorkFolder, in_pools: Counter[str]
) -> None:
    from genie_dp.synthesis.report import make_report
    from genie_dp.synthesis.report_page import page

    with (
        lines_of(work.path / "rows") as rows,
        lines_of(work.path / "ambiguous") as ambiguous,
    ):
        report = make_report(
            engine, work.tally, inputs.grammar, inputs.library,
            rows=rows, ambiguous=ambiguous, settings=_settings(job, inputs),
            distinct_programs=distinct_programs(work.path), raised_in_pools=in_pools,
        )  # fmt: skip
    write_json(f"{job.report}/report.json", report)
    with open_text(f"{job.report}/report.html") as out:
        out.write(page(report))


def _say(job: Job, tally: Tally, seconds: float) -> None:
    where = "stdout" if job.output == "-" else job.output
    raised = tally.raised.total()
    left_out = [
        f"{tally.drawn.total() - tally.kept.total() - raised:,} that do not go together",
        f"{tally.repeated:,} repeated",
        f"{tally.ambiguous:,} ambiguous",
    ]
    click.echo(
        f"{tally.rows:,} pairs -> {where} ({seconds:.1f} s, {len(tally.kept)} root templates; "
        f"left out: {', '.join(left_out)})",
        err=True,
    )


def _say_prior(job: Job, inputs: Inputs, engine: Engine) -> None:
    """Say what the prior did."""
    if job.prior is None:
        return
    if engine.steering is None:
        click.echo("prior: neutral, so the rows are as without it", err=True)
        return
    told = f"prior: 1 of {1 / engine.steering.kept:.1f} draws kept"
    unknown = unknown_to(job.prior.prior, inputs.library)
    if unknown:
        told += f"; not in the skills: {', '.join(unknown[:5])}"
        told += f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
    click.echo(told, err=True)


def _say_short(job: Job, engine: Engine, tally: Tally) -> None:
    """Say why there are fewer rows than were asked for."""
    asked = job.config.size
    if asked is None or tally.rows >= asked or job.shard[1] > 1:
        return
    if engine.plan.total < sum(engine.plan.sizes.tolist()):
        why = "too many draws were left out; a greater --size gives more"
    else:
        why = (
            f"the templates give no more up to depth {job.config.max_depth} "
            f"with pools of {job.config.pool_size:,}"
        )
    click.echo(f"note: {asked:,} were asked for; {why}", err=True)


def _say_raised(inputs: Inputs, raised: Counter[str]) -> None:
    """Say which Python functions raised, with the places of their templates."""
    if not raised:
        return
    places = {t.id: t.body_span or t.span for t in inputs.grammar.templates}
    click.echo(f"{raised.total():,} derivations left out since a Python function raised:", err=True)
    for name, count in raised.most_common():
        template, _, exception = name.rpartition(": ")
        click.echo(f"  {places[template]}: {template}: {count:,} x {exception}", err=True)


def _say_refused(inputs: Inputs, refused: Counter[str]) -> None:
    """Say which templates met children that make no well-typed program."""
    if not refused:
        return
    places = {t.id: t.body_span or t.span for t in inputs.grammar.templates}
    told = "left out since their program would be ill-typed (`genie-dp check` shows examples):"
    click.echo(f"{refused.total():,} derivations {told}", err=True)
    for name, count in refused.most_common(_MOST_REFUSED):
        template, _, code = name.rpartition(": ")
        click.echo(f"  {places[template]}: {template}: {count:,} x {code}", err=True)
    if len(refused) > _MOST_REFUSED:
        more = len(refused) - _MOST_REFUSED
        click.echo(f"  and {more:,} more, all of which the manifest has", err=True)
