"""Do confidences say how often a parser is right (Guo et al. 2017, "On Calibration", section 2)?"""

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BINS = 10
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
COVERAGES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(slots=True)
class Calibration:
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

    def described(self) -> dict[str, Any] | None:
        """Return calibration error, reliability and thresholds; None without confidences.

        >>> found = Calibration()
        >>> for is_right in (True, True, True, False):
        ...     found.add(0.75, is_right=is_right, is_refused=False)
        >>> found.described()["expected_calibration_error"]
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
            "bins": bins,
            "thresholds": _thresholds(confidences, right, len(right) + self.refused),
            "coverages": _coverages(confidences, right, len(right) + self.refused),
        }


def _reliability(confidences: Any, right: Any) -> list[dict[str, Any]]:
    """Return bins of equal width with rows in them: (low, high], the first one with 0."""
    places = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    found = []
    for place in range(BINS):
        inside = places == place
        if inside.any():
            found.append(
                {
                    "low": place / BINS,
                    "high": (place + 1) / BINS,
                    "rows": int(inside.sum()),
                    "confidence": float(confidences[inside].mean()),
                    "accuracy": float(right[inside].mean()),
                }
            )
    return found


def _thresholds(confidences: Any, right: Any, rows: int) -> list[dict[str, Any]]:
    """Return what is answered, and how well, where less confidence means "I do not know"."""
    found = []
    for threshold in THRESHOLDS:
        answered = int((confidences >= threshold).sum())
        accuracy = float(right[:answered].mean()) if answered else None
        found.append({"threshold": threshold, "coverage": answered / rows, "accuracy": accuracy})
    return found


def _coverages(confidences: Any, right: Any, rows: int) -> list[dict[str, Any]]:
    """Return the threshold that answers at least a share of the rows, and the accuracy there.

    Rows of one confidence are answered together; a share that refusals keep from being reached is
    left out.
    """
    found = []
    for wanted in COVERAGES:
        least = max(int(np.ceil(wanted * rows - 1e-9)), 1)
        if least <= len(right):
            threshold = float(confidences[least - 1])
            answered = int((confidences >= threshold).sum())
            found.append(
                {
                    "wanted": wanted,
                    "coverage": answered / rows,
                    "threshold": threshold,
                    "accuracy": float(right[:answered].mean()),
                }
            )
    return found
