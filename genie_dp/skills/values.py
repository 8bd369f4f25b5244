"""Reads value lists: tab-separated text, one value a line."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from genie_dp.errors import Problem, Span, did_you_mean
from genie_dp.skills.model import ValueList

COLUMNS = ("value", "weight", "source", "licence")


@dataclass(frozen=True, slots=True)
class ReadValues:
    """A value list as far as it could be read, and its mistakes."""

    values: ValueList
    problems: tuple[Problem, ...]


def parse_values(text: str, *, name: str, file: str) -> ReadValues:
    r"""Return the values of a text.

    A first line that begins with the cell `value` names the columns; else they are value and, if
    given, weight. Empty lines do not count.

    >>> parse_values("value\tweight\nparis\t3\nrome\n", name="com.x:city", file="city.tsv").values
    ValueList(name='com.x:city', values=('paris', 'rome'), weights=(3.0, 1.0))
    """
    rows = [
        (number, line.rstrip("\r").split("\t"))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    columns: Sequence[str] = COLUMNS
    problems: list[Problem] = []
    if rows and rows[0][1][0].strip() == "value":
        columns = [cell.strip() for cell in rows[0][1]]
        problems.extend(_header_problems(columns, rows[0][0], file))
        rows = rows[1:]
    found: dict[str, float] = {}
    for number, cells in rows:
        value = cells[0].strip()
        weight = _weight(dict(zip(columns, cells, strict=False)).get("weight", ""))
        problems.extend(_row_problems(value, weight, value in found, cells, columns, number, file))
        found.setdefault(value, weight or 1.0)
    if not rows:
        place = Span(file, 1, 1, 1, 1)
        problems.append(Problem("K008", f"value list {name} is empty", place, "give it a line"))
    return ReadValues(ValueList(name, tuple(found), tuple(found.values())), tuple(problems))


def _weight(cell: str) -> float | None:
    """Return the weight, 1 for an empty cell, None for what is no positive number."""
    if not cell.strip():
        return 1.0
    try:
        weight = float(cell)
    except ValueError:
        return None
    return weight if weight > 0 and math.isfinite(weight) else None


def _header_problems(columns: Sequence[str], line: int, file: str) -> Iterator[Problem]:
    column = 1
    for name in columns:
        if name not in (*COLUMNS, "license"):
            hint = did_you_mean(name, COLUMNS) or f"columns are: {', '.join(COLUMNS)}"
            place = Span(file, line, column, line, column + len(name))
            yield Problem("K008", f"unknown column {name!r}", place, hint)
        column += len(name) + 1


def _row_problems(
    value: str,
    weight: float | None,
    is_repeated: bool,
    cells: Sequence[str],
    columns: Sequence[str],
    line: int,
    file: str,
) -> Iterator[Problem]:
    place = Span(file, line, 1, line, len(cells[0]) + 1)
    if not value:
        yield Problem("K008", "expected a value before the first tab, got none", place)
    elif is_repeated:
        message = f"value {value!r} stands twice; the first one counts"
        yield Problem("K010", message, place, "delete this line", severity="warning")
    if weight is None:
        start = sum(len(cell) + 1 for cell in cells[: columns.index("weight")]) + 1
        cell = cells[columns.index("weight")]
        place = Span(file, line, start, line, start + len(cell))
        message = f"expected a positive number as weight, got {cell!r}"
        yield Problem("K008", message, place, "columns are separated by one tab")
    if len(cells) > len(columns):
        message = f"expected at most {len(columns)} columns, got {len(cells)}"
        yield Problem("K008", message, place, f"columns are: {', '.join(columns)}")
