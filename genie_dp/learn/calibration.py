"""How sure a model may be: one temperature, fitted on validation rows (Guo et al., 2017)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# exp of these: temperatures from 1/20 to 20.
_LOW, _HIGH = math.log(0.05), math.log(20.0)
# Turns of golden-section search: the bracket shrinks to 1e-8 of its width.
_TURNS = 40
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns the log-probability of a program into a confidence.

    Attributes:
        temperature: above 1 the model was too sure of itself.

    >>> round(Calibration(2.0).confidence(math.log(0.25)), 3)
    0.5
    """

    temperature: float = 1.0

    def confidence(self, log_probability: float) -> float:
        """Return the probability that a program is right."""
        return math.exp(min(0.0, log_probability) / self.temperature)


def fit(log_probabilities: Sequence[float], right: Sequence[bool]) -> Calibration:
    """Return the calibration with the lowest negative log-likelihood of what was right.

    With no rows, or all right or all wrong, the best temperature is an end of the range.

    >>> round(fit([math.log(0.9)] * 100, [True] * 81 + [False] * 19).temperature, 2)
    0.5
    """

    def cost(logarithm: float) -> float:
        calibration = Calibration(math.exp(logarithm))
        return likelihood_loss([calibration.confidence(x) for x in log_probabilities], right)

    low, high = _LOW, _HIGH
    for _ in range(_TURNS):
        left, over = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if cost(left) < cost(over):
            high = over
        else:
            low = left
    return Calibration(math.exp((low + high) / 2))


def likelihood_loss(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean negative log-likelihood in nats.

    >>> round(likelihood_loss([0.5, 0.5], [True, False]), 4)
    0.6931
    """
    tiny = 1e-12
    losses = [
        -math.log(max(tiny, p if hit else 1.0 - p))
        for p, hit in zip(confidences, right, strict=True)
    ]
    return sum(losses) / max(1, len(losses))


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
