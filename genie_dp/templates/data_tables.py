"""Tables of data as a skill speaks of them: SQLite, CSV, Parquet, JSON, types of schema.org.

A table has columns with guessed types. Types follow from the values, the declared type and the
name: "weight_kg" is a Measure(kg), "price" a Currency, few different words are an Enum.
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

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.library import Library
from genie_dp.languages.thingtalk.sql import enum_name
from genie_dp.languages.units import SHIPPED
from genie_dp.skills.annotations import text_of
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import tokenize
from genie_dp.templates.delimited import read_delimited, repeated
from genie_dp.texts import read_text, without_accents

MOST_ROWS = 20_000  # of a table that are looked at
_MOST_WORDS_OF_ENUM = 12  # different values
_FEW = 6  # words of a name; more are a text
_SQLITE = b"SQLite format 3\0"


@dataclass(slots=True)
class Column:
    """A column, with the type that its values seem to have.

    Attributes:
        name: identifier in programs.
        source: what the table calls it; parts of nested objects are joined by dots.
        words: its name in words, without its unit.
        type: of ThingTalk, as written; "ID" of the table's own thing, "ID TABLE" of another's; ""
            where it is left out.
        why: the reason, where it is left out or a guess.
        texts: its different values, the most frequent first; those of lists one by one.
        is_list: its values are lists.
    """

    name: str
    source: str
    words: str
    type: str = ""
    why: str = ""
    texts: Sequence[str] = ()
    is_list: bool = False


@dataclass(slots=True)
class DataTable:
    """A table: what one row is called is `name`, an identifier.

    Attributes:
        source: what the data calls the table.
        words: what one row is called by people.
        rows: how many were looked at.
        doc: what it holds, where the source says so.
    """

    name: str
    source: str
    columns: list[Column]
    words: str = ""
    rows: int = 0
    doc: str = ""

    @property
    def key(self) -> Column | None:
        """Return the column by which a row is called."""
        return next((column for column in self.columns if column.type == "ID"), None)


Rows = list[dict[str, Any]]


@dataclass(slots=True)
class _Raw:
    """A table as it is read.

    Attributes:
        declared: column -> its declared type in upper case, where the source has one.
        unsaid: columns that only join tables, with the reason.
        formats: columns whose values were written in another form -> what is to be said of it.
        has_comma: whether decimals seem to have a comma.
    """

    name: str
    rows: Rows
    columns: list[str]
    declared: dict[str, str] = field(default_factory=dict)
    unsaid: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    has_comma: bool = False


_Reader = Callable[[Path, Sequence[str], int | None], Iterable[_Raw]]
"""Reads the tables of a file, of schema.org the types named; so many rows, or all for None."""


def read_tables(path: Path, only: Sequence[str] = ()) -> list[DataTable]:
    """Return the tables of a file: SQLite, CSV, TSV, Parquet, JSON, JSONL, schema.org's JSON-LD.

    Args:
        path: the file.
        only: tables to read, or types of schema.org; empty for all tables.

    Raises:
        GenieError: R090 it is none of these, R091 nothing is in it, R092 there is no such table.
    """
    raw = list(_read(path, only, MOST_ROWS))
    names = [table.name for table in raw]
    for name in only:
        if name not in names:
            hint = did_you_mean(name, names) or f"its tables are {', '.join(names) or 'none'}"
            raise GenieError(Problem("R092", f"{path} has no table {name!r}", hint=hint))
    found = [table for table in raw if not only or table.name in only]
    tables = [_described(table) for table in found if table.columns]
    _find_things(tables)
    if not tables:
        hint = "a table has named columns and at least one row"
        raise GenieError(Problem("R091", f"{path} has no table", hint=hint))
    return tables


def connect(path: Path) -> sqlite3.Connection:
    """Return a database of the tables of a file: SQLite's own, to be read only, else one in memory.

    Raises:
        GenieError: R090, it is no file of `read_tables`.
    """
    if _reader_of(path) is _sqlite_tables:
        return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    database = sqlite3.connect(":memory:")
    for table in _read(path, (), None):
        names = ", ".join(_sql_name(column) for column in table.columns)
        marks = ", ".join("?" * len(table.columns))
        database.execute(f"CREATE TABLE {_sql_name(table.name)} ({names})")
        rows = ([_cell(row.get(column)) for column in table.columns] for row in table.rows)
        database.executemany(f"INSERT INTO {_sql_name(table.name)} VALUES ({marks})", rows)
    return database


def data_places(library: Library) -> dict[str, tuple[str, dict[str, str]]]:
    """Return where data has what queries answer: function -> (table, parameter -> column).

    Classes say so by `#[table="patients"]`, and `#[column="weight_kg"]` where a column has another
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


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cell(value: Any) -> Any:
    """Return a value as SQLite keeps it: lists as JSON, dates as ISO text, "" as nothing."""
    if isinstance(value, list | Mapping):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bool | int | float | bytes | None):
        return value
    return str(value) or None


def _read(path: Path, only: Sequence[str], most: int | None) -> Iterator[_Raw]:
    """Yield the tables of a file; SQLite is asked as it is, texts of others are put into one form.

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


def _texts_of(table: _Raw, column: str) -> list[str]:
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
_IS_CODE = re.compile(r"[+-]?0\d")  # "01234" is no amount


def _write_numbers(table: _Raw) -> None:
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


def _amounts_of(table: _Raw, column: str) -> dict[str, re.Match[str]]:
    """Return the texts of a column as amounts; none where some are codes, or something else."""
    texts = _texts_of(table, column)
    found = {text: match for text in texts if (match := _AMOUNT.fullmatch(text))}
    has_codes = any(_IS_CODE.match(match["number"]) for match in found.values())
    is_phone = not _PHONES.isdisjoint(name_parts(column))
    return {} if len(found) < len(texts) or has_codes or is_phone else found


def _write_amounts(
    table: _Raw, column: str, found: Mapping[str, re.Match[str]], form: str, fitting: Sequence[str]
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


def _write_dates(table: _Raw) -> None:
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


def _sqlite_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[_Raw]:
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
            yield _Raw(name, named, columns, declared, unsaid)


def _csv_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[_Raw]:
    sign = "\t" if path.suffix.lower() == ".tsv" else ""
    read = read_delimited(path, delimiter=sign, most=most)
    unsaid = dict.fromkeys(read.unnamed, "it has no name")
    yield _Raw(path.stem, read.rows, read.columns, unsaid=unsaid, has_comma=read.delimiter == ";")


def _parquet_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[_Raw]:
    try:
        from pyarrow import parquet
    except ImportError:
        hint = "pip install 'genie_dp[parquet]'"
        raise GenieError(Problem("R090", f"{path} needs pyarrow", hint=hint)) from None
    batches = parquet.ParquetFile(path).iter_batches()
    rows = islice((row for batch in batches for row in batch.to_pylist()), most)
    yield _of_objects(path.stem, list(rows))


def _json_tables(path: Path, only: Sequence[str], most: int | None) -> Iterator[_Raw]:
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


def _of_objects(name: str, objects: Sequence[Mapping[str, Any]]) -> _Raw:
    """Return a table of objects; the fields of objects inside of them are columns, too."""
    rows = [dict(_flat(row)) for row in objects]
    return _Raw(name, rows, list(dict.fromkeys(key for row in rows for key in row)))


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


def _schema_tables(graph: Sequence[Mapping[str, Any]], only: Sequence[str]) -> Iterator[_Raw]:
    """Yield a table for each type of schema.org that is asked for, with what it inherits."""
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
        yield _Raw(name, [], list(declared), declared, unsaid)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _ids(node: Mapping[str, Any], key: str) -> list[str]:
    return [_last(each["@id"]) for each in _list(node.get(key))]


def _last(identifier: str) -> str:
    return re.split(r"[:/#]", identifier)[-1]


# ---------------------------------------------------------------------------- descriptions


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_RESERVED = word_set(
    """true false not now null as in and or of on new edge monitor filter sort count sum avg min max
    it self end_of_day start_of_day currentlocation enum join notify return agg compute any argmin
    argmax class query action out let policy"""
)


_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9ß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")


def name_parts(name: str) -> list[str]:
    """Return the words of a name in small letters, as people write them.

    >>> name_parts("Weight (kg)"), name_parts("birthDate"), name_parts("Customer’s Größe")
    (['weight', 'kg'], ['birth', 'date'], ["customer's", 'größe'])
    """
    text = unicodedata.normalize("NFC", name).replace("’", "'")
    return _WORDS.findall(_CAMEL.sub(" ", text).lower())


def identifier_of(name: str, default: str = "column") -> str:
    """Return a name as programs write it, or `default` where its letters are none of theirs.

    >>> identifier_of("Weight (kg)"), identifier_of("birthDate"), identifier_of("2nd owner")
    ('weight_kg', 'birth_date', 'n2nd_owner')
    >>> identifier_of("Größe"), identifier_of("Customer's Name"), identifier_of("顧客", "column_3")
    ('grosse', 'customers_name', 'column_3')
    """
    parts = (re.sub(r"[^a-z0-9]", "", without_accents(part)) for part in name_parts(name))
    text = "_".join(filter(None, parts)) or default
    text = text if text[0].isalpha() else f"n{text}"
    return f"{text}_of_it" if text in _RESERVED else text


def _described(raw: _Raw) -> DataTable:
    words = english.singular(" ".join(name_parts(raw.name)) or "table")
    table = DataTable(identifier_of(words, "table"), raw.name, [], words, len(raw.rows))
    taken: list[str] = []
    lasts = [column.rsplit(".", 1)[-1] for column in raw.columns]
    names = [identifier_of(last) for last in lasts]
    for place, (source, last) in enumerate(zip(raw.columns, lasts, strict=True), start=1):
        said = last if lasts.count(last) == 1 else source
        name, unit = _without_unit(identifier_of(said, f"column_{place}"), names)
        name = name.removesuffix("_name") if "." in said else name  # "worksFor.name"
        column = Column(_unique(name, taken), source, _words_of(said, name))
        taken.append(column.name)
        values = [row[source] for row in raw.rows if row.get(source) not in (None, "", [])]
        column.is_list = bool(values) and all(isinstance(value, list) for value in values)
        if column.is_list:
            values = [item for value in values for item in value if item is not None]
        declared = raw.declared.get(source, "")
        if source in raw.unsaid:
            column.why = raw.unsaid[source]
        elif not name_parts(source):
            column.why = "its name has no letters"
        elif raw.rows and not values:
            column.why = "it is empty"
        else:
            _guess_type(column, values, declared, unit)
            column.why = "; ".join(filter(None, (column.why, raw.formats.get(source, ""))))
        table.columns.append(column)
    _find_key(table, raw.rows)
    return table


# What names of columns have in short.
_IN_FULL = {
    "temp": "temperature", "max": "maximum", "min": "minimum", "avg": "average",
    "pct": "percentage", "amt": "amount", "qty": "quantity", "addr": "address",
    "dept": "department", "desc": "description", "tel": "phone number", "phone": "phone number",
    "email": "email address", "dob": "birth date", "url": "link",
}  # fmt: skip
_EXTREMES = ("maximum", "minimum", "average", "total")


def _words_of(source: str, name: str) -> str:
    """Return the words of a name, without the unit that its identifier has not either.

    >>> _words_of("temp_max", "temp_max"), _words_of("birthDate", "birth_date")
    ('maximum temperature', 'birth date')
    >>> _words_of("Größe (cm)", "grosse"), _words_of("Customer's name", "customers_name")
    ('größe', "customer's name")
    """
    parts = name_parts(source)
    whole = identifier_of(source)
    if name != whole and whole.startswith(f"{name}_"):
        parts = parts[: -(whole.count("_") - name.count("_"))]
    words = [_IN_FULL.get(word, word) for word in parts] or name.split("_")
    if words[-1] in _EXTREMES:
        words = [words[-1], *words[:-1]]
    return " ".join(words)


def _unique(name: str, taken: Iterable[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


_UNITS = {
    "kg": "kg", "g": "g", "mg": "mg", "lb": "lb", "lbs": "lb", "oz": "oz", "km": "km", "m": "m",
    "cm": "cm", "mm": "mm", "mi": "mi", "miles": "mi", "ft": "ft", "feet": "ft", "inch": "in",
    "inches": "in", "h": "h", "hours": "h", "hrs": "h", "min": "min", "mins": "min",
    "minutes": "min", "s": "s", "sec": "s", "secs": "s", "seconds": "s", "ms": "ms",
    "days": "day", "weeks": "week", "months": "mon", "years": "year", "celsius": "C",
    "fahrenheit": "F", "bytes": "byte", "kb": "KB", "mb": "MB", "gb": "GB", "kwh": "kWh",
    "kmh": "kmph", "mph": "mph", "ml": "ml", "l": "l", "w": "W", "v": "V", "bpm": "bpm",
    "kcal": "kcal", "calories": "kcal",
}  # fmt: skip
_MONEY = {"usd": "usd", "eur": "eur", "gbp": "gbp", "dollars": "usd", "euros": "eur"}
_PRICES = word_set("price cost fee salary revenue budget fare rent wage")


def _without_unit(name: str, others: Iterable[str] = ()) -> tuple[str, str]:
    """Return a name without the unit at its end, and the unit or "money"; "" without one.

    >>> _without_unit("weight_kg"), _without_unit("duration_in_minutes"), _without_unit("m")
    (('weight', 'kg'), ('duration', 'min'), ('m', ''))
    >>> _without_unit("wait_min"), _without_unit("wait_min", ["wait_max"])
    (('wait', 'min'), ('wait_min', ''))
    """
    rest, _, last = name.rpartition("_")
    if last == "min" and f"{rest}_max" in others:
        return name, ""
    rest = rest.removesuffix("_in")
    if not rest or rest in ("number", "num", "count", "n"):
        return name, ""
    if last in _MONEY:
        return rest, "money"
    unit = _UNITS.get(last, "")
    return (rest, unit) if unit in SHIPPED else (name, "")


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_PATTERNS = (
    (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), "Entity(tt:email_address)"),
    (re.compile(r"https?://\S+"), "Entity(tt:url)"),
)
_PHONE = re.compile(r"[+(]?\d[\d\s()/.-]{6,}\d")
_PHONES = word_set("phone tel telephone mobile cell fax")
_TRUTH = word_set("true false yes no y n t f 0 1")
_DECLARED = {
    "BOOLEAN": "Boolean", "BOOL": "Boolean", "DATE": "Date", "DATETIME": "Date",
    "TIMESTAMP": "Date", "TIME": "Time", "NUMBER": "Number", "URL": "Entity(tt:url)",
    "DURATION": "Measure(ms)", "MONEY": "Currency", "DISTANCE": "Measure(m)",
    "MASS": "Measure(kg)", "ENERGY": "Measure(kcal)",
}  # fmt: skip


def _guess_type(column: Column, values: Sequence[Any], declared: str, unit: str) -> None:
    """Say which type a column has, or why it has none."""
    texts = [_text(value) for value in values]
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    column.texts = sorted(counts, key=lambda text: -counts[text])
    parts = column.name.split("_")
    if any(isinstance(value, Mapping | list | bytes) for value in values):
        column.why = "its values are no texts and no numbers"
    elif parts[-1] in ("id", "uuid", "guid", "key", "hash"):
        column.why = "nobody says it"
    elif parts[-1] in ("latitude", "longitude", "lat", "lon", "lng"):
        column.why = "a place is said by its name"
    elif values and (all(isinstance(v, bool) for v in values) or _asks(column.name, counts)):
        column.type = "Boolean"
    elif declared in _DECLARED and (not texts or declared != "NUMBER"):
        column.type = _DECLARED[declared]
    elif texts and any(map(_IS_CODE.match, counts)) and all(map(_NUMBER.fullmatch, texts)):
        column.type, column.why = "String", "its numbers begin with 0: they are codes"
    elif all(map(_NUMBER.fullmatch, texts)) and texts:
        column.type = _type_of_numbers(column, unit)
    else:
        column.type = _type_of_texts(column, counts, len(texts))


def _asks(name: str, texts: Iterable[str]) -> bool:
    return name.startswith(("is_", "has_")) and {text.lower() for text in texts} <= _TRUTH


def _type_of_numbers(column: Column, unit: str) -> str:
    if unit == "money" or _PRICES & {*column.name.split("_")}:
        column.why = "its currency is not said: amounts are compared as they are"
        return "Currency"
    if unit:
        return f"Measure({unit})"
    is_long = any(len(text) >= 9 and text.isdigit() for text in column.texts[:20])
    if "phone" in column.name and is_long:
        return "Entity(tt:phone_number)"
    return "Number"


def _type_of_texts(column: Column, counts: Mapping[str, int], total: int) -> str:
    texts = column.texts
    if not texts:
        return "String"
    if {text.lower() for text in texts} <= _TRUTH - {"0", "1"}:
        return "Boolean"
    if all(map(_DATE.fullmatch, texts)):
        return "Date"
    if all(map(_TIME.fullmatch, texts)):
        return "Time"
    for pattern, type_ in _PATTERNS:
        if all(map(pattern.fullmatch, texts)):
            return type_
    is_phone = not _PHONES.isdisjoint(column.name.split("_")) or all(t[0] == "+" for t in texts)
    if is_phone and all(map(_PHONE.fullmatch, texts)):
        return "Entity(tt:phone_number)"
    are_few = len(texts) <= _MOST_WORDS_OF_ENUM and total >= 3 * len(texts) > 3
    are_words = all(len(tokenize(text)) <= 3 and not text[0].isdigit() for text in texts)
    names = {enum_name(text) for text in texts} - {""}
    if are_few and are_words and len(names) == len(texts):
        return f"Enum({', '.join(sorted(names))})"
    return "String"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(str(value).split())


_PARTS_OF_NAMES = word_set(
    "first_name last_name middle_name given_name family_name surname forename"
)
_KEYS = ("name", "title", "label", "full_name", "headline", "subject")


def _find_key(table: DataTable, rows: Rows) -> None:
    """Mark the column by which people call a row: short texts, hardly any of them twice.

    Of what is called a name by its own column, two rows may have the same: models of cars.
    """
    texts = [c for c in table.columns if c.type == "String" and not c.is_list]

    def names_rows(column: Column) -> bool:
        filled = sum(row.get(column.source) not in (None, "") for row in rows)
        some = column.texts[:200]
        short = sum(len(tokenize(text)) <= _FEW for text in some) >= 0.95 * len(some)
        least = 0.5 if column.name in (*_KEYS, table.name) else 0.9
        return short and (not rows or len(column.texts) >= least * max(1, filled))

    if sum(c.name in _PARTS_OF_NAMES for c in texts) > 1:
        texts = [c for c in texts if c.name not in _PARTS_OF_NAMES]
    by_name = [
        c for c in texts if c.name in (*_KEYS, table.name) or c.name.endswith(("_name", "_title"))
    ]
    for column in sorted(by_name, key=lambda c: c.name not in _KEYS):
        if names_rows(column):
            column.type = "ID"
            return


def _find_things(tables: Sequence[DataTable]) -> None:
    """Give columns whose texts are names of another table's rows the type of these."""
    for table in tables:
        others = [(each.name, each.key) for each in tables if each is not table]
        named = [(name, {*key.texts}) for name, key in others if key is not None]
        for column in table.columns:
            if column.type == "String" or column.type.startswith("Enum"):
                thing = next((name for name, texts in named if texts >= {*column.texts}), None)
                if thing is not None and len(column.texts) > 1:
                    column.type = f"ID {thing}"
