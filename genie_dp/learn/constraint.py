"""Which extended ids a grammar allows next, as masks of rows."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.decoding import Allowed, DecodingGrammar, Prefix
from genie_dp.learn.vocabulary import END, Vocabulary

Mask = npt.NDArray[np.bool_]
# Identity of the fixed tokens, whether the end is allowed, extended ids of copied words.
Key = tuple[int, bool, tuple[int, ...]]
# What may never be written, whatever a network thinks of it: PAD, UNK, BEGIN.
NEVER = 3
# The row that allows nothing but the end.
ONLY_END = 0
# Rows of the table; a library has some thousands of places. Begun anew when full, for a grammar may
# make sets as it goes.
KEPT = 20_000


class Constraint:
    """A grammar seen from a vocabulary, and a table of the extended ids that places forbid."""

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
        self.table = Table(vocabulary)

    def begin(self, sentence: tuple[str, ...]) -> "Path":
        """Return the empty path for a sentence."""
        return Path(Spelling(self, sentence), self.grammar.begin(sentence))

    def forbidden(self, paths: Sequence["Path"], width: int) -> Mask:
        """Return (rows, P + S): what may not come next on each path.

        Args:
            paths: one for each row.
            width: P + S.
        """
        if len(self.table) > KEPT:
            self.table = Table(self.vocabulary)
        return self.table.forbidden([path.row for path in paths], width)


class Table:
    """What places of programs forbid: a row for all that allow the same."""

    def __init__(self, vocabulary: Vocabulary):
        """Begin with the first row alone: nothing but the end."""
        self.vocabulary = vocabulary
        self._forbidden = np.ones((64, vocabulary.generated), np.bool_)
        self._forbidden[ONLY_END, END] = False
        # The sets are kept beside their rows, so that no other set gets their identity.
        self._sets: list[frozenset[str]] = [frozenset()]
        self._rows: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def forbidden(self, rows: Sequence[int], width: int) -> Mask:
        """Return some rows, as wide as asked for."""
        self._widen(width)
        found: Mask = self._forbidden[rows, :width]
        return found

    def row_of(self, allowed: Allowed, copied: Iterable[int] = ()) -> int:
        """Return the row for the fixed tokens, the end, and extended ids of copied words."""
        key = id(allowed.fixed), allowed.end, tuple(sorted(copied))
        found = self._rows.get(key)
        return self._add(key, allowed.fixed) if found is None else found

    def _widen(self, width: int) -> None:
        """Make room for longer sentences: what rows do not know, they forbid."""
        rows, known = self._forbidden.shape
        if width > known:
            self._forbidden = np.hstack([self._forbidden, np.ones((rows, width - known), np.bool_)])

    def _add(self, key: Key, fixed: frozenset[str]) -> int:
        _, is_end, copied = key
        self._widen(max(copied, default=0) + 1)
        row = len(self)
        if row == len(self._forbidden):
            self._forbidden = np.concatenate([self._forbidden, np.ones_like(self._forbidden)])
        self._forbidden[row, [self.vocabulary.generable(token) for token in fixed]] = False
        self._forbidden[row, :NEVER] = True
        self._forbidden[row, list(copied)] = False
        self._forbidden[row, END] = not is_end
        self._sets.append(fixed)
        self._rows[key] = row
        return row


class Spelling:
    """What all prefixes of one sentence's program share.

    Attributes:
        ids: the extended ids of the sentence's words.
    """

    __slots__ = ("_rows", "_table", "constraint", "ids", "sentence")

    def __init__(self, constraint: Constraint, sentence: tuple[str, ...]):
        """Number the words."""
        self.constraint, self.sentence = constraint, sentence
        self.ids = dict(zip(sentence, constraint.vocabulary.copies(sentence), strict=True))
        self._table = constraint.table
        # What is allowed is kept beside its row, so that nothing else gets its identity.
        self._rows: dict[int, tuple[Allowed, int]] = {}

    def row(self, allowed: Allowed) -> int:
        """Return the row of the table for what is allowed."""
        if self._table is not self.constraint.table:
            self._rows, self._table = {}, self.constraint.table
        found = self._rows.get(id(allowed))
        if found is None:
            copied = [self.ids[word] for word in allowed.copied]
            found = self._rows[id(allowed)] = allowed, self._table.row_of(allowed, copied)
        return found[1]

    def token(self, extended: int) -> str:
        """Return the token of an extended id.

        Raises:
            ValueError: it is not that of a word's first place.
        """
        place = extended - self.constraint.generated
        if place < 0:
            return self.constraint.vocabulary.words[extended]
        if place < len(self.sentence) and self.ids[self.sentence[place]] == extended:
            return self.sentence[place]
        raise ValueError(f"expected the id of a word's first place, got {extended}")


class Path:
    """A prefix of one sentence's program, by ids.

    Attributes:
        is_closing: whether it is on the shortest way to its end, which comes where it may.
    """

    __slots__ = ("is_closing", "prefix", "spelling")

    def __init__(self, spelling: Spelling, prefix: Prefix, *, is_closing: bool = False):
        """Keep the prefix."""
        self.spelling, self.prefix, self.is_closing = spelling, prefix, is_closing

    @property
    def constraint(self) -> Constraint:
        """Return the constraint that it is of."""
        return self.spelling.constraint

    @property
    def allowed(self) -> Allowed:
        """Return what may come next."""
        return self.prefix.allowed

    @property
    def row(self) -> int:
        """Return the row of the constraint's table for what may come next."""
        allowed = self.prefix.allowed
        return ONLY_END if self.is_closing and allowed.end else self.spelling.row(allowed)

    def then(self, extended: int) -> "Path":
        """Return the path with one more id, not END, or raise ValueError if it is not allowed."""
        prefix = self.prefix.then(self.spelling.token(extended))
        return Path(self.spelling, prefix, is_closing=self.is_closing)

    def closing(self) -> "Path":
        """Return the path on its way to its end."""
        return (
            self if self.is_closing else Path(self.spelling, self.prefix.closing(), is_closing=True)
        )
