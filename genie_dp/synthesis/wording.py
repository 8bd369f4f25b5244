"""The words of templates by function, and the weight of a word as evidence for a request."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from genie_dp.models.base.vectors import NEAR, word_vectors
from genie_dp.synthesis.assembly import wording
from genie_dp.synthesis.chart import Fixed, Forms, pattern_of
from genie_dp.synthesis.compiler import CompiledGrammar
from genie_dp.synthesis.pieces import FIRST, GAP
from genie_dp.synthesis.rules import Combined, GrammarRule, placeholder_of

# Function words that so many functions have together tell of none of them. Of the 253 shipped ones
# "what is" has 70, "put on" 52, "i need to" 6 (November 2026).
_FEW_FUNCTIONS, _FEW_OF_ALL = 2, 0.05
_SHARED_VALUE = 0.7  # what a value of the right sort tells, as a word that half of functions have


@dataclass(frozen=True, slots=True)
class NearestTemplate:
    """The template that has most of a sentence which no template derives.

    Attributes:
        words: of the template, as an engine has them.
        functions: those of its program.
        missing: its words that the sentence has not.
        left_out: content words of the sentence that it has not.
    """

    words: str
    functions: tuple[str, ...]
    missing: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionWords:
    """The words of the templates and phrases of each function.

    Attributes:
        words: function -> its words.
        uses: word -> how many functions have it.
        templates: the words of each template without children, as an engine has them, with its
            functions.
        choices: function -> the words of its templates, those of choices between words included.
    """

    words: Mapping[str, frozenset[str]]
    uses: Mapping[str, int]
    templates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def from_grammar(cls, compiled: CompiledGrammar) -> "FunctionWords":
        """Return the words of a grammar's leaves: its primitive templates, and phrases."""
        words: dict[str, set[str]] = {}
        choices: dict[str, set[str]] = {}
        templates = []
        for rule in (rule for rules in compiled.rules.values() for rule in rules if rule.is_leaf):
            for function in rule.body.functions:
                choices.setdefault(function, set()).update(
                    _words_of(rule),
                    *(
                        piece.words.split()
                        for child in rule.layout.children
                        if child.says_words
                        for piece in compiled.leaves[child.pool]
                    ),
                )
            made = _made_of_placeholders(rule)
            if made is not None and made.value.functions:
                functions = tuple(made.value.functions)
                templates.append((made.text, functions))
                for function in functions:
                    words.setdefault(function, set()).update(_words_of(rule))
        for function, said in _phrases(compiled):
            words.setdefault(function, set()).update(said)
        uses: dict[str, int] = {}
        for of_function in words.values():
            for word in of_function:
                uses[word] = uses.get(word, 0) + 1
        own = {name: frozenset(said) for name, said in words.items()}
        with_choices = {name: frozenset(said) for name, said in choices.items()}
        return cls(own, uses, tuple(templates), with_choices)

    def weight(self, word: str) -> float:
        """Return the weight of a word as evidence, in nats; 0 if none or all functions have it."""
        uses = self.uses.get(word, 0)
        return math.log((1 + len(self.words)) / (1 + uses)) if uses else 0.0

    def weigh(self, words: Iterable[str]) -> float:
        """Return the sum of the weights of some words."""
        return sum(map(self.weight, words))

    def shared(self, function: str, words: Iterable[str]) -> tuple[str, ...]:
        """Return those of some words that a function has."""
        own = self.words.get(function, frozenset())
        return tuple(word for word in words if word in own)

    def are_telling(self, words: Iterable[str], functions: Iterable[str]) -> bool:
        """Return whether few functions have all of the words that some of these have."""
        own = frozenset().union(*(self.choices.get(function, ()) for function in functions))
        shared = own.intersection(words)
        most = max(_FEW_FUNCTIONS, len(self.choices) * _FEW_OF_ALL)
        return bool(shared) and sum(map(shared.issubset, self.choices.values())) <= most

    def nearest(
        self, words: Sequence[str], most: int = 3, *, are_english: bool = False
    ) -> list[tuple[str, tuple[str, ...]]]:
        """Return the functions that some words indicate most, each with the words that it has.

        Args:
            are_english: for a word that no function has, an English one that is near to it counts,
                and is returned beside it: "lyrics ~ song".
        """
        near = self._near_words(words) if are_english else {}
        ranked = []
        for name, own in self.words.items():
            shared = self.shared(name, words)
            likes = [
                (word, like, share) for word in near for like, share in near[word] if like in own
            ]
            best = {word: (like, share) for word, like, share in reversed(likes)}
            gain = self.weigh(shared) + sum(x * self.weight(like) for like, x in best.values())
            if shared or best:
                said = (*shared, *(f"{word} ~ {like}" for word, (like, _) in best.items()))
                # Of equals the function that says less besides.
                ranked.append((-gain, len(own), name, said))
        return [(name, said) for _, _, name, said in sorted(ranked)[:most]]

    def _near_words(self, words: Iterable[str]) -> dict[str, list[tuple[str, float]]]:
        """Return, for words that no function has, those near to them, the nearest first."""
        unknown = [word for word in dict.fromkeys(words) if word not in self.uses]
        if not unknown:
            return {}
        known = sorted(self.uses)
        cosines = word_vectors().rows(unknown) @ word_vectors().rows(known).T
        near = {}
        for word, row in zip(unknown, cosines, strict=True):
            places = [x for x in np.argsort(-row, kind="stable") if row[x] >= NEAR]
            near[word] = [(known[x], float(row[x])) for x in places]
        return near

    def nearest_template(
        self, tokens: Sequence[str], telling: Sequence[str], names: Collection[str]
    ) -> NearestTemplate | None:
        """Return the template nearest to a sentence; None where it shares a content word with none.

        Args:
            tokens: of the sentence, as an engine has them.
            telling: its content words.
            names: those of its tokens that stand for listed names.
        """
        best: tuple[float, int, str] | None = None
        functions_of = dict(self.templates)
        for words in functions_of:
            said = words.split(" ")
            shared = {word for word in said if word in telling}
            values = {word for word in said if len(word) == 1 and ord(word) >= FIRST}
            gain = self.weigh(shared) + _SHARED_VALUE * len(values.intersection(names))
            lack = self.weigh({*said}.difference(tokens, values))
            lack += _SHARED_VALUE * len(values.difference(tokens))
            if gain and (best is None or (lack / 2 - gain, len(said), words) < best):
                best = lack / 2 - gain, len(said), words
        if best is None:
            return None
        _, _, words = best
        missing = tuple(word for word in words.split(" ") if word not in tokens)
        left_out = tuple(word for word in dict.fromkeys(telling) if word not in words.split(" "))
        return NearestTemplate(words, functions_of[words], missing, left_out)


def _words_of(rule: GrammarRule) -> Iterator[str]:
    for step in pattern_of(rule).steps:
        match step:
            case Fixed(tokens):
                yield from tokens
            case Forms(ways):
                yield from (token for way in ways for token in way)


def _phrases(compiled: CompiledGrammar) -> Iterator[tuple[str, list[str]]]:
    """Yield (function, words) of each phrase of an input or an output."""
    for name in ("OUTPUT", "INPUT"):
        for piece in compiled.leaves.get(name, ()):
            if function := getattr(piece.value.state, "function", ""):
                yield function, [word for word in piece.words.split() if word != GAP]


def _made_of_placeholders(rule: GrammarRule) -> Combined | None:
    """Return a template joined with its first constants; None if it has other children."""
    pieces = []
    for child in rule.layout.children:
        name = placeholder_of(child.pool)
        constants = rule.constants.get(name, ()) if name is not None else ()
        if not constants or constants[0].words == GAP:
            return None
        pieces.append(constants[0])
    numbers = {place: piece.features.num for place, piece in enumerate(pieces)}
    return wording(rule, numbers).assemble(*pieces)
