"""What a record of metadata asks of a derivation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from genie_dp.private.evolution.generator import Metadata
from genie_dp.private.tables.extract import (
    EXTRACTORS,
    bucket_of,
    extractor_of,
    field_of,
)
from genie_dp.private.tables.schema import OTHER, Column, Schema
from genie_dp.records import Example

REPEATED = "repeated"
# Where not all can be had, the first ones are; a sentence that did not come yet is one of them.
ORDER = ("functions", "function", "skill", REPEATED, "form", "filters", "slots", "length")
OF_PROGRAMS = ("functions", "function", "skill")  # a derivation is chosen by them
_IN_RANGES = ("filters", "length")


@dataclass(frozen=True, slots=True)
class Asked:
    """What one column asks.

    Attributes:
        extractor: where the column's value comes from.
        value: what it is to be.
        accepts: tells whether what the extractor says of a row is that.
    """

    extractor: str
    value: str
    accepts: Callable[[str], bool]

    @property
    def is_exact(self) -> bool:
        """Tell whether the value names functions, by which a derivation can be chosen."""
        return self.extractor in OF_PROGRAMS and self.value not in (OTHER, "")

    def is_met(self, example: Example) -> bool:
        """Tell whether a row has the value."""
        return self.accepts(EXTRACTORS[self.extractor](example))


class Reader:
    """Reads records: what they ask of a derivation, the most important first."""

    def __init__(self, schema: Schema | None):
        """Take the columns of a schema; without one, a column's name is that of its extractor."""
        self._columns = {column.name: column for column in schema.columns} if schema else None
        self._known: dict[tuple[str, str], Asked | None] = {}

    def read(self, record: Metadata) -> tuple[Asked, ...]:
        """Return what a record asks; columns that no grammar knows of ask for nothing."""
        found = [asked for item in record.items() if (asked := self._asked(*item)) is not None]
        return tuple(sorted(found, key=lambda asked: ORDER.index(asked.extractor)))

    def _asked(self, name: str, value: str) -> Asked | None:
        if (name, value) not in self._known:
            self._known[name, value] = self._new(name, value)
        return self._known[name, value]

    def _new(self, name: str, value: str) -> Asked | None:
        column = Column(name, (value,)) if self._columns is None else self._columns.get(name)
        if column is None or field_of(column) is not None:
            return None
        extractor = extractor_of(column)
        if value == "" or (value == OTHER and self._columns is None):
            return None  # of a value that nothing has, or nobody knows which
        return Asked(extractor, value, _accepts(column, extractor, value))


def _accepts(column: Column, extractor: str, value: str) -> Callable[[str], bool]:
    in_ranges = extractor in _IN_RANGES
    if value == OTHER:
        known = column.values[:-1]
        if in_ranges:
            return lambda found: not bucket_of(found, known)
        return lambda found: found not in known
    if in_ranges:
        return lambda found: bucket_of(found, (value,)) == value
    return lambda found: found == value


def unmet(asked: Iterable[Asked], example: Example) -> list[str]:
    """Return the extractors whose values a row does not have."""
    return [one.extractor for one in asked if not one.is_met(example)]
