"""Random bytes for batches and noise: of the operating system, or of a seed in tests.

torch's generator on CPUs is a Mersenne twister that takes 32 bits of a seed (torch 2.13: the seeds
1 and 1 + 2**32 draw the same). Whoever sees 624 of its numbers, as in the rows of an embedding that
no sentence of the batch used, knows all others. So nothing here comes from it.
"""

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from genie_dp.rng import child_seed

Bytes = Callable[[int, str, int], bytes]
Numbers = npt.NDArray[np.float64]
# Numbers made at a time, so that noise for a large matrix needs little memory beside it.
_PIECE = 1 << 20
_UNIT = 2.0**-53


def secure_bytes(count: int, purpose: str, step: int) -> bytes:
    """Return bytes of the operating system's cryptographic generator; what for does not matter."""
    return os.urandom(count)


def seeded_bytes(seed: int) -> Bytes:
    """Return a source whose bytes follow from seed, purpose and step: for tests, not for privacy.

    >>> draw = seeded_bytes(0)
    >>> draw(8, "noise", 1) == draw(8, "noise", 1), draw(8, "noise", 1) == draw(8, "noise", 2)
    (True, False)
    """

    def draw(count: int, purpose: str, step: int) -> bytes:
        return np.random.default_rng(child_seed(seed, purpose, step)).bytes(count)

    return draw


def source_of(seed: int | None) -> Bytes:
    """Return the source of a seed; None is the operating system's."""
    return secure_bytes if seed is None else seeded_bytes(seed)


def integers(draw: Bytes, count: int, purpose: str, step: int) -> npt.NDArray[np.uint64]:
    """Return uniform numbers of 64 bits."""
    return np.frombuffer(draw(8 * count, purpose, step), np.uint64)


def gaussian(draw: Bytes, count: int, purpose: str, step: int) -> Numbers:
    """Return independent draws of the standard normal distribution (Box and Muller, 1958).

    Each has 53 random bits, so none is beyond 8.6 standard deviations: a chance of 1e-17 is cut.

    >>> abs(gaussian(seeded_bytes(0), 10_000, "noise", 0).std() - 1) < 0.03
    True
    """
    found = np.empty(count)
    for start in range(0, count, _PIECE):
        size = min(_PIECE, count - start)
        bits = integers(draw, size + size % 2, f"{purpose}:{start}", step) >> np.uint64(11)
        found[start : start + size] = _normal(bits)[:size]
    return found


def _normal(bits: npt.NDArray[np.uint64]) -> Numbers:
    """Return as many normal numbers as there are uniform ones of 53 bits, an even number."""
    first, second = np.split(bits.astype(np.float64), 2)
    radius = np.sqrt(-2.0 * np.log((first + 1.0) * _UNIT))
    angle = second * (2.0 * np.pi * _UNIT)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
