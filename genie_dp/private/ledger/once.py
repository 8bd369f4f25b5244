"""One payment is for one release, wherever a run is killed.

The steps of a paid run, each of which may be its last: it has a name, which lies in its folder
before anything is paid; it pays under that name; it makes its release, which waits under another
file name until the ledger knows its hash; the release gets its own file name; and the folder notes
that it was there to be seen. A run that goes on takes the step that comes next. It refuses to make
again a release that was there to be seen and is missing.
"""

import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.book import new_run
from genie_dp.private.ledger.files import error_of_removed, hold_lock, replace_durably

RECORD = "run.json"
RELEASED = "released"


@dataclass(frozen=True, slots=True)
class PaidRun:
    """A run that pays for its releases, and the folder in which it goes on after a kill.

    Attributes:
        folder: where `run.json` has its name and the number of its releases.
        name: for the ledger; random. Under a name that could be chosen one could train a hundred
            times for the price of one and keep the best. Whoever deletes the folder pays again.
    """

    folder: Path
    name: str

    @classmethod
    def enter(cls, folder: Path, new_name: str = "", **facts: Any) -> "PaidRun":
        """Return the run of a folder; a folder without one gets a name and facts, synced."""
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / ".run.lock"):
            if not (folder / RECORD).exists():
                record = {"run": new_name or secrets.token_hex(16), **facts, RELEASED: 0}
                replace_durably(folder / RECORD, json.dumps(record))
            return cls(folder, _read_record(folder)["run"])

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts that a new run was entered with, its name and its releases."""
        return _read_record(self.folder)

    def check_kept(self, number: int, lost: Problem, *, part: str = RELEASED) -> None:
        """Refuse to go on where more was released than the folder still has.

        Args:
            number: of the newest release that is there.
            lost: the error where a later one is missing.
            part: the name of the run's other numbered releases.
        """
        if self.facts.get(part, 0) > number:
            raise GenieError(lost)

    def note_released(self, number: int, *, part: str = RELEASED) -> None:
        """Note that releases up to a number are there to be seen."""
        facts = self.facts
        if facts.get(part, 0) < number:
            replace_durably(self.folder / RECORD, json.dumps({**facts, part: number}))

    def release(
        self,
        file: str,
        make: Callable[[], str],
        close: Callable[[str], None],
        *,
        lost: Problem,
        number: int = 1,
        part: str = RELEASED,
    ) -> str:
        """Return the text of a release, made now or found as an earlier start left it.

        Args:
            file: its name in the folder.
            make: makes it; its cost is paid in there.
            close: records the release in the ledger, and raises where it knows of another text.
            lost: the error where the text was there to be seen and is missing.
            number: of the release in this run.
            part: the name of the run's other numbered releases.

        Raises:
            GenieError: `lost`; B032, the ledger knows of another text, which then is removed;
                those of `make`.
        """
        path = self.folder / file
        waiting = path.with_name(f".{path.name}.unclosed")
        if not path.exists():
            self.check_kept(number - 1, lost, part=part)
            if not waiting.exists():
                replace_durably(waiting, make())
        text = (path if path.exists() else waiting).read_text(encoding="utf-8")
        try:
            close(text)
        except GenieError:
            waiting.unlink(missing_ok=True)
            raise
        if not path.exists():
            replace_durably(path, text)
        waiting.unlink(missing_ok=True)
        self.note_released(number, part=part)
        return text


def release_once(
    folder: Path,
    kind: str,
    make: Callable[[str], str],
    close: Callable[[str, str], None],
    *,
    what: str,
    code: str,
) -> str:
    """Return the text of a run's only release, made now or by the run that a folder is left of.

    A run killed before its text was kept has shown nothing of it: it is made again, under the name
    that the ledger knows already. One killed later finds its text, and reads nothing private.

    Args:
        folder: of this release alone.
        kind: the beginning of the run's name.
        make: makes the release under a run's name; it spends before it measures.
        close: records the release in the ledger, under its name (`guard.closing`).
        what: a noun for the release, for the error of that code.
        code: of the error where the text was there to be seen and is missing.

    Raises:
        GenieError: those of `PaidRun.release`.
    """
    message = f"{folder} has lost its {what}: what is paid once would be released twice"
    hint = "put released.json back, or start again with --overwrite, which is paid again"
    lost = Problem(code, message, hint=hint)
    # Two processes that go on with one run would release twice what is paid once.
    with hold_lock(folder / ".lock"):
        run = PaidRun.enter(folder, new_run(kind))
        return run.release(
            "released.json", lambda: make(run.name), lambda text: close(text, run.name), lost=lost
        )


def name_run(*folders: Path) -> str:
    """Return the name, for the ledger, of the run that works in these folders; each gets one.

    Args:
        folders: one for each model that the run trains.
    """
    names = [PaidRun.enter(folder).name for folder in folders]
    joined = hashlib.sha256("".join(names).encode()).hexdigest()[:32]
    return names[0] if len(names) == 1 else joined


def check_run_name(name: str, *folders: Path) -> None:
    """Refuse to go on under the name of a run whose folders are gone, or new ones.

    Another process that went on with the same run has finished it, and cleared them: a release paid
    once would be made again.

    Args:
        name: the result of `name_run`.
        folders: those it was given.

    Raises:
        GenieError: they have another name now (B029).
    """
    if name_run(*folders) != name:
        raise error_of_removed(folders[0] / RECORD)


def _read_record(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    return record
