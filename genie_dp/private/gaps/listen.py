"""The interface of a gap report to a later stage, which callers pass in: parsers and templates."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from genie_dp.private.gaps.select import TemplateVocabulary, Tokens, Understanding
from genie_dp.records import Example


@dataclass(frozen=True, slots=True)
class Advice:
    """The reason why a sentence is a gap, and a template for it: all follows from public things.

    Attributes:
        is_derived: the templates derive it, and the parser does not understand it.
        nearest: functions that most of the words point to, with these words.
        lacks: the missing parts, line by line.
        stub: a template that derives it, "" where none was found.
        row: the row that the template adds to synthesized ones; None without one.
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
    """Reads private sentences, and finds the parts missing in the templates for shown ones."""

    @property
    def vocabulary(self) -> TemplateVocabulary:
        """Return the public vocabulary."""

    @property
    def unsaid(self) -> Collection[str]:
        """Return the functions of the library that no template mentions."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return the facts for people and resumed runs: templates, and a parser or None."""

    @property
    def language(self) -> str:
        """Return the name of the language of its programs."""

    @property
    def sources(self) -> Collection[str | Path]:
        """Return the files that it is made of."""

    @property
    def parser(self) -> Any:
        """Return the parser that understands sentences, None where the templates do."""

    def hear(self, utterances: Iterable[str]) -> Iterator[Understanding]:
        """Yield the results for sentences; the same sentence always has the same one."""

    def advise(self, sentences: Sequence[Tokens]) -> list[Advice | None]:
        """Return the advice on each sentence, None if unknown; stubs are tried together."""
