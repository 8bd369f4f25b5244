"""What is counted while predictions go by.

Kept are counters, the longest n-best list, 9 bytes a row for confidences where there are any, and
the wrong sentences that are shown (at most `most_shown`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heapreplace

from genie_dp.dataset.keys import hashed
from genie_dp.evaluate.calibration import Calibration
from genie_dp.evaluate.groups import Training, groups_of
from genie_dp.evaluate.judge import MATCH, Judged, judge
from genie_dp.evaluate.rows import Asked, Prediction
from genie_dp.evaluate.views import Viewer

MOST_SHOWN = 1000


@dataclass(slots=True)
class Shown:
    """The rows of lowest hash among all that were added, so that their order is no matter."""

    most: int = MOST_SHOWN
    seen: int = 0
    _heap: list[tuple[int, str, Judged]] = field(default_factory=list)

    def add(self, judged: Judged) -> None:
        """Consider a row."""
        self.seen += 1
        id = judged.gold.row.id
        item = (-hashed(id), id, judged)
        if len(self._heap) < self.most:
            heappush(self._heap, item)
        elif self._heap and item[:2] > self._heap[0][:2]:
            heapreplace(self._heap, item)

    def __iter__(self) -> Iterator[Judged]:
        """Yield the rows that are kept, by id."""
        return (judged for _, _, judged in sorted(self._heap, key=lambda item: item[1]))


@dataclass(slots=True)
class Tally:
    """Counts over judged rows.

    Attributes:
        reached: rows by how many tiers they reach.
        ranks: rows by the place of their first right program; 0 for none.
        kinds: wrong rows by kind.
        groups: (axis, name) -> [rows, right rows].
        confusions: (expected function, predicted function) -> wrong rows.
    """

    training: Training | None = None
    wrong: Shown = field(default_factory=Shown)
    reached: Counter[int] = field(default_factory=Counter)
    ranks: Counter[int] = field(default_factory=Counter)
    longest: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    groups: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(_zeros))
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def rows(self) -> int:
        """Return how many rows were counted."""
        return self.reached.total()

    @property
    def right(self) -> int:
        """Return how many of them are right."""
        return self.reached[MATCH]

    def add(self, judged: Judged, said: Prediction) -> None:
        """Count a row."""
        self.reached[judged.reached] += 1
        self.ranks[judged.rank] += 1
        self.longest = max(self.longest, len(said.programs))
        self.calibration.add(
            judged.confidence, is_right=judged.is_right, is_refused=not judged.predicted
        )
        for group in groups_of(judged.gold.row, self.training):
            counts = self.groups[group]
            counts[0] += 1
            counts[1] += judged.is_right
        if not judged.is_right:
            self.kinds[judged.kind] += 1
            self.confusions.update(judged.confusions)
            self.wrong.add(judged)


def _zeros() -> list[int]:
    return [0, 0]


@dataclass(slots=True)
class Comparison:
    """Counts over rows that two parsers were asked.

    Attributes:
        reached: rows by how many tiers the first and the second reach.
        gained, lost: rows that only the first, only the second has right.
    """

    reached: Counter[tuple[int, int]] = field(default_factory=Counter)
    gained: Shown = field(default_factory=Shown)
    lost: Shown = field(default_factory=Shown)

    def add(self, first: Judged, second: Judged) -> None:
        """Count a row; kept is what the one that is wrong said."""
        self.reached[first.reached, second.reached] += 1
        if first.is_right and not second.is_right:
            self.gained.add(second)
        elif second.is_right and not first.is_right:
            self.lost.add(first)

    def counts(self, tier: int) -> tuple[int, int, int, int]:
        """Return rows where both, only the first, only the second, and neither reach a tier."""
        found = Counter[tuple[bool, bool]]()
        for (first, second), rows in self.reached.items():
            found[first >= tier, second >= tier] += rows
        return found[True, True], found[True, False], found[False, True], found[False, False]


def count(
    rows: Iterable[Asked],
    viewer: Viewer,
    tally: Tally,
    comparison: Comparison | None = None,
    *,
    file: str = "<gold>",
) -> None:
    """Judge rows and count what is found.

    Args:
        rows: with one prediction each, or two where `comparison` is given.
        file: where gold rows are from, for mistakes in them.

    >>> from genie_dp.evaluate.rows import Gold
    >>> from genie_dp.evaluate.views import viewer_of
    >>> from genie_dp.records import Example
    >>> gold = Gold(Example("a", "f of 1", "( f 1 )", "sexpr"), ("( f 1 )",))
    >>> tally = Tally()
    >>> count([(gold, (Prediction("a", ("( f 1 )",)),))], viewer_of("sexpr", None), tally)
    >>> tally.right, tally.rows
    (1, 1)
    """
    for gold, said in rows:
        judged: Sequence[Judged] = [judge(gold, one, viewer, file=file) for one in said]
        tally.add(judged[0], said[0])
        if comparison is not None:
            comparison.add(judged[0], judged[1])
