"""Says which parameter takes its values from which list."""

from collections.abc import Iterator
from dataclasses import dataclass

from genie_dp.augment.values import Choice, ValueSource
from genie_dp.languages.thingtalk.slots import slot_stem
from genie_dp.languages.thingtalk.types import STRING, Array, Entity, Type
from genie_dp.skills.model import Library


@dataclass(frozen=True, slots=True)
class Use:
    """A parameter, its type, and the list that was chosen; None where values are written."""

    parameter: str
    type: str
    choice: Choice | None


def uses(library: Library, source: ValueSource) -> Iterator[Use]:
    """Yield every parameter of the library that people can give a value, function by function."""
    for signature in library.functions():
        for parameter in signature.parameters:
            type_ = _element(parameter.type)
            if slot_stem(type_) is None:
                continue
            name = f"{signature.qualified}:{parameter.name}"
            is_listed = type_ == STRING or isinstance(type_, Entity)
            choice = source.choose(type_, name) if is_listed else None
            yield Use(name, str(type_), choice)


def _element(type_: Type) -> Type:
    while isinstance(type_, Array):
        type_ = type_.element
    return type_


def table(library: Library, source: ValueSource) -> Iterator[str]:
    """Yield the report as lines of TSV, with a header: parameter, type, rule, list, values."""
    yield "parameter\ttype\tchosen by\tlist\tvalues"
    for use in uses(library, source):
        if use.choice is None:
            yield f"{use.parameter}\t{use.type}\twritten\t-\t-"
            continue
        values = use.choice.values
        yield f"{use.parameter}\t{use.type}\t{use.choice.origin}\t{values.name}\t{len(values)}"
