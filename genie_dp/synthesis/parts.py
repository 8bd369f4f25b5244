"""Blocks in order, from one process or several; repeats and ambiguous sentences dropped."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from genie_dp.run.workers import Maker, in_answering_processes
from genie_dp.synthesis.block_text import BlockText, Bounds, TextHere, TextThere, answer
from genie_dp.synthesis.encode import Block, make_block
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.seen import Seen

_COUNTERS = ("drawn", "kept", "raised", "refused")


@dataclass(slots=True)
class Tally:
    """What came of the draws so far.

    Attributes:
        rows: rows written.
        drawn, kept: template -> draws, and draws that gave a row.
        repeated: rows dropped since their sentence and program were there.
        ambiguous: rows dropped since their sentence was there with another program.
        raised: "template: exception" -> draws dropped since a Python function raised.
        refused: "template: code" -> draws dropped since the program would be ill-typed.
    """

    rows: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    ambiguous: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain data, for the journal."""
        return {
            "rows": self.rows,
            "drawn": dict(self.drawn),
            "kept": dict(self.kept),
            "repeated": self.repeated,
            "ambiguous": self.ambiguous,
            "raised": dict(self.raised),
            "refused": dict(self.refused),
        }

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> "Tally":
        """Return the tally of a line of the journal."""
        counters = {name: Counter(counts[name]) for name in _COUNTERS}
        return cls(**{**counts, **counters})


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one block that are new; their text can be had until the next part is.

    Attributes:
        number: the block.
        lines: where their lines stand in the block's text.
        dropped: where those of ambiguous rows stand, for the report.
        rows: how many there are.
        sentences, programs: their hashes.
    """

    number: int
    lines: Bounds
    dropped: Bounds
    rows: int
    sentences: npt.NDArray[np.uint64]
    programs: npt.NDArray[np.uint64]
    of: BlockText

    @property
    def text(self) -> bytes:
        """Return the lines in one piece, which copies them."""
        return self.of.read(self.lines)

    def write(self, rows: BinaryIO, dropped: BinaryIO) -> None:
        """Append the lines to a file, and those of ambiguous rows to another."""
        self.of.write(self.lines, rows)
        self.of.write(self.dropped, dropped)


def block_numbers(engine: Engine, shard: tuple[int, int] = (0, 1)) -> range:
    """Return the blocks of a shard (i, n): those with number mod n = i."""
    index, count = shard
    return range(index, -(-engine.plan.total // engine.plan.block), count)


Source = Maker[Block]


def parts(
    engine: Engine,
    numbers: Sequence[int],
    seen: Seen,
    tally: Tally,
    *,
    jobs: int = 1,
    format: str = "jsonl",
    limit: int | None = None,
    source: Source | None = None,
) -> Iterator[Part]:
    """Yield the new rows of the blocks, in order, until `limit` rows were made.

    Whatever the number of jobs, the same parts come: blocks are pure functions of their number,
    and one process drops repeats in their order. A `source` makes the blocks elsewhere.
    """

    def make(wanted: Sequence[int]) -> Iterator[Block]:
        return (make_block(engine, number, format=format) for number in wanted)

    if source is not None:
        blocks = source(numbers)
    elif jobs > 1:
        blocks = _in_processes(make, numbers, jobs)
    else:
        blocks = make(numbers)
    for block in blocks:
        room = None if limit is None else limit - tally.rows
        yield _part(block, seen, tally, room)
        if limit is not None and tally.rows >= limit:
            return


_NONE = TextHere(np.zeros(0, np.uint8))


def _in_processes(make: Source, numbers: Sequence[int], jobs: int) -> Iterator[Block]:
    """Yield blocks whose text stays with the worker that made them."""

    def heads(wanted: Sequence[int]) -> Iterator[tuple[Block, TextHere]]:
        for block in make(wanted):
            assert isinstance(block.text, TextHere)
            yield replace(block, text=_NONE), block.text

    for head, ask in in_answering_processes(heads, answer, numbers, jobs):
        yield replace(head, text=TextThere(ask))


def _part(block: Block, seen: Seen, tally: Tally, room: int | None) -> Part:
    fresh, ambiguous = seen.add(block.sentences, block.programs)
    tally.drawn.update(block.drawn)
    tally.kept.update(block.kept)
    tally.raised.update(block.raised)
    tally.refused.update(block.refused)
    chosen = np.flatnonzero(fresh)
    if room is not None:
        chosen = chosen[:room]
    tally.repeated += int(len(fresh) - fresh.sum() - ambiguous.sum())
    tally.ambiguous += int(ambiguous.sum())
    tally.rows += len(chosen)
    return Part(
        block.number, block.bounds(chosen), block.bounds(np.flatnonzero(ambiguous)), len(chosen),
        block.sentences[chosen], block.programs[chosen], block.text,
    )  # fmt: skip
