"""Where rows lie: each gets a vector of unit length, and the nearest ones mean alike."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from genie_dp.records import Example

Vectors = NDArray[np.float32]
"""(rows, dimensions), each row of length 1, or all zeros where nothing is known of it."""


class Embedding(Protocol):
    """Places rows. It depends on public things alone: never on private rows."""

    def vectors(self, examples: Sequence[Example]) -> Vectors:
        """Return one vector of unit length for each row, (rows, dimensions)."""
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that the vectors depend on."""
        ...
