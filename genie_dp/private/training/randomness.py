"""Random bytes for batches and noise: of a cryptographic generator, or of a seed in tests.

torch's generator on CPUs is a Mersenne twister that takes 32 bits of a seed (torch 2.13: the seeds
1 and 1 + 2**32 draw the same). Whoever sees 624 of its numbers, as in the rows of an embedding that
no sentence of the batch used, knows all others. So nothing here comes from it.
"""

import math
import ssl
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from genie_dp.rng import child_seed

Bytes = Callable[[int, str, int], bytes]
# Numbers made at a time: noise for a large matrix needs little memory beside it.
_PIECE = 1 << 18
_UNIT = 2.0**-53
# torch's state on CPUs (ATen, CPUGeneratorImplStateLegacy): these bytes, then the twister's words,
# 8 bytes for each of 32 bits.
_BEFORE, _WORDS = 24, 624


def secure_bytes(count: int, purpose: str, step: int) -> bytes:
    """Return bytes that nobody can foretell, for any purpose.

    They are of OpenSSL's generator (AES-256 in counter mode, NIST SP 800-90A), which takes its seed
    from the operating system, again after a fork. 42 MB, the noise of 5.2M weights, take 0.025 s of
    a step of 2 s; the operating system itself takes 0.10 s (November 2026).
    """
    return ssl.RAND_bytes(count)


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
    """Return the source of a seed; None is the cryptographic one."""
    return secure_bytes if seed is None else seeded_bytes(seed)


def integers(draw: Bytes, count: int, purpose: str, step: int) -> npt.NDArray[np.uint64]:
    """Return uniform numbers of 64 bits."""
    return np.frombuffer(draw(8 * count, purpose, step), np.uint64)


def reseed_torch(draw: Bytes, step: int) -> None:
    """Let the random numbers of torch, such as those of dropout, follow from a source of bytes.

    `torch.manual_seed` takes 32 bits on CPUs, which can be tried one after the other; here the
    twister gets all of its state. Generators of GPUs (Philox) get 64 bits.
    """
    torch.manual_seed(int(integers(draw, 1, "torch", step)[0]))
    state = torch.get_rng_state()
    words = np.frombuffer(draw(4 * _WORDS, "twister", step), np.uint32).astype(np.uint64)
    state[_BEFORE : _BEFORE + 8 * _WORDS] = torch.from_numpy(words.view(np.uint8))
    torch.set_rng_state(state)


def gaussian(draw: Bytes, count: int, purpose: str, step: int) -> torch.Tensor:
    """Return (count,) independent draws of the standard normal distribution, in double precision.

    They are made as Box and Muller did (1958).

    Each has 53 random bits, so none is beyond 8.6 standard deviations: a chance of 1e-17 is cut.

    >>> abs(float(gaussian(seeded_bytes(0), 10_000, "noise", 0).std()) - 1) < 0.03
    True
    """
    normal = torch.empty(count, dtype=torch.float64)
    for start in range(0, count, _PIECE):
        size = min(_PIECE, count - start)
        bits = integers(draw, size + size % 2, f"{purpose}:{start}", step) >> np.uint64(11)
        normal[start : start + size] = _normal(bits)[:size]
    return normal


def _normal(bits: npt.NDArray[np.uint64]) -> torch.Tensor:
    """Return as many normal numbers as there are uniform ones of 53 bits, an even number."""
    # In place, and by torch: numpy takes six times as long for a cosine.
    first, second = torch.from_numpy(bits.view(np.int64)).double().chunk(2)
    radius = (first + 1.0).mul_(_UNIT).log_().mul_(-2.0).sqrt_()
    angle = second * (2.0 * math.pi * _UNIT)
    return torch.cat([radius * angle.cos(), radius * angle.sin_()])


Row = TypeVar("Row")


def sample_units(
    units: Sequence[Sequence[Row]], rate: float, *, draw: Bytes, step: int
) -> tuple[Row, ...]:
    """Return the rows of a step; there may be none.

    Every unit is drawn by itself with chance `rate`, as the accountant assumes (Abadi et al., 2016;
    not batches of a shuffled epoch). A drawn unit gives one of its rows, each with the same chance:
    it moves a step by one clipped gradient, however many rows it has.

    Args:
        units: rows by unit; a unit without rows is never drawn.
        rate: chance of each unit.
        draw: where random bytes come from.
        step: number of the step.
    """
    chosen_units = np.flatnonzero(_draw_units(len(units), rate, draw, step))
    places = integers(draw, len(chosen_units), "row", step).tolist()
    chosen = ((units[i], place) for i, place in zip(chosen_units.tolist(), places, strict=True))
    return tuple(rows[place % len(rows)] for rows, place in chosen if rows)


def _draw_units(
    count: int, rate: float, draw: Bytes, step: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which units are drawn: exact to 2**-64."""
    if rate >= 1:
        return np.ones(count, np.bool_)
    return integers(draw, count, "units", step) < np.uint64(int(rate * 2.0**64))
