"""Which words templates say with which functions, and how much a word tells of what is wanted."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from genie_dp.synthesis.assembly import wording
from genie_dp.synthesis.chart import Fixed, Forms, pattern_of
from genie_dp.synthesis.compiler import CompiledGrammar
from genie_dp.synthesis.rules import GrammarRule, placeholder_of


@dataclass(frozen=True, slots=True)
class FunctionWords:
    """The words of the templates and phrases of each function.

    Attributes:
        words: function -> its words.
        uses: word -> how many functions have it.
    """

    words: Mapping[str, frozenset[str]]
    uses: Mapping[str, int]

    @classmethod
    def from_grammar(cls, compiled: CompiledGrammar) -> "FunctionWords":
        """Return the words of a grammar's leaves: its primitive templates, and phrases."""
        words: dict[str, set[str]] = {}
        for functions, said in _said(compiled):
            for function in functions:
                words.setdefault(function, set()).update(said)
        uses: dict[str, int] = {}
        for of_function in words.values():
            for word in of_function:
                uses[word] = uses.get(word, 0) + 1
        return cls({name: frozenset(said) for name, said in words.items()}, uses)

    def weight(self, word: str) -> float:
        """Return how much a word tells, in nats; 0 of one that no function has, or each."""
        uses = self.uses.get(word, 0)
        return math.log((1 + len(self.words)) / (1 + uses)) if uses else 0.0

    def weigh(self, words: Iterable[str]) -> float:
        """Return the sum of the weights of some words."""
        return sum(map(self.weight, words))

    def shared(self, function: str, words: Iterable[str]) -> tuple[str, ...]:
        """Return those of some words that a function has."""
        own = self.words.get(function, frozenset())
        return tuple(word for word in words if word in own)

    def nearest(self, words: Sequence[str], most: int = 3) -> list[tuple[str, tuple[str, ...]]]:
        """Return the functions that some words tell most of, each with those that it has."""
        ranked = []
        for name in self.words:
            if shared := self.shared(name, words):
                # Of equals the function that says less besides.
                ranked.append((-self.weigh(shared), len(self.words[name]), name, shared))
        return [(name, shared) for _, _, name, shared in sorted(ranked)[:most]]


def _said(compiled: CompiledGrammar) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Yield (functions, words) of each template without children, and of each phrase."""
    for rules in compiled.rules.values():
        for rule in rules:
            if rule.is_leaf and (functions := _functions_of(rule)):
                steps = pattern_of(rule).steps
                said = {w for step in steps if isinstance(step, Fixed) for w in step.tokens}
                forms = (way for step in steps if isinstance(step, Forms) for way in step.ways)
                yield functions, said.union(*forms)
    for name in ("OUTPUT", "INPUT"):
        for piece in compiled.leaves.get(name, ()):
            function = getattr(piece.value.state, "function", "")
            if function:
                yield (function,), set(piece.words.split())


def _functions_of(rule: GrammarRule) -> tuple[str, ...]:
    pieces = []
    for child in rule.layout.children:
        name = placeholder_of(child.pool)
        constants = rule.constants.get(name, ()) if name is not None else ()
        if not constants:
            return ()
        pieces.append(constants[0])
    made = wording(rule, {i: piece.features.num for i, piece in enumerate(pieces)}).assemble(*pieces)
    return tuple(made.value.functions) if made is not None else ()
