"""Draws: which combination of which cell stands at each place of a plan.

A plan lays the quotas of all cells end to end and reads them in the order of a permutation; inside
a cell, its combinations come in the order of another. So no derivation comes twice, every prefix
is a fair sample of the whole, and any block can be made anywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genie_dp.rng import child_seed
from genie_dp.synthesis.cells import Cell
from genie_dp.synthesis.permutation import permute
from genie_dp.synthesis.pieces import Piece

U64 = npt.NDArray[np.uint64]


@dataclass(slots=True)
class Plan:
    """Cells and their quotas. `total` draws are planned."""

    cells: Sequence[Cell]
    ends: U64  # cumulative quotas, shape (cells,)
    sizes: U64
    keys: U64
    total: int
    seed: int

    def draws(self, first: int, count: int) -> Iterator[tuple[Cell, tuple[Piece, ...]]]:
        """Yield the draws of places first .. first + count - 1."""
        count = min(count, self.total - first)
        if count <= 0:
            return
        places = np.arange(first, first + count, dtype=np.uint64)
        seeds = np.full(count, self.seed, np.uint64)
        places = permute(places, np.full(count, self.total, np.uint64), seeds)
        cell = np.searchsorted(self.ends, places, side="right")
        begins = np.where(cell > 0, self.ends[cell - 1], np.uint64(0))
        index = permute(places - begins, self.sizes[cell], self.keys[cell])
        for number, rest in zip(cell.tolist(), index.tolist(), strict=True):
            chosen = self.cells[number]
            pieces = []
            for pieces_of_child in chosen.lists:
                rest, here = divmod(rest, len(pieces_of_child))
                pieces.append(pieces_of_child[here])
            yield chosen, tuple(pieces)


def plan(cells: Sequence[Cell], quotas: npt.NDArray[np.int64], seed: int, *names: object) -> Plan:
    """Return the plan of the cells that have a quota; `names` name its random stream."""
    kept = np.flatnonzero(quotas)
    chosen = [cells[i] for i in kept.tolist()]
    base = child_seed(seed, *names)
    keys = (np.arange(len(chosen), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(
        base
    )
    ends = np.cumsum(quotas[kept]).astype(np.uint64)
    return Plan(
        chosen,
        ends,
        np.array([cell.size for cell in chosen], np.uint64),
        keys,
        int(ends[-1]) if len(ends) else 0,
        base,
    )
