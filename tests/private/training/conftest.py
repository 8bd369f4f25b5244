"""What tests of private training share."""

import pytest


@pytest.fixture
def seeded_and_unchecked(request, monkeypatch):
    """Draw noise from a seed, and skip the comparison of engines unless the test needs it.

    The comparison takes longer than these runs.
    """
    from genie_dp.private.secure import _seeded
    from genie_dp.private.training import check

    if "checked" not in request.fixturenames:
        monkeypatch.setattr(check, "check_engine", lambda *_, **__: None)
    with _seeded(0):
        yield


@pytest.fixture
def checked():
    """Mark a test that needs the comparison of engines."""
