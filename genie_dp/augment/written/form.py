"""A value as somebody wrote it, and what it means."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Written:
    """A written form of a value.

    Attributes:
        words: what the person wrote, in the tokens of utterances.
        value: what it means, in the token form of programs: "25", "6 unit:ft 3 unit:in",
            "currency:5:usd", "date:2027-03-14", "time:20:00:00".
    """

    words: tuple[str, ...]
    value: str


def written(text: str, value: str) -> Written:
    """Return the written form of a text whose tokens are separated by spaces.

    >>> written("twenty five", "25")
    Written(words=('twenty', 'five'), value='25')
    """
    return Written(tuple(text.split()), value)


def chosen(rng: Random, forms: Sequence[tuple[str, float]], value: str) -> Written:
    """Return one of several spellings of a value, by weight."""
    if len(forms) == 1:
        return written(forms[0][0], value)
    share = rng.random() * sum(weight for _, weight in forms)
    for text, weight in forms:
        share -= weight
        if share < 0:
            return written(text, value)
    return written(forms[-1][0], value)
