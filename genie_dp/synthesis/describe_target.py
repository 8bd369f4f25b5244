"""What is to be said: a program's tokens, and which pieces can be part of it."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from genie_dp.languages.base import Value
from genie_dp.synthesis.placeholders import FIRST, PER_STEM, Placeholders

_PLACEHOLDER = re.compile(r"([A-Z][A-Z_]*(?:_[\w.:-]+)?)_(\d+)")
_NAME = re.compile(r"[@:]")
_OPERATORS = frozenset(("==", "=", ">", "<", ">=", "<=", "=~", "~=", "contains"))
_POLICY = "policy"


@dataclass(slots=True)
class Target:
    """The canonical tokens of a program, where a private character stands for each placeholder.

    A piece may be part of it if its tokens are among those of the program, each as often at most,
    and if names, operators and values that are neighbours in the piece are so in the program.

    Attributes:
        tokens: the program's.
        names: character -> the placeholder that it stands for.
        functions: the functions of the program.
        size: how many functions it has, those that it has twice counted twice.
        passed: names that stand elsewhere than in conditions.
    """

    tokens: tuple[str, ...]
    names: Mapping[str, str]
    functions: frozenset[str]
    size: int
    counts: Counter[str] = field(init=False)
    pairs: frozenset[tuple[str, str]] = field(init=False)
    passed: frozenset[str] = field(init=False)
    is_policy: bool = field(init=False)

    def __post_init__(self) -> None:
        """Count the tokens once."""
        self.is_policy = self.tokens[:1] == (_POLICY,)
        self.counts = Counter(map(self._alike, self.tokens))
        self.passed = frozenset(
            token
            for before, token in pairwise(self.tokens)
            if before not in ("filter", "and", "or", "not")
        )
        self.pairs = frozenset(_pairs(self.tokens))

    @property
    def text(self) -> str:
        """Return the tokens, joined by one space."""
        return " ".join(self.tokens)

    def characters(self, stem: str) -> list[str]:
        """Return the characters of the placeholders that are of the sort of a character."""
        first = ord(stem) - (ord(stem) - FIRST) % PER_STEM
        return [name for name in self.names if first <= ord(name) < first + PER_STEM]

    def may_hold(self, value: Value) -> bool:
        """Tell whether a value can be part of the program."""
        gap = getattr(value, "gap_text", "")
        if gap and ("on" not in self.counts or gap not in self.counts):
            return False
        tokens = value.text.split()
        if any(count > self.counts[token] for token, count in self._counted(tokens)):
            return False
        return self.is_policy or self.pairs.issuperset(_pairs(tokens))

    def _counted(self, tokens: list[str]) -> list[tuple[str, int]]:
        """Return how often tokens come: of a policy, those that its syntax leaves alone."""
        if self.is_policy:
            tokens = [self._alike(token) for token in tokens if is_content(token)]
        return list(Counter(tokens).items())

    def _alike(self, token: str) -> str:
        # A policy says of its functions `==` where a call says `=`.
        return "==" if self.is_policy and token == "=" else token


def is_content(token: str) -> bool:
    """Tell whether a token is a name, an operator or a placeholder: no structure.

    >>> [is_content(token) for token in ("param:size:Number", ">", "(", "filter")]
    [True, True, False, False]
    """
    is_placeholder = len(token) == 1 and ord(token) >= FIRST
    return token in _OPERATORS or is_placeholder or _NAME.search(token) is not None


def _pairs(tokens: tuple[str, ...] | list[str]) -> list[tuple[str, str]]:
    solid = [is_content(token) for token in tokens]
    return [
        (tokens[i], tokens[i + 1])
        for i in range(len(tokens) - 1)
        if solid[i] and solid[i + 1]
    ]  # fmt: skip


def target_of(text: str, functions: Mapping[str, int], placeholders: Placeholders) -> Target | None:
    """Return what is to be said for a canonical token form; None if ten of a sort are too few.

    The k-th placeholder of a sort becomes its k-th character, whatever its number.
    """
    characters: dict[str, str] = {}
    met: Counter[str] = Counter()
    tokens = []
    for token in text.split():
        match = _PLACEHOLDER.fullmatch(token)
        if match and match[1] in placeholders.stems:
            if token not in characters:
                if met[match[1]] == PER_STEM:
                    return None
                characters[token] = placeholders.character(match[1], met[match[1]])
                met[match[1]] += 1
            token = characters[token]
        tokens.append(token)
    names = {character: token for token, character in characters.items()}
    return Target(tuple(tokens), names, frozenset(functions), sum(functions.values()))
