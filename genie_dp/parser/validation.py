"""The rows that choose the best weights and calibrate a parser's confidence."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.parser.canonical import canonical_text
from genie_dp.parser.config import ParserConfig
from genie_dp.parser.held_out import some_of
from genie_dp.parser.reading.prepare import Left
from genie_dp.parser.rows import Reading, RowMaker, Rows, Target, rows_in
from genie_dp.parser.skill_rows import evaluation_files, skill_rows
from genie_dp.records import Example


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence with its right program in canonical form.

    It is "" where the reader found no reading that agrees, or where it is none.
    """

    utterance: str
    program: str


def validation_rows(
    config: ParserConfig, target: Target, reading: Reading, rows: Rows
) -> tuple[Checked, ...]:
    """Return rows of the configuration's validation file, else those held out.

    A row in which no reading agrees with the program stays, and counts as wrong.

    Raises:
        GenieError: N005, the file has no rows.
    """
    if not config.validation:
        held = ((said, canonical_text(program, target)) for said, program in rows.held_out)
        return tuple(Checked(said, program) for said, program in held)
    maker = RowMaker(config, target, reading)
    found = tuple(
        _checked(row, maker, target)
        for row in some_of(named_rows(config.validation, target), config.validation_rows)
    )
    if not found:
        hint = "name a file with rows, or leave validation out"
        message = f"expected rows to validate with, got none in {config.validation}"
        raise GenieError(Problem("N005", message, hint=hint))
    return found


def validation_files(name: str) -> list[str]:
    """Return the files of a validation file, or of the skills in a folder; none of no name."""
    if not name:
        return []
    return list(map(str, evaluation_files([Path(name)]))) if Path(name).is_dir() else [name]


def named_rows(name: str, target: Target) -> Iterator[Example]:
    """Yield the rows of a file, or of the skills in a folder."""
    if Path(name).is_dir():
        yield from skill_rows([Path(name)], target.language, target.library)
        return
    language = target.language.name
    yield from (row for row in rows_in(name, language) if row.language == language)


def _checked(row: Example, maker: RowMaker, target: Target) -> Checked:
    made = row
    if maker.preparer is not None:
        found = maker.preparer.prepare(row)
        if isinstance(found, Left):
            return Checked(row.utterance, "")
        made = found.row
    # As what is decoded is compared; files are in the language's own style, whatever is learned.
    plain = replace(target, styled=target.language)
    return Checked(made.utterance, canonical_text(made.program, plain))
