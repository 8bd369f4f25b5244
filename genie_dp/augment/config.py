"""Settings of augmentation."""

from dataclasses import dataclass

_COUNTS = ("paraphrase_with_text", "paraphrase_other", "primitive", "compound")
_AT_LEAST_ONE = ("max_words", "max_window")
NOISE = ("filler", "drop_article", "typo", "drop_punctuation", "number_words")
_SHARES = ("quoted", "general", "written", "reword", "reword_synthetic", *NOISE)


@dataclass(frozen=True, slots=True)
class AugmentConfig:
    """What to make of each row; every field is written to the manifest beside the rows.

    Attributes:
        paraphrase_with_text: rows made of a paraphrase that has a text or name in it (Genie,
            section 5.2, as the three that follow).
        paraphrase_other: rows made of another paraphrase.
        primitive: rows made of a synthesized sentence with one function.
        compound: rows made of another synthesized sentence.
        quoted: share of texts and names that stay placeholders, as if typed in quotes.
        general: share of texts that are any free text, whatever list their parameter has.
        max_words: words of a value, at most; longer ones are never drawn.
        max_window: words taken out of a longer text where the program asks whether it contains
            them, at most.
        written: share of numbers, dates, times, measures and the like that are written out, with
            their value in the program; 0 leaves them to the reader, as a parser sees them.
        reword: share of the rows made of paraphrases in which words are replaced by others of the
            same meaning.
        reword_synthetic: the same of synthesized sentences.
        filler: share of rows that get a filler or polite words (0.35: measured on human pizza
            orders, November 2026, with `drop_article` and `typo` worth 5 to 6 points).
        drop_article: share of articles left out.
        typo: share of words of four letters or more that get a typing error.
        drop_punctuation: share of rows without any punctuation.
        number_words: share of numbers up to a hundred in digits that are written in words.
        seed: the same inputs and seed give the same bytes.
    """

    paraphrase_with_text: int = 30
    paraphrase_other: int = 10
    primitive: int = 4
    compound: int = 1
    quoted: float = 0.1
    general: float = 0.0
    max_words: int = 10
    max_window: int = 6
    written: float = 0.0
    reword: float = 0.3
    reword_synthetic: float = 0.0
    filler: float = 0.35
    drop_article: float = 0.1
    typo: float = 0.03
    drop_punctuation: float = 0.3
    number_words: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field by itself; the message names field and value."""
        for name in _COUNTS:
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in _SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")
