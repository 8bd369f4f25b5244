"""The syntax tree of template files (`*.genie`); docs/template-language.md describes the text.

Every node carries the span it was read from; spans take no part in equality.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, assert_never

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
class ForClass:
    """`for @com.gmail;`: bodies after it may write `inbox(..)` for `@com.gmail.inbox(..)`."""

    name: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class Category:
    """`category NP : query "noun phrases";`. The derivations of a root are the sentences.

    Those of an optional root (`root optional`) are made only if they are asked for.
    """

    name: str
    kind: str
    is_root: bool = False
    description: str = ""
    is_optional: bool = False
    span: Span | None = SPAN


# ------------------------------------------------------------------------------ utterances


@dataclass(frozen=True, slots=True)
class PlainWords:
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


Part = PlainWords | Placeholder | Inflect


@dataclass(frozen=True, slots=True)
class QuotedWords:
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


Item = QuotedWords | Child | Determiner | Choice | Optional
PlainItem = QuotedWords | Child | Determiner


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
        class_name: whose functions the body may call by their names alone; "" for none.
        has_own_id: whether the file writes the id, else it is made of the template's place.
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
    class_name: str = ""
    tree: Any = field(default=None, compare=False, repr=False)
    has_own_id: bool = field(default=False, compare=False, repr=False)
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """The statements of one template file, by sort, each in the order of the text.

    `tables` are the children that are filled from tables.
    """

    imports: tuple[Import, ...]
    using: tuple[Using, ...]
    classes: tuple[ForClass, ...]
    categories: tuple[Category, ...]
    templates: tuple[Template, ...]
    tables: tuple[Child, ...] = ()


# --------------------------------------------------------------------- walks over utterances


def plain_utterances(items: Iterable[Item]) -> Iterator[tuple[PlainItem, ...]]:
    """Yield the utterance once for every choice, in the order written; optional parts first in.

    >>> a, b, c = (QuotedWords((PlainWords(text),)) for text in "abc")
    >>> for plain in plain_utterances((Choice(((a,), (b,))), Optional((c,)))):
    ...     print(" ".join(words.parts[0].text for words in plain))
    a c
    a
    b c
    b
    """
    for choice in product(*(tuple(_ways(item)) for item in items)):
        yield tuple(part for way in choice for part in way)


def _ways(item: Item) -> Iterator[tuple[PlainItem, ...]]:
    match item:
        case QuotedWords() | Child() | Determiner():
            yield (item,)
        case Choice(alternatives):
            for alternative in alternatives:
                yield from plain_utterances(alternative)
        case Optional(items):
            yield from plain_utterances(items)
            yield ()
        case _:
            assert_never(item)


def count_utterances(items: Iterable[Item]) -> int:
    """Return how many utterances `plain_utterances` yields, without making them."""
    total = 1
    for item in items:
        match item:
            case Choice(alternatives):
                total *= sum(count_utterances(a) for a in alternatives)
            case Optional(inner):
                total *= count_utterances(inner) + 1
            case _:
                pass
    return total


def has_optional(items: Iterable[Item]) -> bool:
    """Tell whether a part of an utterance may be left out.

    >>> has_optional((Choice(((), (Optional(()),))),)), has_optional((Choice(((), ())),))
    (True, False)
    """
    return any(
        isinstance(item, Optional)
        or (isinstance(item, Choice) and any(map(has_optional, item.alternatives)))
        for item in items
    )


def plain_items(items: Iterable[Item]) -> Iterator[PlainItem]:
    """Yield every item that is neither a choice nor optional, those inside them included."""
    for item in items:
        match item:
            case Choice(alternatives):
                for alternative in alternatives:
                    yield from plain_items(alternative)
            case Optional(inner):
                yield from plain_items(inner)
            case _:
                yield item


def names_of(items: Iterable[Item]) -> frozenset[str]:
    """Return the names of the children and placeholders of an utterance."""
    items = tuple(items)
    children = (child.name for child in children_of(items))
    return frozenset((*children, *(placeholder.name for placeholder in placeholders_of(items))))


def missing_in_choices(items: Iterable[Item]) -> Iterator[str]:
    """Yield names that one alternative of a choice says, and another cannot.

    What a skipped optional part leaves out is not among them.

    >>> x, y = (QuotedWords((Placeholder(name),)) for name in "xy")
    >>> list(missing_in_choices((Choice(((x,), (y,))), Optional((y,)))))
    ['x', 'y']
    """
    for item in items:
        match item:
            case Choice(alternatives):
                said = [names_of(alternative) for alternative in alternatives]
                yield from sorted(frozenset().union(*said) - said[0].intersection(*said))
                for alternative in alternatives:
                    yield from missing_in_choices(alternative)
            case Optional(inner):
                yield from missing_in_choices(inner)
            case _:
                pass


def children_of(items: Iterable[Item]) -> Iterator[Child]:
    """Yield the children of an utterance, each followed by those that stand in its gap."""
    for item in plain_items(items):
        if isinstance(item, Child):
            yield from _with_nested(item)


def _with_nested(child: Child) -> Iterator[Child]:
    yield child
    for request in child.requests:
        if request.child is not None:
            yield from _with_nested(request.child)


def placeholders_of(items: Iterable[Item]) -> Iterator[Placeholder]:
    """Yield the placeholders of an utterance, in order, as often as they are written."""
    for item in plain_items(items):
        if isinstance(item, QuotedWords):
            yield from (part for part in item.parts if isinstance(part, Placeholder))
