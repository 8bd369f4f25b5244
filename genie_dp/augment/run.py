"""Augmentation as a stage: from rows with placeholders to many rows with values, in a file."""

import json
import re
import shutil
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
import xxhash

from genie_dp import __version__
from genie_dp.augment.config import Augment
from genie_dp.augment.datasets import OwnLists, read_own_lists
from genie_dp.augment.engine import (
    BLOCK,
    AugmentBlock,
    AugmentEngine,
    PlacedRow,
    augment,
    make_block,
)
from genie_dp.augment.made_texts import made_texts
from genie_dp.augment.skill_rows import skill_paraphrases
from genie_dp.augment.values import NO_LIST, LibraryValues, lists_table, of_library
from genie_dp.english.forms import surface
from genie_dp.errors import GenieError, Problem, render_problem
from genie_dp.languages import Language, get_language
from genie_dp.languages.library import Library
from genie_dp.paraphrase.lexical import SynonymLexicon
from genie_dp.paraphrase.lexicons import lexicon_named
from genie_dp.private_prior import PriorFile, priors_of, refuse_twice, weigh_row
from genie_dp.records import DEFAULT_LANGUAGE, Example, PrivatePrior
from genie_dp.rows import (
    FreeIds,
    deliver,
    format_of,
    from_json,
    from_tsv,
    read_rows,
    rows_format,
    to_json,
)
from genie_dp.run.collector import collector_off
from genie_dp.run.files import no_text, open_bytes, open_input, refuse_overlap
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, hold_output, show_progress
from genie_dp.run.work import WorkFolder, interruptible, open_work
from genie_dp.run.workers import in_processes
from genie_dp.skills.model import SkillLibrary

_MOST_SHOWN = 20
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")')
# No text has it, for quotes in a text are escaped.
_ROOT = re.compile(rb'"derivation"\s*:\s*\[\s*("(?:[^"\\]|\\.)*")')

PlacedRows = list[PlacedRow]
BlockReader = Callable[[Sequence[int]], Iterator[tuple[int, PlacedRows]]]
"""Yields the blocks of these numbers, in order, as (number, rows)."""


# ----------------------------------------------------------------------------------------- inputs


@dataclass(frozen=True, slots=True)
class AugmentFile:
    """A file of rows.

    Attributes:
        name: file or URL, or a folder of skills with sentences of people.
        rows: how many it has.
        digest: hash of their text.
        ids: hashes of their ids.
        roots: root template -> rows that it made.
        language: of its programs, in a format without a language.
        renamed: line -> another id for a row whose id an earlier one has.
        written: the rows of a folder, as lines of JSON; None of a file.
    """

    name: str
    rows: int
    digest: str
    ids: "array[int]"
    roots: Mapping[str, int]
    language: str = DEFAULT_LANGUAGE
    renamed: Mapping[int, str] = field(default_factory=dict)
    written: tuple[bytes, ...] | None = None

    @property
    def blocks(self) -> int:
        """Return the number of blocks of the file."""
        return -(-self.rows // BLOCK)


def scan_files(
    names: Sequence[str], language: Language, library: Library | None
) -> tuple[AugmentFile, ...]:
    """Return the inputs, counted and hashed; rows of several runs get ids of their own.

    Raises:
        GenieError: no row in any of them (A101); a line that is no row (R010 to R012); sentences of
            a folder that are none (`skill_rows.skill_paraphrases`).
    """
    inputs = tuple(
        _scan_file(name, _skill_lines(name, language, library), language.name) for name in names
    )
    if not sum(file.rows for file in inputs):
        hint = "give files that genie-dp synthesize or genie-dp data paraphrase made"
        raise GenieError(Problem("A101", f"no rows in {', '.join(names)}", hint=hint))
    ids = np.concatenate([np.frombuffer(file.ids, np.uint64) for file in inputs if file.rows])
    if len(np.unique(ids)) < len(ids):
        return tuple(_with_free_ids(inputs))
    return inputs


def _skill_lines(
    name: str, language: Language, library: Library | None
) -> tuple[bytes, ...] | None:
    """Return the rows of a folder of skills, as lines of JSON; None of a file."""
    if not Path(name).is_dir():
        return None
    rows = skill_paraphrases(Path(name), language, library)
    return tuple(f"{to_json(row)}\n".encode() for row in rows)


def _with_free_ids(inputs: Sequence[AugmentFile]) -> Iterator[AugmentFile]:
    """Yield the inputs with other ids for rows whose id an earlier one has."""
    ids = FreeIds()
    for file in inputs:
        renamed: dict[int, str] = {}
        for number, line in enumerate(_raw_lines(file.name, file.written), 1):
            own = _id_of_line(line, file.name, number).decode()
            if (free := ids.free(own)) != own:
                renamed[number] = free
        yield replace(file, renamed=renamed)


def _id_notes(inputs: Sequence[AugmentFile]) -> Iterator[str]:
    """Yield the notes on rows that got other ids."""
    for file in inputs:
        if file.renamed:
            count, (number, id) = len(file.renamed), next(iter(file.renamed.items()))
            yield (
                f"note: {count:,} rows of {file.name} have the id of an earlier one: that of line "
                f"{number:,} is called {id}, and so are the parents of rows made of it"
            )


def _scan_file(name: str, written: tuple[bytes, ...] | None, language: str) -> AugmentFile:
    digest, ids, roots = xxhash.xxh3_128(), array("Q"), Counter[bytes]()
    hash_of = xxhash.xxh3_64_intdigest
    for number, line in enumerate(_raw_lines(name, written), 1):
        digest.update(line)
        ids.append(hash_of(_id_of_line(line, name, number)))
        if root := _ROOT.search(line):
            roots[root[1]] += 1
    by_name = {json.loads(root): count for root, count in roots.items()}
    return AugmentFile(name, len(ids), digest.hexdigest(), ids, by_name, language, written=written)


def _raw_lines(name: str, written: Sequence[bytes] | None) -> Iterator[bytes]:
    """Yield the lines of a file with their ends; for Parquet a line of JSON for each row."""
    if written is not None:
        yield from written
        return
    if format_of(name) == "parquet":
        for row in read_rows(name):
            yield f"{to_json(row)}\n".encode()
        return
    with open_input(name) as lines:
        yield from lines


def _id_of_line(line: bytes, name: str, number: int) -> bytes:
    if format_of(name) == "tsv":
        return line.partition(b"\t")[0]
    match = _ID.match(line)
    if match is not None and b"\\" not in match[1]:
        return match[1][1:-1]
    row = _row_of_line(line, name, number)
    return row.id.encode()


def _row_of_line(line: bytes, name: str, number: int) -> Example:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise no_text(error, name, number) from None
    read = from_tsv if format_of(name) == "tsv" else from_json
    return read(text, file=name, number=number)


def facts_of(inputs: Sequence[AugmentFile]) -> list[dict[str, Any]]:
    """Return the entry of the inputs in the manifest."""
    return [
        {"file": file.name, "rows": file.rows, "xxh3_128": file.digest}
        | ({"renamed": len(file.renamed)} if file.renamed else {})
        for file in inputs
    ]


def block_numbers(inputs: Sequence[AugmentFile]) -> range:
    """Return the numbers of all blocks; no block has rows of two files."""
    return range(sum(file.blocks for file in inputs))


def blocks_of(
    inputs: Sequence[AugmentFile], numbers: Sequence[int]
) -> Iterator[tuple[int, PlacedRows]]:
    """Yield (number, rows with their places) of the blocks of these rising numbers."""
    numbers_left = iter(numbers)
    number = next(numbers_left, None)
    first = 0
    for file in inputs:
        if number is None:
            return
        if number < first + file.blocks:
            for place, rows in _blocks(file, first):
                if place == number:
                    yield place, rows()
                    number = next(numbers_left, None)
        first += file.blocks


def _rows_of(inputs: Sequence[AugmentFile]) -> Iterator[Example]:
    for _, block in blocks_of(inputs, block_numbers(inputs)):
        yield from (row for row, _ in block)


def weigh_blocks(
    read: BlockReader, prior: PrivatePrior, numbers: Sequence[int]
) -> Iterator[tuple[int, PlacedRows]]:
    """Yield blocks as `read` gives them, the weights of rows multiplied by those of a prior."""
    for number, rows in read(numbers):
        yield number, [(weigh_row(row, prior), place) for row, place in rows]


def _blocks(file: AugmentFile, first: int) -> Iterator[tuple[int, Callable[[], PlacedRows]]]:
    """Yield (number, function that returns the rows) of all blocks of a file."""
    is_parquet = file.written is None and format_of(file.name) == "parquet"
    lines: Iterator[Any] = (
        read_rows(file.name) if is_parquet else _raw_lines(file.name, file.written)
    )
    for index in range(file.blocks):
        block = list(islice(lines, BLOCK))
        yield first + index, partial(_read, file, block, index * BLOCK + 1)


def _read(file: AugmentFile, block: Sequence[Any], start: int) -> PlacedRows:
    rows: PlacedRows = []
    for number, read in enumerate(block, start):
        row = read if isinstance(read, Example) else _row_of_line(read, file.name, number)
        if format_of(file.name) == "tsv":
            row = replace(row, language=file.language)
        if number in file.renamed:
            row = replace(row, id=file.renamed[number])
        rows.append((row, (file.name, number)))
    return rows


def fingerprint(texts: Sequence[str]) -> str:
    """Return a hash of texts in any order."""
    parts = sorted(xxhash.xxh3_128_hexdigest(text.encode()) for text in texts)
    return xxhash.xxh3_128_hexdigest(json.dumps(parts).encode())


# ------------------------------------------------------------------------------ what is made


def blocks(
    engine: AugmentEngine,
    read: BlockReader,
    numbers: Sequence[int],
    *,
    jobs: int = 1,
    format: str = "jsonl",
) -> Iterator[AugmentBlock]:
    """Yield the blocks of these numbers, in order; the same ones for any number of jobs.

    Every worker reads the inputs by itself and takes its blocks out, for reading a line costs a
    hundredth of its copies.
    """

    def make(own_numbers: Sequence[int]) -> Iterator[AugmentBlock]:
        expander = engine.expander()
        for number, rows in read(own_numbers):
            yield make_block(engine, expander, number, rows, format=format)

    return in_processes(make, numbers, jobs) if jobs > 1 else make(numbers)


@dataclass(slots=True)
class AugmentCounts:
    """The counts of the rows so far.

    Attributes:
        rows: rows written.
        counts: "read paraphrase", "made paraphrase", "skipped" and so on -> rows.
        mistakes: the first mistakes of rows that were left out, as they are shown.
        empty: parameters that no value fits.
    """

    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def add(self, block: AugmentBlock) -> None:
        """Count a block."""
        self.rows += block.rows
        self.counts.update(block.counts)
        room = _MOST_SHOWN - len(self.mistakes)
        self.mistakes.extend(render_problem(problem) for problem in block.problems[:room])
        self.empty = sorted({*self.empty, *block.empty})

    def by_source(self, what: str) -> dict[str, int]:
        """Return source -> rows that were "read" or "made".

        >>> AugmentCounts(counts=Counter({"read human": 2, "made human": 20})).by_source("made")
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
            "mistakes": self.mistakes,
            "empty": self.empty,
        }

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> "AugmentCounts":
        """Return the tally of a line of the journal."""
        return cls(**{**counts, "counts": Counter(counts["counts"])})


@dataclass(slots=True)
class AugmentedRows:
    """The work folder of a run; `done` blocks are in it."""

    work: WorkFolder
    done: int
    tally: AugmentCounts

    def add(self, block: AugmentBlock) -> None:
        """Append the rows of the next block, then record it in the journal."""
        self.tally.add(block)
        self.work.files["rows"].write(block.text)
        self.done += 1
        self.work.commit(done=self.done, tally=self.tally.as_dict())


def open_rows(path: Path, settings: dict[str, Any], *, resume: bool) -> AugmentedRows:
    """Return the rows in a work folder: none, or with `resume` those of the run that lies there.

    Raises:
        GenieError: those of `open_work`.
    """
    work = open_work(path, settings, resume=resume)
    tally = AugmentCounts.from_dict(work.last["tally"]) if work.last else AugmentCounts()
    return AugmentedRows(work, work.last.get("done", 0), tally)


_LEXICONS = ("shipped", "wordnet", "none")  # those that are no files
_MOST_EMPTY = 10  # parameters without values that are named


@dataclass(frozen=True, slots=True)
class AugmentResult(Result):
    """The result of a run of augmentation.

    Attributes:
        read, made: source, such as "synthetic" -> rows read, and rows made of them.
        skipped: rows that were left out, since their two sides do not go together.
        mistakes: of the first of these.
        without_values: parameters that no value fits; their placeholders stay.
        prior: of the weights of the rows.
    """

    output: str
    rows: int
    seconds: float
    read: Mapping[str, int]
    made: Mapping[str, int]
    skipped: int = 0
    mistakes: tuple[str, ...] = ()
    without_values: tuple[str, ...] = ()
    prior: PriorFile | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        parts = [f"{self.read[name]:,} {name} -> {self.made.get(name, 0):,}" for name in self.read]
        yield f"{self.rows:,} rows -> {self.place} ({self.seconds:.1f} s; {', '.join(parts)})"
        if self.prior:
            weights = self.prior.prior.function_weights.values()
            span = f"{min(weights, default=1):g} to {max(weights, default=1):g}"
            yield f"weights multiplied by the prior's, for functions {span}"
        if self.skipped:
            yield f"{self.skipped:,} rows left out:"
            yield from (f"  {mistake.splitlines()[0]}" for mistake in self.mistakes)
            if self.skipped > len(self.mistakes):
                yield f"  and {self.skipped - len(self.mistakes):,} more"
        if self.without_values:
            names = ", ".join(self.without_values[:_MOST_EMPTY])
            yield f"note: no value fits, so they stay: {names}"
        yield from self.notes


@dataclass(frozen=True, slots=True)
class ValueListReport(Result):
    """Which parameter takes its values from which list, as lines of TSV."""

    table: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the table, and the warnings about lists of the user."""
        yield from self.table
        yield from self.notes

    def findings(self) -> Iterator[str]:
        """Yield the table."""
        yield from self.table


@dataclass(frozen=True, slots=True)
class AugmentPreview(Result):
    """Rows, each with its copies."""

    copies: tuple[tuple[Example, tuple[Example, ...]], ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the rows, and the warnings about lists of the user."""
        yield from self.findings()
        yield from self.notes

    def findings(self) -> Iterator[str]:
        """Yield each row with its copies."""
        for row, copies in self.copies:
            yield click.style(f"{row.id}  {surface(row.utterance.split())}", dim=True)
            yield from (f"  {copy.utterance}\n      {copy.program}" for copy in copies)


@dataclass(frozen=True, slots=True)
class _AugmentRun:
    """One run of augmentation, and its preparation."""

    stage: Augment
    inputs: tuple[AugmentFile, ...]
    engine: AugmentEngine
    settings: dict[str, Any]
    output: Output
    format: str
    progress: bool | None

    def blocks(self, done: int) -> Iterator[AugmentBlock]:
        """Yield the copies, from this block of the inputs on."""
        read, prior = partial(blocks_of, self.inputs), self.stage.prior
        return blocks(
            self.engine,
            partial(weigh_blocks, read, prior.prior) if prior else read,
            block_numbers(self.inputs)[done:],
            jobs=self.stage.jobs,
            format=_line_format(self.format),
        )


def run(stage: Augment, output: Output, *, progress: bool | None = None) -> Result:
    """Make many rows of each row and write them; or show lists, or some rows.

    The bytes do not depend on `jobs`.

    Raises:
        GenieError: an output that cannot be written, is there (Y022) or is an input (D027); work
            of other settings (Y020, Y021); a prior that does not go with it (F004, F005); rows
            that cannot be worked on (A101, A110 to A113); lists that the skills lack (A103).
    """
    own, notes = _read_own_lists(stage)
    if stage.list_values:
        return ValueListReport(tuple(_listed_values(stage, own)), notes)
    if stage.preview is None:
        with hold_output(output):
            return _write(stage, own, notes, output, progress)
    inputs = scan_files(stage.inputs, get_language(stage.language), stage.library)
    engine = _engine(stage, own, inputs)
    expander = engine.expander()
    copies = (
        (row, tuple(augment([row], engine, expander=expander)))
        for row in islice(_rows_of(inputs), stage.preview)
    )
    return AugmentPreview(tuple(copies), notes)


def _write(
    stage: Augment,
    own: OwnLists,
    notes: Sequence[str],
    output: Output,
    progress: bool | None,
) -> AugmentResult:
    started = time.monotonic()
    needs_file = ["resume"] if output.resume else []
    format = rows_format(output.target, output.format, what="rows", needs_file=needs_file)
    refuse_overlap([output.target], stage.inputs)
    output.refuse_or_clear()
    refuse_twice(stage.prior, stage.inputs)
    if stage.prior and format == "tsv":
        hint = "give --format jsonl, or let train weigh them: genie-dp train --prior"
        raise GenieError(Problem("F004", "rows of TSV have no weights for --prior", hint=hint))
    inputs = scan_files(stage.inputs, get_language(stage.language), stage.library)
    settings = {
        "version": __version__,
        "language": stage.language,
        "library": fingerprint(list(stage.library.sources.values())),
        "values": {"own": _facts_of_lists(own), "widen": stage.widen},
        "lexicon": _lexicon_content(_lexicon_of(stage)),
        "inputs": [file.digest for file in inputs],
        "on_error": stage.on_error,
        "config": asdict(stage.config),
        "rows": _line_format(format),
        **({"prior": stage.prior.manifest_fields()} if stage.prior else {}),
    }
    engine = _engine(stage, own, inputs)
    plain = json.loads(json.dumps(settings))
    run = _AugmentRun(stage, inputs, engine, plain, output, format, progress)
    with collector_off():
        tally = _to_stdout(run) if output.target == "-" else _to_file(run)
    return AugmentResult(
        output.target,
        tally.rows,
        time.monotonic() - started,
        tally.by_source("read"),
        tally.by_source("made"),
        tally.counts["skipped"],
        tuple(tally.mistakes),
        tuple(tally.empty),
        stage.prior,
        (*notes, *_id_notes(inputs), *_locale_notes(stage)),
    )


def _read_own_lists(stage: Augment) -> tuple[OwnLists, tuple[str, ...]]:
    """Return the user's lists, and the warnings about them."""
    if stage.values is None:
        return OwnLists(), ()
    spelled = stage.config.place.words.number_language
    own = read_own_lists(stage.values, stage.library, language=spelled)
    return own, tuple(render_problem(problem, own.sources) for problem in own.warnings)


def _listed_values(stage: Augment, own: OwnLists) -> Iterator[str]:
    """Yield which parameter takes its values from which list."""
    if not isinstance(stage.library, SkillLibrary):
        hint = "of S-expressions the types of texts alone are known"
        raise GenieError(Problem("A103", "--list-values needs skills", hint=hint))
    values = LibraryValues(stage.library, own.lists, widen=stage.widen)
    return lists_table(stage.library, values)


def _engine(stage: Augment, own: OwnLists, inputs: Sequence[AugmentFile]) -> AugmentEngine:
    config, library, lists = stage.config, stage.library, own.lists
    if isinstance(library, SkillLibrary):
        skills = library
    else:
        skills = SkillLibrary()
        lists = {**{k: of_library(x) for k, x in library.value_lists.items()}, **own.lists}
    words: SynonymLexicon | None = None
    if config.reword or config.reword_synthetic:
        words = lexicon_named(_lexicon_of(stage))
    locale_words = config.place.words
    texts = NO_LIST if locale_words.has_grammar else made_texts(locale_words)
    return AugmentEngine(
        config,
        LibraryValues(
            skills, lists, widen=stage.widen, shipped=locale_words.has_grammar, made=texts
        ),
        get_language(stage.language),
        library,
        words,
        skip_broken=stage.on_error == "skip",
        roots=sum((Counter(file.roots) for file in inputs), Counter[str]()),
    )


# -------------------------------------------------------------------------------------- settings


def _line_format(format: str) -> str:
    """Return the format of the work file."""
    return "tsv" if format == "tsv" else "jsonl"


def _facts_of_lists(own: OwnLists) -> dict[str, Any]:
    """Return the user's lists as settings name them: by content, and use."""
    if own.uses is None:
        return {}
    return {"uses": fingerprint([own.uses]), "lists": dict(own.hashes)}


def _lexicon_of(stage: Augment) -> str:
    """Return the lexicon that is taken: the shipped words are of the default language alone."""
    is_shipped = stage.config.place.words.has_grammar
    return "none" if stage.lexicon == "shipped" and not is_shipped else stage.lexicon


def _locale_notes(stage: Augment) -> tuple[str, ...]:
    """Return the operations that are left out for a language of which no words are shipped."""
    config = stage.config
    if config.place.words.has_grammar:
        return ()
    notes = [
        f"note: no lists of values of {config.locale!r} are shipped, so that texts are made up: "
        "--values names your own"
    ]
    if _lexicon_of(stage) != stage.lexicon and (config.reword or config.reword_synthetic):
        reworded = f"of {config.locale!r} with the same meaning are shipped: --lexicon names yours"
        notes.append(f"note: no words {reworded}")
    return tuple(notes)


def _lexicon_content(name: str) -> str:
    """Return a lexicon as settings name it: a file by its content."""
    if name in _LEXICONS:
        return name
    digest = xxhash.xxh3_128()
    with open_input(name) as lines:
        for line in lines:
            digest.update(line)
    return f"file {digest.hexdigest()}"


# ------------------------------------------------------------------------------------------ rows


def _to_stdout(run: _AugmentRun) -> AugmentCounts:
    tally = AugmentCounts()
    with open_bytes("-") as out:
        for block in run.blocks(0):
            tally.add(block)
            out.write(block.text)
    return tally


def _to_file(run: _AugmentRun) -> AugmentCounts:
    rows_so_far = open_rows(run.output.work, run.settings, resume=run.output.resume)
    folder, target = rows_so_far.work.path, run.output.target
    with interruptible(folder):
        try:
            total = len(block_numbers(run.inputs)) - rows_so_far.done
            todo = run.blocks(rows_so_far.done)
            for block in show_progress(todo, label="augment", total=total, show=run.progress):
                rows_so_far.add(block)
        finally:
            rows_so_far.work.close()
        deliver(folder / "rows", _line_format(run.format), target, run.format)
        write_json(manifest_of(target), _manifest(run, rows_so_far.tally))
    shutil.rmtree(folder)
    return rows_so_far.tally


def _manifest(run: _AugmentRun, tally: AugmentCounts) -> dict[str, Any]:
    earlier = priors_of(file.name for file in run.inputs)
    return {
        "command": "augment",
        **run.stage.private,
        **run.settings,
        "inputs": facts_of(run.inputs),
        **({"priors": earlier} if earlier else {}),
        "format": run.format,
        "counts": {
            "rows": tally.rows,
            "read": tally.by_source("read"),
            "made": tally.by_source("made"),
            "skipped": tally.counts["skipped"],
        },
        "without_values": tally.empty,
    }
