"""Reasons why a sentence has its meaning, or is not derived.

`Explainer` finds every derivation and the programs they give; `SecondReadings` the other meanings
that a sentence would have, were it not for one guard; `nearest_miss` which parts of it are derived,
and which templates would fit but for one thing.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any, assert_never

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, Span, nearest
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.run.stage import Result, show_progress
from genie_dp.skills.words import tokenize
from genie_dp.synthesis.assembly import wording
from genie_dp.synthesis.chart import (
    Candidate,
    Chart,
    ChartEntry,
    ChartGrammar,
    ChildSlot,
    Pattern,
    Tokens,
    Way,
    matches,
    resolve_forms,
)
from genie_dp.synthesis.compiler import CompiledGrammar, compile_inputs
from genie_dp.synthesis.config import ReverseConfig
from genie_dp.synthesis.joints import sentences_apart, ways_apart
from genie_dp.synthesis.pieces import BLANK, GAP, Piece, Placeholders
from genie_dp.synthesis.rules import Agreement, GrammarRule
from genie_dp.synthesis.spoken import (
    UNLIKELY,
    FoundValue,
    IndexedGrammar,
    ReadValues,
    SentenceValues,
    ValueFinder,
    engine_tokens,
)
from genie_dp.templates.ast import Template
from genie_dp.templates.guard import (
    Attribute,
    Combination,
    Compare,
    Expression,
    GuardConstant,
    GuardTest,
    Negation,
)
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import read_text

_MOST_SHOWN = 3  # derivations of one program
_MOST_OTHERS = 3  # ways to read the values of a sentence, shown besides
_MOST_TRIED = 8  # such ways
MOST_TREES = 20  # of one piece: more are not told apart by anybody
MOST_REMEMBERED = 300_000  # cells and choices of sentences that were read: some 200 MB

_PLACEHOLDER = re.compile(r"([A-Z][A-Z_]*(?:_[\w.:-]+)?)_(\d+)")
# What a value written out looks like, and the stem of the placeholder that it is read as.
_SHAPES = (
    ("EMAIL_ADDRESS", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("URL", re.compile(r"(?:https?://|www\.)\S+")),
    ("USERNAME", re.compile(r"@\w[\w.-]*")),
    ("HASHTAG", re.compile(r"#\w[\w-]*")),
    ("TIME", re.compile(r"\d{1,2}:\d\d(?:[ap]m)?")),
    ("NUMBER", re.compile(r"-?\d+(?:[.,]\d+)*")),
)
_TOKEN_FORM = re.compile(r"\b(?:param|enum|unit|attribute):|\^\^\S+ id:")
_QUOTED = re.compile(r'"([^"]*)"')


def place_of(template: Template) -> str:
    """Return the file and line of a template; "" where it is of none."""
    return f"{template.span.file}:{template.span.line}" if template.span else ""


def _short_place(place: str) -> str:
    """Return a place with its path from the working directory, where it lies in there."""
    path, _, line = place.rpartition(":")
    try:
        return f"{Path(path).resolve().relative_to(Path.cwd())}:{line}"
    except ValueError:
        return place


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence as a chart reads it.

    Attributes:
        shown: its tokens; placeholders stand for the values that were written out.
        tokens: the same for a chart, where placeholders of one sort look alike.
        values: placeholder -> the words and meaning of its value, for those that were values.
        doubt: how much speaks against it; 0 where nothing was guessed.
    """

    shown: Tokens
    tokens: Tokens
    values: Mapping[str, FoundValue] = field(default_factory=dict)
    doubt: float = 0.0

    @property
    def text(self) -> str:
        """Return the tokens, joined by one space."""
        return " ".join(self.shown)

    def lines(self) -> Iterator[str]:
        """Yield the tokens, and the values of the placeholders."""
        yield self.text
        for token, value in self.values.items():
            meaning = value.how or ("" if _is_as_said(value) else value.constant)
            yield f"  {token} is {value.words}" + (f" ({meaning})" if meaning else "")


def _is_as_said(value: FoundValue) -> bool:
    """Return whether a constant adds nothing to the words."""
    return not value.constant or value.words.strip("\"'@#") in value.constant


@dataclass(frozen=True, slots=True)
class DerivationNode:
    """A step of a derivation: a template, or a leaf of a built-in category or table.

    Attributes:
        words: the words that it covers; `____` is a gap that words of another node fill, and words
            in parentheses do not appear (a determiner that the template above leaves out).
        template: its id; "" for a leaf.
        place: file and line of the template.
        program: the meaning of the words by themselves.
        refused: why the grammar refuses this step, "" for all that it derives.
    """

    category: str
    words: str
    template: str
    place: str
    program: str
    children: tuple["DerivationNode", ...] = ()
    refused: str = ""

    @property
    def depth(self) -> int:
        """Return how many construct templates stand inside each other."""
        depths = [child.depth for child in self.children if child.template]
        return 1 + max(depths) if depths else 0

    def lines(self) -> Iterator[str]:
        """Yield the tree, one step a line."""
        if self.template:
            place = _short_place(self.place)
            yield f'{self.category} "{self.words}"  {self.template}  {place}'
        else:
            pool = Path(self.category).name if "/" in self.category else self.category
            yield f'{pool} "{self.words}"  {self.program}'
        if self.refused:
            yield f"  refused: {self.refused}"
        for child in self.children:
            yield from (f"  {line}" for line in child.lines())


@dataclass(frozen=True, slots=True)
class SentenceReading:
    """A program of the sentence, and the derivations that give it, the least deep first."""

    program: str
    trees: tuple[DerivationNode, ...]

    def lines(self) -> Iterator[str]:
        """Yield the program, and below it some of its derivations."""
        yield self.program
        for tree in self.trees[:_MOST_SHOWN]:
            yield from (f"  {line}" for line in tree.lines())
        if len(self.trees) > _MOST_SHOWN:
            yield f"  and {len(self.trees) - _MOST_SHOWN} more derivations"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"program": self.program, "derivations": [asdict(tree) for tree in self.trees]}


@dataclass(frozen=True, slots=True)
class DerivedPart:
    """Words in a row that some categories derive."""

    start: int
    end: int
    words: str
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearFit:
    """A template that would derive a part of the sentence, but for the reasons."""

    category: str
    template: str
    place: str
    words: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Miss:
    """The nearest derivations to a sentence that is not derived.

    Attributes:
        unknown: word that no template has -> the nearest words of templates.
        parts: the longest parts that are derived, from left to right.
        fits: templates that would fit but for a request, the guard, the body or a form.
        edits: sentences that are derived and differ in one word.
        functions: those of some derived part, conditions left out.
    """

    unknown: tuple[tuple[str, tuple[str, ...]], ...]
    parts: tuple[DerivedPart, ...]
    fits: tuple[NearFit, ...]
    edits: tuple[str, ...]
    functions: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report to the user."""
        yield "not derived"
        for word, nearest_words in self.unknown:
            words = " or ".join(map(repr, nearest_words[:2]))
            yield f"  no template says {word!r}" + (f": did you mean {words}?" if words else "")
        if self.parts:
            yield "  these parts are derived:"
        for part in self.parts:
            yield f'    "{part.words}"  {", ".join(part.categories)}'
        if self.edits:
            yield "  these sentences are derived:"
            yield from (f"    {sentence}" for sentence in self.edits)
        if self.fits:
            yield "  these templates would fit:"
        for fit in self.fits:
            yield f'    {fit.category} "{fit.words}"  {fit.template}  {_short_place(fit.place)}'
            yield from (f"      but {reason}" for reason in fit.reasons)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "unknown": dict(self.unknown)}


@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """All readings of a sentence; none if it is not derived.

    Attributes:
        cut: parts with so many readings that some were left out.
        refused: readings that a guard refuses, where these were looked for.
        miss: the nearest derivations to a sentence without readings, where they were looked for.
        expected: the program that the sentence is to have; None for any.
        others: the same sentence with other values, the likeliest first; where there is no reading,
            those that would be one, were their names and texts not full of other functions' words.
        is_cut: it is too long, or has too many readings, so that reading it was stopped.
    """

    sentence: ReadSentence
    readings: tuple[SentenceReading, ...]
    cut: tuple[str, ...] = ()
    refused: tuple[SentenceReading, ...] = ()
    miss: Miss | None = None
    expected: str | None = None
    others: tuple["Explanation", ...] = ()
    is_cut: bool = False

    @property
    def programs(self) -> tuple[str, ...]:
        """Return the programs."""
        return tuple(reading.program for reading in self.readings)

    @property
    def is_ambiguous(self) -> bool:
        """Return whether the sentence has several programs, none likelier than the others."""
        as_likely = [e for e in self.others if e.sentence.doubt <= self.sentence.doubt]
        return len(self.readings) > 1 or bool(self.readings and as_likely)

    @property
    def is_right(self) -> bool:
        """Return whether the sentence is derived, with the program that is expected."""
        return bool(self.readings) and self.expected in (None, *self.programs)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report to the user."""
        yield from self.sentence.lines()
        if self.is_cut:
            yield "  note: the sentence is too long to find all of its readings"
        for part in self.cut:
            yield f"  note: some readings of a part are left out, it has too many: {part}"
        if self.miss is not None:
            yield from self.miss.lines()
        if self.is_ambiguous:
            if len(self.readings) > 1:
                yield f"ambiguous: {len(self.readings)} programs"
            else:
                yield "ambiguous: its words may be other values as well"
        for mark, readings in (("", self.readings), ("refused: ", self.refused)):
            for reading in readings:
                program, *derivations = reading.lines()
                yield from ("", mark + program, *derivations)
        if self.readings and not self.is_right:
            yield f"expected: {self.expected}"
        if self.others:
            yield from ("", "with other values:" if self.readings else "derived, but hardly meant:")
        for other in self.others[:_MOST_OTHERS]:
            yield from (f"  {line}" for line in other.sentence.lines())
            yield from (f"    {program}" for program in other.programs)
        if len(self.others) > _MOST_OTHERS:
            yield f"  and {len(self.others) - _MOST_OTHERS} more"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "sentence": self.sentence.text,
            "values": {token: value.words for token, value in self.sentence.values.items()},
            "read_as": {
                token: {"constant": value.constant, "how": value.how}
                for token, value in self.sentence.values.items()
                if value.constant
            },
            "ambiguous": self.is_ambiguous,
            "expected": None if self.expected is None else self.expected in self.programs,
            "readings": [reading.as_dict() for reading in self.readings],
            "refused": [reading.as_dict() for reading in self.refused],
            "cut": list(self.cut),
            "miss": self.miss.as_dict() if self.miss else None,
            "others": [other.as_dict() for other in self.others],
        }


@dataclass(slots=True)
class Explainer:
    """Explains sentences by one grammar; indexing it takes half a second, so keep it.

    `why_refused` returns the reason why the grammar refuses a step, or "". With `values`, sentences
    are read as people type them; without, by placeholders and words with the shape of a value.
    """

    compiled: CompiledGrammar
    max_depth: int = 8
    why_refused: Callable[[Way], str] = lambda way: ""
    values: SentenceValues | None = None
    grammar: ChartGrammar = field(init=False)
    _chart: Chart = field(init=False)
    _second: "SecondReadings | None" = field(default=None, init=False)
    _spoken: ValueFinder | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.grammar = ChartGrammar(self.compiled)
        self._chart = Chart(self.grammar, self.max_depth)

    def meanings(self, text: str) -> frozenset[str]:
        """Return the programs of a sentence, as `explain` does, without derivations.

        Results for some words are remembered for other sentences that have them.

        Raises:
            GenieError: as `read`.
        """
        if self._chart.size > MOST_REMEMBERED:
            self._chart = Chart(self.grammar, self.max_depth)
        programs_of_sentences = (self._meanings(sentence.tokens) for sentence in self.read(text))
        return next((programs for programs in programs_of_sentences if programs), frozenset())

    def programs_of(self, read: ReadValues) -> tuple[str, ...]:
        """Return the programs of a sentence whose values were read, sorted, and not why."""
        if self._chart.size > MOST_REMEMBERED:
            self._chart = Chart(self.grammar, self.max_depth)
        return tuple(sorted(self._meanings(engine_tokens(read.tokens, self.compiled.placeholders))))

    def _meanings(self, tokens: Sequence[str]) -> frozenset[str]:
        return frozenset(
            self.compiled.placeholders.show(entry.piece.value.text)
            for root in self.compiled.roots
            for entry in self._chart.cell(root, tuple(tokens))
            if not entry.piece.value.gap
        )

    @classmethod
    def from_inputs(
        cls,
        inputs: Inputs,
        config: ReverseConfig | None = None,
        *,
        values: SentenceValues | None = None,
    ) -> "Explainer":
        """Return an explainer of sentences by a grammar; its rows that fail are left out."""
        config = config or ReverseConfig()
        compiled = compile_inputs(inputs, config.subsets)
        return cls(compiled, config.max_depth, values=values)

    @property
    def spoken(self) -> ValueFinder | None:
        """Return the finder of the values of sentences; None without `values`."""
        if self._spoken is None and self.values is not None:
            indexed = IndexedGrammar.from_compiled(self.compiled, self.values)
            self._spoken = ValueFinder(indexed, self.values, self.max_depth)
        return self._spoken

    def explain(self, text: str) -> Explanation:
        """Return every reading of a sentence, up to the depth.

        Raises:
            GenieError: as `read`.
        """
        if self.spoken is None:
            parsed = (self.parse(sentence)[0] for sentence in self.read(text))
            first = next(parsed)
            return first if first.readings else next((e for e in parsed if e.readings), first)
        next(self.read(text))  # placeholders out of order are a mistake
        found = self.spoken.find(text)
        explanations = [
            self.parse(self.sentence_of(reading))[0] for reading in found.readings[:_MOST_TRIED]
        ]
        derived = [explanation for explanation in explanations if explanation.readings]
        if derived and derived[0].sentence.doubt < UNLIKELY:
            # Where the templates say all of it, nobody wants to know what else may be free text.
            is_guess = derived[0].sentence.doubt > 0
            others = tuple(e for e in derived[1:] if is_guess or not e.sentence.doubt)
            return replace(derived[0], others=others, is_cut=found.is_cut)
        guess, _ = self.parse(self.sentence_of(self.spoken.guess(text)))
        return replace(guess, others=tuple(derived), is_cut=found.is_cut)

    def sentence_of(self, read: ReadValues) -> ReadSentence:
        """Return a sentence whose values were read, as a chart reads it."""
        tokens = engine_tokens(read.tokens, self.compiled.placeholders)
        return ReadSentence(read.tokens, tokens, read.values, read.doubt)

    def explain_in_full(self, text: str) -> Explanation:
        """Return the readings, those that guards refuse, and the nearest miss if there is none.

        Raises:
            GenieError: as `read`.
        """
        explanation = self.explain(text)
        if self._second is None:
            self._second = SecondReadings(self)
        refused = self._second.find(explanation)
        miss = None
        if not explanation.readings:
            _, chart = self.parse(explanation.sentence)
            miss = nearest_miss(self, explanation.sentence, chart)
        return replace(explanation, refused=refused, miss=miss)

    def read(self, text: str) -> Iterator[ReadSentence]:
        """Yield the sentence, then with numbers that are template words, then with words cut apart.

        Raises:
            GenieError: the placeholders are not numbered from left to right (Y060).
        """
        placeholders, vocabulary = self.compiled.placeholders, self.grammar.vocabulary
        plain = read_sentence(text, placeholders)
        yield plain
        written = {value.words for value in plain.values.values()}
        if said_values := written & vocabulary:
            yield read_sentence(text, placeholders, words=said_values)
        if '"' not in text:
            choices = [[(token,), *ways_apart(token, vocabulary)] for token in tokenize(text)]
            for _, tokens in sentences_apart(choices):
                yield read_sentence(" ".join(tokens), placeholders)

    def parse(self, sentence: ReadSentence) -> tuple[Explanation, Chart]:
        """Return the readings of a sentence that was read, and its chart."""
        chart = Chart(self.grammar, self.max_depth)
        programs: dict[str, list[DerivationNode]] = {}
        for root in self.compiled.roots:
            for entry in chart.cell(root, sentence.tokens):
                if entry.piece.value.gap:
                    continue
                program = self.compiled.placeholders.show(entry.piece.value.text)
                trees = programs.setdefault(program, [])
                trees.extend(self._trees(entry, sentence.shown, self.max_depth))
        readings = [
            SentenceReading(program, tuple(sorted(trees, key=lambda tree: tree.depth)))
            for program, trees in programs.items()
        ]
        readings.sort(key=lambda reading: (reading.trees[0].depth, reading.program))
        cut = tuple(
            f"{category}: {self.compiled.placeholders.show(words)}" for category, words in chart.cut
        )
        return Explanation(sentence, tuple(readings), cut), chart

    # ------------------------------------------------------------------------------ trees

    def _trees(self, entry: ChartEntry, shown: Tokens, budget: int) -> list[DerivationNode]:
        ways = sorted((w for w in entry.ways if w.depth <= budget), key=lambda way: way.depth)
        nodes = (node for way in ways for node in self._nodes(entry, way, shown, budget))
        return list(islice(nodes, MOST_TREES))

    def _nodes(
        self, entry: ChartEntry, way: Way, shown: Tokens, budget: int
    ) -> Iterator[DerivationNode]:
        choices = [
            self._child(way, index, _words_of_view(view, shown), budget - 1)
            for index, (_, view) in enumerate(way.children)
        ]
        template = way.rule.template
        program = self.compiled.placeholders.show(entry.piece.value.text)
        for children in product(*choices):
            yield DerivationNode(
                entry.category, " ".join(shown), template.id, place_of(template), program, children,
                self.why_refused(way),
            )  # fmt: skip

    def _child(self, way: Way, index: int, shown: Tokens, budget: int) -> Sequence[DerivationNode]:
        child = way.children[index][0]
        if isinstance(child, ChartEntry):
            return self._trees(child, shown, budget)
        pool = way.rule.layout.children[index].pool
        return [DerivationNode(pool, " ".join(shown), "", "", self._meaning(child, shown))]

    def _meaning(self, piece: Piece, shown: Tokens) -> str:
        text = piece.value.text
        if any(text == character for character, _ in self.compiled.placeholders.names(text)):
            return " ".join(shown)  # its own number is 0, whatever stands before it
        return self.compiled.placeholders.show(text) or piece.value.gap


def _words_of_view(view: Sequence[int | str], shown: Tokens) -> Tokens:
    return tuple(
        [
            shown[place] if isinstance(place, int) else BLANK if place == GAP else f"({place})"
            for place in view
        ]
    )


# -------------------------------------------------------------------------------- reading


def read_sentence(
    text: str, placeholders: Placeholders, words: Collection[str] = ()
) -> ReadSentence:
    """Return the tokens of a sentence, with placeholders for the values in it.

    Words in double quotes become QUOTED_STRING_k; numbers, clock times, mail addresses, links,
    @names and #tags become the placeholder of their shape, if the grammar has such. Values in
    `words` stay as they are.

    Raises:
        GenieError: the placeholders are not numbered from left to right (Y060).

    >>> known = Placeholders(["NUMBER", "QUOTED_STRING"])
    >>> read_sentence('Post "Good morning" 5 times on QUOTED_STRING_1', known).text
    'post QUOTED_STRING_0 NUMBER_0 times on QUOTED_STRING_1'
    """
    reader = _SentenceReader(placeholders, frozenset(words))
    for number, part in enumerate(_QUOTED.split(text)):
        if number % 2 and "QUOTED_STRING" in placeholders.stems:
            reader.value("QUOTED_STRING", f'"{part}"')
        else:
            for token in tokenize(part):
                reader.token(token)
    return ReadSentence(tuple(reader.shown), tuple(reader.tokens), reader.values)


class _SentenceReader:
    def __init__(self, placeholders: Placeholders, words: frozenset[str]):
        self.placeholders, self.words = placeholders, words
        self.counts: Counter[str] = Counter()
        self.shown: list[str] = []
        self.tokens: list[str] = []
        self.values: dict[str, FoundValue] = {}

    def token(self, token: str) -> None:
        match = _PLACEHOLDER.fullmatch(token)
        if match and match[1] in self.placeholders.stems:
            self._check(match[1], int(match[2]))
            self._add(match[1])
            return
        if token not in self.words:
            for stem, shape in _SHAPES:
                if shape.fullmatch(token) and stem in self.placeholders.stems:
                    self.value(stem, token)
                    return
        self.shown.append(token)
        self.tokens.append(token)

    def value(self, stem: str, written: str) -> None:
        self.values[self._add(stem)] = FoundValue(written)

    def _add(self, stem: str) -> str:
        token = f"{stem}_{self.counts[stem]}"
        self.counts[stem] += 1
        self.shown.append(token)
        self.tokens.append(self.placeholders.character(stem))
        return token

    def _check(self, stem: str, number: int) -> None:
        if number != self.counts[stem]:
            message = f"expected {stem}_{self.counts[stem]}, got {stem}_{number}"
            hint = "placeholders of one sort are numbered from left to right, beginning with 0"
            raise GenieError(Problem("Y060", message, hint=hint))


def unknown_words(
    sentence: ReadSentence, vocabulary: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the words that no template and no leaf has, each with the nearest words of these.

    >>> unknown_words(ReadSentence(("get", "emials"), ("get", "emials")), {"get", "emails"})
    {'emials': ('emails',)}
    """
    return {
        word: tuple(nearest(word, vocabulary))
        for word, token in zip(sentence.shown, sentence.tokens, strict=True)
        if token not in vocabulary
    }


MOST_SPANS = 8  # shown
MOST_FITS = 5
MOST_EDITS = 4
_MOST_CHOICES = 200  # of children, tried for one template and one part of the sentence
_MOST_TRIES = 40  # sentences with one word changed
_LONGEST = 30  # words of a sentence whose parts are all looked at
_OTHER_ARTICLE = {"a": "an", "an": "a"}


def nearest_miss(explainer: Explainer, sentence: ReadSentence, chart: Chart) -> Miss:
    """Return the nearest miss of a sentence that was not derived; `chart` is that which failed."""
    vocabulary = explainer.grammar.vocabulary
    spans = _derived_spans(chart, sentence)
    return Miss(
        tuple(unknown_words(sentence, vocabulary).items()),
        tuple(_longest_parts(spans, sentence)),
        tuple(_near_fits(explainer, chart, sentence)),
        tuple(islice(_edits(explainer, sentence), MOST_EDITS)),
        tuple(sorted(set(_functions_of_parts(chart, sentence, spans)))),
    )


# ------------------------------------------------------------------- the nearest miss: its parts


def _places(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield every part of the tokens, the longest first."""
    for length in range(min(len(tokens), _LONGEST), 0, -1):
        for start in range(len(tokens) - length + 1):
            yield start, start + length


def _derived_spans(chart: Chart, sentence: ReadSentence) -> dict[tuple[int, int], tuple[str, ...]]:
    names = list(chart.grammar.patterns)
    categories_by_span = {}
    for start, end in _places(sentence.tokens):
        tokens = sentence.tokens[start:end]
        categories = tuple(name for name in names if chart.cell(name, tokens))
        if categories:
            categories_by_span[start, end] = categories
    return categories_by_span


def _functions_of_parts(
    chart: Chart, sentence: ReadSentence, spans: Mapping[tuple[int, int], Sequence[str]]
) -> Iterator[str]:
    """Yield the functions of derived parts; a condition alone may be one of many functions."""
    for (start, end), categories in spans.items():
        for category in categories:
            for entry in chart.cell(category, sentence.tokens[start:end]):
                if entry.piece.value.kind != "predicate":
                    yield from entry.piece.value.functions


def _longest_parts(
    spans: dict[tuple[int, int], tuple[str, ...]], sentence: ReadSentence
) -> Iterator[DerivedPart]:
    """Yield derived parts that lie in no longer one, from left to right."""
    chosen: list[tuple[int, int]] = []
    for start, end in spans:  # the longest first
        if not any(a <= start and end <= b for a, b in chosen):
            chosen.append((start, end))
    for start, end in sorted(chosen[:MOST_SPANS]):
        yield DerivedPart(start, end, " ".join(sentence.shown[start:end]), spans[start, end])


# ---------------------------------------------------------------------------------- templates


def _near_fits(explainer: Explainer, chart: Chart, sentence: ReadSentence) -> Iterator[NearFit]:
    """Yield templates that fail for as few reasons as possible, on parts as long as possible."""
    loose = _Loose(chart)
    count = 0
    seen: set[str] = set()
    for start, end in _places(sentence.tokens):
        tokens = sentence.tokens[start:end]
        fits = []
        for category in chart.grammar.patterns:
            if chart.cell(category, tokens):
                continue
            fits += list(loose.fits(category, tokens))
        fits.sort(key=lambda fit: (_weight(fit[1]), fit[0].rule.template.id))
        for pattern, reasons in fits:
            template = pattern.rule.template
            if template.id in seen:
                continue
            seen.add(template.id)
            words = " ".join(sentence.shown[start:end])
            reasons_in_words = tuple(
                explainer.compiled.placeholders.show(reason) for reason in reasons
            )
            yield NearFit(
                template.category, template.id, place_of(template), words, reasons_in_words
            )
            count += 1
            if count == MOST_FITS:
                return


def _says_much(pattern: Pattern) -> bool:
    """Return whether a rule fits only some sentences: it has words, or two children of cells."""
    children = pattern.rule.layout.children
    return bool(pattern.words) or sum(not child.is_leaf for child in children) > 1


_SAID = "it would be said "


def _weight(reasons: Sequence[str]) -> tuple[int, int]:
    """Return how far a template is from fitting: words that only have another form are nearest."""
    return len(reasons), sum(not reason.startswith(_SAID) for reason in reasons)


class _Loose:
    """Reads rules over tokens without their requests and guards, and names the unmet ones."""

    def __init__(self, chart: Chart):
        self.chart = chart
        self.loosened: dict[int, ChildSlot] = {}

    def fits(self, category: str, tokens: Tokens) -> Iterator[tuple[Pattern, list[str]]]:
        index = self.chart.grammar.index[category, False]
        for pattern in index.find(tokens):
            if not _says_much(pattern):
                continue
            slots = [self._loose(slot) for slot in self.chart.grammar.slots_of[id(pattern)]]
            best: list[str] | None = None
            for lists, _ in matches(self.chart, pattern, tokens, slots):
                for chosen in islice(product(*(found for found, _ in lists)), _MOST_CHOICES):
                    reasons = self._reasons(pattern, tokens, chosen)
                    if reasons and (best is None or _weight(reasons) < _weight(best)):
                        best = reasons
            if best:
                yield pattern, best

    def _loose(self, slot: ChildSlot) -> ChildSlot:
        if id(slot) not in self.loosened:
            filler = None if slot.filler is None else self._loose(slot.filler)
            # Phrases of another part of speech are no near fit, only other words.
            requests = tuple(request for request in slot.child.asked if request[0] == "pos")
            child = replace(slot.child, asked=requests)
            self.loosened[id(slot)] = replace(slot, child=child, filler=filler)
        return self.loosened[id(slot)]

    def _reasons(self, pattern: Pattern, tokens: Tokens, chosen: Sequence[Candidate]) -> list[str]:
        rule = pattern.rule
        pieces = [piece for piece, _ in chosen]
        reasons = []
        for child, piece in zip(rule.layout.children, pieces, strict=True):
            for name, allowed in child.asked:
                if piece.attribute(name) not in allowed:
                    reasons.append(
                        f"{child.name} asks for {name}={'|'.join(sorted(allowed))}, and "
                        f"{child.pool} '{piece.text}' has {name}={piece.attribute(name) or 'none'}"
                    )
        reasons += self._guard(pattern, pieces)
        return reasons or self._join(pattern, tokens, pieces)

    def _guard(self, pattern: Pattern, pieces: Sequence[Any]) -> Iterator[str]:
        rule = pattern.rule
        by_name = {c.name: p for c, p in zip(rule.layout.children, pieces, strict=True)}

        def value(child: str, name: str) -> Any:
            return by_name[child].attribute(name)

        for join in rule.guard.joins:
            left_value = value(join.left_child, join.left_attribute)
            right_value = value(join.right_child, join.right_attribute)
            if left_value != right_value:
                left_name = f"{join.left_child}.{join.left_attribute}"
                right_name = f"{join.right_child}.{join.right_attribute}"
                values = f"{left_value!r} and {right_value!r}"
                yield f"the guard wants {left_name} == {right_name}: {values}"
        for test in (*rule.guard.tests, *rule.late):
            if not test.evaluate(value):
                values = ", ".join(
                    f"{child}.{name} is {value(child, name)!r}" for child, name in test.reads
                )
                yield f"the guard wants {guard_text(test.expression)}: {values}"

    def _join(self, pattern: Pattern, tokens: Tokens, pieces: Sequence[Any]) -> list[str]:
        rule = pattern.rule
        agreeing = {part.child for part in rule.layout.parts if isinstance(part, Agreement)}
        words = wording(rule, {i: pieces[i].features.num for i in agreeing})
        combined = words.assemble(*pieces)
        if combined is None:
            return ["the programs of its children do not go together"]
        text = self.chart.grammar.alike(combined.text)
        if " ".join(tokens) not in resolve_forms(text):
            return [f"{_SAID}'{resolve_forms(combined.text)[-1]}'"]
        return []


def guard_text(expression: Expression) -> str:
    """Return a condition as template files write it.

    >>> guard_text(Negation(Compare("==", Attribute("q", "num"), GuardConstant("sg"))))
    "not q.num == 'sg'"
    """
    match expression:
        case Attribute(child, name):
            return f"{child}.{name}"
        case GuardConstant(tuple() as values):
            return f"[{', '.join(map(repr, values))}]"
        case GuardConstant(value):
            return repr(value)
        case Compare(operator, left, right):
            return f"{guard_text(left)} {operator} {guard_text(right)}"
        case Negation(operand):
            return f"not {guard_text(operand)}"
        case Combination(operator, operands):
            return f"({f' {operator} '.join(map(guard_text, operands))})"
        case _:
            assert_never(expression)


# -------------------------------------------------------------------------------- other words


def _edits(explainer: Explainer, sentence: ReadSentence) -> Iterator[str]:
    """Yield sentences that are derived and differ in one word: left out, added or another."""
    tried: set[Tokens] = set()
    chart = Chart(explainer.grammar, explainer.max_depth)
    for words, tokens in islice(_changed_sentences(explainer, sentence), _MOST_TRIES):
        if tokens in tried:
            continue
        tried.add(tokens)
        if any(chart.cell(root, tokens) for root in explainer.compiled.roots):
            yield " ".join(words)


def _changed_sentences(
    explainer: Explainer, sentence: ReadSentence
) -> Iterator[tuple[Tokens, Tokens]]:
    words, tokens = sentence.shown, sentence.tokens
    unknown = unknown_words(sentence, explainer.grammar.vocabulary)
    for place, word in enumerate(words):
        for near_word in unknown.get(word, ()):
            yield (
                _with_words(words, place, place + 1, near_word),
                _with_words(tokens, place, place + 1, near_word),
            )
    if len(unknown) > 1:
        return
    for place, token in enumerate(tokens):
        for word in _other_forms(token) & explainer.grammar.vocabulary:
            yield (
                _with_words(words, place, place + 1, word),
                _with_words(tokens, place, place + 1, word),
            )
        if token == words[place] and GAP not in token:
            yield _with_words(words, place, place + 1), _with_words(tokens, place, place + 1)
    for start, end, word in [] if unknown else _hinted_words(explainer, tokens):
        yield _with_words(words, start, end, word), _with_words(tokens, start, end, word)


def _other_forms(token: str) -> frozenset[str]:
    """Return the same word in the other number, the other article."""
    if token in _OTHER_ARTICLE:
        return frozenset((_OTHER_ARTICLE[token],))
    if not token.isalpha():
        return frozenset()
    plural_form = english.plural(token)
    return frozenset((plural_form if plural_form != token else english.singular(token),)) - {token}


def _with_words(tokens: Tokens, start: int, end: int, *words: str) -> Tokens:
    return (*tokens[:start], *words, *tokens[end:])


def _hinted_words(explainer: Explainer, tokens: Tokens) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, word): a word to put there, that a template has beside its neighbours."""
    score: dict[tuple[int, int, str], int] = {}
    present = set(tokens)
    for patterns in explainer.grammar.patterns.values():
        for pattern in patterns:
            missing = pattern.words - present
            if len(missing) != 1 or len(pattern.words) < 2:
                continue
            (word,) = missing
            for change in _places_beside(pattern, tokens, word):
                score[change] = max(score.get(change, 0), len(pattern.words))
    yield from sorted(score, key=lambda change: (-score[change], change))


def _places_beside(pattern: Pattern, tokens: Tokens, word: str) -> Iterator[tuple[int, int, str]]:
    for step in pattern.steps:
        fixed = getattr(step, "tokens", ())
        if word not in fixed:
            continue
        index = fixed.index(word)
        for place, token in enumerate(tokens):
            if index and token == fixed[index - 1]:
                yield place + 1, place + 1, word
                yield place + 1, min(place + 2, len(tokens)), word
            if index + 1 < len(fixed) and token == fixed[index + 1]:
                yield place, place, word
                yield max(place - 1, 0), place, word


# ---------------------------------------------------------------------------- second readings
# `p.name not in q.inner` leaves a condition to the inner of two nouns where it fits both. Without
# that test the chart finds the other reading as well, and here is said which template refuses it.

REFUSING = "inner"
"""The attribute with which guards refuse the second reading of a sentence."""


@dataclass(slots=True)
class SecondReadings:
    """Finds the readings that guards refuse; indexes the grammar once more on first use."""

    explainer: Explainer
    _loose: Explainer | None = field(default=None, init=False)
    _left_out: Mapping[int, Sequence[GuardTest]] = field(default_factory=dict, init=False)

    def find(self, explanation: Explanation) -> tuple[SentenceReading, ...]:
        """Return the readings of a sentence that are refused, the least deep first."""
        if self._loose is None:
            compiled, self._left_out = loosen(self.explainer.compiled)
            self._loose = Explainer(compiled, self.explainer.max_depth, self._why)
        if not self._left_out:
            return ()
        loose_explanation, _ = self._loose.parse(explanation.sentence)
        return tuple(r for r in loose_explanation.readings if r.program not in explanation.programs)

    def _why(self, way: Way) -> str:
        tests = self._left_out.get(id(way.rule), ())
        pieces = [c.piece if isinstance(c, ChartEntry) else c for c, _ in way.children]
        by_name = dict(zip(way.rule.names, pieces, strict=True))

        def value(child: str, name: str) -> object:
            return by_name[child].attribute(name)

        for test in tests:
            if not test.evaluate(value):
                values = ", ".join(f"{c}.{name} is {value(c, name)!r}" for c, name in test.reads)
                return f"the guard wants {guard_text(test.expression)}: {values}"
        return ""


def loosen(
    compiled: CompiledGrammar,
) -> tuple[CompiledGrammar, Mapping[int, Sequence[GuardTest]]]:
    """Return a grammar whose guards refuse no second reading, and the tests left out of its rules.

    The tests are keyed by the identity of the rule that they are missing in.
    """
    left_out: dict[int, Sequence[GuardTest]] = {}

    def without(rule: GrammarRule) -> GrammarRule:
        tests = [
            test
            for test in (*rule.guard.tests, *rule.late)
            if any(name == REFUSING for _, name in test.reads)
        ]
        if not tests:
            return rule
        guard = replace(rule.guard, tests=tuple(t for t in rule.guard.tests if t not in tests))
        late = tuple(t for t in rule.late if t not in tests)
        # Wordings hold what was made of the rule with its tests.
        loose = replace(rule, guard=guard, late=late, wordings={})
        left_out[id(loose)] = tests
        return loose

    rules = {name: [without(rule) for rule in of_it] for name, of_it in compiled.rules.items()}
    return replace(compiled, rules=rules), left_out


# ---------------------------------------------------------------------------- programs in files


def read_program(text: str, language: Language) -> Any:
    """Return the program of a text, written as people do or as tokens.

    Raises:
        GenieError: it is neither; the mistake is of the form that it looks like.
    """

    def parse(text: str) -> Any:
        return language.parse(text, file="<program>")

    readers: list[Callable[[str], Any]] = [parse, partial(language.from_tokens, places=True)]
    if _TOKEN_FORM.search(text):
        readers.reverse()  # what the other one says of a text of this form is long
    first, second = readers
    try:
        return first(text)
    except GenieError as error:
        try:
            return second(text)
        except GenieError:
            raise error from None


def check_program(program: Any, language: Language, library: Library, text: str = "") -> None:
    """Refuse a program that means nothing in the library.

    Raises:
        GenieError: all its mistakes; `text` is its source.
    """
    errors = [p for p in language.check(program, library) if p.severity == "error"]
    if errors:
        raise GenieError(errors, sources=dict.fromkeys(("<program>", "<tokens>"), text))


def program_tokens(text: str, inputs: Inputs) -> str:
    """Return the canonical tokens of a program, given as people write it or as tokens.

    Raises:
        GenieError: it is neither, or means nothing in the library.
    """
    language, library = inputs.language, inputs.library
    program = read_program(text, language)
    check_program(program, language, library, text)
    return language.tokens(language.canonical(program, library), library)


def move_problem(problem: Problem, place: Span) -> Problem:
    """Return a mistake of a program with its place in the file that the program stands in.

    >>> place = Span("programs.txt", 7, 5, 7, 30)
    >>> str(move_problem(Problem("S001", "", Span("<program>", 1, 8, 1, 9)), place).span)
    'programs.txt:7:12'
    """
    column, end = place.column, place.end_column
    if problem.span:
        column += problem.span.column - 1
        end = place.column + problem.span.end_column - 1
    return replace(problem, span=Span(place.file, place.line, column, place.line, end))


# -------------------------------------------------------------------------------------- the stage


@dataclass(frozen=True, slots=True)
class PairsResult(Result):
    """The results of sentences with the programs that they should have.

    Attributes:
        faults: for each sentence without its program, its place and its programs.
    """

    pairs: int
    ambiguous: int
    faults: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Return whether there are pairs, and all are derived."""
        return bool(self.pairs) and not self.faults

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report to the user."""
        yield from self.faults
        wrong = len(self.faults)
        yield (
            f"{self.pairs:,} pairs: {self.pairs - wrong:,} derived, {wrong:,} not, "
            f"{self.ambiguous:,} ambiguous"
        )


def run(
    config: ReverseConfig,
    inputs: Inputs,
    sentence: str,
    *,
    expected: str | None = None,
    values: SentenceValues | None = None,
) -> Explanation:
    """Explain a sentence: its readings, those that guards refuse, or the nearest miss.

    Args:
        config: which derivations are looked for.
        inputs: the skills and templates.
        sentence: with values, or placeholders for them.
        expected: the program that it is to have, with placeholders.
        values: the reader of values; None reads only those that are known by their shape.

    Raises:
        GenieError: placeholders not numbered from left to right (Y060); an expected program that
            cannot be read or is ill-typed.
    """
    tokens = None if expected is None else program_tokens(expected, inputs)
    explainer = Explainer.from_inputs(inputs, config, values=values)
    explanation = explainer.explain_in_full(sentence)
    return replace(explanation, expected=tokens)


def check_pairs(
    config: ReverseConfig, inputs: Inputs, path: Path, *, progress: bool | None = None
) -> PairsResult:
    """Explain each sentence of a TSV file, and compare its programs with the one beside it.

    Raises:
        GenieError: a line has not two columns (R030); those of `run`, with their place.
    """
    explainer = Explainer.from_inputs(inputs, config)
    pairs = ambiguous = 0
    faults = []
    for place, utterance, program in show_progress(
        read_pairs(path), label="explain", show=progress
    ):
        try:
            expected = program_tokens(program, inputs)
        except GenieError as error:
            column = replace(place, column=len(utterance) + 2)
            raise GenieError([move_problem(p, column) for p in error.problems]) from None
        explanation = explainer.explain(utterance)
        pairs += 1
        ambiguous += explanation.is_ambiguous
        if expected not in explanation.programs:
            programs = " and ".join(explanation.programs)
            fault = f"expected {expected}, got {programs}" if programs else "not derived"
            faults.append(f"{place.file}:{place.line}: {utterance}\n  {fault}")
    return PairsResult(pairs, ambiguous, tuple(faults))


def read_pairs(path: Path) -> Iterator[tuple[Span, str, str]]:
    """Yield (place, utterance, program) for each line of a TSV file, a header left out.

    Raises:
        GenieError: a line has not two columns (R030).
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith("#") or line == "utterance\tprogram":
            continue
        cells = line.split("\t")
        place = Span(str(path), number, 1, number, len(line) + 1)
        if len(cells) != 2:
            message = f"expected utterance and program with a tab between, got {len(cells)} columns"
            raise GenieError(Problem("R030", message, place))
        yield place, cells[0], cells[1]
