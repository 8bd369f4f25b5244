"""Programs with the values of a sentence in them, ready to be shown, checked and executed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.thingtalk.fill import fill as filled_tree
from genie_dp.languages.thingtalk.fill import placeholders
from genie_dp.parser.reading.names import Name, Names
from genie_dp.parser.reading.reading import ReadValue


@dataclass(frozen=True, slots=True)
class Filled:
    """A program with values.

    Attributes:
        program: of the language, canonical.
        tokens: its token form.
        names: the entities that were said by name, and what they were found to be.
    """

    program: Any
    tokens: str
    names: tuple[Name, ...] = ()

    @property
    def unresolved(self) -> tuple[Name, ...]:
        """Return the names that no list has; they stand in the program as they were said."""
        return tuple(name for name in self.names if name.how == "unknown")


def fill(
    program: str,
    values: Mapping[str, ReadValue],
    *,
    language: Language,
    library: Any = None,
    names: Names | None = None,
) -> Filled:
    """Return a predicted program with the values of its sentence.

    Args:
        program: in token form, with placeholders, as a parser predicts it.
        values: those of the reading whose tokens the parser was given.
        language: the program's language, ThingTalk.
        library: its skills, to bring the program into canonical form.
        names: the lists in which entities are looked up; None looks none up.

    Raises:
        GenieError: I010, a placeholder has no value; I011, values of another language; or what
            the language says of a program that it cannot read.
    """
    if language.name != "thingtalk":
        message = f"expected a program in thingtalk, got one in {language.name}"
        raise GenieError(Problem("I011", message, hint="dates and measures are ThingTalk's"))
    said = {token: (read.value, _words(read)) for token, read in values.items()}
    tree = filled_tree(language.from_tokens(program), said)
    left = placeholders(tree)
    if left:
        known = ", ".join(values) or "none"
        message = f"the program has {left[0]}, which stands for no value of the sentence"
        raise GenieError(Problem("I010", message, hint=f"the sentence has: {known}"))
    found: tuple[Name, ...] = ()
    if names is not None:
        tree, found = names.resolved(tree)
    tree = language.canonical(tree, library)
    return Filled(tree, language.tokens(tree, library), found)


def _words(read: ReadValue) -> str:
    """Return what stands for a value inside of free text: the words, a percent sign left out."""
    return " ".join(read.text.split()).removesuffix("%").rstrip() or read.text
