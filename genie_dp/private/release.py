"""A release of private rows as a stage: refused or paid before, drawn once, then finished.

What is paid survives being killed: what was drawn is kept until the output is written.
"""

import json
import shutil
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

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
    begin_work,
    put_in_place,
    refuse_or_clear,
    refuse_output,
)
from genie_dp.stage.kernel import Stage

Unit = TypeVar("Unit")
Spend = Callable[[Sequence[Mechanism], str], Spent]
"""Records mechanisms under the name of a run, once, and returns all that was spent."""


class Plan(Protocol):
    """All that is public about a release, settled before private rows are read."""

    @property
    def mechanisms(self) -> Sequence[Mechanism]:
        """Return what the release is for a ledger."""

    @property
    def shared(self) -> Mapping[str, Any]:
        """Return what a resumed run must have in common with the one that was interrupted."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn, with the guarantee of everything so far and the run's name in the ledger."""

    released: Mapping[str, Any]
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
) -> Drawn:
    """Return the release of a work folder, drawn now or by the run that it is left of.

    Args:
        work: a folder of this release alone.
        kind: the beginning of the run's name.
        mechanisms: paid before anything is drawn.
        units: reads the private rows, and raises before anything is spent.
        draw: the only look at them: returns noisy figures for JSON.
        spend: the `Payer` of their ledger; it refuses what is past the budget.
        code: of the error where the release was there to be seen and is missing.

    Raises:
        GenieError: that code; those of `units`, `paid_by` and `release_once`.
    """

    def text(run: str) -> str:
        private = units()
        spent = paid_by(private, spend)(mechanisms, run)
        return json.dumps({"released": draw(private), "spent": asdict(spent), "run": run})

    drawn = json.loads(
        release_once(work, kind, text, closing(spend).close, what="counts", code=code)
    )
    return Drawn(drawn["released"], spent_of(drawn["spent"]), drawn["run"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Stage):
    """A stage that learns from private rows once, for a payment.

    Nothing is spent before all that is public was read and the private rows are known to be good.

    Class attributes:
        purpose: what is released, for people who read the ledger.
        kind: the beginning of the run's name in the ledger.
        not_public: code of the error where something said to be public is not.
        lost: code of the error where what was released is missing in the work folder.
        folder: the kind of folder that is written; None for a file.
    """

    purpose: ClassVar[str]
    kind: ClassVar[str]
    not_public: ClassVar[str]
    lost: ClassVar[str]
    folder: ClassVar[FolderKind | None] = None

    private: Path = setting(
        REQUIRED, "The private rows, JSONL or TSV.", is_argument=True, value="file"
    )
    ledger: Ledger = setting(REQUIRED, "Their ledger, which pays.", value="ledger")
    epsilon: float = setting(
        REQUIRED, "Cost of this release by itself, at the budget's delta.", above=0
    )

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return the files that are said to be public."""
        return ()

    @property
    def other_files(self) -> Sequence[str | Path]:
        """Return other files that are read, none of which may be written."""
        return ()

    def refuse_inputs(self) -> None:
        """Refuse what else may not be an input."""

    @abstractmethod
    def plan(self) -> Any:
        """Return the `Plan`: reads all that is public."""

    @abstractmethod
    def units(self, plan: Any, progress: bool | None) -> Units[Any]:
        """Return what the private rows of each unit are for `draw`; spends nothing."""

    @abstractmethod
    def draw(self, units: Units[Any], plan: Any) -> Mapping[str, Any]:
        """Return the noisy figures: the only look at private rows, after it was paid."""

    @abstractmethod
    def finish(
        self, drawn: Any, plan: Any, made: Path, target: str, progress: bool | None
    ) -> Result:
        """Write the output: post-processing, which costs nothing.

        Args:
            drawn: what was released.
            plan: how.
            made: where to write, a folder or the output's own file.
            target: where the output will be.
            progress: whether to show progress.
        """

    def release(self, plan: Any, work: Path, progress: bool | None) -> Any:
        """Return what `finish` is given, drawn now or by the run that the folder is left of."""
        return draw_once(
            work,
            self.kind,
            plan.mechanisms,
            lambda: self.units(plan, progress),
            lambda units: self.draw(units, plan),
            Payer(self.ledger, self.purpose),
            code=self.lost,
        )

    def run(self, output: Output, *, progress: bool | None = None) -> Any:
        """Release, and write the output; an interrupted run that resumes pays once.

        Raises:
            GenieError: past the budget (B023), the ledger is another's (B030, B031), the output is
                there (Y022) or read (D027), something said to be public is not (`not_public`).
        """
        target = Path(output.target)
        refuse_private(self.public_files, self.private, code=self.not_public)
        self.refuse_inputs()
        read = [self.private, *self.public_files, *self.other_files, self.ledger.path]
        refuse_overlap([target], read)
        plan = self.plan()
        shared = {
            "version": __version__,
            "private": str(self.private.resolve()),
            "ledger": str(self.ledger.path),
            **plan.shared,
        }
        flags = {"resume": output.resume, "overwrite": output.overwrite}
        if self.folder is not None:
            refuse_output(target, output.work, self.folder, **flags)
        else:
            refuse_or_clear(target, output.work, **flags)
        if not output.work.exists():
            # Before private rows are read, which may take long; one that goes on may have paid.
            self.ledger.check_fits(plan.mechanisms)
        with begin_work(output.work, shared, resume=output.resume) as work:
            drawn = self.release(plan, output.work, progress)
            work.keep()
            made = output.work / "made" if self.folder is not None else target
            result = self.finish(drawn, plan, made, output.target, progress)
            if self.folder is not None:
                put_in_place(made, target, output.work)
        shutil.rmtree(output.work, ignore_errors=True)  # another that goes on with it may do so
        return result
