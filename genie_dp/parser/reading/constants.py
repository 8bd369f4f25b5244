"""The constants of a program in token form, and when two of them mean the same."""

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.ast import EntityValue, StringValue
from genie_dp.languages.thingtalk.fill import constant
from genie_dp.languages.thingtalk.operators import comparable

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# With six places behind the point it has 27 of the 28 digits of a context.
_MOST = Decimal(10) ** 21
_COMPACT = ("currency:", "date:", "time:", "location:")


class Literal(NamedTuple):
    """A constant of a program: the tokens from `start` to before `end`.

    `text` are these tokens, `key` is equal for constants of one meaning. `is_text` tells words
    between quotes, entities included.
    """

    start: int
    end: int
    key: object
    is_text: bool
    text: str


def literals(program: Sequence[str]) -> tuple[Literal, ...]:
    """Return the constants of a program, in its order.

    >>> program = '@c.f param:a:T > 5 unit:km and param:b:S == " x y "'
    >>> [one[:2] for one in literals(program.split(" "))]
    [(3, 5), (8, 12)]
    """
    found: list[Literal] = []
    at = 0
    while at < len(program):
        end, is_text = _end(program, at)
        if end > at:
            text = " ".join(program[at:end])
            found.append(Literal(at, end, key_of(text), is_text, text))
        at = max(end, at + 1)
    return tuple(found)


def _end(program: Sequence[str], at: int) -> tuple[int, bool]:
    """Return the place after the constant that begins at a token, and whether it is a text."""
    token = program[at]
    if token == '"':
        end = at + 1
        while end < len(program) and program[end] != '"':
            end += 1
        end += 1
        if end < len(program) and program[end].startswith(("^^", "at:")):
            is_place = program[end].startswith("at:")
            end += 1
            if end < len(program) and program[end].startswith("id:"):
                end += 1
            return end, not is_place
        return end, True
    if token.startswith(_COMPACT):
        return at + 1, False
    if not _NUMBER.fullmatch(token):
        return at, False
    end = at + 1
    while end < len(program) and program[end].startswith("unit:"):
        end += 1
        if end + 1 < len(program) and program[end + 1].startswith("unit:"):
            end += _NUMBER.fullmatch(program[end]) is not None
    return end, False


@lru_cache(maxsize=65536)
def key_of(text: str) -> object:
    """Return what is equal for constants of one meaning.

    >>> key_of("90 unit:min") == key_of("1.5 unit:h"), key_of("5") == key_of("5 unit:min")
    (True, False)
    """
    try:
        value = constant(text)
    except GenieError:
        return text
    match value:
        case StringValue(words):
            return "text", words.casefold()
        case EntityValue(words_, kind, _):
            return kind, (words_ or "").casefold().lstrip("@#")
        case _:
            pass
    try:
        kind, amount = comparable(value)
    except (GenieError, ValueError):
        return text
    return kind, _rounded(amount) if isinstance(amount, Decimal) else amount


def _rounded(amount: Decimal) -> Decimal:
    """Return an amount to six places; one of more digits than a context has is as it is."""
    return round(amount, 6) if abs(amount) < _MOST else amount
