"""Which part of a split every row belongs to: by hashes alone, never by the order of files.

Rows of one key stay together, and so do families: a row, the paraphrases written for it and the
augmented copies of both, by their chain of parents. Either links rows to a group, which
goes where a hash of its label and the seed falls, so the order of rows and files is of no account.
Memory: 39 bytes a row, about twice that while groups are found.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, get_args

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp import __version__
from genie_dp.dataset.families import (
    NONE,
    U8,
    U64,
    Leak,
    PartHashes,
    Tangled,
    as_array,
    components,
    family_numbers,
    find_leaks,
    hashes_of_parts,
    ids_at,
    is_in,
    numbers_of,
    smallest,
)
from genie_dp.dataset.folder import (
    COLUMNS,
    AboutRows,
    CardPart,
    DatasetCard,
    check_folder,
    counts_of,
    new_folder,
    read_manifest,
    seeds_of,
    write_card,
)
from genie_dp.dataset.parts import By, SplitPart, part_error
from genie_dp.dataset.scan import (
    KEYS,
    DatasetFile,
    GroupCounts,
    ScannedRow,
    combination,
    hash_of,
    scan,
)
from genie_dp.dataset.traits import COMPOUND, traits_of
from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.guard import PrivateInputs, private_inputs
from genie_dp.recipe import setting
from genie_dp.records import SOURCES, Example, Spent
from genie_dp.rows import (
    Rows,
    check_parquet,
    format_of,
    read_rows,
    rows_of,
    save_rows,
    to_json,
    write_parquet,
)
from genie_dp.run.files import open_input, refuse_overlap
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.stage.kernel import OutputOption, Stage

LEFT_OUT = 255  # part number of rows that go into no part
_MOST_SHOWN = 5  # names of rows and functions


@dataclass(slots=True)
class RowHashes:
    """The data kept of the rows to find their groups: 39 bytes a row.

    Attributes:
        keys, parents, ids, pairs: 64-bit hashes of the key, of the parent (of the row's own id
            where it has none), of the id, and of sentence and program.
        traits: as of traits_of.
        sources, languages, combinations: numbers of the row's source, language and combination of
            functions, in the order in which `numbers` met them.
    """

    config: "Split"
    keys: "array[int]" = field(default_factory=lambda: array("Q"))
    parents: "array[int]" = field(default_factory=lambda: array("Q"))
    ids: "array[int]" = field(default_factory=lambda: array("Q"))
    pairs: "array[int]" = field(default_factory=lambda: array("Q"))
    traits: bytearray = field(default_factory=bytearray)
    sources: bytearray = field(default_factory=bytearray)
    languages: bytearray = field(default_factory=bytearray)
    combinations: "array[int]" = field(default_factory=lambda: array("I"))
    source_names: dict[str, int] = field(default_factory=dict)
    language_names: dict[str, int] = field(default_factory=dict)
    combination_names: dict[str, int] = field(default_factory=dict)

    def add(self, rows: Iterable[ScannedRow]) -> None:
        """Take note of rows."""
        key = KEYS[self.config.shared_by]
        sources, languages = self.source_names, self.language_names
        names = self.combination_names
        for row in rows:
            self.keys.append(hash_of(key(row.utterance, row.program, row.functions)))
            self.pairs.append(hash_of(f"{row.utterance}\t{row.program}"))
            own = hash_of(row.id)
            self.ids.append(own)
            self.parents.append(hash_of(row.parent) if row.parent else own)
            self.traits.append(traits_of(row.program, row.functions, row.language))
            self.sources.append(sources.setdefault(row.source, len(sources)))
            self.languages.append(languages.setdefault(row.language, len(languages)))
            self.combinations.append(names.setdefault(combination(row.functions), len(names)))

    def for_leaks(self) -> "tuple[array[int], array[int], array[int]]":
        """Return the arrays of the leak check: keys, ids, parents."""
        return self.keys, self.ids, self.parents

    def groups(self, inside: npt.NDArray[np.bool_]) -> GroupCounts:
        """Return the counts of those rows that are inside."""

        def count_numbers(
            numbers: "bytearray | array[int]", kind: str
        ) -> Iterator[tuple[int, int]]:
            counts = np.bincount(np.frombuffer(numbers, kind)[inside])
            return ((place, count) for place, count in enumerate(counts.tolist()) if count)

        def count_names(names: dict[str, int], numbers: Any, kind: str) -> Counter[str]:
            texts = list(names)
            return Counter({texts[place]: n for place, n in count_numbers(numbers, kind)})

        return GroupCounts(
            rows=int(inside.sum()),
            traits=Counter(dict(count_numbers(self.traits, "u1"))),
            sources=count_names(self.source_names, self.sources, "u1"),
            languages=count_names(self.language_names, self.languages, "u1"),
            combinations=count_names(self.combination_names, self.combinations, "u4"),
        )

    def labels(self) -> U64:
        """Return a number for each row that all of its group have.

        It is the smallest hash of the keys of rows without a parent, so that new paraphrases and
        copies of a row never move its group; of the families, where all rows have parents.
        """
        keys, ids, parents = map(as_array, self.for_leaks())
        family = family_numbers(ids, parents, as_array(self.pairs))
        group = numbers_of(components(keys, [numbers_of(keys), numbers_of(family)]))
        least = smallest(keys, group, parents == ids)
        return np.where(least == NONE, smallest(family, group), least)[group]


def scatter(labels: U64, seed: int) -> U64:
    """Return a hash of each label and the seed: the smallest of several labels is no random one.

    The finaliser is that of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
    """
    start = np.uint64(hash_of(f"{seed}:split"))
    mixed = labels ^ start
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def parts_of(hashes: RowHashes) -> U8:
    """Return the number of each row's part, in the order in which the rows were added.

    LEFT_OUT stands for rows of a source that is wanted in training only, in groups that are not.
    """
    config = hashes.config
    if not len(hashes.keys):
        return np.zeros(0, np.uint8)
    labels = hashes.labels()
    may_move = np.ones(len(labels), bool)
    counted = np.ones(len(labels), bool)
    if config.shared_by == "functions" and not config.split_primitives:
        compound = (np.frombuffer(hashes.traits, np.uint8) & COMPOUND) > 0
        # A group is linked by more than its key: one primitive row keeps all of it in the first.
        may_move = ~is_in(labels, np.unique(labels[~compound]))
    if config.eval_sources:
        is_for_evaluation = np.array([name in config.eval_sources for name in hashes.source_names])
        counted = is_for_evaluation[np.frombuffer(hashes.sources, np.uint8)]
        # Groups with nothing to evaluate on would be lost for training, and no part would gain.
        may_move &= is_in(labels, np.unique(labels[counted]))
    part = _assign(scatter(labels, config.seed), may_move, counted, config.parts)
    part[(part != 0) & ~counted] = LEFT_OUT
    return part


def _assign(
    places: U64,
    may_move: npt.NDArray[np.bool_],
    counted: npt.NDArray[np.bool_],
    parts: Sequence[SplitPart],
) -> U8:
    """Return the part of each row by the place of its group between 0 and 2^64.

    Args:
        may_move: rows that need not be in the first part.
        counted: rows that count where a part is to have a number of rows.

    Raises:
        GenieError: there are not as many rows as a part is to have (D013).
    """
    rest = next(number for number, part in enumerate(parts) if part.is_rest)
    numbers = np.full(len(places), rest, np.uint8)
    numbers[~may_move] = 0
    free = may_move.copy()
    low = 0.0
    for number, part in enumerate(parts):
        if part.share is not None:
            bounds = [np.uint64(min(x * 2.0**64, 2.0**64 - 2048)) for x in (low, low + part.share)]
            inside = free & (places >= bounds[0]) & (places < bounds[1])
            numbers[inside], low = number, low + part.share
            free &= ~inside
    for number, part in enumerate(parts):
        if part.rows is not None:
            inside = free & is_in(places, _first_groups(places[free & counted], part.rows))
            got = int((inside & counted).sum())
            if got < part.rows:
                message = f"expected {part.rows:,} rows for {part.name}, got {got:,}"
                hint = "ask for fewer, or for a share; only whole groups can be moved"
                raise GenieError(Problem("D013", message, hint=hint))
            numbers[inside] = number
            free &= ~inside
    return numbers


def _first_groups(places: U64, rows: int) -> U64:
    """Return as many groups, by their place and sorted, as hold that many rows or a few more."""
    # From the top, for shares begin at the bottom.
    groups, sizes = np.unique(~places, return_counts=True)
    needed = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
    return np.sort(~groups[:needed])


# -------------------------------------------------------------------------------------- the stage


@dataclass(frozen=True, slots=True)
class SplitResult(Result):
    """The parts that a split wrote.

    Attributes:
        parts: part -> its rows; the first is for training.
        rows: all rows that were read, with those in no part.
        left_out: rows of groups in other parts than the first that are of no wanted source.
        private: the private parts of the inputs.
    """

    output: str
    config: "Split" = field(repr=False)
    parts: Mapping[str, GroupCounts] = field(repr=False)
    rows: int
    left_out: int
    private: PrivateInputs = field(repr=False)

    def lines(self) -> Iterator[str]:
        """Yield the table, and where the parts are."""
        yield from self.findings()
        yield from self.private.lines()
        yield f"{self.rows:,} rows in {len(self.parts)} parts, no leaks -> {self.output}"

    def findings(self) -> Iterator[str]:
        """Yield the sizes of the parts as lines of a table, and the notes on them."""
        header = ["part", "rows", *COLUMNS, "combinations", "functions"]
        cells = [header]
        for name, groups in self.parts.items():
            counts = counts_of(groups)
            numbers = [groups.rows, *(counts[c] for c in COLUMNS), len(groups.combinations)]
            cells.append([name, *(f"{n:,}" for n in numbers), f"{len(groups.functions()):,}"])
        widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
        for name, *numbers_ in cells:
            aligned = (c.rjust(w) for c, w in zip(numbers_, widths[1:], strict=True))
            yield "  ".join((name.ljust(widths[0]), *aligned))
        if self.left_out:
            names = ", ".join(self.config.eval_sources)
            yield f"left out: {self.left_out:,} rows of groups in other parts that are not {names}"
        for name, unseen in self.unseen_functions().items():
            if unseen:
                count = "a function" if len(unseen) == 1 else f"{len(unseen):,} functions"
                yield f"{name} has {count} never trained on: {_first_names(unseen)}"

    def unseen_functions(self) -> dict[str, list[str]]:
        """Return the functions of each part but the first that the first does not have."""
        first, *others = self.parts
        trained_on = self.parts[first].functions()
        return {name: sorted(self.parts[name].functions() - trained_on) for name in others}


@dataclass(frozen=True, slots=True)
class CheckedSplit(Result):
    """A folder without leaks between its parts."""

    parts: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield which parts share nothing."""
        yield f"no leaks between {', '.join(self.parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Stage):
    """Split rows into parts for training and evaluation.

    The same rows and seed give the same parts, whatever the order of rows and files. Paraphrases
    and augmented rows stay with the row they were made from. Ends with exit code 1 if parts share
    anything they must not.

    \b
    genie-dp data split pairs.jsonl --output data
    genie-dp data split --by functions --part train --part test=0.1 --eval-source paraphrase \\
        synthetic.jsonl paraphrases.jsonl --output data
    genie-dp data split --check data

    Notes:
        Commands of one function all are in the first part, unless `split_primitives` is given, as
        in the paper (Genie, section 5.2). Groups without a row of the `eval_sources` are, too.
    """

    command = "split"
    output = OutputOption(
        "New folder.", metavar="FOLDER", is_required=False, overwrite="Replace a data set folder."
    )

    inputs: tuple[Rows | str | Path, ...] = setting(
        (), "Rows, or names of their files.", is_argument=True, metavar="[INPUT]..."
    )
    by: By | None = setting(
        None,
        "What no two parts may share [sentence; with --check, what the folder was split by].",
        choices=get_args(By),
    )
    parts: tuple[SplitPart, ...] = setting(
        (SplitPart("train"), SplitPart("validation", 0.1), SplitPart("test", 0.1)),
        "A part; SIZE is a share (0.1 or 10%) or a number of rows, and one part takes the rest "
        "[train, validation=0.1, test=0.1]. The first is for training.",
        metavar="NAME[=SIZE]",
        option="part",
    )
    seed: int = setting(0, "Another seed, another split.")
    eval_sources: tuple[str, ...] = setting(
        (),
        "Keep only rows of this source in the other parts, such as paraphrase.",
        choices=SOURCES,
        option="eval-source",
    )
    split_primitives: bool = setting(
        False,
        "With --by functions, split commands of one function, too [all go into the first part].",
    )

    check: Path | None = setting(
        None, "Look for leaks between the parts of a folder, and stop.", value="folder"
    )
    about: AboutRows = setting(AboutRows(), "What the card says of the data.", value="about")

    def __post_init__(self) -> None:
        """Read parts that are texts, and refuse parts that cannot be made.

        Raises:
            GenieError: R040 for a setting, D001 for parts.
        """
        Stage.__post_init__(self)
        parts = tuple(SplitPart.parse(p) if isinstance(p, str) else p for p in self.parts)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "eval_sources", tuple(sorted(set(self.eval_sources))))
        names = [part.name for part in self.parts]
        shares = sum(part.share or 0 for part in self.parts)
        if len(self.parts) < 2 or len(self.parts) > 250:
            raise part_error(f"expected 2 to 250 parts, got {len(parts)}", "name another --part")
        if len(set(names)) < len(names):
            raise part_error(f"expected different names, got {', '.join(names)}", "rename a --part")
        if sum(part.is_rest for part in self.parts) != 1:
            hint = "such as --part train"
            raise part_error("expected one part without a size, for the rest", hint)
        if not shares < 1:
            hint = "leave some for the rest"
            raise part_error(f"expected shares below 1 in all, got {shares:g}", hint)

    @property
    def shared_by(self) -> By:
        """Return the key that no two parts may share."""
        return self.by or "sentence"

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse rows, or a folder to write, where a folder is checked, and neither elsewhere."""
        if self.check is not None and (self.inputs or target):
            return "--check takes a folder, no INPUT and no --output"
        if self.check is None and target is not None and not (self.inputs and target):
            return "expected INPUT.. and --output FOLDER, or --check FOLDER"
        return None

    def run(self, output: Output, *, progress: bool | None = None) -> "SplitResult | CheckedSplit":
        """Write the folder of the parts, with card and manifest; or check one.

        Raises:
            GenieError: an input that is a pipe (D009), changes (D004) or has no rows (D008); an
                output that is there (D005, D006) or is an input (D027); rows that are
                indistinguishable (D002, D003); parts that cannot be made (D013) or leak
                (D010); no guarantee for rows of source private (D011, D012).
        """
        if self.check is not None:
            return CheckedSplit(check_split(self.check, self.by))
        files = [_file_of(rows) for rows in self.inputs]
        folder = Path(output.target)
        refuse_overlap([folder], [source.name for source, _ in files])
        check_folder(folder, overwrite=output.overwrite)
        self.about.guarantee()
        return assign(self, files, progress=progress).write(folder, self.about)


def check_split(folder: Path, by: By | None = None) -> tuple[str, ...]:
    """Look for leaks between the parts of a folder; return the names of the parts.

    Args:
        folder: that `run` wrote.
        by: the key that no two parts may share; None for that of the split.

    Raises:
        GenieError: there are leaks (D010), or it is no folder of parts (D007).
    """
    manifest = read_manifest(folder)
    settings = manifest.get("settings", {})
    if "parts" not in settings:
        hint = "--check takes a folder that genie-dp data split wrote"
        raise GenieError(Problem("D007", f"{folder} was not split", hint=hint))
    names = tuple(part["name"] for part in settings["parts"])
    by = by or settings["by"]

    def read_part(name: str) -> Iterator[ScannedRow]:
        return scan(DatasetFile.from_name(str(folder / f"{name}.{manifest['format']}")))

    def find_ids(places: Sequence[int]) -> list[str]:
        return ids_at(chain.from_iterable(map(read_part, names)), places)

    rows = hashes_of_parts({name: read_part(name) for name in names}, by)
    _raise_leaks(find_leaks(rows, by, find_ids))
    return names


def _raise_leaks(leaks: Sequence[Leak]) -> None:
    if leaks:
        raise GenieError([leak.problem() for leak in leaks])


@dataclass(frozen=True, slots=True)
class AssignedRows:
    """Rows, and which part each of them goes to.

    Attributes:
        rows: keep temporary files of the inputs.
        numbers: the number of each row's part, in the order of inputs and rows.
    """

    config: "Split"
    inputs: Sequence[DatasetFile]
    rows: Sequence[Rows]
    hashes: RowHashes
    numbers: U8
    private: PrivateInputs

    def groups(self) -> dict[str, GroupCounts]:
        """Return the rows of each part."""
        parts = self.config.parts
        return {part.name: self.hashes.groups(self.numbers == n) for n, part in enumerate(parts)}

    def write(self, folder: Path, about: AboutRows) -> SplitResult:
        """Write the parts to a folder, with card and manifest."""
        groups = self.groups()
        card = _card(self, groups, about, folder)
        with new_folder(folder) as work:
            write = _write_parquet if self.inputs[0].format == "parquet" else _write_lines
            write(work, self.inputs, self.numbers, self.config.parts)
            write_card(work, card, about, {**_manifest(self, groups), **self.private.fields()})
        return SplitResult(
            str(folder), self.config, groups, len(self.numbers), self.left_out, self.private
        )

    @property
    def left_out(self) -> int:
        """Return the number of rows that go into no part."""
        return int((self.numbers == LEFT_OUT).sum())

    def part(self, number: int) -> Rows:
        """Return the rows of a part, read from the inputs again each time.

        Saved parts have a manifest that marks private rows as private.
        """
        name = self.config.parts[number].name
        count = int((self.numbers == number).sum())
        about = f"{name}: {count:,} of {', '.join(source.label for source in self.inputs)}"

        def save(output: Output, jobs: int) -> Result:
            saved = save_rows(self._read_part(number), output)
            if self.private.ledgers and output.target != "-":
                facts = {"command": "split", **self.private.fields()}
                write_json(manifest_of(output.target), facts)
            return saved

        sources = [name for rows in self.rows for name in rows.sources]
        return Rows(lambda: self._read_part(number), about, sources=sources, save=save)

    def _read_part(self, number: int) -> Iterator[Example]:
        """Yield the rows of a part; refuse inputs that are no longer as they were split (D004)."""
        ids, pairs = self.hashes.ids, self.hashes.pairs
        numbers = self.numbers.tobytes()
        place = 0
        for source in self.inputs:
            for row in read_rows(source.name):
                if (
                    place == len(numbers)
                    or hash_of(row.id) != ids[place]
                    or hash_of(f"{row.utterance}\t{row.program}") != pairs[place]
                ):
                    raise _changed_error(source)
                if numbers[place] == number:
                    yield row
                place += 1
        if place != len(numbers):
            raise _changed_error(self.inputs[-1])


def assign(
    config: Split,
    inputs: Iterable[Rows | str | Path | tuple[DatasetFile, Rows]],
    *,
    progress: bool | None = None,
) -> AssignedRows:
    """Return which part each row goes to; no two parts overlap.

    Raises:
        GenieError: those of `run`, but for the output's.
    """
    given = [item if isinstance(item, tuple) else _file_of(item) for item in inputs]
    sources = [source for source, _ in given]
    hashes = RowHashes(config)
    hashes.add(show_progress(_scan_all(sources), label="reading", show=progress))
    if not hashes.keys:
        raise GenieError(Problem("D008", "the inputs hold no rows", hint="name other files"))
    try:
        numbers = parts_of(hashes)
    except Tangled as error:
        raise _with_names(error, sources) from None
    keys, ids, parents = map(as_array, hashes.for_leaks())
    rows = PartHashes(keys, ids, parents, numbers, [part.name for part in config.parts])
    _raise_leaks(
        find_leaks(rows, config.shared_by, lambda places: ids_at(_scan_all(sources), places))
    )
    private = private_inputs(source.name for source in sources)
    return AssignedRows(config, sources, [rows for _, rows in given], hashes, numbers, private)


def _file_of(given: Rows | str | Path) -> tuple[DatasetFile, Rows]:
    """Return a file that holds the rows, and the object that keeps it."""
    if str(given) == "-":
        hint = "write the rows to a file first"
        raise GenieError(Problem("D009", "inputs are read twice, a pipe cannot be", hint=hint))
    rows = rows_of(given)
    file = rows.file()
    about = "" if rows.name == file else rows.name
    return DatasetFile(file, format_of(file), about=about), rows


def _scan_all(inputs: Sequence[DatasetFile]) -> Iterator[ScannedRow]:
    return chain.from_iterable(scan(source) for source in inputs)


def _with_names(error: Tangled, inputs: Sequence[DatasetFile]) -> GenieError:
    """Return the trouble with the names of its rows, which hashes do not show."""
    names = _first_names(
        sorted({row.id for row in _scan_all(inputs) if hash_of(row.id) in error.ids})
    )
    if error.code == "D002":
        message = f"rows are their own ancestors: {names}"
        return GenieError(Problem("D002", message, hint="mend their `parent`"))
    message = f"different rows with one id have children: {names}"
    hint = "give each an id of its own: genie-dp data convert together.jsonl new.jsonl"
    return GenieError(Problem("D003", message, hint=hint))


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_SHOWN]) + (", .." if len(names) > _MOST_SHOWN else "")


# ------------------------------------------------------------------------------- files of parts


def _write_lines(
    work: Path, inputs: Sequence[DatasetFile], part: U8, parts: Sequence[SplitPart]
) -> None:
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
            for line in _lines_in_format(source, format):
                digest.update(line)
                if place < len(numbers) and numbers[place] != LEFT_OUT:
                    files[numbers[place]].write(line if line.endswith(b"\n") else line + b"\n")
                place += 1
            is_copy = source.format == format
            if place > len(numbers) or (is_copy and digest.digest() != source.digest.digest()):
                raise _changed_error(source)
    if place != len(numbers):
        raise _changed_error(inputs[-1])


def _lines_in_format(source: DatasetFile, format: str) -> Iterator[bytes]:
    if source.format == format:
        with open_input(source.name) as lines:
            yield from lines
    else:
        for row in read_rows(source.name):
            is_tsv = format == "tsv"
            text = f"{row.id}\t{row.utterance}\t{row.program}" if is_tsv else to_json(row)
            yield f"{text}\n".encode()


def _changed_error(source: DatasetFile) -> GenieError:
    hint = "wait until it is complete"
    return GenieError(Problem("D004", f"{source.name} changed while it was read", hint=hint))


def _write_parquet(
    work: Path, inputs: Sequence[DatasetFile], part: U8, parts: Sequence[SplitPart]
) -> None:
    check_parquet()
    for number, written in enumerate(parts):
        rows = chain.from_iterable(read_rows(source.name) for source in inputs)
        chosen = (row for row, place in zip(rows, part, strict=True) if place == number)
        with (work / f"{written.name}.parquet").open("wb") as out:
            write_parquet(chosen, out)


# --------------------------------------------------------------------------- card and manifest


def _card(
    assigned: AssignedRows, groups: Mapping[str, GroupCounts], about: AboutRows, folder: Path
) -> DatasetCard:
    inputs = assigned.inputs
    sources = {name: sum(g.sources[name] for g in groups.values()) for name in ("private", "human")}
    people = sources["human"] + sum(g.sources["paraphrase"] for g in groups.values())
    origin = (about.origin,) if about.origin else ()
    seeds = seeds_of({source.name: source.label for source in inputs})
    return DatasetCard(
        title=about.title or folder.absolute().name,
        made=f"split by {assigned.config.shared_by}",
        splits=tuple(
            CardPart(name, f"{name}.{inputs[0].format}", g.rows, counts_of(g))
            for name, g in groups.items()
        ),
        sources=(*origin, *(f"{source.label}: {source.rows:,} rows" for source in inputs)),
        targets=tuple(sorted({name for g in groups.values() for name in g.languages})),
        seeds=(*seeds, ("the split", assigned.config.seed)),
        licence=about.licence,
        spent=about.guarantee(),
        private_rows=sources["private"],
        human_rows=people,
    )


def _manifest(assigned: AssignedRows, groups: Mapping[str, GroupCounts]) -> dict[str, Any]:
    first, *others = groups
    trained_on = groups[first].functions()
    unseen = {name: len(groups[name].functions() - trained_on) for name in others}
    config = assigned.config
    settings = {**config.settings, "by": config.shared_by, "parts": list(map(asdict, config.parts))}
    return {
        "command": "split",
        "version": __version__,
        "format": assigned.inputs[0].format,
        "settings": settings,
        "inputs": [source.as_dict() for source in assigned.inputs],
        "counts": {"rows": len(assigned.numbers), "left_out": assigned.left_out},
        "parts": {
            name: {
                **group.as_dict(),
                **({"functions_unseen": unseen[name]} if name in unseen else {}),
            }
            for name, group in groups.items()
        },
    }


# ------------------------------------------------------------------------------------ for Python


class SplitRows:
    """The parts of a split, each as Rows: `parts["train"]`, or `.train`."""

    def __init__(self, assigned: AssignedRows):
        """Take which row goes where; nothing is read before a part is."""
        self._assigned = assigned
        names = [part.name for part in assigned.config.parts]
        self.parts: Mapping[str, Rows] = {
            name: assigned.part(number) for number, name in enumerate(names)
        }

    def __getitem__(self, name: str) -> Rows:
        return self.parts[name]

    def __getattr__(self, name: str) -> Rows:
        """Return the rows of a part."""
        parts: Mapping[str, Rows] = self.__dict__.get("parts", {})
        if name not in parts:
            raise AttributeError(f"no part is named {name!r}; there are {', '.join(parts)}")
        return parts[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.parts]

    def __repr__(self) -> str:
        numbers = np.bincount(self._assigned.numbers, minlength=len(self.parts))
        counts = (f"{name}: {n:,}" for name, n in zip(self.parts, numbers, strict=False))
        return f"SplitRows({', '.join(counts)})"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the notes on private inputs."""
        return tuple(self._assigned.private.lines())

    def save(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        title: str = "",
        licence: str = "",
        origin: str = "",
        spent: Spent | Path | None = None,
    ) -> SplitResult:
        """Write the folder that `genie-dp data split` writes: the parts, a card and a manifest.

        Args:
            folder: a new one.
            overwrite: replace a data set folder that is there.
            title: of the card; "" for the folder's name.
            licence: of the rows, such as "cc-by-4.0".
            origin: where the rows are from, for the card.
            spent: the privacy guarantee, or its file; needed for rows of source private.

        Raises:
            GenieError: those of `run`.
        """
        path, about = Path(folder), AboutRows(title, licence, origin, spent)
        refuse_overlap([path], [source.name for source in self._assigned.inputs])
        check_folder(path, overwrite=overwrite)
        return self._assigned.write(path, about)
