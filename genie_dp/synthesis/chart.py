"""An exact parser for template grammars: from a sentence back to every derivation.

A chart cell holds the pieces that a category can say with certain words, each made by its rule,
the function that makes rows: what a cell holds is what synthesis would make, and nothing else.
Cells are filled on demand, from the words: "which rules can say this, and what would their
children have to say?" A child may be printed otherwise than it was made (without its determiner,
with something in its gap); then the cells of what it may have been are asked.

Placeholders of one sort look alike in a cell (`NUMBER_1` is read as `NUMBER_0`): synthesis numbers
them in the order of the sentence, so that words and order say it all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.synthesis.chart_patterns import (
    Fixed,
    Forms,
    Pattern,
    PatternIndex,
    Place,
    Tokens,
    empty_names,
    pattern_of,
    resolved,
)
from genie_dp.synthesis.chart_slots import Candidate, Option, Slot
from genie_dp.synthesis.chart_words import Words, by_words, gap_places, words_of, words_within
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.layout import Agreement, OwnDeterminer, placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import FIRST, GAP, PER_STEM, mask_of
from genie_dp.synthesis.rules import Combined, Rule, piece_of
from genie_dp.synthesis.wording import wording

MOST_PIECES = 1_000  # of a cell; what a person says has a handful
MOST_WAYS = 30  # kept for one piece: enough to show
_NEVER = 1 << 30


@dataclass(slots=True, eq=False)
class Way:
    """How a piece is made: by which rule, and of which children.

    `children` are (piece, view): the piece of a leaf or the entry of a cell, and where its words
    stand: numbers are places in the parent's words, texts are words that were not said.
    """

    rule: Rule
    children: tuple[tuple["Entry | Piece", tuple[int | str, ...]], ...]
    depth: int


@dataclass(slots=True, eq=False)
class Entry:
    """A piece of a cell, with the ways to make it; `depth` is the least of theirs."""

    category: str
    piece: Piece
    depth: int
    ways: list[Way] = field(default_factory=list)


@dataclass(slots=True)
class _Active:
    """A cell that is being filled: asked again meanwhile, it gives what is there so far."""

    place: int
    entries: dict[Any, Entry]
    was_asked: bool = False


class ChartGrammar:
    """What all charts of a grammar share: patterns by category, leaves by their words."""

    def __init__(self, compiled: Compiled):
        """Index the rules and the leaves."""
        self.compiled = compiled
        self.patterns: dict[str, list[Pattern]] = {
            category: [pattern_of(rule) for rule in rules]
            for category, rules in compiled.rules.items()
        }
        self.index = {
            (category, gap): PatternIndex.of([p for p in patterns if p.has_gap == gap])
            for category, patterns in self.patterns.items()
            for gap in (False, True)
        }
        self.leaves: dict[Any, Mapping[str, Sequence[Piece]]] = {
            name: by_words(pieces) for name, pieces in compiled.leaves.items()
        }
        self.slots: dict[Any, Slot] = {}
        everything = [p for patterns in self.patterns.values() for p in patterns]
        self.empty = empty_names(everything, [n for n, found in self.leaves.items() if "" in found])
        self.slots_of = {id(p): tuple(self._slots(p.rule)) for p in everything}
        self.checks = {id(p): Checks(p.rule) for p in everything}
        self.least = {id(p): self._least(p) for p in everything}
        self.words: dict[Any, Words] = words_of(self.patterns, self.leaves, self.slots_of)
        self.words_in = words_within(everything, self.slots_of)
        self.gaps = {name: gap_places(pieces) for name, pieces in self.leaves.items()}
        self.vocabulary = frozenset(self._words(everything))
        stems = len(compiled.placeholders.stems)
        self._alike = {
            FIRST + PER_STEM * stem + number: chr(FIRST + PER_STEM * stem)
            for stem in range(stems)
            for number in range(PER_STEM)
        }

    def alike(self, text: str) -> str:
        """Return a text in which the placeholders of one sort look alike."""
        return text.translate(self._alike)

    def _least(self, pattern: Pattern) -> Sequence[int]:
        """Return how many tokens the steps from each one on need at least."""
        slots = self.slots_of[id(pattern)]
        found = [0]
        for step in reversed(pattern.steps):
            match step:
                case Fixed(tokens):
                    least = len(tokens)
                case Forms(ways):
                    least = min(map(len, ways))
                case Place(index):
                    least = slots[index].least
            found.append(found[-1] + least)
        return found[::-1]

    def _words(self, patterns: Sequence[Pattern]) -> Iterator[str]:
        """Yield every token that a sentence can have."""
        for pattern in patterns:
            for step in pattern.steps:
                match step:
                    case Fixed(tokens):
                        yield from tokens
                    case Forms(ways):
                        yield from (token for way in ways for token in way)
                    case Place(index):
                        yield from (pattern.rule.layout.children[index].gap or "").split()
        for leaves in self.leaves.values():
            for text in leaves:
                yield from text.split()

    def _slots(self, rule: Rule) -> Iterator[Slot]:
        filled_by: Slot | None = None
        found: list[Slot] = []
        for child in reversed(rule.layout.children):
            name = placeholder_of(child.pool)
            pool: Any = child.pool
            if name is not None:
                pieces = rule.constants.get(name, ())
                pool = ("constant", tuple(piece.words for piece in pieces), id(pieces))
                if pool not in self.leaves:
                    self.leaves[pool] = by_words(pieces)
            filler = filled_by if child.gap == "" else None
            key = (
                pool, child.asked, child.print_as, child.after_article, child.gap, child.after,
                id(filler),
            )  # fmt: skip
            if key not in self.slots:
                is_cell = pool not in self.leaves
                least = int(child.gap is not None or pool not in self.empty)
                self.slots[key] = Slot(child, pool, is_cell, least, filler)
            filled_by = self.slots[key]
            found.append(filled_by)
        return reversed(found)


class Checks:
    """The guard of a rule, sorted by the child with which each condition can be decided."""

    def __init__(self, rule: Rule):
        """Sort joins and tests."""
        self.names = [child.name for child in rule.layout.children]
        self.joins: list[list[tuple[str, int, str]]] = [[] for _ in self.names]
        for join in rule.guard.joins:
            a, b = self.names.index(join.left_child), self.names.index(join.right_child)
            left, right = join.left_attribute, join.right_attribute
            if a < b:
                self.joins[b].append((right, a, left))
            else:
                self.joins[a].append((left, b, right))
        self.tests: list[list[Any]] = [[] for _ in self.names]
        for test in rule.guard.tests:
            last = max((self.names.index(child) for child, _ in test.reads), default=0)
            self.tests[last].append(test)

    def allow(self, bound: Sequence[Candidate]) -> bool:
        """Tell whether the last of the children goes with those before it."""
        last = len(bound) - 1
        piece = bound[last][0]
        for own, other, attribute in self.joins[last]:
            if piece.attribute(own) != bound[other][0].attribute(attribute):
                return False
        return all(
            test.evaluate(lambda child, name: self._look(bound, child, name))
            for test in self.tests[last]
        )

    def _look(self, bound: Sequence[Candidate], child: str, name: str) -> Any:
        return bound[self.names.index(child)][0].attribute(name)


class Chart:
    """The cells of one sentence, or of many: what a cell holds depends on its words alone."""

    def __init__(self, grammar: ChartGrammar, max_depth: int = 8):
        """Begin with no cell."""
        self.grammar = grammar
        self.max_depth = max_depth
        self.cut: list[tuple[str, str]] = []  # cells that passed MOST_PIECES
        self._done: dict[tuple[str, Tokens], Sequence[Entry]] = {}
        self._active: dict[tuple[str, Tokens], _Active] = {}
        self._options: dict[tuple[int, Tokens], Sequence[Option]] = {}
        self._entries: dict[int, Entry] = {}
        self._lowest = _NEVER  # the outermost cell that was asked for while it was being filled

    @property
    def size(self) -> int:
        """Return how many cells and choices are remembered."""
        return len(self._done) + len(self._options)

    # ---------------------------------------------------------------------------- asking

    def cell(self, category: str, tokens: Tokens) -> Sequence[Entry]:
        """Return every piece of a category whose text is the tokens (in some number)."""
        key = (category, tokens)
        if key in self._done:
            return self._done[key]
        active = self._active.get(key)
        if active is not None:
            active.was_asked = True
            self._lowest = min(self._lowest, active.place)
            return list(active.entries.values())
        words = self.grammar.words.get(category)
        return self._filled(key) if words is not None and words.may_say(tokens) else ()

    def pieces(self, slot: Slot, tokens: Tokens) -> Sequence[Piece]:
        """Return what a slot's category or pool says with the tokens."""
        if slot.is_cell:
            return [entry.piece for entry in self.cell(slot.pool, tokens)]
        return self.grammar.leaves[slot.pool].get(" ".join(tokens), ())

    def gaps(self, slot: Slot, tokens: Tokens) -> Iterator[tuple[int, int]]:
        """Yield the (start, end) that may stand in the gap of what a slot says with the tokens."""
        length = len(tokens)
        if not slot.is_cell:
            places = self.grammar.gaps[slot.pool]
            for start in range(length + 1):
                for after in places.get(tokens[:start], ()):
                    if start <= length - len(after) and tokens[length - len(after) :] == after:
                        yield start, length - len(after)
            return
        found: dict[tuple[int, int], None] = {}
        for pattern in self.grammar.index[slot.pool, True].found(tokens):
            first, last = len(pattern.head), length - len(pattern.tail)
            if sum(isinstance(step, Place) for step in pattern.steps) == 1:
                found[first, last] = None
            else:
                found |= {(a, b): None for a in range(first, last) for b in range(a, last + 1)}
        yield from found

    def options(self, slot: Slot, tokens: Tokens) -> Sequence[Option]:
        """Return the choices for a slot and for what stands in its gap, remembered."""
        key = (id(slot), tokens)
        if key not in self._options:
            outer, self._lowest = self._lowest, _NEVER
            found = list(slot.options(tokens, self))
            if self._lowest != _NEVER:
                self._lowest = min(outer, self._lowest)
                return found
            self._lowest = outer
            self._options[key] = found
        return self._options[key]

    # ---------------------------------------------------------------------------- filling

    def _filled(self, key: tuple[str, Tokens]) -> Sequence[Entry]:
        """Fill a cell; one that needs itself is filled again until nothing new comes."""
        active = _Active(len(self._active), {})
        self._active[key] = active
        outer, self._lowest = self._lowest, _NEVER
        while self._fill(key, active.entries) and active.was_asked:
            pass
        del self._active[key]
        found = list(active.entries.values())
        if self._lowest >= active.place:
            self._done[key] = found
            self._lowest = outer
        else:
            self._lowest = min(outer, self._lowest)
        return found

    def _fill(self, key: tuple[str, Tokens], entries: dict[Any, Entry]) -> bool:
        category, tokens = key
        index = self.grammar.index.get((category, GAP in tokens))
        if index is None:
            return False
        is_new = False
        for pattern in index.found(tokens):
            words = self.grammar.words_in.get(id(pattern))
            if words is not None and not words.may_say(tokens):
                continue
            for way, piece in self._ways(pattern, tokens):
                is_new |= self._add(key, entries, way, piece)
        return is_new

    def _add(
        self, key: tuple[str, Tokens], entries: dict[Any, Entry], way: Way, piece: Piece
    ) -> bool:
        if way.depth > self.max_depth:
            return False
        name = signature(piece)
        entry = entries.get(name)
        if entry is None:
            if len(entries) >= MOST_PIECES:
                self.cut.append((key[0], " ".join(key[1])))
                return False
            entry = entries[name] = Entry(key[0], piece, way.depth)
            self._entries[id(piece)] = entry
            entry.ways.append(way)
            return True
        is_shorter = way.depth < entry.depth
        entry.depth = min(entry.depth, way.depth)
        known = any(_same(way, other) for other in entry.ways)
        if not known and len(entry.ways) < MOST_WAYS:
            entry.ways.append(way)
        return is_shorter

    # ----------------------------------------------------------------------------- rules

    def _ways(self, pattern: Pattern, tokens: Tokens) -> Iterator[tuple[Way, Piece]]:
        rule = pattern.rule
        texts = " ".join(tokens)
        checks = self.grammar.checks[id(pattern)]
        agreeing = [p.child for p in rule.layout.parts if isinstance(p, Agreement)]
        slots = self.grammar.slots_of[id(pattern)]
        for lists, said in matches(self, pattern, tokens, slots):
            lists = [_agreeing(i, of_child, said) for i, of_child in enumerate(lists)]
            for chosen in _bound(lists, checks):
                pieces = [piece for piece, _ in chosen]
                numbers = {i: pieces[i].features.num for i in agreeing}
                combined = wording(rule, numbers).assemble(*pieces)
                if combined is None or texts not in resolved(self.grammar.alike(combined.text)):
                    continue
                yield self._way(rule, chosen), self._piece(rule, pieces, combined)

    def _way(self, rule: Rule, chosen: Sequence[Candidate]) -> Way:
        children = tuple((self._entries.get(id(piece), piece), view) for piece, view in chosen)
        depths = [child.depth for child, _ in children if isinstance(child, Entry)]
        return Way(rule, children, 1 + max(depths) if depths else 0)

    def _piece(self, rule: Rule, pieces: Sequence[Piece], combined: Combined) -> Piece:
        if rule.is_leaf:
            combined.count = self.grammar.compiled.placeholders.count(combined.text)
            combined.mask = mask_of(combined.count)
        return piece_of(rule, pieces, combined)


def _agreeing(
    index: int, candidates: Sequence[Candidate], said: Sequence[tuple[Forms, Tokens]]
) -> Sequence[Candidate]:
    """Return the candidates for a child whose number and determiner are as they were said."""
    for step, tokens in said:
        match step.part:
            case Agreement(child, forms) if child == index:
                numbers = {n for n, f in zip(("sg", "pl", "mass"), forms, strict=True)
                           if tuple(f.split()) == tokens}  # fmt: skip
                candidates = [c for c in candidates if c[0].features.num in numbers]
            case OwnDeterminer(child) if child == index:
                text = " ".join(tokens)
                candidates = [c for c in candidates if c[0].features.det == text]
            case _:
                pass
    return candidates


def _bound(
    lists: Sequence[Sequence[Candidate]], checks: Checks, bound: tuple[Candidate, ...] = ()
) -> Iterator[tuple[Candidate, ...]]:
    if len(bound) == len(lists):
        yield bound
        return
    for candidate in lists[len(bound)]:
        chosen = (*bound, candidate)
        if checks.allow(chosen):
            yield from _bound(lists, checks, chosen)


def _same(way: Way, other: Way) -> bool:
    if way.rule.template is not other.rule.template or len(way.children) != len(other.children):
        return False
    return all(
        signature(_piece_of(a)) == signature(_piece_of(b)) and view == other_view
        for (a, view), (b, other_view) in zip(way.children, other.children, strict=True)
    )


def _piece_of(child: Entry | Piece) -> Piece:
    return child.piece if isinstance(child, Entry) else child


def signature(piece: Piece) -> tuple[Any, ...]:
    """Return what tells a piece from all others, for every template that may use it."""
    value = piece.value
    return (
        piece.words, piece.features, piece.attributes, value.kind, value.text, value.functions,
        value.state, value.gap,
    )  # fmt: skip


Lists = list[Sequence[Candidate]]
Said = list[tuple[Forms, Tokens]]


def matches(
    chart: Chart, pattern: Pattern, tokens: Tokens, slots: Sequence[Slot]
) -> Iterator[tuple[Lists, Said]]:
    """Yield the ways to lay a pattern over tokens.

    Each is (candidates for every child, what was said of the words that hang on a child).
    """
    yield from _Matcher(chart, pattern, tokens, slots).walk(0, 0, [], [])


class _Matcher:
    def __init__(self, chart: Chart, pattern: Pattern, tokens: Tokens, slots: Sequence[Slot]):
        self.chart, self.pattern, self.tokens, self.slots = chart, pattern, tokens, slots
        self.rest = chart.grammar.least[id(pattern)]

    def walk(
        self, number: int, start: int, lists: Lists, said: Said
    ) -> Iterator[tuple[Lists, Said]]:
        if number == len(self.pattern.steps):
            if start == len(self.tokens):
                yield lists, said
            return
        if start + self.rest[number] > len(self.tokens):
            return
        step = self.pattern.steps[number]
        match step:
            case Fixed(tokens):
                if self._stand_at(tokens, start):
                    yield from self.walk(number + 1, start + len(tokens), lists, said)
            case Forms(ways, part):
                for tokens in ways:
                    if self._stand_at(tokens, start):
                        more = [*said, (step, tokens)] if part else said
                        yield from self.walk(number + 1, start + len(tokens), lists, more)
            case Place(index):
                for end in self._sayable(self.slots[index], start, self._ends(number, start)):
                    for option in self._options(index, start, end):
                        yield from self.walk(number + 1, end, [*lists, *option], said)

    def _stand_at(self, tokens: Tokens, start: int) -> bool:
        return self.tokens[start : start + len(tokens)] == tokens

    def _sayable(self, slot: Slot, start: int, ends: Iterator[int]) -> Iterator[int]:
        """Yield the ends of the spans that have no word against their being said in a slot."""
        words, tokens = slot.words, self.tokens
        assert words is not None
        if start == len(tokens) or tokens[start] not in words.first:
            yield from (end for end in ends if end == start)
            return
        known = start  # all before it are words of the slot
        for end in ends:
            while known < end:
                if tokens[known] not in words.every:
                    return
                known += 1
            if end == start or tokens[end - 1] in words.last:
                yield end

    def _ends(self, number: int, start: int) -> Iterator[int]:
        last = len(self.tokens) - self.rest[number + 1]
        if number + 1 == len(self.pattern.steps):
            yield last
            return
        step = self.pattern.steps[number + 1]
        least = self.rest[number] - self.rest[number + 1]
        for end in range(start + least, last + 1):
            if not isinstance(step, Fixed) or self._stand_at(step.tokens, end):
                yield end

    def _options(self, index: int, start: int, end: int) -> Iterator[list[Sequence[Candidate]]]:
        for option in self.chart.options(self.slots[index], self.tokens[start:end]):
            yield [
                [(piece, _moved(view, start)) for piece, view in of_child] for of_child in option
            ]


def _moved(view: tuple[int | str, ...], by: int) -> tuple[int | str, ...]:
    return tuple([place + by if isinstance(place, int) else place for place in view])
