"""Readers by name."""

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.reading import Reader

NAMES = ("grammar", "duckling")


def load_reader(name: str = "grammar", *, phrases: Phrases = NO_PHRASES) -> Reader:
    """Return the reader of that name.

    Args:
        name: "grammar", the one in pure Python, or "duckling", which knows more dates.
        phrases: what the skills say with words that are values elsewhere (`phrases.learn`).

    Raises:
        GenieError: I004, no such reader; I003, a library of it is not installed.
    """
    if name == "grammar":
        from genie_dp.parser.reading.grammar_reader import GrammarReader

        return GrammarReader(phrases)
    if name == "duckling":
        from genie_dp.parser.reading.duckling_reader import DucklingReader

        return DucklingReader(phrases)
    hint = did_you_mean(name, NAMES) or f"readers: {', '.join(NAMES)}"
    raise GenieError(Problem("I004", f"unknown reader {name!r}", hint=hint))
