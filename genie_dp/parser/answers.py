"""What a parser says to a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """A program for a sentence.

    Attributes:
        program: its token form with the values of the sentence in it.
        code: the same as people write it.
        decoded: the token form with placeholders, as the network gave it.
        confidence: calibrated probability that the program is right, from 0 to 1.
        unresolved: names that are in none of the library's lists of values, as they were said.
    """

    program: str
    code: str
    decoded: str
    confidence: float
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The programs for a sentence, the most probable first.

    Attributes:
        sentence: as it was typed.
        tokens: as it was read: lower-case words and placeholders.
        is_known: False is "I do not know": the first answer is less sure than the parser's
            threshold, or there is none.
    """

    sentence: str
    tokens: tuple[str, ...]
    answers: tuple[Answer, ...]
    is_known: bool


class SentenceParser(Protocol):
    """Anything that turns sentences into programs."""

    def parse(self, sentences: Sequence[str], *, count: int = 1) -> list[Reply]:
        """Return, for each sentence, up to `count` programs."""
