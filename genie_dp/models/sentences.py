"""Sentences and programs as arrays of ids; nothing here needs torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt

from genie_dp.models.base.vectors import word_vectors
from genie_dp.models.vocabulary import END, PAD, Pair, Vocabulary, ngrams

Ids = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One row as ids.

    Attributes:
        sentence: its words, for n-grams and to name copied words.
        words: (S,) ids of the words.
        copies: (S,) extended id of each place.
        targets: (T,) extended ids of the program, END last.
        weight: factor of its loss.
    """

    sentence: tuple[str, ...]
    words: Ids
    copies: Ids
    targets: Ids
    weight: float = 1.0

    @property
    def length(self) -> int:
        """Return words and tokens together, the cost of a row."""
        return len(self.words) + len(self.targets)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences as arrays. B rows, S words in the longest, U distinct words, G their n-grams.

    Attributes:
        sentences: the words themselves.
        words: (B, S) ids, PAD behind the end.
        surfaces: (B, S) place of each word among the distinct ones.
        grams: (G,) buckets of all distinct words' n-grams, one word after another.
        offsets: (U,) where each distinct word's n-grams begin.
        copies: (B, S) extended ids, PAD behind the end.
        lengths: (B,) words of each row, at least 1.
        vectors: (U, 128) of the distinct words (`base.vectors`); (U, 0) for networks without.
    """

    sentences: tuple[tuple[str, ...], ...]
    words: Rows
    surfaces: Rows
    grams: Rows
    offsets: Rows
    copies: Rows
    lengths: Rows
    vectors: F32


def encode(pair: Pair, vocabulary: Vocabulary) -> Encoded:
    """Return a row as ids.

    >>> from genie_dp.models.vocabulary import SPECIAL
    >>> v = Vocabulary((*SPECIAL, "@post", "tweet"), generated=5)
    >>> encode(Pair.from_text("tweet hello", "@post hello"), v).targets.tolist()
    [4, 6, 3]
    """
    return Encoded(
        pair.sentence,
        np.array(vocabulary.read(pair.sentence), np.int32),
        np.array(vocabulary.copies(pair.sentence), np.int32),
        np.array((*vocabulary.write(pair.program, pair.sentence), END), np.int32),
        pair.weight,
    )


def encode_sentences(sentences: Sequence[tuple[str, ...]], vocabulary: Vocabulary) -> Sentences:
    """Return sentences without programs as arrays."""
    return join_sentences([encode(Pair(words, ()), vocabulary) for words in sentences], vocabulary)


def join_sentences(rows: Sequence[Encoded], vocabulary: Vocabulary) -> Sentences:
    """Return the sentences of rows as arrays."""
    flat = list(chain.from_iterable(row.sentence for row in rows))
    # The place behind a sentence's end is the empty word's.
    distinct = {word: i for i, word in enumerate(dict.fromkeys(("", *flat)))}
    surfaces = np.fromiter(map(distinct.__getitem__, flat), np.int64, len(flat))
    grams = [_grams(word, vocabulary.buckets) for word in distinct]
    ends = np.cumsum([0, *map(len, grams)])
    lengths = np.array([len(row.sentence) for row in rows], np.int64)
    return Sentences(
        tuple(row.sentence for row in rows),
        pad_rows([row.words for row in rows]),
        _spread(surfaces, lengths),
        np.concatenate(grams),
        ends[:-1].astype(np.int64),
        pad_rows([row.copies for row in rows]),
        lengths.clip(min=1),
        word_vectors().rows(tuple(distinct)) if vocabulary.vectors else _no_vectors(len(distinct)),
    )


def _no_vectors(words: int) -> F32:
    return np.zeros((words, 0), np.float32)


@lru_cache(maxsize=200_000)
def _grams(word: str, buckets: int) -> Rows:
    """Return the n-grams of a word as an array, which is joined twice as fast as tuples."""
    return np.array(ngrams(word, buckets), np.int64)


def pad_rows(rows: Sequence[Ids]) -> Rows:
    """Return rows of ids as (B, longest), filled up with PAD; at least one column."""
    return _spread(np.concatenate(rows), np.array([len(row) for row in rows], np.int64))


def _spread(flat: npt.NDArray[np.integer], lengths: Rows) -> Rows:
    """Return the numbers of all rows as (B, longest); at least one column."""
    wide = max(1, int(lengths.max()))
    out = np.full((len(lengths), wide), PAD, np.int64)
    out[np.arange(wide) < lengths[:, None]] = flat
    return out
