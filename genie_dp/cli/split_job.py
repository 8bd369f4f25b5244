"""One split: from options to a folder of parts with card and manifest."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
import xxhash

from genie_dp import __version__
from genie_dp.cli.dataset_folder import (
    About,
    check_folder,
    new_folder,
    read_manifest,
    seeds_of,
    write_card,
)
from genie_dp.cli.output import progress, told_private
from genie_dp.cli.overlap import refuse_overlap
from genie_dp.dataset.card import COLUMNS, Card, Split, counts_of
from genie_dp.dataset.families import Tangled, as_array
from genie_dp.dataset.groups import Groups
from genie_dp.dataset.keys import hashed
from genie_dp.dataset.leaks import Compared, Leak, compared, find_leaks, ids_at
from genie_dp.dataset.scan import Input, Row, scan
from genie_dp.dataset.split import (
    LEFT_OUT,
    U8,
    By,
    Hashes,
    Part,
    SplitConfig,
    parts_of,
)
from genie_dp.errors import GenieError, Problem
from genie_dp.records import Example
from genie_dp.rows import check_parquet, read_rows, to_json, write_parquet
from genie_dp.run.files import opened

_NAME = re.compile(r"[A-Za-z][\w-]*")


def run(options: Mapping[str, Any]) -> None:
    """Split the inputs and write the folder."""
    inputs = [_input(name) for name in options["inputs"]]
    config = _config(options)
    folder: Path = options["output"]
    refuse_overlap([folder], options["inputs"])
    check_folder(folder, overwrite=options["overwrite"])
    about = About.of(options)
    spent = about.guarantee()
    private = told_private(options["inputs"])
    hashes = Hashes(config)
    with progress(_rows(inputs), label="reading") as rows:
        hashes.add(rows)
    if not hashes.keys:
        raise GenieError(Problem("D008", "the inputs hold no rows", hint="name other files"))
    part = _parts(hashes, inputs)
    _check_parts(hashes, part, inputs)
    groups = {p.name: hashes.groups(part == n) for n, p in enumerate(config.parts)}
    card = _card(config, inputs, groups, about, spent, folder)
    with new_folder(folder) as work:
        write = _write_parquet if inputs[0].format == "parquet" else _write_lines
        write(work, inputs, part, config.parts)
        manifest = _manifest(config, inputs, groups, part)
        write_card(work, card, about, {**manifest, **private})
    _show(groups, int((part == LEFT_OUT).sum()), config)
    click.echo(f"{len(part):,} rows in {len(groups)} parts, no leaks -> {folder}", err=True)


def check(folder: Path, by: By | None) -> None:
    """Look for leaks between the parts of a folder; raise GenieError where there are some."""
    manifest = read_manifest(folder)
    settings = manifest.get("settings", {})
    if "parts" not in settings:
        hint = "--check takes a folder that genie-dp split wrote"
        raise GenieError(Problem("D007", f"{folder} was not split", hint=hint))
    names = [part["name"] for part in settings["parts"]]
    by = by or settings["by"]

    def rows_of(name: str) -> Iterator[Row]:
        return scan(Input.of(str(folder / f"{name}.{manifest['format']}")))

    rows = compared({name: rows_of(name) for name in names}, by)
    _raise_leaks(find_leaks(rows, by, partial(_ids_at, names, rows_of)))
    click.echo(f"no leaks between {', '.join(names)}", err=True)


def _ids_at(
    names: Sequence[str], rows_of: Callable[[str], Iterator[Row]], places: Sequence[int]
) -> list[str]:
    return ids_at(chain.from_iterable(map(rows_of, names)), places)


def _check_parts(hashes: Hashes, part: U8, inputs: Sequence[Input]) -> None:
    """Look for leaks between the parts that rows are about to be written to."""
    config = hashes.config
    names = tuple(one.name for one in config.parts)
    keys, ids, parents = map(as_array, hashes.compared())
    rows = Compared(keys, ids, parents, part, names)
    _raise_leaks(find_leaks(rows, config.by, lambda places: ids_at(_rows(inputs), places)))


def _raise_leaks(leaks: Sequence[Leak]) -> None:
    if leaks:
        raise GenieError([leak.problem() for leak in leaks])


# ------------------------------------------------------------------------------------ options


def _input(name: str) -> Input:
    if name == "-":
        hint = "write the rows to a file first"
        raise GenieError(Problem("D009", "inputs are read twice, a pipe cannot be", hint=hint))
    return Input.of(name)


def _config(options: Mapping[str, Any]) -> SplitConfig:
    chosen: dict[str, Any] = {}
    if options["parts"]:
        chosen["parts"] = tuple(_part(text) for text in options["parts"])
    return SplitConfig(
        by=options["by"] or "sentence",
        seed=options["seed"],
        eval_sources=tuple(sorted(set(options["eval_sources"]))),
        split_primitives=options["split_primitives"],
        **chosen,
    )


def _part(text: str) -> Part:
    """Return the part of `NAME`, `NAME=0.1`, `NAME=10%` or `NAME=1000`."""
    name, _, size = text.partition("=")
    if not _NAME.fullmatch(name):
        hint = "letters, digits, - and _, such as --part test=0.1"
        raise GenieError(Problem("D001", f"expected the name of a part, got {name!r}", hint=hint))
    if size in ("", "rest"):
        return Part(name)
    if size.isdecimal() and int(size) > 0:
        return Part(name, rows=int(size))
    try:
        share = float(size.removesuffix("%")) / (100 if size.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        hint = "a share such as 0.1 or 10%, or a number of rows such as 1000"
        raise GenieError(Problem("D001", f"expected the size of {name}, got {size!r}", hint=hint))
    return Part(name, share=share)


# --------------------------------------------------------------------------------------- rows


def _rows(inputs: Sequence[Input]) -> Iterator[Row]:
    return chain.from_iterable(scan(source) for source in inputs)


def _parts(hashes: Hashes, inputs: Sequence[Input]) -> U8:
    try:
        return parts_of(hashes)
    except Tangled as error:
        raise _named(error, inputs) from None


def _named(error: Tangled, inputs: Sequence[Input]) -> GenieError:
    """Return the trouble with the names of its rows, which hashes do not tell."""
    names = sorted({row.id for row in _rows(inputs) if hashed(row.id) in error.ids})
    shown = ", ".join(names[:5]) + (", .." if len(names) > 5 else "")
    if error.code == "D002":
        message = f"rows are their own ancestors: {shown}"
        return GenieError(Problem("D002", message, hint="mend their `parent`"))
    message = f"different rows with one id have children: {shown}"
    hint = "tell them apart: genie-dp convert --id-prefix a- a.jsonl new.jsonl"
    return GenieError(Problem("D003", message, hint=hint))


def _write_lines(work: Path, inputs: Sequence[Input], part: U8, parts: Sequence[Part]) -> None:
    """Copy the lines of the inputs to the files of their parts, as they are."""
    format = inputs[0].format
    place = 0
    numbers = part.tolist()
    with ExitStack() as stack:
        files: list[IO[bytes]] = [
            stack.enter_context((work / f"{p.name}.{format}").open("wb")) for p in parts
        ]
        for source in inputs:
            digest = xxhash.xxh3_128()
            for line in _lines(source, format):
                digest.update(line)
                if place < len(numbers) and numbers[place] != LEFT_OUT:
                    files[numbers[place]].write(line if line.endswith(b"\n") else line + b"\n")
                place += 1
            is_copy = source.format == format
            if place > len(numbers) or (is_copy and digest.digest() != source.digest.digest()):
                raise _changed(source)
    if place != len(numbers):
        raise _changed(inputs[-1])


def _lines(source: Input, format: str) -> Iterator[bytes]:
    if source.format == format:
        with opened(source.name) as lines:
            yield from lines
    else:
        for row in read_rows(source.name):
            yield _line(row, format).encode()


def _line(row: Example, format: str) -> str:
    if format == "tsv":
        return f"{row.id}\t{row.utterance}\t{row.program}\n"
    return to_json(row) + "\n"


def _changed(source: Input) -> GenieError:
    hint = "wait until it is complete"
    return GenieError(Problem("D004", f"{source.name} changed while it was read", hint=hint))


def _write_parquet(work: Path, inputs: Sequence[Input], part: U8, parts: Sequence[Part]) -> None:
    check_parquet()
    for number, one in enumerate(parts):
        rows = chain.from_iterable(read_rows(source.name) for source in inputs)
        chosen = (row for row, place in zip(rows, part, strict=True) if place == number)
        with (work / f"{one.name}.parquet").open("wb") as out:
            write_parquet(chosen, out)


# --------------------------------------------------------------------------- card and manifest


def _card(
    config: SplitConfig,
    inputs: Sequence[Input],
    groups: Mapping[str, Groups],
    about: About,
    spent: Any,
    folder: Path,
) -> Card:
    format = inputs[0].format
    names = [source.name for source in inputs]
    sources = {name: sum(g.sources[name] for g in groups.values()) for name in ("private", "human")}
    people = sources["human"] + sum(g.sources["paraphrase"] for g in groups.values())
    origin = (about.origin,) if about.origin else ()
    return Card(
        title=about.title or folder.absolute().name,
        made=f"split by {config.by}",
        splits=tuple(
            Split(name, f"{name}.{format}", g.rows, counts_of(g)) for name, g in groups.items()
        ),
        sources=(*origin, *(f"{Path(s.name).name}: {s.rows:,} rows" for s in inputs)),
        targets=tuple(sorted({name for g in groups.values() for name in g.languages})),
        seeds=(*seeds_of(names), ("the split", config.seed)),
        licence=about.licence,
        spent=spent,
        private_rows=sources["private"],
        human_rows=people,
    )


def _manifest(
    config: SplitConfig, inputs: Sequence[Input], groups: Mapping[str, Groups], part: U8
) -> dict[str, Any]:
    first = config.parts[0].name
    known = groups[first].functions()
    return {
        "command": "split",
        "version": __version__,
        "format": inputs[0].format,
        "settings": asdict(config),
        "inputs": [source.described() for source in inputs],
        "counts": {"rows": len(part), "left_out": int(np.sum(part == LEFT_OUT))},
        "parts": {
            name: {
                **found.described(),
                **({} if name == first else {"functions_unseen": len(found.functions() - known)}),
            }
            for name, found in groups.items()
        },
    }


def _show(groups: Mapping[str, Groups], left_out: int, config: SplitConfig) -> None:
    """Print the sizes of the parts as a table."""
    header = ["part", "rows", *COLUMNS, "combinations", "functions"]
    table = [header]
    for name, found in groups.items():
        counts = counts_of(found)
        numbers = [found.rows, *(counts[c] for c in COLUMNS), len(found.combinations)]
        table.append([name, *(f"{n:,}" for n in numbers), f"{len(found.functions()):,}"])
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    for row in table:
        cells = [
            row[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
        ]
        click.echo("  ".join(cells))
    if left_out:
        wanted = ", ".join(config.eval_sources)
        click.echo(f"left out: {left_out:,} rows of groups in other parts that are not {wanted}")
    known = groups[config.parts[0].name].functions()
    for part in config.parts[1:]:
        if unseen := sorted(groups[part.name].functions() - known):
            shown = ", ".join(unseen[:5]) + (", .." if len(unseen) > 5 else "")
            count = "a function" if len(unseen) == 1 else f"{len(unseen):,} functions"
            click.echo(f"{part.name} has {count} never trained on: {shown}")
