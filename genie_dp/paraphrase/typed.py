"""Text that people typed, as words that can be compared with the words they were shown."""

import re
import unicodedata
from dataclasses import dataclass

from genie_dp.skills.words import tokenize

# Phones and word processors put these in place of what keyboards have.
_PLAIN = str.maketrans(
    {
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2018": "'", "\u2019": "'", "\u00b4": "'", "`": "'",
        "\u2013": "-", "\u2212": "-", "\u2014": " - ", "\u2026": " ... ", "\u00a0": " ",
    }
)  # fmt: skip
_TWO_QUOTES = re.compile(r"''")
_HYPHEN_AFTER_NUMBER = re.compile(r"(?<=\d)-(?=[A-Za-z])")  # a 10-minute video
_NUMBER = re.compile(r"([$€£¥]?)(-?\d+(?:[.,:]\d+)*)(%|[^\W\d_]*)")
_POSSESSIVE = re.compile(r"(?<=\w)'s\b")  # a link would swallow it
_ENDS = (".", "!", "?")


@dataclass(frozen=True, slots=True)
class Typed:
    """Words of a typed text; a number and its unit stand apart.

    Attributes:
        glued: for each word, whether no space was before it: "5" and "th" of "5th".
    """

    words: tuple[str, ...]
    glued: tuple[bool, ...]


def read_typed(text: str) -> Typed:
    """Return the lower-case words of a text, without the punctuation at its end.

    >>> read_typed("Play “Let it be” for 10-minutes, it's $5.").words
    ('play', '"', 'let', 'it', 'be', '"', 'for', '10', 'minutes', ',', 'it', "'s", '$', '5')
    >>> read_typed("the 5th").glued
    (False, False, True)
    """
    plain = _TWO_QUOTES.sub('"', _seen(text).translate(_PLAIN))
    plain = _POSSESSIVE.sub(" 's", _HYPHEN_AFTER_NUMBER.sub(" ", plain))
    tokens = list(tokenize(plain))
    while tokens and tokens[-1] in _ENDS:
        tokens.pop()
    words: list[str] = []
    glued: list[bool] = []
    for token in tokens:
        match = _NUMBER.fullmatch(token)
        parts = [part for part in match.groups() if part] if match else [token]
        words.extend(parts)
        glued.extend(index > 0 for index in range(len(parts)))
    return Typed(tuple(words), tuple(glued))


_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs"))


def _seen(text: str) -> str:
    r"""Return a text without what nobody sees, and with accents that are one with their letters.

    What is copied from web pages has zero-width spaces, soft hyphens and marks of direction, some
    keyboards give accents of their own; private characters mark places of values in rows.

    >>> _seen("sh\u00adow\u200b cafe\u0301\x00")
    'show café'
    """
    if text.isascii() and text.isprintable():
        return text
    whole = unicodedata.normalize("NFC", text)
    return "".join(c for c in whole if c.isspace() or unicodedata.category(c) not in _UNSEEN)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as `read_typed` does."""
    return read_typed(text).words
