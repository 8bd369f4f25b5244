"""Measures and money: "6 feet 3 inches", "20 c", "half an hour", "$5", "5 euros and 20 cents"."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple

from genie_dp.languages.types import Measure, slot_stem
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.parser.reading.numbers import (
    SCALES,
    SMALL,
    Numbers,
    digits,
    fraction_at,
    short_number,
)
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.parser.reading.sentence import PhraseTable, TextTokens, phrase_table
from genie_dp.texts import word_set
from genie_dp.values.money import CURRENCIES
from genie_dp.values.spelling import Number, plain_digits

# Signs that also stand for something else are taken only after digits, as all of one letter.
_ONLY_DIGITS = word_set("in mi pa ha ma")


def _is_sign(name: str) -> bool:
    """Return whether a name of a unit is too short to be one without digits before it."""
    return name in _ONLY_DIGITS or (len(name) == 1 and name.isalpha())


_OTHER_SCALE = {"C": "F", "F": "C"}
DEGREES = frozenset(("degrees", "degree", "°", "deg"))
_ATTACHED = re.compile(r"([+-]?\d[\d,]*(?:\.\d+)?)-?([^\W\d_]+[23]?|°[cf]?|″|′)")
_CLOCKED = re.compile(r"(\d{1,2})(:|h)([0-5]\d)(?::([0-5]\d))?")
# Behind these "16:30 hours" is a time of day.
_BEFORE_TIMES = word_set("at by until till before after from since around about")
_FEET = re.compile(r"(\d{1,2})['’](\d{1,2})")
_PAIRS = {("h", "min"), ("min", "s"), ("day", "h"), ("ft", "in"), ("lb", "oz"), ("kg", "g"),
          ("m", "cm"), ("h", "s"), ("week", "day"), ("year", "mon"), ("km", "m"), ("mon", "day"),
          ("mon", "week"), ("day", "min"), ("mi", "ft")}  # fmt: skip
# What follows a measure of length called "in", for the word is nearly always another one.
_AFTER_INCHES = frozenset(("", ".", ",", "!", "?", "and", "or", "long", "wide", "tall", "high",
                           "thick", "deep", "of", "rain", "snow"))  # fmt: skip
# Only after these is "an hour" so long: "$30 an hour", "give me a minute", "a day at the beach".
_BEFORE_IDIOM = word_set(
    """
    for in than every least most over under about last lasts lasting within by after before takes
    exactly around nearly almost is to reaches exceeds above below of into - equals past next and or
    between
    """
)


class Amount(NamedTuple):
    """An amount of a unit; `end` is the place of the token after it."""

    value: Decimal
    unit: str
    end: int

    @property
    def tokens(self) -> str:
        """Return the amount in the token form of programs."""
        return f"{plain_digits(self.value)} unit:{self.unit}"


@lru_cache(maxsize=64)
def unit_phrases(units: Units) -> PhraseTable:
    """Return first word -> (words of a unit, its name), the longest first."""
    named = (
        (tuple(name.replace("/", " / ").split()), unit.name)
        for unit in units.by_name.values()
        for name in (*unit.words, *unit.signs, *unit.spellings)
    )
    has_degrees = "C" in units  # "degrees" are those of temperature
    return phrase_table(
        (words, name)
        for words, name in named
        if not (name == "deg" and has_degrees and words[0] in DEGREES)
    )


def unit_at(s: TextTokens, at: int) -> tuple[str, int] | None:
    """Return (unit, next place) of the longest name of a unit that begins at a token, or None."""
    for words, unit in unit_phrases(s.units).get(s.word(at), ()):
        if s.has(at, *words):
            return _by_case(s, at, unit), at + len(words)
    if s.word(at) in DEGREES and "C" in s.units:
        return s.locale.temperature, at + 1
    return None


def _by_case(s: TextTokens, at: int, unit: str) -> str:
    """Return the megawatt of "5 MW"; "5 mw" are milliwatts."""
    return "MW" if unit == "mW" and s.text[: s.ends[at]].endswith("MW") else unit


def amount_at(s: TextTokens, at: int, numbers: Numbers) -> Amount | None:
    """Return a number with its unit that begins at a token, "5 km", "5km", or None."""
    number = numbers[at] if at < len(numbers) else None
    if number is not None:
        number = _fraction(s, at) or number
        unit = unit_at(s, number.end)
        name = s.word(number.end)
        if name == "quarter" and number.value == 3:  # "three quarter hours"
            number, unit = Number(Decimal("0.75"), number.end + 1), unit_at(s, number.end + 1)
        if unit is None or (number.is_said and _is_sign(name)):
            return None
        if name == unit[0] == "in" and s.word(number.end + 1) not in _AFTER_INCHES:
            return None
        return Amount(number.value, *unit)
    return _amount_in_token(s, at)


def _fraction(s: TextTokens, at: int) -> Number | None:
    """Return the half of "1/2 mile", "1/2 an hour", "3/4 of a mile", or None."""
    below = {"2": 2, "3": 3, "4": 4, "8": 8}.get(s.word(at + 2))
    above = digits(s.word(at))
    if s.word(at + 1) != "/" or below is None or above is None or not 0 < above < below:
        return None
    end = at + 3 + (s.word(at + 3) == "of")
    return Number(round(above / below, 9), end + (s.word(end) in ("a", "an")))


def _read_clock_amount(s: TextTokens, at: int) -> Amount | None:
    """Return "1:30 hours", "2:30 minutes", "1h30"; "at 16:30 hours" is a time."""
    match = _CLOCKED.fullmatch(s.word(at))
    if match is None:
        return None
    unit = ("h", at + 1) if match[2] == "h" else unit_at(s, at + 1)
    if unit is None or s.word(at - 1) in _BEFORE_TIMES:
        return None
    return clocked_amount(match, *unit)


def clocked_amount(clock: re.Match[str], unit: str | None, end: int) -> Amount | None:
    """Return the amount of a unit of time that is written as a clock shows it: "1:30" hours.

    Args:
        clock: its groups are the number, a sign, minutes or seconds, and seconds or none.
    """
    if unit not in ("h", "min"):
        return None
    value = 60 * int(clock[1]) + int(clock[3])
    if clock[4] is None:
        return Amount(Decimal(value), SMALLER[unit][1], end)
    return Amount(Decimal(60 * value + int(clock[4])), "s", end) if unit == "h" else None


def _amount_in_token(s: TextTokens, at: int) -> Amount | None:
    """Return "5km", "5-minute", "20°c"; of "five-minute" the number is in words."""
    word = s.word(at)
    if (clocked := _read_clock_amount(s, at)) is not None:
        return clocked
    if word[:1].isalpha():
        number_word, _, name = word.rpartition("-")
        if number_word in SMALL and not _is_sign(name):
            for words, unit in unit_phrases(s.units).get(name, ()):
                if len(words) == 1:
                    return Amount(Decimal(SMALL[number_word]), unit, at + 1)
        return None
    match = _ATTACHED.fullmatch(word)
    value = digits(match[1]) if match is not None else None
    if match is None or value is None or (match[2] == "s" and _is_decade(s, at)):
        return None
    name = match[2]
    if name == "°":
        return Amount(value, s.locale.temperature, at + 1)
    for words, unit in unit_phrases(s.units).get(name, ()):
        if s.has(at + 1, *words[1:]) and (len(words) == 1 or words[1] == "/"):
            return Amount(value, _by_case(s, at, unit), at + len(words))
    return None


def _is_decade(s: TextTokens, at: int) -> bool:
    """Return whether "1990s" is no duration, nor is the "90s" of "the 90s"."""
    number = s.word(at)[:-1]
    return number.endswith("0") and (
        number[:2] in ("18", "19", "20") if len(number) == 4 else s.word(at - 1) == "the"
    )


def stem_of(unit: str, units: Units = SHIPPED) -> str:
    """Return the stem of a unit's placeholder.

    >>> stem_of("KB"), stem_of("h")
    ('MEASURE_byte', 'DURATION')
    """
    stem = slot_stem(Measure(unit), units)
    assert stem is not None
    return stem


BEGINS = frozenset(("a", "an", "half", "quarter", "three", "one"))


def measures(s: TextTokens, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield the candidates that are measures."""
    for i in s.beginnings(numbers, BEGINS):
        amount = amount_at(s, i, numbers)
        if amount is not None:
            yield from _with_smaller(s, i, amount, numbers)
        elif s.word(i) in ("a", "an") and (single := _one_and(s, i, numbers)) is not None:
            yield from _with_smaller(s, i, single, numbers)
        elif s.word(i) in ("a", "an", "half", "half-hour", "quarter", "three", "1", "one"):
            yield from _idiom(s, i)
        if s.word(i)[:1].isdigit():
            yield from _feet(s, i)


def _one_and(s: TextTokens, at: int, numbers: Numbers) -> Amount | None:
    """Return the hour of "an hour and 15 minutes"."""
    unit = unit_at(s, at + 1)
    if unit is None or _is_sign(s.word(at + 1)):
        return None
    place = unit[1] + (s.word(unit[1]) == "and")
    smaller = amount_at(s, place, numbers)
    if smaller is None or (unit[0], smaller.unit) not in _PAIRS:
        return None
    return Amount(Decimal(1), *unit)


def _with_smaller(
    s: TextTokens, at: int, amount: Amount, numbers: Numbers
) -> Iterator[ValueCandidate]:
    """Yield "6 feet 3 inches", "2 hours and a half", "5 foot 10", else the amount alone."""
    after = amount_at(s, amount.end, numbers) if _is_written(s, amount, "m") else None
    if after is not None and _is_written(s, after, "s"):
        amount = amount._replace(unit="min")
    end, parts, last = amount.end, [amount.tokens], amount
    is_range = s.word(at - 1) == "between"
    for _ in range(3):
        # "between 50 minutes and 5 seconds" are two.
        following = end + (s.word(end) == "," or (s.word(end) == "and" and not is_range))
        smaller = amount_at(s, following, numbers)
        if smaller is not None and last.unit == "h" and _is_written(s, smaller, "m"):
            smaller = smaller._replace(unit="min")
        if smaller is None or (last.unit, smaller.unit) not in _PAIRS:
            break
        parts.append(smaller.tokens)
        end, last = smaller.end, smaller
    if len(parts) == 1 and (inches := _inches(s, amount, numbers)) is not None:
        value = f"{parts[0]} {plain_digits(inches.value)} unit:in"
        yield s.candidate(at, inches.end, "MEASURE_m", value)
    part = fraction_at(s, end + 2) if len(parts) == 1 and s.has(end, "and", "a") else None
    if part is not None and part.is_said and unit_at(s, part.end) is None:
        half = amount._replace(value=amount.value + part.value)
        yield s.candidate(at, part.end, stem_of(amount.unit, s.units), half.tokens)
        return
    if len(parts) == 1 and (bare := _bare_part(s, amount, numbers)) is not None:
        parts.append(bare.tokens)
        end = bare.end
    name = s.word(amount.end - 1)
    is_unsaid = name.lstrip("0123456789.,-") in DEGREES
    if amount.unit in ("C", "F") and s.has(end, "below", "zero"):
        place = end + 2
        named = unit_at(s, place)
        is_unsaid = named is None
        unit, end = named if named is not None and named[0] in ("C", "F") else (amount.unit, place)
        parts = [Amount(-abs(amount.value), unit, end).tokens]
    is_decade = name[2:] == "s" and name[1:2] == "0"  # "play 80s music"
    soft = (
        is_decade
        or name in ("second", "seconds", "minute", "day", "days")
        and s.word(at)
        in (
            "one",
            "1",
            "first",
        )
    )
    # "40k" is forty thousand, "3M" three million; `numbers` has them.
    is_million = amount.unit == "m" and s.text[s.ends[at] - 1] == "M" and end == at + 1
    weak = is_million or (amount.unit == "K" and name.endswith("k"))
    value, alternative = " ".join(parts), ""
    if is_unsaid and amount.unit in _OTHER_SCALE:
        alternative = value.replace(f"unit:{amount.unit}", f"unit:{_OTHER_SCALE[amount.unit]}")
    stem = stem_of(amount.unit, s.units)
    yield s.candidate(at, end, stem, value, soft=soft, weak=weak, other=alternative)
    if len(parts) == 1 and "deg" in s.units and is_unsaid:
        # Of temperatures and angles the program tells which is meant.
        yield s.candidate(at, end, "MEASURE_deg", f"{plain_digits(amount.value)} unit:deg")


def _bare_part(s: TextTokens, amount: Amount, numbers: Numbers) -> Amount | None:
    """Return the thirty of "two minutes thirty", at an end alone."""
    number = numbers[amount.end] if amount.end < len(numbers) else None
    if number is None or amount.unit not in ("h", "min") or amount.value % 1 or number.value % 1:
        return None
    is_last = s.word(number.end) in ("", ".", "!", "?")
    is_part = is_last and 0 < number.value < 60 and s.word(amount.end - 1).isalpha()
    return Amount(number.value, SMALLER[amount.unit][1], number.end) if is_part else None


def _is_written(s: TextTokens, amount: Amount, sign: str) -> bool:
    """Return whether a sign is the unit: "m" are minutes after hours and before seconds."""
    return s.word(amount.end - 1).lstrip("+-.,0123456789") == sign


def _inches(s: TextTokens, feet: Amount, numbers: Numbers) -> Number | None:
    """Return the 10 of "5 foot 10"."""
    number = numbers[feet.end] if feet.end < len(numbers) else None
    if number is None or number.value >= 12 or feet.unit != "ft":
        return None
    return number if amount_at(s, feet.end, numbers) is None else None


def _feet(s: TextTokens, at: int) -> Iterator[ValueCandidate]:
    """Yield 6'3" and 6' 3"."""
    match = _FEET.fullmatch(s.word(at))
    if match is not None:
        end = at + 1 + (s.word(at + 1) in ('"', "″", "”"))
        yield s.candidate(at, end, "MEASURE_m", f"{int(match[1])} unit:ft {int(match[2])} unit:in")
    elif s.has(at + 1, "'") and at + 2 < len(s.words) and s.starts[at + 2] - s.ends[at] <= 2:
        feet, inches = digits(s.word(at)), digits(s.word(at + 2))
        if feet is not None and inches is not None and inches < 12:
            end = at + 3 + (s.word(at + 3) in ('"', "″", "”"))
            value = f"{plain_digits(feet)} unit:ft {plain_digits(inches)} unit:in"
            yield s.candidate(at, end, "MEASURE_m", value)


def _idiom(s: TextTokens, at: int) -> Iterator[ValueCandidate]:
    """Yield "an hour", "half an hour", "an hour and a half", "a quarter of an hour"."""
    word = s.word(at)
    if s.word(at - 1) in ("a", "an", "half") and word in ("half", "an", "a"):
        return  # begun before
    halved = _half_of(s, at)
    if halved is not None:
        yield halved
        return
    quarters = {"a": 15, "one": 15, "quarter": 15, "three": 45}.get(word)
    place = at + (word != "quarter")
    if (
        quarters
        and s.word(place) in ("quarter", "quarters")
        and (s.has(place + 1, "of", "an", "hour") or s.word(place + 1) in ("hour", "hours"))
    ):
        end = place + 2 if s.word(place + 1) != "of" else place + 4
        yield s.candidate(at, end, "DURATION", f"{quarters} unit:min")
        return
    if word not in ("a", "an", "one"):
        return
    unit = unit_at(s, at + 1)
    if unit is None or _is_sign(s.word(at + 1)) or s.word(at + 1) in DEGREES:
        return
    name, end = unit
    stem = stem_of(name, s.units)
    part = fraction_at(s, end + 2) if s.has(end, "and", "a") else None
    if part is not None and part.is_said:
        size, smaller = SMALLER.get(name, (1, name))
        value = f"{plain_digits((1 + part.value) * size)} unit:{smaller}"
        yield s.candidate(at, part.end, stem, value)
    elif word != "one":
        is_told = s.word(at - 1) in _BEFORE_IDIOM and s.word(at + 1) not in ("second", "sec", "bar")
        yield s.candidate(at, end, stem, f"1 unit:{name}", weak=not is_told, soft=True)


# Unit -> how many of a smaller one it has, in which parts of it are said.
SMALLER = {"h": (60, "min"), "day": (24, "h"), "year": (12, "mon"), "min": (60, "s")}
_HALVED = {
    unit: Amount(Decimal(size) / 2, smaller, 0).tokens
    for unit, (size, smaller) in {
        **SMALLER, "km": (1000, "m"), "kg": (1000, "g"), "GB": (1000, "MB")
    }.items()
}  # fmt: skip


def _half_of(s: TextTokens, at: int) -> ValueCandidate | None:
    """Return "half an hour", "a half hour", "half-hour"."""
    place = at
    if s.word(place) in ("a", "an") and s.word(place + 1) in ("half", "half-hour"):
        place += 1
    if s.word(place) == "half-hour":
        return s.candidate(at, place + 1, "DURATION", _HALVED["h"])
    if s.word(place) != "half":
        return None
    place += 1
    place += s.word(place) in ("a", "an", "of")
    unit = unit_at(s, place)
    if unit is None or _is_sign(s.word(place)) or s.word(place) in DEGREES:
        return None
    name, end = unit
    value = _HALVED.get(name, f"0.5 unit:{name}")
    return s.candidate(at, end, stem_of(name, s.units), value, soft=place == at + 1)


_SIGNS = {
    sign: currency.code
    for currency in CURRENCIES
    for sign in (currency.sign, *currency.spellings)
    if len(sign) == 1
}
_SIGNED = re.compile(r"([$€£])([-+]?\d.*)")
# What stands right before the "$" of other countries.
DOLLARS = {"us": "usd", "c": "cad", "ca": "cad", "a": "aud", "au": "aud", "nz": "nzd"}
_CENTS = {word: currency.code for currency in CURRENCIES for word in currency.cents}
# Each country's own is meant by them.
_LOCAL = frozenset(("dollars", "dollar", "$", *CURRENCIES[0].cents))
# Words that are rarely money by themselves.
_RARE = frozenset(("won", "real", "rand", "rs", "cad", "all", "chf", "try", "c"))


@cache
def currency_names() -> PhraseTable:
    """Return first word -> (words of a currency, its code), the longest first."""
    return phrase_table(
        (tuple(name.split()), currency.code)
        for currency in CURRENCIES
        for name in (*currency.words, currency.sign, currency.code, *currency.spellings)
        if name
    )


CODES = frozenset(currency.code for currency in CURRENCIES)


def currency_at(s: TextTokens, at: int) -> tuple[str, int] | None:
    """Return (code, next place) of the longest name of a currency at a token, or None."""
    for phrase, code in currency_names().get(s.word(at), ()):
        if s.has(at, *phrase):
            is_local = len(phrase) == 1 and phrase[0] in _LOCAL
            return (s.locale.currency if is_local else code), at + len(phrase)
    return None


BEGINS_MONEY = frozenset(("a", "an", "one", "half", *DOLLARS, *_SIGNS, *CODES))


def money(s: TextTokens, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield the candidates that are amounts of money."""
    for i in s.beginnings(numbers, BEGINS_MONEY):
        number = numbers[i]
        if number is not None:
            yield from _with_name(s, i, number, numbers)
        else:
            yield from _with_sign(s, i, numbers)
        if number is None and s.word(i) in ("a", "an", "one", "1", "half"):
            yield from _one_currency(s, i, numbers)


_GLUED = re.compile(r"([-+]?\d[\d.,]*)([a-z°]+)")


def plain_amounts(s: TextTokens, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield the numbers of "$5000" and "70kg", for libraries that have no measures, nor money."""
    for i in s.beginnings(numbers, BEGINS_MONEY):
        if numbers[i] is not None:
            continue
        for candidate in _with_sign(s, i, numbers):
            _, amount, code = candidate.value.split(":")
            yield candidate._replace(
                stem="NUMBER", value=amount, after=_CURRENCY_NAMES.get(code, code)
            )
        match = _GLUED.fullmatch(s.word(i))
        number = digits(match[1]) if match and match[2] != "k" else None  # 300K are 300,000
        if match and number is not None and _is_other_unit(match[2], s.units):
            yield s.candidate(i, i + 1, "NUMBER", plain_digits(number), after=match[2])


def _is_other_unit(sign: str, units: Units) -> bool:
    """Return whether a word is a unit, though none of a library's."""
    return sign in unit_phrases(SHIPPED) and sign not in unit_phrases(units)


_CURRENCY_NAMES = {currency.code: currency.plural for currency in CURRENCIES if currency.sign}


def money_at(s: TextTokens, at: int, numbers: Numbers) -> ValueCandidate | None:
    """Return the amount of money that begins at a token, or None."""
    number = numbers[at] if at < len(numbers) else None
    amounts = _with_sign(s, at, numbers) if number is None else _with_name(s, at, number, numbers)
    return next(iter(amounts), None)


def _money_candidate(
    s: TextTokens,
    at: int,
    end: int,
    amount: Decimal,
    code: str,
    *,
    soft: bool = False,
    weak: bool = False,
) -> ValueCandidate:
    value = f"currency:{plain_digits(amount)}:{code}"
    return s.candidate(at, end, "CURRENCY", value, soft=soft, weak=weak)


def _with_name(
    s: TextTokens, at: int, number: Number, numbers: Numbers
) -> Iterator[ValueCandidate]:
    """Yield "5 dollars (and 20 cents)", "50 cents"."""
    currency = currency_at(s, number.end)
    cents = cents_at(s, number.end)
    if currency is not None and (cents is None or cents[1] <= currency[1]):
        code, end = currency
        amount = number.value
        extra = _cents_after(s, end, code, numbers) or _bare_cents(s, end, numbers)
        if extra is not None:
            amount, end = amount + extra[0], extra[1]
        soft = s.word(number.end) in _RARE and end == number.end + 1
        if not (soft and number.is_said and number.value == 1):
            yield _money_candidate(s, at, end, amount, code, soft=soft)
        return
    if cents is not None:
        code, end = cents
        yield _money_candidate(s, at, end, number.value / 100, code or s.locale.currency)


def cents_at(s: TextTokens, at: int) -> tuple[str, int] | None:
    """Return (code or "", next place) of the name of a hundredth at a token, or None."""
    for words in ((s.word(at), s.word(at + 1)), (s.word(at),)):
        if (name := " ".join(words)) in _CENTS:
            return "" if name in _LOCAL else _CENTS[name], at + len(words)
    return None


def _cents_after(
    s: TextTokens, end: int, code: str, numbers: Numbers
) -> tuple[Decimal, int] | None:
    """Return (amount, next place) of "and 20 cents"."""
    i = end + (s.word(end) == "and")
    number = numbers[i] if i < len(numbers) else None
    cents = cents_at(s, number.end) if number is not None and number.value < 100 else None
    if number is None or cents is None or cents[0] not in ("", code):
        return None
    return number.value / 100, cents[1]


def _bare_cents(s: TextTokens, end: int, numbers: Numbers) -> tuple[Decimal, int] | None:
    """Return (amount, next place) of the "fifty" of "three bucks fifty", at an end alone."""
    number = numbers[end] if end < len(numbers) else None
    if number is None or number.value % 1 or not 10 <= number.value < 100:
        return None
    return (number.value / 100, number.end) if s.word(number.end) in ("", ".", "!", "?") else None


def _with_sign(s: TextTokens, at: int, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield "$5", "$ 5", "$1.5k", "$2 million", "eur 5"."""
    word = s.word(at)
    if word in ("-", *DOLLARS) and s.starts[at + 1 : at + 2] == (s.ends[at],):
        yield from _with_prefix(s, at, numbers)
        return
    match = _SIGNED.fullmatch(word)
    if match is not None:
        amount = digits(match[2])
        if amount is None:
            amount = short_number(match[2])
        code, end = _code_of(s, match[1]), at + 1
        if amount is not None:
            scale = SCALES.get(s.word(end), 1)
            extra = _cents_after(s, end, code, numbers)
            if extra is not None:
                yield _money_candidate(s, at, extra[1], amount + extra[0], code)
                return
            end += scale > 1
            named = currency_at(s, end)  # "$1 usd"
            end = named[1] if named is not None and named[0] == code else end
            yield _money_candidate(s, at, end, amount * scale, code)
    elif word in _SIGNS or word in CODES:
        following = numbers[at + 1] if at + 1 < len(numbers) else None
        if following is not None and not (word in _RARE and following.is_said):
            code = _code_of(s, word)
            yield _money_candidate(s, at, following.end, following.value, code, soft=word in _RARE)


def _code_of(s: TextTokens, sign: str) -> str:
    """Return the code of a currency by its sign, or by itself."""
    return s.locale.currency if sign in _LOCAL else _SIGNS.get(sign, sign)


def _with_prefix(s: TextTokens, at: int, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield "-$5", "C$5": a sign of money with a minus or a country right before it."""
    word, sign = s.word(at), s.word(at + 1)[:1]
    is_inside = at > 0 and s.ends[at - 1] == s.starts[at]
    if is_inside or sign not in _SIGNS or (word != "-" and sign != "$"):
        return
    if word in ("a", "c") and s.text[s.starts[at]] == word:
        return  # "a$5 tip"
    for candidate in _with_sign(s, at + 1, numbers):
        _, amount, code = candidate.value.split(":")
        if word == "-":
            amount = plain_digits(-Decimal(amount))
        else:
            code = DOLLARS[word]
        start = s.starts[at]
        yield candidate._replace(start=start, value=f"currency:{amount}:{code}")


def _one_currency(s: TextTokens, at: int, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield "a dollar", "a buck fifty", "a dollar and fifty cents", "half a dollar"."""
    is_half = s.word(at) == "half"
    place = at + 1 + (is_half and s.word(at + 1) in ("a", "an"))
    currency = currency_at(s, place)
    if currency is None or s.word(place) in _RARE | {"pound", "quid"}:
        return
    if is_half or s.word(at - 1) == "half":
        if is_half and place > at + 1:
            yield _money_candidate(s, at, currency[1], Decimal("0.5"), currency[0])
        return
    code, end = currency
    extra = _cents_after(s, end, code, numbers) or _bare_cents(s, end, numbers)
    amount, end = (1 + extra[0], extra[1]) if extra is not None else (Decimal(1), end)
    yield _money_candidate(s, at, end, amount, code, soft=extra is None)
