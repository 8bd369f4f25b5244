"""What holds of all tests of confidential training: engines are checked once, noise has a seed."""

import pytest

from genie_dp.private.secure import _seeded
from tests.private.engines import engines_checked_once  # noqa: F401


@pytest.fixture(scope="module", autouse=True)
def _noise_of_a_seed():
    with _seeded(0):
        yield
