"""One run of `genie-dp private render`: from DP programs to rows, and a list of what is unsaid."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.garbage import leave_to_the_end
from genie_dp.cli.inputs import compiled_of
from genie_dp.cli.output import progress
from genie_dp.cli.private.render_work import Said, append, read, whole_lines
from genie_dp.dataset.folder import About
from genie_dp.errors import GenieError, Problem
from genie_dp.private.prior.render import Renderer, Unsaid, numbered
from genie_dp.private_prior import load_prior
from genie_dp.records import Example
from genie_dp.rows import read_rows, rows_format, to_json, write_rows
from genie_dp.run.files import local_target, open_text, refuse_inputs
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.work import enter_work, interruptible, refuse_or_clear, work_folder_of
from genie_dp.run.workers import in_processes
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.explain import Explainer

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp private render` asks for; everything before the first row.

    Attributes:
        options: those of the command.
        format: of the output.
        work: where the run lies until it is complete; not made for standard output.
        times: program -> how often it was drawn.
        renderer: says programs.
        settings: all that the rows depend on, as the manifest has it.
    """

    options: Mapping[str, Any]
    format: str
    work: Path
    times: Mapping[str, int]
    renderer: Renderer
    settings: dict[str, Any]

    @property
    def output(self) -> str:
        """Return where the rows go."""
        output: str = self.options["output"]
        return output


@dataclass(slots=True)
class Found:
    """What came of it: how many rows, and the programs that have none."""

    rows: int = 0
    unsaid: list[Unsaid] = field(default_factory=list)


def run(options: Mapping[str, Any]) -> None:
    """Write the rows, and say what no template could say."""
    started = time.monotonic()
    job = _job_of(options)
    leave_to_the_end()
    if job.output == "-":
        with _progress(job, tuple(job.times)) as said:
            every = tuple(said)
        found = _written(job, lambda: every)
    else:
        found = _to_file(job)
    _say(job, found, time.monotonic() - started)


def _job_of(options: Mapping[str, Any]) -> Job:
    output = options["output"]
    refuse_inputs((output, options["unsaid"]), (options["source"], options["spent"]))
    needs_file = ["resume"] if options["resume"] else []
    format = rows_format(output, options["format_"], what="rendered", needs_file=needs_file)
    work = _work_of(output)
    if output != "-":
        target = local_target(output)
        refuse_or_clear(target, work, resume=options["resume"], overwrite=options["overwrite"])
    programs, told = _source(options)
    inputs, compiled = compiled_of(options)
    describer = Describer(compiled, inputs.library, options["max_depth"])
    settings = {
        "version": __version__,
        "language": options["language"],
        "inputs": inputs.fingerprint(),
        "subsets": list(options["subsets"]),
        "sentences": options["sentences"],
        "max_depth": options["max_depth"],
        **told,
    }
    renderer = Renderer(describer, Explainer(compiled), options["sentences"])
    return Job(options, format, work, Counter(programs), renderer, settings)


def _work_of(output: str) -> Path:
    """Return where a run lies until it is complete; for URLs it is a local folder."""
    return work_folder_of(local_target(output) or Path(output.rsplit("/", 1)[-1]))


def _to_file(job: Job) -> Found:
    """Say all programs in a work folder, then write the rows and what is beside them."""
    # As JSON has them: lists, where there were tuples.
    enter_work(job.work, json.loads(json.dumps(job.settings)), resume=job.options["resume"])
    kept = job.work / "said.jsonl"
    with interruptible(job.work):
        rest = tuple(job.times)[whole_lines(kept) :]
        with _progress(job, rest) as said:
            append(kept, said)
        found = _written(job, partial(read, kept))
        write_json(manifest_of(job.output), _manifest(job, found))
    shutil.rmtree(job.work)
    return found


def _written(job: Job, said: Callable[[], Iterable[Said]]) -> Found:
    """Write the rows of what was said, and the list of what was not."""
    found = Found()
    rows = _kept(numbered(job.times, said, job.renderer.sentences), found)
    write_rows((f"{to_json(row)}\n" for row in rows), "jsonl", job.output, job.format)
    if job.options["unsaid"] is not None:
        _write_unsaid(job.options["unsaid"], found.unsaid)
    return found


def _source(options: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the programs, and what the manifest says of where they are from.

    Raises:
        GenieError: F007, there are no programs; F001, the file is no prior.
    """
    path, spent = options["source"], About(spent=options["spent"]).guarantee()
    if spent is not None:
        programs = tuple(row.program for row in read_rows(path) if row.program)
        digest = sha256(Path(path).read_bytes()).hexdigest()
        told = {"rows": {"sha256": digest, "spent": asdict(spent)}, "spent": asdict(spent)}
    else:
        file = load_prior(Path(path))
        programs = file.prior.programs
        told = {"prior": file.told(), "spent": asdict(file.prior.spent)}
    if not programs:
        hint = "put a generator's rows into it: genie-dp private prior --sampled rows.jsonl"
        raise GenieError(Problem("F007", f"{path} holds no programs", hint=hint))
    return programs, told


def _progress(job: Job, programs: Sequence[str]) -> AbstractContextManager[Iterable[Said]]:
    """Return what is said of programs, in their order, with a bar."""
    said = _said(job.renderer, programs, job.options["jobs"])
    return progress(said, label="render", total=len(programs))


def _said(renderer: Renderer, programs: Sequence[str], jobs: int) -> Iterator[Said]:
    if jobs == 1:
        return map(renderer.say, programs)
    return in_processes(partial(_some, renderer, programs), range(len(programs)), jobs)


def _some(renderer: Renderer, programs: Sequence[str], numbers: Sequence[int]) -> Iterator[Said]:
    return (renderer.say(programs[number]) for number in numbers)


def _kept(every: Iterator[Example | Unsaid], found: Found) -> Iterator[Example]:
    for one in every:
        if isinstance(one, Unsaid):
            found.unsaid.append(one)
        else:
            found.rows += 1
            yield one


def _write_unsaid(path: Path, unsaid: Sequence[Unsaid]) -> None:
    with open_text(str(path)) as out:
        for one in sorted(unsaid, key=lambda one: -one.times):
            out.write(f"{one.times}\t{one.program}\t{one.reason}\n")


def _manifest(job: Job, found: Found) -> dict[str, Any]:
    counts = {"programs": len(job.times), "unsaid": len(found.unsaid), "rows": found.rows}
    return {"command": "private render", **job.settings, "counts": counts}


def _say(job: Job, found: Found, seconds: float) -> None:
    where = "stdout" if job.output == "-" else job.output
    programs, unsaid = len(job.times), found.unsaid
    said = programs - len(unsaid)
    click.echo(
        f"{found.rows:,} sentences for {said:,} of {programs:,} programs -> {where} "
        f"({seconds:.1f} s)",
        err=True,
    )
    if unsaid:
        click.echo(f"no template can say {len(unsaid):,} of them:", err=True)
    for one in sorted(unsaid, key=lambda one: -one.times)[:_SHOWN]:
        click.echo(f"  {one.times:,} x {one.program}\n      {one.reason}", err=True)
    if len(unsaid) > _SHOWN:
        click.echo(f"  and {len(unsaid) - _SHOWN:,} more; --unsaid FILE has them all", err=True)
