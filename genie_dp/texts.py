"""Reads the text files that users write."""

import codecs
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span


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


def is_whole(text: str) -> bool:
    r"""Tell whether a text has no half characters, which JSON can say and UTF-8 cannot.

    >>> is_whole("caf\u00e9"), is_whole("\ud83d")
    (True, False)
    """
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _undecodable(file: str, data: bytes, position: int, code: str) -> GenieError:
    before = _lines(data[:position].decode("utf-8"))
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    what = "UTF-16 text" if utf16 else f"byte 0x{data[position]:02X}"
    return GenieError(
        Problem(
            code,
            f"expected UTF-8 text, got {what}",
            Span(file, line, column, line, column + 1),
            "save the file as UTF-8",
            stage="syntax",
        ),
        sources={file: _lines(data.decode("utf-8", errors="replace"))},
    )
