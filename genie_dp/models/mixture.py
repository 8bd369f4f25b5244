"""Which rows come when: mixing ratios, a curriculum, and the batches that the loop takes."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.models.batches import by_length
from genie_dp.models.vocabulary import Pair
from genie_dp.rng import child_seed

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one source, such as all paraphrases.

    Attributes:
        name: for the random stream and messages.
        pairs: its rows.
        ratio: its share among the parts' ratios; None for as much as it has rows, compared with
            the other parts without a ratio.
    """

    name: str
    pairs: Sequence[Pair]
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Strategy:
    """How rows are drawn from the parts.

    Attributes:
        groups: group of rows -> its share among the groups of its part; groups that are not named
            count as 1, and with no groups named rows count alike.
        curriculum: epochs until the hardest rows may come; 0 for all rows from the start.
        easiest: share of each part's rows that a curriculum starts with.
    """

    groups: Mapping[str, float] = field(default_factory=dict)
    curriculum: float = 0.0
    easiest: float = 0.1

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        if not 0 < self.easiest <= 1 or self.curriculum < 0:
            raise ValueError(f"easiest must lie in (0, 1], curriculum be >= 0: {self}")
        if any(share < 0 for share in self.groups.values()):
            raise ValueError(f"shares of groups must be >= 0: {dict(self.groups)}")

    def competence(self, epochs: float) -> float:
        """Return the share of rows, easiest first, that may come (Platanios et al., 2019, eq. 7).

        >>> [round(Strategy(curriculum=2.0).competence(e), 2) for e in (0, 1, 2, 3)]
        [0.1, 0.71, 1.0, 1.0]
        """
        if epochs >= self.curriculum:
            return 1.0
        start = self.easiest**2
        return math.sqrt(epochs / self.curriculum * (1 - start) + start)


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rows of one part and group, easiest first, and their share of all draws."""

    name: str
    rows: Rows
    share: float


def strata(parts: Sequence[Part], strategy: Strategy) -> tuple[Stratum, ...]:
    """Return the strata of all parts, none where every share is 0; rows are numbered through them.

    >>> parts = [Part("a", [Pair.from_text("x", "y")] * 3), Part("b", [Pair.from_text("u", "v")])]
    >>> [(s.name, s.share) for s in strata(parts, Strategy())]
    [('a:', 0.75), ('b:', 0.25)]
    """
    free = sum(len(part.pairs) for part in parts if part.ratio is None)
    worth = sum(part.ratio or 0.0 for part in parts) + (free > 0) or 1.0
    all_strata, first = [], 0
    for part in parts:
        # Parts without a ratio share what a ratio of 1 is worth, or everything.
        share = len(part.pairs) / free if part.ratio is None else part.ratio
        all_strata.extend(_groups(part, first, share / worth, strategy))
        first += len(part.pairs)
    used_strata = [stratum for stratum in all_strata if stratum.share > 0]
    total = sum(stratum.share for stratum in used_strata)
    return tuple(Stratum(s.name, s.rows, s.share / total) for s in used_strata)


def _groups(part: Part, first: int, share: float, strategy: Strategy) -> list[Stratum]:
    members: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(part.pairs):
        members[pair.group if strategy.groups else ""].append(place)
    weights = {name: strategy.groups.get(name, 1.0) for name in members}
    total = sum(weights.values()) or 1.0
    return [
        Stratum(
            f"{part.name}:{name}",
            np.array(sorted(members[name], key=lambda i: part.pairs[i].difficulty), np.int64)
            + first,
            share * weight / total,
        )
        for name, weight in sorted(weights.items())
    ]


class Order:
    """The endless order of rows, in chunks: each a pure function of the seed and its number.

    A stratum goes through its rows in one random order after another, so that no row comes twice
    before all have come; while a curriculum lasts, rows are drawn among the easiest.
    """

    def __init__(self, strata: Sequence[Stratum], chunk: int, strategy: Strategy, seed: int):
        """Keep the strata; a chunk has `chunk` rows, give or take one for each stratum."""
        self.strata = tuple(strata)
        self.chunk = chunk
        self.strategy = strategy
        self.seed = seed
        self.rows = sum(len(stratum.rows) for stratum in strata)

    def rows_of(self, number: int) -> Rows:
        """Return the rows of a chunk."""
        share = self.strategy.competence(number * self.chunk / max(1, self.rows))
        parts = [self._draw_rows(place, number, share) for place in range(len(self.strata))]
        return np.concatenate(parts)

    def _draw_rows(self, place: int, number: int, competence: float) -> Rows:
        stratum = self.strata[place]
        start, end = (math.floor(n * self.chunk * stratum.share) for n in (number, number + 1))
        if competence < 1.0:
            easy = stratum.rows[: max(1, math.ceil(competence * len(stratum.rows)))]
            rng = np.random.default_rng(child_seed(self.seed, stratum.name, "easy", number))
            turns = [rng.permutation(easy) for _ in range(-((start - end) // len(easy)))]
            return np.concatenate(turns)[: end - start] if turns else easy[:0]
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
    """What the loop asks of data. Each batch is a pure function of its number."""

    @property
    def per_epoch(self) -> float:
        """Return how many batches hold as many rows as there are."""

    def take(self, number: int, rank: int, world: int) -> tuple[Any, float]:
        """Return a batch and the weighted tokens of it that losses are taken of.

        Of several processes each gets its rows of the batch, and the tokens of all of them.
        """


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
            GenieError: there are no rows, or all shares are 0 (M004).
        """
        drawn_strata = strata(parts, strategy) if len(lengths) else ()
        if not drawn_strata:
            hint = "are the files empty, or all ratios or shares of groups 0?"
            raise GenieError(Problem("M004", "expected rows to learn from, got none", hint=hint))
        self.chunk = max(1, min(CHUNK, len(lengths) // size))
        self.per_epoch = len(lengths) / size
        self.lengths = lengths
        self.seed = seed
        self.order = Order(drawn_strata, self.chunk * size, strategy, seed)
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
