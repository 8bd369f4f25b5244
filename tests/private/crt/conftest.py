"""Noise of a seed, and engines that are checked once, for all tests of this folder."""

import pytest

from genie_dp.private.secure import _seeded
from tests.private.engines import checked_once


@pytest.fixture(scope="module", autouse=True)
def _engines():
    pytest.importorskip("opacus")
    with checked_once(), _seeded(0):
        yield
