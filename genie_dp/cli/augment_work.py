"""The work folder of a run of augment: rows so far, and a journal to go on from.

A block is in the run when its line is in the journal; what lies behind it was written by a run that
was killed in between, and is cut off.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from genie_dp.augment.engine import Block
from genie_dp.augment.run import Tally
from genie_dp.synthesis.checkpoint import enter_work, last_line, open_cut


@dataclass(slots=True)
class WorkFolder:
    """An open work folder; `done` blocks are in it."""

    path: Path
    rows: BinaryIO
    journal: BinaryIO
    done: int
    tally: Tally

    def add(self, block: Block) -> None:
        """Append the rows of the next block, then say so in the journal."""
        self.tally.add(block)
        self.rows.write(block.text)
        self.rows.flush()
        self.done += 1
        line = {"done": self.done, "bytes": self.rows.tell(), "tally": self.tally.as_dict()}
        self.journal.write(json.dumps(line).encode() + b"\n")
        self.journal.flush()

    def close(self) -> None:
        """Close both files; the folder stays."""
        self.rows.close()
        self.journal.close()


def open_work(path: Path, settings: dict[str, Any], *, resume: bool) -> WorkFolder:
    """Return the work folder: a new one, or with `resume` the one there as far as it got.

    Raises:
        GenieError: another run's settings lie there (Y020); there is work, and neither resume nor
            a clean start was asked for (Y021); rows are lost (Y026).
    """
    enter_work(path, settings, resume=resume)
    last = last_line(path / "journal.jsonl")
    rows = open_cut(path / "rows", last["bytes"] if last else 0)
    journal = open(path / "journal.jsonl", "ab")  # noqa: SIM115 - closed by WorkFolder.close
    tally = Tally.from_dict(last["tally"]) if last else Tally()
    return WorkFolder(path, rows, journal, last["done"] if last else 0, tally)
