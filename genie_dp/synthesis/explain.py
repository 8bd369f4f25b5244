"""Why a sentence means what it means: every derivation of it, and the programs they give."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from genie_dp.errors import GenieError, Problem, nearest
from genie_dp.skills.words import tokenize
from genie_dp.synthesis.chart import Chart, ChartGrammar, Entry, Way
from genie_dp.synthesis.chart_patterns import Tokens
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import GAP, Placeholders

MOST_TREES = 20  # of one piece: more are not told apart by anybody
MOST_REMEMBERED = 300_000  # cells and choices of sentences that were read: some 200 MB
BLANK = "____"

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
_QUOTED = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a chart reads it.

    Attributes:
        shown: its tokens; placeholders stand for the values that were written out.
        tokens: the same for a chart, where placeholders of one sort look alike.
        values: placeholder -> what was written, for those that were values.
    """

    shown: Tokens
    tokens: Tokens
    values: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """Return the tokens, joined by one space."""
        return " ".join(self.shown)


@dataclass(frozen=True, slots=True)
class Node:
    """A step of a derivation: a template, or a leaf of a built-in category or table.

    Attributes:
        words: what it covers; `____` is a gap that words of another node fill, and words in
            parentheses are not said (a determiner that the template above leaves out).
        template: its id; "" for a leaf.
        place: file and line of the template.
        program: what the words mean by themselves.
        refused: why the grammar refuses this step, "" for all that it derives (refused.py).
    """

    category: str
    words: str
    template: str
    place: str
    program: str
    children: tuple["Node", ...] = ()
    refused: str = ""

    @property
    def depth(self) -> int:
        """Return how many construct templates stand inside each other."""
        depths = [child.depth for child in self.children if child.template]
        return 1 + max(depths) if depths else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A program of the sentence, and the derivations that give it, the least deep first."""

    program: str
    trees: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """All readings of a sentence; none if it is not derived.

    `cut` names parts with so many readings that some were left out.
    """

    sentence: Sentence
    readings: tuple[Reading, ...]
    cut: tuple[str, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """Return the programs."""
        return tuple(reading.program for reading in self.readings)

    @property
    def is_ambiguous(self) -> bool:
        """Tell whether the sentence has several programs."""
        return len(self.readings) > 1


@dataclass(slots=True)
class Explainer:
    """Explains sentences by one grammar; indexing it takes half a second, so keep it.

    `why_refused` says what is to be said of a step besides.
    """

    compiled: Compiled
    max_depth: int = 8
    why_refused: Callable[[Way], str] = lambda way: ""
    grammar: ChartGrammar = field(init=False)
    _chart: Chart = field(init=False)

    def __post_init__(self) -> None:
        """Index the grammar."""
        self.grammar = ChartGrammar(self.compiled)
        self._chart = Chart(self.grammar, self.max_depth)

    def meanings(self, text: str) -> frozenset[str]:
        """Return the programs of a sentence, as `explain` does, without saying why.

        What is found for some words is remembered for other sentences that have them.

        Raises:
            GenieError: as `read`.
        """
        if self._chart.size > MOST_REMEMBERED:
            self._chart = Chart(self.grammar, self.max_depth)
        found = (self._meanings(sentence.tokens) for sentence in self.read(text))
        return next((programs for programs in found if programs), frozenset())

    def _meanings(self, tokens: Sequence[str]) -> frozenset[str]:
        return frozenset(
            self._named(entry.piece.value.text)
            for root in self.compiled.roots
            for entry in self._chart.cell(root, tuple(tokens))
            if not entry.piece.value.gap
        )

    def explain(self, text: str) -> Explanation:
        """Return every reading of a sentence, up to the depth."""
        found = [self.parse(sentence)[0] for sentence in self.read(text)]
        return next((e for e in found if e.readings), found[0])

    def read(self, text: str) -> list[Sentence]:
        """Return the sentence, and where numbers may be words of a template, with these as words.

        Raises:
            GenieError: the placeholders are not numbered from left to right (Y060).
        """
        placeholders = self.compiled.placeholders
        plain = read_sentence(text, placeholders)
        known = {value for _, value in plain.values if value in self.grammar.vocabulary}
        return [plain, read_sentence(text, placeholders, words=known)] if known else [plain]

    def parse(self, sentence: Sentence) -> tuple[Explanation, Chart]:
        """Return the readings of a sentence that was read, and its chart."""
        chart = Chart(self.grammar, self.max_depth)
        programs: dict[str, list[Node]] = {}
        for root in self.compiled.roots:
            for entry in chart.cell(root, sentence.tokens):
                if entry.piece.value.gap:
                    continue
                program = self._named(entry.piece.value.text)
                trees = programs.setdefault(program, [])
                trees.extend(self._trees(entry, sentence.shown, self.max_depth))
        readings = [
            Reading(program, tuple(sorted(trees, key=lambda tree: tree.depth)))
            for program, trees in programs.items()
        ]
        readings.sort(key=lambda reading: (reading.trees[0].depth, reading.program))
        cut = tuple(f"{category}: {self._named(words)}" for category, words in chart.cut)
        return Explanation(sentence, tuple(readings), cut), chart

    # ------------------------------------------------------------------------------ trees

    def _trees(self, entry: Entry, shown: Tokens, budget: int) -> list[Node]:
        ways = sorted((w for w in entry.ways if w.depth <= budget), key=lambda way: way.depth)
        found = (node for way in ways for node in self._nodes(entry, way, shown, budget))
        return list(islice(found, MOST_TREES))

    def _nodes(self, entry: Entry, way: Way, shown: Tokens, budget: int) -> Iterator[Node]:
        choices = [
            self._child(way, index, _seen(view, shown), budget - 1)
            for index, (_, view) in enumerate(way.children)
        ]
        template = way.rule.template
        place = f"{template.span.file}:{template.span.line}" if template.span else ""
        for children in product(*choices):
            yield Node(
                entry.category, " ".join(shown), template.id, place,
                self._named(entry.piece.value.text), children, self.why_refused(way),
            )  # fmt: skip

    def _child(self, way: Way, index: int, shown: Tokens, budget: int) -> Sequence[Node]:
        child = way.children[index][0]
        if isinstance(child, Entry):
            return self._trees(child, shown, budget)
        pool = way.rule.layout.children[index].pool
        return [Node(pool, " ".join(shown), "", "", self._meaning(child, shown))]

    def _meaning(self, piece: Piece, shown: Tokens) -> str:
        text = piece.value.text
        if any(text == character for character, _ in self.compiled.placeholders.names(text)):
            return " ".join(shown)  # its own number is 0, whatever stands before it
        return self._named(text) or piece.value.gap

    def _named(self, text: str) -> str:
        return named(text, self.compiled.placeholders)


def named(text: str, placeholders: Placeholders) -> str:
    """Return a text of the engine with placeholders by their names, and gaps as blanks."""
    for character, token in placeholders.names(text):
        text = text.replace(character, token)
    return text.replace(GAP, BLANK)


def _seen(view: Sequence[int | str], shown: Tokens) -> Tokens:
    return tuple(
        [
            shown[place] if isinstance(place, int) else BLANK if place == GAP else f"({place})"
            for place in view
        ]
    )


# -------------------------------------------------------------------------------- reading


def read_sentence(text: str, placeholders: Placeholders, words: Collection[str] = ()) -> Sentence:
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
    reader = _Reader(placeholders, frozenset(words))
    for number, part in enumerate(_QUOTED.split(text)):
        if number % 2 and "QUOTED_STRING" in placeholders.stems:
            reader.value("QUOTED_STRING", f'"{part}"')
        else:
            for token in tokenize(part):
                reader.token(token)
    return Sentence(tuple(reader.shown), tuple(reader.tokens), tuple(reader.values))


class _Reader:
    def __init__(self, placeholders: Placeholders, words: frozenset[str]):
        self.placeholders, self.words = placeholders, words
        self.counts: Counter[str] = Counter()
        self.shown: list[str] = []
        self.tokens: list[str] = []
        self.values: list[tuple[str, str]] = []

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
        self.values.append((self._add(stem), written))

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


def unknown_words(sentence: Sentence, vocabulary: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the words that no template and no leaf says, each with the nearest that one does.

    >>> unknown_words(Sentence(("get", "emials"), ("get", "emials")), {"get", "emails"})
    {'emials': ('emails',)}
    """
    return {
        word: tuple(nearest(word, vocabulary))
        for word, token in zip(sentence.shown, sentence.tokens, strict=True)
        if token not in vocabulary
    }
