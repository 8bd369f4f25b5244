"""Which times of day go with the part of the day that a sentence names beside them."""

import re
from collections.abc import Mapping, Sequence

# The hours of which people say so; at the edges more than one does.
_HOURS: Mapping[str, frozenset[int]] = {
    "morning": frozenset(range(4, 12)),
    "afternoon": frozenset(range(12, 18)),
    "evening": frozenset(range(17, 23)),
    "night": frozenset((*range(19, 24), *range(4))),
    "tonight": frozenset(range(17, 24)),
}
_HALF_DAYS = re.compile(r"(\d{1,2})(?::\d\d)? ?(am|pm)")
_NEAR = 3  # words: "TIME_0 every single morning"


def part_of_day(tokens: Sequence[str], at: int) -> str:
    """Return the part of the day named before or behind a time, or "".

    >>> part_of_day("every morning at TIME_0 , show my night lights".split(), 3)
    'morning'
    >>> part_of_day("at TIME_0 every single night".split(), 1), part_of_day(["at", "TIME_0"], 1)
    ('night', '')
    """
    before = tokens[max(at - _NEAR, 0) : at][::-1]
    for side in (before, tokens[at + 1 : at + 1 + _NEAR]):
        for token in side:
            if token in _HOURS:
                return token
            if token == ",":
                break
    return ""


def is_then(part: str, hour: int) -> bool:
    """Tell whether an hour, of 24, belongs to a part of the day; every one belongs to "".

    >>> is_then("morning", 8), is_then("night", 14), is_then("", 14)
    (True, False, True)
    """
    return not part or hour in _HOURS[part]


def hour_of(text: str) -> int | None:
    """Return the hour, of 24, of a time that says its half of the day; None for other texts.

    >>> hour_of("2:30 pm"), hour_of("12 am"), hour_of("8:30")
    (14, 0, None)
    """
    found = _HALF_DAYS.fullmatch(text.strip().lower())
    return int(found[1]) % 12 + 12 * (found[2] == "pm") if found else None
