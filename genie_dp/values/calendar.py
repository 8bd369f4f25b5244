"""The calendar: English names of months, days and holidays, and days counted from others."""

import re
from calendar import isleap
from datetime import date, datetime, timedelta

from genie_dp.locale import DEFAULT, sentences_of, words_of

_ENGLISH = words_of(DEFAULT)
# Each month and day of the week with its names, the usual one first.
MONTH_NAMES = tuple(tuple(line.split()) for line in _ENGLISH.months)
WEEKDAY_NAMES = tuple(tuple(line.split()) for line in _ENGLISH.weekdays)
MONTHS = tuple(names[0] for names in MONTH_NAMES)
WEEKDAYS = tuple(names[0] for names in WEEKDAY_NAMES)
MONTH_NUMBERS = {name: n for n, names in enumerate(MONTH_NAMES, start=1) for name in names}
WEEKDAY_NUMBERS = {name: n for n, names in enumerate(WEEKDAY_NAMES) for name in names}
# Holidays whose date is fixed: all names of each, with its day and month.
HOLIDAYS = {
    tuple(sentences_of(names)): (int(day), int(month))
    for names, (day, _, month) in (
        (names, value.partition(".")) for names, value in _ENGLISH.dates.items()
    )
}
_ISO = re.compile(r"(\d{4})([-/])(\d\d?)\2(\d\d?)")
_NUMERIC = re.compile(r"(\d\d?)([./-])(\d\d?)(?:\2(\d{4}|\d\d))?")
DAWN = 5  # the hours of a night that are before it come after midnight
_DAYS = {"day": 1, "week": 7}
_MOST_MONTHS = 12 * 12  # the 31st is one of each day of the week in less


def next_day(number: int, month: int, today: date) -> date:
    """Return the first such day from today on; february 29 is one of leap years.

    Raises:
        ValueError: no year has it.

    >>> next_day(1, 1, date(2027, 1, 13)), next_day(29, 2, date(2027, 1, 13))
    (datetime.date(2028, 1, 1), datetime.date(2028, 2, 29))
    """
    is_leap_day = (number, month) == (29, 2)
    years = range(today.year, today.year + 9)
    days = (date(year, month, number) for year in years if not is_leap_day or isleap(year))
    return next(day for day in days if day >= today)


def next_of_month(number: int, today: date, weekday: int | None = None) -> date | None:
    """Return the next such day of a month, of a day of the week; None where there is none.

    >>> next_of_month(31, date(2027, 2, 1)), next_of_month(13, date(2027, 1, 13), weekday=4)
    (datetime.date(2027, 3, 31), datetime.date(2027, 8, 13))
    """
    for months in range(_MOST_MONTHS):
        year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
        try:
            day = date(year, month + 1, number)
        except ValueError:
            continue
        if day >= today and weekday in (None, day.weekday()):
            return day
    return None


def near_weekday(weekday: int, today: date, *, is_past: bool = False) -> date:
    """Return the next such day of the week after today, or the last one before; 0 is a monday.

    >>> near_weekday(2, date(2027, 1, 13)), near_weekday(2, date(2027, 1, 13), is_past=True)
    (datetime.date(2027, 1, 20), datetime.date(2027, 1, 6))
    """
    if is_past:
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def century(year: int) -> int:
    """Return a year that may have been written with two digits.

    >>> century(27), century(98), century(1789)
    (2027, 1998, 1789)
    """
    return year if year > 99 else 2000 + year if year < 70 else 1900 + year


def written_day(text: str, today: date, *, day_first: bool) -> tuple[date, bool] | None:
    """Return the day that is written in digits, and whether its year is; None if there is no such.

    Before a full stop the day is always first, and a number that can be no month is a day.

    >>> written_day("14.3.2027", date(2027, 1, 13), day_first=False)
    (datetime.date(2027, 3, 14), True)
    >>> written_day("3/14", date(2027, 1, 13), day_first=True)
    (datetime.date(2027, 3, 14), False)
    """
    iso, numeric = _ISO.fullmatch(text), _NUMERIC.fullmatch(text)
    try:
        if iso is not None:
            return date(int(iso[1]), int(iso[3]), int(iso[4])), True
        if numeric is None:
            return None
        day, month = int(numeric[1]), int(numeric[3])
        if not day_first and numeric[2] != ".":
            day, month = month, day
        if month > 12:
            day, month = month, day
        if numeric[4] is None:
            return next_day(day, month, today), False
        return date(century(int(numeric[4])), month, day), True
    except ValueError:
        return None


def shift_day(day: date, number: int, unit: str) -> date:
    """Return a day so many units later; the 31st becomes the last of a shorter month.

    >>> shift_day(date(2027, 1, 31), 1, "mon"), shift_day(date(2027, 1, 13), -2, "week")
    (datetime.date(2027, 2, 28), datetime.date(2026, 12, 30))
    """
    if unit in _DAYS:
        return day + timedelta(days=number * _DAYS[unit])
    months = number * (12 if unit == "year" else 1)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    first = date(year, month + 1, 1)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return first + timedelta(days=min(day.day, (following - first).days) - 1)


def span_from(today: date, number: int, unit: str) -> tuple[date, date]:
    """Return the first day of a unit of the calendar, and the day after it.

    Args:
        today: a day of the unit from which is counted; weeks begin on monday.
        number: 0 for this unit, 1 for the next one, -1 for the last one.
        unit: "week", "weekend", "mon" or "year".

    >>> span_from(date(2027, 1, 13), 1, "week")
    (datetime.date(2027, 1, 18), datetime.date(2027, 1, 25))
    >>> span_from(date(2027, 1, 17), 0, "weekend")
    (datetime.date(2027, 1, 16), datetime.date(2027, 1, 18))
    """
    monday = today - timedelta(days=today.weekday())
    if unit == "weekend":
        saturday = shift_day(monday, number, "week") + timedelta(days=5)
        return saturday, saturday + timedelta(days=2)
    starts = {"week": monday, "mon": today.replace(day=1), "year": today.replace(month=1, day=1)}
    first = shift_day(starts[unit], number, unit)
    return first, shift_day(first, 1, unit)


# The hours between which things of a part of the day are.
_SPANS = {"morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 24),
          "night": (18, 24 + DAWN), "tonight": (18, 24 + DAWN)}  # fmt: skip


def span_of_part(day: date, part: str) -> str:
    """Return the span of time of a part of a day.

    >>> span_of_part(date(2027, 1, 13), "night")
    'date:2027-01-13T18:00:00/2027-01-14T05:00:00'
    """
    midnight = datetime(day.year, day.month, day.day)
    start, end = (midnight + timedelta(hours=hour) for hour in _SPANS[part])
    return f"date:{start.isoformat()}/{end.isoformat()}"
