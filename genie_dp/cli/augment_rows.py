"""The input of `genie-dp augment`: counted and hashed first, then read in blocks."""

import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import xxhash

from genie_dp.augment.run import BLOCK, Reader, Rows
from genie_dp.cli.priors import weighed
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.records import Example, PrivatePrior
from genie_dp.rows import format_of, from_json, from_tsv, read_rows
from genie_dp.run.files import no_text, opened

_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")')


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
