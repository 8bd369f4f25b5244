"""The reader of languages whose values are told by lists of words: `locales/LANGUAGE.txt`.

Numbers in digits and in words, shares, measures, durations, money, times, dates, and what is told
by its shape: quotes, addresses, links. Patterns of times and dates are data; the grammar of the
default language (`grammar_reader`) reads more and is not asked here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from genie_dp.augment.written_numbers import plain_digits
from genie_dp.languages.units import COMMON, Units
from genie_dp.locale import LOCALE, Locale, Words
from genie_dp.number_words import SpelledNumbers, spelled_numbers
from genie_dp.parser.reading.grammar_reader import checked_sentence, read_choices
from genie_dp.parser.reading.marks import marks
from genie_dp.parser.reading.measures import stem_of
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.reading import Candidate, Reading
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.skills.words import tokenize

_DIGITS = re.compile(r"([+-]?)(\d{1,18}(?:[.,]\d+)*)")
_ATTACHED = re.compile(r"([+-]?\d+(?:[.,]\d+)*)-?([^\W\d_]+[23]?|°c?|%|€|\$|£)")
_SIGNED = re.compile(r"([€$£])(\d+(?:[.,]\d+)*)")
_CLOCK = re.compile(r"([01]?\d|2[0-4])(?::|h)([0-5]\d)(?::([0-5]\d))?")
_HOUR = re.compile(r"([01]?\d|2[0-4])(h|u)")
_ISO = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_NUMERIC = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)?")
_DAY = re.compile(r"(\d{1,2})(?:\.|er|e|ste|de|º|ª)?")
_YEAR = re.compile(r"[12]\d{3}")
_HOUR_SUM = re.compile(r"H(?:([+-])(\d+))?:(.+)")
_LARGER = ("year", "mon", "week", "day", "h", "min", "s", "ms")
_MOST_PARTS = 4  # of "1 Tag 2 Stunden 3 Minuten 4 Sekunden"


class _Number(NamedTuple):
    """A number at a token, and the place of the token after it.

    Attributes:
        is_article: it is the article of a language whose article is its one, too.
    """

    value: Decimal
    end: int
    is_said: bool = False
    is_article: bool = False


class _Amount(NamedTuple):
    value: Decimal
    unit: str
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """The words of a language by their first token, the longest first."""

    words: Words
    numbers: SpelledNumbers
    units: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    amounts: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    currencies: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    days: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    percent: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    times: "_Patterns"
    dates: "_Patterns"


class _Patterns(NamedTuple):
    """Patterns of words, the longest first, and the words that one begins with."""

    all: tuple[tuple[tuple[str, ...], str], ...]
    firsts: frozenset[str]


def _by_first(
    phrases: Mapping[str, str],
) -> Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]:
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for text, value in sorted(phrases.items(), key=lambda item: -len(item[0].split())):
        tokens = tokenize(text)
        found.setdefault(tokens[0], []).append((tokens, value))
    return {first: tuple(several) for first, several in found.items()}


def _names(lines: Sequence[str]) -> Mapping[str, int]:
    return {name: place for place, line in enumerate(lines) for name in line.split()}


def _patterns(patterns: Mapping[str, str]) -> _Patterns:
    found = [(tuple(text.split()), value) for text, value in patterns.items()]
    longest_first = tuple(sorted(found, key=lambda item: -len(item[0])))
    return _Patterns(longest_first, frozenset(words[0] for words, _ in found))


@lru_cache(maxsize=16)
def _tables_of(words: Words) -> _Tables:
    return _Tables(
        words,
        spelled_numbers(words),
        _by_first({name: unit for unit, names in words.units.items() for name in names.split()}),
        _by_first(words.amounts),
        _by_first(
            {name: code for code, names in words.currencies.items() for name in names.split()}
        ),
        _by_first(words.days),
        _by_first(dict.fromkeys(words.percent, words.percent[0])) if words.percent else {},
        _names(words.months),
        _names(words.weekdays),
        _patterns(words.times),
        _patterns(words.dates),
    )


class WordsReader:
    """Reads by the lists of one language: no process, no network, the same everywhere."""

    def __init__(self, words: Words, phrases: Phrases = NO_PHRASES, units: Units = COMMON) -> None:
        """Keep the words, what the skills say with words that are values, and the units to find.

        Raises:
            GenieError: I003, what spells the numbers of the language is not installed.
        """
        self.phrases, self.units = phrases, units
        self._tables = _tables_of(words)

    def read(self, text: str, *, now: datetime, locale: Locale = LOCALE) -> Reading:
        """Return the likeliest reading of a text; see `Reader`."""
        return self.readings(text, now=now, locale=locale, most=1)[0]

    def readings(
        self, text: str, *, now: datetime, locale: Locale = LOCALE, most: int = 8
    ) -> tuple[Reading, ...]:
        """Return up to so many readings, the likeliest first; see `Reader`."""
        s = checked_sentence(text, locale, self.units)
        candidates = list(_Finder(self._tables, s, now).candidates())
        return read_choices(s, candidates, most=most, phrases=self.phrases)


class _Finder:
    """Finds what may be a value in one text."""

    def __init__(self, tables: _Tables, s: TextTokens, now: datetime) -> None:
        self.tables, self.s, self.now = tables, s, now
        self.numbers = tuple(self._number(place) for place in range(len(s.words)))

    def candidates(self) -> Iterator[Candidate]:
        for mark in marks(self.s):
            # "3.4.2027" may be dialled, and is a day.
            text = self.s.text[mark.start : mark.end]
            if mark.stem != "PHONE_NUMBER" or self._numeric(text) is None:
                yield mark
        for place, word in enumerate(self.s.words):
            if self.s.masked[place]:
                continue
            yield from self._plain(place)
            yield from self._measure(place)
            yield from self._money(place, word)
            yield from self._time(place, word)
            yield from self._date(place, word)

    # ------------------------------------------------------------------------------ numbers

    def _number(self, at: int) -> _Number | None:
        s, words = self.s, self.tables.words
        if s.masked[at]:
            return None
        if s.word(at) in words.minus:
            number = self._unsigned(at + 1) if at + 1 < len(s.words) else None
            return number._replace(value=-number.value) if number is not None else None
        return self._unsigned(at)

    def _unsigned(self, at: int) -> _Number | None:
        word = self.s.word(at)
        if word[:1].isdigit() or word[:1] in ("+", "-"):
            value = self._digits(word)
            return None if value is None else _Number(value, at + 1)
        spelled = self.tables.numbers.find(self.s.words, at)
        if spelled is not None:
            return _Number(spelled.value, spelled.end, is_said=True)
        numbers = self.tables.numbers
        if word in self.tables.words.articles and numbers.values.get((word,)) == 1:
            return _Number(Decimal(1), at + 1, is_said=True, is_article=True)
        return None

    def _digits(self, text: str) -> Decimal | None:
        """Return the number of digits with the signs of the language: "1.200,5".

        A sign for thousands that does not part groups of three is one for decimals: "2.5".
        """
        match = _DIGITS.fullmatch(text)
        if match is None or not text.isascii():
            return None
        signs = self.tables.words.signs
        decimal, thousands = signs.get("decimal", "."), signs.get("thousands", ",")
        whole, sign, behind = match[2].partition(decimal)
        groups = whole.split(thousands)
        if len(groups) == 2 and not sign and len(groups[1]) != 3:
            whole, behind = groups
        elif len(groups) > 1 and not (
            len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
        ):
            return None
        else:
            whole = "".join(groups)
        if not behind.isdigit() and behind:
            return None
        value = Decimal(f"{whole}.{behind or 0}")
        return -value if match[1] == "-" else value

    def _plain(self, at: int) -> Iterator[Candidate]:
        s, number = self.s, self.numbers[at]
        if number is None:
            match = _ATTACHED.fullmatch(s.word(at))
            share = self._digits(match[1]) if match is not None and match[2] == "%" else None
            if share is not None:
                after = (*self.tables.words.percent, "%")[0]
                yield s.candidate(at, at + 1, "NUMBER", plain_digits(share), after=after)
            return
        text = plain_digits(number.value)
        for words, first in self.tables.percent.get(s.word(number.end), ()):
            if s.has(number.end, *words):
                # A word that is said as it is stays where it is.
                is_as_said = words == (first,)
                end = number.end if is_as_said else number.end + len(words)
                after = "" if is_as_said else first
                yield s.candidate(at, end, "NUMBER", text, after=after)
                return
        if not number.is_article:
            is_soft = number.is_said and number.end == at + 1
            yield s.candidate(at, number.end, "NUMBER", text, soft=is_soft)

    # ----------------------------------------------------------------------- measures, money

    def _amount(self, at: int) -> _Amount | None:
        """Return a number with its unit, or words that are both: "half an hour"."""
        s, tables = self.s, self.tables
        if at >= len(s.words) or s.masked[at]:
            return None
        for words, value in tables.amounts.get(s.word(at), ()):
            count, _, unit = value.partition(" ")
            if s.has(at, *words) and unit in s.units:
                return _Amount(Decimal(count), unit, at + len(words))
        number = self.numbers[at]
        if number is not None:
            for words, unit in tables.units.get(s.word(number.end), ()):
                if s.has(number.end, *words) and unit in s.units:
                    return _Amount(number.value, unit, number.end + len(words))
            return None
        match = _ATTACHED.fullmatch(s.word(at))
        if match is not None and (value_of := self._digits(match[1])) is not None:
            for words, unit in tables.units.get(match[2], ()):
                if len(words) == 1 and unit in s.units:
                    return _Amount(value_of, unit, at + 1)
        return None

    def _measure(self, at: int) -> Iterator[Candidate]:
        s, amount = self.s, self._amount(at)
        if amount is None:
            return
        parts = [amount]
        while len(parts) < _MOST_PARTS and parts[-1].unit in _LARGER:
            place = parts[-1].end
            place += s.word(place) in self.tables.words.between_amounts
            smaller = self._amount(place)
            later = _LARGER[_LARGER.index(parts[-1].unit) + 1 :]
            if smaller is None or smaller.unit not in later:
                break
            parts.append(smaller)
        value = " ".join(f"{plain_digits(part.value)} unit:{part.unit}" for part in parts)
        stem = stem_of(amount.unit, s.units)
        yield s.candidate(at, parts[-1].end, stem, value)
        if len(parts) > 1:
            yield s.candidate(
                at, amount.end, stem, value.partition(" unit:")[0] + f" unit:{amount.unit}"
            )

    def _money(self, at: int, word: str) -> Iterator[Candidate]:
        s, number = self.s, self.numbers[at]
        match = _SIGNED.fullmatch(word) or _ATTACHED.fullmatch(word)
        found: tuple[Decimal, str, int] | None = None
        if number is not None:
            found = (number.value, s.word(number.end), number.end + 1)
        elif match is not None:
            digits, name = (match[2], match[1]) if word[0] in "€$£" else (match[1], match[2])
            value = self._digits(digits)
            found = (value, name, at + 1) if value is not None else None
        if found is None:
            return
        value, name, end = found
        for words, code in self.tables.currencies.get(name, ()):
            if len(words) == 1 and value >= 0:
                code = s.locale.currency if name == "$" else code
                amount = f"currency:{plain_digits(value)}:{code}"
                yield s.candidate(at, end, "CURRENCY", amount)

    # ------------------------------------------------------------------------------ patterns

    def _time(self, at: int, word: str) -> Iterator[Candidate]:
        clock = _CLOCK.fullmatch(word)
        if clock is not None:
            yield from self._time_candidate(at, at + 1, *(int(x or 0) for x in clock.groups()))
        elif (hour := _HOUR.fullmatch(word)) is not None:
            yield from self._time_candidate(at, at + 1, int(hour[1]), 0, 0)
        for pattern, value in self._patterns(self.tables.times, at):
            match = self._match(pattern, at)
            if match is None:
                continue
            end, read = match
            time = _clock_of(value, read)
            if time is not None:
                yield from self._time_candidate(at, end, *time, 0)
                return

    def _time_candidate(
        self, at: int, end: int, hour: int, minute: int, second: int
    ) -> Iterator[Candidate]:
        s = self.s
        if hour == 24 and not minute:
            hour = 0
        if hour > 23 or minute > 59:
            return
        # "19:30 uhr"
        is_told_again = f"H {s.word(end)}" in self.tables.words.times and end == at + 1
        end += is_told_again and self.numbers[at] is None
        amount = self._amount(at)
        is_duration = amount is not None and amount.end == end
        is_weak = is_duration and s.word(at - 1) not in self.tables.words.before_times
        value = f"time:{hour}:{minute:02d}:{second:02d}"
        yield s.candidate(at, end, "TIME", value, weak=is_weak)

    def _patterns(self, patterns: _Patterns, at: int) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the patterns that may begin at a token, the longest first."""
        word, tables = self.s.word(at), self.tables
        may_be_value = (
            self.numbers[at] is not None
            or word[:1].isdigit()
            or word in tables.months
            or word in tables.weekdays
            or (word,) in tables.numbers.ordinals
        )
        if word in patterns.firsts or may_be_value:
            yield from patterns.all

    def _match(self, pattern: Sequence[str], at: int) -> tuple[int, dict[str, int]] | None:
        """Return the place behind a pattern, and what its letters stand for; None if not here."""
        s, place, read = self.s, at, dict[str, int]()
        for part in pattern:
            if place >= len(s.words) or s.masked[place]:
                return None
            if part in ("H", "M", "N", "D", "YEAR", "MONTH", "WEEKDAY"):
                found = self._part(part, place)
                if found is None:
                    return None
                read[part], place = found
            elif s.word(place) != part:
                return None
            else:
                place += 1
        return place, read

    def _part(self, part: str, at: int) -> tuple[int, int] | None:
        """Return what stands for a letter of a pattern, and the place behind it."""
        s, tables = self.s, self.tables
        word = s.word(at)
        if part in ("MONTH", "WEEKDAY"):
            names = tables.months if part == "MONTH" else tables.weekdays
            # Short names are words of the language, too ("so", "di"), and want their full stop.
            is_short = len(word) < 4 and part == "WEEKDAY"
            is_there = word in names and (not is_short or s.word(at + 1) == ".")
            return (names[word], at + 1 + is_short) if is_there else None
        if part == "YEAR":
            return (int(word), at + 1) if _YEAR.fullmatch(word) else None
        if part == "D":
            day = _DAY.fullmatch(word)
            if day is not None and 1 <= int(day[1]) <= 31:
                return int(day[1]), at + 1
            for length in (3, 2, 1):
                said = tuple(s.words[at : at + length])
                if said in tables.numbers.ordinals:
                    return tables.numbers.ordinals[said], at + length
        number = self.numbers[at]
        limits = {"H": 24, "M": 59, "N": 999, "D": 31}
        if number is None or number.value != int(number.value):
            return None
        value = int(number.value)
        return (value, number.end) if 0 <= value <= limits[part] else None

    # --------------------------------------------------------------------------------- dates

    def _date(self, at: int, word: str) -> Iterator[Candidate]:
        s, today = self.s, self.now.date()
        if word[:1].isdigit() and (day := self._numeric(word)) is not None:
            yield from self._with_time(at, at + 1, day, soft=False)
            return
        for words, count in self.tables.days.get(word, ()):
            if s.has(at, *words):
                yield from self._with_time(
                    at, at + len(words), today + timedelta(days=int(count)), soft=True
                )
                return
        for pattern, count in self._patterns(self.tables.dates, at):
            match = self._match(pattern, at)
            day = None if match is None else _day_of(match[1], int(count), today)
            if match is not None and day is not None:
                is_soft = match[1].keys() == {"WEEKDAY"} and len(pattern) == 1
                yield from self._with_time(at, match[0], day, soft=is_soft)
                return

    def _numeric(self, word: str) -> date | None:
        """Return the day of "2027-03-14" or "14.3.2027"."""
        iso, numeric = _ISO.fullmatch(word), _NUMERIC.fullmatch(word)
        try:
            if iso is not None:
                return date(int(iso[1]), int(iso[2]), int(iso[3]))
            if numeric is None or numeric[4] is None:
                return None
            first, second, year = int(numeric[1]), int(numeric[3]), int(numeric[4])
            year += 2000 * (year < 100)
            is_day_first = self.s.locale.day_first or numeric[2] == "."
            day, month = (first, second) if is_day_first else (second, first)
            return date(year, month, day)
        except ValueError:
            return None

    def _with_time(self, at: int, end: int, day: date, *, soft: bool) -> Iterator[Candidate]:
        """Yield a day, and a day with the time behind it: "morgen um 8 uhr"."""
        s = self.s
        yield s.candidate(at, end, "DATE", f"date:{day.isoformat()}", soft=soft)
        for place in (end, end + (s.word(end) in self.tables.words.prepositions)):
            if place < len(s.words) and not s.masked[place]:
                for time in self._time(place, s.word(place)):
                    hour, minute, second = time.value.removeprefix("time:").split(":")
                    moment = f"{day.isoformat()}T{int(hour):02d}:{minute}:{second}"
                    last = s.ends.index(time.end) + 1
                    yield s.candidate(at, last, "DATE", f"date:{moment}")
                    return


def _clock_of(value: str, read: Mapping[str, int]) -> tuple[int, int] | None:
    """Return hour and minute of what a pattern stands for.

    >>> _clock_of("H-1:30", {"H": 8}), _clock_of("H+12:M", {"H": 7, "M": 5}), _clock_of("12:00", {})
    ((7, 30), (19, 5), (12, 0))
    >>> _clock_of("H-1:60-M", {"H": 8, "M": 20})
    (7, 40)
    """
    match = _HOUR_SUM.fullmatch(value)
    if match is None:
        fixed_hour, _, fixed_minute = value.partition(":")
        return int(fixed_hour), int(fixed_minute)
    sign, count, minutes = match.groups()
    hour_said, minute = read["H"], read.get("M", 0)
    if sign == "+":
        # "19 uhr abends" is said, too.
        hour_said += int(count) if hour_said < 12 else int(count) - 12
    elif sign == "-":
        hour_said = (hour_said - int(count)) % 24
    known = {"M": minute, "60-M": 60 - minute}
    return hour_said, known[minutes] if minutes in known else int(minutes)


def _day_of(read: Mapping[str, int], count: int, today: date) -> date | None:
    """Return the day of a pattern: without a year the next one, with -1 the one before."""
    try:
        if "WEEKDAY" in read:
            ahead = (read["WEEKDAY"] - today.weekday() - 1) % 7 + 1
            back = (today.weekday() - read["WEEKDAY"] - 1) % 7 + 1
            return today + timedelta(days=ahead if count > 0 else -back)
        if "N" in read:
            return today + timedelta(days=read["N"] * count)
        month, day = read["MONTH"] + 1, read["D"]
        if "YEAR" in read:
            return date(read["YEAR"], month, day)
        this = date(today.year, month, day)
        return this if this >= today else date(today.year + 1, month, day)
    except (ValueError, OverflowError):
        return None
