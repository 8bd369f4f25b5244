"""A schema of what is known publicly: the library, and rows that may be published.

Values are never read from private rows: the list of them would tell which ones these have.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.private.tables.extract import (
    EXTRACTORS,
    FIELD,
    FIXED,
    check_extractors,
    extractor_of,
    field_of,
    skill_of,
)
from genie_dp.private.tables.schema import OTHER, Column, Schema
from genie_dp.records import Example

PublicRow = tuple[Example, Mapping[str, str]]
"""A row with its fields beside sentence and program."""


def named(name: str) -> Column:
    """Return a column without values for a name, or raise GenieError (T502).

    >>> named("field:intent")
    Column(name='intent', values=(), extract='field:intent')
    >>> named("length")
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
    language: str = "thingtalk",
    most: int = 100,
) -> Schema:
    """Return a schema with columns for extractors, of the values that are known publicly.

    Each column but those of fixed values ends in OTHER, for what nobody knew of. Public rows decide
    which values are kept where there are more than `most`; without any, all of the library are.

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
    rows = tuple(public)
    known = sorted(set(library))
    columns = tuple(_filled(named(name), known, rows, most) for name in names)
    schema = Schema(columns)
    check_extractors(schema, language)
    return schema


def _filled(column: Column, library: Sequence[str], rows: Sequence[PublicRow], most: int) -> Column:
    name, wanted = extractor_of(column), field_of(column)
    if name in FIXED:
        return Column(column.name, FIXED[name], column.extract)
    found = Counter(
        fields.get(wanted, "") if wanted is not None else EXTRACTORS[name](example)
        for example, fields in rows
    )
    for nothing in ("", OTHER):
        found.pop(nothing, None)
    of_library = {skill_of(one) if name == "skill" else one for one in library}
    if name not in ("function", "skill"):
        of_library = set()
    elif not found:
        # Nothing says which ones matter.
        most = len(of_library)
    # What no row has comes after what some have.
    found.update(dict.fromkeys(of_library, 0))
    if not found:
        hint = "give rows that have them with --public, or write them into a schema file"
        message = f"no value of the column {column.name!r} is known"
        raise GenieError(Problem("T506", message, hint=hint))
    kept = sorted(found, key=lambda value: (-found[value], value))[:most]
    return Column(column.name, (*sorted(kept), OTHER), column.extract)
