"""Audits and canaries as stages."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.recipe import REQUIRED, check_settings, parse_pair, setting
from genie_dp.stage.kernel import OVERWRITE, RESUME, OutputOption, SettingsConflict, Stage

# Statements of confidentiality.json: private rows, missed secrets, secrets drawn at random.
About = Literal["rows", "secret", "bayesian"]
ABOUT: tuple[About, ...] = get_args(About)
# Exit code of an audit that neither refutes what is claimed nor shows that it could have.
INCONCLUSIVE = 3
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
            problem = Problem("R040", "claim and delta go together", hint="give both")
            raise SettingsConflict(problem)


@dataclass(frozen=True, slots=True)
class Shadow:
    """A model that was trained as the audited one, and the rows that it has learned from.

    Attributes:
        folder: of the model.
        rows: their file; None where it has learned from none of the audit's rows.
    """

    folder: Path
    rows: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "Shadow":
        """Return the shadow of a text, FOLDER or FOLDER=FILE.

        Raises:
            GenieError: R040, there is no such folder or file.
        """
        name, _, file = text.rpartition("=") if not Path(text).is_dir() else (text, "", "")
        if not Path(name).is_dir() or (file and not Path(file).is_file()):
            raise GenieError(Problem("R040", f"expected FOLDER or FOLDER=FILE, got {text!r}"))
        return cls(Path(name), Path(file) if file else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Stage):
    """Attack MODEL, or rows that were released, and compare the proven epsilon with the claim.

    Guesses which canaries coins put in, or exposure of canaries among all their candidates;
    membership of rows; training text in samples; real rows by their nearest released ones.
    Attacks give lower bounds of epsilon; one above the claim refutes it: exit code 1. MODEL passes,
    exit code 0, if the attacks refute its claim for an unprotected model and not for MODEL. All
    else is inconclusive: exit code 3.
    The figures are NOT differentially private: keep them like the private rows.

    \b
    genie-dp private audit model --members in.jsonl --others out.jsonl --output audit.json
    genie-dp private audit model --canaries canaries.json --reference before --output audit.json
    genie-dp private audit --release rows.jsonl --members in.jsonl --others out.jsonl -o audit.json

    Attributes:
        open_model: opens the model of a folder, as a scorer of the likelihood of rows
            (`models.open_scorer`).
    """

    command = "private audit"
    work = "genie_dp.private.audit.run:run"
    output = OutputOption("Where the figures go, as JSON.", resume=RESUME, overwrite=OVERWRITE)
    conflict_code = "N061"

    model: Path | None = setting(None, "The folder of a model.", is_argument=True, value="folder")
    release: Path | None = setting(
        None, "Attack rows that were released, instead of MODEL.", value="file"
    )
    members: Path | None = setting(
        None, "Rows that MODEL was trained on, once each: JSONL, TSV, or a .txt.", value="file"
    )
    others: Path | None = setting(
        None, "Rows like them that it did not see, parted from them by chance.", value="file"
    )
    canaries: Path | None = setting(
        None, "What genie-dp private canaries put into the training text.", value="file"
    )
    references: tuple[Path, ...] = setting(
        (),
        "A model without the members and canaries, to calibrate by: best what MODEL was before its "
        "private training.",
        value="folder",
        option="reference",
    )
    shadows: tuple[Shadow, ...] = setting(
        (),
        "A model trained as MODEL was, and the rows that it has learned from [none of those here]. "
        "Give two or more.",
        parse=Shadow.parse,
        option="shadow",
        metavar="FOLDER[=FILE]",
    )
    unprotected: Path | None = setting(
        None,
        "A model trained as MODEL was, canaries included, but without protection: shows whether "
        "the attacks find a leak. Without it, no audit passes.",
        value="folder",
    )
    training: Path | None = setting(
        None, "The training text that is looked for in samples [--members].", value="file"
    )
    config: AuditConfig = setting(AuditConfig(), "Attacks and figures.", value="settings")
    report: Path | None = setting(None, "Write a page with them there.", value="new file")
    open_model: Callable[..., Any] | None = setting(
        None, "What reads the folders of models.", value="models"
    )

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

    def exit_code_for(self, result: Any) -> int:
        """Refuse a claim that is refuted (N060); report an audit without a verdict."""
        result.check()
        return INCONCLUSIVE if result.verdict == "inconclusive" else 0

    def conflict(self, target: str | None = None) -> str | None:
        """Return the message about missing or extra options, by the command's option names."""
        samples = self.config.samples
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
        return next((text for text, is_missing in texts.items() if is_missing), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutCanaries(Stage):
    """Put canaries into ROWS, JSONL or lines of a .txt: invented secrets, drawn at random.

    Train on the output, as the rows themselves would be trained on; then genie-dp private audit
    counts the candidates that the model finds likelier than each. With --coin it guesses
    which of them were put in, for a lower bound of epsilon.

    \b
    genie-dp private canaries calls.jsonl --seed 1 --output with.jsonl --record canaries.json
    genie-dp private canaries calls.jsonl --coin --words pairs.jsonl --seed 1 --output with.jsonl \\
      --record canaries.json
    """

    command = "private canaries"
    work = "genie_dp.private.audit.canaries:run"
    output = OutputOption(
        "Where the rows go, with the canaries among them.", overwrite="Replace the two files."
    )

    rows: Path = setting(REQUIRED, "The training text.", is_argument=True, value="file")
    record: Path = setting(
        REQUIRED, "Where the canaries are recorded, for genie-dp private audit.", value="new file"
    )
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

    words: Path | None = setting(
        None,
        "Public rows, whose words {word} takes [100 of ours]. Words that the model knows and rows "
        "seldom say are found best.",
        value="file",
    )
    fields: tuple[tuple[str, str], ...] = setting(
        (),
        "A further field of each, such as user=canary{number}, so that each is a user of its own.",
        option="field",
        metavar="NAME=TEXT",
        parse=parse_pair("NAME=TEXT"),
    )
    seed: int = setting(REQUIRED, "Of canaries and places. Who knows it knows the canaries.")

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse a coin for canaries of several rows."""
        if self.coin and self.repeats > 1:
            return f"with coin each canary is one row, got {self.repeats} repeats"
        return None

    @property
    def text(self) -> str:
        """Return the template, by default one of words where there are words to take."""
        return self.template or (TEMPLATE if self.words is None else WORD_TEMPLATE)
