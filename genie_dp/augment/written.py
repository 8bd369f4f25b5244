"""Values as people write them: dates, times, places; numbers, measures and money.

Their many ways are drawn by weight; each has one meaning.
"""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from random import Random
from typing import NamedTuple

from genie_dp.augment.values import ValueList, shipped_list, shipped_rows
from genie_dp.augment.written_numbers import (
    WrittenValue,
    as_written,
    cardinal,
    draw_form,
    draw_measure,
    draw_money,
    draw_written_number,
    ordinal,
    ordinal_digits,
)
from genie_dp.english import lists
from genie_dp.languages import types as ty
from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.paraphrase.example_values import is_then, part_of_day

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
# "may" has no shorter form.
SHORT_MONTHS = ("jan", "feb", "mar", "apr", "", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Day and month of holidays whose date is fixed.
HOLIDAYS = {
    "christmas": (25, 12), "christmas eve": (24, 12), "new year 's eve": (31, 12),
    "new year 's day": (1, 1), "halloween": (31, 10), "valentine 's day": (14, 2),
    "the fourth of july": (4, 7), "st patrick 's day": (17, 3), "april fools ' day": (1, 4),
    "boxing day": (26, 12),
}  # fmt: skip


def draw_date(rng: Random, *, today: date) -> WrittenValue:
    """Return a date in one of its written forms.

    Args:
        rng: where the choice comes from.
        today: the day from which "tomorrow" is told. A date without year is the next one from
            today on; a day of the week the next one after today, with "last" the one before.
    """
    share = rng.random()
    if share < 0.25:
        return _draw_near_date(rng, today)
    if share < 0.3:
        name = list(HOLIDAYS)[int(rng.random() * len(HOLIDAYS))]
        number, month = HOLIDAYS[name]
        return _draw_date_form(((name, 1),), rng, next_day(number, month, today))
    day = today + timedelta(days=int(rng.random() * 700) - 200)
    if day.month == 2 and day.day == 29:
        day += timedelta(days=1)
    options = list(full_forms(day))
    if next_day(day.day, day.month, today) == day:
        options += yearless_forms(day)
    return _draw_date_form(tuple(options), rng, day)


def _draw_date_form(options: tuple[tuple[str, float], ...], rng: Random, day: date) -> WrittenValue:
    return draw_form(rng, options, f"date:{day.isoformat()}")


def next_day(number: int, month: int, today: date) -> date:
    """Return the first such day from today on.

    >>> next_day(1, 1, date(2027, 1, 13)), next_day(14, 2, date(2027, 1, 13))
    (datetime.date(2028, 1, 1), datetime.date(2027, 2, 14))
    """
    day = date(today.year, month, number)
    return day if day >= today else date(today.year + 1, month, number)


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
    short = SHORT_MONTHS[day.month - 1]
    if short:
        yield short, 0.4


def _draw_near_date(rng: Random, today: date) -> WrittenValue:
    """Return a day told from today."""
    share = rng.random()
    if share < 0.4:
        name, days = _NEAR_DAYS[int(rng.random() * len(_NEAR_DAYS))]
        return _draw_date_form(((name, 1),), rng, today + timedelta(days=days))
    if share < 0.7:
        return _draw_weekday(rng, today)
    number = 2 + int(rng.random() * 9)
    unit, size = (("days", 1), ("weeks", 7))[int(rng.random() * 2)]
    sign = 1 if rng.random() < 0.6 else -1
    day = today + timedelta(days=sign * number * size)
    if sign < 0:
        options = ((f"{number} {unit} ago", 2.0), (f"{cardinal(number)} {unit} ago", 2.0))
        return _draw_date_form(options, rng, day)
    later = (
        (f"in {number} {unit}", 2.0),
        (f"in {cardinal(number)} {unit}", 2.0),
        (f"{number} {unit} from now", 1.0),
        (f"{cardinal(number)} {unit} from today", 1.0),
    )
    return _draw_date_form(later, rng, day)


_NEAR_DAYS = (
    ("today", 0), ("tomorrow", 1), ("yesterday", -1), ("the day after tomorrow", 2),
    ("the day before yesterday", -2), ("a week from today", 7), ("a week ago", -7),
    ("a week from tomorrow", 8),
)  # fmt: skip


def _draw_weekday(rng: Random, today: date) -> WrittenValue:
    """Return "friday", "this friday" (the next one after today) or "last friday"."""
    name = WEEKDAYS[int(rng.random() * 7)]
    ahead = (WEEKDAYS.index(name) - today.weekday() - 1) % 7 + 1
    if rng.random() < 0.7:
        options = ((name, 3.0), (f"this {name}", 1.0), (f"this coming {name}", 0.5))
        return _draw_date_form(options, rng, today + timedelta(days=ahead))
    day = today + timedelta(days=ahead - 7 if ahead < 7 else -7)
    return _draw_date_form(((f"last {name}", 2.0), (f"this past {name}", 0.5)), rng, day)


_MINUTES = (0, 0, 0, 0, 30, 30, 15, 45, 10, 20, 40, 50, 5, 55, 25, 35)


def draw_time(rng: Random) -> WrittenValue:
    """Return a time of day in one of its written forms; most are full or half hours."""
    hour = int(rng.random() * 24)
    if rng.random() < 0.1:
        minute = int(rng.random() * 60)
    else:
        minute = _MINUTES[int(rng.random() * len(_MINUTES))]
    return draw_form(rng, tuple(time_forms(hour, minute)), f"time:{hour}:{minute:02d}:00")


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
    """Yield "half past eight in the evening"; the hour that is named tells the part of the day."""
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


HERE = (
    ("home", "location:home"), ("my home", "location:home"), ("my house", "location:home"),
    ("work", "location:work"), ("my office", "location:work"), ("my workplace", "location:work"),
    ("here", "location:current_location"), ("my location", "location:current_location"),
    ("my current location", "location:current_location"),
)  # fmt: skip


def draw_place(rng: Random) -> WrittenValue:
    """Return a place by its name: a city with its position, or home, work, here."""
    if rng.random() < 0.1:
        return as_written(*HERE[int(rng.random() * len(HERE))])
    cities, positions = _cities()
    index = cities.pick(rng.random())
    name = cities.texts[index]
    latitude, longitude = positions[index]
    return as_written(name, f'" {name} " at:{latitude}:{longitude}')


@lru_cache(maxsize=1)
def _cities() -> tuple[ValueList, tuple[tuple[str, str], ...]]:
    positions = tuple(row.place for row in shipped_rows("city") if row.place is not None)
    return shipped_list("city"), positions


# Relative dates ("tomorrow") are told from this day unless the caller says another.
TODAY = date(2027, 1, 13)


def draw_written(
    type_: ty.Type,
    rng: Random,
    *,
    parameter: str = "",
    today: date = TODAY,
    units: Units = SHIPPED,
    limits: Limits = NO_LIMITS,
) -> WrittenValue | None:
    """Return a value of a type in one of its written forms; None for types that are listed.

    Numbers, measures, money, dates, times and places have written forms; String and entities have
    lists (`augment.values`). Phone numbers and addresses are entities or texts, whose words are
    copied to the program, so they are listed.

    Args:
        type_: the type of the placeholder (`slots.slot_type`).
        rng: where the choice comes from.
        parameter: what it fills, as in `records.Slot`; its name tells how large numbers are.
        today: the day from which "tomorrow" and "next week" are told.
        units: those of the library.
        limits: what numbers may be; None is returned where hardly one is allowed.

    >>> from genie_dp.languages.types import STRING
    >>> draw_written(ty.TIME, Random(1)), draw_written(STRING, Random(1))
    (WrittenValue(words=('3:05', 'am'), value='time:3:05:00'), None)
    """
    while isinstance(type_, ty.Array):
        type_ = type_.element
    match type_:
        case ty.Measure(unit):
            return draw_measure(rng, unit, parameter=parameter, units=units)
        case ty.Basic():
            return _basic(type_, rng, parameter, today, limits)
        case _:
            return None


def _basic(
    type_: ty.Basic, rng: Random, parameter: str, today: date, limits: Limits
) -> WrittenValue | None:
    if type_ == ty.NUMBER:
        return draw_written_number(rng, parameter=parameter, limits=limits)
    if type_ == ty.CURRENCY:
        return draw_money(rng)
    if type_ == ty.DATE:
        return draw_date(rng, today=today)
    if type_ == ty.TIME:
        return draw_time(rng)
    if type_ == ty.LOCATION:
        return draw_place(rng)
    return None


_EACH = frozenset(("every", "each"))
_NAMED_DAYS = frozenset(("today", "tomorrow", "yesterday"))


class ValueContext(NamedTuple):
    """What of a sentence says how a value may be written there.

    Attributes:
        before: the word before it, where that matters.
        part: the part of the day that is named beside it.
    """

    before: str
    part: str


def context_of(tokens: Sequence[str], place: int) -> ValueContext:
    """Return what stands around a value.

    >>> context_of("every VALUE wake me".split(), 1)
    ValueContext(before='every', part='')
    >>> context_of("at VALUE every morning".split(), 1)
    ValueContext(before='at', part='morning')
    """
    before = tokens[place - 1] if place else ""
    matters = before in _EACH or before in lists.ARTICLES or before in lists.PREPOSITIONS
    return ValueContext(before if matters else "", part_of_day(tokens, place))


def is_said(form: WrittenValue, where: ValueContext) -> bool:
    """Tell whether people say a value so: not "every an hour", "on tomorrow", "since in 2 days".

    A time agrees with the part of the day beside it and does not say it again.

    >>> every = ValueContext("every", "")
    >>> is_said(WrittenValue(("an", "hour"), "1 unit:h"), every)
    False
    >>> is_said(WrittenValue(("half", "an", "hour"), "30 unit:min"), every)
    True
    """
    first = form.words[0]
    if where.before in _EACH and first in ("a", "an"):
        return False
    if form.value.startswith("date:") and where.before in lists.PREPOSITIONS:
        is_told_from_today = first in _NAMED_DAYS or first == "a" or form.words[-1] == "ago"
        is_told_from_today |= form.words[:2] == ("the", "day")
        return first != "in" and not (where.before == "on" and is_told_from_today)
    if where.part and form.value.startswith("time:"):
        hour = int(form.value.split(":")[1])
        return is_then(where.part, hour) and where.part not in form.words
    return True
