"""Sentences as people type them: which of their words are values, as far as templates derive them.

A chart wants placeholders, and people say "play bohemian rhapsody at 5 pm". Values with a form of
their own (numbers, dates, addresses) are read by a `SentenceValues`. Only the templates decide
which words are names or free text: in an open chart (chart.py) any words may stand where a template
has a placeholder of such a sort, if the reader takes them for a value. Each reading that is found
so is a sentence with placeholders again, which a closed chart derives exactly.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import NamedTuple, Protocol

from genie_dp.skills.words import END_MARKS, find_words, tokenize
from genie_dp.synthesis.chart import Chart, ChartGrammar, Tokens, TooMuchWorkError
from genie_dp.synthesis.compiler import CompiledGrammar
from genie_dp.synthesis.joints import MOST_SENTENCES, NUMBER, sentences_apart, ways_apart
from genie_dp.synthesis.pieces import Placeholders
from genie_dp.synthesis.wording import FunctionWords

MOST_WORK = 40_000
"""Steps of a chart for one sentence: some ten seconds; real ones take 50 to 10,000."""
MOST_TOKENS = 60  # of a sentence that is read at all
_MOST_READINGS = 100
_LEFT_AS_WORDS = 1.0  # doubt of each value that is left as the words that it is
UNLIKELY = 10.0
"""Doubt of a reading whose text and unlisted names tell more of other functions than the rest does.

"Tweet the headlines of the politics section" is hardly a text to be tweeted. Of the readings of the
shipped eval.tsv that were looked at, one right one was so, and 21 of 36 wrong ones (November 2026).
"""


class FoundValue(NamedTuple):
    """A value in a sentence.

    Attributes:
        words: as they were typed.
        constant: its meaning, in the notation that readers share; "" where nobody asked.
        how: the result of looking up a name or a text, such as "listed"; "" for other values.
        other: its meaning in the other unit, where the words name none; else "".
    """

    words: str
    constant: str = ""
    how: str = ""
    other: str = ""


class ReadValues(NamedTuple):
    """A sentence with placeholders for its values, numbered from left to right.

    Attributes:
        values: placeholder -> its value.
        doubt: how much speaks against it; 0 for the first choice of a reader.
        left: the words of values, numbers aside, that are words here. A name has no such words:
            nobody means a song called "hello at 5 pm".
        programs: those that templates derive for it, sorted; none where they were not asked.
    """

    tokens: Tokens
    values: Mapping[str, FoundValue]
    doubt: float = 0.0
    left: tuple[Tokens, ...] = ()
    programs: tuple[str, ...] = ()

    @property
    def is_unlikely(self) -> bool:
        """Return whether text and names in it are hardly meant as such."""
        return self.doubt >= UNLIKELY


class NameOrText(NamedTuple):
    """Words as a value that may be any words; `doubt` grows with the evidence against it."""

    value: FoundValue
    doubt: float


class SentenceValues(Protocol):
    """A reader of values in sentences. It belongs to a later stage, so callers pass it in."""

    def is_open(self, stem: str) -> bool:
        """Return whether values for placeholders of a stem may be any words."""

    def read(self, text: str) -> Sequence[ReadValues]:
        """Return the ways to read the values that have a form of their own, the likeliest first."""

    def stems_of(self, words: Tokens, stems: frozenset[str], is_known: bool) -> Collection[str]:
        """Return the open stems whose values words can be; those of lists alone if `is_known`."""

    def as_value(self, stem: str, words: Tokens) -> NameOrText | None:
        """Return words as a value of an open stem; None where they cannot be one."""

    def links(self, tokens: Tokens) -> Sequence[tuple[int, int, str]]:
        """Return (start, end, stem) of each possible name that a list has, the longest first."""

    def apart(self, tokens: Tokens, words: Collection[str]) -> Tokens:
        """Return a sentence with names that are glued to some words apart, `~` between them."""

    def content_words(self, words: Sequence[str]) -> Sequence[str]:
        """Return the words that carry the request, without values and function words."""

    def takes_negation(self, tokens: Tokens, start: int, end: int) -> bool:
        """Return whether words that are taken for a text may deny the command: "yesterday not"."""


class FoundReadings(NamedTuple):
    """The readings of a sentence that are derived, the likeliest first.

    Attributes:
        is_cut: the sentence is too long, or has too many readings: some may be missing.
    """

    readings: tuple[ReadValues, ...]
    is_cut: bool = False


class IndexedGrammar(NamedTuple):
    """A grammar as sentences are read with it: indexing a large one takes seconds, so keep it."""

    compiled: CompiledGrammar
    chart: ChartGrammar
    function_words: FunctionWords

    @classmethod
    def from_compiled(cls, compiled: CompiledGrammar, reader: SentenceValues) -> "IndexedGrammar":
        """Return the index, in which the placeholders are open that are open for the reader."""
        stems = [stem for stem in compiled.placeholders.stems if reader.is_open(stem)]
        return cls(compiled, ChartGrammar(compiled, stems), FunctionWords.from_grammar(compiled))


@dataclass(slots=True)
class ValueFinder:
    """Finds the values in sentences."""

    indexed: IndexedGrammar
    reader: SentenceValues
    max_depth: int = 8
    most_work: int = MOST_WORK
    compiled: CompiledGrammar = field(init=False)
    grammar: ChartGrammar = field(init=False)
    function_words: FunctionWords = field(init=False)
    phrases: tuple[str, ...] = field(init=False)  # categories of what queries find

    def __post_init__(self) -> None:
        self.compiled, self.grammar, self.function_words = self.indexed
        rules = ((name, rule) for name, of in self.compiled.rules.items() for rule in of)
        phrases = (name for name, rule in rules if rule.is_phrase and rule.body.kind == "query")
        self.phrases = tuple(dict.fromkeys(phrases))

    def find(
        self, text: str, accepts: Callable[[ReadValues], bool] = lambda reading: True
    ) -> FoundReadings:
        """Return the readings of a sentence that are derived.

        Readings of values are tried in the order of their doubt, until something is derived.

        Args:
            accepts: returns whether the values of a reading fit its programs; others do not count.
        """
        chart = Chart(
            self.grammar, self.max_depth, stems_of=self.reader.stems_of, most_work=self.most_work
        )
        readings: dict[object, ReadValues] = {}
        tried_doubt = 0.0
        for variant in self.variants(text):
            is_likely = any(not reading.is_unlikely for reading in readings.values())
            if is_likely and variant.doubt > tried_doubt:
                break
            tried_doubt = variant.doubt
            if len(variant.tokens) > MOST_TOKENS:
                return FoundReadings((), is_cut=True)
            try:
                for reading in filter(accepts, self._readings(chart, variant)):
                    key = reading.tokens, tuple(reading.values.items())
                    if (known := readings.get(key)) is not None:
                        programs = {*known.programs, *reading.programs}
                        best = min(known, reading, key=lambda read: read.doubt)
                        reading = best._replace(programs=tuple(sorted(programs)))
                    readings[key] = reading
            except TooMuchWorkError:
                return FoundReadings(_likeliest_first(readings.values()), is_cut=True)
        return FoundReadings(_likeliest_first(readings.values()))

    def variants(self, text: str) -> list[ReadValues]:
        """Return the ways to read the values that have a form of their own, the likeliest first.

        In the last of them they are words.
        """
        readings = list(self.reader.read(text))
        stems = self.compiled.placeholders.stems
        known = [
            self._without_end_marks(_with_words(read, _unknown_values(read, stems)))
            for read in readings
        ]
        first = known[0]
        known = [read._replace(left=_left_as_words(first, read)) for read in known]
        apart = self.reader.apart(first.tokens, self.grammar.vocabulary)
        if apart != first.tokens:
            known.append(first._replace(tokens=apart))
        cut = (way for read in known for way in self._cut_apart(read, text))
        less = [*_with_less_values(first)]
        # "1 and a half hours" has a number by itself.
        less += [self._with_numbers(read) for read in less]
        variants: dict[Tokens, ReadValues] = {}
        for variant in (*known, *less, *islice(cut, MOST_SENTENCES)):
            best = variants.get(variant.tokens)
            if best is None or variant.doubt < best.doubt:
                variants[variant.tokens] = variant
        return sorted(variants.values(), key=lambda variant: variant.doubt)

    def _cut_apart(self, read: ReadValues, text: str) -> Iterator[ReadValues]:
        """Yield a reading with words cut into the parts that templates join: "5-minute", "40%"."""
        typed, known = {*tokenize(text.casefold()), *read.values}, self.grammar.vocabulary
        choices: list[list[Tokens]] = []
        for before, token in pairwise(("", *read.tokens)):
            if before in read.values and token not in typed:
                choices[-1][0] += (token,)  # the "percent" that readers put behind a number
                continue
            value = read.values.get(token)
            # "40 %" is "40%" to readers.
            word = re.sub(r"\s+(?=\W)", "", value.words.casefold()) if value else token
            choices.append([(token,), *ways_apart(word, known)])
        for cuts_made, tokens in sentences_apart(choices):
            doubt = read.doubt + _LEFT_AS_WORDS * cuts_made
            yield self._with_numbers(ReadValues(tokens, read.values, doubt))

    def _with_numbers(self, read: ReadValues) -> ReadValues:
        """Return a reading with placeholders for numbers among its words, if templates have any."""
        if "NUMBER" not in self.compiled.placeholders.stems:
            return read
        tokens, values = [*read.tokens], {**read.values}
        for place, token in enumerate(tokens):
            if NUMBER.fullmatch(token):
                for value in self.reader.read(token)[0].values.values():
                    tokens[place] = f"NUMBER_{1000 + place}"
                    values[tokens[place]] = value
        used = {name: value for name, value in values.items() if name in tokens}
        cut = read._replace(tokens=tuple(tokens), values=used)
        return renumber(cut, self.compiled.placeholders)

    def _without_end_marks(self, read: ReadValues) -> ReadValues:
        """Return a sentence without the mark at its end, if no template has such marks."""
        end = len(read.tokens)
        while end and read.tokens[end - 1] in END_MARKS - self.grammar.vocabulary:
            end -= 1
        return read._replace(tokens=read.tokens[:end])

    def guess(self, text: str) -> ReadValues:
        """Return a sentence that is not derived with the values that it most likely has.

        Besides those with a form of their own they are listed names with a word that no template
        has.
        """
        variant = self.variants(text)[0]
        spans: dict[int, tuple[int, str]] = {}
        used: set[int] = set()
        for start, end, stem in self.reader.links(variant.tokens):
            words = variant.tokens[start:end]
            is_said = self.grammar.vocabulary.issuperset(words)
            if is_said or stem not in self.compiled.placeholders.stems:
                continue
            if used.isdisjoint(range(start, end)):
                used.update(range(start, end))
                spans[start] = end, stem
        return self._with_spans(variant, spans, variant.doubt)

    def _readings(self, chart: Chart, variant: ReadValues) -> Iterator[ReadValues]:
        tokens = engine_tokens(variant.tokens, self.compiled.placeholders)
        for root in self.compiled.roots:
            for entry in chart.cell(root, tokens):
                value = entry.piece.value
                if not value.gap:
                    reading = self._reading(variant, value.text, chart, value.functions)
                    if reading is not None:
                        yield reading

    def _reading(
        self,
        variant: ReadValues,
        program: str,
        chart: Chart,
        functions: Sequence[str],
    ) -> ReadValues | None:
        """Return a variant with placeholders for the words that were taken for names and text.

        Args:
            program: of the chart.
        """
        opened = chart.opened
        spans: dict[int, tuple[int, str]] = {}
        characters: dict[int, str] = {}
        used: set[int] = set()
        guessed: list[str] = []
        doubt, has_listed = variant.doubt, False
        has_other = False  # a value in what was guessed, or the negation of the command
        spoken = (character for character in dict.fromkeys(program) if character in opened)
        for character in sorted(spoken, key=lambda character: -len(opened[character][1])):
            stem, words = opened[character]
            value = self.reader.as_value(stem, words)
            start = find_words(variant.tokens, words, used)
            if start is None or value is None:
                return None
            used.update(range(start, start + len(words)))
            spans[start] = start + len(words), stem
            characters[start] = character
            doubt += value.doubt
            if value.value.how == "listed":
                has_listed = True
            else:
                guessed += words
                is_text = value.value.how == "text"
                has_other |= self.reader.takes_negation(variant.tokens, start, start + len(words))
                # Nobody writes "yesterday" alone, and no name has such words.
                has_other |= tuple(words) in variant.left
                has_other |= self._is_phrase(chart, words)
                has_other |= not is_text and _has_any(words, variant.left)
        rest = [token for place, token in enumerate(variant.tokens) if place not in used]
        if guessed and not has_listed and not self.reader.content_words(rest):
            # "what is .." is no search for all that people ask, unless few functions say so.
            has_other |= not self.function_words.are_telling(rest, functions)
        if has_other or (guessed and not self._is_likely(rest, guessed)):
            doubt += UNLIKELY
        shown = self._show(program, variant.tokens, used, characters, spans)
        return self._with_spans(variant, spans, doubt)._replace(programs=(shown,))

    def _show(
        self,
        program: str,
        tokens: Tokens,
        used: Collection[int],
        characters: Mapping[int, str],
        spans: Mapping[int, tuple[int, str]],
    ) -> str:
        """Return a program with placeholders that are numbered as those of its sentence are.

        Args:
            tokens: of the sentence.
            used: places of the words that names and texts are.
            characters, spans: their characters in the program, their ends and stems, by the place
                of the first word.
        """
        placeholders = self.compiled.placeholders
        counts: Counter[str] = Counter()  # in the sentence as it will be
        read: Counter[str] = Counter()  # of these, what the program has a number for
        names: dict[int, str] = {}
        for place, token in enumerate(tokens):
            if place in characters:
                stem, character = spans[place][1], characters[place]
            elif place not in used and (stem := stem_of(token, placeholders)):
                character = placeholders.character(stem, read[stem])
                read[stem] += 1
            else:
                continue
            names[ord(character)] = f"{stem}_{counts[stem]}"
            counts[stem] += 1
        return program.translate(names)

    def _is_phrase(self, chart: Chart, words: Tokens) -> bool:
        """Return whether templates derive words as the noun phrase of a query, not as a text."""
        return any(
            chart.opened.keys().isdisjoint(entry.piece.value.text)
            for category in self.phrases
            for entry in chart.cell(category, words)
        )

    def _is_likely(self, said: Sequence[str], guessed: Sequence[str]) -> bool:
        """Return whether template words weigh no less than those taken for text and names."""
        telling = self.reader.content_words(said)
        weigh = self.function_words.weigh
        weight = weigh(self.reader.content_words(guessed))
        return weight <= weigh(telling) or not weight or (not telling and weight < weigh(said))

    def _with_spans(
        self, variant: ReadValues, spans: Mapping[int, tuple[int, str]], doubt: float
    ) -> ReadValues:
        values = dict(variant.values)
        tokens = list(variant.tokens)
        for number, start in enumerate(sorted(spans, reverse=True)):
            end, stem = spans[start]
            words = variant.tokens[start:end]
            value = self.reader.as_value(stem, words)
            name = f"{stem}_{1000 + number}"  # until all are numbered
            values[name] = value.value if value else FoundValue(" ".join(words))
            tokens[start:end] = [name]
        return renumber(ReadValues(tuple(tokens), values, doubt), self.compiled.placeholders)


def _likeliest_first(readings: Collection[ReadValues]) -> tuple[ReadValues, ...]:
    ranked = sorted(readings, key=lambda r: (r.doubt, len(r.values), r.tokens, *r.values.items()))
    return tuple(ranked[:_MOST_READINGS])


def engine_tokens(tokens: Sequence[str], placeholders: Placeholders) -> Tokens:
    """Return tokens as a chart wants them: the placeholders of one sort look alike.

    >>> known = Placeholders(["NUMBER"])
    >>> [len(token) for token in engine_tokens(["over", "NUMBER_1", "DATE_0"], known)]
    [4, 1, 6]
    """
    return tuple(
        placeholders.character(stem) if (stem := stem_of(token, placeholders)) else token
        for token in tokens
    )


def stem_of(token: str, placeholders: Placeholders) -> str:
    """Return the stem of a placeholder that the grammar has, "" of another token."""
    stem, _, number = token.rpartition("_")
    return stem if number.isdecimal() and stem in placeholders.stems else ""


def renumber(read: ReadValues, placeholders: Placeholders) -> ReadValues:
    """Return a sentence whose placeholders are numbered from left to right.

    "An" before one is "a", as the article of a value that nobody knows yet.

    >>> read = ReadValues(("from", "A_7", "to", "A_2"), {"A_2": FoundValue("x")})
    >>> renumber(read, Placeholders(["A"])).values
    {'A_1': FoundValue(words='x', constant='', how='', other='')}
    """
    counts: dict[str, int] = {}
    tokens: list[str] = []
    values: dict[str, FoundValue] = {}
    for token in read.tokens:
        name = token
        if stem := stem_of(token, placeholders):
            name = f"{stem}_{counts.get(stem, 0)}"
            counts[stem] = counts.get(stem, 0) + 1
            tokens[-1:] = ["a"] if tokens[-1:] == ["an"] else tokens[-1:]
        if token in read.values:
            values[name] = read.values[token]
        tokens.append(name)
    return read._replace(tokens=tuple(tokens), values=values)


def _unknown_values(read: ReadValues, stems: Collection[str]) -> list[str]:
    """Return the values for which a grammar has no placeholder."""
    return [name for name in read.values if name.rpartition("_")[0] not in stems]


def _with_less_values(read: ReadValues) -> Iterator[ReadValues]:
    """Yield a reading with one of its values as the words that it is, and with all of them."""
    names = list(read.values)
    for left in (*([name] for name in names if len(names) > 1), names):
        doubt = read.doubt + _LEFT_AS_WORDS * len(left)
        less = _with_words(read, left)
        yield less._replace(doubt=doubt, left=_left_as_words(read, less))


def _left_as_words(first: ReadValues, read: ReadValues) -> tuple[Tokens, ...]:
    """Return the words of values of a first reading, numbers aside, that are words in another."""
    values = (value for name, value in first.values.items() if not _is_number(name))
    words = (tuple(tokenize(value.words.casefold())) for value in values)
    return tuple(each for each in words if find_words(read.tokens, each) is not None)


def _has_any(words: Tokens, left: Sequence[Tokens]) -> bool:
    return any(find_words(words, value) is not None for value in left)


def _is_number(name: str) -> bool:
    return name.rpartition("_")[0] == "NUMBER"


def _with_words(read: ReadValues, left: Collection[str]) -> ReadValues:
    tokens: list[str] = []
    for token in read.tokens:
        is_left = token in left
        tokens += tokenize(read.values[token].words.casefold()) if is_left else [token]
    values = {name: value for name, value in read.values.items() if name not in left}
    return read._replace(tokens=tuple(tokens), values=values)
