"""Services of invented parsers, which end with the test; without their libraries there are none."""

from importlib.util import find_spec

import pytest

from tests.serve.serve_parsers import client_of, service_of

collect_ignore = [
    f"test_serve_{name}.py" for name in ("mcp", "openai", "wyoming") if not find_spec(name)
]


@pytest.fixture
def serving():
    """Return a function that makes a service."""
    made = []

    def serve(parser=None, **config):
        made.append(service_of(parser, **config))
        return made[-1]

    yield serve
    for service in made:
        if hasattr(service.parser, "go"):
            service.parser.go.set()
        service.close(20)


@pytest.fixture
def ask(serving):
    """Return a function that makes the client of a service."""
    return lambda parser=None, **config: client_of(serving(parser, **config))
