"""Placeholders: which token stands for a constant of which type (NUMBER_0, DURATION_1, ...)."""

from genie_dp.languages.thingtalk.types import (
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    STRING,
    TIME,
    UNITS,
    Basic,
    Entity,
    Measure,
    Type,
)

_BASIC_STEMS: dict[Type, str] = {
    STRING: "QUOTED_STRING",
    NUMBER: "NUMBER",
    CURRENCY: "CURRENCY",
    DATE: "DATE",
    TIME: "TIME",
    LOCATION: "LOCATION",
}
_ENTITY_STEMS = {
    "tt:username": "USERNAME",
    "tt:hashtag": "HASHTAG",
    "tt:url": "URL",
    "tt:phone_number": "PHONE_NUMBER",
    "tt:email_address": "EMAIL_ADDRESS",
    "tt:path_name": "PATH_NAME",
}
_TYPES_BY_STEM: dict[str, Type] = {stem: t for t, stem in _BASIC_STEMS.items()} | {
    stem: Entity(kind) for kind, stem in _ENTITY_STEMS.items()
}


def slot_stem(type_: Type) -> str | None:
    """Return the stem of the placeholder for a type; None where people cannot say a constant.

    Durations are DURATION, other measures MEASURE with their base unit. Pictures cannot be said;
    enums and booleans are words; an array's constants are those of its element.

    >>> from genie_dp.languages.thingtalk.types import Measure
    >>> slot_stem(Measure("KB")), slot_stem(Measure("h")), slot_stem(Entity("com.x:song"))
    ('MEASURE_byte', 'DURATION', 'GENERIC_ENTITY_com.x:song')
    """
    match type_:
        case Basic():
            return _BASIC_STEMS.get(type_)
        case Measure(unit):
            base = UNITS.get(unit, unit)
            return "DURATION" if base == "ms" else f"MEASURE_{base}"
        case Entity("tt:picture"):
            return None
        case Entity(kind):
            return _ENTITY_STEMS.get(kind, f"GENERIC_ENTITY_{kind}")
        case _:
            return None


def is_place_number(text: str) -> bool:
    """Tell whether a text numbers a placeholder: each number has one spelling.

    >>> [text for text in ("0", "12", "01", "", "²") if is_place_number(text)]
    ['0', '12']
    """
    return text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0")


def is_slot(token: str) -> bool:
    """Tell whether a token is a placeholder."""
    return slot_type(token) is not None


def slot_type(token: str) -> Type | None:
    """Return the type that a placeholder stands for, or None if the token is none.

    >>> str(slot_type("MEASURE_byte_0")), str(slot_type("GENERIC_ENTITY_com.x:song_2"))
    ('Measure(byte)', 'Entity(com.x:song)')
    >>> slot_type("hello") is None
    True
    """
    stem, _, number = token.rpartition("_")
    if not stem or not is_place_number(number):
        return None
    if stem in _TYPES_BY_STEM:
        return _TYPES_BY_STEM[stem]
    if stem == "DURATION":
        return Measure("ms")
    if stem.startswith("MEASURE_"):
        return Measure(stem.removeprefix("MEASURE_"))
    if stem.startswith("GENERIC_ENTITY_") and ":" in stem:
        return Entity(stem.removeprefix("GENERIC_ENTITY_"))
    return None
