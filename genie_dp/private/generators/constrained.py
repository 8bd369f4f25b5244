"""Which ids may come next so that a program sampled without a sentence is well-typed.

A decoding grammar says which tokens may follow; the tokenizer writes each of them in its pieces. A
grammar lets free text be copied from a sentence. Here there is none: it is given one of
placeholders and of a wildcard, and where the wildcard may come, any plain word may be written, and
any other word that free text of public programs has, such as "7:30".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from genie_dp.languages.decoding import Allowed, DecodingGrammar, Prefix
from genie_dp.private.generators.tokenizer import Tokenizer

Mask = npt.NDArray[np.bool_]
# A private-use character: no word of a text, and plain to every language.
WILDCARD = "\ue000"
# Words of one free text, and pieces of one word of it.
_WORDS, _PIECES = 12, 12
# Masks kept; cleared when full, for a grammar may make sets as it goes.
_KEPT = 20_000
# Pieces of ASCII letters, and whole words of any: so that no run of pieces is anything else.
_PLAIN_PIECE = re.compile(rb"[a-z]+")
_PLAIN_WORD = re.compile(r"[^\W\d_A-Z]+(?:['-][^\W\d_A-Z]+)*")


def is_plain(word: str) -> bool:
    """Tell whether a word is one that free text may hold: letters, with ' and - between them.

    >>> [is_plain(word) for word in ("o'clock", "NUMBER_0", "@x.f", "2")]
    [True, False, False, False]
    """
    return _PLAIN_WORD.fullmatch(word) is not None


@dataclass(slots=True)
class Node:
    """A place in the tree of spelled tokens: the ids that go on, and the token that ends here."""

    following: "dict[int, Node]" = field(default_factory=dict)
    token: str = ""


class Spelling:
    """A grammar seen from a tokenizer. Masks are made once for each set of tokens."""

    def __init__(
        self,
        grammar: DecodingGrammar,
        tokenizer: Tokenizer,
        *,
        placeholders: Iterable[str] = (),
        texts: Iterable[str] = (),
    ):
        """Make the sentence that programs copy from.

        Args:
            grammar: of the language over a library.
            tokenizer: of the model.
            placeholders: tokens that programs may hold as they are, such as NUMBER_0.
            texts: public programs or parts of them, in tokens. What the grammar would copy of them
                may stand in any free text.
        """
        self.grammar, self.tokenizer = grammar, tokenizer
        copied = {token for text in texts for token in text.split()} - grammar.vocabulary
        self.words = frozenset(t for t in copied.difference(placeholders) if not is_plain(t))
        self.size = len(tokenizer.pieces)
        # An empty word ends each span: placeholders do not follow each other in a text.
        alone = [part for token in sorted(set(placeholders)) for part in (token, "")]
        self._sentence = (*alone, *[WILDCARD] * _WORDS)
        self._trees: dict[frozenset[str], tuple[Node, Mask]] = {}
        self.plain_firsts, self.plain_inners = self._plain()

    def _plain(self) -> tuple[Mask, Mask]:
        firsts, inners = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for index, piece in enumerate(self.tokenizer.pieces):
            if piece is None:
                continue
            is_letters = _PLAIN_PIECE.fullmatch(piece.text) is not None
            if not piece.is_first:
                inners[index] = is_letters
            elif is_letters:
                firsts[index] = True
            elif piece.text:
                firsts[index] = is_plain(piece.text.decode("utf-8", errors="replace"))
        return firsts, inners

    def begin(self) -> "SpelledPrefix":
        """Return the empty prefix."""
        return SpelledPrefix(self, self.grammar.begin(self._sentence))

    def tree(self, tokens: frozenset[str]) -> tuple[Node, Mask]:
        """Return the tree of some tokens as they are spelled, and their first ids."""
        found = self._trees.get(tokens)
        if found is None:
            if len(self._trees) >= _KEPT:
                self._trees.clear()
            found = self._trees[tokens] = self._grown(tokens)
        return found

    def _grown(self, tokens: Iterable[str]) -> tuple[Node, Mask]:
        root = Node()
        for token in tokens:
            node = root
            for index in self.tokenizer.spell(token):
                node = node.following.setdefault(index, Node())
            node.token = token
        mask = np.zeros(self.size, np.bool_)
        mask[list(root.following)] = True
        return root, mask


class SpelledPrefix:
    """A program so far, by ids; immutable, so that the hypotheses of a beam may share it.

    Attributes:
        allowed: what may come after the last whole token.
        nodes: places in the trees of the tokens that may have been begun.
        text: the word that was begun, if it may be one of a free text, else None.
        count: ids of the token that was begun.
    """

    __slots__ = ("allowed", "count", "nodes", "prefix", "spelling", "text")

    def __init__(
        self,
        spelling: Spelling,
        prefix: Prefix,
        nodes: Sequence[Node] = (),
        text: bytes | None = None,
        count: int = 0,
    ):
        """Keep the parts."""
        self.spelling, self.prefix, self.nodes = spelling, prefix, nodes
        self.text, self.count = text, count
        self.allowed: Allowed = prefix.allowed

    def mark(self, row: Mask, *, closing: bool = False) -> None:
        """Set True what may come next in a row (V,) that is all False.

        Where the program may end while `closing`, it must, and no word is made longer.
        """
        following = self._after() if self.count else self.prefix
        end = self.spelling.tokenizer.end
        if following is not None:
            row[end] = following.allowed.end
            if closing and row[end]:
                return
            self._mark_firsts(row, following.allowed)
        for node in self.nodes:
            row[list(node.following)] = True
        if self.text is not None and self.count < _PIECES and not closing:
            row |= self.spelling.plain_inners

    def _mark_firsts(self, row: Mask, allowed: Allowed) -> None:
        row |= self.spelling.tree(allowed.fixed)[1]
        if allowed.copied:
            row |= self.spelling.tree(allowed.copied - {WILDCARD})[1]
        if WILDCARD in allowed.copied:
            row |= self.spelling.plain_firsts
            row |= self.spelling.tree(self.spelling.words)[1]

    def _after(self) -> Prefix | None:
        """Return the prefix after the token that was begun, None where it is not whole."""
        word = next((node.token for node in self.nodes if node.token), "")
        if not word and self.text is None:
            return None
        word = word or (self.text or b"").decode()
        is_known = word in self.allowed.fixed or word in self.allowed.copied
        return self.prefix.then(word if is_known else WILDCARD)

    def then(self, index: int) -> "SpelledPrefix":
        """Return the prefix with one more id, not the end.

        Raises:
            ValueError: the id stands for no text, or its token may not come here.
        """
        piece = self.spelling.tokenizer.pieces[index]
        if piece is None:
            raise ValueError(f"expected the id of a piece, got {index}")
        if not piece.is_first:
            nodes = [n.following[index] for n in self.nodes if index in n.following]
            text = None
            if self.text is not None and self.spelling.plain_inners[index]:
                text = self.text + piece.text
            return self._with(self.prefix, nodes, text, self.count + 1)
        before = self._after() if self.count else self.prefix
        if before is None:
            raise ValueError("expected the rest of a token, got the beginning of another")
        allowed = before.allowed
        roots = [self.spelling.tree(allowed.fixed)[0]]
        roots.append(self.spelling.tree(allowed.copied - {WILDCARD})[0])
        is_free = WILDCARD in allowed.copied
        if is_free:
            roots.append(self.spelling.tree(self.spelling.words)[0])
        nodes = [root.following[index] for root in roots if index in root.following]
        is_plain_word = is_free and self.spelling.plain_firsts[index]
        return self._with(before, nodes, piece.text if is_plain_word else None, 1)

    def _with(
        self, prefix: Prefix, nodes: Sequence[Node], text: bytes | None, count: int
    ) -> "SpelledPrefix":
        if not nodes and text is None:
            raise ValueError("expected an id that is allowed here")
        return SpelledPrefix(self.spelling, prefix, nodes, text, count)


def masks(prefixes: Sequence[SpelledPrefix], *, closing: Sequence[bool]) -> Mask:
    """Return (rows, V): what each prefix allows next; see `SpelledPrefix.mark`."""
    out = np.zeros((len(prefixes), prefixes[0].spelling.size), np.bool_)
    for row, prefix, must_end in zip(out, prefixes, closing, strict=True):
        prefix.mark(row, closing=must_end)
    return out
