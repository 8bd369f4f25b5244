"""A private prior as a stage: noisy counts, paid before and drawn once, and what follows from them.

What is paid survives being killed: the counts are kept until the prior is written.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal, cast

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.languages.programs import functions_of
from genie_dp.private.generators.rows import read_drawn_rows
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Payer, Units, closing, paid_by, refuse_private
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.ledger.once import release_once
from genie_dp.private.prior import histogram
from genie_dp.private.prior.config import PriorConfig
from genie_dp.private.prior.make import PublicFunctions, Sampled, covering, describe_prior, prior_of
from genie_dp.private.secure import noise
from genie_dp.private.source import PrivateSource
from genie_dp.private_prior import PriorFile, load_prior, load_spent, save_prior, spent_of
from genie_dp.records import Example, Spent
from genie_dp.rows import Rows, rows_of
from genie_dp.run.files import refuse_overlap
from genie_dp.run.stage import Output, Result
from genie_dp.run.work import begin_work, refuse_or_clear

PURPOSE = "frequencies of functions"
Spend = Callable[[Sequence[Mechanism], str], Spent]
"""Records mechanisms under the name of a run, once, and returns all that was spent."""


@dataclass(frozen=True, slots=True, repr=False)
class PriorResult(PriorFile, Result):
    """The prior that a run released; printed, it says what people ask for.

    Attributes:
        output: its file.
    """

    output: str

    def lines(self) -> Iterator[str]:
        """Yield what to tell the developers of the library, then where the prior is."""
        yield from describe_prior(self.prior)
        yield f"{len(self.prior.function_weights):,} functions -> {self.output}"


def run(
    config: PriorConfig,
    private: Path,
    ledger: Ledger,
    library: Library,
    output: Output,
    *,
    language: str,
    public: Sequence[Rows | str | Path] = (),
    candidates: Path | None = None,
    sampled: Path | None = None,
    spent: Path | None = None,
) -> PriorResult:
    """Count which functions private rows use, with noise, and write a prior.

    Nothing is spent before all that is public was read and the private rows are known to be good.

    Args:
        config: what is counted.
        private: the rows.
        ledger: their ledger, which pays.
        library: its functions are counted; None for S-expressions without declarations.
        output: the file of the prior.
        language: of all programs.
        public: rows made without the prior: weights are relative to them.
        candidates: a file of names that the library may lack.
        sampled: rows of a generator that was trained with this ledger; they go into the prior.
        spent: the file of their guarantee.

    Raises:
        GenieError: past the budget (B023), the ledger is another's (B030, B031), what is said to be
            public is not (F008), the output is there (Y022) or read (D027). See
            docs/errors.md.
    """
    target = cast("Path", output.path)
    public_rows = [rows_of(file) for file in public]
    files = [*(file for rows in public_rows for file in rows.sources), candidates, sampled]
    read = [file for file in files if file is not None]
    refuse_private(read, private, code="F008")
    refuse_overlap([target], [private, *read, spent, ledger.path])
    public_functions = PublicFunctions.from_rows(
        functions_of(row) for rows in public_rows for row in _public_examples(rows, language)
    )
    names = histogram.read_candidates(candidates, language) if candidates else ()
    sampled_rows = (
        Sampled() if spent is None or sampled is None else _read_sampled(sampled, spent, ledger)
    )
    support = histogram.support_of(library, public_functions.functions, names, language)
    plan = _plan_counts(config, ledger, support, has_candidates=candidates is not None)
    settings = {
        "version": __version__,
        "private": str(private.resolve()),
        "ledger": str(ledger.path),
        "about": config.about,
        "limits": asdict(plan.limits),
        "noise": [plan.kind, plan.multiplier, plan.threshold_delta],
        "public": sha256(repr((support, public_functions, sampled_rows)).encode()).hexdigest(),
    }

    def units() -> Units[histogram.Unit]:
        source = PrivateSource.promised(private, ledger.budget, language=language)
        return histogram.units_of(source, get_language(language))

    refuse_or_clear(target, output.work, resume=output.resume, overwrite=output.overwrite)
    with begin_work(output.work, settings, resume=output.resume) as work:
        released, total = released_once(output.work, plan, units, Payer(ledger, PURPOSE))
        work.keep()
        prior = prior_of(
            released, plan, total, about=config.about, made=public_functions, sampled=sampled_rows
        )
        save_prior(prior, target)
    shutil.rmtree(output.work, ignore_errors=True)  # who went on with this run may be doing so
    written = load_prior(target)
    return PriorResult(written.prior, written.digest, output.target)


def released_once(
    work: Path, plan: histogram.CountPlan, units: Callable[[], Units[histogram.Unit]], spend: Spend
) -> tuple[histogram.NoisyCounts, Spent]:
    """Return the noisy counts of a work folder, made now or by the run that it is left of.

    Args:
        work: a folder of this release alone.
        plan: what is public.
        units: reads the private rows (`read.units_of`), and raises before anything is spent.
        spend: the `Payer` of their ledger; it refuses what is past the budget.

    Raises:
        GenieError: F009, the counts were there to be seen and are missing; those of `units`,
            `paid_by` and `release_once`.
    """

    def text(name: str) -> str:
        private = units()
        spent = paid_by(private, spend)(plan.mechanisms, name)
        counts = histogram.release_counts(private, plan, noise("prior"))
        return json.dumps({"released": counts.as_dict(), "spent": asdict(spent)})

    close = closing(spend).close
    released = json.loads(release_once(work, "prior", text, close, what="counts", code="F009"))
    return histogram.NoisyCounts(**released["released"]), spent_of(released["spent"])


def _public_examples(rows: Rows, language: str) -> Iterator[Example]:
    """Yield public rows; those of source private are none. TSV does not tell its language."""
    has_language = rows.format != "tsv"
    for row in rows:
        if row.source == "private":
            message = f"{rows.name} has rows of source private, so it is not public"
            raise GenieError(Problem("F008", message, hint="rows of a generator go to --sampled"))
        yield row if has_language else replace(row, language=language)


def _read_sampled(rows: Path, spent: Path, ledger: Ledger) -> Sampled:
    guarantee = load_spent(spent)
    covering(ledger.spent(), guarantee)
    examples = read_drawn_rows(rows, guarantee, ledger)
    programs = tuple(row.program for row in examples if row.program)
    return Sampled(programs, tuple(row.utterance for row in examples), guarantee)


def _plan_counts(
    config: PriorConfig, ledger: Ledger, support: histogram.CountedNames, *, has_candidates: bool
) -> histogram.CountPlan:
    """Return what is counted, with the noise that costs the config's epsilon by itself (F002)."""
    threshold = config.threshold_delta or 0.0
    multiplier = 1 / config.epsilon
    if config.mechanism == "gaussian":
        budget = ledger.budget
        if budget.delta == 0:
            message = "Gaussian noise has no epsilon at the budget's delta of 0"
            raise GenieError(Problem("F002", message, hint="add --mechanism laplace"))
        if threshold >= budget.delta:
            message = f"--threshold-delta {threshold:g} leaves nothing of delta {budget.delta:g}"
            hint = f"take a part of it, such as {budget.delta / 10:g}"
            raise GenieError(Problem("F002", message, hint=hint))
        multiplier = noise_multiplier_for(
            config.epsilon,
            budget.delta - threshold,
            rate=1.0,
            steps=1,
            accountant=budget.accountant,
        )
    kind = cast("Literal['gaussian', 'laplace']", config.mechanism)
    limits = config.limits(has_candidates=has_candidates)
    return histogram.CountPlan(support, limits, kind, multiplier, threshold)
