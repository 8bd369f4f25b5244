"""Samplers of discrete noise: their chances are those of the formula, and sums stay on the grid."""

import math
from collections import Counter
from random import Random, SystemRandom

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private import secure
from genie_dp.private.exact_noise import (
    LARGEST,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    uniform,
)
from genie_dp.private.prior.histogram import Noise

DRAWS = 40_000


def check_chances(drawn, chances):
    """Compare draws with chances: a chi-square statistic within 5 standard deviations."""
    found, of = Counter(drawn.tolist()), len(drawn)
    often = {x: p for x, p in chances.items() if p * of >= 10}
    rare = of - sum(found[x] for x in often)
    terms = [(found[x] - p * of) ** 2 / (p * of) for x, p in often.items()]
    if (left := 1 - sum(often.values())) * of >= 1:
        terms.append((rare - left * of) ** 2 / (left * of))
    freedom = len(terms) - 1
    assert sum(terms) < freedom + 5 * math.sqrt(2 * max(freedom, 1))


@pytest.mark.parametrize(
    ("draw", "scale", "log"),
    [(discrete_gaussian, scale, lambda x: -(x**2) / 2) for scale in (1, 2, 7)]
    + [(discrete_laplace, scale, lambda x: -abs(x)) for scale in (1, 3)],
)
def test_draws_have_the_chances_of_the_formula(draw, scale, log):
    weights = {x: math.exp(log(x / scale)) for x in range(-60 * scale, 60 * scale)}
    chances = {x: weight / math.fsum(weights.values()) for x, weight in weights.items()}
    check_chances(draw(scale, DRAWS, Random(f"{draw.__name__} {scale}")), chances)


@pytest.mark.parametrize("below", [1, 3, 10, 2**40 + 7])
def test_uniform_draws_are_alike(below):
    drawn = uniform(np.full(DRAWS, below), Random(f"uniform {below}"))
    parts = min(below, 10)
    check_chances(drawn // -(-below // parts), dict.fromkeys(range(parts), 1 / parts))
    assert drawn.min() >= 0
    assert drawn.max() < below


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 50), st.data())
def test_a_flag_has_the_chance_of_the_exponential(of, data):
    number = data.draw(st.integers(0, of))
    flags = bernoulli_exp(np.full(4000, number), np.full(4000, of), Random(f"{number} {of}"))
    chance = math.exp(-number / of)
    assert abs(flags.mean() - chance) <= 5 * math.sqrt(chance * (1 - chance) / 4000)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize(("scale", "grain"), [(0.3, 1.0), (12.5, 2.0**-20), (3e6, 1.0)])
def test_noise_is_as_wide_as_is_said_and_lies_on_a_grid_of_counts(kind, scale, grain):
    noise = Noise(kind, scale, grain)
    drawn = noise.draw(4000, Random(f"{kind} {scale}"))
    assert (grain / noise.grid).is_integer()
    assert scale <= noise.steps * noise.grid < scale * (1 + 2.0**-29)
    assert (drawn / noise.grid == np.rint(drawn / noise.grid)).all()
    assert drawn.std() == pytest.approx(noise.deviation, rel=0.1)
    # What rounding to the grid would have, at the median and in the tail.
    for beyond in (0.5, 0.1):
        assert (drawn > noise.quantile(beyond)).mean() == pytest.approx(beyond, abs=0.03)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_discrete_and_rounded_noise_are_as_near_as_is_said(kind):
    # At 2^10 steps instead of 2^30: what falls with the square of the step, or with the step.
    steps = 1 << 10
    places = np.arange(-20 * steps, 20 * steps + 1)
    if kind == "gaussian":
        limit = (20 / steps) ** 2
        weights = np.exp(-((places / steps) ** 2) / 2)

        def below(x):
            return 0.5 * math.erfc(-x / math.sqrt(2))

    else:
        limit = 1 / steps
        weights = np.exp(-np.abs(places / steps))

        def below(x):
            return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)

    discrete = weights / weights.sum()
    some = [0, 1, -1, 5 * steps, -5 * steps, -8 * steps]
    for place in some:
        # Of the lower tail, where differences are exact.
        at = -abs(place)
        cell = below((at + 0.5) / steps) - below((at - 0.5) / steps)
        found = discrete[place + 20 * steps]
        assert abs(math.log(found / cell)) < limit + 1e-6


def test_noise_comes_from_the_system_unless_a_test_says_otherwise():
    assert isinstance(secure.noise("any"), SystemRandom)
    with secure._seeded(4):
        one, same = (Noise("gaussian", 2.0).draw(5, secure.noise("a")) for _ in range(2))
        other = Noise("gaussian", 2.0).draw(5, secure.noise("b"))
    assert (one == same).all()
    assert (one != other).any()


def test_a_scale_that_64_bits_do_not_hold_is_refused():
    with pytest.raises(GenieError, match="B004"):
        Noise("gaussian", 4.0 * LARGEST).draw(1, Random(0))
    with pytest.raises(ValueError, match="scale"):
        discrete_laplace(0, 1, Random(0))
