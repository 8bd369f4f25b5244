"""How good a parser is on rows that it did not learn from, and how sure it may be."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from math import sqrt

from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.models.calibration import Calibration, calibration_error, fit
from genie_dp.parser.decode import Decoded, Decoder
from genie_dp.parser.evidence import BELIEVED, SCALES, Evidence, Signals, signals_of
from genie_dp.parser.operators import Operators
from genie_dp.parser.validation import Checked

# Of 308 sentences in eval.tsv that templates derive 281 have the right program alone
# (docs/research/explain.md, November 2026).
DERIVATION_CONFIDENCE = 0.91
_USUAL_ROWS = 10  # rows that this is worth
# Rows whose outcome is a toss-up that what is believed of the signals is worth: beside rows of
# people, and beside rows that were held out, which are nearer to those learned from than people's.
_FIRM, _FIRMER = 10.0, 1000.0


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a validation.

    Attributes:
        rows: sentences.
        right: how many are answered with the right program, or refused if that is right.
        signals: of the first programs; none where there is none.
        hits: which of them are right.
    """

    rows: int
    right: int
    signals: tuple[Signals | None, ...]
    hits: tuple[bool, ...]

    def of_network(self, rows: Sequence[Checked]) -> "Score":
        """Return the score of those of its rows that templates leave to the network."""
        underived = [row.derived is None for row in rows]
        hits = tuple(compress(self.hits, underived))
        return Score(sum(underived), sum(hits), tuple(compress(self.signals, underived)), hits)

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

    def confidences(self, calibration: Calibration) -> list[float]:
        """Return the confidences of the first programs, 0 where there is none."""
        return [calibration.confidence(x) if x else 0.0 for x in self.signals]

    def share_accepted(self, calibration: Calibration, threshold: float) -> float:
        """Return the share of sentences that are answered with confidence enough."""
        return sum(x >= threshold for x in self.confidences(calibration)) / max(1, self.rows)


def score(decoder: Decoder, rows: Sequence[Checked], evidence: Evidence | None = None) -> Score:
    """Return the score of first programs: those equal to the row's in canonical form are right.

    A row to refuse is right if refusal is likelier than any program; its signals are of the first
    program, which would otherwise have been the answer.

    Args:
        evidence: for the signals; None where none are needed.
    """
    sentences = [tuple(row.utterance.split()) for row in rows]
    right, hits = 0, []
    signals: list[Signals | None] = []
    for row, words, programs in zip(rows, sentences, decoder.decode(sentences), strict=True):
        meant = [program for program in programs if program.program != OUT_OF_SCOPE]
        refusals = [x.log_probability for x in programs if x.program == OUT_OF_SCOPE]
        best = meant[0] if meant else None
        row_signals = None
        if meant and evidence:
            refusal = max(refusals, default=-math.inf)
            best, row_signals = _rank(words, meant, refusal, decoder, evidence)
        signals.append(row_signals)
        hits.append(best is not None and best.program == row.program != "")
        is_refused = bool(programs) and programs[0].program == OUT_OF_SCOPE
        right += is_refused if row.program == OUT_OF_SCOPE else hits[-1]
    return Score(len(rows), right, tuple(signals), tuple(hits))


def _rank(
    sentence: Sequence[str],
    meant: Sequence[Decoded],
    refusal: float,
    decoder: Decoder,
    evidence: Evidence,
) -> tuple[Decoded, Signals]:
    """Return the first program as `Parser` orders them, and its signals."""
    ranked = []
    for program in meant:
        form = decoder.target.language.form(program.program)
        support = evidence.support(
            sentence, form.values, form.functions, form.parts, Operators.from_form(form),
            near=partial(decoder.near.to, form.tokens) if decoder.near else None,
        )  # fmt: skip
        ranked.append((program.log_probability + support.weight, program, support))
    ranked.sort(key=lambda x: (-x[0], x[1].program))
    rank, best, support = ranked[0]
    second = ranked[1][0] if len(ranked) > 1 else -math.inf
    return best, signals_of(best.outline, refusal, rank - second, support)


def derived_confidence(rows: Iterable[Checked]) -> float:
    """Return the confidence of a program that templates derive without guessing.

    Rows that stand for people may lower the default.
    """
    outcomes = [row.derived for row in rows if row.derived is not None]
    usual = DERIVATION_CONFIDENCE
    return min(usual, (sum(outcomes) + _USUAL_ROWS * usual) / (len(outcomes) + _USUAL_ROWS))


def calibrate(
    measurement: Score, refusals: Score | None = None, *, is_real: bool = True
) -> tuple[Calibration, float | None]:
    """Return the calibration of a score, and its expected calibration error.

    Args:
        refusals: of sentences to refuse, which count as wrong whatever the answer is.
        is_real: whether the rows are people's: others change the weights of signals less.
    """
    signals = [*measurement.signals, *(refusals.signals if refusals else ())]
    right = [*measurement.hits, *(refusals.hits if refusals else ())]
    pairs = [(x, hit) for x, hit in zip(signals, right, strict=True) if x is not None]
    strength = _FIRM if is_real else _FIRMER
    rows, hits = [x for x, _ in pairs], [hit for _, hit in pairs]
    calibration = fit(rows, hits, BELIEVED, scales=SCALES, strength=strength)
    if not measurement.rows:
        return calibration, None
    confidences = measurement.confidences(calibration)
    return calibration, calibration_error(confidences, measurement.hits)
