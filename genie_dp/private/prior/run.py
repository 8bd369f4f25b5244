"""The stage of a private prior: which functions people ask for, counted once with noise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.languages.programs import functions_of
from genie_dp.private.generators.rows import read_drawn_rows
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.private.ledger.guard import Units
from genie_dp.private.prior import histogram
from genie_dp.private.prior.make import PublicFunctions, Sampled, covering, describe_prior, prior_of
from genie_dp.private.release import FiguresRelease, ReleasedFigures, ReleasePlan
from genie_dp.private.secure import noise
from genie_dp.private.source import PrivateSource
from genie_dp.private_prior import PriorFile, load_prior, load_spent, save_prior
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE, Example
from genie_dp.rows import Rows, rows_of
from genie_dp.run.stage import Result
from genie_dp.stage.kernel import PAID_OVERWRITE, PAID_RESUME, OutputOption


@dataclass(frozen=True, slots=True, repr=False)
class PriorResult(PriorFile, Result):
    """The prior that a run released; printed, it lists the requests of people.

    Attributes:
        output: its file, "" where none was kept.
    """

    output: str

    def findings(self) -> Iterator[str]:
        """Yield the requests, for the developers of the library."""
        yield from describe_prior(self.prior)

    def lines(self) -> Iterator[str]:
        """Yield that, then where the prior is."""
        yield from self.findings()
        where = f" -> {self.output}" if self.output else ""
        yield f"{len(self.prior.function_weights):,} functions{where}"


@dataclass(frozen=True, slots=True)
class PriorInputs:
    """The public inputs of a prior.

    Attributes:
        counts: the plan of the histogram.
        made: functions of public rows.
        sampled: rows of a private generator.
    """

    counts: histogram.CountPlan
    made: PublicFunctions
    sampled: Sampled


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior(FiguresRelease):
    """Count which functions people ask for, with noise, and write a prior.

    PRIVATE is JSONL or TSV of utterances with their programs. The count is recorded in the ledger
    before it is made, and refused if the budget does not allow it. The prior steers synthesize,
    augment and train; functions that the library lacks are listed for its developers.

    \b
    genie-dp private prior private.jsonl --epsilon 1 --output prior.json
    genie-dp synthesize --prior prior.json --output pairs.jsonl
    """

    command = "private prior"
    output = OutputOption(
        "Where the prior goes, as JSON.", resume=PAID_RESUME, overwrite=PAID_OVERWRITE
    )
    purpose, kind = "frequencies of functions", "prior"
    not_public, lost = "F008", "F009"

    library: Library = setting(REQUIRED, "Its functions are counted.", value="library")
    language: str = DEFAULT_LANGUAGE
    estimated_units: int | None = setting(
        None,
        "Public estimate of the number of units [counted with noise, too].",
        least=1,
        metavar="N",
    )
    mechanism: Literal["gaussian", "laplace"] = setting(
        "gaussian",
        "Noise. Laplace needs no delta, and is wider if a unit adds to much.",
        choices=("gaussian", "laplace"),
    )
    functions: int = setting(
        2,
        "Functions that a unit counts for, at most: those that it uses most.",
        least=1,
        metavar="N",
    )
    pairs: int = setting(
        1,
        "Pairs of functions in one program that a unit counts for, at most.",
        least=0,
        metavar="N",
    )
    missing: int = setting(
        1,
        "Names that the library lacks that a unit counts for, at most; needs candidates or a "
        "threshold delta.",
        least=0,
        metavar="N",
    )
    threshold_delta: float | None = setting(
        None,
        "Show names of private rows that enough units have; takes so much of the budget's delta.",
        above=0,
        below=1,
        metavar="DELTA",
    )
    candidates: Path | None = setting(
        None,
        "Functions that the library may lack, one a line: each is counted. Nothing private.",
        value="file",
    )
    public: tuple[Rows | str | Path, ...] = setting(
        (),
        "Rows made without the prior, such as those of synthesize: weights are relative to them "
        "[all functions alike].",
        value="text",
        metavar="FILE",
    )
    sampled: Path | None = setting(
        None,
        "Rows of genie-dp private sample: their programs and sentences go into the prior.",
        value="file",
    )
    spent: Path | None = setting(None, "Guarantee of these rows, as JSON.", value="file")

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse sampled rows without their guarantee."""
        if (self.sampled is None) == (self.spent is None):
            return None
        return "sampled rows and their guarantee go together: --sampled and --spent"

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return public rows, candidates and sampled rows."""
        named = [file for rows in map(rows_of, self.public) for file in rows.sources]
        return [*named, *(file for file in (self.candidates, self.sampled) if file)]

    @property
    def other_files(self) -> Sequence[str | Path]:
        """Return the guarantee."""
        return [self.spent] if self.spent else []

    def plan(self) -> ReleasePlan[PriorInputs]:
        """Return the plan of the histogram, with the noise for epsilon.

        Raises:
            GenieError: F002, there is no such noise at the budget's delta.
        """
        rows = (row for file in map(rows_of, self.public) for row in self._public_rows(file))
        public = PublicFunctions.from_rows(map(functions_of, rows))
        names: Sequence[str] = ()
        if self.candidates is not None:
            names = histogram.read_candidates(self.candidates, self.language)
        support = histogram.support_of(self.library, public.functions, names, self.language)
        sampled = self._read_sampled()
        # Names are counted only if any may be shown.
        has_names = self.candidates is not None or self.threshold_delta is not None
        limits = histogram.CountLimits(
            self.functions,
            self.pairs,
            self.missing if has_names else 0,
            counts_units=self.estimated_units is None,
        )
        threshold = self.threshold_delta or 0.0
        multiplier = self._multiplier(threshold)
        shared = {
            "about": self.estimated_units,
            "limits": asdict(limits),
            "noise": [self.mechanism, multiplier, threshold],
            "public": sha256(repr((support, public, sampled)).encode()).hexdigest(),
        }
        counts = histogram.CountPlan(support, limits, self.mechanism, multiplier, threshold)
        return ReleasePlan(PriorInputs(counts, public, sampled), counts.mechanisms, shared)

    def _multiplier(self, threshold: float) -> float:
        if self.mechanism == "laplace":
            return 1 / self.epsilon
        delta = self.ledger.budget.delta
        if delta == 0:
            message = "Gaussian noise has no epsilon at the budget's delta of 0"
            raise GenieError(Problem("F002", message, hint="add --mechanism laplace"))
        if threshold >= delta:
            message = f"--threshold-delta {threshold:g} leaves nothing of delta {delta:g}"
            hint = f"take a part of it, such as {delta / 10:g}"
            raise GenieError(Problem("F002", message, hint=hint))
        accountant = self.ledger.budget.accountant
        return noise_multiplier_for(
            self.epsilon, delta - threshold, rate=1.0, steps=1, accountant=accountant
        )

    def _public_rows(self, rows: Rows) -> Iterator[Example]:
        """Yield public rows; those of source private are none. TSV does not name its language."""
        has_language = rows.format != "tsv"
        for row in rows:
            if row.source == "private":
                message = f"{rows.name} has rows of source private, so it is not public"
                hint = "rows of a generator go to --sampled"
                raise GenieError(Problem("F008", message, hint=hint))
            yield row if has_language else replace(row, language=self.language)

    def _read_sampled(self) -> Sampled:
        if self.spent is None or self.sampled is None:
            return Sampled()
        guarantee = load_spent(self.spent)
        covering(self.ledger.spent(), guarantee)
        examples = read_drawn_rows(self.sampled, guarantee, self.ledger)
        programs = tuple(row.program for row in examples if row.program)
        return Sampled(programs, tuple(row.utterance for row in examples), guarantee)

    def units(self, plan: ReleasePlan[PriorInputs], progress: bool | None) -> Units[histogram.Unit]:
        """Return the functions of each program of each unit."""
        budget, language = self.ledger.budget, self.language
        source = PrivateSource.promised(self.private, budget, language=language)
        return histogram.units_of(source, get_language(language))

    def draw(
        self, units: Units[histogram.Unit], plan: ReleasePlan[PriorInputs]
    ) -> Mapping[str, Any]:
        """Return the noisy counts."""
        return histogram.release_counts(units, plan.public.counts, noise("prior")).as_dict()

    def finish(
        self,
        drawn: ReleasedFigures,
        plan: ReleasePlan[PriorInputs],
        made: Path,
        target: str,
        progress: bool | None,
    ) -> PriorResult:
        """Write the prior of the counts."""
        prior = prior_of(
            histogram.NoisyCounts(**drawn.figures),
            plan.public.counts,
            drawn.spent,
            about=self.estimated_units,
            made=plan.public.made,
            sampled=plan.public.sampled,
        )
        save_prior(prior, made)
        written = load_prior(made)
        return PriorResult(written.prior, written.digest, target)
