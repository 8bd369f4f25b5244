"""One row as ids; nothing here needs torch."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Encoded:
    """One row as ids, from BEGIN to END.

    Attributes:
        tokens: the ids.
        scored_from: the first place that the model is to predict; what comes before is a prompt.
    """

    # Ids of private rows are private text: neither a log nor an error shows them.
    tokens: tuple[int, ...] = field(repr=False)
    scored_from: int = 1

    def __post_init__(self) -> None:
        """Refuse a row without anything to predict."""
        if not 1 <= self.scored_from < len(self.tokens):
            raise ValueError("expected scored_from within the tokens, behind the first")

    @property
    def scored(self) -> int:
        """Return how many places the model is to predict."""
        return len(self.tokens) - self.scored_from
