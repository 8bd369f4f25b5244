"""Tables whose cells are parted by a sign: CSV and TSV as spreadsheets write them.

Files that cannot be one table are refused with the place: a quote that is never closed, rows with
more or fewer cells than the header, two columns of one name. The sign between cells is that of a
first line `sep=;`, else the one by which all rows have as many cells as the header.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.texts import read_text

_SIGNS = ",;\t|"
_GIVEN_SIGN = re.compile(r'"?sep=(.)"?[ \t]*\n', re.IGNORECASE)
_MOST_LETTERS = 50_000_000  # of a cell
_LOOKED_AT = 200  # rows from which the sign is told
_MOST_PROBLEMS = 10

_Record = tuple[int, list[str]]
"""The line where a row begins, and its cells."""


@dataclass(slots=True)
class DelimitedTable:
    """A table as it was read.

    Attributes:
        columns: their names; those without a name are called after their place.
        unnamed: those of the columns that have no name.
        rows: the cells of each, by column.
        delimiter: the sign between cells.
    """

    columns: list[str]
    unnamed: list[str]
    rows: list[dict[str, str]]
    delimiter: str


def read_delimited(path: Path, *, delimiter: str = "", most: int | None = None) -> DelimitedTable:
    """Return the table of a file; lines without any cell are no rows.

    Args:
        path: the file, in UTF-8 or, with a byte order mark, UTF-16.
        delimiter: the sign between cells; "" for the one that the file has.
        most: rows that are returned; None for all.

    Raises:
        GenieError: R003, no such text; R091, nothing below the header; R094, a mistake in the
            header, or in rows.
    """
    text = _text_of(path)
    before = 0
    if given := _GIVEN_SIGN.match(text):
        delimiter, text, before = given[1], text[given.end() :], 1
    delimiter = delimiter or _delimiter_of(path, text)
    try:
        records = [(line + before, cells) for line, cells in _records(text, delimiter)]
    except _QuoteError as error:
        problem = _problem(path, error.line + before, str(error), error.hint)
        raise GenieError(problem, sources={str(path): "\n" * before + text}) from None
    if len(records) < 2:
        what = "a header and no rows" if records else "nothing in it"
        hint = "a table has named columns and at least one row"
        raise GenieError(Problem("R091", f"{path} has {what}", hint=hint))
    (line, header), *rows = records
    names = [name.strip() for name in header]
    # Cells without a name and without anything in them are the end of a line.
    filled = [cells for _, cells in rows if len(cells) <= len(names)]
    width = max(len(_without_end(cells)) for cells in (names, *filled))
    names = names[:width]
    problems = list(_wrong_names(path, line, names))
    problems += islice(_wrong_rows(path, rows, width, delimiter), _MOST_PROBLEMS)
    if problems:
        raise GenieError(problems, sources={str(path): "\n" * before + text})
    columns = [name or f"column {place}" for place, name in enumerate(names, start=1)]
    unnamed = [column for column, name in zip(columns, names, strict=True) if not name]
    cells_of = (dict(zip(columns, cells, strict=False)) for _, cells in islice(rows, most))
    return DelimitedTable(columns, unnamed, list(cells_of), delimiter)


def repeated(columns: Sequence[str]) -> str:
    """Return a name that two columns have but for the case of letters; "" where all differ.

    >>> repeated(["name", "Size", "size"]), repeated(["name", "size"])
    ('size', '')
    """
    known = set[str]()
    for column in columns:
        if column.casefold() in known:
            return column
        known.add(column.casefold())
    return ""


def _text_of(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return io.IncrementalNewlineDecoder(None, True).decode(data.decode("utf-16"))
        except UnicodeDecodeError:
            pass  # `read_text` names the place
    return read_text(path)


class _QuoteError(Exception):
    def __init__(self, line: int, message: str, hint: str):
        super().__init__(message)
        self.line, self.hint = line, hint


def _records(text: str, delimiter: str) -> Iterator[_Record]:
    """Yield the rows of a text; a quote inside of a cell without quotes is a letter as others."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(_MOST_LETTERS)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        hint = 'close it with a ", and write one that stands inside of a cell twice'
        if "unexpected end" in str(error):
            message = "the quote of a cell in this row is never closed"
        elif "expected after" in str(error):
            message = f"expected {delimiter!r} or a new line behind the quote that ends a cell"
            if reader.line_num > line:
                message += f" at line {reader.line_num}"
        else:
            message, hint = f"no CSV: {error}", "save the table anew as CSV"
        raise _QuoteError(line, message, hint) from None
    finally:
        csv.field_size_limit(limit)


def _delimiter_of(path: Path, text: str) -> str:
    """Return the sign between cells: one of the header, by which all rows have as many as it."""
    header = text.lstrip("\n").partition("\n")[0]
    signs = sorted(_SIGNS, key=lambda sign: -header.count(sign))
    fitting: dict[str, int] = {}
    for sign in signs:
        try:
            records = list(islice(_records(text, sign), _LOOKED_AT))
        except _QuoteError:
            continue
        widths = {len(_without_end(cells)) for _, cells in records}
        if len(widths) == 1:
            fitting[sign] = widths.pop()
    most = max(fitting.values(), default=1)
    if most == 1 and header.count(signs[0]):
        return signs[0]
    best = [sign for sign in fitting if fitting[sign] == most]
    if most > 1 and len(best) > 1:
        message = f"cells may be parted by {best[0]!r} or by {best[1]!r}"
        hint = f"say it in a line before the header: sep={best[0]}"
        raise GenieError(_problem(path, 1, message, hint), sources={str(path): text})
    return best[0] if best else signs[0]


def _without_end(cells: Sequence[str]) -> Sequence[str]:
    """Return the cells of a row without empty ones at its end."""
    width = len(cells)
    while width and not cells[width - 1].strip():
        width -= 1
    return cells[:width]


def _wrong_names(path: Path, line: int, names: Sequence[str]) -> Iterator[Problem]:
    name = repeated([name for name in names if name])
    if name:
        yield _problem(path, line, f"two columns are called {name!r}", "give each its own name")


def _wrong_rows(
    path: Path, rows: Sequence[_Record], width: int, delimiter: str
) -> Iterator[Problem]:
    for line, cells in rows:
        got = max(len(_without_end(cells)), min(len(cells), width))
        if got != width:
            hint = f"a cell with {delimiter!r} inside stands between quotes"
            if got < width:
                hint = f"write {delimiter!r} for cells without anything, too"
            yield _problem(path, line, f"expected {width} cells as in the header, got {got}", hint)


def _problem(path: Path, line: int, message: str, hint: str) -> Problem:
    return Problem("R094", message, Span(str(path), line, 1, line, 2), hint, stage="syntax")
