"""Which values fit where: assignability between types, and the overloads of the operators.

The rules are those of ThingTalk 1.x: measures agree by their base unit, an entity is text, text
may stand for an entity where a person writes it (call arguments and filters: `lenient`), people
known by name may stand for their addresses, and a number for an amount of money.
"""

from collections.abc import Mapping
from typing import assert_never

from genie_dp.languages.thingtalk.ast import OPERATORS
from genie_dp.languages.thingtalk.signatures import Signatures
from genie_dp.languages.thingtalk.types import (
    ANY,
    BOOLEAN,
    CURRENCY,
    DATE,
    NUMBER,
    STRING,
    TIME,
    UNITS,
    Array,
    Basic,
    Entity,
    Enum,
    Measure,
    Type,
)

CONTACT = Entity("tt:contact")

# No library declares attributes of devices: these are those of ThingTalk 1.x.
ATTRIBUTES: Mapping[str, Type] = {"all": BOOLEAN, "id": STRING, "name": STRING}

_NAMES = frozenset({"tt:username", "tt:contact_name"})
_CONVERSIONS: dict[str, frozenset[str]] = {
    # target kind -> kinds that the run time converts to it
    "tt:phone_number": _NAMES,
    "tt:email_address": _NAMES,
    "tt:contact": _NAMES,
    "tt:url": frozenset({"tt:picture"}),
}
_BASIC_CONVERSIONS = frozenset({(DATE, TIME), (NUMBER, CURRENCY)})
# What is compared with a date: a time with its time of day.
_BASIC_COMPARISONS = frozenset({(TIME, DATE)})
_ORDERED = frozenset({STRING, NUMBER, DATE, TIME, CURRENCY})
_TEXT_OPERATORS = frozenset({"=~", "~=", "starts_with", "ends_with", "prefix_of", "suffix_of"})


def is_assignable(
    source: Type,
    target: Type,
    signatures: Signatures,
    *,
    lenient: bool = False,
    is_compared: bool = False,
) -> bool:
    """Tell whether a value of type `source` may stand where `target` is wanted.

    `lenient` lets text stand for an entity, as in call arguments and filters; `is_compared` lets a
    time stand for a date, as on the right side of a comparison.
    """
    if source == target or ANY in (source, target):
        return True
    match target:
        case Basic():
            if isinstance(source, Entity):
                return target == STRING
            pair = (source, target)
            return pair in _BASIC_CONVERSIONS or (is_compared and pair in _BASIC_COMPARISONS)
        case Measure(unit):
            return isinstance(source, Measure) and same_base(source.unit, unit)
        case Enum():
            return isinstance(source, Enum) and not enum_extras(source, target)
        case Entity(kind):
            if isinstance(source, Entity):
                return is_entity_assignable(source.kind, kind, signatures)
            return lenient and source == STRING
        case Array(element):
            return isinstance(source, Array) and is_assignable(
                source.element, element, signatures, lenient=lenient, is_compared=is_compared
            )
        case _:
            assert_never(target)


def is_entity_assignable(kind: str, other: str, signatures: Signatures) -> bool:
    """Tell whether an entity of `kind` may stand for one of `other`: a subtype, or converted."""
    return signatures.is_entity_subtype(kind, other) or kind in _CONVERSIONS.get(other, ())


def enum_extras(source: Enum, target: Enum) -> tuple[str, ...]:
    """Return the names that `target` does not list; an empty list, or `*` in it, takes any.

    >>> enum_extras(Enum(("on", "dim")), Enum(("on", "off")))
    ('dim',)
    """
    if not target.values or "*" in target.values:
        return ()
    return tuple(name for name in source.values if name not in target.values)


def same_base(unit: str, other: str) -> bool:
    """Tell whether two units measure the same thing.

    >>> same_base("ft", "km"), same_base("ft", "kg")
    (True, False)
    """
    return UNITS.get(unit, unit) == UNITS.get(other, other)


def is_numeric(type_: Type) -> bool:
    """Tell whether values of the type can be summed.

    >>> is_numeric(Measure("byte")), is_numeric(STRING)
    (True, False)
    """
    return type_ in (NUMBER, CURRENCY, ANY) or isinstance(type_, Measure)


def is_ordered(type_: Type) -> bool:
    """Tell whether values of the type can be compared with < and >.

    >>> is_ordered(DATE), is_ordered(Entity("tt:url"))
    (True, False)
    """
    return type_ in _ORDERED or isinstance(type_, Measure)


def operand_type(operator: str, left: Type) -> Type | None:
    """Return the type wanted on the right of an operator, or None where it has no overload.

    >>> str(operand_type("contains", Array(STRING)))
    'String'
    >>> operand_type("=~", TIME) is None
    True
    """
    if operator not in OPERATORS:
        return None
    if left == ANY:
        return ANY
    match operator:
        case "==":
            return left
        case "contains":
            return left.element if isinstance(left, Array) else None
        case "in_array":
            return Array(left)
        case _ if operator in _TEXT_OPERATORS:
            return STRING if left == STRING or isinstance(left, Entity) else None
        case _:
            return left if is_ordered(left) else None


def is_identifier(name: str, left: Type, operator: str) -> bool:
    """Tell whether a comparison is with what identifies a result, which no text is.

    Elsewhere text may stand for an entity: people know it by its name.

    >>> is_identifier("id", CONTACT, "=="), is_identifier("id", CONTACT, "=~")
    (True, False)
    """
    return name == "id" and isinstance(left, Entity) and operator in ("==", "in_array")


def operators_of(left: Type) -> tuple[str, ...]:
    """Return the operators that take a value of the type on their left.

    >>> operators_of(Basic("Location"))
    ('==', 'in_array')
    """
    return tuple(o for o in OPERATORS if operand_type(o, left) is not None)
