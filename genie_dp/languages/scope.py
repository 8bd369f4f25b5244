"""Sentences outside of all programs: a token for them, and a grammar of the possible programs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from genie_dp.languages.base import Allowed, DecodingGrammar, Prefix

OUT_OF_SCOPE = "out_of_scope"
"""Stands where a row has its program: the sentence means nothing that the skills can do."""


@dataclass(frozen=True, slots=True)
class ScopedGrammar:
    """Those programs of a grammar that begin as rows do, and OUT_OF_SCOPE alone if rows have it.

    A parser whose rows have no access policy, for example, never writes one.

    Attributes:
        grammar: of all programs.
        begins: tokens that a program may begin with, OUT_OF_SCOPE among them or not; a program
            that begins with a word of its sentence stays allowed.
    """

    grammar: DecodingGrammar
    begins: frozenset[str]
    # By the identity of the grammar's sets, which are kept so that no other set gets it.
    _first: dict[int, tuple[Allowed, Allowed]] = field(default_factory=dict)

    @property
    def vocabulary(self) -> frozenset[str]:
        """Return the tokens of the grammar, and OUT_OF_SCOPE where it may come."""
        return self.grammar.vocabulary | (self.begins & {OUT_OF_SCOPE})

    def begin(self, sentence: Sequence[str]) -> Prefix:
        """Return the empty prefix for a sentence."""
        prefix = self.grammar.begin(sentence)
        plain = prefix.allowed
        if id(plain.fixed) not in self._first:
            fixed = (plain.fixed | {OUT_OF_SCOPE}) & self.begins
            self._first[id(plain.fixed)] = plain, Allowed(fixed, end=plain.end)
        allowed = self._first[id(plain.fixed)][1]
        return _Beginning(
            prefix, replace(allowed, copied=plain.copied) if plain.copied else allowed
        )


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The empty prefix."""

    prefix: Prefix
    allowed: Allowed

    @property
    def is_closing(self) -> bool:
        return self.prefix.is_closing

    def then(self, token: str) -> Prefix:
        if token not in self.allowed.fixed and token not in self.allowed.copied:
            raise ValueError(f"no program begins with {token}")
        return _Refused() if token == OUT_OF_SCOPE else self.prefix.then(token)

    def closing(self) -> Prefix:
        closing = self.prefix.closing()
        fixed = closing.allowed.fixed & self.allowed.fixed
        return _Beginning(closing, replace(self.allowed, fixed=fixed) if fixed else self.allowed)


@dataclass(frozen=True, slots=True)
class CopyOnce:
    """The programs of a grammar that copy no word or placeholder more often than it occurs.

    A word may be copied again where the grammar allows nothing else.
    """

    grammar: DecodingGrammar

    @property
    def vocabulary(self) -> frozenset[str]:
        """Return the tokens of the grammar."""
        return self.grammar.vocabulary

    def begin(self, sentence: Sequence[str]) -> Prefix:
        """Return the empty prefix for a sentence."""
        return _CopiedOnce(self.grammar.begin(sentence), Counter(sentence), {})


class _CopiedOnce:
    """A prefix, and how often each word of the sentence may still be copied."""

    __slots__ = ("_kept", "_left", "allowed", "prefix")

    def __init__(self, prefix: Prefix, left: Counter[str], kept: "_Kept"):
        self.prefix, self._left, self._kept = prefix, left, kept
        self.allowed = self._restrict(prefix.allowed)

    @property
    def is_closing(self) -> bool:
        return self.prefix.is_closing

    def _restrict(self, plain: Allowed) -> Allowed:
        copied = frozenset(word for word in plain.copied if self._left[word] > 0)
        if copied == plain.copied or not (copied or plain.fixed or plain.end):
            return plain
        # One object for what is the same, as masks are kept by it; the plain one is kept with it.
        entry = self._kept.get((id(plain), copied))
        if entry is None:
            entry = plain, replace(plain, copied=copied)
            self._kept[id(plain), copied] = entry
        return entry[1]

    def then(self, token: str) -> Prefix:
        after = self.prefix.then(token)
        is_copied = token in self.allowed.copied and token not in self.allowed.fixed
        remaining = self._left - Counter([token]) if is_copied else self._left
        return _CopiedOnce(after, remaining, self._kept)

    def closing(self) -> Prefix:
        return _CopiedOnce(self.prefix.closing(), self._left, self._kept)


_Kept = dict[tuple[int, frozenset[str]], tuple[Allowed, Allowed]]
_END = Allowed(frozenset(), end=True)


@dataclass(frozen=True, slots=True)
class _Refused:
    """After OUT_OF_SCOPE, which nothing follows."""

    is_closing: bool = False

    @property
    def allowed(self) -> Allowed:
        return _END

    def then(self, token: str) -> Prefix:
        raise ValueError(f"nothing follows {OUT_OF_SCOPE}, got {token}")

    def closing(self) -> Prefix:
        return _Refused(is_closing=True)
