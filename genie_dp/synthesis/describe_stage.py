"""Describing programs as a stage: sentences to standard output, a line each."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.recipe import REQUIRED, setting
from genie_dp.run.stage import Output, Result
from genie_dp.stage.kernel import OutputOption, Stage
from genie_dp.synthesis.config import ReverseConfig
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import lines_of


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program to be described, as people write it or as tokens; its place, if it is of a file."""

    text: str
    place: Span | None = None


def read_programs(path: Path) -> Iterator[ProgramText]:
    """Yield the program of each line that is not empty, nor a comment (// or #)."""
    name = "<stdin>" if str(path) == "-" else str(path)
    for number, line in enumerate(lines_of(path), start=1):  # other line ends are of a text
        if line.strip() and not line.startswith(("//", "#")):
            begin = len(line) - len(line.lstrip()) + 1
            place = Span(name, number, begin, number, len(line) + 1)
            yield ProgramText(line.strip(), place)


@dataclass(frozen=True, slots=True)
class DescribeResult(Result):
    """The outcome of describing programs.

    Attributes:
        programs, partly, failed: how many there were, were described partly in words of our own,
            and have mistakes.
        notes: words of our own that stand in sentences.
        problems: the mistakes, with their places.
        is_of_file: they were lines of a file.
    """

    programs: int
    partly: int
    failed: int
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]
    is_of_file: bool

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report to the user."""
        yield from self.notes
        if self.is_of_file:
            whole = self.programs - self.partly - self.failed
            yield (
                f"{self.programs:,} programs: {whole:,} said by templates, "
                f"{self.partly:,} partly in our own words, {self.failed:,} with mistakes"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(Stage, ReverseConfig):
    """Say in English what a program does, by the templates of synthesis.

    The program is given as people write it, or as tokens. The sentence has its values; one that
    the templates derive means this program and is understood again. Where no derivation has the
    program, what templates say of its parts is joined by words of our own, which a note on standard
    error names; the exit code is 0 all the same.

    \b
    genie-dp grammar describe 'now => @com.dropbox.list_folder() => notify'
    genie-dp grammar describe --input programs.txt --format json
    """

    command = "describe"
    output = OutputOption(
        option=None,
        formats=("text", "json"),
        default_format="text",
        format_help="text for people; json, one object a sentence, a line each.",
    )

    alternatives: int = setting(
        1, "Up to N sentences, the most natural first.", least=1, most=100, metavar="N"
    )
    program: str | None = setting(None, "What is described.", is_argument=True)
    file: Path | None = setting(
        None,
        "Describe the program on each line, - for standard input.",
        value="file or -",
        option="input",
    )
    inputs: Inputs = setting(REQUIRED, "The skills and templates.", value="inputs")

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse no program, and both a program and a file."""
        if (self.program is None) == (self.file is None):
            return "give one program, or a file with --input"
        return None

    def run(self, output: Output, *, progress: bool | None = None) -> DescribeResult:
        """Write sentences for programs; mistakes in those of a file are in the result.

        Raises:
            GenieError: a program that is of no file cannot be read, or is ill-typed.
        """
        from genie_dp.synthesis.describe import Describer
        from genie_dp.synthesis.explain import move_problem

        if self.file is None:
            programs = iter([ProgramText(self.program or "")])
        else:
            programs = read_programs(self.file)
        describer = Describer.from_inputs(self.inputs, self)
        count = partly = failed = 0
        notes: list[str] = []
        problems: list[Problem] = []
        for program in programs:
            count += 1
            place = program.place
            try:
                descriptions = describer.alternatives(program.text, self.alternatives)
            except GenieError as error:
                if place is None:
                    raise
                problems += [move_problem(problem, place) for problem in error.problems]
                failed += 1
                continue
            for description in descriptions:
                row = {"given": program.text, **description.as_dict()}
                is_json = output.format == "json"
                line = json.dumps(row, ensure_ascii=False) if is_json else description.sentence
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()  # whoever gives one program at a time waits for it
            if not descriptions[0].complete:
                partly += 1
                missing = "; ".join(descriptions[0].missing)
                notes.append(f"{f'{place}: ' if place else ''}note: words of our own: {missing}")
        is_of_file = self.file is not None and count > 0
        return DescribeResult(count, partly, failed, tuple(notes), tuple(problems), is_of_file)

    def exit_code_for(self, result: DescribeResult) -> int:
        """Return 0 where every program could be read.

        Raises:
            GenieError: the mistakes in programs of a file.
        """
        if result.problems:
            raise GenieError(result.problems)
        return 0
