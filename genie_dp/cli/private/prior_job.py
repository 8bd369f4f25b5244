"""One run of `genie-dp private prior`: from options to a prior and a report."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.priors import functions_of, refuse_inputs
from genie_dp.cli.private.sampled_rows import drawn_rows
from genie_dp.dataset.folder import About
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.calibration import noise_multiplier_for
from genie_dp.private.ledger.guard import Payer, Units, ledger_to_spend, refuse_private
from genie_dp.private.prior.histogram import Plan, Unit
from genie_dp.private.prior.make import Made, Sampled, covering, prior_of
from genie_dp.private.prior.read import read_candidates, support_of, units_of
from genie_dp.private.prior.report import lines
from genie_dp.private.prior.run import released_once
from genie_dp.private.prior.support import Limits
from genie_dp.private.source import PrivateSource
from genie_dp.private_prior import save_prior
from genie_dp.records import Example
from genie_dp.rows import format_of, read_rows
from genie_dp.run.work import begun, refuse_or_clear, work_folder_of

PURPOSE = "frequencies of functions"


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp private prior` asks for: all of it public, but the file's rows."""

    private: Path
    output: Path
    language: str
    about: int | None
    ledger: Ledger
    plan: Plan
    made: Made
    sampled: Sampled

    @property
    def work(self) -> Path:
        """Return where the release lies until the prior is written."""
        return work_folder_of(self.output)

    def settings(self) -> dict[str, Any]:
        """Return what a resumed run must share: nothing of it is private."""
        texts = repr((self.plan.support, self.made, self.sampled))
        return {
            "version": __version__,
            "private": str(self.private.resolve()),
            "ledger": str(self.ledger.path),
            "about": self.about,
            "limits": asdict(self.plan.limits),
            "noise": [self.plan.kind, self.plan.multiplier, self.plan.threshold_delta],
            "public": sha256(texts.encode()).hexdigest(),
        }

    def units(self) -> Units[Unit]:
        """Return the functions of the private units."""
        rows = PrivateSource.promised(self.private, self.ledger.budget, language=self.language)
        return units_of(rows, get_language(self.language))


def run(options: Mapping[str, Any]) -> None:
    """Release the frequencies, write the prior, and print what people ask for."""
    output: Path = options["output"]
    job = job_of(options)
    refuse_or_clear(output, job.work, resume=options["resume"], overwrite=options["overwrite"])
    with begun(job.work, job.settings(), resume=options["resume"]) as work:
        found, spent = released_once(job.work, job.plan, job.units, Payer(job.ledger, PURPOSE))
        work.keep()
        prior = prior_of(
            found,
            job.plan,
            spent,
            about=job.about,
            made=job.made,
            sampled=job.sampled,
        )
        save_prior(prior, output)
    shutil.rmtree(job.work, ignore_errors=True)  # who went on with the same run may be doing so
    for line in lines(prior):
        click.echo(line)
    click.echo(f"{len(prior.function_weights):,} functions -> {output}", err=True)


def job_of(options: Mapping[str, Any]) -> Job:
    """Return the job of the command's options; only public files are read."""
    language = options["language"]
    ledger = Ledger.open(ledger_to_spend(options["private"], options["ledger"]))
    library = load_library_of(language, options["skills"], skip_broken=options["skip_broken"])
    path, sampled = options["candidates"], options["sampled"]
    said = [*options["public"], *(file for file in (path, sampled) if file)]
    refuse_private(said, options["private"], code="F008")
    refuse_inputs([options["output"]], [options["private"], *said, options["spent"], ledger.path])
    made = Made.of(
        functions_of(row) for name in options["public"] for row in _public(name, language)
    )
    candidates = read_candidates(path, language) if path else ()
    sampled_spent = About(spent=options["spent"]).guarantee()
    rows: tuple[Example, ...] = ()
    if sampled_spent is not None:
        covering(ledger.spent(), sampled_spent)
        rows = drawn_rows(sampled, sampled_spent, ledger)
    return Job(
        options["private"],
        options["output"],
        language,
        options["about"],
        ledger,
        _plan(options, ledger, support_of(library, made.functions, candidates, language)),
        made,
        Sampled(
            tuple(r.program for r in rows if r.program),
            tuple(r.utterance for r in rows),
            sampled_spent,
        ),
    )


def _public(name: str, language: str) -> Iterator[Example]:
    """Yield public rows; those of source private are none. TSV does not tell its language."""
    is_told = format_of(name) != "tsv"
    for row in read_rows(name):
        if row.source == "private":
            message = f"{name} has rows of source private, so it is not public"
            raise GenieError(Problem("F008", message, hint="rows of a generator go to --sampled"))
        yield row if is_told else replace(row, language=language)


def _plan(options: Mapping[str, Any], ledger: Ledger, support: Any) -> Plan:
    has_names = bool(options["candidates"] or options["threshold_delta"])
    limits = Limits(
        options["most_functions"],
        options["most_pairs"],
        options["most_missing"] if has_names else 0,
        counts_units=options["about"] is None,
    )
    threshold = options["threshold_delta"] or 0.0
    kind = options["mechanism"]
    multiplier = 1 / options["epsilon"]
    if kind == "gaussian":
        multiplier = _gaussian(options["epsilon"], ledger, threshold)
    return Plan(support, limits, kind, multiplier, threshold)


def _gaussian(epsilon: float, ledger: Ledger, threshold_delta: float) -> float:
    """Return how wide Gaussian noise is that costs an epsilon by itself."""
    budget = ledger.budget
    if budget.delta == 0:
        message = "Gaussian noise has no epsilon at the budget's delta of 0"
        raise GenieError(Problem("F002", message, hint="add --mechanism laplace"))
    if threshold_delta >= budget.delta:
        message = f"--threshold-delta {threshold_delta:g} leaves nothing of delta {budget.delta:g}"
        hint = f"take a part of it, such as {budget.delta / 10:g}"
        raise GenieError(Problem("F002", message, hint=hint))
    delta = budget.delta - threshold_delta
    return noise_multiplier_for(epsilon, delta, rate=1.0, steps=1, accountant=budget.accountant)
