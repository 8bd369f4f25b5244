"""Intervals of attacks: exact ones of shares, and bootstrap ones of the rest."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.rng import child_seed

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
_DRAWS = 1000


def scipy_stats() -> Any:
    """Return the module scipy.stats.

    Raises:
        GenieError: it is not installed (N050).
    """
    try:
        return import_module("scipy.stats")
    except ImportError as problem:
        hint = "pip install 'genie_dp[private]'"
        raise GenieError(Problem("N050", "audits need scipy", hint=hint)) from problem


def lowest(found: Any, of: Any, alpha: float) -> Any:
    """Return the one-sided lower bound of a share (Clopper and Pearson, 1934), array by array.

    The share is below it with a probability of at most `alpha`.

    >>> round(float(lowest(10, 10, 0.05)), 4)
    0.7411
    """
    found, of = np.asarray(found, float), np.asarray(of, float)
    bound = scipy_stats().beta.ppf(alpha, np.maximum(found, 1e-9), of - found + 1)
    return np.where(found <= 0, 0.0, bound)


def highest(found: Any, of: Any, alpha: float) -> Any:
    """Return the one-sided upper bound of a share.

    >>> round(float(highest(0, 10, 0.05)), 4)
    0.2589
    """
    found, of = np.asarray(found, float), np.asarray(of, float)
    bound = scipy_stats().beta.ppf(1 - alpha, found + 1, np.maximum(of - found, 1e-9))
    return np.where(found >= of, 1.0, bound)


def share(found: int, of: int, *, level: float = LEVEL) -> dict[str, float]:
    """Return a share with its exact interval, for JSON.

    >>> share(0, 10)["high"] > 0.3
    True
    """
    rest = (1 - level) / 2
    low, high = float(lowest(found, of, rest)), float(highest(found, of, rest))
    return {"value": found / of, "low": low, "high": high, "found": found, "of": of}


def resampled(
    samples: Sequence[Floats],
    figure: Callable[..., float],
    *,
    name: str,
    seed: int,
    level: float = LEVEL,
    draws: int = _DRAWS,
) -> dict[str, float]:
    """Return a figure of samples with its percentile bootstrap interval, for JSON.

    Each sample is drawn again by itself (Efron and Tibshirani, 1993, section 8.3).

    >>> found = resampled([np.array([1.0, 2, 3])], np.mean, name="mean", seed=0)
    >>> found["low"] <= found["value"] == 2 <= found["high"]
    True
    """
    rng = np.random.default_rng(child_seed(seed, "audit", name))
    drawn = [
        figure(*(one[rng.integers(0, len(one), len(one))] for one in samples)) for _ in range(draws)
    ]
    rest = (1 - level) / 2
    low, high = np.quantile(drawn, [rest, 1 - rest])
    return {"value": float(figure(*samples)), "low": float(low), "high": float(high)}
