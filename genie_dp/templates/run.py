"""The stage that checks skills and templates: every mistake and every warning of both."""

import os.path
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.resources import data_folder
from genie_dp.run.stage import Result
from genie_dp.skills.load import TEMPLATES_FILE
from genie_dp.skills.model import SkillLibrary
from genie_dp.templates.check import check_grammar, in_order
from genie_dp.templates.grammar import Grammar, functions_in_bodies
from genie_dp.templates.inputs import Inputs, grammar_files, load_library, skills_or_shipped
from genie_dp.templates.load import read_grammar

# What is missing; where skills or statements could not be read, it may stand in those.
_MISSING = frozenset(("G102", "G109", "K100"))
# Of these, what templates lack of skills.
_UNUSED = frozenset(("G102", "G109"))

Trial = Callable[[Grammar, Language, Any], list[Problem]]
"""Returns the templates whose children make no program together (`synthesis.fits.misfits`)."""

Lists = Callable[[list[Problem], Any], tuple[list[Problem], list[str]]]
"""Returns the problems of parameters that no list serves, and a line for each list that serves
some (`augment.values.without_listed`)."""


@dataclass(slots=True)
class CheckResult(Result):
    """What is wrong or odd in skills and templates.

    Attributes:
        problems: mistakes and warnings, in the order in which they are shown.
        sources: file -> its text, to show them in.
        looked_at: what was read, such as "19 skills".
        lists: lines about lists of values that serve parameters without values of their own.
        inputs: what was read, put together.
    """

    problems: list[Problem] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    looked_at: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    inputs: Inputs | None = field(default=None, repr=False)

    @property
    def mistakes(self) -> tuple[Problem, ...]:
        """Return what keeps skills and templates from being used."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return what is missing or odd."""
        return tuple(problem for problem in self.problems if problem.severity != "error")

    def lines(self) -> Iterator[str]:
        """Yield which lists serve which parameters; then what was looked at, with the counts."""
        yield from self.lists
        mistakes, warnings = len(self.mistakes), len(self.warnings)
        counts = f"{_count_of(mistakes, 'error')}, {_count_of(warnings, 'warning')}"
        yield f"{', '.join(self.looked_at)}: {counts}"


def run(
    language: Language,
    skills: Sequence[Path] = (),
    grammar: Sequence[Path] = (),
    *,
    skip_broken: bool = False,
    trial: Trial | None = None,
    lists: Lists | None = None,
) -> CheckResult:
    """Return all that is wrong or odd in a library and a grammar; nothing of it is raised.

    Args:
        language: of the programs.
        skills: folders of skills, or files of declarations; empty for the shipped skills, or none.
        grammar: template files, or folders with a main.genie; empty for the shipped English.
        skip_broken: mistakes of skills, and of tools, are warnings.
        trial: tries templates with children, once there are no mistakes; None tries none.
        lists: knows lists of values that come with the package; None knows none.

    Raises:
        GenieError: there is no such grammar (R021), or mistakes in declarations.
    """
    result = CheckResult()
    files = grammar_files(grammar)
    extra: Sequence[Any] = ()
    broken: list[Path] = []
    library: Library
    if language.has_skills:
        library = _read_skills(skills_or_shipped(skills), result, skip_broken=skip_broken)
        files += [skill.templates for skill in library.skills if skill.templates is not None]
        if not skip_broken:
            broken = [path for s in library.skipped if (path := s.path / TEMPLATES_FILE).is_file()]
            files += broken
        extra = _convert_datasets(library, result)
    else:
        library = load_library(language.name, skills, skip_broken=skip_broken)
        result.sources |= library.sources
        result.problems += library.warnings
        broken_parts = (problem for skipped in library.skipped for problem in skipped.problems)
        result.problems += [replace(problem, severity="warning") for problem in broken_parts]
    read, problems = read_grammar(files, language, extra=extra)
    is_whole = not any(p.severity == "error" for p in (*result.problems, *problems))
    is_whole &= not library.skipped
    problems += _without_echoes(check_grammar(read, language, library), library, broken)
    if trial is not None and not any(problem.severity == "error" for problem in problems):
        problems = in_order(problems + trial(read, language, library), read)
    result.sources |= read.sources
    if isinstance(library, SkillLibrary):
        _find_gaps(library, read, lists, result)
    result.problems += problems
    if not is_whole:
        result.problems = [p for p in result.problems if p.code not in _MISSING]
    if skills and not grammar:
        result.problems = [p for p in result.problems if not _is_gap_of_shipped(p)]
    result.looked_at.append(_count_of(len(read.templates), "template"))
    result.inputs = Inputs(
        language, library, read, result.sources, tuple(skills), tuple(files), skip_broken
    )
    return result


def _is_gap_of_shipped(problem: Problem) -> bool:
    """Tell whether a shipped template wants what own skills have not: that is as it should be."""
    shipped = data_folder("grammars")
    is_there = problem.span is not None and Path(problem.span.file).is_relative_to(shipped)
    return problem.code in _UNUSED and is_there


def _read_skills(paths: Sequence[Path], result: CheckResult, *, skip_broken: bool) -> SkillLibrary:
    """Return the skills that can be read; the mistakes in the others go to the result."""
    from genie_dp.skills.load import load_library as read_skills

    try:
        library = read_skills(paths)
    except GenieError as error:
        result.sources |= error.sources
        library = read_skills(paths, skip_broken=True)
        for problem in error.problems:
            lowered = replace(problem, severity="warning") if skip_broken else problem
            result.problems.append(lowered)
    result.sources |= library.sources
    result.problems += library.warnings
    signatures = library.functions()
    inherited = sum(library.is_inherited(signature.qualified) for signature in signatures)
    result.looked_at += [
        _count_of(len(library.skills), "skill"),
        _count_of(len(signatures), "function")
        + (f" ({inherited:,} inherited)" if inherited else ""),
    ]
    return library


def _without_echoes(
    problems: list[Problem], library: Library, broken: Sequence[Path]
) -> list[Problem]:
    """Return the problems that do not follow from a skill that cannot be read.

    Of its own templates those stay that need no functions; elsewhere its class is not unknown.
    """
    files = {os.path.normpath(path) for path in broken}
    classes = {f"'@{skipped.path.name}'" for skipped in library.skipped}

    def is_echo(problem: Problem) -> bool:
        if problem.span is not None and problem.span.file in files:
            return not problem.code.startswith(("G", "S"))
        return problem.code == "T001" and any(name in problem.message for name in classes)

    return [problem for problem in problems if not is_echo(problem)]


def _convert_datasets(library: SkillLibrary, result: CheckResult) -> Sequence[Any]:
    """Return the templates of the skills' Thingpedia data sets."""
    from genie_dp.skills.thingpedia import convert

    converted = convert(library)
    result.problems += converted.warnings
    return converted.templates


def _find_gaps(
    library: SkillLibrary, grammar: Grammar, lists: Lists | None, result: CheckResult
) -> None:
    """Note what skills lack; values that shipped lists have are not missing."""
    from genie_dp.skills.check import check_library, check_sentences

    problems = check_library(library, functions_in_bodies(grammar))
    if lists is not None:
        problems, result.lists = lists(problems, library)
    result.problems += problems
    problems, sources = check_sentences(library)
    result.problems += problems
    result.sources |= sources


def _count_of(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> _count_of(1647, "template"), _count_of(1, "error")
    ('1,647 templates', '1 error')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
