"""Compiles the bodies of templates by their language; the language's errors move to the file."""

import re
from dataclasses import replace
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.base import Fragment, Language
from genie_dp.templates.ast import Template
from genie_dp.templates.expand import children_of
from genie_dp.templates.grammar import TABLE_KIND, Grammar

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
    template: Template, grammar: Grammar, language: Language, library: Any
) -> Fragment:
    """Return the compiled body of a template that is no call of a Python function.

    Raises:
        GenieError: the language's mistakes, with places in the template's file.
    """
    body = template.body_text if template.tree is None else template.tree
    category = grammar.categories.get(template.category)
    whole = category is not None and category.is_root
    try:
        return language.fragment(body, holes_of(template, grammar), library, whole=whole)
    except GenieError as error:
        problems = tuple(placed(p, template) for p in error.problems)
        raise GenieError(problems, sources=grammar.sources) from None


def with_trees(grammar: Grammar, language: Language) -> Grammar:
    """Return a grammar without mistakes with its bodies parsed, so that none is parsed again."""

    def parsed(template: Template) -> Template:
        if template.python is not None or template.tree is not None:
            return template
        return replace(
            template, tree=language.body(template.body_text, holes_of(template, grammar))
        )

    return replace(grammar, templates=tuple(map(parsed, grammar.templates)))


def placed(problem: Problem, template: Template) -> Problem:
    """Return a problem of a body with its place in the template's file.

    >>> body = Span("a.genie", 3, 20, 4, 9)
    >>> template = Template("t", "NP", (), (), "a\\n  b", body)
    >>> str(placed(Problem("S001", "..", Span("<body>", 1, 3, 1, 4)), template).span)
    'a.genie:3:22'
    >>> str(placed(Problem("S001", "..", Span("<body>", 2, 3, 2, 4)), template).span)
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


_FUNCTION = re.compile(r"(@[\w.\-]+)(?:\s*\([^()]*\)\s*(\.\w+))?")


def functions_in_bodies(grammar: Grammar) -> frozenset[str]:
    """Return the functions that some body names, with their class, such as @com.gmail.inbox.

    >>> one = Template("t", "NP", (), (), 'monitor @light(name="bedroom").power()', None)
    >>> sorted(functions_in_bodies(Grammar(templates=(one,))))
    ['@light', '@light.power']
    """
    found: set[str] = set()
    for template in grammar.templates:
        for name, after_selector in _FUNCTION.findall(template.body_text):
            found.update((name, name + after_selector))
    return frozenset(found)
