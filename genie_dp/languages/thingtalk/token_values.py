"""Values and words in the token form; `tokens` describes it."""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import assert_never

from genie_dp.languages.thingtalk.ast import (
    ArrayValue,
    BooleanValue,
    ContextValue,
    CurrencyValue,
    DateEdge,
    DateNow,
    DateOffset,
    DateValue,
    EntityValue,
    EnumValue,
    EventValue,
    LocationValue,
    MeasureValue,
    NumberValue,
    SlotValue,
    StringValue,
    TimeValue,
    Undefined,
    Value,
    VarRef,
)

MOST_DIGITS = 100  # of a number: more take a page to write
EARTH = "latitudes are from -90 to 90, longitudes from -180 to 180"
PLACES = frozenset({"home", "work", "current_location"})

_WORDS: dict[type, str] = {DateNow: "now", Undefined: "undefined", EventValue: "event"}
_ESCAPES = {"\\": "\\\\", " ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_UNESCAPES = {"\\": "\\", "s": " ", "t": "\t", "n": "\n", "r": "\r", '"': '"', "e": ""}
# Half of a character (\ud83d) is no escape: no text holds one.
_ESCAPED = re.compile(r'\\(u(?!d[89a-f])[0-9a-f]{4}|[\\strne"])')
_TO_ESCAPE = re.compile(r"[\\\s\x1c-\x1f\x85]")


def escape_word(word: str) -> str:
    r"""Return a word as one token: no white space in it, never empty, never a quote.

    >>> escape_word('"'), escape_word(""), escape_word("a b"), escape_word("C:\\x")
    ('\\"', '\\e', 'a\\sb', 'C:\\\\x')
    """
    if word == '"':
        return '\\"'
    if not word:
        return "\\e"
    return _TO_ESCAPE.sub(_escape, word)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def unescape_word(token: str) -> str:
    r"""Return the word of a token.

    >>> unescape_word("a\\sb"), unescape_word("\\e"), unescape_word("plain")
    ('a b', '', 'plain')
    """
    return _ESCAPED.sub(_unescape, token) if "\\" in token else token


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) == 5 else _UNESCAPES[code]


def quoted(text: str) -> str:
    r"""Return free text as tokens: words between quote tokens.

    >>> quoted("two words"), quoted(""), quoted('say " hi')
    ('" two words "', '""', '" say \\" hi "')
    """
    if not text:
        return '""'
    if text.isalnum():
        return f'" {text} "'
    return f'" {" ".join(map(escape_word, text.split(" ")))} "'


def unquoted(words: list[str]) -> str:
    """Return the text of the words between two quote tokens."""
    return " ".join(map(unescape_word, words))


@lru_cache(maxsize=4096)
def number_token(value: Decimal) -> str:
    """Return a number as one token; equal numbers are equal tokens.

    >>> number_token(Decimal("5.0")), number_token(Decimal("1E+3")), number_token(Decimal("-0"))
    ('5', '1000', '0')
    """
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def is_on_earth(latitude: Decimal, longitude: Decimal) -> bool:
    """Tell whether there is a place of that latitude and longitude.

    >>> is_on_earth(Decimal("37.4"), Decimal("-122.1")), is_on_earth(Decimal(91), Decimal(0))
    (True, False)
    """
    return abs(latitude) <= 90 and abs(longitude) <= 180


def value_tokens(value: Value, variable: Callable[[str], str], *, glue: str = " ") -> str:
    """Return a value in token form.

    Args:
        value: the value.
        variable: gives the token of a name in scope.
        glue: what stands between the parts of a measure.
    """
    match value:
        case VarRef(name):
            return variable(name)
        case ArrayValue(items):
            inner = " , ".join(value_tokens(item, variable) for item in items)
            return f"[ {inner} ]" if items else "[ ]"
        case DateOffset(base, sign, duration):
            start = value_tokens(base, variable)
            return f"{start} {sign} {value_tokens(duration, variable, glue=glue)}"
        case MeasureValue(parts):
            return glue.join(f"{number_token(number)} unit:{unit}" for number, unit in parts)
        case _:
            return literal_tokens(value)


Literal = (
    StringValue
    | NumberValue
    | BooleanValue
    | EnumValue
    | CurrencyValue
    | DateValue
    | DateNow
    | DateEdge
    | TimeValue
    | LocationValue
    | ContextValue
    | EntityValue
    | Undefined
    | EventValue
    | SlotValue
)


def literal_tokens(value: Literal) -> str:
    """Return a value that has no value inside it in token form.

    >>> literal_tokens(EntityValue("alice", "tt:contact", "alice smith"))
    '" alice smith " ^^tt:contact id:alice'
    """
    match value:
        case StringValue(text):
            return quoted(text)
        case SlotValue(token, unit):
            return f"{token} unit:{unit}" if unit else token
        case NumberValue(number):
            return number_token(number)
        case EnumValue(name):
            return f"enum:{name}"
        case EntityValue():
            return _entity(value)
        case DateEdge(edge, unit):
            return f"{edge} unit:{unit}"
        case BooleanValue(truth):
            return "true" if truth else "false"
        case DateNow() | Undefined() | EventValue():
            return _WORDS[type(value)]
        case ContextValue():
            return _context(value)
        case CurrencyValue() | DateValue() | TimeValue() | LocationValue():
            return _compact(value)
        case _:
            assert_never(value)


def _compact(value: CurrencyValue | DateValue | TimeValue | LocationValue) -> str:
    match value:
        case CurrencyValue(amount, code):
            return f"currency:{number_token(amount)}:{code}"
        case DateValue(iso):
            return f"date:{escape_word(iso)}"
        case TimeValue(hour, minute, second):
            return f"time:{hour}:{minute:02d}:{second:02d}"
        case LocationValue():
            return _place(value)
        case _:
            assert_never(value)


def _place(value: LocationValue) -> str:
    if value.latitude is None or value.longitude is None:
        return f"location: {quoted(value.display or '')}"
    place = f"{number_token(value.latitude)}:{number_token(value.longitude)}"
    return f"location:{place}" if value.display is None else f"{quoted(value.display)} at:{place}"


def _entity(value: EntityValue) -> str:
    if value.display is None:
        words = "null" if value.value is None else quoted(value.value)
        return f"{words} ^^{value.kind}"
    if value.value is None:
        return f"null {quoted(value.display)} ^^{value.kind}"
    return f"{quoted(value.display)} ^^{value.kind} id:{escape_word(value.value)}"


def _context(value: ContextValue) -> str:
    match value.path:
        case ("location", place) if place in PLACES:
            return f"location:{place}"
        case path:
            return f"context:{'.'.join(path)}"
