"""Blocks in order, from one process or several; repeats and ambiguous sentences dropped."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.synthesis.encode import BLOCK, Block, make_block
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.seen import Seen


@dataclass(slots=True)
class Tally:
    """What came of the draws so far.

    Attributes:
        rows: rows written.
        drawn, kept: template -> draws, and draws that gave a row.
        repeated: rows dropped since their sentence and program were there.
        ambiguous: rows dropped since their sentence was there with another program.
        raised: "template: exception" -> draws dropped since a Python function raised.
    """

    rows: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    ambiguous: int = 0
    raised: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain data, for the journal."""
        return {
            "rows": self.rows,
            "drawn": dict(self.drawn),
            "kept": dict(self.kept),
            "repeated": self.repeated,
            "ambiguous": self.ambiguous,
            "raised": dict(self.raised),
        }

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> "Tally":
        """Return the tally of a line of the journal."""
        counters = {name: Counter(counts[name]) for name in ("drawn", "kept", "raised")}
        return cls(**{**counts, **counters})


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one block that are new.

    Attributes:
        number: the block.
        text: their lines.
        rows: how many there are.
        sentences, programs: their hashes.
        dropped: the lines of ambiguous rows, for the report.
    """

    number: int
    text: str
    rows: int
    sentences: npt.NDArray[np.uint64]
    programs: npt.NDArray[np.uint64]
    dropped: tuple[str, ...] = ()


def block_numbers(engine: Engine, shard: tuple[int, int] = (0, 1)) -> range:
    """Return the blocks of a shard (i, n): those with number mod n = i."""
    index, count = shard
    return range(index, -(-engine.plan.total // BLOCK), count)


Source = Callable[[Sequence[int]], Iterator[Block]]
"""Makes blocks of these numbers, in this order."""


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
    if source is not None:
        blocks = source(numbers)
    elif jobs > 1:
        blocks = _in_processes(engine, numbers, jobs, format)
    else:
        blocks = (make_block(engine, number, format=format) for number in numbers)
    for block in blocks:
        room = None if limit is None else limit - tally.rows
        yield _part(block, seen, tally, room)
        if limit is not None and tally.rows >= limit:
            return


def _part(block: Block, seen: Seen, tally: Tally, room: int | None) -> Part:
    fresh, ambiguous = seen.add(block.sentences, block.programs)
    tally.drawn.update(block.drawn)
    tally.kept.update(block.kept)
    tally.raised.update(block.raised)
    chosen = np.flatnonzero(fresh)
    if room is not None:
        chosen = chosen[:room]
    tally.repeated += int(len(fresh) - fresh.sum() - ambiguous.sum())
    tally.ambiguous += int(ambiguous.sum())
    tally.rows += len(chosen)
    lines = block.lines
    text = "".join(lines) if len(chosen) == len(lines) else "".join([lines[i] for i in chosen])
    dropped = tuple(lines[i] for i in np.flatnonzero(ambiguous))
    return Part(
        block.number, text, len(chosen), block.sentences[chosen], block.programs[chosen], dropped
    )


def _in_processes(
    engine: Engine, numbers: Sequence[int], jobs: int, format: str
) -> Iterator[Block]:
    """Yield the blocks made by `jobs` forked workers; worker i makes every jobs-th block."""
    context = get_context("fork")
    ends: list[Connection] = []
    workers = []
    for index in range(jobs):
        receiver, sender = context.Pipe(duplex=False)
        worker = context.Process(
            target=_work, args=(engine, numbers[index::jobs], format, sender, (*ends, receiver)),
            daemon=True,
        )  # fmt: skip
        worker.start()
        sender.close()
        ends.append(receiver)
        workers.append(worker)
    try:
        for position in range(len(numbers)):
            result = _received(ends[position % jobs])
            if isinstance(result, Exception):
                raise result
            yield result
    finally:
        for end in ends:
            end.close()
        for worker in workers:
            worker.terminate()
            worker.join()


def _received(end: Connection) -> Block | Exception:
    try:
        result: Block | Exception = end.recv()
    except EOFError:
        hint = "was it short of memory? go on with --resume and fewer --jobs"
        raise GenieError(Problem("Y012", "a worker process was killed", hint=hint)) from None
    return result


def _work(
    engine: Engine,
    numbers: Sequence[int],
    format: str,
    sender: Connection,
    inherited: Sequence[Connection],
) -> None:
    # Ctrl-C goes to the whole group of processes; the coordinator answers it and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The reading ends must live in the coordinator alone: when it dies, sending fails, we leave.
    for end in inherited:
        end.close()
    try:
        for number in numbers:
            try:
                result: Block | Exception = make_block(engine, number, format=format)
            except Exception as error:  # noqa: BLE001 - raised again by the coordinator
                result = error
            sender.send(result)
    except BrokenPipeError:
        os._exit(1)
