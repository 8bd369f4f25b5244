"""Examples that people gave on purpose, to be shown to a language model (MAPLE's in-context ones).

Private rows never become examples. What is given here leaves the machine where the model is one of
others, so rows that say they are private are refused.
"""

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
from genie_dp.private.evolution.generator import Metadata
from genie_dp.private.prior.read import functions_of
from genie_dp.private.tables.extract import describe, extractor_of, field_of
from genie_dp.private.tables.schema import Schema
from genie_dp.records import Example
from genie_dp.texts import read_text

_TEXTS = ("utterance", "program")
# Columns of a table that say nothing of a row's meaning.
_NOT_METADATA = (*_TEXTS, "id", "source", "language")
# Extractors that read no program.
_OF_SENTENCES = ("length", "form", "slots")
_MOST = 10  # mistakes told at once


@dataclass(frozen=True, slots=True)
class Donated:
    """An example: what was said, what is known of it, and the program if it has one."""

    utterance: str
    metadata: Metadata = field(default_factory=dict)
    program: str = ""


class Described(Protocol):
    """Whatever has metadata."""

    @property
    def metadata(self) -> Metadata:
        """Return what is known of it."""


D = TypeVar("D", bound=Described)


class Pool(Generic[D]):
    """Things with metadata, of which those nearest to a record are drawn.

    >>> from genie_dp.rng import stream
    >>> pool = Pool([Donated("hi", {"intent": "greet"}), Donated("bye", {"intent": "leave"})])
    >>> [one.utterance for one in pool.nearest({"intent": "leave"}, 1, stream(0))]
    ['bye']
    """

    def __init__(self, members: Sequence[D], labels: Sequence[str] = ()):
        """Index the members; columns in `labels` count more than all others together."""
        self.members, self.labels = members, frozenset(labels)
        places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for place, member in enumerate(members):
            for pair in member.metadata.items():
                places[pair].append(place)
        self._places = {pair: np.array(found) for pair, found in places.items()}

    def nearest(self, metadata: Metadata, count: int, rng: Random) -> list[D]:
        """Return so many that agree with a record in most columns, best first; ties are drawn."""
        scores = np.zeros(len(self.members), np.int64)
        for pair in metadata.items():
            if pair in self._places:
                scores[self._places[pair]] += len(metadata) if pair[0] in self.labels else 1
        found: list[D] = []
        for score in np.unique(scores)[::-1]:
            group = np.flatnonzero(scores == score)
            drawn = rng.sample(range(len(group)), min(count - len(found), len(group)))
            found.extend(self.members[group[i]] for i in drawn)
            if len(found) == count:
                break
        return found


def completed(donated: Donated, schema: Schema, language: str) -> Donated:
    """Return an example that also has the columns of a table that can be read from it.

    What it says of itself stays. Columns that are about a program need one.

    >>> from genie_dp.private.tables.schema import Column
    >>> schema = Schema((Column("form", ("question", "command")), Column("skill", ("@a", "@b"))))
    >>> completed(Donated("what is up"), schema, "thingtalk").metadata
    {'form': 'question'}
    """
    found = functions_of(donated.program, get_language(language)) if donated.program else ()
    example = Example("", donated.utterance, donated.program, language, functions=found)
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
        GenieError: rows that are none (U502), or that say they are private (U503).
    """
    text = read_text(path)
    rows = _table(text) if path.name.endswith(".tsv") else _lines(text)
    found: list[Donated] = []
    problems: list[Problem] = []
    for number, row in rows:
        fault = _fault(row)
        if fault is None:
            texts = [" ".join(row.get(name, "").split()) for name in _TEXTS]
            found.append(Donated(texts[0], dict(row["metadata"]), texts[1]))
        elif len(problems) < _MOST:
            code, message, hint = fault
            problems.append(Problem(code, message, Span(str(path), number, 1, number, 1), hint))
    if not found and not problems:
        problems.append(Problem("U502", f"expected examples in {path}, got none"))
    if problems:
        raise GenieError(problems)
    return tuple(found)


def _lines(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
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


def _table(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    first, *rest = text.splitlines() or [""]
    names = first.split("\t")
    for number, line in enumerate(rest, 2):
        if line.strip():
            row = dict(zip(names, line.split("\t"), strict=False))
            said = {k: v for k, v in row.items() if k not in _NOT_METADATA and v}
            yield number, {**row, "metadata": said}


def _fault(row: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return code, message and hint of what is wrong with a row."""
    hint = 'such as {"utterance": "wake me at seven", "metadata": {"intent": "alarm"}}'
    if not isinstance(row.get("utterance"), str) or not row["utterance"].strip():
        return "U502", "expected an example with the text 'utterance'", hint
    if not isinstance(row.get("program", ""), str):
        return "U502", "expected text in the field 'program'", hint
    said = row["metadata"]
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        return "U502", "expected an object of texts in the field 'metadata'", hint
    if row.get("source") == "private":
        message = "expected a row that its owner gave as an example, got a private one"
        return "U503", message, "leave it out; with the owner's consent, set source to human"
    return None
