"""Several commands in one sentence: "turn off the lights and lock the door".

A sentence that is not understood as a whole is cut where words join its parts. Words that the
parts share stand once: "turn off the lights and the tv", "the kitchen and bedroom lights".
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, islice, pairwise
from typing import NamedTuple

from genie_dp.locale import Words

_MOST_CUTS, _MOST_SHARED, _MOST_BEGUN = 3, 3, 6
_MOST_WAYS = 40  # they are looked for only where nothing else is understood


class Commands(NamedTuple):
    """Commands that a sentence may give together.

    Attributes:
        texts: one for each, in the order of the sentence.
        is_whole: whether they are the sentence as it was typed; else they share words.
        is_alike: whether only names are different: one function does all of them.
        is_of_all: whether these names stand for one word of the sentence: "both doors".
    """

    texts: tuple[str, ...]
    is_whole: bool
    is_alike: bool = False
    is_of_all: bool = False


def commands_in(sentence: str, words: Words) -> Iterator[Commands]:
    """Yield the ways to take a sentence for several commands, the most commands first.

    >>> from genie_dp.locale import words_of
    >>> ways = list(commands_in("turn off the fan and the tv", words_of("en")))
    >>> ways[0].texts, ways[0].is_whole
    (('turn off the fan', 'the tv'), True)
    >>> Commands(("turn off the fan", "turn off the tv"), is_whole=False) in ways
    True
    """
    yield from islice(_ways(sentence, words), _MOST_WAYS)


def of_all_named(
    sentence: str, names: Mapping[str, Sequence[str]], words: Words
) -> Iterator[Commands]:
    """Yield the commands for several things of the caller, of which not each is named.

    Args:
        names: kind -> the names of all there are.

    >>> from genie_dp.locale import words_of
    >>> names = {"lock": ["front door lock", "back door lock"], "light": ["hall light", "tree"]}
    >>> [x.texts for x in of_all_named("lock both doors", names, words_of("en"))]
    [('lock front door lock', 'lock back door lock')]
    >>> [x.texts for x in of_all_named("all lights but the tree off", names, words_of("en"))]
    [('hall light off',)]
    """
    both, all_but = _named_together(words)
    for kind, own in names.items():
        own_names = [*dict.fromkeys(own)]
        for match in both.finditer(sentence):
            things = _things(match["noun"], kind, own_names)
            if len(things) == 2:
                yield _for_each(things, sentence, match.start(), match.end())
        for match in all_but.finditer(sentence):
            rest = sentence[match.end() :].casefold()
            left_out = [x for x in own_names if re.match(rf"{re.escape(x.casefold())}(?!\w)", rest)]
            things = _things(match["noun"], kind, own_names)
            if left_out and (longest := max(left_out, key=len)) in things and len(things) > 1:
                others = [name for name in things if name != longest]
                yield _for_each(others, sentence, match.start(), match.end() + len(longest))


def _for_each(names: Sequence[str], sentence: str, start: int, end: int) -> Commands:
    texts = tuple(f"{sentence[:start]}{name}{sentence[end:]}" for name in names)
    return Commands(texts, is_whole=False, is_alike=True, is_of_all=True)


def _things(noun: str, kind: str, names: Sequence[str]) -> list[str]:
    """Return the names of things that a noun in the plural means: by its kind, or a word of it."""
    if _is_plural_of(noun, kind.rpartition(":")[2].replace("_", " ").rpartition(" ")[2]):
        return [*names]
    return [name for name in names if any(_is_plural_of(noun, x) for x in name.split())]


def _is_plural_of(noun: str, word: str) -> bool:
    """Return whether a noun is a word with an ending of at most two letters: "lights", "lampen"."""
    noun, word = noun.casefold(), word.casefold()
    return noun.startswith(word) and len(word) > 2 and len(noun) - len(word) <= 2


@lru_cache(maxsize=8)
def _named_together(words: Words) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of "both doors", and of "every light but the"."""

    def one_of(phrases: Iterable[str]) -> str:
        ways = sorted(phrases, key=len, reverse=True)
        return "|".join(r"\s+".join(map(re.escape, way.split())) for way in ways) or r"(?!)"

    article = rf"(?:(?:{one_of(words.articles)})\s+)?"
    noun = rf"\s+{article}(?P<noun>\w+)"
    both = re.compile(rf"(?<!\w)(?:{one_of(words.both)}){noun}", re.IGNORECASE)
    but = rf"\s+(?:{one_of(words.but)})\s+{article}"
    all_but = re.compile(rf"(?<!\w)(?:{one_of(words.all_of)}){noun}{but}", re.IGNORECASE)
    return both, all_but


def _ways(sentence: str, words: Words) -> Iterator[Commands]:
    joints = [*islice(_spans(sentence, words), _MOST_CUTS)]
    for count in range(len(joints), 0, -1):
        for cuts in combinations(joints, count):
            edges = [0, *(place for cut in cuts for place in cut), len(sentence)]
            texts = tuple(sentence[a:b].strip() for a, b in pairwise(edges))[::2]
            if all(texts):
                yield Commands(texts, is_whole=True)
    for start, end in joints:
        yield from _with_shared(sentence[:start].split(), sentence[end:].split())


def _with_shared(before: list[str], after: list[str]) -> Iterator[Commands]:
    """Yield two commands each of which has the words that they share."""
    for first in range(1, min(_MOST_SHARED, len(before)) + 1):
        begin, last_words = before[:-first], before[-first:]
        for last in range(1, min(_MOST_SHARED, len(after)) + 1):
            first_words, rest = after[:last], after[last:]
            texts = " ".join([*begin, *last_words, *rest]), " ".join([*begin, *first_words, *rest])
            yield Commands(texts, is_whole=False, is_alike=True)
    for count in range(1, min(_MOST_BEGUN, len(before) - 1) + 1):
        yield Commands((" ".join(before), " ".join([*before[:count], *after])), is_whole=False)


@lru_cache(maxsize=8)
def _joints(words: Words) -> re.Pattern[str]:
    """Return the pattern of the words and signs between two commands."""
    ways = sorted(words.joining, key=len, reverse=True)
    joining = "|".join(r"\s+".join(map(re.escape, way.split())) for way in ways) or r"(?!)"
    joint = rf"[\s,]*(?<!\w)(?:{joining})(?!\w)[\s,]*"
    return re.compile(rf"{joint}|\s*[;,.!]\s+(?=\S)", re.IGNORECASE)


def is_joined(text: str, words: Words) -> bool:
    """Return whether a text that was taken for one command, or one name, may be two.

    >>> from genie_dp.locale import words_of
    >>> is_joined("kitchen and bedroom", words_of("en")), is_joined("and", words_of("en"))
    (True, False)
    """
    return any(all(map(str.strip, (text[:a], text[b:]))) for a, b in _spans(text, words))


def parts_of(text: str, words: Words) -> Iterator[str]:
    """Yield the parts of a text that words join.

    >>> from genie_dp.locale import words_of
    >>> list(parts_of("kitchen, hall and bedroom", words_of("en")))
    ['kitchen', 'hall', 'bedroom']
    """
    edges = [0, *(place for span in _spans(text, words) for place in span), len(text)]
    yield from (text[a:b] for a, b in [*pairwise(edges)][::2])


def _spans(text: str, words: Words) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _joints(words).finditer(text))
