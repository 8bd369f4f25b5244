"""The reader of languages whose values are told by lists of words: `locales/LANGUAGE.txt`.

Numbers in digits and in words, shares, measures, durations, money, times, dates, and what is told
by its shape: quotes, addresses, links. Patterns of times and dates are data; the grammar of the
default language (`grammar_reader`) reads more and is not asked here.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from genie_dp.augment.written import next_day
from genie_dp.augment.written_numbers import plain_digits
from genie_dp.languages.units import COMMON, Units
from genie_dp.locale import Locale, Words
from genie_dp.parser.reading.grammar_reader import checked_sentence, read_choices
from genie_dp.parser.reading.marks import marks
from genie_dp.parser.reading.measures import stem_of
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.reading import Candidate, Reading
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.parser.reading.word_tables import LETTERS, Pattern, WordTables, tables_of
from genie_dp.parser.reading.word_tables import Phrases as PhraseTable

_DIGITS = re.compile(r"([+-]?)(\d{1,18}(?:[.,]\d+)*)")
_ATTACHED = re.compile(r"([+-]?\d+(?:[.,]\d+)*)-?([^\W\d_]+[23]?|°c?|%|€|\$|£)")
_HYPHENED = re.compile(r"(\d+(?:[.,]\d+)?)-([^\W\d_]+)-(?=\w)")
_SIGNED = re.compile(r"([€$£])(\d+(?:[.,]\d+)*)")
_CLOCK = re.compile(r"([01]?\d|2[0-4])(:|[a-z])([0-5]\d)(?::([0-5]\d))?")
_POINTED = re.compile(r"([01]?\d|2[0-4])\.([0-5]\d)")
_HOUR = re.compile(r"([01]?\d|2[0-4])(h|u)")
_ISO = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_NUMERIC = re.compile(r"(\d{1,2})([./-])(\d{1,2})(?:\2(\d{4}|\d\d))?")
_ORDINAL = re.compile(r"(\d{1,3})(\D+)")
_LEADING = re.compile(r"[+-]?[1-9]\d{0,2}")
_GROUP = re.compile(r"\d{3}(?:[.,]\d+)?", re.ASCII)
_YEAR = re.compile(r"[12]\d{3}")
_HOUR_SUM = re.compile(r"(?:H(?:([+-])(\d+))?|(\d+)):(?:(\d\d))?(?:([+-]?)M)?")
_MIXED = re.compile(r"(\d{0,6})([½¼¾])")
_MIXED_PARTS = {"½": Decimal("0.5"), "¼": Decimal("0.25"), "¾": Decimal("0.75")}
_LARGER = ("year", "mon", "week", "day", "h", "min", "s", "ms")
_MOST_PARTS = 4  # of "1 Tag 2 Stunden 3 Minuten 4 Sekunden"
# Half of one is said in smaller ones.
_IN_SMALLER = {"h": ("min", 60), "min": ("s", 60), "day": ("h", 24), "year": ("mon", 12)}
# What a number without unit counts behind these: "eine stunde dreißig", "1 meter 80".
_SMALLER = {"h": "min", "min": "s", "m": "cm"}
_MOST_DECIMALS = 9
_MOST_GROUPS = 5  # of three digits
_MOST_BELOW = 16  # of a fraction such as 3/8
_MILLION = 10**6
_MORNING = 6  # "5h30" is rather a duration, "7h30" a time
_DAWN = 5  # "at 2 at night" is before it, "at 11 at night" is not
_STOPS = frozenset(("", ".", ",", "!", "?", ";", ":", ")"))
_MOST_BEFORE_LINK = 8  # tokens of the first end of a range
_MOST_SKIPPED = 2  # words before the second end of a range: "bis zum", "tot en met"


class _Number(NamedTuple):
    """A number at a token, and the place of the token after it.

    Attributes:
        is_said: it is in words.
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


class _Clock(NamedTuple):
    """A time of day; `part` is the part of the day that was said behind it."""

    hour: int
    minute: int
    second: int
    end: int
    part: str = ""


class _Day(NamedTuple):
    """A day, and the part of it that was said."""

    day: date
    end: int
    part: str = ""
    is_soft: bool = False


class WordsReader:
    """Reads by the lists of one language: no process, no network, the same everywhere."""

    def __init__(
        self, locale: Locale, phrases: Phrases = NO_PHRASES, units: Units = COMMON
    ) -> None:
        """Keep the locale, what the skills say with words that are values, the units to find.

        Raises:
            GenieError: I003, what spells the numbers of the language is not installed.
        """
        self.locale, self.phrases, self.units = locale, phrases, units
        self._tables = tables_of(locale.words)

    def read(self, text: str, *, now: datetime, locale: Locale | None = None) -> Reading:
        """Return the likeliest reading of a text; see `Reader`."""
        return self.readings(text, now=now, locale=locale, most=1)[0]

    def readings(
        self, text: str, *, now: datetime, locale: Locale | None = None, most: int = 8
    ) -> tuple[Reading, ...]:
        """Return up to so many readings, the likeliest first; see `Reader`."""
        s = checked_sentence(text, locale or self.locale, self.units)
        return read_choices(s, list(self.candidates(s, now)), most=most, phrases=self.phrases)

    def candidates(self, s: TextTokens, now: datetime) -> Iterator[Candidate]:
        """Yield all that may be a value."""
        yield from _Finder(self._tables, s, now).candidates()


class _Finder:
    """Finds what may be a value in one text."""

    def __init__(self, tables: WordTables, s: TextTokens, now: datetime) -> None:
        self.tables, self.now = tables, now
        self.words: Words = tables.words
        self.s = tables.split(s)
        # Patterns count by whole numbers: "a las dos y media" is no two and a half.
        self.wholes: dict[int, _Number | None] = {}
        self.fractions: dict[int, tuple[Decimal, int] | None] = {}
        self.begun = tables.begun(self.s)
        places = enumerate(self.begun)
        self.numbers = tuple([self._number(at) if begun else None for at, begun in places])
        self.parts: dict[tuple[str, int], tuple[int, int] | None] = {}
        self.amounts: dict[int, _Amount | None] = {}
        self.clocks: dict[int, _Clock | None] = {}
        self.days: dict[int, _Day | None] = {}
        self.is_difference = not self.words.differences.isdisjoint(self.s.words)

    def candidates(self) -> Iterator[Candidate]:
        for mark in marks(self.s):
            # "3.4.2027" may be dialled, and is a day.
            text = self.s.text[mark.start : mark.end]
            if mark.stem != "PHONE_NUMBER" or self._written_day(text) is None:
                yield mark
        for place in range(len(self.s.words)):
            if not self.begun[place]:
                continue
            yield from self._range(place)  # of candidates that are equal the first counts
            yield from self._plain(place)
            yield from self._measure(place)
            yield from self._money(place)
            yield from self._time(place)
            yield from self._date(place)

    def _phrase(self, table: PhraseTable, at: int) -> tuple[str, int] | None:
        """Return the value of the longest phrase of a table at a token, and the place behind it."""
        for words, value in table.get(self.s.word(at), ()):
            if self.s.has(at, *words):
                return value, at + len(words)
        return None

    def _is_begun(self, at: int) -> bool:
        return 0 <= at < len(self.begun) and self.begun[at]

    def _is_beside(self, at: int) -> bool:
        """Tell whether a token begins right where the one before it ends."""
        s = self.s
        return 0 < at < len(s.words) and s.starts[at] == s.ends[at - 1]

    # ------------------------------------------------------------------------------ numbers

    def _whole(self, at: int) -> _Number | None:
        """Return the number at a token without fractions of a unit; "minus" and decimals count."""
        if not self._is_begun(at):
            return None
        if at not in self.wholes:
            self.wholes[at] = self._signed(at)
        return self.wholes[at]

    def _signed(self, at: int) -> _Number | None:
        s = self.s
        if s.word(at) in self.words.minus and not s.masked[at]:
            number = self._unsigned(at + 1)
            return number._replace(value=-number.value) if number is not None else None
        return self._unsigned(at)

    def _unsigned(self, at: int) -> _Number | None:
        s, numbers = self.s, self.tables.numbers
        if at >= len(s.words) or s.masked[at]:
            return None
        word = s.word(at)
        if word[:1].isdigit() or word[:1] in ("+", "-"):
            return self._in_digits(at, word)
        if word == self.words.signs.get("decimal", ".") and self._is_beside(at + 1):
            behind = s.word(at + 1)
            is_alone = not self._is_beside(at) and behind.isdigit() and behind.isascii()
            return _Number(Decimal(f"0.{behind}"), at + 2) if is_alone else None
        spelled = numbers.find(s.words, at)
        if spelled is not None:
            return self._with_decimals(_Number(spelled.value, spelled.end, is_said=True))
        if self._is_one(word):
            one = _Number(Decimal(1), at + 1, is_said=True, is_article=True)
            return self._with_decimals(one)
        for ending, fraction in self.tables.number_endings.items():
            count = numbers.values.get((word.removesuffix(ending),))
            if count is not None and word.endswith(ending):
                return _Number(count + fraction, at + 1, is_said=True)
        return None

    def _in_digits(self, at: int, word: str) -> _Number | None:
        """Return "1.200,5", "12 500", "2½", the 2 of "2e"."""
        s, value, end = self.s, self._digits(word), at + 1
        if value is None:
            mixed = _MIXED.fullmatch(word)
            if mixed is not None:
                return _Number(Decimal(mixed[1] or 0) + _MIXED_PARTS[mixed[2]], end)
            ordinal = self._ordinal(word)
            return None if ordinal is None else _Number(Decimal(ordinal), end)
        groups = word if _LEADING.fullmatch(word) else ""
        while groups.lstrip("+-").isdigit() and end <= at + _MOST_GROUPS:
            gap, group = (
                s.text[s.ends[end - 1] : s.starts[end]] if end < len(s.words) else "",
                s.word(end),
            )
            if len(gap) != 1 or not gap.isspace() or not _GROUP.fullmatch(group):
                break
            groups, end = groups + group, end + 1
        if end > at + 1:
            return _Number(self._digits(groups) or value, end)
        return self._with_decimals(_Number(value, end))

    def _ordinal(self, word: str) -> int | None:
        """Return the 2 of "2e" in a language that has such ordinals."""
        match = _ORDINAL.fullmatch(word)
        is_one = match is not None and match[2] in self.words.ordinal_endings
        return int(match[1]) if match is not None and is_one else None

    def _with_decimals(self, number: _Number) -> _Number:
        """Return "einundzwanzig komma fünf", "drei komma eins vier", "zwei komma null fünf"."""
        s, behind, end = self.s, "", number.end + 1
        if s.word(number.end) not in self.words.decimal_words or number.value % 1:
            return number
        while len(behind) < _MOST_DECIMALS:
            text, after = s.word(end), end + 1
            if not (text.isdigit() and text.isascii()):
                spelled = self.tables.numbers.find(s.words, end) if text else None
                one = Decimal(1) if self._is_one(text) else None
                value = spelled.value if spelled is not None else one
                if value is None or value % 1:
                    break
                text, after = plain_digits(value), spelled.end if spelled is not None else after
            if behind and len(text) > 1:
                break
            behind, end = behind + text, after
            if len(text) > 1:
                break
        if not behind:
            return number
        part = Decimal(f"0.{behind}").copy_sign(number.value)
        return _Number(number.value + part, end, is_said=True)

    def _is_one(self, word: str) -> bool:
        """Tell whether a word is an article that is the number one, too."""
        is_article = word in self.words.articles or not self.words.articles
        return is_article and self.tables.numbers.values.get((word,)) == 1

    def _number(self, at: int) -> _Number | None:
        """Return the number at a token, with what multiplies it and with fractions of it."""
        s, scales, whole = self.s, self.tables.scales, self._whole(at)
        if whole is None:
            fraction = self._fraction(at)
            if fraction is not None and s.word(fraction[1]) in scales:
                return _Number(fraction[0] * scales[s.word(fraction[1])], fraction[1] + 1, True)
            scale = scales.get(s.word(at))
            more = self._more(at + 1) if scale is not None else None
            if scale is None or more is None:
                return None
            return _Number(scale * (1 + more[0]), more[1], True)  # "docena y media"
        number = whole
        if number.value % 1 == 0:
            mixed = _MIXED.fullmatch(s.word(number.end))
            ending = self.tables.number_endings.get(s.word(number.end))
            is_digits = s.word(number.end - 1).isdigit()
            fraction = self._more(number.end)
            if ending is not None:
                fraction = ending, number.end + 1
            elif is_digits and (mixed is not None or s.word(number.end + 1) == "/"):
                fraction = self._fraction(number.end)
            if fraction is not None and number.value >= 0:
                number = _Number(number.value + fraction[0], fraction[1], number.is_said)
        scale = scales.get(s.word(number.end))
        if scale is None:
            return number
        value, end = number.value * scale, number.end + 1
        more = self._more(end)
        if more is not None:
            value, end = value + scale * more[0], more[1]
        elif scale >= _MILLION and (rest := self._whole(end)) is not None and rest.is_said:
            value, end = (value + rest.value, rest.end) if rest.value < scale else (value, end)
        return _Number(value, end, number.is_said)

    def _more(self, at: int) -> tuple[Decimal, int] | None:
        """Return the half of "and a half" behind a number, a unit or a scale, and its end."""
        if self.s.word(at) not in self.words.between_amounts:
            return None
        return self._fraction(at + 1)

    def _fraction(self, at: int) -> tuple[Decimal, int] | None:
        """Return "1/2", "½", "halbe", "eine halbe", "trois quarts" and the place behind it."""
        if at not in self.fractions:
            self.fractions[at] = self._plain_fraction(at) if self._is_begun(at) else None
        return self.fractions[at]

    def _plain_fraction(self, at: int) -> tuple[Decimal, int] | None:
        s, fractions = self.s, self.tables.fractions
        place = at + self._is_one(s.word(at))
        word = s.word(place)
        found: tuple[Decimal, int] | None = None
        if word in fractions:
            found = fractions[word], place + 1
        elif word in _MIXED_PARTS:
            found = _MIXED_PARTS[word], place + 1
        elif word.isdecimal() and s.word(place + 1) == "/" and s.word(place + 2).isdecimal():
            above, below = int(word), int(s.word(place + 2))
            # Rows have a space between all tokens.
            is_written = self._is_beside(place + 1) == self._is_beside(place + 2)
            if is_written and 0 < above < below <= _MOST_BELOW:
                found = Decimal(above) / below, place + 3
        elif place == at and (count := self._whole(at)) is not None and 1 < count.value < 10:
            part = fractions.get(s.word(count.end))
            found = (count.value * part, count.end + 1) if part is not None else None
        # "half negen" is a time.
        return None if found is None or self._whole(found[1]) is not None else found

    def _digits(self, text: str) -> Decimal | None:
        """Return the number of digits with the signs of the language: "1.200,5".

        A sign for thousands that does not part groups of three is one for decimals: "2.5".
        """
        match = _DIGITS.fullmatch(text)
        if match is None or not text.isascii():
            return None
        signs = self.words.signs
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
                after = (*self.words.percent, "%")[0]
                yield s.candidate(at, at + 1, "NUMBER", plain_digits(share), after=after)
            return
        text = plain_digits(number.value)
        percent = self._phrase(self.tables.percent, number.end)
        if percent is not None:
            # A word that is said as it is stays where it is.
            first, end = percent
            is_as_said = end == number.end + 1 and s.word(number.end) == first
            after = "" if is_as_said else first
            yield s.candidate(at, number.end if is_as_said else end, "NUMBER", text, after=after)
        elif not number.is_article or not self.words.articles:
            is_soft = number.is_said and number.end == at + 1
            weak = number.is_article  # where it is not known whether it is one
            yield s.candidate(at, number.end, "NUMBER", text, weak=weak, soft=is_soft)

    # ----------------------------------------------------------------------- measures, money

    def _unit(self, at: int) -> tuple[str, int] | None:
        """Return a unit that is looked for, and the place behind its words."""
        s = self.s
        for words, unit in self.tables.units.get(s.word(at), ()):
            if unit in s.units and s.has(at, *words):
                return unit, at + len(words)
        return None

    def _before_unit(self, at: int) -> int:
        """Return the place behind the words that may stand between a number and its unit."""
        for _ in range(2):
            at += self.s.word(at) in self.words.before_units
        return at

    def _amount(self, at: int) -> _Amount | None:
        """Return a number with its unit, or words that are both: "half an hour"."""
        if at not in self.amounts:
            found = self._plain_amount(at) if self._is_begun(at) else None
            self.amounts[at] = found and self._told_further(found)
        return self.amounts[at]

    def _plain_amount(self, at: int) -> _Amount | None:
        s = self.s
        if s.masked[at]:
            return None
        number, fraction = self.numbers[at], self._fraction(at)
        named = self._phrase(self.tables.amounts, at)
        if named is not None:
            return self._named_amount(Decimal(1), *named)
        for value, end in (
            *(((number.value, number.end),) if number is not None else ()),
            *((fraction,) if fraction is not None else ()),
        ):
            place = self._before_unit(end)
            unit = self._unit(place) or (self._unit(end) if place != end else None)
            if unit is not None:
                more = self._more(unit[1])
                is_more = more is not None and self._unit(more[1]) is None and value % 1 == 0
                if more is not None and is_more:
                    return _Amount(value + more[0], unit[0], more[1])
                smaller, count = _IN_SMALLER.get(unit[0], ("", 0))
                if 0 < value < 1 and smaller and smaller in s.units:  # "eine halbe stunde"
                    return _Amount(round(value * count, 6), smaller, unit[1])
                return _Amount(value, *unit)
            if (named := self._phrase(self.tables.amounts, place)) is not None:
                return self._named_amount(value, *named)
        if number is not None:
            return None
        unit = self._unit(at) if self._whole(at - 1) is None else None
        more = self._more(unit[1]) if unit is not None else None
        if unit is not None and more is not None:  # "hora y media"
            return _Amount(1 + more[0], unit[0], more[1])
        return self._joined_amount(at)

    def _named_amount(self, count: Decimal, value: str, end: int) -> _Amount | None:
        number, _, unit = value.partition(" ")
        return _Amount(count * Decimal(number), unit, end) if unit in self.s.units else None

    def _joined_amount(self, at: int) -> _Amount | None:
        """Return an amount of one token, "5km", "1h30", "zehnminütig", or of "1:30 stunden"."""
        word = self.s.word(at)
        counted = self.tables.counted_unit(word)
        if counted is not None:
            named = self._unit_of_word(counted[1])
            return None if named is None else _Amount(counted[0], named, at + 1)
        clock = _CLOCK.fullmatch(word)
        if clock is not None:
            letter = (self._unit_of_word(clock[2]), at + 1)
            name, end = (self._unit(at + 1) or ("", 0)) if clock[2] == ":" else letter
            seconds = int(clock[1]) * 60 + int(clock[3])
            if clock[4] is not None:
                seconds = 60 * seconds + int(clock[4])
                return _Amount(Decimal(seconds), "s", end) if name == "h" else None
            smaller = _SMALLER.get(name or "") if name in ("h", "min") else None
            return None if smaller is None else _Amount(Decimal(seconds), smaller, end)
        match = _ATTACHED.fullmatch(word)
        value = self._digits(match[1]) if match is not None else None
        if match is None or value is None:
            return None
        named = self._unit_of_word(self.tables.whole_unit(match[2]) or match[2])
        return None if named is None else _Amount(value, named, at + 1)

    def _unit_of_word(self, word: str) -> str | None:
        """Return the unit that a word alone stands for, also right behind digits."""
        named = self.tables.units.get(word, ())
        return next((x for words, x in named if len(words) == 1 and x in self.s.units), None)

    def _told_further(self, amount: _Amount) -> _Amount:
        """Return a temperature with "fahrenheit" or "below zero" behind its degrees."""
        s = self.s
        if stem_of(amount.unit, s.units) != "MEASURE_C":
            return amount
        second = self._unit(amount.end)
        if second is not None and stem_of(second[0], s.units) == "MEASURE_C":
            amount = _Amount(amount.value, *second)
        below = self._phrase(self.tables.below_zero, amount.end)
        return amount if below is None else _Amount(-abs(amount.value), amount.unit, below[1])

    def _parts_of(self, at: int) -> list[_Amount]:
        """Return the parts of an amount: "1 h 30 min", "zwei minuten dreißig", "1 meter 80"."""
        s, amount = self.s, self._amount(at)
        if amount is None:
            return []
        parts = [amount]
        while len(parts) < _MOST_PARTS and parts[-1].unit in _LARGER:
            place = parts[-1].end
            place += s.word(place) == "."  # "2 std. 30 min."
            place += s.word(place) in self.words.between_amounts
            smaller = self._amount(place)
            if smaller is not None and (parts[-1].unit, smaller.unit) == ("h", "m"):  # "2h 15m"
                smaller = smaller._replace(unit="min")
            later = _LARGER[_LARGER.index(parts[-1].unit) + 1 :]
            if smaller is None or smaller.unit not in later:
                break
            parts.append(smaller)
        last = parts[-1]
        unit, number = _SMALLER.get(last.unit), self._whole(last.end)
        if unit is None or number is None or last.value % 1 or self._amount(last.end) is not None:
            return parts
        low, high = (10, 99) if unit == "cm" else (1, 59)
        is_alone = unit == "cm" or self._is_alone(number.end)
        if low <= number.value <= high and number.value % 1 == 0 and is_alone:
            parts.append(_Amount(number.value, unit, number.end))
        return parts

    def _measure(self, at: int) -> Iterator[Candidate]:
        s, parts = self.s, self._parts_of(at)
        hyphened = _HYPHENED.match(s.word(at)) if "-" in s.word(at) else None
        if hyphened is not None and (count := self._digits(hyphened[1])) is not None:
            name = self.tables.whole_unit(hyphened[2]) or hyphened[2]
            unit = self._unit_of_word(name)
            if unit is not None:
                value, start = f"{plain_digits(count)} unit:{unit}", s.starts[at]
                yield Candidate(start, start + hyphened.end(), stem_of(unit, s.units), value)
        if not parts:
            return
        values = [f"{plain_digits(part.value)} unit:{part.unit}" for part in parts]
        stem = stem_of(parts[0].unit, s.units)
        yield s.candidate(at, parts[-1].end, stem, " ".join(values))
        if len(parts) > 1:
            yield s.candidate(at, parts[0].end, stem, values[0])

    def _price(self, at: int) -> tuple[Decimal, str, int] | None:
        """Return amount, currency and end of money at a token."""
        s, word, currencies = self.s, self.s.word(at), self.tables.currencies
        if at >= len(s.words) or s.masked[at]:
            return None
        number, fraction = self.numbers[at], self._fraction(at)
        is_sign = word[0] in "€$£"
        if number is None and fraction is None and not is_sign and not word[0].isdigit():
            return None
        match = _SIGNED.fullmatch(word) or _ATTACHED.fullmatch(word)
        named: tuple[str, int] | None = None
        if number is not None or fraction is not None:
            value, end = (number.value, number.end) if number is not None else fraction or (0, 0)
            place = self._before_unit(end)
            named = self._phrase(currencies, place) or self._phrase(currencies, end)
            cents = self._phrase(self.tables.cents, end)
            if named is None:
                return (Decimal(value) / 100, *cents) if cents is not None else None
        elif (
            is_sign and len(word) == 1 and at + 1 < len(s.words) and (after := self.numbers[at + 1])
        ):
            named, value = self._phrase(currencies, at), after.value
            named = named and (named[0], after.end)
        elif match is not None:
            digits, name = (match[2], match[1]) if is_sign else (match[1], match[2])
            known, written = currencies.get(name, ()), self._digits(digits)
            if known and written is not None and len(known[0][0]) == 1:
                named, value = (known[0][1], at + 1), written
        if named is None or value < 0:
            return None
        code, end = named
        is_dollar = "$" in s.words[at:end] or (match is not None and "$" in word)
        extra = self._extra_cents(end, code)
        value, end = (value + extra[0], extra[1]) if extra is not None else (value, end)
        return Decimal(value), s.locale.currency if is_dollar else code, end

    def _extra_cents(self, at: int, code: str) -> tuple[Decimal, int] | None:
        """Return "and 20 cents", and the "fifty" of "twenty euros fifty"."""
        place = at + (self.s.word(at) in self.words.between_amounts)
        number = self._whole(place)
        if number is None or number.value % 1 or not 0 < number.value < 100 or number.is_article:
            return None
        cents = self._phrase(self.tables.cents, number.end)
        if cents is not None:
            return (number.value / 100, cents[1]) if cents[0] == code else None
        is_bare = number.value >= 10 and self._is_alone(number.end)
        return (number.value / 100, number.end) if is_bare else None

    def _money(self, at: int) -> Iterator[Candidate]:
        price = self._price(at)
        if price is not None:
            value, code, end = price
            amount = f"currency:{plain_digits(value)}:{code}"
            yield self.s.candidate(at, end, "CURRENCY", amount)

    # ------------------------------------------------------------------------------ patterns

    def _is_alone(self, at: int) -> bool:
        """Tell whether no noun follows that a number before it would count."""
        word = self.s.word(at)
        is_slot = at < len(self.s.words) and self.s.masked[at]
        return word in _STOPS or word in self.tables.after_values or is_slot

    def _skips(self, at: int, more: Collection[str] = ()) -> Iterator[int]:
        """Yield a place, and those behind the prepositions and articles that begin there."""
        yield at
        for _ in range(_MOST_SKIPPED):
            word = self.s.word(at)
            if word not in self.tables.before_values and word not in more:
                return
            at += 1
            yield at

    def _matching(
        self, patterns: Mapping[str, tuple[Pattern, ...]], at: int
    ) -> Iterator[tuple[Pattern, int, dict[str, int]]]:
        """Yield the patterns that stand at a token, with their ends and what letters stand for."""
        s = self.s
        begun: list[tuple[Pattern, int, dict[str, int]]] = []
        for pattern in patterns.get(s.word(at), ()):
            begun.append((pattern, at + 1, {}))
        for letter in self._letters(at):
            found = self._part(letter, at) if letter in patterns else None
            if found is not None:
                begun += [(one, found[1], {letter: found[0]}) for one in patterns[letter]]
        for pattern, place, read in begun:
            if pattern.after and s.word(at - 1) not in pattern.after:
                continue
            end = self._match(pattern.parts[1:], place, read)
            if end is None:
                continue
            # "am 31. februar" has no such day.
            stop = pattern.parts[-1] == "D" and s.word(end) == "."
            if pattern.is_open and not self._is_alone(end + stop):
                minute = read["M"] if pattern.parts[::2] == ("H", "M") else 0
                if minute < 10 or self._is_counted(end):
                    continue
            # "le deux" is rarely a day, "le 2" and "am zweiten" are.
            is_bare = pattern.parts == ("D",) and pattern.after
            if is_bare and self._whole(at) is not None and not s.word(at)[:1].isdigit():
                continue
            yield pattern, end, read

    def _is_counted(self, at: int) -> bool:
        """Tell whether a unit, a currency or a share follows a number."""
        tables = self.tables
        return self._unit(at) is not None or any(
            self._phrase(table, at) is not None for table in (tables.currencies, tables.percent)
        )

    def _letters(self, at: int) -> tuple[str, ...]:
        """Return the letters of patterns that a token may stand for."""
        word = self.s.word(at)
        names = ("MONTH", "WEEKDAY") if word in self.tables.names else ()
        if self._whole(at) is None and word not in self.tables.first_ordinals:
            return names
        return ("H", "M", "N", "D", *names)  # "sept" is seven, and september

    def _match(self, parts: tuple[str, ...], at: int, read: dict[str, int]) -> int | None:
        """Return the place behind the parts of a pattern, and note what its letters stand for."""
        s = self.s
        for part in parts:
            if part in LETTERS:
                found = self._part(part, at)
                if found is None:
                    return None
                read[part], at = found
            elif s.word(at) != part:
                return None
            else:
                at += 1
        return at

    def _part(self, part: str, at: int) -> tuple[int, int] | None:
        """Return what stands for a letter of a pattern, and the place behind it."""
        key = part, at
        if key not in self.parts:
            self.parts[key] = self._plain_part(part, at)
        return self.parts[key]

    def _plain_part(self, part: str, at: int) -> tuple[int, int] | None:
        s, tables = self.s, self.tables
        word = s.word(at)
        if part in ("MONTH", "WEEKDAY"):
            names = tables.months if part == "MONTH" else tables.weekdays
            if word not in names:
                return None
            # Short names are words of the language, too ("so", "di"), and want their full stop.
            has_stop = s.word(at + 1) == "."
            is_short = len(word) < 4 and part == "WEEKDAY"
            is_cut = part == "MONTH" and word != self.words.months[names[word]].split()[0]
            has_end = is_short or (is_cut and has_stop)
            return (names[word], at + 1 + has_end) if has_stop or not is_short else None
        if part == "YEAR":
            return (int(word), at + 1) if _YEAR.fullmatch(word) else None
        if part == "D":
            for length in (3, 2, 1):
                said = tuple(s.words[at : at + length])
                if len(said) == length and said in tables.numbers.ordinals:
                    return tables.numbers.ordinals[said], at + length
        number = self._whole(at)
        limits = {"H": 24, "M": 59, "N": 999, "D": 31}
        if number is None or number.value % 1 or word[:1] in "+-":
            return None
        value = int(number.value)
        return (value, number.end) if (part == "D") <= value <= limits[part] else None

    # --------------------------------------------------------------------------------- times

    def _clock(self, at: int) -> _Clock | None:
        """Return the longest time of day that begins at a token."""
        if at not in self.clocks:
            found = self._plain_clock(at) if self._is_begun(at) else None
            if found is not None and (part := self._phrase(self.tables.parts_of_day, found.end)):
                found = found._replace(
                    hour=_hour_in(found.hour, part[0]), end=part[1], part=part[0]
                )
            self.clocks[at] = found
        return self.clocks[at]

    def _plain_clock(self, at: int) -> _Clock | None:
        s, word, tables = self.s, self.s.word(at), self.tables
        if s.masked[at]:
            return None
        found: _Clock | None = None
        if word[:1].isdigit():
            clock, hour, pointed = (x.fullmatch(word) for x in (_CLOCK, _HOUR, _POINTED))
            if clock is not None and (clock[2] == ":" or self._unit_of_word(clock[2]) == "h"):
                found = _Clock(int(clock[1]), int(clock[3]), int(clock[4] or 0), at + 1)
            elif hour is not None and self._unit_of_word(hour[2]) == "h":
                found = _Clock(int(hour[1]), 0, 0, at + 1)
            elif pointed is not None and (
                s.word(at + 1) in tables.hour_words or s.word(at - 1) in tables.before_hours
            ):
                found = _Clock(int(pointed[1]), int(pointed[2]), 0, at + 1)
            if found is not None and s.word(found.end) in tables.hour_words:
                found = found._replace(end=found.end + 1)
        for pattern, end, read in self._matching(tables.times, at):
            if self.is_difference and pattern.is_open and pattern.after:
                continue
            if found is None or end > found.end:
                found = _Clock(*_clock_of(pattern.value, read), 0, end)
        if found is not None and found.hour == 24 and not found.minute:
            found = found._replace(hour=0)
        return None if found is None or found.hour > 23 or found.minute > 59 else found

    def _is_duration(self, at: int, clock: _Clock) -> bool:
        """Tell whether what may be a time is as well an amount: "deux heures", "1h30"."""
        word = self.s.word(at)
        if clock.hour >= _MORNING and (written := _CLOCK.fullmatch(word)) and written[2] != ":":
            return False  # "7h30"
        parts = self._parts_of(at)
        return bool(parts) and parts[-1].end >= clock.end and not clock.part

    def _is_told(self, at: int) -> bool:
        """Tell whether the word before says that a time follows, as in "à partir de six heures"."""
        before = self.s.word(at - 1)
        if before in self.words.before_units:
            before = self.s.word(at - 2)
        return before in self.words.before_times or before in self.tables.before_hours

    def _time_candidate(self, at: int, clock: _Clock, *, weak: bool = False) -> Candidate:
        value = f"time:{clock.hour}:{clock.minute:02d}:{clock.second:02d}"
        return self.s.candidate(at, clock.end, "TIME", value, weak=weak)

    def _moment(self, at: int, end: int, day: _Day, clock: _Clock) -> Candidate:
        hour = clock.hour if clock.part else _hour_in(clock.hour, day.part)
        time = f"{hour:02d}:{clock.minute:02d}:{clock.second:02d}"
        return self.s.candidate(at, end, "DATE", f"date:{day.day.isoformat()}T{time}")

    def _time(self, at: int) -> Iterator[Candidate]:
        s, tables = self.s, self.tables
        part = self._phrase(tables.parts_of_day, at)
        for place in self._skips(part[1]) if part is not None else ():  # "abends um acht"
            clock = self._clock(place)
            if clock is not None and part is not None:
                yield self._time_candidate(at, clock._replace(hour=_hour_in(clock.hour, part[0])))
                break
        clock = self._clock(at)
        if clock is None:
            return
        is_weak = not self._is_told(at) and self._is_duration(at, clock)
        yield self._time_candidate(at, clock, weak=is_weak)
        if is_weak or s.word(clock.end) in self.words.range_links:
            return
        for place in self._skips(clock.end):  # "um acht am freitag"
            day = self._day(place)
            if day is not None:
                yield self._moment(at, day.end, day, clock)
                return

    # --------------------------------------------------------------------------------- dates

    def _day(self, at: int) -> _Day | None:
        """Return the longest day that begins at a token."""
        if at not in self.days:
            before = at - 1 - (self.s.word(at - 1) in self.words.articles)
            recurs = not self.words.every.isdisjoint(self.s.words[max(before, 0) : at])
            found = self._plain_day(at) if self._is_begun(at) and not recurs else None
            if found is not None and (part := self._phrase(self.tables.parts_of_day, found.end)):
                found = found._replace(part=part[0], end=part[1])
            self.days[at] = found
        return self.days[at]

    def _plain_day(self, at: int) -> _Day | None:
        s, today, tables = self.s, self.now.date(), self.tables
        numeric = self._numeric_day(at)
        if numeric is not None:
            return numeric
        found: _Day | None = None
        is_weekday = False
        near = self._phrase(tables.days, at)
        if near is not None:
            count, _, part = near[0].partition(" ")
            found = _Day(today + timedelta(days=int(count)), near[1], part, is_soft=True)
        for pattern, end, read in self._matching(tables.dates, at):
            day = _day_of(read, pattern.value, today) if found is None or end > found.end else None
            if day is not None:
                found = _Day(
                    day, end, is_soft=not read or (read.keys() == {"WEEKDAY"} and end == at + 1)
                )
                is_weekday = read.keys() == {"WEEKDAY"}
        if found is None:
            return None
        if is_weekday:  # "samedi 16 janvier", "freitag, den 3. mai"
            for place in self._skips(found.end + (s.word(found.end) == ",")):
                named = self._day(place) if self._part("D", place) is not None else None
                if named is not None:
                    return named
        for pattern, end, read in self._matching(tables.dates, found.end):
            if "N" in read and not pattern.value.startswith("-"):  # "heute in einer woche"
                later = _day_of(read, pattern.value, found.day)
                return found if later is None else found._replace(day=later, end=end)
        return found

    def _written_day(self, text: str) -> date | None:
        """Return the day of "2027-03-14", "14.3.2027" or, without a year, "14.3"."""
        iso, numeric = _ISO.fullmatch(text), _NUMERIC.fullmatch(text)
        try:
            if iso is not None:
                return date(int(iso[1]), int(iso[2]), int(iso[3]))
            if numeric is None:
                return None
            first, second = int(numeric[1]), int(numeric[3])
            is_day_first = self.s.locale.day_first or numeric[2] == "."
            day, month = (first, second) if is_day_first else (second, first)
            if numeric[4] is None:
                return next_day(day, month, self.now.date())
            year = int(numeric[4])
            return date(year + 2000 * (year < 100), month, day)
        except ValueError:
            return None

    def _numeric_day(self, at: int) -> _Day | None:
        """Return the day of digits; without a year only behind a word such as "am"."""
        s, end = self.s, at + 1
        if not s.word(at)[:1].isdigit():
            return None
        while s.word(end) == "/" and s.word(end + 1).isdigit() and end < at + 5:
            end += 2
        text = "".join(s.words[at:end])
        numeric = _NUMERIC.fullmatch(text)
        day = self._written_day(text)
        if day is None or numeric is None or numeric[4] is not None:
            return None if day is None else _Day(day, end)
        if s.word(at - 1) not in self.tables.before_days or self._amount(at) is not None:
            return None
        has_stop = numeric[2] == "." and s.word(end) == "."
        # "3.5" is a number where days have no full stop.
        is_day = has_stop or numeric[2] != "." or self.tables.has_stops
        return _Day(day, end + has_stop) if is_day else None

    def _date(self, at: int) -> Iterator[Candidate]:
        s, day = self.s, self._day(at)
        if day is None:
            return
        value = f"date:{day.day.isoformat()}"
        if day.part:
            value += f"T{12 if day.part == 'noon' else getattr(s.locale, day.part):02d}:00:00"
        yield s.candidate(at, day.end, "DATE", value, soft=day.is_soft)
        for place in self._skips(day.end):
            clock = self._clock(place)
            if clock is None:
                continue
            if place == day.end or self._is_told(place) or not self._is_duration(place, clock):
                yield self._moment(at, clock.end, day, clock)
            return

    # -------------------------------------------------------------------------------- ranges

    def _range(self, at: int) -> Iterator[Candidate]:
        """Yield the first end of a range, which borrows what it is from the other end."""
        s, words = self.s, self.words
        near = s.words[at + 1 : at + _MOST_BEFORE_LINK]
        if words.range_links.isdisjoint(near) and words.between_amounts.isdisjoint(near):
            return
        before = (s.word(at - 1), s.word(at - 2) if s.word(at - 1) in words.articles else "")
        is_begun = not words.range_starts.isdisjoint(before)
        if s.word(at) in self.tables.weekdays:
            self._order_weekdays(at)
            return
        first, clock = self._part("D", at) or self._part("H", at), self._clock(at)
        ends = {clock.end} if clock is not None else set[int]()
        if (number := self.numbers[at]) is not None:
            ends |= {number.end, number.end + (s.word(number.end) == ".")}
        if first is not None:
            ends |= {first[1], first[1] + (s.word(first[1]) == ".")}
        links = words.range_links
        if is_begun or s.word(at - 1) in self.tables.before_days:  # "am 5. und 6. mai"
            links = links | words.between_amounts
        for end in sorted(ends):
            if s.word(end) not in links:
                continue
            for place in self._skips(end + 1, words.between_amounts):
                found = list(self._ends_of_range(at, end, place, is_begun=is_begun))
                yield from found
                if found:
                    return

    def _order_weekdays(self, at: int) -> None:
        """Note that the day of "von montag bis freitag" comes after the first one."""
        day = self._day(at)
        if day is None or self.s.word(day.end) not in self.words.range_links:
            return
        for place in self._skips(day.end + 1):
            last = self._day(place) if self.s.word(place) in self.tables.weekdays else None
            if last is not None and last.day < day.day:
                self.days[place] = last._replace(day=last.day + timedelta(days=7))

    def _ends_of_range(
        self, at: int, end: int, place: int, *, is_begun: bool
    ) -> Iterator[Candidate]:
        s, number = self.s, self.numbers[at]
        first, last = self._clock(at), self._clock(place)
        hour, day = self._part("H", at), self._part("D", at)
        if is_begun and last is not None and (first is not None or hour is not None):
            if first is None or first.end != end:
                first = _Clock(hour[0], 0, 0, end) if hour is not None and hour[1] == end else None
            if first is not None:
                evening = _hour_in(first.hour, last.part)  # "entre las 8 y las 10 de la noche"
                if not first.part and evening <= last.hour:
                    first = first._replace(hour=evening)
                yield self._time_candidate(at, first)
                yield self._time_candidate(place, last)
            return
        other = self._day(place) if self._part("D", place) is not None else None
        if day is not None and other is not None and day[0] < other.day.day:
            if is_begun or end > day[1]:
                value = f"date:{other.day.replace(day=day[0]).isoformat()}"
                yield s.candidate(at, end, "DATE", value)
            return
        if number is None or number.end != end:
            return
        amount, price = self._amount(place), self._price(place)
        if price is not None:
            value = f"currency:{plain_digits(number.value)}:{price[1]}"
            yield s.candidate(at, end, "CURRENCY", value)
        elif amount is not None:
            value = f"{plain_digits(number.value)} unit:{amount.unit}"
            yield s.candidate(at, end, stem_of(amount.unit, s.units), value)


def _hour_in(hour: int, part: str) -> int:
    """Return an hour of the clock in a part of the day; "19 uhr abends" is said, too.

    >>> _hour_in(8, "evening"), _hour_in(2, "night"), _hour_in(12, "night"), _hour_in(3, "noon")
    (20, 2, 0, 15)
    """
    if part == "night":
        return {12: 0}.get(hour, hour + 12 * (_DAWN <= hour < 12))
    is_after_noon = part in ("afternoon", "evening") or (part == "noon" and hour < _DAWN + 2)
    return hour + 12 * (is_after_noon and hour < 12)


def _clock_of(value: str, read: Mapping[str, int]) -> tuple[int, int]:
    """Return hour and minute of what a pattern stands for; the hour before one is twelve.

    >>> _clock_of("H-1:30", {"H": 8}), _clock_of("H+12:M", {"H": 7, "M": 5}), _clock_of("12:00", {})
    ((7, 30), (19, 5), (12, 0))
    >>> _clock_of("H-1:60-M", {"H": 8, "M": 20}), _clock_of("H-1:30+M", {"H": 1, "M": 5})
    ((7, 40), (12, 35))
    """
    match = _HOUR_SUM.fullmatch(value)
    assert match is not None  # locales are checked
    sign, count, fixed, minutes, minus = match.groups()
    hour, minute = int(fixed) if fixed else read["H"], int(minutes or 0)
    if sign == "+":
        hour += int(count) if hour < 12 else int(count) - 12
    elif sign == "-":
        hour = (hour - int(count)) % 24 or 12
    if "M" in value:
        minute += -read["M"] if minus == "-" else read["M"]
    return (hour + minute // 60) % 25, minute % 60


def _shifted(day: date, count: int, unit: str) -> date:
    """Return a day some days, weeks, months or years later."""
    if unit in ("", "week"):
        return day + timedelta(days=count * (7 if unit else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    first = date(months // 12, months % 12 + 1, 1)
    following = date((months + 1) // 12, (months + 1) % 12 + 1, 1)
    return first + timedelta(days=min(day.day, (following - first).days) - 1)


def _day_of(read: Mapping[str, int], value: str, today: date) -> date | None:
    """Return the day of a pattern: without a year the next one, with -1 the one before."""
    try:
        if "." in value:
            day, _, month = value.partition(".")
            return next_day(int(day), int(month), today)
        text, _, unit = value.partition(" ")
        count = int(text)
        if "WEEKDAY" in read:
            ahead = (read["WEEKDAY"] - today.weekday() - 1) % 7 + 1
            back = (today.weekday() - read["WEEKDAY"] - 1) % 7 + 1
            return today + timedelta(days=ahead if count > 0 else -back)
        if "N" in read:
            return _shifted(today, read["N"] * count, unit)
        if "MONTH" not in read and "D" in read:
            this = today.replace(day=read["D"])
            return this if this >= today else _shifted(this, 1, "mon")
        if "MONTH" in read and "YEAR" in read:
            return date(read["YEAR"], read["MONTH"] + 1, read.get("D", 1))
        if "MONTH" in read:
            return next_day(read.get("D", 1), read["MONTH"] + 1, today)
        starts = {"week": today - timedelta(days=today.weekday()), "mon": today.replace(day=1),
                  "year": today.replace(month=1, day=1)}  # fmt: skip
        return _shifted(starts.get(unit, today), count, unit)
    except (ValueError, OverflowError):
        return None
