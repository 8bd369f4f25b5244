"""Which sentences were written already, in 16 bytes a row: sorted runs of 64-bit hashes."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]


@dataclass(slots=True)
class SentenceHashes:
    """A growing map from sentence hash to program hash, kept as sorted runs that merge.

    A run is merged into its left neighbour when it is half as long or longer, so there are
    O(log rows) runs. A false match at a million rows has chance 3e-8 (birthday bound on 64 bits).
    """

    runs: list[tuple[U64, U64]] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(len(sentences) for sentences, _ in self.runs)

    def add(
        self, sentences: U64, programs: U64
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Add a block of rows; return (fresh, ambiguous), both of shape (rows,).

        Fresh rows have a sentence never met. Ambiguous rows have a sentence that was met with
        another program; the first met stays.
        """
        order = np.argsort(sentences, kind="stable")
        ordered = sentences[order]
        first = np.ones(len(order), bool)
        first[1:] = ordered[1:] != ordered[:-1]
        group = np.cumsum(first) - 1
        is_known, known_program = self._lookup(ordered[first])
        reference = np.where(is_known, known_program, programs[order][first])
        fresh = np.zeros(len(order), bool)
        fresh[order] = first & ~is_known[group]
        ambiguous = np.zeros(len(order), bool)
        ambiguous[order] = programs[order] != reference[group]
        new = first.copy()
        new[first] = ~is_known
        self._push(ordered[new], programs[order][new])
        return fresh, ambiguous

    def _lookup(self, sentences: U64) -> tuple[npt.NDArray[np.bool_], U64]:
        is_known = np.zeros(len(sentences), bool)
        programs = np.zeros(len(sentences), np.uint64)
        for run, run_programs in self.runs:
            place = np.minimum(np.searchsorted(run, sentences), len(run) - 1)
            hit = run[place] == sentences
            is_known |= hit
            programs[hit] = run_programs[place[hit]]
        return is_known, programs

    def _push(self, sentences: U64, programs: U64) -> None:
        if not len(sentences):
            return
        self.runs.append((sentences, programs))
        while len(self.runs) > 1 and 2 * len(self.runs[-1][0]) >= len(self.runs[-2][0]):
            (a, pa), (b, pb) = self.runs.pop(), self.runs.pop()
            both, programs_of_both = np.concatenate([b, a]), np.concatenate([pb, pa])
            order = np.argsort(both, kind="stable")
            self.runs.append((both[order], programs_of_both[order]))
