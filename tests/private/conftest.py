"""What tests of commands that release figures share."""

import pytest

from genie_dp.private.prior.histogram import Noise
from genie_dp.private.secure import _seeded

BULK = 5_000


@pytest.fixture
def known_noise():
    """Draw the noise of this process from a seed: what intervals say holds 95 times of 100."""
    with _seeded(0):
        yield


@pytest.fixture
def noise_in_bulk(monkeypatch):
    """Draw the same noise thousands of times at once, which takes a tenth of the time."""
    whole, pools = Noise.draw, {}

    def draw(self, count, rng):
        pool = pools.get(self, ())
        if len(pool) < count:
            pool = whole(self, BULK, rng)
        pools[self] = pool[count:]
        return pool[:count]

    monkeypatch.setattr(Noise, "draw", draw)
