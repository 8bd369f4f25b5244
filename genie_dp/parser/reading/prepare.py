"""Rows to train on, in the form in which a parser will be asked: both sides with placeholders.

The reader that makes them will also read typed sentences, so that the parser learns what the
reader does, its habits included.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from genie_dp.errors import GenieError
from genie_dp.languages.base import Language
from genie_dp.languages.forms import Literal
from genie_dp.languages.library import Library
from genie_dp.languages.programs import ByOutline
from genie_dp.languages.thingtalk.ast import EntityValue, StringValue
from genie_dp.languages.thingtalk.operators import comparable
from genie_dp.languages.thingtalk.placeholders import constant
from genie_dp.languages.types import is_slot
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.locale import LOCALE, Locale
from genie_dp.parser.reading.glued import NOT_GLUED, Glued, as_read
from genie_dp.parser.reading.numbers import WITH_HALF
from genie_dp.parser.reading.phrases import Phrases, behind_numbers, learn
from genie_dp.parser.reading.reading import MOST_CHARACTERS, Reader, Reading, ReadValue
from genie_dp.records import Example, Slot
from genie_dp.skills.words import GLUE, tokenize

# With six places behind the point it has 27 of the 28 digits of a context.
_MOST = Decimal(10) ** 21
_LEAST = Decimal("0.001")


@lru_cache(maxsize=65536)
def key_of(text: str, units: Units = SHIPPED) -> object:
    """Return a key that is equal for constants of one meaning.

    Args:
        text: a constant in token form.
        units: those of the library.

    >>> key_of("90 unit:min") == key_of("1.5 unit:h"), key_of("5") == key_of("5 unit:min")
    (True, False)
    """
    try:
        value = constant(text)
    except GenieError:
        return text
    match value:
        case StringValue(words):
            return "text", words.casefold()
        case EntityValue(words_, kind, _):
            return kind, (words_ or "").casefold().lstrip("@#")
        case _:
            pass
    try:
        kind, amount = comparable(value, units)
    except (GenieError, ValueError):
        return text
    # To six places; an amount of more digits than a context has is as it is, and so is one that six
    # places say little of: micrograms in kilograms.
    if isinstance(amount, Decimal) and _LEAST <= abs(amount) < _MOST:
        return kind, round(amount, 6)
    return kind, amount


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
    `detail` is the value, or the problem.
    """

    row: Example
    reason: str
    detail: str


@dataclass(slots=True)
class Preparer:
    """Turns rows with written-out values into rows with placeholders.

    Attributes:
        reader: that of the parser.
        language, library: those of programs.
        now: the moment to which the rows' "tomorrow" is relative.
        locale: defaults for values that the rows give in part.
        fixed: constants, in token form, that stand in programs without a mention: the 30 degrees
            of "hot". See `fixed_constants`.
        glued: parts of words that stand beside values.
        counts: rows by their outcome.
    """

    reader: Reader
    language: Language
    library: Library | None
    now: datetime
    locale: Locale = LOCALE
    fixed: frozenset[str] = frozenset()
    glued: Glued = NOT_GLUED
    most: int = 24
    counts: Counter[str] = field(default_factory=Counter)
    _keys: frozenset[object] = field(init=False)
    _canonical: ByOutline[tuple[tuple[str, Slot], ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._keys = frozenset(map(self.key_of, self.fixed))
        self.glued = replace(self.glued, linking=self.locale.words.linking)
        self._canonical = ByOutline(self.language, self._make_canonical)

    def key_of(self, constant: str) -> object:
        """Return a key that is equal for constants of one meaning in the library."""
        return key_of(constant, SHIPPED if self.library is None else self.library.units)

    def prepare(self, row: Example) -> Prepared | Left:
        """Return the row in the parser's form, or the reason to leave it out.

        Rows that have all their placeholders come back as they are. Rows of other languages do,
        too.
        """
        result: Prepared | Left = Prepared(row)
        if self.language.name == row.language:
            agreement = self._find_agreement(row)
            if isinstance(agreement, Left):
                result = agreement
            else:
                reading, places = agreement
                try:
                    own_form = self._with_words_apart(self._make_row(row, reading, places))
                    result = Prepared(own_form, reading.doubt)
                except GenieError as error:
                    result = Left(row, "not a program", error.problems[0].message)
        self.counts["prepared" if isinstance(result, Prepared) else result.reason] += 1
        return result

    def right_reading(self, row: Example) -> Reading | None:
        """Return the likeliest reading of a row that its program agrees with, or None."""
        agreement = self._find_agreement(row)
        return None if isinstance(agreement, Left) else agreement[0]

    def without_words(self, row: Example, reading: Reading) -> Reading:
        """Return a reading without the values that stand nowhere in the program of a row.

        A number that stands there is that of its value, if in other units: "1 hour" is `hours= 1`.
        """
        form = self.language.form(row.program)
        program, constants = form.tokens, form.literals
        numbers = {literal.constant for literal in constants if not literal.is_text}
        values = {
            token: value
            for token, value in reading.values.items()
            if not numbers.isdisjoint(value.value.split(" "))
            or not isinstance(_match({token: value}, program, constants, self.key_of), str)
        }
        return replace(reading, values=values)

    def _find_agreement(self, row: Example) -> tuple[Reading, Places] | Left:
        """Return the likeliest reading that agrees with the program, and where its values stand."""
        if len(row.utterance) > MOST_CHARACTERS:
            return Left(row, "too long a sentence", f"{len(row.utterance):,} characters")
        form = self.language.form(row.program)
        program, constants = form.tokens, form.literals
        said_constants = tuple(
            literal
            for literal in constants
            if not literal.is_text and self.key_of(literal.constant) not in self._keys
        )
        problem: Left | None = None
        for reading in self._readings(row, is_plain=not said_constants):
            places = _match(reading.values, program, constants, self.key_of)
            if isinstance(places, str):
                problem = problem or Left(row, "value not in program", places)
                continue
            covered = {span for spans in places.values() for span in spans}
            unread = [
                literal for literal in said_constants if (literal.start, literal.end) not in covered
            ]
            if not unread or row.source == "synthetic":
                return reading, places
            literal = unread[0]
            detail = " ".join(program[literal.start : literal.end])
            problem = problem or Left(row, "value not read", detail)
        assert problem is not None
        return problem

    def _readings(self, row: Example, *, is_plain: bool) -> Iterator[Reading]:
        """Yield the readings, the first alone before the others are made."""
        first = self.reader.read(row.utterance, now=self.now)
        yield first
        if first.values or not is_plain:
            yield from self.reader.readings(row.utterance, now=self.now, most=self.most)[1:]

    def _make_row(self, row: Example, reading: Reading, places: Places) -> Example:
        if not places:
            utterance = reading.utterance
            return row if utterance == row.utterance else replace(row, utterance=utterance)
        names = _in_order(reading.tokens)
        starts = {start: (end, token) for token, spans in places.items() for start, end in spans}
        program, tokens, i = row.program.split(" "), list[str](), 0
        while i < len(program):
            end, token = starts.get(i, (i + 1, program[i]))
            tokens.append(names.get(token, token))
            i = end
        text, fills = self._canonical(" ".join(tokens))
        utterance = " ".join(names.get(token, token) for token in reading.tokens)
        slots = {names.get(token, token): slot for token, slot in row.slots.items()}
        for token, slot in fills:
            slots.setdefault(token, slot)
        return replace(row, utterance=utterance, program=text, slots=slots)

    def _with_words_apart(self, row: Example) -> Example:
        """Return a row whose values, if they are glued to words, are words of their own."""
        is_glued = f" {GLUE} " in row.utterance and row.source not in TYPED
        if not is_glued and not self.glued:
            return row
        texts = texts_in(row.program, self.language)
        tokens = tuple(row.utterance.split(" "))
        if is_glued:
            tokens = as_read(tokens, frozenset(word for text in texts for word in text))
        tokens, _ = self.glued.apart(tokens, lambda found: _places_of(texts, found))
        return replace(row, utterance=" ".join(tokens))

    def _make_canonical(self, program: str) -> tuple[str, tuple[tuple[str, Slot], ...]]:
        """Return the canonical form, and the parameters that its placeholders fill."""
        tree = self.language.canonical(self.language.from_tokens(program), self.library)
        uses = self.language.values.uses(tree, self.library)
        slots = tuple((token, Slot(type_, parameter)) for token, type_, parameter in uses)
        return self.language.tokens(tree, self.library), slots


_NUMBER = re.compile(r"(?<!\S)(?=(\S*) ?NUMBER_\d+(?!\S) ?(\S*))")
_MADE = frozenset(("synthetic", "augmented"))
TYPED = frozenset(("human", "private"))
"""Sources of rows whose sentences people typed: `~` is a sign there, and joins nothing."""


def texts_in(program: str, language: Language) -> tuple[tuple[str, ...], ...]:
    """Return the words of texts and names of a program in token form, but for placeholders."""
    form = language.form(program)
    texts = []
    for literal in form.literals:
        if literal.is_text:
            words = form.tokens[literal.start + 1 : literal.end]
            texts.append(words[: words.index('"')] if '"' in words else words)
    return tuple(text for text in texts if text and not any(map(is_slot, text)))


def _places_of(
    texts: Iterable[tuple[str, ...]], tokens: Sequence[str]
) -> Iterator[tuple[int, int]]:
    for text in texts:
        for start in range(len(tokens) - len(text) + 1):
            if tuple(tokens[start : start + len(text)]) == text:
                yield start, start + len(text)


def fixed_constants(rows: Iterable[Example], language: Language) -> frozenset[str]:
    """Return the constants that templates put into programs: those of synthesized rows.

    Args:
        rows: synthesized rows with placeholders.
        language: that of the programs.
    """
    return frozenset(
        literal.constant
        for row in rows
        for literal in language.form(row.program).literals
        if not literal.is_text
    )


def _match(
    values: Mapping[str, ReadValue],
    program: tuple[str, ...],
    constants: tuple[Literal, ...],
    key_of: Callable[[str], object],
) -> dict[str, tuple[tuple[int, int], ...]] | str:
    """Return where in the program each value stands, or the value that stands nowhere."""
    places: dict[str, tuple[tuple[int, int], ...]] = {}
    used: set[tuple[int, int]] = set()
    spans_of: dict[object, list[tuple[int, int]]] = {}
    for literal in constants:
        spans_of.setdefault(key_of(literal.constant), []).append((literal.start, literal.end))
    for token, value in values.items():
        free = [span for span in spans_of.get(key_of(value.value), ()) if span not in used]
        spans = free[:1] or _in_text(value, program, constants, used)
        if not spans:
            return f"{token} ({value.text})"
        places[token] = tuple(spans)
        used.update(spans)
    for token, value in values.items():
        extra = [span for span in spans_of.get(key_of(value.value), ()) if span not in used]
        used.update(extra)
        places[token] += tuple(extra)
    return places


def _in_text(
    value: ReadValue,
    program: tuple[str, ...],
    constants: tuple[Literal, ...],
    used: set[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Return where the words of a value stand inside of a text of the program."""
    words = tokenize(value.text)
    for literal in constants:
        if not literal.is_text or (literal.start, literal.end) in used:
            continue
        for i in range(literal.start + 1, literal.end - len(words)):
            span = (i, i + len(words))
            is_free = all(end <= span[0] or span[1] <= start for start, end in used)
            if program[i : i + len(words)] == words and is_free:
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
    """Return the skills' phrases with words that are values elsewhere, learned from their rows.

    Args:
        rows: synthesized rows with placeholders; some thousand of them have every phrase.
        preparer: its reader should have no phrases yet.
    """

    halves = 0
    behind = set[str]()
    beside: tuple[set[str], set[str]] = (set(), set())  # words before, and behind, numbers

    def readings() -> Iterator[tuple[str, Reading, Reading]]:
        nonlocal halves
        for row in rows:
            halves += WITH_HALF.search(row.utterance) is not None
            behind.update(behind_numbers(row.utterance))
            for before, after in _NUMBER.findall(row.utterance):
                beside[0].add(before)
                beside[1].add(after)
            first = preparer.reader.read(row.utterance, now=preparer.now)
            right = preparer.right_reading(row) if first.values else None
            if first.values and right is None and row.source in _MADE:
                # What looks like a value, and is none of the program, is a word of a template.
                right = preparer.without_words(row, first)
            if first.values and right is not None:
                yield row.utterance, first, right

    phrases = learn(readings(), preparer.locale.words)
    phrases = replace(phrases, says_halves=halves > 1, behind_numbers=frozenset(behind))
    return phrases.without_numbers(*beside, preparer.locale.words)
