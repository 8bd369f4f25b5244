"""Draws: which combination of which cell stands at each place of a plan.

A plan lays the quotas of all cells end to end and reads them in the order of a permutation; inside
a cell, its combinations come in the order of another. So no derivation comes twice, every prefix
is a fair sample of the whole, and any block can be made anywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from genie_dp.rng import child_seed
from genie_dp.synthesis.cells import Cell, Cells
from genie_dp.synthesis.permutation import permute
from genie_dp.synthesis.pieces import Piece

U64 = npt.NDArray[np.uint64]
SMALL_BLOCK, LARGE_BLOCK = 4_096, 16_384
MOST_IN_SMALL_BLOCKS = 200_000  # draws


@dataclass(slots=True)
class Plan:
    """Cells and their quotas. `total` draws are planned.

    Attributes:
        found: cells, those without a quota included.
        kept: places of the cells with a quota, in the order of the plan.
        ends: cumulative quotas, shape (kept cells,).
    """

    found: Sequence[Cell]
    kept: list[int]
    ends: U64
    sizes: U64
    keys: U64
    total: int
    seed: int
    _met: dict[int, Cell] = field(default_factory=dict)

    @property
    def cells(self) -> Sequence[Cell]:
        """Return the cells with a quota, all of them."""
        return [self.found[place] for place in self.kept]

    @property
    def block(self) -> int:
        """Return how many draws make a block; short runs have small ones, for workers to share."""
        return LARGE_BLOCK if self.total > MOST_IN_SMALL_BLOCKS else SMALL_BLOCK

    def draws(self, first: int, count: int) -> Iterator[tuple[Cell, tuple[Piece, ...]]]:
        """Yield the draws of places first .. first + count - 1."""
        cell, index = self._drawn(first, count)
        for number, rest in zip(cell.tolist(), index.tolist(), strict=True):
            yield self._draw(number, rest)

    def block_draws(self, number: int) -> Iterator[tuple[int, Cell, tuple[Piece, ...]]]:
        """Yield the draws of a block with their places, cell by cell.

        So one draw finds in the processor's cache what the one before it has read: rows take a
        quarter less time than in the order of their places (November 2026).
        """
        first = number * self.block
        cell, index = self._drawn(first, self.block)
        order = np.argsort(cell, kind="stable")
        for place, n, rest in zip(
            (order + first).tolist(), cell[order].tolist(), index[order].tolist(), strict=True
        ):
            yield place, *self._draw(n, rest)

    def _drawn(self, first: int, count: int) -> tuple[npt.NDArray[np.int64], U64]:
        """Return which cell, and which combination of it, stands at each of some places."""
        count = max(0, min(count, self.total - first))
        places = np.arange(first, first + count, dtype=np.uint64)
        seeds = np.full(count, self.seed, np.uint64)
        places = permute(places, np.full(count, self.total, np.uint64), seeds)
        cell = np.searchsorted(self.ends, places, side="right")
        begins = np.where(cell > 0, self.ends[cell - 1], np.uint64(0))
        return cell, permute(places - begins, self.sizes[cell], self.keys[cell])

    def _draw(self, number: int, rest: int) -> tuple[Cell, tuple[Piece, ...]]:
        if number not in self._met:  # made here, so that workers share the work
            self._met[number] = self.found[self.kept[number]]
        chosen = self._met[number]
        if len(chosen.lists) == 2:  # most cells by far
            left, right = chosen.lists
            rest, here = divmod(rest, len(left))
            return chosen, (left[here], right[rest])
        pieces = []
        for pieces_of_child in chosen.lists:
            rest, here = divmod(rest, len(pieces_of_child))
            pieces.append(pieces_of_child[here])
        return chosen, tuple(pieces)


def plan(cells: Sequence[Cell], quotas: npt.NDArray[np.int64], seed: int, *names: object) -> Plan:
    """Return the plan of the cells that have a quota; `names` name its random stream."""
    kept = np.flatnonzero(quotas)
    base = child_seed(seed, *names)
    keys = (np.arange(len(kept), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(base)
    ends = np.cumsum(quotas[kept]).astype(np.uint64)
    sizes = sizes_of(cells)[kept]
    return Plan(cells, kept.tolist(), ends, sizes, keys, int(ends[-1]) if len(ends) else 0, base)


def sizes_of(cells: Sequence[Cell]) -> U64:
    """Return how many combinations each cell has."""
    if isinstance(cells, Cells):
        return cells.sizes
    return np.array([cell.size for cell in cells], np.uint64)
