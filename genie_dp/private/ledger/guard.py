"""Guards shared by commands and Python functions: no release without a spend in its rows' ledger.

Rows that were read from a file know it (`Units`), and so do the values computed from them on the
way to a release. A release of such rows is paid by a `Payer`, which refuses another ledger than
theirs.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger import marks
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.redact.provenance import redaction_of
from genie_dp.private_prior import priors_in, spent_of
from genie_dp.records import Spent
from genie_dp.run.files import UNREADABLE, unreadable
from genie_dp.run.manifest import (
    MANIFEST,
    PRIVATE,
    files_behind,
    ledger_of,
    ledgers_in,
    ledgers_named,
)
from genie_dp.texts import read_text

One = TypeVar("One", covariant=True)
Other = TypeVar("Other")


class Units(tuple[One, ...]):
    """Private rows by unit, or values computed from them, and the file that they were read from.

    Attributes:
        file: the file; None for rows that were in none.
    """

    file: Path | None

    def __new__(cls, units: Iterable[One], file: Path | None = None) -> "Units[One]":
        """Return the units of a file, or of none."""
        units_of_file = super().__new__(cls, units)
        units_of_file.file = file
        return units_of_file

    def each(self, make: Callable[[One], Other]) -> "Units[Other]":
        """Return the units after a function was applied to each: they are of the same file."""
        return Units(map(make, self), self.file)

    def __repr__(self) -> str:
        return "Units(..)"


class Paying(Protocol):
    """A payer for a release, which also records the result."""

    def __call__(self, mechanisms: Sequence[Mechanism], run: str = "") -> Spent:
        """Record mechanisms, or refuse them; return the guarantee of everything."""
        ...

    def close(self, released: str | bytes, run: str = "") -> None:
        """Record the result of a run, before anybody sees it."""
        ...


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Payer:
    """A ledger that pays for releases of its rows.

    Attributes:
        ledger: of the rows.
        purpose: for people: a description of the release.
        run: id of the run; "" where each spend names its own.
        first: called before each spend; it may refuse.
        then: called after it.
        file: of the rows; `paid_by` finds it.
        said: the sentences of the rows.
    """

    ledger: Ledger
    purpose: str
    run: str = ""
    first: Callable[[], None] = _nothing
    then: Callable[[], None] = _nothing
    file: Path | None = None
    said: frozenset[bytes] = field(default=frozenset(), repr=False)

    def __call__(self, mechanisms: Iterable[Mechanism], run: str = "") -> Spent:
        """Record mechanisms as `Ledger.spend` does, and which rows they are for.

        Raises:
            GenieError: the rows are another ledger's (B030, B031); those of `Ledger.spend`.
        """
        run = run or self.run
        if self.file is not None:
            check_ledger(self.file, self.ledger, lambda: self.said)
        self.first()
        if self.file is None or self.ledger.budget.apart:
            spent = self.ledger.spend(mechanisms, purpose=self.purpose, run=run)
        else:
            mark = marks.mark_rows(self.file, self.said, self.ledger.path, self.ledger.id)
            rows = marks.fingerprint(self.said, mark.key)
            spent = self.ledger.spend(mechanisms, purpose=self.purpose, run=run, rows=rows)
            # Only now is anything learned of them; nothing is released before this returns.
            marks.keep(mark)
        self.then()
        return spent

    def close(self, released: str | bytes, run: str = "") -> None:
        """Record the result of a run, by its hash; refuse another result (B032)."""
        content = released.encode() if isinstance(released, str) else released
        self.ledger.close(run or self.run, hashlib.sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class _Free:
    """The payer for rows that are in no file."""

    spend: Callable[..., Spent]

    def __call__(self, mechanisms: Sequence[Mechanism], run: str = "") -> Spent:
        return self.spend(mechanisms, run) if run else self.spend(mechanisms)

    def close(self, released: str | bytes, run: str = "") -> None:
        """Do nothing: callers that record the spends know their purpose."""


def paid_by(units: object, spend: Callable[..., Spent]) -> Paying:
    """Return the payer for a release of units: their file's ledger, if they are of a file.

    Args:
        units: the private rows, as `PrivateSource` read them, or values computed from them
            (`Units`); rows that are in no file are put into `Units` by the caller, who vouches for
            them.
        spend: a `Payer`; for rows of no file also another recorder of mechanisms.

    Raises:
        GenieError: they do not know their file, or are of one and the spend goes nowhere (B033);
            the file is another ledger's (B030, B031), or cannot be read (Q001); its rows were
            redacted across the budget's units (O017).
    """
    if not isinstance(units, Units):
        message = f"expected private rows that know their file, got {type(units).__name__}"
        hint = "take PrivateSource.units, and .each to make others of them; or Units(rows)"
        raise GenieError(Problem("B033", message, hint=hint))
    if units.file is None:
        return closing(spend)
    if not isinstance(spend, Payer):
        message = f"a release of {units.file} is paid by its ledger"
        hint = "Payer(Ledger.open(ledger_of(path)), purpose, run)"
        raise GenieError(Problem("B033", message, hint=hint))
    redaction_of(units.file, spend.ledger.budget)
    sentences = marks.said_in(units.file)
    check_ledger(units.file, spend.ledger, lambda: sentences)
    return replace(spend, file=units.file, said=sentences)


def closing(spend: Callable[..., Spent]) -> Paying:
    """Return a payer that records spends, and the result of the run."""
    return spend if isinstance(spend, Payer) else _Free(spend)


# ------------------------------------------------------------------------- rows and their ledger


def check_ledger(rows: Path, ledger: Ledger, said: Callable[[], frozenset[bytes]]) -> None:
    """Refuse to learn from rows under another ledger than theirs.

    Raises:
        GenieError: another one lies beside them (B030), or knows them by their content (B031).
    """
    _check_beside(rows, ledger.path)
    if ledger.budget.apart:
        return
    for mark in marks.known_as(rows, said):
        if mark.id != ledger.id:
            raise _known_elsewhere(rows, mark)


def _check_beside(rows: Path, ledger: Path) -> None:
    beside = marks.ledger_beside(rows)
    if beside is not None and not (ledger.exists() and ledger.samefile(beside)):
        message = f"{rows} has the ledger {beside}, and {ledger} is another one"
        hint = "leave --ledger out: what is promised for rows is promised once"
        raise GenieError(Problem("B030", message, hint=hint))


def _known_elsewhere(rows: Path, mark: marks.Mark) -> GenieError:
    message = f"half of the sentences in {rows}, or all, are rows of the ledger {mark.ledger}"
    hint = f"learn from them under that one: --ledger {mark.ledger}"
    if not mark.ledger.exists():
        message += ", which is missing"
        hint = "bring it back: what was spent stays spent"
    apart = "; if they are other rows, `private budget init --allow-same-rows`"
    return GenieError(Problem("B031", message, hint=hint + apart))


def ledger_to_spend(rows: Path, ledger: Path | None) -> Path:
    """Return the ledger that is to record the mechanisms applied to private rows.

    Args:
        rows: their file.
        ledger: the one that is named, if one is.

    Raises:
        GenieError: one lies beside the rows, and another is named (B030); none is named, and one
            elsewhere knows them by their content (B031).
    """
    if ledger is not None:
        _check_beside(rows, ledger)
        return ledger
    named = marks.ledger_by_name(rows)
    if named is None:
        check_new(rows)
    return named or ledger_of(rows)


def check_new(rows: Path) -> None:
    """Refuse rows that a ledger knows already (B031)."""
    if rows.is_file():
        for mark in marks.known_as(rows, cache(lambda: marks.said_in(rows))):
            raise _known_elsewhere(rows, mark)


# ------------------------------------------------------------------------------ public files


def private_of(file: str | Path) -> Path | None:
    """Return the ledger whose rows a file has, or was made of; None for a public one.

    By its name, its links, the marks of rows, the manifest beside it, and the input files that this
    names: its content is not compared with private rows, for a refusal would disclose them.
    """
    for path in files_behind(file):
        ledger = marks.ledger_by_name(path) or next(ledgers_named(path), None)
        if ledger is not None:
            return ledger
    return None


def refuse_budget(rows: Path, use: str) -> None:
    """Refuse to learn without noise from rows that something was promised of (O010)."""
    if private_of(rows) is not None:
        message = f"these rows have a budget, which {use} would not keep"
        hint = "compare methods on rows without a ledger: public ones, or generated ones"
        raise GenieError(Problem("O010", message, hint=hint))


def doubt_of(file: str | Path, ledger: Path) -> Problem:
    """Return the warning for a file of private rows that is read without a budget (B035)."""
    message = f"the rows of {file} are private: they have the ledger {ledger}"
    hint = "no budget covers what is made of them here: keep it where they are"
    return Problem("B035", message, hint=hint, severity="warning")


@dataclass(frozen=True, slots=True)
class PrivateInputs:
    """The private files among the inputs of a run: its results are as private as they are.

    Attributes:
        ledgers: of their rows.
        warnings: for the user, one for each (B035).
    """

    ledgers: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def fields(self) -> dict[str, list[str]]:
        """Return the entries for the manifest of a result; none where it may be published."""
        return {PRIVATE: list(self.ledgers)} if self.ledgers else {}

    def lines(self) -> Iterator[str]:
        """Yield the warnings as they are printed."""
        for warning in self.warnings:
            yield str(GenieError(warning))


def private_inputs(files: Iterable[str | Path | None]) -> PrivateInputs:
    """Return which of the files and folders that a run reads are private; None and "" are none."""
    ledgers: dict[str, None] = {}
    warnings = []
    for file in dict.fromkeys(str(file) for file in files if file):
        ledger = private_of(file)
        if ledger is not None:
            ledgers[str(ledger.resolve())] = None
            warnings.append(doubt_of(file, ledger))
    return PrivateInputs(tuple(ledgers), tuple(warnings))


def refuse_private(files: Iterable[str | Path], private: Path | None, *, code: str) -> None:
    """Refuse files that are declared public and are not: their content is released.

    Args:
        files: the inputs that are to be read without noise.
        private: the private rows, where they are known.
        code: of the error.

    Raises:
        GenieError: one is the private file itself, has a ledger, or was made of rows with one.
    """
    for file in files:
        path = Path(file)
        is_same = private is not None and path.exists() and path.samefile(private)
        if is_same or private_of(file):
            why = "it is the private file itself" if is_same else "it has a ledger"
            if not is_same and not marks.ledger_by_name(path):
                why = "it was made of rows that have a ledger"
            hint = "give rows of synthesize, or others that may be published"
            raise GenieError(Problem(code, f"{file} is not public: {why}", hint=hint))


def refuse_learned(parser: Path | None, private: Path | None, *, code: str) -> None:
    """Refuse a parser that learned of private rows: its output discloses them, without noise.

    Args:
        parser: a folder of genie-dp train, whose manifest has the files that it learned of.
        private: the private rows, where they are known.
        code: of the error.

    Raises:
        GenieError: one of these files is private (`private_of`), or has the rows of the private
            file; or the manifest is broken.
    """
    manifest = _manifest_in(parser)
    if manifest is None:
        return
    learned: dict[str, str] = _facts_of(manifest, code).get("inputs", {})
    digest = None if private is None else _digest(private)
    has_ledgers = ledgers_in(manifest)
    for file, file_digest in learned.items():
        if file_digest == digest or has_ledgers or private_of(file):
            message = f"{parser} has learned of private rows, without noise: of {file}"
            hint = "give a parser of rows that may be published, or of those that a generator drew"
            raise GenieError(Problem(code, message, hint=hint))


def refuse_uncovered(parser: Path | None, spent: Spent, *, code: str) -> None:
    """Refuse a parser that learned more of private rows, with noise, than a guarantee covers.

    The guarantee of a ledger at a time covers all that it released before: rows that a generator of
    the same ledger drew are covered by its guarantee, or by a later one.

    Args:
        parser: a folder of genie-dp train, whose manifest has the guarantees of its rows.
        spent: the guarantee of the result made with the parser.
        code: of the error.

    Raises:
        GenieError: a guarantee of its rows is a weaker one, or of another unit; or the manifest is
            broken.
    """
    manifest = _manifest_in(parser)
    if manifest is None:
        return
    facts = _facts_of(manifest, code)
    own = [facts["spent"]] if facts.get("spent") else []
    for before in map(spent_of, (*own, *priors_in(facts).values())):
        is_same = (before.unit, before.relation) == (spent.unit, spent.relation)
        if not is_same or before.epsilon > spent.epsilon or before.delta > spent.delta:
            message = (
                f"{parser} has learned private rows under epsilon {before.epsilon:.4g}, delta "
                f"{before.delta:g} by {before.unit}: more than epsilon {spent.epsilon:.4g}, delta "
                f"{spent.delta:g} by {spent.unit} covers"
            )
            hint = "give a parser of public rows, or of rows that this generator drew"
            raise GenieError(Problem(code, message, hint=hint))


def _manifest_in(parser: Path | None) -> Path | None:
    manifest = None if parser is None else parser / MANIFEST
    return manifest if manifest is not None and manifest.is_file() else None


def _digest(rows: Path) -> str:
    import smart_open

    try:
        sha256 = hashlib.sha256()
        with smart_open.open(str(rows), "rb") as file:
            while block := file.read(1 << 20):
                sha256.update(block)
        return sha256.hexdigest()
    except UNREADABLE as error:
        raise GenieError(unreadable(str(rows), error, code="Q001")) from None


def _facts_of(manifest: Path, code: str) -> dict[str, Any]:
    """Return the manifest of a parser, if it lists the files that the parser learned from."""
    try:
        facts = json.loads(read_text(manifest, code=code))
    except ValueError:
        facts = None
    if not isinstance(facts, dict) or not isinstance(facts.get("inputs", {}), dict):
        message = f"{manifest} is broken: it does not tell what the parser has learned of"
        raise GenieError(Problem(code, message, hint="train the parser again"))
    return facts
