"""The comparison of synthetic rows with real ones, as a stage."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.languages.library import Library
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.stage.kernel import OutputOption, Stage

# What a unit counts as, at most, where a mean of nats a word is released with noise.
MOST_NATS = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRows(Stage):
    """Compare synthetic rows with real ones that were held out.

    Words, functions and their distribution, MAUVE, the loss of a language model, valid programs.
    REAL and SYNTHETIC are rows as JSONL, TSV or, if REAL is public, Parquet; several SYNTHETIC
    stand side by side.

    The figures are NOT differentially private. Give the nature of REAL: --real-is-public, or
    --keep-private, then the report must stay where the private rows are. Only the figure of --spend
    is differentially private: the likelihood of REAL's rows, with noise.

    \b
    genie-dp private compare test.jsonl one.jsonl two.jsonl --real-is-public --report report.html
    genie-dp private compare test.jsonl two.jsonl --real-is-public --parser parser
    genie-dp private compare private.jsonl two.jsonl --keep-private --report kept/report.html
    genie-dp private compare held.jsonl two.jsonl --keep-private --generator two --spend 0.5

    Attributes:
        open_parser: reads the parser of a folder, for rows of a language.
    """

    command = "private compare"
    work = "genie_dp.private.metrics.run:run"
    output = OutputOption(
        "Write the result there, as JSON.", is_required=False, metavar="FILE|URL|-"
    )

    real: str = setting(REQUIRED, "Rows that were held out.", is_argument=True)
    synthetic: tuple[str, ...] = setting(
        REQUIRED, "Rows to compare with them.", is_argument=True, metavar="SYNTHETIC..."
    )
    real_is_public: bool = setting(
        False,
        "REAL may be seen by everybody: figures are printed, functions are named.",
        value="flag",
    )
    keep_private: bool = setting(
        False,
        "REAL is private, and so is the report: files that only you can read, nothing printed.",
        value="flag",
    )
    load_library: Callable[[], Library] = setting(
        REQUIRED, "Skills of the programs.", value="library at need"
    )
    language: str = DEFAULT_LANGUAGE
    utterances_only: bool = setting(False, "Measure sentences, not programs.")
    rows: int | None = setting(
        None,
        "Rows of each file that are compared, chosen by chance [those of the smallest file].",
        least=2,
        metavar="N",
    )
    mauve: bool = setting(True, "Measure MAUVE, or leave it out.")
    buckets: int | None = setting(
        None,
        "MAUVE: number of clusters [a tenth of the rows]. Compare figures of equal numbers only.",
        least=2,
        metavar="N",
    )
    spend: float | None = setting(
        None,
        "Release how likely generators find REAL's rows, with noise: what that costs, paid by "
        "REAL's ledger.",
        above=0,
        metavar="EPSILON",
    )
    most_nats: float = setting(
        MOST_NATS, "Nats a word that a unit counts as, at most, in what is released.", above=0
    )
    mauve_runs: int = setting(
        3, "MAUVE: how often clusters are made; the mean is told.", least=1, metavar="N"
    )
    title: str | None = setting(None, "Title of the page.", metavar="TEXT")
    seed: int = setting(0, "Seed of the rows chosen, of clusters and of intervals.")
    parser: Path | None = setting(
        None,
        "Count functions in what this trained parser says of the sentences, and compare its "
        "programs with those of the rows.",
        value="folder",
    )
    texts: tuple[str, ...] = setting(
        (),
        "Rows, or lines of a .txt, to make the language model of [halves of REAL].",
        value="text",
        option="lm-text",
        metavar="FILE",
    )
    model: Path | None = setting(
        None,
        "A causal language model of Hugging Face: vectors for MAUVE, and losses.",
        value="folder",
    )
    generators: tuple[Path, ...] = setting(
        (),
        "What drew SYNTHETIC, of genie-dp private train: how likely it finds REAL's rows. One for "
        "each file, in their order.",
        value="folder",
        option="generator",
    )
    ledger: Path | None = setting(
        None, "The ledger [beside the private rows: rows.jsonl has rows.ledger.json].", value="file"
    )
    report: str | None = setting(
        None, "Write a page with charts there.", value="text", metavar="FILE"
    )
    open_parser: Callable[[Path, str], Any] | None = setting(
        None, "What reads a parser.", value="parser of rows"
    )

    @property
    def files(self) -> tuple[str, ...]:
        """Return all files of rows and texts."""
        return self.real, *self.synthetic, *self.texts

    def conflict(self, target: str | None = None) -> str | None:
        """Return the error for options that exclude each other, by the command's option names."""
        if self.real_is_public == self.keep_private:
            return (
                "say what REAL is: --real-is-public, or --keep-private. The figures are not "
                "differentially private: computed from private rows, they must be kept like these"
            )
        texts = {
            "--parser does not go with --utterances-only": self.parser and self.utterances_only,
            "--buckets does not go with --no-mauve": self.buckets and not self.mauve,
            "--lm-text makes a language model, --model is one: name one of them": self.model
            and self.texts,
            "give as many --generator as there are files of SYNTHETIC": self.generators
            and len(self.generators) != len(self.synthetic),
            "--spend needs --generator, whose likelihood it releases": self.spend
            and not self.generators,
            "--ledger goes with --spend": self.ledger and not self.spend,
            "--spend is for private rows: figures of public ones cost nothing": self.spend
            and self.real_is_public,
            "--keep-private prints nothing: name a --report or an --output": self.keep_private
            and target == ""
            and not (self.report or self.spend),
        }
        return next((text for text, is_wrong in texts.items() if is_wrong), None)
