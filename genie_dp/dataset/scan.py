"""Rows read fast: only what is counted and compared."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import xxhash

from genie_dp.errors import GenieError, Span, problem_at
from genie_dp.languages.functions import functions_in
from genie_dp.records import Example
from genie_dp.rows import MOST_WEIGHT, check_texts, format_of, from_json, from_tsv, read_rows
from genie_dp.run.files import no_text, opened


class Row(NamedTuple):
    """What of a row is counted and compared."""

    id: str
    utterance: str
    program: str
    language: str
    source: str
    parent: str
    functions: tuple[str, ...] | list[str]


@dataclass(slots=True)
class Input:
    """One file of rows: its name and format, and after reading its rows and their hash.

    Attributes:
        about: what the rows are, where the file is a temporary one.
    """

    name: str
    format: str
    rows: int = 0
    digest: xxhash.xxh3_128 = field(default_factory=xxhash.xxh3_128)
    about: str = ""

    @classmethod
    def of(cls, name: str) -> "Input":
        """Return the input of a file or URL; its name says the format."""
        return cls(name, format_of(name))

    @property
    def label(self) -> str:
        """Return what a card calls it."""
        return self.about or Path(self.name).name

    def described(self) -> dict[str, object]:
        """Return what a manifest says of it."""
        return {
            "file": self.about or self.name,
            "rows": self.rows,
            "xxh3_128": self.digest.hexdigest(),
        }


Wanted = Callable[[str], bool]


def scan(source: Input, *, wanted: Wanted | None = None) -> Iterator[Row]:
    """Yield the rows of a file or URL, counting and hashing them in `source`.

    Args:
        wanted: takes an id; rows for which it is false may be left out, which is faster.

    Raises:
        GenieError: a line is no row (R010 to R012); the functions of a row cannot be told.
    """
    source.rows, source.digest = 0, xxhash.xxh3_128()
    if source.format == "jsonl":
        return _scan_json(source, wanted)
    return _scan_tsv(source) if source.format == "tsv" else _scan_parquet(source)


_ID = re.compile(rb'\{"id": ?"([^"\\]*)"')


def _scan_json(source: Input, wanted: Wanted | None) -> Iterator[Row]:
    decode, update = json.JSONDecoder().raw_decode, source.digest.update
    with opened(source.name) as lines:
        for number, line in enumerate(lines, 1):
            update(line)
            source.rows = number
            if wanted and (match := _ID.match(line)) and not wanted(match[1].decode()):
                continue
            try:
                text = line.decode()
                row, end = decode(text)
                get = row.get
                id, utterance, program = row["id"], row["utterance"], row["program"]
                check_texts(id, utterance, program)
                language = get("language", "thingtalk")
                functions = get("functions") or _functions(program, language, (source, number))
                found = Row(
                    id, utterance, program, language, get("source", "synthetic"),
                    get("parent", ""), functions,
                )  # fmt: skip
                "".join((language, found.source, found.parent, *functions))  # all are texts
                is_list = type(functions) in (list, tuple)
                if text[end:].strip() or not is_list or not 0 <= get("weight", 1) <= MOST_WEIGHT:
                    raise ValueError
            except UnicodeDecodeError as error:
                raise no_text(error, source.name, number) from None
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                # Says what is wrong; or reads what is unusual, such as space before the object.
                example = from_json(text.rstrip("\n"), file=source.name, number=number)
                found = as_row(example, (source, number))
            yield found


def _scan_tsv(source: Input) -> Iterator[Row]:
    with opened(source.name) as lines:
        for number, line in enumerate(lines, 1):
            source.digest.update(line)  # as it is: line ends, marks and further columns count
            source.rows = number
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise no_text(error, source.name, number) from None
            yield as_row(from_tsv(text, file=source.name, number=number), (source, number))


def _scan_parquet(source: Input) -> Iterator[Row]:
    for row in read_rows(source.name):
        source.digest.update(f"{row.id}\t{row.utterance}\t{row.program}\n".encode())
        source.rows += 1
        yield as_row(row, (source, source.rows))


Place = tuple[Input, int]
"""An input and the number of a row in it."""


def as_row(row: Example, place: Place | None = None) -> Row:
    """Return what of an example is counted and compared.

    Raises:
        GenieError: its program cannot be read, or its language is none; with the place if given.
    """
    functions = row.functions or _functions(row.program, row.language, place)
    return Row(row.id, row.utterance, row.program, row.language, row.source, row.parent, functions)


def _functions(program: str, language: str, place: Place | None) -> tuple[str, ...]:
    if language == "thingtalk":
        return functions_in(program)
    from genie_dp.languages import get_language

    try:
        target = get_language(language)
        return tuple(target.functions(target.from_tokens(program)))
    except GenieError as error:
        if place is None:
            raise
        source, number = place
        span = Span(source.name, number, 1, number, 2)
        raise GenieError([problem_at(problem, span) for problem in error.problems]) from None
