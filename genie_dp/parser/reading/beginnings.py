"""Where in a sentence a value may begin: most words begin none, which each sort need not find out.

A word begins one by itself ("tomorrow", "5"), or only before certain others ("a" before "dozen").
Signs and words that are not told here are taken to begin one.
"""

from functools import lru_cache

from genie_dp.parser.reading import dates, measures, numbers
from genie_dp.parser.reading.sentence import TextTokens

_NEVER, _ALWAYS, _BEFORE = range(3)
_KEPT, _LONGEST = 1 << 15, 40  # words that are remembered, and their letters

_NUMBERS = frozenset((*numbers.SMALL, *numbers.SCALES, "hundred", "dozen", "minus", "negative"))
_ORDINALS = frozenset((*numbers.ORDINALS, *numbers.ORDINALS_HYPHENED, *numbers.TENS))
_PARTS = frozenset(("half", "half-hour", "quarter", "quarters"))
_UNITS = frozenset(
    (*measures.unit_phrases(), *measures.DEGREES, *measures.currency_names(), "day", "week",
     "month", "year")
)  # fmt: skip
_OF_DAYS = frozenset(
    (*dates.DAYS, *dates.PARTS_OF_DAY, "week", "month", "year", "weekend", "coming", "past",
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


def begins_in(s: TextTokens) -> tuple[int, ...]:
    """Return the places where a value may begin; a placeholder begins none.

    >>> from genie_dp.parser.reading.reading import LOCALE
    >>> from genie_dp.parser.reading.sentence import sentence
    >>> begins_in(sentence("get me a song in a minute", LOCALE))
    (4, 5)
    """
    places: list[int] = []
    following, is_begun = "", False  # the word behind this one, and whether it begins a value
    for place in range(len(s.words) - 1, -1, -1):
        word = s.words[place]
        sort = _sort_of(word) if len(word) <= _LONGEST else _ALWAYS
        if sort == _BEFORE:
            is_begun = is_begun or following in _FOLLOWING[word]
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
