"""A parser of `genie-dp train` as what writes programs for rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ParserPrograms:
    """The best program of a parser for each utterance; a ProgramSource."""

    parser: Any

    @classmethod
    def load(cls, folder: Path | None, device: str = "cpu") -> "ParserPrograms | None":
        """Return the parser of a folder, None without a folder.

        Raises:
            GenieError: N010, it is no parser.
        """
        if folder is None:
            return None
        from genie_dp.parser.parser import Parser

        return cls(Parser.from_pretrained(folder, device=device))

    def programs(self, utterances: Sequence[str]) -> list[str]:
        """Return a program in token form for each utterance, "" where there is none."""
        found = self.parser.programs(utterances, count=1)
        return [each[0][0] if each else "" for each in found]
