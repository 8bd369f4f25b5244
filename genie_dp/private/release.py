"""Releases as stages: figures of private rows, paid before they are drawn, and drawn once.

A release survives a crash after it was paid: the drawn figures are kept until the output is
written.
"""

import json
import shutil
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from genie_dp import __version__
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Payer, Units, closing, paid_by, refuse_private
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.ledger.once import release_once
from genie_dp.private_prior import spent_of
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import Spent
from genie_dp.run.files import refuse_overlap
from genie_dp.run.stage import Output, Result
from genie_dp.run.work import (
    FolderKind,
    Work,
    begin_work,
    put_in_place,
    refuse_or_clear,
    refuse_output,
)
from genie_dp.stage.kernel import Stage

Unit = TypeVar("Unit")
Public = TypeVar("Public")
Spend = Callable[[Sequence[Mechanism], str], Spent]
"""Records mechanisms under the name of a run, once, and returns all that was spent."""


@dataclass(frozen=True, slots=True)
class ReleasePlan(Generic[Public]):
    """All that is public about a release, fixed before private rows are read.

    Attributes:
        public: the plan of the mechanism itself.
        mechanisms: the release, for the ledger.
        shared: settings that a resumed run must share with the interrupted one.
    """

    public: Public
    mechanisms: Sequence[Mechanism]
    shared: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReleasedFigures:
    """The noisy figures of a release.

    Attributes:
        figures: by name, for JSON.
        spent: the guarantee of everything that the ledger has released so far.
        run: the name of the release in the ledger.
    """

    figures: Mapping[str, Any]
    spent: Spent
    run: str


def draw_once(
    work: Path,
    kind: str,
    mechanisms: Sequence[Mechanism],
    units: Callable[[], Units[Unit]],
    draw: Callable[[Units[Unit]], Mapping[str, Any]],
    spend: Spend,
    *,
    code: str,
) -> ReleasedFigures:
    """Return the figures of a work folder, drawn now or by the run that was interrupted there.

    Args:
        work: a folder of this release alone.
        kind: the beginning of the run's name.
        mechanisms: paid before anything is drawn.
        units: reads the private rows, and raises before anything is spent.
        draw: returns the noisy figures, for JSON; nothing else reads private rows.
        spend: the `Payer` of their ledger; it refuses spends past the budget.
        code: of the error if the figures were visible once and are missing.

    Raises:
        GenieError: that code; those of `units`, `paid_by` and `release_once`.
    """

    def text(run: str) -> str:
        private = units()
        spent = paid_by(private, spend)(mechanisms, run)
        return json.dumps({"released": draw(private), "spent": asdict(spent), "run": run})

    facts = json.loads(
        release_once(work, kind, text, closing(spend).close, what="counts", code=code)
    )
    return ReleasedFigures(facts["released"], spent_of(facts["spent"]), facts["run"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Stage):
    """A stage that releases something of private rows, which their ledger pays for.

    Class attributes:
        not_public: code of the error if a public input is private.
        folder: the kind of folder that the output is; None for a file.
    """

    not_public: ClassVar[str]
    folder: ClassVar[FolderKind | None] = None

    private: Path = setting(
        REQUIRED, "The private rows, JSONL or TSV.", is_argument=True, value="file"
    )
    ledger: Ledger | None = setting(REQUIRED, "Their ledger, which pays.", value="ledger")

    @classmethod
    def needs_ledger(cls, options: Mapping[str, Any]) -> bool:
        """Return whether a command with these options is paid by a ledger."""
        return True

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return the files that must be public."""
        return ()

    @property
    def other_files(self) -> Sequence[str | Path]:
        """Return the other files that are read, which the output may not replace."""
        return ()

    def refuse_inputs(self) -> None:
        """Refuse other inputs, such as a parser that was trained on private rows."""

    @abstractmethod
    def plan(self) -> ReleasePlan[Any]:
        """Read all public inputs, and return the plan."""

    @abstractmethod
    def release(self, plan: ReleasePlan[Any], work: Work, progress: bool | None) -> Any:
        """Return the release for `finish`, made now or by the run that was interrupted.

        It is paid before it is made.
        """

    @abstractmethod
    def finish(
        self, drawn: Any, plan: ReleasePlan[Any], made: Path, target: str, progress: bool | None
    ) -> Result:
        """Write the output: post-processing, which costs nothing.

        Args:
            drawn: the result of `release`.
            plan: the plan that it was released by.
            made: where to write: a temporary folder, or the output's own file.
            target: the output, for the result.
            progress: whether to show progress.
        """

    def run(self, output: Output, *, progress: bool | None = None) -> Any:
        """Release, and write the output; a run that is resumed pays once.

        Raises:
            GenieError: past the budget (B023), the ledger is another's (B030, B031), the output is
                there (Y022) or is an input (D027), a public input is private (`not_public`).
        """
        target, ledger = Path(output.target), self.ledger.path if self.ledger else None
        refuse_private(self.public_files, self.private, code=self.not_public)
        self.refuse_inputs()
        refuse_overlap([target], [self.private, *self.public_files, *self.other_files, ledger])
        plan = self.plan()
        shared = {
            "version": __version__,
            "private": str(self.private.resolve()),
            "ledger": str(ledger) if ledger else None,
            **plan.shared,
        }
        flags = {"resume": output.resume, "overwrite": output.overwrite}
        if self.folder is not None:
            refuse_output(target, output.work, self.folder, **flags)
        else:
            refuse_or_clear(target, output.work, **flags)
        with begin_work(output.work, shared, resume=output.resume) as work:
            figures = self.release(plan, work, progress)
            work.keep()
            folder = target
            if self.folder is not None:
                folder = output.work / "made" / target.name  # its card has the name of the folder
                shutil.rmtree(folder.parent, ignore_errors=True)
                folder.parent.mkdir()
            result = self.finish(figures, plan, folder, output.target, progress)
            if self.folder is not None:
                put_in_place(folder, target, output.work)
        shutil.rmtree(output.work, ignore_errors=True)  # another that goes on with it may do so
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresRelease(Release):
    """A release of noisy figures: private rows are read once, and the figures are drawn once.

    Nothing is spent before all public inputs are read and the private rows are known to be valid.

    Class attributes:
        purpose: a short description for the ledger.
        kind: the prefix of the run's name in the ledger.
        lost: code of the error if the released figures are missing in the work folder.
    """

    purpose: ClassVar[str]
    kind: ClassVar[str]
    lost: ClassVar[str]

    ledger: Ledger = setting(REQUIRED, "Their ledger, which pays.", value="ledger")
    epsilon: float = setting(
        REQUIRED, "Cost of this release by itself, at the budget's delta.", above=0
    )

    @abstractmethod
    def units(self, plan: ReleasePlan[Any], progress: bool | None) -> Units[Any]:
        """Return each unit's private rows in the form that `draw` reads; spends nothing."""

    @abstractmethod
    def draw(self, units: Units[Any], plan: ReleasePlan[Any]) -> Mapping[str, Any]:
        """Return the noisy figures of private rows, after the ledger recorded their cost."""

    def release(self, plan: ReleasePlan[Any], work: Work, progress: bool | None) -> Any:
        """Return the figures for `finish`, drawn now or by the run that was interrupted."""
        if not work.is_kept:
            # Before private rows are read, which may take long; one that goes on may have paid.
            self.ledger.check_fits(plan.mechanisms)
        return self.draw_once(plan, work.path, progress)

    def draw_once(self, plan: ReleasePlan[Any], work: Path, progress: bool | None) -> Any:
        """Return the figures, drawn now or by the run that was interrupted in the work folder."""
        return draw_once(
            work,
            self.kind,
            plan.mechanisms,
            lambda: self.units(plan, progress),
            lambda units: self.draw(units, plan),
            Payer(self.ledger, self.purpose),
            code=self.lost,
        )
