"""The formats of genie-dp itself."""

from collections.abc import Iterator
from dataclasses import replace

from genie_dp.dataset.readers import ReadOptions
from genie_dp.records import Example
from genie_dp.rows import read_rows


def read(path: str, options: ReadOptions) -> Iterator[Example]:
    """Yield the rows of a JSONL or Parquet file."""
    return read_rows(path, format=options.format)


def read_tsv(path: str, options: ReadOptions) -> Iterator[Example]:
    """Yield the rows of a TSV file; the language and the source are those of the options."""
    source = options.source or "synthetic"
    for row in read_rows(path, format="tsv"):
        yield replace(row, language=options.language, source=source)
