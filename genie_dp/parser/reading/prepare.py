"""Rows to train on, in the form in which a parser will be asked: both sides with placeholders.

The same reader makes them that will read what people type, so that the parser learns what the
reader does, its habits included.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from genie_dp.errors import GenieError
from genie_dp.languages.base import Language
from genie_dp.languages.thingtalk.fills import fills
from genie_dp.languages.thingtalk.slots import is_slot
from genie_dp.parser.reading.constants import Literal, key_of, literals
from genie_dp.parser.reading.phrases import Phrases, learn
from genie_dp.parser.reading.reading import (
    LOCALE,
    MOST_CHARACTERS,
    Locale,
    Reader,
    Reading,
    ReadValue,
)
from genie_dp.records import Example, Slot
from genie_dp.skills.words import tokenize

Places = Mapping[str, tuple[tuple[int, int], ...]]
"""Placeholder -> where in the program, in tokens, its value stands."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A row to train on; `doubt` is that of the reading, 0 for the reader's first choice."""

    row: Example
    doubt: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """A row that is left out, and why.

    `reason` is "value not in program", "value not read", "not a program" or "too long a sentence";
    `detail` says which.
    """

    row: Example
    reason: str
    detail: str


@dataclass(slots=True)
class Preparer:
    """Turns rows with written-out values into rows with placeholders.

    Attributes:
        reader: that of the parser.
        language, library: what programs are in.
        now: the moment from which the rows' "tomorrow" was told.
        locale: what the rows leave unsaid.
        fixed: constants, in token form, that stand in programs without being said: the 30 degrees
            of "hot". See `fixed_constants`.
        counts: rows by what became of them.
    """

    reader: Reader
    language: Language
    library: Any
    now: datetime
    locale: Locale = LOCALE
    fixed: frozenset[str] = frozenset()
    most: int = 24
    counts: Counter[str] = field(default_factory=Counter)
    _keys: frozenset[object] = field(init=False)

    def __post_init__(self) -> None:
        """Tell constants by what they mean."""
        self._keys = frozenset(map(key_of, self.fixed))

    def prepare(self, row: Example) -> Prepared | Left:
        """Return the row in the parser's form, or the reason to leave it out.

        Rows that have all their placeholders come back as they are. Rows of other languages than
        ThingTalk do, too: their values are words.
        """
        made = self._prepare(row) if row.language == "thingtalk" else Prepared(row)
        self.counts["prepared" if isinstance(made, Prepared) else made.reason] += 1
        return made

    def _prepare(self, row: Example) -> Prepared | Left:
        found = self._agreed(row)
        if isinstance(found, Left):
            return found
        reading, places = found
        try:
            return Prepared(self._made(row, reading, places), reading.doubt)
        except GenieError as error:
            return Left(row, "not a program", error.problems[0].message)

    def right_reading(self, row: Example) -> Reading | None:
        """Return the likeliest reading of a row that its program agrees with, or None."""
        found = self._agreed(row)
        return None if isinstance(found, Left) else found[0]

    def _agreed(self, row: Example) -> tuple[Reading, Places] | Left:
        """Return the likeliest reading that agrees with the program, and where its values stand."""
        if len(row.utterance) > MOST_CHARACTERS:
            return Left(row, "too long a sentence", f"{len(row.utterance):,} characters")
        program = tuple(row.program.split(" "))
        found = literals(program)
        said = tuple(one for one in found if not one.is_text and one.key not in self._keys)
        problem: Left | None = None
        for reading in self._readings(row, is_plain=not said):
            places = _match(reading.values, program, found)
            if isinstance(places, str):
                problem = problem or Left(row, "value not in program", places)
                continue
            covered = {span for spans in places.values() for span in spans}
            unread = [one for one in said if (one.start, one.end) not in covered]
            if not unread or row.source == "synthetic":
                return reading, places
            one = unread[0]
            detail = " ".join(program[one.start : one.end])
            problem = problem or Left(row, "value not read", detail)
        assert problem is not None
        return problem

    def _readings(self, row: Example, *, is_plain: bool) -> Iterator[Reading]:
        """Yield the readings, the first alone before the others are made."""
        first = self.reader.read(row.utterance, now=self.now, locale=self.locale)
        yield first
        if first.values or not is_plain:
            yield from self.reader.readings(
                row.utterance, now=self.now, locale=self.locale, most=self.most
            )[1:]

    def _made(self, row: Example, reading: Reading, places: Places) -> Example:
        if not places:
            return replace(row, utterance=reading.utterance)
        names = _in_order(reading.tokens)
        starts = {start: (end, token) for token, spans in places.items() for start, end in spans}
        program, tokens, at = row.program.split(" "), list[str](), 0
        while at < len(program):
            end, token = starts.get(at, (at + 1, program[at]))
            tokens.append(names.get(token, token))
            at = end
        tree = self.language.canonical(self.language.from_tokens(" ".join(tokens)), self.library)
        text = self.language.tokens(tree, self.library)
        utterance = " ".join(names.get(token, token) for token in reading.tokens)
        return replace(row, utterance=utterance, program=text, slots=self._slots(row, names, tree))

    def _slots(self, row: Example, names: Mapping[str, str], tree: Any) -> dict[str, Slot]:
        known = {names.get(token, token): slot for token, slot in row.slots.items()}
        for token, type_, parameter in fills(self.library, tree):
            known.setdefault(token, Slot(type_, parameter))
        return known


def fixed_constants(rows: Iterable[Example]) -> frozenset[str]:
    """Return the constants that templates put into programs: those of synthesized rows.

    Args:
        rows: synthesized rows with placeholders.
    """
    return frozenset(
        one.text
        for row in rows
        for one in literals(tuple(row.program.split(" ")))
        if not one.is_text
    )


def _match(
    values: Mapping[str, ReadValue], program: tuple[str, ...], found: tuple[Literal, ...]
) -> dict[str, tuple[tuple[int, int], ...]] | str:
    """Return where in the program each value stands, or what stands nowhere."""
    places: dict[str, tuple[tuple[int, int], ...]] = {}
    used: set[tuple[int, int]] = set()
    for token, value in values.items():
        key = key_of(value.value)
        equal = [(one.start, one.end) for one in found if one.key == key]
        free = [span for span in equal if span not in used]
        spans = free[:1] or _in_text(value, program, found, used)
        if not spans:
            return f"{token} ({value.text})"
        places[token] = tuple(spans)
        used.update(spans)
    for token, value in values.items():
        key = key_of(value.value)
        more = [(one.start, one.end) for one in found if one.key == key]
        extra = [span for span in more if span not in used]
        used.update(extra)
        places[token] += tuple(extra)
    return places


def _in_text(
    value: ReadValue,
    program: tuple[str, ...],
    found: tuple[Literal, ...],
    used: set[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Return where the words of a value stand inside of a text of the program."""
    words = tokenize(value.text)
    for one in found:
        if not one.is_text or (one.start, one.end) in used:
            continue
        for at in range(one.start + 1, one.end - len(words)):
            span = (at, at + len(words))
            is_free = all(end <= span[0] or span[1] <= start for start, end in used)
            if program[at : at + len(words)] == words and is_free:
                return [span]
    return []


def _in_order(tokens: tuple[str, ...]) -> dict[str, str]:
    """Return placeholder -> its name when they are numbered from left to right.

    >>> _in_order(("from", "NUMBER_1", "to", "NUMBER_0"))
    {'NUMBER_1': 'NUMBER_0', 'NUMBER_0': 'NUMBER_1'}
    """
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for token in tokens:
        if token in names or not is_slot(token):
            continue
        stem = token.rpartition("_")[0]
        names[token] = f"{stem}_{counts.get(stem, 0)}"
        counts[stem] = counts.get(stem, 0) + 1
    return names


def phrases_of(rows: Iterable[Example], preparer: Preparer) -> Phrases:
    """Return what the skills say with words that are values elsewhere, learned from their rows.

    Args:
        rows: synthesized rows with placeholders; some thousand of them say every phrase.
        preparer: its reader should have no phrases yet.
    """

    def readings() -> Iterator[tuple[str, Reading, Reading]]:
        for row in rows:
            first = preparer.reader.read(row.utterance, now=preparer.now, locale=preparer.locale)
            right = preparer.right_reading(row) if first.values else None
            if right is not None:
                yield row.utterance, first, right

    return learn(readings())
