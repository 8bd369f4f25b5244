"""The reader in pure Python: one grammar for each sort of value, over the tokens of a sentence."""

import importlib.util
from collections.abc import Iterator, Sequence
from datetime import datetime

from genie_dp.errors import GenieError, Problem
from genie_dp.parser.reading.choose import by_context, choices
from genie_dp.parser.reading.clock import times
from genie_dp.parser.reading.days import days
from genie_dp.parser.reading.marks import marks
from genie_dp.parser.reading.measures import measures
from genie_dp.parser.reading.moments import moments
from genie_dp.parser.reading.money import money
from genie_dp.parser.reading.numbers import number_at, numbers
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.places import places
from genie_dp.parser.reading.ranges import ranges, with_scales
from genie_dp.parser.reading.reading import (
    LOCALE,
    MOST_CHARACTERS,
    Candidate,
    Locale,
    Reading,
    ReadValue,
)
from genie_dp.parser.reading.sentence import Sentence, sentence
from genie_dp.skills.words import token_places, tokenize


class GrammarReader:
    """Reads by rules alone: no process, no network, the same everywhere."""

    def __init__(self, phrases: Phrases = NO_PHRASES) -> None:
        """Look that the library of phone numbers is there.

        Args:
            phrases: what the skills say with words that are values elsewhere.

        Raises:
            GenieError: I001, the extra `read` is not installed.
        """
        if importlib.util.find_spec("phonenumbers") is None:
            message = "reading phone numbers needs phonenumberslite, which is not installed"
            raise GenieError(Problem("I001", message, hint="pip install 'genie_dp[read]'"))
        self.phrases = phrases

    def read(self, text: str, *, now: datetime, locale: Locale = LOCALE) -> Reading:
        """Return the likeliest reading of a text; see `Reader`."""
        return self.readings(text, now=now, locale=locale, most=1)[0]

    def readings(
        self, text: str, *, now: datetime, locale: Locale = LOCALE, most: int = 8
    ) -> tuple[Reading, ...]:
        """Return up to so many readings, the likeliest first; see `Reader`."""
        s = checked_sentence(text, locale)
        return read_choices(s, list(self.candidates(s, now)), most=most, phrases=self.phrases)

    def candidates(self, s: Sentence, now: datetime) -> Iterator[Candidate]:
        """Yield all that may be a value."""
        found = with_scales(s, tuple(number_at(s, at) for at in range(len(s.words))))
        yield from marks(s)
        yield from numbers(s, found)
        yield from measures(s, found)
        yield from money(s, found)
        yield from ranges(s, found, now.date())  # first, for of equal ones the first counts
        yield from times(s, found)
        yield from moments(s, found, now)
        yield from days(s, found, now)
        yield from places(s)


def checked_sentence(text: str, locale: Locale) -> Sentence:
    """Return a text cut into tokens, or raise GenieError I002 if it is too long."""
    if len(text) > MOST_CHARACTERS:
        message = f"expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}"
        raise GenieError(Problem("I002", message, hint="give one command at a time"))
    return sentence(text, locale)


def read_choices(
    s: Sentence, candidates: Sequence[Candidate], *, most: int, phrases: Phrases = NO_PHRASES
) -> tuple[Reading, ...]:
    """Return the readings that the candidates allow."""
    fitting = phrases.weakened(by_context(candidates, s.words), s)
    return tuple(_reading(s, taken, doubt) for doubt, taken in choices(fitting, most=most))


def _reading(s: Sentence, taken: Sequence[Candidate], doubt: int) -> Reading:
    tokens: list[str] = []
    values: dict[str, ReadValue] = {}
    names = _Names({word for word, masked in zip(s.words, s.masked, strict=True) if masked})
    waiting = list(reversed(taken))
    last = 0  # where the value before ends
    for token, begin, end in token_places(s.text):
        start = max(begin, last)
        while waiting and waiting[-1].start < end:
            one = waiting.pop()
            tokens.extend(tokenize(s.text[start : one.start]) if start < one.start else ())
            name = names.next(one.stem)
            tokens.extend((name, *one.after.split()))
            text = s.text[one.start : one.end]
            values[name] = ReadValue(one.type, one.value, text, (one.start, one.end))
            start = last = max(start, one.end)
        if start == begin and end > last:
            tokens.append(token)
        elif start < end:
            tokens.extend(tokenize(s.text[start:end]))
    return Reading(tuple(tokens), values, doubt)


class _Names:
    """Gives out placeholders, none that the text has already."""

    def __init__(self, taken: set[str]):
        self.taken = taken
        self.counts: dict[str, int] = {}

    def next(self, stem: str) -> str:
        """Return the next placeholder of a stem."""
        number = self.counts.get(stem, 0)
        while f"{stem}_{number}" in self.taken:
            number += 1
        self.counts[stem] = number + 1
        return f"{stem}_{number}"
