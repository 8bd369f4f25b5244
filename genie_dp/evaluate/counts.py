"""The counts of an evaluation: tiers, kinds of mistakes, groups of rows, confidences.

Kept are counters, the longest n-best list, 9 bytes a row for confidences where there are any, and
the wrong sentences that are shown (at most `most_shown`).
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from typing import Any

import numpy as np

from genie_dp.dataset.scan import ScannedRow, as_row, combination, hash_of, program_key
from genie_dp.dataset.traits import CLASSES, TRAITS, class_of, traits_of
from genie_dp.evaluate.judge import MATCH, JudgedRow, judge
from genie_dp.evaluate.rows import Prediction, RowWithPredictions
from genie_dp.evaluate.views import Viewer
from genie_dp.records import Example

BINS = 10
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
COVERAGES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(slots=True)
class ConfidenceCounts:
    """Confidences of first programs, and whether these are right: 9 bytes a row.

    Attributes:
        untold: rows with a program and without a confidence.
        refused: rows without a program: "I do not know".
    """

    confidences: "array[float]" = field(default_factory=lambda: array("d"))
    right: bytearray = field(default_factory=bytearray)
    untold: int = 0
    refused: int = 0

    def add(self, confidence: float | None, *, is_right: bool, is_refused: bool) -> None:
        """Count a row."""
        if is_refused:
            self.refused += 1
        elif confidence is None:
            self.untold += 1
        else:
            self.confidences.append(confidence)
            self.right.append(is_right)

    def figures(self) -> dict[str, Any] | None:
        """Return calibration error, reliability and thresholds; None without confidences.

        >>> counts = ConfidenceCounts()
        >>> for is_right in (True, True, True, False):
        ...     counts.add(0.75, is_right=is_right, is_refused=False)
        >>> counts.figures()["expected_calibration_error"]
        0.0
        """
        if not self.confidences:
            return None
        confidences = np.frombuffer(self.confidences, np.float64)
        # Sorted, so that no sum depends on the order of the rows.
        order = np.lexsort((np.frombuffer(self.right, np.uint8), -confidences))
        confidences = confidences[order]
        right = np.frombuffer(self.right, np.uint8)[order].astype(np.float64)
        bins = _reliability(confidences, right)
        error = sum(b["rows"] * abs(b["accuracy"] - b["confidence"]) for b in bins)
        return {
            "rows": len(right),
            "without_confidence": self.untold,
            "refused": self.refused,
            "expected_calibration_error": error / len(right),
            "brier_score": float(((confidences - right) ** 2).mean()),
            "auroc": area_under_roc(confidences[right == 1], confidences[right == 0]),
            "bins": bins,
            "thresholds": list(_thresholds(confidences, right, len(right) + self.refused)),
            "coverages": _coverages(confidences, right, len(right) + self.refused),
        }


def area_under_roc(higher: Any, lower: Any) -> float | None:
    """Return the share of pairs in which the first array's value is higher; ties count half.

    None where one of them is empty.

    >>> area_under_roc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    if not len(higher) or not len(lower):
        return None
    lower = np.sort(lower)
    below, not_above = (lower.searchsorted(higher, side) for side in ("left", "right"))
    return float((below + not_above).sum()) / (2 * len(higher) * len(lower))


def _reliability(confidences: Any, right: Any) -> list[dict[str, Any]]:
    """Return bins of equal width with rows in them: (low, high], the first one with 0."""
    places = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    bins = []
    for place in range(BINS):
        inside = places == place
        if inside.any():
            bins.append(
                {
                    "low": place / BINS,
                    "high": (place + 1) / BINS,
                    "rows": int(inside.sum()),
                    "confidence": float(confidences[inside].mean()),
                    "accuracy": float(right[inside].mean()),
                }
            )
    return bins


def _thresholds(confidences: Any, right: Any, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the share and quality of answers, where less confidence means "I do not know"."""
    for threshold in THRESHOLDS:
        answered = int((confidences >= threshold).sum())
        yield {
            "threshold": threshold,
            "coverage": answered / rows,
            "accuracy": float(right[:answered].mean()) if answered else None,
            "answered": answered,
            "right": int(right[:answered].sum()),
        }


def _coverages(confidences: Any, right: Any, rows: int) -> list[dict[str, Any]]:
    """Return the threshold that answers at least a share of the rows, and the accuracy there.

    Rows of one confidence are answered together; a share that refusals keep from being reached is
    left out.
    """
    points = []
    for share in COVERAGES:
        least = max(int(np.ceil(share * rows - 1e-9)), 1)
        if least <= len(right):
            threshold = float(confidences[least - 1])
            answered = int((confidences >= threshold).sum())
            points.append(
                {
                    "wanted": share,
                    "coverage": answered / rows,
                    "threshold": threshold,
                    "accuracy": float(right[:answered].mean()),
                }
            )
    return points


_MOST_FUNCTIONS = 5
_STEP, _LONGEST = 5, 20


@dataclass(slots=True)
class TrainingHashes:
    """Hashes of the training rows of a parser; 8 bytes for each different one, in sets.

    Attributes:
        combinations: of functions, whatever their order.
        programs: values aside.
        sentences: case aside.
    """

    combinations: set[int] = field(default_factory=set)
    programs: set[int] = field(default_factory=set)
    sentences: set[int] = field(default_factory=set)

    def add(self, row: ScannedRow) -> None:
        """Remember a row."""
        self.combinations.add(hash_of(combination(row.functions)))
        self.programs.add(hash_of(program_key(row.program)))
        self.sentences.add(hash_of(row.utterance.casefold()))

    def groups(self, row: ScannedRow) -> Iterator[tuple[str, str]]:
        """Yield whether a row is new: its functions together, its program, its sentence."""
        key = hash_of(combination(row.functions))
        yield "combination of functions", _newness(key in self.combinations)
        yield "program", _newness(hash_of(program_key(row.program)) in self.programs)
        yield "sentence", _newness(hash_of(row.utterance.casefold()) in self.sentences)


def _newness(is_known: bool) -> str:
    return "in training" if is_known else "new"


def groups_of(
    example: Example, training: TrainingHashes | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the groups that a gold row belongs to, as (axis, name).

    Classes are those of Figure 7 of the Genie paper; of languages other than ThingTalk only
    primitive and compound are known. "combination of functions: new" is the paper's paraphrase
    test, "program: new" its New Program (section 5.4).

    >>> row = Example("a", "beep now", "now => @c.beep", source="human")
    >>> list(groups_of(row))[:3]
    [('command', 'primitive'), ('source', 'human'), ('functions', '1')]
    """
    row = as_row(example)
    bits = traits_of(row.program, row.functions, row.language)
    yield "command", CLASSES[class_of(bits)][1]
    yield from (("with", name) for bit, name in TRAITS if bits & bit)
    yield "source", row.source
    number = len(row.functions)
    yield "functions", str(number) if number < _MOST_FUNCTIONS else f"{_MOST_FUNCTIONS} or more"
    yield "words", _length(len(row.utterance.split()))
    if training is not None:
        yield from training.groups(row)


def _length(words: int) -> str:
    """Return the group of a sentence of so many words.

    >>> [_length(n) for n in (0, 5, 6, 20, 21)]
    ['1 to 5', '1 to 5', '6 to 10', '16 to 20', 'more than 20']
    """
    if words > _LONGEST:
        return f"more than {_LONGEST}"
    first = max(words - 1, 0) // _STEP * _STEP + 1
    return f"{first} to {first + _STEP - 1}"


AXES = (
    "command",
    "with",
    "combination of functions",
    "program",
    "sentence",
    "source",
    "functions",
    "words",
)
_ORDER = (
    *(name for _, name in CLASSES),
    *(name for _, name in TRAITS),
    *(_length(n) for n in (1, 6, 11, 16, 21)),
)


def order_of(group: tuple[str, str]) -> tuple[int, int, str]:
    """Return the sort key of groups: axis, then the order of its names."""
    axis, name = group
    place = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return AXES.index(axis), place, name


MOST_SHOWN = 1000


@dataclass(slots=True)
class SampledRows:
    """The rows of lowest hash among all that were added, so that their order is no matter."""

    limit: int = MOST_SHOWN
    seen: int = 0
    _heap: list[tuple[int, str, JudgedRow]] = field(default_factory=list)

    def add(self, judged: JudgedRow) -> None:
        """Consider a row."""
        self.seen += 1
        id = judged.gold.row.id
        item = (-hash_of(id), id, judged)
        if len(self._heap) < self.limit:
            heappush(self._heap, item)
        elif self._heap and item[:2] > self._heap[0][:2]:
            heapreplace(self._heap, item)

    def __iter__(self) -> Iterator[JudgedRow]:
        return (judged for _, _, judged in sorted(self._heap, key=lambda item: item[1]))


@dataclass(slots=True)
class EvaluationCounts:
    """Counts over judged rows.

    Attributes:
        reached: rows by how many tiers they reach.
        ranks: rows by the place of their first right program; 0 for none.
        outcomes: rows by the outcome for the user, and by whether the first program is right; none
            where replies are not known.
        kinds: wrong rows by kind.
        groups: (axis, name) -> [rows, rows whose first program is right].
        confusions: (expected function, predicted function) -> rows whose first program is wrong.
    """

    training: TrainingHashes | None = None
    wrong: SampledRows = field(default_factory=SampledRows)
    reached: Counter[int] = field(default_factory=Counter)
    ranks: Counter[int] = field(default_factory=Counter)
    longest: int = 0
    outcomes: Counter[tuple[str, bool]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    groups: dict[tuple[str, str], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0, 0])
    )
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)
    calibration: ConfidenceCounts = field(default_factory=ConfidenceCounts)

    @property
    def rows(self) -> int:
        """Return the number of counted rows."""
        return self.reached.total()

    @property
    def right(self) -> int:
        """Return the number of right first programs."""
        return self.reached[MATCH]

    def add(self, judged: JudgedRow, prediction: Prediction) -> None:
        """Count a row."""
        self.reached[judged.reached] += 1
        self.ranks[judged.rank] += 1
        self.longest = max(self.longest, len(prediction.programs))
        self.calibration.add(
            judged.confidence, is_right=judged.is_right, is_refused=not judged.predicted
        )
        for group in groups_of(judged.gold.row, self.training):
            counts = self.groups[group]
            counts[0] += 1
            counts[1] += judged.is_right
        self.confusions.update(judged.confusions)
        if judged.outcome:
            self.outcomes[judged.outcome, judged.is_right] += 1
        if judged.kind:
            self.kinds[judged.kind] += 1
            self.wrong.add(judged)


@dataclass(slots=True)
class PairedCounts:
    """Counts over rows that two parsers were asked.

    Attributes:
        reached: rows by how many tiers the first and the second reach.
        gained, lost: rows that only the first, only the second has right.
    """

    reached: Counter[tuple[int, int]] = field(default_factory=Counter)
    gained: SampledRows = field(default_factory=SampledRows)
    lost: SampledRows = field(default_factory=SampledRows)

    def add(self, first: JudgedRow, second: JudgedRow) -> None:
        """Count a row; the prediction of a wrong one is kept."""
        self.reached[first.reached, second.reached] += 1
        if first.is_right and not second.is_right:
            self.gained.add(second)
        elif second.is_right and not first.is_right:
            self.lost.add(first)

    def counts(self, tier: int) -> tuple[int, int, int, int]:
        """Return rows where both, only the first, only the second, and neither reach a tier."""
        counts = Counter[tuple[bool, bool]]()
        for (first, second), rows in self.reached.items():
            counts[first >= tier, second >= tier] += rows
        return counts[True, True], counts[True, False], counts[False, True], counts[False, False]


def count_rows(
    rows: Iterable[RowWithPredictions],
    viewer: Viewer,
    tally: EvaluationCounts,
    comparison: PairedCounts | None = None,
    *,
    file: str = "<gold>",
) -> None:
    """Judge rows and count the results.

    Args:
        rows: with one prediction each, or two where `comparison` is given.
        file: where gold rows are from, for mistakes in them.

    >>> from genie_dp.evaluate.rows import Gold
    >>> from genie_dp.evaluate.views import viewer_of
    >>> from genie_dp.records import Example
    >>> gold = Gold(Example("a", "f of 1", "( f 1 )", "sexpr"), ("( f 1 )",))
    >>> tally = EvaluationCounts()
    >>> count_rows([(gold, (Prediction("a", ("( f 1 )",)),))], viewer_of("sexpr", None), tally)
    >>> tally.right, tally.rows
    (1, 1)
    """
    for gold, predictions in rows:
        judged = [judge(gold, prediction, viewer, file=file) for prediction in predictions]
        tally.add(judged[0], predictions[0])
        if comparison is not None:
            comparison.add(judged[0], judged[1])
