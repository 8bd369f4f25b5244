"""The reader in pure Python: one grammar for each sort of value, over the tokens of a sentence."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from genie_dp.languages.units import COMMON, Units
from genie_dp.locale import LOCALE, Locale
from genie_dp.parser.reading.beginnings import are_shipped, begins_in, tokens_without_values
from genie_dp.parser.reading.choices import CandidateReader
from genie_dp.parser.reading.dates import days, moments, times
from genie_dp.parser.reading.marks import marks
from genie_dp.parser.reading.measures import measures, money, plain_amounts
from genie_dp.parser.reading.numbers import number_at, numbers, wholes
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.places import places
from genie_dp.parser.reading.ranges import ranges, with_scales
from genie_dp.parser.reading.reading import MOST_CHARACTERS, Reader, Reading, ValueCandidate
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.parser.reading.words_reader import WordsReader


class GrammarReader(CandidateReader):
    """Reads by rules alone: no process, no network, the same everywhere."""

    def __init__(
        self, phrases: Phrases = NO_PHRASES, units: Units = COMMON, locale: Locale = LOCALE
    ) -> None:
        super().__init__(phrases, units, locale)
        self._has_shipped_units = are_shipped(units)

    def read(self, text: str, *, now: datetime, locale: Locale | None = None) -> Reading:
        """Return the likeliest reading of a text; see `Reader`."""
        if self._has_shipped_units and len(text) <= MOST_CHARACTERS:
            tokens = tokens_without_values(text)
            if tokens is not None:
                return Reading(tokens)
        return super().read(text, now=now, locale=locale)

    def candidates(self, s: TextTokens, now: datetime) -> Iterator[ValueCandidate]:
        """Yield all candidates of values."""
        yield from marks(s)
        if begins := begins_in(s):
            yield from _read_measures(replace(s, begins=begins), now, self.phrases)
        yield from places(s)


def _read_measures(s: TextTokens, now: datetime, phrases: Phrases) -> Iterator[ValueCandidate]:
    """Yield numbers, and values with one or in place of one: measures, money, times and dates."""
    begun = {place: number_at(s, place) for place in s.begins}
    token_numbers = with_scales(s, tuple(map(begun.get, range(len(s.words)))))
    is_measured = "m" in s.units  # of tools durations alone are
    if not is_measured:
        yield from plain_amounts(s, token_numbers)
    yield from numbers(s, token_numbers)
    if phrases.says_halves:
        yield from wholes(s, token_numbers)
    yield from measures(s, token_numbers)
    if is_measured:
        yield from money(s, token_numbers)
    yield from ranges(s, token_numbers, now.date())  # first, for of equal ones the first counts
    yield from times(s, token_numbers)
    yield from moments(s, token_numbers, now)
    yield from days(s, token_numbers, now)


def load_reader(
    *,
    phrases: Phrases = NO_PHRASES,
    units: Units = COMMON,
    locale: Locale = LOCALE,
) -> Reader:
    """Return the reader of a locale's language.

    Args:
        phrases: of the skills, with words that are values elsewhere (`phrases.learn`).
        units: those to look for (`library.units_in_sentences`).
        locale: of the sentences; English has a grammar, other languages are read by the words of
            their file (`words_reader`).

    Raises:
        GenieError: I003, the package that spells the numbers of the language is not installed.
    """
    if locale.words.has_grammar:
        return GrammarReader(phrases, units, locale)
    return WordsReader(locale, phrases, units)
