"""How much a shown value is, as far as two values need to be compared."""

import re

from genie_dp.paraphrase.forms import MONTHS

_NUMBER = re.compile(r"([$€£¥]?)(-?\d+(?:\.\d+)?)(?: ?(.*))?")
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?: ?(am|pm))?")
_DATE = re.compile(rf"({'|'.join(MONTHS)}) (\d{{1,2}})(?:,? (\d{{4}}))?")
_SCALES = {
    "seconds": 1, "second": 1, "minutes": 60, "minute": 60, "hours": 3600, "hour": 3600,
    "days": 86400, "day": 86400, "weeks": 604800, "week": 604800,
    "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "km": 1e3, "kilometers": 1e3, "m": 1, "meters": 1,
    "miles": 1609.344, "feet": 0.3048,
}  # fmt: skip


def quantity(text: str) -> float | None:
    """Return a number by which values of one sort can be compared; None for other values.

    >>> quantity("2 hours") > quantity("90 minutes"), quantity("8:30 am") < quantity("1:00 pm")
    (True, True)
    >>> quantity("may 5") < quantity("november 1"), quantity("hello") is None
    (True, True)
    """
    plain = text.strip().lower().replace(",", "")
    if (match := _TIME.fullmatch(plain)) is not None:
        hour = int(match[1]) % 12 + 12 * (match[3] == "pm") if match[3] else int(match[1])
        return hour * 60.0 + int(match[2])
    if (match := _DATE.fullmatch(plain)) is not None:
        year = int(match[3]) if match[3] else 0
        return year * 372.0 + MONTHS.index(match[1]) * 31 + int(match[2])
    if (match := _NUMBER.fullmatch(plain)) is not None:
        return float(match[2]) * _SCALES.get(match[3] or "", 1)
    return None
