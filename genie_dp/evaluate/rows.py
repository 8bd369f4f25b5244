"""The rows of an evaluation, with all their right programs, and the replies of a parser.

Gold files are read twice, a third time where sentences repeat: once for ids and sentences (16
bytes a row are kept), once for the programs of repeated sentences, and once to be judged.
Predictions are read once; those in another order than the gold rows wait in memory.
"""

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

import numpy as np

from genie_dp.augment.skill_rows import skill_rows
from genie_dp.dataset.scan import hash_of
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.parser.answers import Guess, PredictedReply
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rows import format_of, from_json, read_rows, to_json
from genie_dp.run.files import no_text, open_input, open_text
from genie_dp.texts import is_whole

_BATCH = 32


@dataclass(frozen=True, slots=True)
class Gold:
    """A sentence with its right answers.

    Attributes:
        row: the row of the file; its program is the first of `programs`.
        programs: all programs that are a valid reading of the sentence, in token form (Genie,
            section 5: "we manually annotate each sentence in the test sets with all programs that
            provide a valid interpretation").
        line: line of the file, from 1; of Parquet, the row.
    """

    row: Example
    programs: tuple[str, ...]
    line: int = 1


@dataclass(frozen=True, slots=True)
class Prediction:
    """The reply of a parser to a sentence.

    Attributes:
        id: that of the gold row.
        programs: its n-best list in token form, best first; empty for "I do not know".
        confidences: one for each program, in [0, 1]; empty if the parser has none.
        is_reply: whether `refused` is known: a file of programs does not have it.
        refused: why the first program may not be acted on, one of answers.REFUSALS; None if it may.
    """

    id: str
    programs: tuple[str, ...]
    confidences: tuple[float, ...] = ()
    is_reply: bool = False
    refused: str | None = None


RowWithPredictions = tuple[Gold, tuple[Prediction, ...]]
"""A row with what each parser that was asked said of it."""


def without_predictions(gold: Iterable[Gold]) -> Iterator[RowWithPredictions]:
    """Yield rows that no parser was asked."""
    return ((row, ()) for row in gold)


class Predictor(Protocol):
    """Whatever turns sentences into programs: a `Parser`, a baseline, a service."""

    def predict(self, utterances: Sequence[str]) -> Sequence[Sequence[tuple[str, float | None]]]:
        """Return the n-best list of each sentence, best first; an empty one means "do not know".

        Of each program its token form, and how sure the parser is (None if that is unknown).
        """


@runtime_checkable
class ReplyPredictor(Predictor, Protocol):
    """A predictor that knows whether its first program may be acted on, such as a `Parser`."""

    def predict_replies(self, utterances: Sequence[str]) -> Sequence[PredictedReply]:
        """Return the n-best list of each sentence, and why it is refused if it is."""


def ask_predictor(
    rows: Iterable[RowWithPredictions], predictor: Predictor
) -> Iterator[RowWithPredictions]:
    """Yield every row with the prediction for its sentence, made in batches.

    >>> class Beeper:
    ...     def predict(self, utterances):
    ...         return [[Guess("now => @c.beep", 0.5)] for _ in utterances]
    >>> gold = Gold(Example("a", "beep", "now => @c.beep"), ("now => @c.beep",))
    >>> rows = ask_predictor(without_predictions([gold]), Beeper())
    >>> [predictions[0].confidences for _, predictions in rows]
    [(0.5,)]
    """
    waiting = iter(rows)
    while group := list(islice(waiting, _BATCH)):
        utterances = [gold.row.utterance for gold, _ in group]
        replies: Sequence[PredictedReply]
        if isinstance(predictor, ReplyPredictor):
            replies = predictor.predict_replies(utterances)
        else:
            nbest_lists = predictor.predict(utterances)
            replies = [PredictedReply([Guess(*x) for x in nbest], None) for nbest in nbest_lists]
        for (gold, predictions), (guesses, refused) in zip(group, replies, strict=True):
            confidences = tuple(g.confidence for g in guesses if g.confidence is not None)
            prediction = Prediction(
                gold.row.id,
                tuple(guess.program for guess in guesses),
                confidences if len(confidences) == len(guesses) else (),
                isinstance(predictor, ReplyPredictor),
                refused,
            )
            yield gold, (*predictions, prediction)


MOST_PROBLEMS = 20
_SEVERAL = re.compile(r'"program"\s*:\s*\[')  # in a text, the quotes would have backslashes


# ------------------------------------------------------------------------------------ gold


@dataclass(slots=True)
class GoldFile:
    """The rows of a gold file.

    Attributes:
        name: file or URL: JSONL, TSV or Parquet, as its name implies.
        language: that of all rows; "" for that of each row.
        programs: hash of a sentence that occurs more than once -> the programs of all its rows.
    """

    name: str
    language: str = ""
    programs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Gold]:
        for number, read, programs in _read_numbered(self.name):
            row = replace(read, language=self.language) if self.language else read
            others = self.programs.get(hash_of(row.utterance), ())
            yield Gold(row, tuple(dict.fromkeys((*programs, *others))), number)


def open_gold(name: str, language: str | None = None) -> GoldFile:
    """Return a gold file whose ids are unique and whose rows are of one language.

    Args:
        language: that of the programs; None for that of the rows.

    Raises:
        GenieError: no rows (V001), an id twice (V002), rows of several languages (V003).
    """
    ids, sentences = array("Q"), array("Q")
    languages: dict[str, int] = {}
    for number, row, _ in _read_numbered(name):
        ids.append(hash_of(row.id))
        sentences.append(hash_of(row.utterance))
        languages.setdefault(row.language, number)
    if not ids:
        raise GenieError(Problem("V001", f"{name} holds no rows", hint="name another gold file"))
    _check_ids(name, ids)
    if len(languages) > 1 and not language:
        first, second = list(languages)[:2]
        message = f"expected programs of one language, got {first} and {second}"
        hint = "evaluate them one by one: a file for each language"
        raise GenieError(Problem("V003", message, _line(name, languages[second]), hint))
    repeated = _twice(sentences)
    programs = defaultdict[int, set[str]](set)
    for _, row, row_programs in _read_numbered(name) if repeated else ():
        if (key := hash_of(row.utterance)) in repeated:
            programs[key].update(row_programs)
    return GoldFile(
        name,
        language or next(iter(languages)),
        {key: tuple(sorted(texts)) for key, texts in programs.items()},
    )


def skills_of(gold: str) -> tuple[Path, ...]:
    """Return the skills that gold rows must fit if none are named: a folder has its own."""
    folder = Path(gold).resolve()
    if not folder.is_dir():
        return ()
    shipped = data_folder("thingpedia").resolve()
    return (shipped,) if folder == shipped or shipped in folder.parents else (folder,)


@contextmanager
def skill_gold(source: Path, language: str, library: Library) -> Iterator[str]:
    """Yield a file of gold rows from the eval.tsv of skills, while it is needed.

    Args:
        source: a folder of skills, or an eval.tsv.
        language, library: of its programs.

    Raises:
        GenieError: N020, N021, as `skill_rows`.
    """
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / f"{source.resolve().name}.jsonl"
        with open_text(str(file)) as out:
            for row in skill_rows([source], get_language(language), library):
                out.write(f"{to_json(row)}\n")
        yield str(file)


def _read_numbered(name: str) -> Iterator[tuple[int, Example, tuple[str, ...]]]:
    """Yield line, row and programs of a file; in JSONL, `program` may be a list."""
    if format_of(name) != "jsonl":
        yield from ((n, row, (row.program,)) for n, row in enumerate(read_rows(name), 1))
        return
    for number, line in _lines(name):
        if not _SEVERAL.search(line):
            row = from_json(line, file=name, number=number)
            yield number, row, (row.program,)
            continue
        programs = _programs(line, name, number)
        data = {**json.loads(line), "program": programs[0]}
        yield number, from_json(json.dumps(data), file=name, number=number), programs


def _programs(line: str, name: str, number: int) -> tuple[str, ...]:
    try:
        read = json.loads(line)["program"]
    except (json.JSONDecodeError, TypeError, KeyError):
        read = [from_json(line, file=name, number=number).program]  # says what is wrong
    programs = read if isinstance(read, list) else [read]
    if not programs or not _are_texts(programs):
        message = "expected a program, or a list of programs, as text"
        raise GenieError(Problem("V004", message, _line(name, number)))
    return tuple(programs)


def _check_ids(name: str, ids: "array[int]") -> None:
    if not (twice := _twice(ids)):
        return
    seen: dict[str, int] = {}
    for number, row, _ in _read_numbered(name):
        if hash_of(row.id) in twice and seen.setdefault(row.id, number) != number:
            message = f"the id {row.id!r} stands in line {seen[row.id]}, too"
            hint = "give every row its own id; other programs of a sentence may be a list"
            raise GenieError(Problem("V002", message, _line(name, number), hint))


def _twice(hashes: "array[int]") -> set[int]:
    values, counts = np.unique(np.frombuffer(hashes, np.uint64), return_counts=True)
    return set(values[counts > 1].tolist())


# ----------------------------------------------------------------------------- predictions


@dataclass(slots=True)
class Predictions:
    """The predictions of a file, taken by id.

    Attributes:
        waiting: read, and not yet asked for: id -> (line, prediction). Empty while both files have
            one order.
    """

    name: str
    rows: int = 0
    waiting: dict[str, tuple[int, Prediction]] = field(default_factory=dict)
    _source: Iterator[tuple[int, Prediction]] | None = None
    _taken: set[int] = field(default_factory=set)

    def take(self, id: str) -> Prediction | None:
        """Return the prediction for a row, None if there is none in the file."""
        if self._source is None:
            self._source = read_predictions(self.name)
        while id not in self.waiting:
            if (numbered := next(self._source, None)) is None:
                return None
            self._keep(*numbered)
        self._taken.add(hash_of(id))
        return self.waiting.pop(id)[1]

    def _keep(self, number: int, prediction: Prediction) -> None:
        self.rows += 1
        if prediction.id in self.waiting or hash_of(prediction.id) in self._taken:
            hint = "keep one line for each id, with all its programs"
            message = f"a second prediction for {prediction.id!r}"
            raise GenieError(Problem("V012", message, _line(self.name, number), hint))
        self.waiting[prediction.id] = number, prediction

    def surplus(self) -> list[Problem]:
        """Return a problem for each superfluous prediction; reads the file to its end."""
        if self._source is None:
            self._source = read_predictions(self.name)
        for numbered in self._source:
            self._keep(*numbered)
        hint = "predictions are made for the gold file that is named before them"
        return [
            Problem("V011", f"no gold row has the id {id!r}", _line(self.name, number), hint)
            for id, (number, _) in self.waiting.items()
        ]


def join_predictions(
    rows: Iterable[RowWithPredictions], file: Predictions, *, gold: str
) -> Iterator[RowWithPredictions]:
    """Yield every gold row with its prediction in a file.

    Args:
        gold: name of the gold file.

    Raises:
        GenieError: at the end, rows without prediction (V010) and predictions without row (V011).
    """
    problems: list[Problem] = []
    for row, predictions in rows:
        prediction = file.take(row.row.id)
        if prediction is not None:
            yield row, (*predictions, prediction)
            continue
        message = f"{file.name} has no prediction for {row.row.id!r}"
        hint = 'a sentence without answer has a line, too: {"id": .., "programs": []}'
        problems.append(Problem("V010", message, _line(gold, row.line), hint))
    problems += file.surplus()
    if len(problems) > MOST_PROBLEMS:
        rest = len(problems) - MOST_PROBLEMS
        more = Problem("V010", f"{rest:,} more ids stand in one of the files only")
        problems = [*problems[:MOST_PROBLEMS], more]
    if problems:
        raise GenieError(problems)


def read_predictions(name: str) -> Iterator[tuple[int, Prediction]]:
    """Yield line and prediction of a file: JSONL, or TSV of id and program.

    Raises:
        GenieError: a line that is no prediction (V013).
    """
    if format_of(name) == "parquet":
        hint = "write JSON lines, or TSV of id and program"
        raise GenieError(Problem("V013", f"{name}: predictions are no Parquet", hint=hint))
    read = _from_tsv if format_of(name) == "tsv" else _from_json
    for number, line in _lines(name):
        prediction = read(line)
        if isinstance(prediction, str):
            raise GenieError(Problem("V013", prediction, _line(name, number, len(line)), _HINT))
        yield number, prediction


_HINT = '{"id": "S0", "programs": ["now => .."], "confidences": [0.9]}, or in .tsv id<TAB>program'


def _from_json(line: str) -> Prediction | str:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        return f"no JSON: {error.msg}"
    except (ValueError, RecursionError) as error:  # a number of too many digits; lists too deep
        return f"no JSON that can be read: {error}"
    if not isinstance(data, dict) or not _are_texts([data.get("id")]):
        return "expected an object with an id"
    programs, confidences = data.get("programs"), data.get("confidences") or []
    if not isinstance(programs, list) or not _are_texts(programs):
        return f"expected a list of programs, got {ascii(programs)}"
    if not isinstance(confidences, list) or not all(
        type(value) in (int, float) and 0 <= value <= 1 for value in confidences
    ):
        return f"expected confidences from 0 to 1, got {confidences!r}"
    if confidences and len(confidences) != len(programs):
        return f"expected {len(programs)} confidences, one a program, got {len(confidences)}"
    return Prediction(data["id"], tuple(programs), tuple(map(float, confidences)))


def _are_texts(values: Iterable[Any]) -> bool:
    """Return whether all are texts that can be written: none has half a character."""
    return all(isinstance(value, str) and is_whole(value) for value in values)


def _from_tsv(line: str) -> Prediction | str:
    # Windows marks the beginning of a file, which is no part of the first id.
    parts = line.removeprefix("\ufeff").split("\t")
    if len(parts) != 2:
        return f"expected id and program between a tab, got {len(parts)} columns"
    return Prediction(parts[0], (parts[1],) if parts[1] else ())


def _lines(name: str) -> Iterator[tuple[int, str]]:
    with open_input(name) as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield number, line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise no_text(error, name, number) from None


def _line(file: str, number: int, length: int = 0) -> Span:
    return Span(file, number, 1, number, length + 1)
