"""Dates: "march 14", "the 14th of march 2027", "3/14/2027", "next friday at half past 8"."""

import re
from bisect import bisect_left
from calendar import isleap
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import NamedTuple

from genie_dp.augment.written.dates import HOLIDAYS, MONTHS, SHORT_MONTHS, WEEKDAYS, next_day
from genie_dp.parser.reading.clock import DAWN, Time, bare_time, hour_of, time_at
from genie_dp.parser.reading.measures import amount_at
from genie_dp.parser.reading.numbers import ORDINALS, Number, ordinal_at
from genie_dp.parser.reading.reading import Candidate
from genie_dp.parser.reading.sentence import Sentence, words_of

_MONTHS = {name: n for n, name in enumerate(MONTHS, start=1)} | {
    name: n for n, name in enumerate(SHORT_MONTHS, start=1) if name
} | {"sept": 9}  # fmt: skip
_DAYS = {name: n for n, name in enumerate(WEEKDAYS)} | {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "weds": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4,
    "sat": 5, "sun": 6,
}  # fmt: skip
# Short names that are other words: days only after "next", "on" and the like.
_SHORT_DAYS = frozenset(("mon", "wed", "sat", "sun", "fri", "tue", "thu"))
_NEAR = {"today": 0, "tomorrow": 1, "tmrw": 1, "tmr": 1, "tomorow": 1, "yesterday": -1}
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})[.-](\d{1,2})[.-](\d{4}|\d{2})")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:1[789]|2[01])\d{2}")
_UNITS = {"day": 1, "week": 7}
_PRONOUNS = words_of("i you we they he she it who that which this people one")
_BEFORE_DAY = frozenset(("on", "by", "until", "till", "before", "after", "since", "from", "for"))
_AFTER_DAY = frozenset(
    ("", ".", ",", "!", "?", "at", "and", "or", "of", "to", "please", "then", "through", "until")
)
_HOLIDAYS = {tuple(name.split()): day for name, day in HOLIDAYS.items()} | {
    ("christmas", "day"): (25, 12), ("xmas",): (25, 12), ("new", "years", "eve"): (31, 12),
    ("new", "years", "day"): (1, 1), ("independence", "day"): (4, 7),
    ("valentines", "day"): (14, 2), ("the", "4th", "of", "july"): (4, 7),
}  # fmt: skip
_PARTS = ("morning", "afternoon", "evening", "night")
_RECURS = frozenset(("every", "each"))
_MOST_MONTHS = 12 * 12  # the 31st is one of each day of the week in less
_MOST_DAYS = 20  # tokens of "every monday, tuesday and friday"
_RECUR_TOO = frozenset((",", "and", "or", "to", "through", "-", "other", *ORDINALS))
_LINKS = frozenset(("to", "through", "until", "till", "-", "–"))


class Day(NamedTuple):
    """A day and the place of the token after it; `hour` where a part of it was named."""

    day: date
    end: int
    soft: bool = False
    hour: int | None = None
    weak: bool = False


def days(s: Sentence, found: tuple[Number | None, ...], now: datetime) -> Iterator[Candidate]:
    """Yield the candidates that are dates, with and without a time of day."""
    begun: dict[int, tuple[date, bool]] = {}  # token after a date -> it, whether "between" stands
    for at in range(len(s.words)):
        if recurs(s, at):
            continue
        first, is_between = begun.get(at - 1, (None, False))
        dates = _dates(s, at, found, now)
        is_last = s.word(at - 1) in _LINKS or (is_between and s.word(at - 1) == "and")
        is_early = first is not None and any(_day_of(one) < first for one in dates)
        if first is not None and is_early and is_last and s.word(at) not in _NEAR:
            # "from monday to friday": the friday after that monday.
            dates = _dates(s, at, found, datetime.combine(first, now.time()))
        for one in dates:
            end = bisect_left(s.ends, one.end) + 1
            if s.word(at) != "the" or s.word(end - 1) in _MONTHS:  # `ranges` has "the 3rd"
                begun[end] = _day_of(one), s.word(at - 1) == "between"
            yield one


def _day_of(one: Candidate) -> date:
    return datetime.fromisoformat(one.value.removeprefix("date:")).date()


def recurs(s: Sentence, at: int) -> bool:
    """Tell whether a day is one of "every monday and friday", "every first monday"."""
    if s.word(at - 1) in _RECURS:
        return True
    if s.word(at) not in _DAYS:
        return False
    for place in range(at - 1, max(at - _MOST_DAYS, -1), -1):
        word = s.word(place)
        if word in _RECURS or (word not in _DAYS and word not in _RECUR_TOO):
            return word in _RECURS
    return False


def _dates(
    s: Sentence, at: int, found: tuple[Number | None, ...], now: datetime
) -> list[Candidate]:
    try:
        return list(_at(s, at, found, now))
    except (ValueError, OverflowError):
        return []  # no such day, or none that a calendar has


def _at(
    s: Sentence, at: int, found: tuple[Number | None, ...], now: datetime
) -> Iterator[Candidate]:
    day = day_at(s, at, found, now.date())
    if day is not None:
        yield from _with_time(s, at, day, found)
        return
    time = time_at(s, at, found) or bare_time(s, at, found)
    if time is not None:
        yield from _time_first(s, at, time, found, now)


def _date(s: Sentence, at: int, day: Day) -> Candidate:
    text = day.day.isoformat()
    if day.hour is not None:
        text = f"{text}T{day.hour:02d}:00:00"
    return s.candidate(at, day.end, "DATE", f"date:{text}", soft=day.soft, weak=day.weak)


def _both(s: Sentence, at: int, end: int, day: date, time: Time) -> Candidate:
    text = f"{day.isoformat()}T{time.hour:02d}:{time.minute:02d}:{time.second:02d}"
    return s.candidate(at, end, "DATE", f"date:{text}")


def _with_time(
    s: Sentence, at: int, day: Day, found: tuple[Number | None, ...]
) -> Iterator[Candidate]:
    """Yield "tomorrow" and "tomorrow at 8 pm"."""
    yield _date(s, at, day)
    place = day.end + (s.word(day.end) == ",")
    place += s.word(place) in ("at", "around", "by")
    time = time_at(s, place, found) if place < len(s.words) else None
    if time is None and place < len(s.words) and s.word(place - 1) == "at":
        time = bare_time(s, place, found)
    if time is not None and not day.weak:
        yield _both(s, at, time.end, *_on(s, day, time))


def _time_first(
    s: Sentence, at: int, time: Time, found: tuple[Number | None, ...], now: datetime
) -> Iterator[Candidate]:
    """Yield "8 pm tomorrow", "noon on friday", "at 8 tonight"."""
    place = time.end + (s.word(time.end) in ("on", ","))
    if time.is_part or s.word(place - 1) in _RECURS or place >= len(s.words):
        return
    day = day_at(s, place, found, now.date())
    if day is None or day.weak:
        return
    yield _both(s, at, day.end, *_on(s, day, time))


def _on(s: Sentence, day: Day, time: Time) -> tuple[date, Time]:
    """Return the date and the time of "tonight at 8"; what comes after midnight is tomorrow's."""
    if day.hour is None:
        return day.day, time
    is_night = day.hour >= s.locale.night - 1
    if not time.half_is_known:
        hour = time.hour % 12
        is_late = day.hour >= 12 and not (is_night and hour < DAWN)
        time = time._replace(hour=hour + 12 * is_late)
    return day.day + timedelta(days=is_night and time.hour < DAWN), time


def day_at(s: Sentence, at: int, found: tuple[Number | None, ...], today: date) -> Day | None:
    """Return the longest date that begins at a token, or None.

    Raises:
        ValueError, OverflowError: there is no such day, as on february 30.
    """
    word = s.word(at)
    if word in _NEAR:
        return _near(s, at, today + timedelta(days=_NEAR[word]))
    if word == "tonight":
        return Day(today, at + 1, True, s.locale.night - 1)
    return (
        _numeric(s, at, today)
        or _month_first(s, at, today)
        or _day_first(s, at, today)
        or _weekday(s, at, today)
        or _counted(s, at, found, today)
        or _relative(s, at, today)
        or _holiday(s, at, today)
    )


def _near(s: Sentence, at: int, day: date) -> Day:
    """Return "tomorrow", "tomorrow morning", "tomorrow in the evening"."""
    place = at + 1
    if s.has(place, "in", "the") and s.word(place + 2) in _PARTS[:3]:
        place += 2
    if s.word(place) in _PARTS:
        return Day(day, place + 1, hour=hour_of(s, s.word(place)))
    return Day(day, at + 1, soft=True)


# --------------------------------------------------------------------------------- calendar


def _numeric(s: Sentence, at: int, today: date) -> Day | None:
    """Return "2027-03-14", "2027/3/14", "14.3.2027", "3/14/2027", "3/14"."""
    word = s.word(at)
    if not word[:1].isdigit():
        return None
    if (match := _ISO.fullmatch(word)) is not None:
        return Day(date(int(match[1]), int(match[2]), int(match[3])), at + 1)
    if (match := _DOTTED.fullmatch(word)) is not None:
        year = _century(int(match[3]))
        return _of_numbers(
            int(match[1]), int(match[2]), year, at + 1, day_first="." in word or s.locale.day_first
        )
    if not (s.word(at + 1) == "/" and word.isdigit() and s.word(at + 2).isdigit()):
        return None
    first, second = int(word), int(s.word(at + 2))
    if _YEAR.fullmatch(word) and s.word(at + 3) == "/" and _DAY.fullmatch(s.word(at + 4)):
        return Day(date(first, second, int(s.word(at + 4))), at + 5)
    if s.word(at + 3) == "/" and s.word(at + 4).isdigit() and len(s.word(at + 4)) in (2, 4):
        year = _century(int(s.word(at + 4)))
        return _of_numbers(first, second, year, at + 5, day_first=s.locale.day_first)
    # Of a leap year, so that 2/29 is one.
    found = _of_numbers(first, second, 2000, at + 3, day_first=s.locale.day_first)
    if found is None:
        return None
    is_fraction = first < second and second in (2, 3, 4, 5, 8, 10)
    is_other = is_fraction or (first, second) == (24, 7)
    is_weak = is_other and s.word(at - 1) not in _BEFORE_DAY
    return found._replace(day=_next(found.day.day, found.day.month, today), weak=is_weak)


def _of_numbers(first: int, second: int, year: int, end: int, *, day_first: bool) -> Day | None:
    day, month = (first, second) if day_first else (second, first)
    if month > 12:
        day, month = month, day
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    return Day(date(year, month, day), end)


def _century(year: int) -> int:
    return year if year > 99 else 2000 + year if year < 70 else 1900 + year


def _month_first(s: Sentence, at: int, today: date) -> Day | None:
    """Return "march 14", "mar. 14th, 2027", "march the 14th", "march first", "june 2026"."""
    month = _MONTHS.get(s.word(at))
    if month is None or (s.word(at) in ("may", "march") and s.word(at - 1) in _PRONOUNS):
        return None
    place = at + 1
    place += s.word(place) == "." and s.word(at) in (*SHORT_MONTHS, "sept")
    if _YEAR.fullmatch(s.word(place)):
        return Day(date(int(s.word(place)), month, 1), place + 1)
    the = s.word(place) == "the"
    number = day_number(s, place + the)
    if number is None:
        return None
    return _with_year(s, number[0], month, number[1], today)


def day_number(s: Sentence, at: int) -> tuple[int, int] | None:
    """Return (1 to 31, next place) of "14", "14th", "fourteenth", "twenty first"."""
    match = _DAY.fullmatch(s.word(at))
    if match is not None:
        found: tuple[int, int] | None = (int(match[1]), at + 1)
    else:
        found = ordinal_at(s, at)
    return found if found is not None and 1 <= found[0] <= 31 else None


def _with_year(s: Sentence, number: int, month: int, end: int, today: date) -> Day:
    place = end + (s.word(end) == ",")
    if _YEAR.fullmatch(s.word(place)):
        return Day(date(int(s.word(place)), month, number), place + 1)
    return Day(_next(number, month, today), end)


def _next(number: int, month: int, today: date) -> date:
    """Return the first such day from today on; february 29 is one of leap years."""
    if (number, month) != (29, 2):
        return next_day(number, month, today)
    leap = (year for year in range(today.year, today.year + 9) if isleap(year))
    return next(day for year in leap if (day := date(year, 2, 29)) >= today)


def _day_first(s: Sentence, at: int, today: date) -> Day | None:
    """Return "14 march", "the 14th of march 2027", "on the 2nd"."""
    the = s.word(at) == "the"
    number = day_number(s, at + the)
    if number is None:
        return None
    place = number[1] + (s.word(number[1]) == "of")
    month = _MONTHS.get(s.word(place))
    is_other = s.word(place) in ("may", "sun", "mar") and s.word(place + 1) in _PRONOUNS
    if month is not None and not is_other:
        after = (
            place
            + 1
            + (
                s.word(place) in SHORT_MONTHS
                and s.word(place + 1) == "."
                and bool(_YEAR.fullmatch(s.word(place + 2)))
            )
        )
        return _with_year(s, number[0], month, after, today)
    is_told = s.word(at - 1) in _BEFORE_DAY or _is_between(s, at, number[1])
    if the and is_told and s.word(number[1]) in _AFTER_DAY:
        return _of_month(number[0], number[1], today)
    return None


def _is_between(s: Sentence, at: int, end: int) -> bool:
    """Tell whether a number begins "between the 3rd and the 5th", of nothing that is named."""
    if s.word(at - 1) != "between" or s.word(end) != "and" or s.word(at + 1)[:1].isalpha():
        return False
    last = day_number(s, end + 1 + (s.word(end + 1) == "the"))
    return last is not None and s.word(last[1]) in _AFTER_DAY


def _of_month(number: int, end: int, today: date, weekday: int | None = None) -> Day | None:
    """Return the next such day of a month: "on the 2nd", "friday the 13th"."""
    for months in range(_MOST_MONTHS):
        year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
        try:
            found = date(year, month + 1, number)
        except ValueError:
            continue
        if found >= today and weekday in (None, found.weekday()):
            return Day(found, end)
    return None


# --------------------------------------------------------------------------------- relative


def _weekday(s: Sentence, at: int, today: date) -> Day | None:
    """Return "friday", "this coming friday", "last friday", "friday morning".

    "next friday" is the next friday after today, as "friday" and "this friday" are.
    """
    place, way = at, s.word(at)
    if way in ("this", "next", "last", "coming", "past"):
        place += 1
        if s.word(place) in ("coming", "past", "next", "last"):
            way, place = s.word(place), place + 1
    name = s.word(place)
    number = _DAYS.get(name)
    if number is None:
        return None
    is_told = place > at or s.word(at - 1) in _BEFORE_DAY
    named = _named(s, place + 1, today, number)
    if name in _SHORT_DAYS and not (is_told and s.word(place - 1) != "the"):
        return named if named is not None and s.word(place + 1) != "the" else None
    ahead = (number - today.weekday() - 1) % 7 + 1
    if way in ("last", "past"):
        ahead -= 7
        ahead = ahead if ahead < 0 else -7
    day, end = today + timedelta(days=ahead), place + 1
    if s.has(end, "next", "week"):
        monday = today - timedelta(days=today.weekday())
        day, end = monday + timedelta(days=7 + number), end + 2
    if s.word(end) in _PARTS:
        return Day(day, end + 1, hour=hour_of(s, s.word(end)))
    is_next = end == place + 1
    return (named if is_next else None) or Day(day, end, soft=not is_told)


def _named(s: Sentence, end: int, today: date, weekday: int) -> Day | None:
    """Return the date after its day of the week: "thursday the 14th", "friday, march 5"."""
    place = end + (s.word(end) == ",")
    if s.word(place) in _MONTHS:
        return _month_first(s, place, today)
    number = day_number(s, place + 1) if s.word(place) == "the" else None
    if s.word(place)[:1].isdigit():
        return _day_first(s, place, today)
    if number is None or not s.word(place + 1)[:1].isdigit():
        return None
    is_whole = s.word(number[1]) == "of" or s.word(number[1]) in _MONTHS
    whole = _day_first(s, place, today) if is_whole else None
    return whole or _of_month(number[0], number[1], today, weekday)


def _counted(s: Sentence, at: int, found: tuple[Number | None, ...], today: date) -> Day | None:
    """Return "in two weeks", "3 days ago", "a week from tomorrow", "2 months from now"."""
    place = at + (s.word(at) == "in")
    amount = amount_at(s, place, found) if place < len(s.words) else None
    if amount is not None:
        number, unit, end = amount
    elif s.word(place) in ("a", "one") and s.word(place + 1) in ("day", "week", "month", "year"):
        from decimal import Decimal

        unit = "mon" if s.word(place + 1) == "month" else s.word(place + 1)
        number, end = Decimal(1), place + 2
    else:
        return None
    if unit not in ("day", "week", "mon", "year") or number % 1 or abs(number) > 10000:
        return None
    base, is_share = today, False
    if s.word(at) == "in":
        if s.word(end) in ("or", "'s") or s.word(at - 1) in ("than", "per", "times"):
            return None
        is_share = s.word(place) == "a"  # "5 miles in a day"
        sign = 1
    elif s.has(end, "ago"):
        sign, end = -1, end + 1
    elif s.has(end, "from") and s.word(end + 1) in ("now", "today", "tomorrow"):
        base = today + timedelta(days=s.word(end + 1) == "tomorrow")
        sign, end = 1, end + 2
    else:
        return None
    return Day(_shifted(base, sign * int(number), unit), end, weak=is_share)


def _shifted(day: date, number: int, unit: str) -> date:
    """Return a day so many units later; the 31st becomes the last of a shorter month.

    >>> _shifted(date(2027, 1, 31), 1, "mon"), _shifted(date(2027, 1, 13), -2, "week")
    (datetime.date(2027, 2, 28), datetime.date(2026, 12, 30))
    """
    if unit in _UNITS:
        return day + timedelta(days=number * _UNITS[unit])
    months = number * (12 if unit == "year" else 1)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    first = date(year, month + 1, 1)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return first + timedelta(days=min(day.day, (following - first).days) - 1)


def _relative(s: Sentence, at: int, today: date) -> Day | None:
    """Return "the day after tomorrow", "next week", "this morning", "last night"."""
    place = at + (s.word(at) == "the")
    if s.word(place) == "day" and s.word(place + 1) in ("after", "before"):
        if s.word(place + 2) in ("tomorrow", "yesterday"):
            days_ = {("after", "tomorrow"): 2, ("before", "yesterday"): -2}
            number = days_.get((s.word(place + 1), s.word(place + 2)))
            if number is not None:
                return Day(today + timedelta(days=number), place + 3)
        return None
    way, what = s.word(at), s.word(at + 1)
    if way in ("this", "last", "tomorrow") and what in _PARTS:
        day = today - timedelta(days=way == "last")
        return Day(day, at + 2, soft=True, hour=hour_of(s, what))
    if way not in ("next", "last", "this") or what not in ("week", "month", "year", "weekend"):
        return None
    sign = {"next": 1, "last": -1, "this": 0}[way]
    if what == "weekend":
        saturday = today + timedelta(days=(5 - today.weekday()) % 7 + 7 * sign)
        return Day(saturday, at + 2, soft=True)
    unit = "mon" if what == "month" else what
    return Day(_shifted(_start(today, unit), sign, unit), at + 2, soft=True)


def _start(today: date, unit: str) -> date:
    if unit == "week":
        return today - timedelta(days=today.weekday())
    return today.replace(day=1) if unit == "mon" else today.replace(month=1, day=1)


def _holiday(s: Sentence, at: int, today: date) -> Day | None:
    """Return "christmas", "the fourth of july", "christmas eve 2027"."""
    for length in (4, 3, 2, 1):
        found = _HOLIDAYS.get(s.words[at : at + length])
        end = at + length
        if found is None or end > len(s.words):
            continue
        day, month = found
        if _YEAR.fullmatch(s.word(end)):
            return Day(date(int(s.word(end)), month, day), end + 1)
        is_told = s.word(at - 1) in (*_BEFORE_DAY, "this", "next") or length > 2
        return Day(next_day(day, month, today), end, soft=not is_told)
    return None
