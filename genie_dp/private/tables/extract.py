"""What is said of a row: plain functions from a row to a value.

They read one row and public things alone, so that what a unit adds to a table depends on nothing
but the unit. Other sources of metadata, such as a language model, give `Metadata` themselves.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.ast import Atom
from genie_dp.languages.thingtalk.traverse import children
from genie_dp.private.ledger.guard import Units
from genie_dp.private.prior.read import functions_of
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.private.tables.schema import OTHER, Column, Metadata, Schema
from genie_dp.records import Example

Extractor = Callable[[Example], str]

FIELD = "field:"
_PLACEHOLDER = re.compile(r"(?<![\w@:.])([A-Z][A-Z_]*)_\d+\b")
_BUCKET = re.compile(r"(\d+)(?:(\+)|-(\d+))?")
# Words that questions begin with; "do you know", "is it", "what's" included.
_QUESTION_WORDS = (
    "what what's whats which who who's whose whom when when's where where's why how how's is are "
    "am was were do does did has have had can could will would shall should may might isn't "
    "aren't don't doesn't didn't can't"
)
_ASKING = frozenset(_QUESTION_WORDS.split())


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
    """Return the skill of a function: what stands before its last dot, or its whole name.

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
    program = _program(example)
    return "" if program is None else str(sum(isinstance(n, Atom) for n in _nodes(program)))


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in children(node):
        yield from _nodes(child)


def _program(example: Example) -> Any:
    """Return the syntax tree of a program in either form; None where it is none."""
    language = get_language(example.language)
    for read in (language.from_tokens, language.parse):
        try:
            return read(example.program)
        except GenieError:
            continue  # its error may hold private text, and goes no further
    return None


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
    found = {m[1] for m in _PLACEHOLDER.finditer(f"{example.utterance} {example.program}")}
    return " ".join(sorted(found)) or "none"


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
    """Return where a column's values come from: unless it says, the extractor of its name.

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


def bucket_of(value: str, buckets: Sequence[str]) -> str:
    """Return the range that a number lies in; "" where none has it.

    >>> bucket_of("7", ["0-4", "5-9", "10+"]), bucket_of("2", ["0", "1", "2+"])
    ('5-9', '2+')
    """
    return next((one for one in buckets if _is_in(value, one)), "")


def _is_in(value: str, bucket: str) -> bool:
    found = _BUCKET.fullmatch(bucket)
    if not found or not value.isdigit():
        return False
    low, number = int(found[1]), int(value)
    high = number if found[2] else int(found[3] or low)
    return low <= number <= high


def check_extractors(schema: Schema, language: str) -> None:
    """Refuse columns whose values cannot come out, all at once.

    Raises:
        GenieError: T502, there is no such extractor, or none of the language; T501, values that are
            to be ranges of numbers are none, or leave a gap.
    """
    problems = [fault for one in schema.columns for fault in _extractor_faults(one, language)]
    if problems:
        raise GenieError(problems)


def _extractor_faults(column: Column, language: str) -> Iterator[Problem]:
    name = extractor_of(column)
    if name == FIELD:
        yield Problem("T502", f"column {column.name!r}: {FIELD} names no field")
    elif name not in EXTRACTORS and not name.startswith(FIELD):
        hint = did_you_mean(name, EXTRACTORS) or f"{', '.join(EXTRACTORS)} or field:NAME"
        yield Problem("T502", f"column {column.name!r}: there is no extractor {name!r}", hint=hint)
    if name == "filters" and language != "thingtalk":
        message = f"column {column.name!r}: filters are counted in ThingTalk, not in {language}"
        yield Problem("T502", message, hint="leave the column out")
    if name in _NUMBERS:
        yield from _range_faults(column)


def _range_faults(column: Column) -> Iterator[Problem]:
    values = [value for value in column.values if value != OTHER]
    found = [_BUCKET.fullmatch(value) for value in values]
    ends = [(int(m[1]), -1 if m[2] else int(m[3] or m[1])) for m in found if m]
    rises = all(0 <= one[1] == other[0] - 1 for one, other in pairwise(ends))
    if len(ends) < len(values) or not rises or any(-1 < high < low for low, high in ends):
        hint = f"ranges such as {', '.join(FIXED[extractor_of(column)])}"
        message = f"column {column.name!r}: expected ranges of numbers, one after the other"
        yield Problem("T501", message, hint=hint)


# ---------------------------------------------------------------------------------- records


def describe(schema: Schema, example: Example, fields: Mapping[str, str]) -> Metadata:
    """Return the metadata of one row; what a column does not have is OTHER or "".

    Args:
        schema: columns.
        example: the row.
        fields: what it says beside sentence and program.

    >>> schema = Schema((Column("length", ("0-3", "4+")), Column("intent", ("pay", OTHER))))
    >>> describe(schema, Example("S1", "send all of it back", ".."), {"intent": "refund"})
    {'length': '4+', 'intent': '<other>'}
    """
    return {column.name: _value(column, example, fields) for column in schema.columns}


def _value(column: Column, example: Example, fields: Mapping[str, str]) -> str:
    name, wanted = extractor_of(column), field_of(column)
    value = fields.get(wanted, "") if wanted is not None else EXTRACTORS[name](example)
    if name in _NUMBERS:
        value = bucket_of(value, column.values)
    if value in column.values:
        return value
    return OTHER if column.values[-1] == OTHER else ""


def example_of(row: PrivateRow, language: str) -> Example:
    """Return a private row as extractors see it, with the functions of its program."""
    program = row.program or ""
    found = functions_of(program, get_language(language)) if program else ()
    return Example("", row.utterance, program, language, "private", functions=found)


def metadata_of(schema: Schema, source: PrivateSource) -> Units[list[Metadata]]:
    """Return the metadata of private rows, by unit: private until a table of it is released."""
    return source.units.each(
        lambda unit: [
            describe(schema, example_of(row, source.language), row.fields) for row in unit
        ]
    )
