"""Constants of terms, in the notation that readers share: "25", "date:2027-03-14", "1 unit:h"."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_QUOTED = re.compile(r'" (?P<words>.*) "(?: \^\^(?P<kind>\S+)| at:(?P<at>\S+))?', re.DOTALL)


def read_constant(constant: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a constant, and its parts.

    >>> [read_constant(text) for text in ("time:8:05:00", "1 unit:h 30 unit:min")]
    [('time', ('08:05:00',)), ('measure', ('1', 'h', '30', 'min'))]
    >>> [read_constant(text) for text in ('" a@b " ^^tt:email_address', '" oslo " at:59.9:10.7')]
    [('name', ('a@b', 'tt:email_address')), ('place', ('oslo', '59.9', '10.7'))]
    """
    if PLAIN_NUMBER.fullmatch(constant):
        return "number", (constant,)
    if match := _QUOTED.fullmatch(constant):
        if match["at"]:
            return "place", (match["words"], *match["at"].split(":"))
        return (
            ("name", match.group("words", "kind")) if match["kind"] else ("text", (match["words"],))
        )
    if " unit:" in constant:
        return "measure", tuple(constant.replace(" unit:", " ").split(" "))
    kind, _, rest = constant.partition(":")
    if kind == "time":
        rest = ":".join(f"{int(part):02}" for part in rest.split(":"))
    return kind, (rest,)


def is_iso(text: str, kind: type[date] | type[datetime] | type[time]) -> bool:
    """Return whether a text is a date or a time in ISO 8601."""
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True


def said(text: str, values: Mapping[str, tuple[str, str]]) -> str:
    """Return a text with its placeholders replaced by the words that expressed their values.

    Args:
        text: the words, with one space between two.
        values: placeholder -> (constant, words), as `Language.fill` takes them.
    """
    return " ".join(values[word][1] if word in values else word for word in text.split(" "))


def closing_quote(program: Sequence[str], start: int) -> int:
    """Return the place of the quote that closes the text which begins at a token."""
    rest = (i for i in range(start + 1, len(program)) if program[i] == '"')
    return next(rest, len(program) - 1)
