"""One redaction: the file is read twice, first for duplicates, then for secrets.

Rows gather in a work folder, from which a run that was killed goes on. Nothing of the rows is
printed, their number neither; all that is written only its owner can read.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from genie_dp import __version__
from genie_dp.cli.private.detectors import detectors_of
from genie_dp.cli.private.redact_settings import settings_of
from genie_dp.cli.private.redact_work import Later, WorkFolder, known_later, open_work
from genie_dp.cli.private.train_files import write_over
from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.guard import PRIVATE, private_of
from genie_dp.private.redact.duplicates import Duplicates
from genie_dp.private.redact.provenance import Provenance, digest_of_rows, manifest_beside
from genie_dp.private.redact.redactor import Redacted, Redactor
from genie_dp.private.redact.review import page
from genie_dp.private.redact.rows import Point, Reading
from genie_dp.private.redact.spans import MASK, Policy
from genie_dp.rows import deliver
from genie_dp.run.files import check_output, open_text
from genie_dp.run.manifest import write_json
from genie_dp.run.work import enter_work, interruptible, work_folder_of

SCHEMA = "genie-dp.redaction/1"
STATEMENT = (
    "Made from private rows and not differentially private: the detectors miss secrets, and counts "
    "tell about rows. Keep it where the private rows are."
)
_AT_ONCE = 256


def run(options: Mapping[str, Any]) -> None:
    """Redact a file, and write what is wanted."""
    work = work_folder_of(Path(options["output"]))
    targets = _targets(options, work)
    if options["overwrite"]:
        shutil.rmtree(work, ignore_errors=True)
    reading = Reading(
        options["input"],
        options["points"],
        options["language"],
        tuple(options["keep"]),
        options["unit_field"],
    )
    redactor = _redactor(options)
    with for_the_owner_alone():
        entered = _entered(options, work, reading)
        with interruptible(work):
            with _told("secrets are looked for"):
                _fill(entered, options, reading, redactor)
            _deliver(options, entered, reading, redactor)
        shutil.rmtree(work)
    click.echo(f"redacted -> {', '.join(targets)}", err=True)
    if redactor.conservative.every_text:
        click.echo("all rows are private: no --conservative policy was given", err=True)
    click.echo("keep it private: what the detectors missed is still in it", err=True)


def _fill(
    work: WorkFolder, options: Mapping[str, Any], reading: Reading, redactor: Redactor
) -> None:
    """Add the rows that are not yet in a work folder, and close it."""
    try:
        for batch in _redacted(reading, redactor, work.later, work.done):
            rows, drawn = [], []
            for number, (point, one) in enumerate(batch, work.done + 1):
                rows.append(_row(number, one))
                _count(work.counts, one, redactor)
                if options["review"]:
                    drawn.append(work.review.add(number, point, one, redactor))
            work.add(rows, [one for one in drawn if one])
    finally:
        work.close()


def _entered(options: Mapping[str, Any], path: Path, reading: Reading) -> WorkFolder:
    """Return the work folder; it is made once the whole file was checked.

    Raises:
        GenieError: it is another run's (Y020), or this one does not go on with it (Y021).
    """
    if not path.exists():
        later = _later(reading, options)
        return open_work(path, settings_of(options, reading), later)
    settings = settings_of(options, reading)
    enter_work(path, settings, resume=options["resume"])
    known = known_later(path)
    return open_work(path, settings, _later(reading, options) if known is None else known)


def _deliver(
    options: Mapping[str, Any], work: WorkFolder, reading: Reading, redactor: Redactor
) -> None:
    """Write all that is wanted of a run that is complete."""
    deliver(work.path / "rows", "jsonl", options["output"], "jsonl")
    result = _report(options, reading, redactor, work.counts)
    if options["report"]:
        write_json(options["report"], result)
    if options["review"]:
        with open_text(options["review"]) as out:
            out.write(page(result, work.review))
    made = Provenance(
        reading.unit_field,
        options["near"],
        not options["keep_duplicates"],
        redactor.conservative.every_text,
        digest_of_rows(Path(options["output"])),
    )
    ledger = private_of(options["input"])
    manifest = {
        "command": "private redact",
        **settings_of(options, reading),
        "redaction": made.as_dict(),
        **({PRIVATE: [str(ledger.resolve())]} if ledger else {}),
    }
    write_json(_manifest(options), manifest)


def _manifest(options: Mapping[str, Any]) -> str:
    return str(manifest_beside(Path(options["output"])))


def _targets(options: Mapping[str, Any], work: Path) -> list[str]:
    # A run that was let in goes on, even if some of its files are there and others are not.
    may_exist = options["overwrite"] or (options["resume"] and work.exists())
    targets = [options[name] for name in ("output", "report", "review") if options[name]]
    problems = []
    # Training asks it how the rows were made.
    written = [*targets, _manifest(options)]
    for target in written:
        if target == "-" or "://" in target:
            message = f"redacted rows are written to local files only, got {target}"
            problems.append(Problem("E015", message, hint="name a file beside the private rows"))
            continue
        check_output(target)
        path = Path(target)
        is_input = path.exists() and os.path.realpath(target) == os.path.realpath(options["input"])
        if is_input or written.count(target) > 1:
            problems.append(Problem("E016", f"{target} is named twice", hint="give another file"))
        elif path.exists() and not may_exist:
            hint = "give another file, or --overwrite"
            problems.append(Problem("E016", f"{target} exists already", hint=hint))
    if problems:
        raise GenieError(problems)
    return targets


def _redactor(options: Mapping[str, Any]) -> Redactor:
    return Redactor(
        detectors_of(options),
        Policy("pi", options["threshold"]),
        _conservative(options["conservative"]),
    )


def _conservative(given: str) -> Policy:
    if given == "all":
        return Policy("pi_c", 0.0, every_text=True)
    try:
        threshold = float(given)
    except ValueError:
        message = f"expected all or a score from 0 to 1, got {given!r}"
        raise click.BadParameter(message, param_hint="--conservative") from None
    return Policy("pi_c", threshold)


def _later(reading: Reading, options: Mapping[str, Any]) -> Later:
    """Return for each point whether it was there before; the whole file is checked by that."""
    found = Duplicates(options["near"], unit_field=reading.unit_field)
    count = 0
    with _told("duplicates are looked for"):
        for point in reading.points():
            count += 1
            found.add(point)
    if not count:
        raise GenieError(Problem("E009", f"{options['input']} holds no rows", hint="name another"))
    return np.zeros(count, np.bool_) if options["keep_duplicates"] else found.later()


def _redacted(
    reading: Reading, redactor: Redactor, later: Later, done: int
) -> Iterator[list[tuple[Point, Redacted]]]:
    """Yield batches of points with what became of each, from number `done` on."""
    flags = iter(later[done:].tolist())
    rest = islice(reading.points(), done, None)
    for batch in _batches(rest):
        old = list(islice(flags, len(batch)))
        if len(old) < len(batch):
            raise _changed(reading)
        yield [
            (point, one.as_duplicate if was else one)
            for point, one, was in zip(batch, redactor.redact(batch), old, strict=True)
        ]
    if next(flags, None) is not None:
        raise _changed(reading)


def _changed(reading: Reading) -> GenieError:
    hint = "start again with --overwrite when nobody writes the file"
    return GenieError(Problem("E017", f"{reading.path} changed while it was read", hint=hint))


def _batches(points: Iterable[Point]) -> Iterator[list[Point]]:
    rest = iter(points)
    while batch := list(islice(rest, _AT_ONCE)):
        yield batch


def _row(number: int, one: Redacted) -> dict[str, Any]:
    point = one.point
    row: dict[str, Any] = {"id": f"R{number}", "utterance": point.utterance}
    if point.program is not None:
        row |= {"program": point.program, "language": point.language}
    return {**row, "source": "private", "part": one.part, **dict(point.fields)}


def _count(counts: Counter[str], one: Redacted, redactor: Redactor) -> None:
    counts["points"] += 1
    counts[one.part] += 1
    counts["duplicates"] += one.is_duplicate
    if one.is_duplicate:
        return
    is_masked = any(MASK in text for text in one.point.texts)
    counts["masked"] += is_masked
    counts["caught_by_pi_c_alone"] += one.part == "private" and not is_masked
    counts["masks"] += sum(map(len, one.places))
    for found in one.found:
        for piece in redactor.policy.taken("", found):
            counts[f"kind {piece.kind}"] += 1


def _report(
    options: Mapping[str, Any], reading: Reading, redactor: Redactor, counts: Counter[str]
) -> dict[str, Any]:
    def policy(one: Policy) -> dict[str, Any]:
        return {"name": one.name, "threshold": one.threshold, "every_text": one.every_text}

    names = ("points", "private", "public", "duplicates", "masked", "caught_by_pi_c_alone", "masks")
    return {
        "schema": SCHEMA,
        "privacy": {"is_differentially_private": False, "statement": STATEMENT},
        "version": __version__,
        "points": reading.by if reading.is_text else "row",
        "policies": [policy(redactor.policy), policy(redactor.conservative)],
        "detectors": [one.name for one in redactor.detectors],
        "duplicates": {"are_masked": not options["keep_duplicates"], "near": options["near"]},
        "counts": {name: counts[name] for name in names},
        "found": {
            name.removeprefix("kind "): n
            for name, n in sorted(counts.items())
            if name.startswith("kind ")
        },
    }


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say on a terminal what is done; a bar would tell how many rows there are."""
    write_over(what)
    try:
        yield
    finally:
        write_over("")


@contextmanager
def for_the_owner_alone() -> Iterator[None]:
    """Let files that are made here be read and written by nobody else."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
