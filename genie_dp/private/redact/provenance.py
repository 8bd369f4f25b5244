"""How redacted rows were made, in a manifest beside them, which training asks.

The guarantee for a unit (a row, a dialogue, a user) holds if no other unit's rows follow from its
own. Looking for duplicates compares rows, so it matters whose rows were compared with whose.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.budget import Budget, key_of

SCHEMA = "genie-dp.redacted-rows/1"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The comparisons made while rows were redacted; no text.

    Attributes:
        unit_field: field that names units; only rows of one unit were compared. None for all rows.
        near: similarity above which rows were taken for duplicates; None for equal rows alone.
        are_compared: whether duplicates were masked at all.
        is_all_private: whether every row was made private, whatever its findings.
        digest: SHA-256 of the file of rows.
    """

    unit_field: str | None
    near: float | None
    are_compared: bool
    is_all_private: bool
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {
            "schema": SCHEMA,
            "unit_field": self.unit_field,
            "duplicates": {"are_masked": self.are_compared, "near": self.near},
            "is_all_private": self.is_all_private,
            "sha256": self.digest,
        }

    @property
    def by(self) -> str:
        """Return among which rows duplicates were looked for, in words."""
        return (self.unit_field or "row") + ("" if self.near is None else " with alike rows")

    def couples(self, unit_field: str | None) -> bool:
        """Return whether one unit's rows may follow from another's; None where each row is a unit.

        Equal rows are no matter to rows: whichever of them stays, the rows together are the same.

        >>> made = Provenance("user", None, True, True, "")
        >>> made.couples("user"), made.couples("dialogue"), made.couples(None)
        (False, True, False)
        """
        if not self.are_compared:
            return False
        return self.near is not None if unit_field is None else self.unit_field != unit_field


def manifest_beside(rows: Path) -> Path:
    """Return where the manifest of redacted rows is: beside them, whatever links lead there.

    >>> manifest_beside(Path("data/redacted.jsonl")).as_posix()
    'data/redacted.jsonl.manifest.json'
    """
    rows = rows.resolve() if rows.is_symlink() else rows
    return rows.with_name(f"{rows.name}.manifest.json")


def digest_of_rows(rows: Path) -> str:
    """Return the SHA-256 of a file as it lies there."""
    with rows.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_provenance(rows: Path) -> Provenance | None:
    """Return how rows were made; None where no manifest of them, as they are, lies beside them."""
    try:
        provenance = _read(json.loads(manifest_beside(rows).read_text(encoding="utf-8")))
        return provenance if provenance.digest == digest_of_rows(rows) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def redaction_of(path: Path | str, budget: Budget) -> Provenance | None:
    """Return how a file of rows was redacted; None where no manifest of these rows exists.

    Raises:
        GenieError: rows of several of the budget's units were compared, so that one unit more or
            less changes the rows of others (O017).
    """
    key = key_of(str(path), budget.unit, budget.unit_field)
    provenance = read_provenance(Path(path))
    if provenance is not None and provenance.couples(key):
        message = f"the budget is by {key or 'row'}, and {path} was redacted by {provenance.by}"
        hint = f"redact again with --unit-field {key}" if key else "redact again without --near"
        raise GenieError(Problem("O017", message, hint=hint))
    return provenance


def _read(facts: Mapping[str, Any]) -> Provenance:
    redaction = facts["redaction"]
    if redaction["schema"] != SCHEMA:
        raise ValueError("another format")
    duplicates = redaction["duplicates"]
    return Provenance(
        redaction["unit_field"],
        duplicates["near"],
        bool(duplicates["are_masked"]),
        redaction["is_all_private"] is True,
        redaction["sha256"],
    )
