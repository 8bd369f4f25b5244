"""What a run of synthesis has made so far: rows, their hashes, and what is needed to go on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from genie_dp.run.work import WorkFolder, open_work
from genie_dp.synthesis.parts import Part, Tally
from genie_dp.synthesis.seen import Seen


@dataclass(slots=True)
class RowsSoFar:
    """The work folder of a run, with what its rows say."""

    work: WorkFolder
    next_position: int
    tally: Tally
    seen: Seen

    def add(self, part: Part, position: int) -> None:
        """Append the rows of a block, then say so in the journal."""
        part.write(self.work.files["rows"], self.work.files["ambiguous"])
        np.stack([part.sentences, part.programs], axis=1).tofile(self.work.files["hashes"])
        self.work.commit(position=position, tally=self.tally.as_dict())


def open_rows(path: Path, settings: dict[str, Any], *, resume: bool) -> RowsSoFar:
    """Return the rows in a work folder: none, or with `resume` those of the run that lies there.

    Raises:
        GenieError: those of `open_work`.
    """
    files = ("rows", "hashes", "ambiguous")
    work = open_work(path, settings, resume=resume, files=files)
    tally, seen, position = Tally(), Seen(), 0
    if work.last:
        tally = Tally.from_dict(work.last["tally"])
        pairs = np.fromfile(path / "hashes", np.uint64).reshape(-1, 2)
        seen.add(pairs[:, 0].copy(), pairs[:, 1].copy())
        position = work.last["position"] + 1
    return RowsSoFar(work, position, tally, seen)


def distinct_programs(path: Path) -> int:
    """Return how many different programs the rows of a work folder have, in 8 bytes a row."""
    file = path / "hashes"
    if not file.stat().st_size:
        return 0
    programs = np.memmap(file, np.uint64, "r")[1::2].copy()
    programs.sort()
    return int(np.count_nonzero(programs[1:] != programs[:-1])) + 1
