"""From what crowd workers wrote to rows: checks, workers that are not believed, votes."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from genie_dp.paraphrase.checks import FAULTS, CheckConfig, Fault, faults_of
from genie_dp.paraphrase.shown import Canonical, Shown, paraphrase_of
from genie_dp.records import Example

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
class Answer:
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
        """Return an id for the paraphrase that tells the row, but nothing of the worker.

        >>> Answer("A1", "W1", "S7", 1, "..").id
        'S7-P6da4ac16'
        """
        text = f"{self.assignment}\\0{self.number}"
        return f"{self.row}-P{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


@dataclass(frozen=True, slots=True)
class CollectConfig:
    """When a worker is not believed, and how answers are checked.

    Attributes:
        bad: a worker with this many bad paraphrases is rejected wholly ..
        of: .. out of as many; of a worker with more the same share counts (Genie's tool: 3 of 8).
        checks: the limits of the checks.
    """

    bad: int = 3
    of: int = 8
    checks: CheckConfig = field(default_factory=CheckConfig)

    def __post_init__(self) -> None:
        """Check the share."""
        if not 1 <= self.bad <= self.of:
            raise ValueError(f"expected 1 <= bad <= of, got {self.bad} of {self.of}")

    def is_bad(self, bad: int, written: int) -> bool:
        """Tell whether a worker with so many bad paraphrases is rejected."""
        return bad >= self.bad and bad * self.of >= self.bad * written


@dataclass(frozen=True, slots=True)
class Judged:
    """A paraphrase with all that speaks against it; `faults` and `reasons` are empty if it is good.

    Attributes:
        reasons: those that no single sentence shows: a bad worker, votes.
    """

    answer: Answer
    shown: Shown
    faults: tuple[Fault, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return every reason against it, each once."""
        return tuple(dict.fromkeys((*(fault.name for fault in self.faults), *self.reasons)))


@dataclass(frozen=True, slots=True)
class Worker:
    """What one worker wrote."""

    written: int
    bad: int
    is_rejected: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """All paraphrases, good and bad, in the order of rows and assignments; and their writers."""

    judged: tuple[Judged, ...]
    workers: Mapping[str, Worker]

    @property
    def accepted(self) -> tuple[Judged, ...]:
        """Return the good ones."""
        return tuple(judged for judged in self.judged if not judged.names)

    @property
    def rejected(self) -> tuple[Judged, ...]:
        """Return the bad ones."""
        return tuple(judged for judged in self.judged if judged.names)

    def reasons(self) -> Counter[str]:
        """Return how many paraphrases have each reason against them."""
        return Counter(name for judged in self.judged for name in judged.names)


def collect(
    answers: Iterable[Answer], rows: Mapping[str, Shown], config: CollectConfig | None = None
) -> Collected:
    """Return all answers with what speaks against them; their order in the results is no matter.

    A worker is judged by their own paraphrases alone. Only then are those that two believed workers
    wrote nearly alike reduced to one, which speaks against nobody.
    """
    settings = config or CollectConfig()
    ordered = sorted(answers, key=lambda a: (a.row, a.assignment, a.number))
    judged = _each_alone(ordered, rows, settings.checks)
    workers = _workers(judged, settings)
    judged = [
        replace(one, reasons=("bad-worker",)) if workers[one.answer.worker].is_rejected else one
        for one in judged
    ]
    return Collected(tuple(_without_repeats(judged, settings.checks)), workers)


def _each_alone(
    answers: Sequence[Answer], rows: Mapping[str, Shown], checks: CheckConfig
) -> list[Judged]:
    """Check each answer, and against the earlier ones of the same worker for the sentence."""
    own: dict[tuple[str, str], list[str]] = defaultdict(list)
    found = []
    for answer in answers:
        shown, others = rows[answer.row], own[answer.worker, answer.row]
        faults = faults_of(shown, answer.typed, others, checks)
        if not faults:
            others.append(answer.typed)
        found.append(Judged(answer, shown, faults))
    return found


def _workers(judged: Iterable[Judged], config: CollectConfig) -> dict[str, Worker]:
    written = Counter[str]()
    bad = Counter[str]()
    for one in judged:
        written[one.answer.worker] += 1
        bad[one.answer.worker] += bool(one.faults)
    return {
        name: Worker(count, bad[name], config.is_bad(bad[name], count))
        for name, count in sorted(written.items())
    }


def _without_repeats(judged: Iterable[Judged], checks: CheckConfig) -> Iterable[Judged]:
    kept: dict[str, list[str]] = defaultdict(list)
    for one in judged:
        others = kept[one.answer.row]
        if one.names:
            yield one
            continue
        faults = faults_of(one.shown, one.answer.typed, others, checks)
        if not faults:
            others.append(one.answer.typed)
        yield replace(one, faults=faults)


def rows_of(accepted: Iterable[Judged], canonical: Canonical) -> list[Example]:
    """Return accepted paraphrases as rows of a data set, with placeholders.

    Raises:
        ValueError: one lacks a value, so it was never checked.
    """
    found = []
    for one in accepted:
        row = paraphrase_of(one.shown, one.answer.typed, id=one.answer.id, canonical=canonical)
        if row is None:
            raise ValueError(f"{one.answer.id} lacks a value")
        found.append(row)
    return found
