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
from genie_dp.synthesis.pieces import Piece

U64 = npt.NDArray[np.uint64]
# ------------------------------------------------------------------------------------ permutations
# Seeded permutations of range(n) that can be read at any place, many at a time: a four-round
# Feistel network on the smallest even number of bits that holds n, with cycle walking (Black and
# Rogaway, Ciphers with Arbitrary Finite Domains, 2002). Every array operation treats all rows of a
# block at once; each row may have its own n and key.

_ROUNDS = 4


def permute(index: U64, size: U64, key: U64) -> U64:
    """Return the images of `index` under the permutations of range(size) chosen by `key`.

    All three have shape (rows,); index < size, size <= 2**62.

    >>> n = np.full(5, 5, np.uint64)
    >>> sorted(permute(np.arange(5, dtype=np.uint64), n, n).tolist())
    [0, 1, 2, 3, 4]
    """
    half = _half_bits(size)
    result = _network(index, half, key)
    outside = np.flatnonzero(result >= size)
    while outside.size:
        result[outside] = _network(result[outside], half[outside], key[outside])
        outside = outside[result[outside] >= size[outside]]
    return result


def _half_bits(size: U64) -> U64:
    largest = np.maximum(size, np.uint64(2)) - np.uint64(1)
    bits = np.floor(np.log2(largest.astype(np.float64))).astype(np.uint64) + np.uint64(1)
    # log2 in floating point may be one short just below a power of two
    bits += (largest >> bits) > 0
    return (bits + np.uint64(1)) >> np.uint64(1)


def _network(value: U64, half: U64, key: U64) -> U64:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = value >> half, value & mask
    for number in range(_ROUNDS):
        left, right = right, left ^ (_mix(right + key, number) & mask)
    return (left << half) | right


def _mix(value: U64, number: int) -> U64:
    # splitmix64's finaliser (Steele, Lea, Flood 2014), with the round number as the stream
    with np.errstate(over="ignore"):
        mixed = value + np.uint64(0x9E3779B97F4A7C15 * (number + 1) & 0xFFFFFFFFFFFFFFFF)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


# ------------------------------------------------------------------ quotas: shares fill like water


def fill(total: int, weights: F64, capacity: F64, seed: int = 0) -> I64:
    """Return shares of `total`, proportional to weights and at most capacity, shape (cells,).

    The shares sum to min(total, sum of capacity over positive weights). Each is its exact share,
    rounded up or down; `seed` chooses which way, up with a probability of the fraction. So of more
    cells than rows every one has its chance, by its weight.

    >>> fill(10, np.array([1.0, 1.0, 1.0]), np.array([2.0, 100.0, 100.0])).tolist()
    [2, 4, 4]
    """
    capacity = np.where(weights > 0, capacity, 0.0)
    target = min(float(total), float(capacity.sum()))
    share = np.zeros(len(weights))
    is_open = (weights > 0) & (capacity > 0)
    left = target
    while left > 1e-9 and is_open.any():
        level = left * weights / weights[is_open].sum()
        is_full = is_open & (level >= capacity)
        if not is_full.any():
            share[is_open] = level[is_open]
            break
        share[is_full] = capacity[is_full]
        is_open &= ~is_full
        left = target - share.sum()
    return _whole(share, int(round(target)), seed)


def even(total: int, capacity: Sequence[int], seed: int = 0) -> I64:
    """Return equal shares of `total`, at most capacity.

    >>> even(10, [2, 100]).tolist()
    [2, 8]
    """
    room = np.array(capacity, float)
    return fill(total, np.ones(len(room)), room, seed)


def _whole(share: F64, target: int, seed: int) -> I64:
    """Return the shares rounded so that they sum to `target`, each as often up as its fraction.

    Systematic sampling (Madow, 1949): the fractions are laid end to end, and those that hold one
    of `missing` marks at equal distances are rounded up. They lie in a random order: in that of the
    cells, the marks could keep step with functions that take turns in it.
    """
    whole = np.floor(share + 1e-9).astype(np.int64)
    missing = target - int(whole.sum())
    if missing > 0:
        fractions = np.maximum(share - whole, 0.0)
        places = np.flatnonzero(fractions)
        count = np.full(len(places), len(places), np.uint64)
        keys = np.full(len(places), seed & 0xFFFFFFFFFFFFFFFF, np.uint64)
        order = places[permute(np.arange(len(places), dtype=np.uint64), count, keys)]
        line = np.concatenate([[0.0], np.cumsum(fractions[order])])
        line *= missing / line[-1]
        line[-1] = missing
        first = (seed % 0x10000) / 0x10000  # where the first mark is
        whole[order] += np.diff(np.floor(line + first)).astype(np.int64)
    return whole


SMALL_BLOCK, LARGE_BLOCK = 4_096, 16_384
MOST_IN_SMALL_BLOCKS = 200_000  # draws
_AT_ONCE = 1 << 18  # draws that are counted together


@dataclass(slots=True)
class DrawPlan:
    """Cells and their quotas. `total` draws are planned.

    Attributes:
        all_cells: cells, those without a quota included.
        places: of the cells with a quota, in the order of the plan.
        ends: cumulative quotas, shape (kept cells,).
        turns: of a cell that has words without meaning the length of its longest list: after so
            many draws every piece of every list was there. 1 of others, whose combinations come in
            the order of a permutation, shape (kept cells,).
        starts: the draws of the same rule and depth in the cells before, shape (kept cells,).
        rule_keys: of these, shape (kept cells,).
        first_ends: cumulative quotas of the draws that come before all others; None for none.
    """

    all_cells: Sequence[Cell]
    places: list[int]
    ends: U64
    sizes: U64
    keys: U64
    turns: U64
    starts: U64
    rule_keys: U64
    total: int
    seed: int
    first_ends: U64 | None = None
    _met: dict[int, Cell] = field(default_factory=dict)

    @property
    def cells(self) -> Sequence[Cell]:
        """Return the cells with a quota, all of them."""
        return [self.all_cells[place] for place in self.places]

    @property
    def block(self) -> int:
        """Return how many draws make a block; short runs have small ones, for workers to share."""
        return LARGE_BLOCK if self.total > MOST_IN_SMALL_BLOCKS else SMALL_BLOCK

    def draws(self, first: int, count: int) -> Iterator[tuple[Cell, tuple[Piece, ...]]]:
        """Yield the draws of places first .. first + count - 1."""
        cell, index = self._locate(first, count)
        for number, rest in zip(cell.tolist(), index.tolist(), strict=True):
            yield self._draw(number, rest)

    def block_draws(self, number: int) -> Iterator[tuple[int, Cell, tuple[Piece, ...]]]:
        """Yield the draws of a block with their places, cell by cell.

        So one draw finds in the processor's cache the data of the one before it: rows take a
        quarter less time than in the order of their places (November 2026).
        """
        first = number * self.block
        cell, index = self._locate(first, self.block)
        order = np.argsort(cell, kind="stable")
        for place, n, rest in zip(
            (order + first).tolist(), cell[order].tolist(), index[order].tolist(), strict=True
        ):
            yield place, *self._draw(n, rest)

    def cell_draws(self) -> Iterator[tuple[Cell, tuple[Piece, ...]]]:
        """Yield all draws, cell by cell: the result of one depends on no other."""
        cell, index = self._at(np.arange(self.total, dtype=np.uint64))
        for number, rest in zip(cell.tolist(), index.tolist(), strict=True):
            yield self._draw(number, rest)

    def count_cells(self, count: int) -> I64:
        """Return how often each cell is among the first draws, shape (all cells,)."""
        counts = np.zeros(len(self.all_cells), np.int64)
        for first in range(0, min(count, self.total), _AT_ONCE):
            cell, _ = self._locate(first, min(_AT_ONCE, count - first))
            of_kept = np.bincount(cell, minlength=len(self.places))
            counts[self.places] += of_kept
        return counts

    def _locate(self, first: int, count: int) -> tuple[npt.NDArray[np.int64], U64]:
        """Return which cell, and which combination of it, stands at each of some places."""
        count = max(0, min(count, self.total - first))
        places = np.arange(first, first + count, dtype=np.uint64)
        seeds = np.full(count, self.seed, np.uint64)
        if self.first_ends is None:
            return self._at(permute(places, np.full(count, self.total, np.uint64), seeds))
        early = self.first_ends[-1]
        is_early = places < early
        sizes = np.where(is_early, early, np.uint64(self.total) - early)
        places = permute(np.where(is_early, places, places - early), sizes, seeds)
        cell, index = _cell_at(places, self.first_ends)
        late_cell, late_index = _cell_at(places, self.ends - self.first_ends)
        late_index += np.diff(self.first_ends, prepend=np.uint64(0))[late_cell]
        return self._combination(
            np.where(is_early, cell, late_cell), np.where(is_early, index, late_index)
        )

    def _at(self, places: U64) -> tuple[npt.NDArray[np.int64], U64]:
        """Return the same for places in the order of the cells."""
        return self._combination(*_cell_at(places, self.ends))

    def _combination(
        self, cell: npt.NDArray[np.int64], index: U64
    ) -> tuple[npt.NDArray[np.int64], U64]:
        """Return cells, and which combination the draw of that number is in each."""
        size, turn = self.sizes[cell], self.turns[cell]
        if (turn == 1).all():
            return cell, permute(index, size, self.keys[cell])
        round_, step = np.divmod(index, turn)
        # The first round is the one in which no piece is shifted.
        is_first = (turn > 1) & (round_ == 0)
        one = np.uint64(1)
        index = np.where(turn > 1, np.maximum(round_, one) - one, index)
        size = np.where(turn > 1, np.maximum(size // turn, np.uint64(2)) - one, size)
        image = permute(index, size, self.keys[cell])
        image = np.where(turn > 1, np.where(is_first, np.uint64(0), image + one), image)
        return cell, image * turn + step

    def _draw(self, number: int, rest: int) -> tuple[Cell, tuple[Piece, ...]]:
        if number not in self._met:  # made here, so that workers share the work
            self._met[number] = self.all_cells[self.places[number]]
        chosen = self._met[number]
        if (turn := int(self.turns[number])) > 1:
            start, key = int(self.starts[number]), int(self.rule_keys[number])
            return chosen, _in_turn(chosen, *divmod(rest, turn), turn, start, key)
        if len(chosen.lists) == 2:  # most cells by far
            left, right = chosen.lists
            rest, here = divmod(rest, len(left))
            return chosen, (left[here], right[rest])
        pieces = []
        for pieces_of_child in chosen.lists:
            rest, here = divmod(rest, len(pieces_of_child))
            pieces.append(pieces_of_child[here])
        return chosen, tuple(pieces)


def _cell_at(places: U64, ends: U64) -> tuple[I64, U64]:
    """Return the cells of some places, and the place inside of each, by cumulative quotas."""
    cell = np.minimum(np.searchsorted(ends, places, side="right"), len(ends) - 1)
    return cell, places - np.where(cell > 0, ends[cell - 1], np.uint64(0))


_MOST_ROTATED = 16  # pieces of a list of words whose first one may be any


def _in_turn(
    cell: Cell, shift: int, step: int, turn: int, start: int, key: int
) -> tuple[Piece, ...]:
    """Return a draw of a cell in which the pieces of every list take turns.

    Lists of words have one piece of every alternative first (`ast.say_words`): long ones begin with
    these, so that few draws have them all.

    Args:
        shift: by how much the lists beside the longest are shifted, their sizes as a base.
        step: place in the longest list.
        turn: its length.
        start: draws before.
        key: of the rule.
    """
    time = start + step
    pieces, has_longest = [], False
    for child, (spec, pieces_of_child) in enumerate(
        zip(cell.rule.layout.children, cell.lists, strict=True)
    ):
        count = len(pieces_of_child)
        moved, run = 0, 0
        if count == turn and not has_longest:
            has_longest = True
        else:
            shift, moved = divmod(shift, count)
            run = time // count  # each begins elsewhere, lest two lists keep step
        is_ordered = spec.says_words and count > _MOST_ROTATED and not run
        begin = 0 if is_ordered else _mixed(key, child, run)
        pieces.append(pieces_of_child[(time + begin + moved) % count])
    return tuple(pieces)


def _mixed(key: int, child: int, run: int) -> int:
    mixed = (key ^ (child + 1) * 0x9E3779B97F4A7C15 ^ (run + 1) * 0xBF58476D1CE4E5B9) & _WORD
    mixed = ((mixed ^ mixed >> 30) * 0x94D049BB133111EB) & _WORD
    return mixed ^ mixed >> 31


_WORD = 0xFFFFFFFFFFFFFFFF


def plan_draws(
    cells: Sequence[Cell],
    quotas: npt.NDArray[np.int64],
    seed: int,
    *names: object,
    keys: U64 | None = None,
    first: I64 | None = None,
) -> DrawPlan:
    """Return the plan of the cells that have a quota; `names` name its random stream.

    `keys` choose the combinations of each cell, shape (cells,), where they are not to depend on
    the other cells. The draws of the quotas `first`, which are no greater, come before all others.
    """
    places = np.flatnonzero(quotas)
    base = child_seed(seed, *names)
    keys = cell_keys(len(places), base) if keys is None else keys[places]
    ends = np.cumsum(quotas[places]).astype(np.uint64)
    sizes = combination_counts(cells)[places]
    turns = _turns(cells, places, quotas, base)
    total = int(ends[-1]) if len(ends) else 0
    first_ends = None
    if first is not None and first.sum():
        first_ends = np.cumsum(first[places]).astype(np.uint64)
    return DrawPlan(cells, places.tolist(), ends, sizes, keys, *turns, total, base, first_ends)


def _turns(cells: Sequence[Cell], places: I64, quotas: I64, seed: int) -> tuple[U64, U64, U64]:
    """Return `DrawPlan.turns`, `DrawPlan.starts` and `DrawPlan.rule_keys`."""
    turns, starts = np.ones(len(places), np.uint64), np.zeros(len(places), np.uint64)
    keys = np.zeros(len(places), np.uint64)
    if not isinstance(cells, Cells) or not cells.say_words:
        return turns, starts, keys
    before: dict[tuple[int, int], int] = {}
    for number, place in enumerate(places.tolist()):
        rule = cells.rule_that_says_words(place)
        if rule is not None:
            turns[number] = max(map(len, cells[place].lists))
            starts[number] = before.get(rule, 0)
            before[rule] = int(starts[number]) + int(quotas[place])
            keys[number] = _mixed(seed & _WORD, *rule)
    return turns, starts, keys


def cell_keys(count: int, seed: int) -> U64:
    """Return different keys for the cells of one stream, shape (count,)."""
    numbers = np.arange(count, dtype=np.uint64)
    return (numbers * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(seed)


def combination_counts(cells: Sequence[Cell]) -> U64:
    """Return how many combinations each cell has."""
    if isinstance(cells, Cells):
        return cells.sizes
    return np.array([cell.size for cell in cells], np.uint64)
