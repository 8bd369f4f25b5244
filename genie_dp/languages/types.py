"""The types of values (Genie, Fig. 3), and which placeholder stands for a constant of which."""

from dataclasses import dataclass

from genie_dp.languages.units import SHIPPED, Units

ALIASES: dict[str, str] = {
    # the paper's names for common entity types (Genie, Fig. 4)
    "PathName": "tt:path_name",
    "URL": "tt:url",
    "Picture": "tt:picture",
    "EmailAddress": "tt:email_address",
    "PhoneNumber": "tt:phone_number",
    "Hashtag": "tt:hashtag",
    "Username": "tt:username",
}


@dataclass(frozen=True, slots=True)
class Basic:
    """String, Number, Boolean, Currency, Date, Time, Location; Any where nothing is known."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Enum:
    """One of the listed names."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"Enum({','.join(self.values)})"


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with a unit; `unit` is as declared, Units.base gives its base."""

    unit: str

    def __str__(self) -> str:
        return f"Measure({self.unit})"


@dataclass(frozen=True, slots=True)
class Entity:
    """An opaque identifier that people recall by name, such as tt:username."""

    kind: str

    def __str__(self) -> str:
        return f"Entity({self.kind})"


@dataclass(frozen=True, slots=True)
class Array:
    """Several values of one type."""

    element: "Type"

    def __str__(self) -> str:
        return f"Array({self.element})"


Type = Basic | Enum | Measure | Entity | Array

STRING, NUMBER, BOOLEAN = Basic("String"), Basic("Number"), Basic("Boolean")
CURRENCY, DATE, TIME, LOCATION = Basic("Currency"), Basic("Date"), Basic("Time"), Basic("Location")
ANY = Basic("Any")
BASICS: dict[str, Basic] = {
    t.name: t for t in (STRING, NUMBER, BOOLEAN, CURRENCY, DATE, TIME, LOCATION, ANY)
}


def is_number(type_: Type) -> bool:
    """Return whether values of a type are ordered: numbers, measures, money.

    >>> is_number(Measure("C")), is_number(STRING)
    (True, False)
    """
    return type_ in (NUMBER, CURRENCY) or isinstance(type_, Measure)


def unit_of(type_: Type) -> str | None:
    """Return the unit in which values, or those of a list, are measured; None for others.

    >>> unit_of(Array(Measure("KB"))), unit_of(STRING)
    ('KB', None)
    """
    while isinstance(type_, Array):
        type_ = type_.element
    return type_.unit if isinstance(type_, Measure) else None


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


def slot_stem(type_: Type, units: Units = SHIPPED) -> str | None:
    """Return the stem of the placeholder for a type; None where a constant has no words.

    Durations are DURATION, other measures MEASURE with their base unit. Pictures have no words;
    enums and booleans are words; an array's constants are those of its element.

    Args:
        type_: the type.
        units: those of the library.

    >>> from genie_dp.languages.types import Measure
    >>> slot_stem(Measure("KB")), slot_stem(Measure("h")), slot_stem(Entity("com.x:song"))
    ('MEASURE_byte', 'DURATION', 'GENERIC_ENTITY_com.x:song')
    """
    match type_:
        case Basic():
            return _BASIC_STEMS.get(type_)
        case Measure(unit):
            base = units.base(unit)
            return "DURATION" if base == "ms" else f"MEASURE_{base}"
        case Entity("tt:picture"):
            return None
        case Entity(kind):
            return _ENTITY_STEMS.get(kind, f"GENERIC_ENTITY_{kind}")
        case _:
            return None


def is_place_number(text: str) -> bool:
    """Return whether a text numbers a placeholder: each number has one spelling.

    >>> [text for text in ("0", "12", "01", "", "²") if is_place_number(text)]
    ['0', '12']
    """
    return text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0")


def is_slot(token: str) -> bool:
    """Return whether a token is a placeholder."""
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
    kind = stem.removeprefix("GENERIC_ENTITY_")
    return Entity(kind) if kind and kind != stem else None


def slots_in(tokens: str) -> tuple[str, ...]:
    """Return the placeholders of a token form, each once, in its order.

    >>> slots_in("f( a= NUMBER_1 b= NUMBER_0 c= NUMBER_1 )")
    ('NUMBER_1', 'NUMBER_0')
    """
    return tuple(dict.fromkeys(filter(is_slot, tokens.split(" "))))
