"""A gap report as a stage: noisy counts, paid before and drawn once, and what follows from them.

What is paid survives being killed: the counts are kept until the report is written.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.private.gaps.config import GapConfig
from genie_dp.private.gaps.listen import Advice, Listener
from genie_dp.private.gaps.report import GAPS, GapReport, report_page
from genie_dp.private.gaps.select import (
    RELEASES,
    GapPlan,
    Heard,
    NoisyGaps,
    Unit,
    release_gaps,
)
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import (
    Payer,
    Units,
    closing,
    paid_by,
    refuse_learned,
    refuse_private,
)
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.ledger.once import release_once
from genie_dp.private.secure import noise
from genie_dp.private.source import PrivateSource
from genie_dp.private_prior import spent_of
from genie_dp.records import Spent
from genie_dp.rows import to_json
from genie_dp.run.files import refuse_overlap
from genie_dp.run.stage import Output, Result, write_over, write_share
from genie_dp.run.work import FolderKind, begin_work, put_in_place, refuse_output
from genie_dp.run.workers import in_processes

PURPOSE = "gaps of templates"
Spend = Callable[[Sequence[Mechanism], str], Spent]
"""Records mechanisms under the name of a run, once, and returns all that was spent."""
FORMAT = "genie_dp gap report"
INDEX, STUBS, ROWS = "index.html", "gaps.genie", "rows.jsonl"
FOLDER = FolderKind(GAPS, FORMAT, name="folder of a gap report", code="F022")
_PART = 0.1  # of the budget's delta for thresholds: more of it saves little noise
_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True, repr=False)
class GapResult(Result):
    """The gaps that a run released; printed, it says what people ask for.

    Attributes:
        report: what was shown, and what it lacks.
        output: the folder, "" where none was written.
    """

    report: GapReport
    output: str

    def lines(self) -> Iterator[str]:
        """Yield what to tell the authors of the templates, then where the report is."""
        yield from self.report.lines(most=_MOST_SHOWN)
        where = f" -> {self.output}/{INDEX}" if self.output else ""
        yield f"{len(self.report.gaps):,} gaps{where}"


def run(
    config: GapConfig,
    private: Path,
    ledger: Ledger,
    listener: Listener,
    output: Output,
    *,
    jobs: int = 1,
    progress: bool | None = None,
) -> GapResult:
    """Count with noise what private rows ask for that is not understood, and write a report.

    Nothing is spent before all that is public was read and the private rows are known to be good.

    Args:
        config: what is counted.
        private: the rows.
        ledger: their ledger, which pays.
        listener: what understands sentences; it has learned of nothing private.
        output: the folder of the report.
        jobs: processes that listen; the result does not depend on it.
        progress: whether to show on stderr how far it is; None for on a terminal.

    Raises:
        GenieError: past the budget (B023), the ledger is another's (B030, B031), what is said to be
            public is not (F021), the output is there (Y022); docs/errors.md has more.
    """
    folder = Path(output.target)
    refuse_private(listener.sources, private, code="F021")
    refuse_parser(listener.parser, private)
    refuse_overlap([folder], [private, ledger.path])
    plan = plan_release(config, ledger, listener)
    settings = {
        "version": __version__,
        "private": str(private.resolve()),
        "ledger": str(ledger.path),
        "limits": asdict(plan.limits),
        "noise": [plan.kind, plan.multiplier, plan.threshold_delta, plan.least, plan.reads_all],
        "public": sha256(repr(_sorted(plan)).encode()).hexdigest(),
        "heard": dict(listener.facts),
    }

    def units() -> Units[Unit]:
        source = PrivateSource.promised(private, ledger.budget, language=listener.language)
        heard = _hear_each(source, listener, jobs, progress)
        return source.units.each(lambda rows: tuple(heard[row.utterance] for row in rows))

    refuse_output(folder, output.work, FOLDER, resume=output.resume, overwrite=output.overwrite)
    if not output.work.exists():
        # Told before sentences are listened to, which takes long; one that goes on may have paid.
        ledger.check_fits(plan.mechanisms)
    with begin_work(output.work, settings, resume=output.resume) as work:
        released, total, name = released_once(output.work, plan, units, Payer(ledger, PURPOSE))
        work.keep()
        write_over("templates are tried for what is shown", show=progress)
        advice = advise(released, listener)
        write_over("", show=progress)
        report = GapReport.from_release(
            released,
            plan,
            total,
            advice,
            facts={
                "title": config.title or f"Gaps of {private.name}",
                "epsilon": config.epsilon,
                "rows": private.name,
                "cap": ledger.budget.cap,
                "budget": ledger.budget.as_dict(),
                "ledger": _place_in(Ledger.open(ledger.path), name),
                "heard": dict(listener.facts),
                "unsaid": sorted(listener.unsaid),
            },
        )
        _write_folder(output.work / "made", report)
        put_in_place(output.work / "made", folder, output.work)
    return GapResult(report, output.target)


def refuse_parser(parser: Any, private: Path | None) -> None:
    """Refuse a parser that has learned of private rows, or of which nobody knows (F021)."""
    if parser is None:
        return
    if parser.folder is None:
        message = "expected a parser that was read from its folder, got one of none"
        hint = "save the parser, then load it: its manifest tells what it has learned of"
        raise GenieError(Problem("F021", message, hint=hint))
    refuse_learned(parser.folder, private, code="F021")


def plan_release(config: GapConfig, ledger: Ledger, listener: Listener) -> GapPlan:
    """Return what is counted, with the noise that costs the config's epsilon by itself.

    Raises:
        GenieError: F020, the budget has no delta, or thresholds leave nothing of it; B004.
    """
    budget = ledger.budget
    delta = budget.delta
    threshold_delta = config.threshold_delta or _PART * delta
    if delta == 0:
        message = "what is met in private rows cannot be shown at the budget's delta of 0"
        hint = "genie-dp private prior counts functions without a delta, with Laplace noise"
        raise GenieError(Problem("F020", message, hint=hint))
    if threshold_delta >= delta:
        message = f"--threshold-delta {threshold_delta:g} leaves nothing of delta {delta:g}"
        hint = f"take a part of it, such as {_PART * delta:g}"
        raise GenieError(Problem("F020", message, hint=hint))
    multiplier = RELEASES / config.epsilon
    if config.mechanism == "gaussian":
        multiplier = noise_multiplier_for(
            config.epsilon,
            delta - threshold_delta,
            rate=1.0,
            steps=RELEASES,
            accountant=budget.accountant,
        )
    return GapPlan(
        listener.said,
        config.limits,
        cast("Literal['gaussian', 'laplace']", config.mechanism),
        multiplier,
        threshold_delta,
        config.least,
        config.all,
    )


def _sorted(plan: GapPlan) -> tuple[object, ...]:
    """Return what templates say, in an order that is the same in every process."""
    said = plan.said
    return sorted(said.words), sorted(said.pairs), said.functions, dict(said.reasons)


def _hear_each(
    source: PrivateSource, listener: Listener, jobs: int, progress: bool | None
) -> dict[str, Heard]:
    """Return what becomes of each sentence of private rows: people say the same again."""
    sentences = list(dict.fromkeys(row.utterance for rows in source.units for row in rows))

    def hear(numbers: Sequence[int]) -> Iterator[Heard]:
        return listener.hear(sentences[number] for number in numbers)

    numbers = range(len(sentences))
    found = in_processes(hear, numbers, jobs) if jobs > 1 else hear(numbers)
    heard: dict[str, Heard] = {}
    for sentence, one in zip(sentences, found, strict=True):
        heard[sentence] = one
        write_share("sentences are listened to", len(heard), len(sentences), show=progress)
    write_over("", show=progress)
    return heard


def released_once(
    work: Path, plan: GapPlan, units: Callable[[], Units[Unit]], spend: Spend
) -> tuple[NoisyGaps, Spent, str]:
    """Return the noisy counts of a work folder, made now or by the run that it is left of.

    With them come the guarantee, and the name of the run in the ledger.

    Args:
        work: a folder of this release alone.
        plan: what is public.
        units: reads the private rows, and raises before anything is spent.
        spend: the `Payer` of their ledger; it refuses what is past the budget.

    Raises:
        GenieError: F023, the counts were there to be seen and are missing; those of `units`,
            `paid_by` and `release_once`.
    """

    def text(name: str) -> str:
        private = units()
        spent = paid_by(private, spend)(plan.mechanisms, name)
        gaps = release_gaps(private, plan, lambda level: noise("gaps", level))
        return json.dumps({"released": gaps.as_dict(), "spent": asdict(spent), "run": name})

    close = closing(spend).close
    released = json.loads(release_once(work, "gaps", text, close, what="counts", code="F023"))
    return NoisyGaps(**released["released"]), spent_of(released["spent"]), released["run"]


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
    """Return what each shown sentence lacks, as far as that is known: reads nothing private."""
    texts = list(released.sentences)
    advice = listener.advise([tuple(text.split(" ")) for text in texts])
    return {text: one for text, one in zip(texts, advice, strict=True) if one is not None}


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
