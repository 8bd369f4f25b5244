"""What a gap report asks of a later stage, which callers pass in: parsers and templates."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from genie_dp.private.gaps.select import Heard, SaidByTemplates, Tokens
from genie_dp.records import Example


@dataclass(frozen=True, slots=True)
class Advice:
    """What a shown sentence lacks, and a template for it: all of it follows from public things.

    Attributes:
        is_derived: the templates derive it, and who does not understand it is the parser.
        nearest: functions that the words tell most of, with these words.
        lacks: what is missing, line by line.
        stub: a template that derives it, "" where none was found.
        row: what the template adds to synthesized rows; None without one.
    """

    is_derived: bool
    nearest: tuple[tuple[str, tuple[str, ...]], ...]
    lacks: tuple[str, ...]
    stub: str = ""
    row: Example | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        row = None
        if self.row is not None:
            row = {"utterance": self.row.utterance, "program": self.row.program}
        nearest = [{"function": name, "words": words} for name, words in self.nearest]
        return {**asdict(self), "nearest": nearest, "row": row}


class Listener(Protocol):
    """Reads private sentences, and tells what the templates lack to say those that were shown."""

    @property
    def said(self) -> SaidByTemplates:
        """Return what is public about words."""

    @property
    def unsaid(self) -> Collection[str]:
        """Return the functions of the library that no template says."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what is used: templates, and a parser or None, for people and resumed runs."""

    @property
    def language(self) -> str:
        """Return the name of the language of its programs."""

    @property
    def sources(self) -> Collection[str | Path]:
        """Return the files that it is made of."""

    @property
    def parser(self) -> Any:
        """Return the parser that understands sentences, None where the templates do."""

    def hear(self, utterances: Iterable[str]) -> Iterator[Heard]:
        """Yield what becomes of sentences; the same sentence is always heard alike."""

    def advise(self, sentences: Sequence[Tokens]) -> list[Advice | None]:
        """Return what each sentence lacks, None where nobody knows; stubs are tried together."""
