"""The types of ThingTalk (Genie, Fig. 3) and which values fit where."""

from dataclasses import dataclass

UNITS: dict[str, str] = {
    # unit -> base unit; the units of ThingTalk 1.x
    **dict.fromkeys(("ms", "s", "min", "h", "day", "week", "mon", "year"), "ms"),
    **dict.fromkeys(("m", "km", "mm", "cm", "mi", "in", "ft"), "m"),
    **dict.fromkeys(("mps", "kmph", "mph"), "mps"),
    **dict.fromkeys(("kg", "g", "lb", "oz"), "kg"),
    **dict.fromkeys(("Pa", "bar", "psi", "mmHg", "inHg", "atm"), "Pa"),
    **dict.fromkeys(("C", "F", "K"), "C"),
    **dict.fromkeys(("kcal", "kJ"), "kcal"),
    **dict.fromkeys(("byte", "bytes", "KB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB"), "byte"),
    "bpm": "bpm",
    "dB": "dB",
    "lx": "lx",
    "m2": "m2",
}
# unit -> the other name of the same unit that canonical form writes.
UNIT_SYNONYMS = {"bytes": "byte"}

# How units are written, too.
UNIT_ALIASES: dict[str, str] = {"month": "mon", "hour": "h", "minute": "min", "second": "s"}

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
    """A number with a unit; `unit` is as declared, UNITS gives its base."""

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
    """Tell whether values of a type are more or less: numbers, measures, money.

    >>> is_number(Measure("C")), is_number(STRING)
    (True, False)
    """
    return type_ in (NUMBER, CURRENCY) or isinstance(type_, Measure)
