"""The syntax tree of template files (`*.genie`); docs/templates.md describes the text.

Every node carries the span it was read from; spans take no part in equality.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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

    Attributes:
        singular_of: the category whose plural noun phrases it holds in the singular; "" for none.
        is_of_names: it holds the names of results (see derived.py).
    """

    name: str
    kind: str
    is_root: bool = False
    description: str = ""
    is_optional: bool = False
    singular_of: str = ""
    is_of_names: bool = False
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
    """A request of a template to a child: `num=pl|mass`, `gap='it'`, `gap=o:SOURCE`.

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


@dataclass(frozen=True, slots=True)
class CategoryWords:
    """`the`: a category of words by its name alone. Sentences have its words, bodies ignore it."""

    category: str
    span: Span | None = SPAN


@dataclass(frozen=True, slots=True)
class WordChoice:
    """Choices between words alone, drawn as one piece (see `with_drawn_words`).

    `key` is how they are written, which names them.
    """

    items: tuple["Item", ...]
    key: str
    span: Span | None = SPAN


Item = QuotedWords | Child | CategoryWords | Determiner | Choice | Optional | WordChoice
PlainItem = QuotedWords | Child | CategoryWords | Determiner | WordChoice


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
        features: the declared features of the phrase: (("num", "mass"), ("det", "the")).
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
class WordTemplate:
    """`the := 'the' | 'my';`: words of a category that has nothing but words."""

    category: str
    utterance: tuple[Item, ...]
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
    words: tuple[WordTemplate, ...] = ()


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
        case QuotedWords() | Child() | Determiner() | CategoryWords() | WordChoice():
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
    """Return whether a part of an utterance may be left out.

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
    """Yield names that one alternative of a choice has, and another lacks.

    Names in skipped optional parts are not among them.

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


# ------------------------------------------------------------------------------ words alone


def with_drawn_words(
    utterance: tuple[Item, ...], words: Mapping[str, Collection[str]], most: int
) -> tuple[Item, ...]:
    """Return an utterance whose choices between words alone are single pieces.

    They are drawn, and not multiplied with all that stands beside them. The alternatives of the
    whole utterance stay apart, and choices with more than `most` different texts are cut.

    >>> the, on = (QuotedWords((PlainWords(text),)) for text in ("the", "on"))
    >>> [choice, _] = with_drawn_words((Choice(((the,), (Optional((on,)),))), on), {}, 10)
    >>> choice.key
    "('the' | ('on')?)"
    """

    def drawn(item: Item) -> Item:
        match item:
            case Choice() | Optional() if is_of_words((item,)) and _count((item,), words) <= most:
                return WordChoice((item,), _write_item(item), span=item.span)
            case Choice(alternatives):
                return Choice(tuple(tuple(map(drawn, a)) for a in alternatives), span=item.span)
            case Optional(inner):
                return Optional(tuple(map(drawn, inner)), span=item.span)
            case _:
                return item

    match utterance:
        case (Choice(alternatives) as whole,):
            return (Choice(tuple(tuple(map(drawn, a)) for a in alternatives), span=whole.span),)
        case _:
            return tuple(map(drawn, utterance))


def _count(items: Iterable[Item], words: Mapping[str, Collection[str]]) -> int:
    """Return the number of texts of words alone, equal ones counted apart."""
    total = 1
    for item in items:
        match item:
            case Choice(alternatives):
                total *= sum(_count(alternative, words) for alternative in alternatives)
            case Optional(inner):
                total *= _count(inner, words) + 1
            case CategoryWords(category):
                total *= len(words.get(category, ()))
            case _:
                pass
    return total


def is_of_words(items: Iterable[Item]) -> bool:
    """Return whether an utterance is words and categories of words, and nothing else."""
    return all(
        isinstance(item, CategoryWords | WordChoice)
        or (
            isinstance(item, QuotedWords)
            and all(isinstance(part, PlainWords) for part in item.parts)
        )
        for item in plain_items(items)
    )


def write_items(items: Iterable[Item]) -> str:
    """Return an utterance as a file writes it, without requests and features.

    >>> words = QuotedWords((PlainWords("it's"), Placeholder("x")))
    >>> print(write_items((words, Child("a", "AREA"), CategoryWords("the"))))
    "it's $x" a:AREA the
    """
    return " ".join(map(_write_item, items))


def _write_item(item: Item) -> str:
    match item:
        case QuotedWords(parts):
            return _quoted(" ".join(map(_write_part, parts)))
        case CategoryWords(category):
            return category
        case Choice(alternatives):
            return f"({' | '.join(map(write_items, alternatives))})"
        case Optional((Choice() as choice,)):
            return f"{_write_item(choice)}?"
        case Optional(inner):
            return f"({write_items(inner)})?"
        case WordChoice(key=key):
            return key
        case Child(name, category, table):
            return f"{name}:{category or _quoted(table)}"
        case Determiner(child):
            return f"{child}.det"
        case _:
            assert_never(item)


def _write_part(part: Part) -> str:
    match part:
        case PlainWords(text):
            return re.sub(r"([$\\{}])", r"\\\1", text)
        case Placeholder(name, is_const):
            return f"${{{name}:const}}" if is_const else f"${name}"
        case Inflect(child, forms):
            return f"{{{child + ':' if child else ''}{'/'.join(forms)}}}"
        case _:
            assert_never(part)


def _quoted(text: str) -> str:
    quote = '"' if "'" in text and '"' not in text else "'"
    return f"{quote}{text.replace(quote, chr(92) + quote)}{quote}"


def words_said(items: Iterable[Item]) -> Iterator[CategoryWords]:
    """Yield the categories of words that an utterance contains, in order."""
    for item in plain_items(items):
        match item:
            case CategoryWords():
                yield item
            case WordChoice(inner):
                yield from words_said(inner)
            case _:
                pass


def say_words(
    items: Iterable[Item], words: Mapping[str, Collection[str]], most: int
) -> tuple[str, ...] | None:
    """Return all texts of words alone; None for more than `most`.

    Of every choice that they have the first ones have all alternatives.

    Args:
        items: words, choices of words, and categories of words.
        words: category -> all of its texts.
        most: how many are too many.

    >>> the, sun = CategoryWords("the"), QuotedWords((PlainWords("sun"),))
    >>> say_words((Optional((the,)), sun), {"the": ("the", "our")}, 10)
    ('the sun', 'sun', 'our sun')
    """
    texts: tuple[str, ...] = ("",)
    for item in items:
        more = _say_item(item, words, most)
        if more is None or len(texts) * len(more) > most:
            return None
        texts = tuple(
            dict.fromkeys(f"{a} {b}" if a and b else a or b for a, b in _pairs(texts, more))
        )
    return texts


def _pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield all pairs; the first so many as the longer of the two has have all of both."""
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    for shift in range(len(short)):
        for place, text in enumerate(long):
            other = short[(place + shift) % len(short)]
            yield (text, other) if long is left else (other, text)


def take_turns(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the texts of several lists, none twice, the first of each before their second.

    >>> take_turns([("a",), ("b", "c", "d"), ("e", "f")])
    ('a', 'b', 'e', 'c', 'f', 'd')
    """
    rounds = itertools.zip_longest(*lists)
    return tuple(dict.fromkeys(text for texts in rounds for text in texts if text is not None))


def _say_item(
    item: Item, words: Mapping[str, Collection[str]], most: int
) -> tuple[str, ...] | None:
    match item:
        case QuotedWords(parts):
            return (" ".join(part.text for part in parts if isinstance(part, PlainWords)),)
        case CategoryWords(category):
            return tuple(words.get(category, ()))
        case WordChoice(inner):
            return say_words(inner, words, most)
        case Optional(inner):
            inside = say_words(inner, words, most)
            return None if inside is None else take_turns((inside, ("",)))
        case Choice(alternatives):
            each = [say_words(alternative, words, most) for alternative in alternatives]
            known = [texts for texts in each if texts is not None]
            is_all = len(known) == len(each)
            return take_turns(known) if is_all else None
        case Child() | Determiner():
            return None
        case _:
            assert_never(item)
