"""Types of the placeholders that a template may speak of; an S-expression has no others."""

import re
from dataclasses import dataclass

from genie_dp.errors import GenieError, Problem, did_you_mean

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?L?")
_PLACE_NUMBER = re.compile(r"0|[1-9][0-9]*")  # NUMBER_01 is no placeholder: one has one spelling


@dataclass(frozen=True, slots=True)
class SlotType:
    """A type whose constants are said as placeholders: `stem` is NUMBER of NUMBER_0."""

    name: str
    stem: str

    def __str__(self) -> str:
        return self.name


TYPES = {
    name: SlotType(name, stem)
    for name, stem in {
        "String": "QUOTED_STRING",
        "Number": "NUMBER",
        "Date": "DATE",
        "Time": "TIME",
        "Duration": "DURATION",
        "Currency": "CURRENCY",
        "Location": "LOCATION",
        "PhoneNumber": "PHONE_NUMBER",
        "EmailAddress": "EMAIL_ADDRESS",
        "URL": "URL",
    }.items()
}
STEMS = {type_.stem: type_ for type_ in TYPES.values()}


def parse_type(text: str) -> SlotType:
    """Return the type of that name, or raise GenieError (X009).

    >>> parse_type("Number").stem
    'NUMBER'
    """
    if text not in TYPES:
        hint = did_you_mean(text, TYPES) or f"known types: {', '.join(TYPES)}"
        raise GenieError(Problem("X009", f"unknown type {text!r}", hint=hint))
    return TYPES[text]


def placeholder_type(token: str) -> SlotType | None:
    """Return the type of a placeholder such as NUMBER_0, or None for any other token."""
    stem, _, number = token.rpartition("_")
    return STEMS.get(stem) if _PLACE_NUMBER.fullmatch(number) else None


def is_number(token: str) -> bool:
    """Tell whether a symbol is a number: 3, -1, 2.5, or 4L as Lispress writes whole numbers."""
    return _NUMBER.fullmatch(token) is not None
