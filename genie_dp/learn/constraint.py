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

    def mark(self, row: Mask) -> None:
        """Set True what may come next in a row (P + S,) that is all False."""
        fixed = self.constraint.fixed(self.allowed.fixed)
        row[: len(fixed)] = fixed
        if self.allowed.copied:
            row[[self.ids[word] for word in self.allowed.copied]] = True
        row[END] = self.allowed.end

    def then(self, extended: int) -> "Path":
        """Return the path with one more id, not END."""
        token = self.constraint.vocabulary.token(extended, self.sentence)
        return Path(self.constraint, self.sentence, self.ids, self.prefix.then(token))


def masks(paths: Sequence[Path], width: int) -> Mask:
    """Return (rows, P + S): what each path allows next."""
    out = np.zeros((len(paths), width), np.bool_)
    for row, path in zip(out, paths, strict=True):
        path.mark(row)
    return out


# How many prefixes `completion` looks at: some milliseconds.
EFFORT = 2000
# How many prefixes that allow the same it keeps of one length.
ALIKE = 4


def completion(prefix: Prefix, *, effort: int = EFFORT) -> tuple[str, ...] | None:
    """Return a short way to end a program, or None if none was found in some milliseconds.

    Breadth first; of the prefixes of one length that allow the same only a few are kept, for most
    differ in a name alone.
    """
    layer: list[tuple[Prefix, tuple[str, ...]]] = [(prefix, ())]
    while layer and effort > 0:
        seen: dict[tuple[frozenset[str], bool], int] = {}
        following: list[tuple[Prefix, tuple[str, ...]]] = []
        for place, so_far in layer:
            allowed = place.allowed
            if allowed.end:
                return so_far
            key = (allowed.fixed, bool(allowed.copied))
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > ALIKE:
                continue
            choices = [*sorted(allowed.fixed), *sorted(allowed.copied)[:1]][: effort + 1]
            effort -= len(choices)
            following.extend((place.then(token), (*so_far, token)) for token in choices)
        layer = following
    return None
