"""Files of JSON objects, one a line, and of columns between tabs, with places for mistakes."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.run.files import opened_text
from genie_dp.texts import is_whole


def objects(
    path: str, needed: Sequence[str], *, known: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file or URL with their line numbers.

    Args:
        needed: keys that must be there, of texts; an id may be a number, too.
        known: keys that may be there, of texts.

    Raises:
        GenieError: a line that is no object, lacks a key, or has no text there (D020).
    """
    with opened_text(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                found = json.loads(line)
            except json.JSONDecodeError as error:
                raise _problem(path, number, f"no JSON: {error.msg}", error.colno) from None
            except (ValueError, RecursionError) as error:  # beyond what Python reads
                raise _problem(path, number, f"no JSON: {error}") from None
            lost = [key for key in needed if not isinstance(found, dict) or key not in found]
            if lost:
                raise _problem(path, number, f"expected {', '.join(map(repr, lost))} in the object")
            for key in (*needed, *(key for key in known if found.get(key) is not None)):
                if key == "id" and type(found[key]) is int:
                    found[key] = str(found[key])
                if type(found[key]) is not str or not is_whole(found[key]):
                    message = f"expected text as {key!r}, got {ascii(found[key])[:40]}"
                    raise _problem(path, number, message)
            yield number, found


def columns(path: str, count: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each line of a file or URL, with line numbers.

    Raises:
        GenieError: a line with fewer columns (D020).
    """
    with opened_text(path) as lines:
        for number, line in enumerate(lines, 1):
            found = line.rstrip("\n").split("\t")
            if len(found) < count:
                message = f"expected {count} columns between tabs, got {len(found)}"
                raise _problem(path, number, message)
            yield number, found


def _problem(path: str, line: int, message: str, column: int = 1) -> GenieError:
    span = Span(path, line, column, line, column + 1)
    return GenieError(Problem("D020", message, span, "is --from the right one?", stage="syntax"))
