"""Rules read backwards: what a sentence must look like to have come from a rule.

A pattern is a rule's layout as steps over tokens. Words that wait for the number of a noun phrase
(`{is/are}`) match each of their forms; which of them is right, is seen when the pieces are joined.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from genie_dp.synthesis.layout import Agreement, OwnDeterminer, placeholder_of
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.rules import Rule
from genie_dp.templates.english_words import ARTICLES

Tokens = tuple[str, ...]
DETERMINERS: Sequence[Tokens] = ((), *((word,) for word in ARTICLES))
NUMBERS = ("sg", "pl", "mass")
_WAITING = re.compile(r"(\{[^{}/]*/[^{}]*\})")


@dataclass(frozen=True, slots=True)
class Fixed:
    """Words that stand as they are."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Forms:
    """One of several words; `part` is what they stand for, if they hang on a child."""

    ways: tuple[Tokens, ...]
    part: Agreement | OwnDeterminer | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A child, by its index; those that stand in its gap come with it."""

    index: int


Step = Fixed | Forms | Place


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule as steps over tokens.

    Attributes:
        words: the tokens that every sentence of the rule has.
        has_gap: the rule leaves a placeholder open: its sentences have a GAP.
        head, tail: the tokens that its sentences begin and end with.
    """

    rule: Rule
    steps: tuple[Step, ...]
    words: frozenset[str]
    has_gap: bool
    head: Tokens
    tail: Tokens

    def may_say(self, tokens: Tokens, present: frozenset[str]) -> bool:
        """Tell at a glance whether the tokens can be a sentence of the rule."""
        return (
            self.words <= present
            and tokens[: len(self.head)] == self.head
            and (not self.tail or tokens[-len(self.tail) :] == self.tail)
        )


def pattern_of(rule: Rule) -> Pattern:
    """Return the pattern of a rule."""
    steps = tuple(_joined(_steps(rule)))
    words = frozenset(token for step in steps for token in _needed(rule, step))
    has_gap = any(_is_open(rule, child.pool) for child in rule.layout.children)
    head, tail = (_fixed(step) for step in (steps[:1], steps[-1:]))
    return Pattern(rule, steps, words, has_gap, head, tail)


def _needed(rule: Rule, step: Step) -> Iterator[str]:
    """Yield the tokens that a step always has: words, and placeholders of constants."""
    match step:
        case Fixed(tokens):
            yield from tokens
        case Place(index):
            name = placeholder_of(rule.layout.children[index].pool)
            said = {piece.words for piece in rule.constants.get(name or "", ())}
            if len(said) == 1 and said != {GAP}:
                yield from said.pop().split()


def _fixed(steps: Sequence[Step]) -> Tokens:
    return steps[0].tokens if steps and isinstance(steps[0], Fixed) else ()


def _is_open(rule: Rule, pool: str) -> bool:
    name = placeholder_of(pool)
    return name is not None and any(piece.words == GAP for piece in rule.constants.get(name, ()))


def _steps(rule: Rule) -> Iterator[Step]:
    for part in rule.layout.parts:
        match part:
            case str():
                yield from _of_words(part)
            case Agreement(_, forms):
                yield Forms(tuple(dict.fromkeys(tuple(form.split()) for form in forms)), part)
            case OwnDeterminer():
                yield Forms(tuple(DETERMINERS), part)
            case int():
                yield Place(part)


def _of_words(text: str) -> Iterator[Step]:
    for number, piece in enumerate(_WAITING.split(text)):
        tokens = tuple(piece.split())
        if number % 2:
            forms = [tuple(form.split()) for form in piece[1:-1].split("/")]
            yield Forms(tuple(dict.fromkeys((*forms, tokens))))
        elif tokens:
            yield Fixed(tokens)


def _joined(steps: Iterable[Step]) -> Iterator[Step]:
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


def resolved(text: str) -> tuple[str, ...]:
    """Return a text with its waiting forms as they are, and said in every number.

    >>> resolved("{is/are} unread")
    ('{is/are} unread', 'is unread', 'are unread')
    """
    if "{" not in text:
        return (text,)
    found = {text: None}
    for number in NUMBERS:
        found[said_with(text, number)] = None
    return tuple(found)


def said_with(text: str, number: str) -> str:
    """Return a text whose waiting forms agree with a noun phrase of this number.

    >>> said_with("that {is/are} unread", "pl")
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
    def of(cls, patterns: Sequence[Pattern]) -> "PatternIndex":
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

    def found(self, tokens: Tokens) -> Iterator[Pattern]:
        """Yield the patterns that may say the tokens, as far as their fixed words tell."""
        present = frozenset(tokens)
        for token in dict.fromkeys(tokens):
            for pattern in self.by_word.get(token, ()):
                if pattern.may_say(tokens, present):
                    yield pattern
        yield from self.without


def empty_names(patterns: Sequence[Pattern], pools: Iterable[str]) -> frozenset[str]:
    """Return the categories that can be said without a word, and the `pools` that can."""
    empty = set(pools)
    while True:
        found = {p.rule.category for p in patterns if _may_be_empty(p, empty)} - empty
        if not found:
            return frozenset(empty)
        empty |= found


def _may_be_empty(pattern: Pattern, empty: set[str]) -> bool:
    children = pattern.rule.layout.children
    for step in pattern.steps:
        match step:
            case Fixed():
                return False
            case Forms(ways):
                if () not in ways:
                    return False
            case Place(index):
                if children[index].pool not in empty:
                    return False
    return True
