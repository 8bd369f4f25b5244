"""What a decoder asks of a language: which tokens may follow a program so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Allowed:
    """The tokens that may come next.

    Attributes:
        fixed: tokens of the language and the library. Equal places of programs have one and the
            same object here, so that a mask made of it can be kept by its identity.
        copied: words and placeholders of the sentence.
        end: whether the program may end here.
    """

    fixed: frozenset[str]
    copied: frozenset[str] = frozenset()
    end: bool = False


class Prefix(Protocol):
    """A well-typed program so far; immutable, so that the hypotheses of a beam may share it."""

    @property
    def is_closing(self) -> bool:
        """Return whether only what leads to an end soon is allowed: the end, where it may come."""

    @property
    def allowed(self) -> Allowed:
        """Return what may come next; never nothing, so that every prefix can be completed."""

    def then(self, token: str) -> "Prefix":
        """Return the prefix with one more token, or raise ValueError if it is not allowed."""

    def closing(self) -> "Prefix":
        """Return the prefix as one that is closing, and so are all that follow it."""


class DecodingGrammar(Protocol):
    """The programs of a language over a library, token by token."""

    @property
    def vocabulary(self) -> frozenset[str]:
        """Return all tokens that can come without being copied from a sentence."""

    def begin(self, sentence: Sequence[str]) -> Prefix:
        """Return the empty prefix for a sentence; its tokens are what may be copied."""
