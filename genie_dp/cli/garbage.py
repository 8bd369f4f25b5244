"""What the garbage collector need not look at."""

import gc


def leave_to_the_end() -> None:
    """Let the collector pass over all that is there: it stays until the process ends.

    Else it looks through a parser's grammar again and again, a fifth of a second each time, which
    a sentence has to wait for (November 2026).
    """
    gc.collect()
    gc.freeze()
