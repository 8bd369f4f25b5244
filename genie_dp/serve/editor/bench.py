"""Skills and a grammar as an editor has them: read, checked and tried, while they are changed."""

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from genie_dp.augment.values import without_listed
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import Language, get_language
from genie_dp.languages.library import Library, Signature
from genie_dp.languages.units import Units
from genie_dp.run.cache import keep_pickled, load_pickled, place_in_cache
from genie_dp.serve.editor.sources import Sources
from genie_dp.skills.model import SkillLibrary
from genie_dp.synthesis.trials import TriedTemplates
from genie_dp.templates.ast import Template
from genie_dp.templates.grammar import Grammar
from genie_dp.templates.run import Checker
from genie_dp.texts import checked_source, read_source

KEPT = 3  # sentences of a template
Problems = Mapping[str, tuple[Problem, ...]]


@dataclass(frozen=True)
class EditorView:
    """The state of a project at one moment.

    Attributes:
        older: the last library that was whole: names that are broken now are still found in it.
        samples: id of a template -> (words, program) pairs of it; None before the first trial.
    """

    language: Language
    library: Library
    grammar: Grammar
    older: Library
    samples: Mapping[str, tuple[tuple[str, str], ...]] | None = None

    def sample(self, template: str) -> tuple[tuple[str, str], ...]:
        """Return (words, program) pairs of a template, as far as any are known."""
        return (self.samples or {}).get(template, ())

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """Return the functions that a program may call, by qualified name."""
        libraries = (self.older, self.library)
        return {s.qualified: s for library in libraries for s in library.functions()}

    @property
    def units(self) -> Units:
        """Return the units of the last library that was whole, or of its remains."""
        return self.older.units if self.library.skipped else self.library.units

    def skills(self) -> Iterator[SkillLibrary]:
        """Yield the libraries that are made of skills, the newer first."""
        for library in (self.library, self.older):
            if isinstance(library, SkillLibrary):
                yield library


class Bench:
    """Reads and checks the project of some documents, again and again.

    `view` is the last that is known; another thread may take it at any time.
    """

    def __init__(self, sources: Sources, texts: Mapping[str, str]):
        """Start with nothing read, but for the cache of earlier sessions.

        Args:
            sources: the files to read.
            texts: real path -> text, of the documents open in the editor.
        """
        self.sources, self.texts = sources, texts
        self.language = get_language(sources.language)
        self.view: EditorView | None = None
        self.is_broken = False  # whether the last check met mistakes
        self.extra: frozenset[Path] = frozenset()
        self._open: Mapping[str, str] = {}
        self._read: dict[str, tuple[tuple[int, int], str]] = {}
        self._kept: Path | None = None
        self._tried: tuple[TriedTemplates, Mapping[str, Template]] = TriedTemplates([]), {}
        self._tried_digest = ""
        self._checker = self._new_checker()
        self._recall()

    def check(
        self, documents: Sequence[Path] = (), *, when_read: Callable[[], object] | None = None
    ) -> Problems:
        """Return all problems and warnings, by file; those without a place are under "".

        Args:
            documents: those that are open; template files that nothing imports count as well.
            when_read: called once `view` is new, before the check is done.
        """
        self._open = dict(self.texts)
        self._checker.extra = sorted(file for file in self.extra if real_path(file) in self._open)
        more: set[Path] = set()

        def look(library: Library, grammar: Grammar) -> None:
            older = self.view.older if self.view and library.skipped else library
            samples = self._tried[0].samples if self._tried_digest else None
            self.view = EditorView(self.language, library, grammar, older, samples)
            more.update(self._not_imported(documents, grammar))
            if when_read is not None and not more:
                when_read()

        try:
            result = self._checker.run(
                trial=lambda grammar, _, __: list(self._misfits(grammar)),
                lists=without_listed,
                when_read=look,
            )
        except GenieError as error:
            problems = list(error.problems)
        else:
            problems = result.problems
        if more:
            self.extra |= more
            return self.check(documents, when_read=when_read)
        self.is_broken = any(problem.severity == "error" for problem in problems)
        by_file: dict[str, list[Problem]] = {}
        for problem in problems:
            by_file.setdefault(problem.span.file if problem.span else "", []).append(problem)
        return {file: tuple(dict.fromkeys(of_file)) for file, of_file in by_file.items()}

    def _not_imported(self, documents: Iterable[Path], grammar: Grammar) -> Iterator[Path]:
        """Yield template files that are not read so far."""
        read = set(map(real_path, (*grammar.sources, *self.extra)))
        for document in documents:
            if document.suffix == ".genie" and real_path(document) not in read:
                yield document

    def source(self, file: str) -> str:
        """Return the text of a file: that of the editor, else that on disk; "" without any."""
        text = self.texts.get(real_path(file))
        if text is not None:
            return text
        try:
            return self._text(file, code="G007")
        except (GenieError, OSError):
            return ""

    def keep(self) -> None:
        """Keep the data read for the next session, if they are new."""
        if self._kept is not None:
            keep_pickled(self._kept, (self._checker.folders.known, self._checker.files.known))
            self._kept = None

    # ------------------------------------------------------------------------------ trials

    def to_try(self) -> "Trial | None":
        """Return the trial to run now; None where nothing is read or nothing changed."""
        view = self.view
        if view is None:
            return None
        trial = Trial(view)
        return trial if trial.digest != self._tried_digest else None

    def take(self, tried: TriedTemplates, trial: "Trial") -> None:
        """Take the result of a trial: sentences for hovers, problems for the next check."""
        self._tried, self._tried_digest = (tried, trial.templates), trial.digest
        if self.view is not None:
            self.view = replace(self.view, samples=tried.samples)

    def _misfits(self, grammar: Grammar) -> Iterator[Problem]:
        """Yield the problems of the last trial whose templates are unchanged, moved."""
        tried, templates = self._tried
        now = {template.id: template for template in grammar.templates} if tried.problems else {}
        for problem in tried.problems:
            before = next((t for t in templates.values() if _holds(t, problem.span)), None)
            after = now.get(before.id) if before else None
            if before and after and before == after and before.span and after.span:
                yield _move_down(problem, after.span.line - before.span.line)

    # ----------------------------------------------------------------------------- reading

    def _new_checker(self) -> Checker:
        return Checker(
            self.language,
            self.sources.skills,
            self.sources.grammar,
            read=self._text,
            functions=names_of_functions,
        )

    def _text(self, path: Path | str, *, code: str) -> str:
        """Return the text of a file as the editor has it, else as it is on disk."""
        name = str(path)
        text = self._open.get(real_path(name)) if self._open else None
        if text is not None:
            return checked_source(text, path, code=code)
        status = os.stat(name)
        stamp = (status.st_mtime_ns, status.st_size)
        cached = self._read.get(name)
        if cached is None or cached[0] != stamp:
            cached = self._read[name] = (stamp, read_source(path, code=code))
        return cached[1]

    def _recall(self) -> None:
        place = place_in_cache((self.sources, "read in an editor"), ".editor")
        content = load_pickled(place)
        if content is None:
            self._kept = place
        else:
            self._checker.folders.known, self._checker.files.known = content


@lru_cache(maxsize=10_000)
def real_path(file: str | Path) -> str:
    """Return the path of a file without links, by which editor and library mean the same file."""
    return os.path.realpath(file)


class Trial:
    """The trial apart from the editor, for it takes seconds: every template, with children.

    Templates that call Python are left out: an editor does not run code of opened files.

    Attributes:
        digest: of all texts.
    """

    def __init__(self, view: EditorView):
        self.view = view
        self.templates = {template.id: template for template in view.grammar.templates}
        digest = hashlib.sha256(view.language.name.encode())
        for text in (*view.library.sources.values(), *view.grammar.sources.values()):
            digest.update(hashlib.sha256(text.encode()).digest())
        self.digest = digest.hexdigest()

    def input(self) -> bytes:
        """Return the input of `genie_dp.serve.editor.trying`."""
        templates = tuple(t for t in self.view.grammar.templates if t.python is None)
        grammar = replace(self.view.grammar, templates=templates, functions={}, sources={})
        library = self.view.library if self.view.language.has_skills else self.view.library.paths
        return pickle.dumps((self.view.language.name, library, grammar, KEPT))

    def place(self) -> Path | None:
        """Return where the result is kept in the cache; None if it is not."""
        return place_in_cache(("tried in an editor", self.digest), ".tried")


def names_of_functions(path: str, text: str) -> dict[str, Callable[..., Any]]:
    """Return the public names of a Python file without running it; they stand for no function.

    Raises:
        SyntaxError: it is no Python.
    """
    import ast

    def not_run(*_: object) -> None:
        raise RuntimeError(f"an editor runs no function of {path}")

    names: set[str] = set()
    for node in ast.parse(text, filename=path).body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.ImportFrom(names=imported):
                names.update(alias.asname or alias.name for alias in imported)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case _:
                pass
    return {name: not_run for name in sorted(names) if not name.startswith("_")}


def _holds(template: Template, span: Span | None) -> bool:
    outer = template.span
    if span is None or outer is None or span.file != outer.file:
        return False
    return (
        (outer.line, outer.column)
        <= (span.line, span.column)
        <= (
            outer.end_line,
            outer.end_column,
        )
    )


def _move_down(problem: Problem, lines: int) -> Problem:
    span = problem.span
    if span is None or not lines:
        return problem
    moved = replace(span, line=span.line + lines, end_line=span.end_line + lines)
    return replace(problem, span=moved)
