"""The folders of a private run: its work, and the output that the work becomes."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.cli.delivery import interruptible
from genie_dp.cli.output_folder import FolderKind, refuse_output
from genie_dp.errors import GenieError
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

    def refuse_output(self, kind: FolderKind) -> None:
        """Refuse an output that exists; with --overwrite clear what an earlier run left.

        Raises:
            GenieError: those of `refuse_output`.
        """
        resume, overwrite = self.options["resume"], self.options["overwrite"]
        refuse_output(self.output, self.work, kind, resume=resume, overwrite=overwrite)


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
