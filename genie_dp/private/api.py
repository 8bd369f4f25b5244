"""The public ledger: rows of a file, the budget promised for them, and what is learned under it."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger import book
from genie_dp.private.ledger.accounting import DEFAULT, Accountant
from genie_dp.private.ledger.budget import Budget, Unit, doubts, key_of
from genie_dp.private.ledger.guard import check_new, ledger_to_spend
from genie_dp.private.ledger.marks import ledger_by_name
from genie_dp.private.prior.config import PriorConfig
from genie_dp.private.prior.run import PriorResult
from genie_dp.private.prior.run import run as run_prior
from genie_dp.recipe import config_of
from genie_dp.records import Spent
from genie_dp.rows import Rows
from genie_dp.run.stage import Output
from genie_dp.templates.inputs import SHIPPED, library_from


class Ledger:
    """Private rows and the ledger that stands beside them: what is learned of them is paid here.

    Each release is recorded before it is made, and refused past the budget (B023). The rows have
    one ledger, whatever file they are in: under another name, copied, converted or with a second
    ledger they are refused, or paid by theirs (B030, B031).

    Attributes:
        rows: the file of rows.
    """

    rows: Path

    def __init__(self, rows: str | Path, *, ledger: str | Path | None = None):
        """Open the ledger of a file of rows.

        Args:
            rows: JSONL or TSV.
            ledger: where it is, if not beside the rows.

        Raises:
            GenieError: there are no such rows (B028) or no ledger (B022), it was changed (B010 to
                B019), or the rows are another's (B030, B031).
        """
        self.rows = _there(rows)
        named = None if ledger is None else Path(ledger)
        self._book = book.Ledger.open(ledger_to_spend(self.rows, named))
        self._is_open = True

    @classmethod
    def init(
        cls,
        rows: str | Path,
        *,
        epsilon: float,
        delta: float,
        unit: Unit,
        cap: int | None = None,
        unit_field: str | None = None,
        accountant: Accountant = DEFAULT,
        apart: bool = False,
        ledger: str | Path | None = None,
    ) -> "Ledger":
        """Promise a budget for rows, once, and return its ledger.

        Args:
            rows: JSONL or TSV. They are compared with those that have a ledger already.
            epsilon: how much may be learned of one unit by everything together; common: 1 to 8.
            delta: chance that epsilon does not hold: far below 1 / number of units.
            unit: what is protected: one utterance, all rows of a dialogue, or all of a user.
            cap: how many rows of a dialogue or user are looked at, at most.
            unit_field: field of a row that names its user or dialogue; of TSV, its column.
            accountant: whose epsilon must stay within the budget, pld or rdp.
            apart: whether the rows may be another ledger's: for rows that are public.
            ledger: where it is to be, if not beside the rows.

        Raises:
            GenieError: the budget promises nothing (B005), there are no such rows (B028), they have
                a ledger already (B020, B030, B031) or had one (B021).
        """
        file = _there(rows)
        budget = Budget(
            epsilon, delta, unit, cap, accountant=accountant, unit_field=unit_field, apart=apart
        )
        promise(file, None if ledger is None else Path(ledger), budget)
        return cls(file, ledger=ledger)

    @property
    def path(self) -> Path:
        """Return the file of the ledger."""
        return self._book.path

    @property
    def budget(self) -> Budget:
        """Return what was promised."""
        return self._book.budget

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return what is to be said against the budget, such as that it promises little."""
        return tuple(problem.message for problem in doubts(self.budget))

    @property
    def spent(self) -> Spent:
        """Return the guarantee of everything that was released so far, by whomever."""
        return book.Ledger.open(self.path).spent()

    def __enter__(self) -> "Ledger":
        """Return the ledger, which releases nothing after the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._is_open = False

    def __repr__(self) -> str:
        """Return the budget, and what is spent of it, in one line."""
        budget, spent = self.budget, self.spent
        amount = f"epsilon {spent.epsilon:.4g} of {budget.epsilon:g} is spent"
        return f"Ledger({self.rows}: {amount} at delta {budget.delta:g} for each {budget.unit})"

    def prior(
        self,
        *,
        epsilon: float,
        library: Any = SHIPPED,
        language: str | None = None,
        public: Rows | str | Path | Sequence[Rows | str | Path] = (),
        candidates: str | Path | None = None,
        sampled: str | Path | None = None,
        spent: str | Path | None = None,
        output: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
        **settings: Any,
    ) -> PriorResult:
        """Return what people ask for, counted once with noise: a prior that steers synthesis.

        It is paid again with each call. Only with an `output` an interrupted call can be resumed.

        Args:
            epsilon: what this release costs by itself, at the budget's delta.
            library: what `load_library` returns, or its source; its functions are counted.
            language: of the programs; None for the library's.
            public: rows made without the prior, to which weights are relative: rows or files.
            candidates: a file of functions that the library may lack, one a line.
            sampled: a file of rows of a private generator; they go into the prior.
            spent: the file of their guarantee.
            output: the prior's file; None writes none, and `save` of the result does so later.
            resume: go on with a call that was interrupted, for the same payment.
            overwrite: replace the output, and forget an interrupted call: its cost stays spent.
            settings: those of `PriorConfig`, such as about=2000, mechanism="laplace".

        Raises:
            GenieError: past the budget (B023), and whatever `genie-dp private prior` refuses.
        """
        rows, ledger = self._rows_to_spend()
        config = config_of(PriorConfig, {"epsilon": epsilon, **settings})
        if (sampled is None) != (spent is None):
            message = "sampled rows and their guarantee go together"
            raise GenieError(Problem("F006", message, hint="give both sampled and spent"))
        found = library_from(library, language=language)
        many = [public] if isinstance(public, Rows | str | Path) else list(public)
        if wrong := [one for one in many if not isinstance(one, Rows | str | Path)]:
            message = (
                f"expected rows or the name of a file as public, got {type(wrong[0]).__name__}"
            )
            hint = "rows that forgot where they are from may be private ones"
            raise GenieError(Problem("F008", message, hint=hint))

        def release(target: Path) -> PriorResult:
            return run_prior(
                config,
                rows,
                ledger,
                found,
                Output(str(target), resume=resume, overwrite=overwrite),
                language=language or found.language,
                public=many,
                candidates=_path(candidates),
                sampled=_path(sampled),
                spent=_path(spent),
            )

        if output is not None:
            return release(Path(output))
        with TemporaryDirectory(prefix="genie_dp-") as folder:
            return release(Path(folder) / "prior.json")

    def _rows_to_spend(self) -> tuple[Path, book.Ledger]:
        """Return the rows and their ledger as it is now, which may have other spends since.

        Raises:
            GenieError: it is closed (B036); those of `Ledger(rows)`.
        """
        if not self._is_open:
            hint = "release within the block of `with`, or open the ledger again"
            raise GenieError(Problem("B036", f"the ledger of {self.rows} is closed", hint=hint))
        return self.rows, book.Ledger.open(ledger_to_spend(self.rows, self.path))


def promise(rows: Path, ledger: Path | None, budget: Budget) -> book.Ledger:
    """Create the ledger of rows; they are compared with those that have one.

    Args:
        rows: their file; it need not be there where a ledger is named.
        ledger: where it is to be; None for beside the rows.
        budget: what is promised.

    Raises:
        GenieError: there are no such rows (B028), they have a ledger already (B020, B030, B031) or
            had one (B021), or their units cannot be told apart so (Q006).
    """
    if ledger is None:
        _there(rows)
    else:
        ledger_to_spend(rows, ledger)
    path = ledger or ledger_by_name(rows) or book.ledger_of(rows)
    if not (budget.apart or path.exists()):
        check_new(rows)
    # Later it would be too late: a promise is made once.
    key_of(str(rows), budget.unit, budget.unit_field)
    return book.Ledger.create(path, budget)


def _there(rows: str | Path) -> Path:
    """Refuse rows that are not there: a budget for a misspelt name protects nobody."""
    if not Path(rows).exists():
        hint = "check the name; to set a budget before there are rows, give --ledger"
        raise GenieError(Problem("B028", f"there is no file {rows}", hint=hint))
    return Path(rows)


def _path(file: str | Path | None) -> Path | None:
    return None if file is None else Path(file)
