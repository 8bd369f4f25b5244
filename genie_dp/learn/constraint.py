"""Which extended ids a grammar allows next, as masks of rows."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.decoding import Allowed, DecodingGrammar, Prefix
from genie_dp.learn.vocabulary import END, Vocabulary

Mask = npt.NDArray[np.bool_]
# What may never be written, whatever a network thinks of it: PAD, UNK, BEGIN.
NEVER = 3
# Masks kept; a library has some thousands of places. Cleared when full, for a grammar may make sets
# as it goes.
KEPT = 20_000


class Constraint:
    """A grammar seen from a vocabulary. Masks of fixed tokens are made once for each place."""

    def __init__(self, grammar: DecodingGrammar, vocabulary: Vocabulary):
        """Check that each token of the grammar can be written.

        Raises:
            GenieError: the model cannot write tokens that the grammar needs.
        """
        self.grammar, self.vocabulary = grammar, vocabulary
        missing = vocabulary.missing(grammar.vocabulary)
        if missing:
            some = ", ".join(missing[:3])
            message = (
                f"the model cannot write {len(missing)} tokens of this library, such as {some}"
            )
            hint = "train it with this library"
            raise GenieError(Problem("M006", message, hint=hint))
        # The sets are kept beside their masks, so that no other set gets their identity.
        self._fixed: dict[int, tuple[frozenset[str], Mask]] = {}

    def begin(self, sentence: tuple[str, ...]) -> "Path":
        """Return the empty path for a sentence."""
        ids = dict(zip(sentence, self.vocabulary.copies(sentence), strict=True))
        return Path(self, sentence, ids, self.grammar.begin(sentence))

    def fixed(self, tokens: frozenset[str]) -> Mask:
        """Return (P,): which generated ids are among some tokens."""
        found = self._fixed.get(id(tokens))
        if found is None:
            if len(self._fixed) >= KEPT:
                self._fixed.clear()
            mask = np.zeros(self.vocabulary.generated, np.bool_)
            mask[[self.vocabulary.generable(token) for token in tokens]] = True
            mask[:NEVER] = False
            found = self._fixed[id(tokens)] = tokens, mask
        return found[1]


class Path:
    """A prefix of one sentence's program, by ids."""

    __slots__ = ("allowed", "constraint", "ids", "prefix", "sentence")

    def __init__(
        self,
        constraint: Constraint,
        sentence: tuple[str, ...],
        ids: dict[str, int],
        prefix: Prefix,
    ):
        """Keep the prefix and what it allows."""
        self.constraint, self.sentence, self.ids, self.prefix = constraint, sentence, ids, prefix
        self.allowed: Allowed = prefix.allowed

    def mark(self, row: Mask, *, closing: bool = False) -> None:
        """Set True what may come next in a row (P + S,) that is all False.

        Where the program may end while `closing`, it must.
        """
        row[END] = self.allowed.end
        if closing and self.allowed.end:
            return
        fixed = self.constraint.fixed(self.allowed.fixed)
        row[: len(fixed)] |= fixed
        if self.allowed.copied:
            row[[self.ids[word] for word in self.allowed.copied]] = True

    def then(self, extended: int) -> "Path":
        """Return the path with one more id, not END."""
        token = self.constraint.vocabulary.token(extended, self.sentence)
        return Path(self.constraint, self.sentence, self.ids, self.prefix.then(token))


def masks(paths: Sequence[Path], width: int, *, closing: bool = False) -> Mask:
    """Return (rows, P + S): what each path allows next; see `Path.mark`."""
    out = np.zeros((len(paths), width), np.bool_)
    for row, path in zip(out, paths, strict=True):
        path.mark(row, closing=closing)
    return out
