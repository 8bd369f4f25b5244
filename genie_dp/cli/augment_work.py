"""What a run of augment has made so far: its rows, and how far it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.augment.engine import Block
from genie_dp.augment.run import Tally
from genie_dp.run.work import WorkFolder, open_work


@dataclass(slots=True)
class RowsSoFar:
    """The work folder of a run; `done` blocks are in it."""

    work: WorkFolder
    done: int
    tally: Tally

    def add(self, block: Block) -> None:
        """Append the rows of the next block, then say so in the journal."""
        self.tally.add(block)
        self.work.files["rows"].write(block.text)
        self.done += 1
        self.work.commit(done=self.done, tally=self.tally.as_dict())


def open_rows(path: Path, settings: dict[str, Any], *, resume: bool) -> RowsSoFar:
    """Return the rows in a work folder: none, or with `resume` those of the run that lies there.

    Raises:
        GenieError: those of `open_work`.
    """
    work = open_work(path, settings, resume=resume)
    tally = Tally.from_dict(work.last["tally"]) if work.last else Tally()
    return RowsSoFar(work, work.last.get("done", 0), tally)
