"""Where noise comes from: the system's cryptographic generator.

A seed in its place is for tests and benchmarks on made-up rows, which compare runs. It is no
argument of anything: whoever writes `with _seeded(1):` knows that nothing is promised then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from random import Random, SystemRandom

from genie_dp.rng import stream

SEEDED = "noise and batches came from a seed: there is no guarantee towards anybody who knows it"
_seed: ContextVar[int | None] = ContextVar("seed", default=None)


def seed_of_tests() -> int | None:
    """Return the seed that a test has set; None everywhere else."""
    return _seed.get()


def noise(*purpose: str | int) -> Random:
    """Return the generator of a release's noise; in a test with a seed, its purpose decides."""
    seed = _seed.get()
    return SystemRandom() if seed is None else stream(seed, *purpose)


@contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Draw noise from a seed within the block, or from the system again: for made-up rows."""
    before = _seed.set(seed)
    try:
        yield
    finally:
        _seed.reset(before)
