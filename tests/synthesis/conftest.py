"""Invented projects of which tests only read: each is written once."""

import pytest

from tests.synthesis.synthesis_project import RAISING, errands, notes


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A grammar of S-expressions that never runs out of sentences."""
    return errands(tmp_path_factory.mktemp("errands"))


@pytest.fixture(scope="session")
def raising(tmp_path_factory):
    """The same, with a Python function that raises for some sentences."""
    return errands(tmp_path_factory.mktemp("raising"), RAISING)


@pytest.fixture(scope="session")
def thingtalk(tmp_path_factory):
    """Two skills in ThingTalk and a small grammar."""
    return notes(tmp_path_factory.mktemp("notes"))
