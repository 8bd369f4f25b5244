"""How sure a model may be: a logistic regression on signals, fitted on validation rows.

With the log-probability as its only signal this is Platt scaling (Platt, 1999).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

# Newton's steps; a dozen are enough, and a step that makes things worse is halved.
_TURNS, _HALVINGS = 50, 30
_STEEPEST = 40.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns the signals of an answer into a confidence.

    Attributes:
        weights: one for each signal.
        bias: log-odds where all signals are 0.

    >>> Calibration((1.0, -2.0), 0.5).confidence((0.5, 0.5))
    0.5
    """

    weights: tuple[float, ...]
    bias: float = 0.0

    def confidence(self, signals: Sequence[float]) -> float:
        """Return the probability that an answer with these signals is right."""
        odds = self.bias + sum(w * x for w, x in zip(self.weights, signals, strict=True))
        return 1 / (1 + math.exp(-max(-_STEEPEST, min(_STEEPEST, odds))))


def fit(
    signals: Sequence[Sequence[float]],
    right: Sequence[bool],
    prior: Calibration,
    *,
    scales: Sequence[float],
    strength: float,
) -> Calibration:
    """Return the most probable calibration of rows, under a prior.

    Right rows count as right with chance (n + 1) / (n + 2) of n, wrong ones as right with 1 / (m +
    2) of m (Platt, 1999, section 2.2): of a few rows that are all right nobody is sure of the next.

    Args:
        signals: of each row's answer.
        right: which of them are right.
        prior: the mean of a normal distribution of weights and bias.
        scales: usual sizes of the signals: a weight lies that far from the prior's that the
            log-odds of a usual signal differ by about 1 / sqrt(strength).
        strength: weight of the prior, in rows whose outcome is a toss-up.

    >>> before = Calibration((1.0,))
    >>> fit([], [], before, scales=(1.0,), strength=1.0) == before
    True
    >>> fitted = fit([(-0.1,)] * 100, [True] * 81 + [False] * 19, before, scales=(1.0,), strength=1)
    >>> round(fitted.confidence((-0.1,)), 1)
    0.8
    """
    if not signals:
        return prior
    sizes = np.array([*scales, 1.0])
    inputs = np.c_[np.array(signals, np.float64), np.ones(len(signals))] / sizes
    sure, unsure = (sum(right) + 1) / (sum(right) + 2), 1 / (len(right) - sum(right) + 2)
    targets = np.array([sure if hit else unsure for hit in right])
    mean = np.array([*prior.weights, prior.bias]) * sizes

    def cost(weights: F64) -> float:
        odds = inputs @ weights
        loss = np.logaddexp(0.0, odds).sum() - targets @ odds
        return float(loss + strength / 8 * ((weights - mean) ** 2).sum())

    weights, least = mean, cost(mean)
    for _ in range(_TURNS):
        chances = 1 / (1 + np.exp(-(inputs @ weights).clip(-_STEEPEST, _STEEPEST)))
        slope = inputs.T @ (chances - targets) + strength / 4 * (weights - mean)
        curve = (inputs.T * (chances * (1 - chances))) @ inputs
        step = np.linalg.solve(curve + strength / 4 * np.eye(len(mean)), slope)
        for _ in range(_HALVINGS):
            if cost(weights - step) <= least:
                break
            step /= 2
        else:
            break
        weights = weights - step
        before, least = least, cost(weights)
        if before - least < 1e-9:
            break
    *own, bias = (weights / sizes).tolist()
    return Calibration(tuple(own), bias)


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Return the expected calibration error (Guo et al., 2017, equation 3).

    >>> round(calibration_error([0.9, 0.9, 0.1, 0.1], [True, True, False, True]), 2)
    0.25
    """
    groups: dict[int, list[tuple[float, bool]]] = {}
    for p, hit in zip(confidences, right, strict=True):
        groups.setdefault(min(9, int(p * 10)), []).append((p, hit))
    gaps = (abs(sum(p for p, _ in g) - sum(hit for _, hit in g)) for g in groups.values())
    return sum(gaps) / max(1, len(confidences))
