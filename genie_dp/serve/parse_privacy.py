"""Logs without what people typed: of an error, its kind and the lines of code it went through."""

import logging
import traceback
from types import TracebackType

_LOGGERS = ("uvicorn.error", "asyncio")
_Error = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class WithoutTexts(logging.Filter):
    """Takes messages off errors before they are written: they may quote a sentence."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record, with its error told by `outline`."""
        if isinstance(record.exc_info, tuple):
            # One string, so that what it quotes is never taken for a format.
            record.msg, record.args = "%s", (f"a request failed\n{outline(record.exc_info)}",)
            record.exc_info = record.exc_text = None
        return True


def outline(error: _Error) -> str:
    """Return where an error came from and of what kind it is, without its message.

    >>> outline((ValueError, ValueError("my secret"), None))
    'ValueError'
    """
    kind, value, trace = error
    frames = "".join(traceback.format_tb(trace))
    name = kind.__name__ if kind is not None else "error"
    cause = value.__cause__ if value is not None else None
    before = ""
    if cause is not None:
        before = outline((type(cause), cause, cause.__traceback__)) + "\nled to\n"
    return f"{before}{frames}{name}"


def keep_texts_out_of_logs() -> None:
    """Have the loggers of the server write errors by `outline`."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(f, WithoutTexts) for f in logger.filters):
            logger.addFilter(WithoutTexts())
