"""One run of automatic paraphrasing: from rows to paraphrases, rejects and counts."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any

import click
import numpy as np
import xxhash

from genie_dp import __version__
from genie_dp.cli.output import progress, told_private
from genie_dp.cli.paraphrase.automatic_makers import (
    SHIPPED,
    check_options,
    config_of,
    journal_of,
    paraphraser_of,
    usage_of,
)
from genie_dp.cli.paraphrase.automatic_rows import Parts, RowsFile
from genie_dp.cli.paraphrase.canonical import canonical_of
from genie_dp.cli.paraphrase.selection import refuse_existing
from genie_dp.cli.paraphrase.tables import guarded, write_table
from genie_dp.paraphrase.auto import (
    AutoConfig,
    AutoTally,
    Outcome,
    Paraphraser,
    Predictor,
    paraphrased,
)
from genie_dp.paraphrase.auto_journal import Journal
from genie_dp.paraphrase.auto_rules import RuleParaphraser
from genie_dp.records import Example
from genie_dp.rows import check_parquet, format_of, to_json, write_rows
from genie_dp.run.files import refuse_overlap
from genie_dp.run.manifest import hashes_of, manifest_of, write_json
from genie_dp.run.workers import in_processes
from genie_dp.synthesis.seen import Seen

REJECT_COLUMNS = ("row", "sentence", "paraphrase", "made_by", "reasons")
REPEATED, AMBIGUOUS = "repeated", "ambiguous"
_BLOCK = 500  # rows that a worker takes at once


@dataclass(frozen=True, slots=True)
class Block:
    """What was made of some rows.

    Attributes:
        lines: paraphrases as JSON, without line ends.
        made_by: what made each of them.
        sentences, programs: hashes of each.
        rejects: rows of the reject file.
    """

    lines: tuple[str, ...]
    made_by: tuple[tuple[str, ...], ...]
    sentences: tuple[int, ...]
    programs: tuple[int, ...]
    rejects: tuple[tuple[str, ...], ...]
    tally: AutoTally


def run(options: Mapping[str, Any], *, predictor: Predictor | None = None) -> None:
    """Read, paraphrase, check, write, and say what came of it.

    Args:
        predictor: a parser that must read a paraphrase as the program of its sentence.
    """
    started = time.monotonic()
    check_options(options)
    written = (options["output"], options["rejects"], options["answers"])
    refuse_overlap(written, options["rows"])
    for name in ("output", "rejects"):
        if options[name]:
            refuse_existing(options[name], overwrite=options["overwrite"])
    if format_of(options["output"]) == "parquet":
        check_parquet()
    private = told_private(options["rows"])
    config = config_of(options)
    journal = journal_of(options)
    paraphraser = paraphraser_of(options, journal)
    files, seen = _read_once(options["rows"])
    tally = AutoTally()
    with TemporaryFile("w+", encoding="utf-8") as rejects:
        made = _blocks(options, files, paraphraser, config, predictor)
        with progress(made, label="paraphrase", total=_count(files)) as blocks:
            lines = _delivered(blocks, seen, tally, rejects)
            write_rows(lines, "jsonl", options["output"], format_of(options["output"]))
        _write_rejects(options["rejects"], rejects)
    report = {**_report(options, tally, journal), **private}
    if options["output"] != "-":
        write_json(manifest_of(options["output"]), report)
    _say(options, tally, report, time.monotonic() - started)


# --------------------------------------------------------------------------------- the work


def _read_once(paths: Sequence[str]) -> tuple[list[RowsFile], Seen]:
    """Return the files with their numbers of rows, and all sentences that have a program."""
    seen, files = Seen(), []
    for path in paths:
        count, pairs = 0, []
        for shown in Parts(path).part(0):
            count += 1
            row = shown.example
            pairs.append((_hash(row.utterance), _hash(row.program)))
            if len(pairs) == _PAIRS:
                _add(seen, pairs)
                pairs = []
        _add(seen, pairs)
        files.append(RowsFile(path, count))
    return files, seen


_PAIRS = 10_000


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


def _add(seen: Seen, pairs: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    both = np.array(pairs, np.uint64).reshape(-1, 2)
    return seen.add(both[:, 0].copy(), both[:, 1].copy())


def _count(files: Sequence[RowsFile]) -> int:
    return sum(-(-file.rows // _BLOCK) for file in files)


def _blocks(
    options: Mapping[str, Any],
    files: Sequence[RowsFile],
    paraphraser: Paraphraser,
    config: AutoConfig,
    predictor: Predictor | None,
) -> Iterator[Block]:
    judged = partial(
        paraphrased,
        paraphraser=paraphraser,
        config=config,
        canonical=canonical_of(options),
        predictor=predictor,
    )
    if not isinstance(paraphraser, RuleParaphraser):
        rows = (shown for file in files for shown in Parts(file.path).part(0))
        yield from _in_blocks(judged(rows))
        return
    places = [(file.path, start) for file in files for start in range(0, file.rows, _BLOCK)]

    def make(numbers: Sequence[int]) -> Iterator[Block]:
        readers: dict[str, Parts] = {}
        for number in numbers:
            path, start = places[number]
            if path not in readers:
                readers[path] = Parts(path)
            rows = readers[path].part(start, start + _BLOCK)
            yield _block(judged(rows))

    numbers = range(len(places))
    if options["jobs"] == 1:
        yield from make(numbers)
    else:
        yield from in_processes(make, numbers, options["jobs"])


def _in_blocks(outcomes: Iterator[Outcome]) -> Iterator[Block]:
    while some := list(islice(outcomes, _BLOCK)):
        yield _block(iter(some))


def _block(outcomes: Iterator[Outcome]) -> Block:
    tally = AutoTally()
    rows: list[tuple[Example, tuple[str, ...]]] = []
    rejects: list[tuple[str, ...]] = []
    for outcome in outcomes:
        tally.add(outcome)
        rows.extend(outcome.kept)
        rejects.extend(
            (
                outcome.shown.example.id,
                outcome.shown.sentence,
                refused.candidate.text,
                " ".join(refused.candidate.made_by),
                " ".join(refused.faults),
            )
            for refused in outcome.refused
        )
    return Block(
        lines=tuple(to_json(row) for row, _ in rows),
        made_by=tuple(made_by for _, made_by in rows),
        sentences=tuple(_hash(row.utterance) for row, _ in rows),
        programs=tuple(_hash(row.program) for row, _ in rows),
        rejects=tuple(rejects),
        tally=tally,
    )


def _delivered(
    blocks: Iterable[Block], seen: Seen, tally: AutoTally, rejects: IO[str]
) -> Iterator[str]:
    """Yield the lines of paraphrases that are no sentence met before."""
    for block in blocks:
        tally.merge(block.tally)
        for reject in block.rejects:
            rejects.write(json.dumps(reject) + "\n")
        pairs = list(zip(block.sentences, block.programs, strict=True))
        fresh, ambiguous = _add(seen, pairs)
        for index, line in enumerate(block.lines):
            if fresh[index] and not ambiguous[index]:
                yield line + "\n"
                continue
            fault = AMBIGUOUS if ambiguous[index] else REPEATED
            tally.kept -= 1
            tally.kept_by.subtract(block.made_by[index])
            tally.faults[fault] += 1
            row = json.loads(line)
            made_by = " ".join(block.made_by[index])
            reject = (row["parent"], "", row["utterance"], made_by, fault)
            rejects.write(json.dumps(reject) + "\n")


# ---------------------------------------------------------------------------------- outputs


def _write_rejects(target: str | None, rejects: IO[str]) -> None:
    if not target:
        return
    rejects.seek(0)
    rows = (json.loads(line) for line in rejects)
    write_table(
        target,
        REJECT_COLUMNS,
        ({n: guarded(c) for n, c in zip(REJECT_COLUMNS, row, strict=True)} for row in rows),
    )


def _report(options: Mapping[str, Any], tally: AutoTally, journal: Journal) -> dict[str, Any]:
    lexicon = None if options["lexicon"] in SHIPPED else options["lexicon"]
    report = {
        "command": "paraphrase auto",
        "version": __version__,
        "rows": list(options["rows"]),
        "hashes": hashes_of((*options["rows"], *options["rule_files"], options["prompt"], lexicon)),
        "config": {
            **{name: options[name] for name in _SETTINGS if options[name] is not None},
            "rules": [str(path) for path in options["rule_files"]],
            "prompt": str(options["prompt"] or ""),
        },
        "counts": {
            "rows": tally.rows,
            "rows_without": tally.rows_without,
            "candidates": tally.candidates,
            "paraphrases": tally.kept,
        },
        "faults": dict(sorted(tally.faults.items())),
        "made_by": {
            name: {"candidates": count, "paraphrases": tally.kept_by[name]}
            for name, count in sorted(tally.made.items(), key=lambda item: (-item[1], item[0]))
        },
    }
    if options["by"] == "endpoint":
        report["usage"] = usage_of(options, journal.now)
        report["usage_before"] = usage_of(options, journal.before)
    return report


_SETTINGS = (
    "by", "number", "lexicon", "lexical_share", "only_my_rules", "all_results", "names", "model",
    "temperature", "device", "batch_size", "base_url", "per_prompt", "seed", "language",
    "copy_distance", "duplicate_distance", "any_language",
)  # fmt: skip


def _say(
    options: Mapping[str, Any], tally: AutoTally, report: Mapping[str, Any], seconds: float
) -> None:
    where = "stdout" if options["output"] == "-" else options["output"]
    click.echo(
        f"{tally.kept:,} paraphrases of {tally.rows:,} rows -> {where} "
        f"({seconds:,.1f} s; {tally.rows_without:,} rows have none)",
        err=True,
    )
    for fault, count in sorted(tally.faults.items()):
        click.echo(f"  {count:>9,}  {fault}", err=True)
    if "usage" in report:
        usage = report["usage"]
        cost = f", cost {usage['cost']:,.4f}" if "cost" in usage else ""
        click.echo(
            f"  {usage['requests']:,} requests: {usage['prompt_tokens']:,} tokens of prompts, "
            f"{usage['answer_tokens']:,} of answers{cost}",
            err=True,
        )
