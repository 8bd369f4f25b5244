"""A grammar over tokens as one over subwords, so that models of Hugging Face can be constrained.

A subword tokenizer cuts `param:size:Number` in pieces; the tokens of a program are then runs of
pieces, the first of each with the mark of a space (`▁now`, `Ġnow`). Every way to spell an allowed
token in pieces is allowed, and nothing else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.decoding import Allowed, DecodingGrammar, Prefix

Mask = npt.NDArray[np.bool_]
SPACES = ("▁", "Ġ")
"""What SentencePiece and byte-level tokenizers write for a space before a word."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A subword: its text without the mark, and whether it begins a token."""

    id: int
    text: str
    is_first: bool


class Subwords:
    """The pieces of a tokenizer, found by how they begin.

    Attributes:
        size: how many ids there are.
        end: the id that ends a program.
    """

    def __init__(self, pieces: Mapping[int, str], *, end: int, size: int | None = None):
        """Sort the pieces.

        Args:
            pieces: id -> text with the mark of a space, special ids left out. Byte-level texts
                must be decoded to characters, save the mark.
            end: the id that ends a program.
            size: number of ids of the model [the highest and one].
        """
        self.end = end
        self.size = size or max((*pieces, end)) + 1
        self._first: dict[str, list[int]] = {}
        self._inner: dict[str, list[int]] = {}
        self._pieces: dict[int, _Piece] = {}
        for index, text in pieces.items():
            is_first = text.startswith(SPACES)
            bare = text[1:] if is_first else text
            self._pieces[index] = _Piece(index, bare, is_first)
            (self._first if is_first else self._inner).setdefault(bare, []).append(index)
        self._can_spell: dict[str, bool] = {}
        self._masks: dict[int, tuple[frozenset[str], Mask]] = {}

    def piece(self, index: int) -> tuple[str, bool]:
        """Return the text of a piece and whether it begins a token, or raise KeyError."""
        found = self._pieces[index]
        return found.text, found.is_first

    def can_spell(self, rest: str) -> bool:
        """Tell whether inner pieces can spell the rest of a token."""
        found = self._can_spell.get(rest)
        if found is None:
            ends = {0}  # places that pieces reach, from the left
            for place in range(len(rest)):
                if place in ends:
                    ends |= {
                        k for k in range(place + 1, len(rest) + 1) if rest[place:k] in self._inner
                    }
            found = self._can_spell[rest] = len(rest) in ends
        return found

    def firsts(self, token: str) -> Iterable[int]:
        """Yield the pieces that a token may begin with."""
        for length in range(len(token) + 1):
            ids = self._first.get(token[:length])
            if ids and self.can_spell(token[length:]):
                yield from ids

    def inners(self, rest: str) -> Iterable[int]:
        """Yield the pieces that the rest of a token may go on with."""
        for length in range(1, len(rest) + 1):
            ids = self._inner.get(rest[:length])
            if ids and self.can_spell(rest[length:]):
                yield from ids

    def mask_of(self, tokens: frozenset[str]) -> Mask:
        """Return (size,): the first pieces of some tokens; kept for each set, do not write."""
        found = self._masks.get(id(tokens))
        if found is None:
            # The set is kept beside its mask, so that no other gets its identity.
            found = self._masks[id(tokens)] = tokens, self._fresh(tokens)
        return found[1]

    def _fresh(self, tokens: Iterable[str]) -> Mask:
        mask = np.zeros(self.size, np.bool_)
        for token in tokens:
            mask[list(self.firsts(token))] = True
        return mask

    @property
    def ids(self) -> Collection[int]:
        """Return the ids of all pieces."""
        return self._pieces.keys()

    def not_by_characters(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Return the tokens that cannot be cut anywhere and still be spelled, sorted.

        Those are the ones with a character that is no inner piece.
        """
        missing = {c for c in set().union(*tokens) if c not in self._inner}
        bad = {t for t in tokens if not missing.isdisjoint(t)}
        return tuple(sorted(bad.union(self.cannot_spell(tokens))))

    def cannot_spell(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Return the tokens that no run of pieces spells, sorted."""
        return tuple(sorted(t for t in tokens if next(iter(self.firsts(t)), None) is None))


class SubwordGrammar:
    """The programs of a grammar, subword by subword."""

    def __init__(self, grammar: DecodingGrammar, subwords: Subwords):
        """Check that all tokens of the grammar can be spelled.

        Raises:
            GenieError: L013 with some tokens that cannot.
        """
        missing = subwords.cannot_spell(grammar.vocabulary)
        if missing:
            raise GenieError(missing_problem(missing))
        self.grammar, self.subwords = grammar, subwords

    def begin(self, sentence: Sequence[str]) -> "SubwordPrefix":
        """Return the empty prefix for a sentence; a word that cannot be spelled is not copied."""
        unspelled = set(self.subwords.cannot_spell(sentence))
        # An empty word is none, and no span goes over it.
        words = ["" if word in unspelled else word for word in sentence]
        return SubwordPrefix(self.subwords, self.grammar.begin(words), None, "")


class SubwordPrefix:
    """A prefix of a program in subwords; immutable.

    Attributes:
        prefix: the tokens that are complete.
        open_: tokens of which some pieces came, or None before the first.
        text: those pieces.
    """

    __slots__ = ("open_", "prefix", "subwords", "text")

    def __init__(self, subwords: Subwords, prefix: Prefix, open_: frozenset[str] | None, text: str):
        """Keep the parts."""
        self.subwords, self.prefix, self.open_, self.text = subwords, prefix, open_, text

    @property
    def _next(self) -> Prefix | None:
        """Return the prefix after the open token, if it may be whole."""
        if self.open_ is None:
            return self.prefix
        return self.prefix.then(self.text) if self.text in self.open_ else None

    def mask(self) -> Mask:
        """Return (size,): which ids may come; a new array."""
        following = self._next
        mask = np.zeros(self.subwords.size, np.bool_)
        if following is not None:
            allowed: Allowed = following.allowed
            mask |= self.subwords.mask_of(allowed.fixed)
            for token in allowed.copied:
                mask[list(self.subwords.firsts(token))] = True
            mask[self.subwords.end] = allowed.end
        for token in self.open_ or ():
            if len(token) > len(self.text):
                mask[list(self.subwords.inners(token[len(self.text) :]))] = True
        return mask

    def then(self, index: int) -> "SubwordPrefix":
        """Return the prefix with one more id, not the end, or raise ValueError."""
        try:
            text, is_first = self.subwords.piece(index)
        except KeyError:
            raise ValueError(f"expected the id of a piece, got {index}") from None
        before = self._next if is_first else self.prefix
        if before is None or (self.open_ is None and not is_first):
            raise ValueError(f"expected a piece that is allowed here, got {text!r}")
        whole = text if is_first else self.text + text
        allowed = before.allowed
        tokens = allowed.fixed | allowed.copied if is_first else self.open_ or frozenset()
        spelled = frozenset(
            t for t in tokens if t.startswith(whole) and self.subwords.can_spell(t[len(whole) :])
        )
        if not spelled or (not is_first and not text):
            raise ValueError(f"expected a piece that is allowed here, got {text!r}")
        return SubwordPrefix(self.subwords, before, spelled, whole)


def missing_problem(missing: Sequence[str]) -> Problem:
    """Return what is said of tokens that a tokenizer cannot write."""
    return Problem(
        "L013",
        f"expected a tokenizer that can write all tokens of the library, got none for "
        f"{len(missing)} of them, such as {', '.join(missing[:3])}",
        hint="add the characters that are missing to the tokenizer before training",
    )
