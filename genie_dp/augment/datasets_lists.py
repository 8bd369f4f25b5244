"""Reads the list files that values.tsv names: TSV, CSV, one value a line, JSON; local or a URL."""

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.augment.expand_values import is_fit, is_fit_all
from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.run.files import UNREADABLE, hint_unreadable, is_url, why_unreadable
from genie_dp.skills.words import spoken

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_MOST_SHOWN = 20
_PLAIN = re.compile(r"[a-z]+(?: [a-z]+)*")


@dataclass(frozen=True, slots=True)
class ReadList:
    """A list file as far as it could be read.

    Attributes:
        texts: the values, in tokens as utterances are; a value may stand twice.
        weights: one for each value.
        hash: of the bytes of the file.
    """

    name: str
    texts: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    hash: str = ""
    problems: tuple[Problem, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    weight: float | None
    line: int
    weight_cell: str = ""
    weight_column: int = 1


def ending_of(path: str) -> str:
    """Return the ending of a file's name, before a compression suffix.

    >>> ending_of("https://example.com/menu.csv.gz"), ending_of("people")
    ('csv', '')
    """
    name = path.rsplit("/", 1)[-1]
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name.rpartition(".")[2].lower() if "." in name else ""


def read_list(path: str, place: Span, column: str | None = None, form: str = "own") -> ReadList:
    """Return the values of a list file.

    Args:
        path: local or a URL; .gz, .bz2, .xz and .zst are unpacked.
        place: where the path is written, for mistakes of the whole file.
        column: name or number (from 1) of the column with the values; None for "value", else
            the first.
        form: "own", or "string" and "entity" for the lists of Genie.
    """
    try:
        data = _bytes(path)
        text = data.decode("utf-8-sig")
        ending = ending_of(path)
        if form == "entity" or ending == "json":
            values = list(_json(text, path, column, place))
        elif form == "string":
            values = list(_genie_strings(text))
        else:
            values = list(_table(text, path, ending, column, place))
    except UnicodeDecodeError as error:
        message = f"{path} is no UTF-8 text: byte 0x{error.object[error.start]:02X}"
        problem = Problem("A010", message, place, "save the list as UTF-8")
        return ReadList(path, problems=(problem,))
    except UNREADABLE as error:
        message = f"cannot read the list {path}: {why_unreadable(path, error)}"
        return ReadList(path, problems=(Problem("A004", message, place, _hint(path, error)),))
    except csv.Error as error:
        return ReadList(path, problems=(Problem("A007", f"{path} is no CSV: {error}", place),))
    except GenieError as error:
        return ReadList(path, problems=error.problems, sources=error.sources)
    return _checked(values, path, place, data, text)


def _bytes(path: str) -> bytes:
    import smart_open

    try:
        file = smart_open.open(path, "rb")
    except ValueError as error:  # a URL that lacks a part
        raise OSError(str(error)) from error
    with file:
        data: bytes = file.read()
    return data


def _hint(path: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and not is_url(path):
        return "paths are relative to the file that names them"
    return hint_unreadable(path, error)


def _checked(values: Sequence[_Value], path: str, place: Span, data: bytes, text: str) -> ReadList:
    problems = []
    texts, weights = [], []
    for value in values:
        if value.weight is None:
            start = value.weight_column
            span = Span(path, value.line, start, value.line, start + len(value.weight_cell))
            message = f"expected a positive number as weight, got {value.weight_cell!r}"
            problems.append(Problem("A008", message, span, "leave it empty for 1"))
            continue
        said = tokens_of(value.text)
        if said:
            texts.append(said)
            weights.append(value.weight)
    if texts and not is_fit_all(texts):
        problems.append(_unfit(values, path))
        fit = [(said, weight) for said, weight in zip(texts, weights, strict=True) if is_fit(said)]
        texts, weights = [said for said, _ in fit], [weight for _, weight in fit]
    if not texts and all(problem.severity == "warning" for problem in problems):
        message = f"the list {path} has no values"
        problems.append(Problem("A006", message, place, "give it a line"))
    return ReadList(
        path,
        tuple(texts),
        tuple(weights),
        hashlib.sha256(data).hexdigest(),
        tuple(problems[:_MOST_SHOWN]),
        {path: text} if problems else {},
    )


def _unfit(values: Sequence[_Value], path: str) -> Problem:
    """Return the warning that sentences cannot say some values, at the first of them."""
    told = [value for value in values if (said := tokens_of(value.text)) and not is_fit(said)]
    place = Span(path, told[0].line, 1, told[0].line, 2)
    count = "a value is" if len(told) == 1 else f"{len(told)} values are"
    message = f"{count} left out: {told[0].text.strip()!r}" + (", ..." if len(told) > 1 else "")
    hint = "write values without quotes, backslashes and control characters"
    return Problem("A011", message, place, hint, severity="warning")


def tokens_of(text: str) -> str:
    """Return the tokens of a value, joined by spaces: what `spoken` says, sooner for plain words.

    >>> tokens_of(" Red Moon"), tokens_of("Mom's  song")
    ('red moon', "mom 's song")
    """
    plain = text.strip().lower()
    return plain if _PLAIN.fullmatch(plain) else spoken(text)


def _weight(cell: str) -> float | None:
    if not cell.strip():
        return 1.0
    try:
        weight = float(cell)
    except ValueError:
        return None
    return weight if weight > 0 and math.isfinite(weight) else None


# ----------------------------------------------------------------------------------- tables


def _table(text: str, path: str, ending: str, column: str | None, place: Span) -> Iterator[_Value]:
    """Yield the values of TSV, CSV, or a text with a value a line."""
    rows = list(_rows(text, ending))
    if not rows:
        return
    header = [cell.strip().lower() for cell in rows[0][1]]
    index, has_header = _column(header, column, path, place)
    weight = header.index("weight") if has_header and "weight" in header else None
    for number, cells in rows[1 if has_header else 0 :]:
        if index >= len(cells):
            span = Span(path, number, 1, number, 1)
            message = f"expected at least {index + 1} columns, got {len(cells)}"
            raise GenieError(Problem("A007", message, span), sources={path: text})
        cell = cells[weight] if weight is not None and weight < len(cells) else ""
        given = _weight(cell)
        start = 1
        if given is None and ending != "csv":
            start += sum(len(c) + 1 for c in cells[:weight])
        yield _Value(cells[index], given, number, cell, start)


def _rows(text: str, ending: str) -> Iterator[tuple[int, list[str]]]:
    if ending == "csv":
        reader = csv.reader(io.StringIO(text, newline=""))
        yield from ((reader.line_num, cells) for cells in reader if cells)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, line.split("\t") if ending != "txt" else [line]


def _column(header: Sequence[str], column: str | None, path: str, place: Span) -> tuple[int, bool]:
    """Return the index of the column with the values, and whether the first row names columns."""
    if column is None:
        return (header.index("value"), True) if "value" in header else (0, False)
    if column.isdigit():
        return int(column) - 1 if int(column) else 0, "value" in header
    if column.lower() in header:
        return header.index(column.lower()), True
    hint = did_you_mean(column, header) or f"columns are: {', '.join(header)}"
    raise GenieError(Problem("A005", f"{path} has no column {column!r}", place, hint))


def _genie_strings(text: str) -> Iterator[_Value]:
    """Yield Genie's string lists: value, its tokens, weight; a line may have the value only."""
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split("\t")
        if not line.strip():
            continue
        said = cells[1] if len(cells) > 1 and cells[1].strip() else cells[0]
        cell = cells[2] if len(cells) > 2 else ""
        yield _Value(said, _weight(cell), number, cell)


# ------------------------------------------------------------------------------------- JSON


def _json(text: str, path: str, column: str | None, place: Span) -> Iterator[_Value]:
    """Yield the values of a JSON list of texts or objects, or of Genie's `{"data": [..]}`."""
    try:
        read = json.loads(text)
    except json.JSONDecodeError as error:
        span = Span(path, error.lineno, error.colno, error.lineno, error.colno + 1)
        problem = Problem("A007", f"no JSON: {error.msg}", span, stage="syntax")
        raise GenieError(problem, sources={path: text}) from None
    rows = read.get("data", read.get("result")) if isinstance(read, dict) else read
    if not isinstance(rows, list):
        message = f'expected a list or {{"data": [..]}} in {path}, got {type(read).__name__}'
        raise GenieError(Problem("A007", message, place))
    for number, row in enumerate(rows, start=1):
        yield _json_value(row, number, path, column, place)


def _json_value(row: Any, number: int, path: str, column: str | None, place: Span) -> _Value:
    if isinstance(row, str):
        return _Value(row, 1.0, number)
    names = (column,) if column else ("canonical", "name", "value")
    if isinstance(row, dict):
        for name in names:
            if isinstance(row.get(name), str):
                cell = str(row.get("weight", ""))
                return _Value(row[name], _weight(cell), number, cell)
    message = f"item {number} of {path} has no text under {' or '.join(map(repr, names))}"
    raise GenieError(Problem("A007", message, place, "items are texts, or objects with a name"))
