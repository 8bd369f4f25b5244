"""The card of a data set folder: README.md, with the front matter that Hugging Face reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from genie_dp import __version__
from genie_dp.dataset.groups import Groups
from genie_dp.errors import GenieError, Problem
from genie_dp.records import Spent

COLUMNS = ("primitive", "compound", "filters", "parameter passing", "timers")
# Upper bounds of the size categories of the Hugging Face hub.
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


@dataclass(frozen=True, slots=True)
class Split:
    """A part of the data set: its file in the folder, and counts by COLUMNS."""

    name: str
    file: str
    rows: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Card:
    """What the card of a data set says.

    Attributes:
        made: how the rows came here, as in "split by sentence".
        sources: lines about where the rows are from.
        seeds: what was random, and its seed.
        licence: that of the rows; "" where none is stated.
        spent: the guarantee for rows of source "private".
        features: lines of YAML about the columns, where the files do not tell.
        language: of the sentences, as a two-letter code.
    """

    title: str
    made: str
    splits: tuple[Split, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...] = ("thingtalk",)
    seeds: tuple[tuple[str, int], ...] = ()
    licence: str = ""
    spent: Spent | None = None
    private_rows: int = 0
    human_rows: int = 0
    features: str = ""
    language: str = "en"
    version: str = __version__
    columns: Sequence[str] = field(default=COLUMNS)

    def __post_init__(self) -> None:
        """Refuse a card without the guarantee that private rows need."""
        if self.private_rows and self.spent is None:
            message = f"{self.private_rows:,} rows are of source private, and no guarantee is given"
            hint = "name the file of what was spent: --spent spent.json"
            raise GenieError(Problem("D011", message, hint=hint))

    @property
    def is_tsv(self) -> bool:
        """Return whether the files are tables without a header."""
        return any(split.file.endswith(".tsv") for split in self.splits)

    @property
    def size_category(self) -> str:
        """Return the size as the Hugging Face hub names it."""
        rows = sum(split.rows for split in self.splits)
        return next((name for bound, name in _SIZES if rows < bound), "1M<n<10M")


def counts_of(groups: Groups) -> dict[str, int]:
    """Return the counts of a part by COLUMNS."""
    classes, traits = groups.by_class(), groups.by_trait()
    primitive = sum(n for name, n in classes.items() if name.startswith("primitive"))
    return {"primitive": primitive, "compound": groups.rows - primitive, **traits}
