"""Guarantees for secrets, beside those of the ledger for rows: a file next to the ledger.

`private.confidentiality.json` lies beside `private.ledger.json`. It has a record of each run on
redacted rows: which redaction, how many secrets it misses, and where that was measured. The purpose
that the ledger has of the run ends with the record's hash, so a record that was changed afterwards,
or taken away, is noticed. The ledger's own format knows nothing of it.
"""

import hashlib
import hmac
import json
import math
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.accounting import (
    Guarantee,
    guarantee_of_crt,
    guarantee_of_replacing,
    guarantee_of_unique_group,
)
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Unit
from genie_dp.private.ledger.chain import digest
from genie_dp.private.ledger.files import hold_lock, replace_durably

FORMAT = "genie-dp confidentiality 1"
# How it is known that no unit's rows were changed because of another's: by the manifest of
# redaction, where alike rows of a unit may have been compared ("near"), or by the owner's word.
Apart = Literal["recorded", "near", "said"]
_REPORT = ("gamma", "missed_by_both")
# Of the intervals, as statements say.
LEVEL = 0.95
# At a larger delta, what is looked up is worth little, and accountants refuse 1.
_MOST_DELTA = 0.1
# Of the hash of a redacted text.
_KEY_BYTES = 32
_MARK = re.compile(r"; confidentiality ([0-9a-f]{16})$")


@dataclass(frozen=True, slots=True)
class MissRate:
    """How many of the secrets a policy misses, as it was measured.

    Attributes:
        estimate: the share.
        low, high: bounds of its 95 % interval.
        measured_on: where: "200 rows labelled by hand", or another description that people can
            check.
    """

    estimate: float
    low: float
    high: float
    measured_on: str

    def __post_init__(self) -> None:
        """Refuse a value that is no share with an interval around it (O001)."""
        if not 0 <= self.low <= self.estimate <= self.high <= 1:
            message = (
                f"expected 0 <= low <= share <= high <= 1, got {self.low:g}, "
                f"{self.estimate:g}, {self.high:g}"
            )
            raise GenieError(Problem("O001", message, hint="give a share and its interval"))
        if not self.measured_on.strip() or not self.measured_on.isprintable():
            message = "expected one line that says where the share of missed secrets was measured"
            raise GenieError(Problem("O001", message, hint='such as "200 rows labelled by hand"'))

    @property
    def has_interval(self) -> bool:
        """Return whether the upper bound is one: a share given alone may be less than the truth."""
        return self.low < self.high or self in (UNMEASURED, NOTHING_PUBLIC)


# Nothing is claimed of a policy that nobody measured.
UNMEASURED = MissRate(1.0, 1.0, 1.0, "nowhere: nothing is claimed of the policy")
NOTHING_PUBLIC = MissRate(0.0, 0.0, 0.0, "no row is public")


def parse_share(text: str, where: str) -> MissRate:
    """Return a share, or a share with its interval, as it is given on a command line.

    Raises:
        GenieError: it is none (O001).

    >>> parse_share("0.1,0.05,0.2", "20 rows").high
    0.2
    """
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    match numbers:
        case [share]:
            # Without an interval nothing is known of how sure it is: a number that was decided.
            return MissRate(share, share, share, where)
        case [share, low, high]:
            return MissRate(share, low, high, where)
    message = f"expected a share, or share,low,high, got {text!r}"
    raise GenieError(Problem("O001", message, hint="such as 0.1,0.06,0.15"))


def read_shares(report: Path) -> tuple[MissRate, MissRate]:
    """Return gamma and delta_2 of a report of `genie-dp private score-redaction`.

    Raises:
        GenieError: they are not in it, or have narrower intervals (O011); a share is none (O001).
    """
    try:
        facts = json.loads(report.read_text(encoding="utf-8"))
        gamma, both = (_read_share(facts[name]) for name in _REPORT)
        if facts.get("level", LEVEL) < LEVEL:
            raise ValueError(f"intervals of {facts['level']:.0%}, not {LEVEL:.0%}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"expected the shares {' and '.join(_REPORT)} in {report}, got: {error}"
        hint = 'each as {"estimate": .., "low": .., "high": .., "measured_on": ".."}'
        raise GenieError(Problem("O011", message, hint=hint)) from None
    return gamma, both


def _read_share(facts: Any) -> MissRate:
    if not isinstance(facts, dict):
        raise ValueError(f"a share without bounds: {facts!r}")
    where = str(facts.get("measured_on") or f"{facts['of']} labelled secrets")
    estimate: Any = facts.get("estimate", facts.get("value"))
    return MissRate(estimate, facts["low"], facts["high"], where)


@dataclass(frozen=True, slots=True)
class Redaction:
    """One redacted text, and how well it was redacted.

    Attributes:
        id: of its content, by a key that lies beside it (`id_of`).
        gamma: share of secrets that the policy misses.
        missed_by_both: delta_2, the share of secrets whose row is public.
        apart: how it is known that each unit was redacted by itself; None where it is not, in
            records of before this was asked.
    """

    id: str
    gamma: MissRate = UNMEASURED
    missed_by_both: MissRate = NOTHING_PUBLIC
    apart: Apart | None = None

    @property
    def is_amplified(self) -> bool:
        """Return whether a secret that was found changes nothing, so that few missed ones help."""
        return self.apart in ("recorded", "said")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, as `_read_record` reads them."""
        fields = asdict(self)
        if self.apart is None:  # the hashes of such records were made without
            del fields["apart"]
        return fields


@dataclass(frozen=True, slots=True)
class Record:
    """A run and the redaction of its rows."""

    run: str
    redaction: Redaction

    @property
    def mark(self) -> str:
        """Return the end of the run's purpose in the ledger: the share, and the hash."""
        gamma = self.redaction.gamma
        share = f"{gamma.estimate:g} ({gamma.low:g} to {gamma.high:g})"
        return f"; misses {share}; confidentiality {digest(self.as_dict())[:16]}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {"run": self.run, "redaction": self.redaction.as_dict()}


@dataclass(frozen=True, slots=True)
class Statement:
    """The guarantees for secrets, after all runs of a ledger.

    Attributes:
        rows: for adding or removing one unit of the private part, as the ledger has it.
        secret: for one secret of a private row that the policy missed (theorem 8, 1), or all such
            of one unit together.
        bayesian: for a secret drawn from where the policy was measured (theorem 8, 3), at the upper
            ends of the intervals.
        expected: the same at the estimates.
        gamma, missed_by_both: shares used, of all redactions together.
        redactions: each with its intervals, and where they were measured.
        unit: of privacy, by which neighbours differ.
    """

    rows: Guarantee
    secret: Guarantee
    bayesian: Guarantee
    expected: Guarantee
    gamma: float
    missed_by_both: float
    redactions: tuple[Redaction, ...]
    unit: Unit = "utterance"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)

    def lines(self) -> tuple[str, ...]:
        """Return the statement in plain words."""
        rows, secrets = _OF_UNIT[self.unit]
        return (
            f"{rows} more or less: {_in_words(self.rows)}",
            f"{secrets} that redaction missed, or <MASK>: {_in_words(self.secret)}",
            f"a secret like those of which redaction misses {self.gamma:g} ({self._sureness}): "
            f"{_in_words(self.bayesian)}",
            *(
                f"measured: misses {_interval(redaction.gamma)}; in public rows "
                f"{_interval(redaction.missed_by_both)}"
                for redaction in self.redactions
            ),
            *dict.fromkeys(
                _LIMITS[redaction.apart]
                for redaction in self.redactions
                if redaction.apart != "recorded"
            ),
        )

    @property
    def _sureness(self) -> str:
        rates = [
            rate
            for redaction in self.redactions
            for rate in (redaction.gamma, redaction.missed_by_both)
        ]
        if not all(rate.has_interval for rate in rates):
            return "as given, without an interval"
        return "at most, 95 %" if len(self.redactions) < 2 else "at most, 95 % for each text"


_OF_UNIT: Mapping[Unit, tuple[str, str]] = {
    "utterance": ("one private row", "one secret of a private row"),
    "dialogue": ("one dialogue's private rows", "secrets of one dialogue's private rows"),
    "user": ("one user's private rows", "secrets of one user's private rows"),
}
_LIMITS: Mapping[Apart | None, str] = {
    "said": "by the owner's word, not by a record: no unit's rows were made from another's",
    "near": "alike rows were compared: that few secrets are missed takes nothing off",
    None: "how the rows of a run were redacted was not recorded: nothing is promised",
}


@dataclass(frozen=True, slots=True)
class GroupStatement:
    """The guarantee for several secrets together, all in private rows (theorem 8, 2).

    Attributes:
        secrets: how many different ones there are, m.
        missed: how many of them redaction misses if it misses the statement's gamma of them.
        together: for these.
        all_missed: for a group of which redaction missed all.
    """

    secrets: int
    missed: int
    together: Guarantee
    all_missed: Guarantee

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)

    def lines(self) -> tuple[str, ...]:
        """Return the statement in plain words."""
        cases = ((self.missed, self.together), (self.secrets, self.all_missed))
        return tuple(
            f"{self.secrets:,} secrets of private rows together, if redaction missed {count:,}: "
            f"{_in_words(guarantee)}"
            for count, guarantee in dict(cases).items()
        )


def group_of(statement: Statement, secrets: int) -> GroupStatement:
    """Return the guarantee of a statement for so many different secrets together.

    Epsilon and delta of one missed secret are those for replacing a row. The number that is missed
    is a whole one: the upper end of gamma's interval, rounded up.

    >>> each = Guarantee(0.5, 1e-6)
    >>> group = group_of(Statement(each, each, each, each, 0.15, 0.0, ()), 10)
    >>> group.missed, group.together.epsilon, group.all_missed.epsilon
    (2, 1.0, 5.0)
    """
    # Of 20 secrets 0.15 are 3, though 20 * 0.15 may be a little more as a float.
    missed = min(secrets, math.ceil(secrets * statement.gamma * (1 - 1e-12)))
    return GroupStatement(
        secrets,
        missed,
        guarantee_of_unique_group(statement.secret, secrets, missed / secrets),
        guarantee_of_unique_group(statement.secret, secrets, 1.0),
    )


def _in_words(guarantee: Guarantee) -> str:
    if not guarantee.delta < 1:
        return "nothing, for delta would be 1 or more"
    return f"epsilon {guarantee.epsilon:.4g}, delta {guarantee.delta:.3g}"


def _interval(rate: MissRate) -> str:
    bounds = f"({rate.low:g} to {rate.high:g})" if rate.has_interval else "(without an interval)"
    return f"{rate.estimate:g} {bounds} on {rate.measured_on}"


def book_of(ledger: Path) -> Path:
    """Return where the records of a ledger lie.

    >>> book_of(Path("data/private.ledger.json")).as_posix()
    'data/private.confidentiality.json'
    """
    return ledger.with_name(ledger.name.removesuffix(".json").removesuffix(".ledger")
                            + ".confidentiality.json")  # fmt: skip


def id_of(rows: Path) -> str:
    """Return the id of a redacted file: equal for equal bytes, and of no use without its key.

    The key lies beside the private rows. A plain hash in a ledger that is shown around would
    disclose the last row to somebody who knows all others.

    Raises:
        GenieError: the key is broken (O015).
    """
    digest_of_rows = hmac.new(_key_of(rows), digestmod=hashlib.sha256)
    with rows.open("rb") as file:
        while block := file.read(1 << 20):
            digest_of_rows.update(block)
    return digest_of_rows.hexdigest()[:32]


def _key_of(rows: Path) -> bytes:
    """Return the key of a redacted file; the first time it is drawn, and kept beside the rows."""
    path = rows.with_name(f".{rows.name}.key")
    if not path.exists():
        _keep_new_key(path)
    try:
        key = bytes.fromhex(path.read_text(encoding="utf-8"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        message = f"expected a key of {2 * _KEY_BYTES} hexadecimal digits in {path}"
        hint = "restore it from a copy; where no run was recorded of these rows, delete it"
        raise GenieError(Problem("O015", message, hint=hint))
    return key


def _keep_new_key(path: Path) -> None:
    """Write a key, whole or not at all: with a part of it, or none, hashes could be tried out.

    Where another process was faster, its key stays.
    """
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_hex(_KEY_BYTES))
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(partial, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def keep_record(ledger: Path, record: Record) -> None:
    """Write a record, synced, before its run is paid; one that is there stays.

    Raises:
        GenieError: the run has another record (O002), or the file is none (O003).
    """
    path = book_of(ledger)
    with hold_lock(path.with_name(f".{path.stem}.lock")):
        records = {earlier.run: earlier for earlier in read_records(ledger)}
        if records.setdefault(record.run, record) != record:
            message = f"run {record.run} is recorded with another redaction, or another share"
            hint = "resume with the rows and shares of the first start"
            raise GenieError(Problem("O002", message, hint=hint))
        facts = {"format": FORMAT, "records": [each.as_dict() for each in records.values()]}
        replace_durably(path, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def read_records(ledger: Path) -> tuple[Record, ...]:
    """Return the records beside a ledger; none where there is no file.

    Raises:
        GenieError: the file is none that `keep_record` wrote (O003).
    """
    path = book_of(ledger)
    if not path.exists():
        return ()
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts["format"] != FORMAT:
            raise ValueError("another format")
        return tuple(_read_record(entry) for entry in facts["records"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"expected records of confidentiality in {path}, got: {error}"
        raise GenieError(Problem("O003", message, hint="restore it from a copy")) from error


def _read_record(facts: Mapping[str, Any]) -> Record:
    fields = facts["redaction"]
    rates = {name: MissRate(**fields[name]) for name in ("gamma", "missed_by_both")}
    return Record(facts["run"], Redaction(fields["id"], **rates, apart=fields.get("apart")))


def statement_of(ledger: Ledger) -> Statement:
    """Return the guarantees for secrets after all spends of a ledger.

    Epsilons of all runs are composed first, and amplified once: whether a secret is missed is
    decided by the redaction, not again by each run. So of several runs on one redacted text the
    shares count once; those of different redactions add up (somebody missed it); and a run on rows
    that were never redacted, such as a generator's, leaves no amplification. Where it was not
    recorded whose rows redaction compared, nothing is promised: every delta is 1.

    Raises:
        GenieError: a record is missing or was changed (O004), or cannot be read (O003).
    """
    redactions = _redactions(ledger)
    budget = ledger.budget
    rows = Guarantee(ledger.epsilon_with(), budget.delta if ledger.entries else 0.0)
    secret = guarantee_of_replacing(ledger.mechanisms, budget.delta, budget.accountant)
    is_all = all(_MARK.search(entry.purpose) for entry in ledger.entries)
    is_all = is_all and all(redaction.is_amplified for redaction in redactions)
    gammas = [redaction.gamma for redaction in redactions]
    shares_of_both = [redaction.missed_by_both for redaction in redactions]
    gamma = min(1.0, sum(rate.high for rate in gammas)) if is_all else 1.0
    expected = min(1.0, sum(rate.estimate for rate in gammas)) if is_all else 1.0
    both = min(1.0, sum(rate.high for rate in shares_of_both))
    likely = min(1.0, sum(rate.estimate for rate in shares_of_both))
    if any(redaction.apart is None for redaction in redactions):
        rows, secret = Guarantee(rows.epsilon, 1.0), Guarantee(secret.epsilon, 1.0)
        both = likely = 1.0
    return Statement(
        rows,
        secret,
        bayesian_of(ledger, gamma, both),
        bayesian_of(ledger, expected, likely),
        gamma,
        both,
        redactions,
        budget.unit,
    )


def bayesian_of(ledger: Ledger, gamma: float, missed_by_both: float) -> Guarantee:
    """Return the Bayesian confidentiality of all runs at the budget's delta, plus delta_2.

    Amplification leaves gamma delta of the training's delta, so that this is looked up at delta /
    gamma, where epsilon is less: so the paper's figure 6 compares at one delta.
    """
    delta, budget = ledger.budget.delta, ledger.budget
    if gamma == 0 or not ledger.mechanisms:
        return Guarantee(0.0, missed_by_both)
    training = guarantee_of_replacing(
        ledger.mechanisms, min(delta / gamma, _MOST_DELTA), budget.accountant
    )
    return guarantee_of_crt(training, gamma, missed_by_both)


def _redactions(ledger: Ledger) -> tuple[Redaction, ...]:
    """Return the redactions of a ledger's runs, each once unless its shares differ."""
    records = {record.run: record for record in read_records(ledger.path)}
    redactions: dict[str, Redaction] = {}
    for entry in ledger.entries:
        if not _MARK.search(entry.purpose):
            continue
        record = records.get(entry.run)
        if record is None or not entry.purpose.endswith(record.mark):
            message = f"the record of confidentiality of run {entry.run} was changed or removed"
            hint = f"restore {book_of(ledger.path).name} from a copy"
            raise GenieError(Problem("O004", message, hint=hint))
        # Shares that were measured anew, of the same text: the larger ones count.
        redaction = record.redaction
        earlier = redactions.get(redaction.id)
        redactions[redaction.id] = _worse(earlier, redaction) if earlier else redaction
    return tuple(redactions.values())


def _worse(left: Redaction, right: Redaction) -> Redaction:
    return Redaction(
        left.id,
        _larger(left.gamma, right.gamma),
        _larger(left.missed_by_both, right.missed_by_both),
        min(left.apart, right.apart, key=_SURENESS.index),
    )


# From what is least sure.
_SURENESS: tuple[Apart | None, ...] = (None, "near", "said", "recorded")


def _larger(*rates: MissRate) -> MissRate:
    """Return the larger share of those that were measured.

    A run without public rows measured nothing: it cannot stand for one that had them.
    """
    measured = [rate for rate in rates if rate not in (UNMEASURED, NOTHING_PUBLIC)]
    return max(measured or rates, key=lambda rate: (rate.high, rate.estimate))
