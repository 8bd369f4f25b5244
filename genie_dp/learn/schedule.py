"""How long training goes on, and the learning rate on the way."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """When training ends: after steps, epochs or seconds, exactly one of them.

    A schedule tied to seconds ends well on any machine, but two runs of it are never the same.

    >>> Budget(steps=200).progress(steps=50, epochs=1.5, seconds=3.0)
    0.25
    """

    steps: int | None = None
    epochs: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse none or several limits."""
        given = [x for x in (self.steps, self.epochs, self.seconds) if x is not None]
        if len(given) != 1 or given[0] <= 0:
            raise ValueError(f"expected one positive limit, got {self}")

    def progress(self, *, steps: int, epochs: float, seconds: float) -> float:
        """Return how much of the budget is used up, 1 when it is."""
        if self.steps is not None:
            return min(1.0, steps / self.steps)
        if self.epochs is not None:
            return min(1.0, epochs / self.epochs)
        return min(1.0, seconds / (self.seconds or 1.0))


def learning_rate(progress: float, *, peak: float, warmup: float) -> float:
    """Return the rate at a share of the budget: up in a line, then down in a line to zero.

    >>> [round(learning_rate(p, peak=1.0, warmup=0.1), 2) for p in (0.05, 0.1, 0.55, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    if progress < warmup:
        return peak * progress / warmup
    return peak * (1.0 - progress) / (1.0 - warmup)
