"""Mistakes that a user can mend: their place, the expected form and the next step."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

Severity = Literal["error", "warning"]
Stage = Literal["syntax", "type"]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text; lines and columns start at 1, the end column is exclusive.

    >>> str(Span("light.genie", 3, 24, 3, 28))
    'light.genie:3:24'
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake or warning. `code` is stable; `hint` names the next thing to do.

    `stage` is the reader that found it: "syntax" (the text cannot be read) or "type" (it can be
    read, but means nothing in this library). `setting` is the setting it is about, where that is a
    setting: names and places in lists, from the top.
    """

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    severity: Severity = "error"
    stage: Stage = "type"
    setting: tuple[str | int, ...] = field(default=(), compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON output; line and column are None where there is no span."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.span.file if self.span else None,
            "line": self.span.line if self.span else None,
            "column": self.span.column if self.span else None,
            "hint": self.hint,
            "stage": self.stage,
        }


class GenieError(Exception):
    """One or more problems in the input of the user; the command line shows them and exits with 1.

    Attributes:
        problems: every problem found, in the order of their places.
        sources: file name -> full text, to show the line with a caret. Left empty where the text
            is private.
    """

    def __init__(
        self, problems: Problem | Iterable[Problem], *, sources: Mapping[str, str] | None = None
    ):
        """Keep the problems; a single one may be given bare."""
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.sources = dict(sources or {})
        super().__init__("\n".join(render_problem(p, self.sources) for p in self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.problems, self.sources)


def _rebuilt(problems: tuple[Problem, ...], sources: Mapping[str, str]) -> GenieError:
    return GenieError(problems, sources=sources)


def problem_at(problem: Problem, span: Span) -> Problem:
    """Return the problem with its place set."""
    return replace(problem, span=span)


def render_problem(problem: Problem, sources: Mapping[str, str] | None = None) -> str:
    """Return the problem as the command line shows it: place, message, line, caret, hint.

    >>> span = Span("light.genie", 1, 8, 1, 12)
    >>> print(render_problem(Problem("T002", "expected Number for 'level', got String", span),
    ...                      {"light.genie": 'level = "40"'}))
    light.genie:1:8: error[T002]: expected Number for 'level', got String
     1 | level = "40"
       |        ^^^^
    """
    place = f"{problem.span}: " if problem.span else ""
    lines = [f"{place}{problem.severity}[{problem.code}]: {problem.message}"]
    if problem.span is not None and problem.span.file in (sources or {}):
        lines.extend(_excerpt(problem.span, (sources or {})[problem.span.file]))
    if problem.hint:
        lines.append(f"  hint: {problem.hint}")
    return "\n".join(lines)


_LONGEST_ROW = 400  # characters of a line that are shown


def _excerpt(span: Span, text: str) -> Iterator[str]:
    rows = _lines(text)
    if not 1 <= span.line <= len(rows):
        return
    row = rows[span.line - 1]
    number = str(span.line)
    end = span.end_column if span.end_line == span.line else len(row) + 1
    column, length = span.column, max(1, end - span.column)
    if len(row) > _LONGEST_ROW:  # files that programs write may be one line
        start = max(0, column - 1 - _LONGEST_ROW // 2)
        cut = row[start : start + _LONGEST_ROW]
        row = f"{'..' if start else ''}{cut}{'..' if start + len(cut) < len(row) else ''}"
        column += 2 - start if start else 0
        length = min(length, max(1, len(row) + 1 - column))
    # Tabs are kept in the margin of the caret so that it stands under its column.
    margin = "".join("\t" if c == "\t" else " " for c in row[: column - 1])
    yield f" {number} | {row}"
    yield f" {' ' * len(number)} | {margin}{'^' * length}"


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    """Return the lines as spans count them: a form feed or U+2028 begins none."""
    return text.removesuffix("\n").split("\n") if text else []


def nearest(name: str, known: Iterable[str], *, most: int = 3) -> tuple[str, ...]:
    """Return the known names closest to a misspelt one, best first.

    >>> nearest("NPP", ["NP", "VP", "COMMAND"])
    ('NP',)
    """
    pool = sorted(set(known))
    nearest_names = difflib.get_close_matches(name, pool, n=most, cutoff=0.6)
    return tuple(nearest_names)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a hint that offers the nearest names, or None when nothing is near.

    >>> did_you_mean("notfy", ["notify", "now"])
    "did you mean 'notify'?"
    """
    nearest_names = nearest(name, known)
    if not nearest_names:
        return None
    return f"did you mean {' or '.join(repr(f) for f in nearest_names[:2])}?"


def with_article(noun: str) -> str:
    """Return a noun with its article, for messages in which the noun varies.

    >>> with_article("action"), with_article("query"), with_article("user")
    ('an action', 'a query', 'a user')
    """
    is_vowel = noun[:1].lower() in "aeiou" and not noun.lower().startswith(("us", "uni"))
    return f"{'an' if is_vowel else 'a'} {noun}"


def problems_as_json(problems: Iterable[Problem]) -> str:
    """Return the problems as one JSON array, for `--format json`."""
    return json.dumps([p.as_dict() for p in problems], ensure_ascii=False, indent=2)
