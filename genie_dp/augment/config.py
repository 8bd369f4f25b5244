"""Augmentation as a stage, and its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from genie_dp.languages.library import Library
from genie_dp.locale import DEFAULT, Locale, locale_from
from genie_dp.private_prior import PriorFile
from genie_dp.recipe import REQUIRED, check_settings, setting
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.stage.kernel import RESUMABLE_ROWS, Stage, jobs_setting, prior_setting

NOISE = ("filler", "drop_article", "typo", "drop_punctuation", "number_words")


def _share(default: float, help: str) -> float:
    share: float = setting(default, help, least=0, most=1, metavar="SHARE")
    return share


@dataclass(frozen=True, slots=True)
class AugmentConfig:
    """The copies to make of each row; every field is written to the manifest beside the rows.

    The first four are Genie's (section 5.2). With `written` 0, numbers and the like are left to the
    reader, as a parser sees them; else their value is in the program. `filler`, `drop_article` and
    `typo` were measured on human pizza orders in November 2026: together 5 to 6 points.
    """

    paraphrase_with_text: int = setting(
        30, "Rows made of a paraphrase that has a text or name in it.", least=0, metavar="N"
    )
    paraphrase_other: int = setting(10, "Rows made of another paraphrase.", least=0, metavar="N")
    primitive: int = setting(
        4, "Rows made of a synthesized sentence with one function.", least=0, metavar="N"
    )
    compound: int = setting(1, "Rows made of another synthesized sentence.", least=0, metavar="N")
    min_rows_per_template: int = setting(
        30,
        "Rows made of the sentences of each root template, at least, as far as 30 of each give so "
        "many: of templates that say little, more.",
        least=0,
        metavar="N",
    )
    joined: float = _share(
        0.0, "Share of plain commands that get a row with another: 'lock the door and call mom'."
    )
    quoted: float = _share(
        0.1, "Share of texts and names that stay placeholders, as if typed in quotes."
    )
    free_text_rate: float = _share(
        0.0, "Share of texts that are any free text, not of their parameter's list."
    )
    max_words: int = setting(
        10, "Words of a value, at most; longer ones are not drawn.", least=1, metavar="N"
    )
    max_window: int = setting(
        6,
        "Words of a text that the program looks for inside a longer one, at most.",
        least=1,
        metavar="N",
    )
    written: float = _share(
        0.0, "Share of numbers, dates, measures and the like that are written out."
    )
    reword: float = _share(
        0.3, "Share of rows made of paraphrases that get words of the same meaning."
    )
    reword_synthetic: float = _share(0.0, "The same for synthesized sentences.")
    filler: float = _share(0.35, "Share of rows that get a filler or polite words.")
    drop_article: float = _share(0.1, "Share of articles left out.")
    typo: float = _share(0.03, "Share of words of four letters or more with a typing error.")
    drop_punctuation: float = _share(0.3, "Share of rows without punctuation.")
    number_words: float = _share(
        0.3, "Share of numbers up to a hundred in digits that are put in words."
    )
    locale: str = setting(
        DEFAULT, "Language of the sentences, or a file of its words.", value="locale"
    )
    seed: int = setting(0, "The same inputs and seed give the same bytes.")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all mistakes; N002 or R060, no such locale.
        """
        check_settings(self)
        locale_from(self.locale)

    @property
    def place(self) -> Locale:
        """Return the locale of the sentences."""
        return locale_from(self.locale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Augment(Stage):
    """Make many rows of each row: values for placeholders, other words, noise.

    INPUT is the output of `genie-dp synthesize`, and paraphrases of it (JSONL, TSV or Parquet), or
    a folder of skills with people's sentences. Values come from the skills' lists and from shipped
    ones. Sentence and program stay in step: the words of a value stand together in the sentence,
    and between quotes in the program.

    \b
    genie-dp data augment pairs.jsonl --output train.jsonl
    genie-dp data augment pairs.jsonl paraphrases.jsonl --preview 5

    Attributes:
        private: the manifest entries of private rows among the inputs.
    """

    command = "augment"
    work = "genie_dp.augment.run:run"
    output = RESUMABLE_ROWS

    inputs: tuple[str, ...] = setting(
        (), "Files of rows.", value="rows", is_argument=True, metavar="INPUT..."
    )
    private: Mapping[str, Any] = field(default_factory=dict)
    library: Library = setting(REQUIRED, "Skills of the programs.", value="library")
    language: str = DEFAULT_LANGUAGE
    values: Path | None = setting(
        None, "Lists of your own: a values.tsv, or a parameter-datasets.tsv of Genie.", value="file"
    )
    widen: bool = setting(True, "Join the lists of skills with the shipped ones of their kind.")
    list_values: bool = setting(
        False,
        "Print which parameter takes its values from which list, as TSV, and stop.",
        value="flag",
    )
    config: AugmentConfig = setting(AugmentConfig(), "What to make of a row.", value="settings")
    no_noise: bool = setting(False, "No noise of any kind.", value="flag")
    lexicon: str = setting(
        "shipped",
        "Words of the same meaning: the shipped list, WordNet through nltk, none, or a file such "
        "as PPDB's.",
        metavar="shipped|wordnet|none|FILE",
    )
    prior: PriorFile | None = prior_setting("Weigh rows")
    jobs: int = jobs_setting()
    on_error: str = setting(
        "stop",
        "What to do with a row whose two sides do not go together.",
        choices=("stop", "skip"),
    )
    preview: int | None = setting(
        None, "Print what is made of the first N rows and stop.", least=1, metavar="N"
    )

    def __post_init__(self) -> None:
        """Check the settings, and turn noise off where it is not wanted."""
        Stage.__post_init__(self)
        if self.no_noise:
            quiet: dict[str, Any] = dict.fromkeys(NOISE, 0.0)
            object.__setattr__(self, "config", replace(self.config, **quiet))

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse a run without rows, where no lists are asked for."""
        if target is not None and not (self.inputs or self.list_values):
            return "Missing argument 'INPUT...'."
        return None
