"""The formats of genie-dp itself."""

from collections.abc import Iterable
from typing import BinaryIO

from genie_dp import rows as formats
from genie_dp.dataset.left import Left
from genie_dp.dataset.writers import Note
from genie_dp.records import Example


def write_jsonl(rows: Iterable[Example], out: BinaryIO, left: Note) -> None:
    """Write one JSON object a line."""
    for row in rows:
        out.write(f"{formats.to_json(row)}\n".encode())


def write_tsv(rows: Iterable[Example], out: BinaryIO, left: Note) -> None:
    """Write id, utterance and program between tabs."""
    for row in rows:
        line = f"{row.id}\t{row.utterance}\t{row.program}"
        if line.count("\t") > 2 or "\n" in line or "\r" in line:
            left(Left(row.id, row.utterance, row.program, "tab or line end", "TSV has no escapes"))
        else:
            out.write(f"{line}\n".encode())


def write_parquet(rows: Iterable[Example], out: BinaryIO, left: Note) -> None:
    """Write Parquet; needs the extra `parquet`."""
    formats.write_parquet(rows, out)
