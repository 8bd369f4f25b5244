"""MAUVE: how near the distribution of synthetic sentences lies to that of real ones."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any, Protocol

import numpy as np
import xxhash

from genie_dp.errors import GenieError, Problem
from genie_dp.rng import child_seed

_WIDTH = 512
_GRAMS = (3, 4)  # characters


class Featuriser(Protocol):
    """Whatever turns sentences into vectors.

    Attributes:
        name: of the vectors; figures of different featurisers cannot be compared.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def features(self, utterances: Sequence[str]) -> Any:
        """Return (N, d) vectors of N sentences, 32-bit floats."""


class HashedNgrams:
    """Words, pairs of words and character 3- and 4-grams, hashed into a fixed number of places.

    Nothing is learned and nothing loaded: a sentence has one vector, whatever it is compared with,
    in every run and on every machine, so that figures can be compared between runs (an inverse
    document frequency or a decomposition of the rows at hand would be another featuriser for each
    pair of files). Signs are hashed too, so that collisions cancel (Weinberger et al. 2009). Each
    kind of n-gram has the same weight; a repeated one counts by its square root.
    """

    name = f"hashed n-grams: words 1-2, characters 3-4, {_WIDTH} dimensions"

    def features(self, utterances: Sequence[str]) -> Any:
        """Return (N, d) vectors of length 1; that of a sentence without words is 0.

        >>> HashedNgrams().features(["wake me up", "wake me up"]).shape
        (2, 512)
        """
        features = np.zeros((len(utterances), _WIDTH), np.float32)
        for row, utterance in zip(features, utterances, strict=True):
            for kind in _kinds(utterance.lower().split()):
                _add(row, kind)
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        return np.divide(features, lengths, out=features, where=lengths > 0)


def _kinds(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the n-grams of a sentence, a list for each kind."""
    yield [f"1 {word}" for word in words]
    yield [f"2 {a} {b}" for a, b in pairwise(["<s>", *words, "</s>"])]
    text = f" {' '.join(words)} "
    yield [f"c {text[i : i + n]}" for n in _GRAMS for i in range(len(text) - n + 1)]


def _add(row: Any, grams: Sequence[str]) -> None:
    counts: dict[str, int] = {}
    for gram in grams:
        counts[gram] = counts.get(gram, 0) + 1
    length = sum(counts.values()) ** 0.5
    for gram, count in counts.items():
        hashed = xxhash.xxh3_64_intdigest(gram.encode())
        sign = 1.0 if hashed >> 63 else -1.0
        row[hashed % _WIDTH] += sign * count**0.5 / length


SCALING = 5.0  # Pillutla et al. 2021, section 2, and the default of mauve-text
POINTS = 25  # of the curve, as in mauve-text


@dataclass(frozen=True, slots=True)
class MauveSettings:
    """The settings of a MAUVE figure, beside the rows; figures are compared at equal settings.

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
        featuriser: the name of the vectors.
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
        featuriser: name of the vectors' featuriser.

    Raises:
        GenieError: see `mauve`.
    """
    options = settings or MauveSettings()
    buckets = options.buckets_for(min(len(real), len(synthetic)))
    if len(real) + len(synthetic) < buckets:
        # How many there are is private where rows are.
        message = f"expected {buckets} rows in both files together, one a bucket, got fewer"
        raise GenieError(Problem("J002", message, hint="lower --buckets, or compare more rows"))
    compute = _library()
    scores = []
    for run in range(options.runs):
        seed = child_seed(options.seed, "mauve", run) % 2**31
        with _without_faiss_warnings():
            result = compute(
                p_features=real,
                q_features=synthetic,
                num_buckets=buckets,
                mauve_scaling_factor=SCALING,
                divergence_curve_discretization_size=POINTS,
                seed=seed,
            )
        scores.append(float(result.mauve))
    return Mauve(tuple(scores), buckets, featuriser)


@contextmanager
def _without_faiss_warnings() -> Iterator[None]:
    """Drop the warning of faiss that a tenth of the rows are many clusters, as is advised here.

    It writes to file descriptor 2, past `sys.stderr`, and its limit cannot be set through
    mauve-text. Errors of both are exceptions.
    """
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


def _library() -> Any:
    try:
        import_module("faiss")
        return import_module("mauve").compute_mauve
    except ImportError:
        hint = "pip install 'genie_dp[mauve]', or leave it out with --no-mauve"
        raise GenieError(Problem("J001", "MAUVE needs mauve-text and faiss", hint=hint)) from None
