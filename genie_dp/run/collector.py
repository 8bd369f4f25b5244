"""The garbage collector, which long runs do without: their data stay to the end."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def leave_to_the_end() -> None:
    """Let the collector pass over all that is there: it stays until the process ends.

    Else it looks through a parser's grammar again and again, a fifth of a second each time, which
    a sentence has to wait for (November 2026).
    """
    gc.collect()
    gc.freeze()


@contextmanager
def collector_off() -> Iterator[None]:
    """Switch the collector off: rows hold no cycles, and lists stay to the end.

    It would cost a twentieth of the time of `augment` (November 2026). Workers inherit it.
    """
    was_on = gc.isenabled()
    leave_to_the_end()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
