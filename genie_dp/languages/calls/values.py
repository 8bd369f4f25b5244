"""Dates, times, durations and names: from the notation of readers to that of tools.

A constant is in the notation that readers share: "25", "date:2027-03-14", "90 unit:min".
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal

from genie_dp.languages.calls import ast
from genie_dp.languages.terms.values import (
    PLAIN_NUMBER,
    is_iso,
    read_constant,
)
from genie_dp.languages.text import escape_word, unescape_word
from genie_dp.languages.units import SHIPPED

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+\-]?\d+)?", re.ASCII)
_ZONE = r"(?P<zone>Z|[+\-]\d\d:\d\d)?"
_CLOCK = rf"(?P<clock>\d\d:\d\d)(?P<second>:\d\d)?(?P<fraction>\.\d+)?{_ZONE}"
_DATE = re.compile(rf"(?P<day>\d{{4}}-\d\d-\d\d)(?:T{_CLOCK})?", re.ASCII)
_TIME = re.compile(_CLOCK, re.ASCII)
_AMOUNT = r"(\d+(?:\.\d+)?)"
_DURATION = re.compile(
    rf"P(?!$)(?:{_AMOUNT}Y)?(?:{_AMOUNT}M)?(?:{_AMOUNT}W)?(?:{_AMOUNT}D)?"
    rf"(?:T(?!$)(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?)?",
    re.ASCII,
)
_UNITS = ("year", "mon", "week", "day", "h", "min", "s")
_SIGNS = dict(zip(_UNITS, "YMWDHMS", strict=True))


def moment_of(kind: str, text: str) -> ast.Moment | None:
    """Return the date, time or duration of a text in ISO 8601, in its one spelling; else None.

    >>> moment_of("date", "2027-03-14T17:00"), moment_of("time", "25:00")
    (Moment(kind='date', text='2027-03-14T17:00:00'), None)
    """
    match kind:
        case "date":
            match_ = _DATE.fullmatch(text)
            if match_ is None:
                return None
            rest = f"T{_clock(match_)}" if match_["clock"] else ""
            iso = match_["day"] + rest
            return ast.Moment("date", iso) if is_iso(iso, datetime if rest else date) else None
        case "time":
            match_ = _TIME.fullmatch(text)
            if match_ is None or not is_iso(_clock(match_), time):
                return None
            return ast.Moment("time", _clock(match_))
        case "duration":
            return ast.Moment("duration", text) if _DURATION.fullmatch(text) else None
        case _:
            return None


def _clock(match: re.Match[str]) -> str:
    return "".join((match["clock"], match["second"] or ":00", match["fraction"] or "",
                    match["zone"] or ""))  # fmt: skip


# ------------------------------------------------------------------------ what readers find


def value_of(constant: str) -> ast.Value:
    """Return the value of a constant.

    >>> [value_of(c) for c in ("25", "1 unit:h 30 unit:min")]
    [Number(value=Decimal('25')), Moment(kind='duration', text='PT1H30M')]

    Raises:
        ValueError: it is no constant that a call can hold.
    """
    match read_constant(constant):
        case ("number", (number,)):
            return ast.Number(Decimal(number))
        case ("text", (words,)):
            return ast.Text(_unescape(words))
        case ("name", (words, kind)):
            return ast.Name(_unescape(words), kind)
        case ("enum", (name,)):
            return ast.Symbol(name)
        case ("measure", parts):
            value: ast.Value | None = _duration_of(parts)
        case (kind, (text, *_)):
            value = ast.flag_of(constant) or moment_of(kind, text)
    if value is None:
        raise ValueError(f"{constant!r} is no constant of calls")
    return value


def _unescape(words: str) -> str:
    return " ".join(map(unescape_word, words.split(" ")))


def _duration_of(parts: Sequence[str]) -> ast.Moment | None:
    if len(parts) % 2:
        return None
    amounts = dict.fromkeys(_UNITS, Decimal(0))
    for amount, unit in zip(parts[::2], parts[1::2], strict=True):
        if not PLAIN_NUMBER.fullmatch(amount) or SHIPPED.base(unit) != "ms":
            return None
        number, base_unit = Decimal(amount), unit
        if unit not in amounts:
            number, base_unit = SHIPPED.amount([(number, unit)]) / SHIPPED.factor("s"), "s"
        if number < 0:
            return None
        amounts[base_unit] += number
    amounts_of_units = {
        unit: f"{ast.number_text(n)}{_SIGNS[unit]}" for unit, n in amounts.items() if n
    }
    day = "".join(amounts_of_units.get(unit, "") for unit in _UNITS[:4])
    clock = "".join(amounts_of_units.get(unit, "") for unit in _UNITS[4:])
    return ast.Moment("duration", f"P{day}{f'T{clock}' if clock or not day else ''}"
                      + ("" if clock or day else "0S"))  # fmt: skip


def constant_of(value: ast.Value) -> str | None:
    """Return the constant of a value; None for those that no reader finds.

    >>> constant_of(ast.Moment("duration", "PT1H30M"))
    '1 unit:h 30 unit:min'
    """
    match value:
        case ast.Number(number):
            return ast.number_text(number)
        case ast.Text(text):
            return f'" {_words(text)} "'
        case ast.Name(words, kind):
            return f'" {_words(words)} " ^^{kind}'
        case ast.Moment("duration", text):
            match_ = _DURATION.fullmatch(text)
            amounts = match_.groups() if match_ else ()
            pairs = zip(amounts, _UNITS, strict=False)
            return " ".join(f"{amount} unit:{unit}" for amount, unit in pairs if amount)
        case ast.Moment(kind, text):
            return f"{kind}:{text}"
        case _:
            return None


def _words(text: str) -> str:
    return " ".join(map(escape_word, text.split(" ")))
