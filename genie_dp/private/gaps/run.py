"""A gap report as a stage: requests that are not understood, counted once with noise."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.private.gaps.listen import Advice, Listener
from genie_dp.private.gaps.report import GAPS, GapReport, report_page
from genie_dp.private.gaps.select import (
    RELEASES,
    GapLimits,
    GapPlan,
    NoisyGaps,
    Understanding,
    Unit,
    release_gaps,
)
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Units, refuse_learned
from genie_dp.private.release import FiguresRelease, ReleasedFigures, ReleasePlan
from genie_dp.private.secure import noise
from genie_dp.private.source import PrivateSource
from genie_dp.recipe import REQUIRED, setting
from genie_dp.rows import to_json
from genie_dp.run.stage import Result, write_over, write_share
from genie_dp.run.work import FolderKind
from genie_dp.run.workers import in_processes
from genie_dp.stage.kernel import PAID_OVERWRITE, PAID_RESUME, OutputOption

FORMAT = "genie_dp gap report"
INDEX, STUBS, ROWS = "index.html", "gaps.genie", "rows.jsonl"
FOLDER = FolderKind(GAPS, FORMAT, name="folder of a gap report", code="F022")
_PART = 0.1  # of the budget's delta for thresholds: more of it saves little noise
_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True, repr=False)
class GapResult(Result):
    """The gaps that a run released; printed, it lists the requests.

    Attributes:
        report: the shown gaps, with advice.
        output: the folder, "" where none was written.
    """

    report: GapReport
    output: str

    def findings(self) -> Iterator[str]:
        """Yield the gaps, for the authors of the templates."""
        yield from self.report.lines(most=_MOST_SHOWN)

    def lines(self) -> Iterator[str]:
        """Yield that, then where the report is."""
        yield from self.findings()
        where = f" -> {self.output}/{INDEX}" if self.output else ""
        yield f"{len(self.report.gaps):,} gaps{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps(FiguresRelease):
    """Find requests that are not understood, with noise, and draft templates for them.

    PRIVATE is JSONL or TSV of utterances. Those that the templates do not derive (or a parser does
    not understand) are cut into words, pairs of words and sentences without values; those of enough
    people are shown. It is recorded in the ledger before it is counted, and refused if
    the budget does not allow it.

    \b
    genie-dp private gaps private.jsonl --epsilon 1 --report gaps
    """

    command = "private gaps"
    output = OutputOption(
        "Where the report goes: a page, gaps.json, templates and the rows that they add.",
        option="report",
        metavar="DIR",
        resume=PAID_RESUME,
        overwrite=PAID_OVERWRITE,
    )
    purpose, kind = "gaps of templates", "gaps"
    not_public, lost = "F021", "F023"
    folder = FOLDER

    listener: Listener = setting(
        REQUIRED, "What understands sentences; it has learned of nothing private.", value="listener"
    )
    mechanism: Literal["gaussian", "laplace"] = setting(
        "gaussian",
        "Noise. Laplace is wider if a unit counts for much.",
        choices=("gaussian", "laplace"),
    )
    min_units: int = setting(
        5, "Show nothing that fewer units said, whatever the noise is.", least=1, metavar="N"
    )
    words: int = setting(
        2, "Words that no template says, of a unit, at most.", least=1, metavar="N"
    )
    pairs: int = setting(
        3, "Pairs of words that no template says, of a unit, at most.", least=1, metavar="N"
    )
    sentences: int = setting(
        1, "Sentences that a unit counts for, at most: those it says most.", least=1, metavar="N"
    )
    threshold_delta: float | None = setting(
        None,
        "What is met in private rows is shown if enough units have it; takes so much of the "
        "budget's delta [a tenth].",
        above=0,
        below=1,
        metavar="DELTA",
    )
    all: bool = setting(False, "Read all sentences, not only those that are not understood.")
    title: str = setting("", "Title of the page [the name of the rows].")
    jobs: int = setting(1, "Processes; the bytes do not depend on it.", least=1)

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return the files of the listener."""
        return tuple(self.listener.sources)

    def refuse_inputs(self) -> None:
        """Refuse a parser that has learned of private rows, or of which nobody knows (F021)."""
        parser = self.listener.parser
        if parser is None:
            return
        if parser.folder is None:
            message = "expected a parser that was read from its folder, got one of none"
            hint = "save the parser, then load it: its manifest tells what it has learned of"
            raise GenieError(Problem("F021", message, hint=hint))
        refuse_learned(parser.folder, self.private, code="F021")

    def plan(self) -> ReleasePlan[GapPlan]:
        """Return the plan of the counts, with the noise for epsilon.

        Raises:
            GenieError: F020, the budget has no delta, or thresholds leave nothing of it; B004.
        """
        budget = self.ledger.budget
        delta = budget.delta
        threshold_delta = self.threshold_delta or _PART * delta
        if delta == 0:
            message = "what is met in private rows cannot be shown at the budget's delta of 0"
            hint = "genie-dp private prior counts functions without a delta, with Laplace noise"
            raise GenieError(Problem("F020", message, hint=hint))
        if threshold_delta >= delta:
            message = f"--threshold-delta {threshold_delta:g} leaves nothing of delta {delta:g}"
            hint = f"take a part of it, such as {_PART * delta:g}"
            raise GenieError(Problem("F020", message, hint=hint))
        multiplier = RELEASES / self.epsilon
        if self.mechanism == "gaussian":
            multiplier = noise_multiplier_for(
                self.epsilon,
                delta - threshold_delta,
                rate=1.0,
                steps=RELEASES,
                accountant=budget.accountant,
            )
        vocabulary, limits = (
            self.listener.vocabulary,
            GapLimits(self.words, self.pairs, self.sentences),
        )
        gaps = GapPlan(
            vocabulary,
            limits,
            self.mechanism,
            multiplier,
            threshold_delta,
            self.min_units,
            self.all,
        )
        # In an order that is the same in every process.
        public = (
            sorted(vocabulary.words),
            sorted(vocabulary.pairs),
            vocabulary.functions,
            dict(vocabulary.reasons),
        )
        shared = {
            "limits": asdict(limits),
            "noise": [self.mechanism, multiplier, threshold_delta, self.min_units, self.all],
            "public": sha256(repr(public).encode()).hexdigest(),
            "heard": dict(self.listener.facts),
        }
        return ReleasePlan(gaps, gaps.mechanisms, shared)

    def units(self, plan: ReleasePlan[GapPlan], progress: bool | None) -> Units[Unit]:
        """Return the heard sentences of each unit."""
        language = self.listener.language
        source = PrivateSource.promised(self.private, self.ledger.budget, language=language)
        heard = _hear_each(source, self.listener, self.jobs, progress)
        return source.units.each(lambda rows: tuple(heard[row.utterance] for row in rows))

    def draw(self, units: Units[Unit], plan: ReleasePlan[GapPlan]) -> Mapping[str, Any]:
        """Return the noisy counts."""
        return release_gaps(units, plan.public, lambda level: noise("gaps", level)).as_dict()

    def finish(
        self,
        drawn: ReleasedFigures,
        plan: ReleasePlan[GapPlan],
        made: Path,
        target: str,
        progress: bool | None,
    ) -> GapResult:
        """Try templates for the shown sentences, and write the report."""
        released = NoisyGaps(**drawn.figures)
        write_over("templates are tried for what is shown", show=progress)
        advice = advise(released, self.listener)
        write_over("", show=progress)
        ledger = Ledger.open(self.ledger.path)
        facts = {
            "title": self.title or f"Gaps of {self.private.name}",
            "epsilon": self.epsilon,
            "rows": self.private.name,
            "cap": ledger.budget.cap,
            "budget": ledger.budget.as_dict(),
            "ledger": _place_in(ledger, drawn.run),
            "heard": dict(self.listener.facts),
            "unsaid": sorted(self.listener.unsaid),
        }
        report = GapReport.from_release(released, plan.public, drawn.spent, advice, facts=facts)
        _write_folder(made, report)
        return GapResult(report, target)


def _hear_each(
    source: PrivateSource, listener: Listener, jobs: int, progress: bool | None
) -> dict[str, Understanding]:
    """Return each distinct sentence of private rows as it was heard: people repeat sentences."""
    sentences = list(dict.fromkeys(row.utterance for rows in source.units for row in rows))

    def hear(numbers: Sequence[int]) -> Iterator[Understanding]:
        return listener.hear(sentences[number] for number in numbers)

    numbers = range(len(sentences))
    results = in_processes(hear, numbers, jobs) if jobs > 1 else hear(numbers)
    heard: dict[str, Understanding] = {}
    for sentence, result in zip(sentences, results, strict=True):
        heard[sentence] = result
        write_share("sentences are listened to", len(heard), len(sentences), show=progress)
    write_over("", show=progress)
    return heard


def _place_in(ledger: Ledger, name: str) -> dict[str, Any]:
    """Return where a run stands in its ledger: the entry of its spend, and the last hash of all."""
    [entry] = [entry for entry in ledger.entries if entry.run == name]
    return {
        "file": ledger.path.name,
        "head": ledger.head,
        "run": name,
        "entry": entry.number,
        "hash": entry.hash,
        "recorded": entry.recorded,
        "left": round(max(0.0, ledger.budget.epsilon - ledger.epsilon_with()), 4),
    }


def advise(released: NoisyGaps, listener: Listener) -> Mapping[str, Advice]:
    """Return the advice on each shown sentence, if known: reads nothing private."""
    texts = list(released.sentences)
    advice = listener.advise([tuple(text.split(" ")) for text in texts])
    return {
        text: advised for text, advised in zip(texts, advice, strict=True) if advised is not None
    }


def _write_folder(folder: Path, report: GapReport) -> None:
    """Write page, JSON, templates and rows."""
    folder.mkdir(exist_ok=True)
    facts: dict[str, Any] = {"format": FORMAT, **report.as_dict()}
    (folder / GAPS).write_text(
        json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (folder / INDEX).write_text(report_page(report), encoding="utf-8")
    (folder / STUBS).write_text(report.stubs(), encoding="utf-8")
    rows = (replace(row, source="private") for row in report.rows())
    (folder / ROWS).write_text("".join(f"{to_json(row)}\n" for row in rows), encoding="utf-8")
