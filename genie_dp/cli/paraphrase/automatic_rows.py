"""Rows to be paraphrased: with example values as `paraphrase select` writes them, or without."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from genie_dp.cli.paraphrase.shown_rows import from_line, numbered_lines
from genie_dp.paraphrase.shown import Shown
from genie_dp.rows import format_of, from_json, read_rows


@dataclass(frozen=True, slots=True)
class RowsFile:
    """A file of rows, and how many it has."""

    path: str
    rows: int


class Parts:
    """Parts of a file or URL of rows, asked for from the front to the back.

    Lines between the parts are not parsed; empty lines do not count. Rows that have no example
    values get none.
    """

    def __init__(self, path: str):
        """Begin with the first row."""
        self.position = 0
        self._unread = _unread(path)

    def part(self, start: int, stop: int | None = None) -> Iterator[Shown]:
        """Yield rows start to stop (exclusive); start must not lie before what was read.

        Raises:
            GenieError: as `read_rows` and `from_line`.
        """
        for read in islice(
            self._unread, start - self.position, None if stop is None else stop - self.position
        ):
            yield read()
        self.position = self.position if stop is None else stop


def _unread(path: str) -> Iterator[Callable[[], Shown]]:
    if format_of(path) != "jsonl":
        for row in read_rows(path):
            yield partial(Shown, row)
        return
    for number, line in numbered_lines(path):
        yield partial(_shown, line, path, number)


def _shown(line: str, file: str, number: int) -> Shown:
    if '"values"' in line:
        try:
            has_values = "values" in json.loads(line)
        except (ValueError, RecursionError):
            has_values = False
        if has_values:
            return from_line(line, file=file, number=number)
    return Shown(from_json(line, file=file, number=number))
