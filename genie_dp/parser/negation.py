"""Negations of a sentence: where its words deny, outside of the values of a program.

A program stands for a negation only if rows of its functions say that negation in the same way
(`Evidence.denies`). Whatever else a parser thinks of the sentence: it is refused.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from typing import NamedTuple

from genie_dp.languages.base import Language
from genie_dp.languages.types import is_slot
from genie_dp.locale import Words
from genie_dp.skills.words import tokenize
from genie_dp.templates.english import starts_with_verb

IsListed = Callable[[str, str], bool | None]


class Negation(NamedTuple):
    """Words of a sentence that deny, from a place to another.

    Attributes:
        name: the words as the locale lists them.
        before, after: the words beside it, words of politeness aside; "" is an end.
    """

    start: int
    end: int
    name: str
    before: str
    after: str


class _Phrases(NamedTuple):
    """Phrases of a language by their first word, the longest first; True of those that deny."""

    by_first: Mapping[str, Sequence[tuple[tuple[str, ...], bool]]]
    elided: tuple[str, ...]
    polite: frozenset[str]


@lru_cache(maxsize=16)
def _phrases_of(words: Words) -> _Phrases:
    phrases = {tokenize(phrase): True for phrase in words.negations}
    phrases |= {tokenize(phrase): False for phrase in words.not_negating}
    by_first: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        by_first.setdefault(phrase[0], []).append((phrase, phrases[phrase]))
    elided = tuple(phrase for phrase in words.negations if phrase.endswith("'"))
    return _Phrases(by_first, elided, _polite_words(words))


def _polite_words(words: Words) -> frozenset[str]:
    """Return words that may stand anywhere and change nothing.

    >>> from genie_dp.locale import words_of
    >>> sorted(_polite_words(words_of("nl")) & {"alsjeblieft", "niet", "aan"})
    ['alsjeblieft']
    """
    fillers = (
        *words.greetings, *words.requests, *words.endings, *words.pleases, *words.thanks,
        *words.hesitations,
    )  # fmt: skip
    said = {word for phrase in fillers for word in tokenize(phrase)}
    return frozenset(said - opposites_of(words).keys() - words.prepositions - words.verbs)


@lru_cache(maxsize=16)
def opposites_of(words: Words) -> Mapping[str, frozenset[str]]:
    """Return the words of signs, comparisons aside, each with those that mean its opposite.

    >>> from genie_dp.locale import words_of
    >>> sorted(opposites_of(words_of("de"))["aus"])
    ['an', 'ein']
    """
    found: dict[str, frozenset[str]] = {}
    signs = (pairs for sign, pairs in words.opposites.items() if sign.isalpha())
    for pair in (pair.split() for pairs in signs for pair in pairs.split(",")):
        for one, other in (pair, pair[::-1]):
            found[one] = found.get(one, frozenset()) | {other}
    return found


def without_idioms(sentence: Sequence[str], words: Words) -> Sequence[str]:
    """Return a sentence without phrases that have the word of a negation and say nothing.

    >>> from genie_dp.locale import words_of
    >>> without_idioms("no problem turn it on".split(), words_of("en"))
    ['turn', 'it', 'on']
    """
    kept: list[str] = []
    for place, end, phrase, denies in _phrases_in(sentence, _phrases_of(words)):
        if denies or not phrase:
            kept += sentence[place:end]
    return kept


def may_deny(word: str, words: Words) -> bool:
    """Tell whether a phrase of negation may begin with a word."""
    phrases = _phrases_of(words)
    return word in phrases.by_first or word.startswith(phrases.elided)


def negations_in(sentence: Sequence[str], words: Words) -> list[Negation]:
    """Return the negations of a sentence; idioms that deny nothing are none.

    >>> from genie_dp.locale import words_of
    >>> english, french = words_of("en"), words_of("fr")
    >>> [x.name for x in negations_in("why not turn it on but not now".split(), english)]
    ['not']
    >>> [x.name for x in negations_in("n'allume jamais la lampe".split(), french)]
    ["n'", 'jamais']
    """
    phrases = _phrases_of(words)
    found: list[Negation] = []
    for place, end, phrase, denies in _phrases_in(sentence, phrases):
        if denies:
            before = [w for w in reversed(sentence[:place]) if w not in phrases.polite]
            after = [w for w in sentence[end:] if w not in phrases.polite]
            sides = (*before[:1], "")[0], (*after[:1], "")[0]
            if len(phrase) == 1 and phrase[0] != sentence[place]:  # "n'" of "n'allume"
                sides = sides[0], sentence[place].removeprefix(phrase[0])
            found.append(Negation(place, end, " ".join(phrase), *sides))
    return found


def _phrases_in(
    sentence: Sequence[str], phrases: _Phrases
) -> Iterator[tuple[int, int, tuple[str, ...], bool]]:
    """Yield place and end of the longest phrases and whether they deny; () for other words."""
    place = 0
    while place < len(sentence):
        word = sentence[place]
        several = (
            (phrase, denies)
            for phrase, denies in phrases.by_first.get(word, ())
            if tuple(sentence[place : place + len(phrase)]) == phrase
        )
        elided = (((phrase,), True) for phrase in phrases.elided if word.startswith(phrase))
        phrase, denies = next(chain(several, elided), ((), False))
        end = place + max(1, len(phrase))
        yield place, end, phrase, denies
        place = end


def open_negations(
    sentence: Sequence[str],
    program: Sequence[str],
    language: Language,
    words: Words,
    is_listed: IsListed,
) -> list[Negation]:
    """Return the negations of a sentence that stand in no text or name of a program.

    A text that begins or ends with one may have taken it from the command: "spiele yesterday
    nicht". It is a text if the locale lists the word among `name_starts`, or behind the word for
    what it is: "play the song no woman no cry".

    Args:
        is_listed: tells whether a kind of entity, "" of texts, has a name; None if it has no list.
    """
    found = negations_in(sentence, words)
    if not found:
        return []
    inside: set[int] = set()
    for kind, text in _texts_in(program, language):
        start, listed = _find(sentence, text), is_listed(kind, " ".join(text))
        if start is None or listed is False:  # it may be taken for another name
            continue
        places = range(start, start + len(text))
        inside.update(places if listed else _inside(sentence, places, found, words))
    return [negation for negation in found if negation.start not in inside]


def _texts_in(program: Sequence[str], language: Language) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the words of each text of a token form, with the kind of entity that it names or ""."""
    for literal in language.literals(program):
        tokens = program[literal.start : literal.end]
        if '"' in tokens:
            start = tokens.index('"') + 1
            kind = tokens[-1].removeprefix("^^") if tokens[-1].startswith("^^") else ""
            yield kind, tuple(takewhile(lambda token: token != '"', tokens[start:]))


def _find(sentence: Sequence[str], text: Sequence[str]) -> int | None:
    """Return the last place where a text stands."""
    for start in range(len(sentence) - len(text), -1, -1):
        if tuple(sentence[start : start + len(text)]) == tuple(text):
            return start
    return None


def _inside(
    sentence: Sequence[str], places: range, found: Sequence[Negation], words: Words
) -> Iterator[int]:
    """Yield the places of negations that belong to a text at some places."""
    start, end = places.start, places.stop
    may_begin = sentence[start] in words.name_starts or _is_noun(sentence[:start], words)
    for negation in found:
        is_behind = negation.start > start or (negation.start == start and may_begin)
        if is_behind and negation.end < end:
            yield negation.start


def takes_negation(sentence: Sequence[str], places: range, words: Words) -> bool:
    """Tell whether a text at some places of a sentence has a negation that may be the command's.

    >>> from genie_dp.locale import words_of
    >>> takes_negation("play no music".split(), range(1, 3), words_of("en"))
    True
    """
    found = negations_in(sentence, words)
    inside = {*_inside(sentence, places, found, words)}
    return any(x.start in places and x.start not in inside for x in found)


def _is_noun(before: Sequence[str], words: Words) -> bool:
    """Tell whether a text follows a word for what it is, such as "song"."""
    if len(before) < 2 or is_slot(before[-1]) or before[-1] in words.function_words:
        return False
    if words.has_grammar:
        return not starts_with_verb(f"please {before[-1]}")
    return before[-1] not in words.verbs
