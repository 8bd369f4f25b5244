"""Rows on disk: JSON lines, TSV as genienlp reads it, Parquet with the extra `parquet`."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, BinaryIO

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.records import Example, Slot

FORMATS = ("jsonl", "tsv", "parquet")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_PARQUET_BATCH = 10_000


def format_of(target: str, default: str = "jsonl") -> str:
    """Return the format that a file's name says, before a compression suffix; else the default.

    >>> format_of("pairs.tsv.gz"), format_of("-"), format_of("s3://b/pairs.parquet")
    ('tsv', 'jsonl', 'parquet')
    """
    name = target.rsplit("/", 1)[-1]
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    ending = name.rpartition(".")[2]
    return ending if ending in FORMATS else default


def to_json(example: Example) -> str:
    """Return a row as one line of JSON, without its line end.

    >>> to_json(Example("S0", "beep", "now => @c.beep"))[:40]
    '{"id":"S0","utterance":"beep","program":'
    """
    row = {f.name: getattr(example, f.name) for f in fields(Example)}
    row["slots"] = {k: {"type": s.type, "parameter": s.parameter} for k, s in example.slots.items()}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def from_json(line: str, *, file: str = "<rows>", number: int = 1) -> Example:
    """Return the row of a line of JSON, or raise GenieError with its place.

    >>> from_json('{"id": "S0", "utterance": "beep", "program": "now => @c.beep"}').id
    'S0'
    """
    try:
        row = json.loads(line)
        slots = {k: Slot(s["type"], s["parameter"]) for k, s in row.pop("slots", {}).items()}
        row["derivation"] = tuple(row.get("derivation", ()))
        row["functions"] = tuple(row.get("functions", ()))
        return Example(**row, slots=slots)
    except json.JSONDecodeError as error:
        span = Span(file, number, error.colno, number, error.colno + 1)
        raise GenieError(Problem("R010", f"no JSON: {error.msg}", span, stage="syntax")) from None
    except (AttributeError, KeyError, TypeError) as error:
        span = Span(file, number, 1, number, len(line) + 1)
        raise GenieError(Problem("R011", f"no row of a data set: {error}", span)) from None


def read_rows(path: str) -> Iterator[Example]:
    """Yield the rows of a file or URL in any of the formats; TSV rows hold only what it has."""
    if format_of(path) == "parquet":
        yield from _read_parquet(path)
        return
    import smart_open

    read = _from_tsv if format_of(path) == "tsv" else from_json
    with smart_open.open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            yield read(line.rstrip("\n"), file=path, number=number)


def _from_tsv(line: str, *, file: str, number: int) -> Example:
    parts = line.split("\t")
    if len(parts) < 3:
        span = Span(file, number, 1, number, len(line) + 1)
        message = f"expected id, utterance and program between tabs, got {len(parts)} columns"
        raise GenieError(Problem("R012", message, span))
    return Example(parts[0], parts[1], parts[2])


def _read_parquet(path: str) -> Iterator[Example]:
    parquet = _pyarrow()[1]
    for batch in parquet.ParquetFile(path).iter_batches(_PARQUET_BATCH):
        for row in batch.to_pylist():
            slots = {s["token"]: Slot(s["type"], s["parameter"]) for s in row.pop("slots")}
            row["derivation"], row["functions"] = tuple(row["derivation"]), tuple(row["functions"])
            yield Example(**row, slots=slots)


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
            batch.append(_as_record(row))
            if len(batch) == _PARQUET_BATCH:
                writer.write_table(arrow.Table.from_pylist(batch, schema))
                batch = []
        if batch:
            writer.write_table(arrow.Table.from_pylist(batch, schema))


def _as_record(row: Example) -> dict[str, Any]:
    record = {f.name: getattr(row, f.name) for f in fields(Example)}
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
