"""The result of an evaluation: figures with intervals as plain data, and the page that shows them.

Intervals of shares are by the score test (Wilson 1927), which is honest of few rows, too. Those of
differences are by the percentile bootstrap (Efron and Tibshirani 1993, section 13.3): rows are
drawn again with replacement. How often which of two parsers is right is multinomial, so the draws
are made from counts: the same distribution, without the rows, and their order cannot matter. The
page is HTML with charts in SVG: nothing is loaded, no script is needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from genie_dp.evaluate.counts import EvaluationCounts, PairedCounts, order_of
from genie_dp.evaluate.judge import KINDS, MATCH, OUTCOMES, TIERS, JudgedRow
from genie_dp.languages import get_language
from genie_dp.parser.answers import REFUSALS
from genie_dp.rng import child_seed
from genie_dp.run.page import FEW_ROWS, mark_tokens, page_environment

DRAWS = 1000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class IntervalEstimator:
    """How intervals are made.

    Attributes:
        seed: the same seed gives the same intervals.
        draws: how often the rows are drawn again.
        level: share of the draws that lies within an interval.
    """

    seed: int = 0
    draws: int = DRAWS
    level: float = _LEVEL

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise ValueError(f"draws must be at least 1, got {self.draws}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {self.level}")

    def share(self, right: int, rows: int) -> dict[str, Any]:
        """Return a share with its interval by the score test (Wilson, 1927).

        Rows that are drawn again would give an interval without width for 7 right of 7.

        Args:
            right, rows: how many rows of how many are right; at least one row.

        >>> for right, rows in ((60, 100), (7, 7), (1, 1), (0, 3)):
        ...     print(format_interval(IntervalEstimator().share(right, rows)))
        50.2 – 69.1
        64.6 – 100.0
        20.7 – 100.0
        0.0 – 56.1
        """
        share = right / rows
        z2 = NormalDist().inv_cdf((1 + self.level) / 2) ** 2
        center = (right + z2 / 2) / (rows + z2)
        half = sqrt(z2 * (rows * share * (1 - share) + z2 / 4)) / (rows + z2)
        ends = {"low": max(0.0, center - half), "high": min(1.0, center + half)}
        # What rounding left of the ends that are known.
        ends |= {"low": 0.0} if not right else {}
        ends |= {"high": 1.0} if right == rows else {}
        return {"right": right, "rows": rows, "share": share, **ends}

    def difference(self, counts: Sequence[int]) -> dict[str, Any]:
        """Return the difference of two shares over the same rows, with its interval.

        Args:
            counts: rows right in both, in the first only, in the second only, in neither.

        >>> IntervalEstimator().difference((5, 0, 0, 3))["difference"]
        0.0
        """
        rows = sum(counts)
        samples = self._rng().multinomial(rows, [count / rows for count in counts], self.draws)
        both, first, second, neither = counts
        return {
            "difference": (first - second) / rows,
            **self._ends((samples[:, 1] - samples[:, 2]) / rows),
            "both": both,
            "first_only": first,
            "second_only": second,
            "neither": neither,
        }

    def _rng(self) -> np.random.Generator:
        # One stream for all figures: the same counts have the same interval, wherever they stand.
        return np.random.default_rng(child_seed(self.seed, "bootstrap"))

    def _ends(self, draws: "np.ndarray[Any, np.dtype[np.float64]]") -> dict[str, float]:
        rest = (1 - self.level) / 2
        low, high = np.quantile(draws, [rest, 1 - rest])
        return {"low": float(low), "high": float(high)}


SCHEMA = "genie-dp.evaluation/2"
_RANKS = (1, 2, 3, 5, 10, 20)
_MOST_CONFUSIONS = 50


def describe_counts(
    tally: EvaluationCounts, bootstrap: IntervalEstimator, *, language: str
) -> dict[str, Any]:
    """Return the counts with their intervals; docs/evaluation.md lists the fields.

    Args:
        tally: of one row at least.
        language: that of the programs; S-expressions have no devices.
    """
    return {
        "rows": tally.rows,
        "outcomes": [
            {
                "outcome": name,
                **bootstrap.share(sum(tally.outcomes[name, x] for x in (True, False)), tally.rows),
                "first_right": tally.outcomes[name, True],
            }
            for name in OUTCOMES
            if tally.outcomes
        ],
        "accuracy": bootstrap.share(tally.right, tally.rows),
        "tiers": [
            {
                "tier": name,
                **bootstrap.share(
                    sum(rows for tiers, rows in tally.reached.items() if tiers >= place), tally.rows
                ),
            }
            for place, name in _ladder(language)
        ],
        "top_k": [
            {
                "k": k,
                **bootstrap.share(
                    sum(rows for rank, rows in tally.ranks.items() if 0 < rank <= k), tally.rows
                ),
            }
            for k in _RANKS
            if k == 1 or k <= tally.longest
        ],
        "groups": [
            {"axis": group[0], "name": group[1], **bootstrap.share(right, rows)}
            for group, (rows, right) in sorted(
                tally.groups.items(), key=lambda item: order_of(item[0])
            )
        ],
        "kinds": [
            {"kind": kind, "rows": tally.kinds[kind], "share": tally.kinds[kind] / tally.rows}
            for kind in KINDS
            if tally.kinds[kind]
        ],
        "confusions": [
            {"expected": expected or None, "predicted": predicted or None, "rows": rows}
            for (expected, predicted), rows in sorted(
                tally.confusions.items(), key=lambda item: (-item[1], item[0])
            )[:_MOST_CONFUSIONS]
        ],
        "calibration": tally.calibration.figures(),
        "wrong": {"rows": tally.wrong.seen, "shown": _rows_as_data(tally.wrong)},
    }


def describe_pairs(
    comparison: PairedCounts, bootstrap: IntervalEstimator, *, language: str
) -> dict[str, Any]:
    """Return the paired differences, first minus second, tier by tier."""
    tiers = [
        {"tier": name, **bootstrap.difference(comparison.counts(place))}
        for place, name in _ladder(language)
    ]
    return {
        **bootstrap.difference(comparison.counts(MATCH)),
        "tiers": tiers,
        "first_only_shown": _rows_as_data(comparison.gained),
        "second_only_shown": _rows_as_data(comparison.lost),
    }


def _ladder(language: str) -> Iterator[tuple[int, str]]:
    for place, name in enumerate(TIERS, 1):
        if name != "devices" or get_language(language).has_skills:
            yield place, name


def _rows_as_data(rows: Iterable[JudgedRow]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.gold.row.id,
            "utterance": row.gold.row.utterance,
            "kind": row.kind,
            "tier": TIERS[row.reached - 1] if row.reached else None,
            "expected": row.expected,
            "predicted": row.predicted or None,
            "confidence": row.confidence,
            "refused": row.refused,
            "rank": row.rank or None,
            "detail": row.detail,
        }
        for row in sorted(rows, key=lambda row: KINDS.index(row.kind))
    ]


KIND_HELP: Mapping[str, str] = {
    "not refused": "a program for a sentence that means none",
    "refused": "“I do not know” to a sentence that means a program",
    "asked": "a question: an input is missing, or it may mean different things",
    "wrong polarity": "the opposite of what was asked for, and else right",
    "unreadable": "the first program cannot be read",
    "ill-typed": "it can be read, and does not fit the library",
    "wrong function": "another function than expected",
    "missing function": "a function is missing, no other is wrong",
    "extra function": "a function too many, no other is wrong",
    "wrong parameter": "the right functions with other parameters",
    "wrong operator": "the right parameters, compared otherwise",
    "wrong structure": "the same parts, put together otherwise",
    "wrong value": "all is right but a value",
}


def page(result: Mapping[str, Any]) -> str:
    """Return the page of a result, as `run` makes it."""
    environment = page_environment(
        "genie_dp.evaluate",
        interval=format_interval,
        signed=format_points,
        refusal=REFUSALS.__getitem__,
    )
    text: str = environment.get_template("evaluation.html.jinja").render(
        result=result,
        axes=[
            (axis, list(groups)) for axis, groups in groupby(result["groups"], lambda g: g["axis"])
        ],
        kind_help=KIND_HELP,
        few=FEW_ROWS,
        marked=mark_tokens,
    )
    return text


def format_interval(figure: Mapping[str, float]) -> str:
    """Return the ends of an interval in percent.

    >>> format_interval({"low": 0.5, "high": 0.612})
    '50.0 – 61.2'
    """
    return f"{100 * figure['low']:.1f} – {100 * figure['high']:.1f}"


def format_points(share: float) -> str:
    """Return a difference in percentage points, with its sign.

    >>> format_points(0.051), format_points(-0.2), format_points(0.0)
    ('+5.1', '−20.0', '0')
    """
    points = round(100 * share, 1)
    return f"{points:+.1f}".replace("-", "−") if points else "0"
