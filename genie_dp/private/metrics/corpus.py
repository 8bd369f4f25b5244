"""Rows as they are measured: sentences with or without programs, in an order of their own."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from genie_dp.rng import stream


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A sentence with its program.

    Neither is shown: a row may be a private one, and what is shown ends in logs.

    Attributes:
        utterance: words separated by one space.
        program: token form, "" for none.
    """

    utterance: str = field(repr=False)
    program: str = field(default="", repr=False)


def drawn(rows: Iterable[Row], size: int, *, seed: int = 0) -> tuple[Row, ...]:
    """Return so many rows, drawn without replacement, whatever the order they come in.

    Overlaps grow with the number of rows (Mireshghallah et al. 2023, B.3), so corpora are compared
    at one size.

    >>> rows = [Row("a"), Row("b"), Row("c")]
    >>> drawn(rows, 2) == drawn(reversed(rows), 2)
    True
    """
    ordered = sorted(rows)
    if size > len(ordered):
        raise ValueError(f"expected at most {len(ordered)} rows to draw, got {size}")
    # The same draw from equal files: a file compared with itself is compared row by row.
    return tuple(sorted(stream(seed, "metrics", "rows").sample(ordered, size)))


def word_counts(rows: Iterable[Row]) -> Counter[str]:
    """Return how often each word occurs, "when the text is tokenized using spaces" (section 4.2).

    >>> word_counts([Row("wake me"), Row("wake up")])["wake"]
    2
    """
    return Counter(word for row in rows for word in row.utterance.split())


def has_programs(rows: Sequence[Row]) -> bool:
    """Tell whether every row has a program."""
    return all(row.program for row in rows)
