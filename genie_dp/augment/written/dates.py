"""Dates: "march 14", "the 14th of march 2027", "3/14/2027", "tomorrow", "in two weeks"."""

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

from genie_dp.augment.written.form import Written, chosen
from genie_dp.augment.written.numerals import cardinal, ordinal, ordinal_digits

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


def day(rng: Random, *, today: date) -> Written:
    """Return a date in one of its written forms.

    Args:
        rng: where the choice comes from.
        today: the day from which "tomorrow" is told. A date without year is the next one from
            today on; a day of the week the next one after today, with "last" the one before.
    """
    share = rng.random()
    if share < 0.25:
        return _near(rng, today)
    if share < 0.3:
        name = list(HOLIDAYS)[int(rng.random() * len(HOLIDAYS))]
        number, month = HOLIDAYS[name]
        return _said(((name, 1),), rng, next_day(number, month, today))
    found = today + timedelta(days=int(rng.random() * 700) - 200)
    if found.month == 2 and found.day == 29:
        found += timedelta(days=1)
    options = list(full_forms(found))
    if next_day(found.day, found.month, today) == found:
        options += yearless_forms(found)
    return _said(tuple(options), rng, found)


def _said(options: tuple[tuple[str, float], ...], rng: Random, found: date) -> Written:
    return chosen(rng, options, f"date:{found.isoformat()}")


def next_day(number: int, month: int, today: date) -> date:
    """Return the first such day from today on.

    >>> next_day(1, 1, date(2027, 1, 13)), next_day(14, 2, date(2027, 1, 13))
    (datetime.date(2028, 1, 1), datetime.date(2027, 2, 14))
    """
    found = date(today.year, month, number)
    return found if found >= today else date(today.year + 1, month, number)


def full_forms(found: date) -> Iterator[tuple[str, float]]:
    """Yield the forms that name the year, each with its weight.

    >>> [text for text, _ in full_forms(date(2027, 3, 14))][:4]
    ['march 14 2027', 'march 14 , 2027', 'march 14th , 2027', '14 march 2027']
    """
    year = found.year
    for month, weight in _month_names(found):
        yield f"{month} {found.day} {year}", 1 * weight
        yield f"{month} {found.day} , {year}", 2 * weight
        yield f"{month} {ordinal_digits(found.day)} , {year}", 1 * weight
        yield f"{found.day} {month} {year}", 1 * weight
    month = MONTHS[found.month - 1]
    yield f"{ordinal_digits(found.day)} of {month} {year}", 0.5
    yield f"the {ordinal_digits(found.day)} of {month} {year}", 0.5
    yield f"{month} {ordinal(found.day)} {year}", 0.5
    yield found.isoformat(), 1.5
    yield f"{found.month} / {found.day} / {year}", 2
    yield f"{found.month} / {found.day} / {year % 100:02d}", 0.5
    yield f"{found.day}.{found.month}.{year}", 0.5


def yearless_forms(found: date) -> Iterator[tuple[str, float]]:
    """Yield the forms without year, each with its weight.

    >>> [text for text, _ in yearless_forms(date(2027, 5, 1))][:4]
    ['may 1', 'may 1st', '1 may', '1st may']
    """
    digits = ordinal_digits(found.day)
    for month, weight in _month_names(found):
        yield f"{month} {found.day}", 5 * weight
        yield f"{month} {digits}", 4 * weight
        yield f"{found.day} {month}", 2 * weight
        yield f"{digits} {month}", 0.5 * weight
    month = MONTHS[found.month - 1]
    yield f"the {digits} of {month}", 3
    yield f"{digits} of {month}", 1
    yield f"{month} {ordinal(found.day)}", 2
    yield f"the {ordinal(found.day)} of {month}", 1
    yield f"{month} the {digits}", 0.5
    yield f"{found.month} / {found.day}", 1


def _month_names(found: date) -> Iterator[tuple[str, float]]:
    yield MONTHS[found.month - 1], 1.0
    short = SHORT_MONTHS[found.month - 1]
    if short:
        yield short, 0.4


def _near(rng: Random, today: date) -> Written:
    """Return a day told from today."""
    share = rng.random()
    if share < 0.4:
        name, days = _NAMED[int(rng.random() * len(_NAMED))]
        return _said(((name, 1),), rng, today + timedelta(days=days))
    if share < 0.7:
        return _weekday(rng, today)
    number = 2 + int(rng.random() * 9)
    unit, size = (("days", 1), ("weeks", 7))[int(rng.random() * 2)]
    sign = 1 if rng.random() < 0.6 else -1
    found = today + timedelta(days=sign * number * size)
    if sign < 0:
        options = ((f"{number} {unit} ago", 2.0), (f"{cardinal(number)} {unit} ago", 2.0))
        return _said(options, rng, found)
    later = (
        (f"in {number} {unit}", 2.0),
        (f"in {cardinal(number)} {unit}", 2.0),
        (f"{number} {unit} from now", 1.0),
        (f"{cardinal(number)} {unit} from today", 1.0),
    )
    return _said(later, rng, found)


_NAMED = (
    ("today", 0), ("tomorrow", 1), ("yesterday", -1), ("the day after tomorrow", 2),
    ("the day before yesterday", -2), ("a week from today", 7), ("a week ago", -7),
    ("a week from tomorrow", 8),
)  # fmt: skip


def _weekday(rng: Random, today: date) -> Written:
    """Return "friday", "this friday" (the next one after today) or "last friday"."""
    name = WEEKDAYS[int(rng.random() * 7)]
    ahead = (WEEKDAYS.index(name) - today.weekday() - 1) % 7 + 1
    if rng.random() < 0.7:
        options = ((name, 3.0), (f"this {name}", 1.0), (f"this coming {name}", 0.5))
        return _said(options, rng, today + timedelta(days=ahead))
    found = today + timedelta(days=ahead - 7 if ahead < 7 else -7)
    return _said(((f"last {name}", 2.0), (f"this past {name}", 0.5)), rng, found)
