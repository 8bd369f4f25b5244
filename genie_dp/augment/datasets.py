r"""Lists that the user brings: `values.tsv`, and the parameter-datasets.tsv of the Genie toolkit.

A line of values.tsv names the use of the list, its file and, if need be, its column:

    song<TAB>lists/songs.tsv
    com.example:dish<TAB>https://example.com/menu.csv.gz<TAB>name
    @com.gmail.inbox:sender_name<TAB>people.txt

Its use is a shipped kind, an entity type, a tag of `#[string_values=..]`, a parameter, or
the bare name of parameters. A line that begins with `string` or `entity` is one of Genie's:
`string|entity <TAB> [locale <TAB>] type <TAB> path`. Paths are relative to the file; `#` begins a
comment.

Codes of mistakes:

| A001 file that cannot be read | A002 wrong number of columns | A003 unknown name |
| A004 list that cannot be read | A005 unknown column | A006 list without values |
| A007 malformed list | A008 malformed weight | A009 name or value given twice |
| A010 text that is no UTF-8 | A011 values that sentences cannot contain |
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genie_dp.augment.expand import is_fit, is_fit_all
from genie_dp.augment.values import ValueList, kinds, kinds_by_use, value_list
from genie_dp.errors import GenieError, Problem, Severity, Span, did_you_mean
from genie_dp.languages.library import Library
from genie_dp.locale import DEFAULT
from genie_dp.run.files import UNREADABLE, hint_unreadable, is_url, why_unreadable
from genie_dp.skills.load import weight_of
from genie_dp.skills.words import join_tokens
from genie_dp.texts import read_text

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
class _ListedValue:
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
        data = _read_bytes(path)
        text = data.decode("utf-8-sig")
        ending = ending_of(path)
        if form == "entity" or ending == "json":
            values = list(_values_of_json(text, path, column, place))
        elif form == "string":
            values = list(_values_of_genie(text))
        else:
            values = list(_values_of_table(text, path, ending, column, place))
    except UnicodeDecodeError as error:
        message = f"{path} is no UTF-8 text: byte 0x{error.object[error.start]:02X}"
        problem = Problem("A010", message, place, "save the list as UTF-8")
        return ReadList(path, problems=(problem,))
    except UNREADABLE as error:
        message = f"cannot read the list {path}: {why_unreadable(path, error)}"
        is_local = isinstance(error, FileNotFoundError) and not is_url(path)
        relative = "paths are relative to the file that names them"
        hint = relative if is_local else hint_unreadable(path, error)
        return ReadList(path, problems=(Problem("A004", message, place, hint),))
    except csv.Error as error:
        return ReadList(path, problems=(Problem("A007", f"{path} is no CSV: {error}", place),))
    except GenieError as error:
        return ReadList(path, problems=error.problems, sources=error.sources)
    return _check_values(values, path, place, data, text)


def _read_bytes(path: str) -> bytes:
    import smart_open

    try:
        file = smart_open.open(path, "rb")
    except ValueError as error:  # a URL that lacks a part
        raise OSError(str(error)) from error
    with file:
        data: bytes = file.read()
    return data


def _check_values(
    values: Sequence[_ListedValue], path: str, place: Span, data: bytes, text: str
) -> ReadList:
    problems = []
    texts, weights = [], []
    for value in values:
        if value.weight is None:
            start = value.weight_column
            span = Span(path, value.line, start, value.line, start + len(value.weight_cell))
            message = f"expected a positive number as weight, got {value.weight_cell!r}"
            problems.append(Problem("A008", message, span, "leave it empty for 1"))
            continue
        tokens = tokens_of(value.text)
        if tokens:
            texts.append(tokens)
            weights.append(value.weight)
    if texts and not is_fit_all(texts):
        problems.append(_unfit_problem(values, path))
        fit = [pair for pair in zip(texts, weights, strict=True) if is_fit(pair[0])]
        texts, weights = [text for text, _ in fit], [weight for _, weight in fit]
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


def _unfit_problem(values: Sequence[_ListedValue], path: str) -> Problem:
    """Return the warning that sentences cannot contain some values, at the first of them."""
    unfit = [value for value in values if (tokens := tokens_of(value.text)) and not is_fit(tokens)]
    place = Span(path, unfit[0].line, 1, unfit[0].line, 2)
    count = "a value is" if len(unfit) == 1 else f"{len(unfit)} values are"
    message = f"{count} left out: {unfit[0].text.strip()!r}" + (", ..." if len(unfit) > 1 else "")
    hint = "write values without quotes, backslashes and control characters"
    return Problem("A011", message, place, hint, severity="warning")


def tokens_of(text: str) -> str:
    """Return the tokens of a value, joined by spaces: as `spoken`, but faster for plain words.

    >>> tokens_of(" Red Moon"), tokens_of("Mom's  song")
    ('red moon', "mom 's song")
    """
    plain = text.strip().lower()
    return plain if _PLAIN.fullmatch(plain) else join_tokens(text)


# ----------------------------------------------------------------------------------- tables


def _values_of_table(
    text: str, path: str, ending: str, column: str | None, place: Span
) -> Iterator[_ListedValue]:
    """Yield the values of TSV, CSV, or a text with a value a line."""
    rows = list(_table_rows(text, ending))
    if not rows:
        return
    header = [cell.strip().lower() for cell in rows[0][1]]
    index, has_header = _column_of_values(header, column, path, place)
    weight = header.index("weight") if has_header and "weight" in header else None
    for number, cells in rows[1 if has_header else 0 :]:
        if index >= len(cells):
            span = Span(path, number, 1, number, 1)
            message = f"expected at least {index + 1} columns, got {len(cells)}"
            raise GenieError(Problem("A007", message, span), sources={path: text})
        cell = cells[weight] if weight is not None and weight < len(cells) else ""
        weight_of_cell = weight_of(cell)
        start = 1
        if weight_of_cell is None and ending != "csv":
            start += sum(len(c) + 1 for c in cells[:weight])
        yield _ListedValue(cells[index], weight_of_cell, number, cell, start)


def _table_rows(text: str, ending: str) -> Iterator[tuple[int, list[str]]]:
    if ending == "csv":
        reader = csv.reader(io.StringIO(text, newline=""))
        yield from ((reader.line_num, cells) for cells in reader if cells)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, line.split("\t") if ending != "txt" else [line]


def _column_of_values(
    header: Sequence[str], column: str | None, path: str, place: Span
) -> tuple[int, bool]:
    """Return the index of the column with the values, and whether the first row names columns."""
    if column is None:
        return (header.index("value"), True) if "value" in header else (0, False)
    if column.isdigit():
        return int(column) - 1 if int(column) else 0, "value" in header
    if column.lower() in header:
        return header.index(column.lower()), True
    hint = did_you_mean(column, header) or f"columns are: {', '.join(header)}"
    raise GenieError(Problem("A005", f"{path} has no column {column!r}", place, hint))


def _values_of_genie(text: str) -> Iterator[_ListedValue]:
    """Yield Genie's string lists: value, its tokens, weight; a line may have the value only."""
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split("\t")
        if not line.strip():
            continue
        value = cells[1] if len(cells) > 1 and cells[1].strip() else cells[0]
        cell = cells[2] if len(cells) > 2 else ""
        yield _ListedValue(value, weight_of(cell), number, cell)


# ------------------------------------------------------------------------------------- JSON


def _values_of_json(
    text: str, path: str, column: str | None, place: Span
) -> Iterator[_ListedValue]:
    """Yield the values of a JSON list of texts or objects, or of Genie's `{"data": [..]}`."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        span = Span(path, error.lineno, error.colno, error.lineno, error.colno + 1)
        problem = Problem("A007", f"no JSON: {error.msg}", span, stage="syntax")
        raise GenieError(problem, sources={path: text}) from None
    rows = content.get("data", content.get("result")) if isinstance(content, dict) else content
    if not isinstance(rows, list):
        message = f'expected a list or {{"data": [..]}} in {path}, got {type(content).__name__}'
        raise GenieError(Problem("A007", message, place))
    for number, row in enumerate(rows, start=1):
        yield _json_value(row, number, path, column, place)


def _json_value(row: Any, number: int, path: str, column: str | None, place: Span) -> _ListedValue:
    if isinstance(row, str):
        return _ListedValue(row, 1.0, number)
    names = (column,) if column else ("canonical", "name", "value")
    if isinstance(row, dict):
        for name in names:
            if isinstance(row.get(name), str):
                cell = str(row.get("weight", ""))
                return _ListedValue(row[name], weight_of(cell), number, cell)
    message = f"item {number} of {path} has no text under {' or '.join(map(repr, names))}"
    raise GenieError(Problem("A007", message, place, "items are texts, or objects with a name"))


GENIE = ("string", "entity")


@dataclass(frozen=True, slots=True)
class OwnLists:
    """The lists that a user brought.

    Attributes:
        lists: use -> list.
        hashes: path or URL of a list -> the hash of its bytes, for the manifest.
        warnings: problems that do not stop the run.
        places: use of a list -> its line.
        sources: file -> text, to show where a mistake is.
        uses: text of the file that names the lists; None where there is no such file.
    """

    lists: Mapping[str, ValueList] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()
    places: Mapping[str, Span] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    uses: str | None = None


@dataclass(frozen=True, slots=True)
class _NamedList:
    """A line that names a list: its use, its file and its form ("own" or Genie's)."""

    use: str
    path: str
    column: str | None
    form: str
    path_span: Span
    use_span: Span


def read_own_lists(
    path: Path | str, library: Library | None = None, *, language: str = DEFAULT
) -> OwnLists:
    """Return the lists that a file names.

    Args:
        path: a values.tsv, or a parameter-datasets.tsv of Genie.
        library: if given, names that neither it nor the package knows are mistakes.
        language: of the sentences; Genie's lists of others are left out.

    Raises:
        GenieError: all mistakes of the file and of the lists.
    """
    text = _read_names(path)
    sources = {str(path): text}
    lines, problems = _lines(text, str(path), language)
    if library is not None:
        problems += _unknown_names(lines, library)
    read = [
        read_list(
            line.path if is_url(line.path) else str(Path(path).parent / line.path),
            line.path_span,
            line.column,
            line.form,
        )  # fmt: skip
        for line in lines
    ]
    for listed in read:
        problems += listed.problems
        sources |= listed.sources

    def place(problem: Problem) -> tuple[bool, str, int, int]:
        """Return the order of a problem: those of the first file, then by file and place."""
        span = problem.span
        if span is None:
            return False, "", 0, 0
        return span.file != str(path), span.file, span.line, span.column

    problems.sort(key=place)
    if any(problem.severity == "error" for problem in problems):
        raise GenieError(problems, sources=sources)
    return OwnLists(
        _join_lists(zip((line.use for line in lines), read, strict=True)),
        {listed.name: listed.hash for listed in read},
        tuple(problems),
        {line.use: line.use_span for line in lines},
        sources,
        text,
    )


def _read_names(path: Path | str) -> str:
    try:
        return read_text(path, code="A010")
    except OSError as error:
        hint = "give a values.tsv: NAME<tab>PATH, one list a line"
        message = f"cannot read {path}: {error.strerror or error}"
        raise GenieError(Problem("A001", message, hint=hint)) from None


def _join_lists(lists: Iterable[tuple[str, ReadList]]) -> dict[str, ValueList]:
    """Return the lists by use; several for one name are put together."""
    texts: dict[str, list[str]] = {}
    weights: dict[str, list[float]] = {}
    names: dict[str, dict[str, None]] = {}
    for use, listed in lists:
        texts.setdefault(use, []).extend(listed.texts)
        weights.setdefault(use, []).extend(listed.weights)
        names.setdefault(use, {})[listed.name] = None
    return {
        use: value_list(
            " + ".join(names[use]), use if use in kinds() else "", texts[use], weights[use]
        )
        for use in texts
    }


# ------------------------------------------------------------------------------------ lines


def _lines(text: str, file: str, language: str) -> tuple[list[_NamedList], list[Problem]]:
    lines: list[_NamedList] = []
    problems: list[Problem] = []
    for number, row in enumerate(text.split("\n"), start=1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        cells = row.split("\t")
        spans = tuple(_spans(cells, number, file))
        if number == 1 and [cell.strip() for cell in cells[:2]] == ["name", "path"]:
            continue
        is_genie = cells[0].strip() in GENIE
        line = _genie_line(cells, spans, language) if is_genie else _own_line(cells, spans)
        if isinstance(line, Problem):
            problems.append(line)
        elif line is not None:
            lines.append(line)
    if not lines and not any(p.severity == "error" for p in problems):
        place = Span(file, 1, 1, 1, 1)
        message = "expected a list in the file, got none"
        problems.append(Problem("A002", message, place, "a line is NAME<tab>PATH<tab>COLUMN"))
    return lines, problems + list(_lines_given_twice(lines))


def _spans(cells: Iterable[str], number: int, file: str) -> Iterator[Span]:
    column = 1
    for cell in cells:
        yield Span(file, number, column, number, column + len(cell))
        column += len(cell) + 1


def _own_line(cells: list[str], spans: tuple[Span, ...]) -> _NamedList | Problem:
    cells = [cell.strip() for cell in cells]
    if not 2 <= len(cells) <= 3 or not cells[0] or not cells[1]:
        message = f"expected a name, a path and, if need be, a column, got {len(cells)} cells"
        return Problem("A002", message, _span_of_line(spans), "cells are separated by one tab")
    column = cells[2] if len(cells) == 3 and cells[2] else None
    return _NamedList(cells[0], cells[1], column, "own", spans[1], spans[0])


def _genie_line(cells: list[str], spans: tuple[Span, ...], language: str) -> _NamedList | Problem:
    """Return one of Genie's lines, or a warning for one of another language."""
    cells = [cell.strip() for cell in cells]
    if not 3 <= len(cells) <= 4:
        expected = f"{cells[0]}, a locale if need be, a type and a path"
        message = f"expected {expected}, got {len(cells)} cells"
        return Problem("A002", message, _span_of_line(spans), "cells are separated by one tab")
    if len(cells) == 4 and not cells[1].lower().startswith(language):
        message = f"list for the locale {cells[1]!r} is left out"
        hint = f"sentences are in {language}"
        return Problem("A002", message, spans[1], hint, severity="warning")
    return _NamedList(cells[-2], cells[-1], None, cells[0], spans[-1], spans[-2])


def _span_of_line(spans: tuple[Span, ...]) -> Span:
    first, last = spans[0], spans[-1]
    return Span(first.file, first.line, first.column, last.end_line, last.end_column)


def _lines_given_twice(lines: Iterable[_NamedList]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for line in lines:
        if (line.use, line.path) in seen:
            message = f"the list {line.path} is given twice for {line.use}"
            hint = "delete this line"
            yield Problem("A009", message, line.use_span, hint, severity="warning")
        seen.add((line.use, line.path))


def _unknown_names(lines: Iterable[_NamedList], library: Library) -> Iterator[Problem]:
    """Yield the names that nothing in the library has; Genie's files list those of all skills."""
    names = _known_names(library)
    for line in lines:
        if line.use in names:
            continue
        why = "no skill has it" if line.form in GENIE else "neither a kind nor of the skills"
        parameters = {name for name in names if ":" in name}
        hint = did_you_mean(line.use, parameters if ":" in line.use else names) or (
            "give a shipped kind, an entity type, a tag, or a parameter such as @com.x.f:name"
        )
        severity: Severity = "warning" if line.form in GENIE else "error"
        message = f"unknown name {line.use!r}: {why}"
        yield Problem("A003", message, line.use_span, hint, severity)


def _known_names(library: Library) -> set[str]:
    names = {*kinds(), *library.entity_types, *library.value_lists}
    # Those of other classes are of no use here.
    names.update(use for use in kinds_by_use() if ":" not in use or use.startswith("tt:"))
    for signature in library.functions():
        for parameter in signature.parameters:
            names |= {f"{signature.qualified}:{parameter.name}", parameter.name}
            if parameter.value_list is not None:
                names.add(parameter.value_list)
    return names
