"""Which extended ids a grammar allows next, as rows of a table."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Allowed, DecodingGrammar, Prefix
from genie_dp.models.vocabulary import END, PAD, UNK, Vocabulary

Ids = npt.NDArray[np.int64]
# Identity of the fixed tokens, whether the end is allowed, extended ids of copied words.
Key = tuple[int, bool, tuple[int, ...]]
# Rows of a table; a library has some thousands of places. Begun anew when full, for a grammar may
# make sets as it goes.
KEPT = 20_000


class Constraint:
    """A grammar seen from a vocabulary, and a table of the extended ids that places allow."""

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
        self.table = AllowedIds(vocabulary)

    def begin(self, sentences: Iterable[tuple[str, ...]]) -> "list[Path]":
        """Return the empty paths of sentences that are searched together."""
        if len(self.table) > KEPT:
            self.table = AllowedIds(self.vocabulary)
        return [
            Path(Spelling(self, sentence), self.grammar.begin(sentence)) for sentence in sentences
        ]


def allowed_ids(paths: Sequence["Path"]) -> Ids:
    """Return (paths, widest): the extended ids that may come next on each path, then PAD.

    Args:
        paths: of sentences that were begun together.
    """
    return paths[0].spelling.table.ids([path.row for path in paths])


class AllowedIds:
    """The ids that places of programs allow: a row of extended ids for all that allow the same.

    Attributes:
        plain: the rows of allowed tokens without copies, by their identity, beside them.
    """

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._ids = np.full((64, 64), PAD, np.int32)
        self._counts: list[int] = []
        self.plain: dict[int, tuple[Allowed, int]] = {}
        # The sets are kept beside their rows, so that no other set gets their identity.
        self._sets: list[frozenset[str]] = []
        self._rows: dict[Key, int] = {}

    def __len__(self) -> int:
        return max(len(self._sets), len(self.plain))

    def ids(self, rows: Sequence[int]) -> Ids:
        """Return the extended ids of some rows, as wide as the widest; the rest is PAD."""
        width = max(map(self._counts.__getitem__, rows))
        return self._ids[rows, :width].astype(np.int64)

    def row_of(self, allowed: Allowed, copied: Iterable[int]) -> int:
        """Return the row for the fixed tokens, the end, and extended ids of copied words."""
        key = id(allowed.fixed), allowed.end, tuple(sorted(copied))
        if (known_row := self._rows.get(key)) is not None:
            return known_row
        generated = {self.vocabulary.generable(token) for token in allowed.fixed} - {UNK}
        ids = sorted({*generated, *key[2], *((END,) if allowed.end else ())})
        row = len(self._sets)
        rows, width = self._ids.shape
        if row == rows or len(ids) > width:
            more = max(rows, 2 * row), max(width, 2 * len(ids))
            room = (0, more[0] - rows), (0, more[1] - width)
            self._ids = np.pad(self._ids, room, constant_values=PAD)
        self._ids[row, : len(ids)] = ids
        self._counts.append(len(ids))
        self._sets.append(allowed.fixed)
        self._rows[key] = row
        return row


class Spelling:
    """The data that all prefixes of one sentence's program share.

    Attributes:
        table: the rows of this search.
    """

    __slots__ = ("_copies", "_generated", "_ids", "_rows", "_words", "table")

    def __init__(self, constraint: Constraint, sentence: tuple[str, ...]):
        self.table, vocabulary = constraint.table, constraint.vocabulary
        self._words, self._generated = vocabulary.words, vocabulary.generated
        self._ids = dict(zip(sentence, vocabulary.copies(sentence), strict=True))
        self._copies = {extended: word for word, extended in self._ids.items()}
        # As `Table.plain`, where words of the sentence are allowed, too.
        self._rows: dict[int, tuple[Allowed, int]] = {}

    def row(self, allowed: Allowed) -> int:
        """Return the row of the table for allowed tokens."""
        rows = self._rows if allowed.copied else self.table.plain
        entry = rows.get(id(allowed))
        if entry is None:
            copied = [self._ids[word] for word in allowed.copied]
            entry = rows[id(allowed)] = allowed, self.table.row_of(allowed, copied)
        return entry[1]

    def token(self, extended: int) -> str:
        """Return the token of an extended id.

        Raises:
            KeyError: it is not that of a token, nor of a word's first place.
        """
        return self._words[extended] if extended < self._generated else self._copies[extended]


class Path:
    """A prefix of one sentence's program, by extended ids."""

    __slots__ = ("prefix", "spelling")

    def __init__(self, spelling: Spelling, prefix: Prefix):
        self.spelling, self.prefix = spelling, prefix

    @property
    def row(self) -> int:
        """Return the row of the table for the next tokens."""
        return self.spelling.row(self.prefix.allowed)

    @property
    def is_closing(self) -> bool:
        """Return whether it is on its way to its end."""
        return self.prefix.is_closing

    def then(self, extended: int) -> "Path":
        """Return the path with one more id, not END.

        Raises:
            KeyError: it is not the id of a token, nor of a word's first place.
            ValueError: it is not allowed.
        """
        return Path(self.spelling, self.prefix.then(self.spelling.token(extended)))

    def closing(self) -> "Path":
        """Return the path on its way to its end."""
        return self if self.is_closing else Path(self.spelling, self.prefix.closing())
