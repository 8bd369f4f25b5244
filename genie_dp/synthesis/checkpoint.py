"""The work folder of a run: rows so far, their hashes, and a journal to go on from.

A block is in the run when its line is in the journal. What is found behind the last line, of rows
or hashes, was written by a run that was killed in between, and is cut off.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.synthesis.run import Part, Tally
from genie_dp.synthesis.seen import Seen


@dataclass(slots=True)
class WorkFolder:
    """An open work folder."""

    path: Path
    rows: BinaryIO
    hashes: BinaryIO
    journal: BinaryIO
    ambiguous: BinaryIO
    next_position: int
    tally: Tally
    seen: Seen

    def add(self, part: Part, position: int) -> None:
        """Append the rows of a block, then say so in the journal."""
        part.write(self.rows, self.ambiguous)
        np.stack([part.sentences, part.programs], axis=1).tofile(self.hashes)
        for file in (self.rows, self.hashes, self.ambiguous):
            file.flush()
        line = {
            "position": position,
            "bytes": self.rows.tell(),
            "hashes": self.hashes.tell(),
            "ambiguous_bytes": self.ambiguous.tell(),
            "tally": self.tally.as_dict(),
        }
        self.journal.write(json.dumps(line).encode() + b"\n")
        self.journal.flush()

    def close(self) -> None:
        """Close all files; the folder stays."""
        for file in (self.rows, self.hashes, self.journal, self.ambiguous):
            file.close()


def work_folder_of(target: Path) -> Path:
    """Return where the work of an output lies until it is complete.

    Raises:
        GenieError: the output has no name beside which that could be (R004).
    """
    if target.name in ("", ".."):
        hint = "give it a name, such as made/it"
        message = f"expected an output with a name, got {str(target)!r}"
        raise GenieError(Problem("R004", message, hint=hint))
    return target.with_name(f".{target.name}.work")


def open_work(path: Path, settings: dict[str, Any], *, resume: bool) -> WorkFolder:
    """Return the work folder: a new one, or with `resume` the one there as far as it got.

    Raises:
        GenieError: another run's settings lie there (Y020); there is work, and neither resume nor
            a clean start was asked for (Y021).
    """
    enter_work(path, settings, resume=resume)
    return _open(path)


def enter_work(path: Path, settings: dict[str, Any], *, resume: bool) -> None:
    """Make a work folder of these settings, or let in to the one that is there.

    Raises:
        GenieError: as `open_work`.
    """
    known = path / "settings.json"
    if known.exists():
        if not resume:
            hint = "go on with --resume, or start again with --overwrite"
            raise GenieError(Problem("Y021", f"an unfinished run lies in {path}", hint=hint))
        _compare(json.loads(known.read_text()), settings, path)
    else:
        path.mkdir(parents=True, exist_ok=True)
        temporary = path / "settings.json.new"
        temporary.write_text(json.dumps(settings, indent=2, sort_keys=True))
        temporary.replace(known)


def _compare(old: dict[str, Any], new: dict[str, Any], path: Path) -> None:
    names = differing(old, new)
    if names:
        message = f"the unfinished run in {path} has other settings: {', '.join(names)}"
        hint = "give the same settings and inputs, or start again with --overwrite"
        raise GenieError(Problem("Y020", message, hint=hint))


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of settings that two runs do not share.

    >>> differing({"shard": [0, 2], "config": {"seed": 1}}, {"config": {"seed": 2}})
    ['config seed', 'shard']
    """
    found: list[str] = []
    for name in sorted(one.keys() | other.keys()):
        a, b = one.get(name), other.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found.extend(f"{name} {inner}" for inner in differing(a, b))
        elif a != b:
            found.append(name)
    return found


def _open(path: Path) -> WorkFolder:
    last = last_line(path / "journal.jsonl")
    files = []
    for name, size in (("rows", "bytes"), ("hashes", "hashes"), ("ambiguous", "ambiguous_bytes")):
        files.append(open_cut(path / name, last[size] if last else 0))
    journal = open(path / "journal.jsonl", "ab")  # noqa: SIM115
    tally, seen, position = Tally(), Seen(), 0
    if last:
        tally = Tally.from_dict(last["tally"])
        pairs = np.fromfile(path / "hashes", np.uint64).reshape(-1, 2)
        seen.add(pairs[:, 0].copy(), pairs[:, 1].copy())
        position = last["position"] + 1
    return WorkFolder(path, files[0], files[1], journal, files[2], position, tally, seen)


def open_cut(path: Path, size: int) -> BinaryIO:
    """Return a file to append to, without what the journal does not know.

    Raises:
        GenieError: what the journal knows is not there (Y026).
    """
    file = path.open("ab")
    if file.tell() < size:
        file.close()
        hint = "start again with --overwrite"
        raise GenieError(Problem("Y026", f"{path} is shorter than it was", hint=hint))
    if file.tell() > size:  # ext4 writes a file out when it is closed if it was ever cut to nothing
        file.truncate(size)
        file.seek(0, os.SEEK_END)
    return file


def distinct_programs(path: Path) -> int:
    """Return how many different programs the rows of a work folder have, in 8 bytes a row."""
    file = path / "hashes"
    if not file.stat().st_size:
        return 0
    programs = np.memmap(file, np.uint64, "r")[1::2].copy()
    programs.sort()
    return int(np.count_nonzero(programs[1:] != programs[:-1])) + 1


def last_line(journal: Path) -> dict[str, Any] | None:
    """Return the last whole line of a journal and cut off what is behind it."""
    if not journal.exists():
        return None
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) != len(content):
        journal.write_bytes(whole)
    lines = whole.splitlines()
    return json.loads(lines[-1]) if lines else None
