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
# Rows of the table; a library has some thousands of places. Begun anew when full, for a grammar may
# make sets as it goes.
KEPT = 20_000


class Constraint:
    """A grammar seen from a vocabulary: a table of the generated ids that places forbid."""

    def __init__(self, grammar: DecodingGrammar, vocabulary: Vocabulary):
        """Check that each token of the grammar can be written.

        Raises:
            GenieError: the model cannot write tokens that the grammar needs.
        """
        self.grammar, self.vocabulary = grammar, vocabulary
        self.generated = vocabulary.generated
        missing = vocabulary.missing(grammar.vocabulary)
        if missing:
            some = ", ".join(missing[:3])
            message = (
                f"the model cannot write {len(missing)} tokens of this library, such as {some}"
            )
            hint = "train it with this library"
            raise GenieError(Problem("M006", message, hint=hint))
        self._begin_table(64)

    def _begin_table(self, rows: int) -> None:
        """Begin with the first row alone: nothing but the end."""
        self._table = np.ones((rows, self.generated), np.bool_)
        self._table[0, END] = False
        # The sets are kept beside their rows, so that no other set gets their identity.
        self._sets: list[frozenset[str]] = [frozenset()]
        self._rows: dict[tuple[int, bool], int] = {}

    def begin(self, sentence: tuple[str, ...]) -> "Path":
        """Return the empty path for a sentence."""
        ids = dict(zip(sentence, self.vocabulary.copies(sentence), strict=True))
        return Path(self, sentence, ids, self.grammar.begin(sentence))

    def row_of(self, allowed: Allowed) -> int:
        """Return the row of the table for fixed tokens and the end."""
        found = self._rows.get((id(allowed.fixed), allowed.end))
        return self._add_row(allowed) if found is None else found

    def _add_row(self, allowed: Allowed) -> int:
        row = len(self._sets)
        if row == len(self._table):
            self._table = np.concatenate([self._table, np.ones_like(self._table)])
        self._table[row, [self.vocabulary.generable(token) for token in allowed.fixed]] = False
        self._table[row, :NEVER] = True
        self._table[row, END] = not allowed.end
        self._sets.append(allowed.fixed)
        self._rows[id(allowed.fixed), allowed.end] = row
        return row

    def forbidden(self, paths: Sequence["Path"], width: int, *, closing: bool = False) -> Mask:
        """Return (rows, P + S): what may not come next on each path.

        Args:
            paths: one for each row.
            width: P + S.
            closing: whether a program must end where it may.
        """
        if len(self._sets) > KEPT:
            self._begin_table(64)
        rows, above, columns = [], [], []
        for place, path in enumerate(paths):
            allowed = path.allowed
            if closing and allowed.end:
                rows.append(0)
                continue
            rows.append(self.row_of(allowed))
            for word in allowed.copied:
                above.append(place)
                columns.append(path.ids[word])
        out = np.ones((len(rows), width), np.bool_)
        out[:, : self.generated] = self._table[rows]
        out[above, columns] = False
        return out


class Path:
    """A prefix of one sentence's program, by ids."""

    __slots__ = ("_after", "constraint", "ids", "prefix", "sentence")

    def __init__(
        self,
        constraint: Constraint,
        sentence: tuple[str, ...],
        ids: dict[str, int],
        prefix: Prefix,
    ):
        """Keep the prefix; `ids` are the extended ids of the sentence's words."""
        self.constraint, self.sentence, self.ids, self.prefix = constraint, sentence, ids, prefix
        self._after: dict[int, Path | None] = {}

    @property
    def allowed(self) -> Allowed:
        """Return what may come next."""
        return self.prefix.allowed

    def then(self, extended: int) -> "Path":
        """Return the path with one more id, not END, or raise ValueError if it is not allowed."""
        vocabulary, place = self.constraint.vocabulary, extended - self.constraint.generated
        if place < 0:
            token = vocabulary.words[extended]
        elif place < len(self.sentence) and self.ids[self.sentence[place]] == extended:
            token = self.sentence[place]
        else:
            raise ValueError(f"expected the id of a word's first place, got {extended}")
        return Path(self.constraint, self.sentence, self.ids, self.prefix.then(token))

    def after(self, extended: int) -> "Path | None":
        """Return the path after an id, itself after END, or None where it is not allowed.

        To ask for the ids that a network likes best is cheaper than to find all that are allowed.
        """
        if extended == END:
            return self if self.allowed.end else None
        if extended not in self._after:
            try:
                self._after[extended] = self.then(extended)
            except ValueError:
                self._after[extended] = None
        return self._after[extended]

    def allows_more(self, given: Sequence[int]) -> bool:
        """Tell whether ids may be allowed that are not among some; in doubt yes."""
        allowed = self.allowed
        left = len(allowed.fixed) + len(allowed.copied) + allowed.end
        return left > len(given) or left > sum(self._has(allowed, i) for i in given)

    def _has(self, allowed: Allowed, extended: int) -> bool:
        """Tell whether an id is among what is allowed, without going there as `after` does."""
        if extended == END:
            return allowed.end
        place = extended - self.constraint.generated
        if place < 0:
            return self.constraint.vocabulary.words[extended] in allowed.fixed
        word = self.sentence[place] if place < len(self.sentence) else ""
        return word in allowed.copied and self.ids[word] == extended
