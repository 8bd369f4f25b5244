"""The calendar: English names of months, days and holidays, and days counted from others."""

from datetime import date

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


def next_day(number: int, month: int, today: date) -> date:
    """Return the first such day from today on.

    >>> next_day(1, 1, date(2027, 1, 13)), next_day(14, 2, date(2027, 1, 13))
    (datetime.date(2028, 1, 1), datetime.date(2027, 2, 14))
    """
    day = date(today.year, month, number)
    return day if day >= today else date(today.year + 1, month, number)
