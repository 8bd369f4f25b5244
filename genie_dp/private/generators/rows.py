"""Rows of generators: those that are learned from, with their programs, and those that were drawn.

Drawn rows are identified by their content, and by the run that the ledger has.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.languages.types import is_slot
from genie_dp.private.generators.codes import Codes
from genie_dp.private.generators.stages import LabelledRow
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Units
from genie_dp.private.source import PrivateRow
from genie_dp.records import Example, Slot, Spent
from genie_dp.rows import Rows, read_rows, rows_of
from genie_dp.run.manifest import manifest_of


class ProgramSource(Protocol):
    """A parser of utterances, such as one trained on few public rows."""

    def predict(self, utterances: Sequence[str]) -> list[str]:
        """Return a program in token form for each utterance, "" where there is none.

        An utterance's program depends on that utterance alone.
        """


OpenParser = Callable[[Path], ProgramSource]
"""Reads the folder of a parser; private stages know none of them."""


@dataclass(frozen=True, slots=True)
class ParserFolder:
    """The folder of a parser, whose manifest lists the rows that it learned of, and its reader."""

    path: Path
    opener: OpenParser

    def open(self) -> ProgramSource:
        """Return the parser."""
        return self.opener(self.path)


@dataclass(frozen=True, slots=True)
class _ParserPrograms:
    """A `Parser` as a ProgramSource; its class is of a later layer."""

    parser: Any

    def predict(self, utterances: Sequence[str]) -> list[str]:
        guesses = self.parser.predict(utterances, count=1)
        return [each[0].program if each else "" for each in guesses]


def use_parser(parser: Any, *, code: str = "H008") -> ParserFolder | None:
    """Return the folder of a parser that is loaded.

    Args:
        parser: a `Parser` that was read from a folder, or None.
        code: of the error.

    Raises:
        GenieError: it has no folder, whose manifest lists the rows that it learned of.
    """
    if parser is None:
        return None
    if parser.folder is None:
        message = "expected a parser that was read from its folder, got one of none"
        raise GenieError(Problem(code, message, hint="save the parser, then load it"))
    return ParserFolder(parser.folder, lambda _: _ParserPrograms(parser))


# Why a draw is no row, as told at the end.
NO_TEXT, TOO_LONG, NO_PROGRAM = "no text", "too long", "no well-typed program"
NO_PLACEHOLDER, NO_PARSE = "other placeholders than its program", "no program by the parser"
NO_ROUND_TRIP = "read as another program by the parser"


@dataclass(slots=True)
class SampleCounts:
    """The counts of draws. Counts of samples are no secret.

    Attributes:
        drawn: how many rows were begun.
        dropped: those that are none, by why.
    """

    drawn: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def row_count(self) -> int:
        """Return how many rows came out."""
        return self.drawn - self.dropped.total()


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program that can be used: its canonical token form, functions and slots."""

    program: str
    functions: tuple[str, ...]
    slots: dict[str, Slot] = field(default_factory=dict)


def check_program(
    tokens: Sequence[str], language: Language, library: Library | None
) -> CheckedProgram | None:
    """Return tokens as a program, or None where they are none, or ill-typed."""
    try:
        tree = language.from_tokens(" ".join(tokens))
        if any(problem.severity == "error" for problem in language.check(tree, library)):
            return None
        canonical = language.canonical(tree, library)
        program = language.tokens(canonical, library)
    except GenieError:
        return None
    uses = language.values.uses(canonical, library)
    slots = {token: Slot(type_, name) for token, type_, name in uses}
    return CheckedProgram(program, tuple(language.functions(canonical)), slots)


def count_functions(program: str, language: Language) -> Counter[str]:
    """Return how often a program uses each function; nothing where it cannot be read."""
    try:
        return language.functions(language.from_tokens(program))
    except GenieError:
        return Counter()


def read_public_rows(source: Rows | str | Path, language: Language) -> Sequence[Example]:
    """Return public rows; those of source private are none.

    Raises:
        GenieError: it has such rows, or rows of another language (H008).
    """
    public = rows_of(source)
    rows, name = list(public), public.name
    if any(row.source == "private" for row in rows):
        message = f"{name} has rows of source private, so it is not public"
        hint = "give rows of synthesize, or others that may be published"
        raise GenieError(Problem("H008", message, hint=hint))
    if any(row.language != language.name for row in rows):
        message = f"expected rows of the language {language.name!r} in {name}"
        raise GenieError(Problem("H008", message, hint="name their language with --language"))
    return rows


def label_public_rows(
    examples: Sequence[Example], language: Language, codes: Codes | None = None
) -> list[LabelledRow]:
    """Return public rows with the labels that the stages need."""
    return [_label_row(row.utterance, row.program, language, codes) for row in examples]


def label_private_rows(
    units: Units[tuple[PrivateRow, ...]],
    language: Language,
    *,
    codes: Codes | None = None,
    with_programs: bool = True,
    parser: ProgramSource | None = None,
    library: Library | None = None,
) -> Units[tuple[LabelledRow, ...]]:
    """Return private rows with the labels that the stages need, unit by unit.

    A row's label depends on the row alone, so that a unit changes nothing but its own rows. Rows
    that are to have a program and get none are left out; how many is private.

    Args:
        units: rows by unit.
        language: of the programs.
        codes: the control codes, if there are any.
        with_programs: whether programs are wanted.
        parser: writes the programs, also where rows have some; None takes those of the rows.
        library: skills or declarations, to write programs as tokens that people wrote as they do.
    """
    if not with_programs:
        return units.each(
            lambda unit: tuple(
                LabelledRow(tuple(row.utterance.split())) for row in unit if row.utterance.split()
            )
        )
    flat = [row for unit in units for row in unit]
    if parser is None:
        texts = [row.program or "" for row in flat]
    else:
        # One by one: in a batch the last digits of a score follow its other rows, and with them,
        # where two programs are close, which is best. A unit would then change more than its rows.
        sentences = dict.fromkeys(row.utterance for row in flat)
        program_of = {sentence: parser.predict([sentence])[0] for sentence in sentences}
        texts = [program_of[row.utterance] for row in flat]
    programs = (_write_tokens(text, language, library) for text in texts)

    def label_unit(unit: tuple[PrivateRow, ...]) -> tuple[LabelledRow, ...]:
        rows = [(row.utterance, next(programs)) for row in unit]
        labelled = (
            _label_row(words, program, language, codes) for words, program in rows if program
        )
        return tuple(row for row in labelled if row.utterance and row.program)

    return units.each(label_unit)


def _write_tokens(program: str, language: Language, library: Library | None) -> str:
    """Return a program that people wrote as tokens; one that is tokens, or none, as it is."""
    try:
        language.from_tokens(program)
    except GenieError:
        try:
            tree = language.canonical(language.parse(program), library)
            return language.tokens(tree, library)
        except GenieError:
            return program  # the error holds private text, and goes no further
    return program


def _label_row(
    utterance: str, program: str, language: Language, codes: Codes | None
) -> LabelledRow:
    code = codes.find_code(count_functions(program, language)) if codes else ""
    return LabelledRow(tuple(utterance.split()), tuple(program.split()), code)


def has_same_placeholders(utterance: Sequence[str], program: str) -> bool:
    """Return whether sentence and program have the same placeholders.

    >>> has_same_placeholders("dim to NUMBER_0".split(), "now => @x.dim NUMBER_1")
    False
    """
    return set(filter(is_slot, utterance)) == set(filter(is_slot, program.split()))


SAMPLE_COMMAND = "private sample"
_HINT = "give the file as genie-dp private sample wrote it; to draw rows again costs nothing"


class RowsFingerprint:
    """A hash of the sentences and programs of rows, in their order, in whatever format they lie."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def over(self, rows: Iterable[Example]) -> Iterator[Example]:
        """Yield the rows, and take each one up."""
        for row in rows:
            self._digest.update(json.dumps([row.utterance, row.program]).encode() + b"\n")
            yield row

    def text(self) -> str:
        """Return the hash of all rows so far, in hexadecimal digits."""
        return self._digest.hexdigest()


def read_drawn_rows(path: Path, spent: Spent, ledger: Ledger) -> tuple[Example, ...]:
    """Return the rows of a generator that was trained with a ledger.

    Args:
        path: of the rows; their manifest lies beside them.
        spent: the guarantee claimed for them.
        ledger: of the private rows.

    Raises:
        GenieError: F010, they are not as a generator of this ledger drew them.
    """
    file = Path(manifest_of(str(path)))
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise _strange(f"there is no manifest {file}, which says what was drawn") from None
    if (
        not isinstance(manifest, dict)
        or manifest.get("command") != SAMPLE_COMMAND
        or not all(map(manifest.get, ("spent", "run", "content")))
    ):
        raise _strange(f"{file} is no manifest of rows that were drawn")
    if manifest["spent"] != json.loads(json.dumps(asdict(spent))):
        raise _strange(f"{path} was drawn with another guarantee than that of --spent")
    if manifest["run"] not in (entry.run for entry in ledger.entries):
        hint = "give rows of a generator that was trained on this private file, with this ledger"
        raise _strange(f"{ledger.path} knows nothing of the generator that {path} is of", hint)
    fingerprint = RowsFingerprint()
    rows = tuple(fingerprint.over(read_rows(str(path))))
    if fingerprint.text() != manifest["content"]:
        raise _strange(f"{path} holds other rows, or in another order, than were drawn")
    return rows


def _strange(message: str, hint: str = _HINT) -> GenieError:
    return GenieError(Problem("F010", message, hint=hint))
