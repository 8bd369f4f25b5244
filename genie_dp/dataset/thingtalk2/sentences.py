"""Sentences in step with converted programs: their placeholders get the names that ours have."""

import re
from collections.abc import Iterable, Mapping, Sequence

from genie_dp.dataset.left import NoEqual
from genie_dp.dataset.thingtalk2.reader import Renamed
from genie_dp.languages.thingtalk.slots import is_slot

NOT_SAID = "value not in the sentence"
# Words that may follow a number, by unit; where the sentence has none the number stands alone.
_UNIT_WORDS: Mapping[str, frozenset[str]] = {
    unit: frozenset(words.split())
    for unit, words in {
        "ms": "ms milliseconds millisecond",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "mon": "month months",
        "year": "year years",
        "m": "m meter meters metre metres",
        "km": "km kms kilometer kilometers kilometre kilometres",
        "mm": "mm millimeter millimeters",
        "cm": "cm centimeter centimeters",
        "mi": "mi mile miles",
        "in": "in inch inches",
        "ft": "ft foot feet",
        "mps": "mps",
        "kmph": "kmph kph kmh",
        "mph": "mph",
        "kg": "kg kgs kilo kilos kilogram kilograms",
        "g": "g gram grams",
        "lb": "lb lbs pound pounds",
        "oz": "oz ounce ounces",
        "C": "c celsius centigrade degree degrees ° °c",
        "F": "f fahrenheit farenheit degree degrees ° °f",
        "K": "k kelvin degree degrees",
        "bpm": "bpm",
        "kcal": "kcal calories calorie",
        "byte": "byte bytes b",
        "KB": "kb kilobyte kilobytes",
        "MB": "mb megabyte megabytes",
        "GB": "gb gigabyte gigabytes",
        "TB": "tb terabyte terabytes",
    }.items()
}
_PHRASES = (("miles", "per", "hour"), ("kilometers", "per", "hour"), ("meters", "per", "second"))


# How logs of users hold what was taken out of them.
_MASK = re.compile(r'"?str:([A-Z_]+)::(\d+):"?(?:\^\^[\w.-]+:\w+)?')

_NAME = re.compile(r'\("str:([A-Z_]+)::(\d+):"\)')  # of an entity, which stays text


def masked(text: str) -> str:
    """Return a sentence or program with placeholders where a log has its own.

    >>> masked('@c.mail(to="str:EMAIL_ADDRESS::0:"^^tt:email_address);')
    '@c.mail(to=EMAIL_ADDRESS_0);'
    """
    return _MASK.sub(r"\1_\2", _NAME.sub(r'("\1_\2")', text))


def renamed(tokens: Sequence[str], changes: Iterable[Renamed]) -> tuple[str, ...]:
    """Return the tokens of a sentence with the placeholders that its program has.

    Raises:
        NoEqual: the sentence does not say one of the values.

    >>> renamed(("below", "NUMBER_0", "degrees", "f"), [Renamed("NUMBER_0", "MEASURE_C_0", "F")])
    ('below', 'MEASURE_C_0')
    >>> renamed(("rain", "in", "palo", "alto"), [Renamed("palo alto", "LOCATION_0")])
    ('rain', 'in', 'LOCATION_0')
    """
    found = list(tokens)
    for change in changes:
        words = change.words.lower().split() if not is_slot(change.words) else [change.words]
        places = [i for i in range(len(found)) if found[i : i + len(words)] == words]
        if not places:
            raise NoEqual(NOT_SAID, change.words)
        for place in reversed(places):
            end = place + len(words)
            end += _unit_length(found[end : end + 3], change.unit)
            found[place:end] = [change.token]
    return tuple(found)


def _unit_length(after: Sequence[str], unit: str) -> int:
    """Return how many of the words after a number are its unit."""
    words = _UNIT_WORDS.get(unit, frozenset())
    if unit in ("mph", "kmph", "mps") and tuple(after) in _PHRASES:
        return 3
    length = 0
    while length < min(2, len(after)) and after[length] in words:
        length += 1
    return length


def compacted(tokens: Sequence[str], program: Iterable[str]) -> dict[str, str]:
    """Return new names for placeholders, so that those of a sort are numbered from 0 on.

    >>> compacted(("from", "NUMBER_1", "to", "NUMBER_2"), ["NUMBER_2", "NUMBER_1"])
    {'NUMBER_1': 'NUMBER_0', 'NUMBER_2': 'NUMBER_1'}
    """
    sorts: dict[str, set[int]] = {}
    for token in (*tokens, *program):
        if is_slot(token):
            stem, _, number = token.rpartition("_")
            sorts.setdefault(stem, set()).add(int(number))
    return {
        f"{stem}_{number}": f"{stem}_{place}"
        for stem, numbers in sorts.items()
        for place, number in enumerate(sorted(numbers))
        if place != number
    }
