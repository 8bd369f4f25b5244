"""Subword masks made by llguidance: the fast path where tokens are written in pieces.

Which tokens may follow is the automaton's to say: scopes, inputs that are still free and spans of
the sentence are nothing that a context-free grammar compiled beforehand could know. llguidance
takes the rest: each set of tokens is a small grammar, compiled once, and says which pieces of the
tokenizer begin or continue one of them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.decoding import Allowed, DecodingGrammar, Prefix
from genie_dp.languages.subwords import Mask, SubwordGrammar, Subwords, missing_problem

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
        self._places: dict[frozenset[str], Place] = {}

    def places(self, allowed: Allowed) -> "Iterator[Place]":
        """Yield the places before a token."""
        for tokens in (allowed.fixed, allowed.copied):
            if tokens:
                yield self._place(tokens)

    def _place(self, tokens: frozenset[str]) -> "Place":
        found = self._places.get(tokens)
        if found is None:
            if self.made >= KEPT:
                self._places, self.made = {}, 0
            found = self._places[tokens] = Place(self, self._compiled(tokens), "")
        return found

    def _compiled(self, tokens: Iterable[str]) -> Any:
        # A space goes before each token.
        spelled = " | ".join(
            json.dumps(f" {token}", ensure_ascii=False) for token in sorted(tokens)
        )
        matcher = self.matcher(self.tokenizer, self.matcher.grammar_from_lark(_HEAD + spelled))
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return matcher


class _Pieces:
    """What llguidance asks of a tokenizer; it is never asked to cut a text."""

    bos_token_id = None

    def __init__(self, subwords: Subwords):
        every = {index: subwords.piece(index) for index in subwords.ids}
        texts = {index: piece for index, piece in every.items() if piece != ("", False)}
        self.eos_token_id = subwords.end
        self.special_token_ids = [i for i in range(subwords.size) if i not in texts]
        self.tokens = [f"<{i}>".encode() for i in range(subwords.size)]
        for index, (text, is_first) in texts.items():
            self.tokens[index] = (f" {text}" if is_first else text).encode()

    def __call__(self, text: bytes) -> list[int]:
        return []


class Place:
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
        self._following: dict[int, Place | None] = {}

    @property
    def bits(self) -> npt.NDArray[np.uint8]:
        """Return a bit for each piece, lowest first: whether it may come next; do not write."""
        if self._bits is None:
            self._bits = np.frombuffer(self.matcher.compute_bitmask(), np.uint8)
        return self._bits

    def after(self, index: int) -> "Place | None":
        """Return the place after a piece, or None if it may not come."""
        if index not in self._following:
            self._following[index] = self._after(index)
        return self._following[index]

    def _after(self, index: int) -> "Place | None":
        if not self.bits[index >> 3] >> (index & 7) & 1:
            return None
        matcher = self.matcher.deep_copy()
        matcher.consume_token(index)
        text, is_first = self.guide.subwords.piece(index)
        return Place(self.guide, matcher, self.text + (f" {text}" if is_first else text))


class GuidedPrefix:
    """A prefix of a program in subwords; immutable.

    Attributes:
        prefix: the tokens that are complete.
        open_: the places of the token of which some pieces came.
    """

    __slots__ = ("_guide", "open_", "prefix")

    def __init__(self, guide: Guide, prefix: Prefix, open_: tuple[Place, ...]):
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


def _after(places: Iterable[Place], index: int) -> tuple[Place, ...]:
    found = (place.after(index) for place in places)
    return tuple(place for place in found if place is not None)
