"""The rows of a run, block by block: repeats and ambiguous sentences dropped, in a folder of work.

Blocks come in order, from one process or several.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from genie_dp.run.work import WorkFolder, open_work
from genie_dp.run.workers import Maker, in_answering_processes
from genie_dp.synthesis.blocks import (
    BlockText,
    Bounds,
    EncodedBlock,
    LocalText,
    RemoteText,
    answer_request,
    make_block,
)
from genie_dp.synthesis.config import WHOLE, Shard
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.sentence_hashes import SentenceHashes

_COUNTERS = ("drawn", "kept", "raised", "refused")


@dataclass(slots=True)
class SynthesisCounts:
    """Counts of the draws so far.

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
    def from_dict(cls, counts: Mapping[str, Any]) -> "SynthesisCounts":
        """Return the tally of a line of the journal."""
        counters = {name: Counter(counts[name]) for name in _COUNTERS}
        return cls(**{**counts, **counters})


@dataclass(frozen=True, slots=True)
class NewRows:
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


def block_numbers(engine: SynthesisEngine, shard: Shard = WHOLE) -> range:
    """Return the blocks of a shard: those with number mod `parts` = `number`."""
    return range(shard.number, -(-engine.plan.total // engine.plan.block), shard.parts)


BlockSource = Maker[EncodedBlock]


def new_rows(
    engine: SynthesisEngine,
    numbers: Sequence[int],
    seen: SentenceHashes,
    tally: SynthesisCounts,
    *,
    jobs: int = 1,
    format: str = "jsonl",
    limit: int | None = None,
    source: BlockSource | None = None,
) -> Iterator[NewRows]:
    """Yield the new rows of the blocks, in order, until `limit` rows were made.

    Whatever the number of jobs, the same parts come: blocks are pure functions of their number,
    and one process drops repeats in their order. A `source` makes the blocks elsewhere.
    """

    def make(chosen: Sequence[int]) -> Iterator[EncodedBlock]:
        return (make_block(engine, number, format=format) for number in chosen)

    if source is not None:
        blocks = source(numbers)
    elif jobs > 1:
        blocks = _make_in_processes(make, numbers, jobs)
    else:
        blocks = make(numbers)
    for block in blocks:
        room = None if limit is None else limit - tally.rows
        yield _select_new(block, seen, tally, room)
        if limit is not None and tally.rows >= limit:
            return


_NO_TEXT = LocalText(np.zeros(0, np.uint8))


def _make_in_processes(
    make: BlockSource, numbers: Sequence[int], jobs: int
) -> Iterator[EncodedBlock]:
    """Yield blocks whose text stays with the worker that made them."""

    def heads(chosen: Sequence[int]) -> Iterator[tuple[EncodedBlock, LocalText]]:
        for block in make(chosen):
            assert isinstance(block.text, LocalText)
            yield replace(block, text=_NO_TEXT), block.text

    for head, ask in in_answering_processes(heads, answer_request, numbers, jobs):
        yield replace(head, text=RemoteText(ask))


def _select_new(
    block: EncodedBlock, seen: SentenceHashes, tally: SynthesisCounts, room: int | None
) -> NewRows:
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
    return NewRows(
        block.number, block.bounds(chosen), block.bounds(np.flatnonzero(ambiguous)), len(chosen),
        block.sentences[chosen], block.programs[chosen], block.text,
    )  # fmt: skip


@dataclass(slots=True)
class RowFolder:
    """The work folder of a run, with the counts and hashes of its rows."""

    work: WorkFolder
    next_position: int
    tally: SynthesisCounts
    seen: SentenceHashes

    def add(self, part: NewRows, position: int) -> None:
        """Append the rows of a block, then record it in the journal."""
        part.write(self.work.files["rows"], self.work.files["ambiguous"])
        np.stack([part.sentences, part.programs], axis=1).tofile(self.work.files["hashes"])
        self.work.commit(position=position, tally=self.tally.as_dict())


def open_row_folder(path: Path, settings: dict[str, Any], *, resume: bool) -> RowFolder:
    """Return the rows in a work folder: none, or with `resume` those of the run that lies there.

    Raises:
        GenieError: those of `open_work`.
    """
    files = ("rows", "hashes", "ambiguous")
    work = open_work(path, settings, resume=resume, files=files)
    tally, seen, position = SynthesisCounts(), SentenceHashes(), 0
    if work.last:
        tally = SynthesisCounts.from_dict(work.last["tally"])
        pairs = np.fromfile(path / "hashes", np.uint64).reshape(-1, 2)
        seen.add(pairs[:, 0].copy(), pairs[:, 1].copy())
        position = work.last["position"] + 1
    return RowFolder(work, position, tally, seen)


def count_distinct_programs(path: Path) -> int:
    """Return how many different programs the rows of a work folder have, in 8 bytes a row."""
    file = path / "hashes"
    if not file.stat().st_size:
        return 0
    programs = np.memmap(file, np.uint64, "r")[1::2].copy()
    programs.sort()
    return int(np.count_nonzero(programs[1:] != programs[:-1])) + 1
