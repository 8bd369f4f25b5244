"""Reads the text files that users write."""

import codecs
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from genie_dp.errors import GenieError, Problem, Span

# Control characters, but for those that are space to Python; and characters of private use, which
# stand for placeholders while sentences are made (synthesis/pieces.py).
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ue000-\uf8ff]")

# Letters that are no others with a mark.
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ı": "i"})

Paths = Path | str | Sequence[Path | str]
"""One path, or several."""


def paths_of(paths: Paths) -> Sequence[Path | str]:
    """Return the paths that are meant: one is not read letter by letter.

    >>> paths_of("thingpedia")
    ['thingpedia']
    """
    return [paths] if isinstance(paths, Path | str) else paths


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(word_set("at by"))
    ['at', 'by']
    """
    return frozenset(text.split())


def read_text(path: Path | str, *, code: str = "R003") -> str:
    r"""Return a file as text: UTF-8 with or without byte order mark, any line ends as `\n`.

    Args:
        path: the file; spans hold it as it is given.
        code: that of the problem.

    Raises:
        GenieError: the bytes are no UTF-8; the place is that of the first bad one.
        OSError: the file cannot be read.
    """
    data = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _undecodable(str(path), data, error.start, code) from None
    return _lines(text)


class ReadSource(Protocol):
    """How files of skills and templates are read: as `read_source` does.

    An editor gives its unsaved text.
    """

    def __call__(self, path: Path | str, *, code: str) -> str: ...  # noqa: D102


def read_source(path: Path | str, *, code: str) -> str:
    """Return the text of a file of skills or templates, checked by `checked_source`.

    Raises:
        GenieError: the bytes are no UTF-8, or hold a control character or one of private use.
        OSError: the file cannot be read.
    """
    return checked_source(read_text(path, code=code), path, code=code)


def checked_source(text: str, path: Path | str, *, code: str) -> str:
    """Return the text of a file of skills or templates, once it is known to be text.

    Raises:
        GenieError: it holds a control character or one of private use.
    """
    character = _NO_TEXT.search(text)
    if character is None:
        return text
    before = text[: character.start()]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    span = Span(str(path), line, column, line, column + 1)
    message = f"expected text, got the character U+{ord(character.group()):04X}"
    problem = Problem(code, message, span, "nobody sees it: delete it", stage="syntax")
    raise GenieError(problem, sources={str(path): text})


def lines_of(path: Path | str) -> Iterator[str]:
    """Yield the lines of a file, of standard input for "-".

    Raises:
        GenieError, OSError: those of `read_text`.
    """
    yield from lines_of_stdin() if str(path) == "-" else read_text(path).split("\n")


def lines_of_stdin() -> Iterator[str]:
    """Yield the lines of standard input as they come, without their ends.

    Raises:
        GenieError: R003, the bytes of a line are no UTF-8.
    """
    for number, line in enumerate(sys.stdin.buffer, start=1):
        data = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _undecodable("<stdin>", data, error.start, "R003", number) from None
        yield text.rstrip("\r\n")


def without_accents(text: str) -> str:
    """Return a text in small letters with plain ones for those with accents.

    >>> without_accents("são"), without_accents("łódź"), without_accents("größe")
    ('sao', 'lodz', 'grosse')
    """
    letters = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def enum_name(text: str) -> str:
    """Return a text as a value of an enum, as `new skill --from` names it.

    >>> enum_name("House boat"), enum_name("no-show"), enum_name("süß")
    ('house_boat', 'no_show', 'suss')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"[^a-z0-9]+", "_", without_accents(spaced.lower())).strip("_")


def is_whole(text: str) -> bool:
    r"""Return whether a text has no half characters, which JSON can hold and UTF-8 cannot.

    >>> is_whole("caf\u00e9"), is_whole("\ud83d")
    (True, False)
    """
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _undecodable(file: str, data: bytes, position: int, code: str, first: int = 1) -> GenieError:
    """Return the mistakes in bytes that begin at the line `first` of a file."""
    before = _lines(data[:position].decode("utf-8"))
    line, column = before.count("\n") + first, len(before) - before.rfind("\n")
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    got = "UTF-16 text" if utf16 else f"byte 0x{data[position]:02X}"
    return GenieError(
        Problem(
            code,
            f"expected UTF-8 text, got {got}",
            Span(file, line, column, line, column + 1),
            "save the file as UTF-8",
            stage="syntax",
        ),
        sources={file: "\n" * (first - 1) + _lines(data.decode("utf-8", errors="replace"))},
    )
