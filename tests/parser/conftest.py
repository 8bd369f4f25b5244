"""A parser that has learned its rows, for all tests of parsers; without torch there are none."""

from importlib.util import find_spec

from tests.parser.parser_setup import trained  # noqa: F401

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
