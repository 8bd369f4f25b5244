"""How the rows of a work folder become the output, once they are complete."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from genie_dp.cli.output import check_output
from genie_dp.cli.row_files import write_rows
from genie_dp.dataset.formats import check_parquet, format_of, lines_of
from genie_dp.errors import GenieError, Problem


def local_target(output: str) -> Path | None:
    """Return the local file of an output, or None for stdout and URLs.

    >>> local_target("s3://bucket/pairs.jsonl") is None
    True
    """
    return None if output == "-" or "://" in output else Path(output)


def rows_format(
    output: str, format: str | None, *, what: str, needs_file: Iterable[str] = ()
) -> str:
    """Return the format of an output: the given one, or the one that its name says.

    Args:
        what: the stem of the file that hints propose, such as "pairs".
        needs_file: options in use that standard output does not go with.

    Raises:
        GenieError: it could not be written when all work is done (R002, R004, R013, Y023, Y024).
    """
    check_output(output)
    found = format or format_of(output)
    problems = []
    if output == "-" and found == "parquet":
        hint = f"give a file with --output {what}.parquet"
        problems.append(Problem("Y023", "Parquet cannot be written to a pipe", hint=hint))
    for name in needs_file if output == "-" else ():
        hint = f"give one with --output {what}.jsonl"
        problems.append(Problem("Y024", f"--{name} needs the rows in a file", hint=hint))
    if problems:
        raise GenieError(problems)
    if found == "parquet":
        check_parquet()
    return found


def refuse_or_clear(target: Path | None, work: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse an output that exists (Y022); with `overwrite` clear what an earlier run left."""
    # A run that was let in goes on, even if its file is there and its manifest is not.
    goes_on = resume and work.exists()
    if target is not None and target.exists() and not (overwrite or goes_on):
        hint = "give another --output, or --overwrite"
        raise GenieError(Problem("Y022", f"{target} exists already", hint=hint))
    if overwrite:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def interruptible(work: Path) -> Iterator[None]:
    """Say how to go on when the run is interrupted: the work folder stays."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"what was done so far is in {work}; go on with --resume", err=True)
        raise


def deliver(rows: Path, made: str, output: str, format: str) -> None:
    """Write the lines of a work file, of the format `made`, to the output in `format`."""
    target = local_target(output)
    if target is None or format != made or not format_is_plain(output):
        with lines_of(rows) as lines:
            write_rows(lines, made, output, format)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    done = rows.with_suffix(".done")
    done.unlink(missing_ok=True)
    # A second name, not a move: a run killed before its manifest is written finds its rows again.
    try:
        os.link(rows, done)
    except OSError:
        shutil.copyfile(rows, done)
    done.replace(target)


def format_is_plain(output: str) -> bool:
    """Tell whether an output is not compressed.

    >>> format_is_plain("a.jsonl"), format_is_plain("a.jsonl.gz")
    (True, False)
    """
    return not output.endswith((".gz", ".bz2", ".xz"))
