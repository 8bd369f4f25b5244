"""Private text as data points, one after another: rows of a file, or whole sentences of a text.

As in `source`, which reads for training, nothing here shows a row: mistakes name the place and the
rule alone.

After "Provably Confidential Language Modelling", appendix A.6, items 2 and 3: a text that is split
after redaction is split elsewhere than its neighbour, so that almost all points differ; and a
sentence that is cut may have its secret in two points. In doubt nothing is split: a point with two
sentences is as safe as two.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.private.redact.config import POINTS, Points
from genie_dp.private.redact.spans import MASK
from genie_dp.run.files import UNREADABLE, unreadable
from genie_dp.values.calendar import MONTH_NAMES, WEEKDAY_NAMES

# Words that have a full stop and no end after it.
_ABBREVIATIONS = frozenset(
    (
        "mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "ave", "blvd", "rd", "apt", "no", "nos",
        "vs", "etc", "inc", "ltd", "co", "corp", "dept", "est", "fig", "gen", "gov", "hon", "lt",
        "col", "maj", "capt", "sgt", "rep", "sen", "rev", "tel", "ext", "e.g", "i.e", "a.m", "p.m",
        "u.s", "u.k", "approx", "vol", "al", "cf", "ca", "po", "p.o", "ph.d", "ref", "acct", "ste",
        "ln", "hwy", "pkwy", "ct", "pl", "sq", "mt", "ft",
    )
).union(*(names[1:] for names in (*MONTH_NAMES, *WEEKDAY_NAMES)))  # fmt: skip
_END = re.compile(r"([.!?…]+[\"'”’)\]]*)(\s+)(?=[\"'“‘(\[]*[A-Z0-9¿¡])")
_LAST_WORD = re.compile(r"[\w.'-]*$")


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, without the space around them.

    >>> sentences("Mail Dr. Lee. It is J. Smith, no. 4! ok? yes")
    ('Mail Dr. Lee.', 'It is J. Smith, no. 4! ok? yes')
    """
    out, start = [], 0
    for match in _END.finditer(text):
        if match[1] == "." and _goes_on(text[start : match.start()]):
            continue
        out.append(text[start : match.end(1)].strip())
        start = match.end()
    out.append(text[start:].strip())
    return tuple(sentence for sentence in out if sentence)


def _goes_on(before: str) -> bool:
    """Return whether a full stop after this text belongs to its last word."""
    match = _LAST_WORD.search(before)
    word = match.group() if match else ""
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())


def points(lines: Iterable[str], by: Points) -> Iterator[str]:
    r"""Yield the data points of a text file.

    Args:
        lines: with or without their ends.
        by: "line": each that is not empty. "paragraph": lines up to an empty one, joined by
            spaces. "sentence": the sentences of such paragraphs, so that lines may be wrapped.

    >>> list(points(["I am Ann", "Lee. Call me!", "", "Bye"], "sentence"))
    ['I am Ann Lee.', 'Call me!', 'Bye']
    """
    if by == "line":
        yield from (line.strip() for line in lines if line.strip())
        return
    for paragraph in _paragraphs(lines):
        yield from (paragraph,) if by == "paragraph" else sentences(paragraph)


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line.strip():
            held.append(line.strip())
        elif held:
            yield " ".join(held)
            held = []
    if held:
        yield " ".join(held)


_CUT = re.compile(r"[\w,]$")
_LOWER = re.compile(r"[a-z]")


def is_cut(line: str, following: str, *, goes_on: bool = False) -> bool:
    """Return whether a sentence seems to go on in the next line.

    Args:
        line: begins with a capital, or else a sentence `goes_on` in it from the line before.
        following: the next line.
        goes_on: whether the line before is cut.

    >>> is_cut("My name is Ann", "lee and I live"), is_cut("play jazz", "turn it up")
    (True, False)
    """
    return bool(
        (line[:1].isupper() or goes_on)
        and _CUT.search(line.rstrip())
        and _LOWER.match(following.lstrip())
    )


# Mistakes told at once; more would tell how long a broken file is.
MOST = 10
# What redaction writes itself: a kept field of the same name would take its place.
_WRITTEN = frozenset(("id", "utterance", "program", "language", "source", "part"))
# A text file where this share of lines is cut has sentences that go over lines.
_CUT_SHARE = 0.2


@dataclass(frozen=True, slots=True, repr=False)
class Point:
    """One data point: a row, or a piece of a text file. It never shows its text.

    Attributes:
        utterance: the sentence or text.
        program: its program, or None.
        language: of the program, "" where the file does not name it.
        fields: further fields that are kept, as (name, text).
    """

    utterance: str
    program: str | None = None
    language: str = ""
    fields: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return "Point(..)"

    @property
    def texts(self) -> tuple[str, ...]:
        """Return all texts: the utterance, the program if there is one, the fields."""
        program = () if self.program is None else (self.program,)
        return self.utterance, *program, *(text for _, text in self.fields)

    def with_texts(self, texts: Sequence[str]) -> "Point":
        """Return the same with other texts, in the order of `texts`."""
        first_field = 1 if self.program is None else 2
        names = [name for name, _ in self.fields]
        return replace(
            self,
            utterance=texts[0],
            program=None if self.program is None else texts[1],
            fields=tuple(zip(names, texts[first_field:], strict=True)),
        )

    @property
    def as_duplicate(self) -> "Point":
        """Return the substitute for a duplicate point: the one mask."""
        return replace(self, utterance=MASK, program=None if self.program is None else MASK)


@dataclass(frozen=True, slots=True)
class PointReader:
    """How a file of private text is read.

    Attributes:
        path: JSONL, TSV by its suffix, or .txt; compressed by its suffix.
        by: the unit of a point in a .txt.
        language: of rows that do not name theirs.
        keep: fields of JSON rows that are kept besides utterance and program.
        unit_field: field of JSON rows that names units; it is kept, too.
    """

    path: str
    by: Points = "line"
    language: str = ""
    keep: tuple[str, ...] = ()
    unit_field: str | None = None

    def __post_init__(self) -> None:
        """Refuse a splitting that there is not, and fields that are written anyway, or not there.

        Raises:
            GenieError: it is not one of POINTS (E007), a field is redaction's own (E016), or the
                file has no fields (E019).
        """
        if self.by not in POINTS:
            message = f"expected points by {', '.join(POINTS)}, got {self.by!r}"
            raise GenieError(Problem("E007", message))
        if self.kept and not self._has_fields:
            message = f"{self.path} has no field {self.kept[0]!r}: only JSON rows have names"
            hint = "write the rows as JSONL, one object a line"
            raise GenieError(Problem("E019", message, hint=hint))
        if own := _WRITTEN.intersection(self.kept):
            message = f"redacted rows have the field {min(own)!r} already"
            raise GenieError(Problem("E016", message, hint="keep other fields"))

    @property
    def is_text(self) -> bool:
        """Return whether a file is one of text, not of rows."""
        return ".txt" in Path(self.path).suffixes[-2:]

    @property
    def kept(self) -> tuple[str, ...]:
        """Return all fields that are kept, each once."""
        return tuple(dict.fromkeys((*self.keep, *([self.unit_field] if self.unit_field else ()))))

    @property
    def _has_fields(self) -> bool:
        return not self.is_text and not self._is_table

    @property
    def _is_table(self) -> bool:
        return ".tsv" in Path(self.path).suffixes[-2:]

    def points(self) -> Iterator[Point]:
        """Yield the points of the file.

        Raises:
            GenieError: it cannot be read (E008), its rows are none (E009), or lines cut sentences
                (E010). Raised at the end, with the first mistakes together.
        """
        import smart_open

        problems: list[Problem] = []
        try:
            with smart_open.open(self.path, "rb") as lines:
                if self.is_text:
                    yield from self._text(lines, problems)
                else:
                    yield from self._rows(lines, problems)
        except UNREADABLE as error:
            problems = [unreadable(str(self.path), error, code="E008")]
        if problems:
            raise GenieError(problems)

    def _text(self, lines: IO[bytes], problems: list[Problem]) -> Iterator[Point]:
        read = _Lines(self, lines, problems)
        yield from (Point(text) for text in points(read.decode_lines(), self.by))
        if self.by == "line" and read.cut > 2 and read.cut > _CUT_SHARE * read.count:
            message = f"sentences of {self.path} seem to go on in the next line"
            hint = "a secret would be cut: take --points sentence, or paragraph"
            problems.append(Problem("E010", message, hint=hint))

    def _rows(self, lines: IO[bytes], problems: list[Problem]) -> Iterator[Point]:
        parse = self._tsv if self._is_table else self._json
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            result = parse(line)
            if isinstance(result, Point):
                yield result
            else:
                problems.append(self._problem(number, *result))
            if len(problems) >= MOST:
                return

    def _problem(self, number: int, message: str, hint: str | None) -> Problem:
        return Problem("E009", message, Span(self.path, number, 1, number, 1), hint)

    def _json(self, line: bytes) -> Point | tuple[str, str | None]:
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            return "expected a JSON object in UTF-8", "one row a line; text files end in .txt"
        text, program, language = row.get("utterance"), row.get("program"), row.get("language")
        if not _is_text(text):
            return "expected text in the field 'utterance'", None
        if program is not None and not _is_text(program):
            return "expected text in the field 'program', or none", None
        if language is not None and not _is_text(language):
            return "expected text in the field 'language', or none", None
        fields = []
        for name in self.kept:
            value = row.get(name)
            if isinstance(value, bool) or not (isinstance(value, int) or _is_text(value)):
                return f"expected text or a whole number in the field {name!r}", None
            fields.append((name, str(value)))
        return Point(str(text), program, language or self.language, tuple(fields))

    def _tsv(self, line: bytes) -> Point | tuple[str, str | None]:
        try:
            columns = line.decode("utf-8-sig").rstrip("\r\n").split("\t")
        except ValueError:
            return "expected UTF-8 text", "save the file as UTF-8"
        if len(columns) < 2:
            return "expected id, utterance and program between tabs", None
        program = columns[2] if len(columns) > 2 and columns[2] else None
        return Point(columns[1], program, self.language)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() == value


@dataclass(slots=True, repr=False)
class _Lines:
    """Lines of a text file as they go by, with how many seem to be cut."""

    reading: PointReader
    lines: IO[bytes]
    problems: list[Problem]
    count: int = 0
    cut: int = 0

    def decode_lines(self) -> Iterator[str]:
        before, goes_on = "", False
        for number, line in enumerate(self.lines, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except ValueError:
                hint = "save the file as UTF-8"
                self.problems.append(self.reading._problem(number, "expected UTF-8 text", hint))
                if len(self.problems) >= MOST:
                    return
                continue
            self.count += bool(text.strip())
            goes_on = is_cut(before, text, goes_on=goes_on)
            self.cut += goes_on
            before = text
            yield text
