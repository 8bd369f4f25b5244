"""The columns of a metadata table: public, finite, settled before private rows are read."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.texts import read_text

Metadata = Mapping[str, str]
"""Column -> value: what is said of one row."""

OTHER = "<other>"
"""As the last value of a column: all values that are not among the others."""

MOST_COLUMNS = 10
# Of one column: pairs of columns are measured, and their tables must stay small.
MOST_VALUES = 1000
FORMAT = "genie_dp table schema"
VERSION = 1
_KEYS = ("name", "values", "extract")


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its values.

    Attributes:
        name: of the column.
        values: public; the last one may be OTHER. A row with another value falls into OTHER, and
            where there is none it counts for nothing.
        extract: where its value comes from: the name of an extractor, or field:NAME.
    """

    name: str
    values: tuple[str, ...]
    extract: str = ""

    def place(self, value: str | None) -> int:
        """Return the place of a value; -1 where it has none.

        >>> Column("form", ("question", "command")).place("song")
        -1
        >>> Column("intent", ("pay", OTHER)).place("song")
        1
        """
        if value in self.values:
            return self.values.index(value)
        return len(self.values) - 1 if self.values[-1] == OTHER else -1


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table.

    Attributes:
        columns: in their order.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        """Refuse an invalid table (T501, T503), all mistakes at once."""
        problems = list(_find_faults(self.columns))
        if problems:
            raise GenieError(problems)

    @property
    def domain(self) -> tuple[int, ...]:
        """Return the number of values of each column."""
        return tuple(len(column.values) for column in self.columns)

    @property
    def cells(self) -> int:
        """Return how many different records there are: the product of the domain."""
        return prod(self.domain)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(column.name for column in self.columns)

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the places of columns.

        Raises:
            GenieError: T504, there is no such column.
        """
        for name in names:
            if name not in self.names:
                hint = did_you_mean(name, self.names) or f"columns are {', '.join(self.names)}"
                raise GenieError(Problem("T504", f"there is no column {name!r}", hint=hint))
        return tuple(self.names.index(name) for name in names)

    def as_dict(self) -> dict[str, Any]:
        """Return the schema for JSON."""
        columns = [
            {"name": column.name, **({"extract": column.extract} if column.extract else {}),
             "values": list(column.values)}
            for column in self.columns
        ]  # fmt: skip
        return {"format": FORMAT, "version": VERSION, "columns": columns}

    @classmethod
    def from_dict(cls, content: Any) -> "Schema":
        """Return the schema that `as_dict` wrote.

        >>> schema = Schema((Column("form", ("question", "command")),))
        >>> Schema.from_dict(schema.as_dict()) == schema
        True

        Raises:
            GenieError: it is none (T500), or a column is none (T501, T503).
        """
        problems = [Problem(code, text) for code, text, _ in _find_misshapen(content)]
        if problems:
            raise GenieError(problems)
        return cls(tuple(map(_read_column, content["columns"])))


def _read_column(content: Mapping[str, Any]) -> Column:
    return Column(content["name"], tuple(content["values"]), content.get("extract", ""))


def _find_faults(columns: Sequence[Column]) -> Iterator[Problem]:
    if not 1 <= len(columns) <= MOST_COLUMNS:
        message = f"expected 1 to {MOST_COLUMNS} columns, got {len(columns)}"
        yield Problem("T503", message, hint="leave out those that say least")
    names = [column.name for column in columns]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem("T501", f"the column {name!r} comes {names.count(name)} times")
    for column in columns:
        yield from (
            Problem("T501", f"column {column.name!r}: {fault}") for fault in _column_faults(column)
        )
        if len(column.values) > MOST_VALUES:
            message = f"column {column.name!r}: expected at most {MOST_VALUES:,} values, got "
            hint = f"keep the most frequent ones, and {OTHER!r} as the last"
            yield Problem("T503", f"{message}{len(column.values):,}", hint=hint)


def _column_faults(column: Column) -> Iterator[str]:
    if not column.name.strip() or not column.name.isprintable():
        yield "its name must be a line of text"
    if len(column.values) < 2:
        yield f"expected two values or more, got {len(column.values)}"
    if len(set(column.values)) < len(column.values):
        twice = sorted({v for v in column.values if column.values.count(v) > 1})
        yield f"{twice[0]!r} comes more than once"
    if OTHER in column.values[:-1]:
        yield f"{OTHER!r} must be the last value"


# ------------------------------------------------------------------------------------ files


def load_schema(path: Path) -> Schema:
    """Return the schema of a JSON file.

    Raises:
        GenieError: it is no JSON or no schema (T500), or columns are none (T501, T503); with the
            line that they begin in.
    """
    text = read_text(path, code="T500")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        place = Span(str(path), error.lineno, error.colno, error.lineno, error.colno + 1)
        problem = Problem("T500", f"expected JSON: {error.msg}", place)
        raise GenieError(problem, sources={str(path): text}) from None
    except RecursionError:
        raise GenieError(Problem("T500", f"{path} is nested too deeply")) from None
    problems = [
        Problem(code, message, _find_column(path, text, name))
        for code, message, name in _find_misshapen(content)
    ]
    if problems:
        raise GenieError(problems, sources={str(path): text})
    columns = tuple(map(_read_column, content["columns"]))
    problems = [
        replace(problem, span=_find_column(path, text, match[1] if match else None))
        for problem in _find_faults(columns)
        for match in [re.search(r"column '(.*?)'", problem.message)]
    ]
    if problems:
        raise GenieError(problems, sources={str(path): text})
    return Schema(columns)


def _find_column(path: Path, text: str, name: str | None) -> Span | None:
    if name is None:
        return None
    match = re.search(r'"name"\s*:\s*' + re.escape(json.dumps(name, ensure_ascii=False)), text)
    if not match:
        return None
    line = text.count("\n", 0, match.start()) + 1
    column = match.start() - text.rfind("\n", 0, match.start())
    return Span(str(path), line, column, line, column + len(match[0]))


def _find_misshapen(content: Any) -> Iterator[tuple[str, str, str | None]]:
    """Yield code, message and column of each part that does not fit the JSON of a schema."""
    hint = "expected an object with 'columns', a list"
    if not isinstance(content, dict) or not isinstance(content.get("columns"), list):
        yield "T500", hint, None
        return
    unknown = sorted(set(content) - {"format", "version", "columns"})
    if unknown:
        yield "T500", f"expected format, version and columns, got {unknown[0]!r}", None
    if content.get("format", FORMAT) != FORMAT or content.get("version", VERSION) != VERSION:
        yield "T500", f"expected {FORMAT!r} of version {VERSION}", None
    for number, column in enumerate(content["columns"], 1):
        yield from _misshapen_column(number, column)


def _misshapen_column(number: int, column: Any) -> Iterator[tuple[str, str, str | None]]:
    if not isinstance(column, dict) or not isinstance(column.get("name"), str):
        yield "T501", f"column {number}: expected an object with 'name' and 'values'", None
        return
    name = column["name"]
    for key in sorted(set(column) - set(_KEYS)):
        hint = did_you_mean(key, _KEYS) or f"keys are {', '.join(_KEYS)}"
        yield "T501", f"column {name!r}: there is no key {key!r}; {hint}", name
    values = column.get("values")
    if not isinstance(values, list) or not all(isinstance(v, str) and v for v in values):
        yield "T501", f"column {name!r}: expected 'values', a list of texts", name
    if not isinstance(column.get("extract", ""), str):
        yield "T501", f"column {name!r}: expected 'extract', a text", name
