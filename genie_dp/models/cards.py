"""Cards: the words of a library for its functions, parameters and values, as arrays.

The vector of a token such as `@com.example.lamp.turn_on` is computed from the words of its card, so
that a network knows something of a library that it never saw.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from genie_dp.models.base.vectors import NEAR, word_vectors
from genie_dp.models.sentences import Rows, Sentences, encode_sentences
from genie_dp.models.vocabulary import SPECIAL, Vocabulary

F32 = npt.NDArray[np.float32]
Cards = Mapping[str, tuple[tuple[str, ...], ...]]
"""Token -> phrases of its card, each a tuple of words; the first is its name."""

MOST_PHRASES, MOST_WORDS = 6, 6
FEATURES = 5
# How many words on each side of a value may name what it is for.
WINDOW = 3
OWNER = "\0"  # between a token and its library, in the vocabulary of several
KINDS = ("function", "parameter", "value", "kind of names")
_TINY = np.float32(1e-6)


def kind_of(token: str) -> int:
    """Return the kind of name that a token with a card is, as a place in KINDS.

    The name of its library, behind OWNER, does not matter.

    >>> [KINDS[kind_of(x)] for x in ("@shop.bell.ring", "get_weather(", "to=", "enum:on", "on")]
    ['function', 'function', 'parameter', 'value', 'value']
    """
    token = token.partition(OWNER)[0]
    if token.startswith("@") or token.endswith("("):
        return 0
    if token.startswith("param:") or (token.endswith("=") and token[0].isalpha()):
        return 1
    return 3 if token.startswith("^^") else 2


@dataclass(frozen=True)
class CardRows:
    """Cards of C tokens; W distinct words, at most P phrases of L words each.

    Attributes:
        rows: (C,) ids of the tokens.
        kinds: (C,) see `kind_of`.
        words: the distinct words, as one sentence.
        index: (C, P, L) place of each word among the distinct ones; 0 behind the end.
        mask: (C, P, L) 1 where there is a word.
    """

    rows: Rows
    kinds: Rows
    words: Sentences
    index: Rows
    mask: F32

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary) -> "CardRows":
        """Return the cards of a vocabulary's tokens."""
        tokens = [t for t in vocabulary.words[: vocabulary.generated] if t in vocabulary.cards]
        places: dict[str, int] = {"": 0}
        index = np.zeros((len(tokens), MOST_PHRASES, MOST_WORDS), np.int64)
        mask = np.zeros(index.shape, np.float32)
        for row, token in enumerate(tokens):
            for number, phrase in enumerate(vocabulary.cards[token][:MOST_PHRASES]):
                for place, word in enumerate(phrase[:MOST_WORDS]):
                    index[row, number, place] = places.setdefault(word, len(places))
                    mask[row, number, place] = 1
        return cls(
            np.array([vocabulary.index[token] for token in tokens], np.int64),
            np.array([kind_of(token) for token in tokens], np.int64),
            encode_sentences([tuple(places)], vocabulary),
            index,
            mask,
        )

    def some(self, chosen: Rows) -> "CardRows":
        """Return the cards of some tokens, by their places here, with the words that they have."""
        used, places = np.unique(np.append(self.index[chosen], 0), return_inverse=True)
        words = self.words
        surfaces = words.surfaces[:, used]
        ends = np.append(words.offsets, len(words.grams))
        grams = [words.grams[ends[x] : ends[x + 1]] for x in surfaces[0]]
        ranks = np.arange(len(used))[None]
        part = Sentences(
            (tuple(words.sentences[0][x] for x in used),),
            words.words[:, used],
            ranks,
            np.concatenate(grams),
            np.cumsum([0, *map(len, grams[:-1])]).astype(np.int64),
            words.copies[:, used],
            np.array([len(used)], np.int64),
            words.vectors[surfaces[0]],
        )
        index = places[:-1].reshape(self.index[chosen].shape)
        return CardRows(self.rows[chosen], self.kinds[chosen], part, index, self.mask[chosen])

    @cached_property
    def word_vectors(self) -> F32:
        """Return (W, 128) vectors of the distinct words."""
        vectors: F32 = self.words.vectors[self.words.surfaces[0]]
        return vectors

    @cached_property
    def weights(self) -> F32:
        """Return (C, P, L): the share of each word in its phrase, by inverse document frequency.

        Documents are the cards of one kind (Sparck Jones, 1972): the fewer of them have a word, the
        larger its share. Words of a phrase that all cards have share it equally.
        """
        words = len(self.words.sentences[0])
        is_word = self.mask > 0
        cards, phrases, places = np.nonzero(is_word)
        pairs = np.unique(cards * words + self.index[cards, phrases, places])
        uses = np.bincount(self.kinds[pairs // words] * words + pairs % words,
                           minlength=len(KINDS) * words)  # fmt: skip
        of_kind = np.bincount(self.kinds, minlength=len(KINDS))[self.kinds, None, None]
        frequencies = uses[self.kinds[:, None, None] * words + self.index].clip(min=1)
        idf = np.where(is_word, np.log((1 + of_kind) / frequencies) + _TINY, 0)
        total = idf.sum(2, keepdims=True)
        shares: F32 = (idf / np.where(total > 0, total, 1)).astype(np.float32)
        return shares

    @cached_property
    def names(self) -> F32:
        """Return (C, 128): the direction of each card's name, the mean of its words."""
        masked_vectors = self.word_vectors[self.index[:, 0]] * self.mask[:, 0, :, None]
        total = masked_vectors.sum(1)
        out: F32 = total / (np.linalg.norm(total, axis=1, keepdims=True) + _TINY)
        return out


def links(sentences: Sentences, cards: CardRows) -> F32:
    """Return (B, C, 5): how near the words of each sentence are to each card.

    A word of a card counts as much as its nearest word of the sentence is near, by the cosine of
    their vectors. The five are the mean over the name's words, that of the best phrase, the best
    word, and the first two again with their words weighed (`CardRows.weights`).
    """
    sentence_vectors = sentences.vectors[sentences.surfaces]
    nearest = (sentence_vectors @ cards.word_vectors.T).max(1).clip(min=0)
    similarities = nearest[:, cards.index] * cards.mask
    phrases = similarities.sum(3) / (cards.mask.sum(2) + _TINY)
    rare = (similarities * cards.weights).sum(3)
    return np.stack(
        [phrases[:, :, 0], phrases.max(2), similarities.max((2, 3)), rare[:, :, 0], rare.max(2)], 2
    )


def vocabulary_for(base: Vocabulary, tokens: Iterable[str], cards: Cards) -> Vocabulary:
    """Return the vocabulary of a base for a library that it need not have seen.

    Args:
        base: without tokens of libraries.
        tokens: all that may be written for the library.
        cards: of those that name something of it.
    """
    own = (*SPECIAL, *sorted({*tokens}.difference(SPECIAL)))
    return base.extend(Vocabulary(own, len(own), base.buckets, vectors=True, cards=cards))


def near_places(sentences: F32, names: F32) -> F32:
    """Return (B, S, 3): how near each place of a sentence is to a name.

    A value often stands beside the words of its parameter: "for 3 nights". The three are the
    cosine of the place's own word, of the nearest of the WINDOW words before, and of those after.

    Args:
        sentences: (B, S, 128) vectors of the places.
        names: (B, 128) one for each row.
    """
    similarities = (sentences @ names[:, :, None])[:, :, 0].clip(min=0)
    before, after = np.zeros_like(similarities), np.zeros_like(similarities)
    for shift in range(1, min(WINDOW, similarities.shape[1] - 1) + 1):
        np.maximum(before[:, shift:], similarities[:, :-shift], out=before[:, shift:])
        np.maximum(after[:, :-shift], similarities[:, shift:], out=after[:, :-shift])
    return np.stack([similarities, before, after], 2)


class NearWords:
    """The words of a sentence that are near to a library's words for the tokens of a program.

    A word for a listed value is near to no other word: "large" is not near to the size of a bicycle
    where the program leaves out which size.

    >>> near = NearWords({"@lamp.off": (("lamp", "off"),)})
    >>> near.to(["now", "=>", "@lamp.off"], ["bulb", "music"])
    frozenset({'bulb'})
    """

    def __init__(self, cards: Cards, values: Iterable[str] = ()):
        """Keep the cards; vectors are looked up when they are asked for.

        Args:
            cards: those of the library.
            values: which of the tokens are listed values.
        """
        self._cards = cards
        self._listed = frozenset(w for token in values for x in cards[token] for w in x)
        self._words = lru_cache(maxsize=1000)(self._words_of)

    def to(self, program: Iterable[str], words: Sequence[str]) -> frozenset[str]:
        """Return those of the words that are near to a word of the program's cards."""
        own, card_vectors = self._words(tuple(sorted({x for x in program if x in self._cards})))
        words = [word for word in words if word in own or word not in self._listed]
        if not words or not own:
            return frozenset()
        nearest = (word_vectors().rows(words) @ card_vectors.T).max(1)
        return frozenset(
            x for x, similarity in zip(words, nearest, strict=True) if similarity >= NEAR
        )

    def _words_of(self, tokens: tuple[str, ...]) -> tuple[frozenset[str], F32]:
        words = dict.fromkeys(w for token in tokens for x in self._cards[token] for w in x)
        return frozenset(words), word_vectors().rows(tuple(words))


def phrases_of(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the phrases of a card, without those that consist of the same words.

    >>> phrases_of(["turn on", "on turn", "switch on the lamp"])
    (('turn', 'on'), ('switch', 'on', 'the', 'lamp'))
    """
    phrases: dict[frozenset[str], tuple[str, ...]] = {}
    for text in texts:
        words = tuple(text.split())
        if words:
            phrases.setdefault(frozenset(words), words)
    return tuple(phrases.values())
