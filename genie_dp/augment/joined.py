"""Two plain commands as one row: "turn off the lights and lock the door"."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from genie_dp.augment.config import AugmentConfig
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.forms import MARKS
from genie_dp.languages.library import Library
from genie_dp.languages.types import STRING, is_slot, slot_type
from genie_dp.records import Example
from genie_dp.rng import KeyedRandom

_NOT_PLAIN = frozenset(MARKS) - {"refer"}
_MARKS_OF_SENTENCES = frozenset((",", ".", "?", "!", ";", ":"))


def join_commands(
    rows: Sequence[Example], config: AugmentConfig, language: Language, library: Library | None
) -> Iterator[Example | None]:
    """Yield for each row another one that joins it to a later or earlier row, or None.

    Only plain commands are joined, with a word of the locale's `joining` between them. A row's draw
    depends on the seed, its id and the rows given here.

    Raises:
        GenieError: A114, programs of the language cannot be joined.
    """
    if not language.sequence:
        message = f"programs of {language.name} cannot be joined"
        raise GenieError(Problem("A114", message, hint="leave out --joined"))
    commands = [row for row in rows if is_plain_command(row, language, library)]
    joining, rng = config.place.words.joining, KeyedRandom()
    ids = {row.id for row in commands}
    for row in rows:
        rng.restart(f"{config.seed}:{row.id}:joined".encode())
        if row.id not in ids or rng.random() >= config.joined or _ends_in_text(row):
            yield None
            continue
        second_command = rng.choice(commands)
        is_same = second_command.functions == row.functions
        joint = rng.choice(joining)
        yield None if is_same else _join(row, second_command, joint, language, library)


def is_plain_command(row: Example, language: Language, library: Library | None) -> bool:
    """Return whether a row asks for one action, done now, in a sentence that others may follow."""
    tokens = row.utterance.split(" ")
    if len(row.functions) != 1 or not _MARKS_OF_SENTENCES.isdisjoint(tokens):
        return False
    marks = frozenset(language.form(row.program).marks)
    signature = library.signature(row.functions[0]) if library else None
    is_action = signature is None or signature.kind == "action"
    return is_action and (marks >= MARKS.keys() or marks.isdisjoint(_NOT_PLAIN))


def _ends_in_text(row: Example) -> bool:
    """Return whether a row ends in a text, which would swallow a command behind it."""
    return slot_type(row.utterance.rsplit(" ", 1)[-1]) == STRING


def _join(
    first: Example, second: Example, joint: str, language: Language, library: Library | None
) -> Example:
    names = _free_names(first, second)

    def rename(text: str) -> str:
        return " ".join(names.get(token, token) for token in text.split(" "))

    both = language.sequence.join((first.program, rename(second.program)))
    program = language.canonical(language.from_tokens(both, library), library)
    slots = {names.get(token, token): slot for token, slot in second.slots.items()}
    return replace(
        first,
        id=f"{first.id}+{second.id}",
        utterance=f"{first.utterance} {joint} {rename(second.utterance)}",
        program=language.tokens(program, library),
        parent=first.id,
        derivation=(*first.derivation, *second.derivation),
        functions=(*first.functions, *second.functions),
        depth=max(first.depth, second.depth) + 1,
        slots={**first.slots, **slots},
    )


def _free_names(first: Example, second: Example) -> dict[str, str]:
    """Return new names for the placeholders of a row: NUMBER_0 is NUMBER_1 behind another."""
    taken: dict[str, int] = {}
    for token in filter(is_slot, first.utterance.split(" ")):
        stem, _, number = token.rpartition("_")
        taken[stem] = max(taken.get(stem, 0), int(number) + 1)
    names = {}
    for token in filter(is_slot, second.utterance.split(" ")):
        stem, _, number = token.rpartition("_")
        names[token] = f"{stem}_{int(number) + taken.get(stem, 0)}"
    return names
