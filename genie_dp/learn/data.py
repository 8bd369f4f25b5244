"""Rows ready for the loop: batch number in, tensors out."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.learn.batches import Batch, by_length, collate, encode
from genie_dp.learn.mixture import Order, Part, Rows, Strategy, strata
from genie_dp.learn.vocabulary import UNK, Vocabulary
from genie_dp.rng import child_seed

# Batches of a chunk. Rows are sorted by length inside it: little padding, and still a random order.
CHUNK = 40


class Batches(Protocol):
    """What the loop asks of data. Each batch is a pure function of its number."""

    @property
    def per_epoch(self) -> float:
        """Return how many batches hold as many rows as there are."""

    def take(self, number: int, rank: int, world: int) -> tuple[Any, float]:
        """Return a batch and the weighted tokens of it that losses are taken of.

        Of several processes each gets its rows of the batch, and the tokens of all of them.
        """


class PairBatches:
    """Batches of sentences and programs, mixed by a strategy."""

    def __init__(
        self,
        parts: Sequence[Part],
        vocabulary: Vocabulary,
        *,
        size: int = 64,
        strategy: Strategy | None = None,
        seed: int = 0,
    ):
        """Encode all rows; `size` is the rows of a batch.

        Raises:
            GenieError: there are no rows.
        """
        self.vocabulary = vocabulary
        self.rows = [encode(pair, vocabulary) for part in parts for pair in part.pairs]
        if not self.rows:
            hint = "are the files empty, or all ratios 0?"
            raise GenieError(Problem("M004", "expected rows to learn from, got none", hint=hint))
        self.tokens = [row.weight * int((row.targets != UNK).sum()) for row in self.rows]
        lengths = np.array([row.length for row in self.rows], np.int64)
        self._schedule = Chunks(parts, lengths, size, strategy or Strategy(), seed)

    @property
    def per_epoch(self) -> float:
        """Return how many batches hold as many rows as there are."""
        return self._schedule.per_epoch

    def take(self, number: int, rank: int = 0, world: int = 1) -> tuple[Batch, float]:
        """Return a batch, or a process's rows of it, and its weighted tokens.

        A process without rows gets the first row with weight 0: all processes take each step.
        """
        places = self._schedule.batch(number)
        rows = [self.rows[i] for i in places]
        tokens = sum(self.tokens[i] for i in places)
        mine = rows[rank::world]
        if mine:
            return collate(mine, self.vocabulary), tokens
        batch = collate(rows[:1], self.vocabulary)
        batch.weights.zero_()
        return batch, tokens


class Chunks:
    """Which rows are in which batch."""

    def __init__(
        self,
        parts: Sequence[Part],
        lengths: Rows,
        size: int,
        strategy: Strategy,
        seed: int,
    ):
        """Draw nothing yet; small data have smaller chunks, so that no row is twice in a batch.

        Args:
            lengths: words and tokens of each row, through all parts.

        Raises:
            GenieError: all shares are 0.
        """
        found = strata(parts, strategy)
        if not found:
            hint = "give a ratio, and a share of a group that there is, above 0"
            raise GenieError(Problem("M004", "expected rows to learn from, got none", hint=hint))
        self.chunk = max(1, min(CHUNK, len(lengths) // size))
        self.per_epoch = len(lengths) / size
        self.lengths = lengths
        self.seed = seed
        self.order = Order(found, self.chunk * size, strategy, seed)
        self._batches = lru_cache(maxsize=2)(self._chunk)

    def batch(self, number: int) -> list[int]:
        """Return the numbers of a batch's rows."""
        return self._batches(number // self.chunk)[number % self.chunk]

    def _chunk(self, number: int) -> list[list[int]]:
        rows = self.order.rows_of(number)
        # Strata come in whole rows: batches of one row could be more than there are rows.
        rows = np.resize(rows, max(len(rows), self.chunk))
        batches = by_length(rows, self.lengths, self.chunk)
        rng = np.random.default_rng(child_seed(self.seed, "batches", number))
        return [batches[i].tolist() for i in rng.permutation(self.chunk)]
