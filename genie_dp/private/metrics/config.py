"""Settings of a comparison of synthetic rows with real ones, and what it reads."""

from dataclasses import dataclass
from pathlib import Path

from genie_dp.recipe import check_settings, setting
from genie_dp.records import DEFAULT_LANGUAGE

# What a unit counts as, at most, where a mean of nats a word is released with noise.
MOST_NATS = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateConfig:
    """What is measured, and on how many rows."""

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

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateInputs:
    """What a comparison reads.

    Attributes:
        real: rows that were held out.
        synthetic: files of rows that stand side by side.
        language: of the programs.
        parser: the folder of a parser, to count functions in what it makes of the sentences.
        texts: rows, or lines of a .txt, to make the language model of; () for halves of `real`.
        model: the folder of a causal language model of Hugging Face, instead of `texts`.
        generators: folders of what drew the synthetic files, in their order.
        ledger: of the real rows, if not beside them.
    """

    real: str
    synthetic: tuple[str, ...]
    language: str = DEFAULT_LANGUAGE
    parser: Path | None = None
    texts: tuple[str, ...] = ()
    model: Path | None = None
    generators: tuple[Path, ...] = ()
    ledger: Path | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Return all files of rows and texts."""
        return self.real, *self.synthetic, *self.texts

    def conflicts(self, config: EvaluateConfig) -> list[str]:
        """Return what excludes each other, by the names of the command's options."""
        texts = {
            "--parser does not go with --utterances-only": self.parser and config.utterances_only,
            "--buckets does not go with --no-mauve": config.buckets and not config.mauve,
            "--lm-text makes a language model, --model is one: name one of them": self.model
            and self.texts,
            "give as many --generator as there are files of SYNTHETIC": self.generators
            and len(self.generators) != len(self.synthetic),
            "--spend needs --generator, whose likelihood it releases": config.spend
            and not self.generators,
            "--ledger goes with --spend": self.ledger and not config.spend,
        }
        return [text for text, is_wrong in texts.items() if is_wrong]
