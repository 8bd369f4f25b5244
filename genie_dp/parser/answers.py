"""The answers of a parser: programs, calls, questions and refusals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from genie_dp.languages.base import MissingInput
from genie_dp.languages.library import Signature
from genie_dp.languages.scope import OUT_OF_SCOPE

EMPTY, TOO_LONG, UNSURE, AMBIGUOUS = "empty", "too_long", "unsure", "ambiguous"
NEGATED, CONFIRM = "negated", "confirm"
DERIVED, LEARNED = "derived", "learned"
"""Who answered: the templates, or the network."""
UNUSED_VALUE, UNUSED_WORDS, MISSING_INPUT = "unused_value", "unused_words", "missing_input"
REFUSALS = {
    EMPTY: "there is nothing to read",
    TOO_LONG: "it has too many words",
    OUT_OF_SCOPE: "the skills can do nothing of the kind",
    NEGATED: "it has a negation that no template has",
    UNUSED_VALUE: "something that was said has no place in what the skills can do",
    UNUSED_WORDS: "the nearest that the skills can do leaves out some of the words",
    MISSING_INPUT: "something is still to be said",
    AMBIGUOUS: "it may mean different things",
    CONFIRM: "it is likely, and less sure than the threshold",
    UNSURE: "the nearest that the skills can do is less sure than the threshold",
}
"""Why a sentence is not understood: the codes, which stay as they are, and what they say."""
QUESTIONS = frozenset({MISSING_INPUT, AMBIGUOUS, CONFIRM})
"""The codes of replies that ask for something; all others refuse."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A program for a sentence.

    Attributes:
        program: its token form with the values of the sentence in it.
        code: the same as people write it.
        decoded: the token form with placeholders, as templates or the network gave it.
        confidence: calibrated probability that the program is right, from 0 to 1.
        unresolved: names that no list of values of the library has, as they were typed.
        unused: values and words of the sentence that the program does not use, values first.
        missing: the required inputs that the program does not give, with their questions.
        tree: the whole program as JSON.
        calls: the same as calls, `{name, arguments}`; None where it is more than calls.
        by: "derived" if templates derive the sentence so, "learned" if the network alone does.
    """

    program: str
    code: str
    decoded: str
    confidence: float
    unresolved: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    missing: tuple[MissingInput, ...] = ()
    tree: Any = None
    calls: list[dict[str, Any]] | None = None
    by: str = LEARNED


@dataclass(frozen=True, slots=True, repr=False)
class Reply:
    """The programs for a sentence, the most probable first.

    Attributes:
        sentence: as it was typed.
        tokens: as it was read: lower-case words and placeholders.
        refused: why the sentence is not understood, one of REFUSALS; None if it is. The answers
            are then the nearest that the skills can do.
    """

    sentence: str
    tokens: tuple[str, ...]
    answers: tuple[Answer, ...]
    refused: str | None = None

    @property
    def is_known(self) -> bool:
        """Return whether the first answer may be acted on; False is "I do not know"."""
        return self.refused is None

    @property
    def code(self) -> str:
        """Return the most probable program as people write it; "" where there is none."""
        return self.answers[0].code if self.answers else ""

    @property
    def program(self) -> str:
        """Return the same in token form."""
        return self.answers[0].program if self.answers else ""

    @property
    def confidence(self) -> float:
        """Return the probability that it is right, from 0 to 1; 0 where there is none."""
        return self.answers[0].confidence if self.answers else 0.0

    @property
    def calls(self) -> list[dict[str, Any]] | None:
        """Return the calls that it is, `{name, arguments}`; None where it is more, or none."""
        return self.answers[0].calls if self.answers else None

    @property
    def tree(self) -> Any:
        """Return all of it as JSON; None where there is none."""
        return self.answers[0].tree if self.answers else None

    @property
    def unused(self) -> tuple[str, ...]:
        """Return the values and words of the sentence that the program does not use."""
        return self.answers[0].unused if self.answers else ()

    @property
    def missing(self) -> tuple[MissingInput, ...]:
        """Return the required inputs that the program does not have."""
        return self.answers[0].missing if self.answers else ()

    @property
    def question(self) -> str:
        """Return the question for the user: for the first missing input, or for confirmation."""
        return self.ask(self.code)

    def ask(self, program: str) -> str:
        """Return the question; "" where there is none.

        Args:
            program: the first one, in words to show to the user.
        """
        if self.refused == CONFIRM:
            return f"Did you mean this: {program.rstrip('.')}?"
        is_asked = self.refused == MISSING_INPUT and self.missing
        return self.missing[0].question if is_asked else ""

    @property
    def message(self) -> str:
        """Return the message for the user if the program must not be executed, else ""."""
        if self.refused is None:
            return ""
        return self.question or f"I do not know: {REFUSALS[self.refused]}."

    @property
    def alternatives(self) -> tuple[Answer, ...]:
        """Return the other programs."""
        return self.answers[1:]

    def __repr__(self) -> str:
        program = self.code or "no program"
        doubt = f", {self.refused}" if self.refused else ""
        return f"Reply({self.sentence!r}: {program}, {100 * self.confidence:.0f} %{doubt})"


class Guess(NamedTuple):
    """One program of an n-best list.

    Attributes:
        program: its token form.
        confidence: how sure the parser is that the program is right, in [0, 1]; None if unknown.
    """

    program: str
    confidence: float | None = None


class PredictedReply(NamedTuple):
    """The n-best list of a sentence, and whether its first program may be acted on.

    Attributes:
        guesses: best first.
        refused: as that of a `Reply`.
    """

    guesses: list[Guess]
    refused: str | None


class Offers(NamedTuple):
    """Examples of the sentences and functions that a parser understands.

    Attributes:
        sentences: examples, each of other functions.
        functions: the names of its functions in plain words.
    """

    sentences: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


class SentenceParser(Protocol):
    """Anything that turns sentences into programs."""

    def parse(
        self,
        sentences: Sequence[str],
        *,
        count: int = 1,
        context: Reply | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Reply]:
        """Return, for each sentence, up to `count` programs.

        Args:
            context: the reply whose question the sentences answer.
            names: kind of entity -> names that belong to the user.
        """

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the trees and calls of its programs."""

    def functions(self) -> Sequence[Signature]:
        """Return the functions that its programs may use."""

    def offers(self) -> Offers:
        """Return examples of the sentences and functions that it understands."""
