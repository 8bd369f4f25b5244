"""A text to be read: cleaned, and cut into tokens whose places are known."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from genie_dp.languages.thingtalk.slots import is_slot
from genie_dp.parser.reading.reading import Candidate, Locale
from genie_dp.skills.words import token_places

# NUL ends texts in C, and lone surrogates cannot be encoded; both become a space, so that places
# stay. Private characters mark placeholders elsewhere.
_UNCLEAN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ue000-\uf8ff]")
_RANGE = re.compile(
    r"([$€£]?\d{1,6}(?:[.,:]\d+)*(?:am|pm)?)-([$€£]?\d{1,6}(?:[.,:]\d+)*)(am|pm|[a-z]{1,4}|%)?"
)
_UNIT_LIKE = frozenset(
    ("am", "pm", "dollars", "bucks", "euros", "pounds", "percent", "%", "minutes", "hours", "days")
    + ("weeks", "months", "years", "seconds", "miles", "km", "kilometers", "meters", "feet", "kg")
    + ("degrees", "mb", "gb", "mph", "min", "mins", "inches", "a.m", "p.m", "cents", "yen")
)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set.

    >>> sorted(words_of("at by"))
    ['at', 'by']
    """
    return frozenset(text.split())


def clean(text: str) -> str:
    r"""Return a text, as long as before, without characters that no person types.

    The minus sign of typographers becomes that of keyboards.

    >>> clean("at\x005 pm, \u22125 degrees")
    'at 5 pm, -5 degrees'
    """
    # Without its sign a number would be another one.
    return _UNCLEAN.sub(" ", text).replace("\u2212", "-")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text with its tokens.

    Attributes:
        text: the text, cleaned.
        words: its tokens, lower-case; "" follows the last one.
        starts, ends: where each begins and ends in the text.
        masked: whether a token is a placeholder already.
        work: places looked at so far, for the test that reading takes linear time.
    """

    text: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    masked: tuple[bool, ...]
    locale: Locale
    work: list[int] = field(default_factory=lambda: [0])

    def word(self, index: int) -> str:
        """Return a token, "" where there is none."""
        self.work[0] += 1
        return self.words[index] if 0 <= index < len(self.words) else ""

    def has(self, index: int, *words: str) -> bool:
        """Tell whether these tokens stand from a place on."""
        return self.words[index : index + len(words)] == words if index >= 0 else False

    def candidate(
        self,
        first: int,
        end: int,
        stem: str,
        value: str,
        *,
        weak: bool = False,
        soft: bool = False,
        after: str = "",
    ) -> Candidate:
        """Return the candidate of the tokens from `first` to before `end`."""
        self.work[0] += 1
        return Candidate(self.starts[first], self.ends[end - 1], stem, value, weak, soft, after)


def sentence(text: str, locale: Locale) -> Sentence:
    """Return a text cut into tokens."""
    text = clean(text)
    places = tuple(_opened(tuple(token_places(text))))
    words = tuple(token for token, _, _ in places)
    return Sentence(
        text,
        words,
        tuple(start for _, start, _ in places),
        tuple(end for _, _, end in places),
        tuple(is_slot(word) for word in words),
        locale,
    )


def _opened(
    tokens: tuple[tuple[str, int, int], ...],
) -> Iterator[tuple[str, int, int]]:
    """Yield the tokens with ranges taken apart: "2-4pm", "5-10" before a unit."""
    for index, (token, start, end) in enumerate(tokens):
        match = _RANGE.fullmatch(token) if "-" in token else None
        following = tokens[index + 1][0] if index + 1 < len(tokens) else ""
        if match is None or not (match[3] or match[1][0] in "$€£" or following in _UNIT_LIKE):
            yield token, start, end
            continue
        middle = start + match.end(1)
        yield match[1], start, middle
        yield "-", middle, middle + 1
        yield token[match.end(1) + 1 :], middle + 1, end
