"""How values are written in English: every form of a value, each with how often it is used."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from genie_dp.languages.units import Unit
from genie_dp.values.calendar import MONTH_NAMES, MONTHS
from genie_dp.values.money import GLUED_SIGNS, Currency
from genie_dp.values.spelling import (
    cardinal,
    decimal_words,
    group_digits,
    ordinal,
    ordinal_digits,
    plain_digits,
)

_ROUND = ((10**6, "million", "m"), (10**3, "thousand", "k"))
_NAMED_NUMBERS = {
    12: "a dozen",
    6: "half a dozen",
    24: "two dozen",
    100: "a hundred",
    1000: "a thousand",
}


def number_forms(value: Decimal, *, is_bare: bool = False) -> Iterator[tuple[str, float]]:
    """Yield how a number is written, each with its weight.

    >>> [text for text, _ in number_forms(Decimal(12))]
    ['12', 'twelve', 'a dozen']
    >>> [text for text, _ in number_forms(Decimal("1500"))][:3]
    ['1500', '1,500', 'one thousand five hundred']
    >>> [text for text, _ in number_forms(Decimal("2.5"))]
    ['2.5', 'two point five', 'two and a half']
    """
    yield plain_digits(value), 6
    if value != value.to_integral_value():
        yield decimal_words(value), 2
        if value > 1 and value % 1 == Decimal("0.5") and not is_bare:
            yield f"{cardinal(int(value))} and a half", 1
        return
    whole = int(value)
    if abs(whole) >= 1000 and not is_bare:
        yield group_digits(whole), 3
    yield from _word_forms(whole, is_bare=is_bare)
    if is_bare:
        return
    if whole in _NAMED_NUMBERS:
        yield _NAMED_NUMBERS[whole], 1
    yield from _short_forms(whole)


def _word_forms(whole: int, *, is_bare: bool) -> Iterator[tuple[str, float]]:
    """Yield the number in words, rarely for long numbers."""
    if is_bare and whole > 1000:
        return
    words = cardinal(whole)
    if words.count(" ") > 4:
        return
    yield words, 3 if abs(whole) < 1000 else 1
    hyphened = cardinal(whole, hyphen=True)
    if hyphened != words:
        yield hyphened, 1
    joined = cardinal(whole, joined=True)
    if joined not in (words, hyphened):
        yield joined, 0.5


def _short_forms(whole: int) -> Iterator[tuple[str, float]]:
    """Yield "2 million", "2.5 million", "40k", where no digit is lost."""
    for size, name, letter in _ROUND:
        if whole < size or whole % (size // 10):
            continue
        amount = plain_digits(Decimal(whole) / size)
        yield f"{amount} {name}", 2
        yield f"{amount}{letter}", 1
        if size == 10**6 and whole == size:
            yield "a million", 1
        return


def measure_forms(value: Decimal, unit: Unit) -> Iterator[tuple[str, float]]:
    """Yield how so many of a unit are written, each with its weight.

    >>> from genie_dp.languages.units import SHIPPED
    >>> [text for text, _ in measure_forms(Decimal(5), SHIPPED.by_name["dB"])]
    ['5 decibels', 'five decibels', '5 db', '5db']
    """
    digits = plain_digits(value)
    is_whole = value == value.to_integral_value()
    words = cardinal(int(value)) if is_whole else decimal_words(value)
    name = unit.singular if value == 1 else unit.plural
    yield f"{digits} {name}", 5
    if words.count(" ") < 3:
        yield f"{words} {name}", 3
    if value >= 1000:
        yield f"{group_digits(int(value))} {name}", 1
    for short in unit.signs:
        if value == 1 and len(short) > 1 and short.endswith("s"):
            continue
        spaced = " ".join(short.replace("/", " / ").split())
        yield f"{digits} {spaced}", 2 / len(unit.signs)
        if short.isalpha():
            yield f"{digits}{short}", 1.5 / len(unit.signs)
    if value != 1:
        for also in unit.words[2:]:
            yield f"{digits} {also}", 2 / len(unit.words[2:])


def compound_forms(
    first: int, large: Unit, second: int, small: Unit
) -> Iterator[tuple[str, float]]:
    """Yield how a measure of two units is written, "6 feet 3 inches", each with its weight."""
    large_name = large.singular if first == 1 else large.plural
    small_name = small.singular if second == 1 else small.plural
    yield f"{first} {large_name} {second} {small_name}", 3
    yield f"{first} {large_name} and {second} {small_name}", 3
    yield f"{cardinal(first)} {large_name} {cardinal(second)} {small_name}", 2
    if large.signs and small.signs:
        yield f"{first} {large.signs[0]} {second} {small.signs[0]}", 2
        yield f"{first}{large.signs[0]} {second}{small.signs[0]}", 1
    if large.name == "ft":
        yield f"{first} foot {second}", 1
        yield f"{cardinal(first)} foot {cardinal(second)}", 1


def money_forms(whole: int, cents: int, currency: Currency) -> Iterator[tuple[str, float]]:
    """Yield how an amount is written, each with its weight.

    >>> from genie_dp.values.money import CURRENCIES
    >>> [text for text, _ in money_forms(5, 0, CURRENCIES[0])][:5]
    ['$5', '$ 5', '5 dollars', 'five dollars', '5 bucks']
    >>> [text for text, _ in money_forms(2, 50, CURRENCIES[0])]
    ['$2.50', '2.50 dollars', '2 dollars and 50 cents', 'two dollars and fifty cents']
    """
    if not whole:
        yield f"{cents} {currency.cents[0]}", 2
        yield f"{cardinal(cents)} {currency.cents[0]}", 1
    elif cents:
        yield from _cents_forms(whole, cents, currency)
    else:
        yield from _whole_forms(whole, currency)


def _cents_forms(whole: int, cents: int, currency: Currency) -> Iterator[tuple[str, float]]:
    name = currency.singular if whole == 1 else currency.plural
    if currency.sign in GLUED_SIGNS:
        yield f"{currency.sign}{whole}.{cents:02d}", 5
    yield f"{whole}.{cents:02d} {currency.plural}", 2
    yield f"{whole} {name} and {cents} {currency.cents[0]}", 1
    yield f"{cardinal(whole)} {name} and {cardinal(cents)} {currency.cents[0]}", 1


def _whole_forms(whole: int, currency: Currency) -> Iterator[tuple[str, float]]:
    name = currency.singular if whole == 1 else currency.plural
    if currency.sign in GLUED_SIGNS:
        yield f"{currency.sign}{whole}", 6
        yield f"{currency.sign} {whole}", 0.5
        if whole >= 1000:
            yield f"{currency.sign}{group_digits(whole)}", 4
            if whole % 1000 == 0:
                yield f"{currency.sign}{whole // 1000}k", 2
    yield f"{whole} {name}", 5
    words = cardinal(whole)
    if words.count(" ") < 4:
        yield f"{words} {name}", 3
    if whole >= 1000:
        yield f"{group_digits(whole)} {name}", 2
    if whole > 1:
        for also in currency.words[2:]:
            yield f"{whole} {also}", 1.5 / len(currency.words[2:])
    yield f"{whole} {currency.code}", 1
    yield f"{currency.code} {whole}", 0.3


def full_forms(day: date) -> Iterator[tuple[str, float]]:
    """Yield the forms that name the year, each with its weight.

    >>> [text for text, _ in full_forms(date(2027, 3, 14))][:4]
    ['march 14 2027', 'march 14 , 2027', 'march 14th , 2027', '14 march 2027']
    """
    year = day.year
    for month, weight in _month_names(day):
        yield f"{month} {day.day} {year}", 1 * weight
        yield f"{month} {day.day} , {year}", 2 * weight
        yield f"{month} {ordinal_digits(day.day)} , {year}", 1 * weight
        yield f"{day.day} {month} {year}", 1 * weight
    month = MONTHS[day.month - 1]
    yield f"{ordinal_digits(day.day)} of {month} {year}", 0.5
    yield f"the {ordinal_digits(day.day)} of {month} {year}", 0.5
    yield f"{month} {ordinal(day.day)} {year}", 0.5
    yield day.isoformat(), 1.5
    yield f"{day.month} / {day.day} / {year}", 2
    yield f"{day.month} / {day.day} / {year % 100:02d}", 0.5
    yield f"{day.day}.{day.month}.{year}", 0.5


def yearless_forms(day: date) -> Iterator[tuple[str, float]]:
    """Yield the forms without year, each with its weight.

    >>> [text for text, _ in yearless_forms(date(2027, 5, 1))][:4]
    ['may 1', 'may 1st', '1 may', '1st may']
    """
    digits = ordinal_digits(day.day)
    for month, weight in _month_names(day):
        yield f"{month} {day.day}", 5 * weight
        yield f"{month} {digits}", 4 * weight
        yield f"{day.day} {month}", 2 * weight
        yield f"{digits} {month}", 0.5 * weight
    month = MONTHS[day.month - 1]
    yield f"the {digits} of {month}", 3
    yield f"{digits} of {month}", 1
    yield f"{month} {ordinal(day.day)}", 2
    yield f"the {ordinal(day.day)} of {month}", 1
    yield f"{month} the {digits}", 0.5
    yield f"{day.month} / {day.day}", 1


def _month_names(day: date) -> Iterator[tuple[str, float]]:
    yield MONTHS[day.month - 1], 1.0
    for short in MONTH_NAMES[day.month - 1][1:2]:
        yield short, 0.4


def time_forms(hour: int, minute: int) -> Iterator[tuple[str, float]]:
    """Yield how a time is written, each with its weight; each has one meaning.

    >>> [text for text, _ in time_forms(20, 0)][:4]
    ['8 pm', '8pm', 'eight pm', "8 o'clock in the evening"]
    >>> [text for text, _ in time_forms(12, 0)]
    ['12 pm', '12pm', 'twelve pm', "12 o'clock noon", '12:00', '12:00 pm', 'noon', '12 noon']
    """
    half = "am" if hour < 12 else "pm"
    twelve = hour % 12 or 12
    words = cardinal(twelve)
    if minute == 0:
        yield f"{twelve} {half}", 5
        yield f"{twelve}{half}", 4
        yield f"{words} {half}", 2
        yield f"{twelve} o'clock {_part_of_day(hour)}", 0.7
        if hour % 12:
            yield f"{twelve} {_part_of_day(hour)}", 1
            yield f"{words} {_part_of_day(hour)}", 1
            yield f"{words} o'clock {_part_of_day(hour)}", 0.7
    else:
        past_hour = f"oh {cardinal(minute)}" if minute < 10 else cardinal(minute)
        yield f"{twelve}:{minute:02d} {half}", 5
        yield f"{twelve}:{minute:02d}{half}", 4
        yield f"{words} {past_hour} {half}", 1.5
        if hour % 12 and minute % 5 == 0:
            yield from _past_forms(hour, minute)
    # "8:00" would be any of two; from 12:00 on, and as 00:30, hours are of 24.
    if hour >= 12 or (hour == 0 and minute):
        yield f"{hour:02d}:{minute:02d}", 2
    if 1 <= hour < 10:
        yield f"0{hour}:{minute:02d}", 0.7
    if minute == 0:
        yield f"{twelve}:00 {half}", 1.5
        if hour == 12:
            yield "noon", 4
            yield "12 noon", 0.5
        if hour == 0:
            yield "midnight", 4


def _part_of_day(hour: int) -> str:
    """Return the part of the day, as people call it beside an hour."""
    if hour == 12:
        return "noon"
    if hour == 0:
        return "at midnight"
    if hour < 12:
        return "in the morning"
    if hour < 17:
        return "in the afternoon"
    return "in the evening" if hour < 22 else "at night"


def _past_forms(hour: int, minute: int) -> Iterator[tuple[str, float]]:
    """Yield "half past eight in the evening"; the part of the day is that of the named hour."""
    this, following = hour % 12, (hour + 1) % 12
    if minute == 30:
        yield f"half past {cardinal(this)} {_part_of_day(hour)}", 1.5
    elif minute == 15:
        yield f"quarter past {cardinal(this)} {_part_of_day(hour)}", 1
        yield f"a quarter past {cardinal(this)} {_part_of_day(hour)}", 0.5
    elif minute == 45 and following:
        yield f"quarter to {cardinal(following)} {_part_of_day(hour + 1)}", 1
        yield f"a quarter to {cardinal(following)} {_part_of_day(hour + 1)}", 0.5
    elif minute < 30:
        yield f"{cardinal(minute)} past {cardinal(this)} {_part_of_day(hour)}", 0.7
    elif following:
        yield f"{cardinal(60 - minute)} to {cardinal(following)} {_part_of_day(hour + 1)}", 0.7
