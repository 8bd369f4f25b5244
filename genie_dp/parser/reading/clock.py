"""Times of day: "8 pm", "20:30", "half past eight in the evening", "noon", "in the morning"."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from genie_dp.parser.reading.numbers import Number
from genie_dp.parser.reading.reading import Candidate
from genie_dp.parser.reading.sentence import Sentence, words_of

_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?(am|pm|a\.m|p\.m)?")
_POINTED = re.compile(r"(\d{1,2})\.([0-5]\d)")
_HOURS = re.compile(r"([01]\d|2[0-3])([0-5]\d)")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{2})(am|pm)")
_JOINED = re.compile(r"(\d{1,2})([0-5]\d)(am|pm)")
_HALVES = {"am": 0, "pm": 12, "a.m": 0, "p.m": 12}
_NAMED = {"noon": (12, 0), "midnight": (0, 0), "midday": (12, 0), "noontime": (12, 0)}
_PARTS = ("morning", "afternoon", "evening", "night")
# What may follow "at 8" if that is a time.
_AFTER_BARE = words_of(
    """
    . , ! ? ; and or but then on every each today tomorrow tonight this next sharp until to for
    please with when if daily
    """
) | {""}
_BEFORE_BARE = frozenset(
    ("at", "by", "until", "till", "before", "after", "around", "about", "since")
)
_OCLOCK = frozenset(("o'clock", "oclock", "o’clock"))
DAWN = 5  # the hours of a night that are before it come after midnight
_MINUTES_PAST = {"quarter": 15, "half": 30}


class Time(NamedTuple):
    """A time of day, and the place of the token after it.

    `half_is_known` is False for "at 8", where am and pm are guessed. `is_part` is True for "in the
    morning" alone.
    """

    hour: int
    minute: int
    end: int
    second: int = 0
    half_is_known: bool = True
    is_part: bool = False

    @property
    def value(self) -> str:
        """Return the time in the token form of programs."""
        return f"time:{self.hour}:{self.minute:02d}:{self.second:02d}"


def time_at(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Time | None:
    """Return the longest time of day that begins at a token, or None."""
    word = s.word(at)
    if word in _NAMED:
        return Time(*_NAMED[word], at + 1)
    if word in ("12", "twelve") and s.word(at + 1) in _NAMED:
        return Time(*_NAMED[s.word(at + 1)], at + 2)
    return _past(s, at, found) or _digits(s, at) or _said(s, at, found) or part_of_day(s, at)


def _digits(s: Sentence, at: int) -> Time | None:
    """Return "8pm", "20:30", "8:30 pm", "8.30pm", "8 pm", "8 in the morning"."""
    word = s.word(at)
    if not word[:1].isdigit():
        return None
    match = _CLOCK.fullmatch(word)
    if match is None:
        dotted = _DOTTED.fullmatch(word) or _JOINED.fullmatch(word)
        if dotted is None:
            return _written(s, at, word)
        return _made(int(dotted[1]), int(dotted[2]), 0, at + 1, dotted[3])
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if match[4] is not None:
        return _made(hour, minute, second, at + 1 + (match[4] in ("a.m", "p.m")), match[4])
    half, end = _half(s, at + 1)
    if half is None and match[2] is None:
        return None
    if half is None:
        # "3:30" is after noon, "03:30" and "15:30" are as written.
        is_guess = match[1] == str(hour) and match[3] is None
        return (
            guessed(hour, minute, at + 1) if is_guess else _made(hour, minute, second, at + 1, None)
        )
    return _made(hour, minute, second, end, half)


def _written(s: Sentence, at: int, word: str) -> Time | None:
    """Return "7.30 pm", "at 0800 hours"."""
    if (match := _POINTED.fullmatch(word)) is not None:
        half, end = _half(s, at + 1)
        is_time = half in _HALVES or (half is not None and s.word(at - 1) == "at")
        return _made(int(match[1]), int(match[2]), 0, end, half) if is_time else None
    match = _HOURS.fullmatch(word) if s.word(at + 1) in ("hours", "hrs") else None
    if match is None or not (word[0] == "0" or s.word(at - 1) == "at"):
        return None
    return Time(int(match[1]), int(match[2]), at + 2)


def _half(s: Sentence, at: int) -> tuple[str | None, int]:
    """Return ("am" or "pm", next place) of what follows an hour."""
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
    return _part(s, at)


def _part(s: Sentence, at: int) -> tuple[str | None, int]:
    """Return ("am" or "pm", next place) of "in the morning", "at night"; "12 at" says more."""
    place = at
    if s.has(place, "in", "the") and s.word(place + 2) in _PARTS[:3]:
        return ("am" if s.word(place + 2) == "morning" else "pm"), place + 3
    if s.has(place, "at", "night") or s.has(place, "at", "midnight") or s.has(place, "tonight"):
        # "tonight" is a date of its own, but tells which half.
        is_date = s.word(place) == "tonight"
        return ("night", place if is_date else place + 2)
    if s.has(place, "noon"):
        return "pm", place + 1
    return None, at


def _made(hour: int, minute: int, second: int, end: int, half: str | None) -> Time | None:
    if minute > 59 or second > 59 or hour > 23:
        return None
    if half is None:
        return Time(hour, minute, end, second)
    if not 1 <= hour <= 12:
        return Time(hour, minute, end, second) if half == "night" or hour > 12 else None
    at_night = 12 if DAWN <= hour < 12 else 0
    shift = at_night if half == "night" else _HALVES[half]
    return Time(hour % 12 + shift, minute, end, second)


def _said(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Time | None:
    """Return "eight pm", "eight thirty pm", "eight oh five pm", "8 o'clock", "eight at night"."""
    number = found[at]
    if number is None or number.value != number.value.to_integral_value():
        return None
    hour, end = int(number.value), number.end
    if not 0 <= hour <= 24:
        return None
    minute = 0
    if number.is_said:
        minute, end = _minute(s, end, found)
    half, after = _half(s, end)
    if half is not None:
        return _made(hour, minute, 0, after, half)
    if after > end:  # o'clock
        return guessed(hour, minute, after)
    return None


def _minute(s: Sentence, at: int, found: tuple[Number | None, ...]) -> tuple[int, int]:
    if s.word(at) == "oh":
        number = found[at + 1] if at + 1 < len(found) else None
        return (int(number.value), number.end) if number and 0 < number.value < 10 else (0, at)
    number = found[at] if at < len(found) else None
    if number is None or not number.is_said or not 10 <= number.value < 60:
        return 0, at
    return int(number.value), number.end


def guessed(hour: int, minute: int, end: int) -> Time | None:
    """Return the likelier of two times: from 7 on in the morning, before that after noon.

    >>> guessed(8, 30, 1), guessed(5, 0, 1).hour
    (Time(hour=8, minute=30, end=1, second=0, half_is_known=False, is_part=False), 17)
    """
    if not 0 <= hour < 24 or minute > 59:
        return None
    if not 1 <= hour <= 12:
        return Time(hour, minute, end)
    return Time(hour + 12 if hour < 7 else hour, minute, end, half_is_known=False)


def _past(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Time | None:
    """Return "half past eight (in the evening)", "a quarter to 9", "ten past eight"."""
    place = at + (s.word(at) == "a" and s.word(at + 1).startswith("quarter"))
    number = found[place] if place < len(found) else None
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
    hour = found[place + 1] if place + 1 < len(found) else None
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
            _made(int(hour.value), 0, 0, end, half)
            if half is not None
            else guessed(int(hour.value), 0, max(end, hour.end))
        )
    if full is None:
        return None
    is_later = way in ("past", "after")
    total = (full.hour * 60 + (minutes if is_later else -minutes)) % (24 * 60)
    return full._replace(hour=total // 60, minute=total % 60)


def part_of_day(s: Sentence, at: int) -> Time | None:
    """Return the time of "in the morning", "at night" alone."""
    if s.has(at, "in", "the") and s.word(at + 2) in _PARTS[:3]:
        return Time(hour_of(s, s.word(at + 2)), 0, at + 3, is_part=True)
    if s.has(at, "at", "night"):
        return Time(s.locale.night, 0, at + 2, is_part=True)
    return None


def hour_of(s: Sentence, part: str) -> int:
    """Return the hour that stands for a part of the day."""
    hours = dict(zip(_PARTS, (s.locale.morning, s.locale.afternoon, s.locale.evening,
                              s.locale.night), strict=True))  # fmt: skip
    return hours[part]


def bare_time(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Time | None:
    """Return the 8 of "at 8", the "seven thirty" of "at seven thirty", or None."""
    number = found[at]
    if number is None or number.value % 1 or not 0 < number.value <= 24:
        return None
    is_spoken = number.is_said and number.value <= 12
    minute, end = _minute(s, number.end, found) if is_spoken else (0, number.end)
    following = s.word(end)
    is_dated = s.word(at - 1) == "for" and following in ("tomorrow", "tonight")
    if not is_dated and (s.word(at - 1) not in _BEFORE_BARE or following not in _AFTER_BARE):
        return None
    return guessed(int(number.value) % 24, minute, end)


def is_after_bare(s: Sentence, at: int) -> bool:
    """Tell whether a number that ends before a token counts nothing that is named there."""
    return s.word(at) in _AFTER_BARE


def bare_end(
    s: Sentence, at: int, found: tuple[Number | None, ...], first: Time
) -> Candidate | None:
    """Return the 1 of "from 11 am to 1": the hour that is next after the first one."""
    number = found[at]
    if number is None or number.value % 1 or not 1 <= number.value <= 12:
        return None
    if not is_after_bare(s, number.end):
        return None
    begun = first.hour * 60 + first.minute
    hours = (int(number.value) % 12, int(number.value) % 12 + 12)
    hour = min(hours, key=lambda h: (h * 60 - begun) % (24 * 60) or 24 * 60)
    return s.candidate(at, number.end, "TIME", f"time:{hour}:00:00")


def times(s: Sentence, found: tuple[Number | None, ...]) -> Iterator[Candidate]:
    """Yield the candidates that are times of day."""
    for at in range(len(s.words)):
        time = time_at(s, at, found)
        if time is not None:
            soft = time.is_part or s.word(at) in _NAMED
            yield s.candidate(at, time.end, "TIME", time.value, soft=soft)
            continue
        bare = bare_time(s, at, found)
        if bare is not None:
            weak = s.word(at - 1) not in ("at", "for") and not bare.minute
            yield s.candidate(at, bare.end, "TIME", bare.value, weak=weak, soft=True)
