"""An exact parser for template grammars: from a sentence back to every derivation.

A chart cell holds the pieces of a category that have certain words, each made by its rule, the
function that makes rows: a cell holds exactly the pieces that synthesis would make. Cells are
filled on demand, from the words: "which rules can have these words, and which words would their
children have then?" A child may be printed otherwise than it was made (without its determiner,
with something in its gap); then the cells of its possible original words are looked up.

Placeholders of one sort look alike in a cell (`NUMBER_1` is read as `NUMBER_0`): synthesis numbers
them in the order of the sentence, so that words and order identify them.

Patterns are rules read backwards, slots are the places of children read backwards, and the words
that each slot can have rule out most spans without filling a cell.

A grammar may be *open*: then any words that the caller takes for such a value may stand for a
placeholder of some sorts, so that "play bohemian rhapsody" is read with the name as it was typed.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from genie_dp.english import forms as english
from genie_dp.english.lists import ARTICLES
from genie_dp.synthesis.assembly import PARTICLE, wording
from genie_dp.synthesis.compiler import CompiledGrammar
from genie_dp.synthesis.pieces import FIRST, GAP, PER_STEM, Piece, features, mask_of
from genie_dp.synthesis.rules import (
    Agreement,
    ChildSpec,
    Combined,
    GrammarRule,
    OwnDeterminer,
    piece_of,
    placeholder_of,
)

Tokens = tuple[str, ...]
DETERMINERS: Sequence[Tokens] = ((), *((word,) for word in ARTICLES))
NUMBERS = ("sg", "pl", "mass")
OPEN = "\uf8fe"  # among the words of a place: any word at all
_FIRST_OPEN = 0xF0000  # characters that stand for values in words, while a sentence is read
_WAITING = re.compile(r"(\{[^{}/]*/[^{}]*\})")


@dataclass(frozen=True, slots=True)
class Fixed:
    """Words that stand as they are."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Forms:
    """One of several words; `part` is their part of the layout, if they depend on a child."""

    ways: tuple[Tokens, ...]
    part: Agreement | OwnDeterminer | None = None


@dataclass(frozen=True, slots=True)
class ChildPlace:
    """A child, by its index; those that stand in its gap come with it."""

    index: int


Step = Fixed | Forms | ChildPlace


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule as steps over tokens.

    Attributes:
        words: the tokens that every sentence of the rule has.
        has_gap: the rule leaves a placeholder open: its sentences have a GAP.
        head, tail: the tokens that its sentences begin and end with.
        around_gap: the tokens right before and behind its gap, as far as they are fixed; None where
            they are not.
    """

    rule: GrammarRule
    steps: tuple[Step, ...]
    words: frozenset[str]
    has_gap: bool
    head: Tokens
    tail: Tokens
    around_gap: tuple[Tokens | None, Tokens | None] = (None, None)

    def gap_edges(self, tokens: Tokens) -> tuple[Sequence[int], Sequence[int]]:
        """Return where a gap of the rule may begin, and where it may end, in tokens without it."""
        first, last = len(self.head), len(tokens) - len(self.tail)
        before, behind = self.around_gap
        starts: Iterable[int] = range(first, last)
        ends: Iterable[int] = range(first, last + 1)
        if before is not None:
            size = len(before)
            starts = [x for x in starts if tokens[x - size : x] == before] if size else [0]
        if behind is not None:
            size = len(behind)
            ends = [x for x in ends if tokens[x : x + size] == behind] if size else [last]
        return list(starts), list(ends)

    def may_say(self, tokens: Tokens, present: frozenset[str]) -> bool:
        """Return whether the tokens may be a sentence of the rule, by its fixed words alone."""
        return (
            self.words <= present
            and tokens[: len(self.head)] == self.head
            and (not self.tail or tokens[-len(self.tail) :] == self.tail)
        )


def pattern_of(rule: GrammarRule, open_words: Collection[str] = ()) -> Pattern:
    """Return the pattern of a rule; `open_words` are placeholders that other words may replace."""
    steps = tuple(_join_fixed(_steps(rule)))
    words = frozenset(token for step in steps for token in _needed_tokens(rule, step))
    words -= frozenset(open_words)
    has_gap = any(c.gap == GAP or _is_open(rule, c.pool) for c in rule.layout.children)
    head, tail = (_fixed_tokens(step) for step in (steps[:1], steps[-1:]))
    return Pattern(rule, steps, words, has_gap, head, tail, _around_gap(rule, steps))


def _around_gap(rule: GrammarRule, steps: Sequence[Step]) -> tuple[Tokens | None, Tokens | None]:
    """Return the fixed tokens before and behind the placeholder that a rule leaves open."""
    for place, step in enumerate(steps):
        if isinstance(step, ChildPlace) and _is_open(rule, rule.layout.children[step.index].pool):
            before = steps[place - 1] if place else Fixed(())
            behind = steps[place + 1] if place + 1 < len(steps) else Fixed(())
            return (
                before.tokens if isinstance(before, Fixed) else None,
                behind.tokens if isinstance(behind, Fixed) else None,
            )
    return None, None


def _needed_tokens(rule: GrammarRule, step: Step) -> Iterator[str]:
    """Yield the tokens that a step always has: words, and placeholders of constants."""
    match step:
        case Fixed(tokens):
            yield from tokens
        case ChildPlace(index):
            name = placeholder_of(rule.layout.children[index].pool)
            words = {piece.words for piece in rule.constants.get(name or "", ())}
            if len(words) == 1 and words != {GAP}:
                yield from words.pop().split()


def _fixed_tokens(steps: Sequence[Step]) -> Tokens:
    return steps[0].tokens if steps and isinstance(steps[0], Fixed) else ()


def _is_open(rule: GrammarRule, pool: str) -> bool:
    name = placeholder_of(pool)
    return name is not None and any(piece.words == GAP for piece in rule.constants.get(name, ()))


def _steps(rule: GrammarRule) -> Iterator[Step]:
    for part in rule.layout.parts:
        match part:
            case str():
                yield from _steps_of_words(part)
            case Agreement(_, forms):
                yield Forms(tuple(dict.fromkeys(tuple(form.split()) for form in forms)), part)
            case OwnDeterminer():
                yield Forms(tuple(DETERMINERS), part)
            case int():
                yield ChildPlace(part)


def _steps_of_words(text: str) -> Iterator[Step]:
    for number, piece in enumerate(_WAITING.split(text)):
        tokens = tuple(piece.split())
        if number % 2:
            forms = [tuple(form.split()) for form in piece[1:-1].split("/")]
            yield Forms(tuple(dict.fromkeys((*forms, tokens))))
        elif tokens:
            yield Fixed(tokens)


def _join_fixed(steps: Iterable[Step]) -> Iterator[Step]:
    waiting: Tokens = ()
    for step in steps:
        if isinstance(step, Fixed):
            waiting += step.tokens
            continue
        if waiting:
            yield Fixed(waiting)
            waiting = ()
        yield step
    if waiting:
        yield Fixed(waiting)


def resolve_forms(text: str) -> tuple[str, ...]:
    """Return a text with its waiting forms unchanged, and with those of every number.

    >>> resolve_forms("{is/are} unread")
    ('{is/are} unread', 'is unread', 'are unread')
    """
    if "{" not in text:
        return (text,)
    texts = {text: None}
    for number in NUMBERS:
        texts[resolve_with_number(text, number)] = None
    return tuple(texts)


def resolve_with_number(text: str, number: str) -> str:
    """Return a text whose waiting forms agree with a noun phrase of this number.

    >>> resolve_with_number("that {is/are} unread", "pl")
    'that are unread'
    """
    place = NUMBERS.index(number)

    def form(match: re.Match[str]) -> str:
        forms = match[0][1:-1].split("/")
        return forms[place] if place < len(forms) else forms[0]

    return " ".join(_WAITING.sub(form, text).split())


@dataclass(slots=True)
class PatternIndex:
    """The patterns of a category, found by the rarest word that they need."""

    by_word: dict[str, list[Pattern]] = field(default_factory=dict)
    without: list[Pattern] = field(default_factory=list)

    @classmethod
    def from_patterns(cls, patterns: Sequence[Pattern]) -> "PatternIndex":
        """Return the index of some patterns."""
        uses = Counter(word for pattern in patterns for word in pattern.words)
        index = cls()
        for pattern in patterns:
            if pattern.words:
                rarest = min(pattern.words, key=lambda word: (uses[word], word))
                index.by_word.setdefault(rarest, []).append(pattern)
            else:
                index.without.append(pattern)
        return index

    def find(self, tokens: Tokens) -> Iterator[Pattern]:
        """Yield the patterns that may match the tokens, as far as their fixed words decide it."""
        present = frozenset(tokens)
        for token in dict.fromkeys(tokens):
            for pattern in self.by_word.get(token, ()):
                if pattern.may_say(tokens, present):
                    yield pattern
        yield from self.without


def empty_names(patterns: Sequence[Pattern], pools: Iterable[str]) -> frozenset[str]:
    """Return the categories that can be empty, with the `pools`, which can be empty as well."""
    empty = set(pools)
    while True:
        more = {p.rule.category for p in patterns if _pattern_may_be_empty(p, empty)} - empty
        if not more:
            return frozenset(empty)
        empty |= more


def _pattern_may_be_empty(pattern: Pattern, empty: set[str]) -> bool:
    children = pattern.rule.layout.children
    for step in pattern.steps:
        match step:
            case Fixed():
                return False
            case Forms(ways):
                if () not in ways:
                    return False
            case ChildPlace(index):
                if children[index].pool not in empty:
                    return False
    return True


# ------------------------------------------------------------------------------------------- slots
# The printers of assembly.py drop or change a child's determiner, leave its first words out, put an
# article before it, or something into its gap. A slot undoes all of that.

View = tuple[int | str, ...]
"""Where words stand: places in the text around them, or words that were not said."""
Candidate = tuple[Piece, View]
Option = Sequence[Sequence[Candidate]]
"""Candidates for a child and for each of those that stand in its gap."""


class PieceSource(Protocol):
    """The methods of a chart that slots use."""

    def pieces(self, slot: "ChildSlot", tokens: Tokens) -> Sequence[Piece]:
        """Return the pieces of the slot's category or pool that have these tokens."""

    def gaps(self, slot: "ChildSlot", tokens: Tokens) -> Iterator[tuple[int, int]]:
        """Yield the spans of tokens that may fill the gap of the slot's pieces."""

    def options(self, slot: "ChildSlot", tokens: Tokens) -> Sequence[Option]:
        """Return the choices for another slot."""


@dataclass(slots=True, eq=False)
class ChildSlot:
    """A child as it is printed.

    Attributes:
        pool: the category, or the key of a pool of leaves.
        is_cell: it is a category.
        least: the fewest tokens that it may have.
        filler: the slot of the child in its gap.
        words: those that may be printed here, once the grammar is indexed.
        needed: each printed text has one of these words; None for no such words.
        open: the placeholders that may stand here and that any words may replace, with their
            stems.
        is_before_noun: it is the value of an adjective, which has no determiner of its own.
    """

    child: ChildSpec
    pool: Any
    is_cell: bool
    least: int
    filler: "ChildSlot | None"
    words: "SayableWords | None" = None
    needed: frozenset[str] | None = None
    open: Sequence[tuple[str, Piece]] = ()
    is_before_noun: bool = False

    def may_say(self, tokens: Tokens) -> bool:
        """Return whether the tokens may be printed here, by their words alone."""
        if self.needed is not None and self.needed.isdisjoint(tokens):
            return False
        return self.words is None or self.words.may_say(tokens)

    def options(self, tokens: Tokens, source: PieceSource) -> Iterator[Option]:
        """Yield the choices under which the tokens are printed here."""
        start = 0
        if self.child.after_article:
            if len(tokens) < 2 or tokens[0] != english.article(" ".join(tokens[1:])):
                return
            tokens, start = tokens[1:], 1
        places: View = tuple(range(start, start + len(tokens)))
        gap = self.child.gap
        if gap is None or gap == GAP:
            candidates = self._candidates(tokens, places, source)
            if candidates:
                yield [candidates]
        elif gap:
            candidates = self._around_words(tokens, places, tuple(gap.split()), source)
            if candidates:
                yield [candidates]
        else:
            yield from self._around_filler(tokens, places, source)

    def _around_words(
        self, tokens: Tokens, places: View, words: Tokens, source: PieceSource
    ) -> list[Candidate]:
        candidates: list[Candidate] = []
        for start in range(len(tokens) - len(words) + 1):
            end = start + len(words)
            if tokens[start:end] == words:
                host, view = _open_gap(tokens, places, start, end)
                candidates += self._candidates(host, view, source)
                moved = _particle_first(host, start)
                if moved is not None:
                    swapped = (*view[:start], view[start + 1], view[start], *view[start + 2 :])
                    candidates += self._candidates(moved, swapped, source)
        return candidates

    def _around_filler(self, tokens: Tokens, places: View, source: PieceSource) -> Iterator[Option]:
        filler = self.filler
        assert filler is not None
        for words, start, end in self._gaps(tokens, source):
            if end - start < filler.least or not filler.may_say(tokens[start:end]):
                continue
            host = self._candidates(*_open_gap(words, places, start, end), source)
            if not host:
                continue
            for option in source.options(filler, tokens[start:end]):
                shift = start + (places[0] if isinstance(places[0], int) else 0)
                yield [
                    host,
                    *([_shift_candidate(c, shift) for c in of_child] for of_child in option),
                ]

    def _gaps(self, tokens: Tokens, source: PieceSource) -> Iterator[tuple[Tokens, int, int]]:
        """Yield (tokens, start, end): where the filler may stand.

        In the tokens, the article before it is as it was before the filler came: "a" for "an".
        """
        for start, end in self._plain_gaps(tokens, source):
            yield tokens, start, end
        for place, token in enumerate(tokens):
            if token == "an":
                words = (*tokens[:place], "a", *tokens[place + 1 :])
                for start, end in self._plain_gaps(words, source):
                    if start == place + 1:
                        yield words, start, end

    def _plain_gaps(self, tokens: Tokens, source: PieceSource) -> Iterator[tuple[int, int]]:
        """Yield the possible places of a gap: all spans, where the child's words are changed."""
        if self.child.print_as not in ("own", "any"):
            yield from ((a, b) for a in range(len(tokens)) for b in range(a, len(tokens) + 1))
            return
        after = tuple(self.child.after.split())
        gaps = dict.fromkeys(source.gaps(self, tokens))
        if after:
            moved = source.gaps(self, after + tokens)
            gaps |= dict.fromkeys((a - len(after), b - len(after)) for a, b in moved)
        yield from ((a, b) for a, b in gaps if a >= 0)

    # ------------------------------------------------------------------- one child's words

    def _candidates(self, tokens: Tokens, places: View, source: PieceSource) -> list[Candidate]:
        candidates: list[Candidate] = []
        is_constant = placeholder_of(self.child.pool) is not None
        for words, view in self._with_what_is_left_out(tokens, places):
            found = self._with_determiner(words, view, source)
            candidates += found if is_constant else [c for c in found if self.asks_for(c[0])]
        return candidates

    def asks_for(self, piece: Piece) -> bool:
        """Return whether a piece meets the template's requests to the child."""
        if placeholder_of(self.child.pool) is not None:  # nothing is asked of constants
            return True
        if bool(piece.value.gap) != (self.child.gap is not None):
            return False
        return all(piece.attribute(name) in allowed for name, allowed in self.child.asked)

    def _with_what_is_left_out(self, tokens: Tokens, places: View) -> Iterator[tuple[Tokens, View]]:
        after = tuple(self.child.after.split())
        if after:
            yield after + tokens, after + places
        if not after or tokens[: len(after)] != after:
            yield tokens, places

    def _with_determiner(
        self, tokens: Tokens, view: View, source: PieceSource
    ) -> Iterator[Candidate]:
        match self.child.print_as:
            case "none":
                yield from self._without_determiner(tokens, view, source)
            case "the":
                for piece in source.pieces(self, tokens):
                    if piece.features.own in ("the", "my"):
                        yield piece, view
                if tokens[:1] == ("the",):
                    for piece, rest in self._without_determiner(tokens[1:], view[1:], source):
                        if piece.features.own not in ("the", "my"):
                            yield piece, rest
            case "a":
                if tokens[:1] in (("a",), ("an",)):
                    yield from self._without_determiner(tokens[1:], view[1:], source)
            case _:
                yield from ((piece, view) for piece in source.pieces(self, tokens))

    def _without_determiner(
        self, tokens: Tokens, view: View, source: PieceSource
    ) -> Iterator[Candidate]:
        """Yield the pieces whose words, without the determiner, are the tokens."""
        for determiner in DETERMINERS:
            if determiner and not self.is_cell:
                continue
            text = " ".join(determiner)
            for piece in source.pieces(self, determiner + tokens):
                if piece.features.det == text:
                    yield piece, determiner + view


def _particle_first(host: Tokens, place: int) -> Tokens | None:
    """Return "look up GAP" for "look GAP up": nouns come after the particle; None for no such."""
    if place != 1 or len(host) < 3:
        return None
    moved = (host[0], host[2], GAP, *host[3:])
    printed = PARTICLE.sub(rf"\1 {GAP} \2", " ".join(moved))
    return moved if printed == " ".join(host) else None


def _open_gap(tokens: Tokens, places: View, start: int, end: int) -> tuple[Tokens, View]:
    return (
        (*tokens[:start], GAP, *tokens[end:]),
        (*places[:start], GAP, *places[end:]),
    )


def _shift_candidate(candidate: Candidate, by: int) -> Candidate:
    if not by:
        return candidate
    piece, view = candidate
    return piece, tuple([place + by if isinstance(place, int) else place for place in view])


# ------------------------------------------------------------------------------------------- words
# The left-corner test of chart parsers, at both ends: most spans that a pattern may give to a child
# have a word that the child never says. The sets may be too large, never too small.

_DETERMINERS = frozenset(token for tokens in DETERMINERS for token in tokens)
_ARTICLES = ("a", "an")
_ADJECTIVE = frozenset(("adjective",))


@dataclass(slots=True)
class SayableWords:
    """The words of a category, a pool, or a place.

    Attributes:
        first: those that it begins with, and those after a determiner that it begins with.
        last: those that it ends with.
        every: all.
        is_bare: it may be nothing but determiners.
    """

    first: set[str] = field(default_factory=set)
    last: set[str] = field(default_factory=set)
    every: set[str] = field(default_factory=set)
    is_bare: bool = False

    @property
    def size(self) -> int:
        """Return a number that grows with each of them."""
        return len(self.first) + len(self.last) + len(self.every) + self.is_bare

    def may_say(self, tokens: Tokens) -> bool:
        """Return whether the tokens fit these sets of words."""
        if not tokens:
            return True
        return (
            self.may_begin(tokens[0])
            and self.may_end(tokens[-1])
            and (OPEN in self.every or self.every.issuperset(tokens))
        )

    def may_begin(self, token: str) -> bool:
        """Return whether a token may come first."""
        return token in self.first or OPEN in self.first

    def may_end(self, token: str) -> bool:
        """Return whether a token may come last."""
        return token in self.last or OPEN in self.last

    def may_have(self, token: str) -> bool:
        """Return whether a token may stand anywhere."""
        return token in self.every or OPEN in self.every

    def add(self, tokens: Tokens) -> None:
        """Add the words of a text."""
        self.first.update(_tokens_to_first_word(tokens))
        self.last.update(tokens[-1:])
        self.every.update(tokens)
        self.is_bare |= _DETERMINERS.issuperset(tokens)


def _tokens_to_first_word(tokens: Tokens) -> Iterator[str]:
    """Yield the tokens up to the first that is no determiner."""
    for token in tokens:
        yield token
        if token not in _DETERMINERS:
            return


def words_of(
    patterns: Mapping[str, Sequence[Pattern]],
    leaves: Mapping[Any, Iterable[Tokens]],
    slots_of: Mapping[int, Sequence[ChildSlot]],
) -> dict[Any, SayableWords]:
    """Return the words of each category and pool, and note down those of each slot in it.

    Args:
        patterns: category -> the patterns of its rules.
        leaves: pool -> texts.
        slots_of: id of a pattern -> the slots of its children.
    """
    words_by_name: dict[Any, SayableWords] = {name: SayableWords() for name in (*patterns, *leaves)}
    for name, texts in leaves.items():
        for tokens in texts:
            words_by_name[name].add(tokens)
    # The last slot of a pattern may be the filler of the one before it: so from the right.
    slots = list(dict.fromkeys(s for of_one in slots_of.values() for s in reversed(of_one)))
    rest = [(name, p) for name, of_name in patterns.items() for p in of_name]
    while True:
        before = sum(words.size for words in words_by_name.values())
        for slot in slots:
            slot.words = _printed_words(slot, words_by_name.get(slot.pool, SayableWords()))
        for name, pattern in rest:
            _add_pattern(words_by_name[name], pattern, slots_of[id(pattern)])
        rest = [(n, p) for n, p in rest if any(slot.is_cell for slot in slots_of[id(p)])]
        if sum(words.size for words in words_by_name.values()) == before:
            return words_by_name


def words_within(
    patterns: Iterable[Pattern], slots_of: Mapping[int, Sequence[ChildSlot]]
) -> dict[int, SayableWords]:
    """Return the words of patterns by their ids, once `words_of` noted down those of the slots.

    Of those alone whose children are more than constants: there are hundreds, not thousands.
    """
    words_by_pattern: dict[int, SayableWords] = {}
    for pattern in patterns:
        slots = slots_of[id(pattern)]
        if any(slot.is_cell for slot in slots):
            _add_pattern(words_by_pattern.setdefault(id(pattern), SayableWords()), pattern, slots)
    return words_by_pattern


def _printed_words(slot: ChildSlot, unprinted: SayableWords) -> SayableWords:
    """Return the words of a child as it is printed (see `ChildSlot`)."""
    child = slot.child
    words = SayableWords(
        set(unprinted.first), set(unprinted.last), set(unprinted.every), unprinted.is_bare
    )
    if child.gap and child.gap != GAP:
        _fill(
            words,
            SayableWords(set(child.gap.split()), set(child.gap.split()), set(child.gap.split())),
        )
        if GAP in unprinted.last:  # "look it up" for "look up it"
            words.last |= unprinted.every
    elif slot.filler is not None:
        assert slot.filler.words is not None
        _fill(words, slot.filler.words, can_be_empty=slot.filler.least == 0)
    if child.after:
        words.first |= words.every
        words.is_bare = True
    if child.print_as == "the":
        words.first.add("the")
        words.every.add("the")
    if child.print_as == "a" or child.after_article or slot.filler is not None:
        words.first.update(_ARTICLES)
        words.every.update(_ARTICLES)
    return words


def _fill(words: SayableWords, filler: SayableWords, *, can_be_empty: bool = False) -> None:
    """Put something into the gap."""
    if GAP in words.first:
        words.first |= filler.first
        if filler.is_bare or can_be_empty:
            words.first |= words.every
            words.is_bare = True
    if GAP in words.last:
        words.last |= words.every if can_be_empty else set()
        words.last |= filler.last
    words.every |= filler.every


def _add_pattern(words: SayableWords, pattern: Pattern, slots: Sequence[ChildSlot]) -> None:
    is_first = True
    for step in pattern.steps:
        step_words = _words_of_step(step, slots)
        words.every |= step_words.every
        if is_first:
            words.first |= step_words.first
            is_first = step_words.is_bare or _step_may_be_empty(step, slots)
    words.is_bare |= is_first
    for step in reversed(pattern.steps):
        words.last |= _words_of_step(step, slots).last
        if not _step_may_be_empty(step, slots):
            return


def _words_of_step(step: Fixed | Forms | ChildPlace, slots: Sequence[ChildSlot]) -> SayableWords:
    if isinstance(step, ChildPlace):
        slot_words = slots[step.index].words
        assert slot_words is not None
        return slot_words
    words = SayableWords()
    for tokens in step.ways if isinstance(step, Forms) else (step.tokens,):
        words.add(tokens)
    return words


def _step_may_be_empty(step: Fixed | Forms | ChildPlace, slots: Sequence[ChildSlot]) -> bool:
    match step:
        case Fixed(tokens):
            return not tokens
        case Forms(ways):
            return () in ways
        case ChildPlace(index):
            return slots[index].least == 0


def needed_words(
    patterns: Mapping[str, Sequence[Pattern]],
    leaves: Mapping[Any, Iterable[Tokens]],
    slots_of: Mapping[int, Sequence[ChildSlot]],
) -> dict[Any, frozenset[str]]:
    """Return words of categories and pools one of which each of their texts has.

    Names that can have none of these words are left out. An open grammar has names that may be any
    words, so that few spans have a word which their category never has; most lack one that it
    always has.

    Args:
        patterns, leaves, slots_of: as of `words_of`.
    """
    uses = Counter(word for of_name in patterns.values() for p in of_name for word in p.words)
    needed: dict[Any, set[str] | None] = {name: set() for name in patterns}
    for name, texts in leaves.items():
        needed[name] = _one_of_each(texts)
    is_changed = True
    while is_changed:
        is_changed = False
        for name, of_name in patterns.items():
            for pattern in of_name:
                known = needed[name]
                if known is None:
                    break
                found = _needed_of(pattern, needed, slots_of[id(pattern)], uses)
                if found is None or not found <= known:
                    needed[name] = None if found is None else known | found
                    is_changed = True
    return {name: frozenset(words) for name, words in needed.items() if words is not None}


def _one_of_each(texts: Iterable[Tokens]) -> set[str] | None:
    """Return a word of each text; None if some text has no word but determiners."""
    chosen = set()
    for tokens in texts:
        words = [word for word in tokens if word not in _DETERMINERS and word != GAP]
        if not words or OPEN in words:
            return None
        chosen.add(max(words, key=len))
    return chosen


def _needed_of(
    pattern: Pattern,
    needed: Mapping[Any, set[str] | None],
    slots: Sequence[ChildSlot],
    uses: Mapping[str, int],
) -> set[str] | None:
    """Return words one of which each sentence of a pattern has."""
    fixed = pattern.words - _DETERMINERS - {GAP}
    if fixed:
        return {min(fixed, key=lambda word: (uses[word], word))}
    choices = (_needed_in(slot, needed) for slot in slots)
    return min((words for words in choices if words is not None), key=len, default=None)


def _needed_in(slot: ChildSlot, needed: Mapping[Any, set[str] | None]) -> set[str] | None:
    """Return words one of which is printed for a child; None for no such words."""
    words = needed.get(slot.pool)
    return None if words is None or not words.isdisjoint(slot.child.after.split()) else words


def by_words(pieces: Sequence[Piece]) -> dict[Tokens, list[Piece]]:
    """Return pieces by their possible texts."""
    pieces_by_words: dict[Tokens, list[Piece]] = {}
    for piece in pieces:
        for text in resolve_forms(piece.text):
            pieces_by_words.setdefault(tuple(text.split()), []).append(piece)
    return pieces_by_words


def gap_places(leaves: Iterable[Tokens]) -> dict[Tokens, list[Tokens]]:
    """Return the tokens before the gaps of leaves -> the lists of tokens after them."""
    places: dict[Tokens, dict[Tokens, None]] = {}
    for words in leaves:
        if GAP in words:
            place = words.index(GAP)
            places.setdefault(words[:place], {})[words[place + 1 :]] = None
    return {before: list(after) for before, after in places.items()}


# --------------------------------------------------------------------------------------- the chart

MOST_PIECES = 1_000  # of a cell; what a person says has a handful
MOST_WAYS = 30  # kept for one piece: enough to show
_NEVER = 1 << 30
_FEW = 6  # candidates for a child that are not worth sorting


@dataclass(slots=True, eq=False)
class Way:
    """How a piece is made: by which rule, and of which children.

    `children` are (piece, view): the piece of a leaf or the entry of a cell, and where its words
    stand: numbers are places in the parent's words, texts are words that the parent leaves out.
    """

    rule: GrammarRule
    children: tuple[tuple["ChartEntry | Piece", tuple[int | str, ...]], ...]
    depth: int


@dataclass(slots=True, eq=False)
class ChartEntry:
    """A piece of a cell, with the ways to make it; `depth` is the least of theirs."""

    category: str
    piece: Piece
    depth: int
    ways: list[Way] = field(default_factory=list)


@dataclass(slots=True)
class _Active:
    """A cell that is being filled; requests meanwhile get the entries found so far."""

    place: int
    entries: dict[Any, ChartEntry]
    was_asked: bool = False


_BY_PATTERN = ("slots_of", "checks", "least", "words_in")


class ChartGrammar:
    """The data that all charts of a grammar share: patterns by category, leaves by their words.

    Attributes:
        open: pool -> its placeholders of the open sorts, which any words may replace, with their
            their stems.
    """

    def __init__(self, compiled: CompiledGrammar, open_stems: Collection[str] = ()):
        """Index the rules and the leaves; any words may replace placeholders of `open_stems`."""
        self.compiled = compiled
        stems = compiled.placeholders.stems
        open_stems = [stem for stem in stems if stem in open_stems]
        open_words = [compiled.placeholders.character(stem) for stem in open_stems]
        self.patterns: dict[str, list[Pattern]] = {
            category: [pattern_of(rule, open_words) for rule in rules]
            for category, rules in compiled.rules.items()
        }
        self.index = {
            (category, gap): PatternIndex.from_patterns([p for p in patterns if p.has_gap == gap])
            for category, patterns in self.patterns.items()
            for gap in (False, True)
        }
        self.leaves: dict[Any, Mapping[Tokens, Sequence[Piece]]] = {
            name: by_words(pieces) for name, pieces in compiled.leaves.items()
        }
        self.slots: dict[Any, ChildSlot] = {}
        everything = [p for patterns in self.patterns.values() for p in patterns]
        self.empty = empty_names(
            everything, [n for n, pieces in self.leaves.items() if () in pieces]
        )
        self.slots_of = {id(p): tuple(self._slots(p.rule)) for p in everything}
        self.checks = {id(p): Checks(p.rule) for p in everything}
        self.least = {id(p): self._least(p) for p in everything}
        self.open: dict[Any, Sequence[tuple[str, Piece]]] = {
            name: [
                (stem, pieces[word,][0])
                for stem, word in zip(open_stems, open_words, strict=True)
                if (word,) in pieces
            ]
            for name, pieces in self.leaves.items()
            if any((word,) in pieces for word in open_words)
        }
        self.open_stems = {id(x): stem for of in self.open.values() for stem, x in of}
        texts = {n: (*of, (OPEN,)) if n in self.open else of for n, of in self.leaves.items()}
        self.words: dict[Any, SayableWords] = words_of(self.patterns, texts, self.slots_of)
        self.needed = needed_words(self.patterns, texts, self.slots_of)
        for slot in self.slots.values():
            of_pool = self.open.get(slot.pool, ())
            slot.open = tuple((stem, piece) for stem, piece in of_pool if slot.asks_for(piece))
            words = self.needed.get(slot.pool)
            if words is not None and words.isdisjoint(slot.child.after.split()):
                slot.needed = words
        self.words_in = words_within(everything, self.slots_of)
        self.gaps = {name: gap_places(pieces) for name, pieces in self.leaves.items()}
        self.vocabulary = frozenset(self._words(everything))
        self._alike = {
            FIRST + PER_STEM * stem + number: chr(FIRST + PER_STEM * stem)
            for stem in range(len(stems))
            for number in range(PER_STEM)
        }

    def __getstate__(self) -> dict[str, Any]:
        """Return all of it, with patterns and pieces in place of their ids."""
        patterns = [p for of_name in self.patterns.values() for p in of_name]
        by_id: dict[str, list[tuple[Any, Any]]] = {}
        for name in _BY_PATTERN:
            values = getattr(self, name)
            by_id[name] = [(p, values[id(p)]) for p in patterns if id(p) in values]
        by_id["open_stems"] = [(x, stem) for of in self.open.values() for stem, x in of]
        return {**self.__dict__, **by_id}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the index of another process."""
        for name in (*_BY_PATTERN, "open_stems"):
            state[name] = {id(key): value for key, value in state[name]}
        self.__dict__.update(state)

    def alike(self, text: str) -> str:
        """Return a text in which the placeholders of one sort look alike."""
        return text.translate(self._alike)

    def _least(self, pattern: Pattern) -> Sequence[int]:
        """Return how many tokens the steps from each one on need at least."""
        slots = self.slots_of[id(pattern)]
        totals = [0]
        for step in reversed(pattern.steps):
            match step:
                case Fixed(tokens):
                    least = len(tokens)
                case Forms(ways):
                    least = min(map(len, ways))
                case ChildPlace(index):
                    least = slots[index].least
            totals.append(totals[-1] + least)
        return totals[::-1]

    def _words(self, patterns: Sequence[Pattern]) -> Iterator[str]:
        """Yield every token that a sentence can have."""
        for pattern in patterns:
            for step in pattern.steps:
                match step:
                    case Fixed(tokens):
                        yield from tokens
                    case Forms(ways):
                        yield from (token for way in ways for token in way)
                    case ChildPlace(index):
                        yield from (pattern.rule.layout.children[index].gap or "").split()
        for leaves in self.leaves.values():
            for words in leaves:
                yield from words

    def _slots(self, rule: GrammarRule) -> Iterator[ChildSlot]:
        filled_by: ChildSlot | None = None
        slots: list[ChildSlot] = []
        children = rule.layout.children
        for index, child in reversed([*enumerate(children)]):
            name = placeholder_of(child.pool)
            pool: Any = child.pool
            if name is not None:
                pieces = rule.constants.get(name, ())
                pool = ("constant", tuple(piece.words for piece in pieces), id(pieces))
                if pool not in self.leaves:
                    self.leaves[pool] = by_words(pieces)
            filler = filled_by if child.gap == "" else None
            host = children[index - 1] if index else child
            is_before_noun = host.gap == "" and ("pos", _ADJECTIVE) in host.asked
            key = (
                pool, child.asked, child.print_as, child.after_article, child.gap, child.after,
                id(filler), is_before_noun,
            )  # fmt: skip
            if key not in self.slots:
                is_cell = pool not in self.leaves
                least = int(child.gap is not None or pool not in self.empty)
                self.slots[key] = ChildSlot(
                    child, pool, is_cell, least, filler, is_before_noun=is_before_noun
                )
            filled_by = self.slots[key]
            slots.append(filled_by)
        return reversed(slots)


class Checks:
    """The guard of a rule, sorted by the child with which each condition can be decided."""

    def __init__(self, rule: GrammarRule):
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

    def sort(self, place: int, candidates: Sequence[Candidate]) -> Mapping[Any, list[Candidate]]:
        """Return candidates for a child by the attributes that its joins compare."""
        sorted_candidates: dict[Any, list[Candidate]] = {}
        for candidate in candidates:
            key = tuple([candidate[0].attribute(own) for own, _, _ in self.joins[place]])
            sorted_candidates.setdefault(key, []).append(candidate)
        return sorted_candidates

    def wanted(self, bound: Sequence[Candidate]) -> Any:
        """Return the key of `sort` under which those are that go with the children so far."""
        return tuple([bound[i][0].attribute(name) for _, i, name in self.joins[len(bound)]])

    def allow(self, bound: Sequence[Candidate]) -> bool:
        """Return whether the last of the children goes with those before it."""
        last = len(bound) - 1
        piece = bound[last][0]
        for own, place, attribute in self.joins[last]:
            if piece.attribute(own) != bound[place][0].attribute(attribute):
                return False
        return all(
            test.evaluate(lambda child, name: bound[self.names.index(child)][0].attribute(name))
            for test in self.tests[last]
        )


class TooMuchWorkError(Exception):
    """Words can be read in so many ways that the chart stopped."""


StemsOf = Callable[[Tokens, frozenset[str], bool], Collection[str]]
"""For placeholders of which stems words may stand; those of known values, if True."""


class Chart:
    """The cells of one sentence, or of many: the content of a cell depends on its words alone.

    Attributes:
        opened: character in the programs of an open grammar -> (stem, words) that it stands for.
    """

    def __init__(
        self,
        grammar: ChartGrammar,
        max_depth: int = 8,
        *,
        stems_of: StemsOf | None = None,
        most_work: int | None = None,
    ):
        """Begin with no cell.

        Args:
            grammar: the rules.
            max_depth: construct templates inside each other, at most.
            stems_of: which values words may be, of an open grammar.
            most_work: choices for a child, and ways to lay a rule over words, that are looked at;
                after that TooMuchWorkError is raised, and the chart is of no use.
        """
        self.grammar = grammar
        self.max_depth = max_depth
        self.opened: dict[str, tuple[str, Tokens]] = {}
        self._stems_of = stems_of
        self._open_stems = frozenset(grammar.open_stems.values())
        self._stems: dict[tuple[Tokens, bool], Collection[str]] = {}
        self._work_left = most_work
        self._open_pieces: dict[tuple[int, Tokens], Piece] = {}
        self._shut: dict[int, Piece] = {}  # a value in words -> its placeholder
        self.cut: list[tuple[str, str]] = []  # cells that passed MOST_PIECES
        self._done: dict[tuple[str, Tokens], Sequence[ChartEntry]] = {}
        self._active: dict[tuple[str, Tokens], _Active] = {}
        self._options: dict[tuple[int, Tokens], Sequence[Option]] = {}
        self._gap_places: dict[tuple[str, Tokens], Iterable[tuple[int, int]]] = {}
        self._entries: dict[int, ChartEntry] = {}
        self._lowest = _NEVER  # the outermost cell that was asked for while it was being filled

    @property
    def size(self) -> int:
        """Return how many cells and choices are remembered."""
        return len(self._done) + len(self._options)

    # ---------------------------------------------------------------------------- asking

    def cell(self, category: str, tokens: Tokens) -> Sequence[ChartEntry]:
        """Return every piece of a category whose text is the tokens (in some number)."""
        key = (category, tokens)
        if key in self._done:
            return self._done[key]
        active = self._active.get(key)
        if active is not None:
            active.was_asked = True
            self._lowest = min(self._lowest, active.place)
            return list(active.entries.values())
        words, needed = self.grammar.words.get(category), self.grammar.needed.get(category)
        if needed is not None and needed.isdisjoint(tokens):
            return ()
        return self._fill_cell(key) if words is not None and words.may_say(tokens) else ()

    def pieces(self, slot: ChildSlot, tokens: Tokens) -> Sequence[Piece]:
        """Return the pieces of a slot's category or pool that have these tokens."""
        if slot.is_cell:
            return [entry.piece for entry in self.cell(slot.pool, tokens)]
        pieces = self.grammar.leaves[slot.pool].get(tokens, ())
        if not slot.open or not tokens or any(map(_is_character, tokens)):
            return pieces
        # "The beatles songs" are those of a known band, "the new songs" of no band "the new".
        key = tokens, slot.is_before_noun and tokens[0] in _DETERMINERS
        stems = self._stems.get(key)
        if stems is None:
            assert self._stems_of is not None
            stems = self._stems[key] = self._stems_of(tokens, self._open_stems, key[1])
        if not stems:
            return pieces
        values = [piece for stem, piece in slot.open if stem in stems]
        return [*pieces, *values] if pieces else values

    def _as_said(self, candidate: Candidate, tokens: Tokens) -> Candidate:
        """Return a placeholder as the words that stand for it; others as they are."""
        piece, view = candidate
        stem = self.grammar.open_stems.get(id(piece))
        if stem is None:
            return candidate
        words = tuple([tokens[x] if isinstance(x, int) else x for x in view])
        if words == (piece.words,):
            return candidate
        return self._value_in_words(stem, piece, words), view

    def _value_in_words(self, stem: str, placeholder: Piece, tokens: Tokens) -> Piece:
        """Return a placeholder that some words stand for."""
        key = (id(placeholder), tokens)
        piece = self._open_pieces.get(key)
        if piece is None:
            character = chr(_FIRST_OPEN + len(self.opened))
            self.opened[character] = stem, tokens
            value = placeholder.value.shift([(placeholder.words, character)])
            piece = Piece(" ".join(tokens), value, placeholder.features)
            self._open_pieces[key] = piece
            self._shut[id(piece)] = placeholder
        return piece

    def gaps(self, slot: ChildSlot, tokens: Tokens) -> Iterator[tuple[int, int]]:
        """Yield each (start, end) of tokens that may fill the gap of a slot's pieces."""
        length = len(tokens)
        if not slot.is_cell:
            places = self.grammar.gaps[slot.pool]
            for start in range(length + 1):
                for after in places.get(tokens[:start], ()):
                    if start <= length - len(after) and tokens[length - len(after) :] == after:
                        yield start, length - len(after)
            return
        yield from self._gaps_of_cell(slot.pool, tokens)

    def _gaps_of_cell(self, category: str, tokens: Tokens) -> Iterable[tuple[int, int]]:
        key = category, tokens
        if key not in self._gap_places:
            length = len(tokens)
            gaps: dict[tuple[int, int], None] = {}
            for pattern in self.grammar.index[category, True].find(tokens):
                first, last = len(pattern.head), length - len(pattern.tail)
                inner = self._open_child(pattern)
                if inner is not None:
                    after = self.grammar.slots_of[id(pattern)][1]
                    for end in range(1, length):
                        if after.may_say(tokens[end:]):
                            gaps |= dict.fromkeys(self.gaps(inner, tokens[:end]))
                elif sum(isinstance(step, ChildPlace) for step in pattern.steps) == 1:
                    gaps[first, last] = None
                else:
                    starts, ends = pattern.gap_edges(tokens)
                    gaps |= {(a, b): None for a in starts for b in ends if a <= b}
            self._gap_places[key] = gaps
        return self._gap_places[key]

    def _open_child(self, pattern: Pattern) -> ChildSlot | None:
        """Return the first child where it has the gap of a pattern, and another child ends it."""
        slots = self.grammar.slots_of[id(pattern)]
        is_pair = pattern.steps == (ChildPlace(0), ChildPlace(1))
        return slots[0] if is_pair and slots[0].child.gap == GAP else None

    def options(self, slot: ChildSlot, tokens: Tokens) -> Sequence[Option]:
        """Return the choices for a slot and for the child in its gap, remembered."""
        key = (id(slot), tokens)
        if key not in self._options:
            self._work()
            outer, self._lowest = self._lowest, _NEVER
            options = list(slot.options(tokens, self))
            if self._lowest != _NEVER:
                self._lowest = min(outer, self._lowest)
                return options
            self._lowest = outer
            self._options[key] = options
        return self._options[key]

    # ---------------------------------------------------------------------------- filling

    def _fill_cell(self, key: tuple[str, Tokens]) -> Sequence[ChartEntry]:
        """Fill a cell; one that needs itself is filled again until nothing new comes."""
        active = _Active(len(self._active), {})
        self._active[key] = active
        outer, self._lowest = self._lowest, _NEVER
        while self._fill(key, active.entries) and active.was_asked:
            pass
        del self._active[key]
        entries = list(active.entries.values())
        if self._lowest >= active.place:
            self._done[key] = entries
            self._lowest = outer
        else:
            self._lowest = min(outer, self._lowest)
        return entries

    def _fill(self, key: tuple[str, Tokens], entries: dict[Any, ChartEntry]) -> bool:
        category, tokens = key
        index = self.grammar.index.get((category, GAP in tokens))
        if index is None:
            return False
        is_new = False
        for pattern in index.find(tokens):
            words = self.grammar.words_in.get(id(pattern))
            if words is not None and not words.may_say(tokens):
                continue
            slots = self.grammar.slots_of[id(pattern)]
            if any(x.needed is not None and x.needed.isdisjoint(tokens) and x.least for x in slots):
                continue
            for way, piece in self._ways(pattern, tokens):
                is_new |= self._add(key, entries, way, piece)
        return is_new

    def _add(
        self, key: tuple[str, Tokens], entries: dict[Any, ChartEntry], way: Way, piece: Piece
    ) -> bool:
        if way.depth > self.max_depth:
            return False
        name = signature(piece)
        entry = entries.get(name)
        if entry is None:
            if len(entries) >= MOST_PIECES:
                self.cut.append((key[0], " ".join(key[1])))
                return False
            entry = entries[name] = ChartEntry(key[0], piece, way.depth)
            self._entries[id(piece)] = entry
            entry.ways.append(way)
            return True
        is_shorter = way.depth < entry.depth
        entry.depth = min(entry.depth, way.depth)
        is_known = any(_same_way(way, way_before) for way_before in entry.ways)
        if not is_known and len(entry.ways) < MOST_WAYS:
            entry.ways.append(way)
        return is_shorter

    # ----------------------------------------------------------------------------- rules

    def _ways(self, pattern: Pattern, tokens: Tokens) -> Iterator[tuple[Way, Piece]]:
        rule = pattern.rule
        texts = " ".join(tokens)
        checks = self.grammar.checks[id(pattern)]
        agreeing = [p.child for p in rule.layout.parts if isinstance(p, Agreement)]
        slots = self.grammar.slots_of[id(pattern)]
        for lists, forms in matches(self, pattern, tokens, slots):
            self._work()
            starts = [start for _, start in lists]
            agreed = [_agreeing_candidates(i, x, forms) for i, (x, _) in enumerate(lists)]
            for bound in _bind_children(agreed, checks):
                chosen = tuple(map(_shift_candidate, bound, starts))
                if self.grammar.open_stems:
                    chosen = tuple([self._as_said(candidate, tokens) for candidate in chosen])
                pieces = [piece for piece, _ in chosen]
                numbers = {i: pieces[i].features.num for i in agreeing}
                combined = wording(rule, numbers).assemble(*pieces)
                if combined is None or texts not in resolve_forms(
                    self.grammar.alike(combined.text)
                ):
                    continue
                yield self._way(rule, chosen), self._piece(rule, pieces, combined)

    def _way(self, rule: GrammarRule, chosen: Sequence[Candidate]) -> Way:
        children = tuple((self._entries.get(id(piece), piece), view) for piece, view in chosen)
        depths = [child.depth for child, _ in children if isinstance(child, ChartEntry)]
        return Way(rule, children, 1 + max(depths) if depths else 0)

    def _work(self) -> None:
        if self._work_left is not None:
            self._work_left -= 1
            if self._work_left < 0:
                raise TooMuchWorkError

    def _piece(self, rule: GrammarRule, pieces: Sequence[Piece], combined: Combined) -> Piece:
        if rule.is_leaf:
            combined.count = self.grammar.compiled.placeholders.count(combined.text)
            combined.mask = mask_of(combined.count)
        piece = piece_of(rule, pieces, combined)
        if not self._shut or not rule.is_leaf or self._shut.keys().isdisjoint(map(id, pieces)):
            return piece
        # Number and determiner do not depend on the value: "the beatles songs" has none.
        shut = [self._shut.get(id(child), child) for child in pieces]
        numbers = {i: child.features.num for i, child in enumerate(shut)}
        made = wording(rule, numbers).assemble(*shut)
        if made is None:
            return piece
        said = piece_of(rule, shut, made).features
        words = combined.text.split(" ")
        length = len(said.det.split())
        with_words = features(said.num, " ".join(words[:length]), said.own, said.form, said.pos)
        return replace(piece, words=" ".join(words[length:]), features=with_words)


def _is_character(token: str) -> bool:
    """Return whether a token is a placeholder or a gap."""
    # An emoji lies between both.
    return len(token) == 1 and (chr(FIRST) <= token <= GAP or token >= chr(_FIRST_OPEN))


def _agreeing_candidates(
    index: int, candidates: Sequence[Candidate], forms_said: Sequence[tuple[Forms, Tokens]]
) -> Sequence[Candidate]:
    """Return the candidates for a child whose number and determiner match the sentence."""
    for step, tokens in forms_said:
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


def _bind_children(
    lists: Sequence[Sequence[Candidate]], checks: Checks
) -> Iterator[tuple[Candidate, ...]]:
    """Yield the combinations of one candidate from each list that the guard allows."""
    sorted_lists: dict[int, Mapping[Any, Sequence[Candidate]]] = {}

    def bind(bound: tuple[Candidate, ...]) -> Iterator[tuple[Candidate, ...]]:
        place = len(bound)
        if place == len(lists):
            yield bound
            return
        candidates = lists[place]
        if place and len(candidates) > _FEW and checks.joins[place]:
            if place not in sorted_lists:
                sorted_lists[place] = checks.sort(place, candidates)
            candidates = sorted_lists[place].get(checks.wanted(bound), ())
        for candidate in candidates:
            chosen = (*bound, candidate)
            if checks.allow(chosen):
                yield from bind(chosen)

    yield from bind(())


def _same_way(way: Way, right: Way) -> bool:
    if way.rule.template is not right.rule.template or len(way.children) != len(right.children):
        return False
    return all(
        signature(_piece_of_child(a)) == signature(_piece_of_child(b)) and view == other_view
        for (a, view), (b, other_view) in zip(way.children, right.children, strict=True)
    )


def _piece_of_child(child: ChartEntry | Piece) -> Piece:
    return child.piece if isinstance(child, ChartEntry) else child


def signature(piece: Piece) -> tuple[Any, ...]:
    """Return the properties that distinguish a piece from all others in any template."""
    value = piece.value
    return (
        piece.words, piece.features, piece.attributes, value.kind, value.text, value.functions,
        value.state, value.gap,
    )  # fmt: skip


Lists = list[tuple[Sequence[Candidate], int]]
"""The candidates for each child, and where in the sentence their places begin."""
Said = list[tuple[Forms, Tokens]]


def matches(
    chart: Chart, pattern: Pattern, tokens: Tokens, slots: Sequence[ChildSlot]
) -> Iterator[tuple[Lists, Said]]:
    """Yield the ways to lay a pattern over tokens.

    Each is (candidates for every child and their start, the chosen forms of the words that depend
    on a child).
    """
    yield from _Matcher(chart, pattern, tokens, slots).walk(0, 0, [], [])


class _Matcher:
    def __init__(self, chart: Chart, pattern: Pattern, tokens: Tokens, slots: Sequence[ChildSlot]):
        self.chart, self.pattern, self.tokens, self.slots = chart, pattern, tokens, slots
        self.rest = chart.grammar.least[id(pattern)]

    def walk(
        self, number: int, start: int, lists: Lists, forms: Said
    ) -> Iterator[tuple[Lists, Said]]:
        if number == len(self.pattern.steps):
            if start == len(self.tokens):
                yield lists, forms
            return
        if start + self.rest[number] > len(self.tokens):
            return
        step = self.pattern.steps[number]
        match step:
            case Fixed(tokens):
                if self._stand_at(tokens, start):
                    yield from self.walk(number + 1, start + len(tokens), lists, forms)
            case Forms(ways, part):
                for tokens in ways:
                    if self._stand_at(tokens, start):
                        more = [*forms, (step, tokens)] if part else forms
                        yield from self.walk(number + 1, start + len(tokens), lists, more)
            case ChildPlace(index):
                for end in self._sayable(self.slots[index], start, self._ends(number, start)):
                    for option in self._options(index, start, end):
                        yield from self.walk(number + 1, end, [*lists, *option], forms)

    def _stand_at(self, tokens: Tokens, start: int) -> bool:
        return self.tokens[start : start + len(tokens)] == tokens

    def _sayable(self, slot: ChildSlot, start: int, ends: Iterator[int]) -> Iterator[int]:
        """Yield the ends of the spans all of whose words may stand in a slot."""
        words, needed, tokens = slot.words, slot.needed or frozenset(), self.tokens
        has_needed = slot.needed is None
        assert words is not None
        if start == len(tokens) or not words.may_begin(tokens[start]):
            yield from (end for end in ends if end == start)
            return
        checked_to = start  # all before it are words of the slot
        for end in ends:
            while checked_to < end:
                if not words.may_have(tokens[checked_to]):
                    return
                has_needed = has_needed or tokens[checked_to] in needed
                checked_to += 1
            if end == start or (has_needed and words.may_end(tokens[end - 1])):
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

    def _options(self, index: int, start: int, end: int) -> Iterator[Lists]:
        for option in self.chart.options(self.slots[index], self.tokens[start:end]):
            yield [(of_child, start) for of_child in option]
