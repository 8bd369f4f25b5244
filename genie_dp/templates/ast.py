"""The syntax tree of template files (`*.genie`); docs/template-language.md describes the text.

Every node carries the span it was read from; spans take no part in equality.
"""

from dataclasses import dataclass, field
from typing import Any

from genie_dp.errors import Span
from genie_dp.templates.guard import Guard

SPAN = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Import:
    """`import "filters.genie";`, the path as written."""

    path: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Using:
    """`using "functions.py";`, the path as written."""

    path: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Category:
    """`category NP : query "noun phrases";`. The derivations of a root are the sentences."""

    name: str
    kind: str
    is_root: bool = False
    description: str = ""
    span: Span | None = SPAN


# ------------------------------------------------------------------------------ utterances


@dataclass(frozen=True, slots=True)
class Literal:
    """Words: lower-case tokens separated by one space."""

    text: str


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`$x`, or `${x:const}` where it may not be left open for another function's output."""

    name: str
    is_const: bool = False
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Inflect:
    """`{is/are}`: the form by the number of `child`, or of the only noun phrase where None.

    `forms` are singular, plural and, where given, mass; a form may be empty.
    """

    child: str | None
    forms: tuple[str, ...]
    span: Span | None = SPAN


Part = Literal | Placeholder | Inflect


@dataclass(frozen=True, slots=True)
class Words:
    """A quoted text; its parts join with one space."""

    parts: tuple[Part, ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Request:
    """What a template asks of a child: `num=pl|mass`, `gap='it'`, `gap=o:SOURCE`.

    `values` holds the names, or the one text; `child` the nested child of a gap.
    """

    name: str
    values: tuple[str, ...]
    child: "Child | None" = None
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Child:
    """`q:NP[num=pl]`, or `t:"toppings.tsv"`: one of `category` and `table` is not empty.

    `table` is the path of the file, joined to the folder of the template file.
    """

    name: str
    category: str
    table: str = ""
    requests: tuple[Request, ...] = ()
    span: Span | None = SPAN

    def request(self, name: str) -> Request | None:
        """Return the request of that name, or None."""
        return next((r for r in self.requests if r.name == name), None)


@dataclass(frozen=True, slots=True)
class Determiner:
    """`q.det`: the child's own determiner."""

    child: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Choice:
    """`(a b | c)`: one of several sequences."""

    alternatives: tuple[tuple["Item", ...], ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Optional:
    """`( .. )?`."""

    items: tuple["Item", ...]
    span: Span | None = SPAN


Item = Words | Child | Determiner | Choice | Optional
PlainItem = Words | Child | Determiner


# ------------------------------------------------------------------------------- templates


@dataclass(frozen=True, slots=True)
class PythonCall:
    """`python.NAME(q, p)` in place of a body: the function and the children given to it."""

    function: str
    arguments: tuple[str, ...]
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Template:
    """`CATEGORY [features] := utterance -> body if guard #[annotations];`.

    Attributes:
        id: unique in the grammar; derivations and reports name it.
        features: what the file says of the phrase: (("num", "mass"), ("det", "the")).
        body_text: the body as written, comments blanked.
        body_span: where the body starts and ends, to move the language's own errors there.
        guard_span: where the guard starts and ends.
        tree: the body already parsed, for templates converted from real skills; else None.
        python: the call, where the body is a Python semantic function.
        flags: (("paraphrase", False),): the subsets it is kept out of or reserved for.
    """

    id: str
    category: str
    features: tuple[tuple[str, str], ...]
    utterance: tuple[Item, ...]
    body_text: str
    body_span: Span | None = field(compare=False)
    guard: Guard = Guard()
    guard_span: Span | None = field(default=None, compare=False, repr=False)
    flags: tuple[tuple[str, bool], ...] = ()
    weight: float = 1.0
    python: PythonCall | None = None
    tree: Any = field(default=None, compare=False, repr=False)
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class File:
    """The statements of one template file, by sort, each in the order of the text."""

    imports: tuple[Import, ...]
    using: tuple[Using, ...]
    categories: tuple[Category, ...]
    templates: tuple[Template, ...]
