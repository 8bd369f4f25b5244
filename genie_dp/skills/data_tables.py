"""Tables of data that queries answer from: SQLite, CSV, Parquet, JSON, types of schema.org.

Numbers and dates in texts are written as programs have them, if all of a column have one form.
"""

import json
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.library import Library
from genie_dp.skills.annotations import text_of
from genie_dp.skills.delimited import read_delimited, repeated
from genie_dp.skills.model import SkillLibrary
from genie_dp.texts import read_text, word_set

MOST_ROWS = 20_000  # of a table that are looked at
_SQLITE = b"SQLite format 3\0"


Rows = list[dict[str, Any]]


@dataclass(slots=True)
class RawTable:
    """A table as it is read.

    Attributes:
        declared: column -> its declared type in upper case, where the source has one.
        unsaid: columns that only join tables, with the reason.
        formats: columns whose values were written in another form -> the note on that form.
        has_comma: whether decimals seem to have a comma.
    """

    name: str
    rows: Rows
    columns: list[str]
    declared: dict[str, str] = field(default_factory=dict)
    unsaid: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    has_comma: bool = False


_Reader = Callable[[Path, Sequence[str], int | None], Iterable[RawTable]]
"""Reads the tables of a file, of schema.org the types named; so many rows, or all for None."""


def connect(path: Path) -> sqlite3.Connection:
    """Return a database of the tables of a file: SQLite's own, to be read only, else one in memory.

    Raises:
        GenieError: R090, it is no file of `read_tables`.
    """
    if _reader_of(path) is _sqlite_tables:
        return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    database = sqlite3.connect(":memory:")
    for table in read_raw(path, (), None):
        names = ", ".join(_sql_name(column) for column in table.columns)
        marks = ", ".join("?" * len(table.columns))
        database.execute(f"CREATE TABLE {_sql_name(table.name)} ({names})")
        rows = ([_cell(row.get(column)) for column in table.columns] for row in table.rows)
        database.executemany(f"INSERT INTO {_sql_name(table.name)} VALUES ({marks})", rows)
    return database


def data_places(library: Library) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the places of queries' results in data: function -> (table, parameter -> column).

    Classes set it by `#[table="patients"]`, and `#[column="weight_kg"]` where a column has another
    name than its parameter.
    """
    places: dict[str, tuple[str, dict[str, str]]] = {}
    skills = library.skills if isinstance(library, SkillLibrary) else ()
    for declared in (each for skill in skills for each in skill.classes):
        for function in declared.functions:
            table = text_of(function.annotations, "table")
            if table is not None:
                told = ((p.name, text_of(p.annotations, "column")) for p in function.params)
                columns = {name: column or name for name, column in told}
                places[f"@{declared.name}.{function.name}"] = table, columns
    return places


PHONES = word_set("phone tel telephone mobile cell fax")


_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9ß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")


def name_parts(name: str) -> list[str]:
    """Return the words of a name in small letters, as people write them.

    >>> name_parts("Weight (kg)"), name_parts("birthDate"), name_parts("Customer’s Größe")
    (['weight', 'kg'], ['birth', 'date'], ["customer's", 'größe'])
    """
    text = unicodedata.normalize("NFC", name).replace("’", "'")
    return _WORDS.findall(_CAMEL.sub(" ", text).lower())


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cell(value: Any) -> Any:
    """Return a value as SQLite keeps it: lists as JSON, dates as ISO text, "" as nothing."""
    if isinstance(value, list | Mapping):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bool | int | float | bytes | None):
        return value
    return str(value) or None


def read_raw(path: Path, only: Sequence[str], most: int | None) -> Iterator[RawTable]:
    """Yield the tables of a file; SQLite is queried directly, other texts are put into one form.

    Raises:
        GenieError: R094, two columns of a table have one name.
    """
    reader = _reader_of(path)
    for table in reader(path, only, most):
        if name := repeated(table.columns):
            message = f"{path}: two columns of {table.name!r} are called {name!r}"
            raise GenieError(Problem("R094", message, hint="give each its own name"))
        if reader is not _sqlite_tables:
            _write_numbers(table)
            _write_dates(table)
        yield table


def _texts_of(table: RawTable, column: str) -> list[str]:
    """Return the different texts of a column; none where it has other values than texts."""
    values = [row[column] for row in table.rows[:MOST_ROWS] if row.get(column) not in (None, "")]
    if not all(isinstance(value, str) and len(value) <= 30 for value in values):
        return []
    return [*dict.fromkeys(value.strip() for value in values)]


# Forms of numbers: what parts thousands, what parts decimals, and how one is written.
_NUMBER_FORMS = {
    "1234.5": re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?"),
    "1,234.5": re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?|\d+(\.\d+)?"),
    "1.234,5": re.compile(r"[1-9]\d{0,2}(\.\d{3})+(,\d+)?|\d+(,\d+)?"),
    "1 234,5": re.compile(r"[1-9]\d{0,2}([ \u00a0\u202f]\d{3})+(,\d+)?|\d+(,\d+)?"),
    "1'234.5": re.compile(r"[1-9]\d{0,2}(['’]\d{3})+(\.\d+)?|\d+(\.\d+)?"),
}
_PLAIN_FORM, _COMMA_FORM = "1234.5", "1.234,5"
_CURRENCY = r"[€$£¥]|usd|eur|gbp|chf|jpy"
_AMOUNT = re.compile(
    rf"(?P<sign>[+\-−]?)\s*(?P<money>{_CURRENCY})?\s*(?P<inner>[+\-−]?)(?P<number>\d.*?)"
    rf"\s*(?P<after>%|{_CURRENCY})?",
    re.IGNORECASE,
)
IS_CODE = re.compile(r"[+-]?0\d")  # "01234" is no amount


def _write_numbers(table: RawTable) -> None:
    """Write the numbers of columns as programs have them, if all of a column have one form."""
    amounts: dict[str, dict[str, re.Match[str]]] = {}
    forms: dict[str, list[str]] = {}
    for column in table.columns:
        found = _amounts_of(table, column)
        numbers = [match["number"] for match in found.values()]
        fitting = [f for f, form in _NUMBER_FORMS.items() if all(map(form.fullmatch, numbers))]
        if fitting and found:
            amounts[column], forms[column] = found, fitting
        elif found and all(map(_is_number, numbers)):
            table.formats[column] = "its numbers are written in several ways, and stay texts"
    sure = {fitting[0] for fitting in forms.values() if _COMMA_FORM not in fitting}
    has_points = any("." in form for form in sure)
    has_commas = any(_PLAIN_FORM not in fitting and "1,234.5" not in fitting
                     and "1'234.5" not in fitting for fitting in forms.values())  # fmt: skip
    table.has_comma = has_commas or (table.has_comma and not has_points)
    for column, found in amounts.items():
        fitting = forms[column]
        is_sure = has_commas or _PLAIN_FORM not in fitting
        is_comma = table.has_comma and is_sure and _COMMA_FORM in fitting
        _write_amounts(table, column, found, _COMMA_FORM if is_comma else fitting[0], fitting)


def _is_number(text: str) -> bool:
    return any(form.fullmatch(text) for form in _NUMBER_FORMS.values())


def _amounts_of(table: RawTable, column: str) -> dict[str, re.Match[str]]:
    """Return the texts of a column as amounts; none where some are codes, or something else."""
    texts = _texts_of(table, column)
    found = {text: match for text in texts if (match := _AMOUNT.fullmatch(text))}
    has_codes = any(IS_CODE.match(match["number"]) for match in found.values())
    is_phone = not PHONES.isdisjoint(name_parts(column))
    return {} if len(found) < len(texts) or has_codes or is_phone else found


def _write_amounts(
    table: RawTable,
    column: str,
    found: Mapping[str, re.Match[str]],
    form: str,
    fitting: Sequence[str],
) -> None:
    kinds = {(match["money"] or match["after"] or "").lower() for match in found.values()}
    if all(match["number"].isdigit() for match in found.values()):
        form = _PLAIN_FORM
    if form == _PLAIN_FORM and kinds == {""}:
        return
    notes = []
    if form != _PLAIN_FORM:
        others = [f for f in fitting if f in (_PLAIN_FORM, "1,234.5", _COMMA_FORM) and f != form]
        doubt = f", though they might be as {others[0]}" if others else ""
        notes.append(f"its numbers are written as {form}{doubt}")
    if "%" in kinds:
        notes.append("its numbers are percentages")
    elif kinds != {""}:
        table.declared.setdefault(column, "MONEY")
        notes.append(f"its amounts are in {', '.join(sorted(kinds - {''}))}")
    table.formats[column] = "; ".join(notes)
    written = {text: _written_number(match, form) for text, match in found.items()}
    for row in table.rows:
        text = row.get(column)
        if isinstance(text, str) and text.strip() in written:
            row[column] = written[text.strip()]


def _written_number(match: re.Match[str], form: str) -> str:
    number = re.sub(r"[ '’\u00a0\u202f]", "", match["number"])
    if form in (_COMMA_FORM, "1 234,5"):
        number = number.replace(".", "").replace(",", ".")
    elif form == "1,234.5":
        number = number.replace(",", "")
    is_negative = (match["sign"] or match["inner"]) in ("-", "−")
    return f"-{number}" if is_negative else number


_DAYS_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y")
_DATE_FORMATS = (
    "%Y/%m/%d", "%Y.%m.%d", "%m/%d/%Y", *_DAYS_FIRST, "%b %d %Y",
    "%b %d, %Y", "%B %d %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %Y", "%B %Y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def _write_dates(table: RawTable) -> None:
    """Write the dates of columns as ISO text, if by one format all of a column are dates."""
    formats: dict[str, list[str]] = {}
    for column in table.columns:
        texts = _texts_of(table, column)
        known = (f"{day}{time}" for day in _DATE_FORMATS for time in _TIMES)
        fitting = [f for f in known if all(_date_of(text, f) for text in texts)] if texts else []
        if fitting:
            formats[column] = fitting
    sure = [fitting[0] for fitting in formats.values() if len(fitting) == 1]
    is_day_first = any(f.startswith(_DAYS_FIRST) for f in sure) or (
        table.has_comma and not any(f.startswith("%m/") for f in sure)
    )
    for column, fitting in formats.items():
        format_ = fitting[-1] if is_day_first else fitting[0]
        table.formats[column] = f"its dates are written as {format_}"
        if len(fitting) > 1:
            other = fitting[0] if is_day_first else fitting[-1]
            table.formats[column] += f", though they might be as {other}"
        for row in table.rows:
            text = row.get(column)
            moment = _date_of(text, format_) if isinstance(text, str) else None
            if moment is not None:
                is_day = "%H" not in format_ and "%I" not in format_
                row[column] = moment.date().isoformat() if is_day else moment.isoformat()


def _date_of(text: str, format_: str) -> datetime | None:
    try:
        return datetime.strptime(text.strip(), format_)
    except ValueError:
        return None


def _reader_of(path: Path) -> _Reader:
    suffix = path.suffix.lower()
    try:
        with open(path, "rb") as file:
            begin = file.read(len(_SQLITE))
    except OSError as error:
        problem = Problem("R090", f"cannot read {path}: {error.strerror}")
        raise GenieError(problem) from None
    if begin == _SQLITE:
        return _sqlite_tables
    readers: Mapping[str, _Reader] = {
        ".csv": _csv_tables, ".tsv": _csv_tables, ".parquet": _parquet_tables,
        ".json": _json_tables, ".jsonl": _json_tables, ".jsonld": _json_tables,
    }  # fmt: skip
    if suffix not in readers:
        hint = f"it may be an SQLite file, or end in {', '.join(readers)}"
        raise GenieError(Problem("R090", f"{path} is no table that can be read", hint=hint))
    return readers[suffix]


# -------------------------------------------------------------------------------- sources


def _sqlite_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[RawTable]:
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        names = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid"
        ).fetchall()
        for (name,) in names:
            quoted = _sql_name(name)
            info = database.execute(f"PRAGMA table_info({quoted})").fetchall()
            columns = [row[1] for row in info]
            declared = {row[1]: str(row[2]).upper() for row in info}
            joined = database.execute(f"PRAGMA foreign_key_list({quoted})").fetchall()
            unsaid = {row[3]: f"it points to the table {row[2]!r}" for row in joined}
            rows = database.execute(
                f"SELECT * FROM {quoted} LIMIT {-1 if most is None else most}"
            ).fetchall()
            named = [dict(zip(columns, row, strict=True)) for row in rows]
            yield RawTable(name, named, columns, declared, unsaid)


def _csv_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[RawTable]:
    sign = "\t" if path.suffix.lower() == ".tsv" else ""
    read = read_delimited(path, delimiter=sign, most=most)
    unsaid = dict.fromkeys(read.unnamed, "it has no name")
    yield RawTable(
        path.stem, read.rows, read.columns, unsaid=unsaid, has_comma=read.delimiter == ";"
    )


def _parquet_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[RawTable]:
    try:
        from pyarrow import parquet
    except ImportError:
        hint = "pip install 'genie_dp[parquet]'"
        raise GenieError(Problem("R090", f"{path} needs pyarrow", hint=hint)) from None
    batches = parquet.ParquetFile(path).iter_batches()
    rows = islice((row for batch in batches for row in batch.to_pylist()), most)
    yield _of_objects(path.stem, list(rows))


def _json_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[RawTable]:
    text = read_text(path)
    lines = text.split("\n") if path.suffix.lower() == ".jsonl" else [text]
    found: list[Any] = []
    for number, line in enumerate(lines, start=1):
        try:
            found += [json.loads(line)] if line.strip() or len(lines) == 1 else []
        except json.JSONDecodeError as error:
            row = number + error.lineno - 1
            span = Span(str(path), row, error.colno, row, error.colno + 1)
            problem = Problem("R090", f"not JSON: {error.msg}", span, stage="syntax")
            raise GenieError(problem, sources={str(path): text}) from None
        except RecursionError:
            raise GenieError(Problem("R090", f"{path}: lists too deep in each other")) from None
    document: Any = found if path.suffix.lower() == ".jsonl" else found[0]
    if isinstance(document, Mapping) and "@graph" in document:
        yield from _schema_tables(document["@graph"], only)
        return
    lists = document.items() if isinstance(document, Mapping) else [(path.stem, document)]
    for name, rows in lists:
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
            yield _of_objects(name, rows[:most])


def _of_objects(name: str, objects: Sequence[Mapping[str, Any]]) -> RawTable:
    """Return a table of objects; the fields of objects inside of them are columns, too."""
    rows = [dict(_flat(row)) for row in objects]
    return RawTable(name, rows, list(dict.fromkeys(key for row in rows for key in row)))


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


_DATA_TYPES = {
    "Text": "TEXT", "Number": "NUMBER", "Integer": "NUMBER", "Float": "NUMBER",
    "Boolean": "BOOLEAN", "Date": "DATE", "DateTime": "DATE", "Time": "TIME", "URL": "URL",
    "Duration": "DURATION", "MonetaryAmount": "MONEY", "PriceSpecification": "MONEY",
    "Distance": "DISTANCE", "Mass": "MASS", "Energy": "ENERGY",
}  # fmt: skip


def _schema_tables(graph: Sequence[Mapping[str, Any]], only: Sequence[str]) -> Iterator[RawTable]:
    """Yield a table for each type of schema.org that is asked for, inherited columns included."""
    parents = {_last(node["@id"]): [*_ids(node, "rdfs:subClassOf")] for node in graph}
    properties = [node for node in graph if "rdf:Property" in _list(node.get("@type"))]
    for name in only:
        if name not in parents:
            continue
        kinds, waiting = [], [name]
        while waiting:
            kinds.append(waiting.pop(0))
            waiting += [kind for kind in parents.get(kinds[-1], ()) if kind not in kinds]
        declared: dict[str, str] = {}
        unsaid: dict[str, str] = {}
        for kind in kinds:
            for node in properties:
                column = _last(node["@id"])
                if kind in _ids(node, "schema:domainIncludes") and column not in declared:
                    ranges = [*_ids(node, "schema:rangeIncludes")]
                    known = next((_DATA_TYPES[r] for r in ranges if r in _DATA_TYPES), None)
                    declared[column] = known or "TEXT"
                    if _ids(node, "schema:supersededBy") or kind == "Thing" and column != "name":
                        unsaid[column] = "another says the same, or all things have it"
        yield RawTable(name, [], list(declared), declared, unsaid)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _ids(node: Mapping[str, Any], key: str) -> list[str]:
    return [_last(each["@id"]) for each in _list(node.get(key))]


def _last(identifier: str) -> str:
    return re.split(r"[:/#]", identifier)[-1]
