"""Settings of audits and of canaries, and what an audit reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.recipe import check_settings, setting

# Statements of confidentiality.json: private rows, missed secrets, secrets drawn at random.
About = Literal["rows", "secret", "bayesian"]
ABOUT: tuple[About, ...] = get_args(About)
TEMPLATE, WORD_TEMPLATE = "My ID is {digits:6}", "{word} {word} {word} {word}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditConfig:
    """Which attacks there are, and how their figures are made."""

    samples: int = setting(
        0, "Draw so many texts and look for training text in them.", least=0, metavar="N"
    )
    words: int = setting(
        8, "Fewest words of a piece of training text that counts.", least=1, metavar="N"
    )
    show: int = setting(
        0, "Print the N longest pieces: PRIVATE TEXT, on the terminal.", least=0, metavar="N"
    )
    group: int = setting(20, "Rows of a group that is attacked as a whole.", least=2)
    claim: float | None = setting(
        None, "What is claimed of a row [what MODEL's folder says].", least=0, metavar="EPSILON"
    )
    delta: float | None = setting(None, "Of --claim.", least=0, below=1, metavar="DELTA")
    about: About = setting(
        "rows",
        "Which claim of train crt: rows, secrets that redaction missed, or secrets drawn at "
        "random, if the attack knows which.",
        choices=ABOUT,
    )
    level: float = setting(0.95, "Of intervals, and of all bounds together.", least=0.5, below=1)
    language: str | None = setting(None, "Of the rows' programs [that of MODEL].", metavar="NAME")
    longest: int = setting(256, "Tokens of a text, for models of Hugging Face.", least=8)
    with_end: bool = setting(False, "Let the end of a candidate count, too: ten times the steps.")
    states: int = setting(256, "States of candidates in memory at a time.", least=1)
    seed: int = setting(0, "Of samples, groups, halves and intervals.")
    device: str = setting("cpu", "cpu, cuda, cuda:1 ..", metavar="NAME")
    threads: int = setting(1, "Of torch.", least=1)

    def __post_init__(self) -> None:
        """Check every field, and that a claim has both of its numbers.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
        if (self.claim is None) != (self.delta is None):
            raise GenieError(Problem("R040", "claim and delta go together", hint="give both"))


@dataclass(frozen=True, slots=True)
class Shadow:
    """A model that was trained as the audited one, and the rows that it has learned from.

    Attributes:
        folder: of the model.
        rows: their file; None where it has learned from none of the audit's rows.
    """

    folder: Path
    rows: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditInputs:
    """What an audit reads.

    Attributes:
        model: the folder of the audited model; None where rows that were released are attacked.
        members: rows that it was trained on, once each.
        others: rows like them that it did not see, parted from them by chance.
        canaries: what `genie-dp private canaries` put into the training text.
        references: models without the members and canaries, to calibrate by: best what the model
            was before its private training.
        shadows: models that were trained as it was; two or more.
        unprotected: a model that was trained as it was, but without protection.
        training: the text that is looked for in samples; None for the members.
        release: rows that were released, instead of a model.
    """

    model: Path | None = None
    members: Path | None = None
    others: Path | None = None
    canaries: Path | None = None
    references: tuple[Path, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    unprotected: Path | None = None
    training: Path | None = None
    release: Path | None = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        """Return the files, in the order in which their hashes are kept."""
        return self.members, self.others, self.canaries, self.training, self.release

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folders of all models."""
        unprotected = () if self.unprotected is None else (self.unprotected,)
        shadows = (shadow.folder for shadow in self.shadows)
        model = () if self.model is None else (self.model,)
        return *model, *self.references, *shadows, *unprotected

    def gaps(self, *, samples: int) -> list[str]:
        """Return what is missing beside what is there, by the names of the command's options."""
        attacks_rows = self.members is not None
        of_model = (
            self.canaries or self.training or self.unprotected or self.references or self.shadows
        )
        texts = {
            "name a MODEL, or --release, and not both": (self.model is None)
            == (self.release is None),
            "--release needs --members and --others": bool(self.release) and not attacks_rows,
            "--release goes with --members and --others alone": bool(self.release)
            and bool(of_model or samples),
            "--members and --others go together": attacks_rows != (self.others is not None),
            "name an attack: --members and --others, --canaries or --samples": not (
                attacks_rows or self.canaries or samples
            ),
            "--unprotected needs --members and --others, or --canaries": bool(self.unprotected)
            and not (attacks_rows or self.canaries),
            "--reference needs --members and --others, or --canaries": bool(self.references)
            and not (attacks_rows or self.canaries),
            "--shadow needs --members and --others": bool(self.shadows) and not attacks_rows,
            "--samples needs the training text: --training or --members": bool(samples)
            and not (self.training or attacks_rows),
        }
        return [text for text, is_missing in texts.items() if is_missing]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryConfig:
    """Which canaries are put into a training text."""

    coin: bool = setting(
        False,
        "Toss a coin for each canary whether it is put in: for bounds from one training, which say "
        "most of claims.",
    )
    template: str | None = setting(
        None,
        "Their text: {digits:6} is a number, {word} a word [My ID is {digits:6}; with --words four "
        "words].",
        metavar="TEXT",
    )
    count: int | None = setting(None, "Different canaries [200; with --coin 1000].", least=1)
    repeats: int = setting(
        1,
        "How often each is put in; more are easier to find, and less is claimed of them together.",
        least=1,
    )
    program: str | None = setting(
        None, "What each says as a program, for rows with one.", metavar="TEXT"
    )

    def __post_init__(self) -> None:
        """Check every field, and that a coin is tossed for one row.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
        if self.coin and self.repeats > 1:
            message = f"with coin each canary is one row, got {self.repeats} repeats"
            raise GenieError(Problem("R040", message, hint="leave repeats out"))

    def template_of(self, *, has_words: bool) -> str:
        """Return the template, by default one of words where there are words to take."""
        return self.template or (WORD_TEMPLATE if has_words else TEMPLATE)
