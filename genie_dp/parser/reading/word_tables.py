"""The words of a language as its reader looks them up: by their first token, the longest first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from genie_dp.locale import Words, sentences_of
from genie_dp.number_words import SpelledNumbers, spelled_numbers, typed_forms, without_accents
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.skills.words import tokenize

LETTERS = frozenset(("H", "M", "N", "D", "YEAR", "MONTH", "WEEKDAY"))
_MOST_UNBOUND = 3  # parts of a pattern that tells no more than "H uhr M"
Phrases = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]


class Pattern(NamedTuple):
    """A pattern of a time or a date.

    Attributes:
        parts: words, and letters that stand for numbers and names.
        value: what it means.
        after: one of these stands before it; if there are none, anything may.
        is_open: it ends in a number that may as well count what follows.
    """

    parts: tuple[str, ...]
    value: str
    after: frozenset[str] = frozenset()
    is_open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class WordTables:
    """The words of a language by their first token.

    Attributes:
        unit_stems: the beginnings of words of units, without accents -> the whole words.
        parts_of_weekdays: words such as "dienstagabend" -> the length of the day.
        times, dates: patterns by the word or letter with which they begin.
        before_hours, before_days: words after which a number alone may be an hour, or a day.
        hour_words: what follows an hour in digits: "uhr".
        after_values: words that no number counts; what follows a number is none of these if it is
            counted.
        before_values: articles and prepositions, which join a time to a day.
        has_stops: whether a full stop follows the day of a month.
        begins: words that begin a value.
    """

    words: Words
    numbers: SpelledNumbers
    scales: Mapping[str, Decimal]
    fractions: Mapping[str, Decimal]
    number_endings: Mapping[str, Decimal]
    units: Phrases
    unit_stems: Mapping[str, str]
    unit_endings: tuple[str, ...]
    amounts: Phrases
    currencies: Phrases
    cents: Phrases
    below_zero: Phrases
    days: Phrases
    parts_of_day: Phrases
    percent: Phrases
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    parts_of_weekdays: Mapping[str, int]
    times: Mapping[str, tuple[Pattern, ...]]
    dates: Mapping[str, tuple[Pattern, ...]]
    before_hours: frozenset[str]
    before_days: frozenset[str]
    hour_words: frozenset[str]
    after_values: frozenset[str]
    before_values: frozenset[str]
    has_stops: bool
    begins: frozenset[str]

    def begun(self, s: TextTokens) -> list[bool]:
        """Return for each token whether a value may begin there."""
        joiners, units = self.words.between_amounts, self.units
        return [
            not masked and (_begins(self, word) or (word in units and s.word(at) in joiners))
            for at, (word, masked) in enumerate(zip(s.words, s.masked, strict=True), start=1)
        ]

    def split(self, s: TextTokens) -> TextTokens:
        """Return a text with "d'", "une" for "d'une", and with "uur" for "uurtje"."""
        if not any(_is_made(self, word) for word in s.words):
            return s
        tokens = [
            part
            for one in zip(s.words, s.starts, s.ends, s.masked, strict=True)
            for part in self._parts(s.text, *one)
        ]
        words, starts, ends, masked = zip(*tokens, strict=True)
        return replace(
            s, words=words, starts=starts, ends=ends, masked=masked, begins=range(len(words))
        )

    def _parts(
        self, text: str, word: str, start: int, end: int, is_masked: bool
    ) -> Iterator[tuple[str, int, int, bool]]:
        while not is_masked:
            first, apostrophe, rest = word.partition("'")
            half, _, behind = word.partition("-")
            if rest and first in self.words.elided and text[end : end + 1] != "@":
                first += apostrophe
            elif behind and half in self.fractions:
                first, rest = half, behind
            elif (length := self.parts_of_weekdays.get(word)) is not None:
                first, rest = word[:length], word[length:]
            else:
                break
            yield first, start, start + len(first), is_masked
            word, start = rest, end - len(rest)
        whole = None if is_masked else self.whole_unit(word)
        yield whole or word, start, end, is_masked

    def whole_unit(self, word: str) -> str | None:
        """Return the word of a unit that another one is made of.

        >>> from genie_dp.locale import words_of
        >>> tables_of(words_of("nl")).whole_unit("minuutjes")
        'minuut'
        """
        if not word.endswith(self.unit_endings):
            return None
        for ending in self.unit_endings:
            if word.endswith(ending):
                stem = self.unit_stems.get(without_accents(word.removesuffix(ending)))
                if stem is not None and stem != word:
                    return stem
        return None

    def counted_unit(self, word: str) -> tuple[Decimal, str] | None:
        """Return number and unit of one word such as "zehnminütigen"."""
        if not word.endswith(self.unit_endings):
            return None
        plain = without_accents(word)
        for ending in self.unit_endings:
            rest = plain.removesuffix(ending)
            for stem, unit in self.unit_stems.items() if rest != plain else ():
                start = rest.removesuffix(stem)
                if start and start != rest:
                    number = self.numbers.values.get((start,), self.fractions.get(f"{start}e"))
                    if number is not None:
                        return number, unit
        return None


_KEPT = 1 << 15
_MARKS = frozenset((".", "?", "!", ":", ";", "(", ")", "'", '"', "/", "-", "–"))


@lru_cache(maxsize=_KEPT)
def _is_made(tables: WordTables, word: str) -> bool:
    """Tell whether a word has parts, or is made of that of a unit."""
    return (
        "'" in word
        or "-" in word
        or word in tables.parts_of_weekdays
        or tables.whole_unit(word) is not None
    )


@lru_cache(maxsize=_KEPT)
def _begins(tables: WordTables, word: str) -> bool:
    """Tell whether a value may begin with a word: most begin none."""
    numbers = tables.numbers
    return word in tables.begins or (
        word not in _MARKS
        and (
            not word.isalpha()
            or word.endswith((*tables.number_endings, *tables.unit_endings))
            or any(name and name in word for name in (numbers.thousand, numbers.hundred))
        )
    )


def _by_first(phrases: Mapping[str, str], elided: frozenset[str] = frozenset()) -> Phrases:
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    typed = {form: value for text, value in phrases.items() for form in typed_forms(text)}
    cut = [(tuple(_cut(tokenize(text), elided)), v) for text, v in {**typed, **phrases}.items()]
    for tokens, value in sorted(cut, key=lambda item: -len(item[0])):
        found.setdefault(tokens[0], []).append((tokens, value))
    return {first: tuple(several) for first, several in found.items()}


def _cut(tokens: Sequence[str], elided: frozenset[str]) -> Iterator[str]:
    """Yield the tokens of a phrase as `WordTables.split` leaves them."""
    for token in tokens:
        start, apostrophe, rest = token.partition("'")
        yield from (start + apostrophe, rest) if rest and start in elided else (token,)


def _by_word(lines: Mapping[str, str], elided: frozenset[str]) -> Phrases:
    """Return the words of lines NAME = WORDS, each with its name; "_" joins those of a phrase."""
    named = {word: name for name, words in lines.items() for word in words.split()}
    return _by_first({word.replace("_", " "): name for word, name in named.items()}, elided)


def _names(lines: Sequence[str]) -> Mapping[str, int]:
    names = {name: place for place, line in enumerate(lines) for name in line.split()}
    return {form: n for name, n in names.items() for form in typed_forms(name)} | names


def pattern_of(text: str, value: str, words: Words) -> Pattern:
    """Return a pattern without alternatives.

    >>> from genie_dp.locale import words_of
    >>> pattern_of("<um ab> H", "H:00", words_of("de")).parts
    ('H',)
    """
    after: tuple[str, ...] = ()
    if text.startswith("<"):
        context, _, text = text[1:].partition(">")
        after = tuple(context.split())
    parts = tuple(_cut(text.split(), words.elided))
    is_open = (
        (parts[-1] in ("H", "M", "D") or parts == ("D", "."))
        and len(parts) <= _MOST_UNBOUND
        and (parts[0] in LETTERS or parts[0] in words.articles)
    )
    return Pattern(parts, value, frozenset(after), is_open)


def _patterns(lines: Mapping[str, str], words: Words) -> Mapping[str, tuple[Pattern, ...]]:
    expanded = {text: value for line, value in lines.items() for text in sentences_of(line)}
    typed = {form: value for text, value in expanded.items() for form in typed_forms(text)}
    found: dict[str, list[Pattern]] = {}
    for text, value in {**typed, **expanded}.items():
        pattern = pattern_of(text, value, words)
        found.setdefault(pattern.parts[0], []).append(pattern)
    return {
        first: tuple(sorted(several, key=lambda one: -len(one.parts)))
        for first, several in found.items()
    }


def _contexts(patterns: Mapping[str, tuple[Pattern, ...]], letter: str) -> frozenset[str]:
    """Return the words behind which a pattern begins with a letter."""
    every = [one for several in patterns.values() for one in several]
    before = {word for one in every if letter in one.parts for word in one.after}
    articles = {one.parts[0] for one in every if one.parts[1:] == (letter,) and one.is_open}
    return frozenset(before | articles)


def _stems(words: Words) -> Mapping[str, str]:
    """Return the beginnings of the words of units and amounts that others are made of."""
    found: dict[str, str] = {}
    named = (*words.units.values(), *words.currencies.values(), *words.amounts)
    for word in (word for names in named for word in names.split() if len(word) > 2):
        found.setdefault(without_accents(word), word)
        if word[-1] in "aeo":
            found.setdefault(without_accents(word[:-1]), word)
    return found


@lru_cache(maxsize=16)
def tables_of(words: Words) -> WordTables:
    """Return the tables of a language.

    Raises:
        GenieError: I003, what spells the numbers of the language is not installed.
    """
    times, dates = _patterns(words.times, words), _patterns(words.dates, words)
    numbers, elided = spelled_numbers(words), words.elided
    months, weekdays = _names(words.months), _names(words.weekdays)
    amounts, days = _by_first(words.amounts, elided), _by_first(words.days, elided)
    parts_of_day = _by_first(words.parts_of_day, elided)
    phrases = (*words.endings, *words.command_endings, *words.at_once, *words.parts_of_day)
    decimals: Callable[[Mapping[str, str]], Mapping[str, Decimal]] = lambda lines: {  # noqa: E731
        name: Decimal(value) for name, value in lines.items()
    }
    return WordTables(
        words,
        numbers,
        decimals(words.scales),
        decimals(words.fractions),
        decimals(words.number_endings),
        _by_word(words.units, elided),
        _stems(words),
        tuple(sorted(words.unit_endings, key=len, reverse=True)),
        amounts,
        _by_word(words.currencies, elided),
        _by_word(words.cents, elided),
        _by_first(dict.fromkeys(words.below_zero, ""), elided),
        days,
        parts_of_day,
        _by_first(dict.fromkeys(words.percent, words.percent[0])) if words.percent else {},
        months,
        weekdays,
        {
            day + part: len(day)
            for day in (line.split()[0] for line in words.weekdays)
            for part in words.parts_of_day
            if " " not in part
        },
        times,
        dates,
        _contexts(times, "H"),
        _contexts(dates, "D"),
        frozenset(
            one.parts[1]
            for one in times.get("H", ())
            if len(one.parts) == 2 and one.parts[1] not in LETTERS
        ),
        frozenset().union(
            words.function_words,
            words.prepositions,
            words.verbs,
            days,
            weekdays,
            (next(_cut(tokenize(phrase), elided)) for phrase in phrases),
        )
        - words.scales.keys(),
        words.articles | words.prepositions | words.before_times | words.range_links,
        any(one.parts[:2] == ("D", ".") for one in dates.get("D", ())),
        frozenset().union(
            (said[0] for said in (*numbers.starts, *numbers.ordinals)),
            words.minus,
            words.fractions,
            words.scales,
            amounts,
            days,
            parts_of_day.keys() - words.articles,
            months,
            weekdays,
            times.keys() - LETTERS,
            dates.keys() - LETTERS,
            (words.signs.get("decimal", "."),),
        ),
    )
