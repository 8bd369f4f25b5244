"""`genie-dp check`: every mistake and every warning of a library and a grammar."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from genie_dp.cli.options import grammar_option, library_options, project_here
from genie_dp.cli.output import Format, show_problems
from genie_dp.errors import GenieError

if TYPE_CHECKING:
    from genie_dp.templates.run import CheckResult


@click.command("check")
@library_options
@grammar_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people, on stderr; json as one array, on stdout.",
)
def command(
    language: str,
    skills: Sequence[Path],
    grammar: Sequence[Path],
    skip_broken: bool,
    format_: Format,
) -> int:
    """Find the mistakes in skills and template files.

    Shows every error and warning, the shipped lists that give values where skills have none, and a
    summary. The exit code is 1 if there are errors; warnings leave it at 0.

    \b
    genie-dp check
    genie-dp check --skills thingpedia/com.gmail --format json
    """
    try:
        result = _check(language, skills, grammar, skip_broken=skip_broken)
    except GenieError as error:
        show_problems(error.problems, error.sources, format=format_)
        return 1
    show_problems(result.problems, result.sources, format=format_)
    for line in (*result.lines(), *_few_rows()):
        click.echo(line, err=format_ == "json")
    return 1 if result.mistakes else 0


def _few_rows() -> Iterator[str]:
    """Yield which templates of a project had few rows when it was run last, in a line."""
    project = project_here()
    if project is not None and (line := project.few_rows()):
        yield f"last run: {line}"


def _check(
    language: str, skills: Sequence[Path], grammar: Sequence[Path], *, skip_broken: bool
) -> "CheckResult":
    """Return the problems of skills and grammar; cached ones where nothing has changed."""
    from genie_dp.run.cache import Parsed
    from genie_dp.templates.inputs import files_of_library

    folders = files_of_library(language, skills)
    kept = Parsed.from_skills(folders, grammar, "check", language, skip_broken)
    known: CheckResult | None = kept.load()
    if known is not None:
        return known
    from genie_dp.augment.values import without_listed
    from genie_dp.languages import get_language
    from genie_dp.synthesis.trials import KnownTrials
    from genie_dp.templates.run import Checker

    checker = Checker.recall(get_language(language), skills, grammar)
    trials = KnownTrials(checker.place and checker.place.with_suffix(".tried"))
    result = checker.run(skip_broken=skip_broken, trial=trials.misfits, lists=without_listed)
    checker.keep()
    # What is amiss may depend on files that are not there yet, and Python functions on anything.
    if not result.mistakes and result.inputs and not result.inputs.grammar.functions:
        result.inputs = None
        kept.keep(result, result.sources, with_listed=True)
    return result
