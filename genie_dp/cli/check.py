"""`genie-dp check`: every mistake and every warning of a library and a grammar."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.options import grammar_option, library_options
from genie_dp.cli.output import Format, show_problems
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import Language, get_language
from genie_dp.resources import data_folder
from genie_dp.templates.inputs import grammar_files

# What is missing; where skills or statements could not be read, it may stand in those.
_MISSING = frozenset(("G102", "G109", "K100"))


@dataclass(slots=True)
class Findings:
    """What was found, with the texts to show it in, what was looked at, and what goes well."""

    problems: list[Problem] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    looked_at: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, severity: str) -> int:
        """Return how many problems are of a severity."""
        return sum(problem.severity == severity for problem in self.problems)

    def summary(self) -> str:
        """Return one line: what was looked at, errors, warnings."""
        found = f"{_some(self.count('error'), 'error')}, {_some(self.count('warning'), 'warning')}"
        return f"{', '.join(self.looked_at)}: {found}"


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
    findings = find(get_language(language), skills, grammar, skip_broken=skip_broken)
    show_problems(findings.problems, findings.sources, format=format_)
    for line in (*findings.notes, findings.summary()):
        click.echo(line, err=format_ == "json")
    return 1 if findings.count("error") else 0


def find(
    language: Language, skills: Sequence[Path], grammar: Sequence[Path], *, skip_broken: bool
) -> Findings:
    """Return all that is wrong or odd in a library and a grammar."""
    from genie_dp.templates.check import check_grammar, in_order
    from genie_dp.templates.load import read_grammar

    findings = Findings()
    files = grammar_files(grammar)
    extra: Sequence[Any] = ()
    if language.name == "thingtalk":
        library = _skills(skills, findings, skip_broken=skip_broken)
        files += [skill.templates for skill in library.skills if skill.templates is not None]
        extra = _converted(library, findings)
    else:
        library = load_library_of(language.name, skills, skip_broken=skip_broken)
    read, problems = read_grammar(files, language, extra=extra)
    is_whole = not any(p.severity == "error" for p in (*findings.problems, *problems))
    is_whole &= not getattr(library, "skipped", ())
    problems += check_grammar(read, language, library)
    if not any(problem.severity == "error" for problem in problems):
        from genie_dp.synthesis.fits import misfits

        problems = in_order(problems + misfits(read, language, library), read)
    findings.sources |= read.sources
    if language.name == "thingtalk":
        _find_gaps(library, read, findings)
    findings.problems += problems
    if not is_whole:
        findings.problems = [p for p in findings.problems if p.code not in _MISSING]
    findings.looked_at.append(_some(len(read.templates), "template"))
    return findings


def _skills(skills: Sequence[Path], findings: Findings, *, skip_broken: bool) -> Any:
    """Return the skills that can be read; the mistakes in the others go to the findings."""
    from genie_dp.skills.load import load_library

    paths = list(skills) or [data_folder("thingpedia")]
    try:
        library = load_library(paths)
    except GenieError as error:
        findings.sources |= error.sources
        library = load_library(paths, skip_broken=True)
        for problem in error.problems:
            lowered = replace(problem, severity="warning") if skip_broken else problem
            findings.problems.append(lowered)
    findings.sources |= library.sources
    findings.problems += library.warnings
    findings.looked_at.append(_some(len(library.skills), "skill"))
    findings.looked_at.append(_functions(library))
    return library


def _functions(library: Any) -> str:
    known = library.functions()
    inherited = sum(library.is_inherited(signature.qualified) for signature in known)
    return _some(len(known), "function") + (f" ({inherited:,} inherited)" if inherited else "")


def _converted(library: Any, findings: Findings) -> Sequence[Any]:
    from genie_dp.skills.thingpedia import convert

    converted = convert(library)
    findings.problems += converted.warnings
    return converted.templates


def _find_gaps(library: Any, grammar: Any, findings: Findings) -> None:
    """Note what skills lack; values that shipped lists have are not missing."""
    from genie_dp.cli.check_values import summary, told_apart
    from genie_dp.skills.check import check_library
    from genie_dp.templates.bodies import functions_in_bodies

    problems = check_library(library, functions_in_bodies(grammar))
    missing, covered = told_apart(problems, library)
    findings.problems += missing
    findings.notes += summary(covered)


def _some(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> _some(1647, "template"), _some(1, "error")
    ('1,647 templates', '1 error')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
