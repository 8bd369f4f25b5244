"""Settings of redaction, of what it is measured by, and of detectors that are trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.recipe import check_settings, setting
from genie_dp.records import DEFAULT_LANGUAGE

# What a data point of a text file is.
Points = Literal["line", "sentence", "paragraph"]
POINTS: tuple[Points, ...] = get_args(Points)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorConfig:
    """What finds secrets: patterns, phones and placeholders unless left out, and those named."""

    gazetteer: tuple[tuple[str, str], ...] = setting(
        (), "Values that are secret, one a line.", metavar="KIND=FILE"
    )
    detector: tuple[Path, ...] = setting(
        (), "A detector of genie-dp private detector.", metavar="FOLDER"
    )
    spacy: str | None = setting(None, "The entities of an installed spaCy model.", metavar="MODEL")
    presidio: bool = setting(False, "Presidio, with the --spacy model if named.")
    region: str = setting(
        "US", "Where phone numbers without a country's prefix are from.", metavar="COUNTRY"
    )
    without: tuple[str, ...] = setting(
        (), "Leave a detector out.", choices=("patterns", "phones", "placeholders")
    )

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactConfig(DetectorConfig):
    """What is masked, and which rows are private."""

    threshold: float = setting(
        0.5, "Least score of what is masked: the policy pi.", least=0, most=1
    )
    conservative: float | None = setting(
        None,
        "Least score of what makes a row private: the policy pi_c [all]. Give a score, such as "
        "0.1, only where you measured what it misses (genie-dp private score-redaction).",
        metavar="SCORE|all",
    )
    points: Points = setting(
        "line",
        "What a data point of a .txt is; of other files each row is one.",
        choices=POINTS,
    )
    near: float | None = setting(
        None,
        "Take rows of that Jaccard similarity for duplicates, too, such as 0.8. Give --unit-field "
        "with it: across all rows, one decides about many others, and training refuses them.",
        metavar="SHARE",
    )
    unit_field: str | None = setting(
        None,
        "Look for duplicates only among rows with the same value of this field of JSON rows, and "
        "keep it: needed where the budget's unit is a user or a dialogue.",
        metavar="FIELD",
    )
    keep_duplicates: bool = setting(False, "Do not mask rows that came before.")
    keep: tuple[str, ...] = setting(
        (), "Keep this field of JSON rows; duplicates are equal in it, too.", metavar="FIELD"
    )
    language: str = setting(DEFAULT_LANGUAGE, "Of programs that do not say theirs.")
    review_rows: int = setting(
        100, "Rows of each sort on the page, drawn by chance.", least=1, metavar="N"
    )
    seed: int = setting(0, "Of the rows on the page.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig(DetectorConfig):
    """Which policies are measured."""

    policy: tuple[tuple[str, float], ...] = setting(
        (("pi", 0.5), ("pi_c", 0.1)),
        "A policy with its least score [pi=0.5 pi_c=0.1].",
        metavar="NAME=SCORE",
    )
    level: float = setting(0.95, "Of the intervals.", least=0.5, below=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorTrainingConfig:
    """On how many sentences a detector is trained, and how large it is."""

    sentences: int = setting(20_000, "Sentences to make.", least=0, metavar="N")
    epochs: float = setting(3.0, "How often each sentence is seen.", above=0)
    size: int = setting(64, "Of states; an even number.", least=2)
    seed: int = setting(0, "Of sentences, weights and order.")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
        if self.size % 2:
            raise GenieError(Problem("R040", f"size: expected an even number, got {self.size}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorTrainingInputs:
    """The public text that a detector is trained on.

    Attributes:
        frames: sentences with places for values; None for those of the package.
        values: names of lists, with files of their values.
        rows: rows whose sentences are frames, too.
        labelled: rows with utterance and spans.
    """

    frames: Path | None = None
    values: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, ...] = ()
    labelled: tuple[Path, ...] = ()

    @property
    def files(self) -> list[str | Path]:
        """Return all files."""
        frames = [self.frames] if self.frames else []
        return [*dict(self.values).values(), *frames, *self.rows, *self.labelled]
