"""Times of day: "8 pm", "20:30", "half past eight in the evening", "noon"."""

from collections.abc import Iterator
from random import Random

from genie_dp.augment.written.form import Written, chosen
from genie_dp.augment.written.numerals import cardinal

_MINUTES = (0, 0, 0, 0, 30, 30, 15, 45, 10, 20, 40, 50, 5, 55, 25, 35)


def time(rng: Random) -> Written:
    """Return a time of day in one of its written forms; most are full or half hours."""
    hour = int(rng.random() * 24)
    if rng.random() < 0.1:
        minute = int(rng.random() * 60)
    else:
        minute = _MINUTES[int(rng.random() * len(_MINUTES))]
    return chosen(rng, tuple(forms(hour, minute)), f"time:{hour}:{minute:02d}:00")


def forms(hour: int, minute: int) -> Iterator[tuple[str, float]]:
    """Yield how a time is written, each with its weight; each has one meaning.

    >>> [text for text, _ in forms(20, 0)][:4]
    ['8 pm', '8pm', 'eight pm', "8 o'clock in the evening"]
    >>> [text for text, _ in forms(12, 0)]
    ['12 pm', '12pm', 'twelve pm', "12 o'clock noon", '12:00', '12:00 pm', 'noon', '12 noon']
    """
    half = "am" if hour < 12 else "pm"
    twelve = hour % 12 or 12
    words = cardinal(twelve)
    if minute == 0:
        yield f"{twelve} {half}", 5
        yield f"{twelve}{half}", 4
        yield f"{words} {half}", 2
        yield f"{twelve} o'clock {_part(hour)}", 0.7
        if hour % 12:
            yield f"{twelve} {_part(hour)}", 1
            yield f"{words} {_part(hour)}", 1
            yield f"{words} o'clock {_part(hour)}", 0.7
    else:
        yield f"{twelve}:{minute:02d} {half}", 5
        yield f"{twelve}:{minute:02d}{half}", 4
        yield f"{words} {_minute_words(minute)} {half}", 1.5
        if hour % 12 and minute % 5 == 0:
            yield from _past(hour, minute)
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


def _part(hour: int) -> str:
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


def _past(hour: int, minute: int) -> Iterator[tuple[str, float]]:
    """Yield "half past eight in the evening"; the hour that is named tells the part of the day."""
    this, following = hour % 12, (hour + 1) % 12
    if minute == 30:
        yield f"half past {cardinal(this)} {_part(hour)}", 1.5
    elif minute == 15:
        yield f"quarter past {cardinal(this)} {_part(hour)}", 1
        yield f"a quarter past {cardinal(this)} {_part(hour)}", 0.5
    elif minute == 45 and following:
        yield f"quarter to {cardinal(following)} {_part(hour + 1)}", 1
        yield f"a quarter to {cardinal(following)} {_part(hour + 1)}", 0.5
    elif minute < 30:
        yield f"{cardinal(minute)} past {cardinal(this)} {_part(hour)}", 0.7
    elif following:
        yield f"{cardinal(60 - minute)} to {cardinal(following)} {_part(hour + 1)}", 0.7


def _minute_words(minute: int) -> str:
    return f"oh {cardinal(minute)}" if minute < 10 else cardinal(minute)
