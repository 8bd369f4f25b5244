"""The nearest rows, exactly: the same ones with every library, machine and size of block.

Vectors are rounded to whole numbers, and so small ones that every product and partial sum of a
similarity is a whole number below 2^24, which 32-bit floats hold exactly. So it does not depend on
the order in which a library adds, nor on which other rows are in a block. That matters for more
than tests: were a last digit to hang on its neighbours in a block, adding one private row could
turn the votes of others, and a unit would change more than its own vote.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem

Backend = Literal["numpy", "faiss"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
Whole = npt.NDArray[np.int16]
Places = npt.NDArray[np.int64]

# Length of a vector in whole numbers. Rounding adds at most sqrt(dimensions) / 2 to it, and its
# square must stay below 2^24: that holds up to MOST_DIMENSIONS.
LENGTH = 4000
MOST_DIMENSIONS = 8192
_EXACT = 1 << 24
# Similarities in memory at a time: 16 MB of 32-bit floats.
_BLOCK = 1 << 22
# Rows that are asked for beyond k, so that all that are as near as the last one are among them.
_BEYOND = 16


def whole(vectors: npt.NDArray[np.floating[Any]]) -> Whole:
    """Return vectors of length 1 (rows, dimensions) as whole numbers of length about `LENGTH`.

    >>> whole(np.array([[0.6, 0.8], [0.0, 0.0]])).tolist()
    [[2400, 3200], [0, 0]]

    Raises:
        ValueError: there are too many dimensions for exact sums, or vectors are longer than 1.
    """
    if vectors.ndim != 2 or vectors.shape[1] > MOST_DIMENSIONS:
        raise ValueError(f"expected up to {MOST_DIMENSIONS} dimensions, got shape {vectors.shape}")
    found = np.rint(vectors.astype(np.float64) * LENGTH)
    if not np.isfinite(found).all() or float((found * found).sum(axis=1).max(initial=0)) >= _EXACT:
        raise ValueError("expected vectors of length 1")
    return found.astype(np.int16)


def nearest(queries: Whole, rows: Whole, k: int, *, backend: Backend = "numpy") -> Places:
    """Return the places of the k rows most similar to each query, the most similar first.

    Of equally similar rows the first comes first. Similarity is the cosine of the whole numbers'
    exact inner product.

    Args:
        queries: (q, d), of `whole`.
        rows: (n, d), of `whole`.
        k: how many; all rows where there are fewer.
        backend: numpy, or the library faiss; both give the same.

    Returns:
        (q, min(k, n)) places.

    Raises:
        GenieError: U010, faiss is not installed.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    most = min(k, len(rows))
    if not len(queries) or not most:
        return np.zeros((len(queries), most), np.int64)
    return _SEARCHES[backend](queries, rows, most)


def _by_numpy(queries: Whole, rows: Whole, k: int) -> Places:
    turned = np.ascontiguousarray(rows.T, np.float32)
    size = max(1, _BLOCK // len(rows))
    blocks = (queries[i : i + size] for i in range(0, len(queries), size))
    return np.concatenate([_best(block.astype(np.float32) @ turned, k) for block in blocks])


def _best(similar: npt.NDArray[np.float32], k: int) -> Places:
    """Return the places of the k largest of each row; of equal ones, the first."""
    if k == 1:
        best: Places = similar.argmax(axis=1).astype(np.int64)[:, None]
        return best
    count = similar.shape[1]
    # Whole numbers below 2^24 times a count below 2^28 are exact in 64 bits, and no two are equal.
    keys = similar.astype(np.float64) * count - np.arange(count)
    chosen = np.argpartition(-keys, min(k, count - 1), axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(keys, chosen, axis=1), axis=1)
    found: Places = np.take_along_axis(chosen, order, axis=1).astype(np.int64)
    return found


def _by_faiss(queries: Whole, rows: Whole, k: int) -> Places:
    index = _faiss().IndexFlatIP(rows.shape[1])
    index.add(rows.astype(np.float32))
    wanted = min(len(rows), k + _BEYOND)
    size = max(1, _BLOCK // wanted)
    found = []
    for start in range(0, len(queries), size):
        block = queries[start : start + size]
        scores, places = index.search(block.astype(np.float32), wanted)
        chosen = _in_order(scores, places)[:, :k]
        if wanted < len(rows):
            # As near as the last that was asked for may be others, which come before these.
            unsure = np.flatnonzero(scores[:, k - 1] == scores[:, -1])
            chosen[unsure] = _by_numpy(block[unsure], rows, k) if len(unsure) else chosen[unsure]
        found.append(chosen)
    return np.concatenate(found)


def _in_order(scores: npt.NDArray[np.float32], places: Places) -> Places:
    """Return places by falling score, and of equal scores by place."""
    order = np.lexsort((places, -scores), axis=1)
    found: Places = np.take_along_axis(places, order, axis=1).astype(np.int64)
    return found


_SEARCHES: Mapping[Backend, Callable[[Whole, Whole, int], Places]] = {
    "numpy": _by_numpy,
    "faiss": _by_faiss,
}


def _faiss() -> Any:
    try:
        return import_module("faiss")
    except ImportError:
        hint = "pip install 'genie_dp[faiss]', or search with numpy, which finds the same"
        raise GenieError(Problem("U010", "faiss is not installed", hint=hint)) from None
