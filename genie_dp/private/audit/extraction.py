"""Extraction: samples of a model that stand word by word in its training text.

Carlini et al., "Extracting Training Data from Large Language Models" (2021): samples, and which of
them are training text. Every run of n words of the training text is known by a hash of 8 bytes; a
run with such a hash is compared word by word.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp.private.audit.statistics import LEVEL, share_with_interval

Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class CopiedPiece:
    """The longest piece of a text that is training text; it shows nothing.

    Attributes:
        words: how many; 0 for none of at least n.
        start: where it begins in the text.
        row: number of the training row.
        is_whole: whether it is all of that row.
    """

    words: int
    start: int = field(default=0, repr=False)
    row: int = -1
    is_whole: bool = False


class TrainingText:
    """The runs of n words of a training text.

    Takes 16 bytes a run beside the rows themselves.

    >>> text = TrainingText([("a", "b", "c", "d"), ("x", "b", "c")], 2)
    >>> text.longest_copy(("z", "b", "c", "d")).words, text.longest_copy(("d", "c")).words
    (3, 0)
    """

    def __init__(self, rows: Iterable[Words], n: int):
        """Hash all runs; `n` is the fewest words that count."""
        if n < 1:
            raise ValueError(f"expected n >= 1, got {n}")
        # Each different row once: a common one would be compared again and again.
        self.n, self.rows = n, list(dict.fromkeys(tuple(row) for row in rows))
        hashes = [value for row in self.rows for value in _hashes(row, n)]
        counts = [max(0, len(row) - n + 1) for row in self.rows]
        keys = np.array(hashes, np.uint64)
        order = np.argsort(keys, kind="stable")
        self._keys: npt.NDArray[np.uint64] = keys[order]
        self._rows = np.repeat(np.arange(len(self.rows)), counts).astype(np.int64)[order]
        firsts = np.repeat(np.cumsum([0, *counts[:-1]]), counts) if self.rows else np.zeros(0)
        self._places = (np.arange(len(keys)) - firsts).astype(np.int64)[order]

    def longest_copy(self, text: Words) -> CopiedPiece:
        """Return the longest piece of a text that is training text.

        Of equal ones a whole row, else the first.
        """
        best = CopiedPiece(0)
        for start, key in enumerate(_hashes(text, self.n)):
            for row, place in self._find(key):
                if len(text) - start < best.words + best.is_whole:
                    return best
                length = _count_common(text, start, self.rows[row], place)
                is_whole = length == len(self.rows[row])
                if length >= self.n and (length, is_whole) > (best.words, best.is_whole):
                    best = CopiedPiece(length, start, row, is_whole)
        return best

    def _find(self, key: int) -> Iterator[tuple[int, int]]:
        first, last = (
            int(np.searchsorted(self._keys, np.uint64(key), side=side))
            for side in ("left", "right")
        )
        yield from zip(
            self._rows[first:last].tolist(), self._places[first:last].tolist(), strict=True
        )


def _hashes(words: Words, n: int) -> Iterator[int]:
    for start in range(len(words) - n + 1):
        yield xxhash.xxh3_64_intdigest(" ".join(words[start : start + n]).encode())


def _count_common(text: Words, start: int, row: Words, place: int) -> int:
    length = 0
    while (
        start + length < len(text)
        and place + length < len(row)
        and text[start + length] == row[place + length]
    ):
        length += 1
    return length


@dataclass(slots=True)
class Extraction:
    """The training text found in samples so far.

    Attributes:
        pieces: for each sample with one, its piece.
        samples: how many were looked at.
        texts: the pieces themselves, the longest ones; private text.
    """

    pieces: list[CopiedPiece] = field(default_factory=list)
    samples: int = 0
    texts: list[tuple[str, ...]] = field(default_factory=list, repr=False)


def find_copies(samples: Iterable[Words], text: TrainingText, *, keep: int = 0) -> Extraction:
    """Return the pieces of a training text found in samples.

    Args:
        samples: words of each.
        text: the training text of the model.
        keep: how many of the pieces to keep as text, the longest ones, none twice.
    """
    copies = Extraction()
    texts: dict[tuple[str, ...], None] = {}
    for sample in samples:
        copies.samples += 1
        piece = text.longest_copy(sample)
        if piece.words:
            copies.pieces.append(piece)
            if keep:
                texts[tuple(sample[piece.start : piece.start + piece.words])] = None
    copies.texts = sorted(texts, key=lambda words: (-len(words), words))[:keep]
    return copies


def describe_extraction(
    copies: Extraction, text: TrainingText, others: Sequence[Words] = (), *, level: float = LEVEL
) -> dict[str, Any]:
    """Return the figures of the extracted text, for JSON.

    Args:
        copies: in the samples.
        text: the training text.
        others: rows that were not trained on; the number of them with such pieces is due to
            language alone.
        level: of the intervals.
    """
    figures: dict[str, Any] = {
        "words": text.n,
        "samples": copies.samples,
        "copied": share_with_interval(len(copies.pieces), copies.samples, level=level),
        "whole_rows": share_with_interval(
            sum(piece.is_whole for piece in copies.pieces), copies.samples, level=level
        ),
        "longest": max((piece.words for piece in copies.pieces), default=0),
        "training_rows": len({piece.row for piece in copies.pieces}),
    }
    if others:
        hits = sum(text.longest_copy(row).words > 0 for row in others)
        figures["copied_by_chance"] = share_with_interval(hits, len(others), level=level)
    return figures
