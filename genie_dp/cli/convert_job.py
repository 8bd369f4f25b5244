"""One conversion: from options to a file, or to a folder with card and manifest."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.output import progress, told_private
from genie_dp.cli.overlap import refuse_overlap
from genie_dp.dataset.card import Card, Split, counts_of
from genie_dp.dataset.folder import (
    About,
    CardFacts,
    card_facts,
    check_folder,
    new_folder,
    seeds_of,
    write_card,
)
from genie_dp.dataset.groups import Groups
from genie_dp.dataset.keys import hashed
from genie_dp.dataset.left import Left
from genie_dp.dataset.readers import READERS, ReadOptions, find_reader
from genie_dp.dataset.scan import as_row
from genie_dp.dataset.writers import WRITERS, find_writer
from genie_dp.dataset.writers.huggingface import FEATURES
from genie_dp.errors import GenieError, Problem
from genie_dp.records import Example
from genie_dp.rows import check_parquet, read_rows
from genie_dp.run.files import check_output, local_target, open_bytes, open_text
from genie_dp.run.manifest import manifest_of, write_json

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_MOST_SHOWN = 12
# Of their rows, placeholders can stand for values that the sentence says.
_SAID = ("thingtalk2", "schema2qa")
_NAME = re.compile(r"[A-Za-z][\w-]*")
Rows = Callable[[], Iterator[Example | Left]]


@dataclass(slots=True)
class Tally:
    """What became of the rows: written and renamed ones, and why others were left out."""

    left: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    renamed: int = 0
    rejects: IO[str] | None = None

    def note(self, row: Left) -> None:
        """Count a row that was left out, and write it down where that is wanted."""
        self.left[row.reason] += 1
        if self.rejects is not None:
            names = ("id", "reason", "detail", "utterance", "program")
            told = {name: getattr(row, name) for name in names}
            self.rejects.write(json.dumps(told, ensure_ascii=False) + "\n")

    def refuse(self, row: Left) -> None:
        """Count a row that was to be written, and that the format cannot hold."""
        self.rows -= 1
        self.note(row)

    def kept(self, rows: Iterable[Example | Left], change: "Change") -> Iterator[Example]:
        """Yield the rows that have an equal, with what the user wants changed.

        Data sets give one id to several rows; no other command takes such rows.
        """
        taken: set[int] = set()
        for row in rows:
            if isinstance(row, Left):
                self.note(row)
                continue
            own = _own_id(row.id, taken)
            self.renamed += own != row.id
            self.rows += 1
            yield change(row if own == row.id else replace(row, id=own))


def _own_id(id: str, taken: set[int]) -> str:
    """Return the id, or if another row has it the id with the first number behind that is free."""
    number, own = 1, id
    while (key := hashed(own)) in taken:
        number += 1
        own = f"{id}-{number}"
    taken.add(key)
    return own


@dataclass(frozen=True, slots=True)
class Change:
    """What the user wants changed in all rows."""

    prefix: str = ""
    source: Any = None

    def __call__(self, row: Example) -> Example:
        """Return the row with its changes."""
        if self.source:
            row = replace(row, source=self.source)
        if self.prefix:
            parent = self.prefix + row.parent if row.parent else ""
            row = replace(row, id=self.prefix + row.id, parent=parent)
        return row


def run(options: Mapping[str, Any]) -> None:
    """Convert the input and write the output."""
    name, output = options["input"], options["output"]
    _check_input(name)
    from_ = options["from_"] or _format(name, READERS, is_input=True)
    to = options["to"] or _format(output, WRITERS, is_input=False)
    _check(options, from_, to)
    library = None
    if options["skills"]:
        library = load_library_of(
            "thingtalk", options["skills"], skip_broken=options["skip_broken"]
        )
    reading = ReadOptions(
        from_, options["language"], options["source"], library, options["placeholders"]
    )
    change = Change(options["id_prefix"], options["source"])
    tally, private = Tally(), told_private([name])
    with ExitStack() as stack:
        if options["rejects"]:
            tally.rejects = stack.enter_context(open_text(options["rejects"]))
        if to in ("hf", "hf-parquet"):
            parts = _parts(name, from_, reading, options["part"])
            _write_folder(options, to, parts, tally, change, private)
        else:
            rows = find_reader(from_)(name, reading)
            with open_bytes(output) as out, progress(rows, label="rows") as counted:
                find_writer(to)(tally.kept(counted, change), out, tally.refuse)
            if private and output != "-":
                write_json(manifest_of(output), {"command": "convert", **private})
    _tell(tally, to, output)


def _check_input(name: str) -> None:
    if name == "-":
        hint = "write the rows to a file first"
        raise GenieError(Problem("D009", "the input may be read twice, a pipe cannot", hint=hint))
    if "://" not in name and not Path(name).exists():
        raise GenieError(Problem("D025", f"{name}: no such file or folder"))


def _check(options: Mapping[str, Any], from_: str, to: str) -> None:
    """Refuse what could not be written, or would be read wrong, before the work."""
    output = options["output"]
    refuse_overlap((output, options["rejects"]), [options["input"]])
    if "parquet" in (from_, to) or to == "hf-parquet":
        check_parquet()
    if options["rejects"]:
        check_output(options["rejects"])
    if options["placeholders"] and from_ not in _SAID:
        hint = f"--placeholders is for --from {' and '.join(_SAID)}"
        raise GenieError(Problem("D028", f"rows of {from_} keep their values", hint=hint))
    if not _NAME.fullmatch(options["part"]):
        hint = "letters, digits, - and _"
        message = f"expected the name of a part, got {options['part']!r}"
        raise GenieError(Problem("D001", message, hint=hint))
    if to in ("hf", "hf-parquet"):
        check_folder(Path(output), overwrite=options["overwrite"])
        return
    check_output(output)
    if to == "parquet" and output == "-":
        hint = "name a file, such as rows.parquet"
        raise GenieError(Problem("D026", "Parquet cannot be written to a pipe", hint=hint))
    target = local_target(output)
    if target is not None and target.exists() and not options["overwrite"]:
        hint = "give another OUTPUT, or --overwrite"
        raise GenieError(Problem("D005", f"{output} exists already", hint=hint))


def _format(target: str, table: Mapping[str, Any], *, is_input: bool) -> str:
    """Return the format that a name says.

    Raises:
        GenieError: it says none (D021).
    """
    name = target.rstrip("/").rsplit("/", 1)[-1]
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    found = [key for key, entry in table.items() if name.endswith(entry.endings or "\0")]
    if found:
        return found[0]
    is_folder = Path(target).is_dir() if is_input else "." not in name and target != "-"
    if is_folder:
        return "hf"
    option = "--from" if is_input else "--to"
    hint = f"name it: {option} {' | '.join(table)}"
    raise GenieError(Problem("D021", f"cannot tell the format of {target!r}", hint=hint))


# ------------------------------------------------------------------------------------ folders


def _parts(name: str, from_: str, reading: ReadOptions, part: str) -> Mapping[str, Rows]:
    """Return the parts of the input: those of a folder, or one."""
    if from_ != "hf":
        return {part: partial(find_reader(from_), name, reading)}
    from genie_dp.dataset.readers.huggingface import parts_in

    def rows_of(files: list[Path]) -> Iterator[Example]:
        for file in files:
            yield from read_rows(str(file))

    return {found: partial(rows_of, files) for found, files in parts_in(Path(name)).items()}


def _write_folder(
    options: Mapping[str, Any],
    to: str,
    parts: Mapping[str, Rows],
    tally: Tally,
    change: Change,
    private: Mapping[str, Any],
) -> None:
    folder = Path(options["output"])
    about, before = (
        About(*(options[name] for name in ("title", "licence", "origin", "spent"))),
        card_facts(options["input"]),
    )
    about = replace(
        about, title=about.title or before.title, licence=about.licence or before.licence
    )
    spent = about.guarantee() or before.spent
    groups: dict[str, Groups] = {}
    with new_folder(folder) as work:
        (work / "data").mkdir()
        for name, rows in parts.items():
            groups[name] = Groups()
            target = work / "data" / f"{name}{WRITERS[to].file}"
            with target.open("wb") as out, progress(rows(), label=name) as counted:
                kept = _counted(tally.kept(counted, change), groups[name])
                find_writer(to)(kept, out, tally.refuse)
        card = _card(options, about, to, groups, replace(before, spent=spent), folder)
        write_card(work, card, about, {**_manifest(options, to, groups, tally), **private})


def _counted(rows: Iterable[Example], groups: Groups) -> Iterator[Example]:
    for row in rows:
        groups.add(as_row(row))
        yield row


def _card(
    options: Mapping[str, Any],
    about: About,
    to: str,
    groups: Mapping[str, Groups],
    before: CardFacts,
    folder: Path,
) -> Card:
    """Return the card; what that of the input said, it says, too."""
    sources = sum((g.sources for g in groups.values()), Counter[str]())
    rows = sum(g.rows for g in groups.values())
    origin = (about.origin,) if about.origin else ()
    name = Path(options["input"])
    return Card(
        title=about.title or folder.absolute().name,
        made="converted",
        splits=tuple(
            Split(part, f"data/{part}{WRITERS[to].file}", g.rows, counts_of(g))
            for part, g in groups.items()
        ),
        sources=(*origin, *before.sources, f"{name.name}: {rows:,} rows"),
        targets=tuple(sorted({n for g in groups.values() for n in g.languages})),
        seeds=before.seeds or seeds_of({options["input"]: name.name}),
        licence=about.licence,
        spent=before.spent,
        private_rows=sources["private"],
        human_rows=sources["human"] + sources["paraphrase"],
        features=FEATURES if to == "hf" else "",
    )


def _manifest(
    options: Mapping[str, Any], to: str, groups: Mapping[str, Groups], tally: Tally
) -> dict[str, Any]:
    names = ("input", "from_", "language", "source", "id_prefix")
    return {
        "command": "convert",
        "version": __version__,
        "format": to,
        "settings": {
            **{name.rstrip("_"): options[name] for name in names},
            "skills": [str(path) for path in options["skills"]],
        },
        "counts": {"rows": tally.rows, "left_out": dict(tally.left.most_common())},
        "parts": {name: found.described() for name, found in groups.items()},
    }


def _tell(tally: Tally, to: str, output: str) -> None:
    total = tally.left.total()
    if total:
        click.echo(f"{total:,} rows have no equal:", err=True)
        for reason, count in tally.left.most_common(_MOST_SHOWN):
            click.echo(f"  {count:>8,}  {reason}", err=True)
        if (rest := len(tally.left) - _MOST_SHOWN) > 0:
            click.echo(f"  and {rest} more reasons; --rejects FILE has all rows", err=True)
    if tally.renamed:
        click.echo(f"{tally.renamed:,} rows had the id of another; a number is behind it", err=True)
    where = "stdout" if output == "-" else output
    keeps = WRITERS[to].keeps
    click.echo(f"{tally.rows:,} rows -> {where} ({to} keeps {keeps})", err=True)
