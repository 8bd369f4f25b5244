"""Files and URLs, compressed or not: read with errors that help, written whole or not at all."""

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BufferedIOBase, BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from genie_dp.errors import GenieError, Problem, Span

REPLACE_HINT = "give another --output, or --overwrite"
# What gzip and xz say of a file that is cut off or none of theirs; bzip2 an OSError without number.
BROKEN = (EOFError, zlib.error, lzma.LZMAError)
# All that reading through smart_open.open raises where the file is at fault, or the installation.
UNREADABLE = (OSError, *BROKEN, ImportError, NotImplementedError)
# What opening alone raises, too: a URL that lacks a part, such as the user of ftp://host/file.
UNOPENED = (*UNREADABLE, ValueError)
# What smart-open needs beside itself, by scheme.
_EXTRAS = {"http": "http", "https": "http", "s3": "s3", "gs": "gcs", "azure": "azure", "ssh": "ssh"}


def is_url(path: str) -> bool:
    """Return whether a path is a URL, for smart-open.

    >>> is_url("https://example.com/songs.tsv"), is_url("lists/songs.tsv")
    (True, False)
    """
    return "://" in path


def unreadable(path: str, error: Exception, *, code: str) -> Problem:
    """Return the problem of a file or URL that raised one of UNOPENED."""
    message = f"cannot read {path}: {why_unreadable(path, error)}"
    return Problem(code, message, hint=hint_unreadable(path, error))


def why_unreadable(path: str, error: Exception) -> str:
    """Return the message, without any content of the file.

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
    """Return the hint.

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


# ------------------------------------------------------------------------------ reading


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """Open a file or URL for reading bytes, unpacked by its suffix.

    Raises:
        GenieError: it was cut off, is not compressed as its name implies, or is a URL that does not
            open (R001), now or later.
        OSError: a local file cannot be read.
    """
    import smart_open

    with _refuse_unreadable(path, UNOPENED):
        lines = smart_open.open(path, "rb")
    with lines, _refuse_unreadable(path, (*BROKEN, OSError)):
        yield lines


@contextmanager
def _refuse_unreadable(path: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except errors as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise GenieError(unreadable(path, error, code="R001")) from None


@contextmanager
def open_input_text(path: str, *, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a file or URL for reading text, unpacked by its suffix.

    Raises:
        GenieError: it cannot be unpacked (R001), or is no UTF-8 (R003), now or later.
    """
    with open_input(path) as raw:
        try:
            yield TextIOWrapper(cast("BinaryIO", raw), encoding="utf-8", newline=newline)
        except UnicodeDecodeError as error:
            message = f"expected UTF-8 text in {path}, got byte 0x{error.object[error.start]:02X}"
            hint = "save the file as UTF-8"
            raise GenieError(Problem("R003", message, hint=hint, stage="syntax")) from None


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of the contents of a file or URL, unpacked."""
    digest = hashlib.sha256()
    with open_input(str(path)) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def hash_of_files(root: Path, paths: Iterable[Path]) -> str:
    """Return the SHA-256 of files below a folder, their names included, in the order they come."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def no_text(error: UnicodeDecodeError, file: str, line: int) -> GenieError:
    """Return the message about a line that is no UTF-8."""
    column = len(error.object[: error.start].decode("utf-8", errors="replace")) + 1
    message = f"expected UTF-8 text, got byte 0x{error.object[error.start]:02X}"
    place = Span(file, line, column, line, column + 1)
    return GenieError(Problem("R003", message, place, "save the file as UTF-8", stage="syntax"))


# ------------------------------------------------------------------------------ writing

_COMPRESSORS: Mapping[str, Callable[[BinaryIO], BufferedIOBase]] = {
    ".gz": lambda raw: gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
}
# Smart-open reads some of these; a file of that name that is not compressed would fool everybody.
_NOT_WRITTEN = (".zst", ".zip", ".lz4", ".7z", ".Z")
_READ_ONLY = ("http", "https")


def local_target(output: str) -> Path | None:
    """Return the local file of an output, or None for stdout and URLs.

    >>> local_target("s3://bucket/pairs.jsonl") is None
    True
    """
    return None if output == "-" or "://" in output else Path(output)


def format_is_plain(output: str) -> bool:
    """Return whether an output is not compressed.

    >>> format_is_plain("a.jsonl"), format_is_plain("a.jsonl.gz")
    (True, False)
    """
    return not output.endswith((".gz", ".bz2", ".xz"))


def check_output(target: str) -> None:
    """Refuse an output that could not be written when all work is done.

    Raises:
        GenieError: no name, a folder or a device, a compression that is not written, or a URL that
            nothing here writes.
    """
    if target == "-":
        return
    _check_suffix(target)
    if is_url(target):
        _check_url(target)
        return
    path = Path(target)
    if not path.name or (path.exists() and not path.is_file()):
        hint = "name a file, or - for standard output"
        raise GenieError(Problem("R004", f"expected a file to write, got {target!r}", hint=hint))


def _check_suffix(name: str) -> None:
    suffix = Path(name).suffix
    if suffix in _NOT_WRITTEN:
        hint = f"use {', '.join(_COMPRESSORS)}, or leave {suffix} out"
        raise GenieError(Problem("R002", f"cannot write {suffix} files: {name}", hint=hint))


def _check_url(target: str) -> None:
    from smart_open.transport import get_transport

    scheme = target.partition("://")[0]
    try:
        if scheme in _READ_ONLY:
            raise NotImplementedError
        get_transport(scheme)
    except (ImportError, NotImplementedError) as error:
        raise GenieError(_unwritable(target, error)) from None


def _unwritable(target: str, error: Exception) -> Problem:
    """Return the problem of a URL that smart-open does not write."""
    if isinstance(error, NotImplementedError):
        message = f"nothing writes {target.partition('://')[0]}:// URLs: {target}"
        return Problem("R004", message, hint="write a file, s3://, gs://, azure:// or ssh://")
    if isinstance(error, ImportError):
        why, hint = why_unreadable(target, error), hint_unreadable(target, error)
    else:
        why = str(error).split("\n")[0] or type(error).__name__
        hint = "look whether the place exists and may be written"
    return Problem("R004", f"cannot write {target}: {why}", hint=hint)


@contextmanager
def open_bytes(target: str) -> Iterator[BinaryIO]:
    """Open an output for bytes: a path, a URL that smart-open knows, or "-" for stdout.

    The suffix implies the compression (.gz, .bz2, .xz). A local file gets its name when the block
    ends well; when it raises, nothing is left. Equal content gives equal bytes.
    """
    if target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif is_url(target):
        # Compressed here, for gzip's header would carry the time.
        with _remote(target) as raw, _compress(raw, target) as out:
            yield out
    else:
        with _local(Path(target)) as out:
            yield out


@contextmanager
def open_text(target: str) -> Iterator[IO[str]]:
    """Open an output for UTF-8 text with `\\n` line ends; see `open_bytes`."""
    with open_bytes(target) as out:
        text = TextIOWrapper(out, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield text
            text.flush()
        finally:
            text.detach()


@contextmanager
def _local(path: Path) -> Iterator[BinaryIO]:
    path.parent.mkdir(parents=True, exist_ok=True)
    # The process number keeps two runs apart that write one file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with NamedFile.open(temporary, "wb", path) as raw, _compress(raw, path.name) as out:
            yield out
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# What a write says that fails; it knows no name of the file.
DISK_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class NamedFile(FileIO):
    """A file whose errors name it, also those of writing, to which Python gives no name.

    Attributes:
        shown: the name in errors.
    """

    shown: str

    @classmethod
    def open(cls, path: Path, mode: str, shown: Path | None = None) -> BinaryIO:
        """Return a buffered file to write; `shown` is its name in errors."""
        raw = cls(path, mode)
        raw.shown = str(shown or path)
        return cast("BinaryIO", BufferedWriter(raw))

    def write(self, content: Any, /) -> int:
        """Write bytes; return their number."""
        with named_trouble(self.shown):
            return super().write(content) or 0


@contextmanager
def named_trouble(name: str | Path) -> Iterator[None]:
    """Add a name to errors of a full disk in this block, where it names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in DISK_TROUBLE:
            error.filename = str(name)
        raise


def _remote(target: str) -> BinaryIO:
    import smart_open

    try:
        return smart_open.open(target, "wb", compression="disable")
    except Exception as error:  # noqa: BLE001 - each cloud's library raises its own
        raise GenieError(_unwritable(target, error)) from None


@contextmanager
def _compress(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    _check_suffix(name)
    wrap = _COMPRESSORS.get(Path(name).suffix)
    if wrap is None:
        yield raw
        return
    with wrap(raw) as out:
        yield cast("BinaryIO", out)


@contextmanager
def for_owner_alone() -> Iterator[None]:
    """Let files that are made in this block be private to the user."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def refuse_overlap(
    outputs: Iterable[str | Path | None], inputs: Iterable[str | Path | None]
) -> None:
    """Refuse an output that is an input or a folder with one in it, or is named twice (D027).

    `--overwrite` is about the output of an earlier run; rows that are being read are never meant.

    Args:
        outputs: files or folders to be written; None, "-" and URLs are ignored.
        inputs: files, folders or URLs to be read; None is ignored.
    """
    read = {path: name for name in inputs if (path := _resolve_local(name)) is not None}
    written: set[Path] = set()
    for name in outputs:
        path = _resolve_local(name)
        if path is None:
            continue
        if path in written:
            _overlaps(f"{name} is two of the outputs", "give each a name of its own")
        for read_path, input_name in read.items():
            if read_path == path:
                _overlaps(f"{name} is the input", "name another output")
            if read_path.is_relative_to(path):
                _overlaps(f"{name} holds the input {input_name}", "name another output")
        written.add(path)


def _resolve_local(name: object) -> Path | None:
    if name is None or str(name) in ("", "-") or "://" in str(name):
        return None
    return Path(str(name)).resolve()


def _overlaps(message: str, hint: str) -> None:
    raise GenieError(Problem("D027", message, hint=hint))


def exists_error(target: Path, *, code: str = "Y022", hint: str = REPLACE_HINT) -> GenieError:
    """Return the error of an output that is there already."""
    return GenieError(Problem(code, f"{target} exists already", hint=hint))
