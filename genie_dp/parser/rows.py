"""From files to rows that a parser learns from: read, brought into the asked form, counted.

Nothing here imports torch, so that worker processes may be forked before it is loaded.
"""

import heapq
import math
import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from operator import sub
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
import xxhash

from genie_dp.dataset.scan import as_row, hash_of
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import Language, get_language
from genie_dp.languages.library import Library, units_in_sentences
from genie_dp.languages.programs import ByOutline
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.thingtalk.ast import And, Call, Or
from genie_dp.languages.thingtalk.traverse import rewrite
from genie_dp.languages.types import is_slot
from genie_dp.languages.units import COMMON, Units
from genie_dp.locale import Locale, locale_from
from genie_dp.located import Located
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.reading.glued import NOT_GLUED, Glued, glued_in
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.prepare import (
    TYPED,
    Left,
    Preparer,
    fixed_constants,
    phrases_of,
    texts_in,
)
from genie_dp.parser.reading.reading import MOST_CHARACTERS
from genie_dp.private_prior import row_weight
from genie_dp.recipe import read_settings
from genie_dp.records import DEFAULT_LANGUAGE, Example, PrivatePrior
from genie_dp.rng import stream
from genie_dp.rows import format_of, read_rows
from genie_dp.run.workers import in_processes
from genie_dp.skills.words import GLUE, tokenize


def oldest_of(rows: Iterable[Example]) -> Mapping[int, int]:
    """Return the oldest ancestor of each row that has both parent and children, as hashes of ids.

    Other rows need no entry: the hash of their parent, or of their own id, is looked up. Memory:
    16 bytes a row with a parent, and a number for each entry.

    >>> rows = [Example("S", "", ""), Example("P", "", "", parent="S"),
    ...     Example("A", "", "", parent="P")]
    >>> oldest_of(rows) == {hash_of("P"): hash_of("S")}
    True
    """
    ids, parents = array("Q"), array("Q")
    for row in rows:
        if row.parent and row.parent != row.id:
            ids.append(hash_of(row.id))
            parents.append(hash_of(row.parent))
    if not ids:
        return {}
    own, above = np.frombuffer(ids, np.uint64), np.frombuffer(parents, np.uint64)
    inside = np.isin(own, above)
    next_up: dict[int, int] = {}
    for id, parent in zip(own[inside].tolist(), above[inside].tolist(), strict=True):
        # Of an id that comes twice the smaller parent, so that no order of files matters.
        next_up[id] = min(parent, next_up.get(id, parent))
    return {id: _find_oldest(id, next_up) for id in next_up}


def _find_oldest(id: int, next_up: Mapping[int, int]) -> int:
    """Return the last of a chain; of rows that are their own ancestors, the smallest of these."""
    seen: list[int] = []
    while id in next_up:
        if id in seen:
            return min(seen[seen.index(id) :])
        seen.append(id)
        id = next_up[id]
    return id


KeptRow = TypeVar("KeptRow")


class HeldOut(Generic[KeptRow]):
    """At most so many different rows; which ones are kept does not depend on their order.

    Those with the least hashes are a uniform sample of all (bottom-k sketch; Cohen and Kaplan,
    2007): of files that are read one after the other none is left out for coming late.

    >>> one, other = HeldOut(2), HeldOut(2)
    >>> for i in range(9):
    ...     one.add(str(i), i)
    ...     other.add(str(8 - i), 8 - i)
    >>> list(one) == list(other), len(one)
    (True, 2)
    """

    def __init__(self, most: int):
        self._most = most
        self._rows: dict[int, KeptRow] = {}
        self._greatest: list[int] = []  # a heap of the hashes, negative

    def add(self, key: str, row: KeptRow) -> None:
        """Offer a row; one of its key that is kept already stays."""
        number = hash_of(key)
        is_full = 0 < self._most <= len(self._rows)
        if number in self._rows or (is_full and -number <= self._greatest[0]):
            return
        self._rows[number] = row
        heapq.heappush(self._greatest, -number)
        if len(self._rows) > self._most:
            del self._rows[-heapq.heappop(self._greatest)]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[KeptRow]:
        for number in sorted(self._rows):
            yield self._rows[number]


def some_of(rows: Iterable[Example], most: int) -> Iterator[Example]:
    """Yield at most so many different rows, by their sentences and programs."""
    held_out = HeldOut[Example](most)
    for row in rows:
        held_out.add(f"{row.utterance}\0{row.program}", row)
    yield from held_out


class _Numbers(dict[str, int]):
    """The number of each token, given when it is first asked for; `names` are in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, token: str) -> int:
        self.names.append(token)
        return self.setdefault(token, len(self))


class RowStore(Sequence[Pair]):
    """Rows in the order they came; a row is made when it is asked for.

    A row costs four bytes for each word and token, and 17 more; every distinct word is kept once.

    >>> store = RowStore()
    >>> store.add("tweet hello", '@post " hello "')
    >>> len(store), store[0].program
    (1, ('@post', '"', 'hello', '"'))
    """

    def __init__(self) -> None:
        self._ids = _Numbers()
        self._tokens = array("i")
        self._middles = array("q")
        self._ends = array("q", [0])
        self._weights = array("f")

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pair]) -> "RowStore":
        """Return a store of these rows."""
        store = cls()
        for pair in pairs:
            sentence, program = " ".join(pair.sentence), " ".join(pair.program)
            store.add(sentence, program, weight=pair.weight)
        return store

    def add(self, sentence: str, program: str, *, weight: float = 1.0) -> None:
        """Add a row of two texts."""
        self._tokens.extend(map(self._ids.__getitem__, sentence.split()))
        self._middles.append(len(self._tokens))
        self._tokens.extend(map(self._ids.__getitem__, program.split()))
        self._ends.append(len(self._tokens))
        self._weights.append(weight)

    def __len__(self) -> int:
        return len(self._middles)

    @property
    def names(self) -> Sequence[str]:
        """Return all different tokens."""
        return self._ids.names

    @property
    def longest_program(self) -> int:
        """Return the tokens of the longest program, 0 without rows."""
        ends = zip(self._ends[1:], self._middles, strict=True)
        return max((end - middle for end, middle in ends), default=0)

    @overload
    def __getitem__(self, place: int) -> Pair: ...

    @overload
    def __getitem__(self, place: slice) -> "list[Pair]": ...

    def __getitem__(self, place: int | slice) -> "Pair | list[Pair]":
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        start, middle, end = self._ends[place], self._middles[place], self._ends[place + 1]
        names = self._ids.names
        return Pair(
            tuple([names[i] for i in self._tokens[start:middle]]),
            tuple([names[i] for i in self._tokens[middle:end]]),
            self._weights[place],
        )

    def sentences(self) -> Iterator[str]:
        """Yield the sentence of each row, one space between its words."""
        return self._texts(self._ends, self._middles)

    def programs(self) -> Iterator[str]:
        """Yield the program of each row."""
        return self._texts(self._middles, islice(self._ends, 1, None))

    def _texts(self, starts: Iterable[int], ends: Iterable[int]) -> Iterator[str]:
        name, tokens = self._ids.names.__getitem__, self._tokens
        for start, end in zip(starts, ends, strict=False):
            yield " ".join(map(name, tokens[start:end]))

    def begins(self) -> set[str]:
        """Return the first tokens of the programs."""
        return {self._ids.names[self._tokens[middle]] for middle in self._middles}

    def program_sizes(self) -> list[int]:
        """Return the tokens of each program."""
        return list(map(sub, islice(self._ends, 1, None), self._middles))

    def numbered(self) -> Iterator[tuple["array[int]", "array[int]"]]:
        """Yield sentence and program of each row, their tokens as places in `names`."""
        tokens = self._tokens
        ends = zip(self._ends, self._middles, islice(self._ends, 1, None), strict=False)
        return ((tokens[start:middle], tokens[middle:end]) for start, middle, end in ends)

    def lengths(self) -> Iterator[int]:
        """Yield words and tokens of each row together, the program's end included."""
        ends = self._ends
        return (ends[i + 1] - ends[i] + 1 for i in range(len(self)))


def reorder_program(program: Any, rng: random.Random) -> Any:
    """Return a program with inputs and conditions in an order that is drawn.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> from genie_dp.languages.thingtalk.render import render
    >>> program = parse("now => @c.f(a=1, b=2, c=3)")
    >>> render(reorder_program(program, random.Random(1)))
    'now => @c.f(a = 1, c = 3, b = 2)'
    """

    def reorder_node(node: Any) -> Any:
        if isinstance(node, Call) and len(node.args) > 1:
            return replace(node, args=tuple(rng.sample(node.args, len(node.args))))
        if isinstance(node, And | Or):
            return replace(node, operands=tuple(rng.sample(node.operands, len(node.operands))))
        return node

    return rewrite(program, reorder_node)


# Rows that say every phrase of the shipped templates (docs/research/reading.md).
SAMPLE = 6000
# From when "tomorrow" of training rows is told; rows have no date of their own.
NOW = datetime(2026, 1, 14, 10, 0)
_BLOCK = 2000
# A constant that so many rows have and no sentence of them says comes from a template.
_OFTEN = 3


@dataclass(frozen=True, slots=True)
class Target:
    """The language of programs, and the library that they use.

    Attributes:
        language: for programs as rows have them.
        styled: the same in the style that is learned; `language` itself unless ablated.
        library: skills, declarations, or None.
    """

    language: Language
    styled: Language
    library: Library | None

    @property
    def reads_values(self) -> bool:
        """Return whether programs hold values that readers find in sentences."""
        return self.language.values.reads_values(self.library)

    @property
    def units(self) -> Units:
        """Return the units that readers look for in sentences."""
        return COMMON if self.library is None else units_in_sentences(self.library)


def canonical_text(program: str, target: Target) -> str:
    """Return the canonical token form of a program in the learned style; "" if it is none."""
    if program == OUT_OF_SCOPE:
        return program
    language, library = target.language, target.library
    try:
        tree = target.styled.from_tokens(program, library)
        return language.tokens(language.canonical(tree, library), library)
    except GenieError:
        return ""


class Style(NamedTuple):
    """How programs are written in training; see the fields of ParserConfig."""

    types: bool = True
    keywords: bool = True
    canonical: bool = True

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Style":
        """Return the style that config.json names."""
        return cls(bool(facts["types"]), bool(facts["keywords"]), bool(facts["canonical"]))


def target_of(style: Style, language: str, library: Library | None) -> Target:
    """Return the target of a language in a style.

    Raises:
        GenieError: N003, ablations of a language that has one token form.
    """
    base = get_language(language)
    if all(style):
        return Target(base, base, library)
    styled = base.in_style(**style._asdict())
    if styled is None:
        message = f"types, keywords, canonical: expected true for {language}, which has one form"
        raise GenieError(Problem("N003", message, hint="leave them out of the recipe"))
    return Target(base, styled, library)


@dataclass(frozen=True, slots=True)
class Reading:
    """How sentences are read.

    Attributes:
        phrases: of the skills, with words that are values elsewhere.
        fixed: constants that templates put into programs, in token form.
        glued: parts of words that stand beside values.
    """

    phrases: Phrases = NO_PHRASES
    fixed: frozenset[str] = frozenset()
    glued: Glued = NOT_GLUED


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """A row in the form in which it is learned; `family` is the hash of the row it was made of."""

    utterance: str
    program: str
    weight: float
    family: int
    source: str
    texts: tuple[str, ...]


@dataclass(slots=True)
class Weighed:
    """Statistics of the weights of rows."""

    low: float = math.inf
    high: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, weight: float) -> None:
        """Add a row."""
        self.low, self.high = min(self.low, weight), max(self.high, weight)
        self.total += weight
        self.squares += weight * weight

    @property
    def effective(self) -> float:
        """Return the effective number of rows (Kish, 1965)."""
        return self.total**2 / self.squares if self.squares else 0.0


@dataclass(slots=True)
class Rows:
    """All rows of a training run.

    Attributes:
        parts: the rows of each input, in order.
        held_out: sentences with their programs, kept for validation and calibration.
        texts: constants that programs hold though no sentence mentions them; of S-expressions, the
            programs.
        counts: rows by source.
        left: rows left out, by reason.
        weighed: the weights of rows to learn from, where a prior multiplied them.
        incomplete: rows made beside them whose programs lack an input (parser/incomplete.py).
        contrast: rows that mean the opposite of others (parser/contrast.py).
        refused: sentences to refuse that were made beside them (parser/refusal.py).
        refused_held_out: such sentences that are calibrated with.
    """

    parts: list[RowStore] = field(default_factory=list)
    held_out: HeldOut[tuple[str, str]] = field(default_factory=lambda: HeldOut(0))
    texts: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    weighed: Weighed | None = None
    incomplete: RowStore = field(default_factory=RowStore)
    contrast: RowStore = field(default_factory=RowStore)
    refused: RowStore = field(default_factory=RowStore)
    refused_held_out: tuple[str, ...] = ()

    def own_sentences(self) -> set[str]:
        """Return the sentences of the rows of the inputs."""
        return {sentence for store in self.parts for sentence in store.sentences()}

    @property
    def stores(self) -> tuple[RowStore, ...]:
        """Return all rows to learn from; those that were made beside them last, if there are."""
        stores = (self.incomplete, self.contrast, self.refused)
        return (*self.parts, *(store for store in stores if len(store)))


def language_of(inputs: Sequence[InputFile], given: str | None) -> str:
    """Return the language of the first row, or the given one.

    Raises:
        GenieError: N004, there are no rows.
    """
    for input_file in inputs:
        for row in _read_input(input_file):
            return given or row.language
    names = ", ".join(input_file.path for input_file in inputs)
    raise GenieError(Problem("N004", f"expected rows to learn from, got none in {names}"))


def rows_in(path: str, language: str) -> Iterator[Example]:
    """Yield the rows of a file; TSV does not have the language of its programs: it is this one."""
    rows = read_rows(path)
    return (replace(row, language=language) for row in rows) if format_of(path) == "tsv" else rows


def _read_input(input_file: InputFile, language: str = DEFAULT_LANGUAGE) -> Iterator[Example]:
    rows = rows_in(input_file.path, language)
    return (row for row in rows if not input_file.source or row.source == input_file.source)


# ------------------------------------------------------------------------- how to read them


def learn_reading(config: ParserConfig, target: Target) -> Reading:
    """Return phrases and constants of the templates, from a sample of the rows.

    The parts of words that are glued to values are learned from all of them.
    """
    if not target.reads_values or not config.prepare:
        return Reading()
    sample, glued = _sample(config, target.language)
    plain = [row for row in sample if row.source == "synthetic"]
    place = locale(config)
    reader = load_reader(units=target.units, locale=place)
    preparer = Preparer(reader, target.language, target.library, NOW, place)
    fixed = fixed_constants(plain, target.language) if plain else _unsaid(sample, preparer)
    return Reading(phrases_of(plain or sample, replace(preparer, fixed=fixed)), fixed, glued)


def _sample(config: ParserConfig, language: Language) -> tuple[list[Example], Glued]:
    """Return rows of all inputs, each as likely as another (reservoir sampling).

    Beside them stand the parts of words that all rows glue to values.
    They are the same for every seed: parsers that read otherwise could not answer together.
    """
    rng = stream(0, "phrases")
    examples: list[Example] = []
    glued, elided = NOT_GLUED, locale(config).words.elided
    count = 0
    for input_file in config.inputs:
        for row in _read_input(input_file):
            if row.source in TYPED or len(row.utterance) > MOST_CHARACTERS:
                continue
            if f" {GLUE} " in row.utterance or (elided and " ' " in row.utterance):
                texts = texts_in(row.program, language) if row.language == language.name else ()
                values = {word for text in texts for word in text}
                glued |= glued_in(row.utterance.split(" "), values, elided)
            count += 1
            if len(examples) < SAMPLE:
                examples.append(row)
            elif (place := rng.randrange(count)) < SAMPLE:
                examples[place] = row
    return examples, glued


def _unsaid(rows: Iterable[Example], preparer: Preparer) -> frozenset[str]:
    """Return the constants of programs that their sentences often do not mention."""
    counts: Counter[object] = Counter()
    texts: dict[object, str] = {}
    for row in rows:
        literals = preparer.language.form(row.program).literals
        constants = [literal.constant for literal in literals if not literal.is_text]
        text_of_key = {preparer.key_of(constant): constant for constant in constants}
        if text_of_key:
            read = preparer.reader.read(row.utterance, now=NOW)
            if not read.values:
                counts.update(text_of_key.keys())
                texts.update(text_of_key)
    return frozenset(texts[key] for key, count in counts.items() if count >= _OFTEN)


def locale(config: ParserConfig) -> Locale:
    """Return the locale of a configuration.

    Raises:
        GenieError: N002, all fields that it does not have, or whose values no text is read with.
    """
    chosen = config.locale
    if isinstance(chosen, Mapping):
        chosen = read_settings(Locale, Located.of(chosen), code="N002", path=("locale",))
    return locale_from(chosen)


# --------------------------------------------------------------------------------- all rows


def read_all(
    config: ParserConfig,
    target: Target,
    reading: Reading,
    *,
    jobs: int = 1,
    hold_out: bool = True,
    prior: PrivatePrior | None = None,
    tell: Callable[[int], None] = lambda _: None,
) -> Rows:
    """Return the rows of all inputs in the form in which they are learned.

    Args:
        jobs: processes that prepare them; the result does not depend on it.
        hold_out: whether some families are kept for calibration.
        prior: multiplies the weights of rows by its weights of their functions.
        tell: receives the number of rows that were read, now and then.

    Raises:
        GenieError: N004, an input gave no rows; or the mistakes in a file.
    """
    rows = Rows(held_out=HeldOut(config.validation_rows), weighed=Weighed() if prior else None)
    share = config.held_out if hold_out else 0.0
    # Of any source: rows that are left out may be parents of others.
    paths = dict.fromkeys(input_file.path for input_file in config.inputs)
    oldest = oldest_of(row for path in paths for row in read_rows(path)) if share else {}
    for input_file in config.inputs:
        store = RowStore()
        for row in _make_rows(input_file, config, target, reading, rows.left, jobs, prior):
            family = oldest.get(row.family, row.family)
            rows.counts[row.source] += 1
            rows.texts.update(row.texts)
            # Of a family that is held out no row is learned from, wanted or not.
            if family % 1_000_000 < share * 1_000_000:
                rows.held_out.add(f"{row.utterance}\0{row.program}", (row.utterance, row.program))
            else:
                store.add(row.utterance, row.program, weight=row.weight)
                if rows.weighed is not None:
                    rows.weighed.add(row.weight)
            if (count := rows.counts.total()) % _BLOCK == 0:
                tell(count)
        if not len(store) and input_file.ratio != 0:
            of_source = f" of source {input_file.source}" if input_file.source else ""
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in rows.left.most_common())
            hint = f"left out: {reasons}" if reasons else "name another file"
            if rows.left["not a program"]:
                hint += "; rows have programs in token form: see genie-dp grammar program tokens"
            raise GenieError(
                Problem("N004", f"{input_file.path} gave no rows{of_source}", hint=hint)
            )
        rows.parts.append(store)
    return rows


Block = tuple[list[LearnedRow], Counter[str]]


def _make_rows(
    input_file: InputFile,
    config: ParserConfig,
    target: Target,
    reading: Reading,
    left: Counter[str],
    jobs: int,
    prior: PrivatePrior | None,
) -> Iterator[LearnedRow]:
    language = target.language.name
    maker = RowMaker(config, target, reading, prior)
    make = partial(_block, maker=maker, factor=input_file.weight)
    if jobs == 1:
        input_rows = _read_input(input_file, language)
        blocks: Iterator[Block] = map(make, iter(lambda: list(islice(input_rows, _BLOCK)), []))
    else:
        total = -(-sum(1 for _ in _read_input(input_file)) // _BLOCK)

        def work(numbers: Sequence[int]) -> Iterator[Block]:
            chosen_numbers = set(numbers)
            rows = _read_input(input_file, language)
            for number in range(total):
                some = list(islice(rows, _BLOCK))
                if number in chosen_numbers:
                    yield make(some)

        blocks = in_processes(work, range(total), min(jobs, max(1, total)))
    for learned_rows, reasons in blocks:
        left.update(reasons)
        yield from learned_rows


def _block(rows: Sequence[Example], *, maker: "RowMaker", factor: float) -> Block:
    left_out: Counter[str] = Counter()
    learned_rows = []
    for row in rows:
        learned = maker.make(row, factor)
        if isinstance(learned, str):
            left_out[learned] += 1
        else:
            learned_rows.append(learned)
    return learned_rows, left_out


class RowMaker:
    """Brings rows into the form in which they are learned."""

    def __init__(
        self,
        config: ParserConfig,
        target: Target,
        reading: Reading,
        prior: PrivatePrior | None = None,
    ):
        self.config, self.target, self.prior = config, target, prior
        self.locale = locale(config)
        library = target.library
        self.known = frozenset(library.names() if library is not None else ())
        self.preparer: Preparer | None = None
        if config.prepare and target.reads_values:
            reader = load_reader(phrases=reading.phrases, units=target.units, locale=self.locale)
            self.preparer = Preparer(
                reader, target.language, target.library, NOW, self.locale, reading.fixed,
                reading.glued,
            )  # fmt: skip
        self._known = ByOutline(target.language, self._has_known_functions)
        self._forms = ByOutline(target.language, self._form_of)

    def make(self, row: Example, factor: float = 1.0) -> LearnedRow | str:
        """Return the row, or the reason to leave it out."""
        language, library = self.target.language, self.target.library
        if row.program == OUT_OF_SCOPE:
            sentence = " ".join(self.read_tokens(row.utterance))
            family = xxhash.xxh3_64_intdigest((row.parent or row.id).encode())
            weight = row.weight * factor
            return LearnedRow(sentence, OUT_OF_SCOPE, weight, family, row.source, ())
        if row.language != language.name:
            return f"a program in {row.language}"
        if language.has_skills and not self._known(row.program)[1]:
            return "a function that the skills do not have"
        prepared = row
        if self.preparer is not None:
            preparation = self.preparer.prepare(row)
            if isinstance(preparation, Left):
                return preparation.reason
            prepared = preparation.row
        if not prepared.utterance.strip():
            return "no sentence"
        program, (fault, functions) = self._forms(prepared.program)
        if fault:
            return fault
        texts = tuple(language.grammar_texts(program, prepared.utterance))
        # As programs with skills show them after they were prepared.
        if not language.has_skills:
            functions = tuple(as_row(replace(prepared, program=program)).functions)
        if self.target.styled is not language:
            tree = language.from_tokens(program)
            if not self.config.canonical:
                tree = reorder_program(tree, stream(self.config.seed, "order", prepared.id))
            program = self.target.styled.tokens(tree, library)
        family = xxhash.xxh3_64_intdigest((row.parent or row.id).encode())
        weight = row.weight * factor
        if self.prior is not None:
            weight *= row_weight(self.prior, functions)
        return LearnedRow(prepared.utterance, program, weight, family, row.source, texts)

    def read_tokens(self, sentence: str) -> tuple[str, ...]:
        """Return a sentence as the parser will read it at first."""
        if any(map(is_slot, sentence.split())):
            return tuple(sentence.split())
        if self.preparer is None:
            return tokenize(sentence)
        reader = self.preparer.reader
        return reader.read(sentence[:MOST_CHARACTERS], now=NOW).tokens

    def _has_known_functions(self, program: str) -> tuple[str, bool]:
        # Policies may name all functions of a skill.
        names = self.target.language.form(program).functions
        return program, all(name in self.known or name.endswith(".*") for name in names)

    def _form_of(self, program: str) -> tuple[str, tuple[str, tuple[str, ...]]]:
        """Return the canonical form of a program, the mistake in it, and its functions.

        The mistake is "" if there is none; functions only of languages with skills.
        """
        language, library = self.target.language, self.target.library
        try:
            tree = language.from_tokens(program)
        except GenieError:
            return program, ("not a program", ())
        if language.check(tree, library):
            return program, ("a program that is not well-typed", ())
        form = language.tokens(language.canonical(tree, library), library)
        return form, ("", language.form(form).functions if language.has_skills else ())


def grammar_texts(rows: Rows, language: str) -> tuple[str, ...]:
    """Return the constants, or programs, that a decoding grammar is to be given, sorted."""
    if get_language(language).learns_from_programs:
        return tuple(sorted(rows.texts))
    total = sum(rows.counts.values())
    # Met once among many rows, free text is a slip of augmentation and no constant of a template.
    least = 2 if total >= SAMPLE else 1
    return tuple(
        sorted(text for text, n in rows.texts.items() if n >= least or not text.startswith('"'))
    )


def first_tokens(rows: Rows) -> tuple[str, ...]:
    """Return the tokens that programs begin with, sorted."""
    return tuple(sorted(set[str]().union(*(store.begins() for store in rows.parts))))


def as_counts(rows: Rows) -> Mapping[str, Any]:
    """Return the counts for the manifest and the card."""
    counts: dict[str, Any] = {
        "rows": {source: rows.counts[source] for source in sorted(rows.counts)},
        "left out": {reason: rows.left[reason] for reason in sorted(rows.left)},
        "held out": len(rows.held_out),
    }
    if len(rows.incomplete):
        counts["incomplete"] = len(rows.incomplete)
    if len(rows.contrast):
        counts["contrast"] = len(rows.contrast)
    if len(rows.refused):
        counts["to refuse"] = len(rows.refused)
    if rows.weighed is not None and rows.weighed.total:
        weighed = rows.weighed
        counts["weights"] = {
            "least": round(weighed.low, 4),
            "greatest": round(weighed.high, 4),
            "effective rows": round(weighed.effective),
        }
    return counts
