"""Random numbers of a private run: noise, and which units and rows a step sees."""

import math
from collections import Counter

import pytest

pytest.importorskip("opacus")

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.private.training.randomness import (
    gaussian,
    integers,
    reseed_torch,
    sample_units,
    secure_bytes,
    seeded_bytes,
)


@pytest.mark.parametrize("draw", [secure_bytes, seeded_bytes(3)])
def test_noise_is_normal(draw):
    """Chi-square of the variance and Kolmogorov's bound, both beyond 6 standard deviations."""
    count = 200_001
    noise = gaussian(draw, count, "noise", 0).numpy()
    assert noise.shape == (count,)
    assert abs(noise.mean()) < 6 / math.sqrt(count)
    assert abs((noise**2).sum() - count) < 6 * math.sqrt(2 * count)
    ranks = (np.arange(count) + 0.5) / count
    normal = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in np.sort(noise)[::100]])
    assert np.abs(normal - ranks[::100]).max() < 3.5 / math.sqrt(count)
    # The two halves of Box and Muller's pairs do not go together.
    assert abs(np.corrcoef(noise[: count // 2], noise[count // 2 : -1])[0, 1]) < 6 / 300


def test_no_draw_is_infinite_even_of_the_smallest_numbers():
    assert gaussian(lambda count, *_: bytes(count), 10, "noise", 0).isfinite().all()
    assert gaussian(lambda count, *_: b"\xff" * count, 10, "noise", 0).isfinite().all()


def test_bits_differ_by_step_purpose_and_draw():
    draw = seeded_bytes(0)
    assert integers(draw, 4, "units", 0).tolist() != integers(draw, 4, "row", 0).tolist()
    found = [
        tuple(gaussian(draw, 4, purpose, step).tolist()) for purpose in "ab" for step in (0, 1)
    ]
    assert len(set(found)) == 4
    assert secure_bytes(16, "noise", 0) != secure_bytes(16, "noise", 0)


def test_a_large_tensor_has_no_noise_twice():
    noise = gaussian(seeded_bytes(0), (1 << 20) + 5001, "noise", 0).numpy()
    assert len(np.unique(noise)) == len(noise)


def torch_draws(draw, count=10_000):
    with torch.random.fork_rng(devices=[]):
        reseed_torch(draw, 0)
        return torch.rand(count).double().numpy()


@settings(max_examples=30, deadline=None)
@given(place=st.integers(4, 4 * 624 - 1))
def test_what_torch_draws_follows_from_more_bytes_than_can_be_tried(place):
    """Each byte of the twister has a say, but those of its first word: it uses one bit of them."""

    def draw(count, purpose, step):
        bits = bytearray(seeded_bytes(0)(count, purpose, step))
        if purpose == "twister":
            bits[place] ^= 255
        return bytes(bits)

    assert np.array_equal(torch_draws(seeded_bytes(0)), torch_draws(seeded_bytes(0)))
    assert not np.array_equal(torch_draws(draw), torch_draws(seeded_bytes(0)))


def test_what_torch_draws_of_secret_bytes_is_uniform_and_never_the_same():
    first, second = torch_draws(secure_bytes), torch_draws(secure_bytes)
    assert not np.array_equal(first, second)
    ranks = (np.arange(len(first)) + 0.5) / len(first)
    for found in (first, second):
        assert np.abs(np.sort(found) - ranks).max() < 3.5 / math.sqrt(len(found))


# Sampling.


def test_each_unit_is_drawn_with_the_rate_by_itself():
    rate, count, steps = 0.3, 50, 2000
    known = [(i,) for i in range(count)]
    draw = seeded_bytes(0)
    found = [sample_units(known, rate, draw=draw, step=step) for step in range(steps)]
    by_unit = Counter(i for rows in found for i in rows)
    bound = 6 * math.sqrt(steps * rate * (1 - rate))
    assert all(abs(by_unit[i] - steps * rate) < bound for i in range(count))
    # Sizes are binomial: shuffled epochs or fixed batches would have no spread.
    variance = np.var([len(rows) for rows in found])
    assert 0.8 < variance / (count * rate * (1 - rate)) < 1.2


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 1000), max_size=20), seed=st.integers(0, 99))
def test_at_rate_one_each_unit_gives_one_row_however_many_it_has_and_none_without(sizes, seed):
    known = [[(i, j) for j in range(n)] for i, n in enumerate(sizes)]
    rows = sample_units(known, 1.0, draw=seeded_bytes(seed), step=0)
    assert [i for i, _ in rows] == [i for i, n in enumerate(sizes) if n]


def test_every_row_of_a_unit_comes_as_often_as_the_others():
    draw, steps = seeded_bytes(0), 6000
    found = Counter(sample_units(["abc"], 1.0, draw=draw, step=s)[0] for s in range(steps))
    bound = 6 * math.sqrt(steps * 2 / 9)
    assert all(abs(found[row] - steps / 3) < bound for row in "abc")
