"""One run of synthesis: from options to a finished file, or as far as it got."""

import json
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import Inputs, load_inputs
from genie_dp.cli.output import open_bytes, progress
from genie_dp.dataset.formats import format_of, from_json, lines_of, write_parquet
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.synthesis.checkpoint import WorkFolder, open_work, work_folder_of
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import Engine, build_engine
from genie_dp.synthesis.run import Tally, block_numbers, parts
from genie_dp.synthesis.seen import Seen
from genie_dp.templates.english import surface
from genie_dp.templates.grammar import DEFAULT_SUBSET, subset

DEFAULT_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp synthesize` asks for."""

    language: str
    skills: tuple[Path, ...]
    grammar: tuple[Path, ...]
    skip_broken: bool
    config: SynthesisConfig
    output: str
    format: str
    jobs: int
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
            weights=_weights(options["weights"]) if options["weights"] else {},
            **{name: options[name] for name in _PLAIN},
        )
        format_ = options["format_"] or format_of(options["output"])
        if format_ == "parquet" and options["output"] == "-":
            hint = "give a file with --output pairs.parquet"
            raise GenieError(Problem("Y023", "Parquet cannot be written to a pipe", hint=hint))
        return cls(
            config=config,
            format=format_,
            **{name: options[name] for name in _OTHERS},
        )

    @property
    def target(self) -> Path | None:
        """Return the local file, or None for stdout and URLs."""
        return None if self.output == "-" or "://" in self.output else Path(self.output)

    @property
    def line_format(self) -> str:
        """Return the format of the work file; a report needs whole rows."""
        return "tsv" if self.format == "tsv" and self.report is None else "jsonl"


_PLAIN = (
    "target_size", "max_depth", "depth_decay", "balance", "pool_size", "include", "exclude",
    "seed", "on_error",
)  # fmt: skip
_OTHERS = (
    "language", "skills", "grammar", "skip_broken", "output", "jobs", "shard", "resume",
    "overwrite", "report",
)  # fmt: skip


def _weights(path: Path) -> dict[str, float]:
    import yaml

    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(read, dict) or not all(isinstance(v, int | float) for v in read.values()):
        message = f"{path}: expected function: number on each line"
        raise GenieError(Problem("R022", message, hint="for example @com.gmail.inbox: 2.5"))
    return {str(name): float(weight) for name, weight in read.items()}


def prepare(job: Job) -> tuple[Inputs, Engine]:
    """Return the inputs and the engine: everything before the first row."""
    inputs = load_inputs(job.language, job.skills, job.grammar, skip_broken=job.skip_broken)
    _check_names(job, inputs)
    grammar = subset(inputs.grammar, job.config.subsets)
    compiled = compile_grammar(grammar, inputs.language, inputs.library, job.config)
    engine = build_engine(compiled, job.config)
    if not engine.plan.total:
        hint = "see `genie-dp check`; are --include, --exclude and --subset what you mean?"
        raise GenieError(Problem("Y030", "the templates give no sentence at all", hint=hint))
    return inputs, engine


def _check_names(job: Job, inputs: Inputs) -> None:
    """Refuse subsets and weights that name nothing: a misspelling would be silent otherwise."""
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
        problems.extend(
            Problem(
                "Y032", f"unknown function {name!r} in --weights", hint=did_you_mean(name, known)
            )
            for name in job.config.weights
            if name not in known
        )
    if problems:
        raise GenieError(problems)


def preview(job: Job, count: int) -> None:
    """Print some results of each template, with its place."""
    from genie_dp.synthesis.preview import samples

    _, engine = prepare(job)
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
    if job.target is not None:
        _refuse_or_clear(job)
    inputs, engine = prepare(job)
    tally = _to_stdout(job, engine) if job.output == "-" else _to_file(job, inputs, engine)
    _say(job, engine, tally, time.monotonic() - started)


def _refuse_or_clear(job: Job) -> None:
    if job.target is None:
        return
    if job.target.exists() and not job.overwrite:
        hint = "give another --output, or --overwrite"
        raise GenieError(Problem("Y022", f"{job.target} exists already", hint=hint))
    if job.overwrite:
        shutil.rmtree(work_folder_of(job.target), ignore_errors=True)


def _to_stdout(job: Job, engine: Engine) -> Tally:
    tally = Tally()
    numbers = block_numbers(engine, job.shard)
    for part in parts(
        engine, numbers, Seen(), tally, jobs=job.jobs, format=job.line_format,
        limit=_limit(job),
    ):  # fmt: skip
        sys.stdout.write(part.text)
    return tally


def _limit(job: Job) -> int | None:
    """Return after how many rows to stop; shards go to the end, for `merge` cuts the whole."""
    return job.config.size if job.shard[1] == 1 else None


def _to_file(job: Job, inputs: Inputs, engine: Engine) -> Tally:
    name = job.target or Path(job.output.rsplit("/", 1)[-1])
    settings = _settings(job, inputs)
    work = open_work(work_folder_of(name), settings, resume=job.resume)
    try:
        _make_rows(job, engine, work)
    finally:
        work.close()
    if job.report is not None:
        _write_report(job, inputs, engine, work)
    _deliver(job, work)
    _write_manifest(job, inputs, engine, work.tally)
    shutil.rmtree(work.path)
    return work.tally


def _make_rows(job: Job, engine: Engine, work: WorkFolder) -> None:
    numbers = block_numbers(engine, job.shard)
    limit = _limit(job)
    if limit is not None and work.tally.rows >= limit:
        return
    made = parts(
        engine, numbers[work.next_position :], work.seen, work.tally, jobs=job.jobs,
        format=job.line_format, limit=limit,
    )  # fmt: skip
    total = len(numbers) - work.next_position
    with progress(made, label="synthesize", total=total) as counted:
        for position, part in enumerate(counted, work.next_position):
            work.add(part, position)


def _deliver(job: Job, work: WorkFolder) -> None:
    rows = work.path / "rows"
    is_plain = job.format == job.line_format and format_is_plain(job.output)
    if job.target is not None and is_plain:
        job.target.parent.mkdir(parents=True, exist_ok=True)
        rows.replace(job.target)
        return
    with open_bytes(job.output) as out:
        if job.format == job.line_format:
            with rows.open("rb") as made:
                shutil.copyfileobj(made, out)
        elif job.format == "parquet":
            with lines_of(rows) as lines:
                write_parquet((from_json(line) for line in lines), out)
        else:
            with lines_of(rows) as lines:
                for line in lines:
                    row = from_json(line)
                    out.write(f"{row.id}\t{row.utterance}\t{row.program}\n".encode())


def format_is_plain(output: str) -> bool:
    """Tell whether an output is not compressed.

    >>> format_is_plain("a.jsonl"), format_is_plain("a.jsonl.gz")
    (True, False)
    """
    return not output.endswith((".gz", ".bz2", ".xz"))


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
            }
        )
    )
    return settings


def _write_manifest(job: Job, inputs: Inputs, engine: Engine, tally: Tally) -> None:
    manifest = {
        "command": "synthesize",
        **_settings(job, inputs),
        "format": job.format,
        "counts": {
            "rows": tally.rows,
            "draws": sum(tally.drawn.values()),
            "rejected": sum(tally.drawn.values()) - sum(tally.kept.values()),
            "repeated": tally.repeated,
            "ambiguous": tally.ambiguous,
            "raised": sum(_raised(engine).values()),
        },
    }
    with open_bytes(f"{job.output}.manifest.json") as out:
        out.write(json.dumps(manifest, indent=2).encode() + b"\n")


def _write_report(job: Job, inputs: Inputs, engine: Engine, work: WorkFolder) -> None:
    from genie_dp.synthesis.report import write_report

    write_report(job.report, work.path, work.tally, engine, inputs)


def _raised(engine: Engine) -> dict[str, int]:
    return {}


def _say(job: Job, engine: Engine, tally: Tally, seconds: float) -> None:
    where = "stdout" if job.output == "-" else job.output
    rejected = sum(tally.drawn.values()) - sum(tally.kept.values())
    click.echo(
        f"{tally.rows:,} pairs -> {where} ({seconds:.1f} s, {len(tally.kept)} root templates; "
        f"left out: {rejected:,} that do not go together, {tally.repeated:,} repeated, "
        f"{tally.ambiguous:,} ambiguous)",
        err=True,
    )
    asked = job.config.size
    if asked is not None and tally.rows < asked and job.shard[1] == 1:
        click.echo(
            f"note: {asked:,} were asked for; the templates give no more up to depth "
            f"{job.config.max_depth} with pools of {job.config.pool_size:,}",
            err=True,
        )
