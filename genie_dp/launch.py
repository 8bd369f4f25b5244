"""Start of the command line: Ctrl-C ends it quietly from here on, also while Python imports.

The console script and `cli.py` import this before all else, and nothing else does: a library leaves
the signals of its user alone. Before this module Python itself starts, and prints its own messages.
"""

# What `signal` wraps, which takes longer to import than all that is here.
import _signal as signals  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False  # see genie_dp/__init__.py
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130


def _leave(_number: object = None, _frame: object = None) -> "NoReturn":
    """End at once: there is nothing to lose before the command runs, and after it."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


# Of a job in the background of a shell Python leaves the signal ignored, and so do we.
_IS_OURS = signals.getsignal(signals.SIGINT) is signals.default_int_handler
if _IS_OURS:
    signals.signal(signals.SIGINT, _leave)


def _tell_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Interrupt again where an interruption came to a place that nothing can be raised from."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        signals.raise_signal(signals.SIGINT)
    else:
        sys.__unraisablehook__(unraisable)


def main() -> "NoReturn":
    """Run the command line and leave with its exit code (`genie_dp.cli.main`)."""
    from genie_dp.cli import run

    sys.unraisablehook = _tell_unraisable
    try:
        if _IS_OURS:
            signals.signal(signals.SIGINT, signals.default_int_handler)
        code = run()
        if _IS_OURS:
            signals.signal(signals.SIGINT, _leave)
    except KeyboardInterrupt:
        _leave()
    except RuntimeError as error:
        # Python 3.11 wraps what comes while a class is made.
        if isinstance(error.__cause__, KeyboardInterrupt):
            _leave()
        raise
    sys.exit(code)
