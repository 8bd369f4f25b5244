"""The rows that choose the best weights and calibrate a parser's confidence."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from genie_dp.augment.skill_rows import evaluation_files, is_evaluation, skill_rows
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.config import ParserConfig
from genie_dp.parser.reading.prepare import Left, Prepared
from genie_dp.parser.rows import (
    Reading,
    RowMaker,
    Rows,
    Target,
    canonical_text,
    rows_in,
    some_of,
)
from genie_dp.records import Example


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence with its right program in canonical form.

    It is "" where the reader found no reading that agrees, or where it is none, and OUT_OF_SCOPE
    where the sentence is to be refused.

    Attributes:
        derived: whether templates answer the sentence rightly; None if they leave it to a network.
    """

    utterance: str
    program: str
    derived: bool | None = None


def validation_rows(
    config: ParserConfig,
    target: Target,
    reading: Reading,
    rows: Rows,
    derive: Callable[[Sequence[Example]], Sequence[bool | None]] = lambda rows: [None] * len(rows),
) -> tuple[Checked, ...]:
    """Return rows of the configuration's validation file, else those held out.

    A row in which no reading agrees with the program stays, and counts as wrong.

    Args:
        derive: returns for rows of the file whether templates answer each rightly; None if not at
            all.

    Raises:
        GenieError: N005, the file has no rows.
    """
    if not config.validation:
        pairs = (
            (utterance, canonical_text(program, target)) for utterance, program in rows.held_out
        )
        return tuple(Checked(utterance, program) for utterance, program in pairs)
    maker = RowMaker(config, target, reading)
    # As what is decoded is compared; files are in the language's own style, whatever is learned.
    plain = replace(target, styled=target.language)
    checked_rows = []
    examples = list(some_of(named_rows(config.validation, target), config.validation_rows))
    for row, derived in zip(examples, derive(examples), strict=True):
        if row.program == OUT_OF_SCOPE:
            utterance = " ".join(maker.read_tokens(row.utterance))
            checked_rows.append(Checked(utterance, OUT_OF_SCOPE, derived))
            continue
        prepared = maker.preparer.prepare(row) if maker.preparer is not None else Prepared(row)
        is_left = isinstance(prepared, Left)
        program = "" if is_left else canonical_text(prepared.row.program, plain)
        checked_rows.append(Checked(prepared.row.utterance, program, derived))
    if not checked_rows:
        hint = "name a file with rows, or leave validation out"
        message = f"expected rows to validate with, got none in {config.validation}"
        raise GenieError(Problem("N005", message, hint=hint))
    return tuple(checked_rows)


def validation_files(name: str) -> list[str]:
    """Return the files of a validation file, or of the skills in a folder; none of no name."""
    if not name:
        return []
    return list(map(str, evaluation_files([Path(name)]))) if _has_sentences(name) else [name]


def _has_sentences(name: str) -> bool:
    return Path(name).is_dir() or is_evaluation(name)


def named_rows(name: str, target: Target) -> Iterator[Example]:
    """Yield the rows of a file, of an eval.tsv, or of the skills in a folder."""
    if _has_sentences(name):
        yield from skill_rows([Path(name)], target.language, target.library)
        return
    language = target.language.name
    for row in rows_in(name, language):
        if row.language == language or row.program == OUT_OF_SCOPE:
            yield row
