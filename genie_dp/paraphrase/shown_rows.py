"""Rows with the example values they are shown with, as the steps of a paraphrase pass them on.

A line is a row of a data set as JSON, with two more keys: `sentence`, what people see, and
`values`, placeholder -> value as shown. The sentence is there to be read; it follows from the rest.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.paraphrase.shown import Shown, ShownValue, placeholders
from genie_dp.rows import format_of, from_json, read_rows, to_json
from genie_dp.run.files import no_text, opened


def to_line(shown: Shown) -> str:
    """Return a shown row as one line of JSON, without its line end."""
    row = json.loads(to_json(shown.example))
    row["sentence"] = shown.sentence
    row["values"] = {value.token: value.text for value in shown.values}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def from_line(line: str, *, file: str = "<rows>", number: int = 1) -> Shown:
    """Return the shown row of a line, or raise GenieError with its place.

    Raises:
        GenieError: R010 no JSON, R011 no row; P001 a placeholder without a value.
    """
    span = Span(file, number, 1, number, len(line) + 1)
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        from_json(line, file=file, number=number)  # says what is wrong
        raise GenieError(Problem("R011", "no row of a data set", span))
    values = read.pop("values", None)
    read.pop("sentence", None)
    example = from_json(json.dumps(read), file=file, number=number)
    tokens = placeholders(example.utterance)
    if not isinstance(values, dict) or any(not isinstance(values.get(t), str) for t in tokens):
        given = values if isinstance(values, dict) else {}
        missing = [token for token in tokens if not isinstance(given.get(token), str)]
        what = f"of {missing[0]}" if missing and given else "under the key `values`"
        hint = "rows come from genie-dp paraphrase select"
        raise GenieError(Problem("P001", f"row {example.id} has no value {what}", span, hint))
    return Shown(example, tuple(ShownValue(token, values[token]) for token in tokens))


def read_shown(path: str) -> Iterator[Shown]:
    """Yield the shown rows of a file or URL; empty lines do not count."""
    for number, line in numbered_lines(path):
        yield from_line(line, file=path, number=number)


def numbered_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file or URL that are not empty, with their numbers from 1.

    Raises:
        GenieError: R001, a file that cannot be unpacked; R003, a line that is no UTF-8.
    """
    with opened(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise no_text(error, path, number) from None
            if text.strip():
                yield number, text.rstrip("\r\n")


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
