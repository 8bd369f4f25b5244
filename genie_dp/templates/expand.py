"""What an utterance is made of, and every way to say it."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import assert_never

from genie_dp.templates.ast import (
    Child,
    Choice,
    Determiner,
    Item,
    Optional,
    Placeholder,
    PlainItem,
    Words,
)


def plain_utterances(items: Iterable[Item]) -> Iterator[tuple[PlainItem, ...]]:
    """Yield the utterance once for every choice, in the order written; optional parts first in.

    >>> from genie_dp.templates.ast import Literal
    >>> a, b, c = (Words((Literal(text),)) for text in "abc")
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
        case Words() | Child() | Determiner():
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
        if isinstance(item, Words):
            yield from (part for part in item.parts if isinstance(part, Placeholder))
