"""The work folder of a run: what is made so far lies there, until it is complete and gets its name.

A step is in the run when its line is in the journal. What is found behind the last line was written
by a run that was killed in between, and is cut off.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from genie_dp.errors import GenieError, Problem

JOURNAL = "journal.jsonl"


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


@dataclass(slots=True)
class WorkFolder:
    """An open work folder: files that only grow, and a journal that says how far they are good.

    Attributes:
        path: the folder.
        files: name -> file to append to.
        last: what the last step of an interrupted run said of itself; empty at the start.
    """

    path: Path
    files: Mapping[str, BinaryIO]
    journal: BinaryIO
    last: Mapping[str, Any]

    def commit(self, **facts: Any) -> None:
        """Say in the journal that all that was written is in the run, with facts of the step."""
        for file in self.files.values():
            file.flush()
        sizes = {name: file.tell() for name, file in self.files.items()}
        self.journal.write(json.dumps({**facts, "sizes": sizes}).encode() + b"\n")
        self.journal.flush()

    def close(self) -> None:
        """Close all files; the folder stays."""
        for file in (*self.files.values(), self.journal):
            file.close()


def open_work(
    path: Path, settings: Mapping[str, Any], *, resume: bool, files: Sequence[str] = ("rows",)
) -> WorkFolder:
    """Return a work folder with these files: a new one, or with `resume` as far as it got.

    Raises:
        GenieError: those of `enter_work`; what the journal knows is not there (Y026).
    """
    enter_work(path, settings, resume=resume)
    last = last_line(path / JOURNAL) or {}
    sizes = last.get("sizes", {})
    opened = {name: open_cut(path / name, sizes.get(name, 0)) for name in files}
    journal = open(path / JOURNAL, "ab")  # noqa: SIM115 - closed by WorkFolder.close
    return WorkFolder(path, opened, journal, last)


def enter_work(path: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
    """Make a work folder of these settings, or let in to the one that is there.

    Raises:
        GenieError: another run's settings lie there (Y020); there is work, and neither resume nor
            a clean start was asked for (Y021).
    """
    # As JSON has them: lists, where there were tuples.
    settings = json.loads(json.dumps(settings))
    settings_file = path / "settings.json"
    if settings_file.exists():
        if not resume:
            hint = "go on with --resume, or start again with --overwrite"
            raise GenieError(Problem("Y021", f"an unfinished run lies in {path}", hint=hint))
        _compare(json.loads(settings_file.read_text()), settings, path)
    else:
        path.mkdir(parents=True, exist_ok=True)
        temporary = path / "settings.json.new"
        temporary.write_text(json.dumps(settings, indent=2, sort_keys=True))
        temporary.replace(settings_file)


def _compare(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> None:
    names = differing(old, new)
    if names:
        message = f"the unfinished run in {path} has other settings: {', '.join(names)}"
        hint = "give the same settings and inputs, or start again with --overwrite"
        raise GenieError(Problem("Y020", message, hint=hint))


def differing(left_settings: Mapping[str, Any], right_settings: Mapping[str, Any]) -> list[str]:
    """Return the names of settings that two runs do not share.

    >>> differing({"shard": [0, 2], "config": {"seed": 1}}, {"config": {"seed": 2}})
    ['config seed', 'shard']
    """
    names: list[str] = []
    for name in sorted(left_settings.keys() | right_settings.keys()):
        a, b = left_settings.get(name), right_settings.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            names.extend(f"{name} {inner}" for inner in differing(a, b))
        elif a != b:
            names.append(name)
    return names


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
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"what was done so far is in {work}; go on with --resume")
        raise


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
        return file.is_file() and self.mark.encode() in file.read_bytes()


# Folders of Hugging Face have a config.json, too: a base model is none to replace.
PARSER = FolderKind("config.json", '"parser": {', "parser", "N007")
GENERATOR = FolderKind("config.json", '"model_type": "genie_dp.generator"', "generator", "H009")


def refuse_output(
    output: Path, work: Path, kind: FolderKind, *, resume: bool, overwrite: bool
) -> None:
    """Refuse an output that exists; with `overwrite` clear what an earlier run left.

    Raises:
        GenieError: it exists (Y022), or would be replaced and is of another kind (its code).
    """
    replaces = overwrite or (resume and work.exists())
    if replaces and output.exists() and not kind.has(output):
        message = f"{output} is no {kind.name}, so --overwrite leaves it alone"
        raise GenieError(Problem(kind.code, message, hint="give another --output"))
    refuse_or_clear(output, work, resume=resume, overwrite=overwrite)


def put_in_place(complete: Path, output: Path, work: Path) -> None:
    """Give a complete folder its name, in place of the one before, and take the work away."""
    output.parent.mkdir(parents=True, exist_ok=True)
    old = work / "replaced"
    shutil.rmtree(old, ignore_errors=True)
    if output.exists():
        output.replace(old)
    complete.replace(output)
    shutil.rmtree(work)


@dataclass(slots=True)
class Work:
    """The work folder of a run that is under way."""

    is_kept: bool

    def keep(self) -> None:
        """Keep it whatever happens: something is learned, or spent, that a resumed run needs."""
        self.is_kept = True


@contextmanager
def begin_work(path: Path, settings: Mapping[str, Any], *, resume: bool) -> Iterator[Work]:
    """Enter the work folder of a run; a new one goes when the run is refused before it is kept.

    Args:
        path: the folder.
        settings: all that a resumed run must share.
        resume: whether an interrupted run goes on.

    Raises:
        GenieError: those of `enter_work`.
    """
    work = Work(is_kept=path.exists())
    enter_work(path, settings, resume=resume)
    with interruptible(path):
        try:
            yield work
        except GenieError:
            if not work.is_kept:
                shutil.rmtree(path, ignore_errors=True)
            raise
