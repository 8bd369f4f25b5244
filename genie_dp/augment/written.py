"""Values as people write them: dates, times, places; numbers, measures and money.

Their many ways are drawn by weight; each has one meaning.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from random import Random
from typing import NamedTuple

from genie_dp.augment.gazetteer import OWN_PLACES
from genie_dp.augment.values import ValueList, shipped_list, shipped_rows
from genie_dp.augment.written_numbers import (
    WrittenValue,
    as_written,
    draw_form,
    draw_measure,
    draw_money,
    draw_written_number,
)
from genie_dp.english import lists
from genie_dp.languages import types as ty
from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.paraphrase.example_values import is_then, part_of_day
from genie_dp.values.calendar import HOLIDAYS, WEEKDAYS, near_weekday, next_day
from genie_dp.values.spelling import cardinal
from genie_dp.values.writing import full_forms, time_forms, yearless_forms


def draw_date(rng: Random, *, today: date) -> WrittenValue:
    """Return a date in one of its written forms.

    Args:
        rng: where the choice comes from.
        today: the day to which "tomorrow" refers. A date without year is the next one from
            today on; a day of the week the next one after today, with "last" the one before.
    """
    share = rng.random()
    if share < 0.25:
        return _draw_near_date(rng, today)
    if share < 0.3:
        names, (number, month) = list(HOLIDAYS.items())[int(rng.random() * len(HOLIDAYS))]
        return _draw_date_form(((names[0], 1),), rng, next_day(number, month, today))
    day = today + timedelta(days=int(rng.random() * 700) - 200)
    if day.month == 2 and day.day == 29:
        day += timedelta(days=1)
    options = list(full_forms(day))
    if next_day(day.day, day.month, today) == day:
        options += yearless_forms(day)
    return _draw_date_form(tuple(options), rng, day)


def _draw_date_form(options: tuple[tuple[str, float], ...], rng: Random, day: date) -> WrittenValue:
    return draw_form(rng, options, f"date:{day.isoformat()}")


def _draw_near_date(rng: Random, today: date) -> WrittenValue:
    """Return a day relative to today."""
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
    weekday = int(rng.random() * 7)
    name = WEEKDAYS[weekday]
    if rng.random() < 0.7:
        options = ((name, 3.0), (f"this {name}", 1.0), (f"this coming {name}", 0.5))
        return _draw_date_form(options, rng, near_weekday(weekday, today))
    day = near_weekday(weekday, today, is_past=True)
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


def draw_place(rng: Random) -> WrittenValue:
    """Return a place by its name: a city with its position, or home, work, here."""
    if rng.random() < 0.1:
        name, place = list(OWN_PLACES.items())[int(rng.random() * len(OWN_PLACES))]
        return as_written(name, place)
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
        parameter: the parameter that it fills, as in `records.Slot`; its name suggests how large
            numbers are.
        today: the day to which "tomorrow" and "next week" refer.
        units: those of the library.
        limits: of numbers; None is returned where hardly one is allowed.

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
    """The properties of a sentence that decide how a value is written there.

    Attributes:
        before: the word before it, where that matters.
        part: the part of the day that is named beside it.
    """

    before: str
    part: str


def context_of(tokens: Sequence[str], place: int) -> ValueContext:
    """Return the context of a value.

    >>> context_of("every VALUE wake me".split(), 1)
    ValueContext(before='every', part='')
    >>> context_of("at VALUE every morning".split(), 1)
    ValueContext(before='at', part='morning')
    """
    before = tokens[place - 1] if place else ""
    matters = before in _EACH or before in lists.ARTICLES or before in lists.PREPOSITIONS
    return ValueContext(before if matters else "", part_of_day(tokens, place))


def is_said(form: WrittenValue, where: ValueContext) -> bool:
    """Return whether a form is idiomatic: not "every an hour", "on tomorrow", "since in 2 days".

    A time agrees with the part of the day beside it and does not repeat it.

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
