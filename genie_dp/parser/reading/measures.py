"""Measures: "6 feet 3 inches", "5 foot 10", "20 c", "half an hour", "5gb"."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from genie_dp.augment.written.measures import TABLE
from genie_dp.augment.written.numerals import plain
from genie_dp.languages.thingtalk.slots import slot_stem
from genie_dp.languages.thingtalk.types import UNITS, Measure
from genie_dp.parser.reading.numbers import SMALL, Number, digits
from genie_dp.parser.reading.reading import Candidate
from genie_dp.parser.reading.sentence import Sentence, words_of

# Words for units beside those that augmentation writes.
_ALSO = {
    "ms": "millis msec msecs millisecs", "s": "sec secs s", "min": "mins min",
    "h": "hr hrs h", "week": "wk wks weeks", "year": "yr yrs", "mon": "mos", "day": "days",
    "km": "kms kilometre kilometres", "m": "metre metres mtrs", "cm": "cms centimetre centimetres",
    "mm": "mms millimetre millimetres", "ft": "foot ′", "in": "″", "mi": "mi",
    "kmph": "kmph km/h kph kmh", "mph": "mph", "mps": "mps m/s",
    "kg": "kgs kilo kilos kilogramme kilogrammes",
    "g": "gr gms gram grams gramme", "lb": "lbs", "oz": "ozs", "Pa": "pa", "bar": "bars",
    "C": "°c ℃ centigrade", "F": "°f ℉", "K": "kelvins", "kcal": "kcals kilocalorie cals calories",
    "kJ": "kjs kilojoule", "byte": "bytes", "KB": "kbs kilobyte kilobytes", "MB": "mbs meg",
    "GB": "gbs gig", "TB": "tbs terabyte teras", "bpm": "bpms", "dB": "dbs", "lx": "lux",
    "m2": "m² sqm m2",
}  # fmt: skip
_PHRASES = {
    "kmph": (
        "kilometers / hour",
        "kilometres / hour",
        "km / hour",
        "kilometers an hour",
        "kilometres an hour",
        "km per hour",
        "km / h",
        "kilometer an hour",
    ),
    "mph": ("miles an hour", "mile an hour", "mi / h", "miles / hour"),
    "mps": ("meters a second", "metres a second", "m / s"),
    "C": ("degrees c", "degree c", "° c", "degrees centigrade", "deg c"),
    "F": ("degrees f", "degree f", "° f", "deg f"),
    "K": ("degrees k", "degrees kelvin"),
    "m2": ("square meters", "square metres", "square meter", "square metre", "sq m"),
    "psi": ("pounds per square inch",),
    "kcal": ("kilo calories",),
    "bpm": ("beats a minute", "beats per min"),
}
# Signs that also stand for something else are taken only after digits.
_ONLY_DIGITS = words_of("s h m c f k g in mi pa b")
_DEGREES = frozenset(("degrees", "degree", "°", "deg"))
_ATTACHED = re.compile(r"([+-]?\d[\d,]*(?:\.\d+)?)-?([^\W\d_]+2?|°[cf]?|″|′)")
_FEET = re.compile(r"(\d{1,2})['’](\d{1,2})")
_PAIRS = {("h", "min"), ("min", "s"), ("day", "h"), ("ft", "in"), ("lb", "oz"), ("kg", "g"),
          ("m", "cm"), ("h", "s"), ("week", "day"), ("year", "mon"), ("km", "m"), ("mon", "day"),
          ("mon", "week"), ("day", "min"), ("mi", "ft")}  # fmt: skip
# What follows a measure of length called "in", for the word is nearly always another one.
_AFTER_INCHES = frozenset(("", ".", ",", "!", "?", "and", "or", "long", "wide", "tall", "high",
                           "thick", "deep", "of", "rain", "snow"))  # fmt: skip
_HALVED = {"h": "30 unit:min", "day": "12 unit:h", "year": "6 unit:mon", "min": "30 unit:s",
           "km": "500 unit:m", "kg": "500 unit:g", "GB": "500 unit:MB"}  # fmt: skip
# Only after these is "an hour" so long: "$30 an hour", "give me a minute", "a day at the beach".
_BEFORE_IDIOM = words_of(
    """
    for in than every least most over under about last lasts lasting within by after before takes
    exactly around nearly almost is to reaches exceeds above below of into - equals past next and or
    between
    """
)


class Amount(NamedTuple):
    """So many of a unit; `end` is the place of the token after it."""

    value: Decimal
    unit: str
    end: int


@cache
def unit_phrases() -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
    """Return first word -> (words of a unit, its name), the longest first."""
    found: dict[tuple[str, ...], str] = {}
    for unit in (unit for units in TABLE.values() for unit in units):
        names = (
            unit.singular,
            unit.plural,
            *unit.also,
            *unit.short,
            *_ALSO.get(unit.name, "").split(),
        )
        for name in (*names, *_PHRASES.get(unit.name, ())):
            found.setdefault(tuple(name.replace("/", " / ").split()), unit.name)
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for words, unit_name in sorted(found.items(), key=lambda item: -len(item[0])):
        by_first.setdefault(words[0], []).append((words, unit_name))
    return {first: tuple(phrases) for first, phrases in by_first.items()}


def unit_at(s: Sentence, at: int) -> tuple[str, int] | None:
    """Return (unit, next place) of the longest name of a unit that begins at a token, or None."""
    for words, unit in unit_phrases().get(s.word(at), ()):
        if s.has(at, *words):
            return unit, at + len(words)
    if s.word(at) in _DEGREES:
        return s.locale.temperature, at + 1
    return None


def amount_at(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Amount | None:
    """Return a number with its unit that begins at a token, "5 km", "5km", or None."""
    number = found[at] if at < len(found) else None
    if number is not None:
        number = _fraction(s, at) or number
        unit = unit_at(s, number.end)
        if unit is None or not _is_unit(s, number, unit[0]):
            return None
        return Amount(number.value, *unit)
    return _attached(s, at)


def _fraction(s: Sentence, at: int) -> Number | None:
    """Return the half of "1/2 mile", "1/2 an hour", "3/4 of a mile", or None."""
    below = {"2": 2, "3": 3, "4": 4, "8": 8}.get(s.word(at + 2))
    above = digits(s.word(at))
    if s.word(at + 1) != "/" or below is None or above is None or not 0 < above < below:
        return None
    end = at + 3 + (s.word(at + 3) == "of")
    return Number(round(above / below, 9), end + (s.word(end) in ("a", "an")))


def _is_unit(s: Sentence, number: Number, unit: str) -> bool:
    name = s.word(number.end)
    if unit == "in" and name == "in":
        return s.word(number.end + 1) in _AFTER_INCHES and not number.is_said
    return not (number.is_said and name in _ONLY_DIGITS)


def _attached(s: Sentence, at: int) -> Amount | None:
    """Return "5km", "5-minute", "20°c"; of "five-minute" the number is in words."""
    word = s.word(at)
    if word[:1].isalpha():
        return _hyphened(s, at, word)
    match = _ATTACHED.fullmatch(word)
    value = digits(match[1]) if match is not None else None
    if match is None or value is None or (match[2] == "s" and _is_decade(s, at)):
        return None
    name = match[2]
    if name in ("km", "m") and s.has(at + 1, "/"):
        joined = {"h": "kmph", "s": "mps"}.get(s.word(at + 2))
        if joined is not None:
            return Amount(value, joined, at + 3)
    if name == "°":
        return Amount(value, s.locale.temperature, at + 1)
    for words, unit in unit_phrases().get(name, ()):
        if len(words) == 1:
            return Amount(value, unit, at + 1)
    return None


def _is_decade(s: Sentence, at: int) -> bool:
    """Tell whether "1990s" is no duration, nor is the "90s" of "the 90s"."""
    number = s.word(at)[:-1]
    return number.endswith("0") and (
        number[:2] in ("18", "19", "20") if len(number) == 4 else s.word(at - 1) == "the"
    )


def _hyphened(s: Sentence, at: int, word: str) -> Amount | None:
    if "-" not in word:
        return None

    said, _, name = word.rpartition("-")
    if said not in SMALL:
        return None
    for words, unit in unit_phrases().get(name, ()):
        if len(words) == 1 and name not in _ONLY_DIGITS:
            return Amount(Decimal(SMALL[said]), unit, at + 1)
    return None


def stem_of(unit: str) -> str:
    """Return the stem of a unit's placeholder.

    >>> stem_of("KB"), stem_of("h")
    ('MEASURE_byte', 'DURATION')
    """
    stem = slot_stem(Measure(unit))
    assert stem is not None
    return stem


def measures(s: Sentence, found: tuple[Number | None, ...]) -> Iterator[Candidate]:
    """Yield the candidates that are measures."""
    for at in range(len(s.words)):
        amount = amount_at(s, at, found)
        if amount is not None:
            yield from _with_smaller(s, at, amount, found)
        elif s.word(at) in ("a", "an") and (one := _one_and(s, at, found)) is not None:
            yield from _with_smaller(s, at, one, found)
        elif s.word(at) in ("a", "an", "half", "half-hour", "quarter", "three", "1", "one"):
            yield from _idiom(s, at)
        if s.word(at)[:1].isdigit():
            yield from _feet(s, at)


def _one_and(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Amount | None:
    """Return the hour of "an hour and 15 minutes"."""
    unit = unit_at(s, at + 1)
    if unit is None or s.word(at + 1) in _ONLY_DIGITS:
        return None
    place = unit[1] + (s.word(unit[1]) == "and")
    smaller = amount_at(s, place, found)
    if smaller is None or (unit[0], smaller.unit) not in _PAIRS:
        return None
    return Amount(Decimal(1), *unit)


def _value(amount: Amount) -> str:
    return f"{plain(amount.value)} unit:{amount.unit}"


def _with_smaller(
    s: Sentence, at: int, amount: Amount, found: tuple[Number | None, ...]
) -> Iterator[Candidate]:
    """Yield "6 feet 3 inches", "2 hours and a half", "5 foot 10", else the amount alone."""
    after = amount_at(s, amount.end, found) if _is_written(s, amount, "m") else None
    if after is not None and _is_written(s, after, "s"):
        amount = amount._replace(unit="min")
    end, parts, last = amount.end, [_value(amount)], amount
    is_range = s.word(at - 1) == "between"
    for _ in range(3):
        # "between 50 minutes and 5 seconds" are two.
        following = end + (s.word(end) == "," or (s.word(end) == "and" and not is_range))
        smaller = amount_at(s, following, found)
        if smaller is not None and last.unit == "h" and _is_written(s, smaller, "m"):
            smaller = smaller._replace(unit="min")
        if smaller is None or (last.unit, smaller.unit) not in _PAIRS:
            break
        parts.append(_value(smaller))
        end, last = smaller.end, smaller
    if len(parts) == 1 and (inches := _inches(s, amount, found)) is not None:
        value = f"{parts[0]} {plain(inches.value)} unit:in"
        yield s.candidate(at, inches.end, "MEASURE_m", value)
    if len(parts) == 1 and s.has(end, "and", "a", "half") and unit_at(s, end + 3) is None:
        half = amount._replace(value=amount.value + Decimal("0.5"))
        yield s.candidate(at, end + 3, stem_of(amount.unit), _value(half))
        return
    name = s.word(amount.end - 1)
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
    yield s.candidate(at, end, stem_of(amount.unit), " ".join(parts), soft=soft, weak=weak)


def _is_written(s: Sentence, amount: Amount, sign: str) -> bool:
    """Tell whether a sign is the unit: "m" are minutes after hours and before seconds."""
    return s.word(amount.end - 1).lstrip("+-.,0123456789") == sign


def _inches(s: Sentence, feet: Amount, found: tuple[Number | None, ...]) -> Number | None:
    """Return the 10 of "5 foot 10"."""
    number = found[feet.end] if feet.end < len(found) else None
    if number is None or number.value >= 12 or feet.unit != "ft":
        return None
    return number if amount_at(s, feet.end, found) is None else None


def _feet(s: Sentence, at: int) -> Iterator[Candidate]:
    """Yield 6'3" and 6' 3"."""
    match = _FEET.fullmatch(s.word(at))
    if match is not None:
        end = at + 1 + (s.word(at + 1) in ('"', "″", "”"))
        yield s.candidate(at, end, "MEASURE_m", f"{int(match[1])} unit:ft {int(match[2])} unit:in")
    elif s.has(at + 1, "'") and at + 2 < len(s.words) and s.starts[at + 2] - s.ends[at] <= 2:
        feet, inches = digits(s.word(at)), digits(s.word(at + 2))
        if feet is not None and inches is not None and inches < 12:
            end = at + 3 + (s.word(at + 3) in ('"', "″", "”"))
            value = f"{plain(feet)} unit:ft {plain(inches)} unit:in"
            yield s.candidate(at, end, "MEASURE_m", value)


def _idiom(s: Sentence, at: int) -> Iterator[Candidate]:
    """Yield "an hour", "half an hour", "an hour and a half", "a quarter of an hour"."""
    word = s.word(at)
    if s.word(at - 1) in ("a", "an", "half") and word in ("half", "an", "a"):
        return  # begun before
    halved = _halved(s, at)
    if halved is not None:
        yield halved
        return
    quarters = {"a": 15, "one": 15, "quarter": 15, "three": 45}.get(word)
    place = at + (word != "quarter")
    if (
        quarters
        and s.word(place) in ("quarter", "quarters")
        and s.has(place + 1, "of", "an", "hour")
    ):
        yield s.candidate(at, place + 4, "DURATION", f"{quarters} unit:min")
        return
    if word not in ("a", "an", "one"):
        return
    unit = unit_at(s, at + 1)
    if unit is None or s.word(at + 1) in _ONLY_DIGITS or s.word(at + 1) in _DEGREES:
        return
    name, end = unit
    stem = stem_of(name)
    if s.has(end, "and", "a", "half"):
        value = _HALF_MORE.get(name, f"1.5 unit:{name}")
        yield s.candidate(at, end + 3, stem, value)
    elif word != "one":
        is_told = s.word(at - 1) in _BEFORE_IDIOM and s.word(at + 1) not in ("second", "sec", "bar")
        yield s.candidate(at, end, stem, f"1 unit:{name}", weak=not is_told, soft=True)


_HALF_MORE = {"h": "90 unit:min", "day": "36 unit:h", "year": "18 unit:mon", "min": "90 unit:s"}


def _halved(s: Sentence, at: int) -> Candidate | None:
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
    if unit is None or s.word(place) in _ONLY_DIGITS or s.word(place) in _DEGREES:
        return None
    name, end = unit
    value = _HALVED.get(name, f"0.5 unit:{name}")
    return s.candidate(at, end, stem_of(name), value, soft=place == at + 1)


def base_of(unit: str) -> str:
    """Return the base unit that a unit is converted to."""
    return UNITS.get(unit, unit)
