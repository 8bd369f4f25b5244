"""Placeholders where a sentence says a text or a name of its program word for word."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.slots import is_slot, slot_stem
from genie_dp.languages.thingtalk.traverse import children, rewrite
from genie_dp.languages.thingtalk.types import STRING, Entity
from genie_dp.skills.words import tokenize

P = TypeVar("P", bound=ast.Program | ast.Policy)
Words = tuple[str, ...]
Literal = ast.StringValue | ast.EntityValue


def with_placeholders(words: Sequence[str], tree: P) -> tuple[Words, P]:
    """Return sentence and program with placeholders for the texts and names that both have.

    A crowd is shown a few values, and its rows hold these over and over: with placeholders, other
    values can be put in. A value stays that the sentence says never or twice, that the program has
    twice, or of which a longer one has words. All placeholders are numbered anew, each sort in the
    order of the sentence.
    """
    found = {words_of(value): value for value in literals(tree)}
    often = Counter(words_of(value) for value in literals(tree))
    stems: dict[int, tuple[int, str, Literal]] = {}  # where it begins -> where it ends, its stem
    taken: set[int] = set()
    for said in sorted(found, key=lambda said: (-len(said), said)):
        stem, places = stem_of(found[said]), places_of(said, words)
        if stem is None or often[said] > 1 or len(places) != 1:
            continue
        span = range(places[0], places[0] + len(said))
        if taken.isdisjoint(span):
            taken.update(span)
            stems[span.start] = (span.stop, stem, found[said])
    return _replaced(words, tree, stems)


def literals(node: Any) -> Iterator[Literal]:
    """Yield the texts and names of a program that have words."""
    match node:
        case ast.StringValue(text) | ast.EntityValue(str() as text, _, None) if text.split():
            yield node
    for child in children(node):
        yield from literals(child)


def words_of(value: Literal) -> Words:
    """Return the words of a text or a name, as sentences are split."""
    return tokenize(str(value.text if isinstance(value, ast.StringValue) else value.value))


def stem_of(value: Literal) -> str | None:
    """Return the stem of the placeholder; None for what cannot be said.

    >>> stem_of(ast.EntityValue("abba", "com.x:artist"))
    'GENERIC_ENTITY_com.x:artist'
    """
    return slot_stem(STRING if isinstance(value, ast.StringValue) else Entity(value.kind))


def places_of(said: Words, words: Sequence[str]) -> list[int]:
    """Return where a sentence says some words.

    >>> places_of(("a", "b"), "a b or a".split())
    [0]
    """
    size = len(said)
    return [i for i in range(len(words) - size + 1) if tuple(words[i : i + size]) == said]


def _replaced(
    words: Sequence[str], tree: P, stems: dict[int, tuple[int, str, Literal]]
) -> tuple[Words, P]:
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    values: dict[Literal, str] = {}
    sentence: list[str] = []
    place = 0

    def next_of(stem: str) -> str:
        counts[stem] += 1
        return f"{stem}_{counts[stem] - 1}"

    while place < len(words):
        word, end = words[place], place + 1
        if place in stems:
            end, stem, value = stems[place]
            word = values[value] = next_of(stem)
        elif is_slot(word):
            if word not in names:
                names[word] = next_of(word.rpartition("_")[0])
            word = names[word]
        sentence.append(word)
        place = end

    def changed(node: Any) -> Any:
        match node:
            case ast.SlotValue(token):
                return replace(node, token=names.get(token, token))
            case ast.StringValue() | ast.EntityValue() if node in values:
                return ast.SlotValue(values[node])
        return node

    return tuple(sentence), rewrite(tree, changed)
