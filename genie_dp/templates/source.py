"""A template file as text: places in it, its statements, and text without its comments."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from genie_dp.errors import Problem, Span

STRING = r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\""""
_COMMENT = r"//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z)"
# What can begin a statement at the start of a line: where the one before was left open, it ends
# here, and one mistake does not swallow the rest of the file.
_HEAD = (
    r"""^[ \t]*(?:(?:import|using)\b(?=\s*["'])|category\b(?=\s+\w+\s*:)"""
    r"""|[^\W\d]\w*\s*(?:\[[^\]\n]*\]\s*)?:=)"""
)
_SCAN = re.compile(
    rf"(?P<comment>{_COMMENT})|(?P<head>{_HEAD})|(?<=\w)'(?=\w)|{STRING}|[()\[\]{{}};]",
    re.MULTILINE,
)
_RESUMES = re.compile(rf"(?:\s|{_COMMENT})*(?:\Z|{_HEAD})", re.MULTILINE)
_SPACE = re.compile(rf"(?:\s|{_COMMENT})*")
_COMMENT_OR_TEXT = re.compile(rf"(?P<comment>{_COMMENT})|(?<=\w)'(?=\w)|{STRING}")


@dataclass(frozen=True)
class Source:
    """A file's name, as messages show it, and its text."""

    file: str
    text: str

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character, both from 1.

        >>> Source("x.genie", "a;\\nbc").place(4)
        (2, 2)
        """
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span of text[start:end]."""
        return Span(self.file, *self.place(start), *self.place(end))


@dataclass(frozen=True, slots=True)
class Piece:
    """Where a statement stands, without its `;`, and what is wrong with its end."""

    start: int
    end: int
    problem: Problem | None = None


def statements(source: Source) -> Iterator[Piece]:
    """Yield the statements of a file, also where a `;` or a closing bracket is missing.

    >>> text = "NP := 'a;b' -> @x(); // c;\\nVP := 'd' -> @y()"
    >>> for piece in statements(Source("x.genie", text)):
    ...     print(repr(text[piece.start:piece.end]), piece.problem and piece.problem.message)
    "NP := 'a;b' -> @x()" None
    "VP := 'd' -> @y()" expected ';' at the end of the statement
    """
    text = source.text
    start, depth = _skip(text, 0), 0
    for match in _SCAN.finditer(text):
        begin, end, token = match.start(), match.end(), match.group()
        if match["comment"]:
            if token.startswith("/*") and not token.endswith("*/"):
                yield _open_comment(source, begin)
            continue
        if match["head"]:
            begin = end - len(token.lstrip())
            if begin > start:
                yield _unfinished(source, start, begin)
                start, depth = begin, 0
        elif token == ";":
            if depth == 0 or _RESUMES.match(text, end):
                yield Piece(start, begin)
                start, depth = _skip(text, end), 0
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(0, depth - 1)
    if _skip(text, start) < len(text):
        yield _unfinished(source, start, len(text))


def without_comments(text: str) -> str:
    """Return the text with comments blanked: every other character keeps its place.

    >>> without_comments("now /* q */ => '//x' // y")
    "now         => '//x'     "
    """

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group()) if match["comment"] else match.group()

    return _COMMENT_OR_TEXT.sub(blank, text)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _open_comment(source: Source, begin: int) -> Piece:
    span = source.span(begin, begin + 2)
    problem = Problem("G002", "this comment has no end", span, "close it: */", stage="syntax")
    return Piece(begin, begin, problem)


def _unfinished(source: Source, start: int, limit: int) -> Piece:
    end = start + len(without_comments(source.text[start:limit]).rstrip())
    span = source.span(end, end + 1)
    message = "expected ';' at the end of the statement"
    return Piece(start, end, Problem("G002", message, span, stage="syntax"))
