"""Settings of redaction, of its measurement, and of the training of detectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.recipe import REQUIRED, check_settings, parse_pair, setting
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.stage.kernel import OVERWRITE, RESUME, OutputOption, Stage

# What a data point of a text file is.
Points = Literal["line", "sentence", "paragraph"]
POINTS: tuple[Points, ...] = get_args(Points)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorConfig:
    """The detectors: patterns, phones and placeholders unless left out, and those named."""

    gazetteer: tuple[tuple[str, str], ...] = setting(
        (),
        "Values that are secret, one a line.",
        metavar="KIND=FILE",
        parse=parse_pair("person=names.txt"),
    )
    detector: tuple[Path, ...] = setting(
        (), "A detector of genie-dp private detector.", value="folder of settings"
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


def _parse_score(text: str) -> float | None:
    """Return a least score; None for all."""
    try:
        return None if text == "all" else float(text)
    except ValueError:
        message = f"expected all or a score from 0 to 1, got {text!r}"
        raise GenieError(Problem("R040", message)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redact(Stage, DetectorConfig):
    """Mask the secrets and the duplicates of FILE, and part its rows for training.

    FILE is JSONL or TSV with utterances and perhaps programs, or a .txt. Findings become
    <MASK>, in the program as well. Each row has its part: private if it has a mask, or if
    --conservative takes anything in it; else public.

    All files that are written are private: only you can read them, and nothing of them is printed.
    Until they are complete the rows gather in the folder .OUTPUT.work, beside OUTPUT; a run that
    was interrupted goes on with --resume, and gives the same bytes.

    \b
    genie-dp private redact calls.jsonl -o redacted.jsonl --review review.html
    genie-dp private redact calls.jsonl -o redacted.jsonl --unit-field user
    genie-dp private redact mails.txt -o redacted.jsonl --points sentence \\
      --gazetteer person=customers.txt --detector detector --conservative 0.1
    """

    command = "private redact"
    work = "genie_dp.private.redact.run:run"
    output = OutputOption(
        "Where the redacted rows go, as JSONL.", resume=RESUME, overwrite=OVERWRITE
    )

    source: str = setting(REQUIRED, "Rows to redact.", is_argument=True, metavar="FILE")
    threshold: float = setting(
        0.5, "Least score of what is masked: the policy pi.", least=0, most=1
    )
    conservative: float | None = setting(
        None,
        "Least score of what makes a row private: the policy pi_c [all]. Give a score, such as "
        "0.1, only where you measured what it misses (genie-dp private score-redaction).",
        metavar="SCORE|all",
        parse=_parse_score,
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
    report: str | None = setting(
        None, "Write counts and settings there, as JSON.", value="text", metavar="FILE"
    )
    review: str | None = setting(
        None,
        "Write a page there that shows what was found. It is private.",
        value="text",
        metavar="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRedaction(Stage, DetectorConfig):
    """Measure policies on rows whose secrets are labelled: precision, recall, and gamma.

    LABELLED is JSONL with `utterance` and `spans`, [[start, end, kind], ..] in characters. Gamma is
    the share of secrets that are not wholly masked; differs has those, too, whose mask takes a word
    beside them, as a statement of confidentiality needs. All have intervals.

    \b
    genie-dp private score-redaction labelled.jsonl --output policies.json
    genie-dp private score-redaction made.jsonl --is-public --policy pi=0.5 --policy strict=0.8
    """

    command = "private score-redaction"
    work = "genie_dp.private.redact.measure:run"
    output = OutputOption("Write the result there, as JSON.", is_required=False)

    labelled: Path = setting(
        REQUIRED, "Rows with labels.", is_argument=True, value="file", metavar="LABELLED"
    )
    policy: tuple[tuple[str, float], ...] = setting(
        (("pi", 0.5), ("pi_c", 0.1)),
        "A policy with its least score [pi=0.5 pi_c=0.1].",
        metavar="NAME=SCORE",
        parse=parse_pair("NAME=SCORE", float),
    )
    level: float = setting(0.95, "Of the intervals.", least=0.5, below=1)
    is_public: bool = setting(
        False, "LABELLED may be seen by everybody: print figures.", value="flag"
    )

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse policies of one name, and figures of private text without a file."""
        if len(dict(self.policy)) < len(self.policy):
            return "two policies of one name"
        if not self.is_public and target == "":
            return (
                "say --is-public if LABELLED may be seen by everybody, or name an --output: "
                "figures of private text are private, and are not printed"
            )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainDetector(Stage):
    """Train a detector of names, addresses, numbers and others on sentences that are made.

    All that it is trained on must be public: its words are in the folder.

    \b
    genie-dp private detector -o detector
    genie-dp private detector -o detector --frames frames.txt --values person=names.txt
    """

    command = "private detector"
    work = "genie_dp.private.redact.learned:run"
    output = OutputOption(
        "Where the detector goes.",
        metavar="FOLDER",
        overwrite="Write over a detector that is there.",
    )

    sentences: int = setting(20_000, "Sentences to make.", least=0, metavar="N")
    epochs: float = setting(3.0, "How often each sentence is seen.", above=0)
    size: int = setting(64, "Of states; an even number.", least=2)
    seed: int = setting(0, "Of sentences, weights and order.")

    frames: Path | None = setting(
        None,
        "Sentences with places such as {person} and {=city} [those of the package].",
        value="file",
    )
    values: tuple[tuple[str, str], ...] = setting(
        (),
        "Values for {NAME}, one a line, or in place of a list of the package.",
        metavar="NAME=FILE",
        parse=parse_pair("city=cities.txt"),
    )
    rows: tuple[str, ...] = setting(
        (),
        "Rows of genie-dp synthesize: their sentences are frames, too.",
        value="text",
        metavar="FILE",
    )
    labelled: tuple[Path, ...] = setting(
        (), "PUBLIC rows with utterance and spans to learn from as well.", value="file"
    )
    lists: Mapping[str, Sequence[str]] = setting(
        REQUIRED, "Lists of values that frames may name.", value="lists"
    )

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse an odd size: half of the states read in each direction."""
        return f"size: expected an even number, got {self.size}" if self.size % 2 else None

    @property
    def files(self) -> list[str | Path]:
        """Return all files."""
        frames = [self.frames] if self.frames else []
        return [*dict(self.values).values(), *frames, *self.rows, *self.labelled]
