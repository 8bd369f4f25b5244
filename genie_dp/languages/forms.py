"""Programs in token form: facts about their tokens, without parsing."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Self

# What a program does, beside its functions and values, that words of a sentence ask for.
MARKS = {
    "alert": "something is told when it happens",
    "repeat": "something is done again and again, or whenever something happens",
    "count": "how many there are: a count, a sum, or a part that is a number",
    "rank": "the first ones, by some order",
    "refer": "an action is given what the sentence names, or what another function gives",
    "show": "something is shown",
}


class Literal(NamedTuple):
    """A constant of a program: the tokens from `start` to before `end`.

    Attributes:
        constant: its value in the notation that readers share, such as "date:2027-03-14".
        is_text: whether it is words between quotes, names of entities included.
    """

    start: int
    end: int
    constant: str
    is_text: bool


class Compared(NamedTuple):
    """Where a program has a placeholder outside of texts.

    Attributes:
        part: the part it belongs to, as `TokenForm.parts` names it.
        sign: the token before it, such as ">"; that of a sum is the sign of the sum.
        is_shifted: whether it is added to something, or taken away.
    """

    part: str
    sign: str
    is_shifted: bool = False


class TokenForm(ABC):
    """A program in token form; each attribute is computed when it is first read.

    Attributes with a body are right for a language without styles and inputs that may be left out.
    """

    def __init__(self, text: str):
        """Keep the text: tokens separated by one space."""
        self.text = text

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens."""
        return tuple(self.text.split(" "))

    @cached_property
    @abstractmethod
    def functions(self) -> tuple[str, ...]:
        """The functions in program order, as often as used; GenieError if there are none."""

    @cached_property
    @abstractmethod
    def literals(self) -> tuple[Literal, ...]:
        """The constants in program order."""

    @cached_property
    @abstractmethod
    def parts(self) -> frozenset[str]:
        """The parts of the program beside its functions, without copied values."""

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The constants that templates put there: no texts, no placeholders.

        Dates relative to the moment of execution are among them.
        """
        return frozenset()

    @cached_property
    def compared(self) -> Mapping[str, Sequence[Compared]] | None:
        """Where each placeholder stands, texts aside; None if unknown."""
        return None

    @cached_property
    def marks(self) -> Collection[str]:
        """Those of `MARKS` that the program has; all if unknown."""
        return MARKS

    @cached_property
    def values(self) -> Sequence[str]:
        """The tokens that may be words of a sentence as they are.

        Words of the language with a meaning of their own, such as the values of a list, are not.
        """
        return self.tokens

    @cached_property
    def inputs(self) -> Sequence[tuple[str, frozenset[str]]]:
        """The functions, each with the inputs that it is given.

        Empty where the library declares which inputs a function cannot do without.
        """
        return ()

    @cached_property
    def traits(self) -> frozenset[str]:
        """Those of `Language.traits` that the program has."""
        return frozenset()

    @cached_property
    def copied(self) -> str:
        """The text without words that a sentence never gives; "" if it gives none."""
        return self.text

    @cached_property
    def outline(self) -> tuple[str, tuple[str, ...]]:
        """The text with names in place of its texts, and these texts.

        Token forms of one outline are well-typed together, and their canonical forms have one
        outline, too.
        """
        return self.text, ()

    def with_texts(self, texts: Sequence[str]) -> Self:
        """Return the token form of an outline, this one, with its texts."""
        return self
