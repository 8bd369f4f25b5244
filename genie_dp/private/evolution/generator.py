"""Generators of candidates, and the public examples that they are given."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import get_language
from genie_dp.private.prior.histogram import functions_of_program
from genie_dp.private.tables.extract import describe, extractor_of, field_of
from genie_dp.private.tables.schema import Schema
from genie_dp.records import Example
from genie_dp.texts import read_text

Metadata = Mapping[str, str]
"""Column of a table -> value of one row; an empty text stands for no value."""


@dataclass(frozen=True, slots=True)
class VoteCandidate:
    """A synthetic row that private records may vote for.

    Attributes:
        example: the row: its sentence and, where the generator knows it, its program (else "").
        metadata: the record for which the row was made.
        state: of the row in its generator, which varies it, such as its derivation.
    """

    example: Example
    metadata: Metadata = field(default_factory=dict)
    state: str = ""


class CandidateGenerator(Protocol):
    """Makes candidates (Private Evolution's RANDOM_API and VARIATION_API, Lin et al., 2023).

    It never sees a private row: all that it is given is public, or was released with noise. Every
    call is pure: the same arguments and seed give the same candidates, on every machine, so that a
    run that was killed goes on to the same result.

    One that counts how often it could not meet a request has `counts`, a Counter: they follow from
    its calls, only grow, and get into the report. None of it is private.
    """

    @property
    def name(self) -> str:
        """Return the kind of generator, such as "grammar"."""
        ...

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[VoteCandidate]:
        """Return one candidate for each record of metadata; an empty record asks for anything."""
        ...

    def vary(
        self, candidates: Sequence[VoteCandidate], strength: float, *, seed: int
    ) -> list[VoteCandidate]:
        """Return one variation of each candidate, with its metadata.

        Args:
            candidates: those that are varied.
            strength: how much, from 0 (hardly) to 1 (as good as new).
            seed: of all draws.
        """
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that its candidates depend on: a run goes on with the same alone."""
        ...


def refuse_private_candidate(candidate: VoteCandidate) -> None:
    """Raise TypeError where a candidate is no synthetic row: private rows are never shown."""
    if not isinstance(candidate, VoteCandidate) or candidate.example.source == "private":
        raise TypeError("expected a synthetic candidate, got something that may be a private row")


# ------------------------------------------------------------------------------ public examples

_TEXTS = ("utterance", "program")
# Columns of a table that are not about a row's meaning.
_NOT_METADATA = (*_TEXTS, "id", "source", "language")
# Extractors that read no program.
_OF_SENTENCES = ("length", "form", "slots")
_MOST = 10  # mistakes reported at once


@dataclass(frozen=True, slots=True)
class Donated:
    """An example: a sentence, its metadata, and its program if it has one."""

    utterance: str
    metadata: Metadata = field(default_factory=dict)
    program: str = ""


Member = TypeVar("Member", bound=Donated | VoteCandidate)


class Pool(Generic[Member]):
    """Things with metadata, of which those nearest to a record are drawn.

    >>> from genie_dp.rng import stream
    >>> pool = Pool([Donated("hi", {"intent": "greet"}), Donated("bye", {"intent": "leave"})])
    >>> [example.utterance for example in pool.nearest({"intent": "leave"}, 1, stream(0))]
    ['bye']
    """

    def __init__(self, members: Sequence[Member], labels: Sequence[str] = ()):
        """Index the members; columns in `labels` count more than all others together."""
        self.members, self.labels = members, frozenset(labels)
        places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for place, member in enumerate(members):
            for pair in member.metadata.items():
                places[pair].append(place)
        self._places = {pair: np.array(indices) for pair, indices in places.items()}

    def nearest(self, metadata: Metadata, count: int, rng: Random) -> list[Member]:
        """Return so many that agree with a record in most columns, best first; ties are drawn."""
        scores = np.zeros(len(self.members), np.int64)
        for pair in metadata.items():
            if pair in self._places:
                scores[self._places[pair]] += len(metadata) if pair[0] in self.labels else 1
        members: list[Member] = []
        for score in np.unique(scores)[::-1]:
            group = np.flatnonzero(scores == score)
            places = rng.sample(range(len(group)), min(count - len(members), len(group)))
            members.extend(self.members[group[i]] for i in places)
            if len(members) == count:
                break
        return members


def complete_metadata(donated: Donated, schema: Schema, language: str) -> Donated:
    """Return an example that also has the columns of a table that can be read from it.

    Its own metadata stay. Columns that are about a program need one.

    >>> from genie_dp.private.tables.schema import Column
    >>> schema = Schema((Column("form", ("question", "command")), Column("skill", ("@a", "@b"))))
    >>> complete_metadata(Donated("what is up"), schema, "thingtalk").metadata
    {'form': 'question'}
    """
    functions = (
        functions_of_program(donated.program, get_language(language)) if donated.program else ()
    )
    example = Example("", donated.utterance, donated.program, language, functions=functions)
    read = {
        column.name: value
        for column in schema.columns
        if donated.program or extractor_of(column) in _OF_SENTENCES or field_of(column)
        if (value := describe(Schema((column,)), example, donated.metadata)[column.name])
        and (not (name := field_of(column)) or name in donated.metadata)
    }
    return replace(donated, metadata={**read, **donated.metadata})


def read_donated(path: Path) -> tuple[Donated, ...]:
    """Return the examples of a file: JSONL, or TSV with a first line of names where it ends so.

    JSON rows have `utterance`, and may have `program` and an object `metadata`; of a table all
    columns beside `utterance`, `program`, `id`, `source` and `language` are metadata.

    Raises:
        GenieError: rows that are none (U502), or of source private (U503).
    """
    text = read_text(path)
    rows = _read_table(text) if path.name.endswith(".tsv") else _read_lines(text)
    examples: list[Donated] = []
    problems: list[Problem] = []
    for number, row in rows:
        fault = _find_fault(row)
        if fault is None:
            texts = [" ".join(row.get(name, "").split()) for name in _TEXTS]
            examples.append(Donated(texts[0], dict(row["metadata"]), texts[1]))
        elif len(problems) < _MOST:
            code, message, hint = fault
            problems.append(Problem(code, message, Span(str(path), number, 1, number, 1), hint))
    if not examples and not problems:
        problems.append(Problem("U502", f"expected examples in {path}, got none"))
    if problems:
        raise GenieError(problems)
    return tuple(examples)


def _read_lines(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            yield number, {"utterance": None}
            continue
        yield number, {"metadata": {}, **{k: v for k, v in row.items() if v is not None}}


def _read_table(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    first, *rest = text.splitlines() or [""]
    names = first.split("\t")
    for number, line in enumerate(rest, 2):
        if line.strip():
            row = dict(zip(names, line.split("\t"), strict=False))
            metadata = {k: v for k, v in row.items() if k not in _NOT_METADATA and v}
            yield number, {**row, "metadata": metadata}


def _find_fault(row: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return code, message and hint of the mistake in a row; None if it has none."""
    hint = 'such as {"utterance": "wake me at seven", "metadata": {"intent": "alarm"}}'
    if not isinstance(row.get("utterance"), str) or not row["utterance"].strip():
        return "U502", "expected an example with the text 'utterance'", hint
    if not isinstance(row.get("program", ""), str):
        return "U502", "expected text in the field 'program'", hint
    metadata = row["metadata"]
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        return "U502", "expected an object of texts in the field 'metadata'", hint
    if row.get("source") == "private":
        message = "expected a row that its owner gave as an example, got a private one"
        return "U503", message, "leave it out; with the owner's consent, set source to human"
    return None
