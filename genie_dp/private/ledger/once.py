"""A release that survives being killed: paid before it, made once, kept until it is written."""

from collections.abc import Callable
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.book import new_run
from genie_dp.private.ledger.files import locked, replace_durably


def made_once(
    work: Path,
    kind: str,
    make: Callable[[str], str],
    close: Callable[[str, str], None],
    *,
    what: str,
    code: str,
) -> str:
    """Return the text of a release, made now or by the run that a work folder is left of.

    A run killed before its text was kept has shown nothing of it: it is made again, under the name
    that the ledger knows already. One killed later finds its text, and reads nothing private.

    Args:
        work: a folder of this release alone.
        kind: the beginning of the run's name.
        make: makes the release under a run's name; it spends before it measures.
        close: tells the ledger what was released, and under which name (`guard.closing`).
        what: is released, for errors.
        code: of the error.

    Raises:
        GenieError: of that code, the text was there to be seen and is missing; B032, the ledger
            knows of another text; those of `make`.
    """
    # Two processes that go on with one run would release twice what is paid once.
    with locked(work / ".lock"):
        kept = work / "released.json"
        name = _run(work, kind)
        if name.endswith(_RELEASED) and not kept.exists():
            message = f"the {what} of {work} is missing: what is paid once would be released twice"
            hint = "put released.json back, or start again with --overwrite, which is paid again"
            raise GenieError(Problem(code, message, hint=hint))
        name = name.removesuffix(_RELEASED)
        text = kept_once(kept, lambda: make(name), lambda text: close(text, name))
        # In one file with the name: without it the next release is paid again.
        replace_durably(work / "run", f"{name}{_RELEASED}")
        return text


_RELEASED = " released"


def _run(work: Path, kind: str) -> str:
    """Return the name of a work folder's run, and whether it has released: a new one is made."""
    path = work / "run"
    if not path.exists():
        replace_durably(path, new_run(kind))
    return path.read_text(encoding="utf-8")


def kept_once(kept: Path, make: Callable[[], str], close: Callable[[str], None]) -> str:
    """Return the text of a file, made now if it is not there: the ledger hears of it before.

    Between the two the text lies in a file with another name, so that a run that is killed there
    finds it again. A text that the ledger refuses is removed.

    Args:
        kept: the file.
        make: makes its text; what it costs is paid in there.
        close: tells the ledger, and raises where it knows of another text.
    """
    waiting = kept.with_name(f".{kept.name}.unclosed")
    if kept.exists():
        text = kept.read_text(encoding="utf-8")
        close(text)
        return text
    if not waiting.exists():
        replace_durably(waiting, make())
    text = waiting.read_text(encoding="utf-8")
    try:
        close(text)
    except GenieError:
        waiting.unlink()
        raise
    replace_durably(kept, text)
    waiting.unlink()
    return text
