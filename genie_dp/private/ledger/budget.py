"""The budget promised to the people whose rows are private."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.accounting import DEFAULT, ORDERS, Accountant

Unit = Literal["utterance", "dialogue", "user"]
Relation = Literal["add-or-remove-one"]
UNITS: tuple[Unit, ...] = get_args(Unit)
# Few private data sets have fewer units than one divided by this.
_LARGE_DELTA = 1e-3
# "Weak to no" guarantees above it (Ponomareva et al., How to DP-fy ML, 2023, tier 3).
_LARGE_EPSILON = 10
# The column of TSV that holds the unit, unless told: after id, utterance and program.
_COLUMN = 4
# Fields that a ledger without them says nothing of.
_MAY_MISS = {"unit_field", "apart"}


@dataclass(frozen=True, slots=True)
class Budget:
    """The promise: all releases together are (epsilon, delta)-DP; neither has a default.

    Attributes:
        epsilon, delta: of everything that is ever released from the data. Delta is far below one
            divided by the number of units.
        unit: of privacy, by which neighbours differ: an utterance, a dialogue, or all rows of a
            user.
        cap: how many rows of a dialogue or user are looked at, at most; the others are left out.
        unit_field: field that names the dialogue or user of a row, in TSV the number of its column;
            None for the field `dialogue` or `user`, or column 4. It is part of the promise: of two
            releases by different fields nothing would be known together.
        relation: neighbouring data have one unit more or less.
        accountant: which accountant's epsilon must stay within the budget. A ledger written with
            another default keeps the accountant that it names.
        apart: whether the rows may be those of another ledger: the spends of both add up, and
            neither knows of it. For experiments on rows that are published, or made up.
    """

    epsilon: float
    delta: float
    unit: Unit
    cap: int | None = None
    relation: Relation = "add-or-remove-one"
    accountant: Accountant = DEFAULT
    unit_field: str | None = None
    apart: bool = False

    def __post_init__(self) -> None:
        """Refuse a budget without a guarantee (B005), all mistakes at once."""
        problems = [Problem("B005", message, hint=hint) for message, hint in self._faults()]
        if problems:
            raise GenieError(problems)

    def _faults(self) -> Iterator[tuple[str, str | None]]:
        # Whole numbers of any size are less than infinity, and no float.
        if not (_is_number(self.epsilon) and 0 < self.epsilon <= sys.float_info.max):
            yield f"epsilon must be greater than 0 and finite, got {self.epsilon!r}", None
        if not (_is_number(self.delta) and 0 <= self.delta < 1):
            hint = "choose one far below 1 / number of units, such as 1e-6"
            yield f"delta must lie in [0, 1), got {self.delta!r}", hint
        if self.unit not in UNITS:
            yield f"unit must be one of {', '.join(UNITS)}, got {self.unit!r}", None
        elif self.unit == "utterance" and self.cap not in (None, 1):
            yield f"an utterance is one row, got cap {self.cap!r}", "leave the cap out"
        elif self.unit == "utterance" and self.unit_field is not None:
            message = f"each utterance is a unit by itself, got the field {self.unit_field!r}"
            yield message, "promise for a user or a dialogue, or leave the field out"
        elif self.unit != "utterance" and not _is_positive_count(self.cap):
            hint = f"say how many rows of a {self.unit} are looked at, at most, such as 20"
            yield f"a {self.unit} needs a cap of 1 or more rows, got {self.cap!r}", hint
        if not (self.unit_field is None or _is_name(self.unit_field)):
            yield f"unit_field must be the name of a field, got {self.unit_field!r}", None
        if self.relation != "add-or-remove-one":
            yield f"relation must be add-or-remove-one, got {self.relation!r}", None
        if self.accountant not in get_args(Accountant):
            yield f"accountant must be rdp or pld, got {self.accountant!r}", None
        if not isinstance(self.apart, bool):
            yield f"apart must be true or false, got {self.apart!r}", None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, without optional ones that are empty."""
        facts = asdict(self)
        for name in _MAY_MISS:
            if not facts[name]:
                del facts[name]
        return facts

    def not_covered(self) -> tuple[str, ...]:
        """Return the cases that the promise does not cover, in plain words."""
        plural = {"utterance": "utterances", "dialogue": "dialogues"}
        of_persons = {
            name: (f"a person with several {word}: what they cost adds up",)
            for name, word in plural.items()
        }
        apart = "what is spent on the same rows by other ledgers, beside which this one stands"
        return (
            *of_persons.get(self.unit, ()),
            *((apart,) if self.apart else ()),
            "what many people have in common: that is what is learned",
            "whoever reads the private files themselves, or copies of them",
            "decisions made by looking at the data and not entered in the ledger",
            "copies of the rows, the ledger or a run's folder that are put back, or used again",
            *self._amounts(),
        )

    def _amounts(self) -> tuple[str, ...]:
        """Return the unproved part of the promise where earlier releases chose the amounts.

        Sums of pure epsilons hold then, too (Rogers et al., 2016), and so does the Rényi divergence
        of one order (Feldman and Zrnic, 2021; Lécuyer, 2021). See docs/research/accounting.md.
        """
        if self.delta == 0:
            return ()
        chosen = "amounts of noise and steps that were chosen by looking at earlier releases"
        if self.accountant == "rdp":
            return (f"{chosen}: of these rdp is proved at {ORDERS} times delta",)
        return (f"{chosen}: pld is proved for amounts decided on before",)

    @property
    def reading(self) -> str:
        """Return the guarantee proved for the spends so far; that of the promise is stronger."""
        if self.delta == 0:
            return "proved at any time: it is a sum of epsilons without a delta"
        return (
            "what was spent so far is a reading, proved if it was decided on before that these "
            "entries are all; of who stops, or chooses what to publish, by what they showed, the "
            f"promise of {self.epsilon:g} is proved"
        )


def doubts(budget: Budget) -> Iterator[Problem]:
    """Yield warnings of budgets that are possible and promise little, or allow little.

    >>> [problem.code for problem in doubts(Budget(3.0, 0.01, "utterance"))]
    ['B027']
    """
    if budget.delta == 0:
        message = "at delta 0 no model can be trained: Gaussian noise has no epsilon there"
        yield Problem("B027", message, hint="such as 1e-6", severity="warning")
    if budget.delta > _LARGE_DELTA:
        message = f"at delta {budget.delta:g} one unit in {1 / budget.delta:,.0f} may be published"
        hint = "choose a delta far below 1 / number of units"
        yield Problem("B027", message, hint=hint, severity="warning")
    if budget.epsilon > _LARGE_EPSILON:
        message = f"epsilon {budget.epsilon:g} promises little: common budgets are 1 to 8"
        yield Problem("B027", message, severity="warning")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def _is_positive_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def budget_from(facts: Mapping[str, Any]) -> Budget:
    """Return the budget that `as_dict` wrote.

    >>> budget_from(Budget(3.0, 1e-6, "user", cap=20).as_dict()).cap
    20

    Raises:
        GenieError: fields are missing, unknown or out of range (B005).
    """
    names = {field.name for field in fields(Budget)}
    if not names - _MAY_MISS <= set(facts) <= names:
        message = f"a budget has {', '.join(sorted(names))}, got {', '.join(sorted(facts))}"
        raise GenieError(Problem("B005", message))
    return Budget(**facts)


def key_of(file: str, unit: Unit, unit_field: str | None) -> str | None:
    """Return the field or column that names units, None where each row is one; nothing is opened.

    Raises:
        GenieError: there is no such unit, or a table is to have names (Q006).
    """
    if unit not in UNITS:
        message = f"expected the unit utterance, dialogue or user, got {unit!r}"
        raise GenieError(Problem("Q006", message))
    if unit == "utterance":
        if unit_field is not None:
            hint = "give the unit user or dialogue"
            message = f"each utterance is a unit by itself, but units are named by {unit_field!r}"
            raise GenieError(Problem("Q006", message, hint=hint))
        return None
    key = unit_field or (str(_COLUMN) if is_table(file) else unit)
    if is_table(file) and not (key.isascii() and key.isdigit() and int(key) > 0):
        message = f"expected the number of a column, from 1 on, got {key!r}"
        raise GenieError(Problem("Q006", message, hint="TSV has no names"))
    return key


def is_table(file: str) -> bool:
    """Return whether a file is TSV, by its name."""
    return ".tsv" in Path(file).suffixes[-2:]
