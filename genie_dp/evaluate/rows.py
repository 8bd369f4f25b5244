"""What is evaluated: rows with all programs that are right for them, and what a parser said."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from genie_dp.parser.answers import Guess
from genie_dp.records import Example

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
    """What a parser said of a sentence.

    Attributes:
        id: that of the gold row.
        programs: its n-best list in token form, best first; empty for "I do not know".
        confidences: one for each program, in [0, 1]; empty where the parser tells none.
    """

    id: str
    programs: tuple[str, ...]
    confidences: tuple[float, ...] = ()


Asked = tuple[Gold, tuple[Prediction, ...]]
"""A row with what each parser that was asked said of it."""


def unasked(gold: Iterable[Gold]) -> Iterator[Asked]:
    """Yield rows that no parser was asked."""
    return ((one, ()) for one in gold)


class Predictor(Protocol):
    """Whatever turns sentences into programs: a `Parser`, a baseline, a service."""

    def predict(self, utterances: Sequence[str]) -> Sequence[Sequence[tuple[str, float | None]]]:
        """Return the n-best list of each sentence, best first; an empty one means "do not know".

        Of each program its token form, and how sure the parser is (None if that is unknown).
        """


def answered(
    rows: Iterable[Asked], predictor: Predictor, *, batch: int = _BATCH
) -> Iterator[Asked]:
    """Yield every row with what a predictor says of its sentence, asked for in batches.

    >>> class Beeper:
    ...     def predict(self, utterances):
    ...         return [[Guess("now => @c.beep", 0.5)] for _ in utterances]
    >>> gold = Gold(Example("a", "beep", "now => @c.beep"), ("now => @c.beep",))
    >>> [said[0].confidences for _, said in answered(unasked([gold]), Beeper())]
    [(0.5,)]
    """
    waiting = iter(rows)
    while asked := list(islice(waiting, batch)):
        answers = predictor.predict([gold.row.utterance for gold, _ in asked])
        for (gold, said), guesses in zip(asked, answers, strict=True):
            yield gold, (*said, _prediction(gold.row.id, guesses))


def _prediction(id: str, pairs: Sequence[tuple[str, float | None]]) -> Prediction:
    guesses = [Guess(*pair) for pair in pairs]
    told = tuple(guess.confidence for guess in guesses if guess.confidence is not None)
    confidences = told if len(told) == len(guesses) else ()
    return Prediction(id, tuple(guess.program for guess in guesses), confidences)
