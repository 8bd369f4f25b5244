"""Shards joined: the rows of one run that was made in n parts, in the order of its draws.

A shard holds the blocks with number mod n = i and drops repeats among them only; what repeats a row
of another shard is dropped here, in the order that an unsharded run would have met it in. So the
merged rows are those of that run, byte for byte.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge as merge_sorted
from itertools import islice
from typing import Any

import numpy as np
import xxhash

from genie_dp.errors import GenieError, Problem
from genie_dp.run.work import differing
from genie_dp.synthesis.seen import Seen

_AT_ONCE = 4096  # rows
# Differ between the shards of one run.
_OWN = ("shard", "counts", "raised", "refused", "format", "command")


@dataclass(slots=True)
class Shard:
    """A finished part: its name, and what its manifest says."""

    name: str
    manifest: Mapping[str, Any]

    @property
    def index(self) -> int:
        """Return which part it is, from 0."""
        return int(self.manifest["shard"][0])

    @property
    def count(self) -> int:
        """Return of how many parts it is one."""
        return int(self.manifest["shard"][1])


@dataclass(slots=True)
class Merged:
    """What came of a merge so far."""

    rows: int = 0
    repeated: int = 0
    ambiguous: int = 0


def check_shards(shards: Sequence[Shard]) -> list[Problem]:
    """Return what keeps these parts from being one run: each shard of it, once.

    >>> parts = [Shard("a", {"shard": [0, 2]}), Shard("b", {"shard": [0, 2]})]
    >>> [problem.message for problem in check_shards(parts)]
    ['shard 0/2 is there twice: a, b', 'shard 1/2 is missing']
    """
    first = shards[0]
    problems = []
    for shard in shards[1:]:
        names = differing(_shared(first), _shared(shard))
        if names:
            message = f"{first.name} and {shard.name} are of different runs: {', '.join(names)}"
            hint = "make all shards with the same skills, grammar, options and version"
            problems.append(Problem("Y041", message, hint=hint))
    return problems or list(_gaps(shards))


def _shared(shard: Shard) -> dict[str, Any]:
    """Return what all shards of a run have in common."""
    common = {name: value for name, value in shard.manifest.items() if name not in _OWN}
    return {**common, "number of shards": shard.count}


def _gaps(shards: Sequence[Shard]) -> Iterator[Problem]:
    count = shards[0].count
    named: dict[int, list[str]] = {}
    for shard in shards:
        named.setdefault(shard.index, []).append(shard.name)
    for index, names in sorted(named.items()):
        if len(names) > 1:
            message = f"shard {index}/{count} is there twice: {', '.join(names)}"
            yield Problem("Y042", message)
    for index in range(count):
        if index not in named:
            hint = f"make it with --shard {index}/{count}"
            yield Problem("Y042", f"shard {index}/{count} is missing", hint=hint)


# ------------------------------------------------------------------------------------- rows


def merged(
    shards: Sequence[Shard],
    open_lines: Callable[[str], Iterable[str]],
    counts: Merged,
    *,
    limit: int | None,
) -> Iterator[str]:
    """Yield the lines of the whole run, at most `limit`; what was left out is counted in `counts`.

    Args:
        open_lines: name of a shard -> its lines, with line ends.

    Raises:
        GenieError: a shard does not hold what its manifest says (Y043).
    """
    streams = [_entries(shard, open_lines(shard.name)) for shard in shards]
    seen = Seen()
    ordered = merge_sorted(*streams, key=lambda entry: entry[0])
    while batch := list(islice(ordered, _AT_ONCE)):
        sentences = np.array([entry[1] for entry in batch], np.uint64)
        programs = np.array([entry[2] for entry in batch], np.uint64)
        fresh, ambiguous = seen.add(sentences, programs)
        counts.ambiguous += int(ambiguous.sum())
        counts.repeated += int((~fresh & ~ambiguous).sum())
        for place in np.flatnonzero(fresh).tolist():
            if limit is not None and counts.rows >= limit:
                # Read on to the end: a row that was lost before would have moved the limit.
                deque(ordered, maxlen=0)
                return
            counts.rows += 1
            yield batch[place][3]


Entry = tuple[int, int, int, str]
"""Number of the draw, hash of the sentence, hash of the program, the line."""


def _entries(shard: Shard, lines: Iterable[str]) -> Iterator[Entry]:
    read = _read_tsv if shard.manifest["format"] == "tsv" else _read_json
    hashed = xxhash.xxh3_64_intdigest
    block = int(shard.manifest["block"])
    last, rows = -1, 0
    for rows, line in enumerate(_readable(shard, lines), 1):
        try:
            name, utterance, program = read(line)
            number = int(name.removeprefix("S"))
            hashes = hashed(utterance.encode()), hashed(program.encode())
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _damaged(shard, f"line {rows} is no row of synthesis") from None
        if number <= last or number // block % shard.count != shard.index:
            raise _damaged(shard, f"line {rows} has the id {name}, which is not in its place")
        last = number
        yield number, *hashes, line
    expected = shard.manifest["counts"]["rows"]
    if rows != expected:
        raise _damaged(shard, f"it has {rows:,} rows, its manifest says {expected:,}")


def _readable(shard: Shard, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; bytes that cannot be decompressed, or are no text, are damage."""
    try:
        yield from lines
    except (GenieError, OSError) as error:
        why = error.problems[0].message if isinstance(error, GenieError) else str(error)
        raise _damaged(shard, why) from None


def _read_json(line: str) -> tuple[str, str, str]:
    row = json.loads(line)
    return row["id"], row["utterance"], row["program"]


def _read_tsv(line: str) -> tuple[str, str, str]:
    name, utterance, program = line.rstrip("\n").split("\t")
    return name, utterance, program


def _damaged(shard: Shard, what: str) -> GenieError:
    hint = f"make it again with --shard {shard.index}/{shard.count} --overwrite"
    return GenieError(Problem("Y043", f"{shard.name} is not as it was made: {what}", hint=hint))
