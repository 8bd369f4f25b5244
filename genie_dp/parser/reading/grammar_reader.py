"""The reader in pure Python: one grammar for each sort of value, over the tokens of a sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations, product

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.units import COMMON, Units
from genie_dp.locale import LOCALE, Locale
from genie_dp.parser.reading.beginnings import are_shipped, begins_in, tokens_without_values
from genie_dp.parser.reading.dates import days, moments, times
from genie_dp.parser.reading.marks import marks
from genie_dp.parser.reading.measures import measures, money
from genie_dp.parser.reading.numbers import number_at, numbers, wholes
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.places import places
from genie_dp.parser.reading.ranges import ranges, with_scales
from genie_dp.parser.reading.reading import (
    MOST_CHARACTERS,
    WORDS,
    Candidate,
    Reader,
    Reading,
    ReadValue,
)
from genie_dp.parser.reading.sentence import TextTokens, sentence, words_of
from genie_dp.skills.words import tokenize

# Of equally long candidates the first of these.
_ORDER = (
    "QUOTED_STRING", "EMAIL_ADDRESS", "URL", "PATH_NAME", "PHONE_NUMBER", "USERNAME", "HASHTAG",
    "DATE", "TIME", "CURRENCY", "DURATION", "MEASURE", "LOCATION", "NUMBER", WORDS,
)  # fmt: skip
_RANK = {stem: rank for rank, stem in enumerate(_ORDER)}
_WEIGHED = words_of(
    """
    weigh weighs weight weighing heavy heavier lighter lift lifting lose lost gain gained lb lbs
    flour sugar potatoes apples meat chicken beef
    """
)
_MOST_DOUBTFUL = 16  # of these no more than three are read otherwise at a time: 696 ways

Options = tuple[tuple[Candidate, ...], ...]


def rank(candidate: Candidate) -> tuple[int, int, int]:
    """Return the key by which candidates are taken."""
    stem = "MEASURE" if candidate.stem.startswith("MEASURE_") else candidate.stem
    return candidate.start - candidate.end, candidate.start, _RANK[stem]


def take_longest(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates that do not overlap, the longest taken first, in the order of the text."""
    taken: list[Candidate] = []
    used: set[int] = set()
    for candidate in sorted(candidates, key=rank):
        places = range(candidate.start, candidate.end)
        if used.isdisjoint(places):
            used.update(places)
            taken.append(candidate)
    return sorted(taken)


def by_context(candidates: Sequence[Candidate], words: Sequence[str]) -> list[Candidate]:
    """Return the candidates without money that is weighed."""
    if _WEIGHED.isdisjoint(words):
        return list(candidates)
    weights = {(c.start, c.end) for c in candidates if c.stem == "MEASURE_kg"}
    return [
        c._replace(is_weak=True) if c.stem == "CURRENCY" and (c.start, c.end) in weights else c
        for c in candidates
    ]


def choices(candidates: Sequence[Candidate], *, most: int) -> Iterator[tuple[int, list[Candidate]]]:
    """Yield (doubt, what to take) of up to so many ways to read, the likeliest first."""
    first = take_longest([c for c in candidates if not c.is_weak])
    yield 0, first
    if most <= 1:
        return
    sites = [_options(candidate, candidates) for candidate in first]
    weak = [c for c in candidates if c.is_weak]
    free = [c for c in weak if all(c.end <= t.start or t.end <= c.start for t in first)]
    sites += [((), (c,)) for c in free]
    doubtful = [i for i, options in enumerate(sites) if len(options) > 1][:_MOST_DOUBTFUL]
    seen = {tuple(first)}
    for doubt in (1, 2, 3):
        for picked in combinations(doubtful, doubt):
            others = [sites[i][1:] if i in picked else sites[i][:1] for i in range(len(sites))]
            for parts in product(*others):
                taken = tuple(sorted(c for part in parts for c in part))
                overlaps = any(a.end > b.start for a, b in zip(taken, taken[1:], strict=False))
                if overlaps or taken in seen:
                    continue
                seen.add(taken)
                yield doubt, list(taken)
                if len(seen) >= most:
                    return


def _options(candidate: Candidate, candidates: Sequence[Candidate]) -> Options:
    """Return what may be taken in place of a candidate, itself first."""
    inside = [
        c
        for c in candidates
        if candidate.start <= c.start and c.end <= candidate.end and c != candidate
    ]
    equal = [c for c in inside if (c.start, c.end) == (candidate.start, candidate.end)]
    smaller = [c for c in inside if (c.start, c.end) != (candidate.start, candidate.end)]
    options: list[tuple[Candidate, ...]] = [(candidate,)]
    if candidate.stem in ("DATE", "TIME", "MEASURE_m", "DURATION"):
        parts = take_longest([c for c in smaller if not c.is_weak])
        if parts:
            options.append(tuple(parts))
    options += [(c,) for c in sorted(equal, key=rank)]
    options += [(c,) for c in smaller if c.stem != candidate.stem and candidate.stem == "DATE"]
    if candidate.stem == "NUMBER":
        options += [(c,) for c in smaller if c.is_weak and c.start == candidate.start]
    if candidate.is_soft:
        options.append(())
    return tuple(dict.fromkeys(options))


class GrammarReader:
    """Reads by rules alone: no process, no network, the same everywhere."""

    def __init__(
        self, phrases: Phrases = NO_PHRASES, units: Units = COMMON, locale: Locale = LOCALE
    ) -> None:
        """Keep what the skills say with words that are values elsewhere, the units to find, and
        what texts leave unsaid.
        """
        self.phrases, self.units, self.locale = phrases, units, locale
        self._has_shipped_units = are_shipped(units)

    def read(self, text: str, *, now: datetime, locale: Locale | None = None) -> Reading:
        """Return the likeliest reading of a text; see `Reader`."""
        if self._has_shipped_units and len(text) <= MOST_CHARACTERS:
            tokens = tokens_without_values(text)
            if tokens is not None:
                return Reading(tokens)
        return self.readings(text, now=now, locale=locale, most=1)[0]

    def readings(
        self, text: str, *, now: datetime, locale: Locale | None = None, most: int = 8
    ) -> tuple[Reading, ...]:
        """Return up to so many readings, the likeliest first; see `Reader`."""
        s = checked_sentence(text, locale or self.locale, self.units)
        return read_choices(s, list(self.candidates(s, now)), most=most, phrases=self.phrases)

    def candidates(self, s: TextTokens, now: datetime) -> Iterator[Candidate]:
        """Yield all that may be a value."""
        yield from marks(s)
        if begins := begins_in(s):
            yield from _measured(replace(s, begins=begins), now, self.phrases)
        yield from places(s)


def _measured(s: TextTokens, now: datetime, phrases: Phrases) -> Iterator[Candidate]:
    """Yield numbers, and what has one or stands for one: measures, money, times and dates."""
    begun = {place: number_at(s, place) for place in s.begins}
    token_numbers = with_scales(s, tuple(map(begun.get, range(len(s.words)))))
    yield from numbers(s, token_numbers)
    if phrases.says_halves:
        yield from wholes(s, token_numbers)
    yield from measures(s, token_numbers)
    yield from money(s, token_numbers)
    yield from ranges(s, token_numbers, now.date())  # first, for of equal ones the first counts
    yield from times(s, token_numbers)
    yield from moments(s, token_numbers, now)
    yield from days(s, token_numbers, now)


def checked_sentence(text: str, locale: Locale, units: Units) -> TextTokens:
    """Return a text cut into tokens, or raise GenieError I002 if it is too long."""
    if len(text) > MOST_CHARACTERS:
        message = f"expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}"
        raise GenieError(Problem("I002", message, hint="give one command at a time"))
    return sentence(text, locale, units)


def read_choices(
    s: TextTokens, candidates: Sequence[Candidate], *, most: int, phrases: Phrases = NO_PHRASES
) -> tuple[Reading, ...]:
    """Return the readings that the candidates allow."""
    candidates = [*candidates, *phrases.numbers_in_words(s, candidates)]
    if not candidates:
        return (Reading(tuple([token for token, _, _ in s.tokens])),)
    fitting = phrases.weaken(by_context(candidates, s.words), s)
    return tuple(_reading(s, taken, doubt) for doubt, taken in choices(fitting, most=most))


def _reading(s: TextTokens, taken: Sequence[Candidate], doubt: int) -> Reading:
    tokens: list[str] = []
    values: dict[str, ReadValue] = {}
    slots_in_text = {word for word, masked in zip(s.words, s.masked, strict=True) if masked}
    counts: dict[str, int] = {}
    waiting = list(reversed(taken))
    last = 0  # where the value before ends
    for token, begin, end in s.tokens:
        start = max(begin, last)
        while waiting and waiting[-1].start < end:
            candidate = waiting.pop()
            tokens.extend(
                tokenize(s.text[start : candidate.start]) if start < candidate.start else ()
            )
            if candidate.stem == WORDS:
                tokens.extend(candidate.after.split())
                start = last = max(start, candidate.end)
                continue
            number = counts.get(candidate.stem, 0)
            while (name := f"{candidate.stem}_{number}") in slots_in_text:
                number += 1
            counts[candidate.stem] = number + 1
            tokens.extend((name, *candidate.after.split()))
            text = s.text[candidate.start : candidate.end]
            values[name] = ReadValue(
                candidate.type, candidate.value, text, (candidate.start, candidate.end)
            )
            start = last = max(start, candidate.end)
        if start == begin and end > last:
            tokens.append(token)
        elif start < end:
            tokens.extend(tokenize(s.text[start:end]))
    return Reading(tuple(tokens), values, doubt)


def load_reader(
    *,
    phrases: Phrases = NO_PHRASES,
    units: Units = COMMON,
    locale: Locale = LOCALE,
) -> Reader:
    """Return the reader of a locale's language.

    Args:
        phrases: what the skills say with words that are values elsewhere (`phrases.learn`).
        units: those to look for (`library.units_in_sentences`).
        locale: of the sentences; English has a grammar, other languages are read by the words of
            their file (`words_reader`).

    Raises:
        GenieError: I003, what spells the numbers of the language is not installed.
    """
    if locale.words.has_grammar:
        return GrammarReader(phrases, units, locale)
    from genie_dp.parser.reading.words_reader import WordsReader

    return WordsReader(locale, phrases, units)
