"""Reads template files and everything that they name into a Grammar."""

import ast as python
import importlib.util
import os.path
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.skills.words import join_tokens
from genie_dp.templates.ast import (
    Category,
    Child,
    ForClass,
    Template,
    TemplateFile,
    Using,
    WordTemplate,
    with_drawn_words,
    words_said,
)
from genie_dp.templates.derived import derive
from genie_dp.templates.grammar import (
    BUILT_IN,
    MOST_WORDS,
    WORDS,
    Grammar,
    PhraseTable,
    TableRow,
    words_of,
)
from genie_dp.templates.syntax import (
    APOSTROPHE_HINT,
    APOSTROPHES,
    TemplateSource,
    parse_file,
    parse_words,
    path_beside,
)
from genie_dp.texts import Paths, ReadSource, paths_of, read_source


class ConvertedTemplate(Protocol):
    """A template converted from a real skill's dataset; `body` is a lambda or a bare body."""

    @property
    def category(self) -> str:
        """Name of the category."""

    @property
    def utterance(self) -> str:
        """Words with placeholders `$x`, `${x:const}`."""

    @property
    def body(self) -> Any:
        """Syntax tree of the target language."""

    @property
    def identifier(self) -> str:
        """Unique name."""

    @property
    def span(self) -> Span | None:
        """Where the dataset has it."""


Functions = Mapping[str, Callable[..., Any]]


def run_functions(path: str, text: str) -> Functions:
    """Return the public functions of a Python file, by name; that runs the file."""
    return dict(_functions(path))


class ParseFile(Protocol):
    """How a template file is parsed: as `syntax.parse_file` does."""

    def __call__(  # noqa: D102
        self, text: str, *, file: str, prefix: str
    ) -> tuple[TemplateFile, Sequence[Problem]]: ...


@lru_cache(maxsize=256)
def parse_once(text: str, *, file: str, prefix: str) -> tuple[TemplateFile, Sequence[Problem]]:
    """Return the cached result of `parse_file`, so that editing one file reads only that one."""
    parsed, problems = parse_file(text, file=file, prefix=prefix)
    return parsed, tuple(problems)


@dataclass(frozen=True, slots=True)
class GrammarSources:
    """How the files of a grammar are read; an editor does it in another way.

    Attributes:
        read: gives the text of a file.
        parse: gives its statements.
        functions: gives the functions of a Python file (path, text).
    """

    read: ReadSource = read_source
    parse: ParseFile = parse_once
    functions: Callable[[str, str], Functions] = run_functions


def load_grammar(
    paths: Paths,
    language: Language,
    *,
    library: Library | None = None,
    extra: Iterable[ConvertedTemplate] = (),
) -> Grammar:
    """Return the grammar of a file or several, of all that they import, and of `extra` templates.

    Each file is read once, in the order of first mention. With a `library` the grammar is also
    checked against it (see check.py).

    Raises:
        GenieError: all mistakes of all files.
    """
    grammar, problems = read_grammar(paths, language, library, extra=extra)
    if library is not None:
        from genie_dp.templates.check import errors_of

        problems += errors_of(grammar, language, library)
    if problems:
        raise GenieError(problems, sources=grammar.sources)
    return grammar


def read_grammar(
    paths: Paths,
    language: Language,
    library: Library | None = None,
    *,
    extra: Iterable[ConvertedTemplate] = (),
    reading: GrammarSources | None = None,
) -> tuple[Grammar, list[Problem]]:
    """Return the readable statements of these files, and the mistakes in the rest.

    With a `library` categories of names hold those of its results (derived.py).
    """
    loader = _Loader(language, reading or GrammarSources())
    files = paths_of(paths)
    # Ids of a skill's templates.genie begin with the name of its folder.
    prefixes = {
        os.path.normpath(path): Path(path).resolve().parent.name
        for path in files
        if Path(path).name == "templates.genie"
    }
    for path in files:
        loader.file(os.path.normpath(path), None, (), prefixes.get(os.path.normpath(path)))
    for template in extra:
        loader.primitive(template)
    return loader.grammar(library), loader.problems


class _Loader:
    """Collects statements and problems; a file is known by its resolved path."""

    def __init__(self, language: Language, reading: GrammarSources):
        self.language = language
        self.reading = reading
        self.problems: list[Problem] = []
        self.categories: dict[str, Category] = {}
        self.templates: list[Template] = []
        self.words: list[WordTemplate] = []
        self.classes: list[ForClass] = []
        self.ids: dict[str, Template] = {}
        self.tables: dict[str, PhraseTable] = {}
        self.functions: dict[str, Callable[..., Any]] = {}
        self.sources: dict[str, str] = {}
        self.seen: dict[Path, str] = {}
        self.prefixes: set[str] = set()

    def grammar(self, library: Library | None) -> Grammar:
        words, problems = words_of(self.words)
        self.problems += problems
        self.problems += self._misplaced_words()
        templates = [*self.templates, *derive(self.categories, self.templates, library)]
        if WORDS in {category.kind for category in self.categories.values()}:
            templates = [
                replace(t, utterance=with_drawn_words(t.utterance, words, MOST_WORDS))
                for t in templates
            ]
        return Grammar(
            self.categories,
            tuple(templates),
            self.tables,
            self.functions,
            self.sources,
            tuple(Path(name) for name in self.sources),
            tuple(self.classes),
            tuple(self.words),
            words,
        )

    def _misplaced_words(self) -> Iterator[Problem]:
        """Yield words without a body where one is needed, and bodies where there is none."""
        kinds = {name: category.kind for name, category in self.categories.items()}
        for alone in self.words:
            if kinds.get(alone.category, WORDS) != WORDS:
                message = f"expected '->' and a body, for {alone.category} is no category of words"
                hint = f"write what it means, or declare it: category {alone.category} : words;"
                yield Problem("G001", message, _end_of(alone.span), hint)
        for template in self.templates:
            if kinds.get(template.category) == WORDS:
                message = f"{template.category} is a category of words, which mean nothing"
                yield Problem("G035", message, template.body_span, "drop '->' and what follows")
        of_words = [w.utterance for w in self.words if kinds.get(w.category, WORDS) == WORDS]
        for utterance in (*(t.utterance for t in self.templates), *of_words):
            for said in words_said(utterance):
                if kinds.get(said.category, WORDS) != WORDS:
                    message = f"{said.category} is no category of words"
                    hint = f"give it a name that the body knows, such as x:{said.category}"
                    yield Problem("G035", message, said.span, hint)
                elif said.category not in kinds:
                    near = did_you_mean(said.category, [n for n, k in kinds.items() if k == WORDS])
                    hint = near or "words stand in quotes; a child is name:CATEGORY, such as q:NP"
                    if said.category in APOSTROPHES:
                        hint = APOSTROPHE_HINT
                    message = f"unknown category of words {said.category!r}"
                    yield Problem("G012", message, said.span, hint)

    # ----------------------------------------------------------------------------- files

    def file(
        self, name: str, span: Span | None, chain: tuple[str, ...], prefix: str | None = None
    ) -> None:
        """Read a file, its imports first; `chain` are the files that led to it."""
        if name in chain:
            ring = " -> ".join([*chain[chain.index(name) :], name])
            hint = "move what both need into a third file"
            self._report("G008", f"files import each other: {ring}", span, hint)
            return
        real = Path(name).resolve()
        if real in self.seen:
            return
        text = self._read(name, span, "G007")
        if text is None:
            return
        self.seen[real] = name
        parsed, problems = self.reading.parse(text, file=name, prefix=self._prefix(name, prefix))
        self.problems += problems
        for statement in parsed.imports:
            self.file(path_beside(name, statement.path), statement.span, (*chain, name))
        for category in parsed.categories:
            self._category(category)
        self.classes += parsed.classes
        for using in parsed.using:
            self._using(name, using)
        for template in parsed.templates:
            self._template(template)
        self.words += parsed.words
        for child in parsed.tables:
            if child.table not in self.tables:
                self._table(child)

    def _prefix(self, name: str, given_prefix: str | None) -> str:
        path = Path(name)
        prefix = given_prefix or path.stem
        if prefix in self.prefixes:
            prefix = f"{path.resolve().parent.name}.{path.stem}"
        self.prefixes.add(prefix)
        return prefix

    def _read(self, name: str, span: Span | None, code: str) -> str | None:
        try:
            text = self.reading.read(name, code=code)
        except GenieError as error:
            self.problems += error.problems
            self.sources |= error.sources
            return None
        except OSError as error:
            folder = Path(name).parent
            files = [p.name for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
            hint = did_you_mean(Path(name).name, files)
            self._report(code, f"cannot read {name}: {error.strerror}", span, hint)
            return None
        self.sources[name] = text
        return text

    def _report(self, code: str, message: str, span: Span | None, hint: str | None = None) -> None:
        self.problems.append(Problem(code, message, span, hint))

    # ------------------------------------------------------------------------ statements

    def _category(self, category: Category) -> None:
        declared = self.categories.get(category.name)
        if category.name in BUILT_IN:
            message = f"{category.name} is built in and cannot be declared"
            self._report("G011", message, category.span)
        elif declared is not None:
            message = f"category {category.name!r} is declared twice"
            self._report("G011", message, category.span, f"first declared at {declared.span}")
        else:
            self.categories[category.name] = category
        known = {*self.language.bodies.kinds, WORDS}
        if category.kind not in known:
            message = f"{self.language.name} has no kind {category.kind!r}"
            hint = did_you_mean(category.kind, known) or f"its kinds are {', '.join(sorted(known))}"
            self._report("G013", message, category.span, hint)

    def _template(self, template: Template) -> None:
        first = self.ids.setdefault(template.id, template)
        if first is not template:
            message = f"two templates have the id {template.id!r}"
            self._report("G014", message, template.span, f"the first is at {first.span}")
        self.templates.append(template)

    def primitive(self, primitive: ConvertedTemplate) -> None:
        """Add a template converted from a real skill."""
        literal = '"' + primitive.utterance.replace("\\", "\\\\").replace('"', '\\"') + '"'
        try:
            words = parse_words(literal, TemplateSource(primitive.identifier, literal), 0)
        except GenieError as error:
            self.problems += [
                Problem(p.code, p.message, primitive.span, p.hint) for p in error.problems
            ]
            return
        self._template(
            Template(
                id=primitive.identifier,
                category=primitive.category,
                features=_form_of(primitive),
                utterance=(words,),
                body_text=str(self.language.render(primitive.body)),
                body_span=primitive.span,
                tree=primitive.body,
                span=primitive.span,
            )
        )

    # -------------------------------------------------------------------- tables, Python

    def _table(self, child: Child) -> None:
        text = self._read(child.table, child.span, "G009")
        rows: list[TableRow] = []
        columns: tuple[str, ...] = ()
        if text is not None:
            columns, rows = self._rows(child.table, text)
        self.tables[child.table] = PhraseTable(child.table, columns, tuple(rows))

    def _rows(self, name: str, text: str) -> tuple[tuple[str, ...], list[TableRow]]:
        lines = (line.split("\t") for line in text.split("\n"))
        header = tuple(cell.strip() for cell in next(lines)) if text else ()
        if len(header) < 2:
            message = f"expected a header with two columns or more, got {len(header)}"
            self._report("G009", message, Span(name, 1, 1, 1, 2), "columns are tab separated")
            return header, []
        rows = []
        for number, cells in enumerate(lines, start=2):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                message = f"expected {len(header)} columns, got {len(cells)}"
                self._report("G009", message, Span(name, number, 1, number, 2))
                continue
            values = [cell.strip() for cell in cells]
            by_name = dict(zip(header, values, strict=True))
            column = len(cells[0]) + len(cells[1]) - len(cells[1].lstrip()) + 2
            rows.append(TableRow(join_tokens(values[0]), values[1], by_name, number, column))
        return header, rows

    def _using(self, name: str, using: Using) -> None:
        path = path_beside(name, using.path)
        text = self._read(path, using.span, "G010")
        if text is None:
            return
        try:
            python.parse(text, filename=path)
        except SyntaxError as error:
            line, column = error.lineno or 1, error.offset or 1
            span = Span(path, line, column, line, column + 1)
            self._report("G010", f"not Python: {error.msg}", span)
            return
        try:
            functions = self.reading.functions(path, text)
        except Exception as error:  # noqa: BLE001 - any error of the user's file is the user's
            message = f"running the file raised {type(error).__name__}: {error}"
            self._report("G010", message, _place_of(error, path))
            return
        for function_name, function in functions.items():
            if self.functions.get(function_name, function) is not function:
                message = f"python.{function_name} is defined in two files"
                self._report("G010", message, using.span)
            self.functions[function_name] = function


def _end_of(span: Span | None) -> Span | None:
    if span is None:
        return None
    line, column = span.end_line, span.end_column
    return Span(span.file, line, column, line, column + 1)


def _form_of(primitive: ConvertedTemplate) -> tuple[tuple[str, str], ...]:
    """Return the true form of a phrase that a real data set labels wrongly.

    "whether the lights are on" and "get my status" stand among its noun phrases, "is this song
    live" among the commands.
    """
    if primitive.category not in ("NP", "QVP"):
        return ()
    if english.is_clause(primitive.utterance) or english.is_question(primitive.utterance):
        return (("form", "clause"),)
    if primitive.category == "QVP":
        return ()
    return (("form", "vp"),) if english.starts_with_verb(primitive.utterance) else ()


def _functions(path: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions of a Python file, running it."""
    module_name = f"genie_dp_functions_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise GenieError(Problem("G010", f"{path} is no Python file", hint="name it *.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and not name.startswith("_"):
            yield name, value


def _place_of(error: Exception, path: str) -> Span:
    """Return the last line of the file that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    whole = os.path.abspath(path)  # as importlib names it
    lines = [frame.lineno for frame in frames if frame.filename == whole]
    line = (lines[-1] if lines else None) or 1
    return Span(path, line, 1, line, 2)
