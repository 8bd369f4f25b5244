"""The card of a parser: README.md, with the front matter that Hugging Face reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.records import Spent


@dataclass(frozen=True, slots=True)
class File:
    """A file that was learned from; `digest` is the SHA-256 of its bytes."""

    name: str
    source: str
    digest: str
    ratio: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class Card:
    """What the card of a parser says.

    Attributes:
        counts: as `rows.as_counts` gives them.
        figures: as training gives them.
        validation: what they were measured on, in words; `is_real` if these are real sentences.
        spent: the guarantee for rows of source "private".
        example: a sentence to try.
        curves: name of the picture, "" for none.
        has_skills: whether skills or declarations lie beside it; S-expressions may do without.
        members: of an ensemble, its parsers in words; their recipes are recipe-1.yaml and so on.
    """

    title: str
    folder: str
    language: str
    files: tuple[File, ...]
    counts: Mapping[str, Any]
    figures: Mapping[str, Any]
    validation: str
    is_real: bool
    seeds: tuple[int, ...]
    temperature: float
    threshold: float
    is_constrained: bool
    has_skills: bool
    example: str
    made_by: tuple[str, ...] = ()
    licence: str = ""
    spent: Spent | None = None
    curves: str = ""
    members: tuple[str, ...] = ()
    version: str = __version__

    def __post_init__(self) -> None:
        """Refuse a card without the guarantee that private rows need."""
        check_spent(self.private_rows, self.spent)

    @property
    def private_rows(self) -> int:
        """Return how many rows are private."""
        return int(self.counts["rows"].get("private", 0))

    @property
    def human_rows(self) -> int:
        """Return how many rows people wrote."""
        return int(self.counts["rows"].get("human", 0))


def check_spent(private_rows: int, spent: Spent | None) -> None:
    """Refuse private rows without their guarantee.

    Raises:
        GenieError: N006.
    """
    if private_rows and spent is None:
        message = f"{private_rows:,} rows are of source private, and no guarantee is given"
        hint = "name the file of what was spent: --spent spent.json"
        raise GenieError(Problem("N006", message, hint=hint))
