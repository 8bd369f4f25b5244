"""Draws the words of a value for a placeholder: whole values, or windows of longer texts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.expand_places import Place
from genie_dp.augment.lists import GENERIC, ValueList, shipped, value_list
from genie_dp.augment.values import ValueSource
from genie_dp.languages.thingtalk.types import STRING
from genie_dp.templates import english_words as lists

Draw = Callable[[Random], str]
"""Returns the words of a value, one space between two."""

# Asked of a text that holds more: people name a part of it ("emails that mention the budget").
_PART = frozenset(("=~",))
_START = frozenset(("starts_with",))
_END = frozenset(("ends_with",))
# What cannot be one and the same on both sides: quotes and escapes of the token form, private
# characters, which mark places, white space but for one space between words, placeholders.
_UNFIT = re.compile(
    r'["\\\x00-\x09\x0b-\x1f\x7f-\xa0\ue000-\uf8ff]|[^\S \n]|  |^ | $|^$'
    r"|(?<![^ \n])[A-Z][^ \n]*_[0-9]+(?![^ \n])",
    re.MULTILINE,
)
_TRIES = 12
_STOPS = frozenset((".", "!", "?", ";", "...", ":", '"'))
_FUNCTION_WORDS = """
    a an the and or but not no so as than then too very just to my your his her its our their me
    him us them this that these those 's n't
"""
_SMALL = (
    lists.PREPOSITIONS
    | lists.AUXILIARIES
    | lists.RELATIVES
    | lists.SUBJECTS
    | frozenset(_FUNCTION_WORDS.split())
)

_BROKEN_OFF = """
    and or but than then of so not too as to its their been be being had will would could should may
    might is are was were has
"""
_NEVER_FIRST = frozenset(_BROKEN_OFF.split())


def is_fit(text: str) -> bool:
    """Tell whether a value can stand in sentence and program alike.

    >>> is_fit("red moon"), is_fit('12 " pipe'), is_fit("QUOTED_STRING_0"), is_fit("")
    (True, False, False, False)
    """
    return "\n" not in text and not _UNFIT.search(text)


def is_fit_all(texts: Sequence[str]) -> bool:
    """Tell whether all values can stand in sentence and program alike."""
    joined = "\n".join(texts)
    return joined.count("\n") == len(texts) - 1 and not _UNFIT.search(joined)


def is_telling(words: Sequence[str]) -> bool:
    """Tell whether somebody would look for these words: a phrase that is not cut off in the middle.

    >>> is_telling(["the", "late", "budget"]), is_telling(["budget", "of", "the"])
    (True, False)
    >>> is_telling(["of", "the", "budget"]), is_telling(["its", "last"])
    (False, False)
    >>> is_telling(["is", "in", "asia"])
    False
    >>> is_telling(["weekend", ".", "the", "boiler"])
    False
    """
    first, last = words[0], words[-1]
    if first in _NEVER_FIRST or last in _SMALL or not (first[0].isalnum() and last[-1].isalnum()):
        return False
    return _STOPS.isdisjoint(words)


def ends_phrase(text: Sequence[str], end: int) -> bool:
    """Tell whether a text may be broken off before a word: at its end, or where a phrase begins.

    >>> text = "we launch our new app in may".split()
    >>> [" ".join(text[:end]) for end in range(1, 8) if ends_phrase(text, end)]
    ['we launch', 'we launch our new app', 'we launch our new app in may']
    """
    return end == len(text) or text[end] in _SMALL or not text[end][0].isalnum()


@dataclass(slots=True)
class Draws:
    """The draws for all places, made once for each parameter and operator.

    Attributes:
        source: which list a parameter has.
        config: span limits and shares.
        empty: parameters (or types) without any value that fits, for the report.
    """

    source: ValueSource
    config: AugmentConfig
    empty: dict[str, None] = field(default_factory=dict)
    _made: dict[tuple[object, str, str], Draw | None] = field(default_factory=dict)
    _usable: dict[tuple[int, int | None], tuple[ValueList, ValueList]] = field(default_factory=dict)

    def of(self, place: Place) -> Draw | None:
        """Return how to draw words for a place; None if no value fits."""
        key = (place.type, place.parameter, place.operator)
        if key not in self._made:
            self._made[key] = self._make(place)
            if self._made[key] is None:
                self.empty[place.parameter or str(place.type)] = None
        return self._made[key]

    def _make(self, place: Place) -> Draw | None:
        values = self.source.values_for(place.type, place.parameter)
        own = self._draw(values, place.operator)
        if place.type != STRING or not self.config.general or own is None:
            return own
        any_text = self._draw(shipped(GENERIC), place.operator)
        return own if any_text is None else _mixed(own, any_text, self.config.general)

    def _draw(self, values: ValueList, operator: str) -> Draw | None:
        if operator in _PART | _START | _END:
            usable = self._fit(values)
            return _window(usable, operator, self.config) if len(usable) else None
        usable = self._fit(values, self.config.max_words)
        return _whole(usable) if len(usable) else None

    def _fit(self, values: ValueList, most_words: int | None = None) -> ValueList:
        """Return the values that can be put in, once for every list."""
        # Lists are kept by the source, so that their address names them; ours is kept beside it.
        key = (id(values), most_words)
        if key not in self._usable:
            short = values if most_words is None else values.within(most_words)
            # All at once, for there are hundreds of thousands and hardly one that does not fit.
            if not is_fit_all(short.texts):
                kept = [i for i, text in enumerate(short.texts) if is_fit(text)]
                weights = [short.weight(i) for i in kept] if short.cumulative else ()
                texts = [short.texts[i] for i in kept]
                short = value_list(short.name, short.kind, texts, weights)
            self._usable[key] = (values, short)
        return self._usable[key][1]


def _whole(values: ValueList) -> Draw:
    texts, count, pick = values.texts, len(values), values.pick
    if values.cumulative:
        return lambda rng: texts[pick(rng.random())]
    return lambda rng: texts[int(rng.random() * count)]


def _mixed(own: Draw, other: Draw, share: float) -> Draw:
    return lambda rng: other(rng) if rng.random() < share else own(rng)


def _window(values: ValueList, operator: str, config: AugmentConfig) -> Draw:
    """Return a draw of some words of a value: from its start or end, where that is asked."""
    whole, longest = _whole(values), config.max_window
    at_start, at_end = operator in _START, operator in _END

    def draw(rng: Random) -> str:
        words: list[str] = []
        for _ in range(_TRIES):
            whole_text = whole(rng).split(" ")
            size = 1 + int(rng.random() * min(longest, len(whole_text)))
            last = len(whole_text) - size
            start = 0 if at_start else last if at_end else int(rng.random() * (last + 1))
            words = whole_text[start : start + size]
            if is_telling(words) and ends_phrase(whole_text, start + size):
                break
        return " ".join(words)

    return draw
