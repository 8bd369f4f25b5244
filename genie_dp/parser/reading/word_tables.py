"""The words of a language as its reader looks them up: by their first token, the longest first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from genie_dp.locale import Words, sentences_of
from genie_dp.parser.reading.sentence import PhraseTable, TextTokens, phrase_table
from genie_dp.skills.words import tokenize
from genie_dp.texts import without_accents
from genie_dp.values.spelling import spelled_numbers, typed_forms

LETTERS = frozenset(("H", "M", "N", "D", "YEAR", "MONTH", "WEEKDAY"))
_MOST_UNBOUND = 3  # parts of a pattern that tells no more than "H uhr M"


class MomentPattern(NamedTuple):
    """A pattern of a time or a date.

    Attributes:
        parts: words, and letters that stand for numbers and names.
        value: its meaning.
        after: one of these stands before it; if there are none, anything may.
        is_open: it ends in a number that may as well count what follows.
    """

    parts: tuple[str, ...]
    value: str
    after: frozenset[str] = frozenset()
    is_open: bool = False


class WordTables:
    """The words of a language by their first token."""

    def __init__(self, words: Words):
        """Make the tables of a language.

        Raises:
            GenieError: I003, the package that spells the numbers of the language is not installed.
        """
        elided = words.elided
        self.words, self.numbers = words, spelled_numbers(words)
        self.scales, self.fractions = _decimals(words.scales), _decimals(words.fractions)
        self.number_endings = _decimals(words.number_endings)
        self.units, self.amounts = _by_word(words.units, elided), _by_first(words.amounts, elided)
        # The beginnings of words of units, without accents, each with the whole word.
        self.unit_stems = _stems(words)
        self.unit_endings = tuple(sorted(words.unit_endings, key=len, reverse=True))
        self.currencies = _by_word(words.currencies, elided)
        self.cents = _by_word(words.cents, elided)
        self.below_zero = _by_first(dict.fromkeys(words.below_zero, ""), elided)
        self.percent = _by_first({text: words.percent[0] for text in words.percent})
        self.days = _by_first(words.days, elided)
        self.parts_of_day = _by_first(words.parts_of_day, elided)
        self.months, self.weekdays = _names(words.months), _names(words.weekdays)
        # Words such as "dienstagabend", with the length of the day.
        self.parts_of_weekdays = {
            day + part: len(day)
            for day in (line.split()[0] for line in words.weekdays)
            for part in words.parts_of_day
            if " " not in part
        }
        # Patterns by the word or letter with which they begin.
        times = self.times = _patterns(words.times, words)
        dates = self.dates = _patterns(words.dates, words)
        # Words behind which a number alone may be an hour, or a day.
        self.before_hours, self.before_days = _contexts(times, "H"), _contexts(dates, "D")
        pairs = [pattern.parts for pattern in times.get("H", ()) if len(pattern.parts) == 2]
        self.hour_words = frozenset(word for _, word in pairs) - LETTERS  # behind digits: "uhr"
        # Whether a full stop follows the day of a month.
        self.has_stops = any(pattern.parts[:2] == ("D", ".") for pattern in dates.get("D", ()))
        phrases = (*words.endings, *words.command_endings, *words.at_once, *words.parts_of_day)
        # Words that no number counts.
        self.after_values = frozenset().union(
            words.function_words, words.prepositions, words.verbs, self.days, self.weekdays,
            (next(_cut(tokenize(phrase), elided)) for phrase in phrases),
        ) - words.scales.keys()  # fmt: skip
        # Articles and prepositions, which join a time to a day.
        self.before_values = (
            words.articles | words.prepositions | words.before_times | words.range_links
        )
        # Words with which a value may begin.
        self.begins = frozenset().union(
            (spelled[0] for spelled in (*self.numbers.starts, *self.numbers.ordinals)),
            words.minus, words.fractions, words.scales, self.amounts, self.days,
            self.parts_of_day.keys() - words.articles, self.months, self.weekdays,
            times.keys() - LETTERS, dates.keys() - LETTERS, (words.signs.get("decimal", "."),),
        )  # fmt: skip

    def find_beginnings(self, s: TextTokens) -> list[bool]:
        """Return for each token whether a value may begin there."""
        joiners, units = self.words.between_amounts, self.units
        return [
            not masked and (_begins(self, word) or (word in units and s.word(following) in joiners))
            for following, (word, masked) in enumerate(zip(s.words, s.masked, strict=True), start=1)
        ]

    def split(self, s: TextTokens) -> TextTokens:
        """Return a text with "d'", "une" for "d'une", and with "uur" for "uurtje"."""
        if not any(_is_made(self, word) for word in s.words):
            return s
        tokens = [
            part
            for token in zip(s.words, s.starts, s.ends, s.masked, strict=True)
            for part in self._parts(s.text, *token)
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
    """Return whether a word has parts, or is made of the name of a unit."""
    return (
        "'" in word
        or "-" in word
        or word in tables.parts_of_weekdays
        or tables.whole_unit(word) is not None
    )


@lru_cache(maxsize=_KEPT)
def _begins(tables: WordTables, word: str) -> bool:
    """Return whether a value may begin with a word: most begin none."""
    numbers = tables.numbers
    return word in tables.begins or (
        word not in _MARKS
        and (
            not word.isalpha()
            or word.endswith((*tables.number_endings, *tables.unit_endings))
            or any(name and name in word for name in (numbers.thousand, numbers.hundred))
        )
    )


def _decimals(lines: Mapping[str, str]) -> Mapping[str, Decimal]:
    return {name: Decimal(value) for name, value in lines.items()}


def _by_first(phrases: Mapping[str, str], elided: frozenset[str] = frozenset()) -> PhraseTable:
    typed = {form: value for text, value in phrases.items() for form in typed_forms(text)}
    return phrase_table(
        (tuple(_cut(tokenize(text), elided)), value) for text, value in {**typed, **phrases}.items()
    )


def _cut(tokens: Sequence[str], elided: frozenset[str]) -> Iterator[str]:
    """Yield the tokens of a phrase as `WordTables.split` leaves them."""
    for token in tokens:
        start, apostrophe, rest = token.partition("'")
        yield from (start + apostrophe, rest) if rest and start in elided else (token,)


def _by_word(lines: Mapping[str, str], elided: frozenset[str]) -> PhraseTable:
    """Return the words of lines NAME = WORDS, each with its name; "_" joins those of a phrase."""
    named = {word: name for name, words in lines.items() for word in words.split()}
    return _by_first({word.replace("_", " "): name for word, name in named.items()}, elided)


def _names(lines: Sequence[str]) -> Mapping[str, int]:
    names = {name: place for place, line in enumerate(lines) for name in line.split()}
    return {form: n for name, n in names.items() for form in typed_forms(name)} | names


def pattern_of(text: str, value: str, words: Words) -> MomentPattern:
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
    return MomentPattern(parts, value, frozenset(after), is_open)


def _patterns(lines: Mapping[str, str], words: Words) -> Mapping[str, tuple[MomentPattern, ...]]:
    expanded = {text: value for line, value in lines.items() for text in sentences_of(line)}
    typed = {form: value for text, value in expanded.items() for form in typed_forms(text)}
    patterns: dict[str, list[MomentPattern]] = {}
    for text, value in {**typed, **expanded}.items():
        pattern = pattern_of(text, value, words)
        patterns.setdefault(pattern.parts[0], []).append(pattern)
    return {
        first: tuple(sorted(group, key=lambda x: -len(x.parts)))
        for first, group in patterns.items()
    }


def _contexts(patterns: Mapping[str, tuple[MomentPattern, ...]], letter: str) -> frozenset[str]:
    """Return the words behind which a pattern begins with a letter."""
    all_patterns = [pattern for group in patterns.values() for pattern in group]
    before = {word for pattern in all_patterns if letter in pattern.parts for word in pattern.after}
    articles = {
        pattern.parts[0]
        for pattern in all_patterns
        if pattern.parts[1:] == (letter,) and pattern.is_open
    }
    return frozenset(before | articles)


def _stems(words: Words) -> Mapping[str, str]:
    """Return the beginnings of the words of units and amounts that others are made of."""
    stems: dict[str, str] = {}
    named = (*words.units.values(), *words.currencies.values(), *words.amounts)
    for word in (word for names in named for word in names.split() if len(word) > 2):
        stems.setdefault(without_accents(word), word)
        if word[-1] in "aeo":
            stems.setdefault(without_accents(word[:-1]), word)
    return stems


@lru_cache(maxsize=16)
def tables_of(words: Words) -> WordTables:
    """Return the tables of a language, made once."""
    return WordTables(words)
