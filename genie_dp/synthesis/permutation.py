"""Seeded permutations of range(n) that can be read at any place, many at a time.

A four-round Feistel network on the smallest even number of bits that holds n, with cycle walking
(Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002). Every array operation treats all
rows of a block at once; each row may have its own n and key.
"""

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
_ROUNDS = 4


def permute(index: U64, size: U64, key: U64) -> U64:
    """Return the images of `index` under the permutations of range(size) chosen by `key`.

    All three have shape (rows,); index < size, size <= 2**62.

    >>> n = np.full(5, 5, np.uint64)
    >>> sorted(permute(np.arange(5, dtype=np.uint64), n, n).tolist())
    [0, 1, 2, 3, 4]
    """
    half = _half_bits(size)
    result = _network(index, half, key)
    outside = np.flatnonzero(result >= size)
    while outside.size:
        result[outside] = _network(result[outside], half[outside], key[outside])
        outside = outside[result[outside] >= size[outside]]
    return result


def _half_bits(size: U64) -> U64:
    largest = np.maximum(size, np.uint64(2)) - np.uint64(1)
    bits = np.floor(np.log2(largest.astype(np.float64))).astype(np.uint64) + np.uint64(1)
    # log2 in floating point may be one short just below a power of two
    bits += (largest >> bits) > 0
    return (bits + np.uint64(1)) >> np.uint64(1)


def _network(value: U64, half: U64, key: U64) -> U64:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = value >> half, value & mask
    for number in range(_ROUNDS):
        left, right = right, left ^ (_mix(right + key, number) & mask)
    return (left << half) | right


def _mix(value: U64, number: int) -> U64:
    # splitmix64's finaliser (Steele, Lea, Flood 2014), with the round number as the stream
    with np.errstate(over="ignore"):
        mixed = value + np.uint64(0x9E3779B97F4A7C15 * (number + 1) & 0xFFFFFFFFFFFFFFFF)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
