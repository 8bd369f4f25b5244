"""`genie-dp describe`: what a program says in English."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp.cli.inputs import compiled_of
from genie_dp.cli.options import library_options, templates_options
from genie_dp.errors import GenieError, Problem, Span

if TYPE_CHECKING:
    from genie_dp.synthesis.describe import Describer, Description


@click.command("describe")
@click.argument("program", required=False)
@library_options
@templates_options(max_depth=8)
@click.option(
    "--alternatives",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Up to N sentences, the most natural first.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people; json, one object a sentence, a line each.",
)
@click.option(
    "--input",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Describe the program on each line, - for standard input.",
)
def command(**options: Any) -> int:
    """Say in English what a program does, by the templates of synthesis.

    The program is given as people write it, or as tokens. The sentence has its values; one that
    the templates derive means this program and is understood again. Where no derivation has the
    program, what templates say of its parts is joined by words of our own, which a note on standard
    error names; the exit code is 0 all the same.

    \b
    genie-dp describe 'now => @com.dropbox.list_folder() => notify'
    genie-dp describe --input programs.txt --format json
    """
    if (options["program"] is None) == (options["file"] is None):
        raise click.UsageError("give one program, or a file with --input")
    programs: Iterator[tuple[Span | None, str]] = iter([(None, options["program"] or "")])
    if options["file"] is not None:
        programs = _lines(options["file"])
    return _describe(describer_of(options), programs, options)


def describer_of(options: Mapping[str, Any]) -> "Describer":
    """Return the describer of a library and its templates, as the options of the command say."""
    from genie_dp.synthesis.describe import Describer

    inputs, compiled = compiled_of(options)
    return Describer(compiled, inputs.library, options["max_depth"])


def _lines(path: Path) -> Iterator[tuple[Span | None, str]]:
    """Yield (place, program) for each line that is not empty, nor a comment (// or #)."""
    from genie_dp.texts import lines_of

    name = "<stdin>" if str(path) == "-" else str(path)
    for number, line in enumerate(lines_of(path), start=1):  # other line ends are of a text
        if line.strip() and not line.startswith(("//", "#")):
            begin = len(line) - len(line.lstrip()) + 1
            yield Span(name, number, begin, number, len(line) + 1), line.strip()


def _describe(
    describer: "Describer", programs: Iterator[tuple[Span | None, str]], options: dict[str, Any]
) -> int:
    total = partly = 0
    problems: list[Problem] = []
    sources: dict[str, str] = {}
    for place, program in programs:
        total += 1
        try:
            found = describer.alternatives(program, options["alternatives"])
        except GenieError as error:
            if place is None:
                raise
            problems += [placed(problem, place) for problem in error.problems]
            sources |= error.sources
            continue
        partly += not found[0].complete
        _show(program, found, place, as_json=options["format_"] == "json")
    if options["file"] is not None:
        failed = len({p.span.line for p in problems if p.span})
        whole = total - partly - failed
        told = f"{whole:,} said by templates, {partly:,} partly in our own words"
        click.echo(f"{total:,} programs: {told}, {failed:,} with mistakes", err=True)
    if problems:
        raise GenieError(problems)
    return 0


def placed(problem: Problem, place: Span) -> Problem:
    """Return a mistake of a program with its place in the file that the program stands in.

    >>> place = Span("programs.txt", 7, 5, 7, 30)
    >>> str(placed(Problem("S001", "", Span("<program>", 1, 8, 1, 9)), place).span)
    'programs.txt:7:12'
    """
    column, end = place.column, place.end_column
    if problem.span:
        column += problem.span.column - 1
        end = place.column + problem.span.end_column - 1
    return replace(problem, span=Span(place.file, place.line, column, place.line, end))


def _show(
    program: str, found: "Sequence[Description]", place: Span | None, *, as_json: bool
) -> None:
    for description in found:
        if as_json:
            told = {"given": program, **asdict(description), "values": dict(description.values)}
            click.echo(json.dumps(told, ensure_ascii=False))
        else:
            click.echo(description.sentence)
    if not found[0].complete:
        where = f"{place}: " if place else ""
        missing = "; ".join(found[0].missing)
        click.echo(f"{where}note: words of our own: {missing}", err=True)
