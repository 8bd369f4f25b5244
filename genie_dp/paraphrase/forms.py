"""The ways to write one value that mean the same: 10 and ten, $5 and 5 dollars."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from genie_dp.paraphrase.typed import words_of

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
# The first of a row is the usual word; all of a row mean the same.
_UNITS = tuple(
    frozenset(row.split(", "))
    for row in (
        "seconds, second, secs, sec, s",
        "minutes, minute, mins, min, m",
        "hours, hour, hrs, hr, h",
        "days, day",
        "weeks, week, wk, wks",
        "months, month, mo",
        "years, year, yr, yrs",
        "milliseconds, millisecond, ms",
        "degrees celsius, degree celsius, degrees c, degrees, degree, celsius, c, ° c, °",
        "degrees fahrenheit, degree fahrenheit, degrees f, degrees, degree, fahrenheit, f, ° f, °",
        "meters, meter, metres, metre, m",
        "kilometers, kilometer, kilometres, kilometre, km, kms",
        "miles, mile, mi",
        "feet, foot, ft",
        "inches, inch, in",
        "yards, yard, yd, yds",
        "bytes, byte, b",
        "kilobytes, kilobyte, kb, kbs",
        "megabytes, megabyte, mb, mbs, megs",
        "gigabytes, gigabyte, gb, gbs, gigs",
        "terabytes, terabyte, tb, tbs",
        "kilograms, kilogram, kg, kgs, kilos, kilo",
        "grams, gram, g",
        "pounds, pound, lb, lbs",
        "ounces, ounce, oz",
        "meters per second, meter per second, m / s, mps, metres per second",
        "kilometers per hour, km / h, kmh, kph, kilometres per hour",
        "miles per hour, mph, mile per hour",
        "calories, calorie, kcal, cal, kilocalories, cals",
        "beats per minute, bpm, beat per minute",
        "decibels, decibel, db",
        "square meters, square meter, sqm, m2, square metres",
        "square feet, square foot, sqft, sq ft",
        "percent, %, per cent",
    )
)
_MONEY = {
    "$": ("dollars", "dollar", "usd", "bucks", "$", "us dollars"),
    "€": ("euros", "euro", "eur", "€"),
    "£": ("pounds", "pound", "gbp", "£"),
    "¥": ("yen", "jpy", "¥"),
}
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?: (am|pm))?")
_DATE = re.compile(rf"({'|'.join(MONTHS)}) (\d{{1,2}})(?: ,? ?(\d{{4}}))?")
_FREE = ("QUOTED_STRING", "USERNAME", "HASHTAG", "URL", "EMAIL_ADDRESS", "PATH_NAME")

Words = tuple[str, ...]


@lru_cache(maxsize=16384)
def forms(stem: str, text: str) -> tuple[Words, ...]:
    """Return the ways to write a value, as words, the given one first.

    Args:
        stem: of its placeholder, such as NUMBER.
        text: the value as people are shown it, without quotes, @ and #.

    >>> [" ".join(form) for form in forms("NUMBER", "12")]
    ['12', 'twelve']
    >>> [" ".join(form) for form in forms("CURRENCY", "$5")][:3]
    ['$ 5', '5 dollars', '5 dollar']
    >>> ("november", "5", "th") in forms("DATE", "november 5")
    True
    >>> forms("QUOTED_STRING", "Hello there")
    (('hello', 'there'),)
    """
    own = words_of(text)
    others = () if stem in _FREE or stem.startswith("GENERIC_ENTITY") else _others(" ".join(own))
    return tuple(dict.fromkeys((own, *(tuple(other.split()) for other in others))))


def _others(text: str) -> Iterable[str]:
    if (match := _TIME.fullmatch(text)) is not None:
        return _times(int(match[1]), match[2], match[3] or "")
    if (match := _DATE.fullmatch(text)) is not None:
        return _dates(match[1], int(match[2]), match[3] or "")
    if text[:1] in _MONEY and _NUMBER.fullmatch(text[2:]):
        return _sums(text[0], text[2:])
    number, _, unit = text.partition(" ")
    if _NUMBER.fullmatch(number):
        return _measures(number, unit) if unit else _numbers(number)
    return ()


def _numbers(number: str) -> Iterator[str]:
    plain = number.replace(",", "")
    yield plain
    if plain.isdigit():
        yield f"{int(plain):,}"
        if int(plain) < 10_000:
            yield number_words(int(plain))
            yield number_words(int(plain)).replace("-", " ")


def number_words(number: int) -> str:
    """Return a number below 10,000 in words.

    >>> number_words(42), number_words(100), number_words(2500)
    ('forty-two', 'one hundred', 'two thousand five hundred')
    """
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            many, rest = divmod(number, size)
            return f"{number_words(many)} {name}" + (f" {number_words(rest)}" if rest else "")
    if number >= 20:
        ones = number % 10
        return _TENS[number // 10] + (f"-{_ONES[ones]}" if ones else "")
    return _ONES[number]


def _measures(number: str, unit: str) -> Iterator[str]:
    same = sorted({unit}.union(*(row for row in _UNITS if unit in row)))
    for amount in (number, *_numbers(number)):
        yield from (f"{amount} {word}" for word in same)
    if number == "1":
        yield from (f"{article} {word}" for article in ("a", "an", "one") for word in same)


def _sums(sign: str, number: str) -> Iterator[str]:
    for amount in (number, *_numbers(number)):
        yield from (f"{amount} {word}" for word in _MONEY[sign])
        yield f"{sign} {amount}"


_PARTS = {"am": ("in the morning",), "pm": ("in the afternoon", "in the evening", "at night")}


def _times(hour: int, minute: str, half: str) -> Iterator[str]:
    hours = {hour, hour % 12 + 12 * (half == "pm")} if half else {hour}
    for clock in (clock for number in sorted(hours) for clock in _clocks(number, minute)):
        if half:
            yield from (f"{clock} {half}", f"{clock} {half[0]}.m .", f"{clock} {half[0]}.m")
            yield from (f"{clock} {part}" for part in _PARTS[half])
        # A bare 5 could be any number.
        if ":" in clock or " " in clock:
            yield clock
    if (hour, minute) == (12, "00"):
        yield "midnight" if half == "am" else "noon"


def _clocks(hour: int, minute: str) -> Iterator[str]:
    yield from (f"{hour}:{minute}", f"{hour:02}:{minute}", f"{hour}.{minute}")
    numbers = (hour, hour % 12 + 1)
    for name, after in (map(str, numbers), map(number_words, numbers)):
        match minute:
            case "00":
                yield from (name, f"{name} o'clock")
            case "15":
                yield from (f"quarter past {name}", f"a quarter past {name}")
            case "30":
                yield f"half past {name}"
            case "45":
                yield from (f"quarter to {after}", f"a quarter to {after}")
    if minute != "00":
        yield f"{number_words(hour)} {number_words(int(minute)).replace('-', ' ')}"


def _dates(month: str, day: int, year: str) -> Iterator[str]:
    number = MONTHS.index(month) + 1
    ends = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if day in (11, 12, 13) else ends.get(day % 10, "th")
    days = (str(day), f"{day} {ending}", f"the {day} {ending}")
    for name in (month, month[:3], "sept" if month == "september" else month[:3]):
        for spoken in days:
            for order in (f"{name} {spoken}", f"{spoken} {name}", f"{spoken} of {name}"):
                yield from (f"{order} {year}", f"{order} , {year}") if year else (order,)
    if year:
        yield f"{number} / {day} / {year}"
        yield f"{year}-{number:02}-{day:02}"
    else:
        yield f"{number} / {day}"
