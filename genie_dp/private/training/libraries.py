"""The optional libraries of private training, and what they do to others when imported."""

import logging

from genie_dp.errors import GenieError, Problem


def need_opacus() -> None:
    """Import Opacus, and take back what it does to the log of the program.

    Opacus 1.6 sets up the root logger when imported (`opacus/utils/module_utils.py`): from then on
    messages of all libraries would be on stderr.

    Raises:
        GenieError: it is not installed (Q020).
    """
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        import opacus.optimizers.optimizer  # noqa: F401
    except ImportError as problem:
        hint = "pip install 'genie_dp[private]'"
        message = "training with differential privacy needs Opacus"
        raise GenieError(Problem("Q020", message, hint=hint)) from problem
    root.handlers[:] = before
