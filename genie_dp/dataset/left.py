"""Rows of other data sets that have no equal here, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Left:
    """A row that was left out.

    Attributes:
        reason: one of few, for counting, such as "projection".
        detail: what in this row.
    """

    id: str
    utterance: str
    program: str
    reason: str
    detail: str = ""


class NoEqual(Exception):
    """A program says what cannot be said in our language."""

    def __init__(self, reason: str, detail: str = ""):
        """Keep why."""
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
