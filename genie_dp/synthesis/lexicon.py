"""The leaves of a grammar: all its phrases of depth 0, of which larger ones are made."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from genie_dp.synthesis.pieces import Piece


@dataclass(slots=True)
class Lexicon:
    """Leaves, and what must be as it was when they were made for them to be used again.

    Attributes:
        leaves: category -> its pieces of depth 0.
        clashes: sentences of leaves that were met with two programs.
        refused: leaves that were left out as ill-typed: "template: code" -> how many.
        stems: placeholders in use, by which the words of leaves are written.
        is_sample: a template has more leaves than are kept, so other seeds have other leaves.
    """

    leaves: Mapping[str, Sequence[Piece]]
    clashes: Counter[str] = field(default_factory=Counter)
    stems: tuple[str, ...] = ()
    is_sample: bool = False
    refused: Counter[str] = field(default_factory=Counter)
