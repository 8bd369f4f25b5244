"""One run of `genie-dp private render`: from DP programs to rows, and a list of what is unsaid."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.dataset_folder import About
from genie_dp.cli.delivery import local_target, refuse_or_clear, rows_format
from genie_dp.cli.describe import describer_of
from genie_dp.cli.output import open_text, progress
from genie_dp.cli.row_files import manifest_of, write_json, write_rows
from genie_dp.dataset.formats import read_rows, to_json
from genie_dp.errors import GenieError, Problem
from genie_dp.private.prior.render import Renderer, Unsaid, numbered
from genie_dp.private_prior import load_prior
from genie_dp.records import Example
from genie_dp.synthesis.checkpoint import work_folder_of
from genie_dp.synthesis.explain import Explainer
from genie_dp.synthesis.workers import in_processes

_SHOWN = 10


def run(options: Mapping[str, Any]) -> None:
    """Write the rows, and say what no template could say."""
    started = time.monotonic()
    output = options["output"]
    format = rows_format(output, options["format_"], what="rendered")
    target = local_target(output)
    if target is not None:
        work = work_folder_of(target)
        refuse_or_clear(target, work, resume=False, overwrite=options["overwrite"])
    programs, told = _source(options)
    describer = describer_of(options)
    renderer = Renderer(describer, Explainer(describer.compiled), options["sentences"])
    times = Counter(programs)
    unsaid: list[Unsaid] = []
    counts = Counter[str]()
    with progress(
        _said(renderer, tuple(times), options["jobs"]), label="render", total=len(times)
    ) as said:
        rows = _kept(numbered(times, said), unsaid, counts)
        write_rows((f"{to_json(row)}\n" for row in rows), "jsonl", output, format)
    if options["unsaid"] is not None:
        _write_unsaid(options["unsaid"], unsaid)
    if target is not None:
        write_json(manifest_of(output), _manifest(options, told, len(times), unsaid, counts))
    _say(output, len(times), unsaid, counts, time.monotonic() - started)


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


def _said(
    renderer: Renderer, programs: Sequence[str], jobs: int
) -> Iterator[tuple[Example, ...] | str]:
    if jobs == 1:
        return map(renderer.say, programs)
    return in_processes(partial(_some, renderer, programs), range(len(programs)), jobs)


def _some(
    renderer: Renderer, programs: Sequence[str], numbers: Sequence[int]
) -> Iterator[tuple[Example, ...] | str]:
    return (renderer.say(programs[number]) for number in numbers)


def _kept(
    found: Iterator[Example | Unsaid], unsaid: list[Unsaid], counts: Counter[str]
) -> Iterator[Example]:
    for one in found:
        if isinstance(one, Unsaid):
            unsaid.append(one)
        else:
            counts["rows"] += 1
            yield one


def _write_unsaid(path: Path, unsaid: Sequence[Unsaid]) -> None:
    with open_text(str(path)) as out:
        for one in sorted(unsaid, key=lambda one: -one.times):
            out.write(f"{one.times}\t{one.program}\t{one.reason}\n")


def _manifest(
    options: Mapping[str, Any],
    told: Mapping[str, Any],
    programs: int,
    unsaid: Sequence[Unsaid],
    counts: Counter[str],
) -> dict[str, Any]:
    return {
        "command": "private render",
        "version": __version__,
        "language": options["language"],
        "sentences": options["sentences"],
        "max_depth": options["max_depth"],
        **told,
        "counts": {"programs": programs, "unsaid": len(unsaid), "rows": counts["rows"]},
    }


def _say(
    output: str, programs: int, unsaid: Sequence[Unsaid], counts: Counter[str], seconds: float
) -> None:
    where = "stdout" if output == "-" else output
    said = programs - len(unsaid)
    click.echo(
        f"{counts['rows']:,} sentences for {said:,} of {programs:,} programs -> {where} "
        f"({seconds:.1f} s)",
        err=True,
    )
    if unsaid:
        click.echo(f"no template can say {len(unsaid):,} of them:", err=True)
    for one in sorted(unsaid, key=lambda one: -one.times)[:_SHOWN]:
        click.echo(f"  {one.times:,} x {one.program}\n      {one.reason}", err=True)
    if len(unsaid) > _SHOWN:
        click.echo(f"  and {len(unsaid) - _SHOWN:,} more; --unsaid FILE has them all", err=True)
