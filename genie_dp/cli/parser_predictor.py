"""A trained parser as what commands ask."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genie_dp.parser.parser import Parser


def open_parser(
    folder: Path, *, beam: int | None = None, is_constrained: bool | None = None
) -> "Parser":
    """Return the parser of a folder, on one thread; None leaves what the folder says."""
    import torch

    from genie_dp.parser.parser import Parser

    torch.set_num_threads(1)
    return Parser.from_pretrained(folder, beam=beam, is_constrained=is_constrained)


class BestProgram:
    """Answers with one program a sentence, as the check of paraphrases asks."""

    def __init__(self, parser: "Parser"):
        """Keep the parser."""
        self.parser = parser

    @classmethod
    def of(cls, folder: Path) -> "BestProgram":
        """Return the parser of a folder."""
        return cls(open_parser(folder))

    def predict(self, utterances: Sequence[str]) -> list[str]:
        """Return the most probable program of each sentence, "" where there is none."""
        guesses = self.parser.predict(utterances, count=1)
        return [each[0].program if each else "" for each in guesses]
