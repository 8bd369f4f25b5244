"""Ways to say constants, and placeholders left open."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from genie_dp.languages import types as ty
from genie_dp.languages.base import Constant
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.bodies import Body
from genie_dp.languages.thingtalk.lift import Lifter, passing_key
from genie_dp.languages.thingtalk.traverse import qualify, walk
from genie_dp.languages.thingtalk.values import (
    ConstantState,
    ConstantValue,
    GapValue,
    ParameterState,
    ParameterValue,
)
from genie_dp.languages.units import SHIPPED, Units


class SpokenEnums(Protocol):
    """A library that knows how people say the values of enums; skills.Library does."""

    def functions(self) -> Iterable[Signature]:
        """Return all callable functions."""

    def enum_phrases(self, qualified: str, parameter: str, value: str) -> tuple[str, ...]:
        """Return the ways to say a value of a parameter's enum, the usual one first."""


def constants(
    type_: ty.Type, library: SpokenEnums | None = None, units: Units = SHIPPED
) -> Iterator[Constant]:
    """Yield the ways to say a constant of a type: a placeholder, or the words of an enum.

    >>> [c.words for c in constants(ty.Enum(("on", "turned_off")))]
    ['on', 'turned off']
    >>> from genie_dp.languages.types import NUMBER
    >>> [c.words for c in constants(NUMBER)]
    ['NUMBER_0']
    """
    state = ConstantState(str(type_), passing_key(Parameter("", "out", type_), units))
    if isinstance(type_, ty.Enum):
        places = _places(type_, library)
        for name in type_.values:
            value = ConstantValue(f"enum:{name}", state, ast.EnumValue(name))
            for words in _speak_enum(name, places, library):
                yield Constant(words, value, "")
        return
    stem = ty.slot_stem(type_, units)
    if stem is not None:
        token = f"{stem}_0"
        yield Constant(token, ConstantValue(token, state, ast.SlotValue(token)), stem)


def _places(type_: ty.Enum, library: SpokenEnums | None) -> list[tuple[str, str]]:
    """Return every parameter that has the type, as (function, name)."""
    if library is None:
        return []
    return [
        (signature.qualified, parameter.name)
        for signature in library.functions()
        for parameter in signature.parameters
        if parameter.type == type_
    ]


def _speak_enum(
    name: str, places: Sequence[tuple[str, str]], library: SpokenEnums | None
) -> tuple[str, ...]:
    """Return the ways to say an enum value: those of every parameter that has the type."""
    if library is None:
        return (name.replace("_", " "),)
    phrases = {
        words: None
        for function, parameter in places
        for words in library.enum_phrases(function, parameter, name)
    }
    return tuple(phrases) or (name.replace("_", " "),)


def gaps(body: Body, name: str, lifter: Lifter) -> Iterator[GapValue]:
    """Yield what may be left open for a placeholder: one for each key of the input it fills.

    Only an input of the body's own call can be passed; a value inside of a filter cannot.
    """
    places = [
        (call, arg) for call in _calls(body.node) for arg in call.args if _is(arg.value, name)
    ]
    if (
        body.kind not in ("query", "action")
        or len(places) != 1
        or sum(_is(part, name) for part in walk(body.node)) != 1
    ):
        return
    if not isinstance(body.node, ast.Call | ast.Filter):
        return
    call, arg = places[0]
    signature = lifter.signature(qualify(call), call)
    parameter = signature.parameter(arg.name)
    if parameter is not None:
        yield from (GapValue(key) for key in lifter.gap_keys(parameter))


def _is(value: object, name: str) -> bool:
    return isinstance(value, ast.VarRef) and value.name == name


def _calls(node: object) -> Iterator[ast.Call]:
    match node:
        case ast.Call():
            yield node
        case ast.Filter(query):
            yield from _calls(query)
        case _:
            return


def _is_extensive(type_: ty.Type, units: Units) -> bool:
    """Tell whether totals of such values make sense by nature: sizes, durations, money."""
    if isinstance(type_, ty.Measure):
        return units.base(type_.unit) in ("byte", "ms", "kcal")
    return type_ == ty.CURRENCY


def parameter_value(
    signature: Signature, parameter: Parameter, units: Units = SHIPPED
) -> ParameterValue:
    """Return the piece that stands for a parameter in template bodies."""
    type_ = parameter.type
    element = type_.element if isinstance(type_, ty.Array) else None
    is_numeric = ty.is_number(type_)
    is_date = type_ in (ty.DATE, ty.TIME)
    state = ParameterState(
        function=signature.qualified,
        name=parameter.name,
        type=str(type_),
        element="" if element is None else str(element),
        key=passing_key(parameter, units),
        is_numeric=is_numeric,
        is_ordered=is_numeric or is_date,
        is_text=type_ == ty.STRING,
        is_boolean=type_ == ty.BOOLEAN,
        is_enum=isinstance(type_, ty.Enum),
        is_entity=isinstance(type_, ty.Entity),
        is_additive=(
            _is_extensive(type_, units) if parameter.is_additive is None else parameter.is_additive
        ),
        is_unique=parameter.unique,
    )
    return ParameterValue(signature, parameter.name, f"param:{parameter.name}:{type_}", state)
