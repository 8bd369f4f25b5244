"""Draws a written form for a placeholder."""

from datetime import date
from random import Random

from genie_dp.augment.written.dates import day
from genie_dp.augment.written.form import Written
from genie_dp.augment.written.measures import measure
from genie_dp.augment.written.money import money
from genie_dp.augment.written.numbers import number
from genie_dp.augment.written.places import place
from genie_dp.augment.written.times import time
from genie_dp.languages.thingtalk.types import (
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    TIME,
    Array,
    Basic,
    Measure,
    Type,
)

# Relative dates ("tomorrow") are told from this day unless the caller says another.
TODAY = date(2027, 1, 13)


def draw(type_: Type, rng: Random, *, parameter: str = "", today: date = TODAY) -> Written | None:
    """Return a value of a type in one of its written forms; None for types that are listed.

    Numbers, measures, money, dates, times and places have written forms; String and entities have
    lists (`augment.values`). Phone numbers and addresses are entities or texts, whose words are
    copied to the program, so they are listed; how people spell them is in `written.places`.

    Args:
        type_: the type of the placeholder (`slots.slot_type`).
        rng: where the choice comes from.
        parameter: what it fills, as in `records.Slot`; its name tells how large numbers are.
        today: the day from which "tomorrow" and "next week" are told.

    >>> from genie_dp.languages.thingtalk.types import STRING
    >>> draw(TIME, Random(1)), draw(STRING, Random(1))
    (Written(words=('3:05', 'am'), value='time:3:05:00'), None)
    """
    while isinstance(type_, Array):
        type_ = type_.element
    match type_:
        case Measure(unit):
            return measure(rng, unit, parameter=parameter)
        case Basic():
            return _basic(type_, rng, parameter, today)
        case _:
            return None


def _basic(type_: Basic, rng: Random, parameter: str, today: date) -> Written | None:
    if type_ == NUMBER:
        return number(rng, parameter=parameter)
    if type_ == CURRENCY:
        return money(rng)
    if type_ == DATE:
        return day(rng, today=today)
    if type_ == TIME:
        return time(rng)
    if type_ == LOCATION:
        return place(rng)
    return None
