"""Shards joined: the rows of one run that was made in n parts, in the order of its draws.

A shard holds the blocks with number mod n = i and drops repeats among them only; rows that repeat
one of another shard are dropped here, in the order in which an unsharded run would have met them.
So the merged rows are those of that run, byte for byte.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge as merge_sorted
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from genie_dp.errors import GenieError, Problem
from genie_dp.recipe import REQUIRED, setting
from genie_dp.rows import format_of, write_rows
from genie_dp.run.files import is_url, open_input_text, refuse_overlap
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result
from genie_dp.run.work import differing
from genie_dp.stage.kernel import OutputOption, Stage
from genie_dp.synthesis.sentence_hashes import SentenceHashes

_BATCH_ROWS = 4096  # rows
# Differ between the shards of one run.
_OWN = ("shard", "counts", "raised", "refused", "format", "command")


@dataclass(slots=True)
class FinishedShard:
    """A finished part: its name, and its manifest."""

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
class MergeCounts:
    """Counts of the rows of a merge so far."""

    rows: int = 0
    repeated: int = 0
    ambiguous: int = 0


def check_shards(shards: Sequence[FinishedShard]) -> list[Problem]:
    """Return the reasons why these parts are not one run: each shard of it, once.

    >>> parts = [FinishedShard("a", {"shard": [0, 2]}), FinishedShard("b", {"shard": [0, 2]})]
    >>> [problem.message for problem in check_shards(parts)]
    ['shard 0/2 is there twice: a, b', 'shard 1/2 is missing']
    """
    first = shards[0]
    problems = []
    for shard in shards[1:]:
        names = differing(_common_settings(first), _common_settings(shard))
        if names:
            message = f"{first.name} and {shard.name} are of different runs: {', '.join(names)}"
            hint = "make all shards with the same skills, grammar, options and version"
            problems.append(Problem("Y041", message, hint=hint))
    return problems or list(_gaps(shards))


def _common_settings(shard: FinishedShard) -> dict[str, Any]:
    """Return the settings that all shards of a run have in common."""
    common = {name: value for name, value in shard.manifest.items() if name not in _OWN}
    return {**common, "number of shards": shard.count}


def _gaps(shards: Sequence[FinishedShard]) -> Iterator[Problem]:
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


def merge_shards(
    shards: Sequence[FinishedShard],
    open_lines: Callable[[str], Iterable[str]],
    counts: MergeCounts,
    *,
    limit: int | None,
) -> Iterator[str]:
    """Yield the lines of the whole run, at most `limit`; dropped rows are counted in `counts`.

    Args:
        open_lines: name of a shard -> its lines, with line ends.

    Raises:
        GenieError: the rows of a shard differ from those of its manifest (Y043).
    """
    streams = [_entries(shard, open_lines(shard.name)) for shard in shards]
    seen = SentenceHashes()
    ordered = merge_sorted(*streams, key=lambda entry: entry[0])
    while batch := list(islice(ordered, _BATCH_ROWS)):
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


def _entries(shard: FinishedShard, lines: Iterable[str]) -> Iterator[Entry]:
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
            raise _damage(shard, f"line {rows} is no row of synthesis") from None
        if number <= last or number // block % shard.count != shard.index:
            raise _damage(shard, f"line {rows} has the id {name}, which is not in its place")
        last = number
        yield number, *hashes, line
    expected = shard.manifest["counts"]["rows"]
    if rows != expected:
        raise _damage(shard, f"it has {rows:,} rows, its manifest says {expected:,}")


def _readable(shard: FinishedShard, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; bytes that cannot be decompressed, or are no text, are damage."""
    try:
        yield from lines
    except (GenieError, OSError) as error:
        why = error.problems[0].message if isinstance(error, GenieError) else str(error)
        raise _damage(shard, why) from None


def _read_json(line: str) -> tuple[str, str, str]:
    row = json.loads(line)
    return row["id"], row["utterance"], row["program"]


def _read_tsv(line: str) -> tuple[str, str, str]:
    name, utterance, program = line.rstrip("\n").split("\t")
    return name, utterance, program


def _damage(shard: FinishedShard, damage: str) -> GenieError:
    hint = f"make it again with --shard {shard.index}/{shard.count} --overwrite"
    return GenieError(Problem("Y043", f"{shard.name} is not as it was made: {damage}", hint=hint))


# -------------------------------------------------------------------------------------- the stage


@dataclass(frozen=True, slots=True)
class MergeResult(Result):
    """The rows of a whole run, and how many were left out since two shards have them."""

    output: str
    shards: int
    rows: int
    repeated: int
    ambiguous: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report to the user."""
        yield (
            f"{self.rows:,} pairs of {self.shards} shards -> {self.place} "
            f"(left out: {self.repeated:,} repeated, {self.ambiguous:,} ambiguous)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Stage):
    """Join the shards of one synthesis run.

    Gives the bytes that the run would have written without --shard, cut at its --size. Each part
    needs its manifest beside it: a shard without one is not finished.

    \b
    genie-dp synthesize --shard 0/2 --output part0.jsonl
    genie-dp synthesize --shard 1/2 --output part1.jsonl
    genie-dp data merge part0.jsonl part1.jsonl --output pairs.jsonl
    """

    command = "merge"
    output = OutputOption(
        "Where the rows of the whole run go.",
        metavar="FILE|URL|-",
        overwrite="Replace the output.",
    )

    parts: tuple[str, ...] = setting(
        REQUIRED, "Files of shards.", is_argument=True, metavar="PART..."
    )

    def run(self, output: Output, *, progress: bool | None = None) -> MergeResult:
        """Join the shards.

        Raises:
            GenieError: parts that are no shards (Y040), of different runs (Y041), missing or given
                twice (Y042), damaged (Y043), or of formats that do not go together (Y023, Y044); an
                output that is there (Y022), is a part (D027) or cannot be written.
        """
        target = output.target
        refuse_overlap([target], self.parts)
        output.refuse_existing()
        shards = _shards(self.parts)
        format = output.format or format_of(target, shards[0].manifest["format"])
        problems = check_shards(shards) or _check_formats(shards, target, format)
        if problems:
            raise GenieError(problems)
        first = shards[0].manifest
        counts = MergeCounts()
        lines = merge_shards(shards, _lines, counts, limit=first["config"]["size"])
        write_rows(lines, first["format"], target, format)
        if target != "-":
            write_json(manifest_of(target), _manifest(shards, counts, format))
        return MergeResult(target, len(shards), counts.rows, counts.repeated, counts.ambiguous)


def _shards(parts: Sequence[str]) -> list[FinishedShard]:
    """Return the parts with their manifests, or raise GenieError for all that have none."""
    shards, problems = [], []
    for part in parts:
        manifest = _manifest_of_part(part)
        if isinstance(manifest, Problem):
            problems.append(manifest)
        else:
            shards.append(FinishedShard(part, manifest))
    if problems:
        raise GenieError(problems)
    return shards


def _manifest_of_part(part: str) -> Mapping[str, Any] | Problem:
    name = manifest_of(part)
    if not is_url(name) and not Path(name).exists():
        hint = f"a shard is finished when {name} is there; is it still being made?"
        return Problem("Y040", f"{part} has no manifest", hint=hint)
    try:
        with open_input_text(name) as text:
            manifest = json.load(text)
    except GenieError as error:
        return error.problems[0]
    except ValueError as error:
        return Problem("Y040", f"{name} cannot be read: {error}")
    if not isinstance(manifest, dict) or manifest.get("command") != "synthesize":
        hint = "merge takes what genie-dp synthesize --shard made"
        return Problem("Y040", f"{name} is no manifest of synthesize", hint=hint)
    wrong = [part for part, is_right in _PARTS.items() if not is_right(manifest.get(part))]
    if wrong:
        hint = "make the shard again, or take the manifest that was made with it"
        message = f"{name} is no whole manifest: {', '.join(wrong)}"
        return Problem("Y040", message, hint=hint)
    return manifest


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(type(count) is int for count in value.values())


# What is read of a manifest -> whether it is as it should be.
_PARTS: Mapping[str, Callable[[Any], bool]] = {
    "shard": lambda x: isinstance(x, list) and len(x) == 2 and all(type(i) is int for i in x),
    "format": lambda x: isinstance(x, str),
    "block": lambda x: type(x) is int and x > 0,
    "config": lambda x: isinstance(x, dict) and isinstance(x.get("size", ""), int | None),
    "counts": lambda x: _are_counts(x) and {"rows", "repeated", "ambiguous"} <= x.keys(),
    "raised": _are_counts,
    "refused": _are_counts,
}


def _check_formats(
    shards: Sequence[FinishedShard], output: str, target_format: str
) -> list[Problem]:
    """Return the reasons why these formats cannot be read or written."""
    format = shards[0].manifest["format"]
    if len({shard.manifest["format"] for shard in shards}) > 1 or format == "parquet":
        hint = "make the shards as .jsonl or .tsv; the merged file may be .parquet"
        return [Problem("Y044", "shards are joined as JSON lines or as TSV, all alike", hint=hint)]
    if format == "tsv" and target_format != "tsv":
        hint = "write .tsv, or make the shards as .jsonl"
        return [Problem("Y044", f"rows of TSV hold too little for {target_format}", hint=hint)]
    if target_format == "parquet" and output == "-":
        hint = "give a file with --output pairs.parquet"
        return [Problem("Y023", "Parquet cannot be written to a pipe", hint=hint)]
    return []


def _lines(part: str) -> Iterator[str]:
    with open_input_text(part, newline="\n") as lines:
        yield from lines


def _manifest(shards: Sequence[FinishedShard], counts: MergeCounts, format: str) -> dict[str, Any]:
    parts = [shard.manifest for shard in shards]
    total = {name: sum(part["counts"][name] for part in parts) for name in parts[0]["counts"]}
    return {
        **parts[0],
        "shard": [0, 1],
        "format": format,
        "merged": len(parts),
        "counts": {
            **total,
            "rows": counts.rows,
            "repeated": total["repeated"] + counts.repeated,
            "ambiguous": total["ambiguous"] + counts.ambiguous,
        },
        "raised": _sum_counts([part["raised"] for part in parts]),
        "refused": _sum_counts([part["refused"] for part in parts]),
    }


def _sum_counts(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(part.get(name, 0) for part in parts) for name in sorted(set().union(*parts))}
