"""What `genie-dp parse` does: sentences from anywhere, programs for people or as JSON."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp.cli.garbage import leave_to_the_end
from genie_dp.cli.tables import Tables, effects, read_tables
from genie_dp.errors import GenieError, Problem, Span, problem_at
from genie_dp.learn.device import prepare_torch
from genie_dp.parser.answers import Answer, Reply
from genie_dp.texts import lines_of, lines_of_stdin

if TYPE_CHECKING:
    from genie_dp.parser.parser import Parser
    from genie_dp.synthesis.describe import Describer

_BATCH = 32
_PROMPT = "> "
_DEPTH = 8  # templates inside each other, as `genie-dp describe` has it


def run(options: Mapping[str, Any]) -> None:
    """Parse one sentence, a file, or what is typed."""
    job = ParseJob(options)
    _ = job.tables, job.describer  # what is wrong with them is told once, before any sentence
    if options["sentence"] is not None:
        job.show(job.parser.parse([options["sentence"]], count=options["count"]))
    elif options["file"] is not None:
        job.file(options["file"])
    else:
        job.prompt()


class ParseJob:
    """A parser with what is shown beside its programs."""

    def __init__(self, options: Mapping[str, Any]):
        """Keep the options."""
        self.options = options

    @cached_property
    def parser(self) -> "Parser":
        """Return the parser, with one thread of torch: it is as fast."""
        from genie_dp.parser.parser import Parser

        prepare_torch(self.options["device"])
        parser = Parser.from_pretrained(
            self.options["folder"],
            device=self.options["device"],
            beam=self._beam(),
            threshold=self.options["threshold"],
        )
        leave_to_the_end()
        return parser

    def _beam(self) -> int | None:
        """Return the beam: wide enough for the programs that are to be shown."""
        from genie_dp.parser.folder import facts_of

        wanted: int | None = self.options["beam"]
        if wanted is None and self.options["count"] > 1:
            count: int = self.options["count"]
            return max(count, int(facts_of(self.options["folder"])["beam"]))
        return wanted

    @cached_property
    def describer(self) -> "Describer | None":
        """Return what says programs in English; None where the language has no templates."""
        if not self.options["english"] or self.parser.target.language.name != "thingtalk":
            return None
        from genie_dp.cli.describe import describer_of

        return describer_of(
            {
                "language": "thingtalk",
                "skills": self.parser.skills,
                "skip_broken": True,
                "grammar": self.options["grammar"],
                "subsets": (),
                "max_depth": _DEPTH,
            }
        )

    @cached_property
    def tables(self) -> Tables | None:
        """Return the rows that queries answer, None if none are given.

        Raises:
            GenieError: N040 or N041, as `read_tables`; N042, no query of the language has any.
        """
        path = self.options["tables"]
        if path is None:
            return None
        language = self.parser.target.language.name
        if language != "thingtalk":
            message = f"--tables are for programs of thingtalk, this parser writes {language}"
            raise GenieError(Problem("N042", message, hint="leave --tables out"))
        return read_tables(path, self.parser.target.library)

    # ------------------------------------------------------------------------- where they come from

    def file(self, path: Path) -> None:
        """Parse the lines of a file in batches; of standard input each at once.

        Raises:
            GenieError: at the end, what is wrong with lines that no reader takes.
        """
        is_pipe = str(path) == "-"
        numbered = ((n, line.strip()) for n, line in enumerate(lines_of(path), start=1))
        waiting = ((number, line) for number, line in numbered if line)
        known = total = 0
        problems: list[Problem] = []
        while some := list(islice(waiting, 1 if is_pipe else _BATCH)):
            replies = self._replies(some, "<stdin>" if is_pipe else str(path), problems)
            self.show(replies)
            total += len(some)
            known += sum(reply.is_known for reply in replies)
        click.echo(f"{total:,} sentences, {known:,} known", err=True)
        if problems:
            raise GenieError(problems)

    def _replies(
        self, lines: Sequence[tuple[int, str]], file: str, problems: list[Problem]
    ) -> list[Reply]:
        """Return the replies to numbered lines; add what is wrong with those that have none."""
        try:
            return self.parser.parse([line for _, line in lines], count=self.options["count"])
        except GenieError as error:
            if len(lines) == 1:
                number, line = lines[0]
                place = Span(file, number, 1, number, len(line) + 1)
                problems += (problem_at(problem, place) for problem in error.problems)
                return []
        # One line is at fault: the others are answered by themselves.
        return [reply for one in lines for reply in self._replies([one], file, problems)]

    def prompt(self) -> None:
        """Answer what is typed, until the end of input."""
        _history()
        if is_typed := sys.stdin.isatty():
            click.echo("Type a sentence; Ctrl-D ends.", err=True)
        for line in _typed() if is_typed else lines_of_stdin():
            if not line.strip():
                continue
            try:
                self.show(self.parser.parse([line], count=self.options["count"]))
            except GenieError as error:
                click.echo(str(error), err=True)

    # ------------------------------------------------------------------------- what is shown

    def show(self, replies: Iterable[Reply]) -> None:
        """Print replies."""
        for reply in replies:
            if self.options["as_json"]:
                click.echo(json.dumps(self._as_json(reply), ensure_ascii=False))
            else:
                click.echo("\n".join(self._lines(reply)))

    def _as_json(self, reply: Reply) -> dict[str, Any]:
        found = asdict(reply)
        for answer, told in zip(reply.answers, found["answers"], strict=True):
            told["english"] = self._english(answer)
            if self.tables is not None:
                told["effects"] = list(self._effects(answer))
        return found

    def _lines(self, reply: Reply) -> Iterator[str]:
        if self.options["sentence"] is None and not sys.stdin.isatty():
            yield reply.sentence
        if not reply.answers:
            yield "I do not know."
            return
        if not reply.is_known:
            yield "I do not know. The nearest that I can do:"
        for answer in reply.answers:
            yield from self._answer(answer)

    def _answer(self, answer: Answer) -> Iterator[str]:
        yield answer.code
        if english := self._english(answer):
            yield f"  {english}"
        yield f"  confidence {answer.confidence:.2f}"
        for name in answer.unresolved:
            yield f"  no list of the skills has {name!r}"
        if self.tables is not None:
            yield from (f"  {line}" for line in self._effects(answer))

    def _english(self, answer: Answer) -> str:
        if self.describer is None:
            return ""
        return self.describer.describe(answer.code).sentence

    def _effects(self, answer: Answer) -> Iterator[str]:
        assert self.tables is not None
        language = self.parser.target.language
        yield from effects(answer.code, language, self.tables, now=datetime.now())


def _typed() -> Iterator[str]:
    """Yield what is typed, until the end of input."""
    try:
        while True:
            # Readline, if Python has it, edits the line and knows those before.
            yield input(_PROMPT)
    except EOFError:
        click.echo()


def _history() -> None:
    try:
        import readline
    except ImportError:  # Windows, or a Python built without it
        return
    readline.set_history_length(1000)
