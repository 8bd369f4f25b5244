"""Blocks in order, from one process or several, and what came of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.augment.engine import Block, Engine, make_block
from genie_dp.errors import render_problem
from genie_dp.records import Example
from genie_dp.run.workers import in_processes

BLOCK = 512  # input rows: up to 15,000 rows come of them, a few megabytes
_MOST_TOLD = 20

Rows = list[tuple[Example, tuple[str, int]]]
"""Rows with their file and line."""
Reader = Callable[[Sequence[int]], Iterator[tuple[int, Rows]]]
"""Yields the blocks of these numbers, in order, as (number, rows)."""


@dataclass(slots=True)
class Tally:
    """What came of the rows so far.

    Attributes:
        rows: rows written.
        counts: "read paraphrase", "made paraphrase", "skipped" and so on -> rows.
        told: the first mistakes of rows that were left out, as they are shown.
        empty: parameters that no value fits.
    """

    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def add(self, block: Block) -> None:
        """Count a block."""
        self.rows += block.rows
        self.counts.update(block.counts)
        room = _MOST_TOLD - len(self.told)
        self.told.extend(render_problem(problem) for problem in block.problems[:room])
        self.empty = sorted({*self.empty, *block.empty})

    def of(self, what: str) -> dict[str, int]:
        """Return source -> rows that were "read" or "made".

        >>> Tally(counts=Counter({"read human": 2, "made human": 20})).of("made")
        {'human': 20}
        """
        start = f"{what} "
        return {
            name.removeprefix(start): count
            for name, count in sorted(self.counts.items())
            if name.startswith(start)
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain data, for the journal."""
        return {
            "rows": self.rows,
            "counts": dict(self.counts),
            "told": self.told,
            "empty": self.empty,
        }

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> "Tally":
        """Return the tally of a line of the journal."""
        return cls(**{**counts, "counts": Counter(counts["counts"])})


def blocks(
    engine: Engine,
    read: Reader,
    numbers: Sequence[int],
    *,
    jobs: int = 1,
    format: str = "jsonl",
) -> Iterator[Block]:
    """Yield the blocks of these numbers, in order; the same ones for any number of jobs.

    Every worker reads the inputs by itself and takes its blocks out, for reading a line costs a
    hundredth of what is made of it.
    """

    def make(wanted: Sequence[int]) -> Iterator[Block]:
        expander = engine.expander()
        for number, rows in read(wanted):
            yield make_block(engine, expander, number, rows, format=format)

    return in_processes(make, numbers, jobs) if jobs > 1 else make(numbers)
