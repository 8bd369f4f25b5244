"""A generator that is trained once for all tests that read its folder."""

import pytest

from tests.private.engines import checked_once


@pytest.fixture(scope="session")
def two_stage(tmp_path_factory):
    """Return a folder of rows with a ledger, `made` and, of public rows alone, `before`."""
    pytest.importorskip("opacus")
    from tests.private.generators.generators_setup import LEARNED, prepare, train

    folder = tmp_path_factory.mktemp("two_stage")
    prepare(folder)
    assert train(folder, "two-stage", *LEARNED, "--public-model", folder / "before") == 0
    return folder


@pytest.fixture(scope="module", autouse=True)
def _engines():
    pytest.importorskip("opacus")
    with checked_once():
        yield
