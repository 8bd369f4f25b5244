"""MAUVE: how near the distribution of synthetic sentences lies to that of real ones."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from math import exp
from statistics import fmean, stdev
from typing import Any

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private.metrics.features import Featuriser
from genie_dp.rng import child_seed

SCALING = 5.0  # Pillutla et al. 2021, section 2, and the default of mauve-text
POINTS = 25  # of the curve, as in mauve-text


@dataclass(frozen=True, slots=True)
class MauveSettings:
    """What a MAUVE figure depends on, beside the rows; figures are compared at equal settings.

    Attributes:
        buckets: clusters that the vectors are put into; 0 for a tenth of the rows of one corpus,
            as the authors advise, at least 2.
        runs: how often the clusters are made, from other seeds: k-means ends in local optima.
        seed: of the first run.
    """

    buckets: int = 0
    runs: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what gives no figure."""
        if self.buckets < 0 or self.buckets == 1:
            raise ValueError(f"buckets must be 0 or at least 2, got {self.buckets}")
        if self.runs < 1:
            raise ValueError(f"runs must be at least 1, got {self.runs}")

    def buckets_for(self, rows: int) -> int:
        """Return the number of buckets for corpora of that size.

        >>> MauveSettings().buckets_for(2000), MauveSettings(buckets=50).buckets_for(2000)
        (200, 50)
        """
        return self.buckets or max(2, round(rows / 10))


@dataclass(frozen=True, slots=True)
class Mauve:
    """MAUVE of several runs.

    Attributes:
        scores: one a run, each from 0 to 1.
        buckets: clusters of each run.
        featuriser: what the vectors were.
    """

    scores: tuple[float, ...]
    buckets: int
    featuriser: str

    @property
    def mean(self) -> float:
        """Return the mean of the runs."""
        return fmean(self.scores)

    @property
    def deviation(self) -> float:
        """Return the sample standard deviation of the runs; 0 of a single one."""
        return stdev(self.scores) if len(self.scores) > 1 else 0.0


def check_mauve() -> None:
    """Raise GenieError (J001) where mauve-text is not installed: before the work, not after it."""
    _library()


def mauve(
    real: Sequence[str],
    synthetic: Sequence[str],
    featuriser: Featuriser,
    settings: MauveSettings | None = None,
) -> Mauve:
    """Return MAUVE of two sets of sentences (Pillutla et al. 2021), computed by mauve-text.

    Raises:
        GenieError: mauve-text is missing (J001), or there are fewer sentences than buckets (J002).
    """
    vectors = [featuriser.features(sorted(texts)) for texts in (real, synthetic)]
    return mauve_of_features(vectors[0], vectors[1], featuriser.name, settings)


def mauve_of_features(
    real: Any, synthetic: Any, featuriser: str, settings: MauveSettings | None = None
) -> Mauve:
    """Return MAUVE of (N, d) and (M, d) vectors.

    Args:
        featuriser: name of what made the vectors.

    Raises:
        GenieError: see `mauve`.
    """
    asked = settings or MauveSettings()
    buckets = asked.buckets_for(min(len(real), len(synthetic)))
    if len(real) + len(synthetic) < buckets:
        # How many there are is private where rows are.
        message = f"expected {buckets} rows in both files together, one a bucket, got fewer"
        raise GenieError(Problem("J002", message, hint="lower --buckets, or compare more rows"))
    compute = _library()
    scores = []
    for run in range(asked.runs):
        seed = child_seed(asked.seed, "mauve", run) % 2**31
        with _without_faiss_warnings():
            found = compute(
                p_features=real,
                q_features=synthetic,
                num_buckets=buckets,
                mauve_scaling_factor=SCALING,
                divergence_curve_discretization_size=POINTS,
                seed=seed,
            )
        scores.append(float(found.mauve))
    return Mauve(tuple(scores), buckets, featuriser)


def frontier_area(p: Sequence[float], q: Sequence[float], *, scaling: float = SCALING) -> float:
    """Return the area under the divergence frontier of two histograms (Pillutla et al. 2021).

    The frontier are the points (exp(-c KL(q | r)), exp(-c KL(p | r))) of the mixtures
    r = w p + (1 - w) q, between (0, 1) and (1, 0). Written from the paper, to check what
    mauve-text makes of the same histograms.

    >>> frontier_area([0.5, 0.5], [0.5, 0.5]), round(frontier_area([1, 0], [0, 1]), 3)
    (1.0, 0.004)
    """
    a, b = np.asarray(p, np.float64), np.asarray(q, np.float64)
    a, b = a / a.sum(), b / b.sum()
    curve = [(0.0, 1.0)]
    for weight in np.linspace(1e-6, 1 - 1e-6, POINTS):
        mixed = weight * a + (1 - weight) * b
        curve.append((exp(-scaling * _divergence(b, mixed)), exp(-scaling * _divergence(a, mixed))))
    curve.append((1.0, 0.0))
    curve.sort(key=lambda point: (point[0], -point[1]))
    steps = zip(curve, curve[1:], strict=False)
    return sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in steps)


@contextmanager
def _without_faiss_warnings() -> Iterator[None]:
    """Drop what faiss writes: that a tenth of the rows are many clusters, as is advised here.

    It writes to file descriptor 2, past `sys.stderr`, and its limit cannot be set through
    mauve-text. Errors of both are exceptions.
    """
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _divergence(p: Any, r: Any) -> float:
    """Return KL(p | r) in nats."""
    met = p > 0
    return float(np.sum(p[met] * np.log(p[met] / r[met])))


def _library() -> Any:
    try:
        import_module("faiss")
        return import_module("mauve").compute_mauve
    except ImportError:
        hint = "pip install 'genie_dp[mauve]', or leave it out with --no-mauve"
        raise GenieError(Problem("J001", "MAUVE needs mauve-text and faiss", hint=hint)) from None
