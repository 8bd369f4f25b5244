"""The metadata of a row: plain functions from a row to a value, and columns of public values.

The functions read one row and public things alone, so that the contribution of a unit to a table
depends on nothing but the unit. Other sources, such as a language model, give `Metadata`
themselves.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.languages.programs import functions_of
from genie_dp.languages.thingtalk.ast import Atom
from genie_dp.languages.thingtalk.traverse import walk
from genie_dp.private.ledger.guard import Units
from genie_dp.private.prior.histogram import functions_of_program
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.private.tables.schema import OTHER, Column, Metadata, Schema
from genie_dp.records import DEFAULT_LANGUAGE, Example
from genie_dp.rows import format_of
from genie_dp.run.files import open_input_text

Extractor = Callable[[Example], str]

FIELD = "field:"
# The most values of a column where nobody says; the others are one more.
MOST_VALUES = 100
# Columns whose values are those of a library.
OF_LIBRARY = frozenset(("function", "skill"))
_PLACEHOLDER = re.compile(r"(?<![\w@:.])([A-Z][A-Z_]*)_\d+\b")
_BUCKET = re.compile(r"(\d+)(?:(\+)|-(\d+))?")
# Words that questions begin with; "do you know", "is it", "what's" included.
_QUESTION_WORDS = (
    "what what's whats which who who's whose whom when when's where where's why how how's is are "
    "am was were do does did has have had can could will would shall should may might isn't "
    "aren't don't doesn't didn't can't"
)
_ASKING = frozenset(_QUESTION_WORDS.split())


def needs_library(columns: Iterable[str]) -> bool:
    """Return whether values of columns come from a library: functions and skills do."""
    return not OF_LIBRARY.isdisjoint(columns)


def names_of(columns: str) -> tuple[str, ...]:
    """Return columns that are named with commas between them.

    >>> names_of("function, length")
    ('function', 'length')
    """
    return tuple(name.strip() for name in columns.split(",") if name.strip())


def function(example: Example) -> str:
    """Return the first function of a row's program, in program order; "" where it has none."""
    return next(iter(example.functions), "")


def functions(example: Example) -> str:
    """Return the first two different functions, sorted: what the program is about, as a bag.

    >>> functions(Example("S1", "tweet my mail", "..", functions=("@d.b", "@c.a", "@e.f")))
    '@c.a @d.b'
    """
    return " ".join(sorted(tuple(dict.fromkeys(example.functions))[:2]))


def skill_of(name: str) -> str:
    """Return the skill of a function: the part before its last dot, or its whole name.

    >>> skill_of("@com.twitter.post"), skill_of("IN:GET_WEATHER")
    ('@com.twitter', 'IN:GET_WEATHER')
    """
    return name.rpartition(".")[0] or name


def skill(example: Example) -> str:
    """Return the skill of the first function."""
    return skill_of(function(example))


def filters(example: Example) -> str:
    """Return the number of comparisons in a ThingTalk program.

    >>> filters(Example("S1", "..", "now => ( @c.q ) filter param:a:Number > 3 => notify"))
    '1'
    """
    language = get_language(example.language)
    for read in (language.from_tokens, language.parse):
        try:
            program = read(example.program)
        except GenieError:
            continue  # its error may hold private text, and goes no further
        return str(sum(isinstance(node, Atom) for node in walk(program)))
    return ""


def length(example: Example) -> str:
    """Return the number of words, punctuation not counted.

    >>> length(Example("S1", "what's up , doc ?", ".."))
    '3'
    """
    return str(sum(any(c.isalnum() for c in word) for word in example.utterance.split()))


def form(example: Example) -> str:
    """Return whether a sentence asks or commands, by its mark or its first word (English).

    >>> form(Example("S1", "what is up", "..")), form(Example("S2", "wake me at TIME_0", ".."))
    ('question', 'command')
    """
    words = example.utterance.lower().replace(",", " ").split()
    if not words:
        return ""
    return "question" if words[-1].endswith("?") or words[0] in _ASKING else "command"


def slots(example: Example) -> str:
    """Return the types of the placeholders in sentence and program, sorted, as a bag; or "none".

    >>> slots(Example("S1", "tweet QUOTED_STRING_1 at TIME_0 or TIME_1", ".."))
    'QUOTED_STRING TIME'
    """
    types = {m[1] for m in _PLACEHOLDER.finditer(f"{example.utterance} {example.program}")}
    return " ".join(sorted(types)) or "none"


EXTRACTORS: Mapping[str, Extractor] = {
    "function": function,
    "functions": functions,
    "skill": skill,
    "filters": filters,
    "length": length,
    "form": form,
    "slots": slots,
}
# Their values, where they are the same for every library.
FIXED: Mapping[str, tuple[str, ...]] = {
    "filters": ("0", "1", "2", "3+", OTHER),
    "length": ("0-3", "4-6", "7-9", "10-12", "13-16", "17-24", "25+"),
    "form": ("question", "command"),
}
# Their values are ranges of numbers.
_NUMBERS = frozenset(("filters", "length"))


def extractor_of(column: Column) -> str:
    """Return the source of a column's values: by default the extractor of its name.

    >>> extractor_of(Column("length", ("0-9", "10+"))), extractor_of(Column("mood", ("+", "-")))
    ('length', 'field:mood')
    """
    if column.extract:
        return column.extract
    return column.name if column.name in EXTRACTORS else FIELD + column.name


def field_of(column: Column) -> str | None:
    """Return the field of private rows that a column needs, or None."""
    name = extractor_of(column)
    return name.removeprefix(FIELD) if name.startswith(FIELD) else None


def fields_of(schema: Schema) -> tuple[str, ...]:
    """Return the fields of private rows that a schema needs."""
    return tuple(dict.fromkeys(f for column in schema.columns if (f := field_of(column))))


def check_fields(fields: Sequence[str], private: Path, *, code: str) -> None:
    """Refuse fields where private rows have none: in TSV."""
    if fields and format_of(str(private)) == "tsv":
        message = f"rows of TSV have no field {fields[0]!r}"
        raise GenieError(Problem(code, message, hint="give the private rows as JSONL"))


def bucket_of(value: str, buckets: Sequence[str]) -> str:
    """Return the range that a number lies in; "" where none has it.

    >>> bucket_of("7", ["0-4", "5-9", "10+"]), bucket_of("2", ["0", "1", "2+"])
    ('5-9', '2+')
    """
    if not value.isdigit():
        return ""
    number = int(value)
    for bucket in buckets:
        if bounds := _BUCKET.fullmatch(bucket):
            low = int(bounds[1])
            high = number if bounds[2] else int(bounds[3] or low)
            if low <= number <= high:
                return bucket
    return ""


def check_extractors(schema: Schema, language: str) -> None:
    """Refuse columns whose values cannot come out, all at once.

    Raises:
        GenieError: T502, there is no such extractor, or none of the language; T501, values that are
            to be ranges of numbers are none, or leave a gap.
    """
    problems = [fault for column in schema.columns for fault in _extractor_faults(column, language)]
    if problems:
        raise GenieError(problems)


def _extractor_faults(column: Column, language: str) -> Iterator[Problem]:
    name = extractor_of(column)
    if name == FIELD:
        yield Problem("T502", f"column {column.name!r}: {FIELD} names no field")
    elif name not in EXTRACTORS and not name.startswith(FIELD):
        hint = did_you_mean(name, EXTRACTORS) or f"{', '.join(EXTRACTORS)} or field:NAME"
        yield Problem("T502", f"column {column.name!r}: there is no extractor {name!r}", hint=hint)
    if name == "filters" and name not in get_language(language).traits:
        message = f"column {column.name!r}: filters are counted in ThingTalk, not in {language}"
        yield Problem("T502", message, hint="leave the column out")
    if name not in _NUMBERS:
        return
    values = [value for value in column.values if value != OTHER]
    matches = [_BUCKET.fullmatch(value) for value in values]
    ends = [(int(m[1]), -1 if m[2] else int(m[3] or m[1])) for m in matches if m]
    rises = all(0 <= left[1] == right[0] - 1 for left, right in pairwise(ends))
    if len(ends) < len(values) or not rises or any(-1 < high < low for low, high in ends):
        hint = f"ranges such as {', '.join(FIXED[name])}"
        message = f"column {column.name!r}: expected ranges of numbers, one after the other"
        yield Problem("T501", message, hint=hint)


# ---------------------------------------------------------------------------------- records


def describe(schema: Schema, example: Example, fields: Mapping[str, str]) -> Metadata:
    """Return the metadata of one row; missing values of a column are OTHER or "".

    Args:
        schema: columns.
        example: the row.
        fields: its fields beside sentence and program.

    >>> schema = Schema((Column("length", ("0-3", "4+")), Column("intent", ("pay", OTHER))))
    >>> describe(schema, Example("S1", "send all of it back", ".."), {"intent": "refund"})
    {'length': '4+', 'intent': '<other>'}
    """
    metadata = {}
    for column in schema.columns:
        name, field = extractor_of(column), field_of(column)
        value = fields.get(field, "") if field is not None else EXTRACTORS[name](example)
        if name in _NUMBERS:
            value = bucket_of(value, column.values)
        if value not in column.values:
            value = OTHER if column.values[-1] == OTHER else ""
        metadata[column.name] = value
    return metadata


def example_of(row: PrivateRow, language: str) -> Example:
    """Return a private row as extractors see it, with the functions of its program."""
    program = row.program or ""
    names = functions_of_program(program, get_language(language)) if program else ()
    return Example("", row.utterance, program, language, "private", functions=names)


def metadata_of(schema: Schema, source: PrivateSource) -> Units[list[Metadata]]:
    """Return the metadata of private rows, by unit: private until a table of it is released."""
    return source.units.each(
        lambda unit: [
            describe(schema, example_of(row, source.language), row.fields) for row in unit
        ]
    )


# ------------------------------------------------------------------- columns of public values

PublicRow = tuple[Example, Mapping[str, str]]
"""A row with its fields beside sentence and program."""


def column_by_name(name: str) -> Column:
    """Return a column without values for a name, or raise GenieError (T502).

    >>> column_by_name("field:intent")
    Column(name='intent', values=(), extract='field:intent')
    >>> column_by_name("length")
    Column(name='length', values=(), extract='')
    """
    if name in EXTRACTORS:
        return Column(name, ())
    if name.startswith(FIELD) and len(name) > len(FIELD):
        return Column(name.removeprefix(FIELD), (), name)
    hint = did_you_mean(name, EXTRACTORS) or f"{', '.join(EXTRACTORS)} or field:NAME"
    raise GenieError(Problem("T502", f"there is no extractor {name!r}", hint=hint))


def adapt_schema(
    names: Sequence[str],
    *,
    library: Iterable[str] = (),
    public: Iterable[PublicRow] = (),
    language: str = DEFAULT_LANGUAGE,
    most: int = MOST_VALUES,
) -> Schema:
    """Return a schema with columns for extractors, of the values that are known publicly.

    Values are never read from private rows: the list of them would disclose which ones these have.
    Each column but those of fixed values ends in OTHER, for values not in the list. Public rows
    decide which values are kept where there are more than `most`; without any, all of the library
    are.

    Args:
        names: extractors, or field:NAME.
        library: functions.
        public: rows that may be published, such as synthesized ones; nothing private.
        language: of the programs.
        most: values of a column, at most, OTHER not counted.

    Raises:
        GenieError: T502, there is no such extractor; T506, no value of a column is known; T501,
            T503, these are no columns.
    """
    rows, functions_of_library = tuple(public), sorted(set(library))
    schema = Schema(
        tuple(
            _fill_column(column_by_name(name), functions_of_library, rows, most) for name in names
        )
    )
    check_extractors(schema, language)
    return schema


def _fill_column(
    column: Column, library: Sequence[str], rows: Sequence[PublicRow], most: int
) -> Column:
    name, field = extractor_of(column), field_of(column)
    if name in FIXED:
        return Column(column.name, FIXED[name], column.extract)
    counts = Counter(
        fields.get(field, "") if field is not None else EXTRACTORS[name](example)
        for example, fields in rows
    )
    for nothing in ("", OTHER):
        counts.pop(nothing, None)
    if name in OF_LIBRARY:
        of_library = {skill_of(each) if name == "skill" else each for each in library}
        if not counts:  # nothing says which ones matter
            most = len(of_library)
        # What no row has comes after what some have.
        counts.update(dict.fromkeys(of_library, 0))
    if not counts:
        hint = "give rows that have them with --public, or write them into a schema file"
        message = f"no value of the column {column.name!r} is known"
        raise GenieError(Problem("T506", message, hint=hint))
    most_frequent = sorted(counts, key=lambda value: (-counts[value], value))[:most]
    return Column(column.name, (*sorted(most_frequent), OTHER), column.extract)


def read_public_schema(
    names: Sequence[str],
    library: Library | None,
    public: Iterable[str],
    *,
    language: str,
    most: int,
) -> Schema:
    """Return `adapt_schema` of a library, None where it is not needed, and files of public rows.

    Raises:
        GenieError: those of `adapt_schema` and `read_public_fields`.
    """
    functions_of_library: Sequence[str] = ()
    if library is not None and needs_library(names):
        functions_of_library = library.names()
    rows = [row for name in public for row in read_public_fields(name, language)]
    return adapt_schema(
        names, library=functions_of_library, public=rows, language=language, most=most
    )


def read_public_fields(name: str, language: str) -> Iterator[PublicRow]:
    """Yield public rows of JSONL, with all their fields that are text.

    Raises:
        GenieError: T511, a line is no row; T509, a row is of source private.
    """
    with open_input_text(name) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield _read_public_row(line, Span(name, number, 1, number, len(line)), language)


def _read_public_row(line: str, place: Span, language: str) -> PublicRow:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("utterance"), str):
        message = "expected a JSON object with the field 'utterance'"
        raise GenieError(Problem("T511", message, place, "one row a line"))
    if row.get("source") == "private":
        message = f"{place.file} has rows of source private, so it is not public"
        raise GenieError(Problem("T509", message, place))
    fields = {key: str(value) for key, value in row.items() if type(value) in (str, int)}
    names = row.get("functions")
    listed = tuple(map(str, names)) if isinstance(names, list) else ()
    example = Example("", row["utterance"], fields.get("program", ""), language, functions=listed)
    return replace(example, functions=functions_of(example)), fields
