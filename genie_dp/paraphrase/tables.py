"""CSV files that go to Mechanical Turk and come back: UTF-8, commas, one header."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.run.files import open_text
from genie_dp.texts import read_text

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class TableLine:
    """A row of a table: its cells by column, and where it ends in the file."""

    cells: Mapping[str, str]
    file: str
    number: int

    @property
    def span(self) -> Span:
        """Return the place of the row."""
        return Span(self.file, self.number, 1, self.number, 2)


def guard_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: strangers wrote it.

    >>> guard_formula("=1+2"), guard_formula("show @bob")
    ("'=1+2", 'show @bob')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def guard_sentences(cells: Mapping[str, str]) -> dict[str, str]:
    """Return the cells of a task with its sentences guarded: one may begin with a value.

    The contents of pages are in the encoded cells, which need no guard.

    >>> guard_sentences({"id1": "S1", "sentence1": "@bob may see my files"})
    {'id1': 'S1', 'sentence1': "'@bob may see my files"}
    """
    return {
        name: guard_formula(text) if name.startswith("sentence") else text
        for name, text in cells.items()
    }


def unguard_formula(text: str) -> str:
    """Return a text without the prefix of `guarded`."""
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA and len(text) > 1 else text


def write_table(target: str, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> int:
    """Write a table as CSV and return the number of its rows, the header aside."""
    count = 0
    with open_text(target) as out:
        writer = csv.DictWriter(out, columns, lineterminator="\r\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(row)
            count += 1
    return count


def read_table(path: str, columns: Iterable[str]) -> tuple[tuple[str, ...], list[TableLine]]:
    """Return the columns and rows of a CSV file.

    Args:
        columns: those that must be there.

    Raises:
        GenieError: P010, invalid CSV: all rows with too few or too many cells; P011, all columns
            that are missing.
    """
    text = read_text(path)
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        header = tuple(next(reader, ()))
        _check_header(header, columns, path, text)
        return header, list(_read_lines(reader, header, path, text))
    except csv.Error as error:
        span = Span(path, max(1, reader.line_num), 1, max(1, reader.line_num), 2)
        problem = Problem("P010", f"no CSV: {error}", span, stage="syntax")
        raise GenieError(problem, sources={path: text}) from None


def _check_header(header: Sequence[str], columns: Iterable[str], path: str, text: str) -> None:
    missing = [name for name in columns if name not in header]
    if missing:
        span = Span(path, 1, 1, 1, 2)
        hint = "download the results of the batch as CSV, and change no column"
        raise GenieError(
            [
                Problem("P011", f"expected a column {name!r}, got none", span, hint)
                for name in missing
            ],
            sources={path: text},
        )


def _read_lines(reader: Any, header: Sequence[str], path: str, text: str) -> Iterator[TableLine]:
    problems = []
    for cells in reader:
        number = reader.line_num
        if not cells:
            continue
        if len(cells) != len(header):
            span = Span(path, number, 1, number, 2)
            message = f"expected {len(header)} cells as in the header, got {len(cells)}"
            problems.append(Problem("P010", message, span, stage="syntax"))
            continue
        yield TableLine(dict(zip(header, cells, strict=True)), path, number)
    if problems:
        raise GenieError(problems, sources={path: text})
