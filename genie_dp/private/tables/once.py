"""A release that survives being killed: made once for what it costs, kept until it is written."""

from collections.abc import Callable
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.book import new_run
from genie_dp.private.ledger.files import locked, replace_durably


def made_once(work: Path, kind: str, make: Callable[[str], str]) -> str:
    """Return the text of a release, made now or by the run that a work folder is left of.

    A run killed before its text was kept has shown nothing of it: it is made again, under the name
    that the ledger knows already. One killed later finds its text, and reads nothing private.

    Args:
        work: a folder of this release alone.
        kind: the beginning of the run's name.
        make: makes the release under a run's name; it spends before it measures.

    Raises:
        GenieError: T510, the text was there to be seen and is missing; those of `make`.
    """
    # Two processes that go on with one run would measure twice what is paid once.
    with locked(work / ".lock"):
        kept = work / "released.json"
        if kept.exists():
            return kept.read_text(encoding="utf-8")
        name = _run(work, kind)
        text = make(name)
        replace_durably(kept, text)
        # In one file with the name: without it the next release is paid again.
        replace_durably(work / "run", f"{name} released")
        return text


def _run(work: Path, kind: str) -> str:
    """Return the name of a run that has released nothing: a new one for every work folder."""
    path = work / "run"
    if not path.exists():
        replace_durably(path, new_run(kind))
    name, *released = path.read_text(encoding="utf-8").split()
    if released:
        message = f"the table of {work} is missing: it would be released twice"
        hint = "put released.json back, or start again with --overwrite, which is paid again"
        raise GenieError(Problem("T510", message, hint=hint))
    return name
