"""A piece of a derivation: words, program and what the next template may ask of both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean, with_article
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
        sort: a number that all pieces share which are alike in all but words and program; 0 until
            it is asked for (`sort_of`). It says nothing in another process.
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
    sort: int = 0

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
        if name in OF_WORDS:
            return OF_WORDS[name](self)
        if name == "function":  # read by every rule for balance
            return getattr(self.value.state, name, "")
        try:
            return getattr(self.value.state, name)
        except AttributeError:
            known = (*ENGLISH, "gap", *getattr(self.value.state, "__slots__", ()))
            hint = did_you_mean(name, known) or f"it has {', '.join(known)}"
            message = f"{with_article(self.value.kind)} has no attribute {name!r}"
            raise GenieError(Problem("Y001", message, hint=hint)) from None


_SORTS: dict[object, int] = {}


def sort_of(piece: Piece) -> int:
    """Return the number of a piece's sort, and note it down in the piece."""
    value = piece.value
    name = piece.features, value.state, value.gap, piece.attributes
    piece.sort = _SORTS.setdefault(name, len(_SORTS) + 1)
    return piece.sort


def _first(piece: Piece) -> str:
    return piece.words.partition(" ")[0].replace(GAP, "#")


def _last(piece: Piece) -> str:
    return piece.words.rpartition(" ")[2].replace(GAP, "#")


def _takes_pronoun(piece: Piece) -> bool:
    return english.takes_pronoun(piece.words.partition(GAP)[0])


def _takes_phrase(piece: Piece) -> bool:
    return english.takes_phrase(piece.text.partition(GAP)[0])


def _takes_many(piece: Piece) -> bool:
    return "it" not in piece.words.split()  # not "put $x on tumblr and caption it $y"


# Read from the words of a piece; first and last without its determiner.
OF_WORDS: Mapping[str, Callable[[Piece], str | bool]] = {
    "first": _first,
    "last": _last,
    "takes_pronoun": _takes_pronoun,
    "takes_phrase": _takes_phrase,
    "takes_many": _takes_many,
}
