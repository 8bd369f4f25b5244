"""The common parts of stages: output, progress and result."""

import functools
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from genie_dp.errors import GenieError, Problem
from genie_dp.run.files import REPLACE_HINT, check_output, exists_error, local_target
from genie_dp.run.work import hold, refuse_or_clear, work_folder_of

Row = TypeVar("Row")
Given = ParamSpec("Given")
Made = TypeVar("Made")
_FIRST_LINE, _NEXT_LINE = 10.0, 30.0  # seconds; of progress where there is no terminal


@dataclass(frozen=True, slots=True)
class Output:
    """Where a stage writes, and its treatment of existing output.

    Attributes:
        target: a file, a folder or a URL; "-" is standard output.
        format: of rows, such as "tsv"; None to infer it from the name.
        resume: go on with a run that was interrupted.
        overwrite: replace existing output, and start an interrupted run again.
    """

    target: str
    format: str | None = None
    resume: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that exclude each other.

        Raises:
            GenieError: R041.
        """
        if self.resume and self.overwrite:
            hint = "resume goes on with what is there, overwrite begins again"
            raise GenieError(Problem("R041", "resume and overwrite exclude each other", hint=hint))

    @property
    def path(self) -> Path | None:
        """Return the local file or folder; None for standard output and URLs."""
        return local_target(self.target)

    @property
    def work(self) -> Path:
        """Return the folder where a run lies until it is complete; of a URL it is a local one."""
        return work_folder_of(self.path or Path(self.target.rsplit("/", 1)[-1]))

    def refuse_existing(
        self, *others: str | Path | None, code: str = "Y022", hint: str = REPLACE_HINT
    ) -> None:
        """Refuse files that cannot be written, or exist and are not to be replaced.

        Args:
            others: the outputs beside the target; None and "" are ignored.
            code, hint: of the error that one exists.
        """
        for target in map(str, filter(None, (self.target, *others))):
            check_output(target)
            path = local_target(target)
            if path is not None and path.exists() and not self.overwrite:
                raise exists_error(path, code=code, hint=hint)

    def refuse_or_clear(self) -> None:
        """Refuse an output that exists (Y022); with `overwrite` clear an earlier run.

        An interrupted run that is let in goes on, even where its output exists.
        """
        if self.target != "-":
            refuse_or_clear(self.path, self.work, resume=self.resume, overwrite=self.overwrite)


@contextmanager
def hold_output(output: Output | Path) -> Iterator[None]:
    """Keep other runs away from an output while the block runs (`run.work.hold`).

    Standard output and URLs have no place beside them that could be held.

    Raises:
        GenieError: another run holds it (Y027).
    """
    path = output.path if isinstance(output, Output) else output
    with hold(path) if path is not None else nullcontext():
        yield


def holds_output(run: Callable[Given, Made]) -> Callable[Given, Made]:
    """Return a stage's `run` that keeps other runs away from its `output` (`hold_output`)."""
    signature = inspect.signature(run)

    @functools.wraps(run)
    def run_alone(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        with hold_output(signature.bind(*args, **kwargs).arguments["output"]):
            return run(*args, **kwargs)

    return run_alone


class Result:
    """The result of a stage and its place; printed, it is a short summary."""

    __slots__ = ()
    output: str | None

    @property
    def place(self) -> str:
        """Return where the output went, for people."""
        return "stdout" if self.output in ("-", None) else str(self.output)

    def __init_subclass__(cls) -> None:
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({next(self.lines(), '')[:200]})"

    def in_memory(self) -> Self:
        """Return it without an output, for a caller that keeps no file."""
        return replace(self, output="")  # type: ignore[type-var]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary, beginning with the `findings`."""
        raise NotImplementedError

    def findings(self) -> Iterator[str]:
        """Yield the lines that a command writes to standard output; the others go to stderr."""
        yield from ()

    def __str__(self) -> str:
        return "\n".join(self.lines())


def show_progress(
    rows: Iterable[Row], *, label: str, total: int | None = None, show: bool | None = None
) -> Iterator[Row]:
    """Yield rows, and show their number on stderr.

    A terminal gets a bar; elsewhere there is a line now and then, if work takes long.

    Args:
        label: the step.
        total: how many come, where that is known.
        show: True to show it, False not to; None shows it on a terminal alone.
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield from rows
    elif sys.stderr.isatty():
        with _bar(rows, label, total) as counted:
            yield from counted
    else:
        yield from _with_lines(rows, label, total)


@contextmanager
def _bar(rows: Iterable[Row], label: str, total: int | None) -> Iterator[Iterable[Row]]:
    import click

    with click.progressbar(
        rows, length=total, label=label, show_pos=True, file=sys.stderr, update_min_steps=100
    ) as bar:
        yield bar


def _with_lines(rows: Iterable[Row], label: str, total: int | None) -> Iterator[Row]:
    pace = _Pace()
    of_all = f" of {total:,}" if total is not None else ""
    for count, row in enumerate(rows, 1):
        yield row
        if pace.is_due():
            print(f"{label}: {count:,}{of_all}", file=sys.stderr, flush=True)  # noqa: T201


class _Pace:
    """When a line is due where there is no terminal: soon, and then now and then."""

    def __init__(self) -> None:
        self.due = time.monotonic() + _FIRST_LINE

    def is_due(self) -> bool:
        """Return whether a line is due, which is written then."""
        now = time.monotonic()
        if now < self.due:
            return False
        self.due = now + _NEXT_LINE
        return True


def tell(text: str, *, show: bool | None = None) -> None:
    """Write a line to stderr: with `show` True, or where it is None and there is a terminal."""
    if show or (show is None and sys.stderr.isatty()):
        print(text, file=sys.stderr, flush=True)  # noqa: T201


@dataclass(slots=True)
class _Line:
    """The last line of stderr while work goes on, and when the next is due."""

    text: str = ""
    pace: _Pace | None = None


_LINE = _Line()


def write_over(text: str, *, show: bool | None = None) -> None:
    """Write over the last line of a terminal; elsewhere, write a line now and then.

    A terminal gets the same text once, so that the number of messages does not show.

    Args:
        text: how far work is; "" where it has ended.
        show: True to show it, False not to; None shows it on a terminal alone.
    """
    if sys.stderr.isatty():
        if show is not False and text != _LINE.text:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()
            _LINE.text = text
    elif not text:
        _LINE.pace = None
    elif show:
        _LINE.pace = _LINE.pace or _Pace()
        if _LINE.pace.is_due():
            print(text, file=sys.stderr, flush=True)  # noqa: T201


def write_share(text: str, done: int, total: int, *, show: bool | None = None) -> None:
    """Write over the last line how far work on private rows is, in twentieths: not how many."""
    share = f": {5 * (20 * done // total)} %" if total >= 20 else ""
    write_over(f"{text}{share}", show=show)
