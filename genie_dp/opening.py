"""What may be wrong with a file or URL that smart-open is to read, and what helps."""

import lzma
import zlib

from genie_dp.errors import Problem

# What gzip and xz say of a file that is cut off or none of theirs; bzip2 an OSError without number.
BROKEN = (EOFError, zlib.error, lzma.LZMAError)
# All that reading through smart_open.open raises where the file is at fault, or the installation.
UNREADABLE = (OSError, *BROKEN, ImportError, NotImplementedError)
# What opening alone raises, too: a URL that lacks a part, such as the user of ftp://host/file.
UNOPENED = (*UNREADABLE, ValueError)
# What smart-open needs beside itself, by scheme.
_EXTRAS = {"http": "http", "https": "http", "s3": "s3", "gs": "gcs", "azure": "azure", "ssh": "ssh"}


def is_url(path: str) -> bool:
    """Tell whether a path is a URL, for smart-open.

    >>> is_url("https://example.com/songs.tsv"), is_url("lists/songs.tsv")
    (True, False)
    """
    return "://" in path


def unreadable(path: str, error: Exception, *, code: str) -> Problem:
    """Return the problem of a file or URL that raised one of UNOPENED."""
    message = f"cannot read {path}: {why_unreadable(path, error)}"
    return Problem(code, message, hint=hint_unreadable(path, error))


def why_unreadable(path: str, error: Exception) -> str:
    """Return what is wrong, in words that hold nothing of the file.

    >>> why_unreadable("rows.jsonl", FileNotFoundError(2, "No such file or directory"))
    'No such file or directory'
    >>> why_unreadable("rows.jsonl.zst", ModuleNotFoundError("No module named 'backports'"))
    'a library for it is not installed'
    """
    if isinstance(error, ImportError):
        return "a library for it is not installed"
    if isinstance(error, NotImplementedError):
        return f"nothing reads {path.partition('://')[0]}:// URLs"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, OSError | ValueError) and is_url(path):
        return str(error).split("\n")[0] or type(error).__name__
    return "it is broken, or not compressed as its name says"


def hint_unreadable(path: str, error: Exception) -> str:
    """Return what helps.

    >>> hint_unreadable("rows.jsonl.zst", ImportError())
    "pip install 'smart-open[zst]', or unpack it before"
    >>> hint_unreadable("s3://bucket/rows.jsonl", ImportError())
    "pip install 'smart-open[s3]'"
    """
    if isinstance(error, ImportError):
        extra = _EXTRAS.get(path.partition("://")[0]) if is_url(path) else None
        zst = "pip install 'smart-open[zst]', or unpack it before"
        return f"pip install 'smart-open[{extra}]'" if extra else zst
    if is_url(path):
        return "look whether it opens; smart-open reads http, https, s3, gs, azure, ssh and file"
    if isinstance(error, OSError) and error.errno is not None:
        return "give another file"
    return "its name says how it is compressed; it may be incomplete: fetch or write it again"
