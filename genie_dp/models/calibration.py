"""How sure a model may be: one temperature, fitted on validation rows (Guo et al., 2017)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

# exp of these: temperatures from 1/20 to 20.
_LOW, _HIGH = math.log(0.05), math.log(20.0)
# Turns of golden-section search: the bracket shrinks to 1e-8 of its width.
_TURNS = 40
_TINY = 1e-12
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns the log-probability of a program into a confidence.

    Attributes:
        temperature: below 1 the model was too sure of itself: its log-probabilities are divided by
            it.

    >>> round(Calibration(2.0).confidence(math.log(0.25)), 3)
    0.5
    """

    temperature: float = 1.0

    def confidence(self, log_probability: float) -> float:
        """Return the probability that a program is right."""
        return math.exp(min(0.0, log_probability) / self.temperature)


def fit(log_probabilities: Sequence[float], right: Sequence[bool]) -> Calibration:
    """Return the calibration with the lowest cross-entropy of what was right.

    Right rows count as right with chance (n + 1) / (n + 2) of n, wrong ones as right with 1 / (m +
    2) of m (Platt, 1999, section 2.2): of a few rows that are all right nobody is sure of the next.

    >>> round(fit([math.log(0.9)] * 100, [True] * 81 + [False] * 19).temperature, 2)
    0.5
    >>> round(fit([math.log(0.5)] * 8, [True] * 8).confidence(math.log(0.5)), 2)
    0.9
    """
    if not log_probabilities:
        return Calibration()
    sure = (sum(right) + 1) / (sum(right) + 2)
    unsure = 1 / (len(right) - sum(right) + 2)
    targets = [sure if hit else unsure for hit in right]

    def cost(logarithm: float) -> float:
        calibration = Calibration(math.exp(logarithm))
        confidences = (calibration.confidence(x) for x in log_probabilities)
        return -fsum(
            chance * math.log(max(_TINY, p)) + (1 - chance) * math.log(max(_TINY, 1 - p))
            for p, chance in zip(confidences, targets, strict=True)
        )

    low, high = _LOW, _HIGH
    for _ in range(_TURNS):
        lower, upper = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if cost(lower) < cost(upper):
            high = upper
        else:
            low = lower
    return Calibration(math.exp((low + high) / 2))


def calibration_error(
    confidences: Sequence[float], right: Sequence[bool], *, bins: int = 10
) -> float:
    """Return the expected calibration error (Guo et al., 2017, equation 3).

    >>> round(calibration_error([0.9, 0.9, 0.1, 0.1], [True, True, False, True]), 2)
    0.25
    """
    groups: dict[int, list[tuple[float, bool]]] = {}
    for p, hit in zip(confidences, right, strict=True):
        groups.setdefault(min(bins - 1, int(p * bins)), []).append((p, hit))
    gaps = (abs(sum(p for p, _ in g) - sum(hit for _, hit in g)) for g in groups.values())
    return sum(gaps) / max(1, len(confidences))
