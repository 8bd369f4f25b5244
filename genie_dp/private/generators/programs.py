"""Programs of private and of sampled rows: parsed, checked, and what they are made of."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from genie_dp.errors import GenieError
from genie_dp.languages.base import Language
from genie_dp.languages.thingtalk.fills import fills
from genie_dp.languages.thingtalk.slots import is_slot
from genie_dp.private.generators.codes import Codes
from genie_dp.private.generators.stages import Labelled
from genie_dp.private.ledger.guard import Units
from genie_dp.private.source import PrivateRow
from genie_dp.records import Example, Slot


class ProgramSource(Protocol):
    """A parser of utterances, such as one trained on few public rows."""

    def predict(self, utterances: Sequence[str]) -> list[str]:
        """Return a program in token form for each utterance, "" where there is none.

        An utterance's program depends on that utterance alone.
        """


@dataclass(frozen=True, slots=True)
class Checked:
    """A program that can be used: its canonical token form, functions and slots."""

    program: str
    functions: tuple[str, ...]
    slots: dict[str, Slot] = field(default_factory=dict)


def checked(tokens: Sequence[str], language: Language, library: Any) -> Checked | None:
    """Return what tokens say as a program, or None where they are none, or ill-typed."""
    try:
        tree = language.from_tokens(" ".join(tokens))
        if any(problem.severity == "error" for problem in language.check(tree, library)):
            return None
        canonical = language.canonical(tree, library)
        program = language.tokens(canonical, library)
    except GenieError:
        return None
    return Checked(
        program, tuple(language.functions(canonical)), _slots(canonical, language, library)
    )


def _slots(program: Any, language: Language, library: Any) -> dict[str, Slot]:
    if language.name != "thingtalk":
        return {}
    return {token: Slot(type_, name) for token, type_, name in fills(library, program)}


def functions_of(program: str, language: Language) -> Counter[str]:
    """Return how often a program uses each function; nothing where it cannot be read."""
    try:
        return language.functions(language.from_tokens(program))
    except GenieError:
        return Counter()


def public_rows(
    examples: Sequence[Example], language: Language, codes: Codes | None = None
) -> list[Labelled]:
    """Return public rows with what the stages want of them."""
    return [_labelled(row.utterance, row.program, language, codes) for row in examples]


def private_rows(
    units: Units[tuple[PrivateRow, ...]],
    language: Language,
    *,
    codes: Codes | None = None,
    with_programs: bool = True,
    parser: ProgramSource | None = None,
    library: Any = None,
) -> Units[tuple[Labelled, ...]]:
    """Return private rows with what the stages want of them, unit by unit.

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
                Labelled(tuple(row.utterance.split())) for row in unit if row.utterance.split()
            )
        )
    flat = [row for unit in units for row in unit]
    programs = (_in_tokens(program, language, library) for program in _parsed(flat, parser))

    def labelled(unit: tuple[PrivateRow, ...]) -> tuple[Labelled, ...]:
        rows = [(row.utterance, next(programs)) for row in unit]
        kept = (_labelled(words, program, language, codes) for words, program in rows if program)
        return tuple(row for row in kept if row.utterance and row.program)

    return units.each(labelled)


def _in_tokens(program: str, language: Language, library: Any) -> str:
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


def _parsed(rows: Sequence[PrivateRow], parser: ProgramSource | None) -> list[str]:
    if parser is None:
        return [row.program or "" for row in rows]
    # One by one: in a batch the last digits of a score follow its other rows, and with them, where
    # two programs are close, which is best. A unit would then change more than its own rows.
    utterances = [row.utterance for row in rows]
    said = {text: parser.predict([text])[0] for text in dict.fromkeys(utterances)}
    return [said[text] for text in utterances]


def _labelled(utterance: str, program: str, language: Language, codes: Codes | None) -> Labelled:
    code = codes.of(functions_of(program, language)) if codes else ""
    return Labelled(tuple(utterance.split()), tuple(program.split()), code)


def same_placeholders(utterance: Sequence[str], program: str) -> bool:
    """Tell whether sentence and program have the same placeholders.

    >>> same_placeholders("dim to NUMBER_0".split(), "now => @x.dim NUMBER_1")
    False
    """
    return set(filter(is_slot, utterance)) == set(filter(is_slot, program.split()))
