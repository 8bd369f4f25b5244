"""Redaction as a stage: a file is read twice, first for duplicates, then for secrets.

Rows gather in a work folder, from which a run that was killed goes on. Nothing of the rows is
printed, their number neither; all that is written only its owner can read.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.guard import private_of
from genie_dp.private.redact.config import Redact
from genie_dp.private.redact.detectors import detector_facts, open_detectors
from genie_dp.private.redact.duplicates import Duplicates
from genie_dp.private.redact.provenance import Provenance, digest_of_rows, manifest_beside
from genie_dp.private.redact.redactor import Redacted, Redactor
from genie_dp.private.redact.review import page
from genie_dp.private.redact.rows import Point, PointReader
from genie_dp.private.redact.spans import MASK, Policy
from genie_dp.private.redact.work import Later, RedactionWork, load_later, open_work
from genie_dp.rows import deliver
from genie_dp.run.files import check_output, for_owner_alone, open_text, sha256_of
from genie_dp.run.manifest import PRIVATE, write_json
from genie_dp.run.stage import Output, Result, write_over
from genie_dp.run.work import enter_work, interruptible

SCHEMA = "genie-dp.redaction/1"
STATEMENT = (
    "Made from private rows and not differentially private: the detectors miss secrets, and counts "
    "tell about rows. Keep it where the private rows are."
)
_AT_ONCE = 256
_LOOKING = "secrets are looked for"


@dataclass(frozen=True, slots=True)
class RedactResult(Result):
    """The files of a redaction: redacted rows, and those beside them.

    Attributes:
        files: the rows, the report and the page; as many as were wanted.
        is_all_private: whether every row is private, for want of a conservative policy.
    """

    files: tuple[str, ...]
    is_all_private: bool

    def lines(self) -> Iterator[str]:
        """Yield messages for the user; nothing of them is from the rows."""
        yield f"redacted -> {', '.join(self.files)}"
        if self.is_all_private:
            yield "all rows are private: no --conservative policy was given"
        yield "keep it private: what the detectors missed is still in it"


def run(stage: Redact, output: Output, *, progress: bool | None = None) -> RedactResult:
    """Mask the secrets and the duplicates of a file, and part its rows for training.

    Raises:
        GenieError: an output is no local file (E015), or is there already (E016); an input is
            invalid; docs/errors.md has all.
    """
    files = _Files(stage.source, output, stage.report, stage.review)
    targets = files.check()
    if output.overwrite:
        shutil.rmtree(output.work, ignore_errors=True)
    reading = PointReader(stage.source, stage.points, stage.language, stage.keep, stage.unit_field)
    conservative = stage.conservative
    redactor = Redactor(
        open_detectors(stage),
        Policy("pi", stage.threshold),
        Policy("pi_c", 0.0, every_text=True)
        if conservative is None
        else Policy("pi_c", conservative),
    )
    redaction = _Redaction(stage, files, reading, redactor, progress)
    with for_owner_alone():
        work = redaction.enter()
        with interruptible(output.work):
            with _show_step(_LOOKING, progress):
                redaction.fill(work)
            redaction.deliver(work)
        shutil.rmtree(output.work)
    return RedactResult(targets, redactor.conservative.every_text)


@dataclass(frozen=True, slots=True)
class _Files:
    """The files that a redaction reads and writes."""

    source: str
    output: Output
    report: str | None
    review: str | None

    @property
    def manifest(self) -> str:
        """Return the file that training asks how the rows were made."""
        return str(manifest_beside(Path(self.output.target)))

    def check(self) -> tuple[str, ...]:
        """Return the files that are wanted; refuse those that would leak or destroy."""
        output = self.output
        # A run that was let in goes on, even if some of its files are there and others are not.
        may_exist = output.overwrite or (output.resume and output.work.exists())
        targets = [name for name in (output.target, self.report, self.review) if name]
        problems = []
        outputs = [*targets, self.manifest]
        for target in outputs:
            if target == "-" or "://" in target:
                message = f"redacted rows are written to local files only, got {target}"
                hint = "name a file beside the private rows"
                problems.append(Problem("E015", message, hint=hint))
                continue
            check_output(target)
            path = Path(target)
            is_input = path.exists() and os.path.realpath(target) == os.path.realpath(self.source)
            if is_input or outputs.count(target) > 1:
                message = f"{target} is named twice"
                problems.append(Problem("E016", message, hint="give another file"))
            elif path.exists() and not may_exist:
                hint = "give another file, or --overwrite"
                problems.append(Problem("E016", f"{target} exists already", hint=hint))
        if problems:
            raise GenieError(problems)
        return tuple(targets)


@dataclass(frozen=True, slots=True, repr=False)
class _Redaction:
    """One redaction: its settings, detectors and files."""

    config: Redact
    files: _Files
    reading: PointReader
    redactor: Redactor
    progress: bool | None

    def settings(self) -> dict[str, Any]:
        """Return all that the rows depend on: a run with others does not go on."""
        config, reading = self.config, self.reading
        score = config.conservative
        return {
            "version": __version__,
            "input": sha256_of(reading.path),
            "points": reading.by,
            "language": reading.language,
            "keep": list(reading.keep),
            "unit": reading.unit_field or "row",
            "policies": {
                "threshold": config.threshold,
                "conservative": "all" if score is None else str(score).removesuffix(".0"),
            },
            "duplicates": {"keep_duplicates": config.keep_duplicates, "near": config.near},
            "detectors": detector_facts(config),
            "review": {
                "is_wanted": bool(self.files.review),
                "rows": config.review_rows,
                "seed": config.seed,
            },
        }

    def enter(self) -> RedactionWork:
        """Return the work folder; it is made once the whole file was checked.

        Raises:
            GenieError: it is another run's (Y020), or this one does not go on with it (Y021).
        """
        path = self.files.output.work
        if not path.exists():
            later = _find_later(self.reading, self.config, self.progress)
            return open_work(path, self.settings(), later)
        settings = self.settings()
        enter_work(path, settings, resume=self.files.output.resume)
        earlier = load_later(path)
        if earlier is None:
            earlier = _find_later(self.reading, self.config, self.progress)
        return open_work(path, settings, earlier)

    def fill(self, work: RedactionWork) -> None:
        """Add the rows that are not yet in a work folder, and close it."""
        try:
            for batch in self._redact(work.later, work.done):
                rows, page_rows = [], []
                for number, (point, redacted) in enumerate(batch, work.done + 1):
                    rows.append(_row_of(number, redacted))
                    self._count(work.counts, redacted)
                    if self.files.review:
                        page_rows.append(work.review.add(number, point, redacted, self.redactor))
                work.add(rows, [row for row in page_rows if row])
                write_over(_LOOKING, show=self.progress)
        finally:
            work.close()

    def _redact(self, later: Later, done: int) -> Iterator[list[tuple[Point, Redacted]]]:
        """Yield batches of points with their redactions, from number `done` on."""
        flags = iter(later[done:].tolist())
        rest = islice(self.reading.points(), done, None)
        for batch in _batches(rest):
            were_before = list(islice(flags, len(batch)))
            if len(were_before) < len(batch):
                raise _changed_error(self.reading)
            yield [
                (point, redacted.as_duplicate if was_before else redacted)
                for point, redacted, was_before in zip(
                    batch, self.redactor.redact(batch), were_before, strict=True
                )
            ]
        if next(flags, None) is not None:
            raise _changed_error(self.reading)

    def _count(self, counts: Counter[str], redacted: Redacted) -> None:
        counts["points"] += 1
        counts[redacted.part] += 1
        counts["duplicates"] += redacted.is_duplicate
        if redacted.is_duplicate:
            return
        is_masked = any(MASK in text for text in redacted.point.texts)
        counts["masked"] += is_masked
        counts["caught_by_pi_c_alone"] += redacted.part == "private" and not is_masked
        counts["masks"] += sum(map(len, redacted.places))
        for findings in redacted.found:
            for finding in self.redactor.policy.taken("", findings):
                counts[f"kind {finding.kind}"] += 1

    def deliver(self, work: RedactionWork) -> None:
        """Write all that is wanted of a run that is complete."""
        files, output = self.files, self.files.output.target
        deliver(work.path / "rows", "jsonl", output, "jsonl")
        report = self._report(work.counts)
        if files.report:
            write_json(files.report, report)
        if files.review:
            with open_text(files.review) as out:
                out.write(page(report, work.review))
        provenance = Provenance(
            self.reading.unit_field,
            self.config.near,
            not self.config.keep_duplicates,
            self.redactor.conservative.every_text,
            digest_of_rows(Path(output)),
        )
        ledger = private_of(files.source)
        manifest = {
            "command": "private redact",
            **self.settings(),
            "redaction": provenance.as_dict(),
            **({PRIVATE: [str(ledger.resolve())]} if ledger else {}),
        }
        write_json(files.manifest, manifest)

    def _report(self, counts: Counter[str]) -> dict[str, Any]:
        config, reading, redactor = self.config, self.reading, self.redactor
        policies = (redactor.policy, redactor.conservative)
        names = (
            "points", "private", "public", "duplicates", "masked", "caught_by_pi_c_alone", "masks",
        )  # fmt: skip
        return {
            "schema": SCHEMA,
            "privacy": {"is_differentially_private": False, "statement": STATEMENT},
            "version": __version__,
            "points": reading.by if reading.is_text else "row",
            "policies": [
                {"name": p.name, "threshold": p.threshold, "every_text": p.every_text}
                for p in policies
            ],
            "detectors": [detector.name for detector in redactor.detectors],
            "duplicates": {"are_masked": not config.keep_duplicates, "near": config.near},
            "counts": {name: counts[name] for name in names},
            "found": {
                name.removeprefix("kind "): n
                for name, n in sorted(counts.items())
                if name.startswith("kind ")
            },
        }


def _find_later(reading: PointReader, config: Redact, progress: bool | None) -> Later:
    """Return for each point whether it was there before; the whole file is checked by that."""
    duplicates = Duplicates(config.near, unit_field=reading.unit_field)
    count = 0
    with _show_step("duplicates are looked for", progress):
        for point in reading.points():
            count += 1
            duplicates.add(point)
    if not count:
        raise GenieError(Problem("E009", f"{reading.path} holds no rows", hint="name another"))
    return np.zeros(count, np.bool_) if config.keep_duplicates else duplicates.later()


def _changed_error(reading: PointReader) -> GenieError:
    hint = "start again with --overwrite when nobody writes the file"
    return GenieError(Problem("E017", f"{reading.path} changed while it was read", hint=hint))


def _batches(points: Iterable[Point]) -> Iterator[list[Point]]:
    rest = iter(points)
    while batch := list(islice(rest, _AT_ONCE)):
        yield batch


def _row_of(number: int, redacted: Redacted) -> dict[str, Any]:
    point = redacted.point
    row: dict[str, Any] = {"id": f"R{number}", "utterance": point.utterance}
    if point.program is not None:
        row |= {"program": point.program, "language": point.language}
    return {**row, "source": "private", "part": redacted.part, **dict(point.fields)}


@contextmanager
def _show_step(text: str, progress: bool | None) -> Iterator[None]:
    """Show the current step; a bar would disclose how many rows there are."""
    write_over(text, show=progress)
    try:
        yield
    finally:
        write_over("", show=progress)
