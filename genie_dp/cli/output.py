"""What commands write: problems, files that appear when complete, progress on a terminal."""

import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BufferedIOBase, TextIOWrapper
from pathlib import Path
from typing import IO, BinaryIO, Literal, TypeVar, cast

import click

from genie_dp.errors import GenieError, Problem, problems_as_json, render_problem
from genie_dp.opening import hint_unreadable, is_url, why_unreadable

Format = Literal["text", "json"]
Row = TypeVar("Row")

_COMPRESSORS: Mapping[str, Callable[[BinaryIO], BufferedIOBase]] = {
    ".gz": lambda raw: gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
}
# Smart-open reads some of these; a file of that name that is not compressed would fool everybody.
_NOT_WRITTEN = (".zst", ".zip", ".lz4", ".7z", ".Z")
_READ_ONLY = ("http", "https")


def show_problems(
    problems: Iterable[Problem],
    sources: Mapping[str, str] | None = None,
    *,
    format: Format = "text",
) -> None:
    """Print problems for a person on stderr, or as one JSON array on stdout."""
    if format == "json":
        click.echo(problems_as_json(problems))
        return
    for problem in problems:
        click.echo(render_problem(problem, sources), err=True)


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

    The suffix says how it is compressed (.gz, .bz2, .xz). A local file gets its name when the block
    ends well; when it raises, nothing is left. Equal content gives equal bytes.
    """
    if target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif is_url(target):
        # Compressed here, for gzip's header would carry the time.
        with _remote(target) as raw, _compressed(raw, target) as out:
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
        with temporary.open("wb") as raw, _compressed(raw, path.name) as out:
            yield out
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _remote(target: str) -> BinaryIO:
    import smart_open

    try:
        return smart_open.open(target, "wb", compression="disable")
    except Exception as error:  # noqa: BLE001 - each cloud's library raises its own
        raise GenieError(_unwritable(target, error)) from None


@contextmanager
def _compressed(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    _check_suffix(name)
    wrap = _COMPRESSORS.get(Path(name).suffix)
    if wrap is None:
        yield raw
        return
    with wrap(raw) as out:
        yield cast("BinaryIO", out)


@contextmanager
def progress(
    rows: Iterable[Row], *, label: str, total: int | None = None
) -> Iterator[Iterable[Row]]:
    """Show how many rows went by, on stderr and only where that is a terminal.

    with progress(rows, label="pairs", total=1000) as counted:
        for row in counted: ..
    """
    if not sys.stderr.isatty():
        yield rows
        return
    with click.progressbar(
        rows, length=total, label=label, show_pos=True, file=sys.stderr, update_min_steps=100
    ) as bar:
        yield bar
