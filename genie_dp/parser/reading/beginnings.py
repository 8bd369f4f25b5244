"""Where in a sentence a value may begin: most words begin none, which each sort need not find out.

A word begins one by itself ("tomorrow", "5"), or only before certain others ("a" before "dozen").
Signs and words that are not covered here are taken to begin one.
"""

import re
from functools import lru_cache

from genie_dp.languages.types import is_slot
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.locale import DEFAULT, words_of
from genie_dp.parser.reading import dates, marks, measures, numbers, places
from genie_dp.parser.reading.sentence import TextTokens, clean
from genie_dp.skills.words import tokenize
from genie_dp.values.calendar import WEEKDAY_NUMBERS

# A word begins a value never, always, or before some words; of a part of the day see `_IN_THE`.
_NEVER, _ALWAYS, _BEFORE, _PART = range(4)
_KEPT, _LONGEST = 1 << 15, 40  # words that are remembered, and their letters

_NUMBERS = numbers.SMALL.keys() | numbers.SIZES.keys() | words_of(DEFAULT).minus
_ORDINALS = frozenset((*numbers.ORDINALS, *numbers.ORDINALS_HYPHENED, *numbers.TENS))
_PARTS = frozenset(("half", "half-hour", "quarter", "quarters"))
_UNITS = frozenset(
    (*measures.unit_phrases(SHIPPED), *measures.DEGREES, *measures.currency_names(), "day", "week",
     "month", "year")
)  # fmt: skip
_OF_DAYS = frozenset(
    (*WEEKDAY_NUMBERS, *dates.PARTS_OF_DAY, "week", "month", "year", "weekend", "coming", "past",
     "next", "last")
)  # fmt: skip
# Words that begin a value before these alone, and before what begins one itself.
_FOLLOWING = {
    "a": _UNITS | _NUMBERS | _PARTS,
    "an": _UNITS | _NUMBERS | _PARTS,
    "at": frozenset(("night",)),
    "day": frozenset(("after", "before")),
    "in": frozenset(("the",)),
    "new": frozenset[str](),
    "the": _ORDINALS | {"day"},
    **dict.fromkeys(("last", "next", "past", "coming", "this"), _OF_DAYS),
}
for _words in dates.HOLIDAYS_BY_WORDS:
    if _words[0] in _FOLLOWING:
        _FOLLOWING[_words[0]] |= set(_words[1:2])
_SINGLE = (_NUMBERS | _ORDINALS | _PARTS | dates.BEGINS | measures.BEGINS) - _FOLLOWING.keys()
# "usd 5", "a$5": only before what begins a value.
_OF_MONEY = measures.BEGINS_MONEY - _SINGLE - _FOLLOWING.keys()
_FOLLOWING.update(dict.fromkeys(_OF_MONEY, frozenset()))
_IN_THE = frozenset((part,) for part in dates.PARTS_OF_DAY)
_MARKS = frozenset((",", ".", "?", "!", ":", ";", "'", '"', "(", ")", "...", "/", "&"))


def are_shipped(units: Units) -> bool:
    """Return whether no skill declares one of the units."""
    return units.by_name.keys() <= SHIPPED.by_name.keys()


def begins_in(s: TextTokens) -> tuple[int, ...]:
    """Return the places where a value may begin; a placeholder begins none.

    >>> from genie_dp.locale import LOCALE
    >>> from genie_dp.parser.reading.sentence import sentence
    >>> begins_in(sentence("get me a song in a minute", LOCALE))
    (4, 5)
    """
    places: list[int] = []
    own = () if are_shipped(s.units) else measures.unit_phrases(s.units)  # "a puff"
    following, is_begun = "", False  # the word behind this one, and whether it begins a value
    for place in range(len(s.words) - 1, -1, -1):
        word = s.words[place]
        sort = _sort_of(word) if len(word) <= _LONGEST else _ALWAYS
        if sort == _BEFORE:
            is_begun = is_begun or following in _FOLLOWING[word]
            is_begun = is_begun or (word in ("a", "an") and following in own)
            if is_begun and (word, following) == ("in", "the"):  # "in the morning"
                is_begun = s.words[place + 2 : place + 3] in _IN_THE
        else:
            is_begun = sort == _ALWAYS and not s.masked[place]
        if is_begun:
            places.append(place)
        following = word
    return tuple(reversed(places))


@lru_cache(maxsize=_KEPT)
def _sort_of(word: str) -> int:
    if word in _FOLLOWING:
        return _BEFORE
    if word in _SINGLE:
        return _ALWAYS
    if word in _MARKS or word.replace("'", "").isalpha():
        return _NEVER
    # "five-minute", "half-past"; but "light-bulb".
    parts = word.split("-")
    is_name = all(map(str.isalpha, parts)) and parts[0] not in _SINGLE
    return _NEVER if is_name else _ALWAYS


_CLOSES = re.compile(r"'(?!\w)|[\"“”«»‘’{}]")
_NOTHING = frozenset[str]()


def tokens_without_values(text: str) -> tuple[str, ...] | None:
    """Return the tokens of a text in which no value begins that is taken at first; None of others.

    It looks at each word and the one before, in a tenth of the time that all sorts take; of half of
    the sentences nothing else need be asked. Values that only readers of further readings take
    do not count: "here", and cities such as Nice. Units that skills declare are not
    known here.

    >>> tokens_without_values("get me a song in the kitchen")
    ('get', 'me', 'a', 'song', 'in', 'the', 'kitchen')
    >>> tokens_without_values("get me a dozen in the morning") is None
    True
    """
    read: list[str] = []
    following = _NOTHING
    for word in text.split(" "):
        tokens, sort, after = _look(word) if len(word) <= _LONGEST else ((), _ALWAYS, _NOTHING)
        if sort == _ALWAYS or (tokens and tokens[0] in following):
            return None
        if sort == _PART and read[-2:] == ["in", "the"]:
            return None
        if tokens:
            read += tokens
            following = after
    return tuple(read)


@lru_cache(maxsize=_KEPT)
def _look(word: str) -> tuple[tuple[str, ...], int, frozenset[str]]:
    """Return the tokens of a word between spaces, how it begins a value, and before which words."""
    tokens = tokenize(word)
    if tokens == (word,) and is_slot(word):
        return tokens, _NEVER, _NOTHING
    is_marked = clean(word) != word or _CLOSES.search(word) or marks.is_shaped(word)
    sorts = set(map(_sort_of, tokens))
    if not word.isascii() or is_marked or _ALWAYS in sorts or places.are_known(tokens):
        return tokens, _ALWAYS, _NOTHING
    if len(tokens) > 1 and (_BEFORE in sorts or any(map(places.words_after, tokens))):
        return tokens, _ALWAYS, _NOTHING
    *_, last = ("", *tokens)
    following = _NOTHING if last == "in" else _FOLLOWING.get(last, _NOTHING)
    sort = _PART if last in dates.PARTS_OF_DAY else _NEVER
    return tokens, sort, following | places.words_after(last)
