"""The folders of a private run: its work, and the output that the work becomes."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.cli.delivery import interruptible, refuse_or_clear
from genie_dp.errors import GenieError, Problem
from genie_dp.synthesis.checkpoint import enter_work, work_folder_of


@dataclass(frozen=True, slots=True)
class FolderJob:
    """What one call of a command asks for whose output is a folder."""

    options: Mapping[str, Any]

    @property
    def output(self) -> Path:
        """Return where everything goes."""
        path: Path = self.options["output"]
        return path

    @property
    def work(self) -> Path:
        """Return where the run lies until it is complete."""
        return work_folder_of(self.output)


@dataclass(frozen=True, slots=True)
class FolderKind:
    """How a folder of one command is known, and what is said of one that is another.

    Attributes:
        file: is in each of them.
        mark: text that this file has.
        name: what the folder is none of.
        code: of the error.
    """

    file: str
    mark: str
    name: str
    code: str

    def has(self, folder: Path) -> bool:
        """Tell whether a folder is of this kind."""
        file = folder / self.file
        return file.is_file() and self.mark in file.read_text(encoding="utf-8")


def refuse_output(job: FolderJob, kind: FolderKind) -> None:
    """Refuse an output that exists; with --overwrite clear what an earlier run left.

    Raises:
        GenieError: it exists (Y022), or would be replaced and is of another kind (its code).
    """
    replaces = job.options["overwrite"] or (job.options["resume"] and job.work.exists())
    if replaces and job.output.exists() and not kind.has(job.output):
        message = f"{job.output} is no {kind.name}, so --overwrite leaves it alone"
        raise GenieError(Problem(kind.code, message, hint="give another --output"))
    refuse_or_clear(
        job.output, job.work, resume=job.options["resume"], overwrite=job.options["overwrite"]
    )


@dataclass(slots=True)
class Work:
    """The work folder of a run that is under way."""

    is_kept: bool

    def keep(self) -> None:
        """Keep it whatever happens: something is learned, or spent, that a resumed run needs."""
        self.is_kept = True


@contextmanager
def begun(path: Path, settings: Mapping[str, Any], *, resume: bool) -> Iterator[Work]:
    """Enter the work folder of a run; a new one goes when the run is refused before it is kept.

    Args:
        path: the folder.
        settings: all that a resumed run must share.
        resume: whether an interrupted run goes on.

    Raises:
        GenieError: those of `enter_work`.
    """
    work = Work(is_kept=path.exists())
    # As JSON has them: lists, where there were tuples.
    enter_work(path, json.loads(json.dumps(settings)), resume=resume)
    with interruptible(path):
        try:
            yield work
        except GenieError:
            if not work.is_kept:
                shutil.rmtree(path, ignore_errors=True)
            raise


def put_in_place(made: Path, job: FolderJob) -> None:
    """Give a complete folder its name, in place of the one before, and take the work away."""
    job.output.parent.mkdir(parents=True, exist_ok=True)
    old = job.work / "replaced"
    shutil.rmtree(old, ignore_errors=True)
    if job.output.exists():
        job.output.replace(old)
    made.replace(job.output)
    shutil.rmtree(job.work)
