"""Child random streams by name, so that adding a stage never moves another stage's draws."""

import hashlib
import random


def child_seed(seed: int | str, *names: object) -> int:
    """Return a 64-bit seed for the stream of that name; the same in every process and platform.

    >>> child_seed(0, "synthesis") == child_seed(0, "synthesis")
    True
    >>> child_seed(0, "synthesis") == child_seed(0, "augment")
    False
    """
    text = ":".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def stream(seed: int | str, *names: object) -> random.Random:
    """Return a generator for the stream of that name."""
    return random.Random(child_seed(seed, *names))
