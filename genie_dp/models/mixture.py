"""Which rows come when: mixing ratios, and the batches that the loop takes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.models.batches import by_length
from genie_dp.rng import child_seed

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one source, such as all paraphrases.

    Attributes:
        name: for the random stream and messages.
        sizes: tokens of each row's program.
        ratio: its share among the parts' ratios; None for as much as it has rows, compared with
            the other parts without a ratio.
    """

    name: str
    sizes: Sequence[int]
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rows of one part, those with short programs first, and their share of all draws."""

    name: str
    rows: Rows
    share: float


def strata(parts: Sequence[Part]) -> tuple[Stratum, ...]:
    """Return the strata of all parts, none where every share is 0; rows are numbered through them.

    >>> [(s.name, s.share) for s in strata([Part("a", [1, 1, 1]), Part("b", [1])])]
    [('a:', 0.75), ('b:', 0.25)]
    """
    free = sum(len(part.sizes) for part in parts if part.ratio is None)
    worth = sum(part.ratio or 0.0 for part in parts) + (free > 0) or 1.0
    all_strata, first = [], 0
    for part in parts:
        # Parts without a ratio share what a ratio of 1 is worth, or everything.
        share = len(part.sizes) / max(free, 1) if part.ratio is None else part.ratio
        rows: Rows = np.argsort(np.array(part.sizes, np.int64), kind="stable") + first
        if len(rows) and share > 0:
            all_strata.append(Stratum(f"{part.name}:", rows, share / worth))
        first += len(rows)
    total = sum(stratum.share for stratum in all_strata)
    return tuple(Stratum(s.name, s.rows, s.share / total) for s in all_strata)


class Order:
    """The endless order of rows, in chunks: each a pure function of the seed and its number.

    A stratum goes through its rows in one random order after another, so that no row comes twice
    before all have come.
    """

    def __init__(self, strata: Sequence[Stratum], chunk: int, seed: int):
        """Keep the strata; a chunk has `chunk` rows, give or take one for each stratum."""
        self.strata = tuple(strata)
        self.chunk = chunk
        self.seed = seed

    def rows_of(self, number: int) -> Rows:
        """Return the rows of a chunk."""
        return np.concatenate([self._draw_rows(stratum, number) for stratum in self.strata])

    def _draw_rows(self, stratum: Stratum, number: int) -> Rows:
        start, end = (math.floor(n * self.chunk * stratum.share) for n in (number, number + 1))
        rounds = range(start // len(stratum.rows), -(-end // len(stratum.rows)))
        orders = [
            _permute(len(stratum.rows), child_seed(self.seed, stratum.name, turn))
            for turn in rounds
        ]
        if not orders:
            return stratum.rows[:0]
        first = rounds[0] * len(stratum.rows)
        return stratum.rows[np.concatenate(orders)[start - first : end - first]]


@lru_cache(maxsize=64)
def _permute(size: int, seed: int) -> Rows:
    return np.random.default_rng(seed).permutation(size)


# Batches of a chunk. Rows are sorted by length inside it: little padding, and still a random order.
CHUNK = 40


class Batches(Protocol):
    """The interface of data to the loop. Each batch is a pure function of its number."""

    @property
    def per_epoch(self) -> float:
        """Return the number of batches that hold as many rows as there are."""

    def take(self, number: int, rank: int, world: int) -> tuple[Any, float]:
        """Return a batch and the weighted tokens of it that losses are taken of.

        Of several processes each gets its rows of the batch, and the tokens of all of them.
        """


class Chunks:
    """Which rows are in which batch."""

    def __init__(self, parts: Sequence[Part], lengths: Rows, size: int, seed: int):
        """Draw nothing yet; small data have smaller chunks, so that no row is twice in a batch.

        Args:
            lengths: words and tokens of each row, through all parts.

        Raises:
            GenieError: there are no rows, or all ratios are 0 (M004).
        """
        drawn_strata = strata(parts)
        if not drawn_strata:
            hint = "are the files empty, or all ratios 0?"
            raise GenieError(Problem("M004", "expected rows to learn from, got none", hint=hint))
        self.chunk = max(1, min(CHUNK, len(lengths) // size))
        self.per_epoch = len(lengths) / size
        self.lengths = lengths
        self.seed = seed
        self.order = Order(drawn_strata, self.chunk * size, seed)
        self._batches = lru_cache(maxsize=2)(self._make_chunk)

    def batch(self, number: int) -> list[int]:
        """Return the numbers of a batch's rows."""
        return self._batches(number // self.chunk)[number % self.chunk]

    def _make_chunk(self, number: int) -> list[list[int]]:
        rows = self.order.rows_of(number)
        # Strata come in whole rows: batches of one row could be more than there are rows.
        rows = np.resize(rows, max(len(rows), self.chunk))
        batches = by_length(rows, self.lengths, self.chunk)
        rng = np.random.default_rng(child_seed(self.seed, "batches", number))
        return [batches[i].tolist() for i in rng.permutation(self.chunk)]
