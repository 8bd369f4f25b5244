"""Private rows as examples, for what compares them with synthetic ones; they show nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from genie_dp.languages.base import Language
from genie_dp.private.prior.read import functions_of
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.records import Example


@dataclass(frozen=True, slots=True, repr=False)
class PrivateExample(Example):
    """A private row in memory: it has no id, is never written, and never shows what it holds.

    Attributes:
        fields: other fields of the row that were asked for, such as a label.
    """

    fields: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "PrivateExample(..)"


Units = tuple[tuple[PrivateExample, ...], ...]
"""The rows of each unit of privacy."""


def examples_of(source: PrivateSource, language: Language) -> Units:
    """Return the rows of private units with the functions of their programs, if they have any."""
    return tuple(tuple(_example(row, language) for row in unit) for unit in source.units)


def _example(row: PrivateRow, language: Language) -> PrivateExample:
    program = row.program or ""
    return PrivateExample(
        "",
        row.utterance,
        program,
        language.name,
        "private",
        functions=functions_of(program, language) if program else (),
        fields=row.fields,
    )
