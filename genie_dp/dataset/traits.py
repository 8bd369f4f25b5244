"""The sort of command of a program: the classes of Genie's Figure 7, read off its tokens."""

from collections.abc import Sequence

from genie_dp.languages import get_language
from genie_dp.records import DEFAULT_LANGUAGE

COMPOUND = 1
FILTER = 2
PASSING = 4
TIMER = 8
MONITOR = 16
AGGREGATE = 32
POLICY = 64

# Figure 7 of the Genie paper: "primitive commands are commands that use one function, while
# compound commands use two" (section 5.2), each with and without the rest.
CLASSES: tuple[tuple[int, str], ...] = (
    (0, "primitive"),
    (FILTER, "primitive + filters"),
    (COMPOUND, "compound"),
    (COMPOUND | PASSING, "compound + parameter passing"),
    (COMPOUND | FILTER, "compound + filters"),
    (COMPOUND | PASSING | FILTER, "compound + parameter passing + filters"),
)
_CLASS_MASK = COMPOUND | FILTER | PASSING
TRAITS: tuple[tuple[int, str], ...] = (
    (FILTER, "filters"),
    (PASSING, "parameter passing"),
    (TIMER, "timers"),
    (MONITOR, "monitors"),
    (AGGREGATE, "aggregation"),
    (POLICY, "policies"),
)
_BITS = {name: bit for bit, name in TRAITS}


def traits_of(program: str, functions: Sequence[str], language: str = DEFAULT_LANGUAGE) -> int:
    """Return the traits of a program in token form, added up.

    Of some languages only the number of functions is known.

    >>> bits = traits_of("now => ( @a.b ) filter param:n:Number > 3 => notify", ["@a.b"])
    >>> [name for bit, name in TRAITS if bits & bit]
    ['filters']
    """
    bits = COMPOUND if len(functions) > 1 else 0
    for name in get_language(language).form(program).traits:
        bits |= _BITS[name]
    return bits


def class_of(bits: int) -> int:
    """Return the place in CLASSES of a program with these traits.

    A primitive command that passes a value, as `$event` is, counts as primitive.

    >>> CLASSES[class_of(COMPOUND | FILTER | TIMER)][1]
    'compound + filters'
    """
    own_bits = bits & _CLASS_MASK if bits & COMPOUND else bits & FILTER
    return next(place for place, (mask, _) in enumerate(CLASSES) if mask == own_bits)
