"""From the texts of crowd workers to rows: checks, workers that are not believed, votes."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Container
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.library import Library
from genie_dp.paraphrase.checks import (
    FAULTS,
    CheckConfig,
    ParaphraseFault,
    check_config_of,
    faults_of,
)
from genie_dp.paraphrase.config import CollectConfig, WorkerSettings
from genie_dp.paraphrase.shown import (
    Canonical,
    ShownRow,
    canonical_of,
    paraphrase_of,
    read_shown_by_id,
)
from genie_dp.paraphrase.tables import (
    TableLine,
    guard_formula,
    read_table,
    unguard_formula,
    write_table,
)
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE, Example
from genie_dp.rows import check_parquet, format_of, to_json, write_rows
from genie_dp.run.files import refuse_overlap
from genie_dp.run.manifest import hashes_of, manifest_of, write_json
from genie_dp.run.stage import Output, Result
from genie_dp.stage.kernel import OutputOption, Stage

Reason = Literal["bad-worker", "voted-different", "too-few-votes"]
# Every reason why a paraphrase is refused, with what it means in a report.
REASONS: Mapping[str, str] = {
    "too-short": "too short",
    "no-idea": "says that there is no idea",
    "missing-value": "a value is missing",
    "altered-value": "a value is changed, or written twice",
    "unquoted-string": "a text without its quotes, a name without @ or #",
    "copy": "a copy of the sentence shown",
    "near-duplicate": "nearly another paraphrase of the sentence",
    "not-english": "no English",
    "bad-worker": "written by a worker with too many bad paraphrases",
    "voted-different": "voted to mean something else",
    "too-few-votes": "too few votes",
}
assert set(FAULTS) < set(REASONS)


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """One paraphrase as typed.

    Attributes:
        assignment: one worker's work on one task, unique.
        row: id of the row that was shown.
        number: of the paraphrase among those of this worker for this sentence, from 1.
    """

    assignment: str
    worker: str
    row: str
    number: int
    typed: str

    @property
    def id(self) -> str:
        """Return an id for the paraphrase that identifies the row, but not the worker.

        >>> WorkerAnswer("A1", "W1", "S7", 1, "..").id
        'S7-P6da4ac16'
        """
        text = f"{self.assignment}\\0{self.number}"
        return f"{self.row}-P{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


@dataclass(frozen=True, slots=True)
class JudgedParaphrase:
    """A paraphrase with all objections to it; `faults` and `reasons` are empty if it is good.

    Attributes:
        reasons: those that no single sentence shows: a bad worker, votes.
    """

    answer: WorkerAnswer
    shown_row: ShownRow
    faults: tuple[ParaphraseFault, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return every reason against it, each once."""
        return tuple(dict.fromkeys((*(fault.name for fault in self.faults), *self.reasons)))


@dataclass(frozen=True, slots=True)
class Worker:
    """The answers of one worker."""

    written: int
    bad: int
    is_rejected: bool


@dataclass(frozen=True, slots=True)
class Collection:
    """All paraphrases, good and bad, in the order of rows and assignments; and their writers."""

    judged: tuple[JudgedParaphrase, ...]
    workers: Mapping[str, Worker]

    @property
    def accepted(self) -> tuple[JudgedParaphrase, ...]:
        """Return the good ones."""
        return tuple(judged for judged in self.judged if not judged.names)

    @property
    def rejected(self) -> tuple[JudgedParaphrase, ...]:
        """Return the bad ones."""
        return tuple(judged for judged in self.judged if judged.names)

    def reasons(self) -> Counter[str]:
        """Return the number of paraphrases with each reason against them."""
        return Counter(name for judged in self.judged for name in judged.names)


def collect(
    answers: Iterable[WorkerAnswer],
    rows: Mapping[str, ShownRow],
    config: WorkerSettings | None = None,
) -> Collection:
    """Return all answers with their faults; their order in the results is no matter.

    A worker is judged by their own paraphrases alone. Only then are those that two believed workers
    wrote nearly alike reduced to one, which speaks against nobody.
    """
    settings = config or WorkerSettings()
    checks = check_config_of(settings)
    ordered = sorted(answers, key=lambda a: (a.row, a.assignment, a.number))
    judged = _each_alone(ordered, rows, checks)
    workers = _workers(judged, settings)
    judged = [
        replace(paraphrase, reasons=("bad-worker",))
        if workers[paraphrase.answer.worker].is_rejected
        else paraphrase
        for paraphrase in judged
    ]
    return Collection(tuple(_without_repeats(judged, checks)), workers)


def _each_alone(
    answers: Sequence[WorkerAnswer], rows: Mapping[str, ShownRow], checks: CheckConfig
) -> list[JudgedParaphrase]:
    """Check each answer, and against the earlier ones of the same worker for the sentence."""
    own: dict[tuple[str, str], list[str]] = defaultdict(list)
    paraphrases = []
    for answer in answers:
        shown_row, others = rows[answer.row], own[answer.worker, answer.row]
        faults = faults_of(shown_row, answer.typed, others, checks)
        if not faults:
            others.append(answer.typed)
        paraphrases.append(JudgedParaphrase(answer, shown_row, faults))
    return paraphrases


def _workers(paraphrases: Iterable[JudgedParaphrase], config: WorkerSettings) -> dict[str, Worker]:
    written = Counter[str]()
    bad = Counter[str]()
    for paraphrase in paraphrases:
        written[paraphrase.answer.worker] += 1
        bad[paraphrase.answer.worker] += bool(paraphrase.faults)
    return {
        name: Worker(count, bad[name], config.is_bad(bad[name], count))
        for name, count in sorted(written.items())
    }


def _without_repeats(
    paraphrases: Iterable[JudgedParaphrase], checks: CheckConfig
) -> Iterable[JudgedParaphrase]:
    typed_by_row: dict[str, list[str]] = defaultdict(list)
    for paraphrase in paraphrases:
        others = typed_by_row[paraphrase.answer.row]
        if paraphrase.names:
            yield paraphrase
            continue
        faults = faults_of(paraphrase.shown_row, paraphrase.answer.typed, others, checks)
        if not faults:
            others.append(paraphrase.answer.typed)
        yield replace(paraphrase, faults=faults)


def rows_of(accepted: Iterable[JudgedParaphrase], canonical: Canonical) -> list[Example]:
    """Return accepted paraphrases as rows of a data set, with placeholders.

    Raises:
        ValueError: one lacks a value, so it was never checked.
    """
    rows = []
    for paraphrase in accepted:
        row = paraphrase_of(
            paraphrase.shown_row,
            paraphrase.answer.typed,
            id=paraphrase.answer.id,
            canonical=canonical,
        )
        if row is None:
            raise ValueError(f"{paraphrase.answer.id} lacks a value")
        rows.append(row)
    return rows


@dataclass(frozen=True, slots=True)
class WorkerVote:
    """One answer of a validation task.

    Attributes:
        assignment: one worker's work on one task.
        paraphrase: id of the paraphrase, or "" for a control.
        says_same: the answer of the worker; None for no answer.
        is_same: for a control, the right answer.
    """

    assignment: str
    paraphrase: str
    says_same: bool | None
    is_same: bool | None = None


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """The votes that count.

    Attributes:
        same, different: paraphrase -> votes.
        assignments: how many tasks there were; `discarded`, how many had too many wrong controls.
    """

    same: Mapping[str, int]
    different: Mapping[str, int]
    assignments: int
    discarded: frozenset[str]


def count_votes(votes: Iterable[WorkerVote], *, wrong_controls: int = 2) -> VoteCounts:
    """Return the votes of the tasks whose controls are right (Genie: less than 2 of 8 are wrong).

    >>> controls = [WorkerVote("A1", "", False, True), WorkerVote("A1", "", True, False)]
    >>> count_votes([WorkerVote("A1", "p", True), *controls]).discarded
    frozenset({'A1'})
    """
    by_assignment: dict[str, list[WorkerVote]] = defaultdict(list)
    for vote in votes:
        by_assignment[vote.assignment].append(vote)
    wrong = {
        name: sum(v.is_same is not None and v.says_same is not v.is_same for v in own)
        for name, own in by_assignment.items()
    }
    discarded = frozenset(name for name, count in wrong.items() if count >= wrong_controls)
    votes_for, votes_against = Counter[str](), Counter[str]()
    for name, own in by_assignment.items():
        for vote in own:
            if name not in discarded and vote.paraphrase and vote.says_same is not None:
                (votes_for if vote.says_same else votes_against)[vote.paraphrase] += 1
    return VoteCounts(votes_for, votes_against, len(by_assignment), discarded)


def apply_votes(collection: Collection, counts: VoteCounts, *, threshold: int = 2) -> Collection:
    """Return the paraphrases with the votes as further reasons against those that passed so far.

    Args:
        threshold: votes for "same" that a paraphrase needs.
    """

    def add_votes(judged: JudgedParaphrase) -> JudgedParaphrase:
        votes_for = counts.same.get(judged.answer.id, 0)
        if judged.names or votes_for >= threshold:
            return judged
        votes = votes_for + counts.different.get(judged.answer.id, 0)
        reason: Reason = "too-few-votes" if votes < threshold else "voted-different"
        return replace(judged, reasons=(reason,))

    return replace(collection, judged=tuple(map(add_votes, collection.judged)))


# ----------------------------------------------------------------------------- results of batches


_PARAPHRASE = re.compile(r"Answer\.Paraphrase(\d+)-(\d+)")
_SAME = re.compile(r"Answer\.Same(\d+)-(\d+)")


@dataclass(slots=True)
class BatchResults:
    """The assignments of some files of results, each once.

    Attributes:
        columns: of all files, in the order of their first mention.
        lines: assignments that count.
        repeated: assignments that a file before had.
        set_aside: assignments that are rejected already.
    """

    columns: dict[str, None] = field(default_factory=dict)
    lines: list[TableLine] = field(default_factory=list)
    repeated: int = 0
    set_aside: int = 0


def read_results(paths: Iterable[str]) -> BatchResults:
    """Return the assignments of files of results as Mechanical Turk exports them."""
    results = BatchResults()
    seen: set[str] = set()
    for path in paths:
        columns, lines = read_table(path, ("HITId", "WorkerId", "Input.id1"))
        results.columns.update(dict.fromkeys(columns))
        for line in lines:
            name = assignment_of(line)
            if name in seen:
                results.repeated += 1
            elif line.cells.get("AssignmentStatus", "").lower() == "rejected":
                results.set_aside += 1
            else:
                results.lines.append(line)
            seen.add(name)
    return results


def assignment_of(line: TableLine) -> str:
    """Return the key of one worker's work on one task."""
    cells = line.cells
    return cells.get("AssignmentId") or f"{cells['HITId']}/{cells['WorkerId']}"


def answers_of(results: BatchResults, known: Container[str]) -> list[WorkerAnswer]:
    """Return all paraphrases that were typed.

    Raises:
        GenieError: P011 if no column holds any; P012, all rows that were never shown.
    """
    answers: list[WorkerAnswer] = []
    problems: list[Problem] = []
    fields = _fields(_PARAPHRASE, results, "Answer.Paraphrase1-1")
    for line in results.lines:
        for column, n, number in fields:
            row = line.cells.get(f"Input.id{n}", "")
            if not row or column not in line.cells:
                continue
            if row not in known:
                problems.append(_unknown("row", row, line, known))
                continue
            typed = unguard_formula(line.cells[column])
            answers.append(
                WorkerAnswer(assignment_of(line), line.cells["WorkerId"], row, number, typed)
            )
    if problems:
        raise GenieError(list(dict.fromkeys(problems)))
    return answers


def votes_of(results: BatchResults, known: Container[str]) -> list[WorkerVote]:
    """Return all votes of validation tasks.

    Raises:
        GenieError: P011 if no column holds any; P012, all paraphrases that nobody wrote.
    """
    votes: list[WorkerVote] = []
    problems: list[Problem] = []
    fields = _fields(_SAME, results, "Answer.Same1-1")
    for line in results.lines:
        for column, n, place in fields:
            ids = line.cells.get(f"Input.paraphrases{n}", "").split()
            if place > len(ids) or column not in line.cells:
                continue
            name = "" if ids[place - 1] == "-" else ids[place - 1]
            if name and name not in known:
                problems.append(_unknown("paraphrase", name, line, known))
                continue
            vote = {"same": True, "different": False}.get(line.cells[column].strip().lower())
            is_same = None  # for a paraphrase; of a control it is known
            if line.cells.get(f"Input.same{n}") == str(place):
                is_same = True
            elif line.cells.get(f"Input.different{n}") == str(place):
                is_same = False
            votes.append(WorkerVote(assignment_of(line), name, vote, is_same))
    if problems:
        raise GenieError(list(dict.fromkeys(problems)))
    return votes


def _fields(
    pattern: re.Pattern[str], results: BatchResults, example: str
) -> list[tuple[str, int, int]]:
    """Return (column, sentence, number) of every answer column."""
    fields = [
        (column, int(match[1]), int(match[2]))
        for column in results.columns
        if (match := pattern.fullmatch(column))
    ]
    if not fields and results.lines:
        message = f"expected columns such as {example!r}, got none"
        raise GenieError(Problem("P011", message, results.lines[0].span, "are these the results?"))
    return sorted(fields, key=lambda item: item[1:])


def _unknown(what: str, name: str, line: TableLine, known: Container[str]) -> Problem:
    hint = did_you_mean(name, known) if len(known) < 10_000 else None
    hint = hint or "give the files that the tasks were made of"
    return Problem("P012", f"{what} {name!r} is none of those given", line.span, hint)


def review_rows(results: BatchResults, why: "dict[str, str]") -> Iterator[dict[str, str]]:
    """Yield the assignments as Mechanical Turk takes a review: Approve, or Reject with a reason.

    Args:
        why: assignment -> message to the worker, for those that are rejected.
    """
    for line in results.lines:
        reason = why.get(assignment_of(line), "")
        yield {
            **dict.fromkeys(results.columns, ""),
            **{
                c: guard_formula(v) if c.startswith("Answer.") else v for c, v in line.cells.items()
            },
            "Approve": "" if reason else "x",
            "Reject": reason,
        }


def review_columns(results: BatchResults) -> Sequence[str]:
    """Return the header of a review."""
    return tuple(dict.fromkeys((*results.columns, "Approve", "Reject")))


# -------------------------------------------------------------------------------------- the stage


REJECT_COLUMNS = ("id", "row", "sentence", "paraphrase", "reasons", "messages")


@dataclass(frozen=True, slots=True)
class CollectResult(Result):
    """The result of a collection; `data` is its report."""

    output: str
    data: Mapping[str, Any]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        counts = self.data["counts"]
        yield (
            f"{counts['accepted']:,} of {counts['paraphrases']:,} paraphrases -> "
            f"{self.place} "
            f"({counts['rejected_workers']:,} of {counts['workers']:,} workers rejected; "
            f"{counts['shown_without']:,} of {counts['shown']:,} sentences shown have none)"
        )
        for name, count in self.data["reasons"].items():
            yield f"  {count:>7,}  {name}: {REASONS[name]}"
        if "votes" in self.data:
            votes = self.data["votes"]
            yield (
                f"  votes: {votes['same']:,} same, {votes['different']:,} different; "
                f"{votes['discarded_assignments']:,} of {votes['assignments']:,} tasks discarded"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect(Stage):
    """Check the results of workers, and write the good paraphrases as rows.

    RESULTS are the results of paraphrase batches, as Mechanical Turk exports them. Values become
    placeholders again, numbered from left to right.

    \b
    genie-dp data paraphrase collect results.csv --chosen chosen.jsonl -o paraphrases.jsonl

    Attributes:
        load_library: gives the skills, by which programs become canonical.
        private: the manifest entries of private rows among those shown.
    """

    command = "paraphrase collect"
    output = OutputOption(
        "Where the good paraphrases go, as JSON lines or, by the name, TSV or Parquet.",
        default="-",
        metavar="FILE|URL|-",
        overwrite="Replace the outputs.",
    )

    results: tuple[str, ...] = setting(
        REQUIRED, "Results of paraphrase batches.", is_argument=True, metavar="RESULTS..."
    )
    chosen: str = setting(REQUIRED, "The rows that were shown.", value="rows", metavar="CHOSEN")
    load_library: Callable[[], Library] = setting(
        REQUIRED, "Skills of the programs.", value="library at need"
    )
    language: str = DEFAULT_LANGUAGE
    config: CollectConfig = setting(CollectConfig(), "Which are good.", value="settings")
    votes: tuple[str, ...] = setting((), "Results of the validation tasks.", metavar="RESULTS")
    rejects: str | None = setting(
        None, "Where the refused paraphrases go, with reasons.", metavar="CSV"
    )
    review: str | None = setting(
        None, "Where the assignments go with Approve or Reject, to upload.", metavar="CSV"
    )
    review_votes: str | None = setting(
        None, "The same for the assignments of the validation tasks.", metavar="CSV"
    )
    report: str | None = setting(None, "Where the report goes.", metavar="JSON")
    private: Mapping[str, Any] = field(default_factory=dict)

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse a review of votes without votes, and limits that do not go together."""
        if self.review_votes and not self.votes:
            return "--review-votes needs --votes"
        return self.config.conflict()

    def run(self, output: Output, *, progress: bool | None = None) -> CollectResult:
        """Check the texts of workers, and write the good paraphrases as rows.

        Raises:
            GenieError: an output that is there (Y022) or is an input (D027), results that are none
                (P010 to P012), two rows of one id (P008).
        """
        others = (self.rejects, self.review, self.review_votes, self.report)
        read = (*self.results, *self.votes, self.chosen)
        refuse_overlap((output.target, *others), read)
        output.refuse_existing(*others)
        if format_of(output.target) == "parquet":
            check_parquet()
        rows = read_shown_by_id(self.chosen)
        batch = read_results(self.results)
        collection = collect(answers_of(batch, rows), rows, self.config)
        counts = None
        if self.votes:
            vote_batch = read_results(self.votes)
            ids = {judged.answer.id for judged in collection.judged}
            wrong = self.config.wrong_controls
            counts = count_votes(votes_of(vote_batch, ids), wrong_controls=wrong)
            collection = apply_votes(collection, counts, threshold=self.config.threshold)
            if self.review_votes:
                _write_vote_review(self.review_votes, vote_batch, counts)
        canonical = canonical_of(self.language, self.load_library)
        lines = (to_json(row) + "\n" for row in rows_of(collection.accepted, canonical))
        write_rows(lines, "jsonl", output.target, format_of(output.target))
        if self.rejects:
            write_table(self.rejects, REJECT_COLUMNS, map(_reject_cells, collection.rejected))
        if self.review:
            why = _why_rejected(collection)
            write_table(self.review, review_columns(batch), review_rows(batch, why))
        data = {
            "command": "paraphrase collect",
            "version": __version__,
            "results": list(self.results),
            "chosen": self.chosen,
            "hashes": hashes_of(read),
            "config": _limits(self),
            **_report(self.config, batch, collection, counts, len(rows)),
        }
        manifest = "" if output.target == "-" else manifest_of(output.target)
        for target in filter(None, (self.report, manifest)):
            write_json(target, {**data, **self.private})
        return CollectResult(output.target, data)


def _write_vote_review(target: str, batch: BatchResults, counts: VoteCounts) -> None:
    text = "Sentences that are surely the same, or surely different, were judged otherwise."
    why = dict.fromkeys(sorted(counts.discarded), text)
    write_table(target, review_columns(batch), review_rows(batch, why))


_LIMITS = (
    "bad", "of", "copy_distance", "duplicate_distance", "language", "any_language",
    "language_model",
)  # fmt: skip


def _limits(stage: Collect) -> dict[str, Any]:
    settings = {**asdict(stage.config), "language": stage.language}
    return {name: settings[name] for name in _LIMITS}


def _reject_cells(judged: JudgedParaphrase) -> dict[str, str]:
    return {
        "id": judged.answer.id,
        "row": judged.answer.row,
        "sentence": guard_formula(judged.shown_row.sentence),
        "paraphrase": guard_formula(judged.answer.typed),
        "reasons": " ".join(judged.names),
        "messages": " ".join(fault.message for fault in judged.faults),
    }


def _why_rejected(collection: Collection) -> dict[str, str]:
    """Return the message to each rejected worker, by assignment."""
    faults: dict[str, Counter[str]] = defaultdict(Counter)
    for judged in collection.judged:
        faults[judged.answer.worker].update(REASONS[f.name] for f in judged.faults[:1])
    texts = {}
    for judged in collection.judged:
        worker = collection.workers[judged.answer.worker]
        if worker.is_rejected:
            counts = faults[judged.answer.worker].items()
            why = "; ".join(
                f"{count} x {reason}"
                for reason, count in sorted(counts, key=lambda item: (-item[1], item[0]))
            )
            share = f"{worker.bad} of {worker.written} paraphrases"
            texts[judged.answer.assignment] = f"{share} do not follow the instructions: {why}."
    return texts


def _report(
    config: CollectConfig,
    batch: BatchResults,
    collection: Collection,
    votes: VoteCounts | None,
    rows: int,
) -> dict[str, Any]:
    """Return the outcome of the answers, and of the votes if there were any."""
    reasons = collection.reasons()
    workers = collection.workers.values()
    shown_ids = {judged.answer.row for judged in collection.judged}
    report: dict[str, Any] = {
        "counts": {
            "assignments": len(batch.lines),
            "repeated_assignments": batch.repeated,
            "rejected_before": batch.set_aside,
            "paraphrases": len(collection.judged),
            "accepted": len(collection.accepted),
            "rejected": len(collection.rejected),
            "workers": len(workers),
            "rejected_workers": sum(worker.is_rejected for worker in workers),
            "chosen": rows,
            "shown": len(shown_ids),
            "shown_without": len(shown_ids - {j.answer.row for j in collection.accepted}),
        },
        "reasons": {name: reasons[name] for name in REASONS if reasons[name]},
    }
    if votes is not None:
        report["votes"] = {
            "threshold": config.threshold,
            "wrong_controls": config.wrong_controls,
            "assignments": votes.assignments,
            "discarded_assignments": len(votes.discarded),
            "same": sum(votes.same.values()),
            "different": sum(votes.different.values()),
        }
    return report
