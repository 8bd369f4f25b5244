"""Settings for all tests: hypothesis profiles, golden files that can be rewritten, a browser."""

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import chrome_in
from tests.golden import Case, rewrite
from tests.scenarios import play  # noqa: F401
from tests.trained import made_once, trained, trained_calls, trained_german  # noqa: F401

# Deadlines are off, since a shared machine pauses. "ci" and "quick" draw the same examples every
# time; "quick" is what a person waits for (`make test`): a quarter of the examples of each law.
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=12)
settings.register_profile(
    "dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
settings.load_profile(PROFILE)

# Each worker has a core of its own: threads of matrices would wait for each other there, busily.
# This is before torch, faiss and the like are imported; processes that tests start have it, too.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Libraries and parsers are large, and the collector would look through them again and again.
gc.set_threshold(200_000, 50, 50)

_NUMBERS = count()
Golden = Callable[[Case, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite expected texts in tests/data with what the code gives now; review the diff",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use; shorten laws in profiles "ci" and "quick".

    A law that asks for more examples than the profile has gets its share of them, at least five.
    """
    few_examples = settings.default.max_examples
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "chrome" in fixtures:
            item.add_marker(pytest.mark.browser)
        if any(name.startswith("trained") for name in fixtures):
            item.add_marker(pytest.mark.trains)
        folder = item.path.relative_to(item.config.rootpath).parts
        if folder[0] == "docs" or item.path.suffix == ".md":
            item.add_marker(pytest.mark.docs)
        elif folder[:2] == ("tests", "benchmarks"):
            item.add_marker(pytest.mark.benchmarks)
        law = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
        if PROFILE != "dev" and law is not None and law.max_examples > few_examples:
            few = max(5, law.max_examples * few_examples // 100)
            item.obj._hypothesis_internal_use_settings = settings(law, max_examples=few)


@pytest.fixture(scope="session", autouse=True)
def _no_state_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests learn from private rows out of the user's list of such rows.

    A genie.yaml above the folders of tests changes nothing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GENIE_DP_STATE", str(tmp_path_factory.getbasetemp() / "state"))
        patch.setenv("GENIE_DP_PROJECT", "")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_full_collections() -> Iterator[None]:
    """Spare runs a look through all that the tests hold: half a second each."""
    quiet = SimpleNamespace(**vars(gc) | dict.fromkeys(("collect", "freeze", "unfreeze"), int))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("genie_dp.run.collector.gc", quiet)
        yield


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a list of its own: tests learn from the same rows under many ledgers."""
    folder = tmp_path_factory.getbasetemp() / f"state-{next(_NUMBERS)}"
    monkeypatch.setenv("GENIE_DP_STATE", str(folder))


@pytest.fixture(scope="session")
def _golden_updates(request: pytest.FixtureRequest) -> Iterator[dict[Path, dict[str, str]] | None]:
    if not request.config.getoption("--update-golden"):
        yield None
        return
    if os.environ.get("PYTEST_XDIST_WORKER"):
        raise pytest.UsageError("--update-golden writes files: run it without -n")
    updates: dict[Path, dict[str, str]] = defaultdict(dict)
    yield updates
    for path, actual in updates.items():
        rewrite(path, actual)


@pytest.fixture
def golden(_golden_updates: dict[Path, dict[str, str]] | None) -> Golden:
    """Return a check that a case gives its expected text; with --update-golden it is noted down."""

    def check(case: Case, actual: str) -> None:
        if _golden_updates is None:
            assert actual == case.expected, f"{case.path}:{case.line}: {case.name}"
        else:
            _golden_updates[case.path][case.name] = actual

    return check


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser without a screen; modules that use it are marked `needs_browser`."""
    with chrome_in(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
