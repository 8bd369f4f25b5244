"""A grammar over tokens as one over subwords, and its masks made by llguidance where it can.

Which tokens may follow is the automaton's to say: scopes, inputs that are still free and spans of
the sentence are nothing that a context-free grammar compiled beforehand could know. llguidance
takes the rest: each set of tokens is a small grammar, compiled once, and says which pieces of the
tokenizer begin or continue one of them.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Allowed, DecodingGrammar, Prefix

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
        entry = self._pieces[index]
        return entry.text, entry.is_first

    def can_spell(self, rest: str) -> bool:
        """Tell whether inner pieces can spell the rest of a token."""
        is_spelled = self._can_spell.get(rest)
        if is_spelled is None:
            ends = {0}  # places that pieces reach, from the left
            for place in range(len(rest)):
                if place in ends:
                    ends |= {
                        k for k in range(place + 1, len(rest) + 1) if rest[place:k] in self._inner
                    }
            is_spelled = self._can_spell[rest] = len(rest) in ends
        return is_spelled

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
        entry = self._masks.get(id(tokens))
        if entry is None:
            mask = np.zeros(self.size, np.bool_)
            for token in tokens:
                mask[list(self.firsts(token))] = True
            # The set is kept beside its mask, so that no other gets its identity.
            entry = self._masks[id(tokens)] = tokens, mask
        return entry[1]

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


Engine = Literal["auto", "llguidance", "automaton"]
# Places kept, each with a bit for every piece: 4 KB where there are 32,000. Begun anew when full.
KEPT = 20_000
# Without this, pieces are forced that a tokenizer would write alone, not inside of a token.
_HEAD = '%llguidance {"no_forcing": true}\nstart: TOKEN\nTOKEN: '


def subword_grammar(
    grammar: DecodingGrammar, subwords: Subwords, *, engine: Engine = "auto"
) -> "SubwordGrammar | GuidedGrammar":
    """Return a grammar seen through pieces; both engines allow the same.

    Args:
        grammar: of the language over a library.
        subwords: pieces of a tokenizer.
        engine: "automaton" needs no further library, "llguidance" its extra; "auto" takes the
            latter where it is installed.

    Raises:
        GenieError: L013 with some tokens that cannot be written, L014 without llguidance.
    """
    if engine == "automaton":
        return SubwordGrammar(grammar, subwords)
    try:
        return GuidedGrammar(grammar, subwords)
    except GenieError as error:
        if engine == "auto" and error.problems[0].code == "L014":
            return SubwordGrammar(grammar, subwords)
        raise


class GuidedGrammar:
    """The programs of a grammar, subword by subword; see SubwordGrammar."""

    def __init__(self, grammar: DecodingGrammar, subwords: Subwords):
        """Check that all tokens of the grammar can be written.

        Raises:
            GenieError: L013 with some tokens that cannot, L014 without llguidance.
        """
        missing = subwords.not_by_characters(grammar.vocabulary)
        if missing:
            raise GenieError(missing_problem(missing))
        self.grammar, self.subwords = grammar, subwords
        self._guide = Guide(subwords)

    def begin(self, sentence: Sequence[str]) -> "GuidedPrefix":
        """Return the empty prefix for a sentence; a word that cannot be spelled is not copied."""
        unspelled = set(self.subwords.not_by_characters(sentence))
        # An empty word is none, and no span goes over it.
        words = ["" if word in unspelled else word for word in sentence]
        return GuidedPrefix(self._guide, self.grammar.begin(words), ())


class Guide:
    """The pieces of a tokenizer as llguidance has them, and the places that were compiled."""

    def __init__(self, subwords: Subwords):
        """Read the pieces.

        Raises:
            GenieError: L014, llguidance is not installed.
        """
        try:
            from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper
        except ImportError as problem:
            hint = "pip install 'genie_dp[llguidance]'"
            raise GenieError(Problem("L014", "llguidance is not installed", hint=hint)) from problem
        self.subwords = subwords
        self.matcher = LLMatcher
        self.tokenizer: Any = LLTokenizer(TokenizerWrapper(_Pieces(subwords)), slices=[])
        self.made = 0
        self._places: dict[frozenset[str], SpellingPlace] = {}

    def places(self, allowed: Allowed) -> "Iterator[SpellingPlace]":
        """Yield the places before a token."""
        for tokens in (allowed.fixed, allowed.copied):
            if tokens:
                yield self._place(tokens)

    def _place(self, tokens: frozenset[str]) -> "SpellingPlace":
        place = self._places.get(tokens)
        if place is None:
            if self.made >= KEPT:
                self._places, self.made = {}, 0
            # A space goes before each token.
            spelled = " | ".join(
                json.dumps(f" {token}", ensure_ascii=False) for token in sorted(tokens)
            )
            matcher = self.matcher(self.tokenizer, self.matcher.grammar_from_lark(_HEAD + spelled))
            if matcher.is_error():
                raise RuntimeError(matcher.get_error())
            place = self._places[tokens] = SpellingPlace(self, matcher, "")
        return place


class _Pieces:
    """What llguidance asks of a tokenizer; it is never asked to cut a text."""

    bos_token_id = None

    def __init__(self, subwords: Subwords):
        all_pieces = {index: subwords.piece(index) for index in subwords.ids}
        texts = {index: piece for index, piece in all_pieces.items() if piece != ("", False)}
        self.eos_token_id = subwords.end
        self.special_token_ids = [i for i in range(subwords.size) if i not in texts]
        self.tokens = [f"<{i}>".encode() for i in range(subwords.size)]
        for index, (text, is_first) in texts.items():
            self.tokens[index] = (f" {text}" if is_first else text).encode()

    def __call__(self, text: bytes) -> list[int]:
        return []


class SpellingPlace:
    """A set of tokens, and the pieces so far of one of them; made once.

    Attributes:
        text: those pieces, the space included.
        is_whole: whether they are one of the tokens.
    """

    __slots__ = ("_bits", "_following", "guide", "is_whole", "matcher", "text")

    def __init__(self, guide: Guide, matcher: Any, text: str):
        """Keep where llguidance stands."""
        guide.made += 1
        self.guide, self.matcher, self.text = guide, matcher, text
        self.is_whole: bool = matcher.is_accepting()
        self._bits: npt.NDArray[np.uint8] | None = None
        self._following: dict[int, SpellingPlace | None] = {}

    @property
    def bits(self) -> npt.NDArray[np.uint8]:
        """Return a bit for each piece, lowest first: whether it may come next; do not write."""
        if self._bits is None:
            self._bits = np.frombuffer(self.matcher.compute_bitmask(), np.uint8)
        return self._bits

    def after(self, index: int) -> "SpellingPlace | None":
        """Return the place after a piece, or None if it may not come."""
        if index not in self._following:
            self._following[index] = self._after(index)
        return self._following[index]

    def _after(self, index: int) -> "SpellingPlace | None":
        if not self.bits[index >> 3] >> (index & 7) & 1:
            return None
        matcher = self.matcher.deep_copy()
        matcher.consume_token(index)
        text, is_first = self.guide.subwords.piece(index)
        return SpellingPlace(self.guide, matcher, self.text + (f" {text}" if is_first else text))


class GuidedPrefix:
    """A prefix of a program in subwords; immutable.

    Attributes:
        prefix: the tokens that are complete.
        open_: the places of the token of which some pieces came.
    """

    __slots__ = ("_guide", "open_", "prefix")

    def __init__(self, guide: Guide, prefix: Prefix, open_: tuple[SpellingPlace, ...]):
        """Keep the parts."""
        self._guide, self.prefix, self.open_ = guide, prefix, open_

    @property
    def _next(self) -> Prefix | None:
        """Return the prefix after the open token, if it may be whole."""
        if not self.open_:
            return self.prefix
        whole = next((place for place in self.open_ if place.is_whole), None)
        return self.prefix.then(whole.text[1:]) if whole else None

    def mask(self) -> Mask:
        """Return (size,): which ids may come; a new array."""
        following, subwords = self._next, self._guide.subwords
        places = [*self.open_, *(self._guide.places(following.allowed) if following else ())]
        bits = places[0].bits.copy() if places else np.zeros(-(-subwords.size // 8), np.uint8)
        for place in places[1:]:
            bits |= place.bits
        mask = np.unpackbits(bits, count=subwords.size, bitorder="little").astype(np.bool_)
        mask[subwords.end] = following is not None and following.allowed.end
        return mask

    def then(self, index: int) -> "GuidedPrefix":
        """Return the prefix with one more id, not the end, or raise ValueError."""
        if index in self._guide.subwords.ids:
            open_ = _after(self.open_, index)
            if open_:
                return GuidedPrefix(self._guide, self.prefix, open_)
            following = self._next
            open_ = _after(self._guide.places(following.allowed), index) if following else ()
            if following is not None and open_:
                return GuidedPrefix(self._guide, following, open_)
        raise ValueError(f"expected the id of a piece that is allowed here, got {index}")


def _after(places: Iterable[SpellingPlace], index: int) -> tuple[SpellingPlace, ...]:
    next_places = (place.after(index) for place in places)
    return tuple(place for place in next_places if place is not None)
