"""Files that survive a kill at any moment, and a lock that ends with the process that holds it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.run.files import named_trouble, sync

# A spend holds the lock for as long as its epsilon is computed: seconds, with PLD.
WAIT_SECONDS = 60.0


def replace_durably(path: Path, text: str) -> None:
    """Write a file so that after a kill or a power cut it has its old or its new content, whole.

    Only one process may do so at a time (see `hold_lock`): the temporary name is always the same,
    so that a file left behind by a kill is overwritten by the next.
    """
    partial = path.with_name(f".{path.name}.partial")
    with named_trouble(path), partial.open("w", encoding="utf-8", newline="\n") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)
    sync(path.parent)


@contextmanager
def hold_lock(
    path: Path, *, wait: float = WAIT_SECONDS, busy: Problem | None = None
) -> Iterator[None]:
    """Hold the lock file of that name; other processes and threads wait.

    It is never removed: whoever removed it could hold another file than the next who comes.

    Args:
        wait: seconds until waiting is given up.
        busy: the error then.

    Raises:
        GenieError: another process holds it all that time (B006, or `busy`), or the system has no
            such locks; or it was removed, or its folder was (B029).
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError:
        raise error_of_removed(path) from None
    try:
        give_up = time.monotonic() + wait
        while not _try_lock(number):
            if time.monotonic() > give_up:
                hint = f"wait for it; `fuser {path}` names the process that holds it"
                message = f"another process writes the ledger since {wait:g} seconds"
                raise GenieError(busy or Problem("B006", message, hint=hint))
            time.sleep(0.005)
        # What is locked now may be nobody's file: the next who comes would lock another.
        if not _is_still_there(number, path):
            raise error_of_removed(path)
        yield
    finally:
        os.close(number)


def _is_still_there(number: int, path: Path) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except FileNotFoundError:
        return False


def error_of_removed(path: Path) -> GenieError:
    """Return the error for a lock, or a run's name, that is gone with its folder (B029)."""
    message = f"{path.parent}, or the lock in it, was removed meanwhile"
    hint = (
        "another process has finished there, or cleared it: look for its output, then start again"
    )
    return GenieError(Problem("B029", message, hint=hint))


def _try_lock(number: int) -> bool:
    try:
        import fcntl
    except ImportError as problem:
        message = "ledgers are written on Linux and macOS: this system has no flock"
        raise GenieError(Problem("B006", message)) from problem
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
