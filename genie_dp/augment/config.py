"""Settings of augmentation."""

from dataclasses import dataclass

from genie_dp.locale import DEFAULT, Locale, locale_from
from genie_dp.recipe import check_settings, setting

NOISE = ("filler", "drop_article", "typo", "drop_punctuation", "number_words")


def _share(default: float, help: str) -> float:
    share: float = setting(default, help, least=0, most=1, metavar="SHARE")
    return share


@dataclass(frozen=True, slots=True)
class AugmentConfig:
    """What to make of each row; every field is written to the manifest beside the rows.

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
    least: int = setting(
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
    general: float = _share(
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
        DEFAULT, "Language of the sentences, or a file of its words.", metavar="LANGUAGE|FILE"
    )
    seed: int = setting(0, "The same inputs and seed give the same bytes.")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong; N002 or R060, no such locale.
        """
        check_settings(self)
        locale_from(self.locale)

    @property
    def place(self) -> Locale:
        """Return the locale of the sentences."""
        return locale_from(self.locale)
