"""Points of time, to the second: "in 5 minutes", "2 hours ago", "an hour and a half from now"."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from genie_dp.parser.reading.measures import amount_at
from genie_dp.parser.reading.numbers import Number
from genie_dp.parser.reading.reading import Candidate
from genie_dp.parser.reading.sentence import Sentence

_SECONDS = {"s": 1, "min": 60, "h": 3600}


def moments(s: Sentence, found: tuple[Number | None, ...], now: datetime) -> Iterator[Candidate]:
    """Yield the candidates that are points of time."""
    for at in range(len(s.words)):
        if s.word(at - 1) in ("every", "each"):
            continue
        counted = _counted(s, at, found)
        if counted is None:
            continue
        try:
            then = _later(now, counted[0])
        except OverflowError:
            continue  # no year that a calendar has
        yield s.candidate(at, counted[1], "DATE", f"date:{then.isoformat()}")


def _later(now: datetime, seconds: float) -> datetime:
    """Return what a clock on the wall shows so many seconds later.

    If `now` has a time zone, a change to summer time between the two counts.
    """
    now = now.replace(microsecond=0)
    if now.tzinfo is None:
        return now + timedelta(seconds=seconds)
    then = now.astimezone(UTC) + timedelta(seconds=seconds)
    return then.astimezone(now.tzinfo).replace(tzinfo=None)


def _counted(s: Sentence, at: int, found: tuple[Number | None, ...]) -> tuple[float, int] | None:
    """Return (seconds from now, next place) of "in 5 minutes", "2 hours ago", or None."""
    start = at + (s.word(at) == "in")
    seconds, end = _seconds(s, start, found)
    if seconds is None:
        return None
    if s.word(at) == "in":
        is_rate = s.word(at - 1) in ("than", "per") or s.word(end) in ("or", "a", "one", "each")
        return None if is_rate else (seconds, end)
    if s.has(end, "ago"):
        return -seconds, end + 1
    return (seconds, end + 2) if s.has(end, "from", "now") else None


def _seconds(s: Sentence, at: int, found: tuple[Number | None, ...]) -> tuple[float | None, int]:
    """Return (seconds, next place) of "2 hours and 15 minutes", "an hour and a half"."""
    if s.has(at, "half", "an", "hour"):
        return 1800, at + 3
    total, end, last = 0.0, at, 0.0
    if s.word(at) in ("an", "a") and s.word(at + 1) in ("hour", "minute"):
        total, end = (3600 if s.word(at + 1) == "hour" else 60), at + 2
        last = total
    for _ in range(3):
        place = end + (end > at and s.word(end) == "and")
        amount = amount_at(s, place, found) if place < len(s.words) else None
        if amount is None or amount.unit not in _SECONDS or s.word(place).endswith("c"):
            break
        last = _SECONDS[amount.unit]
        total, end = total + float(amount.value) * last, amount.end
    if end > at and s.has(end, "and", "a", "half"):
        return total + last / 2, end + 3
    return (total, end) if end > at else (None, at)
