"""Times of day, days and moments: "8 pm", "tomorrow", "next friday", "in two hours"."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from genie_dp.locale import DEFAULT, sentences_of, words_of
from genie_dp.locale import PARTS_OF_DAY as ALL_PARTS
from genie_dp.parser.reading.measures import amount_at
from genie_dp.parser.reading.numbers import ORDINALS, Numbers, ordinal_at
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.texts import word_set
from genie_dp.values.calendar import (
    DAWN,
    HOLIDAYS,
    MONTH_NAMES,
    MONTH_NUMBERS,
    WEEKDAY_NAMES,
    WEEKDAY_NUMBERS,
    near_weekday,
    next_day,
    next_of_month,
    shift_day,
    span_from,
    span_of_part,
    written_day,
)

_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?(am|pm|a\.m|p\.m)?")
_POINTED = re.compile(r"(\d{1,2})\.([0-5]\d)")
_HOURS = re.compile(r"([01]\d|2[0-3])([0-5]\d)")
_DOTTED_TIME = re.compile(r"(\d{1,2})\.(\d{2})(am|pm)")
_JOINED = re.compile(r"(\d{1,2})([0-5]\d)(am|pm)")
_HALVES = {"am": 0, "pm": 12, "a.m": 0, "p.m": 12}
_ENGLISH = words_of(DEFAULT)
_NAMED = {
    name: (int(time.partition(":")[0]), 0)
    for names, time in _ENGLISH.times.items()
    for name in sentences_of(names)
}
PARTS_OF_DAY = tuple(part for part in ALL_PARTS if part != "noon")
# What may follow "at 8" if that is a time.
_AFTER_BARE = word_set(
    """
    . , ! ? ; and or but then on every each today tomorrow tonight this next sharp until to for
    please with when if daily
    """
) | {""}
_BEFORE_BARE = frozenset(
    ("at", "by", "until", "till", "before", "after", "around", "about", "since")
)
_FOR_PEOPLE = word_set(
    """
    table tables seat seats room rooms reservation booking spot ticket tickets dinner lunch brunch
    """
)
_OCLOCK = frozenset(("o'clock", "oclock", "o’clock"))
_MINUTES_PAST = {"quarter": 15, "half": 30}


class Time(NamedTuple):
    """A time of day, and the place of the token after it.

    `half_is_known` is False for "at 8", where am and pm are guessed. `is_part` is True for "in the
    morning" alone; `part` is the part of the day that is named after it.
    """

    hour: int
    minute: int
    end: int
    second: int = 0
    half_is_known: bool = True
    is_part: bool = False
    part: str = ""

    @property
    def value(self) -> str:
        """Return the time in the token form of programs."""
        return f"time:{self.hour}:{self.minute:02d}:{self.second:02d}"


def time_at(s: TextTokens, at: int, numbers: Numbers) -> Time | None:
    """Return the longest time of day that begins at a token, or None."""
    word = s.word(at)
    if word in _NAMED:
        return Time(*_NAMED[word], at + 1)
    if word in ("12", "twelve") and s.word(at + 1) in _NAMED:
        return Time(*_NAMED[s.word(at + 1)], at + 2)
    if s.word(at + 1) == "tonight" and counts_people(s, at):
        return None
    return (
        _past(s, at, numbers)
        or _digits(s, at)
        or _spoken_time(s, at, numbers)
        or part_of_day(s, at)
    )


def counts_people(s: TextTokens, at: int) -> bool:
    """Return whether a number is one of guests: "a table for two tomorrow"."""
    return s.word(at - 1) == "for" and s.word(at - 2) in _FOR_PEOPLE


def _digits(s: TextTokens, at: int) -> Time | None:
    """Return "8pm", "20:30", "8:30 pm", "8.30pm", "8 pm", "8 in the morning"."""
    word = s.word(at)
    if not word[:1].isdigit():
        return None
    match = _CLOCK.fullmatch(word)
    if match is None:
        dotted = _DOTTED_TIME.fullmatch(word) or _JOINED.fullmatch(word)
        if dotted is None:
            return _dotted_time(s, at, word)
        return _make_time(int(dotted[1]), int(dotted[2]), 0, at + 1, dotted[3])
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if match[4] is not None:
        return _make_time(hour, minute, second, at + 1 + (match[4] in ("a.m", "p.m")), match[4])
    half, end = _half(s, at + 1)
    if half is None and match[2] is None:
        return None
    if half is None:
        # "3:30" is after noon, "03:30" and "15:30" are as written.
        is_guess = match[1] == str(hour) and match[3] is None
        return (
            guess_time(hour, minute, at + 1)
            if is_guess
            else _make_time(hour, minute, second, at + 1, None)
        )
    return _make_time(hour, minute, second, end, half)


def _dotted_time(s: TextTokens, at: int, word: str) -> Time | None:
    """Return "7.30 pm", "at 0800 hours"."""
    if (match := _POINTED.fullmatch(word)) is not None:
        half, end = _half(s, at + 1)
        is_told = s.word(at - 1) == "at"
        if half is None and is_told and s.word(end) in _AFTER_BARE:
            return guess_time(int(match[1]), int(match[2]), end)
        is_time = half in _HALVES or (half is not None and is_told)
        return _make_time(int(match[1]), int(match[2]), 0, end, half) if is_time else None
    match = _HOURS.fullmatch(word) if s.word(at + 1) in ("hours", "hrs") else None
    if match is None or not (word[0] == "0" or s.word(at - 1) == "at"):
        return None
    return Time(int(match[1]), int(match[2]), at + 2)


def _half(s: TextTokens, at: int) -> tuple[str | None, int]:
    """Return (half of the day, next place) of the words behind an hour: "am", "pm" or "night"."""
    word = s.word(at)
    if word in ("am", "pm"):
        return word, at + 1
    if word in ("a.m", "p.m"):
        return word, at + 1 + (s.word(at + 1) == ".")
    if word in ("a", "p") and (s.has(at + 1, "m") or s.has(at + 1, ".", "m")):
        return f"{word}m", at + (2 if s.has(at + 1, "m") else 3)
    if word in _OCLOCK or s.has(at, "o", "clock"):
        after = at + (1 if word in _OCLOCK else 2)
        half, end = _half(s, after)
        return (half, end) if half is not None else (None, after)
    if s.has(at, "in", "the") and s.word(at + 2) in PARTS_OF_DAY[:3]:
        return ("am" if s.word(at + 2) == "morning" else "pm"), at + 3
    if s.has(at, "at", "night") or s.has(at, "at", "midnight"):
        return "night", at + 2
    if word == "tonight":  # a date of its own, which tells the half
        return "night", at
    return ("pm", at + 1) if word == "noon" else (None, at)


def _make_time(hour: int, minute: int, second: int, end: int, half: str | None) -> Time | None:
    if minute > 59 or second > 59 or hour > 23:
        return None
    if half is None:
        return Time(hour, minute, end, second)
    if not 1 <= hour <= 12:
        return Time(hour, minute, end, second) if half == "night" or hour > 12 else None
    at_night = 12 if DAWN <= hour < 12 else 0
    shift = at_night if half == "night" else _HALVES[half]
    return Time(hour % 12 + shift, minute, end, second)


def _spoken_time(s: TextTokens, at: int, numbers: Numbers) -> Time | None:
    """Return "eight pm", "eight thirty pm", "eight oh five pm", "8 o'clock", "eight at night"."""
    number = numbers[at]
    if number is None or number.value != number.value.to_integral_value():
        return None
    hour, end = int(number.value), number.end
    if not 0 <= hour <= 24:
        return None
    minute = 0
    if number.is_said:
        minute, end = _minute(s, end, numbers)
    half, after = _half(s, end)
    if half is not None:
        return _make_time(hour, minute, 0, after, half)
    if after > end:  # o'clock
        return guess_time(hour, minute, after)
    return None


def _minute(s: TextTokens, at: int, numbers: Numbers) -> tuple[int, int]:
    if s.word(at) == "oh":
        number = numbers[at + 1] if at + 1 < len(numbers) else None
        return (int(number.value), number.end) if number and 0 < number.value < 10 else (0, at)
    number = numbers[at] if at < len(numbers) else None
    if number is None or not number.is_said or not 10 <= number.value < 60:
        return 0, at
    return int(number.value), number.end


def guess_time(hour: int, minute: int, end: int) -> Time | None:
    """Return the likelier of two times: from 7 on in the morning, before that after noon.

    >>> guess_time(8, 30, 1), guess_time(5, 0, 1).hour
    (Time(hour=8, minute=30, end=1, second=0, half_is_known=False, is_part=False, part=''), 17)
    """
    if not 0 <= hour < 24 or minute > 59:
        return None
    if not 1 <= hour <= 12:
        return Time(hour, minute, end)
    return Time(hour + 12 if hour < 7 else hour, minute, end, half_is_known=False)


def _past(s: TextTokens, at: int, numbers: Numbers) -> Time | None:
    """Return "half past eight (in the evening)", "a quarter to 9", "ten past eight"."""
    place = at + (s.word(at) == "a" and s.word(at + 1).startswith("quarter"))
    number = numbers[place] if place < len(numbers) else None
    name, hyphen, joined = s.word(place).partition("-")  # "half-past"
    minutes = _MINUTES_PAST.get(name)
    is_named = minutes is not None
    place += not hyphen
    if minutes is None:
        if number is None or not 0 < number.value < 30:
            return None
        minutes, place = int(number.value), number.end
        place += s.word(place) in ("minutes", "mins")
    way = joined or s.word(place)
    if name == "half" and not joined and s.word(at - 1) == "at":  # "at half eight", of Britain
        eight = numbers[place] if place < len(numbers) else None
        if eight is not None and eight.value in range(1, 13) and s.word(eight.end) in _AFTER_BARE:
            return guess_time(int(eight.value), 30, eight.end)
    has_unit = s.word(place - 1) in ("minutes", "mins")
    # "2 to 3 pm" is a range, as is "from 10 to 3 pm".
    is_span = minutes % 5 or s.word(at - 1) in ("from", "between")
    if way == "to" and is_span and not has_unit:
        return None
    if way not in ("past", "to", "after", "before", "till", "of") or (
        minutes == 30 and way != "past"
    ):
        return None
    if way in ("after", "before", "of") and not is_named:
        return None
    hour = numbers[place + 1] if place + 1 < len(numbers) else None
    named = _NAMED.get(s.word(place + 1))
    if named is not None:
        full: Time | None = Time(*named, place + 2)
    elif hour is None or not 0 <= hour.value <= 23 or hour.value % 1:
        return None
    else:
        half, end = _half(s, hour.end)
        is_told = s.word(at - 1) == "at" and s.word(end) in _AFTER_BARE  # "at ten to nine"
        is_clear = half is not None or is_named or end > hour.end or is_told
        if way == "to" and not is_clear:
            return None  # "ten to eight" is as well a range
        full = (
            _make_time(int(hour.value), 0, 0, end, half)
            if half is not None
            else guess_time(int(hour.value), 0, max(end, hour.end))
        )
    if full is None:
        return None
    is_later = way in ("past", "after")
    total = (full.hour * 60 + (minutes if is_later else -minutes)) % (24 * 60)
    return full._replace(hour=total // 60, minute=total % 60)


def part_of_day(s: TextTokens, at: int) -> Time | None:
    """Return the time of "in the morning", "at night" alone."""
    if s.has(at, "in", "the") and s.word(at + 2) in PARTS_OF_DAY[:3]:
        return Time(s.locale.hour_of(s.word(at + 2)), 0, at + 3, is_part=True)
    if s.has(at, "at", "night"):
        return Time(s.locale.night, 0, at + 2, is_part=True)
    return None


def bare_time(s: TextTokens, at: int, numbers: Numbers) -> Time | None:
    """Return the 8 of "at 8", the "seven thirty" of "at seven thirty", or None."""
    number = numbers[at]
    if number is None or number.value % 1 or not 0 < number.value <= 24:
        return None
    is_spoken = number.is_said and number.value <= 12
    minute, end = _minute(s, number.end, numbers) if is_spoken else (0, number.end)
    following = s.word(end)
    is_dated = s.word(at - 1) == "for" and following in ("tomorrow", "tonight")
    if is_dated and counts_people(s, at):
        return None
    if not is_dated and (s.word(at - 1) not in _BEFORE_BARE or following not in _AFTER_BARE):
        return None
    return guess_time(int(number.value) % 24, minute, end)


def is_after_bare(s: TextTokens, at: int) -> bool:
    """Return whether a number that ends before a token counts no noun behind it."""
    return s.word(at) in _AFTER_BARE


def bare_end(s: TextTokens, at: int, numbers: Numbers, first: Time) -> ValueCandidate | None:
    """Return the 1 of "from 11 am to 1": the hour that is next after the first one."""
    number = numbers[at]
    if number is None or number.value % 1 or not 1 <= number.value <= 12:
        return None
    if not is_after_bare(s, number.end):
        return None
    begun = first.hour * 60 + first.minute
    hours = (int(number.value) % 12, int(number.value) % 12 + 12)
    hour = min(hours, key=lambda h: (h * 60 - begun) % (24 * 60) or 24 * 60)
    return s.candidate(at, number.end, "TIME", f"time:{hour}:00:00")


def times(s: TextTokens, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield the candidates that are times of day."""
    for i in s.beginnings(numbers, BEGINS):
        time = time_at(s, i, numbers)
        if time is not None:
            soft = time.is_part or s.word(i) in _NAMED
            yield s.candidate(i, time.end, "TIME", time.value, soft=soft)
            continue
        bare = bare_time(s, i, numbers)
        if bare is not None:
            weak = s.word(i - 1) not in ("at", "for") and not bare.minute
            yield s.candidate(i, bare.end, "TIME", bare.value, weak=weak, soft=True)


# Short names that are other words: days only after "next", "on" and the like.
_SHORT_DAYS = frozenset(names[1] for names in WEEKDAY_NAMES)
_SHORT_MONTHS = frozenset(name for names in MONTH_NAMES for name in names[1:])
_AROUND_TODAY = {("after", "tomorrow"): 2, ("before", "yesterday"): -2}
_NEAR = {word: int(days) for word, days in _ENGLISH.days.items()}
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:1[789]|2[01])\d{2}")
_BEFORE_YEAR = frozenset(("before", "since", "until", "till", "by", "from", "between"))
_COMPARED = {"later": "after", "newer": "after", "earlier": "before", "older": "before"}
_PRONOUNS = word_set("i you we they he she it who that which this people one")
_BEFORE_DAY = frozenset(("on", "by", "until", "till", "before", "after", "since", "from", "for"))
_AFTER_DAY = frozenset(
    ("", ".", ",", "!", "?", "at", "and", "or", "of", "to", "please", "then", "through", "until")
)
HOLIDAYS_BY_WORDS = {tuple(name.split()): day for names, day in HOLIDAYS.items() for name in names}
_RECURS, _FROM_START = _ENGLISH.every, _ENGLISH.since
_AHEAD = frozenset(("tomorrow", "next", "in"))
_MOST_DAYS = 20  # tokens of "every monday, tuesday and friday"
_RECUR_TOO = frozenset((",", "and", "or", "to", "through", "-", "other", *ORDINALS))
_LINKS = frozenset(("to", "through", "until", "till", "-", "–"))


# What a date, a time or a span may begin with, beside numbers and what is no word of letters.
BEGINS = frozenset(
    ("a", "an", "at", "day", "half", "in", "last", "next", "one", "past", "coming", "quarter",
     "the", "this", "tonight", *_NAMED, *MONTH_NUMBERS, *WEEKDAY_NUMBERS, *_NEAR, *ORDINALS,
     *(name[0] for name in HOLIDAYS_BY_WORDS))
)  # fmt: skip


class Day(NamedTuple):
    """A day and the place of the token after it; `part` is the part of it that was named.

    Of a span of several days `day` is the first, and `until` the one after the last.
    """

    day: date
    end: int
    part: str = ""
    soft: bool = False
    weak: bool = False
    until: date | None = None


def day_candidate(s: TextTokens, at: int, day: Day) -> ValueCandidate:
    """Return a day, a part of one or a span of several as a candidate."""
    value, alternative = f"date:{day.day.isoformat()}", ""
    if day.until is not None:
        value += f"/{day.until}"
    elif day.part:
        alternative = span_of_part(day.day, day.part)
        value += f"T{s.locale.hour_of(day.part):02d}:00:00"
    return s.candidate(at, day.end, "DATE", value, soft=day.soft, weak=day.weak, other=alternative)


def days(s: TextTokens, numbers: Numbers, now: datetime) -> Iterator[ValueCandidate]:
    """Yield the candidates that are dates, with and without a time of day."""
    begun: dict[int, tuple[date, bool]] = {}  # token after a date -> it, whether "between" stands
    for i in s.beginnings(numbers, BEGINS):
        if recurs(s, i):
            continue
        first, is_between = begun.get(i - 1, (None, False))
        dates = _dates(s, i, numbers, now)
        is_last = s.word(i - 1) in _LINKS or (is_between and s.word(i - 1) == "and")
        is_early = first is not None and any(_day_of(candidate) < first for candidate in dates)
        if first is not None and is_early and is_last and s.word(i) not in _NEAR:
            # "from monday to friday": the friday after that monday.
            dates = _dates(s, i, numbers, datetime.combine(first, now.time()))
        for candidate in dates:
            end = bisect_left(s.ends, candidate.end) + 1
            if s.word(i) != "the" or s.word(end - 1) in MONTH_NUMBERS:  # `ranges` has "the 3rd"
                begun[end] = _day_of(candidate), s.word(i - 1) == "between"
            yield candidate


def _day_of(candidate: ValueCandidate) -> date:
    text, _, _ = candidate.value.removeprefix("date:").partition("/")
    return datetime.fromisoformat(text).date()


def recurs(s: TextTokens, at: int) -> bool:
    """Return whether a day is one of "every monday and friday", "every first monday"."""
    if s.word(at - 1) in _RECURS:
        return True
    if s.word(at) not in WEEKDAY_NUMBERS:
        return False
    for place in range(at - 1, max(at - _MOST_DAYS, -1), -1):
        word = s.word(place)
        if word in _RECURS or (word not in WEEKDAY_NUMBERS and word not in _RECUR_TOO):
            return word in _RECURS
    return False


def _dates(s: TextTokens, at: int, numbers: Numbers, now: datetime) -> list[ValueCandidate]:
    try:
        day = day_at(s, at, numbers, now.date())
        if day is not None:
            return list(_with_time(s, at, day, numbers))
        time = time_at(s, at, numbers) or bare_time(s, at, numbers)
        return list(_time_first(s, at, time, numbers, now)) if time is not None else []
    except (ValueError, OverflowError):
        return []  # no such day, or none that a calendar has


def moment_candidate(s: TextTokens, at: int, end: int, day: date, time: Time) -> ValueCandidate:
    """Return a day and a time of it as one candidate."""
    text = f"{day.isoformat()}T{time.hour:02d}:{time.minute:02d}:{time.second:02d}"
    return s.candidate(at, end, "DATE", f"date:{text}")


def _with_time(s: TextTokens, at: int, day: Day, numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield "tomorrow" and "tomorrow at 8 pm"."""
    yield day_candidate(s, at, day)
    if day.until is not None:
        return
    place = day.end + (s.word(day.end) == ",")
    place += s.word(place) in ("at", "around", "by")
    time = time_at(s, place, numbers) if place < len(s.words) else None
    if time is None and place < len(s.words) and s.word(place - 1) == "at":
        time = bare_time(s, place, numbers)
    if time is not None and not day.weak:
        yield moment_candidate(s, at, time.end, *_combine(s, day, time))


def _time_first(
    s: TextTokens, at: int, time: Time, numbers: Numbers, now: datetime
) -> Iterator[ValueCandidate]:
    """Yield "8 pm tomorrow", "noon on friday", "at 8 tonight"."""
    place = time.end + (s.word(time.end) in ("on", ","))
    if time.is_part or s.word(place - 1) in _RECURS or place >= len(s.words):
        return
    day = day_at(s, place, numbers, now.date())
    if day is None or day.weak or day.until is not None:
        return
    yield moment_candidate(s, at, day.end, *_combine(s, day, time))


def _combine(s: TextTokens, day: Day, time: Time) -> tuple[date, Time]:
    """Return the date and the time of "tonight at 8"; a time after midnight is tomorrow's."""
    if not day.part:
        return day.day, time
    day_hour = s.locale.hour_of(day.part)
    is_night = day_hour >= s.locale.night - 1
    if not time.half_is_known:
        hour = time.hour % 12
        is_late = day_hour >= 12 and not (is_night and hour < DAWN)
        time = time._replace(hour=hour + 12 * is_late)
    return day.day + timedelta(days=is_night and time.hour < DAWN), time


def day_at(s: TextTokens, at: int, numbers: Numbers, today: date) -> Day | None:
    """Return the longest date that begins at a token, or None; "since" one, it is over.

    A period since a week, or between two, begins with its first day.

    Raises:
        ValueError, OverflowError: there is no such day, as on february 30.
    """
    day = _coming_day(s, at, numbers, today)
    place = at - 1 - (s.word(at - 1) == "the")
    if day is not None and s.word(place) in _FROM_START:
        day = day._replace(until=None)
    if day is None or day.day <= today or s.word(place) != "since" or s.word(at) in _AHEAD:
        return day
    for unit in ("week", "mon", "year"):
        before = shift_day(day.day, -1, unit)
        # Said on the day before, it would be that day.
        past = _coming_day(s, at, numbers, before - timedelta(days=1))
        if past is not None and past.day == before <= today:
            return past
    return day  # its year was said


def _coming_day(s: TextTokens, at: int, numbers: Numbers, today: date) -> Day | None:
    """Return the longest date that begins at a token; without a year, the next such day."""
    word = s.word(at)
    if word in _NEAR:
        day, place = today + timedelta(days=_NEAR[word]), at + 1
        if s.has(place, "in", "the") and s.word(place + 2) in PARTS_OF_DAY[:3]:
            place += 2
        if s.word(place) in PARTS_OF_DAY:  # "tomorrow in the evening"
            return Day(day, place + 1, part=s.word(place))
        return Day(day, at + 1, soft=True)
    if word == "tonight":
        return Day(today, at + 1, soft=True, part="tonight")
    return (
        _numeric(s, at, today)
        or _month_first(s, at, today)
        or _day_first(s, at, today)
        or _weekday(s, at, today)
        or _count_days(s, at, numbers, today)
        or _relative(s, at, today)
        or _holiday(s, at, today)
        or _bare_year(s, at)
    )


# --------------------------------------------------------------------------------- calendar


def with_slashes(s: TextTokens, at: int) -> tuple[str, int]:
    """Return up to three numbers with slashes between them as one text, and the place behind it."""
    end = at + 1
    while s.word(end) == "/" and s.word(end + 1).isdigit() and end < at + 5:
        end += 2
    return "".join(s.words[at:end]), end


def _numeric(s: TextTokens, at: int, today: date) -> Day | None:
    """Return "2027-03-14", "2027/3/14", "14.3.2027", "3/14/2027", "3/14"."""
    if not s.word(at)[:1].isdigit():
        return None
    text, end = with_slashes(s, at)
    written = written_day(text, today, day_first=s.locale.day_first)
    if written is None or not (written[1] or "/" in text):
        return None
    first, _, second = text.partition("/")
    is_fraction = second in ("2", "3", "4", "5", "8", "10") and int(first) < int(second)
    is_other = is_fraction or text == "24/7"
    return Day(written[0], end, weak=is_other and s.word(at - 1) not in _BEFORE_DAY)


def _month_first(s: TextTokens, at: int, today: date) -> Day | None:
    """Return "march 14", "mar. 14th, 2027", "march the 14th", "march first", "june 2026"."""
    month = MONTH_NUMBERS.get(s.word(at))
    if month is None or (s.word(at) in ("may", "march") and s.word(at - 1) in _PRONOUNS):
        return None
    place = at + 1
    place += s.word(place) == "." and s.word(at) in _SHORT_MONTHS
    if _YEAR.fullmatch(s.word(place)):
        first = date(int(s.word(place)), month, 1)
        return Day(first, place + 1, until=shift_day(first, 1, "mon"))
    the = s.word(place) == "the"
    number = day_number(s, place + the)
    if number is None:
        return None
    return _with_year(s, number[0], month, number[1], today)


def day_number(s: TextTokens, at: int) -> tuple[int, int] | None:
    """Return (1 to 31, next place) of "14", "14th", "fourteenth", "twenty first"."""
    match = _DAY.fullmatch(s.word(at))
    if match is not None:
        number: tuple[int, int] | None = (int(match[1]), at + 1)
    else:
        number = ordinal_at(s, at)
    return number if number is not None and 1 <= number[0] <= 31 else None


def _with_year(s: TextTokens, number: int, month: int, end: int, today: date) -> Day:
    place = end + (s.word(end) == ",")
    if _YEAR.fullmatch(s.word(place)):
        return Day(date(int(s.word(place)), month, number), place + 1)
    return Day(next_day(number, month, today), end)


def _day_first(s: TextTokens, at: int, today: date) -> Day | None:
    """Return "14 march", "the 14th of march 2027", "on the 2nd"."""
    the = s.word(at) == "the"
    number = day_number(s, at + the)
    if number is None:
        return None
    place = number[1] + (s.word(number[1]) == "of")
    month = MONTH_NUMBERS.get(s.word(place))
    is_other = s.word(place) in ("may", "sun", "mar") and s.word(place + 1) in _PRONOUNS
    if month is not None and not is_other:
        after = (
            place
            + 1
            + (
                s.word(place) in _SHORT_MONTHS
                and s.word(place + 1) == "."
                and bool(_YEAR.fullmatch(s.word(place + 2)))
            )
        )
        return _with_year(s, number[0], month, after, today)
    is_told = s.word(at - 1) in _BEFORE_DAY or _is_between(s, at, number[1])
    if the and is_told and s.word(number[1]) in _AFTER_DAY:
        day = next_of_month(number[0], today)
        return None if day is None else Day(day, number[1])
    return None


def _is_between(s: TextTokens, at: int, end: int) -> bool:
    """Return whether a number begins "between the 3rd and the 5th", and counts no noun."""
    if s.word(at - 1) != "between" or s.word(end) != "and" or s.word(at + 1)[:1].isalpha():
        return False
    last = day_number(s, end + 1 + (s.word(end + 1) == "the"))
    return last is not None and s.word(last[1]) in _AFTER_DAY


# --------------------------------------------------------------------------------- relative


def _weekday(s: TextTokens, at: int, today: date) -> Day | None:
    """Return "friday", "this coming friday", "last friday", "friday morning".

    "next friday" is the next friday after today, as "friday" and "this friday" are.
    """
    place, way = at, s.word(at)
    if way in ("this", "next", "last", "coming", "past"):
        place += 1
        if s.word(place) in ("coming", "past", "next", "last"):
            way, place = s.word(place), place + 1
    name = s.word(place)
    number = WEEKDAY_NUMBERS.get(name)
    if number is None:
        return None
    is_told = place > at or s.word(at - 1) in _BEFORE_DAY
    named = _after_weekday(s, place + 1, today, number)
    if name in _SHORT_DAYS and not (is_told and s.word(place - 1) != "the"):
        return named if named is not None and s.word(place + 1) != "the" else None
    day, end = near_weekday(number, today, is_past=way in ("last", "past")), place + 1
    if s.has(end, "next", "week"):
        monday = today - timedelta(days=today.weekday())
        day, end = monday + timedelta(days=7 + number), end + 2
    if s.word(end) in PARTS_OF_DAY:
        return Day(day, end + 1, part=s.word(end))
    is_next = end == place + 1
    return (named if is_next else None) or Day(day, end, soft=not is_told)


def _after_weekday(s: TextTokens, end: int, today: date, weekday: int) -> Day | None:
    """Return the date after its day of the week: "thursday the 14th", "friday, march 5"."""
    place = end + (s.word(end) == ",")
    if s.word(place) in MONTH_NUMBERS:
        return _month_first(s, place, today)
    number = day_number(s, place + 1) if s.word(place) == "the" else None
    if s.word(place)[:1].isdigit():
        return _day_first(s, place, today)
    if number is None or not s.word(place + 1)[:1].isdigit():
        return None
    is_whole = s.word(number[1]) == "of" or s.word(number[1]) in MONTH_NUMBERS
    whole = _day_first(s, place, today) if is_whole else None
    day = next_of_month(number[0], today, weekday)
    return whole or (None if day is None else Day(day, number[1]))


def _count_days(s: TextTokens, at: int, numbers: Numbers, today: date) -> Day | None:
    """Return "in two weeks", "3 days ago", "a week from tomorrow", "2 months from now"."""
    place = at + (s.word(at) == "in")
    amount = amount_at(s, place, numbers) if place < len(s.words) else None
    if amount is not None:
        number, unit, end = amount
    elif s.word(place) in ("a", "one") and s.word(place + 1) in ("day", "week", "month", "year"):
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
    return Day(shift_day(base, sign * int(number), unit), end, weak=is_share)


def _relative(s: TextTokens, at: int, today: date) -> Day | None:
    """Return "the day after tomorrow", "next week", "this morning", "last night"."""
    place = at + (s.word(at) == "the")
    if s.word(place) == "day" and s.word(place + 1) in ("after", "before"):
        number = _AROUND_TODAY.get((s.word(place + 1), s.word(place + 2)))
        return Day(today + timedelta(days=number), place + 3) if number is not None else None
    way, noun = s.word(at), s.word(at + 1)
    if way in ("this", "last", "tomorrow") and noun in PARTS_OF_DAY:
        day = today - timedelta(days=way == "last")
        return Day(day, at + 2, soft=True, part=noun)
    if way not in ("next", "last", "this") or noun not in ("week", "month", "year", "weekend"):
        return None
    sign = {"next": 1, "last": -1, "this": 0}[way]
    first, until = span_from(today, sign, "mon" if noun == "month" else noun)
    return Day(first, at + 2, soft=True, until=until)


def _holiday(s: TextTokens, at: int, today: date) -> Day | None:
    """Return "christmas", "the fourth of july", "christmas eve 2027"."""
    for length in (4, 3, 2, 1):
        holiday = HOLIDAYS_BY_WORDS.get(s.words[at : at + length])
        end = at + length
        if holiday is None or end > len(s.words):
            continue
        day, month = holiday
        if _YEAR.fullmatch(s.word(end)):
            return Day(date(int(s.word(end)), month, day), end + 1)
        is_told = s.word(at - 1) in (*_BEFORE_DAY, "this", "next") or length > 2
        return Day(next_day(day, month, today), end, soft=not is_told)
    return None


def _bare_year(s: TextTokens, at: int) -> Day | None:
    """Return "2012" behind "before", "since", "between" as a day, for further readings.

    It is the first one of the year, but the last one where all of the year is over ("after 2012")
    or still meant ("between 2010 and 2012").
    """
    if not _YEAR.fullmatch(s.word(at)):
        return None
    year, before = int(s.word(at)), s.word(at - 1)
    if before == "than":
        before = _COMPARED.get(s.word(at - 2), "")
    is_second = before in (*_LINKS, "and") and _YEAR.fullmatch(s.word(at - 2))
    if is_second and s.word(at - 3) in ("between", "from") or before == "after":
        return Day(date(year, 12, 31), at + 1, weak=True)
    return Day(date(year, 1, 1), at + 1, weak=True) if before in _BEFORE_YEAR else None


_SECONDS = {"s": 1, "min": 60, "h": 3600}


def moments(s: TextTokens, numbers: Numbers, now: datetime) -> Iterator[ValueCandidate]:
    """Yield the candidates that are points of time."""
    for i in s.beginnings(numbers, BEGINS):
        if s.word(i - 1) in _RECURS:
            continue
        counted = _count_units(s, i, numbers)
        if counted is None:
            continue
        try:
            then = _later(now, counted[0])
        except OverflowError:
            continue  # no year that a calendar has
        yield s.candidate(i, counted[1], "DATE", f"date:{then.isoformat()}")


def _later(now: datetime, seconds: float) -> datetime:
    """Return the time of a clock on the wall so many seconds later.

    If `now` has a time zone, a change to summer time between the two counts.
    """
    now = now.replace(microsecond=0)
    if now.tzinfo is None:
        return now + timedelta(seconds=seconds)
    then = now.astimezone(UTC) + timedelta(seconds=seconds)
    return then.astimezone(now.tzinfo).replace(tzinfo=None)


def _count_units(s: TextTokens, at: int, numbers: Numbers) -> tuple[float, int] | None:
    """Return (seconds from now, next place) of "in 5 minutes", "2 hours ago", or None."""
    start = at + (s.word(at) == "in")
    seconds, end = _seconds(s, start, numbers)
    if seconds is None:
        return None
    if s.word(at) == "in":
        is_rate = s.word(at - 1) in ("than", "per") or s.word(end) in ("or", "a", "one", "each")
        return None if is_rate else (seconds, end)
    if s.has(end, "ago"):
        return -seconds, end + 1
    return (seconds, end + 2) if s.has(end, "from", "now") else None


def _seconds(s: TextTokens, at: int, numbers: Numbers) -> tuple[float | None, int]:
    """Return (seconds, next place) of "2 hours and 15 minutes", "an hour and a half"."""
    if s.has(at, "half", "an", "hour"):
        return 1800, at + 3
    total, end, last = 0.0, at, 0.0
    if s.word(at) in ("an", "a") and s.word(at + 1) in ("hour", "minute"):
        total, end = (3600 if s.word(at + 1) == "hour" else 60), at + 2
        last = total
    for _ in range(3):
        place = end + (end > at and s.word(end) == "and")
        amount = amount_at(s, place, numbers) if place < len(s.words) else None
        if amount is None or amount.unit not in _SECONDS or s.word(place).endswith("c"):
            break
        last = _SECONDS[amount.unit]
        total, end = total + float(amount.value) * last, amount.end
    if end > at and s.has(end, "and", "a", "half"):
        return total + last / 2, end + 3
    return (total, end) if end > at else (None, at)
