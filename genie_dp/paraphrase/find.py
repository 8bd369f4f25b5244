"""Where given values stand in the words of a typed sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from genie_dp.paraphrase.forms import Words, forms

_QUOTES = ('"', "'")
# Values of these sorts need their mark, for nothing else tells where they begin and end.
_NEED_QUOTES = frozenset({"QUOTED_STRING"})
# What may not follow a short form: 8:30 may stand for 8:30 pm, but not in front of am.
_SAYS_MORE = {
    "TIME": frozenset({"am", "pm", "a.m", "p.m"}),
    "MEASURE_C": frozenset({"celsius", "fahrenheit", "c", "f"}),
}
_SIGNS = {"USERNAME": "@", "HASHTAG": "#"}


@dataclass(frozen=True, slots=True)
class Place:
    """The words from start to end (exclusive), quotes included, that are a value."""

    start: int
    end: int
    token: str


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of the values of a sentence.

    Attributes:
        spans: where each value stands, from left to right.
        missing: placeholders whose value is nowhere.
        unmarked: placeholders whose value lost its quotes, @ or #.
        repeated: placeholders whose value stands more than once.
    """

    spans: tuple[Place, ...]
    missing: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


def find(values: Sequence[tuple[str, str, str]], words: Words) -> Found:
    """Return where values stand in words; those in quotes and long ones are looked for first.

    Args:
        values: (placeholder, its stem, the value as shown).

    >>> find([("NUMBER_0", "NUMBER", "2")], ("two", "songs")).spans
    (Place(start=0, end=1, token='NUMBER_0'),)
    >>> find([("HASHTAG_0", "HASHTAG", "#sun")], ("tag", "it", "sun")).unmarked
    ('HASHTAG_0',)
    """
    taken: list[Place] = []
    missing, unmarked, repeated = [], [], []
    for token, stem, text in sorted(values, key=_priority):
        places = list(_places(stem, text, words, taken))
        if not places:
            missing.append(token)
            continue
        (start, end, is_marked), *others = sorted(places, key=lambda place: not place[2])
        if not is_marked:
            unmarked.append(token)
        # A word that also happens to be a value is no second copy of a marked value.
        if any(other[2] == is_marked for other in others):
            repeated.append(token)
        taken.append(Place(start, end, token))
    taken.sort(key=lambda place: place.start)
    order = [value[0] for value in values]
    by_order = order.index
    return Found(
        tuple(taken),
        tuple(sorted(missing, key=by_order)),
        tuple(sorted(unmarked, key=by_order)),
        tuple(sorted(repeated, key=by_order)),
    )


def _priority(value: tuple[str, str, str]) -> tuple[bool, int, str]:
    token, _, text = value
    return not text.startswith('"'), -len(text), token


def _places(
    stem: str, text: str, words: Words, taken: Sequence[Place]
) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, has its mark) where a value stands on free words, longest forms first."""
    used = {i for place in taken for i in range(place.start, place.end)}
    sign = _SIGNS.get(stem, "")
    bare = text.strip('"').strip()
    spellings = [(form, True) for form in forms(stem, bare)]
    if sign:
        spellings += [(form, False) for form in forms(stem, bare.removeprefix(sign))]
    for form, has_sign in sorted(spellings, key=lambda spelling: -len(spelling[0])):
        for start in _occurrences(form, words):
            end = start + len(form)
            if used.intersection(range(start, end)) or _says_more(stem, words, end):
                continue
            used.update(range(start, end))
            is_quoted = _is_quoted(stem, words, start, end, used)
            if is_quoted:
                used.update((start - 1, end))
            marked = has_sign and (is_quoted or stem not in _NEED_QUOTES)
            yield (start - 1, end + 1, marked) if is_quoted else (start, end, marked)


def _says_more(stem: str, words: Words, end: int) -> bool:
    return end < len(words) and words[end] in _SAYS_MORE.get(stem, ())


def _is_quoted(stem: str, words: Words, start: int, end: int, used: set[int]) -> bool:
    """Tell whether a value stands in quotes of its own, not between those of two others."""
    if start == 0 or end == len(words) or words[start - 1] not in _QUOTES:
        return False
    if words[end] != words[start - 1] or used & {start - 1, end}:
        return False
    opens = words[: start - 1].count(words[start - 1]) % 2 == 0
    return opens or stem in _NEED_QUOTES


def _occurrences(form: Words, words: Words) -> Iterator[int]:
    size = len(form)
    if not size:
        return
    start = 0
    while start + size <= len(words):
        if words[start : start + size] == form:
            yield start
            start += size
        else:
            start += 1
