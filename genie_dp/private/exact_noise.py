"""Exact samplers of the discrete Gaussian and Laplace distributions, in whole numbers alone.

Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), section 5,
for many draws at a time. No number is rounded: every probability is that of a comparison of whole
numbers, so floating-point noise cannot disclose the number it was added to (Mironov, 2012). Of the
time that a draw takes nothing is hidden.
"""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Whole: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

# Scales beyond have sums that 64 bits do not hold.
LARGEST = 1 << 41
# A Laplace draw of more scales is drawn again: it has a chance of e^-LONGEST.
LONGEST = 1000


def uniform(below: Whole, rng: Random) -> Whole:
    """Return a uniform number of 0 .. below - 1 for each bound, by rejection.

    >>> uniform(np.array([1, 1, 1]), Random(0)).tolist()
    [0, 0, 0]
    """
    bounds = below.astype(np.uint64)
    # Of 2^64 numbers those are refused that do not make whole rounds.
    refused = (np.uint64(2**64 - 1) % bounds + np.uint64(1)) % bounds
    numbers = np.empty(len(bounds), np.uint64)
    open_places = np.arange(len(bounds))
    while len(open_places):
        bits = np.frombuffer(rng.randbytes(8 * len(open_places)), np.uint64)
        fine = bits <= np.uint64(2**64 - 1) - refused[open_places]
        numbers[open_places[fine]] = bits[fine] % bounds[open_places[fine]]
        open_places = open_places[~fine]
    return numbers.astype(np.int64)


def _each(places: Whole, value: int) -> Whole:
    return np.full(len(places), value, np.int64)


def _alternating(count: int, go_on: Callable[[Whole, int], Flags]) -> Flags:
    """Return for each place whether the first step at which it does not go on is an odd one.

    Where step k goes on with chance x / k, that has the chance e^-x (algorithm 1 of the paper).

    Args:
        count: how many places there are.
        go_on: returns which of the places go on, given them and the number of the step from 1 on.
    """
    accepted = np.zeros(count, np.bool_)
    places, step = np.arange(count), 1
    while len(places):
        goes = go_on(places, step)
        accepted[places[~goes]] = step % 2 == 1
        places, step = places[goes], step + 1
    return accepted


def bernoulli_exp(numbers: Whole, of: Whole, rng: Random) -> Flags:
    """Return True with chance exp(-number / of) for each pair, where no number is greater.

    >>> chosen = bernoulli_exp(np.full(4000, 1), np.full(4000, 2), Random(1))
    >>> abs(float(chosen.mean()) - 0.6065) < 0.03
    True
    """

    def go_on(places: Whole, step: int) -> Flags:
        less = uniform(of[places], rng) < numbers[places]
        both: Flags = less & (uniform(_each(places, step), rng) == 0)
        return both

    return _alternating(len(numbers), go_on)


def _all_of(times: Whole, draw: Callable[[Whole], Flags]) -> Flags:
    """Return for each place whether all of so many draws are true."""
    true = np.ones(len(times), np.bool_)
    turn, places = 0, np.flatnonzero(times > 0)
    while len(places):
        true[places] = draw(places)
        turn += 1
        places = places[true[places] & (times[places] > turn)]
    return true


def discrete_laplace(scale: int, count: int, rng: Random) -> Whole:
    """Return whole numbers x with chances proportional to exp(-|x| / scale), (count,).

    Algorithm 2 of the paper.

    Args:
        scale: a whole number of at least 1.
        count: how many.
        rng: the system's generator; another one only in tests.

    >>> drawn = discrete_laplace(1, 4000, Random(2))
    >>> abs(float((drawn == 0).mean()) - 0.4621) < 0.03  # (e - 1) / (e + 1)
    True
    """
    _check(scale)
    noise = np.empty(count, np.int64)
    places = np.arange(count)
    while len(places):
        rest = uniform(_each(places, scale), rng)
        fine = bernoulli_exp(rest, _each(places, scale), rng)
        places_fine, rest = places[fine], rest[fine]
        whole = _count_ones(len(rest), rng)
        is_negative = uniform(_each(rest, 2), rng) == 1
        size = rest + scale * whole
        # Else 0 would be twice as likely.
        accepted = ~(is_negative & (size == 0)) & (whole < LONGEST)
        noise[places_fine[accepted]] = np.where(is_negative, -size, size)[accepted]
        places = np.concatenate([places[~fine], places_fine[~accepted]])
    return noise


def _count_ones(count: int, rng: Random) -> Whole:
    """Return how often each of `count` draws of chance 1/e was true before it was not."""
    ones = np.zeros(count, np.int64)
    places = np.arange(count)
    while len(places):
        unit = _each(places, 1)
        places = places[bernoulli_exp(unit, unit, rng)]
        ones[places] += 1
    return ones


def discrete_gaussian(deviation: int, count: int, rng: Random) -> Whole:
    """Return whole numbers x with chances proportional to exp(-x^2 / (2 deviation^2)), (count,).

    Algorithm 3 of the paper, with a Laplace draw of the same scale: it is taken with the chance
    exp(-z^2 / (2 deviation^2)), z being the distance of its size from the deviation.

    Args:
        deviation: a whole number of at least 1.
        count: how many.
        rng: the system's generator; another one only in tests.

    >>> drawn = discrete_gaussian(1000, 4000, Random(3))
    >>> abs(float(drawn.std()) - 1000) < 40
    True
    """
    _check(deviation)
    noise = np.empty(count, np.int64)
    places = np.arange(count)
    while len(places):
        tried = discrete_laplace(deviation, len(places), rng)
        taken = _exp_of_square(np.abs(np.abs(tried) - deviation), deviation, rng)
        noise[places[taken]] = tried[taken]
        places = places[~taken]
    return noise


def _exp_of_square(numbers: Whole, of: int, rng: Random) -> Flags:
    """Return True with chance exp(-(number / of)^2 / 2).

    With number = m of + r this is exp(-m^2 / 2) exp(-m r / of) exp(-(r / of)^2 / 2), where no
    product needs more than 64 bits.
    """
    m, r = np.divmod(numbers, of)

    def half(places: Whole) -> Flags:
        return bernoulli_exp(_each(places, 1), _each(places, 2), rng)

    def mix(places: Whole) -> Flags:
        return bernoulli_exp(r[places], _each(places, of), rng)

    def go_on(places: Whole, step: int) -> Flags:
        first, second = (uniform(_each(places, of), rng) < r[places] for _ in range(2))
        all_three: Flags = first & second & (uniform(_each(places, 2 * step), rng) == 0)
        return all_three

    taken = _all_of(m * m, half)
    taken[taken] = _all_of(m[taken], lambda places: mix(np.flatnonzero(taken)[places]))
    squares = _alternating(len(numbers), go_on)
    return taken & squares


def _check(scale: int) -> None:
    if not 1 <= scale <= LARGEST:
        raise ValueError(f"expected a scale from 1 to 2^41, got {scale}")
