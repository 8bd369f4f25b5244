"""How much a decoded program may hold, so that decoding ends."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a program may hold; canonical programs beyond that are refused.

    The longest of 50,000 synthesized programs has 46 tokens, of 53,000 augmented ones 60, and none
    has more than 3 brackets inside each other (November 2026); people may write some more.

    Attributes:
        tokens: tokens of the program.
        nesting: brackets inside of each other.
        rules: rules of a program.
        clauses: conditions joined by `and`.
        alternatives: comparisons joined by `or`.
        items: values of an array.
        parts: numbers of one measure, `6 unit:ft 3 unit:in` has two.
        offsets: durations added to a date.
        words: words of one text.
    """

    tokens: int = 400
    nesting: int = 12
    rules: int = 4
    clauses: int = 16
    alternatives: int = 16
    items: int = 16
    parts: int = 3
    offsets: int = 2
    words: int = 60

    def __post_init__(self) -> None:
        """Raise ValueError where a limit leaves no room for a program."""
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(f"expected {field.name} >= 1, got {getattr(self, field.name)}")

    def reserve(self, longest_text: int) -> int:
        """Return how many tokens it may take to close a program; laws test that it is enough.

        A level of nesting takes at most `filter true ) join ( @c.f )`, and a text that was begun
        the rest of its words.
        """
        return 8 * self.nesting + longest_text + 32
