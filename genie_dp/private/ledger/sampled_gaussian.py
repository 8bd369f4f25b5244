"""Rényi divergences of a step of DP-SGD: Gaussian noise on a sum over a Poisson sample.

The formulas are those of dp_accounting's `rdp` accountant (Mironov, Talwar and Zhang, "Rényi
Differential Privacy of the Sampled Gaussian Mechanism", 2019, section 3.3), with all orders at
once: a choice of noise asks for dozens of such curves, and takes a tenth of the time.
"""

import math
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The library leaves an order out whose series is not done after so many terms.
_MOST_TERMS = 1000
# A series is done where both terms fall, and are this much smaller (in logarithms) than the sum.
_NEGLIGIBLE = 30.0


def sampled_gaussian_curve(noise: float, rate: float, orders: tuple[float, ...]) -> Floats:
    """Return the Rényi divergence of one step at each order, (orders,); infinity where unknown.

    Args:
        noise: standard deviation by the clipping norm, above 0.
        rate: chance of a unit to be in the sample, in (0, 1).
        orders: above 1.

    >>> sampled_gaussian_curve(1.0, 0.1, (2.0, 4.5)).round(6).tolist()
    [0.017037, 0.08424]
    """
    alphas = np.array(orders, np.float64)
    whole = alphas == np.floor(alphas)
    moments = np.empty(len(alphas))
    moments[whole] = _whole_moments(noise, rate, tuple(alphas[whole]))
    moments[~whole] = _other_moments(noise, rate, alphas[~whole])
    curve: Floats = moments / (alphas - 1)
    return curve


def _whole_moments(noise: float, rate: float, orders: tuple[float, ...]) -> Floats:
    """Return log A of whole orders: a binomial sum each (section 3.3, equation 8)."""
    if not orders:
        return np.empty(0)
    starts, order, i, combinations = _binomial_terms(orders)
    terms = combinations + i * math.log(rate) + (order - i) * math.log1p(-rate)
    terms += (i * i - i) / (2 * noise**2)
    moments: Floats = np.logaddexp.reduceat(terms, starts)
    return moments


@cache
def _binomial_terms(orders: tuple[float, ...]) -> tuple[NDArray[np.intp], Floats, Floats, Floats]:
    """Return where each order's terms begin, and of each term its order, i, and log (order i)."""
    counts = np.array(orders, np.intp) + 1
    order = np.repeat(np.array(orders), counts)
    i = np.concatenate([np.arange(count, dtype=np.float64) for count in counts])
    return np.cumsum(counts) - counts, order, i, _log_binomial(order, i)


def _log_binomial(n: Any, k: Any) -> Any:
    gammaln = import_module("scipy.special").gammaln
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def _other_moments(noise: float, rate: float, orders: Floats) -> Floats:
    """Return log A of orders that are not whole: two series each, below and above z0."""
    log_ndtr = import_module("scipy.special").log_ndtr
    log_in, log_out = math.log(rate), math.log1p(-rate)
    z0 = noise**2 * math.log(1 / rate - 1) + 0.5
    moments = np.full(len(orders), np.inf)
    places = np.arange(len(orders))
    below = above = last_below = last_above = np.full(len(orders), -np.inf)
    for i in range(_MOST_TERMS):
        order = orders[places]
        j = order - i
        # The magnitude of a coefficient whatever its sign: the sum is a bound.
        binomial = _log_binomial(order, i)
        term_below = binomial + i * log_in + j * log_out + (i * i - i) / (2 * noise**2)
        term_below += log_ndtr((z0 - i) / noise)
        term_above = binomial + j * log_in + i * log_out + (j * j - j) / (2 * noise**2)
        term_above += log_ndtr((j - z0) / noise)
        below, above = np.logaddexp(below, term_below), np.logaddexp(above, term_above)
        total = np.logaddexp(below, above)
        done = (term_below < last_below) & (term_above < last_above)
        done &= np.maximum(term_below, term_above) < total - _NEGLIGIBLE
        moments[places[done]] = total[done]
        places, below, above = places[~done], below[~done], above[~done]
        last_below, last_above = term_below[~done], term_above[~done]
        if not len(places):
            break
    return moments
