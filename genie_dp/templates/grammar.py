"""A grammar: everything that a set of template files says, read and put together."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import Problem, Span
from genie_dp.templates.ast import Category, Template

DEFAULT_SUBSET = "training"

# Categories that range over the library, with the kinds of their derivations.
BUILT_IN: Mapping[str, str] = {"OUTPUT": "output", "INPUT": "input", "VALUE": "value"}
TABLE_KIND = "table"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its words, its program text, and all cells by the header's names.

    The text begins at `column` of the `line`.
    """

    words: str
    text: str
    cells: Mapping[str, str]
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A TSV file that a template names; `path` is the one in Child.table."""

    path: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def placed(self, problem: Problem, row: Row) -> Problem:
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
    """

    categories: Mapping[str, Category] = field(default_factory=dict)
    templates: tuple[Template, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    def roots(self) -> tuple[Category, ...]:
        """Return the categories whose derivations are sentences."""
        return tuple(c for c in self.categories.values() if c.is_root)

    def kind(self, category: str) -> str | None:
        """Return the kind of a category, built-in or declared; None if there is none."""
        if category in BUILT_IN:
            return BUILT_IN[category]
        found = self.categories.get(category)
        return found.kind if found else None


def subset(grammar: Grammar, names: Collection[str] = (DEFAULT_SUBSET,)) -> Grammar:
    """Return the grammar with the templates that belong to any of the named subsets.

    `#[NAME=false]` keeps a template out of NAME; one with `#[NAME=true]` is in those only.
    """
    kept = (t for t in grammar.templates if any(in_subset(t, name) for name in names))
    return replace(grammar, templates=tuple(kept))


def in_subset(template: Template, name: str) -> bool:
    """Tell whether the flags of a template let it into a subset."""
    flags = dict(template.flags)
    if name in flags:
        return flags[name]
    return not any(flags.values())
