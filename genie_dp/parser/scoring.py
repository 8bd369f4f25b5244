"""How good a parser is on rows that it did not learn from, and how sure it may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from genie_dp.learn.calibration import Calibration, calibration_error, fit
from genie_dp.parser.decode import Decoder
from genie_dp.parser.validation import Checked


@dataclass(frozen=True, slots=True)
class Score:
    """What came of it.

    Attributes:
        rows: sentences.
        right: how many first programs are right.
        log_probabilities: of the first programs; minus infinity where there is none.
        hits: which of them are right.
    """

    rows: int
    right: int
    log_probabilities: tuple[float, ...]
    hits: tuple[bool, ...]

    @property
    def accuracy(self) -> float:
        """Return the share of right ones."""
        return self.right / self.rows if self.rows else 0.0

    @property
    def error(self) -> float:
        """Return the standard error of the accuracy, with four rows more, of which two are right.

        Source: Agresti and Coull, 1998; without them it would be 0 where all rows are right.
        """
        share = (self.right + 2) / (self.rows + 4)
        return sqrt(share * (1 - share) / (self.rows + 4))


def score(decoder: Decoder, rows: Sequence[Checked]) -> Score:
    """Return how many of the first programs are right: equal in canonical form."""
    found = decoder.decode([tuple(row.utterance.split()) for row in rows])
    hits = tuple(
        bool(programs) and programs[0].program == row.program and bool(row.program)
        for row, programs in zip(rows, found, strict=True)
    )
    scores = tuple(programs[0].log_probability if programs else float("-inf") for programs in found)
    return Score(len(rows), sum(hits), scores, hits)


def calibrated(found: Score) -> tuple[Calibration, float | None]:
    """Return the calibration of a score, and its expected calibration error.

    A network that learned with smoothed labels is less sure than it may be, so the temperature is
    above 1 also where many programs are wrong.
    """
    if not found.rows:
        return Calibration(), None
    known = list(zip(found.log_probabilities, found.hits, strict=True))
    finite = [(x, hit) for x, hit in known if x > float("-inf")]
    calibration = fit([x for x, _ in finite], [hit for _, hit in finite])
    confidences = [calibration.confidence(x) for x, _ in known]
    return calibration, calibration_error(confidences, list(found.hits))
