"""Sentences as vectors, for MAUVE."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import xxhash

_WIDTH = 512
_GRAMS = (3, 4)  # characters


class Featuriser(Protocol):
    """Whatever turns sentences into vectors.

    Attributes:
        name: says what the vectors are; figures of different featurisers cannot be compared.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def features(self, utterances: Sequence[str]) -> Any:
        """Return (N, d) vectors of N sentences, 32-bit floats."""


class HashedNgrams:
    """Words, pairs of words and character 3- and 4-grams, hashed into a fixed number of places.

    Nothing is learned and nothing loaded: a sentence has one vector, whatever it is compared with,
    in every run and on every machine, so that figures can be compared between runs (an inverse
    document frequency or a decomposition of the rows at hand would be another featuriser for each
    pair of files). Signs are hashed too, so that collisions cancel (Weinberger et al. 2009). Each
    kind of n-gram has the same weight; a repeated one counts by its square root.
    """

    name = f"hashed n-grams: words 1-2, characters 3-4, {_WIDTH} dimensions"

    def features(self, utterances: Sequence[str]) -> Any:
        """Return (N, d) vectors of length 1; that of a sentence without words is 0.

        >>> HashedNgrams().features(["wake me up", "wake me up"]).shape
        (2, 512)
        """
        found = np.zeros((len(utterances), _WIDTH), np.float32)
        for row, utterance in zip(found, utterances, strict=True):
            for kind in _kinds(utterance.lower().split()):
                _add(row, kind)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.divide(found, lengths, out=found, where=lengths > 0)


def _kinds(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the n-grams of a sentence, a list for each kind."""
    yield [f"1 {word}" for word in words]
    yield [f"2 {a} {b}" for a, b in pairwise(["<s>", *words, "</s>"])]
    text = f" {' '.join(words)} "
    yield [f"c {text[i : i + n]}" for n in _GRAMS for i in range(len(text) - n + 1)]


def _add(row: Any, grams: Sequence[str]) -> None:
    counts: dict[str, int] = {}
    for gram in grams:
        counts[gram] = counts.get(gram, 0) + 1
    length = sum(counts.values()) ** 0.5
    for gram, count in counts.items():
        hashed = xxhash.xxh3_64_intdigest(gram.encode())
        sign = 1.0 if hashed >> 63 else -1.0
        row[hashed % _WIDTH] += sign * count**0.5 / length
