"""Programs of lines and rows: mistakes with their places, functions, and outlines without texts."""

import codecs
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Generic, TypeVar

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.records import Example

Answer = dict[str, Any]
"""What is said of a program: {"ok": true, ..} or {"ok": false, "errors": [..]}."""

_FIELDS = ("code", "message", "line", "column", "hint", "stage")

# What says the opposite of each other in a program, one by one.
POLES = (
    (">=", "<="), (">", "<"), ("true", "false"), ("on", "off"), ("open", "close"),
    ("opened", "closed"), ("lock", "unlock"), ("locked", "unlocked"), ("enable", "disable"),
    ("start", "stop"), ("increase", "decrease"), ("up", "down"), ("max", "min"), ("asc", "desc"),
    ("above", "below"), ("before", "after"), ("arm", "disarm"), ("mute", "unmute"),
    ("add", "remove"),
)  # fmt: skip


def check_types(program: Any, language: Language, library: Any) -> Any:
    """Return a program as it is; raise GenieError with all of its type mistakes."""
    errors = [p for p in language.check(program, library) if p.severity == "error"]
    if errors:
        raise GenieError(errors)
    return program


def answer_lines(
    lines: Iterable[bytes], answer: Callable[[str, str], Answer], file: str
) -> Iterator[Answer]:
    """Yield the answer for the program of each line; empty lines and `//` are left out.

    Args:
        lines: of the file.
        answer: takes a program's text and the name of its file; returns the fields of its answer.
        file: its name, for mistakes.
    """
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            text = _decode(line, file).rstrip("\r\n")
            if not text.strip() or text.lstrip().startswith("//"):
                continue
            yield {"ok": True, **answer(text, file)}
        except GenieError as error:
            # The line of a mistake is that of the program in its file.
            rows = ({**problem.as_dict(), "line": number} for problem in error.problems)
            errors = [{name: row[name] for name in _FIELDS} for row in rows]
            yield {"ok": False, "errors": errors}


def _decode(line: bytes, file: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode("utf-8")) + 1
        message = f"expected UTF-8 text, got byte 0x{line[error.start]:02X}"
        place = Span(file, 1, column, 1, column + 1)
        hint = "save the programs as UTF-8"
        raise GenieError(Problem("R003", message, place, hint, stage="syntax")) from None


# 100,000 augmented rows have some 30,000, of half a kilobyte each.
_MOST_OUTLINES = 50_000

Told = TypeVar("Told")


class ByOutline(Generic[Told]):
    """Results computed once for all programs that differ in nothing but their texts."""

    def __init__(self, language: Language, work: Callable[[str], tuple[str, Told]]):
        """Keep a function from a token form to another one and to a result that no text changes."""
        self._form = language.form
        self._work = lru_cache(maxsize=_MOST_OUTLINES)(work)

    def __call__(self, program: str) -> tuple[str, Told]:
        """Return both for a program in token form; exceptions of `work` pass through."""
        outline, texts = self._form(program).outline
        result, rest = self._work(outline)
        # Most programs are as they should be.
        return program if result == outline else self._form(result).with_texts(texts).text, rest


def functions_of(row: Example) -> tuple[str, ...]:
    """Return the functions of a row; rows of TSV, and those that people wrote, may not name them.

    >>> functions_of(Example("S0", "beep", "now => @c.beep"))
    ('@c.beep',)
    >>> functions_of(Example("S0", "beep", "( beep ( twice ) )", "sexpr"))
    ('beep', 'twice')
    """
    if row.functions:
        return row.functions
    try:
        return get_language(row.language).form(row.program).functions
    except GenieError:
        return ()  # no program, or none that can be read
