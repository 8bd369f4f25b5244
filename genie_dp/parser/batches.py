"""Batches out of row stores: rows become ids when their batch is due."""

from collections.abc import Sequence

import numpy as np

from genie_dp.learn.batches import Batch, collate, encode
from genie_dp.learn.data import Chunks
from genie_dp.learn.mixture import Part, Strategy
from genie_dp.learn.pairs import Pair
from genie_dp.learn.vocabulary import UNK, Vocabulary
from genie_dp.parser.store import RowStore


class StoreBatches:
    """What `learn.data.PairBatches` gives, of rows that stay in their stores.

    A row costs about 150 bytes instead of a thousand; encoding it anew each time takes a
    hundredth of its training step.
    """

    def __init__(
        self,
        stores: Sequence[RowStore],
        vocabulary: Vocabulary,
        *,
        ratios: Sequence[float | None] = (),
        size: int = 64,
        strategy: Strategy | None = None,
        seed: int = 0,
    ):
        """Number the rows through all stores; `ratios` are those of `learn.mixture.Part`."""
        self.stores, self.vocabulary = list(stores), vocabulary
        self.firsts = np.cumsum([0, *map(len, stores)])
        shares = list(ratios) or [None] * len(self.stores)
        parts = [
            Part(str(number), store, ratio)
            for number, (store, ratio) in enumerate(zip(self.stores, shares, strict=True))
        ]
        lengths = np.fromiter((n for store in stores for n in store.lengths()), np.int64)
        self._schedule = Chunks(parts, lengths, size, strategy or Strategy(), seed)

    @property
    def per_epoch(self) -> float:
        """Return how many batches hold as many rows as there are."""
        return self._schedule.per_epoch

    def take(self, number: int, rank: int = 0, world: int = 1) -> tuple[Batch, float]:
        """Return a batch, or a process's rows of it, and its weighted tokens.

        A process without rows gets the first row with weight 0: all processes take each step.
        """
        rows = [self._row(place) for place in self._schedule.batch(number)]
        encoded = [encode(row, self.vocabulary) for row in rows]
        tokens = sum(row.weight * int((row.targets != UNK).sum()) for row in encoded)
        mine = encoded[rank::world]
        batch = collate(mine or encoded[:1], self.vocabulary)
        if not mine:
            batch.weights.zero_()
        return batch, tokens

    def _row(self, place: int) -> Pair:
        store = int(np.searchsorted(self.firsts, place, side="right")) - 1
        return self.stores[store][place - int(self.firsts[store])]
