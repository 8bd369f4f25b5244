"""What holds of all tests of generators."""

from tests.private.engines import engines_checked_once  # noqa: F401
