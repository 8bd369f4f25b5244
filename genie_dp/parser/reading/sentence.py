"""A text to be read: cleaned, and cut into tokens whose places are known."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from genie_dp.languages.types import is_slot
from genie_dp.languages.units import COMMON, Units
from genie_dp.locale import Locale
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.skills.words import token_places
from genie_dp.texts import word_set
from genie_dp.values.calendar import MONTH_NUMBERS
from genie_dp.values.money import CURRENCIES, GLUED_SIGNS

# NUL ends texts in C, and lone surrogates cannot be encoded; both become a space, so that places
# stay. Private characters mark placeholders elsewhere.
_UNCLEAN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ue000-\uf8ff]")
_RANGE = re.compile(
    r"([$€£]?\d{1,6}(?:[.,:]\d+)*(?:[a-z]{1,4})?)-"
    r"([$€£]?\d{1,6}(?:[.,:]\d+)*)([a-z]{1,4}|%)?"
)
_BEHIND = re.compile(r"\d{1,12}(?:%|(?!am|pm|st|nd|rd|th)[a-z]+)?")
_ISO_HOUR = re.compile(r"(\d{4}-\d\d-\d\d)t(\d\d)")
_MINUTES = re.compile(r"[0-5]\d(?::[0-5]\d)?")
# Digits that are no placeholder's; without one no date, point or range is to be taken apart.
_DIGIT = re.compile(r"(?<!_)\d")
Token = tuple[str, int, int]


PhraseTable = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]


def phrase_table(phrases: Iterable[tuple[tuple[str, ...], str]]) -> PhraseTable:
    """Return phrases and their values by their first word, the longest first.

    Of two values of a phrase the first counts.

    >>> phrase_table([(("meter",), "m"), (("meter", "per", "second"), "mps")])["meter"][0]
    (('meter', 'per', 'second'), 'mps')
    """
    values: dict[tuple[str, ...], str] = {}
    for words, value in phrases:
        values.setdefault(words, value)
    table: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase in sorted(values.items(), key=lambda item: -len(item[0])):
        table.setdefault(phrase[0][0], []).append(phrase)
    return {first: tuple(phrases_of_word) for first, phrases_of_word in table.items()}


_UNIT_LIKE = word_set(
    """
    am pm a.m p.m bucks cents percent % min mins km kg degrees c f mb gb mph thousand million
    billion
    """
).union(
    MONTH_NUMBERS,
    (unit.plural for unit in COMMON.by_name.values() if unit.words),
    (currency.plural for currency in CURRENCIES),
)


def clean(text: str) -> str:
    r"""Return a text, as long as before, without characters that no person types.

    The minus sign of typographers becomes that of keyboards.

    >>> clean("at\x005 pm, \u22125 degrees")
    'at 5 pm, -5 degrees'
    """
    # Without its sign a number would be another one.
    return without_controls(text).replace("\u2212", "-")


def without_controls(text: str) -> str:
    """Return a text with spaces for the characters that no person types."""
    return _UNCLEAN.sub(" ", text)


@dataclass(frozen=True, slots=True)
class TextTokens:
    """A text with its tokens.

    Attributes:
        text: the text, cleaned.
        words: its tokens, lower-case; "" follows the last one.
        starts, ends: where each begins and ends in the text.
        masked: whether a token is a placeholder already.
        tokens: those that the text was cut into at first, "2-4pm" as one.
        begins: the places where a value may begin, in order.
        locale: defaults for values that the text gives in part.
        units: those that are looked for.
        work: places looked at so far, for the test that reading takes linear time.
    """

    text: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    masked: tuple[bool, ...]
    tokens: tuple[Token, ...]
    begins: Sequence[int]
    locale: Locale
    units: Units
    work: list[int] = field(default_factory=lambda: [0])

    def word(self, index: int) -> str:
        """Return a token, "" where there is none."""
        self.work[0] += 1
        return self.words[index] if 0 <= index < len(self.words) else ""

    def has(self, index: int, *words: str) -> bool:
        """Return whether these tokens stand from a place on."""
        return self.words[index : index + len(words)] == words if index >= 0 else False

    def beginnings(self, numbers: Sequence[object], words: Container[str]) -> list[int]:
        """Return the places of these words, of numbers, and of tokens that are no word of letters.

        Only those where a value may begin.

        Args:
            numbers: for each token, the number that begins there or None.
        """
        return [
            place
            for place in self.begins
            if (word := self.words[place]) in words
            or numbers[place] is not None
            or not word.isalpha()
        ]

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
        other: str = "",
    ) -> ValueCandidate:
        """Return the candidate of the tokens from `first` to before `end`."""
        self.work[0] += 1
        start, last = self.starts[first], self.ends[end - 1]
        return ValueCandidate(start, last, stem, value, weak, soft, after, other)


def sentence(text: str, locale: Locale, units: Units = COMMON) -> TextTokens:
    """Return a text cut into tokens, in which some units are looked for."""
    text = clean(text)
    places = tokens = tuple(token_places(text))
    if _DIGIT.search(text):
        places = tuple(_split_ranges(_join_points(tuple(_split_dates(tokens)))))
    words, starts, ends = zip(*places, strict=True) if places else ((), (), ())
    masked = tuple("_" in word and is_slot(word) for word in words)
    begins = range(len(words))
    return TextTokens(text, words, starts, ends, masked, tokens, begins, locale, units)


def _split_dates(tokens: tuple[Token, ...]) -> Iterator[Token]:
    """Yield the tokens with "2027-05-06" and "10:00" for "2027-05-06T10:00" (ISO 8601)."""
    rest = iter(enumerate(tokens))
    for index, (token, start, end) in rest:
        match = _ISO_HOUR.fullmatch(token)
        colon, minutes = (*tokens[index + 1 : index + 3], ("", 0, 0), ("", 0, 0))[:2]
        is_whole = colon == (":", end, end + 1) and minutes[1] == end + 1
        if match is None or not is_whole or not _MINUTES.fullmatch(minutes[0]):
            yield token, start, end
            continue
        yield match[1], start, start + len(match[1])
        yield f"{match[2]}:{minutes[0]}", end - 2, minutes[2]
        next(rest)
        next(rest)


def _join_points(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the tokens with "0.5" for ".5", "$0.5" for "$.5"."""
    joined: list[Token] = []
    for token, start, end in tokens:
        if _BEHIND.fullmatch(token) and joined and joined[-1][0] == "." and joined[-1][2] == start:
            point = joined.pop()
            if joined and joined[-1][2] == point[1] and joined[-1][0] in (*GLUED_SIGNS, "-", "+"):
                sign, begin, _ = joined.pop()
                joined.append((f"{sign}0.{token}", begin, end))
                continue
            if not joined or joined[-1][2] < point[1]:
                joined.append((f"0.{token}", point[1], end))
                continue
            joined.append(point)  # the full stop of a word
        joined.append((token, start, end))
    return tuple(joined)


def _split_ranges(tokens: tuple[Token, ...]) -> Iterator[Token]:
    """Yield the tokens with ranges taken apart: "2-4pm", "5-10" before a unit, "5%-10%"."""
    for index, (token, start, end) in enumerate(tokens):
        before, _, last = tokens[index - 1] if index else ("", 0, -1)
        if token[0] == "-" and len(token) > 1 and before in ("%", "°") and last == start:
            yield "-", start, start + 1
            yield token[1:], start + 1, end
            continue
        following = tokens[index + 1][0] if index + 1 < len(tokens) else ""
        is_told = before in MONTH_NUMBERS or (before in GLUED_SIGNS and last == start)
        match = _RANGE.fullmatch(token) if "-" in token else None
        if match is None or not (
            is_told
            or match[3]
            or match[1].startswith(GLUED_SIGNS)
            or match[1].endswith(("am", "pm"))
            or following in _UNIT_LIKE
        ):
            yield token, start, end
            continue
        middle = start + match.end(1)
        yield match[1], start, middle
        yield "-", middle, middle + 1
        yield token[match.end(1) + 1 :], middle + 1, end
