"""How good a parser is on rows that it did not learn from, and how sure it may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from genie_dp.models.calibration import Calibration, calibration_error, fit
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
    decoded = decoder.decode([tuple(row.utterance.split()) for row in rows])
    hits = tuple(
        bool(programs) and programs[0].program == row.program and bool(row.program)
        for row, programs in zip(rows, decoded, strict=True)
    )
    scores = tuple(
        programs[0].log_probability if programs else float("-inf") for programs in decoded
    )
    return Score(len(rows), sum(hits), scores, hits)


def calibrate(measurement: Score) -> tuple[Calibration, float | None]:
    """Return the calibration of a score, and its expected calibration error.

    A network that learned with smoothed labels is less sure than it may be, so the temperature is
    above 1 also where many programs are wrong.
    """
    if not measurement.rows:
        return Calibration(), None
    pairs = list(zip(measurement.log_probabilities, measurement.hits, strict=True))
    finite = [(x, hit) for x, hit in pairs if x > float("-inf")]
    calibration = fit([x for x, _ in finite], [hit for _, hit in finite])
    confidences = [calibration.confidence(x) for x, _ in pairs]
    return calibration, calibration_error(confidences, list(measurement.hits))
