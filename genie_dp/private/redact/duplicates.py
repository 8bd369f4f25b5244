"""Data points that were there before: equal ones by hash, alike ones by MinHash.

Points are added as they are read; nothing is kept of them but a hash and, for alike ones, their
letters packed and 16 keys: 300 MB for a million (benchmarks/redaction.py). `later` then marks the
points that have an equal or alike one before them.

Points are equal if all that redaction reads is equal, kept fields as well: then it does not matter
which of several stays, and one row more changes no other (docs/research/redaction.md). Alike ones
are looked for within a unit, where there is one: the results for a unit follow from its own rows.
"""

import hashlib
import json
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.private.redact.rows import Point

# 16 bands of 4 rows: a pair of Jaccard similarity 0.8 shares a band with probability 0.9998.
_BANDS, _ROWS = 16, 4
_SEED = 1
_GRAM = 5
_AT_ONCE = 2048
_DIGEST = 16


class Duplicates:
    """The hashes of the points so far."""

    def __init__(self, near: float | None = None, *, unit_field: str | None = None):
        """Look for equal points, and with `near` for those of at least that Jaccard similarity.

        Args:
            near: of the utterances; None for equal points alone.
            unit_field: kept field that names units: points of two of them are never compared.

        Raises:
            GenieError: rensa is missing (E002), or `near` is no similarity above 0.5 (E006).
        """
        if near is not None and not 0.5 <= near < 1:
            message = f"expected a similarity from 0.5 to below 1, got {near}"
            raise GenieError(Problem("E006", message, hint="0.8 is usual"))
        self.near, self.unit_field = near, unit_field
        self._units, self._numbers = array("Q"), dict[str, int]()
        self._digests = bytearray()
        self._texts, self._ends = bytearray(), [0]
        self._waiting: list[list[str]] = []
        self._keys = bytearray()
        self._minhash: Any = _minhash() if near is not None else None

    def add(self, point: Point) -> None:
        """Add the next point."""
        language = "" if point.program is None else point.language
        whole = json.dumps([point.utterance, point.program, language, point.fields])
        self._digests += hashlib.blake2b(whole.encode(), digest_size=_DIGEST).digest()
        if self.near is None:
            return
        unit = "" if self.unit_field is None else dict(point.fields)[self.unit_field]
        self._units.append(self._numbers.setdefault(unit, len(self._numbers)))
        folded = " ".join(point.utterance.casefold().split())
        self._texts += folded.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._texts))
        self._waiting.append(list(_grams(folded)))
        if len(self._waiting) == _AT_ONCE:
            self._hash()

    def later(self) -> npt.NDArray[np.bool_]:
        """Return for each point whether one before it, of its unit, is equal or alike."""
        digests = np.frombuffer(bytes(self._digests), dtype=f"V{_DIGEST}")
        out = np.ones(len(digests), np.bool_)
        if not len(out):
            return out
        _, first = np.unique(digests, return_index=True)
        out[first] = False
        if self.near is not None:
            self._hash()
            keys = np.frombuffer(self._keys, np.uint64).reshape(-1, _BANDS)
            units = np.frombuffer(self._units, np.uint64)
            for band in range(_BANDS):
                self._mark(units, keys[:, band], out)
        return out

    def _hash(self) -> None:
        """Make the keys of the points that wait: one of each band's four hashes."""
        if not self._waiting:
            return
        rows = self._minhash.digests_from_token_sets(self._waiting, _BANDS * _ROWS, _SEED)
        parts = np.array(rows, np.uint64).reshape(-1, _BANDS, _ROWS)
        key = np.zeros(parts.shape[:2], np.uint64)
        for i in range(_ROWS):
            # A polynomial modulo 2 ** 64 with an odd base: equal parts give equal keys, and keys
            # that are equal by chance are told apart by the letters.
            key = key * np.uint64(0x9E3779B97F4A7C15) + parts[:, :, i]
        self._keys += key.astype(np.uint64).tobytes()
        self._waiting = []

    def _mark(
        self,
        units: npt.NDArray[np.uint64],
        keys: npt.NDArray[np.uint64],
        out: npt.NDArray[np.bool_],
    ) -> None:
        """Mark points that are alike to the first, or the one before, of their unit and key."""
        order = np.lexsort((keys, units))
        ranked, owners = keys[order], units[order]
        begins = (ranked[1:] != ranked[:-1]) | (owners[1:] != owners[:-1])
        is_first = np.concatenate([[True], begins])
        first = order[np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))]
        for rank in np.flatnonzero(~is_first):
            point = int(order[rank])
            if not out[point]:
                others = {int(first[rank]), int(order[rank - 1])}
                out[point] = any(self._similar(point, candidate) for candidate in others)

    def _similar(self, one: int, other: int) -> bool:
        assert self.near is not None
        ours, theirs = set(_grams(self._text(one))), set(_grams(self._text(other)))
        return len(ours & theirs) >= self.near * len(ours | theirs)

    def _text(self, point: int) -> str:
        data = self._texts[self._ends[point] : self._ends[point + 1]]
        return data.decode("utf-8", "surrogatepass")


def _grams(text: str) -> Iterator[str]:
    """Yield the pieces of five letters; a shorter text is one piece.

    >>> list(_grams("abcdef"))
    ['abcde', 'bcdef']
    """
    yield from (text[i : i + _GRAM] for i in range(max(1, len(text) - _GRAM + 1)))


def _minhash() -> Any:
    try:
        from rensa import RMinHash
    except ImportError:
        hint = "pip install 'genie_dp[private]', or look for equal ones alone"
        message = "finding near-duplicates needs the package rensa"
        raise GenieError(Problem("E002", message, hint=hint)) from None
    return RMinHash
