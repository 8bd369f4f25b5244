"""Values as people write them in languages whose words are lists: `locales/LANGUAGE.txt`.

The values are those of `written`; the words are those that `parser.reading.words_reader` reads.
"""

from collections.abc import Iterator
from decimal import Decimal
from random import Random

from genie_dp.augment.written import draw_written
from genie_dp.augment.written_numbers import WrittenValue, as_written
from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.types import Type
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.locale import Words, sentences_of
from genie_dp.values.spelling import plain_digits, spelled_numbers

_TRIES = 20  # for a value that the language has words for
_MOST_IN_WORDS = 1000
_MOST_DECIMALS = 2  # of a number in words
_IN_WORDS = 0.5  # share of the numbers that may be in words


def draw_by_words(
    words: Words,
    type_: Type,
    rng: Random,
    *,
    parameter: str = "",
    units: Units = SHIPPED,
    limits: Limits = NO_LIMITS,
) -> WrittenValue | None:
    """Return a value of a type as people of a language write it; None where it has no words for it.

    Args:
        words: those of the language.
        type_: the type of the placeholder.
        rng: where the choice comes from.
        parameter: the parameter that it fills; its name suggests how large numbers are.
        units: those of the library.
        limits: of numbers.
    """
    for _ in range(_TRIES):
        value = draw_written(type_, rng, parameter=parameter, units=units, limits=limits)
        if value is None:
            return None
        day_first = words.locale.get("day_first") == "true"
        forms = list(_forms(words, value.value, rng, day_first=day_first))
        if forms:
            return as_written(forms[int(rng.random() * len(forms))], value.value)
    return None


def _forms(words: Words, value: str, rng: Random, *, day_first: bool) -> Iterator[str]:
    """Yield how a value in the token form of programs is written."""
    sort, _, rest = value.partition(":")
    if sort == "time":
        yield from _time_forms(words, *(int(part) for part in rest.split(":")[:2]))
    elif sort == "date":
        yield from _date_forms(words, rest, day_first=day_first)
    elif sort == "currency":
        amount, _, code = rest.partition(":")
        yield from _money_forms(words, Decimal(amount), code, rng)
    elif " unit:" in value:
        yield from _measure_forms(words, value, rng)
    elif sort == value and '"' not in value:
        yield _number(words, Decimal(value), rng)


def _number(words: Words, number: Decimal, rng: Random) -> str:
    """Return a number in digits or, if it is small, in words."""
    whole, _, behind = plain_digits(abs(number)).partition(".")
    is_small = int(whole) <= _MOST_IN_WORDS and len(behind) <= _MOST_DECIMALS
    signs = (number >= 0 or words.minus) and (not behind or words.decimal_words)
    if is_small and signs and rng.random() < _IN_WORDS:
        spelled = _in_words(words, whole, behind)
        # "een" is read as no number, nor is the one of a language whose articles are not known.
        if spelled not in words.articles and (words.articles or whole != "1" or behind):
            return f"{min(words.minus)} {spelled}" if number < 0 else spelled
    return plain_digits(number).replace(".", words.signs.get("decimal", "."))


def _in_words(words: Words, whole: str, behind: str) -> str:
    """Return a number with each decimal spelled out: "zwei komma null fünf"."""
    spell = spelled_numbers(words).spell
    spoken = [spell(int(whole))]
    if behind:
        spoken += [min(words.decimal_words), *(spell(int(digit)) for digit in behind)]
    return " ".join(spoken)


def _money_forms(words: Words, amount: Decimal, code: str, rng: Random) -> Iterator[str]:
    names = words.currencies.get(code, "").split()
    if not names:
        return
    yield f"{1 if amount == 1 else _number(words, amount, rng)} {names[0]}"
    cents = words.cents.get(code, "").split()
    whole, part = divmod(amount, 1)
    if cents and amount > 1 and part and part * 100 % 1 == 0:
        yield f"{plain_digits(whole)} {names[0]} {plain_digits(part * 100)} {cents[0]}"


def _measure_forms(words: Words, value: str, rng: Random) -> Iterator[str]:
    parts = value.split(" ")
    spoken = []
    for amount, unit in zip(parts[::2], parts[1::2], strict=True):
        names = words.units.get(unit.removeprefix("unit:"), "").split()
        if not names:
            return
        number = Decimal(amount)
        # "one" has the form of its noun, which no list says.
        written = "1" if number == 1 else _number(words, number, rng)
        spoken.append(f"{written} {names[1] if number == 1 and len(names) > 1 else names[0]}")
    yield " ".join(spoken)
    if len(parts) == 2 and Decimal(parts[0]) > 1 and Decimal(parts[0]) % 1 == Decimal("0.5"):
        yield f"{int(Decimal(parts[0]))} 1 / 2 {spoken[0].rpartition(' ')[2]}"


def _time_forms(words: Words, hour: int, minute: int) -> Iterator[str]:
    yield f"{hour}:{minute:02d}"
    units = set(words.units.get("h", "").split())
    for line, time in words.times.items():
        for pattern in sentences_of(line):
            tokens = pattern.split()
            letters = [part for part in tokens if part in ("H", "M")]
            # Those that are as well durations or counts need the words around them.
            is_clear = not units & set(tokens) and tokens[0] not in words.articles
            is_clear = is_clear and not pattern.startswith("<") and letters == ["H"]
            spoken_hour = _said_in(time, hour, minute) if is_clear else None
            if spoken_hour is not None:
                yield " ".join(str(spoken_hour) if part == "H" else part for part in tokens)


def _said_in(time: str, hour: int, minute: int) -> int | None:
    """Return the H of a pattern that expresses a time, or None if it does not.

    >>> _said_in("H-1:30", 7, 30), _said_in("H:15", 7, 15), _said_in("H:15", 7, 30)
    (8, 7, None)
    """
    count, _, minutes = time.removeprefix("H").partition(":")
    spoken_hour = hour - int(count or 0)
    last_hour = 12 if minute else 23  # "halb 17" says nobody
    return spoken_hour if minutes == f"{minute:02d}" and 2 <= spoken_hour <= last_hour else None


def _date_forms(words: Words, value: str, *, day_first: bool) -> Iterator[str]:
    if "T" in value:
        return
    year, month, day = value.split("-")
    yield value
    yield f"{int(day)}.{int(month)}.{year}"
    first, second = (day, month) if day_first else (month, day)
    yield f"{int(first)} / {int(second)} / {year}"
    for line in words.dates:
        for pattern in sentences_of(line):
            tokens = pattern.split()
            if {"D", "MONTH", "YEAR"} <= set(tokens) and words.months and tokens[0] == "D":
                name = words.months[int(month) - 1].split()[0]
                parts = {"D": str(int(day)), "MONTH": name, "YEAR": year}
                yield " ".join(parts.get(part, part) for part in tokens)
