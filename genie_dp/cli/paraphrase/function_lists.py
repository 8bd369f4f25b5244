"""Reads lists of functions, and which skills and functions are about one thing."""

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.texts import read_text


def read_functions(path: Path, known: Collection[str]) -> frozenset[str]:
    """Return the functions that a file names, one a line; `*` stands for any part of a name.

    Raises:
        GenieError: P005, every line that names none of the known functions.
    """
    text = read_text(path)
    found: set[str] = set()
    problems = []
    for number, line in _lines(text):
        names = {name for name in known if fnmatchcase(name, line)}
        found |= names
        if not names:
            span = Span(str(path), number, 1, number, len(line) + 1)
            hint = did_you_mean(line, known) or "functions are written @com.gmail.inbox"
            problems.append(Problem("P005", f"no function is named {line!r}", span, hint))
    if problems:
        raise GenieError(problems, sources={str(path): text})
    return frozenset(found)


def read_categories(path: Path, known: Collection[str]) -> dict[str, frozenset[str]]:
    """Return skill or function -> its categories, from lines of both with a tab between.

    Raises:
        GenieError: P005, every line that names nothing known or has no category.
    """
    text = read_text(path)
    found: dict[str, frozenset[str]] = {}
    problems = []
    for number, line in _lines(text):
        name, _, category = (cell.strip() for cell in line.partition("\t"))
        names = {n for n in known if fnmatchcase(n, name)}
        span = Span(str(path), number, 1, number, len(name) + 1)
        if not names:
            message = f"no skill or function is named {name!r}"
            problems.append(Problem("P005", message, span, did_you_mean(name, known)))
        elif not category:
            hint = "write it after a tab"
            problems.append(
                Problem("P005", f"expected a category of {name!r}, got none", span, hint)
            )
        for one in names:
            found[one] = found.get(one, frozenset()) | {category}
    if problems:
        raise GenieError(problems, sources={str(path): text})
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()
