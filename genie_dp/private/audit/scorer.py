"""What attacks ask of a model, whichever it is; nothing here needs torch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from genie_dp.errors import GenieError, Problem
from genie_dp.private.generators.encoded import Encoded
from genie_dp.private.source import PrivateRow


class Scorer(Protocol):
    """A model that tells how likely rows are.

    Attributes:
        kind: what it is: "one-stage", "hugging-face", "parser" ..
        needs_programs: whether only rows with programs have a probability.
    """

    kind: str
    needs_programs: bool

    def losses(self, rows: Sequence[PrivateRow]) -> list[float]:
        """Return the negative log-probability of each row, in nats, END included."""


class Foreseeing(Scorer, Protocol):
    """A scorer whose probabilities can be followed token by token, for exact ranks.

    Attributes:
        model: a CausalLM in evaluation mode.
    """

    model: Any

    def encoded(self, row: PrivateRow) -> Encoded:
        """Return a row as ids, from BEGIN to END; of several models, as the last one reads it."""


class Sampling(Scorer, Protocol):
    """A scorer that writes text."""

    def samples(self, count: int, *, seed: int, first: int = 0) -> Iterator[tuple[str, ...]]:
        """Yield the words of `count` samples, from the sample number `first` on; () for none."""


def words_of(row: PrivateRow, *, with_program: bool) -> int:
    """Return the words of a row and one for its end; with its program, also its tokens.

    >>> words_of(PrivateRow("hi there"), with_program=False)
    3
    """
    program = (row.program or "").split()
    return len(row.utterance.split()) + 1 + (len(program) + 1 if with_program else 0)


def check_programs(rows: Iterable[PrivateRow], kind: str) -> None:
    """Refuse rows without a program where a model is of programs, too.

    Raises:
        GenieError: N054.
    """
    if any(not (row.program or "").strip() for row in rows):
        message = f"expected rows with programs for a model of the kind {kind}"
        hint = "canaries have one with --program; rows in the field program"
        raise GenieError(Problem("N054", message, hint=hint))
