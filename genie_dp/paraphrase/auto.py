"""Automatic paraphrases: one protocol for rules, models and services, and one check for all.

A paraphraser gets rows and gives candidates; faults of a candidate are decided here, by the
checks that crowd workers' paraphrases pass, and if a parser is at hand by its programs: Genie's
round trip, a paraphrase must have the program of its sentence.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

import xxhash

from genie_dp.paraphrase.checks import (
    CheckConfig,
    FaultName,
    essence_distance,
    essence_of,
    faults_of,
    is_within,
)
from genie_dp.paraphrase.shown import PLACEHOLDER, ShownRow, paraphrase_of
from genie_dp.paraphrase.typed import words_of
from genie_dp.records import Example, source_of_copy

ROUND_TRIP = "round-trip"
VALUES: FaultName = "missing-value"
_BATCH = 64  # candidates that a parser reads at once


@dataclass(frozen=True, slots=True)
class ParaphraseCandidate:
    """A candidate for a paraphrase.

    Attributes:
        text: tokens with placeholders as in rows, or with `is_typed` text as people type it, with
            the values that were shown.
        made_by: the rules that made it, or the name of the model.
    """

    text: str
    made_by: tuple[str, ...]
    is_typed: bool = False


class Paraphraser(Protocol):
    """Makes candidates: rows go in, (row, candidates) come out, in the same order."""

    def candidates(
        self, rows: Iterable[ShownRow]
    ) -> Iterator[tuple[ShownRow, Iterable[ParaphraseCandidate]]]:
        """Yield every row with its candidates, the best first, reading no further than needed.

        Unread candidates of a row are lost when the next row is read.
        """
        ...


class RoundTripParser(Protocol):
    """A parser: sentences to programs in token form."""

    def predict(self, utterances: Sequence[str]) -> Sequence[str]:
        """Return the program of each sentence; "" where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class AutoConfig:
    """The settings of a run.

    Attributes:
        number: paraphrases of each row, at most.
        checks: limits of the checks. Rewrites by rule often change little: for them the distances
            are 0, so that only sentences with the same words are refused.
    """

    number: int = 3
    checks: CheckConfig = field(default_factory=CheckConfig)

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"number must be at least 1, got {self.number}")


@dataclass(frozen=True, slots=True)
class RefusedCandidate:
    """A candidate that is no good, and the names of its faults."""

    candidate: ParaphraseCandidate
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowParaphrases:
    """The outcome of one row: paraphrases in the order of the candidates, and the rest.

    Attributes:
        paraphrases: (paraphrase, its maker).
    """

    shown_row: ShownRow
    paraphrases: tuple[tuple[Example, tuple[str, ...]], ...] = ()
    refused: tuple[RefusedCandidate, ...] = ()


@dataclass(slots=True)
class AutoTally:
    """Counts of a run: of rows, candidates, paraphrases, of faults, and of their makers."""

    rows: int = 0
    rows_without: int = 0
    candidates: int = 0
    paraphrases: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    candidates_by: Counter[str] = field(default_factory=Counter)
    paraphrases_by: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: RowParaphrases) -> None:
        """Count the outcome of a row."""
        self.rows += 1
        self.rows_without += not outcome.paraphrases
        self.candidates += len(outcome.paraphrases) + len(outcome.refused)
        self.paraphrases += len(outcome.paraphrases)
        for _, made_by in outcome.paraphrases:
            self.candidates_by.update(made_by)
            self.paraphrases_by.update(made_by)
        for refused in outcome.refused:
            self.candidates_by.update(refused.candidate.made_by)
            self.faults.update(refused.faults)

    def merge(self, other: "AutoTally") -> None:
        """Add the counts of another part of the run."""
        for name in ("rows", "rows_without", "candidates", "paraphrases"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("faults", "candidates_by", "paraphrases_by"):
            getattr(self, name).update(getattr(other, name))


def paraphrase_rows(
    rows: Iterable[ShownRow],
    paraphraser: Paraphraser,
    config: AutoConfig,
    *,
    canonical: Callable[[str], str] = lambda program: program,
    predictor: RoundTripParser | None = None,
) -> Iterator[RowParaphrases]:
    """Yield the outcome of each row, in order.

    Args:
        canonical: brings a program whose placeholders were renumbered into its canonical form.
        predictor: refuses paraphrases that it reads as another program.
    """
    # A parser that reads them back will refuse some: it gets all.
    longest = config.number if predictor is None else None
    judged = (
        _judge_candidates(shown_row, candidates, config, canonical, longest)
        for shown_row, candidates in paraphraser.candidates(rows)
    )
    while batch := list(islice(judged, _BATCH)):
        for outcome in batch if predictor is None else _round_trip(batch, predictor):
            # What is over was not asked for.
            yield replace(outcome, paraphrases=outcome.paraphrases[: config.number])


def _judge_candidates(
    shown_row: ShownRow,
    candidates: Iterable[ParaphraseCandidate],
    config: AutoConfig,
    canonical: Callable[[str], str],
    most: int | None,
) -> RowParaphrases:
    """Return the outcome of candidates, of which no more are asked for once `most` are good."""
    paraphrases: list[tuple[Example, tuple[str, ...]]] = []
    refused: list[RefusedCandidate] = []
    texts: list[str] = []
    for candidate in candidates:
        faults = faults_in(shown_row, candidate, texts, config.checks)
        row = None if faults else _row(shown_row, candidate, canonical)
        if row is None:
            refused.append(RefusedCandidate(candidate, faults or (VALUES,)))
        else:
            texts.append(candidate.text)
            paraphrases.append((row, candidate.made_by))
            if len(paraphrases) == most:
                break
    return RowParaphrases(shown_row, tuple(paraphrases), tuple(refused))


def faults_in(
    shown_row: ShownRow, candidate: ParaphraseCandidate, others: Sequence[str], checks: CheckConfig
) -> tuple[str, ...]:
    """Return the names of all faults of a candidate; empty if it is good.

    Args:
        others: texts of the row's candidates that were accepted before.

    >>> row = ShownRow(Example("S1", "get NUMBER_0 files", ".."))
    >>> faults_in(row, ParaphraseCandidate("show me files", ()), [], CheckConfig())
    ('missing-value',)
    """
    if not candidate.is_typed:
        return tuple(_token_faults(shown_row.example.utterance, candidate.text, others, checks))
    names = tuple(fault.name for fault in faults_of(shown_row, candidate.text, others, checks))
    # Without example values the placeholders themselves must be there.
    lost = not shown_row.values and _typed_values(shown_row.sentence) != _typed_values(
        candidate.text
    )
    return (*names, VALUES) if lost else names


def _token_faults(
    before: str, after: str, others: Sequence[str], checks: CheckConfig
) -> Iterator[FaultName]:
    """Yield the faults of tokens: as `faults_of`, without reading tokens that nobody typed."""
    words, had = after.split(), before.split()
    if len(after) < checks.least_characters or len(words) < min(checks.least_words, len(had)):
        yield "too-short"
    if _values(before) != _values(after):
        yield VALUES
    essence = essence_of(words)
    if _is_near(essence, essence_of(had), checks.copy_distance):
        yield "copy"
    if any(_is_near(essence, essence_of(o.split()), checks.duplicate_distance) for o in others):
        yield "near-duplicate"


def _is_near(left: str, right: str, limit: float) -> bool:
    if not limit:
        return left == right
    return is_within(essence_distance(left, right), limit)


def _values(text: str) -> Counter[str]:
    return Counter(word for word in text.split() if "A" <= word[0] <= "Z" or word == '"')


def _typed_values(text: str) -> Counter[str]:
    return Counter(w for w in words_of(text) if w == '"' or PLACEHOLDER.fullmatch(w))


def _row(
    shown_row: ShownRow, candidate: ParaphraseCandidate, canonical: Callable[[str], str]
) -> Example | None:
    # By its words, so that other runs over the same rows give other ids to other sentences.
    id = f"{shown_row.example.id}.{xxhash.xxh32_hexdigest(candidate.text.encode())}"
    if candidate.is_typed:
        return paraphrase_of(shown_row, candidate.text, id=id, canonical=canonical)
    return replace(
        shown_row.example,
        id=id,
        utterance=candidate.text,
        source=source_of_copy(shown_row.example, "paraphrase"),
        parent=shown_row.example.id,
    )


def _round_trip(
    batch: Sequence[RowParaphrases], predictor: RoundTripParser
) -> Iterator[RowParaphrases]:
    sentences = [row.utterance for outcome in batch for row, _ in outcome.paraphrases]
    programs = iter(predictor.predict(sentences) if sentences else ())
    for outcome in batch:
        good, bad = [], list(outcome.refused)
        for row, made_by in outcome.paraphrases:
            if next(programs) == row.program:
                good.append((row, made_by))
            else:
                bad.append(
                    RefusedCandidate(ParaphraseCandidate(row.utterance, made_by), (ROUND_TRIP,))
                )
        yield replace(outcome, paraphrases=tuple(good), refused=tuple(bad))
