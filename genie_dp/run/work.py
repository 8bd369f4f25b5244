"""The work folder of a run: output lies there, until it is complete and gets its name.

A step is in the run when its line is in the journal. Output after the last line was written
by a run that was killed in between, and is cut off.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

from genie_dp.errors import GenieError, Problem
from genie_dp.run.files import NamedFile, exists_error, named_trouble

try:
    import fcntl
except ImportError:  # Windows, where runs do not keep others out
    fcntl = None  # type: ignore[assignment]

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
    """An open work folder: files that only grow, and a journal of the lengths that are good.

    Attributes:
        path: the folder.
        files: name -> file to append to.
        last: the facts of the last step of an interrupted run; empty at the start.
    """

    path: Path
    files: Mapping[str, BinaryIO]
    journal: BinaryIO
    last: Mapping[str, Any]

    def commit(self, **facts: Any) -> None:
        """Record in the journal that all output so far is in the run, with facts of the step."""
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
        GenieError: those of `enter_work`; recorded output is missing (Y026).
    """
    enter_work(path, settings, resume=resume)
    last = last_line(path / JOURNAL) or {}
    sizes = last.get("sizes", {})
    opened = {name: open_cut(path / name, sizes.get(name, 0)) for name in files}
    journal = open_cut(path / JOURNAL, 0, cut=False)
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


def open_cut(path: Path, size: int, *, cut: bool = True) -> BinaryIO:
    """Return a file to append to, without unrecorded output; its errors name it.

    Args:
        path: the file.
        size: how many bytes of it are known.
        cut: whether the rest goes.

    Raises:
        GenieError: recorded output is missing (Y026).
    """
    file = NamedFile.open(path, "ab")
    if file.tell() < size:
        file.close()
        hint = "start again with --overwrite"
        raise GenieError(Problem("Y026", f"{path} is shorter than it was", hint=hint))
    if (
        cut and file.tell() > size
    ):  # ext4 writes a file out when it is closed if it was ever cut to nothing
        file.truncate(size)
        file.seek(0, os.SEEK_END)
    return file


def last_line(journal: Path) -> dict[str, Any] | None:
    """Return the last whole line of a journal and cut off the rest."""
    if not journal.exists():
        return None
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) != len(content):
        journal.write_bytes(whole)
    lines = whole.splitlines()
    return json.loads(lines[-1]) if lines else None


def refuse_or_clear(target: Path | None, work: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse an output that exists (Y022); with `overwrite` clear an earlier run."""
    # A run that was let in goes on, even if its file is there and its manifest is not.
    goes_on = resume and work.exists()
    if target is not None and target.exists() and not (overwrite or goes_on):
        raise exists_error(target)
    if overwrite:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def interruptible(work: Path) -> Iterator[None]:
    """Explain how to go on when the run is interrupted: the work folder stays.

    Errors of a full disk without a name get that of the folder.
    """
    try:
        with named_trouble(work):
            yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"what was done so far is in {work}; go on with --resume")
        raise


# ---------------------------------------------------------------------------- one run at a time

# Locks that this process holds: the system keeps others out, and not this process itself.
_HELD: dict[Path, dict[str, Any]] = {}


@contextmanager
def hold(target: Path) -> Iterator[None]:
    """Keep other runs away from an output while the block runs.

    A file beside the output names its holder, and is locked: the lock of a process ends with it,
    however it ends. An error of a full disk that names no file names the output.

    Raises:
        GenieError: another run holds it (Y027).
    """
    with named_trouble(target):
        if fcntl is None or target.name in ("", "..") or (target.exists() and _is_device(target)):
            yield
            return
        path = target.with_name(f".{target.name}.lock").absolute()
        new_folders = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _lock(path, target):
                yield
        finally:
            _remove_empty(new_folders)


def _is_device(path: Path) -> bool:
    return not (path.is_file() or path.is_dir())


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that were made for a lock alone, the innermost first."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # something is in it
            return


@contextmanager
def _lock(path: Path, target: Path) -> Iterator[None]:
    if path in _HELD:
        raise _held_error(target, _HELD[path])
    file = _open_lock(path, target)
    holder = {
        "process": os.getpid(),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
        "command": shlex.join([Path(sys.argv[0] or "python").name, *sys.argv[1:]]),
    }
    try:
        _HELD[path] = holder
        file.seek(0)
        file.truncate()
        file.write(json.dumps(holder))
        file.flush()
        yield
    finally:
        del _HELD[path]
        path.unlink(missing_ok=True)
        file.close()


def _open_lock(path: Path, target: Path) -> IO[str]:
    """Return the open file of a lock that is ours."""
    while True:
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - closed by _lock
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who held it may have removed the file meanwhile: then this lock is of no file.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except (BlockingIOError, PermissionError):
            holder = _holder(file)
            file.close()
            raise _held_error(target, holder) from None
        file.close()


def _holder(file: IO[str]) -> dict[str, Any]:
    file.seek(0)
    try:
        holder = json.loads(file.read())
    except ValueError:  # it has the lock, and is about to say who it is
        return {}
    return holder if isinstance(holder, dict) else {}


def _held_error(target: Path, holder: Mapping[str, Any]) -> GenieError:
    who = "another process"
    if holder:
        who = f"process {holder['process']} since {holder['since']}: {holder['command']}"
    hint = "wait until it is done, end it, or name another output"
    return GenieError(Problem("Y027", f"{target} is being made by {who}", hint=hint))


@dataclass(frozen=True, slots=True)
class FolderKind:
    """The marks of a folder of one command, and the error for other folders.

    Attributes:
        file: is in each of them.
        mark: text that this file has.
        name: the expected kind of folder.
        code: of the error.
    """

    file: str
    mark: str
    name: str
    code: str

    def has(self, folder: Path) -> bool:
        """Return whether a folder is of this kind."""
        file = folder / self.file
        return file.is_file() and self.mark.encode() in file.read_bytes()


# Folders of Hugging Face have a config.json, too: a base model is none to replace.
PARSER = FolderKind("config.json", '"parser": {', "parser", "N007")
GENERATOR = FolderKind("config.json", '"model_type": "genie_dp.generator"', "generator", "H009")


def refuse_output(
    output: Path, work: Path, kind: FolderKind, *, resume: bool, overwrite: bool
) -> None:
    """Refuse an output that exists; with `overwrite` clear an earlier run.

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

    path: Path
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
    work = Work(path, is_kept=path.exists())
    enter_work(path, settings, resume=resume)
    with interruptible(path):
        try:
            yield work
        except GenieError:
            if not work.is_kept:
                shutil.rmtree(path, ignore_errors=True)
            raise
