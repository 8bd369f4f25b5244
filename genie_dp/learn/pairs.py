"""A sentence and its program as tokens: what all training starts from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """One row to learn from.

    Attributes:
        sentence: tokens of the sentence, placeholders among them.
        program: tokens of the program; empty where only the sentence is known.
        weight: factor of the row's loss.
        group: what kind of row it is, for sampling by group ("primitive", "compound", ..).
        difficulty: where a curriculum puts the row; easier rows are lower.

    >>> Pair.of("tweet NUMBER_0", "now => @post NUMBER_0").program
    ('now', '=>', '@post', 'NUMBER_0')
    """

    sentence: tuple[str, ...]
    program: tuple[str, ...]
    weight: float = 1.0
    group: str = ""
    difficulty: float = 0.0

    @classmethod
    def of(
        cls,
        sentence: str,
        program: str = "",
        *,
        weight: float = 1.0,
        group: str = "",
        difficulty: float | None = None,
    ) -> "Pair":
        """Return the pair of two texts; unless told, a row is as hard as its program is long."""
        tokens = tuple(program.split())
        hard = float(len(tokens)) if difficulty is None else difficulty
        return cls(tuple(sentence.split()), tokens, weight, group, hard)
