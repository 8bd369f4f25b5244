"""Ranges: the first number of "between 2 and 4 pm" is a time, that of "5 to 10 dollars" money."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date, timedelta

from genie_dp.parser.reading import dates
from genie_dp.parser.reading.measures import BEGINS_MONEY, amount_at, cents_at, money_at, stem_of
from genie_dp.parser.reading.numbers import SCALES, Numbers, ordinal_at
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.values.calendar import MONTH_NUMBERS
from genie_dp.values.spelling import Number, plain_digits

_LINKS = {"between": ("and",), "from": ("to", "until", "till", "through", "-", "–")}
_BARE_LINKS = ("to", "through", "-", "–")
_ANY = frozenset(("and", "or", "until", "till", *_BARE_LINKS))
_OF_TIMES = (*_BARE_LINKS, "until", "till")


def with_scales(s: TextTokens, numbers: Numbers) -> Numbers:
    """Return the numbers; the 1 of "1 to 2 million" is a million."""
    if SCALES.keys().isdisjoint(s.words):
        return numbers
    scaled = list(numbers)
    for place, number in enumerate(numbers):
        if number is None or s.word(number.end - 1) in SCALES:
            continue
        links = (*_LINKS.get(s.word(place - 1), _BARE_LINKS), "or")
        last = numbers[number.end + 1] if number.end + 1 < len(numbers) else None
        if last is not None and s.word(number.end) in links:
            value = number.value * SCALES.get(s.word(last.end - 1), 1)
            scaled[place] = number._replace(value=value) if value < last.value else number
    return tuple(scaled)


_BEGINS = dates.BEGINS | BEGINS_MONEY


def ranges(s: TextTokens, numbers: Numbers, today: date) -> Iterator[ValueCandidate]:
    """Yield candidates for the end of a range that borrows its unit from the other end."""
    if _ANY.isdisjoint(s.words):
        return
    for i in s.beginnings(numbers, _BEGINS):
        links = _LINKS.get(s.word(i - 1), _BARE_LINKS)
        number = numbers[i]
        if number is not None:
            link = number.end
            if s.word(link) in links and link + 1 < len(s.words):
                yield from _first(s, i, number, link + 1, numbers)
            if s.word(i - 1) == "at" and s.word(link) in ("and", "or"):
                yield from _also(s, i, number, link + 1, numbers)
        else:
            yield from _second_day(s, i, links, numbers, today)
        yield from _first_day(s, i, links, numbers, today)
        yield from _last(s, i, links, numbers)


def _first(
    s: TextTokens, at: int, number: Number, other: int, numbers: Numbers
) -> Iterator[ValueCandidate]:
    """Yield the candidates of a bare number, by the words behind the link."""
    is_hour = number.value % 1 == 0 and 1 <= number.value <= 12
    time = dates.time_at(s, other, numbers)
    if time is not None and is_hour and not time.is_part:
        yield from _hour(s, at, number, time.hour * 60 + time.minute)
        return
    second = numbers[other]
    is_range = is_hour and s.word(at - 1) in _LINKS
    if second is not None and is_range and second.value % 1 == 0 and 1 <= second.value <= 12:
        # "from 9 to 5": for callers who ask for other readings.
        for place, hour in ((at, number), (other, second)):
            guess = dates.guess_time(int(hour.value), 0, hour.end)
            if guess is not None:
                yield s.candidate(place, hour.end, "TIME", guess.value, weak=True)
    amount = amount_at(s, other, numbers)
    if amount is not None:
        value = f"{plain_digits(number.value)} unit:{amount.unit}"
        yield s.candidate(at, number.end, stem_of(amount.unit, s.units), value)
    money = money_at(s, other, numbers)
    if money is not None:
        is_cents = second is not None and cents_at(s, second.end) is not None
        share = number.value / 100 if is_cents else number.value
        code = money.value.rpartition(":")[2]
        yield s.candidate(at, number.end, "CURRENCY", f"currency:{plain_digits(share)}:{code}")


def _also(
    s: TextTokens, at: int, number: Number, other: int, numbers: Numbers
) -> Iterator[ValueCandidate]:
    """Yield the 8 of "at 8 and 9 pm"."""
    time = dates.time_at(s, other, numbers) if other < len(s.words) else None
    is_hour = number.value % 1 == 0 and 1 <= number.value <= 12
    if time is not None and is_hour and not time.is_part and time.half_is_known:
        yield from _hour(s, at, number, time.hour * 60 + time.minute)


def _last(
    s: TextTokens, at: int, links: tuple[str, ...], numbers: Numbers
) -> Iterator[ValueCandidate]:
    """Yield the bare end of "from 11 am to 1", "between $5 and 10", "5 km - 10"."""
    time = dates.time_at(s, at, numbers)
    if time is not None and not time.is_part:
        if s.word(time.end) in (*links, *_OF_TIMES) and time.end + 1 < len(s.words):
            last = dates.bare_end(s, time.end + 1, numbers, time)
            yield from () if last is None else (last,)
        return
    amount, money = amount_at(s, at, numbers), money_at(s, at, numbers)
    end = amount.end if amount is not None else 0
    if money is not None and not money.is_soft:
        end = bisect_left(s.ends, money.end) + 1
    is_range = s.word(at - 1) in _LINKS or s.word(end) in ("-", "–")
    number = numbers[end + 1] if 0 < end < len(numbers) - 1 else None
    if number is None or not is_range or s.word(end) not in links:
        return
    if not dates.is_after_bare(s, number.end):
        return
    if money is not None and cents_at(s, end - 1) is None:
        value = f"currency:{plain_digits(number.value)}:{money.value.rpartition(':')[2]}"
        yield s.candidate(end + 1, number.end, "CURRENCY", value)
    elif amount is not None:
        value = f"{plain_digits(number.value)} unit:{amount.unit}"
        yield s.candidate(end + 1, number.end, stem_of(amount.unit, s.units), value)


def _hour(s: TextTokens, at: int, number: Number, other: int) -> Iterator[ValueCandidate]:
    """Yield the hour that is next before the other time: 11 of "11 to 1 pm" is before noon."""
    hours = (int(number.value) % 12, int(number.value) % 12 + 12)
    hour = min(hours, key=lambda h: (other - h * 60) % (24 * 60) or 24 * 60)
    yield s.candidate(at, number.end, "TIME", f"time:{hour}:00:00")


def _second_day(
    s: TextTokens, at: int, links: tuple[str, ...], numbers: Numbers, today: date
) -> Iterator[ValueCandidate]:
    """Yield the 5 of "from march 3 to 5"."""
    try:
        day = dates.day_at(s, at, numbers, today)
    except (ValueError, OverflowError):
        return
    if day is None or s.word(day.end) not in links or day.end + 1 >= len(s.words):
        return
    is_range = s.word(at - 1) in _LINKS or s.word(day.end) in ("-", "–")
    number = numbers[day.end + 1] if is_range else None
    place = day.end + 1 + (s.word(day.end + 1) == "the")
    named = ordinal_at(s, place) if s.word(place)[:1].isdigit() else None
    last, end = (int(number.value), number.end) if number is not None else named or (0, 0)
    if (number is not None and number.value % 1) or not day.day.day < last <= 31:
        return
    later = day.day + timedelta(days=last - day.day.day)
    if later.month == day.day.month:
        yield s.candidate(day.end + 1, end, "DATE", f"date:{later.isoformat()}")


def _first_day(
    s: TextTokens, at: int, links: tuple[str, ...], numbers: Numbers, today: date
) -> Iterator[ValueCandidate]:
    """Yield the 3rd of "from the 3rd to the 5th of may", the 3 of "3-5 may"."""
    the = s.word(at) == "the"
    number = dates.day_number(s, at + the)
    if number is None or s.word(number[1]) not in links or number[1] + 1 >= len(s.words):
        return
    second = number[1] + 1
    try:
        last = dates.day_at(s, second, numbers, today)
        if last is None:
            return
        # "from the 30th to the 2nd of january" begins in december.
        is_same_month = number[0] <= last.day.day
        month = last.day if is_same_month else last.day.replace(day=1) - timedelta(days=1)
        first = month.replace(day=number[0])
    except (ValueError, OverflowError):
        return
    is_month = not MONTH_NUMBERS.keys().isdisjoint(s.words[second + 1 : last.end])
    if is_month or (the and s.word(at - 1) in _LINKS):
        yield s.candidate(at, number[1], "DATE", f"date:{first.isoformat()}")
