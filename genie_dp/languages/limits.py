"""Restrictions of values beside their type: bounds of numbers, the form of texts."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

_LONGEST = 200  # letters of a pattern
# What stands for one of some letters, and what is looked for otherwise than from left to right:
# what stands behind or before, the same again, repetitions of groups, which may take for ever.
_CLASS = re.compile(r"\\[\\\]\[]|\[\^?\]?(?:\\.|[^\]\\])*\]")
_HARD = re.compile(r"\(\?(?!:)|\\[1-9kpPbBGAZzucx]|\)[*+{]")
_ESCAPED = re.compile(r"\\[^1-9kpPbBGAZzucx]")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of values.

    Attributes:
        least, most: of numbers, the bounds; `is_open` of each whether it is not one itself.
        is_whole: of numbers, whether they have no fraction.
        steps: of numbers, their divisors.
        shortest, longest: of texts, how many characters they have.
        patterns: of texts, patterns found in each, whatever the case of letters: sentences have
            none.
    """

    least: Decimal | None = None
    most: Decimal | None = None
    is_least_open: bool = False
    is_most_open: bool = False
    is_whole: bool = False
    steps: tuple[Decimal, ...] = ()
    shortest: int = 0
    longest: int | None = None
    patterns: tuple[str, ...] = ()

    def __and__(self, other: "Limits") -> "Limits":
        """Return the limits that hold for both.

        >>> hundred, ten = Limits(most=Decimal(100)), Limits(most=Decimal(10), is_most_open=True)
        >>> hundred & ten == ten
        True
        """
        lows = [(x.least, x.is_least_open) for x in (self, other) if x.least is not None]
        highs = [(x.most, not x.is_most_open) for x in (self, other) if x.most is not None]
        lengths = [x.longest for x in (self, other) if x.longest is not None]
        least, is_least_open = max(lows, default=(None, False))
        highest, is_most_closed = min(highs, default=(None, True))
        return Limits(
            least,
            highest,
            is_least_open,
            not is_most_closed,
            self.is_whole or other.is_whole,
            tuple(dict.fromkeys((*self.steps, *other.steps))),
            max(self.shortest, other.shortest),
            min(lengths, default=None),
            tuple(dict.fromkeys((*self.patterns, *other.patterns))),
        )

    @property
    def is_of_texts(self) -> bool:
        """Return whether any text is none of them."""
        return bool(self.shortest or self.longest is not None or self.patterns)

    def in_bounds(self, number: Decimal) -> bool:
        """Return whether a number is within the bounds."""
        least, most = self.least, self.most
        if least is not None and (number < least or (self.is_least_open and number == least)):
            return False
        return most is None or number < most or (number == most and not self.is_most_open)

    def allows_number(self, number: Decimal) -> bool:
        """Return whether a number may be a value.

        >>> Limits(Decimal(5), Decimal(30), steps=(Decimal("0.5"),)).allows_number(Decimal("7.5"))
        True
        """
        if self.is_whole and number != number.to_integral_value():
            return False
        exact = Fraction(number)
        return self.in_bounds(number) and all(exact % Fraction(step) == 0 for step in self.steps)

    def allows_text(self, text: str) -> bool:
        """Return whether a text may be a value.

        >>> limits = Limits(longest=5, patterns=("^[A-Z]+$",))
        >>> [limits.allows_text(text) for text in ("lhr", "l7", "london")]
        [True, False, False]
        """
        if len(text) < self.shortest or (self.longest is not None and len(text) > self.longest):
            return False
        return all(compiled(pattern).search(text) is not None for pattern in self.patterns)


NO_LIMITS = Limits()
NOTHING = Limits(least=Decimal(1), most=Decimal(0), longest=-1)
"""What no value keeps."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of `is_simple`."""
    return re.compile(pattern, re.IGNORECASE)


def is_simple(pattern: str) -> bool:
    r"""Return whether a regular expression means the same to all who read it, and ends soon.

    >>> is_simple(r"^[A-Z]{3}-\d+$"), is_simple("(a+)+$"), is_simple("(?=b)"), is_simple("[")
    (True, False, False, False)
    """
    bare = _ESCAPED.sub("", _CLASS.sub("c", pattern))
    if len(pattern) > _LONGEST or _HARD.search(bare):
        return False
    try:
        compiled(pattern)
    except re.error:
        return False
    return True
