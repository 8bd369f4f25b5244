"""Rows on disk: JSON lines, TSV as genienlp reads it, Parquet with the extra `parquet`."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from itertools import islice
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, BinaryIO

import xxhash

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.records import Example, Slot
from genie_dp.run.files import (
    check_output,
    format_is_plain,
    local_target,
    no_text,
    open_bytes,
    open_input,
)
from genie_dp.run.manifest import manifest_of, provenance, write_json
from genie_dp.run.stage import Output, Result
from genie_dp.texts import is_whole

FORMATS = ("jsonl", "tsv", "parquet")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_PARQUET_BATCH = 10_000
_DEEPEST = 2**31  # a column of Parquet
MOST_WEIGHT = sys.float_info.max  # JSON has whole numbers beyond it
_NAMES = tuple(f.name for f in fields(Example))
_NEEDED = frozenset(("id", "utterance", "program"))
_ROW = 'a row has id, utterance and program at least; of a sentence alone the program is ""'
_ALLOWED = frozenset(_NAMES)
_text = json.encoder.encode_basestring


@lru_cache(maxsize=256)  # asked for at every row
def format_of(target: str, default: str = "jsonl") -> str:
    """Return the format that a file's name implies, before a compression suffix; else the default.

    >>> format_of("pairs.tsv.gz"), format_of("-"), format_of("s3://b/pairs.parquet")
    ('tsv', 'jsonl', 'parquet')
    """
    name = target.rsplit("/", 1)[-1]
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    ending = name.rpartition(".")[2]
    return ending if ending in FORMATS else default


class FreeIds:
    """Gives ids of their own to rows of several runs that were put together.

    A row whose id an earlier one has gets the first number that is free behind it, "S0.2". Rows
    made of it are recognized by their program, or else by their place, as rows of a run stand
    together.

    Attributes:
        renamed: rows that got another id.
    """

    def __init__(self) -> None:
        self.renamed = 0
        self._taken: set[int] = set()
        self._names: dict[str, dict[str, str]] = {}  # id -> program -> its new id

    def free(self, id: str) -> str:
        """Return an id, or the next that no row has, and take it.

        >>> ids = FreeIds()
        >>> ids.free("S0"), ids.free("S0"), ids.free("S0.2"), ids.free("S0")
        ('S0', 'S0.2', 'S0.2.2', 'S0.3')
        """
        number, free = 1, id
        while (key := xxhash.xxh3_64_intdigest(free.encode())) in self._taken:
            number += 1
            free = f"{id}.{number}"
        self._taken.add(key)
        self.renamed += free != id
        return free

    def rename(self, row: Example) -> Example:
        """Return a row with an id of its own, and the new id of the row that it was made of."""
        id = self.free(row.id)
        parent = row.parent
        if parent == row.id:
            parent = id
        elif indices := self._names.get(parent):
            is_changed = row.source == "augmented"
            parent = indices.get(row.program) or (
                list(indices.values())[-1] if is_changed else parent
            )
        if id == row.id:
            return row if parent == row.parent else replace(row, parent=parent)
        self._names.setdefault(row.id, {})[row.program] = id
        return replace(row, id=id, parent=parent)


def to_json(example: Example) -> str:
    """Return a row as one line of JSON, without its line end.

    Written out, for this is three times as fast as an encoder for any data; the text is the same.

    >>> to_json(Example("S0", "beep", "now => @c.beep"))[:40]
    '{"id":"S0","utterance":"beep","program":'
    """
    slots = ",".join(
        f'{_text(k)}:{{"type":{_text(s.type)},"parameter":{_text(s.parameter)}}}'
        for k, s in example.slots.items()
    )
    return (
        f'{{"id":{_text(example.id)},"utterance":{_text(example.utterance)},'
        f'"program":{_text(example.program)},"language":{_text(example.language)},'
        f'"source":{_text(example.source)},"parent":{_text(example.parent)},'
        f'"derivation":[{",".join(map(_text, example.derivation))}],'
        f'"functions":[{",".join(map(_text, example.functions))}],'
        f'"depth":{_number(example.depth)},"slots":{{{slots}}},'
        f'"weight":{_number(example.weight)}}}'
    )


def _number(value: float) -> str:
    # json.dumps takes a microsecond for what repr says at once.
    is_plain = type(value) is int or (type(value) is float and isfinite(value))
    return repr(value) if is_plain else json.dumps(value)


def from_json(line: str, *, file: str = "<rows>", number: int = 1) -> Example:
    """Return the row of a line of JSON, or raise GenieError with its place.

    >>> from_json('{"id": "S0", "utterance": "beep", "program": "now => @c.beep"}').id
    'S0'
    """
    try:
        row = json.loads(line)
        if type(row) is not dict:
            raise TypeError(f"expected an object, got {row if row is None else type(row).__name__}")
        slot_rows = row.pop("slots", {})
        if type(slot_rows) is list:  # as `as_record` gives them, for columns of one type
            slot_rows = {slot["token"]: slot for slot in slot_rows}
        slots = {k: Slot(s["type"], s["parameter"]) for k, s in slot_rows.items()}
        if not _NEEDED <= row.keys() <= _ALLOWED:
            raise TypeError(_not_fields(row.keys()))
        for name in ("derivation", "functions"):
            row[name] = tuple_of(row.get(name, ()), name)
        return check_row(Example(**row, slots=slots))
    except json.JSONDecodeError as error:
        span = Span(file, number, error.colno, number, error.colno + 1)
        has_mark = line.startswith("\ufeff")
        why = "a byte order mark stands before it" if has_mark else error.msg
        hint = "save the file as UTF-8 without one" if has_mark else None
        raise GenieError(Problem("R010", f"no JSON: {why}", span, hint, stage="syntax")) from None
    except (ValueError, RecursionError) as error:  # numbers and brackets beyond what Python reads
        span = Span(file, number, 1, number, len(line) + 1)
        raise GenieError(Problem("R010", f"no JSON: {error}", span, stage="syntax")) from None
    except (AttributeError, KeyError, TypeError) as error:
        span = Span(file, number, 1, number, len(line) + 1)
        message = f"no row of a data set: {error}"
        raise GenieError(Problem("R011", message, span, hint=_ROW)) from None


def _not_fields(names: Collection[str]) -> str:
    """Return which fields are missing, or too many."""
    missing = [name for name in _NAMES if name in _NEEDED and name not in names]
    if missing:
        return f"expected {', '.join(missing)}, got {', '.join(sorted(names)) or 'nothing'}"
    unknown = sorted(name for name in names if name not in _ALLOWED)
    return f"expected no field {unknown[0]!r}; there are {', '.join(_NAMES)}"


def tuple_of(values: object, name: str) -> tuple[Any, ...]:
    """Return the parts of a list; of a text they would be its letters, so it raises TypeError."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"expected a list of texts as {name}, got {values!r}")
    return tuple(values)


def check_row(row: Example) -> Example:
    """Return a row as it is; raise TypeError where a field is of another kind than it should be."""
    check_texts(row.id, row.utterance, row.program)
    try:
        # These are many, and joining them is the fastest way to learn that all are texts.
        "".join((row.language, row.source, row.parent, *row.derivation, *row.functions))
    except TypeError:
        raise TypeError(_not_text(row)) from None
    for slot in row.slots.values():
        if not type(slot.type) is type(slot.parameter) is str:
            raise TypeError(f"expected texts as a slot, got {slot.type!r} and {slot.parameter!r}")
    if type(row.depth) is not int or not 0 <= row.depth < _DEEPEST:
        raise TypeError(f"expected a whole number as depth, got {row.depth!r}")
    # A weight that is no number would go into the losses, and so into all weights of a network.
    if type(row.weight) not in (int, float) or not 0 <= row.weight <= MOST_WEIGHT:
        raise TypeError(f"expected a weight of at least 0, got {row.weight!r}")
    return row


def _not_text(row: Example) -> str:
    """Return which field of a row should be of texts and is not."""
    for name in ("language", "source", "parent"):
        if not isinstance(value := getattr(row, name), str):
            return f"expected text as {name}, got {value!r}"
    name = next(
        name
        for name in ("derivation", "functions")
        if not all(isinstance(part, str) for part in getattr(row, name))
    )
    return f"expected a list of texts as {name}, got {list(getattr(row, name))!r}"


def check_texts(*values: object) -> None:
    """Raise TypeError where one of the values is no text, or none that can be written."""
    for value in values:
        if type(value) is not str:
            raise TypeError(f"expected text, got {value!r}")
        if not is_whole(value):
            raise TypeError(f"expected text, got half a character in {ascii(value)}")


def read_rows(path: str, *, format: str | None = None) -> Iterator[Example]:
    """Yield the rows of a file or URL in any of the formats; TSV rows hold only its fields.

    Args:
        format: one of FORMATS; None to infer it from the name.
    """
    format = format or format_of(path)
    if format == "parquet":
        yield from _read_parquet(path)
        return
    read = from_tsv if format == "tsv" else from_json
    with open_input(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise no_text(error, path, number) from None
            yield read(text.rstrip("\r\n"), file=path, number=number)


def from_tsv(line: str, *, file: str = "<rows>", number: int = 1) -> Example:
    """Return the row of a line of TSV, or raise GenieError with its place.

    >>> from_tsv("S0\\tbeep\\tnow => @c.beep").program
    'now => @c.beep'
    """
    # Windows marks the beginning of a file, which is no part of the first id.
    parts = line.removeprefix("\ufeff").split("\t")
    if len(parts) < 3:
        span = Span(file, number, 1, number, len(line) + 1)
        message = f"expected id, utterance and program between tabs, got {len(parts)} columns"
        raise GenieError(Problem("R012", message, span))
    return Example(parts[0], parts[1], parts[2])


def _read_parquet(path: str) -> Iterator[Example]:
    arrow, parquet = _pyarrow()
    with _seekable(path) as source:
        try:
            for batch in parquet.ParquetFile(source).iter_batches(_PARQUET_BATCH):
                yield from map(_from_record, batch.to_pylist())
        except arrow.ArrowInvalid as error:
            hint = "write it again, or name it as what it is"
            raise GenieError(Problem("R001", f"no Parquet: {path}: {error}", hint=hint)) from None
        except (KeyError, TypeError) as error:
            message = f"no rows of a data set: {path}: {error}"
            raise GenieError(Problem("R011", message)) from None


def _from_record(row: dict[str, Any]) -> Example:
    slots = {s["token"]: Slot(s["type"], s["parameter"]) for s in row.pop("slots")}
    row["derivation"], row["functions"] = tuple(row["derivation"]), tuple(row["functions"])
    return check_row(Example(**row, slots=slots))


@contextmanager
def _seekable(path: str) -> Iterator[str | IO[bytes]]:
    """Return a seekable file, which Parquet needs as it begins at its end."""
    if "://" not in path and not path.endswith(_COMPRESSED):
        yield path
        return
    with open_input(path) as packed:
        yield BytesIO(packed.read())


def check_parquet() -> None:
    """Raise GenieError (R013) where Parquet cannot be written: before the work, not after it."""
    _pyarrow()


def write_parquet(rows: Iterable[Example], out: BinaryIO) -> None:
    """Write rows as Parquet, a batch at a time."""
    arrow, parquet = _pyarrow()
    slot = arrow.struct(
        [("token", arrow.string()), ("type", arrow.string()), ("parameter", arrow.string())]
    )
    texts = arrow.list_(arrow.string())
    kinds: dict[str, Any] = {
        "derivation": texts, "functions": texts, "depth": arrow.int32(),
        "slots": arrow.list_(slot), "weight": arrow.float64(),
    }  # fmt: skip
    schema = arrow.schema([(f.name, kinds.get(f.name, arrow.string())) for f in fields(Example)])
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(as_record(row))
            if len(batch) == _PARQUET_BATCH:
                writer.write_table(arrow.Table.from_pylist(batch, schema))
                batch = []
        if batch:
            writer.write_table(arrow.Table.from_pylist(batch, schema))


def as_record(row: Example) -> dict[str, Any]:
    """Return a row as columns that have one type each: slots are a list."""
    record = {name: getattr(row, name) for name in _NAMES}
    record["slots"] = [
        {"token": token, "type": s.type, "parameter": s.parameter} for token, s in row.slots.items()
    ]
    return record


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        hint = "pip install 'genie_dp[parquet]', or write .jsonl"
        raise GenieError(Problem("R013", "Parquet needs pyarrow", hint=hint)) from None
    return pyarrow, pyarrow.parquet


@contextmanager
def lines_of(path: Path) -> Iterator[IO[str]]:
    """Open a local work file of rows for reading."""
    with path.open(encoding="utf-8") as lines:
        yield lines


def rows_format(
    output: str, format: str | None, *, what: str, needs_file: Iterable[str] = ()
) -> str:
    """Return the format of an output: the given one, or the one that its name implies.

    Args:
        what: stem of the file that hints propose, such as "pairs".
        needs_file: options in use that standard output does not go with.

    Raises:
        GenieError: it could not be written when all work is done (R002, R004, R013, Y023, Y024).
    """
    check_output(output)
    chosen = format or format_of(output)
    problems = []
    if output == "-" and chosen == "parquet":
        hint = f"give a file with --output {what}.parquet"
        problems.append(Problem("Y023", "Parquet cannot be written to a pipe", hint=hint))
    for name in needs_file if output == "-" else ():
        hint = f"give one with --output {what}.jsonl"
        problems.append(Problem("Y024", f"--{name} needs the rows in a file", hint=hint))
    if problems:
        raise GenieError(problems)
    if chosen == "parquet":
        check_parquet()
    return chosen


def write_rows(lines: Iterable[str], line_format: str, output: str, format: str) -> None:
    """Write lines (jsonl or tsv, with line ends) to an output in `format`."""
    with open_bytes(output) as out:
        if format == line_format:
            for line in lines:
                out.write(line.encode())
        elif format == "parquet":
            write_parquet((from_json(line) for line in lines), out)
        else:
            for line in lines:
                row = from_json(line)
                out.write(f"{row.id}\t{row.utterance}\t{row.program}\n".encode())


def deliver(rows: Path, line_format: str, output: str, format: str) -> None:
    """Write the lines of a work file, of the format `line_format`, to the output in `format`."""
    target = local_target(output)
    if target is None or format != line_format or not format_is_plain(output):
        with lines_of(rows) as lines:
            write_rows(lines, line_format, output, format)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    done = rows.with_suffix(".done")
    done.unlink(missing_ok=True)
    # A second name, not a move: a run killed before its manifest is written finds its rows again.
    try:
        os.link(rows, done)
    except OSError:
        shutil.copyfile(rows, done)
    done.replace(target)


# ------------------------------------------------------------------------------------------ Rows


class Preview(tuple[Example, ...]):
    """A few rows that show themselves: sentence and program, one below the other."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(f"{row.utterance}\n    {row.program}" for row in self)

    def _repr_html_(self) -> str:
        """Return the rows as a table, for notebooks."""
        from html import escape

        cells = "".join(
            f"<tr><td>{escape(row.utterance)}</td><td><code>{escape(row.program)}</code></td></tr>"
            for row in self
        )
        return f"<table><tr><th>sentence</th><th>program</th></tr>{cells}</table>"


class Rows:
    """Rows of a data set: made as they are asked for, or read from a file.

    Each iteration yields the same Examples. Nothing is written anywhere but by `save`; a stage that
    reads rows several times keeps them in a temporary file as long as this object lives.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[Example]] | None,
        about: str,
        *,
        path: str | None = None,
        sources: Iterable[str] = (),
        save: Callable[[Output, int], Result] | None = None,
    ):
        """Keep how the rows are made.

        Args:
            make: returns a new iterator over all rows; None where they are those of `file()`.
            about: a short description.
            path: the file that holds them already.
            sources: the files and URLs that they are read from, or made of.
            save: writes them to an output with so many processes, faster than one by one.
        """
        self._make, self._about, self._save = make, about, save
        self._path = path
        self.sources = tuple(dict.fromkeys(sources))
        self.format: str | None = None  # of the file that they were read from
        self._folder: TemporaryDirectory[str] | None = None

    @classmethod
    def read(cls, path: str | Path, *, format: str | None = None) -> "Rows":
        """Return the rows of a file or URL.

        Args:
            path: JSONL, TSV or Parquet, compressed or not.
            format: one of FORMATS; None to infer it from the name.
        """
        name = str(path)
        named = format_of(name)
        # Stages read a file by what its name says, so others are written anew for them.
        path_of_rows = name if format in (None, named) else None
        rows = cls(
            lambda: read_rows(name, format=format), f"of {name}", path=path_of_rows, sources=[name]
        )
        rows.format = format or named
        return rows

    @property
    def path(self) -> str | None:
        """Return the file or URL that holds the rows; None where they are made as asked for."""
        return self._path

    def __iter__(self) -> Iterator[Example]:
        # A generator holds this object, and so the temporary file, until it ends.
        yield from read_rows(self.file()) if self._make is None else self._make()

    def __repr__(self) -> str:
        """Return the description of the rows, without making any."""
        return f"Rows({self._about})"

    @property
    def name(self) -> str:
        """Return the file that the rows were read from; of others, a short description."""
        return self._path if self._path is not None and self._folder is None else self._about

    def preview(self, number: int = 5) -> Preview:
        """Return the first rows, which show themselves."""
        return Preview(islice(self, number))

    def save(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        resume: bool = False,
        overwrite: bool = False,
        jobs: int = 1,
    ) -> Result:
        """Write the rows to a file or URL, with a manifest beside it; return the written file.

        The manifest names the files that the rows were read from, and their ledgers: rows made
        of private rows is as private.

        Args:
            path: where; its name implies the format and the compression.
            format: one of FORMATS, if the name does not imply it.
            resume: go on with a save that was interrupted.
            overwrite: replace an existing file.
            jobs: processes that make rows.

        Raises:
            GenieError: it exists (Y022), or cannot be written.
        """
        output = Output(str(path), format, resume, overwrite)
        if self._save is not None:
            return self._save(output, jobs)
        saved = save_rows(self, output)
        if output.target != "-":
            facts = {"command": "save", "version": __version__, "rows": saved.rows}
            write_json(manifest_of(output.target), {**facts, **provenance(self.sources)})
        return saved

    def file(self) -> str:
        """Return a file that holds the rows; a temporary one, unless they are in a file already."""
        if self._path is None:
            self._folder = TemporaryDirectory(prefix="genie_dp-")
            path = f"{self._folder.name}/rows.jsonl"
            self.save(path)
            self._path = path
        return self._path

    def to_pandas(self) -> Any:
        """Return the rows as a pandas.DataFrame.

        Raises:
            GenieError: R042, pandas is not installed.
        """
        pandas = _library("pandas")
        return pandas.DataFrame.from_records([as_record(row) for row in self], columns=_NAMES)

    def to_dataset(self) -> Any:
        """Return the rows as a Hugging Face datasets.Dataset.

        Raises:
            GenieError: R042, datasets is not installed.
        """
        datasets = _library("datasets")
        return datasets.Dataset.from_list([as_record(row) for row in self])


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        problem = Problem("R042", f"this needs {name}", hint=f"pip install {name}")
        raise GenieError(problem) from None


@dataclass(frozen=True, slots=True)
class Saved(Result):
    """Rows that were written to a file."""

    output: str
    rows: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield f"{self.rows:,} rows -> {self.output}"


def save_rows(rows: Iterable[Example], output: Output) -> Saved:
    """Write rows one after the other; a file that is cut short never has the output's name."""
    format = rows_format(output.target, output.format, what="rows")
    output.refuse_existing(hint="give another name, or overwrite it")
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for row in rows:
            yield f"{to_json(row)}\n"
            count += 1

    write_rows(lines(), "jsonl", output.target, format)
    return Saved(output.target, count)


def rows_of(rows: "Rows | str | Path | Iterable[Example]") -> Rows:
    """Return the argument of a caller as Rows: rows, the name of a file, or Examples.

    Raises:
        GenieError: R011, something is no row.
    """
    if isinstance(rows, Rows):
        return rows
    if isinstance(rows, str | Path):
        return Rows.read(rows)
    examples = tuple(rows) if isinstance(rows, Iterable) else (rows,)
    for number, example in enumerate(examples, start=1):
        if not isinstance(example, Example):
            message = f"row {number}: expected an Example, got {example!r:.80}"
            hint = 'gd.Example(id, utterance, program, "thingtalk") for each, or the name of a file'
            raise GenieError(Problem("R011", message, hint=hint))
    return Rows(lambda: iter(examples), f"{len(examples):,} examples")
