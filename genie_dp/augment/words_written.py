"""Values as people write them in languages whose words are lists: `locales/LANGUAGE.txt`.

What is drawn is what `written` draws; the words are those that `parser.reading.words_reader` reads.
"""

from collections.abc import Iterator
from decimal import Decimal
from random import Random

from genie_dp.augment.written import draw_written
from genie_dp.augment.written_numbers import WrittenValue, as_written, plain_digits
from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.types import Type
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.locale import Words
from genie_dp.number_words import spelled_numbers

_TRIES = 20  # for a value that the language has words for
_MOST_IN_WORDS = 1000
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
        parameter: what it fills; its name tells how large numbers are.
        units: those of the library.
        limits: what numbers may be.
    """
    for _ in range(_TRIES):
        drawn = draw_written(type_, rng, parameter=parameter, units=units, limits=limits)
        if drawn is None:
            return None
        forms = list(_forms(words, drawn.value, rng))
        if forms:
            return as_written(forms[int(rng.random() * len(forms))], drawn.value)
    return None


def _forms(words: Words, value: str, rng: Random) -> Iterator[str]:
    """Yield how a value in the token form of programs is written."""
    sort, _, rest = value.partition(":")
    if sort == "time":
        yield from _time_forms(words, *(int(part) for part in rest.split(":")[:2]))
    elif sort == "date":
        yield from _date_forms(words, rest)
    elif sort == "currency":
        amount, _, code = rest.partition(":")
        for name in words.currencies.get(code, "").split()[:1]:
            yield f"{_number(words, Decimal(amount), rng)} {name}"
    elif " unit:" in value:
        yield from _measure_forms(words, value, rng)
    elif sort == value and '"' not in value:
        yield _number(words, Decimal(value), rng)


def _number(words: Words, number: Decimal, rng: Random) -> str:
    """Return a number in digits or, if it is small, in words."""
    is_small = number == int(number) and 0 <= number <= _MOST_IN_WORDS
    if is_small and rng.random() < _IN_WORDS:
        spelled = spelled_numbers(words).spell(int(number))
        if spelled not in words.articles:  # "een", which is read as no number
            return spelled
    return plain_digits(number).replace(".", words.signs.get("decimal", "."))


def _measure_forms(words: Words, value: str, rng: Random) -> Iterator[str]:
    parts = value.split(" ")
    said = []
    for amount, unit in zip(parts[::2], parts[1::2], strict=True):
        names = words.units.get(unit.removeprefix("unit:"), "").split()
        if not names:
            return
        number = Decimal(amount)
        # "one" has the form of its noun, which no list says.
        written = "1" if number == 1 else _number(words, number, rng)
        said.append(f"{written} {names[1] if number == 1 and len(names) > 1 else names[0]}")
    yield " ".join(said)


def _time_forms(words: Words, hour: int, minute: int) -> Iterator[str]:
    yield f"{hour}:{minute:02d}"
    wanted = "H:M" if minute else "H:00"
    for pattern, time in words.times.items():
        if time == wanted:
            parts = {"H": str(hour), "M": str(minute)}
            yield " ".join(parts.get(part, part) for part in pattern.split())
            return


def _date_forms(words: Words, value: str) -> Iterator[str]:
    if "T" in value:
        return
    year, month, day = value.split("-")
    yield value
    yield f"{int(day)}.{int(month)}.{year}"
    for pattern in words.dates:
        said = pattern.split()
        if {"D", "MONTH", "YEAR"} <= set(said) and words.months:
            name = words.months[int(month) - 1].split()[0]
            parts = {"D": str(int(day)), "MONTH": name, "YEAR": year}
            yield " ".join(parts.get(part, part) for part in said)
            return
