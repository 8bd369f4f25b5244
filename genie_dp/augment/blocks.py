"""Blocks of rows: inputs are counted, then read block by block, and each becomes many rows."""

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from genie_dp.augment.engine import Block, Engine, make_block
from genie_dp.errors import GenieError, Problem, Span, render_problem
from genie_dp.private_prior import weighed
from genie_dp.records import Example, PrivatePrior
from genie_dp.rows import format_of, from_json, from_tsv, read_rows
from genie_dp.run.files import no_text, opened
from genie_dp.run.work import WorkFolder, open_work
from genie_dp.run.workers import in_processes

BLOCK = 512  # input rows: up to 15,000 rows come of them, a few megabytes
_MOST_TOLD = 20
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")')

Rows = list[tuple[Example, tuple[str, int]]]
"""Rows with their file and line."""
Reader = Callable[[Sequence[int]], Iterator[tuple[int, Rows]]]
"""Yields the blocks of these numbers, in order, as (number, rows)."""


# ----------------------------------------------------------------------------------------- inputs


@dataclass(frozen=True, slots=True)
class Input:
    """A file of rows.

    Attributes:
        name: file or URL.
        rows: how many it has.
        digest: hash of their text.
        ids: hashes of their ids.
    """

    name: str
    rows: int
    digest: str
    ids: "array[int]"

    @property
    def blocks(self) -> int:
        """Return how many blocks the file has."""
        return -(-self.rows // BLOCK)


def scan(names: Sequence[str]) -> tuple[Input, ...]:
    """Return the inputs, counted and hashed.

    Raises:
        GenieError: no row in any of them (A101); two rows of one id (A102), for the rows made of
            them would have one id, too; a line that is no row (R010 to R012).
    """
    inputs = tuple(_scanned(name) for name in names)
    if not sum(one.rows for one in inputs):
        hint = "give files that genie-dp synthesize or genie-dp paraphrase made"
        raise GenieError(Problem("A101", f"no rows in {', '.join(names)}", hint=hint))
    ids = np.concatenate([np.frombuffer(one.ids, np.uint64) for one in inputs if one.rows])
    if len(np.unique(ids)) < len(ids):
        raise GenieError(_repeated(inputs))
    return inputs


def _scanned(name: str) -> Input:
    digest, ids = xxhash.xxh3_128(), array("Q")
    hashed = xxhash.xxh3_64_intdigest
    for number, line in enumerate(_raw(name), 1):
        digest.update(line)
        ids.append(hashed(_id(line, name, number)))
    return Input(name, len(ids), digest.hexdigest(), ids)


def _raw(name: str) -> Iterator[bytes]:
    """Yield the lines of a file with their ends; for Parquet a line of TSV for each row."""
    if format_of(name) == "parquet":
        for row in read_rows(name):
            yield f"{row.id}\t{row.utterance}\t{row.program}\n".encode()
        return
    with opened(name) as lines:
        yield from lines


def _id(line: bytes, name: str, number: int) -> bytes:
    if format_of(name) != "jsonl":
        return line.partition(b"\t")[0]
    found = _ID.match(line)
    if found is not None and b"\\" not in found[1]:
        return found[1][1:-1]
    row = _row(line, name, number)
    return row.id.encode()


def _row(line: bytes, name: str, number: int) -> Example:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise no_text(error, name, number) from None
    read = from_tsv if format_of(name) == "tsv" else from_json
    return read(text, file=name, number=number)


def _repeated(inputs: Sequence[Input]) -> Problem:
    """Return the first two rows of one id, with their places."""
    met: dict[int, tuple[str, int]] = {}
    for one in inputs:
        for number, key in enumerate(one.ids, 1):
            if key in met:
                file, first = met[key]
                span = Span(one.name, number, 1, number, 2)
                message = f"a row of this id is at {file}:{first} already"
                hint = "rows of several runs need ids of their own before they are put together"
                return Problem("A102", message, span, hint)
            met[key] = (one.name, number)
    raise AssertionError("no repeated id")


def described(inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """Return what the manifest says of the inputs."""
    return [{"file": one.name, "rows": one.rows, "xxh3_128": one.digest} for one in inputs]


def block_numbers(inputs: Sequence[Input]) -> range:
    """Return the numbers of all blocks; no block has rows of two files."""
    return range(sum(one.blocks for one in inputs))


def blocks_of(inputs: Sequence[Input], numbers: Sequence[int]) -> Iterator[tuple[int, Rows]]:
    """Yield (number, rows with their places) of the blocks of these rising numbers."""
    wanted = iter(numbers)
    number = next(wanted, None)
    first = 0
    for one in inputs:
        if number is None:
            return
        if number < first + one.blocks:
            for at, rows in _blocks(one, first):
                if at == number:
                    yield at, rows()
                    number = next(wanted, None)
        first += one.blocks


def weighed_blocks(
    read: Reader, prior: PrivatePrior, numbers: Sequence[int]
) -> Iterator[tuple[int, Rows]]:
    """Yield blocks as `read` gives them, the weights of rows multiplied by what a prior says."""
    for number, rows in read(numbers):
        yield number, [(weighed(row, prior), place) for row, place in rows]


def _blocks(one: Input, first: int) -> Iterator[tuple[int, Callable[[], Rows]]]:
    """Yield (number, function that returns the rows) of all blocks of a file."""
    is_parquet = format_of(one.name) == "parquet"
    lines: Iterator[Any] = read_rows(one.name) if is_parquet else _raw(one.name)
    for index in range(one.blocks):
        block = list(islice(lines, BLOCK))
        yield first + index, partial(_read, one.name, block, index * BLOCK + 1)


def _read(name: str, block: Sequence[Any], start: int) -> Rows:
    if format_of(name) == "parquet":
        return [(row, (name, number)) for number, row in enumerate(block, start)]
    return [(_row(line, name, number), (name, number)) for number, line in enumerate(block, start)]


def fingerprint(texts: Sequence[str]) -> str:
    """Return a hash of texts in any order."""
    parts = sorted(xxhash.xxh3_128_hexdigest(text.encode()) for text in texts)
    return xxhash.xxh3_128_hexdigest(json.dumps(parts).encode())


# ------------------------------------------------------------------------------ what is made


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


@dataclass(slots=True)
class RowsSoFar:
    """The work folder of a run; `done` blocks are in it."""

    work: WorkFolder
    done: int
    tally: Tally

    def add(self, block: Block) -> None:
        """Append the rows of the next block, then say so in the journal."""
        self.tally.add(block)
        self.work.files["rows"].write(block.text)
        self.done += 1
        self.work.commit(done=self.done, tally=self.tally.as_dict())


def open_rows(path: Path, settings: dict[str, Any], *, resume: bool) -> RowsSoFar:
    """Return the rows in a work folder: none, or with `resume` those of the run that lies there.

    Raises:
        GenieError: those of `open_work`.
    """
    work = open_work(path, settings, resume=resume)
    tally = Tally.from_dict(work.last["tally"]) if work.last else Tally()
    return RowsSoFar(work, work.last.get("done", 0), tally)
