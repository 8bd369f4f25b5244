"""No output of a command replaces what it reads, nor another of its outputs."""

from collections.abc import Iterable
from pathlib import Path

from genie_dp.errors import GenieError, Problem


def refuse_overlap(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Refuse an output that is an input or a folder with one in it, or is named twice (D027).

    `--overwrite` is about what an earlier run left; rows that are being read are never meant.

    Args:
        outputs: files or folders to be written; None, "-" and URLs are of no account.
        inputs: files, folders or URLs to be read.
    """
    read = {path: name for name in inputs if (path := _local(name)) is not None}
    written: set[Path] = set()
    for name in outputs:
        path = _local(name)
        if path is None:
            continue
        if path in written:
            _refuse(f"{name} is two of the outputs", "give each a name of its own")
        for other, input_ in read.items():
            if other == path:
                _refuse(f"{name} is the input", "name another output")
            if other.is_relative_to(path):
                _refuse(f"{name} holds the input {input_}", "name another output")
        written.add(path)


def _local(name: str | Path | None) -> Path | None:
    if name is None or str(name) in ("", "-") or "://" in str(name):
        return None
    return Path(name).resolve()


def _refuse(message: str, hint: str) -> None:
    raise GenieError(Problem("D027", message, hint=hint))
