"""Rows that differ in one word from others and mean the opposite, made while a parser is trained.

Of two programs that differ in a sign alone a network writes the one that it saw more often: "the
garage door goes down" is learned from rows most of which open the door. So where a word of a row
expresses its sign, the row is taught with the opposite word, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice

from genie_dp.english.frames import FrameSet, frames_of
from genie_dp.languages.programs import POLES
from genie_dp.locale import Words
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.operators import compared_words
from genie_dp.parser.rows import Rows, RowStore
from genie_dp.rng import stream

# Rows that are made, and rows that are looked at for them.
_MOST, _MOST_TRIED = 3_000, 100_000

_OPPOSITE = {sign: opposite for pair in POLES for sign, opposite in (pair, pair[::-1])}


@lru_cache(maxsize=16)
def _opposite_words(words: Words) -> dict[str, dict[str, str]]:
    """Return pole -> word -> its opposite; of several opposites, the first."""
    opposites: dict[str, dict[str, str]] = {}
    compared = dict.fromkeys((">", ">="), [*compared_words(words)])
    pairs_by_sign = {x: [pair.split() for pair in y.split(",")] for x, y in words.opposites.items()}
    for sign, pairs in (compared | pairs_by_sign).items():
        for word, opposite in reversed(pairs):
            opposites.setdefault(sign, {})[word] = opposite
            opposites.setdefault(_OPPOSITE[sign], {})[opposite] = word
    return opposites


def add_contrast(rows: Rows, words: Words) -> None:
    """Add to rows those that mean the opposite of others and differ in one word."""
    rng, opposite_words = stream(0, "contrast"), _opposite_words(words)
    frames = frames_of(words.language)
    own = rows.own_sentences()
    own_programs = {program for store in rows.parts for program in store.programs()}
    contrasts: dict[str, str] = {}
    for store in rows.parts:
        limit = min(len(store), _MOST_TRIED // len(rows.parts))
        have_sign = _rows_of_one_sign(store)
        for place in rng.sample(range(len(store)), limit):
            if not have_sign[place]:
                continue
            opposites = chain(
                islice(_opposites(store[place], opposite_words), 1),
                _by_frames(store[place], frames),
            )
            for sentence, program in opposites:
                # A program that no row has may be one that nobody means: "the least likely name".
                if program in own_programs and sentence not in own:
                    contrasts[sentence] = program
    for sentence in islice(contrasts, _MOST):
        rows.contrast.add(sentence, contrasts[sentence])


def _rows_of_one_sign(store: RowStore) -> list[bool]:
    """Return for each row whether its program has one sign; other rows have no opposite."""
    is_sign = [_pole(name) in _OPPOSITE for name in store.names]
    return [sum([is_sign[token] for token in program]) == 1 for _, program in store.numbered()]


def _opposites(
    pair: Pair, opposite_words: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield the opposite of a row in which one word alone expresses the one sign of its program."""
    program, sentence = pair.program, pair.sentence
    signs = [place for place, token in enumerate(program) if _pole(token) in _OPPOSITE]
    if len(signs) != 1 or {"not", "!"} & set(program):
        return
    pole = _pole(program[signs[0]])
    words = opposite_words.get(pole, {})
    others = opposite_words.get(_OPPOSITE[pole], {})
    places = [place for place, word in enumerate(sentence) if word in words or word in others]
    if len(places) != 1 or sentence[places[0]] not in words or sentence[places[0]] in program:
        return
    place, sign = places[0], signs[0]
    if pole in ("true", "false") and not _is_of(
        program[sign - 2], (sentence[place], words[sentence[place]])
    ):
        return
    opposite = (*sentence[:place], words[sentence[place]], *sentence[place + 1 :])
    yield " ".join(opposite), _with_other_sign(program, sign)


def _by_frames(pair: Pair, frames: FrameSet) -> Iterator[tuple[str, str]]:
    """Yield the opposite of a row in everyday English, where that has the words of both signs."""
    program, sentence = pair.program, pair.sentence
    (sign,) = (place for place, token in enumerate(program) if _pole(token) in _OPPOSITE)
    pole = _pole(program[sign])
    if {"not", "!"} & set(program):
        return
    if any(x not in frames.words and x not in sentence for x in (pole, _OPPOSITE[pole])):
        return
    others = list(frames.opposite(sentence))
    sentence_words = {*sentence, *chain.from_iterable(frames.same(sentence))} if others else set()
    if pole in sentence_words and _OPPOSITE[pole] in chain.from_iterable(others):
        opposite = _with_other_sign(program, sign)
        yield from ((" ".join(variant), opposite) for variant in others)


def _with_other_sign(program: Sequence[str], sign: int) -> str:
    pole = _pole(program[sign])
    token = program[sign][: -len(pole)] + _OPPOSITE[pole]
    return " ".join((*program[:sign], token, *program[sign + 1 :]))


def _is_of(parameter: str, words: tuple[str, str]) -> bool:
    """Return whether a parameter is about the property that a word, or its opposite, names.

    >>> _is_of("param:is_locked:Boolean", ("unlocked", "locked"))
    True
    >>> _is_of("param:is_public:Boolean", ("on", "off"))
    False
    """
    names = parameter.split(":")[1:2]
    parts = [part for name in names for part in name.split("_")]
    return any(part[:4] == word[:4] for part in parts for word in words)


def _pole(token: str) -> str:
    """Return the value of a program's token: "on" of "enum:on"."""
    return token.removeprefix("enum:")
