"""The choice among the pieces of a text that may be values, and the readings that it gives."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations, product

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.units import Units
from genie_dp.locale import Locale
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.reading import (
    MOST_CHARACTERS,
    WORDS,
    Reading,
    ReadValue,
    ValueCandidate,
)
from genie_dp.parser.reading.sentence import TextTokens, sentence
from genie_dp.skills.words import tokenize
from genie_dp.texts import word_set

# Of equally long candidates the first of these.
_ORDER = (
    "QUOTED_STRING", "EMAIL_ADDRESS", "URL", "PATH_NAME", "PHONE_NUMBER", "USERNAME", "HASHTAG",
    "DATE", "TIME", "CURRENCY", "DURATION", "MEASURE", "LOCATION", "NUMBER", WORDS,
)  # fmt: skip
_RANK = {stem: rank for rank, stem in enumerate(_ORDER)}
_WEIGHED = word_set(
    """
    weigh weighs weight weighing heavy heavier lighter lift lifting lose lost gain gained lb lbs
    flour sugar potatoes apples meat chicken beef
    """
)
_MOST_DOUBTFUL = 16  # of these no more than three are read otherwise at a time: 696 ways

Options = tuple[tuple[ValueCandidate, ...], ...]


def rank(candidate: ValueCandidate) -> tuple[int, int, int]:
    """Return the key by which candidates are taken."""
    stem = "MEASURE" if candidate.stem.startswith("MEASURE_") else candidate.stem
    return candidate.start - candidate.end, candidate.start, _RANK[stem]


def take_longest(candidates: Sequence[ValueCandidate]) -> list[ValueCandidate]:
    """Return candidates that do not overlap, the longest taken first, in the order of the text."""
    taken: list[ValueCandidate] = []
    used: set[int] = set()
    for candidate in sorted(candidates, key=rank):
        places = range(candidate.start, candidate.end)
        if used.isdisjoint(places):
            used.update(places)
            taken.append(candidate)
    return sorted(taken)


def by_context(candidates: Sequence[ValueCandidate], words: Sequence[str]) -> list[ValueCandidate]:
    """Return the candidates without money that is weighed."""
    if _WEIGHED.isdisjoint(words):
        return list(candidates)
    weights = {(c.start, c.end) for c in candidates if c.stem == "MEASURE_kg"}
    return [
        c._replace(is_weak=True) if c.stem == "CURRENCY" and (c.start, c.end) in weights else c
        for c in candidates
    ]


def choices(
    candidates: Sequence[ValueCandidate], *, most: int
) -> Iterator[tuple[int, list[ValueCandidate]]]:
    """Yield (doubt, candidates to take) of up to so many readings, the likeliest first."""
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


def _options(candidate: ValueCandidate, candidates: Sequence[ValueCandidate]) -> Options:
    """Return the alternatives to a candidate, itself first."""
    inside = [
        c
        for c in candidates
        if candidate.start <= c.start and c.end <= candidate.end and c != candidate
    ]
    equal = [c for c in inside if (c.start, c.end) == (candidate.start, candidate.end)]
    smaller = [c for c in inside if (c.start, c.end) != (candidate.start, candidate.end)]
    options: list[tuple[ValueCandidate, ...]] = [(candidate,)]
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


class CandidateReader(ABC):
    """A `Reader` that finds all candidates of values, and takes the likeliest."""

    def __init__(self, phrases: Phrases, units: Units, locale: Locale) -> None:
        """Keep the phrases of the skills, the units to find, and the defaults of the locale."""
        self.phrases, self.units, self.locale = phrases, units, locale

    @abstractmethod
    def candidates(self, s: TextTokens, now: datetime) -> Iterator[ValueCandidate]:
        """Yield all candidates of values."""

    def read(self, text: str, *, now: datetime, locale: Locale | None = None) -> Reading:
        """Return the likeliest reading of a text; see `Reader`."""
        return self.readings(text, now=now, locale=locale, most=1)[0]

    def readings(
        self, text: str, *, now: datetime, locale: Locale | None = None, most: int = 8
    ) -> tuple[Reading, ...]:
        """Return up to so many readings, the likeliest first; see `Reader`.

        Raises:
            GenieError: I002, the text is too long.
        """
        if len(text) > MOST_CHARACTERS:
            message = f"expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}"
            raise GenieError(Problem("I002", message, hint="give one command at a time"))
        s = sentence(text, locale or self.locale, self.units)
        return read_choices(s, list(self.candidates(s, now)), most=most, phrases=self.phrases)


def read_choices(
    s: TextTokens, candidates: Sequence[ValueCandidate], *, most: int, phrases: Phrases = NO_PHRASES
) -> tuple[Reading, ...]:
    """Return the readings that the candidates allow."""
    candidates = [*candidates, *phrases.numbers_in_words(s, candidates)]
    if not candidates:
        return (Reading(tuple([token for token, _, _ in s.tokens])),)
    fitting = phrases.weaken(by_context(candidates, s.words), s)
    return tuple(_reading(s, taken, doubt) for doubt, taken in choices(fitting, most=most))


def _reading(s: TextTokens, taken: Sequence[ValueCandidate], doubt: int) -> Reading:
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
                candidate.type,
                candidate.value,
                text,
                (candidate.start, candidate.end),
                candidate.other,
            )
            start = last = max(start, candidate.end)
        if start == begin and end > last:
            tokens.append(token)
        elif start < end:
            tokens.extend(tokenize(s.text[start:end]))
    return Reading(tuple(tokens), values, doubt)
