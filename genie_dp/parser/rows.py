"""From files to rows that a parser learns from: read, brought into the asked form, counted.

Nothing here imports torch, so that worker processes may be forked before it is loaded.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, get_type_hints

import xxhash

from genie_dp.dataset.scan import as_row
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.base import Language
from genie_dp.languages.functions import functions_in
from genie_dp.languages.thingtalk.decoding.constants import constants_of
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.families import oldest_of
from genie_dp.parser.held_out import HeldOut
from genie_dp.parser.order import reordered
from genie_dp.parser.reading.constants import literals
from genie_dp.parser.reading.load import load_reader
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.prepare import Left, Preparer, fixed_constants, phrases_of
from genie_dp.parser.reading.reading import MOST_CHARACTERS, Locale
from genie_dp.parser.store import RowStore
from genie_dp.private_prior import row_weight
from genie_dp.recipe import fits, said
from genie_dp.records import Example, PrivatePrior
from genie_dp.rng import stream
from genie_dp.rows import format_of, read_rows
from genie_dp.run.workers import in_processes

# Rows that say every phrase of the shipped templates (docs/reading.md).
SAMPLE = 6000
# From when "tomorrow" of training rows is told; rows have no date of their own.
NOW = datetime(2026, 1, 14, 10, 0)
_BLOCK = 2000
# A constant that so many rows have and no sentence of them says comes from a template.
_OFTEN = 3


@dataclass(frozen=True, slots=True)
class Target:
    """What programs are written in.

    Attributes:
        language: for programs as rows have them.
        styled: the same in the style that is learned; `language` itself unless ablated.
        library: skills, declarations, or None.
    """

    language: Language
    styled: Language
    library: Any


class Style(NamedTuple):
    """How programs are written in training; see the fields of ParserConfig."""

    types: bool = True
    keywords: bool = True
    canonical: bool = True

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Style":
        """Return the style that config.json names."""
        return cls(bool(facts["types"]), bool(facts["keywords"]), bool(facts["canonical"]))


def target_of(style: Style, language: str, library: Any) -> Target:
    """Return the target of a language in a style.

    Raises:
        GenieError: N003, ablations of a language that has one token form.
    """
    from genie_dp.languages import get_language

    found = get_language(language)
    if all(style):
        return Target(found, found, library)
    if language != "thingtalk":
        message = f"types, keywords, canonical: expected true for {language}, which has one form"
        raise GenieError(Problem("N003", message, hint="leave them out of the recipe"))
    from genie_dp.languages.thingtalk.language import ThingTalk
    from genie_dp.languages.thingtalk.tokens import TokenStyle

    return Target(found, ThingTalk(TokenStyle(*style)), library)


@dataclass(frozen=True, slots=True)
class Reading:
    """How sentences are read.

    Attributes:
        phrases: what the skills say with words that are values elsewhere.
        fixed: constants that templates put into programs, in token form.
    """

    phrases: Phrases = NO_PHRASES
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Row:
    """A row in the form in which it is learned; `family` is the hash of the row it was made of."""

    utterance: str
    program: str
    weight: float
    group: str
    family: int
    source: str
    texts: tuple[str, ...]


@dataclass(slots=True)
class Weighed:
    """What the weights of rows come to."""

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
        """Return how many rows of one weight tell as much (Kish, 1965)."""
        return self.total**2 / self.squares if self.squares else 0.0


@dataclass(slots=True)
class Rows:
    """All rows of a training run.

    Attributes:
        parts: the rows of each input, in order.
        held_out: sentences with their programs, kept for validation and calibration.
        texts: constants that programs hold though no sentence says them; of S-expressions, the
            programs.
        counts: rows by source.
        left: rows left out, by reason.
        weighed: the weights of rows to learn from, where a prior multiplied them.
    """

    parts: list[RowStore] = field(default_factory=list)
    held_out: HeldOut[tuple[str, str]] = field(default_factory=lambda: HeldOut(0))
    texts: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    weighed: Weighed | None = None


def language_of(inputs: Sequence[InputFile], given: str | None) -> str:
    """Return the language of the first row, or the given one.

    Raises:
        GenieError: N004, there are no rows.
    """
    for one in inputs:
        for row in _selected(one):
            return given or row.language
    names = ", ".join(one.path for one in inputs)
    raise GenieError(Problem("N004", f"expected rows to learn from, got none in {names}"))


def rows_in(path: str, language: str) -> Iterator[Example]:
    """Yield the rows of a file; TSV does not say of which language its programs are: of this."""
    rows = read_rows(path)
    return (replace(row, language=language) for row in rows) if format_of(path) == "tsv" else rows


def _selected(one: InputFile, language: str = "thingtalk") -> Iterator[Example]:
    rows = rows_in(one.path, language)
    return (row for row in rows if not one.source or row.source == one.source)


# ------------------------------------------------------------------------- how to read them


def learn_reading(config: ParserConfig, target: Target) -> Reading:
    """Return phrases and constants of the templates, from a sample of the rows."""
    if target.language.name != "thingtalk" or not config.prepare:
        return Reading()
    sample = _sample(config)
    plain = [row for row in sample if row.source == "synthetic"]
    reader = load_reader(config.reader)
    preparer = Preparer(reader, target.language, target.library, NOW, locale(config))
    fixed = fixed_constants(plain) if plain else _unsaid(sample, preparer)
    return Reading(phrases_of(plain or sample, replace(preparer, fixed=fixed)), fixed)


def _sample(config: ParserConfig) -> list[Example]:
    """Return rows of all inputs, each as likely as another (reservoir sampling).

    They are the same for every seed: parsers that read otherwise could not answer together.
    """
    rng = stream(0, "phrases")
    found: list[Example] = []
    count = 0
    for one in config.inputs:
        for row in _selected(one):
            if row.source in ("private", "human") or len(row.utterance) > MOST_CHARACTERS:
                continue
            count += 1
            if len(found) < SAMPLE:
                found.append(row)
            elif (place := rng.randrange(count)) < SAMPLE:
                found[place] = row
    return found


def _unsaid(rows: Iterable[Example], preparer: Preparer) -> frozenset[str]:
    """Return the constants of programs that their sentences often do not say."""
    counts: Counter[object] = Counter()
    texts: dict[object, str] = {}
    for row in rows:
        known = {x.key: x.text for x in literals(tuple(row.program.split(" "))) if not x.is_text}
        if known:
            read = preparer.reader.read(row.utterance, now=NOW, locale=preparer.locale)
            if not read.values:
                counts.update(known.keys())
                texts.update(known)
    return frozenset(texts[key] for key, count in counts.items() if count >= _OFTEN)


def locale(config: ParserConfig) -> Locale:
    """Return the locale of a configuration.

    Raises:
        GenieError: N002, all fields that it does not have, or whose values no text is read with.
    """
    kinds = get_type_hints(Locale)
    problems = []
    for name, value in config.locale.items():
        if name not in kinds:
            hint = did_you_mean(name, kinds) or f"settings: {', '.join(kinds)}"
            problems.append(Problem("N002", f"locale: unknown setting {name!r}", hint=hint))
        elif not fits(value, kinds[name]):
            message = f"locale: {name}: expected {said(kinds[name])}, got {value!r}"
            problems.append(Problem("N002", message))
    if problems:
        raise GenieError(problems)
    return Locale(**config.locale)


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
        prior: multiplies the weights of rows by what it says of their functions.
        tell: is told now and then how many rows were read.

    Raises:
        GenieError: N004, an input gave no rows; or what is wrong with a file.
    """
    found = Rows(held_out=HeldOut(config.validation_rows), weighed=Weighed() if prior else None)
    share = config.held_out if hold_out else 0.0
    oldest = oldest_of(_all_rows(config)) if share else {}
    for one in config.inputs:
        store = RowStore()
        for row in _made(one, config, target, reading, found.left, jobs, prior):
            family = oldest.get(row.family, row.family)
            _keep(row, store, found, is_held_out=family % 1_000_000 < share * 1_000_000)
            if (count := found.counts.total()) % _BLOCK == 0:
                tell(count)
        if not len(store) and one.ratio != 0:
            what = f" of source {one.source}" if one.source else ""
            told = ", ".join(f"{n:,} {reason}" for reason, n in found.left.most_common())
            hint = f"left out: {told}" if told else "name another file"
            if found.left["not a program"]:
                hint += "; rows have programs in token form: see genie-dp program tokens"
            raise GenieError(Problem("N004", f"{one.path} gave no rows{what}", hint=hint))
        found.parts.append(store)
    return found


def _all_rows(config: ParserConfig) -> Iterator[Example]:
    """Yield the rows of all inputs, of any source: those left out may be parents of others."""
    for path in dict.fromkeys(one.path for one in config.inputs):
        yield from read_rows(path)


def _keep(row: Row, store: RowStore, found: Rows, *, is_held_out: bool) -> None:
    found.counts[row.source] += 1
    found.texts.update(row.texts)
    # Of a family that is held out no row is learned from, wanted or not.
    if not is_held_out:
        store.add(row.utterance, row.program, weight=row.weight, group=row.group)
        if found.weighed is not None:
            found.weighed.add(row.weight)
    else:
        found.held_out.add(f"{row.utterance}\0{row.program}", (row.utterance, row.program))


def _made(
    one: InputFile,
    config: ParserConfig,
    target: Target,
    reading: Reading,
    left: Counter[str],
    jobs: int,
    prior: PrivatePrior | None,
) -> Iterator[Row]:
    make = partial(
        _block, config=config, target=target, reading=reading, factor=one.weight, prior=prior
    )
    for rows, reasons in _blocks(one, target.language.name, make, jobs):
        left.update(reasons)
        yield from rows


Block = tuple[list[Row], Counter[str]]


def _blocks(one: InputFile, language: str, make: Any, jobs: int) -> Iterator[Block]:
    if jobs == 1:
        rows = _selected(one, language)
        while some := list(islice(rows, _BLOCK)):
            yield make(some)
        return
    total = -(-sum(1 for _ in _selected(one)) // _BLOCK)

    def work(numbers: Sequence[int]) -> Iterator[Block]:
        wanted = set(numbers)
        rows = _selected(one, language)
        for number in range(total):
            some = list(islice(rows, _BLOCK))
            if number in wanted:
                yield make(some)

    yield from in_processes(work, range(total), min(jobs, max(1, total)))


def _block(
    rows: Sequence[Example],
    *,
    config: ParserConfig,
    target: Target,
    reading: Reading,
    factor: float,
    prior: PrivatePrior | None,
) -> Block:
    maker = RowMaker(config, target, reading, prior)
    left: Counter[str] = Counter()
    made = []
    for row in rows:
        found = maker.make(row, factor)
        if isinstance(found, str):
            left[found] += 1
        else:
            made.append(found)
    return made, left


class RowMaker:
    """Brings rows into the form in which they are learned."""

    def __init__(
        self,
        config: ParserConfig,
        target: Target,
        reading: Reading,
        prior: PrivatePrior | None = None,
    ):
        """Load the reader."""
        self.config, self.target, self.prior = config, target, prior
        library = target.library
        known = library.functions() if target.language.name == "thingtalk" else ()
        self.known = frozenset(signature.qualified for signature in known)
        self.preparer: Preparer | None = None
        if config.prepare and target.language.name == "thingtalk":
            reader = load_reader(config.reader, phrases=reading.phrases)
            self.preparer = Preparer(
                reader, target.language, target.library, NOW, locale(config), reading.fixed
            )

    def make(self, row: Example, factor: float = 1.0) -> Row | str:
        """Return the row, or the reason to leave it out."""
        if row.language != self.target.language.name:
            return f"a program in {row.language}"
        if not self._is_known(row):
            return "a function that the skills do not have"
        made = row
        if self.preparer is not None:
            found = self.preparer.prepare(row)
            if isinstance(found, Left):
                return found.reason
            made = found.row
        if not made.utterance.strip():
            return "no sentence"
        read = self._read(made)
        if isinstance(read, str):
            return read
        made, tree = read
        texts, program = self._texts(made), made.program
        if self.target.styled is not self.target.language:
            program = self._styled(made, tree)
        is_thingtalk = row.language == "thingtalk"
        functions = functions_in(made.program) if is_thingtalk else as_row(made).functions
        group = "compound" if len(functions) > 1 else "primitive"
        family = xxhash.xxh3_64_intdigest((row.parent or row.id).encode())
        weight = row.weight * factor
        if self.prior is not None:
            weight *= row_weight(self.prior, functions)
        return Row(made.utterance, program, weight, group, family, row.source, texts)

    def _is_known(self, row: Example) -> bool:
        """Tell whether the skills have all functions; policies may name all of a skill."""
        if row.language != "thingtalk":
            return True
        return all(name in self.known or name.endswith(".*") for name in functions_in(row.program))

    def _texts(self, row: Example) -> tuple[str, ...]:
        if row.language != "thingtalk":
            return (row.program,)
        return tuple(constants_of(row.utterance, row.program))

    def _read(self, row: Example) -> tuple[Example, Any] | str:
        """Return the row with its program in canonical form, and the program; or what is wrong."""
        language, library = self.target.language, self.target.library
        try:
            tree = language.from_tokens(row.program)
        except GenieError:
            return "not a program"
        if language.check(tree, library):
            return "a program that is not well-typed"
        tree = language.canonical(tree, library)
        return replace(row, program=language.tokens(tree, library)), tree

    def _styled(self, row: Example, tree: Any) -> str:
        if not self.config.canonical:
            tree = reordered(tree, stream(self.config.seed, "order", row.id))
        return self.target.styled.tokens(tree, self.target.library)


def grammar_texts(rows: Rows, language: str) -> tuple[str, ...]:
    """Return the constants, or programs, that a decoding grammar is to be given, sorted."""
    if language != "thingtalk":
        return tuple(sorted(rows.texts))
    total = sum(rows.counts.values())
    # Met once among many rows, free text is a slip of augmentation and no constant of a template.
    least = 2 if total >= SAMPLE else 1
    return tuple(
        sorted(text for text, n in rows.texts.items() if n >= least or not text.startswith('"'))
    )


def as_counts(rows: Rows) -> Mapping[str, Any]:
    """Return the counts for the manifest and the card."""
    found: dict[str, Any] = {
        "rows": {source: rows.counts[source] for source in sorted(rows.counts)},
        "left out": {reason: rows.left[reason] for reason in sorted(rows.left)},
        "held out": len(rows.held_out),
    }
    if rows.weighed is not None and rows.weighed.total:
        one = rows.weighed
        found["weights"] = {
            "least": round(one.low, 4),
            "greatest": round(one.high, 4),
            "effective rows": round(one.effective),
        }
    return found
