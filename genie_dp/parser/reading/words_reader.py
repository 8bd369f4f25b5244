"""The reader of languages whose words for values are in lists: `locales/LANGUAGE.txt`.

It finds numbers in digits and in words, shares, measures, durations, money, times, dates, and
values with a shape of their own: quotes, addresses, links. Patterns of times and dates are data.
The default
language has a grammar (`grammar_reader`), which reads more.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, TypeVar

from genie_dp.languages.units import COMMON, Units
from genie_dp.locale import Locale
from genie_dp.parser.reading.choices import CandidateReader
from genie_dp.parser.reading.dates import (
    Day,
    Time,
    day_candidate,
    moment_candidate,
    with_slashes,
)
from genie_dp.parser.reading.marks import marks
from genie_dp.parser.reading.measures import SMALLER, Amount, clocked_amount, stem_of
from genie_dp.parser.reading.numbers import FRACTION, FRACTIONS
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.parser.reading.sentence import PhraseTable, TextTokens
from genie_dp.parser.reading.word_tables import (
    LETTERS,
    MomentPattern,
    WordTables,
    tables_of,
)
from genie_dp.values.calendar import (
    DAWN,
    near_weekday,
    next_day,
    next_of_month,
    shift_day,
    span_from,
    written_day,
)
from genie_dp.values.money import GLUED_SIGNS
from genie_dp.values.spelling import Number, plain_digits

_DIGITS = re.compile(r"([+-]?)(\d{1,18}(?:[.,]\d+)*)")
_ATTACHED = re.compile(r"(?P<number>[+-]?\d+(?:[.,]\d+)*)-?(?P<name>[^\W\d_]+[23]?|°c?|%|€|\$|£)")
_SIGNED = re.compile(r"(?P<name>[€$£])(?P<number>\d+(?:[.,]\d+)*)")
_HYPHENED = re.compile(r"(\d+(?:[.,]\d+)?)-([^\W\d_]+)-(?=\w)")
_CLOCK = re.compile(r"([01]?\d|2[0-4])(:|[a-z])([0-5]\d)(?::([0-5]\d))?")
_POINTED = re.compile(r"([01]?\d|2[0-4])\.([0-5]\d)")
_HOUR = re.compile(r"([01]?\d|2[0-4])(h|u)")
_ORDINAL = re.compile(r"(\d{1,3})(\D+)")
_LEADING = re.compile(r"[+-]?[1-9]\d{0,2}")
_GROUP = re.compile(r"\d{3}(?:[.,]\d+)?", re.ASCII)
_YEAR = re.compile(r"[12]\d{3}")
_HOUR_SUM = re.compile(r"(?:H(?:([+-])(\d+))?|(\d+)):(?:(\d\d))?(?:([+-]?)M)?")
_LARGER = ("year", "mon", "week", "day", "h", "min", "s", "ms")
# What a number without unit counts behind these: "eine stunde dreißig", "1 meter 80".
_BARE_PARTS = {"h": ("min", range(1, 60)), "min": ("s", range(1, 60)), "m": ("cm", range(10, 100))}
_MOST_PARTS = 4  # of "1 Tag 2 Stunden 3 Minuten 4 Sekunden"
_MOST_DECIMALS = 9
_MOST_GROUPS = 5  # of three digits
_MOST_BELOW = 16  # of a fraction such as 3/8
_MILLION = 10**6
_MORNING = 6  # "5h30" is rather a duration, "7h30" a time
_STOPS = frozenset(("", ".", ",", "!", "?", ";", ":", ")"))
_MOST_BEFORE_LINK = 8  # tokens of the first end of a range
_MOST_SKIPPED = 2  # words before the second end of a range: "bis zum", "tot en met"
_LONG_NAME = 4  # letters of a name that is no other word
_LIMITS = {"H": 24, "M": 59, "N": 999, "D": 31}


class WordsReader(CandidateReader):
    """Reads by the lists of one language: no process, no network, the same everywhere."""

    def __init__(
        self, locale: Locale, phrases: Phrases = NO_PHRASES, units: Units = COMMON
    ) -> None:
        """Look up the tables of the language.

        Raises:
            GenieError: I003, the package that spells the numbers of the language is not installed.
        """
        super().__init__(phrases, units, locale)
        self._tables = tables_of(locale.words)

    def candidates(self, s: TextTokens, now: datetime) -> Iterator[ValueCandidate]:
        """Yield all candidates of values."""
        yield from _ValueFinder(self._tables, s, now).candidates()


_Found = TypeVar("_Found")
_Method = Callable[["_ValueFinder", int], _Found | None]


def _once(find: _Method[_Found]) -> _Method[_Found]:
    """Return a method that runs once for each token at which a value may begin."""
    name = find.__name__

    def found_before(self: "_ValueFinder", at: int) -> _Found | None:
        results: dict[int, _Found | None] = self.found[name]
        if at not in results:
            is_begun = 0 <= at < len(self.begun) and self.begun[at]
            results[at] = find(self, at) if is_begun else None
        return results[at]

    return found_before


class _ValueFinder:
    """Finds the candidates of values in one text."""

    def __init__(self, tables: WordTables, s: TextTokens, now: datetime) -> None:
        self.tables, self.words, self.today = tables, tables.words, now.date()
        self.s = tables.split(s)
        self.begun = tables.find_beginnings(self.s)
        self.found = defaultdict[str, dict[int, Any]](dict)
        self.is_difference = not self.words.differences.isdisjoint(self.s.words)
        self.decimal = self.words.signs.get("decimal", ".")

    def candidates(self) -> Iterator[ValueCandidate]:
        for mark in marks(self.s):
            # "3.4.2027" may be dialled, and is a day.
            text = self.s.text[mark.start : mark.end]
            if (
                mark.stem != "PHONE_NUMBER"
                or written_day(text, self.today, day_first=self.s.locale.day_first) is None
            ):
                yield mark
        for place, is_begun in enumerate(self.begun):
            if is_begun:
                yield from self._range(place)  # of candidates that are equal the first counts
                yield from self._plain(place)
                yield from self._measure(place)
                yield from self._money(place)
                yield from self._time(place)
                yield from self._date(place)

    def _phrase(
        self, table: PhraseTable, at: int, allowed: Container[str] | None = None
    ) -> tuple[str, int] | None:
        """Return the value of the longest phrase of a table at a token, and the place behind it."""
        for words, value in table.get(self.s.word(at), ()):
            if self.s.has(at, *words) and (allowed is None or value in allowed):
                return value, at + len(words)
        return None

    def _is_beside(self, at: int) -> bool:
        """Return whether a token begins right where the one before it ends."""
        s = self.s
        return 0 < at < len(s.words) and s.starts[at] == s.ends[at - 1]

    # ------------------------------------------------------------------------------ numbers

    @_once
    def _whole(self, at: int) -> Number | None:
        """Return the number at a token without fractions of a unit; "minus" and decimals count.

        Patterns count by these: "a las dos y media" is no two and a half.
        """
        if self.s.word(at) not in self.words.minus:
            return self._read_unsigned(at)
        number = self._read_unsigned(at + 1)
        return number and number._replace(value=-number.value)

    def _read_unsigned(self, at: int) -> Number | None:
        s, word = self.s, self.s.word(at)
        if not word or s.masked[at]:
            return None
        if word[0].isdigit() or word[0] in "+-":
            return self._in_digits(at, word)
        if word == self.decimal and self._is_beside(at + 1):
            behind = s.word(at + 1)
            is_alone = not self._is_beside(at) and behind.isdigit() and behind.isascii()
            return Number(Decimal(f"0.{behind}"), at + 2) if is_alone else None
        if (spelled := self._read_spelled(at)) is not None:
            return self._with_decimals(spelled)
        for ending, fraction in self.tables.number_endings.items():
            count = self.tables.numbers.values.get((word.removesuffix(ending),))
            if count is not None and word.endswith(ending):
                return Number(count + fraction, at + 1, is_said=True)
        return None

    def _in_digits(self, at: int, word: str) -> Number | None:
        """Return "1.200,5", "12 500", "2½", the 2 of "2e"."""
        s, value, end = self.s, self._digits(word), at + 1
        if value is None:
            if (mixed := FRACTION.fullmatch(word)) is not None:
                return Number(Decimal(mixed[1] or 0) + FRACTIONS[mixed[2]], end)
            ordinal = _ORDINAL.fullmatch(word)
            if ordinal is not None and ordinal[2] in self.words.ordinal_endings:
                return Number(Decimal(ordinal[1]), end)
            return None
        groups = word if _LEADING.fullmatch(word) else ""
        while groups.lstrip("+-").isdigit() and end < min(at + 1 + _MOST_GROUPS, len(s.words)):
            gap = s.text[s.ends[end - 1] : s.starts[end]]
            if len(gap) != 1 or not gap.isspace() or not _GROUP.fullmatch(s.word(end)):
                break
            groups, end = groups + s.word(end), end + 1
        if end > at + 1:
            return Number(self._digits(groups) or value, end)
        return self._with_decimals(Number(value, end))

    def _digits(self, text: str) -> Decimal | None:
        """Return the number of digits with the signs of the language: "1.200,5".

        A sign for thousands that does not part groups of three is one for decimals: "2.5".
        """
        match = _DIGITS.fullmatch(text)
        if match is None or not text.isascii():
            return None
        whole, sign, behind = match[2].partition(self.decimal)
        groups = whole.split(self.words.signs.get("thousands", ","))
        whole = "".join(groups)
        if len(groups) == 2 and not sign and len(groups[1]) != 3:
            whole, behind = groups
        elif groups[1:] and (len(groups[0]) > 3 or any(len(group) != 3 for group in groups[1:])):
            return None
        if behind and not behind.isdigit():
            return None
        value = Decimal(f"{whole}.{behind or 0}")
        return -value if match[1] == "-" else value

    def _read_spelled(self, at: int) -> Number | None:
        """Return the number in words at a token, or the one that an article is."""
        word, numbers = self.s.word(at), self.tables.numbers
        spelled = numbers.find(self.s.words, at) if word else None
        if spelled is not None:
            return spelled
        return Number(Decimal(1), at + 1, True, is_article=True) if self._is_one(word) else None

    def _is_one(self, word: str) -> bool:
        """Return whether a word is an article that is the number one, too."""
        is_article = word in self.words.articles or not self.words.articles
        return is_article and self.tables.numbers.values.get((word,)) == 1

    def _with_decimals(self, number: Number) -> Number:
        """Return "einundzwanzig komma fünf", "drei komma eins vier", "zwei komma null fünf"."""
        s, behind, end = self.s, "", number.end + 1
        if s.word(number.end) not in self.words.decimal_words or number.value % 1:
            return number
        while len(behind) < _MOST_DECIMALS:
            text, after = s.word(end), end + 1
            if not (text.isdigit() and text.isascii()):
                spelled = self._read_spelled(end)
                if spelled is None or spelled.value % 1:
                    break
                text, after = plain_digits(spelled.value), spelled.end
            if behind and len(text) > 1:
                break
            behind, end = behind + text, after
            if len(text) > 1:
                break
        if not behind:
            return number
        part = Decimal(f"0.{behind}").copy_sign(number.value)
        return Number(number.value + part, end, is_said=True)

    @_once
    def _number(self, at: int) -> Number | None:
        """Return the number at a token, with the scales and fractions behind it."""
        s, scales, number = self.s, self.tables.scales, self._whole(at)
        if number is None:
            fraction, more = self._fraction(at), self._more(at + 1)
            if fraction is not None and s.word(fraction.end) in scales:  # "halbe million"
                return Number(fraction.value * scales[s.word(fraction.end)], fraction.end + 1, True)
            if more is not None and s.word(at) in scales:  # "docena y media"
                return Number(scales[s.word(at)] * (1 + more.value), more.end, is_said=True)
            return None
        if number.value % 1 == 0 and number.value >= 0:
            behind = s.word(number.end)
            fraction = self._more(number.end)
            if behind in self.tables.number_endings:
                fraction = Number(self.tables.number_endings[behind], number.end + 1)
            elif s.word(number.end - 1).isdigit() and (
                FRACTION.fullmatch(behind) or s.word(number.end + 1) == "/"
            ):
                fraction = self._fraction(number.end)
            if fraction is not None:
                number = Number(number.value + fraction.value, fraction.end, number.is_said)
        scale = scales.get(s.word(number.end), Decimal(0))
        if not scale:
            return number
        value, end = number.value * scale, number.end + 1
        more, rest = self._more(end), self._whole(end)
        if more is not None:
            value, end = value + scale * more.value, more.end
        elif scale >= _MILLION and rest is not None and rest.is_said and rest.value < scale:
            value, end = value + rest.value, rest.end
        return Number(value, end, number.is_said)

    def _more(self, at: int) -> Number | None:
        """Return the half of "and a half" behind a number, a unit or a scale."""
        is_joined = self.s.word(at) in self.words.between_amounts
        return self._fraction(at + 1) if is_joined else None

    @_once
    def _fraction(self, at: int) -> Number | None:
        """Return "1/2", "½", "halbe", "eine halbe", "trois quarts"."""
        s, fractions = self.s, self.tables.fractions
        place = at + self._is_one(s.word(at))
        word, end = s.word(place), place + 1
        value = fractions.get(word, FRACTIONS.get(word))
        if word.isdecimal() and s.word(end) == "/" and s.word(end + 1).isdecimal():
            above, below = int(word), int(s.word(end + 1))
            # Rows have a space between all tokens.
            is_written = self._is_beside(end) == self._is_beside(end + 1)
            if is_written and 0 < above < below <= _MOST_BELOW:
                value, end = Decimal(above) / below, place + 3
        elif value is None and place == at and (count := self._whole(at)) is not None:
            part = fractions.get(s.word(count.end)) if 1 < count.value < 10 else None
            value, end = part and count.value * part, count.end + 1
        # "half negen" is a time.
        return None if value is None or self._whole(end) is not None else Number(value, end)

    def _read_attached(self, at: int) -> tuple[Decimal, str] | None:
        """Return the number and the unit or sign of a token such as "5km", "3%" or "€5"."""
        match = _ATTACHED.fullmatch(self.s.word(at)) or _SIGNED.fullmatch(self.s.word(at))
        value = self._digits(match["number"]) if match is not None else None
        return (value, match["name"]) if match is not None and value is not None else None

    def _plain(self, at: int) -> Iterator[ValueCandidate]:
        s, number = self.s, self._number(at)
        if number is None:
            attached = self._read_attached(at)
            if attached is not None and attached[1] == "%":
                after = (*self.words.percent, "%")[0]
                yield s.candidate(at, at + 1, "NUMBER", plain_digits(attached[0]), after=after)
            return
        text = plain_digits(number.value)
        percent = self._phrase(self.tables.percent, number.end)
        if percent is not None:
            # A word that is the first of its list stays where it is.
            first, end = percent
            stays = end == number.end + 1 and s.word(number.end) == first
            after = "" if stays else first
            yield s.candidate(at, number.end if stays else end, "NUMBER", text, after=after)
        elif not number.is_article or not self.words.articles:
            is_soft = number.is_said and number.end == at + 1
            weak = number.is_article  # where it is not known whether it is one
            yield s.candidate(at, number.end, "NUMBER", text, weak=weak, soft=is_soft)

    # ----------------------------------------------------------------------- measures, money

    def _unit(self, at: int) -> tuple[str, int] | None:
        """Return a unit that is looked for, and the place behind its words."""
        return self._phrase(self.tables.units, at, self.s.units)

    def _unit_of_word(self, word: str) -> str | None:
        """Return the unit that a word alone stands for, also right behind digits."""
        named = self.tables.units.get(self.tables.whole_unit(word) or word, ())
        return next((x for words, x in named if len(words) == 1 and x in self.s.units), None)

    def _before_unit(self, at: int) -> int:
        """Return the place behind the words that may stand between a number and its unit."""
        for _ in range(2):
            at += self.s.word(at) in self.words.before_units
        return at

    @_once
    def _amount(self, at: int) -> Amount | None:
        """Return a number with its unit, or words that are both: "half an hour"."""
        s, amount = self.s, self._plain_amount(at)
        if amount is None or stem_of(amount.unit, s.units) != "MEASURE_C":
            return amount
        second = self._unit(amount.end)  # "grad fahrenheit"
        if second is not None and stem_of(second[0], s.units) == "MEASURE_C":
            amount = Amount(amount.value, *second)
        below = self._phrase(self.tables.below_zero, amount.end)
        return amount if below is None else Amount(-abs(amount.value), amount.unit, below[1])

    def _plain_amount(self, at: int) -> Amount | None:
        s, number = self.s, self._number(at)
        named = self._phrase(self.tables.amounts, at)
        if named is not None:
            return self._named_amount(Decimal(1), *named)
        for count in filter(None, (number, self._fraction(at))):
            place = self._before_unit(count.end)
            unit = self._unit(place) or self._unit(count.end)
            if unit is not None:
                more = self._more(unit[1])
                if more is not None and self._unit(more.end) is None and count.value % 1 == 0:
                    return Amount(count.value + more.value, unit[0], more.end)
                size, smaller = SMALLER.get(unit[0], (1, ""))
                if 0 < count.value < 1 and smaller in s.units:  # "eine halbe stunde"
                    return Amount(round(count.value * size, 6), smaller, unit[1])
                return Amount(count.value, *unit)
            if (named := self._phrase(self.tables.amounts, place)) is not None:
                return self._named_amount(count.value, *named)
        if number is not None:
            return None
        unit = self._unit(at) if self._whole(at - 1) is None else None
        more = self._more(unit[1]) if unit is not None else None
        if unit is not None and more is not None:  # "hora y media"
            return Amount(1 + more.value, unit[0], more.end)
        return self._joined_amount(at)

    def _named_amount(self, count: Decimal, value: str, end: int) -> Amount | None:
        number, _, unit = value.partition(" ")
        return Amount(count * Decimal(number), unit, end) if unit in self.s.units else None

    def _joined_amount(self, at: int) -> Amount | None:
        """Return an amount of one token, "5km", "1h30", "zehnminütig", or of "1:30 stunden"."""
        word, end = self.s.word(at), at + 1
        clock = _CLOCK.fullmatch(word)
        counted = self.tables.counted_unit(word) or (
            self._read_attached(at) if clock is None else None
        )
        if counted is not None:
            unit = self._unit_of_word(counted[1])
            return None if unit is None else Amount(counted[0], unit, end)
        if clock is None:
            return None
        if clock[2] == ":":
            unit, end = self._unit(end) or ("", 0)
        else:
            unit = self._unit_of_word(clock[2])
        return clocked_amount(clock, unit, end)

    def _parts_of(self, at: int) -> list[Amount]:
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
            if smaller is None or smaller.unit not in _LARGER[_LARGER.index(parts[-1].unit) + 1 :]:
                break
            parts.append(smaller)
        last = parts[-1]
        unit, counts = _BARE_PARTS.get(last.unit, ("", range(0)))
        number = self._whole(last.end)
        if number is None or number.value not in counts or last.value % 1:
            return parts
        if self._amount(last.end) is None and (unit == "cm" or self._is_alone(number.end)):
            parts.append(Amount(number.value, unit, number.end))
        return parts

    def _measure(self, at: int) -> Iterator[ValueCandidate]:
        s, parts = self.s, self._parts_of(at)
        hyphened = _HYPHENED.match(s.word(at))
        count = self._digits(hyphened[1]) if hyphened is not None else None
        unit = self._unit_of_word(hyphened[2]) if hyphened is not None else None
        if hyphened is not None and count is not None and unit is not None:
            start, value = s.starts[at], Amount(count, unit, at).tokens
            yield ValueCandidate(start, start + hyphened.end(), stem_of(unit, s.units), value)
        if not parts:
            return
        stem = stem_of(parts[0].unit, s.units)
        yield s.candidate(at, parts[-1].end, stem, " ".join([part.tokens for part in parts]))
        if len(parts) > 1:
            yield s.candidate(at, parts[0].end, stem, parts[0].tokens)

    def _price(self, at: int) -> tuple[Decimal, str, int] | None:
        """Return amount, currency and end of money at a token."""
        s, currencies, value = self.s, self.tables.currencies, Decimal(0)
        number = self._number(at) or self._fraction(at)
        attached = self._read_attached(at) if number is None else None
        named: tuple[str, int] | None = None
        if number is not None:
            value = number.value
            place = self._before_unit(number.end)
            named = self._phrase(currencies, place) or self._phrase(currencies, number.end)
            cents = self._phrase(self.tables.cents, number.end)
            if named is None:
                return (value / 100, *cents) if cents is not None else None
        elif s.word(at) in GLUED_SIGNS and (after := self._number(at + 1)) is not None:
            named, value = self._phrase(currencies, at), after.value
            named = named and (named[0], after.end)
        elif attached is not None and s.word(at)[0] != "+":
            value, name = attached
            names_and_codes = currencies.get(name, ())
            if names_and_codes and len(names_and_codes[0][0]) == 1:
                named = names_and_codes[0][1], at + 1
        if named is None or value < 0:
            return None
        code, end = named
        is_dollar = "$" in (*s.words[at:end], *(attached or ()))
        cents_value, end = self._extra_cents(end, code) or (0, end)
        return value + cents_value, s.locale.currency if is_dollar else code, end

    def _extra_cents(self, at: int, code: str) -> tuple[Decimal, int] | None:
        """Return "and 20 cents", and the "fifty" of "twenty euros fifty"."""
        number = self._whole(at + (self.s.word(at) in self.words.between_amounts))
        if number is None or number.value not in range(1, 100) or number.is_article:
            return None
        cents = self._phrase(self.tables.cents, number.end)
        if cents is not None:
            return (number.value / 100, cents[1]) if cents[0] == code else None
        is_bare = number.value >= 10 and self._is_alone(number.end)
        return (number.value / 100, number.end) if is_bare else None

    def _money(self, at: int) -> Iterator[ValueCandidate]:
        price = self._price(at)
        if price is not None:
            value, code, end = price
            amount = f"currency:{plain_digits(value)}:{code}"
            yield self.s.candidate(at, end, "CURRENCY", amount)

    # ------------------------------------------------------------------------------ patterns

    def _is_alone(self, at: int) -> bool:
        """Return whether no noun follows that a number before it would count."""
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
        self, patterns: Mapping[str, tuple[MomentPattern, ...]], at: int
    ) -> Iterator[tuple[MomentPattern, int, dict[str, int]]]:
        """Yield the patterns that stand at a token, with their ends and the values of letters."""
        s, tables = self.s, self.tables
        begins = (s.word(at), *(x for x in self._letters(at) or () if x != "YEAR"))
        for pattern in chain.from_iterable(patterns.get(x, ()) for x in begins):
            if pattern.after and s.word(at - 1) not in pattern.after:
                continue
            read: dict[str, int] = {}
            end = self._match(pattern.parts, at, read)
            if end is None:
                continue
            # "am 31. februar" has no such day.
            stop = pattern.parts[-1] == "D" and s.word(end) == "."
            if pattern.is_open and not self._is_alone(end + stop):
                minute = read["M"] if pattern.parts[::2] == ("H", "M") else 0
                counted = self._unit(end) or self._phrase(tables.currencies, end)
                if minute < 10 or counted or self._phrase(tables.percent, end):
                    continue
            # "le deux" is rarely a day, "le 2" and "am zweiten" are.
            is_bare = pattern.parts == ("D",) and pattern.after
            if is_bare and self._whole(at) is not None and not s.word(at)[:1].isdigit():
                continue
            yield pattern, end, read

    def _match(self, parts: tuple[str, ...], at: int, read: dict[str, int]) -> int | None:
        """Return the place behind the parts of a pattern, and note the values of its letters."""
        for part in parts:
            value_and_end = self._part(at, part) if part in LETTERS else None
            if value_and_end is not None:
                read[part], at = value_and_end
            elif part in LETTERS or self.s.word(at) != part:
                return None
            else:
                at += 1
        return at

    def _part(self, at: int, letter: str) -> tuple[int, int] | None:
        """Return the value of a letter of a pattern at a token, and the place behind it."""
        return (self._letters(at) or {}).get(letter)

    @_once
    def _letters(self, at: int) -> dict[str, tuple[int, int]] | None:
        s, tables, word = self.s, self.tables, self.s.word(at)
        letters: dict[str, tuple[int, int]] = {}
        number = self._whole(at)
        if number is not None and number.value % 1 == 0 and word[0] not in "+-":
            value, end = int(number.value), number.end
            letters = {
                x: (value, end) for x, limit in _LIMITS.items() if (x == "D") <= value <= limit
            }
        for length in (1, 2, 3):
            spelled = s.words[at : at + length]
            if spelled in tables.numbers.ordinals:
                letters["D"] = tables.numbers.ordinals[spelled], at + len(spelled)
        has_stop = s.word(at + 1) == "."
        if word in tables.months:
            month = tables.months[word]
            is_cut = word != self.words.months[month].split()[0]
            letters["MONTH"] = month, at + 1 + (is_cut and has_stop)
        # Short names are words of the language, too ("so", "di"), and want their full stop.
        if word in tables.weekdays and (has_stop or len(word) >= _LONG_NAME):
            letters["WEEKDAY"] = tables.weekdays[word], at + 1 + (len(word) < _LONG_NAME)
        if _YEAR.fullmatch(word):
            letters["YEAR"] = int(word), at + 1
        return letters

    # --------------------------------------------------------------------------------- times

    @_once
    def _clock(self, at: int) -> Time | None:
        """Return the longest time of day that begins at a token."""
        s, word, tables = self.s, self.s.word(at), self.tables
        time: Time | None = None
        clock, hour, pointed = (x.fullmatch(word) for x in (_CLOCK, _HOUR, _POINTED))
        if clock is not None and (clock[2] == ":" or self._unit_of_word(clock[2]) == "h"):
            time = Time(int(clock[1]), int(clock[3]), at + 1, int(clock[4] or 0))
        elif hour is not None and self._unit_of_word(hour[2]) == "h":
            time = Time(int(hour[1]), 0, at + 1)
        elif pointed is not None and (
            s.word(at + 1) in tables.hour_words or s.word(at - 1) in tables.before_hours
        ):
            time = Time(int(pointed[1]), int(pointed[2]), at + 1)
        if time is not None:
            time = time._replace(end=time.end + (s.word(time.end) in tables.hour_words))
        for pattern, end, read in self._matching(tables.times, at):
            if self.is_difference and pattern.is_open and pattern.after:
                continue
            if time is None or end > time.end:
                time = Time(*_clock_of(pattern.value, read), end)
        if time is not None and time.hour == 24 and not time.minute:
            time = time._replace(hour=0)
        if time is None or time.hour > 23 or time.minute > 59:
            return None
        part, end = self._phrase(tables.parts_of_day, time.end) or ("", time.end)
        return time._replace(hour=_hour_in(time.hour, part), end=end, part=part)

    def _is_duration(self, at: int, clock: Time) -> bool:
        """Return whether a possible time may as well be an amount: "deux heures", "1h30"."""
        written = _CLOCK.fullmatch(self.s.word(at))
        if clock.hour >= _MORNING and written is not None and written[2] != ":":
            return False  # "7h30"
        parts = self._parts_of(at)
        return bool(parts) and parts[-1].end >= clock.end and not clock.part

    def _is_announced(self, at: int) -> bool:
        """Return whether the word before announces a time, as in "à partir de six heures"."""
        before = self.s.word(at - 1)
        if before in self.words.before_units:
            before = self.s.word(at - 2)
        return before in self.words.before_times or before in self.tables.before_hours

    def _moment(self, at: int, end: int, day: Day, clock: Time) -> ValueCandidate:
        hour = clock.hour if clock.part else _hour_in(clock.hour, day.part)
        return moment_candidate(self.s, at, end, day.day, clock._replace(hour=hour))

    def _time(self, at: int) -> Iterator[ValueCandidate]:
        part = self._phrase(self.tables.parts_of_day, at)
        if part is not None:  # "abends um acht"
            later = _first(map(self._clock, self._skips(part[1])))
            if later is not None:
                later = later._replace(hour=_hour_in(later.hour, part[0]))
                yield self.s.candidate(at, later.end, "TIME", later.value)
        clock = self._clock(at)
        if clock is None:
            return
        is_weak = not self._is_announced(at) and self._is_duration(at, clock)
        yield self.s.candidate(at, clock.end, "TIME", clock.value, weak=is_weak)
        if not is_weak and self.s.word(clock.end) not in self.words.range_links:
            day = _first(map(self._day, self._skips(clock.end)))  # "um acht am freitag"
            if day is not None and day.until is None:
                yield self._moment(at, day.end, day, clock)

    # --------------------------------------------------------------------------------- dates

    @_once
    def _day(self, at: int) -> Day | None:
        """Return the longest day that begins at a token."""
        before = at - 1 - (self.s.word(at - 1) in self.words.articles)
        recurs = not self.words.every.isdisjoint(self.s.words[max(before, 0) : at])
        day = None if recurs else self._plain_day(at)
        if day is None:
            return None
        part, end = self._phrase(self.tables.parts_of_day, day.end) or (day.part, day.end)
        return day._replace(part=part, end=end)

    def _plain_day(self, at: int) -> Day | None:
        s, tables = self.s, self.tables
        if (numeric := self._numeric_day(at)) is not None:
            return numeric
        day: Day | None = None
        is_weekday = False
        named_day = self._phrase(tables.days, at)
        if named_day is not None:
            count, _, part = named_day[0].partition(" ")
            day = Day(self.today + timedelta(days=int(count)), named_day[1], part, soft=True)
        for pattern, end, read in self._matching(tables.dates, at):
            is_longer = day is None or end > day.end
            days = _days_of(read, pattern.value, self.today) if is_longer else None
            if days is not None:
                is_weekday = read.keys() == {"WEEKDAY"}
                is_soft = not read or (is_weekday and end == at + 1)
                is_begun = not self.words.since.isdisjoint(s.words[max(at - 2, 0) : at])
                until = None if is_begun else days[1]
                day = Day(days[0], end, soft=is_soft, until=until)
        if day is None:
            return None
        if is_weekday:  # "samedi 16 janvier", "freitag, den 3. mai"
            places = self._skips(day.end + (s.word(day.end) == ","))
            named = _first(self._day(x) for x in places if self._part(x, "D") is not None)
            if named is not None:
                return named
        for pattern, end, read in self._matching(tables.dates, day.end):
            if "N" in read and not pattern.value.startswith("-"):  # "heute in einer woche"
                days = _days_of(read, pattern.value, day.day)
                return day if days is None else day._replace(day=days[0], end=end)
        return day

    def _numeric_day(self, at: int) -> Day | None:
        """Return the day of digits; without a year only behind a word such as "am"."""
        s = self.s
        if not s.word(at)[:1].isdigit():
            return None
        text, end = with_slashes(s, at)
        written = written_day(text, self.today, day_first=self.s.locale.day_first)
        if written is None or written[1]:
            return None if written is None else Day(written[0], end)
        if s.word(at - 1) not in self.tables.before_days or self._amount(at) is not None:
            return None
        has_stop = "." in text and s.word(end) == "."
        # "3.5" is a number where days have no full stop.
        is_day = has_stop or "." not in text or self.tables.has_stops
        return Day(written[0], end + has_stop) if is_day else None

    def _date(self, at: int) -> Iterator[ValueCandidate]:
        s, day = self.s, self._day(at)
        if day is None:
            return
        yield day_candidate(s, at, day)
        if day.until is not None:
            return
        for place in self._skips(day.end):
            clock = self._clock(place)
            if clock is None:
                continue
            if place == day.end or self._is_announced(place) or not self._is_duration(place, clock):
                yield self._moment(at, clock.end, day, clock)
            return

    # -------------------------------------------------------------------------------- ranges

    def _range(self, at: int) -> Iterator[ValueCandidate]:
        """Yield the first end of a range, which borrows its unit or kind from the other end."""
        s, words = self.s, self.words
        next_words = s.words[at + 1 : at + _MOST_BEFORE_LINK]
        if words.range_links.isdisjoint(next_words) and words.between_amounts.isdisjoint(
            next_words
        ):
            return
        before = (s.word(at - 1), s.word(at - 2) if s.word(at - 1) in words.articles else "")
        is_begun = not words.range_starts.isdisjoint(before)
        if s.word(at) in self.tables.weekdays:
            self._order_weekdays(at)
            return
        number, clock = self._number(at), self._clock(at)
        first = self._part(at, "D") or self._part(at, "H")
        ends = {number.end} if number is not None else set[int]()
        ends |= {first[1]} if first is not None else set()
        ends |= {end + 1 for end in ends if s.word(end) == "."}
        ends |= {clock.end} if clock is not None else set()
        links = words.range_links
        if is_begun or s.word(at - 1) in self.tables.before_days:  # "am 5. und 6. mai"
            links = links | words.between_amounts
        for end in sorted(end for end in ends if s.word(end) in links):
            for place in self._skips(end + 1, words.between_amounts):
                candidates = list(self._ends_of_range(at, end, place, is_begun=is_begun))
                yield from candidates
                if candidates:
                    return

    def _order_weekdays(self, at: int) -> None:
        """Note that the day of "von montag bis freitag" comes after the first one."""
        day = self._day(at)
        if day is None or self.s.word(day.end) not in self.words.range_links:
            return
        for place in self._skips(day.end + 1):
            last = self._day(place) if self.s.word(place) in self.tables.weekdays else None
            if last is not None and last.day < day.day:
                self.found["_day"][place] = last._replace(day=last.day + timedelta(days=7))

    def _ends_of_range(
        self, at: int, end: int, place: int, *, is_begun: bool
    ) -> Iterator[ValueCandidate]:
        s, number = self.s, self._number(at)
        first, last = self._clock(at), self._clock(place)
        hour, day = self._part(at, "H"), self._part(at, "D")
        if is_begun and last is not None and (first is not None or hour is not None):
            if first is None or first.end != end:
                first = Time(hour[0], 0, end) if hour is not None and hour[1] == end else None
            if first is not None:
                evening = _hour_in(first.hour, last.part)  # "entre las 8 y las 10 de la noche"
                if not first.part and evening <= last.hour:
                    first = first._replace(hour=evening)
                yield s.candidate(at, first.end, "TIME", first.value)
                yield s.candidate(place, last.end, "TIME", last.value)
            return
        last_day = self._day(place) if self._part(place, "D") is not None else None
        if day is not None and last_day is not None and day[0] < last_day.day.day:
            if is_begun or end > day[1]:
                value = f"date:{last_day.day.replace(day=day[0]).isoformat()}"
                yield s.candidate(at, end, "DATE", value)
            return
        if number is None or number.end != end:
            return
        amount, price = self._amount(place), self._price(place)
        if price is not None:
            value = f"currency:{plain_digits(number.value)}:{price[1]}"
            yield s.candidate(at, end, "CURRENCY", value)
        elif amount is not None:
            value = amount._replace(value=number.value).tokens
            yield s.candidate(at, end, stem_of(amount.unit, s.units), value)


def _first(found: Iterable[_Found | None]) -> _Found | None:
    return next((x for x in found if x is not None), None)


def _hour_in(hour: int, part: str) -> int:
    """Return an hour of the clock in a part of the day; of "19 uhr abends" it is the hour itself.

    >>> _hour_in(8, "evening"), _hour_in(2, "night"), _hour_in(12, "night"), _hour_in(3, "noon")
    (20, 2, 0, 15)
    """
    if part == "night":
        return 0 if hour == 12 else hour + 12 * (DAWN <= hour < 12)
    is_after_noon = part in ("afternoon", "evening") or (part == "noon" and hour < DAWN + 2)
    return hour + 12 * (is_after_noon and hour < 12)


def _clock_of(value: str, read: Mapping[str, int]) -> tuple[int, int]:
    """Return hour and minute of a matched pattern; the hour before one is twelve.

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


def _days_of(read: Mapping[str, int], value: str, today: date) -> tuple[date, date | None] | None:
    """Return the first day of a pattern, and of a span the day after it; None of no such day."""
    try:
        unit = value.partition(" ")[2]
        if not read and unit:
            return span_from(today, int(value.partition(" ")[0]), unit)
        day = _day_of(read, value, today)
        is_month = read.keys() == {"MONTH", "YEAR"}
        return day, shift_day(day, 1, "mon") if is_month else None
    except (ValueError, OverflowError):
        return None


def _day_of(read: Mapping[str, int], value: str, today: date) -> date:
    """Return the day of a pattern: without a year the next one, with -1 the one before.

    Raises:
        ValueError, OverflowError: there is none.
    """
    if "." in value:
        number, _, month = value.partition(".")
        return next_day(int(number), int(month), today)
    text, _, unit = value.partition(" ")
    count, unit = int(text), unit or "day"
    if "WEEKDAY" in read:
        return near_weekday(read["WEEKDAY"], today, is_past=count < 0)
    if "N" in read:
        return shift_day(today, read["N"] * count, unit)
    if "MONTH" in read and "YEAR" in read:
        return date(read["YEAR"], read["MONTH"] + 1, read.get("D", 1))
    if "MONTH" in read:
        return next_day(read.get("D", 1), read["MONTH"] + 1, today)
    if "D" in read:
        day = next_of_month(read["D"], today)
        assert day is not None  # it is one from 1 to 31
        return day
    return shift_day(today, count, unit)
