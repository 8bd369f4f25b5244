"""The ledger of one private data set: its budget, and every spend, recorded before its release."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.accounting import epsilon_of, noise_multiplier_for
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.chain import (
    Book,
    Entry,
    broken_end,
    head_text,
    read_book,
    read_head,
    unseen,
)
from genie_dp.private.ledger.files import hold_lock, replace_durably
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.records import Spent
from genie_dp.texts import read_text

# Sums of floats differ in their last digits from one machine to the next.
_SLACK = 1 + 1e-9


def new_run(purpose: str) -> str:
    """Return an id for a run that begins; one that is resumed keeps its id."""
    return f"{purpose}-{secrets.token_hex(4)}"


class Ledger:
    """A ledger file that was read and found unchanged.

    Beside `private.ledger.json` lie `private.ledger.head`, which notices entries cut from the end,
    and `.private.ledger.lock`.
    """

    def __init__(self, path: Path, book: Book):
        """Use `open` or `create`."""
        self.path = path
        self._book = book

    @classmethod
    def create(cls, path: Path, budget: Budget) -> "Ledger":
        """Write a ledger without spends.

        Raises:
            GenieError: there is one already (B020), or there was one (B021).
        """
        path = _real(path)
        if not path.parent.is_dir():
            raise GenieError(Problem("B028", f"there is no folder {path.parent}"))
        with hold_lock(_lock(path)):
            if path.exists():
                hint = "a promise is made once; `genie-dp private budget show` shows it"
                raise GenieError(Problem("B020", f"{path} exists already", hint=hint))
            if _head(path).exists():
                message = f"{path} is missing, but {_head(path).name} counts its entries"
                hint = f"restore {path.name} from a copy: what was spent stays spent"
                raise GenieError(Problem("B021", message, hint=hint))
            ledger = cls(path, Book(secrets.token_hex(8), _now(), budget))
            ledger._write()
        return ledger

    @classmethod
    def open(cls, path: Path) -> "Ledger":
        """Return the ledger of a file.

        Raises:
            GenieError: there is none (B022), or somebody changed it (B010 .. B019).
        """
        path = _real(path)
        return cls(path, _read(path))

    @property
    def budget(self) -> Budget:
        """Return the promised budget."""
        return self._book.budget

    @property
    def id(self) -> str:
        """Return the id that the ledger keeps wherever it lies."""
        return self._book.id

    @property
    def links(self) -> tuple[Entry, ...]:
        """Return all entries, as they were when the file was last read."""
        return self._book.entries

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return the spends among the entries: the others record the releases of runs."""
        return tuple(entry for entry in self.links if not entry.released)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return all that was spent, in its order."""
        return self._book.mechanisms

    @property
    def head(self) -> str:
        """Return "number of entries:last hash", to be noted elsewhere."""
        head = self._book.head()
        return f"{head.entries}:{head.hash}"

    def unseen(self, seen: str) -> Problem | None:
        """Return how the ledger contradicts a head that was noted earlier, if it does."""
        return unseen(self._book, seen)

    def epsilon_with(self, more: Sequence[Mechanism] = ()) -> float:
        """Return the epsilon of all spends and of more, at the budget's delta."""
        mechanisms = (*self.mechanisms, *more)
        return epsilon_of(mechanisms, self.budget.delta, self.budget.accountant)

    def noise_multiplier_for(
        self,
        *,
        rate: float,
        steps: int,
        epsilon: float | None = None,
        more: Sequence[Mechanism] = (),
    ) -> float:
        """Return the least noise with which a training fits into the budget, spends included.

        Args:
            rate, steps: chance of a unit to be in a batch, number of batches.
            epsilon: of everything together, if less than the budget is to be used.
            more: further mechanisms of the run.

        Raises:
            GenieError: nothing is left (B004).
        """
        budget = self.budget
        return noise_multiplier_for(
            budget.epsilon if epsilon is None else min(budget.epsilon, epsilon),
            budget.delta,
            rate=rate,
            steps=steps,
            before=(*self.mechanisms, *more),
            accountant=budget.accountant,
        )

    def spent(self) -> Spent:
        """Return the guarantee of everything that was released so far."""
        return self._spent_up_to(len(self.links))

    def spend(
        self, mechanisms: Iterable[Mechanism], *, purpose: str, run: str, rows: str = ""
    ) -> Spent:
        """Record the mechanisms that a run applies to the data, before it releases anything.

        A run that is recorded already, with the same mechanisms and purpose, is a resumed one and
        costs nothing more. So an id belongs to one run, which ends in one release.

        Args:
            mechanisms: all that the run does to the data.
            purpose: for people: a description of the release.
            run: id of the run; see `new_run`.
            rows: keyed fingerprint of the rows (`guard.Payer` has it).

        Returns:
            The guarantee of everything released up to and with this run.

        Raises:
            GenieError: past the budget (B023): then nothing is written; the id is another run's
                (B024); the ledger was changed (B010 .. B019).
        """
        planned = tuple(mechanisms)
        _check_words(planned, purpose=purpose, run=run)
        with hold_lock(_lock(self.path)):
            self._book = _read(self.path)
            # A run killed between the two files left the second one behind, by one entry at most:
            # no other is added before it counts that.
            self._write_head()
            recorded = next((entry for entry in self.entries if entry.run == run), None)
            if recorded is None:
                self.check_fits(planned)
                self._book = self._book.with_entry(
                    run=run, purpose=purpose, recorded=_now(), mechanisms=planned, rows=rows
                )
                self._write()
            else:
                _check_same(recorded, planned, purpose)
        return self._spent_up_to(recorded.number if recorded else len(self.links))

    def close(self, run: str, released: str) -> None:
        """Record the result of a run, by its hash, before it is shown to anybody.

        One payment is for one result: put back to where it was paid and had released nothing, a
        run would draw other noise, and its result is refused here.

        Args:
            run: id of the run, which has spent.
            released: hash of all that it releases.

        Raises:
            GenieError: the run has released something else (B032); the ledger was changed.
        """
        with hold_lock(_lock(self.path)):
            self._book = _read(self.path)
            self._write_head()
            ends = {entry.run: entry.released for entry in self.links if entry.released}
            recorded = ends.get(run)
            if recorded is None:
                if not any(entry.run == run for entry in self.entries):
                    raise ValueError(f"the run {run!r} has spent nothing in {self.path}")
                self._book = self._book.with_entry(
                    run=run, purpose="released", recorded=_now(), released=released
                )
                self._write()
            elif recorded != released:
                message = f"the run {run!r} has released another result: one payment is for one"
                hint = "take the result that is there; begin anew for another one, paid again"
                raise GenieError(Problem("B032", message, hint=hint))

    @classmethod
    def accept_head(cls, path: Path) -> "Ledger":
        """Write a second file that is missing or older than the ledger, and return the ledger.

        Raises:
            GenieError: the ledger was changed, or lacks entries that the second file counts.
        """
        path = _real(path)
        with hold_lock(_lock(path)):
            book, problems = _looked_at(path)
            if any(problem.code not in ("B017", "B019") for problem in problems):
                raise GenieError(problems)
            ledger = cls(path, book)
            ledger._write_head()
        return ledger

    def check_fits(self, planned: Sequence[Mechanism] = ()) -> None:
        """Refuse mechanisms that would exceed the budget, together with earlier spends (B023)."""
        budget = self.budget
        after = self.epsilon_with(planned)
        if after <= budget.epsilon * _SLACK:
            return
        message = f"expected at most epsilon {budget.epsilon:g} at delta {budget.delta:g}, got "
        message += f"{after:.4g}"
        if planned:
            message += f" with this spend, {self.epsilon_with():.4g} without"
        hint = "`genie-dp private budget check --steps N --rate Q` says which noise fits"
        if budget.delta == 0:
            hint = "at delta 0 only Laplace noise and exponential choices have an epsilon"
        raise GenieError(Problem("B023", message, hint=hint))

    def _spent_up_to(self, count: int) -> Spent:
        budget = self.budget
        mechanisms = [mechanism for entry in self.links[:count] for mechanism in entry.mechanisms]
        return Spent(
            epsilon=epsilon_of(mechanisms, budget.delta, budget.accountant),
            delta=budget.delta,
            unit=budget.unit,
            relation=budget.relation,
            accountant=budget.accountant,
            not_covered=budget.not_covered(),
        )

    def _write(self) -> None:
        # The ledger first: a kill in between leaves one entry that the second file does not count,
        # which is no loss. The other order would look as if an entry had been removed.
        replace_durably(self.path, self._book.text())
        self._write_head()

    def _write_head(self) -> None:
        path, text = _head(self.path), head_text(self._book.head())
        if not path.exists() or path.read_bytes() != text.encode():
            replace_durably(path, text)


def _read(path: Path) -> Book:
    book, problems = _looked_at(path)
    if problems:
        raise GenieError(problems)
    return book


def _looked_at(path: Path) -> tuple[Book, list[Problem]]:
    """Return the ledger of a file, and the contradictions of the second file to it.

    Nobody needs the lock to read: where the second file is the same before and after, there was one
    spend in between at most, whose entry it does not count yet.
    """
    before = _head_bytes(path)
    while True:
        book = _book_in(path)
        now = _head_bytes(path)
        if now == before:
            break
        before = now
    head = None if now is None else read_head(now)
    return book, list(broken_end(book, head, where=_head(path).name))


def _head_bytes(path: Path) -> bytes | None:
    return _head(path).read_bytes() if _head(path).exists() else None


def _book_in(path: Path) -> Book:
    if not path.exists():
        hint = "set a budget: genie-dp private budget init"
        raise GenieError(Problem("B022", f"there is no ledger {path}", hint=hint))
    try:
        return read_book(read_text(path, code="B010"))
    except GenieError as error:
        named = [
            replace(problem, message=f"{path}: {problem.message}") for problem in error.problems
        ]
        raise GenieError(named) from None


def _check_words(planned: Sequence[Mechanism], *, purpose: str, run: str) -> None:
    if not planned:
        raise ValueError("a spend has at least one mechanism")
    for name, text in (("purpose", purpose), ("run", run)):
        if not text.strip() or not text.isprintable():
            message = f"the {name} of a spend must be one line of text, got {text!r}"
            raise GenieError(Problem("B025", message))


def _check_same(recorded: Entry, planned: Sequence[Mechanism], purpose: str) -> None:
    if recorded.mechanisms == tuple(planned) and recorded.purpose == purpose:
        return
    message = f"run {recorded.run!r} is recorded with other mechanisms or another purpose"
    hint = "resume with the settings of the first start, or give the new run another id"
    raise GenieError(Problem("B024", message, hint=hint))


def _real(path: Path) -> Path:
    if path.suffix != ".json":
        hint = f"such as {path.with_suffix('.json').name}"
        raise GenieError(
            Problem("B025", f"the name of a ledger ends in .json, got {path.name!r}", hint=hint)
        )
    # A link would be replaced by the file that it leads to.
    return path.resolve() if path.is_symlink() else path


def _head(path: Path) -> Path:
    return path.with_suffix(".head")


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.stem}.lock")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
