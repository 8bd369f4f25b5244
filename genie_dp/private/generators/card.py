"""The card of a generator: README.md, with the front matter that Hugging Face reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from genie_dp import __version__
from genie_dp.records import Spent

_ROWS = {
    "one-stage": "utterances: one language model p(x)",
    "control": "utterances: a language model p(x | code), its codes drawn from a noisy histogram",
    "two-stage": "programs and utterances: language models p(y) and p(x | y)",
}


@dataclass(frozen=True, slots=True)
class Card:
    """What the card of a generator says.

    Attributes:
        spent: the guarantee; there is no card without one.
        facts: public numbers of the training.
        codes: how many control codes there are, 0 without.
    """

    folder: str
    kind: str
    language: str
    spent: Spent
    facts: Mapping[str, Any] = field(default_factory=dict)
    codes: int = 0
    version: str = __version__

    @property
    def rows(self) -> str:
        """Return what it draws, in words."""
        return _ROWS[self.kind]

    @property
    def is_typed(self) -> bool:
        """Return whether programs are checked against a library of skills."""
        return self.kind == "two-stage" and self.language == "thingtalk"
