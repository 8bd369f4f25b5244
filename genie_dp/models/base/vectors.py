"""Vectors of English words: "couch" is near to "sofa", "song" to "lyrics".

Distilled from a sentence encoder by tools/word_vectors.py. Opposites are near to each other in it,
as in every such table: words and rows alone distinguish on from off, and more from less.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
SIZE = 128
# Cosine from which a word is near to another: lamp and bulb have 0.70, lamp and music 0.2.
NEAR = 0.5
_WORDS, _VECTORS = "words.txt", "vectors.npy"
_LONGEST_PIECE = 20


class WordVectors:
    """Unit vectors of words; of a word that is not in the table the mean of its pieces' vectors.

    >>> sofa, couch, alarm = word_vectors().rows(("sofa", "couch", "alarm"))
    >>> bool(sofa @ couch > 0.7 > 0.3 > sofa @ alarm)
    True
    """

    def __init__(self, folder: Path):
        """Open a folder that tools/word_vectors.py wrote."""
        words = (folder / _WORDS).read_text(encoding="utf-8").splitlines()
        self._index = {word: row for row, word in enumerate(words)}
        self._table = np.load(folder / _VECTORS, mmap_mode="r")
        self._row = lru_cache(maxsize=100_000)(self._make_row)

    def rows(self, words: Sequence[str]) -> F32:
        """Return (W, 128) vectors of length 1; 0 for placeholders, signs and the like."""
        return np.stack([self._row(word) for word in words]) if words else np.zeros((0, SIZE), "f4")

    def _make_row(self, word: str) -> F32:
        rows = self._pieces(word)
        total = np.zeros(SIZE, np.float32)
        for row in rows:
            vector = self._table[row].astype(np.float32)
            total += vector / np.linalg.norm(vector)
        length = float(np.linalg.norm(total))
        return total / length if length else total

    def _pieces(self, word: str) -> list[int]:
        """Return the rows of a word: its own, or of the longest pieces from left to right."""
        if word in self._index:
            return [self._index[word]]
        if not word.islower():
            return []
        rows, start = [], 0
        while start < len(word):
            ends = range(min(len(word), start + _LONGEST_PIECE), start, -1)
            mark = "##" if start else ""
            piece_end = next((e for e in ends if f"{mark}{word[start:e]}" in self._index), None)
            if piece_end is None:
                start += 1  # a sign inside of it
                continue
            rows.append(self._index[f"{mark}{word[start:piece_end]}"])
            start = piece_end
        return rows


@cache
def word_vectors() -> WordVectors:
    """Return the shipped vectors."""
    return WordVectors(Path(__file__).parent)
