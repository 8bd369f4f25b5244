"""What a ledger promises of secrets, as `genie-dp private budget show` tells it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.statements import group_of, read_records, statement_of
from genie_dp.private.ledger.book import Ledger


@dataclass(frozen=True, slots=True)
class Secrets:
    """The promise, for programs and for people; both are empty where there is none."""

    facts: dict[str, Any]
    lines: tuple[str, ...]


def secrets_of(ledger: Ledger, groups: Sequence[int]) -> Secrets:
    """Return what is promised of single secrets, and of groups of so many.

    Raises:
        GenieError: groups are asked for where no run was on redacted rows (O014), or its record was
            removed (O004).
    """
    if not groups and not read_records(ledger.path):
        return Secrets({}, ())
    statement = statement_of(ledger)
    if not statement.redactions:
        message = "nothing is promised of secrets: no run on redacted rows is recorded"
        hint = "genie-dp private train crt records one; leave --group out"
        raise GenieError(Problem("O014", message, hint=hint))
    found = [group_of(statement, count) for count in groups]
    facts = statement.as_dict() | ({"groups": [one.as_dict() for one in found]} if found else {})
    more = (line for one in found for line in one.lines())
    return Secrets({"confidentiality": facts}, ("", "Confidentiality:", *statement.lines(), *more))
