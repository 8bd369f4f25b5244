"""The stage that checks skills and templates: every mistake and every warning of both."""

import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language, get_language
from genie_dp.languages.library import Library
from genie_dp.resources import data_folder
from genie_dp.run.cache import Parsed, is_small, keep_pickled, load_pickled
from genie_dp.run.stage import Result
from genie_dp.skills.check import Known, SentenceChecker, check_library
from genie_dp.skills.load import TEMPLATES_FILE, FolderReader
from genie_dp.skills.load import load_library as read_skills
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.thingpedia import ConvertedDatasets, convert
from genie_dp.templates.check import GrammarChecker, in_order
from genie_dp.templates.grammar import Grammar, functions_in_bodies, inputs_in_bodies
from genie_dp.templates.inputs import (
    Inputs,
    files_of_library,
    files_of_templates,
    grammar_files,
    load_library,
)
from genie_dp.templates.load import Functions, GrammarSources, read_grammar, run_functions
from genie_dp.templates.syntax import FileParser
from genie_dp.texts import ReadSource, read_source

# What is missing; where skills or statements could not be read, it may stand in those.
_MISSING = frozenset(("G102", "G109", "K100", "K122", "K123"))
# Of these, what templates lack of skills, and what skills lack of templates.
_UNUSED = frozenset(("G102", "G109"))
_UNSAID = frozenset(("K100", "K122", "K123"))

Trial = Callable[[Grammar, Language, Any], list[Problem]]
"""Returns the templates whose children make no program together (`synthesis.trials.misfits`)."""

Lists = Callable[[list[Problem], Any], tuple[list[Problem], list[str]]]
"""Returns the problems of parameters that no list serves, and a line for each list that serves
some (`augment.values.without_listed`)."""


@dataclass(slots=True)
class CheckResult(Result):
    """Mistakes and oddities of skills and templates.

    Attributes:
        problems: mistakes and warnings, in the order in which they are shown.
        sources: file -> its text, to show them in.
        looked_at: the counts of items that were read, such as "19 skills".
        lists: lines about lists of values that serve parameters without values of their own.
        inputs: the library and grammar that were read, put together.
    """

    problems: list[Problem] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    looked_at: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    inputs: Inputs | None = field(default=None, repr=False)

    @property
    def mistakes(self) -> tuple[Problem, ...]:
        """Return the errors, which keep skills and templates from being used."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings about missing or odd items."""
        return tuple(problem for problem in self.problems if problem.severity != "error")

    def lines(self) -> Iterator[str]:
        """Yield which lists serve which parameters; then the counts of items and problems."""
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
    checker = Checker(language, skills, grammar)
    return checker.run(skip_broken=skip_broken, trial=trial, lists=lists)


class Checker:
    """Reads and checks skills and templates, again and again where it is kept.

    Unchanged files are not read or checked again: a changed template costs only its own check.
    `recall` returns one that has the results of the last process.

    Attributes:
        extra: template files that are read with the grammar, though nothing imports them.
        place: the file of the cache for results; None where nothing is kept.
    """

    def __init__(
        self,
        language: Language,
        skills: Sequence[Path] = (),
        grammar: Sequence[Path] = (),
        *,
        read: ReadSource = read_source,
        functions: Callable[[str, str], Functions] = run_functions,
    ):
        """Start with nothing read.

        Args:
            language, skills, grammar: those of `run`.
            read: gives the text of a file.
            functions: gives the functions of a Python file (path, text).
        """
        self.language, self.skills, self.grammar = language, skills, grammar
        self.extra: Sequence[Path] = ()
        self.folders, self.files = FolderReader(read), FileParser()
        self._reading = GrammarSources(read, self.files.parse_file, functions)
        self._templates = GrammarChecker(language)
        self._sentences = SentenceChecker(read)
        self._library: Library | None = None
        self._converted = ConvertedDatasets()
        self._gaps: tuple[object, list[Problem]] | None = None  # by what templates say
        self._classes: Known = {}
        self.place: Path | None = None
        self._known: dict[str, str] = {}  # file -> the text that was read
        self._knows_warnings = self._is_kept = False

    @classmethod
    def recall(
        cls, language: Language, skills: Sequence[Path] = (), grammar: Sequence[Path] = ()
    ) -> "Checker":
        """Return a checker with the cached results for these files, if there are any.

        Raises:
            GenieError: there is no such grammar (R021).
        """
        new = cls(language, skills, grammar)
        paths = files_of_library(language.name, skills)
        files = new._files_of_grammar()
        place = Parsed.from_skills(paths, files, "known", language.name).path
        checker: Checker = load_pickled(place) or new
        # Who kept it may have named the same files in another way, which decides what is told.
        checker.skills, checker.grammar, checker.place = skills, grammar, place
        return checker

    def keep(self) -> None:
        """Cache the results for the next process, where there are new ones.

        Python functions do not travel.
        """
        if self.place is None or self._is_kept or is_small(self._known):
            return
        if not self._templates.last.functions:
            self._is_kept = True
            keep_pickled(self.place, self)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"language": self.language.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.language = self._templates.language = get_language(state["language"])

    def read_inputs(self, *, skip_broken: bool = False) -> Inputs:
        """Return library and grammar, as they are now, put together.

        Raises:
            GenieError: mistakes in any of the files.
        """
        library: Library
        if self.language.has_skills:
            paths = files_of_library(self.language.name, self.skills)
            library = read_skills(paths, skip_broken=skip_broken, reader=self.folders)
        else:
            library = load_library(self.language.name, self.skills, skip_broken=skip_broken)
        self._take(library)
        files = self._files_of_grammar()
        grammar, problems = read_grammar(
            files_of_templates(library, files, has_real=bool(self._converted.templates)),
            self.language,
            library,
            extra=self._converted.templates,
            reading=self._reading,
        )
        problems += self._templates.errors(grammar, library)
        sources = {**library.sources, **grammar.sources}
        self._note(sources)
        if problems:
            raise GenieError(problems, sources=grammar.sources)
        return Inputs(
            self.language, library, self._templates.with_trees(grammar), sources,
            tuple(self.skills), tuple(files), skip_broken,
        )  # fmt: skip

    def run(
        self,
        *,
        skip_broken: bool = False,
        trial: Trial | None = None,
        lists: Lists | None = None,
        when_read: Callable[[Library, Grammar], None] | None = None,
    ) -> CheckResult:
        """Return all that is wrong or odd now.

        Args:
            skip_broken, trial, lists: those of `run`.
            when_read: called once all is read, before it is looked at.

        Raises:
            GenieError: there is no such grammar (R021), or nothing can be read of the skills.
        """
        result = CheckResult()
        files = self._files_of_grammar()
        library = self._read_library(result, skip_broken=skip_broken)
        files = files_of_templates(library, files, has_real=bool(self._converted.templates))
        broken: list[Path] = []
        if isinstance(library, SkillLibrary) and not skip_broken:
            places = (skipped.path / TEMPLATES_FILE for skipped in library.skipped)
            broken = [path for path in places if path.is_file()]
            files += broken
        grammar, problems = read_grammar(
            files, self.language, library, extra=self._converted.templates, reading=self._reading
        )
        if when_read is not None:
            when_read(library, grammar)
        is_whole = not any(p.severity == "error" for p in (*result.problems, *problems))
        is_whole &= not library.skipped
        problems += _without_echoes(self._templates.check(grammar, library), library, broken)
        if trial is not None and not any(
            problem.severity == "error" for problem in (*result.problems, *problems)
        ):
            problems = in_order(problems + trial(grammar, self.language, library), grammar)
        result.sources |= grammar.sources
        if isinstance(library, SkillLibrary):
            self._find_gaps(library, grammar, lists, result)
            result.problems = _without_echoes_of_classes(result.problems, problems)
        result.problems += problems
        if isinstance(library, SkillLibrary):  # last: those of a skill that is being written
            problems, sources = self._sentences.check(library)
            result.problems += problems
            result.sources |= sources
        if not is_whole:
            result.problems = [p for p in result.problems if p.code not in _MISSING]
        if self.skills and not self.grammar:
            result.problems = [p for p in result.problems if not _is_gap_of_shipped(p)]
        result.looked_at.append(_count_of(len(grammar.templates), "template"))
        self._note(result.sources, warnings=True)
        result.inputs = Inputs(
            self.language, library, grammar, result.sources,
            tuple(self.skills), tuple(files), skip_broken,
        )  # fmt: skip
        return result

    def _files_of_grammar(self) -> list[Path]:
        """Return the template files to read; one that is named need not be on disk."""
        files = [
            file
            for path in self.grammar
            for file in ([path] if path.suffix == ".genie" else grammar_files([path]))
        ]
        return [*(files or grammar_files(())), *self.extra]

    def _read_library(self, result: CheckResult, *, skip_broken: bool) -> Library:
        """Return the library as it is now; the mistakes in it go to the result."""
        library: Library
        if not self.language.has_skills:
            library = load_library(self.language.name, self.skills, skip_broken=skip_broken)
            result.sources |= library.sources
            result.problems += library.warnings
            broken = (problem for skipped in library.skipped for problem in skipped.problems)
            result.problems += [replace(problem, severity="warning") for problem in broken]
        else:
            paths = files_of_library(self.language.name, self.skills)
            library = _read_skills(paths, result, self.folders, skip_broken=skip_broken)
        self._take(library)
        result.problems += self._converted.warnings
        return library

    def _take(self, library: Library) -> None:
        """Forget results that a new library makes false."""
        last, self._library = self._library, library
        if isinstance(library, SkillLibrary):
            if not isinstance(last, SkillLibrary) or last.classes is not library.classes:
                self._converted, self._gaps = convert(library), None
                self._forget_callers(last, library)
        elif last is None or last.sources != library.sources:
            self._templates.forget(lambda _: True)

    def _note(self, sources: Mapping[str, str], *, warnings: bool = False) -> None:
        """Note the texts that were read, and whether warnings were looked for."""
        is_known = self._known == sources and self._knows_warnings >= warnings
        self._is_kept &= is_known
        self._knows_warnings = warnings or (self._knows_warnings and is_known)
        self._known = dict(sources)

    def _forget_callers(self, last: Library | None, library: SkillLibrary) -> None:
        """Forget templates and sentences that call changed functions of the skills."""
        changed = _changed_classes(last, library) if isinstance(last, SkillLibrary) else None
        if changed is None:
            self._templates.forget(lambda _: True)
            self._sentences.forget(lambda _: True)
            self._classes.clear()
        elif changed:
            names = "|".join(map(re.escape, sorted(changed)))
            call = re.compile(rf"@(?:{names})(?![\w-])")
            self._templates.forget(
                lambda t: t.class_name in changed or bool(call.search(t.body_text))
            )
            self._sentences.forget(lambda program: bool(call.search(program)))

    def _find_gaps(
        self, library: SkillLibrary, grammar: Grammar, lists: Lists | None, result: CheckResult
    ) -> None:
        """Note the gaps of skills; values that shipped lists have are not missing."""
        templated = functions_in_bodies(grammar)
        given = None if grammar.functions else inputs_in_bodies(grammar)  # Python may give any
        said = templated, given
        if self._gaps is None or self._gaps[0] != said:
            self._gaps = said, check_library(library, templated, given, known=self._classes)
        problems = self._gaps[1]
        if lists is not None:
            problems, result.lists = lists(problems, library)
        result.problems += problems


def _changed_classes(last: SkillLibrary, library: SkillLibrary) -> frozenset[str] | None:
    """Return the classes whose functions changed; None where that may be so of any."""
    parents = [
        {name: kind.parents for name, kind in each.entity_types.items()} for each in (last, library)
    ]
    if parents[0] != parents[1] or last.units != library.units:
        return None  # values of one kind may stand where they could not
    names = last.classes.keys() | library.classes.keys()
    return frozenset(n for n in names if _calls_of(last, n) != _calls_of(library, n))


def _calls_of(library: SkillLibrary, class_name: str) -> object:
    """Return the data of a class on which programs that call it depend; phrases do not count."""
    skill_class = library.classes.get(class_name)
    if skill_class is None:
        return None
    return [
        (name, function.signature, function.enum_phrases)
        for name, function in skill_class.functions.items()
    ]


def _is_gap_of_shipped(problem: Problem) -> bool:
    """Return whether a problem is a shipped category that own skills do not fill, as is normal."""
    shipped = data_folder("grammars")
    is_there = problem.span is not None and Path(problem.span.file).is_relative_to(shipped)
    return problem.code in _UNUSED and is_there


def _read_skills(
    paths: Sequence[Path], result: CheckResult, reader: FolderReader, *, skip_broken: bool
) -> SkillLibrary:
    """Return the skills that can be read; the mistakes in the others go to the result."""
    try:
        library = read_skills(paths, reader=reader)
    except GenieError as error:
        result.sources |= error.sources
        library = read_skills(paths, skip_broken=True, reader=reader)
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
    classes = {f"@{skipped.path.name}" for skipped in library.skipped}

    def is_echo(problem: Problem) -> bool:
        if problem.code in ("T001", "G033") and problem.message.split()[-1].strip("'") in classes:
            return True
        is_in_broken = problem.span is not None and problem.span.file in files
        return is_in_broken and not problem.code.startswith(("G", "S"))

    return [problem for problem in problems if not is_echo(problem)]


def _without_echoes_of_classes(found: list[Problem], others: list[Problem]) -> list[Problem]:
    """Return problems, but for functions without words since a `for` beside them is wrong.

    The templates after it are theirs (G033 reports that).
    """
    misnamed = {_folder(problem) for problem in others if problem.code == "G033"}
    return [p for p in found if p.code not in _UNSAID or _folder(p) not in misnamed]


def _folder(problem: Problem) -> Path | None:
    return Path(problem.span.file).parent if problem.span is not None else None


def _count_of(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> _count_of(1647, "template"), _count_of(1, "error")
    ('1,647 templates', '1 error')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
