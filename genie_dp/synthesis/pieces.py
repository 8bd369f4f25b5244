"""A piece of a derivation: words, program and what the next template may ask of both."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.base import Value
from genie_dp.synthesis.placeholders import GAP
from genie_dp.templates import english


@dataclass(frozen=True, slots=True)
class Features:
    """English features of a piece; `det` is the determiner's words, `own` its sort.

    `form` is np, clause or vp; `pos` the part of speech of a built-in phrase.
    """

    num: str = "sg"
    det: str = ""
    own: str = "none"
    form: str = "np"
    pos: str = ""


features = lru_cache(maxsize=None)(Features)
ENGLISH = ("num", "det", "own", "form", "pos")
WORDS = ("first", "last")  # of the utterance, without its determiner
# Read from the words of a piece.
OF_WORDS = frozenset({*WORDS, "takes_pronoun", "takes_phrase", "takes_many"})


@dataclass(slots=True)
class Piece:
    """A partial derivation. Not frozen: freezing triples the cost of making one.

    Attributes:
        words: the utterance without its determiner; placeholders are single characters.
        value: the program.
        features: what English needs to know.
        count, mask: packed counts of placeholders (see placeholders.py).
        slots: JSON text of what the placeholders fill, comma separated.
        derivation: JSON text of template ids, comma separated.
        attributes: columns of a table row; empty for all other pieces.
        text: the words with the piece's own determiner.
    """

    words: str
    value: Value
    features: Features
    count: int = 0
    mask: int = 0
    slots: str = ""
    derivation: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = field(init=False)

    def __post_init__(self) -> None:
        """Put words and determiner together once, for they are read far more often."""
        det = self.features.det
        self.text = f"{det} {self.words}" if det else self.words

    def attribute(self, name: str) -> Any:
        """Return what a guard asks for, or raise GenieError with the names that there are."""
        if name in ENGLISH:
            return getattr(self.features, name)
        if name == "gap":
            return self.value.gap
        for column, value in self.attributes:
            if column == name:
                return value
        if name in WORDS:
            return self._word(0 if name == "first" else -1)
        if name == "takes_pronoun":
            return english.takes_pronoun(self.words.partition(GAP)[0])
        if name == "takes_phrase":
            return english.takes_phrase(self.text.partition(GAP)[0])
        if name == "takes_many":  # not "put $x on tumblr and caption it $y"
            return "it" not in self.words.split()
        if name == "function":  # read by every rule for balance
            return getattr(self.value.state, name, "")
        try:
            return getattr(self.value.state, name)
        except AttributeError:
            known = (*ENGLISH, "gap", *getattr(self.value.state, "__slots__", ()))
            hint = did_you_mean(name, known) or f"it has {', '.join(known)}"
            message = f"a {self.value.kind} has no attribute {name!r}"
            raise GenieError(Problem("Y001", message, hint=hint)) from None

    def _word(self, index: int) -> str:
        cut = self.words.partition if index == 0 else self.words.rpartition
        return cut(" ")[0 if index == 0 else 2].replace(GAP, "#")
