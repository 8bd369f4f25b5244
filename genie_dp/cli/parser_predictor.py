"""A trained parser as what evaluation and paraphrasing ask."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from genie_dp.evaluate.rows import Guess

if TYPE_CHECKING:
    from genie_dp.parser.parser import Parser

_BEST = 5  # programs of a sentence


class ParserPredictor:
    """Answers with n-best lists of token forms; see `Parser.programs`."""

    def __init__(self, parser: "Parser"):
        """Keep the parser."""
        self.parser = parser

    @classmethod
    def of(
        cls, folder: Path, *, beam: int | None = None, is_constrained: bool | None = None
    ) -> "ParserPredictor":
        """Return the parser of a folder; None leaves what it says."""
        import torch

        from genie_dp.parser.parser import Parser

        torch.set_num_threads(1)
        return cls(Parser.from_pretrained(folder, beam=beam, is_constrained=is_constrained))

    def predict(self, utterances: Sequence[str]) -> list[list[Guess]]:
        """Return the programs of each utterance, best first."""
        found = self.parser.programs(utterances, count=_BEST)
        return [[Guess(program, confidence) for program, confidence in each] for each in found]


class BestProgram:
    """Answers with one program a sentence, as the check of paraphrases asks."""

    def __init__(self, parser: "Parser"):
        """Keep the parser."""
        self.parser = parser

    @classmethod
    def of(cls, folder: Path) -> "BestProgram":
        """Return the parser of a folder."""
        return cls(ParserPredictor.of(folder).parser)

    def predict(self, utterances: Sequence[str]) -> list[str]:
        """Return the most probable program of each sentence, "" where there is none."""
        found = self.parser.programs(utterances)
        return [each[0][0] if each else "" for each in found]
