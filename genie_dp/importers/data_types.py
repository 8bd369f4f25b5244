"""Tables of data as a skill speaks of them: the things that rows are, and types of columns.

Types follow from the values, the declared type and the name: "weight_kg" is a Measure(kg), "price"
a Currency, few different words are an Enum.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.units import UNIT_NAMES
from genie_dp.skills.data_tables import (
    IS_CODE,
    MOST_ROWS,
    PHONES,
    RawTable,
    Rows,
    name_parts,
    read_raw,
)
from genie_dp.skills.words import tokenize
from genie_dp.texts import enum_name, without_accents, word_set

_MOST_WORDS_OF_ENUM = 12  # different values
_FEW = 6  # words of a name; more are a text


@dataclass(slots=True)
class InferredColumn:
    """A column, with the type that its values seem to have.

    Attributes:
        name: identifier in programs.
        source: its name in the table; parts of nested objects are joined by dots.
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
    """A table: `name` is the identifier of one row.

    Attributes:
        source: the name of the table in the data.
        words: the words for one row.
        rows: how many were looked at.
        doc: its description in the source, if any.
    """

    name: str
    source: str
    columns: list[InferredColumn]
    words: str = ""
    rows: int = 0
    doc: str = ""

    @property
    def key(self) -> InferredColumn | None:
        """Return the column by which a row is called."""
        return next((column for column in self.columns if column.type == "ID"), None)


def read_tables(path: Path, only: Sequence[str] = ()) -> list[DataTable]:
    """Return the tables of a file: SQLite, CSV, TSV, Parquet, JSON, JSONL, schema.org's JSON-LD.

    Args:
        path: the file.
        only: tables to read, or types of schema.org; empty for all tables.

    Raises:
        GenieError: R090 it is none of these, R091 nothing is in it, R092 there is no such table.
    """
    raw = list(read_raw(path, only, MOST_ROWS))
    names = [table.name for table in raw]
    for name in only:
        if name not in names:
            hint = did_you_mean(name, names) or f"its tables are {', '.join(names) or 'none'}"
            raise GenieError(Problem("R092", f"{path} has no table {name!r}", hint=hint))
    tables_read = [table for table in raw if not only or table.name in only]
    tables = [_describe_table(table) for table in tables_read if table.columns]
    _find_things(tables)
    if not tables:
        hint = "a table has named columns and at least one row"
        raise GenieError(Problem("R091", f"{path} has no table", hint=hint))
    return tables


# ---------------------------------------------------------------------------- descriptions


_RESERVED = word_set(
    """true false not now null as in and or of on new edge monitor filter sort count sum avg min max
    it self end_of_day start_of_day currentlocation enum join notify return agg compute any argmin
    argmax class query action out let policy"""
)


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


def _describe_table(raw: RawTable) -> DataTable:
    words = english.singular(" ".join(name_parts(raw.name)) or "table")
    table = DataTable(identifier_of(words, "table"), raw.name, [], words, len(raw.rows))
    taken: list[str] = []
    lasts = [column.rsplit(".", 1)[-1] for column in raw.columns]
    names = [identifier_of(last) for last in lasts]
    for place, (source, last) in enumerate(zip(raw.columns, lasts, strict=True), start=1):
        column_name = last if lasts.count(last) == 1 else source
        name, unit = _without_unit(identifier_of(column_name, f"column_{place}"), names)
        name = name.removesuffix("_name") if "." in column_name else name  # "worksFor.name"
        column = InferredColumn(_unique(name, taken), source, _words_of(column_name, name))
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
    number, free_name = 2, name
    while free_name in taken:
        free_name, number = f"{name}_{number}", number + 1
    return free_name


# Words at the end of a column's name that are units.
_UNITS = {
    word: UNIT_NAMES[word]
    for word in word_set(
        """
        kg g mg lb lbs oz km m cm mm mi miles ft feet inch inches h hours hrs min mins minutes
        s sec secs seconds ms days weeks months years celsius fahrenheit bytes kb mb gb kwh kmh mph
        ml l w v bpm kcal calories
        """
    )
}
_MONEY = word_set("usd eur gbp dollars euros")
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
    return (rest, _UNITS[last]) if last in _UNITS else (name, "")


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_PATTERNS = (
    (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), "Entity(tt:email_address)"),
    (re.compile(r"https?://\S+"), "Entity(tt:url)"),
)
_PHONE = re.compile(r"[+(]?\d[\d\s()/.-]{6,}\d")
_TRUTH = word_set("true false yes no y n t f 0 1")
_DECLARED = {
    "BOOLEAN": "Boolean", "BOOL": "Boolean", "DATE": "Date", "DATETIME": "Date",
    "TIMESTAMP": "Date", "TIME": "Time", "NUMBER": "Number", "URL": "Entity(tt:url)",
    "DURATION": "Measure(ms)", "MONEY": "Currency", "DISTANCE": "Measure(m)",
    "MASS": "Measure(kg)", "ENERGY": "Measure(kcal)",
}  # fmt: skip


def _guess_type(column: InferredColumn, values: Sequence[Any], declared: str, unit: str) -> None:
    """Set the type of a column, or note why it has none."""
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
    elif texts and any(map(IS_CODE.match, counts)) and all(map(_NUMBER.fullmatch, texts)):
        column.type, column.why = "String", "its numbers begin with 0: they are codes"
    elif all(map(_NUMBER.fullmatch, texts)) and texts:
        column.type = _type_of_numbers(column, unit)
    else:
        column.type = _type_of_texts(column, counts, len(texts))


def _asks(name: str, texts: Iterable[str]) -> bool:
    return name.startswith(("is_", "has_")) and {text.lower() for text in texts} <= _TRUTH


def _type_of_numbers(column: InferredColumn, unit: str) -> str:
    if unit == "money" or _PRICES & {*column.name.split("_")}:
        column.why = "its currency is not said: amounts are compared as they are"
        return "Currency"
    if unit:
        return f"Measure({unit})"
    is_long = any(len(text) >= 9 and text.isdigit() for text in column.texts[:20])
    if "phone" in column.name and is_long:
        return "Entity(tt:phone_number)"
    return "Number"


def _type_of_texts(column: InferredColumn, counts: Mapping[str, int], total: int) -> str:
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
    is_phone = not PHONES.isdisjoint(column.name.split("_")) or all(t[0] == "+" for t in texts)
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

    In a column called "name", two rows may have the same: models of cars.
    """
    texts = [c for c in table.columns if c.type == "String" and not c.is_list]

    def names_rows(column: InferredColumn) -> bool:
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
