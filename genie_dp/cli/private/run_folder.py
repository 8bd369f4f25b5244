"""The folders of a private run: its work, and the output that the work becomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.run.work import FolderKind, refuse_output, work_folder_of


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
