"""A grammar: the content of a set of template files, read and put together."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.base import Language
from genie_dp.languages.bodies import Fragment
from genie_dp.languages.library import Library
from genie_dp.templates.ast import (
    Category,
    ForClass,
    Item,
    Template,
    WordTemplate,
    children_of,
    names_of,
    say_words,
    take_turns,
    words_said,
)

DEFAULT_SUBSET = "training"

# Categories that range over the library, with the kinds of their derivations.
BUILT_IN: Mapping[str, str] = {"OUTPUT": "output", "INPUT": "input", "VALUE": "value"}
TABLE_KIND = "table"
WORDS = "words"  # the kind of categories that say something and mean nothing
MOST_WORDS = 50_000  # that one of them says, or a choice


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its words, its program text, and all cells by the header's names.

    The text begins at `column` of the `line`.
    """

    words: str
    text: str
    cells: Mapping[str, str]
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True)
class PhraseTable:
    """A TSV file that a template names; `path` is the one in Child.table."""

    path: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]

    def place_problem(self, problem: Problem, row: TableRow) -> Problem:
        """Return a problem of a row's program text with its place in the table's file."""
        end = row.column + len(row.text)
        return replace(problem, span=Span(self.path, row.line, row.column, row.line, end))


@dataclass(frozen=True, slots=True)
class Grammar:
    """Templates of all files, construct templates first, with all that they name.

    Attributes:
        categories: the declared ones by name; the built-in ones are not among them.
        tables: Child.table -> its rows.
        functions: name -> the Python function that bodies call python.NAME(..).
        sources: file as spans name it -> its text, to show mistakes.
        files: every file that was read: templates, tables, Python.
        classes: those that files name once, `for @com.gmail;`.
        word_templates: of the categories of words, in the order of the files.
        words: category of words -> all of its texts.
    """

    categories: Mapping[str, Category] = field(default_factory=dict)
    templates: tuple[Template, ...] = ()
    tables: Mapping[str, PhraseTable] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    classes: tuple[ForClass, ...] = ()
    word_templates: tuple[WordTemplate, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def roots(self) -> tuple[Category, ...]:
        """Return the categories whose derivations are sentences."""
        return tuple(c for c in self.categories.values() if c.is_root)

    def kind(self, category: str) -> str | None:
        """Return the kind of a category, built-in or declared; None if there is none."""
        if category in BUILT_IN:
            return BUILT_IN[category]
        declared = self.categories.get(category)
        return declared.kind if declared else None


def words_of(
    templates: Iterable[WordTemplate],
) -> tuple[dict[str, tuple[str, ...]], list[Problem]]:
    """Return all texts of categories of words, and the problems of these."""
    by_category: dict[str, list[WordTemplate]] = {}
    for template in templates:
        by_category.setdefault(template.category, []).append(template)
    words: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []

    def add(name: str, outer: tuple[str, ...]) -> None:
        each: list[tuple[str, ...]] = []
        for template in by_category[name]:
            for said in words_said(template.utterance):
                if said.category in (*outer, name):
                    message = f"the words of {said.category} hold themselves"
                    problems.append(Problem("G036", message, said.span, "words end somewhere"))
                elif said.category in by_category and said.category not in words:
                    add(said.category, (*outer, name))
            said_here = say_words(template.utterance, words, MOST_WORDS)
            if said_here is None or sum(map(len, each)) + len(said_here) > MOST_WORDS:
                message = f"{name} says more than {MOST_WORDS:,} different things"
                hint = "cut it into several categories, said one after the other"
                problems.append(Problem("G036", message, template.span, hint))
            else:
                each.append(said_here)
        words[name] = take_turns(each)

    for name in by_category:
        if name not in words:
            add(name, ())
    return words, problems


def subset(grammar: Grammar, names: Collection[str] = (DEFAULT_SUBSET,)) -> Grammar:
    """Return the grammar with the templates that belong to any of the named subsets.

    `#[NAME=false]` keeps a template out of NAME; one with `#[NAME=true]` is in those only.
    """
    templates = (t for t in grammar.templates if any(in_subset(t, name) for name in names))
    return replace(grammar, templates=tuple(templates))


def only_of(grammar: Grammar, functions: Collection[str], library: Library) -> Grammar:
    """Return the grammar without templates that use skills which none of these functions has.

    >>> from genie_dp.resources import data_folder
    >>> from genie_dp.skills.load import load_library
    >>> library = load_library([data_folder("thingpedia") / x for x in ("com.gmail", "com.bbc")])
    >>> mail, news = (Template("t", "NP", (), (), text, None) for text in ("@com.gmail.inbox()",
    ...     "@com.bbc.top_stories()"))
    >>> both = Grammar(templates=(mail, news))
    >>> only_of(both, ["@com.gmail.compose"], library).templates == (mail,)
    True
    """
    named = {name.rpartition(".")[0] for name in functions}
    apart = {signature.qualified.rpartition(".")[0] for signature in library.functions()} - named
    templates = tuple(
        template
        for template in grammar.templates
        if not any(
            name in apart or name.rpartition(".")[0] in apart for name in named_functions(template)
        )
    )
    return replace(grammar, templates=templates)


def in_subset(template: Template, name: str) -> bool:
    """Return whether the flags of a template let it into a subset."""
    flags = dict(template.flags)
    if name in flags:
        return flags[name]
    return not any(flags.values())


_QUOTED = re.compile(r"(?<!\w)'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|@[\w.\-]+")
_LAMBDA = re.compile(r"\s*[\\λ]\s*\([^)]*\)\s*(?:->|→)")


def holes_of(template: Template, grammar: Grammar) -> dict[str, str]:
    """Return child -> kind; children of unknown categories are left out."""
    kinds = {
        child.name: TABLE_KIND if child.table else grammar.kind(child.category)
        for child in children_of(template.utterance)
    }
    return {name: kind for name, kind in kinds.items() if kind is not None}


def compile_body(
    template: Template,
    grammar: Grammar,
    language: Language,
    library: Library,
    absent: Collection[str] = (),
) -> Fragment:
    """Return the compiled body of a template that is no call of a Python function.

    `absent` are the children and placeholders of absent optional parts.

    Raises:
        GenieError: the language's mistakes, with places in the template's file.
    """
    body = template.body_text if template.tree is None else template.tree
    category = grammar.categories.get(template.category)
    whole = category is not None and category.is_root
    try:
        return language.bodies.compile(
            body, holes_of(template, grammar), library,
            whole=whole, class_name=template.class_name, absent=absent,
        )  # fmt: skip
    except GenieError as error:
        problems = tuple(place_in_file(p, template) for p in error.problems)
        raise GenieError(problems, sources=grammar.sources) from None


def place_in_file(problem: Problem, template: Template) -> Problem:
    """Return a problem of a body with its place in the template's file.

    >>> body = Span("a.genie", 3, 20, 4, 9)
    >>> template = Template("t", "NP", (), (), "a\\n  b", body)
    >>> str(place_in_file(Problem("S001", "..", Span("<body>", 1, 3, 1, 4)), template).span)
    'a.genie:3:22'
    >>> str(place_in_file(Problem("S001", "..", Span("<body>", 2, 3, 2, 4)), template).span)
    'a.genie:4:3'
    """
    body, span = template.body_span, problem.span
    if body is not None and span is not None and span.file == body.file:
        return problem  # it has its place
    # A body converted from a tree is not the text of its file: its place is the whole example.
    if body is None or span is None or template.tree is not None:
        return replace(problem, span=body or template.span)

    def moved(line: int, column: int) -> tuple[int, int]:
        return body.line + line - 1, column + (body.column - 1 if line == 1 else 0)

    start, end = moved(span.line, span.column), moved(span.end_line, span.end_column)
    return replace(problem, span=Span(body.file, *start, *end))


def has_lambda(template: Template) -> bool:
    """Return whether the body of a template gives types to its placeholders."""
    return _LAMBDA.match(template.body_text) is not None


def names_in_body(template: Template) -> frozenset[str]:
    """Return the words of a body that may be children or parameters of its lambda.

    >>> template = Template("t", "NP", (), (), '\\\\(x : T) -> @c.q(a = x) filter b == "c"', None)
    >>> sorted(names_in_body(template))
    ['a', 'b', 'filter', 'x']
    """
    if template.python is not None:
        return frozenset(template.python.arguments)
    text = _QUOTED.sub(" ", _LAMBDA.sub("", template.body_text, count=1))
    return frozenset(re.findall(r"[^\W\d]\w*", text))


def absent_names(template: Template, items: Iterable[Item]) -> frozenset[str]:
    """Return the names that the body uses and one wording of the template leaves out."""
    needed = names_of(template.utterance) & names_in_body(template)
    return needed - names_of(items)


_TEXT = re.compile(r"(?<!\w)'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"")
_FUNCTION = re.compile(
    r"(@[\w.\-]+)(?:\s*\([^()]*\)\s*(\.\w+))?|(?<![\w.$:@-])([^\W\d]\w*)(?=\s*\()"
)


def functions_in_bodies(grammar: Grammar) -> frozenset[str]:
    """Return the functions that some body names, with their class, such as @com.gmail.inbox.

    >>> one = Template("t", "NP", (), (), 'monitor @light(name="bedroom").power()', None)
    >>> sorted(functions_in_bodies(Grammar(templates=(one,))))
    ['@light', '@light.power']
    """
    return frozenset().union(*map(functions_of, grammar.templates))


def functions_of(template: Template) -> frozenset[str]:
    """Return the possible functions in the body of a template, with their class."""
    return _functions_in(template.body_text, template.class_name)


@lru_cache(maxsize=20_000)
def _functions_in(body: str, class_name: str) -> frozenset[str]:
    """Return the possible functions in a text, cached: templates are asked again and again."""
    return frozenset(_named_in(body, class_name))


def inputs_in_bodies(grammar: Grammar) -> frozenset[tuple[str, str]]:
    """Return (function, name) of each name that some body gives a value beside that function.

    Other names with a value, such as attributes of a device, are among them. `$?` is no value.

    >>> body = 'inbox(folder = "work", sender = $?) filter size == 5'
    >>> one = Template("t", "NP", (), (), body, None, class_name="com.gmail")
    >>> sorted(inputs_in_bodies(Grammar(templates=(one,))))
    [('@com.gmail.inbox', 'folder')]
    """
    return frozenset().union(*(_inputs_in(t.body_text, t.class_name) for t in grammar.templates))


@lru_cache(maxsize=20_000)
def _inputs_in(body: str, class_name: str) -> frozenset[tuple[str, str]]:
    names = _GIVEN.findall(_TEXT.sub('""', body))
    return frozenset((f, name) for f in _functions_in(body, class_name) for name in names)


_GIVEN = re.compile(r"([^\W\d]\w*)\s*=(?![=~>]|\s*\$\?)")


def named_functions(template: Template) -> Iterator[str]:
    """Yield the possible functions in a body, with their class, in the order of the text.

    After `for @com.gmail;` any name before a bracket may be one.

    >>> body = "monitor (inbox() filter a == $x)"
    >>> list(named_functions(Template("t", "WP", (), (), body, None, class_name="com.gmail")))
    ['@com.gmail.monitor', '@com.gmail.inbox']
    """
    yield from _named_in(template.body_text, template.class_name)


def _named_in(body: str, class_name: str) -> Iterator[str]:
    for match in _FUNCTION.finditer(_TEXT.sub('""', body)):
        name, after_selector, alone = match.groups()
        if alone is None:
            yield name
            if after_selector:
                yield name + after_selector
        elif class_name:
            yield f"@{class_name}.{alone}"
